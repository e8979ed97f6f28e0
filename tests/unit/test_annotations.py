import json
import tracemalloc
import zipfile

import pytest

from crepebench.annotations import (
    CHUNK_BYTES,
    FormError,
    canonical_name,
    convert_items,
    field,
    identifier,
    item_list,
    names_of,
    pixels,
    read_entries,
    read_items,
    text_list,
    whole_number,
)


def zipped(path, text, member="objects.json"):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(member, text)
    return str(path)


def unpacked(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def entries_of(tmp_path, text):
    return list(read_entries(unpacked(tmp_path / "objects.json", text)))


def test_entries_are_read_one_by_one(tmp_path):
    path = zipped(tmp_path / "objects.json.zip", json.dumps([{"image_id": i, "x": 0.5} for i in range(11)]))
    assert list(read_entries(path)) == [{"image_id": i, "x": 0.5} for i in range(11)]


def test_an_unpacked_file_is_read_as_the_zip_is(tmp_path):
    entries = [{"id": i, "regions": [{"phrase": 'a "café" [{]}\\\n'}]} for i in range(3)]
    assert entries_of(tmp_path, json.dumps(entries, indent=2, ensure_ascii=False)) == entries


@pytest.mark.parametrize("step", [1, 2, 3, 7, 64])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_entries_cut_by_the_ends_of_chunks_are_read_whole(tmp_path, monkeypatch, step, is_ascii):
    monkeypatch.setattr("crepebench.annotations.CHUNK_BYTES", step)
    inner = {"b": 'caf\u00e9\\ "]}, {\\u00e9', "\U0001f600": "x" * 70}
    entries = [{"a": [1.5, -2e-3, True, None, inner], "n": 123456789}, {}, {"deep": [[[{}]]]}]
    text = json.dumps(entries, ensure_ascii=is_ascii)
    assert entries_of(tmp_path, text) == entries


def test_entry_longer_than_many_chunks_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr("crepebench.annotations.CHUNK_BYTES", 1 << 10)
    entries = [{"id": i, "regions": [{"phrase": "a jar " * 40}] * 2000} for i in range(2)]
    assert entries_of(tmp_path, json.dumps(entries)) == entries


def test_byte_order_mark_is_skipped(tmp_path):
    assert entries_of(tmp_path, '[{"a": 1}]'.encode("utf-8-sig")) == [{"a": 1}]


def test_memory_does_not_grow_with_the_file(tmp_path):
    item = {"object_id": 1058498, "names": ["street light"], "synsets": ["streetlight.n.01"], "x": 1, "y": 2}
    entry = json.dumps({"image_id": 1, "objects": [item] * 40})
    n_entries = 12 * CHUNK_BYTES // len(entry)
    path = zipped(tmp_path / "scene_graphs.json.zip", f"[{', '.join([entry] * n_entries)}]", "scene_graphs.json")
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_entries(path)) == n_entries
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 6 * CHUNK_BYTES


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
    with pytest.raises(ValueError, match=r"objects\.json\.zip: (the zip|its JSON) is damaged"):
        list(read_entries(str(path)))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "ends within the array"),
        ("[", "ends within the array"),
        ('[{"a": 1}', "ends within the array, after 1 entries"),
        ('[{"a": 1},', "ends within the array, after 1 entries"),
        ('[{"a": 1}, {"b"', "Expecting ':' delimiter, after 1 entries"),
        ('[{"a": "half of a te', "Unterminated string starting at, after 0 entries"),
        ('[{"a": 1} {"b": 2}]', "'{' where a comma should be, after 1 entries"),
        ('[{"a": 1}, 7]', "'7' where an entry should be, after 1 entries"),
        ("[7]", "'7' where an entry should be, after 0 entries"),
        ('[{"a": 1},]', "']' where an entry should be"),
        ('[{"a": 1}] []', "where a comma should be, after 1 entries"),
        ('[{"a": nonsense, "b": "' + 60 * "x" + '"}]', "Expecting value"),
        (b'[{"a": "\xff\xfe"}]', "can't decode byte 0xff"),
    ],
)
def test_damaged_json_is_refused_with_what_is_wrong(tmp_path, text, reason):
    path = unpacked(tmp_path / "objects.json", text)
    with pytest.raises(ValueError, match=r"objects\.json: its JSON is damaged .*fetch it again") as caught:
        list(read_entries(path))
    assert reason in str(caught.value)


