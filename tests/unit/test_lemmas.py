import pytest

from crepebench.lemmas import lemmatise


@pytest.mark.parametrize(
    ("word", "part_of_speech", "lemma"),
    [
        ("mice", "NOUN", "mouse"),
        ("leaves", "NOUN", "leaf"),
        ("leaves", "VERB", "leave"),
        ("pants", "NOUN", "pants"),
        ("jeans", "NOUN", "jeans"),
        ("scissors", "NOUN", "scissors"),
        ("sunglasses", "NOUN", "sunglasses"),
        ("leaning", "VERB", "lean"),
        ("taller", "ADJ", "tall"),
        ("above", "ADP", "above"),
        ("other", "ADJ", "other"),
        ("leather", "ADJ", "leather"),
        ("2", "ADJ", "2"),
        ("skiis", "NOUN", "ski"),
    ],
)
def test_words_are_lemmatised(word, part_of_speech, lemma):
    assert lemmatise(word, part_of_speech) == lemma
