import csv

import pytest

from crepebench.released_files import find_released_paths, list_released_files, read_released_rows
from crepebench.released_kinds import change_of_words, released_kind
from crepebench.released_sets import build_released_sets
from crepebench.released_splits import VERSION_STEP, build_released_splits
from crepebench.schema import IMAGES, RETRIEVAL_SETS, SPLITS, read_table, write_table

from .released_rows import COMP_FOILS, image_row, productivity_row, systematicity_row, write_released

NAME = "prod_vg_hard_negs_{}_complexity_{}.csv"
SYST = "syst_vg_hard_negs_{}_compounds_in_{}.csv"


@pytest.fixture
def build(tmp_path):
    """Writes released files, and returns rows and counts of the sets made of them."""

    def run(files, family, images=(1, 2, 3), n_parts=1):
        paths = [write_released(tmp_path / name, rows) for name, rows in files.items()]
        images_path, counts_path = str(tmp_path / "images.parquet"), str(tmp_path / "counts.csv")
        write_table(images_path, IMAGES, map(image_row, images))
        rows, counts = [], {}
        for part in range(n_parts):
            sets_path = str(tmp_path / f"{part}.parquet")
            build_released_sets(paths, images_path, sets_path, counts_path, family, part, n_parts)
            rows += read_table(sets_path, RETRIEVAL_SETS).to_pylist()
            with open(counts_path, newline="") as file:
                for row in csv.DictReader(file):
                    key = row["unit"], row["reason"]
                    counts[key] = counts.get(key, 0) + int(row["count"])
        return rows, counts

    return run


def test_a_productivity_row_becomes_a_set(build):
    rows, counts = build({NAME.format("atom", 4): [productivity_row()]}, "productivity")
    (row,) = rows
    assert (row["protocol"], row["foil_type"], row["complexity"]) == ("released", "atom", 4)
    assert (row["caption_source"], row["region_id"], row["subgraph_id"]) == ("template", None, None)
    assert [row[name] for name in ("image_id", "x", "y", "width", "height")] == [1, 10, 20, 300, 200]
    assert row["foils"][0]["text"] == "jar below box. there is a fan."
    assert (row["foils"][0]["kind"], row["foils"][0]["original"], row["foils"][0]["replacement"]) == (
        *("preposition", "on", "below"),
    )
    assert counts["row_atom", "kept"] == 1 and counts["row_swap", "read"] == 0


def test_overall_joins_the_truths_that_all_types_share(build):
    shared = {NAME.format(name, 5): [productivity_row(n=5)] for name in ("atom", "swap", "negate")}
    shared[NAME.format("atom", 5)].append(productivity_row(n=5, caption="a cat"))
    shared[NAME.format("swap", 5)].append(productivity_row(n=5, box=(11, 20, 300, 200)))
    rows, counts = build(shared, "productivity")
    (overall,) = [row for row in rows if row["foil_type"] == "overall"]
    texts = {row["foil_type"]: [foil["text"] for foil in row["foils"]] for row in rows if row["caption"] != "a cat"}
    assert [foil["text"] for foil in overall["foils"]] == texts["atom"] + texts["swap"] + texts["negate"]
    assert overall["caption_source"] == "text-davinci-002"
    assert (counts["truth_overall", "read"], counts["truth_overall", "foil_types_missing"]) == (3, 2)


def test_a_truth_at_two_complexities_gives_two_sets_with_ids_of_their_own(build):
    files = {NAME.format("atom", n): [productivity_row(n=n)] for n in (5, 6)}
    rows, _ = build(files, "productivity")
    assert len({row["set_id"] for row in rows}) == 2


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"image_id": 9}, "image_unknown"),
        ({"x": 900}, "box_outside"),
        ({"hard_negs": "['one']"}, "n_foils"),
    ],
)
def test_a_row_without_a_set_has_a_reason(build, change, reason):
    rows, counts = build({NAME.format("atom", 4): [productivity_row(), productivity_row() | change]}, "productivity")
    assert len(rows) == 1
    assert counts["row_atom", reason] == 1


