"""Odd Visual Genome files: read to tables whose rows add up, or refused by the name of the file."""

import csv
import json
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crepebench.accounting import KEPT, READ
from crepebench.aliases import read_aliases
from crepebench.region_graphs import build_region_graphs
from crepebench.regions import write_regions
from crepebench.schema import GRAPHS, IMAGES, OBJECTS, REGION_DESCRIPTIONS, REGIONS, RELATIONSHIPS, read_table
from crepebench.visual_genome import ANNOTATIONS, write_visual_genome

from .mutations import damaged, inputs, mutated, only_errors_that_name

MAN = {"object_id": 10, "x": 5, "y": 7, "w": 90, "h": 80}
JAR = {"object_id": 11, "x": 30, "y": 7, "w": 60, "h": 50}
BY_VERSION = {
    "1.0": {
        "objects": [{"id": 10, "name": "man", **MAN}, {"object_id": 11, **JAR, "name": "jar"}],
        "attributes": [
            {"id": 10, "attributes": "Tall", "object_names": ["man"]},
            {"object_id": 11, "attributes": None},
        ],
        "subject": {"id": 10, "name": "man"},
        "object": {"object_id": 99, "name": "jar", **JAR},
    },
    "1.2": {
        "objects": [
            {**MAN, "names": ["man"], "synsets": ["man.n.01"]},
            {**JAR, "names": ["jar", "pot"], "synsets": []},
        ],
        "attributes": [{**MAN, "names": ["man"], "attributes": ["tall", " TALL "]}, {**JAR, "names": ["jar"]}],
        "subject": {**MAN, "names": ["man"], "synsets": ["man.n.01"]},
        "object": {**JAR, "name": "jar"},
    },
    "1.4": {
        "objects": [{**MAN, "names": ["man"], "merged_object_ids": [12, 13]}, {**JAR, "names": ["jar"]}],
        "attributes": [{**MAN, "object_id": 12, "names": ["man"], "attributes": ["tall"]}],
        "subject": {**MAN, "object_id": 13, "names": ["man"]},
        "object": {**JAR, "names": ["jar"]},
    },
}
REGION = {
    "region_id": 5,
    "image_id": 1,
    "x": 0,
    "y": -1,
    "width": 277,
    "height": 190,
    "phrase": "A tall man on a jar.\n",
}
URL = "https://h/VG_100K_2/1.jpg"


def files_of(version: str) -> dict[str, list]:
    """Good files of a version, of two images; the second one has nothing on it."""
    form = BY_VERSION[version]
    relationship = {"relationship_id": 3, "predicate": "ON", "synsets": ["on.r.01"]}
    relationship |= {side: form[side] for side in ("subject", "object")}
    of_region = {"region_id": 5, "phrase": "a tall man", "synsets": [], "objects": form["objects"]}
    by_ids = {"relationship_id": 4, "predicate": "on", "subject_id": 10, "object_id": 11}
    of_region["relationships"] = [by_ids, relationship]
    image = {"image_id": 1, "url": URL, "width": 300, "height": 200, "coco_id": None, "flickr_id": 7}
    return {
        "image_data": [image, {"id": 2, "url": None, "width": 300.0, "height": 200, "coco_id": -1}],
        "objects": [{"image_id": 1, "objects": form["objects"], "image_url": ""}, {"id": 2, "objects": None}],
        "attributes": [{"image_id": 1, "attributes": form["attributes"]}, {"image_id": 2, "attributes": []}],
        "relationships": [{"image_id": 1, "relationships": [relationship]}, {"image_id": 2, "relationships": []}],
        "region_descriptions": [{"id": 1, "regions": [REGION, {**REGION, "region_id": 6, "x": 0.5}]}],
        "region_graphs": [{"image_id": 1, "regions": [of_region]}],
    }


FILES = {version: files_of(version) for version in BY_VERSION}
NAMES = (*ANNOTATIONS, "region_graphs")
ITEMS = {"object": "objects", "relationship": "relationships", "region_description": "regions"}
CONFIG = json.dumps({"aliases": True, "exclude_images": [3], "missing_images": "set_aside", "sample": None})
BOUNDS = {"min_area": 1, "min_image_share": 0.1, "min_aspect": 0.5, "max_aspect": 2, "exclude_coco": True}


