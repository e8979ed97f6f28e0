import pytest

from crepebench.lemmas import INFLECTED, lemmatise, regular_forms

UNKNOWN = "café car2 selfies blorging zorgled snazzier s a , pepperoni headbanda smartphones ” t-shirtz 5 mcdonald's"


@pytest.mark.parametrize(
    ("word", "part_of_speech", "lemma"),
    [
        ("dogs", "NOUN", "dog"),
        ("sitting", "VERB", "sit"),
        ("leaves", "NOUN", "leaf"),
        ("pants", "NOUN", "pants"),
        ("mice", "NOUN", "mouse"),
        ("men", "NOUN", "man"),
        ("glasses", "NOUN", "glass"),
        ("clothes", "NOUN", "clothes"),
        ("left", "VERB", "leave"),
        ("blorging", "VERB", "blorge"),
        ("zorgles", "NOUN", "zorgle"),
        ("snarkiest", "ADJ", "snarkiest"),
        ("under", "ADP", "under"),
        ("jeans", "NOUN", "jeans"),
        ("scissors", "NOUN", "scissors"),
        ("sunglasses", "NOUN", "sunglasses"),
        ("leaning", "VERB", "lean"),
        ("taller", "ADJ", "tall"),
        ("other", "ADJ", "other"),
        ("leather", "ADJ", "leather"),
        ("2", "ADJ", "2"),
    ],
)
def test_words_have_lemmas(word, part_of_speech, lemma):
    assert lemmatise(word, part_of_speech) == lemma


@pytest.mark.parametrize(
    ("word", "part_of_speech"),
    [("café", "NOUN"), ("car2", "NOUN"), ("s", "NOUN"), ("wearing", "ADJ"), ("pepperoni", "NOUN"), ("a", "ADJ")],
)
def test_words_that_no_table_has_are_their_own_lemmas_without_a_regular_ending(word, part_of_speech):
    assert lemmatise(word, part_of_speech) == word


@pytest.mark.parametrize("word", UNKNOWN.split())
def test_unknown_words_are_regular_forms_of_their_lemmas_or_lemmas(word):
    for part_of_speech in INFLECTED:
        lemma = lemmatise(word, part_of_speech)
        assert lemma == word or word in regular_forms(lemma, part_of_speech)


def test_regular_forms_of_a_verb():
    assert regular_forms("blog", "VERB") == set("blogs bloges blogd bloged blogged bloging blogging".split())
    assert {"wavied", "waving", "waves"} & regular_forms("wave", "VERB") == {"waving", "waves"}
    assert {"wavies", "wavied"} <= regular_forms("wavy", "VERB")


def test_auxiliaries_have_no_regular_forms():
    assert regular_forms("be", "AUX") == set()
