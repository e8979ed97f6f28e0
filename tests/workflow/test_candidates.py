"""Searching a corpus must give the splits that parsing all of it gives."""

import csv
import shutil

import polars as pl
import pytest
import yaml

from crepebench.vocabularies import COUNTED, KEY_FIELDS, NOT_FOUND, REACHED

from .conftest import TINY, assert_nothing_to_do, assert_ok, run_snakemake

CORPORA = ("mini_cc12m", "mini_yfcc15m", "mini_laion400m")
KEYS = "results/candidates/test_keys.parquet"


def overlay_of(folder, **blocks):
    """Writes the tiny overlay with other blocks."""
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    for block, values in blocks.items():
        config[block] = {**config.get(block, {}), **values}
    path = folder / "overlay.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture
def run_folder(tiny_run, tmp_path):
    """A copy of the finished tiny run, which has parsed every caption."""
    return shutil.copytree(tiny_run, tmp_path / "run", symlinks=True)


def read(folder, path):
    return pl.read_parquet(folder / path)


def parsed_captions(folder):
    """Captions parsed in all shards of all corpora."""
    n_parsed = 0
    for path in (folder / "results/candidates/found").glob("*/*.accounting.csv"):
        with open(path, newline="") as file:
            rows = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
        n_parsed += rows["parsed_caption", "kept"]
    return n_parsed


def splits_of(corpora):
    return [f"results/splits/{corpus}.parquet" for corpus in corpora]


@pytest.mark.parametrize(
    ("corpora", "shards", "cores", "waves", "min_count"),
    [(CORPORA, 2, 2, [0.5, 1], 1), (CORPORA[:1], 1, 1, [1], 1), (CORPORA[1:2], 3, 2, [0.3, 0.6, 1], 2)],
)
def test_candidates_give_the_states_that_parsing_everything_gives(
    run_folder, tiny_run, checkout, corpora, shards, cores, waves, min_count
):
    overlay = overlay_of(
        run_folder,
        corpora={"shards": shards},
        vocabularies={"mode": "candidates", "waves": waves},
        splits={"min_count": min_count},
    )
    splits = splits_of(corpora)
    assert_ok(run_snakemake(run_folder, *splits, "--cores", str(cores), overlay=overlay, root=checkout))
    keys = read(run_folder, KEYS)
    assert len(keys) > 100
    for corpus in corpora:
        parsed = read(tiny_run, f"results/vocabularies/{corpus}.parquet").select(*KEY_FIELDS, exact="count")
        found = read(run_folder, f"results/candidates/{corpus}.parquet")
        assert found.select(KEY_FIELDS).equals(keys.select(KEY_FIELDS))
        both = found.join(parsed, on=KEY_FIELDS, how="left").with_columns(pl.col("exact").fill_null(0))
        assert (both["count"] == both["exact"].clip(upper_bound=min_count)).all()
        assert ((both["state"] == REACHED) == (both["exact"] >= min_count)).all()
        assert set(found["state"]) <= {COUNTED, REACHED}
        if min_count == 1:
            assert read(run_folder, f"results/splits/{corpus}.parquet").equals(
                read(tiny_run, f"results/splits/{corpus}.parquet")
            )
    assert_nothing_to_do(run_snakemake(run_folder, *splits, "-n", overlay=overlay, root=checkout))


def test_after_a_change_of_filters_only_what_is_new_is_looked_for(run_folder, checkout):
    splits = splits_of(CORPORA[:1])

    def run(**regions):
        overlay = overlay_of(run_folder, vocabularies={"mode": "candidates"}, regions=regions)
        assert_ok(run_snakemake(run_folder, *splits, "--cores", "2", overlay=overlay, root=checkout))
        return parsed_captions(run_folder), set(read(run_folder, KEYS).select(KEY_FIELDS).iter_rows())

    n_of_few, few = run(min_area=60_000)
    n_of_new, many = run(min_area=40_000)
    assert few < many
    for folder in ("stores/vocabularies", "candidates", "splits"):
        shutil.rmtree(run_folder / "results" / folder)
    n_of_all, again = run(min_area=40_000)
    assert again == many
    assert 0 < n_of_new < n_of_all
    assert n_of_few > 0
    n_of_none, _ = run(min_area=60_000)
    assert n_of_none == 0, "all of it is known"


def test_a_budget_leaves_a_third_state_that_is_in_no_table_cell(run_folder, checkout):
    overlay = overlay_of(run_folder, vocabularies={"mode": "budget", "budget": 1, "waves": [1]})
    tables = ["results/tables/systematicity.csv", "results/tables/accounting.csv"]
    assert_ok(run_snakemake(run_folder, *tables, "--cores", "2", overlay=overlay, root=checkout))
    n_undecided = {}
    for corpus in CORPORA:
        found = read(run_folder, f"results/candidates/{corpus}.parquet")
        open_keys = found.filter(pl.col("state") == NOT_FOUND)
        assert len(open_keys) > 0
        assert (open_keys["n_drawn"] < open_keys["n_candidates"]).all()
        assert open_keys["max_rate"].is_between(0, 1, closed="right").all()
        splits = read(run_folder, f"results/splits/{corpus}.parquet")
        n_undecided[f"splits/{corpus}"] = int((splits["split"] == "undecided").sum())
    assert sum(n_undecided.values()) > 0
    with open(run_folder / tables[1], newline="") as file:
        counted = {
            row["stage"]: int(row["count"])
            for row in csv.DictReader(file)
            if row["unit"] == "region_undecided" and row["reason"] == "kept"
        }
    assert counted == n_undecided
    with open(run_folder / tables[0], newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["split"] for row in rows} <= {"SC", "UC", "UA"}
    assert any("undecided_left_out" in row["marks"] for row in rows)
