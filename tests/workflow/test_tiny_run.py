import csv
import json

import polars as pl

from .conftest import ROOT, assert_ok, run_snakemake

TABLES = ("systematicity.csv", "systematicity_gap.csv", "systematicity_by_kind.csv", "accounting.csv")


def read_csv(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_all_tables_and_pictures_are_made(tiny_run):
    for name in TABLES:
        assert read_csv(tiny_run / "results" / "tables" / name), name
    for name in ("systematicity.png", "contact_sheet_systematicity.png"):
        assert (tiny_run / "results" / "plots" / name).read_bytes().startswith(b"\x89PNG")


def test_a_second_run_has_nothing_to_do(tiny_run):
    for arguments in (("--cores", "2"), ("--cores", "1"), ("--cores", "2", "results/tables/systematicity.csv")):
        done = run_snakemake(tiny_run, "-n", *arguments)
        assert_ok(done)
        assert "Nothing to be done" in done.stdout + done.stderr


def test_tables_are_the_same_bytes_in_another_folder_on_one_core(tiny_run, tmp_path):
    environment = {"PYTHONHASHSEED": "123"}
    assert_ok(run_snakemake(tmp_path, "--cores", "1", "results/tables/systematicity.csv", env=environment))
    for name in TABLES[:3]:
        assert (tmp_path / "results" / "tables" / name).read_bytes() == (
            tiny_run / "results" / "tables" / name
        ).read_bytes(), name


def test_nothing_is_lost_without_a_reason(tiny_run):
    totals = {}
    for row in read_csv(tiny_run / "results" / "tables" / "accounting.csv"):
        totals.setdefault((row["stage"], row["unit"]), {})[row["reason"]] = int(row["count"])
    for counts in totals.values():
        assert counts["read"] == sum(counts.values()) - counts["read"]
    assert totals["regions", "region"]["kept"] == totals["graphs", "region"]["read"]
    assert totals["graphs", "region"]["kept"] == totals["retrieval_sets/systematicity", "region"]["read"]


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


def test_a_changed_interval_re_runs_the_table_and_no_feature(tiny_run):
    overlay = tiny_run / "evaluation.yaml"
    tiny = (ROOT / "tests" / "data" / "tiny.yaml").read_text()
    assert "n_resamples: 100\n" in tiny
    overlay.write_text(tiny.replace("n_resamples: 100\n", "n_resamples: 200\n"))
    done = run_snakemake(tiny_run, "-n", "--cores", "2", overlay=overlay)
    assert_ok(done)
    assert "tabulate_systematicity" in done.stdout
    assert "extract_features" not in done.stdout
