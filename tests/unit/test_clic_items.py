"""Items of CLIC: what they hold, what is counted, and that they depend on seed, epoch and number alone."""

import hashlib
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from crepebench.clic_candidate_index import index_candidates
from crepebench.clic_items import ItemMaker
from crepebench.clic_sentences import in_one
from crepebench.clic_settings import Variant

from .clic_item_rows import clic_row, clic_rows, count_words

FIRSTS = [
    "a red jar above the box.",
    "a blue key below the cup",
    "the small bell above a fan.",
    "a large horse below the man",
    "the green cups above a jar.",
    "a man rides the small horse.",
]
WIDER = np.array([True, False, True, False, True, True])


def maker(rows=None, wider=WIDER, context=77, candidates=None, seed=5, **options) -> ItemMaker:
    rows = clic_rows(FIRSTS) if rows is None else rows
    return ItemMaker(rows, wider, Variant(**{"negatives": "random", **options}), seed, count_words, context, candidates)


def test_sentences_are_joined_by_full_stops_and_spaces():
    assert in_one("a jar. ", "a key") == "a jar. a key."


def test_both_orders_of_the_first_sentences_are_true():
    item = maker().item(0, 0)
    a, b = FIRSTS[item.first], FIRSTS[item.second]
    assert item.positives[:2] == (in_one(a, b), in_one(b, a))
    assert item.plain == a


def test_further_positives_pair_other_sentences_of_both_images_without_repeating():
    for i in range(6):
        item = maker(n_extra=3).item(0, i)
        said = Counter(one for text in item.positives[2:] for one in text.rstrip(".").split(". "))
        assert said == Counter(f"other {k} of picture {j}" for k in range(3) for j in (item.first, item.second))


def test_too_few_other_sentences_are_all_said_and_some_again():
    item = maker(clic_rows(FIRSTS, n_others=1), n_extra=2).item(0, 0)
    assert len(item.positives) == 4
    assert item.positives[3].count(f"other 0 of picture {item.second}.") == 1


def test_the_negative_has_the_words_of_both_sentences_in_other_places():
    for epoch in range(10):
        for i in range(6):
            item = maker().item(epoch, i)
            assert item.negative not in item.positives
            assert item.pos in ("NOUN", "ADJ", "ADP", "VERB")
            assert sorted(item.negative.replace(".", "").split()) == sorted(item.positives[0].replace(".", "").split())
            one, other = item.words
            assert one in FIRSTS[item.first] and other in FIRSTS[item.second]
            assert one not in FIRSTS[item.second].split() and other not in FIRSTS[item.first].split()


def test_the_second_image_is_another_one_of_the_same_orientation_and_each_comes_alike():
    items = maker()
    found = Counter(items.item(epoch, 0).second for epoch in range(600))
    assert set(found) == {2, 4, 5}
    assert min(found.values()) > 150
    assert all(WIDER[items.item(epoch, 1).second] == WIDER[1] for epoch in range(20))


def test_the_only_image_of_an_orientation_is_joined_with_itself_and_counted():
    item = maker(clic_rows(FIRSTS[:2]), np.array([True, False])).item(0, 0)
    assert (item.first, item.second) == (0, 0)
    assert item.negative == ""
    assert item.reasons == ("joined_with_itself", "no_negative")


def test_the_order_of_images_says_nothing_of_the_order_of_captions():
    items = maker()
    pairs = Counter()
    for epoch in range(300):
        item = items.item(epoch, 0)
        others = f"other {item.positives[2].split()[1]} of picture 0."
        own_first = item.negative.startswith(FIRSTS[0].replace(item.words[0], item.words[1])[:9])
        pairs[item.image_order, item.positives[2].startswith(others), own_first] += 1
    assert len(pairs) == 8
    assert all(15 < n < 65 for n in pairs.values())


def test_the_order_of_images_is_drawn_as_often_either_way():
    items = maker()
    share = np.mean([items.item(epoch, i).image_order for epoch in range(100) for i in range(6)])
    assert 0.44 < share < 0.56


def test_words_may_change_places_within_each_sentence():
    for i in range(6):
        item = maker(swap="within").item(0, i)
        first = FIRSTS[item.first].rstrip(".")
        halves = [set(half.replace(".", "").split()) for half in item.negative.split(". ")]
        assert set(first.split()) in halves
        assert item.negative not in item.positives


def test_single_pictures_have_captions_of_their_own_alone():
    item = maker(swap="within", pictures="single").item(0, 0)
    assert (item.second, item.image_order) == (0, False)
    assert item.positives[:2] == (FIRSTS[0], FIRSTS[0])
    assert item.negative in ("a red box above the jar.",)
    assert all("picture 0" in text for text in item.positives[2:])