def test_damage_early_in_a_large_file_does_not_read_the_rest(tmp_path):
    text = '[{"a": 1}, {"a": 1 "b"}' + ', {"a": 1}' * 400_000
    with pytest.raises(ValueError, match="Expecting ',' delimiter, after 1 entries"):
        entries_of(tmp_path, text + "]")


@pytest.mark.parametrize("text", ["[]", "{}", '{"image_id": 1}', "7"])
def test_file_without_images_is_refused(tmp_path, text):
    path = zipped(tmp_path / "image_data.json.zip", text, "image_data.json")
    with pytest.raises(ValueError, match=r"image_data\.json\.zip: it holds no JSON array with one entry per image"):
        list(read_entries(path))


def test_zip_without_json_is_refused(tmp_path):
    path = zipped(tmp_path / "objects.json.zip", "[]", member="readme.txt")
    with pytest.raises(ValueError, match=r"objects\.json\.zip: expected one JSON file inside, found \[\]"):
        list(read_entries(path))


def test_what_a_mac_adds_to_a_zip_is_no_second_file(tmp_path):
    path = tmp_path / "objects.json.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("objects.json", '[{"image_id": 1}]')
        archive.writestr("__MACOSX/._objects.json", b"\x00\x05")
    assert list(read_entries(str(path))) == [{"image_id": 1}]


def test_top_level_id_has_either_name():
    entries = [{"id": 3, "regions": []}, {"image_id": 4, "regions": [1]}, {"id": 5, "regions": None}]
    assert list(read_items(entries, "vg.json", "regions")) == [(3, []), (4, [1]), (5, [])]


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"id": 1, "objs": []}, r"none of the fields \['objects'\] is there, only \['id', 'objs'\]"),
        ({"objects": []}, r"none of the fields \['image_id', 'id'\] is there, only \['objects'\]"),
        ({"id": "one", "objects": []}, "image_id is 'one', not a whole number"),
        ({"id": 1, "objects": {"7": {}}}, "objects is {'7': {}}, not a list"),
    ],
)
def test_entry_of_unknown_form_is_refused_by_file_place_and_keys(entry, reason):
    with pytest.raises(ValueError, match=rf"vg\.json: entry 1: {reason}"):
        list(read_items([{"id": 0, "objects": []}, entry], "vg.json", "objects"))


def test_item_of_unknown_form_is_refused_by_file_image_place_and_keys():
    items = [{"region_id": 1}, {"regionid": 2, "phrase": "a"}]
    with pytest.raises(
        ValueError,
        match=r"vg\.json: image 9, regions\[1\]: none of the fields \['region_id'\] is there, "
        r"only \['phrase', 'regionid'\]",
    ):
        list(convert_items([(9, items)], "vg.json", "regions", lambda _, item: field(item, "region_id")))


def test_item_that_is_no_object_is_refused():
    with pytest.raises(ValueError, match=r"vg\.json: image 9, objects\[0\]: \['clock'\] is no JSON object"):
        list(convert_items([(9, [["clock"]])], "vg.json", "objects", lambda _, item: field(item, "id")))


@pytest.mark.parametrize(
    ("value", "found"), [(7, 7), (8_505_158_818, 8_505_158_818), (7.0, 7), (-1, None), (None, None)]
)
def test_minus_one_and_null_are_no_id(value, found):
    assert identifier({"id": value}, "object_id", "id") == found
    assert identifier({"id": None}, "id") is None


@pytest.mark.parametrize("value", ["7", True, 7.5, [7]])
def test_other_values_are_no_id(value):
    with pytest.raises(FormError, match=r"object_id is .*, not a whole number"):
        identifier({"object_id": value}, "object_id", "id")


def test_coordinates_may_be_minus_one():
    assert whole_number({"y": -1}, "y") == -1


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({"names": ["Street  light ", "lamp"]}, ["street light", "lamp"]),
        ({"name": "lamp\n"}, ["lamp"]),
        ({"object_names": ["lamp"]}, ["lamp"]),
        ({"names": "lamp"}, ["lamp"]),
        ({"name": ["lamp", None, " "]}, ["lamp"]),
        ({"name": "lamp", "names": ["Lamp", "light"]}, ["lamp", "light"]),
        ({"names": []}, []),
        ({"names": None}, []),
    ],
)
def test_every_form_of_names_is_read_and_each_name_kept_once(item, found):
    assert names_of(item) == found


