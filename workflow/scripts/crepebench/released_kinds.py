"""Tell apart, by their texts alone, the kinds of the foils that the authors of CREPE released."""

import re
from collections import Counter

from crepebench.families import ATOM, COMP, CONTRADICTION, NEGATE, NEGATED, SWAP

PREPOSITIONS = frozenset("on in under above below over across inside around by near at".split())
"""The closed list from which the released foils replace prepositions (measured on the files)."""
PREPOSITION, OTHER_WORD = "preposition", "word"
"""Kinds of `atom`: the word that was replaced."""
PERMUTED, REPEATED, NEW_WORDS = "swapped_words", "swapped_repeated_words", "swapped_new_words"
"""Kinds of `swap`: the words of the caption, these but other numbers of them, or words that it does not hold."""
COMPOUNDS = "compounds"
"""Kind of `comp`."""
DENIAL = re.compile(r"(?:^|[.,;] *)there (?:is|are) no [^.]*\.*$")
WORD = re.compile(r"[\w'-]+")


def change_of_words(caption: str, text: str) -> tuple[str, str]:
    """Returns the words of a caption that a foil replaces, and those that stand for them; "" where nothing stands."""
    old, new = caption.split(), text.split()
    start = 0
    while start < min(len(old), len(new)) and old[start] == new[start]:
        start += 1
    end = 0
    while end < min(len(old), len(new)) - start and old[-1 - end] == new[-1 - end]:
        end += 1
    return " ".join(old[start : len(old) - end]), " ".join(new[start : len(new) - end])


def released_kind(part: str, caption: str, text: str) -> str:
    """Returns the kind of a foil.

    Args:
        part: part of a set that it belongs to: atom, comp, swap or negate.
        caption: the truth.
        text: the foil.
    """
    if part == COMP:
        return COMPOUNDS
    if part == ATOM:
        return PREPOSITION if change_of_words(caption, text)[0].strip(".") in PREPOSITIONS else OTHER_WORD
    truth, foil = (Counter(WORD.findall(each.lower())) for each in (caption, text))
    if part == SWAP:
        return PERMUTED if truth == foil else REPEATED if truth.keys() >= foil.keys() else NEW_WORDS
    if part != NEGATE:
        raise ValueError(f"no part of a released set: {part!r}")
    # ASSUME: negations are told by their words, since a corrector changed others in them: "something" that the caption
    # lacks, else "there is no" or "there are no" at the start, else at the end, else "not".
    if foil["something"] > truth["something"]:
        return f"{NEGATED}object"
    if text.lower().startswith(("there is no ", "there are no ")):
        return f"{NEGATED}whole"
    if DENIAL.search(text.lower()):
        return CONTRADICTION
    return f"{NEGATED}relation" if foil["not"] > truth["not"] else f"{NEGATED}other"
