"""Prepositions of several words: their normal forms and spellings, and where they stand in a text."""

# Prepositions of several words: normal form, then other spellings. The article inside any of them is optional.
MULTIWORD_PREPOSITIONS = {
    "to the left of": ("on the left of", "left of", "to the left side of", "on the left side of"),
    "to the right of": ("on the right of", "right of", "to the right side of", "on the right side of"),
    "on top of": ("on the top of",),
    "in front of": (),
    "in back of": (),
    "in the middle of": (),
    "in between": (),
    "on the side of": ("to the side of",),
    "on the back of": ("at the back of",),
    "on the edge of": ("at the edge of",),
    "on the other side of": (),
    "at the top of": (),
    "at the bottom of": ("on the bottom of",),
    "at the end of": ("on the end of",),
    "next to": (),
    "close to": (),
    "near to": (),
    "ahead of": (),
    "inside of": (),
    "outside of": (),
    "out of": (),
    "off of": (),
    "up against": (),
    "along with": (),
}
NORMAL_FORM_OF_WORDS = {
    tuple(variant.split()): normal
    for normal, others in MULTIWORD_PREPOSITIONS.items()
    for spelling in (normal, *others)
    for variant in (spelling, spelling.replace(" the ", " "))
}
LONGEST_PREPOSITION = max(map(len, NORMAL_FORM_OF_WORDS))


def preposition_spans(doc) -> list:
    """Finds prepositions of several words, longest first, without overlap."""
    words = [token.lower_ for token in doc]
    spans, start = [], 0
    while start < len(words):
        lengths = range(LONGEST_PREPOSITION, 1, -1)
        length = next((n for n in lengths if tuple(words[start : start + n]) in NORMAL_FORM_OF_WORDS), 1)
        if length > 1:
            spans.append(doc[start : start + length])
        start += length
    return spans
