import csv
import hashlib
import json
import re

import polars as pl
import yaml

from .conftest import TINY, assert_ok, run_snakemake

TABLES = (
    "systematicity.csv",
    "systematicity_gap.csv",
    "systematicity_gap_seeds.csv",
    "systematicity_by_kind.csv",
    "blind_baselines.csv",
    "parser_quality.csv",
    "imagenet_correlation.csv",
    "dataset_statistics.csv",
    "accounting.csv",
)


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_all_tables_and_pictures_are_made(tiny_run):
    for name in TABLES:
        assert read_csv(tiny_run / "results" / "tables" / name), name
    for name in ("systematicity.png", "imagenet_correlation.png", "contact_sheet_systematicity.png"):
        assert (tiny_run / "results" / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_tables_do_not_depend_on_cores_shards_hash_seeds_or_folder(tiny_run, tmp_path):
    overlay = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    for block, key, n in (("corpora", "shards", 3), ("graphs", "parts", 2), ("foils", "parts", 2)):
        overlay[block][key] = n
    (tmp_path / "shards.yaml").write_text(yaml.safe_dump(overlay), encoding="utf-8")
    folder, targets = tmp_path / "run", [f"results/tables/{table}" for table in TABLES]
    env = {"PYTHONHASHSEED": "2"}
    assert_ok(run_snakemake(folder, *targets, "--cores", "1", overlay=tmp_path / "shards.yaml", env=env))
    for name in TABLES:
        expected = (tiny_run / "results" / "tables" / name).read_bytes()
        assert (folder / "results" / "tables" / name).read_bytes() == expected, name


def test_the_report_is_one_page_that_needs_no_network(tiny_run, checkout, tmp_path):
    page = tmp_path / "report.html"
    assert_ok(run_snakemake(tiny_run, "--report", str(page), root=checkout))
    text = page.read_text(encoding="utf-8")
    assert not re.findall(r"""<(?:script|link|img|iframe)[^>]+(?:src|href)=["']?https?:""", text)
    for content in ("plot: gap between unseen and seen", "contact sheet: systematicity", "table: accounting"):
        assert content in text
    assert "Does a vision-language model understand compositions" in text


def test_every_table_has_its_other_formats(tiny_run):
    for name in TABLES:
        table = (tiny_run / "results" / "tables" / name).with_suffix(".md").read_text(encoding="utf-8")
        assert table.count("\n") == len(read_csv(tiny_run / "results" / "tables" / name)) + 2
        assert (tiny_run / "results" / "tables" / name).with_suffix(".tex").is_file()


def test_the_run_is_recorded(tiny_run):
    record = json.loads((tiny_run / "results" / "run.json").read_text(encoding="utf-8"))
    assert record["config"]["icons"]["n_images"] == 80
    assert record["seeds"]["models.seeds"] == [1]
    assert record["packages"]["torch"]
    assert set(record["models"]) == {f"mini_clip_{name}" for name in ("cc12m", "yfcc15m", "laion400m")}
    rules = {row["rule"]: row for row in record["rules"]}
    assert rules["extract_features"]["jobs"] == 6
    assert rules["extract_features"]["seconds"] > 0
    assert rules["extract_features"]["peak_memory_mb"] > 100
    digest = hashlib.sha256((tiny_run / "results" / "tables" / "systematicity.csv").read_bytes()).hexdigest()
    assert record["tables_sha256"]["systematicity.csv"] == digest


def test_nothing_is_lost_without_a_reason(tiny_run):
    totals = {}
    for row in read_csv(tiny_run / "results" / "tables" / "accounting.csv"):
        totals.setdefault((row["stage"], row["unit"]), {})[row["reason"]] = int(row["count"])
    for counts in totals.values():
        assert counts["read"] == sum(counts.values()) - counts["read"]
    assert totals["regions", "region"]["kept"] == totals["graphs", "region"]["read"]
    for foil_type in ("atom", "comp", "combined"):
        unit = f"region_{foil_type}"
        assert totals["graphs", "region"]["kept"] == totals["retrieval_sets/systematicity", unit]["read"]


def test_every_filter_has_work_in_the_icons_world(tiny_run):
    found = {row["reason"] for row in read_csv(tiny_run / "results" / "tables" / "accounting.csv")}
    expected = """
        image_id_repeated name_missing object_unknown predicate_missing endpoint_name_missing
        region_id_repeated image_unknown caption_empty box_outside_image area image_share aspect
        atoms compounds duplicate_graph columns_wrong text_empty text_undecodable
        image_missing image_unreadable image_size
    """.split()
    assert set(expected) <= found


def test_a_missing_image_and_a_truncated_jpeg_are_set_aside_with_a_reason(tiny_run):
    images = pl.read_parquet(tiny_run / "results" / "visual_genome" / "images.parquet")
    assert images["archive"].null_count() == 1
    index = pl.read_parquet(tiny_run / "results" / "features" / "mini_clip_cc12m" / "systematicity.parquet")
    reasons = set(index.filter(pl.col("shard").is_null())["reason"])
    assert reasons == {"image_missing", "image_unreadable", "image_size"}
    scores = pl.read_parquet(tiny_run / "results" / "scores" / "mini_clip_cc12m" / "systematicity.parquet")
    unscored = scores.filter(pl.col("reason") != "")
    assert unscored.height > 0
    assert unscored["rank"].null_count() == unscored.height


def test_every_set_has_the_full_number_of_distinct_foils(tiny_run):
    sets = pl.read_parquet(tiny_run / "results" / "retrieval_sets" / "systematicity" / "*.parquet")
    sizes = {"atom": 4, "comp": 6, "combined": 10}
    assert set(sets["foil_type"]) == set(sizes)
    for row in sets.iter_rows(named=True):
        texts = [foil["text"] for foil in row["foils"]]
        assert len(set(texts)) == len(texts) == sizes[row["foil_type"]]
        assert row["caption"] not in texts


def test_models_are_scored_on_their_own_corpus_only(tiny_run):
    rows = read_csv(tiny_run / "results" / "tables" / "systematicity.csv")
    pairs = {(row["training_corpus"], row["model"]) for row in rows}
    assert pairs == {(f"mini_{name}", f"mini_clip_{name}") for name in ("cc12m", "yfcc15m", "laion400m")}


def test_split_of_each_region_names_what_decided_it(tiny_run):
    splits = pl.read_parquet(tiny_run / "results" / "splits" / "mini_cc12m.parquet")
    assert set(splits["split"]) <= {"SC", "UC", "UA"}
    assert splits.filter((pl.col("split") == "SC") != (pl.col("decided_by") == "")).height == 0


def test_held_out_kinds_decide_unseen_atoms(tiny_run):
    truth = json.loads((tiny_run / "results" / "icons" / "corpora" / "mini_cc12m" / "truth.json").read_text())
    graphs = pl.read_parquet(tiny_run / "results" / "graphs" / "regions.parquet", columns=["region_id", "atoms"])
    splits = pl.read_parquet(tiny_run / "results" / "splits" / "mini_cc12m.parquet")
    split_of = dict(zip(splits["region_id"], splits["split"], strict=True))
    kinds = set(truth["held_out"]["kinds"])
    holders = [row for row in graphs.iter_rows(named=True) if kinds & {atom["text"] for atom in row["atoms"]}]
    assert holders
    assert {split_of[row["region_id"]] for row in holders} == {"UA"}


def planned_jobs(text: str) -> dict[str, str]:
    """Number of jobs of each rule of a plan."""
    return {line.split()[0]: line.split()[1] for line in text.splitlines() if line.count("  ") and line[0].isalpha()}


def test_a_plan_says_what_is_to_do_and_makes_nothing(tiny_run, checkout, tmp_path):
    done = run_snakemake(tmp_path, "plan", "--cores", "2", "--quiet", "all", root=checkout)
    assert_ok(done)
    jobs = planned_jobs(done.stdout)
    assert (jobs["train_icons_model"], jobs["parse_corpus"]) == ("3", "3")
    assert "On 2 cores: " in done.stdout
    assert {path.name for path in (tmp_path / "results").iterdir()} == {"logs"}
    finished = run_snakemake(tiny_run, "plan", "--cores", "2", "--quiet", "all", root=checkout)
    assert "Nothing has to be done" in finished.stdout


def test_a_plan_of_the_full_run_lists_the_files_that_are_missing(checkout, tmp_path):
    overlay = checkout / "config" / "crepe.yaml"
    done = run_snakemake(tmp_path, "plan", "--cores", "2", "--quiet", "all", overlay=overlay, root=checkout)
    assert_ok(done)
    assert (
        planned_jobs(done.stdout)["extract_features"] == "21"
    )  # 14 models; seven of them have no part in systematicity
    for path in ("data/downloads/visual_genome/images.zip", "data/cc12m/cc12m.tsv", "data/laion400m/*.parquet"):
        assert path in done.stdout
