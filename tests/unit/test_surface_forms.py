import random
from itertools import pairwise

import pytest

from crepebench.lemmas import INFLECTED, lemmatise
from crepebench.surface_forms import MARK, RUN, _tables, _wholes_of_parts, find_runs, split_runs, surface_forms

PIECES = (
    "cannot dont 5cm 10am km/h o'clock u.s. don't it’s t-shirt é 100 x a b2b m² $ _ / - . , ' ” 漢字 🎉 @ # www. .com"
).split()


def runs_of(*words):
    return find_runs(frozenset(words))


@pytest.mark.parametrize(
    ("lemma", "forms"),
    [
        ("leaf", {"leaf", "leaves", "leafs", "leafed"}),
        ("sit", {"sit", "sits", "sat", "sitting"}),
        ("good", {"good", "better", "best"}),
        ("child", {"child", "children"}),
        ("pants", {"pants"}),
        ("selfie", {"selfie", "selfies"}),
        ("be", {"be", "is", "are", "was", "'s", "'re"}),
        ("next", {"next"}),
    ],
)
def test_forms_hold_all_inflections(lemma, forms):
    assert forms <= surface_forms(lemma)


def test_words_of_other_lemmas_are_no_forms():
    assert "caring" not in surface_forms("car")
    assert "boxes" not in surface_forms("boxer")


def test_every_word_of_the_tables_is_a_form_of_its_lemmas():
    words = random.Random(1).sample(sorted(word for word in _tables() if word == word.lower()), 1500)
    lemmas = {(word, lemmatise(word, part_of_speech)) for word in words for part_of_speech in INFLECTED}
    assert [(word, lemma) for word, lemma in sorted(lemmas) if word not in surface_forms(lemma)] == []


def test_every_unknown_word_is_a_form_of_its_lemmas():
    rng = random.Random(2)
    endings = (
        "",
        "s",
        "es",
        "ies",
        "d",
        "ed",
        "ied",
        "ing",
        "ying",
        "er",
        "ier",
        "est",
        "iest",
        "i",
        "a",
        "ices",
        "'s",
    )
    stems = ["".join(rng.choices("abcdeilmnoprstuwyé2-", k=rng.randint(1, 7))) for _ in range(600)]
    words = [stem + stem[-1] * rng.randrange(2) + rng.choice(endings) for stem in stems]
    lemmas = {(word, lemmatise(word, part_of_speech)) for word in words for part_of_speech in INFLECTED}
    assert [(word, lemma) for word, lemma in sorted(lemmas) if word not in surface_forms(lemma)] == []


@pytest.mark.parametrize(
    ("words", "runs"),
    [
        (["t-shirt"], {"shirt", "shirts"}),
        (["café"], {"caf"}),
        (["5"], {"5"}),
        (["left", "right"], {"left", "right", "rights"}),
        (["not"], {"not", "cannot", "notve"}),
        (["'s"], {"s"}),
        (["'"], {"'"}),
        (["漢字"], {""}),
    ],
)
def test_forms_are_found_by_their_longest_runs(words, runs):
    assert runs <= runs_of(*words)


def test_parts_of_exceptions_are_found_by_the_whole_only_where_it_hides_them():
    assert "cannot" in runs_of("can")
    assert "don" in runs_of("do")
    assert "dont" in runs_of("do")
    assert "he" not in runs_of("have")  # "he'd" holds the run "d"


def test_exceptions_are_those_of_the_pipeline(parser):
    wholes = set().union(*_wholes_of_parts().values())
    assert {rule.lower() for rule in parser.tokenizer.rules} == wholes


def test_tokens_begin_and_end_where_runs_do_except_in_exceptions(parser):
    rng = random.Random(3)
    chunks = ["".join(rng.choices(PIECES, k=rng.randint(1, 4))) for _ in range(4000)]
    wholes = set().union(*_wholes_of_parts().values())
    inside = set()
    for chunk, doc in zip(chunks, parser.tokenizer.pipe(chunks), strict=True):
        edges = {at for run in RUN.finditer(chunk) for at in range(run.start() + 1, run.end())}
        for left, right in pairwise(doc):
            if right.idx in edges:
                inside.add((chunk, left.lower_ + right.lower_))
    assert inside  # "cannot"
    assert [(chunk, cut) for chunk, cut in sorted(inside) if not any(cut in whole for whole in wholes)] == []


@pytest.mark.parametrize("first", ["a", "1"])
@pytest.mark.parametrize("last", ["a", "1"])
def test_no_single_character_is_a_run_that_a_token_cuts(parser, first, last):
    chunks = [f"{first}{chr(code)}{last}" for code in range(33, 0x3100)]
    for chunk, doc in zip(chunks, parser.tokenizer.pipe(chunks), strict=True):
        inside = {at for run in RUN.finditer(chunk) for at in range(run.start() + 1, run.end())}
        assert not inside & {token.idx for token in doc}, chunk


def test_runs_are_ascii_letters_digits_or_marks():
    assert split_runs("café 5cm b2b!") == ["caf", "5", "cm", "b", "2", "b", "!"]
    assert split_runs("o'clock’s '' —") == ["o", "'", "clock", "’", "s", "'", "'", "’"]


def test_marks_have_one_first_byte():
    assert {chr(code).encode()[0] for code in (0x2000, 0x2FFF, ord(MARK))} == {0xE2}
    assert not {chr(code).encode()[0] for code in (0x1FFF, 0x3000)} & {0xE2}