def test_a_box_is_cut_to_its_image(build):
    rows, _ = build({NAME.format("atom", 4): [productivity_row(box=(700, 500, 300, 200))]}, "productivity")
    assert [rows[0][name] for name in ("x", "y", "width", "height")] == [700, 500, 100, 100]


def test_no_known_image_stops_the_run(build):
    with pytest.raises(ValueError, match="no image of the released productivity files"):
        build({NAME.format("atom", 4): [productivity_row(image_id=9)]}, "productivity")


def test_no_released_file_stops_the_run(build):
    with pytest.raises(ValueError, match="no released file"):
        build({}, "productivity")


def test_a_family_without_files_gives_an_empty_table(build):
    rows, counts = build({NAME.format("atom", 4): [productivity_row()]}, "systematicity")
    assert rows == [] and counts["region_comp", "read"] == 0


def test_parts_together_hold_what_one_part_holds(build):
    files = {NAME.format("atom", 4): [productivity_row(image_id=i) for i in (1, 2, 3)]}
    whole, counts = build(files, "productivity")
    parts, counts_of_parts = build(files, "productivity", n_parts=2)
    by_id = {row["set_id"]: row for row in whole}
    assert len(parts) == 3 and {row["set_id"]: row for row in parts} == by_id
    assert counts == counts_of_parts


def test_a_region_of_several_corpora_gives_one_set_of_each_type(build):
    files = {
        SYST.format("seen", "cc12m"): [systematicity_row(7), systematicity_row(8, caption="a red sidewalk")],
        SYST.format("unseen", "laion"): [systematicity_row(7)],
    }
    rows, counts = build(files, "systematicity")
    assert [(row["region_id"], row["foil_type"]) for row in rows] == [
        (region_id, name) for region_id in (7, 8) for name in ("atom", "comp", "combined")
    ]
    kinds = [foil["kind"] for foil in rows[2]["foils"]]
    assert kinds == ["word"] * 4 + ["compounds"] * 6
    assert counts["region_comp", "kept"] == 2


def read_splits(tmp_path, corpus, name):
    path, counts_path = str(tmp_path / "splits.parquet"), str(tmp_path / "splits.csv")
    build_released_splits(find_released_paths(str(tmp_path)), path, counts_path, corpus, f'{{"name": "{name}"}}')
    rows = read_table(path, SPLITS).to_pylist()
    return {row["region_id"]: row["split"] for row in rows}, {row["corpus_id"] for row in rows}


def test_other_foils_of_a_region_in_another_corpus_are_a_region_of_their_own(build, tmp_path):
    other = systematicity_row(7, comp=[*COMP_FOILS[:5], "a red park and blue sidewalk"])
    files = {SYST.format("seen", "cc12m"): [systematicity_row(7)], SYST.format("unseen", "laion"): [other]}
    rows, _ = build(files, "systematicity")
    assert {row["region_id"] for row in rows} == {7, 7 + VERSION_STEP}
    assert len({row["set_id"] for row in rows}) == 2
    assert read_splits(tmp_path, "laion400m", "laion")[0] == {7: "not_released", 7 + VERSION_STEP: "UC"}


def test_splits_are_those_of_the_file_names(build, tmp_path):
    files = {
        SYST.format("seen", "cc12m"): [systematicity_row(7), systematicity_row(9)],
        SYST.format("unseen", "cc12m"): [systematicity_row(8), systematicity_row(9)],
        SYST.format("unseen", "laion"): [systematicity_row(7), systematicity_row(6)],
    }
    rows, _ = build(files, "systematicity")
    splits, ids = read_splits(tmp_path, "cc12m", "cc12m")
    assert splits == {6: "not_released", 7: "SC", 8: "UC", 9: "both_splits"}
    assert {row["region_id"] for row in rows} == set(splits)
    assert len(ids) == 1 and next(iter(ids)).startswith("released cc12m:")
    splits, _ = read_splits(tmp_path, "laion400m", "laion")
    assert splits == {6: "UC", 7: "UC", 8: "not_released", 9: "not_released"}


