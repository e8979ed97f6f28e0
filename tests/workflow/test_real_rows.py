"""The annotations of five real images go through the workflow, with every row accounted for."""

import shutil

import polars as pl
import pytest
import yaml

from .conftest import TINY, assert_ok, run_snakemake
from .test_tiny_run import read_csv

ANNOTATIONS = ("objects", "attributes", "relationships", "region_descriptions")
SETS = "results/retrieval_sets/systematicity/part-00000-of-00001"


@pytest.fixture(scope="module")
def real_run(tiny_run, checkout, shared_data, tmp_path_factory):
    """Folder of a run on the real annotations, with the mini corpora and models of the tiny run, and its overlay."""
    folder = tmp_path_factory.mktemp("real") / "run"
    shutil.copytree(tiny_run, folder)
    real = shared_data / "visual_genome_5_images"
    (folder / "visual_genome").mkdir()
    for name in ("image_data", *ANNOTATIONS):
        source = real / f"{name}.json" if name == "image_data" else real / "v1.2" / f"{name}.json"
        if name == "attributes":  # a file that was unpacked does as well
            shutil.copy(source, folder / "visual_genome")
            continue
        shutil.copy(source, folder / "visual_genome" / f"{name}.json")
    overlay = folder / "real.yaml"
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    overlay.write_text(
        yaml.safe_dump({**config, "visual_genome": {"source": "visual_genome", "download": "nothing"}}),
        encoding="utf-8",
    )
    splits = [f"results/splits/mini_{corpus}.parquet" for corpus in ("cc12m", "yfcc15m", "laion400m")]
    assert_ok(run_snakemake(folder, f"{SETS}.parquet", *splits, "--cores", "2", overlay=overlay, root=checkout))
    return folder, overlay


def counts(path) -> dict[tuple[str, str], int]:
    return {(row["unit"], row["reason"]): int(row["count"]) for row in read_csv(path)}


def test_every_real_row_is_accounted_for(real_run):
    results = real_run[0] / "results"
    read = counts(results / "visual_genome" / "accounting.csv")
    expected = {"image": 5, "object": 177, "relationship": 158, "region_description": 1278}
    for unit, count in expected.items():
        assert read[unit, "read"] == read[unit, "kept"] == count
    regions, graphs, sets = (
        counts(path)
        for path in (
            results / "regions" / "accounting.csv",
            results / "graphs" / "accounting.csv",
            real_run[0] / f"{SETS}.accounting.csv",
        )
    )
    assert (regions["region", "read"], regions["region", "kept"]) == (1278, 193)
    assert (graphs["region", "read"], graphs["region", "kept"]) == (193, 142)
    assert sets == {
        ("region_atom", "read"): 142,
        ("region_atom", "atom_foils"): 100,
        ("region_atom", "refinement"): 12,
        ("region_atom", "kept"): 30,
        **{
            (unit, reason): count
            for unit in ("region_comp", "region_combined")
            for reason, count in (
                ("read", 142),
                ("one_compound", 134),
                ("comp_foils", 4),
                ("refinement", 1),
                ("kept", 3),
            )
        },
    }


def test_real_regions_are_split_by_the_mini_vocabularies(real_run):
    for corpus in ("cc12m", "yfcc15m", "laion400m"):
        splits = pl.read_parquet(real_run[0] / "results" / "splits" / f"mini_{corpus}.parquet")
        assert splits.height == 142
        assert set(splits["split"]) <= {"SC", "UC", "UA"}
        assert splits.filter((pl.col("split") != "SC") & (pl.col("decided_by") == "")).height == 0


def test_real_captions_and_foils_are_clean(real_run):
    sets = pl.read_parquet(real_run[0] / f"{SETS}.parquet")
    assert sets.height == 30 + 3 + 3
    for row in sets.iter_rows(named=True):
        texts = [row["caption"], *(foil["text"] for foil in row["foils"])]
        assert len(set(texts)) == len(texts)
        assert all(text == " ".join(text.lower().split()) for text in texts)


def test_real_scene_graphs_can_take_the_place_of_parsed_captions(real_run, checkout, tmp_path):
    shutil.copytree(real_run[0], tmp_path / "run")
    config = yaml.safe_load(real_run[1].read_text(encoding="utf-8"))
    overlay = tmp_path / "annotated.yaml"
    config["graphs"]["source"] = "visual_genome"
    overlay.write_text(yaml.safe_dump(config), encoding="utf-8")
    assert_ok(run_snakemake(tmp_path / "run", f"{SETS}.parquet", "--cores", "2", overlay=overlay, root=checkout))
    results = tmp_path / "run" / "results"
    annotated = counts(results / "graphs" / "annotated.accounting.csv")
    assert annotated["region", "read"] == annotated["region", "kept"] == 193
    assert annotated["atom", "kept"] > 200
    graphs = pl.read_parquet(results / "graphs" / "regions.parquet").sort("region_id")
    captions = pl.read_parquet(results / "regions" / "regions.parquet").sort("region_id")
    caption_of = dict(zip(captions["region_id"], captions["caption"], strict=True))
    assert 0 < graphs.height == counts(results / "graphs" / "accounting.csv")["region", "kept"]
    for row in graphs.iter_rows(named=True):
        caption = caption_of[row["region_id"]]
        assert all(caption[atom["start"] : atom["end"]] == atom["surface"] for atom in row["atoms"])
    assert pl.read_parquet(tmp_path / "run" / f"{SETS}.parquet").height > 0


def test_the_feature_stage_says_which_images_are_missing_and_where_it_looked(real_run, checkout):
    folder, overlay = real_run
    index = "results/features/mini_clip_cc12m/systematicity.parquet"
    done = run_snakemake(folder, index, "--cores", "1", overlay=overlay, root=checkout)
    assert done.returncode != 0
    said = done.stdout + done.stderr
    assert "image_missing: 31 of 31 crops; 5 image(s): 1, 2, 3, 4, 5; searched in" in said, said[-3000:]
    assert "visual_genome/images.zip" in said
    assert "visual_genome/VG_100K_2" in said
    missing = read_csv(folder / "results" / "visual_genome" / "missing_images.csv")
    assert [row["image_id"] for row in missing] == ["1", "2", "3", "4", "5"]
    assert not (folder / index).exists()
