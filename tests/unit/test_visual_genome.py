import csv
import json
import zipfile
import zlib
from collections import Counter

import pytest

from crepebench.accounting import KEPT, READ
from crepebench.image_files import ImageSearch
from crepebench.schema import IMAGES, OBJECTS, REGION_DESCRIPTIONS, RELATIONSHIPS, read_table
from crepebench.visual_genome import (
    ANNOTATIONS,
    AttributeEntries,
    image_rows,
    object_rows,
    read_attributes,
    read_entries,
    region_rows,
    relationship_rows,
    write_visual_genome,
)

BOX = {"x": 1, "y": 2, "w": 30, "h": 40}
REGION = {"region_id": 5, "x": 1, "y": -1, "width": 277, "height": 70, "phrase": "a jar\n"}


def zipped(path, text, member="objects.json"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)
    return str(path)


def objects_of(items, attributes=None):
    counts = Counter()
    entries = [{"image_id": 9, "objects": items}]
    return list(object_rows(entries, "objects.json.zip", attributes or AttributeEntries(), counts)), counts


def relations_of(items):
    counts = Counter()
    return list(relationship_rows([{"image_id": 9, "relationships": items}], "relationships.json.zip", counts)), counts


def regions_of(entry):
    return list(region_rows([entry], "region_descriptions.json.zip", Counter()))


def test_entries_are_read_one_by_one(tmp_path):
    path = zipped(tmp_path / "objects.json.zip", json.dumps([{"image_id": i, "x": 0.5} for i in range(11)]))
    assert list(read_entries(path)) == [{"image_id": i, "x": 0.5} for i in range(11)]


def test_file_that_is_no_zip_is_refused(tmp_path):
    path = tmp_path / "objects.json.zip"
    path.write_text("<html>moved</html>")
    with pytest.raises(ValueError, match=r"objects\.json\.zip: the zip is damaged .*fetch it again"):
        list(read_entries(str(path)))


@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_zip_that_is_cut_off_is_refused(tmp_path, share):
    path = tmp_path / "objects.json.zip"
    zipped(path, json.dumps([{"image_id": 7919 * i % 1009} for i in range(500)]))
    path.write_bytes(path.read_bytes()[: int(share * path.stat().st_size)])
    with pytest.raises(ValueError, match=r"objects\.json\.zip: the zip is damaged"):
        list(read_entries(str(path)))


@pytest.mark.parametrize("share", [0.02, 0.2, 0.5, 0.8])
def test_zip_with_flipped_bytes_inside_is_refused(tmp_path, share):
    path = tmp_path / "objects.json.zip"
    zipped(path, json.dumps([{"image_id": 7919 * i % 1009} for i in range(500)]))
    raw = bytearray(path.read_bytes())
    place = 45 + int(share * (len(raw) - 200))
    raw[place : place + 2] = raw[place] ^ 0xFF, raw[place + 1] ^ 0x55
    path.write_bytes(raw)
    with pytest.raises(ValueError, match=r"objects\.json\.zip: the (zip|JSON inside) is damaged"):
        list(read_entries(str(path)))


@pytest.mark.parametrize("text", ["", '[{"a": 1}, {"b"', '[{"a": 1} {"b": 2}]'])
def test_damaged_json_is_refused(tmp_path, text):
    path = zipped(tmp_path / "objects.json.zip", text)
    with pytest.raises(ValueError, match=r"objects\.json\.zip: the JSON inside is damaged"):
        list(read_entries(path))


def test_zip_without_json_is_refused(tmp_path):
    path = zipped(tmp_path / "objects.json.zip", "[]", member="readme.txt")
    with pytest.raises(ValueError, match=r"objects\.json\.zip: expected one JSON file inside, found \[\]"):
        list(read_entries(path))


def test_both_versions_of_object_fields_give_the_same_row():
    (old,), _ = objects_of([{"id": 4, "name": "Jar ", "x": 1, "y": 2, "width": 30, "height": 40}])
    (new,), _ = objects_of([{"object_id": 4, "names": ["jar"], **BOX, "synsets": []}])
    assert old == new
    assert (old["object_id"], old["names"], old["width"]) == (4, ["jar"], 30)