def test_item_without_any_field_of_names_is_refused():
    with pytest.raises(FormError, match=r"none of the fields \['names', 'name', 'object_names'\] .* only \['id'\]"):
        names_of({"id": 1})


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ({}, []),
        ({"synsets": None}, []),
        ({"synsets": []}, []),
        ({"synsets": ""}, []),
        ({"synsets": "clock.n.01"}, ["clock.n.01"]),
        ({"synsets": ["clock.n.01", ""]}, ["clock.n.01"]),
    ],
)
def test_every_form_of_synsets_is_read(item, found):
    assert text_list(item, "synsets") == found


@pytest.mark.parametrize("value", [7, {"name": "clock.n.01"}, [["clock.n.01"]]])
def test_other_forms_of_a_list_of_texts_are_refused(value):
    with pytest.raises(FormError, match=r"synsets is .*, neither a text nor a list of texts"):
        text_list({"synsets": value}, "synsets")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("WEARS ", "wears"),
        ("Cafe\u0301  table.", "caf\u00e9 table"),
        ("on top\u00a0of,", "on top of"),
        (" . ", ""),
        ("man's T-shirt", "man's t-shirt"),
        ('sign that says "stop"', 'sign that says "stop"'),
    ],
)
def test_names_have_one_normal_form(text, name):
    assert canonical_name(text) == name


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('[{"image_id": ' + "9" * 5_000 + "}]", "integer string conversion"),
        ('[{"image_id": ' + "[" * 100_000, "recursion"),
    ],
)
def test_numbers_and_brackets_without_end_are_damage(tmp_path, text, reason):
    with pytest.raises(ValueError, match=rf"objects\.json: its JSON is damaged .*{reason}"):
        entries_of(tmp_path, text)


def test_text_that_nobody_closes_does_not_fill_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr("crepebench.annotations.MOST_ENTRY_CHARACTERS", 4 * CHUNK_BYTES)
    path = zipped(tmp_path / "objects.json.zip", '[{"image_id": 1, "name": "' + "a" * 64 * CHUNK_BYTES)
    tracemalloc.start()
    with pytest.raises(ValueError, match=r"objects\.json\.zip: its JSON is damaged \(an entry has more than"):
        list(read_entries(path))
    assert tracemalloc.get_traced_memory()[1] < 40 * CHUNK_BYTES
    tracemalloc.stop()


def test_encrypted_zip_is_refused_by_name(tmp_path):
    path = tmp_path / "objects.json.zip"
    data = bytearray(zipped(path, "[]") and path.read_bytes())
    data[6] |= 1  # says that the member is encrypted, in its own head and in the list at the end
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    with pytest.raises(ValueError, match=r"objects\.json\.zip: the zip is damaged .*encrypted"):
        list(read_entries(str(path)))


def test_error_of_whoever_takes_the_entries_is_not_one_of_the_file(tmp_path):
    entries = read_entries(unpacked(tmp_path / "objects.json", '[{"image_id": 1}]'))
    next(entries)
    with pytest.raises(OSError, match="the disk is full"):
        entries.throw(OSError("the disk is full"))


@pytest.mark.parametrize("value", [2**63, -(2**63), 1e300, 10**400])
def test_numbers_that_no_table_can_hold_are_refused(value):
    for read in (identifier, whole_number, pixels):
        if read is not pixels or isinstance(value, int):
            with pytest.raises(FormError, match=r"^x is "):
                read({"x": value}, "x")


def test_half_of_a_character_is_no_text():
    with pytest.raises(FormError, match=r"names is '.ud800', which holds half of a character"):
        names_of({"names": ["\ud800"]})


@pytest.mark.parametrize("value", [5, "abc", {"a": 1}, True])
def test_list_of_items_that_is_none_is_refused(value):
    with pytest.raises(FormError, match=r"objects is .*, not a list"):
        item_list({"objects": value}, "objects")
    assert item_list({"objects": None}, "objects") == []
