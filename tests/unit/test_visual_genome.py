import csv
import json
import logging
import zipfile
import zlib
from collections import Counter
from pathlib import Path

import pytest
import yaml

from crepebench.accounting import KEPT, READ, kept_rows
from crepebench.aliases import Aliases
from crepebench.image_files import ImageSearch
from crepebench.objects import MergedObjects
from crepebench.schema import IMAGES, OBJECTS, REGION_DESCRIPTIONS, RELATIONSHIPS, read_table
from crepebench.visual_genome import (
    ANNOTATIONS,
    image_rows,
    read_images,
    region_rows,
    relationship_rows,
    write_visual_genome,
)

BOX = {"x": 1, "y": 2, "w": 30, "h": 40}
REGION = {"region_id": 5, "x": 1, "y": -1, "width": 277, "height": 70, "phrase": "a jar\n"}
MAN, HAT = {"object_id": 1, "name": "man"}, {"object_id": 2, "name": "hat"}
ALL = {"aliases": False, "exclude_images": [], "missing_images": "set_aside", "sample": None}
SCHEMAS = {
    "images": IMAGES,
    "objects": OBJECTS,
    "relationships": RELATIONSHIPS,
    "region_descriptions": REGION_DESCRIPTIONS,
}


def relations_of(items, merged=None, aliases=None):
    counts = Counter()
    rows = relationship_rows([(9, items)], "relationships.json.zip", merged or MergedObjects(), aliases or Aliases())
    return list(kept_rows(rows, counts)), counts


def relation(subject=MAN, object_=HAT, **changes):
    return {"relationship_id": 3, "predicate": "wears", "subject": subject, "object": object_, **changes}


def regions_of(items):
    return list(region_rows([(9, items)], "region_descriptions.json.zip"))


def images_of(tmp_path, *entries):
    path = tmp_path / "image_data.json"
    path.write_text(json.dumps(entries))
    return [entry for _, found in read_images(str(path)) for entry in found]


class Stage:
    """A run of the whole stage: rows of its tables, and its counts by unit and reason."""

    def __init__(self, folder: Path, files: dict[str, list | Path], config=ALL, aliases=None, images=()):
        paths = []
        for name in ANNOTATIONS:
            paths.append(files[name] if isinstance(files[name], Path) else folder / f"{name}.json")
            if not isinstance(files[name], Path):
                paths[-1].write_text(json.dumps(files[name]))
        for name, text in (aliases or {}).items():
            (folder / name).write_text(text)
        with zipfile.ZipFile(folder / "images.zip", "w") as archive:
            for image_id in images:
                archive.writestr(f"VG_100K/{image_id}.jpg", b"abc")
        tables = {name: str(folder / f"{name}.parquet") for name in SCHEMAS}
        write_visual_genome(
            list(map(str, paths)),
            [str(folder / name) for name in aliases or {}],
            [str(folder / "images.zip"), str(folder / "images2.zip")],
            tables["images"],
            str(folder / "missing_images.csv"),
            *(tables[name] for name in SCHEMAS if name != "images"),
            str(folder / "accounting.csv"),
            json.dumps(config),
        )
        for name, schema in SCHEMAS.items():
            setattr(self, name, read_table(tables[name], schema).to_pylist())
        self.counts: dict[str, dict[str, int]] = {}
        with open(folder / "accounting.csv", newline="") as file:
            for row in csv.DictReader(file):
                self.counts.setdefault(row["unit"], {})[row["reason"]] = int(row["count"])


