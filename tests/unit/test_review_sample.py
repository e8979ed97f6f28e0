import random
from collections import Counter

import pytest

from crepebench.review_sample import Record, draw, number_drawn, share_out, spread


def records(n, stratum=("a", 4), kinds=("object",), first=0, crops=None):
    return [
        Record((i,), stratum, kinds if isinstance(kinds, tuple) else kinds(i), i % (crops or 10**6), (0, 0, 9, 9))
        for i in range(first, first + n)
    ]


@pytest.mark.parametrize(
    "n, share, least, expected",
    [
        (1000, 0.02, 20, 20),
        (1001, 0.02, 20, 21),
        (5000, 0.02, 20, 100),
        (7, 0.02, 20, 7),
        (0, 0.02, 20, 0),
        (10, 1, 1, 10),
    ],
)
def test_a_share_is_drawn_but_at_least_so_many_and_at_most_all(n, share, least, expected):
    assert number_drawn(n, share, least) == expected


def test_strata_give_in_proportion_and_each_at_least_one():
    assert share_out({"a": 600, "b": 300, "c": 100}, 10) == {"a": 6, "b": 3, "c": 1}
    assert share_out({"a": 1000, "b": 2, "c": 1}, 10) == {"a": 8, "b": 1, "c": 1}
    assert share_out({"a": 500, "b": 499, "c": 1}, 1) == {"a": 1, "b": 1, "c": 1}


def test_a_stratum_gives_no_more_than_it_has():
    assert share_out({"a": 2, "b": 2, "c": 96}, 100) == {"a": 2, "b": 2, "c": 96}
    for seed in range(30):
        rng = random.Random(seed)
        sizes = {name: rng.randint(1, 40) for name in "abcdefg"}
        total = rng.randint(1, sum(sizes.values()))
        shares = share_out(sizes, total)
        assert sum(shares.values()) == max(total, len(sizes))
        assert all(1 <= shares[name] <= sizes[name] for name in sizes)


def test_the_first_of_a_stratum_show_kinds_as_often_as_all_do():
    found = records(300, kinds=lambda i: ("object",) if i % 3 else ("relation",))
    chosen = Counter(record.kinds[0] for record in spread(found, seed=1)[:30])
    assert abs(chosen["relation"] - 10) <= 1


def test_a_kind_is_drawn_first_about_as_often_as_it_is_common():
    n_rare = 0
    for seed in range(400):
        found = records(20, kinds=lambda i: ("rare",) if i < 4 else ("common",))
        n_rare += spread(found, seed)[0].kinds == ("rare",)
    assert 40 <= n_rare <= 120  # of 400; a fifth is rare


def test_the_draw_does_not_depend_on_the_order_of_the_records():
    found = records(200) + records(100, ("b", 4), first=200)
    expected = draw(found, 0.1, 5, seed=0)
    random.Random(3).shuffle(found)
    assert draw(found, 0.1, 5, seed=0) == expected
    assert draw(found, 0.1, 5, seed=1) != expected


def test_a_record_that_is_taken_away_changes_no_more_than_its_own_place():
    found = records(400)
    expected = set(draw(found, 0.05, 1, seed=0))
    for gone in sorted(expected)[:5]:
        others = set(draw([record for record in found if record != gone], 0.05, 1, seed=0))
        assert len(expected - others) == 1


def test_every_stratum_is_drawn_and_no_record_twice():
    found = records(500) + records(3, ("b", 4), first=500) + records(1, ("b", 12), first=503)
    drawn = draw(found, 0.01, 5, seed=0)
    assert len(drawn) == len(set(drawn)) == 6
    assert Counter(record.stratum for record in drawn) == {("a", 4): 4, ("b", 4): 1, ("b", 12): 1}


def test_a_crop_is_drawn_once_where_others_are_left():
    found = [record for i in range(6) for record in records(10, ("type", i), first=10 * i, crops=10)]
    drawn = draw(found, 0.1, 1, seed=0)
    assert len(drawn) == len({record.image_id for record in drawn}) == 6
    everything = draw(found, 1, 1, seed=0)
    assert len(everything) == 60


def test_nothing_gives_nothing():
    assert draw([], 0.5, 20, seed=0) == []
