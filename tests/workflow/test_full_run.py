"""The full run, rehearsed: config/crepe.yaml to every table, from hosts on this machine, with random weights.

Visual Genome has 200 images and each corpus 2,000 captions, in the true layouts and names. All models have their true
architectures. Only addresses and sizes differ from config/crepe.yaml; `full_run_rehearsal` has the list.
"""

import csv
import json
import shutil
import subprocess
from pathlib import Path

import polars as pl
import pytest
import yaml

from .conftest import ROOT, assert_nothing_to_do, assert_ok, run_snakemake
from .full_run_files import EXCLUDED, MISSING, NOT_IN_SUBSET, TRUNCATED, image_ids
from .full_run_rehearsal import BROKEN_MIRROR, CUT_AFTER, KEY, N_CAPTIONS, N_IMAGES, Rehearsal, rehearsal

pytestmark = pytest.mark.slow
FULL = ROOT / "config" / "crepe.yaml"
TABLES = """
    systematicity systematicity_gap systematicity_gap_seeds systematicity_by_kind productivity productivity_by_kind
    raw_retrieval blind_baselines parser_quality imagenet_correlation published_comparison dataset_statistics accounting
""".split()
ADDRESSES = {
    "captioner.backend",
    "captioner.base_url",
    "models.definitions.vit_b_16_plus_240_laion400m.weights",
    "models.definitions.openai_rn50.weights",
    "models.definitions.albef_14m.weights",
}
SIZES = {
    "visual_genome.image_parts",
    "graphs.parts",
    "corpora.shards",
    "foils.parts",
    "systematicity.max_queries",
    "productivity.max_queries",
    "evaluation.n_resamples",
    "evaluation.raw_pool.systematicity",
    "evaluation.raw_pool.productivity",
}
PROBLEMS = "results/visual_genome/image_problems.csv"


def read_csv(path: Path) -> list[dict]:
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def keys_of(block: dict, prefix: str = "") -> set[str]:
    """Names of all values of a nested config."""
    found = set()
    for key, value in block.items():
        found |= keys_of(value, f"{prefix}{key}.") if isinstance(value, dict) else {f"{prefix}{key}"}
    return found


def run(rehearsed: Rehearsal, checkout: Path, *arguments: str, also: str = "", folder: Path | None = None):
    """Runs config/crepe.yaml with the overlay of the full run, and another one behind it."""
    overlays = [rehearsed.overlays["full"], *([rehearsed.overlays[also]] if also else [])]
    arguments = (
        *arguments,
        "--cores",
        "2",
        "--configfile",
        str(checkout / "config" / "crepe.yaml"),
        *map(str, overlays),
    )
    return run_snakemake(folder or rehearsed.run, *arguments, overlay=None, env=rehearsed.env, root=checkout)


