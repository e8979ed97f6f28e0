"""Images in zips, in folders, in both, in neither; damaged ones; and a check of all images that is killed."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import polars as pl
import pytest
import yaml

from .conftest import ROOT, TINY, assert_ok, run_snakemake
from .test_tiny_run import read_csv

ANNOTATIONS = ("image_data", "objects", "attributes", "relationships", "region_descriptions")
ZIPS = ("images.zip", "images2.zip")
FOLDERS = ("VG_100K", "VG_100K_2")
PROBLEMS = "results/visual_genome/image_problems.csv"
INDEX = "results/features/mini_clip_cc12m/systematicity.parquet"
N_PARTS = 6
PATIENCE = 120
"""Seconds to wait for the parts of a check before it is killed."""


@pytest.fixture(scope="module")
def unpacked(tiny_run, tmp_path_factory) -> Path:
    """The tiny run's Visual Genome, unpacked; tests leave it as it is."""
    folder = tmp_path_factory.mktemp("unpacked")
    for path in (tiny_run / "results" / "icons" / "visual_genome").iterdir():
        with zipfile.ZipFile(path) as archive:
            archive.extractall(folder)
    return folder


def overlay_of(folder: Path, source: Path | str, **keys) -> Path:
    """Writes the tiny overlay with another Visual Genome."""
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    overlay = folder / "overlay.yaml"
    block = {"source": str(source), "download": "nothing", "image_parts": N_PARTS, **keys}
    overlay.write_text(yaml.safe_dump({**config, "visual_genome": block}), encoding="utf-8")
    return overlay


@pytest.mark.parametrize(
    "places", [ZIPS, FOLDERS, (*ZIPS, *FOLDERS), ("images.zip", "VG_100K_2"), ("images",), ()], ids=" ".join
)
def test_every_job_that_needs_images_depends_on_the_places_that_are_there(tmp_path, places):
    (tmp_path / "vg").mkdir()
    for name in ANNOTATIONS:
        (tmp_path / "vg" / f"{name}.json").touch()
    for name in places:
        (tmp_path / "vg" / name).touch() if name in ZIPS else (tmp_path / "vg" / name).mkdir()
    done = run_snakemake(tmp_path, PROBLEMS, "all", "--filegraph", overlay=overlay_of(tmp_path, "vg"))
    assert_ok(done)
    rules = re.findall(r'size="18">(\w+)<.*?</table>', done.stdout, re.DOTALL)
    texts = dict(zip(rules, re.split(r'size="18">', done.stdout)[1:], strict=True))
    for rule in ("build_visual_genome", "validate_images", "extract_features", "plot_contact_sheet"):
        inputs = re.findall(r">(vg/[^<]+)<", texts[rule])
        found = [path for path in inputs if not path.endswith(".json")]
        assert sorted(found) == sorted(f"vg/{name}" for name in places), rule


def images_of(folder: Path) -> pl.DataFrame:
    return pl.read_parquet(folder / "results" / "visual_genome" / "images.parquet")


def test_unpacked_images_are_the_same_images_and_nothing_is_encoded_again(tiny_run, unpacked, checkout, tmp_path):
    run = Path(shutil.copytree(tiny_run, tmp_path / "run"))
    overlay = overlay_of(tmp_path, unpacked)
    rules = ("--allowed-rules", "validate_visual_genome_files", "build_visual_genome", "extract_features")
    assert_ok(run_snakemake(run, INDEX, "--cores", "2", *rules, overlay=overlay, root=checkout))
    assert images_of(run).drop("archive", "path").equals(images_of(tiny_run).drop("archive", "path"))
    assert set(images_of(run)["archive"]) == {None, *(str(unpacked / name) for name in FOLDERS)}
    log = run / "results" / "logs" / "extract_features" / "mini_clip_cc12m_systematicity.log"
    assert "nothing was encoded: all features that can be made are in the store" in log.read_text()
    assert (run / INDEX).read_bytes() == (tiny_run / INDEX).read_bytes()


