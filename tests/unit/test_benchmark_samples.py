"""Samples of other benchmarks, and files of their published form, run through images and results as whole ones."""

import json
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crepebench.benchmark_building import build_benchmark_items, read_items
from crepebench.benchmark_images import base_name
from crepebench.benchmark_manifests import read_manifest
from crepebench.benchmark_results import TEXT_PAIRS, judge
from crepebench.schema import BENCHMARK_ITEMS, RETRIEVAL_SETS, read_table
from crepebench.video_frames import is_clip

from .benchmark_files import ATTRIBUTION, FILES, write_file

RESOURCES = Path(__file__).parents[2] / "resources"
SIZE = 660, 660
"""Pixels of generated images; no box of a sample reaches further."""
RIGHT = {"choose_caption": [0], "choose_image": [0], "pairs": [0, 3], "pairs_image": [0, 3], "two_captions": [0, 1]}
"""Scores of the right pairs, image by image; of texts alone the first, which is of the two true captions."""


def sample_paths(shared_data: Path, reader: str) -> list[str]:
    folder = shared_data / "benchmarks" / {"negbench_mcq": "negbench"}.get(reader, reader)
    return sorted(str(path) for path in folder.glob("*_mcq*" if reader == "negbench_mcq" else "*.json"))


@pytest.fixture(
    params=[*FILES, "samples of sugarcrepe", "samples of sugarcrepe_pp", "samples of cola"]
    + [f"samples of {name}" for name in ("valse", "negbench_mcq", "negrefcocog")]
)
def benchmark(request, tmp_path) -> tuple[str, list[str]]:
    """A reader, and files for it."""
    reader = request.param.removeprefix("samples of ")
    if reader == request.param:
        paths = [write_file(tmp_path, *FILES[reader])]
        if reader == "aro":
            paths.append(write_file(tmp_path, "visual_genome_attribution.json", [ATTRIBUTION] * 2))
        return reader, paths
    return reader, sample_paths(request.getfixturevalue("shared_data"), reader)


def write_images(folder: Path, items) -> dict[str, str]:
    """Writes an image or clip for each that items name, and returns the roots."""
    Image.new("RGB", SIZE, "grey").save(folder / "one.png")
    if any(is_clip(ref.name) for item in items for ref in item.images):
        pytest.importorskip("av")
        from .test_video_frames import write_clip

        write_clip(folder / "one.mp4", [(90, 90, 90)] * 4, codec="mpeg4", pix_fmt="yuv420p")
    roots = {ref.root: str(folder / ref.root) for item in items for ref in item.images}
    for item in items:
        for ref in item.images:
            path = Path(roots[ref.root], "deep", base_name(ref.name))
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                shutil.copyfile(folder / ("one.mp4" if is_clip(ref.name) else "one.png"), path)
    return roots


def test_every_item_finds_its_images_and_texts(benchmark, tmp_path):
    reader, paths = benchmark
    items = read_items(reader, paths, {}, reader)
    roots = write_images(tmp_path, items)
    assert set(roots) <= set(read_manifest(str(RESOURCES / "benchmarks" / f"{reader}.yaml"))["images"])
    names = ("items", "images", "sets", "missing", "accounting", "frames")
    cfg = {"reader": reader, "options": {}, "roots": roots, "missing_images": "error"}
    build_benchmark_items(paths, *(str(tmp_path / name) for name in names), reader, json.dumps(cfg))
    rows = read_table(str(tmp_path / "items"), BENCHMARK_ITEMS).to_pylist()
    assert [row["item_id"] for row in rows] == [item.id for item in items]
    assert Counter(row["reason"] for row in rows) == {"": len(items)}
    assert read_table(str(tmp_path / "sets"), RETRIEVAL_SETS).num_rows >= len(items)


def test_equal_scores_are_at_chance_right_ones_at_100_and_wrong_ones_at_0(benchmark):
    reader, paths = benchmark
    chances = read_manifest(str(RESOURCES / "benchmarks" / f"{reader}.yaml"))["chance"]
    for item in read_items(reader, paths, {}, reader):
        n_scores = len(TEXT_PAIRS) if item.task == "text_only" else len(item.images) * len(item.captions)
        right = np.zeros((1, n_scores))
        right[0, RIGHT.get(item.task, [0])] = 1.0
        for metric, (strict, split) in judge(np.zeros((1, n_scores)), item.task).items():
            assert strict[0] == 0
            assert round(100 * split[0], 2) == chances[metric]
        assert all(strict[0] == split[0] == 1 for strict, split in judge(right, item.task).values())
        assert all(strict[0] == split[0] == 0 for strict, split in judge(-right, item.task).values())
        with pytest.raises(ValueError, match="NaN"):
            judge(np.full((1, n_scores), np.nan), item.task)
