"""Measure reading, filtering and parsing on a synthetic Visual Genome, and extrapolate to the true one.

Run `python tests/benchmarks/read_visual_genome.py`; docs/performance.md has the figures. The test suite leaves it out.
The annotations are those of the icons world, without images. An image of the true data has 50 regions and one of the
icons world 8, so the annotations of several icons images are given to one image.
"""

import argparse
import csv
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

from crepebench.visual_genome import ANNOTATIONS  # noqa: E402
from icons_world.visual_genome import annotations, draw_image  # noqa: E402
from icons_world.world import read_world  # noqa: E402

TRUE_IMAGES, TRUE_REGIONS = 108_077, 5_408_689
ICONS_IMAGES_PER_IMAGE = 6
RULES = ("build_visual_genome", "filter_regions", "parse_regions", "filter_graphs")
LISTS = {
    "objects": "objects",
    "attributes": "attributes",
    "relationships": "relationships",
    "region_descriptions": "regions",
}


def merge_images(rows: list[dict], name: str) -> list[dict]:
    """Gives the entries of several icons images to the first of them."""
    merged = []
    for start in range(0, len(rows), ICONS_IMAGES_PER_IMAGE):
        group = rows[start : start + ICONS_IMAGES_PER_IMAGE]
        items = [item for row in group for item in row[LISTS[name]]]
        key = "id" if name == "region_descriptions" else "image_id"
        merged.append({key: group[0][key], LISTS[name]: [{**item, "image_id": group[0][key]} for item in items]})
    return merged


def write_annotations(folder: Path, n_images: int) -> int:
    """Writes the annotations of `n_images` images; returns the number of regions."""
    world = read_world(str(ROOT / "resources" / "icons" / "world.yaml"))
    images = [draw_image(world, index, seed=1) for index in range(n_images * ICONS_IMAGES_PER_IMAGE)]
    files = annotations(world, images, seed=1)
    n_drawn = len(images)
    for name in ANNOTATIONS:
        rows = files[name][:n_drawn]  # without the broken records behind them
        rows = rows[::ICONS_IMAGES_PER_IMAGE] if name == "image_data" else merge_images(rows, name)
        (folder / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
    return sum(len(row["regions"]) for row in files["region_descriptions"][:n_drawn])


def read_measures(folder: Path, rule: str) -> tuple[float, float]:
    """Returns the longest wall time in seconds and the largest memory in MB of a rule's jobs."""
    rows = []
    for path in (folder / "results" / "benchmarks" / rule).glob("*.tsv"):
        with open(path, newline="", encoding="utf-8") as file:
            rows += csv.DictReader(file, delimiter="\t")
    return max(float(row["s"]) for row in rows), max(float(row["max_rss"]) for row in rows)


def main() -> None:
    """Prints a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "visual_genome").mkdir()
        n_regions = write_annotations(folder / "visual_genome", options.images)
        config = {
            "visual_genome": {"source": "visual_genome", "download": "nothing"},
            "graphs": {"parts": options.cores},
        }
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "results/graphs/regions.parquet", "--cores", str(options.cores)]
        command += ["--snakefile", str(ROOT / "Snakefile"), "--directory", temporary]
        command += ["--workflow-profile", str(ROOT / "profiles" / "plain"), "--configfile", str(folder / "config.json")]
        subprocess.run(command, check=True, stdout=sys.stderr)
        factor = TRUE_REGIONS / n_regions
        print(f"{options.images:,} images, {n_regions:,} regions, {options.cores} cores\n")
        print(f"| rule | seconds | regions a second | peak memory | {TRUE_IMAGES:,} images |")
        print("|---|---:|---:|---:|---:|")
        for rule in RULES:
            seconds, megabytes = read_measures(folder, rule)
            rate, whole = n_regions / seconds, seconds * factor / 60
            print(f"| {rule} | {seconds:.0f} | {rate:,.0f} | {megabytes:,.0f} MB | {whole:.1f} min |")


if __name__ == "__main__":
    main()
