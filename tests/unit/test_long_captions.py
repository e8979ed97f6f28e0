import json
import random
from collections import Counter

import pytest

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_readers import long_retrieval
from crepebench.long_captions import (
    CUT_AT_MARK,
    NO_MARK_FITS,
    CutCaption,
    count_captions,
    cut_captions,
    cut_places,
    fits_clip,
)

from .fake_encoder import LIMIT, FakeEncoder


def fits_model(model):
    """What says which texts a model reads to their end."""

    def fits(texts):
        tokens = model.tokenise(texts)
        return [n_tokens <= tokens.limit for n_tokens in tokens.n_tokens.tolist()]

    return fits


def cut(*captions):
    return cut_captions(captions, fits_model(FakeEncoder()))


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


def test_clip_reads_77_tokens_with_the_marks_of_beginning_and_end():
    assert fits_clip()(["dog " * 75, "dog " * 76, ""]) == [True, False, True]


def test_long_captions_are_read_for_both_directions_and_cut(tmp_path):
    rows = [{"image": "a.jpg", "captions": ["A dog. " + "word " * 80]}, {"image": "b.jpg", "captions": ["b", "c"]}]
    path = tmp_path / "urban.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    counts = Counter()
    items = list(long_retrieval.read([str(path)], {}, counts))
    assert counts == {READ: 3, KEPT: 2, CUT_AT_MARK: 1}
    assert [(item.task, item.captions) for item in items] == [
        ("retrieve_caption", ("A dog.",)),
        ("retrieve_image", ("A dog.",)),
        ("retrieve_caption", ("b", "c")),
        ("retrieve_image", ("b",)),
        ("retrieve_image", ("c",)),
    ]
    assert len({item.id for item in items}) == 5
    (first, *_) = long_retrieval.read([str(path)], {"cut": False, "root": "here"})
    assert (first.captions, first.images[0].root) == (tuple(rows[0]["captions"]), "here")


@pytest.mark.parametrize(
    "line", ["{", "[]", '{"image": "a.jpg"}', '{"image": "", "captions": ["a"]}', '{"image": "a.jpg", "captions": [7]}']
)
def test_a_line_of_another_form_is_an_error(tmp_path, line):
    path = tmp_path / "urban.jsonl"
    path.write_text("\n" + line, encoding="utf-8")
    with pytest.raises(ValueError, match=r"urban\.jsonl, line 2"):
        list(long_retrieval.read([str(path)], {}))
