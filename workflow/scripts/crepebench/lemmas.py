"""Lemmas of words: the normal forms of nouns, verbs and adjectives, by lemminflect's tables.

# ASSUME: an adjective that lemminflect does not know is its own lemma; its rules would make "oth" of "other".
"""

from functools import lru_cache

INFLECTED = ("NOUN", "VERB", "ADJ", "ADV", "AUX")
"""Universal parts of speech with lemmas of their own."""
GUESSED = ("NOUN", "VERB")
"""Of those, the ones whose unknown words are inflected by rule: "skiis". An unknown "other" is no form of "oth"."""

PLURALIA_TANTUM = frozenset("clothes jeans pants scissors shorts sunglasses trousers".split())
"""Nouns that are plural as they stand; they are their own lemmas."""
NOUN_LEMMAS = {"leaves": "leaf", **{noun: noun for noun in sorted(PLURALIA_TANTUM)}}
"""Nouns for which lemminflect's first lemma is another word, or none that is used alone."""


@lru_cache(maxsize=100_000)
def lemmatise(word: str, part_of_speech: str) -> str:
    """Returns the lemma of a lower-case word of one of `INFLECTED`; any other word as it is."""
    from lemminflect import getLemma

    if part_of_speech == "NOUN" and word in NOUN_LEMMAS:
        return NOUN_LEMMAS[word]
    if part_of_speech not in INFLECTED:
        return word
    lemmas = getLemma(word, upos=part_of_speech, lemmatize_oov=part_of_speech in GUESSED)
    return lemmas[0] if lemmas else word
