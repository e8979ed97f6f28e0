import bz2
import gzip
import io
import json
import random
import tarfile
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crepebench import caption_files, line_files
from crepebench.corpora import (
    FORMATS,
    CaptionBatch,
    fold,
    is_dealt_whole,
    join_sentences,
    list_files,
    read_batches,
    read_line_numbers,
)
from crepebench.texts import decode_yfcc_text, normalise_text

URL = "https://h/1.jpg"


def write(path, *lines):
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return str(path)


def read(files, definition, *shard, with_urls=False):
    """Returns texts, urls and dropped rows of all batches, and checks that no row is lost."""
    batches = list(read_batches(files, definition, *shard, with_urls=with_urls))
    texts = [text for batch in batches for text in batch.texts.to_pylist()]
    urls = [url for batch in batches for url in (batch.urls.to_pylist() if with_urls else [])]
    dropped = sum((batch.dropped for batch in batches), Counter())
    assert sum(batch.n_read for batch in batches) == len(texts) + dropped.total()
    assert all(batch.texts.type == pa.large_string() for batch in batches)
    return texts, urls, dict(dropped)


def one(path, format_):
    """Returns the only text, or the reason for which there is none."""
    texts, _, dropped = read([path], {"format": format_})
    assert len(texts) + sum(dropped.values()) == 1
    return (texts or list(dropped))[0]


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (f"{URL}\ta red jar \n", "a red jar"),
        (f"{URL}\ta jar by <PERSON>\r\n", "a jar by <PERSON>"),
        (f"{URL}\t\n", "text_empty"),
        (f"{URL}\t \u00a0 \n", "text_empty"),
        (f"{URL}\n", "columns_wrong"),
        (f"{URL}\ta\tb\n", "columns_wrong"),
        (b"https://h/1.jpg\ta \xff jar\n", "text_undecodable"),
        (f"{URL}\t{'x' * 100_001}\n", "text_too_long"),
        (f"{URL}\t{'x' * 100_000}\n", "x" * 100_000),
    ],
)
def test_cc12m_row_has_text_or_a_reason(tmp_path, line, text):
    assert one(write(tmp_path / "cc12m.tsv", line), "cc12m") == text


def test_cc12m_head_row_that_people_add_is_no_row(tmp_path):
    path = write(tmp_path / "cc12m.tsv", "url\tcaption\n", f"{URL}\ta jar\n", "url\tcaption\n")
    assert read([path], {"format": "cc12m"}) == (["a jar", "caption"], [], {})


YFCC_TEXTS = [
    ("a%27s+dog%0Apark", "", "a's dog park"),
    ("a+jar", "in+my+%3Ca+href%3D%22http%3A%2F%2Fh%22%3Eset%3C%2Fa%3E", "a jar. in my set"),
    ("100%25+icons", "", "100% icons"),
    ("100%2525", "", "100%25"),
    ("cat+%26amp%3B+dog", "", "cat & dog"),
    ("Look%21", "a+jar", "Look! a jar"),
    ("", "a+jar", "a jar"),
    ("", "", "text_empty"),
    ("%3Cb%3E%3C%2Fb%3E", "+%0A", "text_empty"),
    ("a+jar", "%FF", "text_undecodable"),
]


@pytest.mark.parametrize(("title", "description", "text"), YFCC_TEXTS)
def test_yfcc_title_and_description_are_decoded_once_and_make_one_caption(tmp_path, title, description, text):
    assert one(write(tmp_path / "a.tsv", f"{URL}\t{title}\t{description}\n"), "yfcc_extract") == text


def metadata_line(number, title, description=""):
    """A line of YFCC100M's metadata."""
    fields = [str(number), "1234", "hash", "user", "nick", "date", "1", "camera", title, description, "tags", ""]
    return "\t".join([*fields, "", "", "", "page", URL, "licence", "url", "1", "2", "s", "o", "jpg", "0"]) + "\n"