def run_stage(folder, paths) -> dict[str, dict[str, int]]:
    """Reads the files to tables, and returns the counts by unit and reason."""
    names = ("images", "objects", "relationships", "region_descriptions", "regions", "graphs")
    tables = {name: str(folder / f"{name}.parquet") for name in names}
    counts = [str(folder / f"counts_{n}.csv") for n in range(3)]
    aliases = folder / "object_alias.txt"
    aliases.write_text("man,guy\n")
    write_visual_genome(
        [paths[name] for name in ANNOTATIONS],
        [str(aliases)],
        [str(folder / "images")],
        tables["images"],
        str(folder / "missing.csv"),
        *(tables[name] for name in ("objects", "relationships", "region_descriptions")),
        counts[0],
        CONFIG,
    )
    write_regions(tables["region_descriptions"], tables["images"], tables["regions"], counts[1], json.dumps(BOUNDS))
    read = (tables[name] for name in ("regions", "objects", "relationships"))
    build_region_graphs(*read, [paths["region_graphs"]], tables["graphs"], counts[2])
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for path in counts:
        with open(path, newline="") as file:
            for row in csv.DictReader(file):
                found[f"{row['stage']} {row['unit']}"][row["reason"]] = int(row["count"])
    schemas = (IMAGES, OBJECTS, RELATIONSHIPS, REGION_DESCRIPTIONS, REGIONS, GRAPHS)
    rows = {name: read_table(tables[name], schema).num_rows for name, schema in zip(names, schemas, strict=True)}
    units = ("image", "object", "relationship", "region_description")
    kept = [*(f"visual_genome {unit}" for unit in units), "regions region", "graphs/visual_genome region"]
    assert [found[unit][KEPT] for unit in kept] == list(rows.values())
    return found


def write_file(path, text: bytes, is_zipped: bool) -> str:
    """Writes a JSON file as it is, or into a zip, and returns its path."""
    if not is_zipped:
        path.write_bytes(text)
        return str(path)
    with zipfile.ZipFile(f"{path}.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(path.name, text)
    return f"{path}.zip"


@pytest.fixture(scope="module")
def good(folder) -> dict[str, dict[str, str]]:
    """Paths of good files by version and name; those of version 1.2 are zipped."""
    paths = {}
    for version, files in FILES.items():
        (folder / version).mkdir()
        paths[version] = {
            name: write_file(folder / version / f"{name}.json", json.dumps(entries).encode(), version == "1.2")
            for name, entries in files.items()
        }
    return paths


@inputs(0.6)
@given(st.data())
def test_annotations_become_tables_or_are_refused_by_file(folder, good, data):
    name, version = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from(list(FILES)))
    files = {**FILES[version], name: data.draw(mutated(FILES[version][name]))}
    path = write_file(folder / f"odd_{name}.json", json.dumps(files[name]).encode(), is_zipped=False)
    with only_errors_that_name(path):
        counts = run_stage(folder, {**good[version], name: path})
        for unit, list_name in ITEMS.items():
            entries = files["region_descriptions" if unit == "region_description" else list_name]
            n_items = sum(len(entry[list_name] or ()) for entry in entries)
            assert counts[f"visual_genome {unit}"][READ] == n_items
        assert counts["visual_genome image"][READ] == len(files["image_data"])


@inputs(0.3)
@given(st.data())
def test_damaged_annotation_files_are_refused_by_name(folder, good, data):
    name, version = data.draw(st.sampled_from(NAMES)), data.draw(st.sampled_from(["1.2", "1.4"]))
    text = Path(good[version][name]).read_bytes()
    path = folder / f"odd_{Path(good[version][name]).name}"
    path.write_bytes(data.draw(damaged(text)))
    with only_errors_that_name(path):
        run_stage(folder, {**good[version], name: str(path)})


@inputs(0.1)
@given(st.data())
def test_alias_files_are_read_or_refused_by_name(folder, data):
    path = folder / "relationship_alias.txt"
    path.write_bytes(data.draw(damaged("on,on top of\nnéar,near\n".encode(), most=4)))
    with only_errors_that_name(path):
        assert all(read_aliases(str(path)))