def annotated(*image_ids: int) -> dict[str, list]:
    """Files in which each image has two objects, attributes of one, a relationship and two regions."""
    files = {name: [] for name in ANNOTATIONS}
    for i in image_ids:
        pair = [{"object_id": 10 * i + n, "names": [name], **BOX} for n, name in enumerate(("man", "hat"))]
        ends = {side: {**end, "name": end["names"][0]} for side, end in zip(("subject", "object"), pair, strict=True)}
        regions = [{**REGION, "region_id": 10 * i + n, "image_id": i} for n in range(2)]
        files["image_data"].append({"image_id": i, "url": "", "width": 640, "height": 480})
        files["objects"].append({"image_id": i, "objects": pair})
        files["attributes"].append({"image_id": i, "attributes": [{**pair[1], "attributes": [f"hat {i}"]}]})
        files["relationships"].append({"image_id": i, "relationships": [relation(*ends.values(), relationship_id=i)]})
        files["region_descriptions"].append({"id": i, "regions": regions})
    return files


@pytest.mark.parametrize(
    "ends",
    [
        ({"object_id": 1, "name": "Man"}, {"object_id": 2, "name": "hat"}),
        ({"object_id": 1, "name": "man"}, {"object_id": 2, "names": ["hat", "cap"]}),
        ({"id": 1, "names": ["man "]}, {"id": 2, "name": "hat"}),
    ],
)
def test_every_form_of_endpoint_gives_the_same_row(ends):
    (row,), _ = relations_of([relation(*ends, predicate="WEARS ")])
    assert row == {
        "image_id": 9,
        "relationship_id": 3,
        "predicate": "wears",
        "predicate_raw": "WEARS ",
        "synsets": [],
        "subject_id": 1,
        "subject_name": "man",
        "object_id": 2,
        "object_name": "hat",
        **{f"{side}_{key}": None for side in ("subject", "object") for key in ("x", "y", "width", "height")},
    }


def test_every_version_of_relationship_fields_gives_the_same_row():
    old = {"id": 3, "predicate": "on", "subject": {"id": 1, "name": "a", **BOX}, "object": {"id": 2, "name": "b"}}
    new = {**old, "relationship_id": 3, "synsets": [], "subject": {"object_id": 1, "name": "a", "synsets": [], **BOX}}
    newest = {**new, "id": 99, "subject": {"object_id": 1, "names": ["a"], "merged_object_ids": [], **BOX}}
    rows, _ = relations_of([old, new, newest])
    assert rows == [rows[0]] * 3
    assert [rows[0][f"subject_{key}"] for key in ("x", "y", "width", "height")] == [1, 2, 30, 40]


@pytest.mark.parametrize(
    ("synsets", "found"), [([], []), (["along.r.01"], ["along.r.01"]), ("wear.v.01", ["wear.v.01"])]
)
def test_synsets_of_a_relationship_may_be_a_list_or_one_text(synsets, found):
    assert relations_of([relation(synsets=synsets)])[0][0]["synsets"] == found


@pytest.mark.parametrize("predicate", ["", "  ", None])
def test_relationship_without_predicate_is_dropped_and_counted(predicate):
    rows, counts = relations_of([relation(predicate=predicate)])
    assert rows == []
    assert counts == {READ: 1, "predicate_missing": 1}


@pytest.mark.parametrize("names", [[], [" "], "", ["", " "]])
@pytest.mark.parametrize("nameless", ["subject", "object"])
def test_relationship_whose_endpoint_has_no_name_is_dropped_and_counted(nameless, names):
    rows, counts = relations_of([relation(**{nameless: {"object_id": 3, "names": names}})])
    assert rows == []
    assert counts == {READ: 1, "endpoint_name_missing": 1}


def test_first_name_of_an_endpoint_that_has_words_is_taken():
    ((row,), counts) = relations_of([relation({"object_id": 1, "names": [" ", "Old  Man"]})])
    assert (row["subject_name"], row["object_name"]) == ("old man", "hat")
    assert counts == {READ: 1, KEPT: 1}


def test_relationship_whose_ids_are_minus_one_has_none():
    (row,), _ = relations_of([relation({"object_id": -1, "name": "man"}, relationship_id=-1)])
    assert (row["relationship_id"], row["subject_id"], row["subject_name"]) == (None, None, "man")


