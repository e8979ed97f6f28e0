import hashlib
import logging
import zipfile
from pathlib import Path

import pytest
import yaml

from crepebench.image_files import IMAGE_ZIPS
from crepebench.manifests import (
    ManifestEntry,
    check_file,
    check_start,
    choose_version,
    is_lapsed,
    missing_message,
    read_manifest,
)
from crepebench.visual_genome import ANNOTATIONS

MANIFEST = Path(__file__).parents[2] / "resources" / "visual_genome" / "manifest.yaml"
FIELDS = {
    "name": "objects.json.zip",
    "version": "1.4",
    "member": "objects.json",
    "urls": ["https://example.org/objects.json.zip"],
    "bytes": 10,
    "sha256": "0" * 64,
    "confidence": "confirmed",
    "source": "made for this test",
}


@pytest.fixture(scope="module")
def entries() -> dict[str, ManifestEntry]:
    """The committed manifest."""
    return read_manifest(str(MANIFEST))


def write_manifest(folder: Path, *fields: dict) -> str:
    path = folder / "manifest.yaml"
    path.write_text(yaml.safe_dump({"files": list(fields)}))
    return str(path)


# ---- the committed manifest


def test_manifest_has_every_file_of_the_workflow(entries):
    assert {f"{name}.json.zip" for name in ANNOTATIONS} | set(IMAGE_ZIPS) <= set(entries)


def test_manifest_has_graphs_aliases_and_older_versions(entries):
    older = {f"{name}_v1.json.zip" for name in ("objects", "attributes", "relationships", "region_descriptions")}
    older |= {"objects_v1_2.json.zip", "relationships_v1_2.json.zip"}
    others = {"scene_graphs.json.zip", "region_graphs.json.zip", "object_alias.txt", "relationship_alias.txt"}
    assert older | others <= set(entries)


@pytest.mark.parametrize(
    ("name", "n_bytes", "start_of_hash", "confidence"),
    [
        ("images.zip", 9_731_705_982, "51c682d2721f8801", "confirmed"),
        ("images2.zip", 5_471_658_058, "99da1a0ddf870113", "confirmed"),
        ("image_data.json.zip", 1_780_854, "b87a94918cb2ff4d", "confirmed"),
        ("region_descriptions.json.zip", 127_377_968, "038382219029c9cb", "single_source"),
        ("objects.json.zip", 55_323_929, "efa456069aedb420", "single_source"),
        ("relationships.json.zip", 77_904_473, "e648867b8087e4ae", "confirmed"),
    ],
)
def test_manifest_states_published_sizes_and_hashes(entries, name, n_bytes, start_of_hash, confidence):
    entry = entries[name]
    assert (entry.n_bytes, entry.sha256[:16], entry.confidence) == (n_bytes, start_of_hash, confidence)


def test_unknown_values_are_null(entries):
    assert (entries["region_graphs.json.zip"].n_bytes, entries["region_graphs.json.zip"].sha256) == (None, None)
    assert entries["scene_graphs.json.zip"].confidence == "none"


def test_versions_and_members_are_stated(entries):
    assert [entries[name].version for name in ("objects.json.zip", "objects_v1_2.json.zip")] == ["1.4", "1.2"]
    assert entries["objects_v1_2.json.zip"].member == "objects.json"
    assert [entries[name].member for name in IMAGE_ZIPS] == ["VG_100K/", "VG_100K_2/"]


def test_no_url_is_on_the_lapsed_domain_and_every_url_ends_in_the_name(entries):
    urls = [(url, name) for name, entry in entries.items() for url in entry.urls]
    assert [url for url, _ in urls if "visualgenome.org" in url] == []
    assert [url for url, name in urls if not url.startswith("https://") or not url.endswith(f"/{name}")] == []


def test_present_host_comes_first(entries):
    first = {entry.urls[0].split("/")[2] for entry in entries.values()}
    assert first == {"homes.cs.washington.edu", "cs.stanford.edu"}


