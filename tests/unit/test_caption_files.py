import io
import json
import random
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crepebench import caption_files
from crepebench.caption_files import read_jsonl, read_parquet, read_webdataset
from crepebench.line_files import DamagedFileError

from .caption_rows import every, gathered, write


def write_tar(path, members, mode="w"):
    with tarfile.open(path, mode) as archive:
        for name, content in members:
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return str(path)


def test_jsonl_rows_have_text_or_a_reason(tmp_path):
    lines = [
        '{"caption": "a jar", "url": "u"}\r\n',
        '{"caption": null}\n',
        '{"url": "u"}\n',
        '{"caption": 7}\n',
        '{"caption": "a \\ud800"}\n',
        '{"caption": ["a cup", "a box", null, 3]}\n',
        '["caption"]\n',
        '{"caption": "a\n',
        "\n",
        b'{"caption": "\xff"}\n',
        "[" * 100_000 + "\n",
        '{"caption": "caf\u00e9"}',
    ]
    columns, dropped = gathered(read_jsonl(write(tmp_path / "a.jsonl", *lines), ["caption"], every))
    assert columns == [[b"a jar", None, b"a cup", b"a box", None, "caf\u00e9".encode()]]
    assert dropped == {"text_missing": 1, "text_not_text": 2, "text_undecodable": 2, "json_invalid": 4}


def test_jsonl_lines_read_at_once_are_those_read_one_by_one(tmp_path, monkeypatch):
    rng = random.Random(1)
    good = ['{"caption": "a jar", "n": 1}', '{"caption": null}', '{"caption": "caf\u00e9"}', '{"n": 1, "caption": ""}']
    bad = ["{", "[]", '{"n": 1}', '{"caption": 1}', '{"caption": ["a", "b"]}', '"caption"', '{"caption": "\\ud800"}']
    lines = [rng.choice(bad if rng.random() < 0.2 else good) for _ in range(300)]
    path = write(tmp_path / "a.jsonl", "\ufeff", "\n".join(lines))
    monkeypatch.setattr(caption_files, "BLOCK_ROWS", 5)
    in_groups = gathered(read_jsonl(path, ["caption"], every))
    monkeypatch.setattr(caption_files, "_good_objects", lambda *_: None)
    assert gathered(read_jsonl(path, ["caption"], every)) == in_groups
    assert sum(map(len, in_groups[0])) > 200


def test_jsonl_fields_are_read_side_by_side(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"title": "a jar"}\n', '{"text": "a box", "title": "b"}\n')
    assert gathered(read_jsonl(path, ["title", "text"], every))[0] == [[b"a jar", b"b"], [None, b"a box"]]


TEXT_TYPES = [pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("type_", TEXT_TYPES, ids=str)
def test_parquet_text_is_read_whatever_its_type(tmp_path, type_):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"Text": pa.array(["a jar", None, "a box"]).cast(type_)}), path)
    assert gathered(read_parquet(path, [["TEXT"]], every, 10)) == ([[b"a jar", None, b"a box"]], {})


def test_parquet_column_may_have_one_of_several_names(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"URL": ["u"], "caption": ["a jar"]}), path)
    assert gathered(read_parquet(path, [["TEXT", "caption"], ["url"]], every, 10))[0] == [[b"a jar"], [b"u"]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"URL": ["u"]}, r"a\.parquet: has no column 'TEXT' or 'caption', but \['URL'\]"),
        ({"TEXT": [1]}, r"a\.parquet: column 'TEXT' is no text, but int64"),
        ({"TEXT": [["a"]]}, r"a\.parquet: column 'TEXT' is no text, but list"),
    ],
)
def test_parquet_without_a_column_of_text_is_refused(tmp_path, table, message):
    pq.write_table(pa.table(table), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=message):
        list(read_parquet(str(tmp_path / "a.parquet"), [["TEXT", "caption"]], every, 10))


def test_file_that_is_no_parquet_or_cut_is_refused(tmp_path):
    path = write(tmp_path / "a.parquet", "URL\tTEXT\n")
    message = r"a\.parquet: the file is damaged where its last bytes describe its content \("
    with pytest.raises(DamagedFileError, match=message):
        list(read_parquet(path, [["TEXT"]], every, 10))
    pq.write_table(pa.table({"TEXT": ["a jar"] * 1000}), path)
    content = (tmp_path / "a.parquet").read_bytes()
    (tmp_path / "a.parquet").write_bytes(content[:-20])
    with pytest.raises(DamagedFileError, match=message):
        list(read_parquet(path, [["TEXT"]], every, 10))