@pytest.mark.parametrize("suffix", ["", ".bz2"])
def test_clips_subset_is_taken_from_the_metadata_by_line_number(tmp_path, suffix):
    lines = [metadata_line(n, f"a+jar+{n}", "in+my+set") for n in range(5)] + ["x\n", metadata_line("", "a+jar")]
    metadata = write(tmp_path / "yfcc100m_dataset", *lines)
    content = b"3\t77\thash\n0\t78\thash\n99\t79\thash\n"
    subset = tmp_path / f"yfcc100m_subset_data.tsv{suffix}"
    subset.write_bytes(bz2.compress(content) if suffix else content)
    definition = {"format": "yfcc15m_clip", "subset": str(subset)}
    texts, urls, dropped = read([metadata, str(subset)], definition, with_urls=True)
    assert texts == ["a jar 0. in my set", "a jar 3. in my set"]
    assert urls == [URL, URL]
    assert dropped == {"not_in_subset": 4, "columns_wrong": 1}


def test_declips_subset_is_a_list_of_json_with_plain_captions(tmp_path):
    rows = [{"url": URL, "filename": "1.jpg", "caption": "100% a+jar"}, {"url": URL, "filename": "2.jpg"}]
    path = write(tmp_path / "yfcc15m_clean_open_data.json", *(json.dumps(row) + "\n" for row in rows))
    assert read([path], {"format": "yfcc15m_declip"}) == (["100% a+jar"], [], {"text_missing": 1})


@pytest.mark.parametrize("names", [("URL", "TEXT"), ("url", "text"), ("url", "caption")])
@pytest.mark.parametrize("format_", ["laion400m", "relaion"])
def test_columns_of_laions_releases_are_found(tmp_path, names, format_):
    path = str(tmp_path / "part.parquet")
    table = {"SAMPLE_ID": [1, 2, 3], names[0]: [URL, None, URL], names[1]: ["a  jar", "a box", None]}
    pq.write_table(pa.table(table), path)
    texts, urls, dropped = read([path], {"format": format_}, with_urls=True)
    assert (texts, urls, dropped) == (["a jar", "a box"], [URL, ""], {"text_null": 1})


@pytest.mark.parametrize("type_", [pa.binary(), pa.string()])
def test_parquet_text_that_is_not_utf_8_has_a_reason(tmp_path, type_):
    path = str(tmp_path / "part.parquet")
    texts = pa.array([b"a jar", b"a \xff jar", "caf\u00e9".encode(), None, b" "], pa.binary()).view(type_)
    pq.write_table(pa.table({"TEXT": texts}), path)
    found = read([path], {"format": "laion400m"})
    assert found == (["a jar", "caf\u00e9"], [], {"text_undecodable": 1, "text_null": 1, "text_empty": 1})


GENERIC = {
    "tsv": ("caption\tn\na jar\t1\n\ta\nb\n", {"text_empty": 1, "columns_wrong": 1}),
    "csv": ('caption,n\n"a\njar",1\n,2\nb\n', {"text_empty": 1, "columns_wrong": 1}),
    "jsonl": ('{"caption": "a jar"}\n{"caption": null}\n{\n', {"text_null": 1, "json_invalid": 1}),
}


@pytest.mark.parametrize("format_", GENERIC)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_captions_of_any_table_are_read_by_the_name_of_their_column(tmp_path, format_, suffix):
    content, dropped = GENERIC[format_]
    path = tmp_path / f"a{suffix}"
    path.write_bytes(gzip.compress(content.encode()) if suffix else content.encode())
    assert read([str(path)], {"format": format_, "caption": "caption"}) == (["a jar"], [], dropped)


@pytest.mark.parametrize(("format_", "line"), [("tsv", "7\ta jar\n"), ("csv", "7,a jar\n")])
def test_columns_of_a_table_without_a_head_row_are_counted_from_one(tmp_path, format_, line):
    path = write(tmp_path / "a", line)
    assert read([path], {"format": format_, "caption": 2})[0] == ["a jar"]
    assert read([path], {"format": format_, "caption": [2, 1]})[0] == ["a jar. 7"]


def test_several_columns_make_one_caption(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"title": ["A jar!", "a box", None, None], "text": ["red", None, "blue", None]}), path)
    found = read([path], {"format": "parquet", "caption": ["title", "text"]})
    assert found == (["A jar! red", "a box", "blue"], [], {"text_null": 1})


def test_every_format_reads_an_empty_list_of_files():
    for format_ in FORMATS:
        assert list(read_batches([], {"format": format_, "caption": "caption"})) == []


def test_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"unknown corpus format 'coyo': use one of \['cc12m'"):
        list(read_batches([str(tmp_path / "a.tsv")], {"format": "coyo"}))


def test_a_subset_that_is_no_list_of_numbers_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"subset\.tsv: no list of line numbers"):
        read_line_numbers(write(tmp_path / "subset.tsv", "a\tb\n"))


