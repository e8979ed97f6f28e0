"""Lemmas of words: the normal forms of nouns, verbs and adjectives, by lemminflect's tables.

# ASSUME: an adjective that lemminflect does not know is its own lemma; its rules would make "oth" of "other".
"""

from functools import lru_cache

INFLECTED = ("NOUN", "VERB", "ADJ", "ADV", "AUX")
"""Universal parts of speech with lemmas of their own."""

PLURALIA_TANTUM = frozenset("clothes jeans pants scissors shorts sunglasses trousers".split())
"""Nouns that are plural as they stand; they are their own lemmas."""
NOUN_LEMMAS = {"leaves": "leaf", **{noun: noun for noun in sorted(PLURALIA_TANTUM)}}
"""Nouns for which lemminflect's first lemma is another word, or none that is used alone."""


REGULAR_ENDINGS = {
    "NOUN": (("s", ""), ("es", ""), ("ies", "y")),
    "VERB": (
        *(("s", ""), ("es", ""), ("ies", "y"), ("d", ""), ("ed", ""), ("ied", "y")),
        *(("ing", ""), ("ing", "e"), ("ying", "ie")),
    ),
}
"""Endings of regular inflections, and those of the lemma that stand in their place.

Only unknown nouns and verbs have inflections, "selfies": an unknown "other" is no form of "oth".
"""
DOUBLING = ("ed", "ing")
"""Endings before which a lemma's last letter may be doubled."""


@lru_cache(maxsize=100_000)
def lemmatise(word: str, part_of_speech: str) -> str:
    """Returns the lemma of a lower-case word of one of `INFLECTED`; any other word as it is.

    For a word that lemminflect's tables lack, its model picks the letters to take off and to put on by the word's
    last eight letters, whether the word ends in them or not ("café" becomes "caf"). Its guess is taken only where
    it undoes a regular inflection, so that the forms of a lemma can be listed.
    """
    from lemminflect import getAllLemmas, getAllLemmasOOV

    if part_of_speech == "NOUN" and word in NOUN_LEMMAS:
        return NOUN_LEMMAS[word]
    if part_of_speech not in INFLECTED:
        return word
    known = getAllLemmas(word, upos=part_of_speech)
    if known:
        return known[part_of_speech][0]
    # ASSUME: of words that the tables lack, only regular inflections have another lemma than themselves
    guessed = getAllLemmasOOV(word, upos=part_of_speech) if part_of_speech in REGULAR_ENDINGS else {}
    lemma = guessed.get(part_of_speech, (word,))[0]
    return lemma if word in regular_forms(lemma, part_of_speech) else word


def regular_forms(lemma: str, part_of_speech: str) -> set[str]:
    """Returns the words that are regular inflections of a lemma, by their letters."""
    forms = set()
    for ending, replaced in REGULAR_ENDINGS.get(part_of_speech, ()):
        stem = lemma.removesuffix(replaced)
        if stem and lemma.endswith(replaced):
            forms.add(stem + ending)
            if ending in DOUBLING and not replaced:
                forms.add(stem + stem[-1] + ending)
    return forms
