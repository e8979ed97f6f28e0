import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crepebench import corpora
from crepebench.corpora import list_files, normalise_text, read_rows

URL = "https://h/1.jpg"


def write(path, *lines):
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return str(path)


def one_row(path, format_):
    (row,) = read_rows([path], format_)
    return row


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        (" a  red\tjar \n", "a red jar"),
        ("cafe\u0301", "caf\u00e9"),
        ("a\u2028jar\x00here\x85now", "a jar here now"),
        ("\u3000wide\u00a0space", "wide space"),
        (" \t\n", ""),
    ],
)
def test_text_is_normalised(text, normal):
    assert normalise_text(text) == normal


@pytest.mark.parametrize(
    ("line", "text", "reason"),
    [
        (f"{URL}\ta red jar \n", "a red jar", ""),
        (f"{URL}\ta jar by <PERSON>\r\n", "a jar by <PERSON>", ""),
        (f"{URL}\t\n", "", "text_empty"),
        (f"{URL}\t \u00a0 \n", "", "text_empty"),
        (f"{URL}\n", "", "columns_wrong"),
        (f"{URL}\ta\tb\n", "", "columns_wrong"),
        (b"https://h/1.jpg\ta \xff jar\n", "", "text_undecodable"),
    ],
)
def test_cc12m_row_has_text_or_a_reason(tmp_path, line, text, reason):
    row = one_row(write(tmp_path / "cc12m.tsv", line), "cc12m")
    assert (row.text, row.reason) == (text, reason)


@pytest.mark.parametrize(
    ("title", "description", "text"),
    [
        ("a%27s+dog%0Apark", "", "a's dog park"),
        ("a+jar", "in+my+%3Ca+href%3D%22http%3A%2F%2Fh%22%3Eset%3C%2Fa%3E", "a jar. in my set"),
        ("100%25+icons", "", "100% icons"),
        ("100%2525", "", "100%25"),
        ("100% real", "", "100% real"),
        ("cat+%26amp%3B+dog", "", "cat & dog"),
        ("Look%21", "a+jar", "Look! a jar"),
        ("", "a+jar", "a jar"),
    ],
)
def test_yfcc_text_is_decoded_once_and_stripped_of_html(tmp_path, title, description, text):
    row = one_row(write(tmp_path / "yfcc15m.tsv", f"{URL}\t{title}\t{description}\n"), "yfcc15m")
    assert (row.url, row.text, row.reason) == (URL, text, "")


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (f"{URL}\t\t\n", "text_empty"),
        (f"{URL}\t%3Cb%3E%3C%2Fb%3E\t+%0A\n", "text_empty"),
        (f"{URL}\ta jar\n", "columns_wrong"),
        (f"{URL}\ta jar\ta box\ta cup\n", "columns_wrong"),
    ],
)
def test_yfcc_row_without_text_has_a_reason(tmp_path, line, reason):
    assert one_row(write(tmp_path / "yfcc15m.tsv", line), "yfcc15m").reason == reason


@pytest.mark.parametrize("names", [("URL", "TEXT"), ("url", "text"), ("Url", "Text")])
def test_laion_columns_are_found_in_any_case(tmp_path, names):
    path = str(tmp_path / "part.parquet")
    table = {"SAMPLE_ID": [1, 2, 3], names[0]: [URL, None, URL], names[1]: ["a  jar", "a box", None]}
    pq.write_table(pa.table(table), path)
    rows = list(read_rows([path], "laion400m"))
    assert rows == [(URL, "a jar", ""), ("", "a box", ""), (URL, "", "text_empty")]


def test_laion_shard_without_its_columns_is_refused(tmp_path):
    path = str(tmp_path / "part.parquet")
    pq.write_table(pa.table({"URL": [URL], "CAPTION": ["a jar"]}), path)
    with pytest.raises(ValueError, match=r"part\.parquet: has columns \['URL', 'CAPTION'\]; a LAION shard has URL"):
        list(read_rows([path], "laion400m"))


def test_laion_shard_that_is_no_parquet_is_refused(tmp_path):
    path = write(tmp_path / "part.parquet", "URL\tTEXT\n")
    with pytest.raises(ValueError, match=r"part\.parquet: not a readable Parquet file"):
        list(read_rows([path], "laion400m"))