@pytest.mark.parametrize("field", ["subject", "object", "relationship_id", "predicate"])
def test_relationship_with_a_field_missing_is_refused_by_file_image_and_place(field):
    item = relation()
    del item[field]
    with pytest.raises(ValueError, match=rf"relationships\.json\.zip: image 9, relationships\[0\]: .*'{field}'"):
        relations_of([item])


@pytest.mark.parametrize("end", [{"object_id": 1, "label": "man"}, "man", 1])
def test_endpoint_of_unknown_form_is_refused(end):
    with pytest.raises(
        ValueError, match=r"relationships\[0\]: subject: .*(only \['label', 'object_id'\]|no JSON object)"
    ):
        relations_of([relation(end)])


def test_endpoint_with_the_id_of_a_merged_object_is_the_one_that_was_kept():
    merged = MergedObjects()
    merged.add(7, [2])
    (row,), _ = relations_of([relation()], merged)
    assert (row["subject_id"], row["object_id"]) == (1, 7)


def test_aliases_give_endpoints_and_predicates_their_canonical_names():
    (row,), _ = relations_of([relation(predicate="Wearing a")], None, Aliases({"hat": "cap"}, {"wearing a": "wearing"}))
    assert (row["object_name"], row["predicate"], row["predicate_raw"]) == ("cap", "wearing", "Wearing a")


def test_image_without_regions_has_no_row():
    assert regions_of([]) == []


def test_region_keeps_box_and_raw_phrase():
    assert regions_of([REGION]) == [{"image_id": 9, **REGION}]


def test_both_versions_of_region_fields_give_the_same_row():
    old = {"id": 5, "image": 9, **{key: value for key, value in REGION.items() if key != "region_id"}}
    assert regions_of([old]) == regions_of([{**REGION, "image_id": 9}])


def test_region_with_null_phrase_has_an_empty_one():
    assert regions_of([{**REGION, "phrase": None}])[0]["phrase"] == ""


@pytest.mark.parametrize("field", ["region_id", "phrase", "width"])
def test_region_with_a_field_missing_is_refused_by_file_image_and_place(field):
    region = {key: value for key, value in REGION.items() if key != field}
    with pytest.raises(ValueError, match=rf"region_descriptions\.json\.zip: image 9, regions\[0\]: .*{field}.*only"):
        regions_of([region])


@pytest.mark.parametrize("phrase", [["a jar"], 7])
def test_phrase_that_is_no_text_is_refused(phrase):
    with pytest.raises(ValueError, match=r"regions\[0\]: phrase is .*, not a text"):
        regions_of([{**REGION, "phrase": phrase}])


@pytest.mark.parametrize("field", ["image_id", "width", "height"])
def test_image_with_a_field_missing_is_refused_by_file_and_place(tmp_path, field):
    entry = {"image_id": 1, "width": 4, "height": 3}
    del entry[field]
    with pytest.raises(ValueError, match=rf"image_data\.json: entries\[1\]: none of the fields .*'{field}'"):
        images_of(tmp_path, {"id": 2, "width": 4, "height": 3}, entry)


def test_coco_and_flickr_ids_are_carried_and_minus_one_is_none(tmp_path):
    sizes = {"width": 4, "height": 3}
    entries = images_of(
        tmp_path,
        {"image_id": 1, **sizes, "coco_id": 7, "flickr_id": 8_505_158_818},
        {"id": 2, **sizes, "coco_id": -1, "flickr_id": None},
        {"image_id": 3, **sizes},
    )
    rows = list(image_rows(entries, ImageSearch([]), Counter()))
    assert [(row["coco_id"], row["flickr_id"]) for row in rows] == [(7, 8_505_158_818), (None, None), (None, None)]


def test_image_whose_id_is_minus_one_is_dropped_and_counted(tmp_path):
    counts = Counter()
    assert (
        list(image_rows(images_of(tmp_path, {"image_id": -1, "width": 4, "height": 3}), ImageSearch([]), counts)) == []
    )
    assert counts == {READ: 1, "image_id_missing": 1}


