import csv

import pytest

from crepebench.set_ids import foil_id, read_exclusions, set_id


@pytest.mark.parametrize(
    "other",
    [
        ("productivity", 9, (1, 2, 3, 4), "a red jar"),
        ("systematicity", 8, (1, 2, 3, 4), "a red jar"),
        ("systematicity", 9, (1, 2, 34, 4), "a red jar"),
        ("systematicity", 9, (1, 2, 3, 4), "a red jar."),
    ],
)
def test_set_id_depends_on_family_image_box_and_caption(other):
    ids = [set_id("systematicity", 9, (1, 2, 3, 4), "a red jar"), set_id(*other)]
    assert len(set(ids)) == 2


def test_ids_are_the_same_in_every_run():
    identity = set_id("systematicity", 9, (1, 2, 3, 4), "a red jar")
    assert (identity, foil_id(identity, "a blue jar")) == ("39312abcce3de43e", "a55dc9fb79bd41ca")


@pytest.fixture
def listed(tmp_path):
    """Writes exclusion lists and reads them."""

    def read(*texts):
        paths = [tmp_path / f"{i}.csv" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text, encoding="utf-8")
        return read_exclusions(map(str, paths))

    return read


def test_lists_are_joined_with_their_reasons(listed):
    one, other = "0123456789abcdef", "f" * 16
    found = listed(f"id,reason\n{one},true\n{other},\n", f"reason,who,id\nodd,me,{one}\n", f"id,reason\n {one} ,odd\n")
    assert found == {one: "true; odd; odd", other: ""}


@pytest.mark.parametrize("value", ["0123", "0123456789ABCDEF", "", "region 5"])
def test_what_is_no_id_is_named_with_file_and_line(listed, value):
    with pytest.raises(ValueError, match=r"0\.csv, line 3: .*is no set_id or foil_id"):
        listed(f"id,reason\n0123456789abcdef,x\n{value},x\n")


def test_a_list_without_its_columns_is_refused(listed):
    with pytest.raises(ValueError, match=r"0\.csv: an exclusion list has the columns"):
        listed("set_id,why\n0123456789abcdef,x\n")


@pytest.mark.parametrize("content", ["id,reason\n\u00e9".encode("latin-1"), "id,reason\n".encode("utf-16")])
def test_a_list_in_another_encoding_is_named(tmp_path, content):
    (tmp_path / "a.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.csv: not a text in UTF-8"):
        read_exclusions([str(tmp_path / "a.csv")])


def test_a_cell_without_end_is_named(tmp_path):
    (tmp_path / "a.csv").write_text('id,reason\n0,"' + "x" * 200_000)
    most = csv.field_size_limit(131_072)
    try:
        with pytest.raises(ValueError, match=r"a\.csv: no CSV \(field larger than"):
            read_exclusions([str(tmp_path / "a.csv")])
    finally:
        csv.field_size_limit(most)
