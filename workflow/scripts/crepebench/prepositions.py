"""Prepositions of several words: their normal forms and spellings, and where they stand in a text."""

from crepebench.words import Word

# Normal form, then other spellings. The article inside any of them is optional.
MULTIWORD_PREPOSITIONS = {
    "to the left of": ("on the left of", "at the left of", "left of", "to the left side of", "on the left side of"),
    "to the right of": (
        "on the right of",
        "at the right of",
        "right of",
        "to the right side of",
        "on the right side of",
    ),
    "on top of": ("on the top of",),
    "in front of": ("in the front of",),
    "in back of": (),
    "in the middle of": ("in the center of", "in the centre of", "at the center of"),
    "in between": (),
    "on the side of": ("to the side of", "at the side of", "by the side of", "on one side of"),
    "on the back of": ("at the back of",),
    "on the front of": ("at the front of",),
    "on the edge of": ("at the edge of",),
    "on the other side of": ("on the opposite side of",),
    "on both sides of": ("on either side of", "on each side of"),
    "at the top of": (),
    "at the bottom of": ("on the bottom of",),
    "at the end of": ("on the end of",),
    "in the corner of": ("on the corner of", "at the corner of"),
    "next to": (),
    "close to": (),
    "near to": (),
    "ahead of": (),
    "inside of": ("on the inside of",),
    "outside of": ("on the outside of",),
    "out of": (),
    "off of": (),
    "full of": (),
    "away from": (),
    "up against": (),
    "along with": ("together with",),
}
NORMAL_FORM_OF_WORDS = {
    tuple(variant.split()): normal
    for normal, others in MULTIWORD_PREPOSITIONS.items()
    for spelling in (normal, *others)
    for variant in (spelling, spelling.replace(" the ", " "))
}
LONGEST_PREPOSITION = max(map(len, NORMAL_FORM_OF_WORDS))
FUNCTION_WORDS = frozenset("a the in on at to of by".split())
"""Words of prepositions that nearly every text holds."""
FIRST_WORDS = frozenset(words[0] for words in NORMAL_FORM_OF_WORDS)


def preposition_spans(words: list[Word]) -> list[list[Word]]:
    """Finds prepositions of several words, longest first, without overlap, and marks their words."""
    texts = [word.text for word in words]
    spans, start = [], 0
    while start < len(words):
        length = 1
        if texts[start] in FIRST_WORDS:
            lengths = range(LONGEST_PREPOSITION, 1, -1)
            length = next((n for n in lengths if tuple(texts[start : start + n]) in NORMAL_FORM_OF_WORDS), 1)
        if length > 1:
            spans.append(words[start : start + length])
            for word in spans[-1]:
                word.in_preposition = True
        start += length
    return spans


def common_words(preposition: str) -> tuple[frozenset[str], ...]:
    """Returns groups of words of which each spelling of a preposition of several words holds one of each.

    Args:
        preposition: normal form, a key of `MULTIWORD_PREPOSITIONS`.
    """
    spellings = [frozenset(words) for words, normal in NORMAL_FORM_OF_WORDS.items() if normal == preposition]
    common = frozenset.intersection(*spellings)
    groups = [frozenset((word,)) for word in sorted(common)]
    others = [words - common - FUNCTION_WORDS for words in spellings]
    return (*groups, frozenset.union(*others)) if all(others) else tuple(groups)