@pytest.mark.parametrize("type_", [pa.binary(), pa.string()])
def test_laion_text_that_is_not_utf_8_has_a_reason(tmp_path, type_):
    path = str(tmp_path / "part.parquet")
    texts = pa.array([b"a jar", b"a \xff jar", "caf\u00e9".encode(), None], pa.binary()).view(type_)
    pq.write_table(pa.table({"URL": [URL] * 4, "TEXT": texts}), path)
    found = [(row.text, row.reason) for row in read_rows([path], "laion400m")]
    assert found == [("a jar", ""), ("", "text_undecodable"), ("caf\u00e9", ""), ("", "text_empty")]


@pytest.mark.parametrize("byte", [0x00, 0x55, 0xFF])
def test_damaged_row_group_of_a_laion_shard_is_named(tmp_path, byte):
    path = tmp_path / "part.parquet"
    texts = [f"a jar {i}" for i in range(8)]
    pq.write_table(pa.table({"URL": [URL] * 8, "TEXT": texts}), path, row_group_size=4, use_dictionary=False)
    chunk = pq.read_metadata(path).row_group(1).column(1)
    raw = bytearray(path.read_bytes())
    start, size = chunk.data_page_offset, chunk.total_compressed_size
    raw[start : start + size] = bytes([byte]) * size
    path.write_bytes(raw)
    rows = read_rows([str(path)], "laion400m")
    assert [next(rows).text for _ in range(4)] == texts[:4]
    with pytest.raises(ValueError, match=r"part\.parquet: row group 1 is damaged"):
        next(rows)


def test_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"unknown corpus format 'coyo': use one of \['cc12m'"):
        list(read_rows([str(tmp_path / "a.tsv")], "coyo"))


@pytest.mark.parametrize("n_shards", [1, 2, 3, 7])
def test_shards_cover_every_row_of_a_text_corpus_once(tmp_path, monkeypatch, n_shards):
    monkeypatch.setattr(corpora, "BLOCK_ROWS", 4)
    sizes = {"a.tsv": 11, "b.tsv": 0, "c.tsv": 8, "d.tsv": 1}
    paths = [write(tmp_path / n, *(f"{URL}\t{n} {i}\n" for i in range(size))) for n, size in sizes.items()]
    found = [row.text for shard in range(n_shards) for row in read_rows(paths, "cc12m", shard, n_shards)]
    assert sorted(found) == sorted(f"{name} {i}" for name, size in sizes.items() for i in range(size))


@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_shards_cover_every_row_of_a_parquet_corpus_once(tmp_path, n_shards):
    paths = [str(tmp_path / name) for name in ("a.parquet", "b.parquet")]
    for path, size in zip(paths, (11, 6), strict=True):
        texts = [f"{path[-9:]} {i}" for i in range(size)]
        pq.write_table(pa.table({"URL": [URL] * size, "TEXT": texts}), path, row_group_size=4)
    found = [row.text for shard in range(n_shards) for row in read_rows(paths, "laion400m", shard, n_shards)]
    assert sorted(found) == sorted(row.text for row in read_rows(paths, "laion400m"))
    assert len(found) == 17


def test_blocks_of_one_file_are_dealt_to_all_shards(tmp_path, monkeypatch):
    monkeypatch.setattr(corpora, "BLOCK_ROWS", 4)
    path = write(tmp_path / "a.tsv", *(f"{URL}\t{i}\n" for i in range(11)))
    assert [len(list(read_rows([path], "cc12m", shard, 3))) for shard in range(3)] == [4, 4, 3]


def test_shard_beyond_the_blocks_holds_no_rows(tmp_path):
    path = write(tmp_path / "a.tsv", f"{URL}\ta jar\n")
    assert [len(list(read_rows([path], "cc12m", shard, 3))) for shard in range(3)] == [1, 0, 0]


def test_last_line_needs_no_line_end(tmp_path):
    path = write(tmp_path / "a.tsv", f"{URL}\ta jar\n{URL}\ta box")
    assert [row.text for row in read_rows([path], "cc12m")] == ["a jar", "a box"]


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