def test_a_single_caption_without_two_words_to_swap_has_no_negative():
    item = maker([clic_row(0, "the a jar.", "x y z")], np.array([True]), swap="within", pictures="single").item(0, 0)
    assert (item.negative, item.pos, item.words) == ("", "", ("", ""))
    assert item.reasons == ("no_negative",)


def test_a_swap_of_any_two_words_is_counted():
    item = maker([clic_row(0, "the red.", "x", "y"), clic_row(1, "a jar", "x", "y")], np.array([True, True])).item(0, 0)
    assert item.reasons == ("any_word_swapped",)
    assert sorted(item.negative.replace(".", "").split()) == ["a", "jar", "red", "the"]


def test_a_swap_that_says_what_a_positive_says_is_no_negative():
    item = maker([clic_row(0, "red.", "x", "y"), clic_row(1, "jar.", "x", "y")], np.array([True, True])).item(0, 0)
    assert item.negative == ""
    assert item.reasons.count("negative_redrawn") == 9


def test_cut_positives_are_counted_each():
    item = maker(context=9).item(0, 0)
    assert item.reasons.count("positive_truncated") == 4


@pytest.mark.parametrize("context", [12, 13, 14])
def test_swapped_words_lie_within_what_the_model_reads_of_the_negative(context):
    reasons = Counter()
    for epoch in range(20):
        for i in range(6):
            item = maker(context=context).item(epoch, i)
            reasons.update(item.reasons)
            if item.negative:
                read = item.negative.replace(".", " .").split()[: context - 2]
                assert {item.words[0], item.words[1]} <= set(read)
    assert reasons["negative_truncated"] and reasons["negative_redrawn"]


def test_an_item_whose_swapped_words_are_never_read_has_no_negative():
    item = maker(context=4).item(0, 0)
    assert item.negative == ""
    assert item.reasons.count("negative_redrawn") == 9
    assert item.reasons.count("no_negative") == 1


def candidate_rows():
    return [
        {"word": "jar", "fine": "NN", "candidates": ["bell", "horse"]},
        {"word": "above", "fine": "IN", "candidates": ["below"]},
    ]


def test_candidates_choose_the_second_image():
    rows = clic_rows(FIRSTS)
    index = index_candidates(candidate_rows(), rows, WIDER)
    found = Counter()
    for epoch in range(60):
        item = maker(rows, candidates=index, negatives="candidates").item(epoch, 0)
        found[item.words, item.second] += 1
        assert item.positives[0] == in_one(FIRSTS[0], FIRSTS[item.second])
    assert set(found) == {(("jar", "bell"), 2), (("jar", "horse"), 5)}


def test_items_without_a_candidate_take_random_words_and_are_counted():
    rows = clic_rows(FIRSTS)
    item = maker(rows, candidates=index_candidates([], rows, WIDER), negatives="candidates").item(0, 0)
    assert item.reasons == ("candidate_missing",)
    assert item.negative


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"swap": "none"}, "swap is 'none'"),
        ({"pictures": "single"}, "within it alone"),
        ({"negatives": "candidates"}, "need candidates"),
    ],
)
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        maker(**options)


def test_items_differ_between_epochs_and_seeds():
    items = [maker(seed=seed).item(epoch, 0) for seed in (1, 2) for epoch in (0, 1, 2)]
    assert len(set(items)) > 3


def all_items(order) -> str:
    """Returns a digest of the items of two epochs, by number, made in an order."""
    rows = clic_rows(FIRSTS)
    digest = {}
    for negatives in ("random", "candidates"):
        items = maker(rows, candidates=index_candidates(candidate_rows(), rows, WIDER), negatives=negatives)
        for epoch, i in order:
            digest[f"{negatives} {epoch} {i}"] = items.item(epoch, i)
    return hashlib.sha256(json.dumps(sorted(digest.items())).encode()).hexdigest()


def test_items_are_the_same_in_any_order_and_for_any_hash_seed():
    order = [(epoch, i) for epoch in range(2) for i in range(6)]
    here = all_items(order)
    assert all_items(order[::-1]) == here
    tests = Path(__file__).resolve().parents[1]
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]; from unit.test_clic_items import all_items; "
        "print(all_items([(e, i) for e in range(2) for i in range(6)]))"
    )
    for seed in ("1", "2"):
        paths = [str(tests), str(tests.parent / "workflow" / "scripts")]
        done = subprocess.run(
            [sys.executable, "-c", program, *paths],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == here


class Items:
    """Items as a dataset of torch."""

    def __init__(self, items):
        self.items = items

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return self.items.item(0, i)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
def test_items_are_the_same_for_any_number_of_workers():
    from torch.utils.data import DataLoader

    def load(n_workers):
        return [item for (item,) in DataLoader(Items(maker()), 1, num_workers=n_workers, collate_fn=list)]

    assert load(0) == load(4)