@pytest.mark.parametrize("byte", [0x00, 0x55, 0xFF])
def test_damaged_row_group_is_named_and_the_others_are_read(tmp_path, byte):
    path = tmp_path / "a.parquet"
    texts = [f"a jar {i}" for i in range(12)]
    pq.write_table(pa.table({"TEXT": texts}), path, row_group_size=4, use_dictionary=False)
    chunk = pq.read_metadata(path).row_group(1).column(0)
    raw = bytearray(path.read_bytes())
    raw[chunk.data_page_offset : chunk.data_page_offset + chunk.total_compressed_size] = (
        bytes([byte]) * chunk.total_compressed_size
    )
    path.write_bytes(raw)
    columns, _ = gathered(read_parquet(str(path), [["TEXT"]], lambda group: group != 1, 1000))
    assert columns == [[text.encode() for text in texts[:4] + texts[8:]]]
    with pytest.raises(DamagedFileError, match=r"a\.parquet: the file is damaged in row group 1 \("):
        list(read_parquet(str(path), [["TEXT"]], every, 1000))


def test_parquet_batches_are_bounded_in_bytes_and_offsets_have_64_bits(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"TEXT": ["x" * 999] * 500, "OTHER": ["y" * 99_999] * 500}), path, use_dictionary=False)
    rows = list(read_parquet(path, [["TEXT"]], every, 20_000))
    assert max(r.columns[0].nbytes for r in rows) < 30_000
    assert {r.columns[0].type for r in rows} == {pa.large_binary()}
    assert sum(len(r.columns[0]) for r in rows) == 500


SAMPLES = [
    *[("a/1.jpg", b"\xff\xd8"), ("a/1.txt", b"a jar"), ("a/1.json", b'{"caption": "a red jar"}')],
    *[("a/2.jpg", b"\xff\xd8"), ("a/2.json", b'{"caption": null}')],
    *[("b/2.json", b"{"), ("b/2.txt", b"\xff")],
    *[("3.seg.png", b"p"), ("3.TXT", b"")],
]


@pytest.mark.parametrize(
    ("field", "texts", "dropped"),
    [
        ("txt", [b"a jar", b"\xff", b""], {"text_missing": 1}),
        ("json.caption", [b"a red jar", None], {"text_missing": 1, "json_invalid": 1}),
        ("seg.png", [b"p"], {"text_missing": 3}),
    ],
)
@pytest.mark.parametrize("mode", ["w", "w:gz"])
def test_captions_of_a_tar_are_members_of_samples(tmp_path, field, texts, dropped, mode):
    path = write_tar(tmp_path / "a.tar", SAMPLES, mode)
    assert gathered(read_webdataset(path, field, every)) == ([texts], dropped)


def test_tar_blocks_cover_every_sample_once(tmp_path, monkeypatch):
    monkeypatch.setattr(caption_files, "BLOCK_ROWS", 3)
    path = write_tar(tmp_path / "a.tar", [(f"{i}.txt", str(i).encode()) for i in range(8)])
    found = [gathered(read_webdataset(path, "txt", lambda b, s=s: b % 2 == s))[0][0] for s in (0, 1)]
    assert found == [[b"0", b"1", b"2", b"6", b"7"], [b"3", b"4", b"5"]]


@pytest.mark.parametrize("damage", ["in a member", "between members", "in a header", "no tar"])
def test_damaged_tar_is_named_with_the_place(tmp_path, damage):
    path = tmp_path / "a.tar"
    write_tar(path, [(f"{i}.txt", str(i).encode() * 600) for i in range(9)])
    content = path.read_bytes()  # 512 bytes of a header, 1,024 of its content
    size = {"in a member": 1536 * 4 + 700, "between members": 1536 * 4, "in a header": 1536 * 4 + 100, "no tar": 0}
    path.write_bytes(content[: size[damage]] or b"u\ta jar\n")
    with pytest.raises(DamagedFileError, match=r"a\.tar: the file is damaged (in|after|at)"):
        list(read_webdataset(str(path), "txt", every))


def test_altered_header_of_a_tar_is_not_its_end(tmp_path):
    path = tmp_path / "a.tar"
    write_tar(path, [(f"{i}.txt", b"a jar") for i in range(9)])
    raw = bytearray(path.read_bytes())
    raw[1024 * 4 + 150] ^= 1
    path.write_bytes(raw)
    with pytest.raises(DamagedFileError, match=r"a\.tar: the file is damaged after member 3\.txt: no mark of the end"):
        list(read_webdataset(str(path), "txt", every))


def test_empty_tar_has_no_captions(tmp_path):
    assert list(read_webdataset(write_tar(tmp_path / "a.tar", []), "txt", every)) == []


def test_json_of_a_line_may_be_as_odd_as_it_likes(tmp_path):
    lines = [json.dumps(value) for value in (None, 1, "a", [], {}, {"caption": {}}, {"caption": [["a"]]})]
    _, dropped = gathered(read_jsonl(write(tmp_path / "a.jsonl", "\n".join(lines)), ["caption"], every))
    assert dropped == {"json_invalid": 4, "text_missing": 1, "text_not_text": 2}