# ---- reading


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        ("name", "../x.zip", r"name '\.\./x\.zip' is no plain file name"),
        ("name", ".hidden", "is no plain file name"),
        ("version", 1.4, r"version 1\.4 is neither text \(in quotes\) nor null"),
        ("member", ["a"], r"member \['a'\] is neither"),
        ("urls", [], r"urls \[\] is no list of at least one URL"),
        ("urls", ["http://example.org/a"], "url http://example.org/a is not https"),
        ("urls", ["https:///a"], "url https:///a names no host"),
        ("urls", ["https://[a"], r"url https://\[a cannot be read"),
        ("urls", [3], "url 3 is no text"),
        ("urls", ["https://me:secret@example.org/a"], "a url on example.org holds a user or password"),
        ("confidence", [], r"confidence \[\] is none of"),
        ("urls", ["https://example.org/a", "https://visualgenome.org/a"], "is on the lapsed domain visualgenome.org"),
        ("bytes", 0, "bytes 0 is neither a positive integer nor null"),
        ("bytes", "10", "bytes '10' is neither"),
        ("bytes", True, "bytes True is neither"),
        ("sha256", "0" * 63, "sha256 '0{63}' has not 64 lower-case hexadecimal digits"),
        ("sha256", "G" * 64, "has not 64 lower-case hexadecimal digits"),
        ("sha256", None, "confidence 'confirmed' does not go with sha256 None"),
        ("confidence", "none", "confidence 'none' does not go with sha256 '0"),
        ("confidence", "sure", r"confidence 'sure' is none of \['confirmed', 'single_source', 'none'\]"),
        ("source", None, "source None must say who states"),
    ],
)
def test_wrong_value_is_refused_with_file_and_entry(tmp_path, key, value, reason):
    path = write_manifest(tmp_path, {**FIELDS, "name": "first.zip"}, {**FIELDS, key: value})
    with pytest.raises(ValueError, match=rf"manifest\.yaml: entry 2 \([^)]+\): .*{reason}"):
        read_manifest(path)


def test_unknown_and_lacking_keys_are_refused(tmp_path):
    with pytest.raises(ValueError, match=r"entry 1 \(objects\.json\.zip\): expected the keys"):
        read_manifest(write_manifest(tmp_path, {**FIELDS, "md5": "x"}))
    with pytest.raises(ValueError, match=r"entry 1 \(without a name\): expected the keys"):
        read_manifest(write_manifest(tmp_path, {"urls": []}))


def test_name_that_is_listed_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"entry 2 \(objects\.json\.zip\): this name is listed twice"):
        read_manifest(write_manifest(tmp_path, FIELDS, FIELDS))


@pytest.mark.parametrize("text", ["files: [", "[]", "files: {}", "file: []"])
def test_file_that_is_no_manifest_is_refused(tmp_path, text):
    (tmp_path / "manifest.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"manifest\.yaml: (no YAML|expected one key)"):
        read_manifest(str(tmp_path / "manifest.yaml"))


def test_plain_http_is_for_this_machine_only(tmp_path):
    url = "http://127.0.0.1:8000/objects.json.zip"
    entries = read_manifest(write_manifest(tmp_path, {**FIELDS, "urls": [url]}))
    assert entries["objects.json.zip"].urls == (url,)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://visualgenome.org/static/data", True),
        ("https://www.VisualGenome.org./static", True),
        ("https://homes.cs.washington.edu/~ranjay/visualgenome/data", False),
        ("https://notvisualgenome.org/", False),
    ],
)
def test_lapsed_domain_is_recognised(url, expected):
    assert is_lapsed(url) is expected


# ---- files


@pytest.mark.parametrize("start", [b"PK\x03\x04rest", b"PK", b"P"])
def test_start_of_a_zip_passes_even_in_small_pieces(start):
    check_start(ManifestEntry("a.zip", ("https://example.org/a",)), start)


