"""docs/tutorial.md and docs/adding.md do what they say: commands, overlays and captions are read from the pages."""

import json
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image
from snakemake.utils import update_config, validate

from crepebench.plan import NO_IMAGES
from crepebench.settings import check_names

from .conftest import ROOT, assert_ok
from .test_tiny_run import read_csv

TUTORIAL = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
CAPTIONS = "my_captions.csv"
ANNOTATIONS = ("objects", "attributes", "relationships", "region_descriptions")


def part(number: int) -> str:
    """Returns a part of the tutorial."""
    return re.split(r"^## \d\. ", TUTORIAL, flags=re.MULTILINE)[number]


def commands(text: str) -> list[list[str]]:
    """Returns the calls of snakemake in a text, word by word."""
    blocks = "\n".join(re.findall(r"^```sh\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE))
    return [shlex.split(line) for line in blocks.splitlines() if line.startswith("snakemake ")]


def files(text: str) -> dict[str, str]:
    """Returns the overlays of a text by the names in their first lines, and its table of captions."""
    overlays = re.findall(r"^```yaml\n# (\S+)\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    captions = re.search(r"^```csv\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    return dict(overlays) | ({CAPTIONS: captions[1]} if captions else {})


def call(root: Path, command: list[str], *more: str) -> subprocess.CompletedProcess:
    """Calls snakemake as the tutorial does, in the folder of the repository; `more` are options at the end."""
    words = [sys.executable, "-m", "snakemake", *command[1:], *more]
    return subprocess.run(words, capture_output=True, text=True, cwd=root)


def plan(root: Path, command: list[str]) -> dict[str, int]:
    """Returns the number of jobs of each rule, and in total, that snakemake would run for a command."""
    done = call(root, command, *(() if "-n" in command else ("-n", "--quiet", "rules")))
    assert_ok(done)
    table = (done.stdout + done.stderr).partition("Job stats")[2].partition("Reasons")[0]
    return {
        rule.replace(" ", "_"): int(n) for rule, n in re.findall(r"^ ?([a-z][a-z ]*?) +(\d+) *$", table, re.MULTILINE)
    }


@pytest.fixture(scope="module")
def desk(checkout, tiny_run) -> Iterator[Path]:
    """The checkout with the tutorial's files, the finished run of part 1, and what part 2 brings; tests only plan."""
    made = files(TUTORIAL)
    captions = made.pop(CAPTIONS)
    for name, text in made.items():
        (checkout / name).write_text(text, encoding="utf-8")
    data = checkout / "runs" / "sample" / "data"
    (data / "visual_genome" / "VG_100K").mkdir(parents=True)
    for name in ("image_data", *ANNOTATIONS):
        (data / "visual_genome" / f"{name}.json").touch()
    (data / "my_captions.csv").write_text(captions, encoding="utf-8")
    (checkout / "runs" / "first").symlink_to(tiny_run)
    yield checkout
    for name in made:
        (checkout / name).unlink()
    (checkout / "runs" / "first").unlink()
    shutil.rmtree(checkout / "runs")


def test_jobs_of_the_tutorial_are_those_that_would_run(desk):
    fresh, _, _, changed, forced = commands(part(1))
    blind, _, mini = commands(part(2))
    fresh = [word.replace("runs/first", "runs/fresh") for word in fresh]
    with ThreadPoolExecutor(2) as pool:
        plans = pool.map(lambda command: plan(desk, command), (fresh, changed, forced, blind, mini))
        fresh, changed, forced, blind, mini = plans
    told = list(map(int, re.findall(r"^(\d+) jobs", part(1), flags=re.MULTILINE)))
    assert [fresh["total"], changed["total"]] == told
    assert "build_foils" not in changed and "tabulate_systematicity" in changed
    assert set(forced) == {"plot_accounting", "write_run_record", "all", "total"}
    assert "extract_features" not in blind and blind["build_retrieval_sets"] == 4
    assert mini["extract_features"] == 2 and "fetch_weights" not in mini
    assert "download_file" not in mini


def test_targets_come_before_options_that_take_several_values():
    for command in commands(TUTORIAL):
        options = [i for i, word in enumerate(command) if word.startswith("-")]
        assert all(i < options[0] for i, word in enumerate(command) if word.startswith("results/")), command


def test_the_target_that_the_plan_proposes_without_images_is_that_of_the_tutorial():
    assert re.search(r"results/\S+?(?=,)", NO_IMAGES)[0] in commands(part(2))[0]


def test_files_that_the_page_on_adding_names_are_there():
    page = (ROOT / "docs" / "adding.md").read_text(encoding="utf-8")
    names = re.findall(r"`((?:crepebench/|tests/|test_|workflow/|config/|docs/)[\w/]+\.(?:py|md|yaml))`", page)
    assert len(set(names)) > 15
    for name in names:
        folder = (
            "workflow/scripts" if name.startswith("crepebench/") else "tests/unit" if name.startswith("test_") else ""
        )
        assert (ROOT / folder / name).is_file(), name


def test_overlay_of_the_page_on_adding_is_accepted(tmp_path):
    overlay = files((ROOT / "docs" / "adding.md").read_text(encoding="utf-8"))["corpus.yaml"]
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    update_config(config, yaml.safe_load(overlay.replace("data/my_model", str(tmp_path))))
    (tmp_path / "open_clip_config.json").write_text("{}")
    validate(config, str(ROOT / "workflow" / "schemas" / "config.schema.yaml"), set_default=False)
    check_names(config)


@pytest.mark.slow
def test_part_2_gives_tables_of_five_real_images(checkout, tiny_run, shared_data, tmp_path):
    """Follows part 2, with five images drawn at random under their names, and the mini CLIP of part 1."""
    root = tmp_path / "crepe"
    shutil.copytree(checkout, root, ignore=shutil.ignore_patterns("runs"))
    made = files(TUTORIAL)
    data = root / "runs" / "sample" / "data"
    (data / "visual_genome").mkdir(parents=True)
    real = shared_data / "visual_genome_5_images"
    for path in (real / "image_data.json", *(real / "v1.2" / f"{name}.json" for name in ANNOTATIONS)):
        (data / "visual_genome" / path.name).write_bytes(path.read_bytes())
    (data / "my_captions.csv").write_text(made.pop(CAPTIONS), encoding="utf-8")
    for name, text in made.items():
        (root / name).write_text(text.replace("{share: 0.01}", "{ids: [1, 2, 3, 4, 5]}"), encoding="utf-8")
    (root / "runs" / "first").symlink_to(tiny_run)
    blind, _, mini = commands(part(2))
    few = ("--configfile", "sample.yaml", "few.yaml")
    assert_ok(call(root, [*blind[: blind.index("--configfile")], *few]))
    results = root / "runs" / "sample" / "results"
    assert read_csv(results / "tables" / "dataset_statistics.csv")[0]["counts_of"] == "this run"
    sizes = {row["image_id"]: row for row in json.loads((real / "image_data.json").read_text(encoding="utf-8"))}
    folder = data / "visual_genome" / "VG_100K"
    folder.mkdir()
    for row in read_csv(results / "visual_genome" / "missing_images.csv"):
        image = sizes[int(row["image_id"])]
        pixels = np.random.default_rng(image["image_id"]).integers(
            0, 255, (image["height"], image["width"], 3), np.uint8
        )
        Image.fromarray(pixels).save(folder / row["url"].rpartition("/")[2])
    assert_ok(call(root, [*mini[: mini.index("--configfile")], *few, "mini.yaml"]))
    rows = read_csv(results / "tables" / "systematicity.csv")
    assert {row["model"] for row in rows} == {"mini"}
    assert sum(int(row["n_queries"]) for row in rows) == 36