def test_images_are_joined_with_their_files_by_id_not_by_place(tmp_path):
    entries = [{"image_id": i, "url": f"https://h/VG_100K/{i}.jpg", "width": 4, "height": 3} for i in (3, 1, 2)]
    places = [str(tmp_path / name) for name in ("images.zip", "images2.zip")]
    for place, member in zip(places, ("VG_100K/1.jpg", "VG_100K_2/3.jpg"), strict=True):
        with zipfile.ZipFile(place, "w") as archive:
            archive.writestr(member, b"abc")
    counts = Counter()
    rows = list(image_rows(entries, ImageSearch(places), counts))
    crc = zlib.crc32(b"abc")
    assert [(row["image_id"], row["archive"], row["path"], row["crc32"]) for row in rows] == [
        (3, places[1], "VG_100K_2/3.jpg", crc),
        (1, places[0], "VG_100K/1.jpg", crc),
        (2, None, None, None),
    ]
    assert counts == {READ: 3, KEPT: 3}


def test_repeated_image_is_dropped_and_counted():
    counts = Counter()
    entry = {"image_id": 1, "width": 4, "height": 3, "coco_id": 7, "flickr_id": 8_505_158_818}
    rows = list(image_rows([entry, {**entry, "width": 5}], ImageSearch([]), counts))
    assert [(row["width"], row["coco_id"], row["flickr_id"]) for row in rows] == [(4, 7, 8_505_158_818)]
    assert counts == {READ: 2, KEPT: 1, "image_id_repeated": 1}


def test_stage_writes_its_tables_and_counts(tmp_path):
    files = {
        "image_data": [{"image_id": 9, "width": 640, "height": 480, "coco_id": None, "flickr_id": None}],
        "objects": [{"image_id": 9, "objects": [{"object_id": 1, "names": ["man"], **BOX, "synsets": []}]}],
        "attributes": [{"image_id": 9, "attributes": [{"object_id": 1, "names": ["man"], "attributes": ["tall"]}]}],
        "relationships": [{"image_id": 9, "relationships": [relation()]}],
        "region_descriptions": [{"id": 9, "regions": [REGION]}, {"id": 10, "regions": []}],
    }
    stage = Stage(tmp_path, files, images=[9])
    assert stage.images[0]["path"] == "VG_100K/9.jpg"
    assert stage.objects[0]["attributes"] == ["tall"]
    assert stage.relationships[0]["object_name"] == "hat"
    assert stage.region_descriptions == [{"image_id": 9, **REGION}]
    kept = {unit: counts[KEPT] for unit, counts in stage.counts.items()}
    units = ("image", "image_file", "object", "attribute_entry", "relationship", "region_description")
    assert kept == {**dict.fromkeys(units, 1), "relationship_endpoint": 1, "annotated_image": 1}


def test_missing_image_stops_the_stage_before_the_other_files_are_read(tmp_path):
    with pytest.raises(ValueError, match=r"1 of 2 images have no file .* ids 2; .*images2\.zip \(not"):
        Stage(tmp_path, annotated(1, 2), {**ALL, "missing_images": "stop"}, images=[1])
    assert not (tmp_path / "objects.parquet").exists()


@pytest.mark.parametrize("width", [30.5, None])
def test_box_of_a_region_may_hold_a_fraction_or_null(width):
    (row,) = regions_of([{**REGION, "width": width}])
    assert row["width"] == width


def test_files_in_any_order_give_the_same_rows_joined_by_image_id(tmp_path):
    files = annotated(3, 1, 2)
    turned = {name: entries[::-1] if name != "objects" else entries for name, entries in files.items()}
    rows = []
    for name, content in (("straight", files), ("turned", turned)):
        (tmp_path / name).mkdir()
        stage = Stage(tmp_path / name, content)
        rows.append({table: sorted(map(str, getattr(stage, table))) for table in SCHEMAS})
    assert rows[0] == rows[1]
    assert {(row["image_id"], *row["attributes"]) for row in stage.objects if row["attributes"]} == {
        (i, f"hat {i}") for i in (1, 2, 3)
    }