@pytest.mark.parametrize("start", [b"", b"PK\x05\x06", b"Pq", b"<!doctype html>", b"\xef\xbb\xbf<html>"])
def test_start_of_another_thing_is_refused(start):
    with pytest.raises(ValueError, match=r"it is no zip|it is a web page"):
        check_start(ManifestEntry("a.zip", ("https://example.org/a",)), start)


def test_member_that_is_expected_but_not_there_gives_a_warning(tmp_path, caplog):
    path = tmp_path / "objects.json.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("attributes.json", "[]")
    entry = ManifestEntry(path.name, ("https://example.org/a",), member="objects.json")
    with caplog.at_level(logging.WARNING):
        facts = check_file(entry, str(path))
    assert "objects.json.zip: the zip holds no objects.json, but ['attributes.json']" in caplog.text
    assert facts["sha256"] == hashlib.sha256(path.read_bytes()).hexdigest()


def test_message_lists_all_missing_files_with_url_and_size():
    entries = [
        ManifestEntry("a.zip", ("https://example.org/a.zip", "https://example.net/a.zip"), 1_000),
        ManifestEntry("b.zip", ("https://example.org/b.zip",)),
    ]
    assert missing_message((f"data/{entry.name}", entry) for entry in entries).splitlines() == [
        "2 files are missing (1,000 bytes and 1 of unknown size):",
        "  data/a.zip",
        "    https://example.org/a.zip (1,000 bytes)",
        "  data/b.zip",
        "    https://example.org/b.zip (size unknown)",
    ]


@pytest.mark.parametrize(
    ("member", "version", "name"),
    [
        ("objects.json", "1.0", "objects_v1.json.zip"),
        ("objects.json", "1.2", "objects_v1_2.json.zip"),
        ("objects.json", "1.4", "objects.json.zip"),
        ("attributes.json", "1.4", "attributes.json.zip"),
        ("region_descriptions.json", "1.2", "region_descriptions.json.zip"),
        ("image_data.json", "1.0", "image_data.json.zip"),
    ],
)
def test_version_is_the_wanted_one_or_the_newest_before_it_or_the_oldest(entries, member, version, name):
    assert choose_version(entries.values(), member, version).name == name


def test_file_that_no_entry_holds_is_named(entries):
    with pytest.raises(ValueError, match=r"no entry of the manifest holds object\.json"):
        choose_version(entries.values(), "object.json", "1.2")


@pytest.mark.parametrize("text", ["files: [2001-99-99]", "[" * 5_000, "files: [{1: 2, a: 3}]"])
def test_odd_yaml_is_refused_by_name(tmp_path, text):
    (tmp_path / "manifest.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"manifest\.yaml: (no YAML|entry 1)"):
        read_manifest(str(tmp_path / "manifest.yaml"))


def test_manifest_in_another_encoding_is_refused_by_name(tmp_path):
    (tmp_path / "manifest.yaml").write_bytes("files: [\u00e9]".encode("latin-1"))
    with pytest.raises(ValueError, match=r"manifest\.yaml: no YAML in UTF-8"):
        read_manifest(str(tmp_path / "manifest.yaml"))


def test_few_lines_of_yaml_that_hold_gigabytes_are_refused_at_once(tmp_path):
    lines = ["a: &a [" + "x, " * 9 + "x]"]
    lines += [f"{new}: &{new} [{', '.join([f'*{old}'] * 10)}]" for old, new in zip("abcdefgh", "bcdefghi", strict=True)]
    text = yaml.safe_dump({"files": [FIELDS]}).replace("version: '1.4'", "version: {" + ", ".join(lines) + "}")
    (tmp_path / "manifest.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"entry 1 \(objects\.json\.zip\): version .* is neither text") as error:
        read_manifest(str(tmp_path / "manifest.yaml"))
    assert len(str(error.value)) < 100_000