def test_all_names_of_an_object_are_kept_clean():
    (row,), _ = objects_of([{"object_id": 4, "names": [" Street  light", "LAMP\n"], **BOX, "synsets": ["lamp.n.02"]}])
    assert (row["names"], row["synsets"]) == (["street light", "lamp"], ["lamp.n.02"])


@pytest.mark.parametrize("names", [[], [" "], ""])
def test_object_without_a_name_is_dropped_and_counted(names):
    rows, counts = objects_of([{"object_id": 4, "names": names, **BOX}, {"object_id": 5, "names": ["jar"], **BOX}])
    assert [row["object_id"] for row in rows] == [5]
    assert counts == {READ: 2, "name_missing": 1, KEPT: 1}


def test_attributes_reach_their_own_object_only():
    items = [
        {"object_id": 1, "attributes": ["Red ", "small"]},
        {"object_id": 2, "attributes": None},
        {"object_id": 3},
        {"object_id": 4, "attributes": [" "]},
    ]
    attributes = read_attributes([{"image_id": 9, "attributes": items}], "attributes.json.zip")
    rows, _ = objects_of([{"object_id": i, "names": ["jar"], **BOX} for i in (1, 2, 3, 4)], attributes)
    assert [row["attributes"] for row in rows] == [["red", "small"], [], [], []]


def test_attributes_of_an_unknown_object_are_counted():
    items = [{"object_id": 1, "attributes": ["red"]}, {"object_id": 99, "attributes": ["blue"]}]
    attributes = read_attributes([{"image_id": 9, "attributes": items}], "attributes.json.zip")
    objects_of([{"object_id": 1, "names": ["jar"], **BOX}], attributes)
    assert attributes.counts() == {READ: 2, KEPT: 1, "object_unknown": 1}


@pytest.mark.parametrize(
    "ends",
    [
        ({"object_id": 1, "name": "Man"}, {"object_id": 2, "name": "hat"}),
        ({"object_id": 1, "name": "man"}, {"object_id": 2, "names": ["hat", "cap"]}),
        ({"id": 1, "names": ["man "]}, {"id": 2, "name": "hat"}),
    ],
)
def test_every_form_of_endpoint_gives_the_same_row(ends):
    (row,), _ = relations_of([{"relationship_id": 3, "predicate": "WEARS ", "subject": ends[0], "object": ends[1]}])
    assert row == {
        "image_id": 9,
        "relationship_id": 3,
        "predicate": "wears",
        "subject_id": 1,
        "object_id": 2,
        "subject_name": "man",
        "object_name": "hat",
    }


@pytest.mark.parametrize("predicate", ["", "  ", None])
def test_relationship_without_predicate_is_dropped_and_counted(predicate):
    ends = {"subject": {"object_id": 1, "name": "man"}, "object": {"object_id": 2, "name": "hat"}}
    rows, counts = relations_of([{"relationship_id": 3, "predicate": predicate, **ends}])
    assert rows == []
    assert counts == {READ: 1, "predicate_missing": 1}


@pytest.mark.parametrize("names", [[], [" "], "", ["", " "]])
@pytest.mark.parametrize("nameless", ["subject", "object"])
def test_relationship_whose_endpoint_has_no_name_is_dropped_and_counted(nameless, names):
    ends = {"subject": {"object_id": 1, "name": "man"}, "object": {"object_id": 2, "name": "hat"}}
    ends[nameless] = {"object_id": 3, "names": names}
    rows, counts = relations_of([{"relationship_id": 3, "predicate": "wears", **ends}])
    assert rows == []
    assert counts == {READ: 1, "endpoint_name_missing": 1}


def test_first_name_of_an_endpoint_that_has_words_is_taken():
    ends = {"subject": {"object_id": 1, "names": [" ", "Old  Man"]}, "object": {"object_id": 2, "name": "hat"}}
    ((row,), counts) = relations_of([{"relationship_id": 3, "predicate": "wears", **ends}])
    assert (row["subject_name"], row["object_name"]) == ("old man", "hat")
    assert counts == {READ: 1, KEPT: 1}