@pytest.fixture(scope="module")
def rehearsed(checkout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("full_run")
    with rehearsal(folder, checkout) as found:
        yield found
    shutil.rmtree(folder)  # 11 GB


@pytest.fixture(scope="module")
def finished(rehearsed, checkout):
    """The rehearsal, whose run has made everything."""
    assert_ok(run(rehearsed, checkout, "all", PROBLEMS))
    return rehearsed


@pytest.fixture(scope="module")
def tables(finished) -> Path:
    return finished.run / "results" / "tables"


@pytest.fixture(scope="module")
def full() -> dict:
    return yaml.safe_load(FULL.read_text(encoding="utf-8"))


def test_only_addresses_and_sizes_differ_from_the_full_run(finished):
    overlay = yaml.safe_load(finished.overlays["full"].read_text(encoding="utf-8"))
    assert keys_of(overlay) == ADDRESSES | SIZES


def test_every_table_has_rows(tables):
    assert {path.stem for path in tables.glob("*.md")} == set(TABLES)
    empty = {name for name in TABLES if not read_csv(tables / f"{name}.csv")}
    assert empty == {"published_comparison"}  # config/crepe.yaml asks for other forms than the paper's


def test_every_model_is_in_the_table_of_its_corpus(tables, full):
    rows = read_csv(tables / "systematicity.csv")
    expected = {
        (corpus, model, foil_type, split)
        for model in full["models"]["use"]
        for corpus in full["models"]["definitions"][model]["training_data"]
        if corpus in full["corpora"]["use"]
        for foil_type in ("atom", "comp", "combined")
        for split in ("SC", "UC")
    }
    assert len(expected) == 7 * 6
    found = {(row["training_corpus"], row["model"], row["foil_type"], row["split"]) for row in rows}
    assert expected <= found
    assert all(0 <= float(row["recall_at_1"]) <= 100 for row in rows if int(row["n_queries"]))


def test_every_model_is_measured_at_each_number_of_atoms_that_has_sets(tables, full):
    statistics = [row for row in read_csv(tables / "dataset_statistics.csv") if row["counts_of"] == "this run"]
    with_sets = {
        (row["foil_type"], row["complexity"])
        for row in statistics
        if row["family"] == "productivity" and row["complexity"] != "all" and row["foil_type"] != "all"
    }
    assert {complexity for _, complexity in with_sets} == set(map(str, range(4, 13)))
    rows = [row for row in read_csv(tables / "productivity.csv") if row["complexity"] != "all"]
    found = {(row["model"], row["foil_type"], row["complexity"]) for row in rows}
    assert found == {(model, *cell) for model in full["models"]["use"] for cell in with_sets}
    sources = {row["complexity"]: row["caption_source"] for row in rows}
    assert sources["4"] == "template" and "openai:Qwen/Qwen2.5-7B-Instruct" in sources["12"]


def test_correlations_are_of_the_papers_models(tables):
    rows = [row for row in read_csv(tables / "imagenet_correlation.csv") if row["recalls"] != "published"]
    models = {
        row["family"]: {int(other["n_models"]) for other in rows if other["family"] == row["family"]} for row in rows
    }
    assert 7 in models["systematicity"] and 12 in models["productivity"]


def test_the_run_is_recorded(finished, full):
    record = json.loads((finished.run / "results" / "run.json").read_text(encoding="utf-8"))
    assert set(record["models"]) == set(full["models"]["use"])
    assert record["config"]["captioner"]["model"] == full["captioner"]["model"]
    rules = {row["rule"]: row for row in record["rules"]}
    assert rules["extract_features"]["jobs"] == 21
    assert set(record["tables_sha256"]) == {f"{name}.csv" for name in TABLES}


def test_accounting_adds_up_and_the_dirt_is_counted(tables):
    totals: dict[tuple[str, str], dict[str, int]] = {}
    for row in read_csv(tables / "accounting.csv"):
        totals.setdefault((row["stage"], row["unit"]), {})[row["reason"]] = int(row["count"])
    for counts in totals.values():
        assert counts["read"] == sum(counts.values()) - counts["read"]
    assert totals["visual_genome", "image"] == {
        "read": N_IMAGES,
        "image_excluded": len(EXCLUDED),
        "kept": N_IMAGES - len(EXCLUDED),
    }
    assert totals["visual_genome", "image_file"]["image_missing"] == 1
    assert totals["captions", "answer"]["added_word"] > 0
    corpora = {corpus: totals[f"vocabularies/{corpus}", "caption"] for corpus in ("cc12m", "yfcc15m_clip", "laion400m")}
    assert all(counts["kept"] == N_CAPTIONS for counts in corpora.values())
    assert corpora["yfcc15m_clip"]["not_in_subset"] == NOT_IN_SUBSET
    assert {"columns_wrong", "text_empty", "text_undecodable"} <= set(corpora["cc12m"])
    assert corpora["laion400m"]["text_null"] == 4


def test_images_that_cannot_be_used_are_listed(finished):
    ids = image_ids(N_IMAGES)
    found = {(int(row["image_id"]), row["reason"]) for row in read_csv(finished.run / PROBLEMS)}
    assert found == {(ids[MISSING], "image_missing"), (ids[TRUNCATED], "image_unreadable")}


def test_nothing_is_fetched_twice_and_what_broke_off_is_continued(finished):
    host = finished.host
    assert {path: n_bytes for path, n_bytes in host.sent.items() if n_bytes != host.size(path)} == {}
    files = json.loads((finished.run / "results" / "visual_genome" / "files.json").read_text(encoding="utf-8"))
    urls = {Path(record["path"]).name: record["url"] for record in files}
    assert len(urls) == 7
    assert "jn12" in urls["images2.zip"] and host.moved(BROKEN_MIRROR) != urls["images2.zip"]
    continued = [start for method, path, start in host.requests if path.endswith("/images.zip") and start]
    assert continued == [CUT_AFTER]


def test_the_key_reaches_the_server_and_no_file(finished):
    assert {request["authorization"] for request in finished.captioner.requests} == {f"Bearer {KEY}"}
    found = subprocess.run(["grep", "-rlF", KEY, str(finished.run)], capture_output=True, text=True)
    assert (found.returncode, found.stdout) == (1, "")


def test_nothing_tried_to_leave_this_machine(finished):
    logs = [
        "grep",
        "-rliE",
        "proxyerror|cannot connect to proxy|127.0.0.1:9[^0-9]",
        str(finished.run / "results" / "logs"),
    ]
    assert subprocess.run(logs, capture_output=True, text=True).stdout == ""


def test_a_second_run_has_nothing_to_do_and_asks_for_nothing(finished, checkout):
    n_requests = len(finished.host.requests), len(finished.captioner.requests)
    assert_nothing_to_do(run(finished, checkout, "all", PROBLEMS))
    assert (len(finished.host.requests), len(finished.captioner.requests)) == n_requests


def other_run(finished: Rehearsal, checkout: Path, name: str, *targets: str) -> Path:
    """Runs an overlay behind that of the full run in a copy of its folder; returns the folder."""
    folder = finished.run.parent / name
    shutil.copytree(finished.run, folder, ignore=shutil.ignore_patterns("data", "locks"))
    (folder / "data").symlink_to(finished.run / "data")
    assert_ok(run(finished, checkout, *targets, also=name, folder=folder))
    return folder


def test_the_papers_forms_are_compared_with_its_figures(finished, checkout):
    n_fetched = dict(finished.host.sent)
    folder = other_run(finished, checkout, "paper", "results/tables/published_comparison.csv")
    rows = read_csv(folder / "results" / "tables" / "published_comparison.csv")
    assert {row["model"] for row in rows} == {"rn50_cc12m", "rn50_yfcc15m", "vit_b_32_laion400m"}
    assert {row["family"] for row in rows} == {"systematicity", "productivity"}
    assert all("parser" in row["differs_by"] for row in rows if row["family"] == "systematicity")
    assert dict(finished.host.sent) == n_fetched


def test_foils_and_audit_take_models_of_texts(finished, checkout):
    folder = other_run(finished, checkout, "texts", "results/tables/blind_baselines.csv")
    scorers = {row["scorer"] for row in read_csv(folder / "results" / "tables" / "blind_baselines.csv")}
    assert {"language_model", "language_model_per_token"} <= scorers


def test_version_1_4_with_aliases_is_read(finished, checkout):
    objects = "results/visual_genome/objects.parquet"
    folder = other_run(finished, checkout, "newer", objects)
    names = pl.read_parquet(folder / objects)["names"].explode().to_list()
    assert names.count("bike") == names.count("bicycle") > 0  # canonical name, then the annotators' own
    relations = pl.read_parquet(folder / "results" / "visual_genome" / "relationships.parquet")
    known = set(pl.read_parquet(folder / objects)["object_id"])
    assert set(relations["subject_id"]) | set(relations["object_id"]) <= known
