import csv
import shutil

import yaml

from .conftest import TINY, assert_ok, run_snakemake

SHEET = "results/review/parser_captions.csv"
THINNED = "results/tables/systematicity_gap_by_recall.csv"
PLOT = "results/plots/systematicity_gap_by_recall.png"


def read_rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def overlay_with(path, block, **changes):
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    config[block] = {**config.get(block, {}), **changes}
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


def test_sheets_go_to_people_and_come_back_and_the_gap_is_thinned(tiny_run, checkout, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(tiny_run, folder)
    targets = [SHEET, THINNED, "results/tables/systematicity_gap_by_recall.md", PLOT]
    assert_ok(run_snakemake(folder, *targets, "--cores", "2", root=checkout))

    sheet = read_rows(folder / SHEET)
    assert [row["corpus"] for row in sheet[::20]] == ["mini_cc12m", "mini_yfcc15m", "mini_laion400m"]
    assert len({row["id"] for row in sheet}) == 60
    shards = overlay_with(tmp_path / "shards.yaml", "corpora", shards=3)
    expected = (folder / SHEET).read_bytes()
    assert_ok(run_snakemake(folder, SHEET, "--cores", "1", "--forcerun", overlay=shards, root=checkout))
    assert (folder / SHEET).read_bytes() == expected

    gaps = {tuple(row.values())[:4]: row for row in read_rows(folder / "results" / "tables" / "systematicity_gap.csv")}
    thinned = read_rows(folder / THINNED)
    assert {"100.00", "80.00", "60.00"} <= {row["recall"] for row in thinned}  # at less, a tiny SC may be empty
    of_full_recall = [row for row in thinned if row["recall"] == "100.00"]
    assert len(of_full_recall) == len(gaps)
    for row in of_full_recall:
        assert gaps[tuple(row.values())[:4]].items() <= row.items()
    sizes = [
        int(row["n_seen"]) for row in thinned if (row["training_corpus"], row["foil_type"]) == ("mini_cc12m", "atom")
    ]
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > sizes[-1]
    assert (folder / PLOT).read_bytes().startswith(b"\x89PNG")

    for name, done in (("done.csv", "yes"), ("half.csv", "")):
        with open(folder / name, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, sheet[0])
            writer.writeheader()
            writer.writerows({**row, "done": done if i else "yes"} for i, row in enumerate(sheet))
    table = "results/tables/parser_quality.csv"
    half = overlay_with(tmp_path / "half.yaml", "parser_review", labelled=["half.csv"])
    failed = run_snakemake(folder, table, "--cores", "1", overlay=half, root=checkout)
    assert failed.returncode != 0
    assert f"half.csv: half filled in: done is not 'yes' for {sheet[1]['id']}" in failed.stdout + failed.stderr
    done = overlay_with(tmp_path / "done.yaml", "parser_review", labelled=["done.csv"])
    assert_ok(run_snakemake(folder, table, "--cores", "1", overlay=done, root=checkout))
    rows = read_rows(folder / table)
    assert [row["source"] for row in rows[::4]] == ["web_captions"] * 3 + [row["corpus"] for row in sheet[::20]]
    assert {row["f1"] for row in rows[12:] if row["n_found"] != "0"} == {"100.00"}