@pytest.mark.parametrize(
    ("part", "text", "kind"),
    [
        ("atom", "jar under box. there is a fan.", "preposition"),
        ("atom", "cup on box. there is a fan.", "word"),
        ("swap", "box on jar. there is a fan.", "swapped_words"),
        ("swap", "jar on jar. there is a fan.", "swapped_repeated_words"),
        ("swap", "lid on box. there is a fan.", "swapped_new_words"),
        ("negate", "Jar not on box. There is a fan.", "negated_relation"),
        ("negate", "Something on box. There is a fan. There is no jar.", "negated_object"),
        ("negate", "Jar on box. There is a fan. There is no box.", "contradiction"),
        ("negate", "there are no jars on box. There is a fan.", "negated_whole"),
        ("negate", "Jar on box. there is a fan.", "negated_other"),
        ("comp", "a red mall and blue sidewalk", "compounds"),
    ],
)
def test_kinds_are_told_by_the_texts(part, text, kind):
    assert released_kind(part, "jar on box. there is a fan.", text) == kind


def test_changed_words_are_those_between_what_stays():
    assert change_of_words("a red jar on a box", "a blue cup on a box") == ("red jar", "blue cup")
    assert change_of_words("a jar a jar", "a jar") == ("a jar", "")


TRUE_ROWS = {
    "atom": (1258, 1454, 1805, 2082, 2241, 1897, 2265, 1724, 2001),
    "swap": (27, 36, 262, 505, 991, 884, 1293, 1076, 1578),
    "negate": (1262, 1312, 1798, 2009, 2244, 1824, 2237, 1660, 1990),
}
"""Rows of the released files for 4 to 12 atoms, counted by other code than ours."""


def test_the_real_files_have_the_known_numbers_of_rows_truths_and_set_literals(shared_data):
    files = list_released_files(find_released_paths(str(shared_data / "crepe_productivity")), "productivity")
    rows, truths, n_with_truth, n_with_truth_in_case, n_sets = {}, set(), 0, 0, 0
    for file in files:
        found = list(read_released_rows(file))
        rows[file.foil_type, file.complexity] = len(found)
        truths.update((file.complexity, row.image_id, row.box, row.caption) for row in found)
        for row in found:
            foils = row.foils[file.foil_type]
            assert len(set(foils)) == 5
            n_with_truth += row.caption in foils
            n_with_truth_in_case += row.caption not in foils and row.caption.lower() in map(str.lower, foils)
        if file.foil_type == "negate" and file.complexity == 4:
            n_sets = file.read_bytes().decode().count('"{')
    expected = {(name, n): count for name, counts in TRUE_ROWS.items() for n, count in enumerate(counts, start=4)}
    assert rows == expected and sum(rows.values()) == 39_715
    assert len(truths) == 17_274
    assert (n_with_truth, n_with_truth_in_case) == (34, 222)
    assert round(100 * n_sets / expected["negate", 4]) == 94


def test_the_real_files_give_sets_of_every_kind(shared_data, tmp_path):
    paths = find_released_paths(str(shared_data / "crepe_productivity"))
    ids = {row.image_id for file in list_released_files(paths, "productivity") for row in read_released_rows(file)}
    write_table(str(tmp_path / "images"), IMAGES, (image_row(i, 2000, 2000) for i in sorted(ids)))
    sets_path = str(tmp_path / "sets")
    build_released_sets(paths, str(tmp_path / "images"), sets_path, str(tmp_path / "counts"), "productivity", 0, 1)
    sets = read_table(sets_path, RETRIEVAL_SETS, ["set_id", "foil_type", "complexity"]).to_pylist()
    overall = [row["complexity"] for row in sets if row["foil_type"] == "overall"]
    assert [overall.count(n) for n in range(4, 13)] == [26, 33, 255, 498, 982, 883, 1290, 1075, 1577]
    assert len(sets) == 39_715 + 6_619 == len({(row["set_id"], row["foil_type"]) for row in sets})


def test_a_row_that_is_repeated_gives_one_set(build):
    rows, counts = build({NAME.format("atom", 4): [productivity_row(), productivity_row()]}, "productivity")
    assert len(rows) == counts["row_atom", "kept"] == counts["row_atom", "set_repeated"] == 1
