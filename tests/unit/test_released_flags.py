from collections import Counter

import pytest

from crepebench.released_files import find_released_paths, list_released_files, read_released_rows
from crepebench.released_flags import build_released_flags, flag_rows
from crepebench.schema import RELEASED_FLAGS, RETRIEVAL_SETS, read_table, write_table

WORDS = {"jar", "box", "on", "cup"}


def a_set(caption="jar on box", foils=("cup on box",), image_id=1, foil_type="atom", set_id="s"):
    row = {"set_id": set_id, "foil_type": foil_type, "image_id": image_id, "caption": caption}
    row |= dict(zip(("x", "y", "width", "height"), (0, 0, 10, 20), strict=True))
    return row | {"foils": [{"foil_id": str(i), "text": text} for i, text in enumerate(foils)]}


def flags_of(*sets):
    return [(row["flag"], row["foil_id"], row["detail"]) for row in flag_rows(sets, WORDS.__contains__)]


@pytest.mark.parametrize(
    ("foils", "flags"),
    [
        (("cup on box", "jar on cup"), []),
        (("cup on box", "jar on box"), [("truth_among_foils", "1", "")]),
        (("Jar on box", "cup on box"), [("truth_but_for_case", "0", "")]),
        (("cup on box", "Cup on box"), [("repeated_foil", "1", "")]),
        (("persinside on bx", "cup on box"), [("non_word", "0", "bx persinside")]),
    ],
)
def test_each_artefact_has_its_flag(foils, flags):
    assert flags_of(a_set(foils=foils)) == flags


def test_a_word_of_any_caption_is_a_word():
    sets = [a_set(foils=("tshirt on box",)), a_set(caption="a tshirt", image_id=2)]
    assert flags_of(*sets) == []
    assert flags_of(sets[0]) == [("non_word", "0", "tshirt")]


def test_a_word_without_meaning_of_its_own_is_a_word():
    assert flags_of(a_set(foils=("a jar and the cup without box",))) == []


def test_a_truth_that_stands_twice_is_flagged_in_both_sets_of_its_type():
    sets = [a_set(set_id="a"), a_set(set_id="b", foils=("jar on cup",)), a_set(set_id="b", foil_type="swap")]
    assert flags_of(*sets) == [("repeated_truth", None, "")] * 2


def test_flags_of_all_families_stand_in_one_table(tmp_path, wordnet_folder):
    paths = []
    for name, foil in (("x", "persinside on box"), ("y", "jar on box")):
        row = dict.fromkeys(RETRIEVAL_SETS.names) | a_set(foils=[])
        row["foils"] = [
            dict.fromkeys(("kind", "original", "replacement", "source"), "") | {"foil_id": "1", "text": foil}
        ]
        paths.append(str(tmp_path / name))
        write_table(paths[-1], RETRIEVAL_SETS, [row])
    build_released_flags([paths[:1], paths[1:]], wordnet_folder, str(tmp_path / "flags"))
    flags = [row["flag"] for row in read_table(str(tmp_path / "flags"), RELEASED_FLAGS).to_pylist()]
    assert flags == ["non_word", "truth_among_foils"]


def test_the_real_files_have_the_known_artefacts(shared_data, wordnet_reader):
    sets = []
    for file in list_released_files(find_released_paths(str(shared_data / "crepe_productivity")), "productivity"):
        for row in read_released_rows(file):
            found = a_set(row.caption, row.foils[file.foil_type], row.image_id, file.foil_type, f"{file} {row.line}")
            sets.append(found | dict(zip(("x", "y", "width", "height"), row.box, strict=True)))
    sets_with, foils_with = Counter(), Counter()
    rows = list(flag_rows(sets, lambda word: bool(wordnet_reader.synsets(word))))
    sets_with.update({(row["set_id"], row["foil_type"], row["flag"]): 1 for row in rows})
    foils_with.update((row["foil_type"], row["flag"]) for row in rows)
    counts = Counter((foil_type, flag) for _, foil_type, flag in sets_with)
    assert counts["swap", "truth_among_foils"] == 34 and counts["negate", "truth_but_for_case"] == 222
    assert not any(flag == "repeated_foil" for _, flag in counts)
    # Two counts by other code, which splits words in another way: about 3,250 foils in 2,396 of 16,727 sets.
    assert foils_with["atom", "non_word"] == pytest.approx(3_250, rel=0.01)
    assert counts["atom", "non_word"] == pytest.approx(2_396, rel=0.01)