def test_missing_images_are_listed(tiny_run):
    (row,) = read_csv(tiny_run / "results" / "visual_genome" / "missing_images.csv")
    (missing,) = images_of(tiny_run).filter(pl.col("archive").is_null())["image_id"]
    assert row["image_id"] == str(missing)
    assert row["url"].endswith(f"VG_100K_2/{missing}.jpg")
    assert row["searched"] == "; ".join(f"results/icons/visual_genome/{name}" for name in ZIPS)


def test_missing_images_stop_the_run_if_the_config_says_so(unpacked, tmp_path):
    overlay = overlay_of(tmp_path, unpacked, missing_images="stop")
    done = run_snakemake(tmp_path, "--cores", "1", "results/visual_genome/images.parquet", overlay=overlay)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "1 of 80 images have no file (by the folder of their url: VG_100K_2: 1), ids 560; searched in" in said
    assert f"{unpacked}/images.zip (not there)" in said
    assert not (tmp_path / "results" / "visual_genome" / "images.parquet").exists()


class Check:
    """A check of unpacked images, some of them damaged, in a folder of its own."""

    def __init__(self, folder: Path, unpacked: Path):
        self.folder = folder
        self.source = Path(shutil.copytree(unpacked, folder / "vg"))
        self.overlay = overlay_of(folder, self.source)
        self.image(14).write_bytes(b"")
        self.image(28).write_bytes(b"<html>moved</html>")

    def image(self, image_id: int) -> Path:
        return next(self.source.glob(f"*/{image_id}.jpg"))

    def make(self, target: str = PROBLEMS) -> None:
        assert_ok(run_snakemake(self.folder, target, "--cores", "2", overlay=self.overlay))

    def parts(self) -> dict[str, int]:
        """Time stamps of the finished parts."""
        folder = self.folder / "results" / "visual_genome" / "image_checks"
        return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*.csv")}

    def problems(self) -> dict[int, str]:
        return {int(row["image_id"]): row["reason"] for row in read_csv(self.folder / PROBLEMS)}


@pytest.fixture
def check(unpacked, tmp_path) -> Check:
    return Check(tmp_path, unpacked)


EXPECTED = {14: "image_unreadable", 28: "image_unreadable", 21: "image_size", 553: "image_unreadable"}
EXPECTED |= {560: "image_missing"}


def test_check_that_is_killed_goes_on_where_it_stopped(check):
    check.make("results/visual_genome/images.parquet")
    command = [sys.executable, "-m", "snakemake", PROBLEMS, "-s", str(ROOT / "Snakefile"), "-d", str(check.folder)]
    command += ["--workflow-profile", str(ROOT / "profiles" / "plain"), "--cores", "1"]
    process = subprocess.Popen(
        [*command, "--configfile", str(check.overlay)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    start = time.monotonic()
    while len(check.parts()) < 3 and process.poll() is None and time.monotonic() - start < PATIENCE:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = check.parts()
    assert 3 <= len(before) < N_PARTS
    before.pop(max(before, key=before.get))  # Snakemake may not have noted its end yet
    assert_ok(run_snakemake(check.folder, "--unlock", overlay=check.overlay))
    check.make()
    after = check.parts()
    assert len(after) == N_PARTS
    assert {name: after[name] for name in before} == before
    assert check.problems() == EXPECTED


def test_check_says_what_is_wrong_with_each_image(check):
    check.make("results/visual_genome/images.parquet")
    shutil.copy(check.image(70), check.image(42))  # in place, which changes no time stamp of the folder
    check.make()
    assert check.problems() == {**EXPECTED, 42: "image_changed"}
    details = {row["image_id"]: row["detail"] for row in read_csv(check.folder / PROBLEMS)}
    assert details["14"] == "the file is empty"
    assert details["21"] == "640 x 480 pixels, annotated as 650 x 480"
    assert details["28"].startswith("no image of a known format")


def test_check_stops_if_most_images_fail(check):
    for path in check.source.glob("VG_100K*/*.jpg"):
        if int(path.stem) > 7 * 30:
            path.write_bytes(b"x")
    done = run_snakemake(check.folder, PROBLEMS, "--cores", "2", overlay=check.overlay)
    assert done.returncode != 0
    assert "52 of 79 images with a file cannot be used, so the fault is hardly theirs" in done.stdout + done.stderr
    assert not (check.folder / PROBLEMS).exists()