@pytest.mark.parametrize("field", ["subject", "object", "relationship_id"])
def test_relationship_with_a_field_missing_is_refused_by_file(field):
    ends = {"subject": {"object_id": 1, "name": "man"}, "object": {"object_id": 2, "name": "hat"}}
    item = {"relationship_id": 3, "predicate": "wears", **ends}
    del item[field]
    with pytest.raises(ValueError, match=rf"relationships\.json\.zip.*'{field}'"):
        relations_of([item])


@pytest.mark.parametrize("reader", [object_rows, relationship_rows, region_rows, read_attributes])
def test_entry_without_its_list_is_refused_by_file(reader):
    arguments = {object_rows: (AttributeEntries(), Counter()), read_attributes: ()}.get(reader, (Counter(),))
    with pytest.raises(ValueError, match=r"vg\.json\.zip: an entry has none of the fields .* it has \['id'\]"):
        for _ in reader([{"id": 1}], "vg.json.zip", *arguments):
            pass


@pytest.mark.parametrize("field", ["image_id", "width", "height"])
def test_image_with_a_field_missing_is_refused(field):
    entry = {"image_id": 1, "width": 4, "height": 3}
    del entry[field]
    with pytest.raises(ValueError, match=rf"image_data: an entry has none of the fields .*'{field}'"):
        list(image_rows([entry], ImageSearch([]), Counter()))


def test_image_without_regions_has_no_row():
    assert regions_of({"id": 9, "regions": []}) == []


def test_region_keeps_box_and_raw_phrase():
    (row,) = regions_of({"id": 9, "regions": [REGION]})
    assert row == {"image_id": 9, **REGION}


def test_region_with_null_phrase_has_an_empty_one():
    assert regions_of({"id": 9, "regions": [{**REGION, "phrase": None}]})[0]["phrase"] == ""


@pytest.mark.parametrize("field", ["region_id", "phrase", "width"])
def test_region_with_a_field_missing_is_refused_by_file(field):
    region = {key: value for key, value in REGION.items() if key != field}
    with pytest.raises(ValueError, match=rf"region_descriptions\.json\.zip.*{field}"):
        regions_of({"id": 9, "regions": [region]})


@pytest.mark.parametrize("field", ["object_id", "names", "x", "w"])
def test_object_with_a_field_missing_is_refused_by_file(field):
    item = {key: value for key, value in {"object_id": 4, "names": ["jar"], **BOX}.items() if key != field}
    with pytest.raises(ValueError, match=rf"objects\.json\.zip.*'{field}'"):
        objects_of([item])


def test_images_are_joined_with_their_files_by_id_not_by_place(tmp_path):
    entries = [{"image_id": i, "url": f"https://h/VG_100K/{i}.jpg", "width": 4, "height": 3} for i in (3, 1, 2)]
    places = [str(tmp_path / name) for name in ("images.zip", "images2.zip")]
    for place, member in zip(places, ("VG_100K/1.jpg", "VG_100K_2/3.jpg"), strict=True):
        zipped(place, "abc", member)
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


@pytest.mark.parametrize("text", ["[]", "{}", '{"image_id": 1}', "7"])
def test_file_without_images_is_refused(tmp_path, text):
    path = zipped(tmp_path / "image_data.json.zip", text, "image_data.json")
    with pytest.raises(
        ValueError, match=r"image_data\.json\.zip: image_data\.json is no JSON array with one entry per image"
    ):
        list(read_entries(path))


def run_stage(folder, **image):
    """Runs the stage in a folder on one image, whose entry may get further keys, and the image 9 in a zip."""
    ends = {"subject": {"object_id": 1, "name": "man"}, "object": {"object_id": 2, "name": "hat"}}
    files = {
        "image_data": [{"image_id": 9, "width": 640, "height": 480, "coco_id": None, "flickr_id": None, **image}],
        "objects": [{"image_id": 9, "objects": [{"object_id": 1, "names": ["man"], **BOX, "synsets": []}]}],
        "attributes": [{"image_id": 9, "attributes": [{"object_id": 1, "names": ["man"], "attributes": ["tall"]}]}],
        "relationships": [{"image_id": 9, "relationships": [{"relationship_id": 3, "predicate": "wears", **ends}]}],
        "region_descriptions": [{"id": 9, "regions": [REGION]}, {"id": 10, "regions": []}],
    }
    tables = ("images", "objects", "relationships", "region_descriptions")
    write_visual_genome(
        annotation_paths=[zipped(folder / f"{n}.json.zip", json.dumps(files[n]), f"{n}.json") for n in ANNOTATIONS],
        image_places=[zipped(folder / "images.zip", "abc", "VG_100K/9.jpg"), str(folder / "images2.zip")],
        missing_images_path=str(folder / "missing_images.csv"),
        accounting_path=str(folder / "accounting.csv"),
        **{f"{name}_path": str(folder / f"{name}.parquet") for name in tables},
        cfg='{"missing_images": "stop"}',
    )