def test_images_on_one_side_only_are_reported_and_stop_nothing(tmp_path, caplog):
    files = annotated(1, 2, 3)
    files["objects"] = files["objects"][1:]
    files["image_data"] = files["image_data"][:2]
    with caplog.at_level(logging.WARNING):
        stage = Stage(tmp_path, files)
    assert stage.counts["annotated_image"] == {READ: 3, KEPT: 1, "image_unknown": 1, "objects_missing": 1}
    assert "objects_missing: 1 images, ids [1]" in caplog.text
    assert len(stage.region_descriptions) == 6


def test_image_rows_without_a_file_stay_and_no_number_of_images_is_expected(tmp_path):
    stage = Stage(tmp_path, annotated(1, 2, 3), images=[1, 2])
    assert [row["path"] is None for row in stage.images] == [False, False, True]


def test_known_bad_image_is_left_out_of_every_table_under_its_own_reason(tmp_path, repository):
    defaults = yaml.safe_load((repository / "config" / "config.yaml").read_text(encoding="utf-8"))["visual_genome"]
    assert defaults["exclude_images"] == [1592, 1722, 4616, 4617]
    stage = Stage(tmp_path, annotated(1592, 5), defaults)
    for name in SCHEMAS:
        assert {row["image_id"] for row in getattr(stage, name)} == {5}
    excluded = {unit: counts.get("image_excluded") for unit, counts in stage.counts.items()}
    assert excluded == {
        "image": 1,
        "image_file": None,
        "object": 2,
        "attribute_entry": 1,
        "relationship": 1,
        "region_description": 2,
        "relationship_endpoint": None,
        "annotated_image": None,
    }


def test_sample_of_ids_leaves_only_these_images_in_every_table(tmp_path, caplog):
    with caplog.at_level(logging.WARNING):
        stage = Stage(tmp_path, annotated(1, 2, 3), {**ALL, "sample": {"ids": [2, 77]}})
    for name in SCHEMAS:
        assert {row["image_id"] for row in getattr(stage, name)} == {2}
    assert stage.counts["object"] == {READ: 6, "not_in_sample": 4, KEPT: 2}
    assert "holds no images [77]" in caplog.text


def test_sample_by_share_is_the_same_in_every_file_order(tmp_path):
    found = []
    for name, image_ids in (("straight", range(1, 41)), ("turned", range(40, 0, -1))):
        (tmp_path / name).mkdir()
        stage = Stage(tmp_path / name, annotated(*image_ids), {**ALL, "sample": {"share": 0.5}})
        found.append({row["image_id"] for row in stage.images})
    assert found[0] == found[1]
    assert 10 < len(found[0]) < 30


def test_run_without_any_image_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"image_data\.json: none of its 2 images is left: .*'not_in_sample': 2"):
        Stage(tmp_path, annotated(1, 2), {**ALL, "sample": {"ids": [7]}})


def test_merged_objects_are_resolved_across_files(tmp_path):
    files = annotated(1)
    kept, merged = files["objects"][0]["objects"]
    files["objects"][0]["objects"] = [{**kept, "merged_object_ids": [merged["object_id"]]}]
    stage = Stage(tmp_path, files)
    assert stage.objects[0]["attributes"] == ["hat 1"]
    assert (stage.relationships[0]["subject_id"], stage.relationships[0]["object_id"]) == (10, 10)
    assert stage.counts["relationship_endpoint"] == {READ: 2, KEPT: 2}


def test_endpoint_that_is_no_object_keeps_its_name_and_box_and_is_counted(tmp_path):
    files = annotated(1)
    files["relationships"][0]["relationships"][0]["subject"] = {"id": 555, "name": "shade", **BOX}
    stage = Stage(tmp_path, files)
    row = stage.relationships[0]
    assert (row["subject_id"], row["subject_name"], row["subject_x"], row["subject_height"]) == (555, "shade", 1, 40)
    assert stage.counts["relationship_endpoint"] == {READ: 2, "object_unknown": 1, KEPT: 1}