def write_parquet(path, texts):
    pq.write_table(pa.table({"TEXT": pa.array(texts, pa.string())}), path, row_group_size=4)


def write_tar(path, texts):
    with tarfile.open(path, "w") as archive:
        for row, text in enumerate(texts):
            member = tarfile.TarInfo(f"{row}.txt")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))


def write_lines(line, compress=bytes):
    return lambda path, texts: path.write_bytes(compress("".join(line.format(text) for text in texts).encode()))


WRITERS = {  # end of the files' names, definition, writer
    "cc12m": (".tsv", {"format": "cc12m"}, write_lines("u\t{}\n")),
    "cc12m, compressed": (".tsv.gz", {"format": "cc12m"}, write_lines("u\t{}\n", gzip.compress)),
    "jsonl": (".jsonl", {"format": "jsonl", "caption": "c"}, write_lines('{{"c": "{}"}}\n')),
    "csv": (".csv", {"format": "csv", "caption": 1}, write_lines('"{}",1\n')),
    "laion400m": (".parquet", {"format": "laion400m"}, write_parquet),
    "webdataset": (".tar", {"format": "webdataset", "caption": "txt"}, write_tar),
}


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
@pytest.mark.parametrize("name", WRITERS)
def test_shards_cover_every_row_once(tmp_path, monkeypatch, n_shards, name):
    monkeypatch.setattr(line_files, "BLOCK_BYTES", 50)
    monkeypatch.setattr(caption_files, "BLOCK_ROWS", 3)
    suffix, definition, writer = WRITERS[name]
    rng = random.Random(n_shards)
    files, expected = [], []
    for file, size in enumerate((11, 0, 8, 1)):
        texts = [f"{file}-{row} {'x' * rng.randrange(1, 30)}" for row in range(size)]
        files.append(str(tmp_path / f"{file}{suffix}"))
        writer(tmp_path / f"{file}{suffix}", texts)
        expected += texts
    found = [read(files, definition, shard, n_shards)[0] for shard in range(n_shards)]
    assert sorted(text for part in found for text in part) == sorted(expected)


def test_blocks_of_one_file_are_dealt_to_all_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "BLOCK_BYTES", 40)
    path = write(tmp_path / "a.tsv", *(f"{URL}\t{i:03d}\n" for i in range(11)))  # 20 bytes a line
    assert [len(read([path], {"format": "cc12m"}, shard, 3)[0]) for shard in range(3)] == [4, 4, 3]


@pytest.mark.parametrize(
    ("path", "kind", "n_files", "whole"),
    [
        ("a.tar", "webdataset", 3, True),
        ("a.tar", "webdataset", 2, False),
        ("a.csv", "csv", 3, True),
        ("a.tsv.gz", "tsv", 3, True),
        ("a.tsv", "tsv", 9, False),
        ("a.parquet", "parquet", 9, False),
    ],
)
def test_file_that_must_be_decoded_from_its_start_goes_to_one_shard_if_there_are_enough(path, kind, n_files, whole):
    assert is_dealt_whole(path, kind, n_files, n_shards=3) == whole


def test_files_of_other_shards_are_not_even_opened(tmp_path):
    files = [str(tmp_path / f"{i}.tsv.gz") for i in range(3)]
    for path in files[1:]:
        with open(path, "wb") as stream:
            stream.write(b"damaged")
    with gzip.open(files[0], "wb") as stream:
        stream.write(b"u\ta jar\n")
    assert read(files, {"format": "cc12m"}, 0, 3)[0] == ["a jar"]
    with pytest.raises(ValueError, match=r"1\.tsv\.gz: the file is damaged at its start"):
        read(files, {"format": "cc12m"}, 1, 3)


def test_batches_equal_single_texts_put_through_the_policy(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "BLOCK_BYTES", 300)
    rng = random.Random(1)
    pieces = ["a", " ", "+", "%20", "%26", "lt;", "<b>", "caf\u00e9", "e\u0301", "\u00ad", "\u2003", "x.", "%ZZ", "%C3"]
    rows = [["".join(rng.choices(pieces, k=rng.randrange(6))) for _ in "ab"] for _ in range(2000)]
    path = write(tmp_path / "a.tsv", *(f"u\t{title}\t{text}\n" for title, text in rows))
    texts, _, dropped = read([path], {"format": "yfcc_extract"})
    expected, reasons = [], Counter()
    for row in rows:
        decoded = [decode_yfcc_text(field) for field in row]
        if None in decoded:
            reasons["text_undecodable"] += 1
            continue
        title, text = map(normalise_text, decoded)
        if title and text and title[-1] not in ".!?":
            title += "."
        caption = f"{title} {text}".strip()
        expected += [caption] if caption else []
        reasons["text_empty"] += not caption
    assert (texts, dropped) == (expected, reasons)


