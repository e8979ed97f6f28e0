import pytest

from crepebench import caption_files, delimited_files
from crepebench.delimited_files import read_csv, read_tsv
from crepebench.line_files import DamagedFileError

from .caption_rows import every, gathered, write


def test_tsv_columns_are_found_by_name_in_any_case(tmp_path):
    path = write(tmp_path / "a.tsv", "\ufeffURL\tCaption\r\n", "u\ta jar\r\n", "v\ta \rbox\n")
    assert gathered(read_tsv(path, ["caption", "URL"], None, "", every)) == ([[b"a jar", b"a  box"], [b"u", b"v"]], {})


def test_tsv_knows_no_quotes(tmp_path):
    path = write(tmp_path / "a.tsv", 'u\t"a jar\n', 'v\ta "red" box"\n')
    assert gathered(read_tsv(path, [1], 2, "", every))[0] == [[b'"a jar', b'a "red" box"']]


def test_tsv_rows_with_other_columns_or_bytes_have_reasons(tmp_path):
    path = write(tmp_path / "a.tsv", "u\n", "u\tv\tw\n", b"\xff\ta jar\n", "\ta box\n", "\n", "u\ta cup")
    columns, dropped = gathered(read_tsv(path, [1], 2, "", every))
    assert columns == [[b"a box", b"", b"a cup"]]
    assert dropped == {"columns_wrong": 2, "text_undecodable": 1}


def test_tsv_of_bad_rows_alone_is_read(tmp_path):
    assert gathered(read_tsv(write(tmp_path / "a.tsv", "u\n"), [1], 2, "", every)) == ([[]], {"columns_wrong": 1})
    path = write(tmp_path / "b.tsv", b"u\t\xff\n")
    assert gathered(read_tsv(path, [1], 2, "", every)) == ([[]], {"text_undecodable": 1})


def test_empty_tsv_has_no_rows(tmp_path):
    assert list(read_tsv(write(tmp_path / "a.tsv"), [1], 2, "", every)) == []


@pytest.mark.parametrize(
    ("fields", "message"),
    [(["text"], r"a\.tsv: has no column 'text', but \['url', 'caption'\]"), ([2], "so there is no column number 3")],
)
def test_column_that_is_not_there_is_named(tmp_path, fields, message):
    path = write(tmp_path / "a.tsv", "url\tcaption\nu\ta jar\n")
    with pytest.raises(ValueError, match=message):
        list(read_tsv(path, fields, None, "", every))


def test_csv_values_in_quotes_hold_commas_and_line_ends(tmp_path):
    path = write(tmp_path / "a.csv", 'id,caption\n1,"a jar,\nred"\n2,"a ""red"" box"\n3,a cup\n')
    columns, dropped = gathered(read_csv(path, ["caption"], every))
    assert columns == [[b"a jar,\nred", b'a "red" box', b"a cup"]]
    assert dropped == {}


def test_csv_rows_with_other_columns_have_a_reason_and_bytes_come_through(tmp_path):
    path = write(tmp_path / "a.csv", "a jar,1\n", "a box\n", "\n", "a,cup,2\n", b"a \xff cup,3\n")
    assert gathered(read_csv(path, [0], every)) == ([[b"a jar", b"a \xff cup"]], {"columns_wrong": 3})


def test_csv_with_an_open_quote_is_damaged(tmp_path):
    path = write(tmp_path / "a.csv", "caption\n", "a jar\n", '"a box\n', "a cup\n" * 1001)
    with pytest.raises(DamagedFileError, match=r"a\.csv: the file is damaged at line 3 \(a row of 1,002 lines: is a"):
        list(read_csv(path, ["caption"], every))


def test_csv_with_a_value_beyond_all_bounds_is_damaged(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited_files, "MOST_ROW_BYTES", 100)
    path = write(tmp_path / "a.csv", "caption\n", "a jar\n", "x" * 101)
    with pytest.raises(DamagedFileError, match=r"a\.csv: the file is damaged at line 3 \(field larger"):
        list(read_csv(path, ["caption"], every))


@pytest.mark.parametrize("n_shards", [1, 2, 3])
@pytest.mark.parametrize("head", [True, False])
def test_csv_blocks_cover_every_row_once(tmp_path, monkeypatch, n_shards, head):
    monkeypatch.setattr(caption_files, "BLOCK_ROWS", 3)
    for n_rows in (0, 1, 2, 3, 8):
        path = write(tmp_path / "a.csv", "caption,n\n" * head, *(f"a{i},{i}\n" for i in range(n_rows)))
        found = []
        for shard in range(n_shards):
            columns, dropped = gathered(
                read_csv(path, ["caption"] if head else [0], lambda b, s=shard: b % n_shards == s)
            )
            found += columns[0] if columns else []
            assert dropped == {}
        assert sorted(found) == sorted(f"a{i}".encode() for i in range(n_rows))
