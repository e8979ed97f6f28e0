import random

import pytest

from crepebench.accounting import KEPT, READ
from crepebench.long_captions import CUT_AT_MARK, NO_MARK_FITS, CutCaption, count_captions, cut_captions, cut_places

from .fake_encoder import LIMIT, FakeEncoder


def cut(*captions):
    return cut_captions(captions, FakeEncoder())


def test_a_caption_that_fits_stays_as_it_is():
    for caption in ("a dog.", "x" * LIMIT, "a dog, a cat. "):
        assert cut(caption) == [CutCaption(caption, KEPT)]


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("A dog sits here. A cat stands there, and no bird is seen.", "A dog sits here. A cat stands there,"),
        ("A dog sits here. A cat stands there and no bird is seen.", "A dog sits here."),
        ("A pot of 3.5 litres by a U.S.A flag! A table that stands nearby.", "A pot of 3.5 litres by a U.S.A flag!"),
        ('A sign says "stop here." It is red and stands beside a road.', 'A sign says "stop here."'),
        ("a" * (LIMIT - 1) + ". and more", "a" * (LIMIT - 1) + "."),
    ],
)
def test_a_long_caption_is_cut_at_the_last_mark_that_fits(caption, text):
    assert cut(caption) == [CutCaption(text, CUT_AT_MARK)]


@pytest.mark.parametrize("caption", ["a" * (LIMIT + 1), "a" * LIMIT + ". and more", "a 3.5 b" + "c" * LIMIT + "."])
def test_a_caption_without_a_mark_that_fits_stays_for_the_tokenizer_to_cut(caption):
    assert cut(caption) == [CutCaption(caption, NO_MARK_FITS)]


def test_the_search_finds_what_trying_every_mark_finds():
    rng, captions = random.Random(3), []
    for _ in range(60):
        words = [rng.choice(["a", "dog", "house", "table,", "red.", "3.5", "big;"]) for _ in range(rng.randint(1, 40))]
        captions.append(" ".join(words))
    for caption, found in zip(captions, cut(*captions), strict=True):
        fitting = [caption[:place] for place in cut_places(caption) if place <= LIMIT]
        expected = caption if len(caption) <= LIMIT or not fitting else fitting[-1]
        assert found.text == expected, caption


def test_captions_are_counted_by_what_became_of_them():
    found = cut("a dog", "a dog, " + "b" * LIMIT, "b" * 50, "b" * 60)
    assert count_captions(found) == {READ: 4, KEPT: 1, CUT_AT_MARK: 1, NO_MARK_FITS: 2}


def test_no_captions_are_no_fault():
    assert cut() == []
