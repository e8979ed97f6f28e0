"""The page on other benchmarks, followed to the letter: its module, manifest, overlay and table."""

import csv
import re
import shutil

import pytest
import yaml
from PIL import Image
from snakemake.utils import update_config

from .conftest import ROOT, TINY, assert_ok, run_snakemake

PAGE = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
TABLE = "results/tables/benchmarks.csv"
ONE_MODEL = {"models": {"use": ["mini_clip_cc12m"]}}


def block(language: str, begins: str = "") -> str:
    """Returns the block of the page in a language that begins with some text."""
    found = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    (text,) = [text for text in found if text.startswith(begins)]
    return text


def write_overlay(path, *overlays):
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    for overlay in overlays:
        update_config(config, overlay)
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture
def files_of_the_page(checkout):
    """Puts the page's module and manifest where it says, and takes them away again."""
    texts = block("python", "# workflow/"), block("yaml", "# resources/")
    paths = [checkout / text.partition("\n")[0].removeprefix("# ") for text in texts]
    paths[1].parent.mkdir(parents=True, exist_ok=True)
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    yield
    for path in paths:
        path.unlink()


def test_a_benchmark_is_one_module_and_one_manifest_as_the_page_says(tiny_run, checkout, files_of_the_page, tmp_path):
    folder = tmp_path / "run"
    shutil.copytree(tiny_run, folder)
    (folder / "data" / "my_benchmark").mkdir(parents=True)
    (folder / "data" / "my_benchmark" / "questions.jsonl").write_text(block("json"), encoding="utf-8")
    (folder / "data" / "my_pictures" / "deep").mkdir(parents=True)
    for name, size in (("red.png", (40, 40)), ("blue.png", (40, 40)), ("deep/wide.png", (60, 20))):
        Image.new("RGB", size, name.removesuffix(".png") if "/" not in name else "grey").save(
            folder / "data" / "my_pictures" / name
        )
    overlay = write_overlay(tmp_path / "overlay.yaml", yaml.safe_load(block("yaml", "# overlay")), ONE_MODEL)
    done = run_snakemake(folder, TABLE, "--cores", "2", overlay=overlay, root=checkout)
    assert_ok(done)
    with open(folder / TABLE, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    shown = list(csv.DictReader(block("text", "subset,").splitlines()))
    assert [{name: row[name] for name in shown[0]} for row in rows] == shown
    assert {row["model"] for row in rows} == {"mini_clip_cc12m"}
    assert all(0 <= float(row["low"]) <= float(row["value"]) <= float(row["high"]) <= 100 for row in rows)
    assert "lost.png,image_missing" in (folder / "results/benchmark_items/my_benchmark/missing.csv").read_text()


def test_pictures_of_a_set_of_classification_are_laid_before_its_items_are_built(tmp_path):
    pictures = tmp_path / "run" / "data" / "food-101"
    for name in ("pie", "waffle"):
        (pictures / "images" / name).mkdir(parents=True)
        Image.new("RGB", (8, 8), "red").save(pictures / "images" / name / "1.jpg")
    (pictures / "meta").mkdir()
    (pictures / "meta" / "test.json").write_text('{"pie": ["pie/1"], "waffle": ["waffle/1"]}', encoding="utf-8")
    definition = {"reader": "zero_shot", "files": ["results/zero_shot/food101.json"]}
    chosen = {"use": ["food"], "zero_shot": {"food101": {"folder": "data"}}, "definitions": {"food": definition}}
    overlay = write_overlay(tmp_path / "overlay.yaml", {"benchmarks": chosen})
    assert_ok(run_snakemake(tmp_path / "run", "results/benchmark_items/food/items.parquet", "-c1", overlay=overlay))
    assert (tmp_path / "run" / "results" / "zero_shot" / "food101" / "food101_000001.jpg").is_symlink()
    assert "item,kept,4" in (tmp_path / "run" / "results/benchmark_items/food/accounting.csv").read_text()


def test_a_table_of_no_benchmark_points_to_the_page(tmp_path):
    done = run_snakemake(tmp_path, TABLE, "-n")
    assert done.returncode != 0
    assert "benchmarks.use of the config names no benchmark: see docs/benchmarks.md" in done.stdout + done.stderr


def test_a_benchmark_that_is_not_defined_stops_the_run_and_is_named(tmp_path):
    overlay = write_overlay(tmp_path / "overlay.yaml", {"benchmarks": {"use": ["nothing"]}})
    done = run_snakemake(tmp_path, "-n", overlay=overlay)
    assert done.returncode != 0
    assert "benchmarks.definitions has no 'nothing'" in done.stdout + done.stderr
