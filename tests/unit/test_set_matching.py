from collections import Counter

import numpy as np

from crepebench.set_matching import frequencies, match_cells, match_rows, strata


def row(i, caption, *kinds):
    return {"set_id": f"{caption} {i}", "caption": caption, "foils": [{"kind": kind} for kind in kinds]}


def rows(n, caption, *kinds, first=0):
    return [row(first + i, caption, *kinds) for i in range(n)]


def test_frequency_is_the_mean_logarithm_of_the_words_counts():
    found = frequencies([row(1, "a jar"), row(2, "a cup"), row(3, "a cup")])
    assert np.allclose(found, [(np.log(3) + np.log(1)) / 2] + [(np.log(3) + np.log(2)) / 2] * 2)


def test_sets_match_in_length_frequency_and_kinds_of_foils():
    found = strata([row(1, "a jar", "object"), row(2, "a jar", "attribute"), row(3, "a red jar", "object")])
    assert len(set(found)) == 3
    assert found[0][0] == 2


def test_both_splits_keep_as_many_sets_of_each_sort():
    seen = rows(10, "a red jar", "object") + rows(4, "a jar", "attribute")
    unseen = rows(3, "a red jar", "object", first=50) + rows(9, "a jar", "attribute", first=50)
    one, other = match_rows(seen, unseen, seed=1)
    assert Counter(r["caption"] for r in one) == Counter(r["caption"] for r in other) == {"a red jar": 3, "a jar": 4}


def test_which_sets_are_kept_does_not_depend_on_their_order():
    seen, unseen = rows(10, "a red jar", "object"), rows(3, "a red jar", "object", first=50)
    one = {r["set_id"] for r in match_rows(seen, unseen, 1)[0]}
    assert one == {r["set_id"] for r in match_rows(seen[::-1], unseen, 1)[0]}
    assert any(one != {r["set_id"] for r in match_rows(seen, unseen, seed)[0]} for seed in (2, 3))


def test_other_splits_stay_and_empty_cells_go():
    cells = [
        ("refined", "atom", "SC", rows(5, "a jar")),
        ("refined", "atom", "UC", rows(2, "a jar", first=50)),
        ("refined", "atom", "UA", rows(7, "a jar", first=90)),
        ("refined", "comp", "SC", rows(5, "a jar")),
    ]
    found = [(*cell[:3], len(cell[3])) for cell in match_cells(cells, 1)]
    assert found == [("refined", "atom", "SC", 2), ("refined", "atom", "UC", 2), ("refined", "atom", "UA", 7)]