def test_sentences_are_joined_with_a_stop_where_one_is_lacking():
    columns = [["a jar", "Who?", "", "a", ""], ["red", "me", "b", "", ""], ["c", "", "d", "e", ""]]
    joined = join_sentences([pa.array(column, pa.large_string()) for column in columns])
    assert joined.to_pylist() == ["a jar. red. c", "Who? me", "b. d", "a. e", ""]


def test_folded_text_is_what_lower_gives():
    texts = ["A Red JAR", "\u0130stanbul", "\u039f\u03a3 \u039f\u03a3\u0391", "\u212aelvin", "stra\u1e9ee", ""]
    assert fold(pa.array(texts, pa.large_string())).to_pylist() == list(map(str.lower, texts))


def test_batch_names_its_urls_only_if_asked(tmp_path):
    path = write(tmp_path / "a.tsv", f"{URL}\ta jar\n")
    (batch,) = read_batches([path], {"format": "cc12m"})
    assert isinstance(batch, CaptionBatch) and batch.urls is None


def test_last_line_needs_no_line_end(tmp_path):
    path = write(tmp_path / "a.tsv", f"{URL}\ta jar\n{URL}\ta box")
    assert read([path], {"format": "cc12m"})[0] == ["a jar", "a box"]


def test_folder_stands_for_its_files_by_name(tmp_path):
    for name in ("b.tsv", "a.tsv", ".hidden"):
        write(tmp_path / name, "")
    (tmp_path / "aa").mkdir()
    write(tmp_path / "aa" / "c.tsv", "")
    assert list_files([str(tmp_path), str(tmp_path / "b.tsv")]) == [
        str(tmp_path / name) for name in ("a.tsv", "b.tsv", "b.tsv")
    ]


@pytest.mark.parametrize("name", ["nowhere", "nowhere.tsv", "empty", "nested"])
def test_missing_file_or_empty_folder_is_refused(tmp_path, name):
    (tmp_path / "empty").mkdir()
    (tmp_path / "nested" / "folder").mkdir(parents=True)
    with pytest.raises(FileNotFoundError, match=f"corpus: there is no file at .*{name}"):
        list_files([str(tmp_path / name)])


def test_list_of_line_numbers_that_is_cut_off_is_refused_by_name(tmp_path):
    path = tmp_path / "subset.tsv.gz"
    path.write_bytes(gzip.compress(b"0\n3\n")[:-9])
    with pytest.raises(ValueError, match=r"subset\.tsv\.gz: no list of line numbers"):
        read_line_numbers(str(path))


def test_empty_line_in_a_list_of_line_numbers_is_no_number(tmp_path):
    assert read_line_numbers(write(tmp_path / "subset.tsv", "3\tx\n\tx\n0\tx\n")).tolist() == [0, 3]


def test_parquet_file_with_two_columns_of_one_name_is_refused(tmp_path):
    column = pa.array(["a jar"])
    pq.write_table(pa.Table.from_arrays([column, column], names=["TEXT", "TEXT"]), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet: has several columns 'TEXT'"):
        read([str(tmp_path / "a.parquet")], {"format": "laion400m"})


def test_csv_file_that_begins_with_an_empty_line_is_refused(tmp_path):
    path = write(tmp_path / "a.csv", "\nhttps://h/1.jpg,a jar\n")
    with pytest.raises(ValueError, match=r"a\.csv: has 0 columns, so there is no column number 2"):
        read([path], {"format": "csv", "caption": 2})


def test_caption_of_a_tar_that_is_too_large_for_one_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(caption_files, "MOST_ROW_BYTES", 100)
    write_tar(tmp_path / "a.tar", ["a jar", "x" * 101])
    with pytest.raises(ValueError, match=r"a\.tar: member 1\.txt has more than 100 bytes; is it a caption"):
        read([str(tmp_path / "a.tar")], {"format": "webdataset", "caption": "txt"})
