"""Manifests of other benchmarks say what their readers read, and what chance gives."""

import csv
from pathlib import Path

import pytest

from crepebench.benchmark_items import SHAPES
from crepebench.benchmark_manifests import check_counts, read_manifest
from crepebench.benchmark_results import chance

from .benchmark_files import FILES, read_items, write_file

FOLDER = Path(__file__).parents[2] / "resources"


@pytest.mark.parametrize("reader", FILES)
def test_chance_metrics_and_roots_are_those_of_the_items(tmp_path, reader):
    manifest = read_manifest(str(FOLDER / "benchmarks" / f"{reader}.yaml"))
    items = read_items(reader, [write_file(tmp_path, *FILES[reader])])
    found = {}
    for item in items:
        n_scores = 3 if item.task == "text_only" else len(item.images) * len(item.captions)
        found |= chance(item.task, n_scores)
    assert {name: round(100 * value, 2) for name, value in found.items()} == manifest["chance"]
    assert list(found) == manifest["metrics"]
    assert {image.root for item in items for image in item.images} <= set(manifest["images"])
    assert {item.task for item in items} <= set(SHAPES)


@pytest.mark.parametrize(
    ("reader", "n_rows", "n_items"),
    [
        ("sugarcrepe", 7511, 7511),
        ("sugarcrepe_pp", 4757, 2 * 4757),
        ("winoground", 400 + 400, 400),
        ("cola", 210, 210),
        ("valse", 534, 505),
        ("negrefcocog", 440, 440),
    ],
)
def test_counts_are_the_published_ones(reader, n_rows, n_items):
    manifest = read_manifest(str(FOLDER / "benchmarks" / f"{reader}.yaml"))
    assert sum(file["rows"] for file in manifest["files"].values()) == n_rows
    assert sum(manifest["subsets"].values()) == n_items


def test_negbench_counts_are_the_published_ones(shared_data):
    manifest = read_manifest(str(FOLDER / "benchmarks" / "negbench_mcq.yaml"))
    with open(shared_data / "tables" / "negbench_counts.csv", newline="", encoding="utf-8") as file:
        known = {row["file"]: int(row["rows"]) for row in csv.DictReader(file)}
    assert {name: file["rows"] for name, file in manifest["files"].items() if file["rows"]} == known


def test_subset_with_another_number_of_items_is_marked():
    manifest = {"subsets": {"coco": 5914, "voc2007": 5031}}
    assert check_counts(manifest, {"coco": 5914, "voc2007": 60, "mine": 3}) == ["count_differs_voc2007_60_of_5031"]


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("title: x\n", r"m.yaml: the keys \['chance', .* are missing"),
        ("[1, 2]\n", "m.yaml: no manifest"),
        ("a: [\n", "m.yaml: no YAML"),
        ("title: x\nother: 1\n", r"\['other'\] are unknown"),
    ],
)
def test_odd_manifest_is_named(tmp_path, text, match):
    (tmp_path / "m.yaml").write_text(text)
    with pytest.raises(ValueError, match=match):
        read_manifest(str(tmp_path / "m.yaml"))


def test_published_figures_have_a_source_and_stand_once():
    with open(FOLDER / "published" / "benchmarks.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    keys = [(row["model"], row["benchmark"], row["subset"], row["metric"]) for row in rows]
    assert len(set(keys)) == len(keys)
    assert all(row["source"] and 0 < float(row["value"]) < 100 for row in rows)
    official = {key[1:3]: row["value"] for key, row in zip(keys, rows, strict=True) if key[0] == "openai_vit_b_32"}
    assert official["negbench_coco", "all"] == "39.30"
    assert official["negbench_voc2007", "template=hybrid"] == "58.98"
