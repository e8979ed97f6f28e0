from collections import Counter

import pytest

from crepebench.accounting import KEPT, READ, kept_rows
from crepebench.aliases import Aliases
from crepebench.objects import AttributeEntries, MergedObjects, attribute_items, object_rows

BOX = {"x": 1, "y": 2, "w": 30, "h": 40}


def attributes_of(items):
    collected = AttributeEntries()
    for _, found in attribute_items([(9, items)], "attributes.json.zip"):
        for object_id, texts in found:
            collected.add(object_id, texts)
    return collected


def objects_of(items, attributes=None, aliases=None, merged=None):
    counts = Counter()
    merged = MergedObjects() if merged is None else merged
    entries = AttributeEntries() if attributes is None else attributes
    rows = object_rows([(9, items)], "objects.json.zip", entries, merged, aliases or Aliases())
    return list(kept_rows(rows, counts)), counts


def test_every_version_of_object_fields_gives_the_same_row():
    forms = [
        {"id": 4, "name": "Jar ", "x": 1, "y": 2, "width": 30, "height": 40},
        {"id": 4, "names": ["jar"], **BOX},
        {"object_id": 4, "names": ["jar"], **BOX, "synsets": []},
        {"object_id": 4, "names": ["jar"], **BOX, "synsets": [], "merged_object_ids": []},
    ]
    rows, _ = objects_of(forms)
    assert rows == [rows[0]] * 4
    assert (rows[0]["object_id"], rows[0]["names"], rows[0]["width"]) == (4, ["jar"], 30)


def test_all_names_of_an_object_are_kept_clean():
    (row,), _ = objects_of([{"object_id": 4, "names": [" Street  light", "LAMP\n"], **BOX, "synsets": ["lamp.n.02"]}])
    assert (row["names"], row["synsets"]) == (["street light", "lamp"], ["lamp.n.02"])


def test_object_with_empty_or_absent_synsets_has_none():
    rows, _ = objects_of([{"object_id": 4, "names": ["jar"], **BOX, "synsets": []}, {"id": 5, "names": ["jar"], **BOX}])
    assert [row["synsets"] for row in rows] == [[], []]


@pytest.mark.parametrize("names", [[], [" "], "", None])
def test_object_without_a_name_is_dropped_and_counted(names):
    rows, counts = objects_of([{"object_id": 4, "names": names, **BOX}, {"object_id": 5, "names": ["jar"], **BOX}])
    assert [row["object_id"] for row in rows] == [5]
    assert counts == {READ: 2, "name_missing": 1, KEPT: 1}


def test_object_whose_id_is_minus_one_has_no_id_and_no_attributes():
    attributes = attributes_of([{"object_id": -1, "attributes": ["red"]}])
    (row,), _ = objects_of([{"object_id": -1, "names": ["jar"], **BOX}], attributes)
    assert (row["object_id"], row["attributes"]) == (None, [])
    assert attributes.counts() == {READ: 1, KEPT: 0, "object_unknown": 1}


@pytest.mark.parametrize("field", ["object_id", "names", "x", "w"])
def test_object_with_a_field_missing_is_refused_by_file_image_and_place(field):
    item = {key: value for key, value in {"object_id": 4, "names": ["jar"], **BOX}.items() if key != field}
    with pytest.raises(ValueError, match=rf"objects\.json\.zip: image 9, objects\[0\]: .*'{field}'"):
        objects_of([item])


def test_absent_and_null_attributes_mean_none_and_reach_no_other_object():
    items = [
        {"object_id": 1, "attributes": ["Red ", "small"]},
        {"object_id": 2, "attributes": None},
        {"object_id": 3},
        {"object_id": 4, "attributes": [" "]},
        {"object_id": 5, "attributes": ["blue"]},
    ]
    rows, _ = objects_of([{"object_id": i, "names": ["jar"], **BOX} for i in range(1, 6)], attributes_of(items))
    assert [row["attributes"] for row in rows] == [["red", "small"], [], [], [], ["blue"]]


def test_attributes_of_an_object_that_is_listed_twice_are_joined():
    attributes = attributes_of([{"id": 1, "attributes": ["red"]}, {"id": 1, "attributes": ["small", "red"]}])
    (row,), _ = objects_of([{"id": 1, "names": ["jar"], **BOX}], attributes)
    assert row["attributes"] == ["red", "small"]
    assert attributes.counts() == {READ: 1, KEPT: 1}


def test_attributes_of_an_unknown_object_are_counted():
    attributes = attributes_of([{"object_id": 1, "attributes": ["red"]}, {"object_id": 99, "attributes": ["blue"]}])
    objects_of([{"object_id": 1, "names": ["jar"], **BOX}], attributes)
    assert attributes.counts() == {READ: 2, KEPT: 1, "object_unknown": 1}


def test_attributes_of_unknown_form_are_refused_by_file_image_and_place():
    with pytest.raises(ValueError, match=r"attributes\.json\.zip: image 9, attributes\[0\]: attributes is \{'a': 1\}"):
        attributes_of([{"object_id": 1, "attributes": {"a": 1}}])


def test_attributes_of_merged_objects_are_given_to_the_one_that_was_kept():
    attributes = attributes_of([{"object_id": i, "attributes": texts} for i, texts in ((7, ["red"]), (8, ["old"]))])
    merged = MergedObjects()
    (row,), _ = objects_of(
        [{"object_id": 7, "merged_object_ids": [8], "names": ["jar"], **BOX}], attributes, None, merged
    )
    assert (row["attributes"], row["merged_object_ids"]) == (["red", "old"], [8])
    assert attributes.counts() == {READ: 2, KEPT: 2}
    assert [merged.resolve(object_id) for object_id in (7, 8, 9, None)] == [7, 7, 9, None]


def test_chain_of_merged_objects_leads_to_the_last_and_a_circle_ends():
    merged = MergedObjects()
    merged.add(2, [1, 2])
    merged.add(3, [2])
    merged.add(1, [3])
    merged.add(4, [1])
    assert [merged.resolve(object_id) for object_id in (1, 2, 3, 4)] == [3, 3, 3, 4]


def test_merged_ids_of_unknown_form_are_refused():
    with pytest.raises(ValueError, match=r"objects\[0\]: merged_object_ids is '8', not a list of ids"):
        objects_of([{"object_id": 7, "merged_object_ids": "8", "names": ["jar"], **BOX}])


def test_canonical_name_of_an_object_comes_first():
    (row,), _ = objects_of([{"object_id": 7, "names": ["Bicycle"], **BOX}], None, Aliases({"bicycle": "bike"}))
    assert row["names"] == ["bike", "bicycle"]