def test_stage_writes_its_tables_and_counts(tmp_path):
    run_stage(tmp_path)
    schemas = {"images": IMAGES, "objects": OBJECTS, "relationships": RELATIONSHIPS}
    schemas["region_descriptions"] = REGION_DESCRIPTIONS
    images, objects, relationships, regions = (
        read_table(tmp_path / f"{name}.parquet", schema).to_pylist() for name, schema in schemas.items()
    )
    assert images[0]["path"] == "VG_100K/9.jpg"
    assert objects[0]["attributes"] == ["tall"]
    assert relationships[0]["object_name"] == "hat"
    assert regions == [{"image_id": 9, **REGION}]
    with open(tmp_path / "accounting.csv", newline="") as file:
        kept = {row["unit"]: row["count"] for row in csv.DictReader(file) if row["reason"] == KEPT}
    units = ("image", "image_file", "object", "attribute_entry", "relationship", "region_description")
    assert kept == dict.fromkeys(units, "1")


def test_missing_image_stops_the_stage_before_the_other_files_are_read(tmp_path):
    with pytest.raises(ValueError, match=r"1 of 1 images have no file .*VG_100K: 1.* ids 9; .*images2\.zip \(not"):
        run_stage(tmp_path, url="https://h/VG_100K/8.jpg")
    assert not (tmp_path / "objects.parquet").exists()


def read_real(folder, version):
    """Reads the five real images of one version; returns the rows of objects, relationships and regions."""
    entries = {
        name: json.loads((folder / "visual_genome_5_images" / version / f"{name}.json").read_text())
        for name in ANNOTATIONS[1:]
    }
    attributes = read_attributes(entries["attributes"], "attributes")
    objects = list(object_rows(entries["objects"], "objects", attributes, Counter()))
    relationships = list(relationship_rows(entries["relationships"], "relationships", Counter()))
    regions = list(region_rows(entries["region_descriptions"], "region_descriptions", Counter()))
    return objects, relationships, regions


def test_real_images_of_version_1_2_give_177_objects_158_relationships_1278_regions(shared_data):
    assert tuple(map(len, read_real(shared_data, "v1.2"))) == (177, 158, 1278)


def test_real_objects_of_version_1_2_hold_the_dirt_that_was_counted_by_hand(shared_data):
    objects, relationships, regions = read_real(shared_data, "v1.2")
    assert sum(not row["attributes"] for row in objects) == 67
    assert sum(not row["synsets"] for row in objects) == 13
    assert sum(len(row["names"]) > 1 for row in objects) == 12
    assert sum("\n" in row["phrase"] for row in regions) == 13
    known = {row["object_id"] for row in objects}
    assert {row[end] for row in relationships for end in ("subject_id", "object_id")} <= known


def test_real_images_of_version_1_0_are_read_by_the_same_code(shared_data):
    objects, relationships, regions = read_real(shared_data, "v1.0")
    assert len(relationships) == 156
    assert all(row["subject_name"] and row["object_name"] for row in relationships)
    assert all(row["names"] and row["synsets"] == [] for row in objects)
    assert len({row["region_id"] for row in regions}) == len(regions) > 0


def test_real_image_data_is_read(shared_data):
    entries = json.loads((shared_data / "visual_genome_5_images" / "image_data.json").read_text())
    rows = list(image_rows(entries, ImageSearch([]), Counter()))
    assert len(rows) == 5
    assert all(row["width"] > 0 and row["height"] > 0 and row["archive"] is None for row in rows)