@pytest.mark.parametrize(("wanted", "names"), [(False, ["hat"]), (True, ["cap", "hat"])])
def test_alias_files_are_applied_if_the_config_wants_them(tmp_path, wanted, names):
    aliases = {"object_alias.txt": "cap,hat\n", "relationship_alias.txt": "wearing,wears\n"}
    stage = Stage(tmp_path, annotated(1), {**ALL, "aliases": wanted}, aliases)
    assert stage.objects[1]["names"] == names
    assert stage.relationships[0]["predicate"] == ("wearing" if wanted else "wears")


def real_stage(folder, shared_data, version):
    """The stage on the five real images of one version."""
    real = shared_data / "visual_genome_5_images"
    return Stage(folder, {n: real / ("" if n == "image_data" else version) / f"{n}.json" for n in ANNOTATIONS})


def test_real_images_of_version_1_2_give_177_objects_158_relationships_1278_regions(shared_data, tmp_path):
    stage = real_stage(tmp_path, shared_data, "v1.2")
    assert (len(stage.objects), len(stage.relationships), len(stage.region_descriptions)) == (177, 158, 1278)
    assert stage.counts["relationship_endpoint"] == {READ: 316, KEPT: 316}
    assert stage.counts["annotated_image"] == {READ: 5, KEPT: 5}


def test_real_objects_of_version_1_2_hold_the_dirt_that_was_counted_by_hand(shared_data, tmp_path):
    stage = real_stage(tmp_path, shared_data, "v1.2")
    assert sum(not row["attributes"] for row in stage.objects) == 67
    assert sum(not row["synsets"] for row in stage.objects) == 13
    assert sum(len(row["names"]) > 1 for row in stage.objects) == 12
    phrases = [row["phrase"] for row in stage.region_descriptions]
    assert sum("\n" in phrase for phrase in phrases) == 13
    assert sum(phrase != phrase.strip() for phrase in phrases) == 90


def test_real_triples_of_version_1_2_repeat_31_times_and_stay(shared_data, tmp_path):
    rows = real_stage(tmp_path, shared_data, "v1.2").relationships
    triples = {(row["image_id"], row["subject_name"], row["predicate"], row["object_name"]) for row in rows}
    assert len(rows) - len(triples) == 31


def test_real_images_of_version_1_0_give_224_objects_1288_regions_and_161_unknown_endpoints(shared_data, tmp_path):
    stage = real_stage(tmp_path, shared_data, "v1.0")
    assert (len(stage.objects), len(stage.relationships), len(stage.region_descriptions)) == (224, 156, 1288)
    assert stage.counts["relationship_endpoint"] == {READ: 312, "object_unknown": 161, KEPT: 151}
    assert all(row["subject_name"] and row["object_name"] and row["subject_width"] for row in stage.relationships)
    assert all(row["names"] and row["synsets"] == [] for row in stage.objects)
    assert len({row["region_id"] for row in stage.region_descriptions}) == 1288


def test_real_image_data_is_read(shared_data, tmp_path):
    rows = real_stage(tmp_path, shared_data, "v1.2").images
    assert len(rows) == 5
    assert all(row["width"] > 0 and row["height"] > 0 and row["archive"] is None for row in rows)
    assert all(row["coco_id"] is None and row["flickr_id"] is None for row in rows)


def test_attributes_item_that_is_no_object_is_refused_by_file_and_place(tmp_path):
    files = annotated(1)
    files["attributes"][0]["attributes"] = [None]
    with pytest.raises(ValueError, match=r"attributes\.json: image 1, attributes\[0\]: None is no JSON object"):
        Stage(tmp_path, files)


def test_phrase_with_half_of_a_character_is_refused_by_file_and_place(tmp_path):
    files = annotated(1)
    files["region_descriptions"][0]["regions"][0]["phrase"] = "a jar\ud83d"
    with pytest.raises(ValueError, match=r"region_descriptions\.json: image 1, regions\[0\]: phrase is"):
        Stage(tmp_path, files)
