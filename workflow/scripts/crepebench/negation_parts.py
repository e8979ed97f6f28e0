"""Split a caption into what it affirms and the concepts that it denies, by its cues.

# ASSUME: a denied concept reaches from its cue to the end of the clause: a mark, "and", "but", "while", "that", "which"
or the end of the text; the paper's appendix F has a parser of its own, of which nothing is known. "or" and "nor" go on
with what is denied. Where something is "absent" or "missing", what stands before it is denied.
# ASSUME: a negation inside a word ("unlit", "hatless") is no cue, and such a caption is left as it is.
"""

import re
from typing import NamedTuple

from crepebench.negation_cues import CUES, PHRASES, has_cue

WORD = re.compile(r"[\w'\u2019-]+|[^\w\s]")
ENDS = frozenset(", . ; : ! ? and but while that which who although though".split()) | {"\u2014", "-", "("}
"""What ends a clause."""
BEHIND = frozenset(["absent", "missing"])
"""Cues behind what they deny."""
COPULAS = frozenset("is are was were be been being".split())
LINKS = COPULAS | frozenset("there has have had but and with that which who it they does do did".split())

"""Words before a cue that belong to the denial: "but there is", "that are"."""
LEADS = frozenset("a an any the of from in have has show shows contain contains to be".split())
"""Words before a denied concept that do not name it."""
TAILS = frozenset("in on at of is are was were visible seen present anywhere here there to the picture image".split())
"""Words behind a denied concept that say only where it is not."""
JOINS = re.compile(r"(?:[,;:]|\b(?:and|but|while))$|^(?:[,;:.]|(?:and|but|while)\b)")
"""Marks and joins with nothing on one side."""
MOST_WORDS = max(len(phrase.split()) for phrase in PHRASES)


class Parts(NamedTuple):
    """A caption in parts.

    Attributes:
        affirmed: the caption without its denials; the whole where nothing else is left.
        denied: the concepts that it denies, in their order.
    """

    affirmed: str
    denied: tuple[str, ...]


def split_negation(caption: str) -> Parts:
    """Splits a caption; one without a cue, or whose cue denies nothing that is named, is affirmed as it is."""
    if not has_cue(caption):
        return Parts(caption, ())
    found = list(WORD.finditer(caption))
    words = [match.group().lower().replace("\u2019", "'") for match in found]
    kept, denied, at = [True] * len(words), [], 0
    while at < len(words):
        length = _cue_length(words, at)
        if not length:
            at += 1
            continue
        first, last, concept = _denial(words, at, length)
        text = " ".join(caption[found[i].start() : found[i].end()] for i in concept)
        if text:
            denied.append(text)
            kept[first:last] = [False] * (last - first)
        at = max(at + length, last)
    affirmed = _joined(caption, found, kept)
    return Parts(affirmed if affirmed and denied else caption, tuple(denied))


def _cue_length(words: list[str], at: int) -> int:
    """Returns how many words a cue takes that begins at a place; 0 if none does."""
    if words[at] in CUES or words[at].endswith("n't"):
        return 2 if words[at : at + 2] in (["absence", "of"], ["devoid", "of"]) else 1
    for length in range(MOST_WORDS, 1, -1):
        if " ".join(words[at : at + length]) in PHRASES:
            return length
    return 0


def _denial(words: list[str], at: int, length: int) -> tuple[int, int, list[int]]:
    """Returns where a denial begins and ends, and the places of the words that name what is denied."""
    first = at
    if words[at] in BEHIND and at and words[at - 1] in COPULAS:
        while first and words[first - 1] not in ENDS:
            first -= 1
        concept = list(range(first, at))
        last = at + length
    else:
        last = at + length
        while last < len(words) and words[last] not in ENDS and not _cue_behind_join(words, last):
            last += 1
        concept = list(range(at + length, last))
    while first and words[first - 1] in LINKS:
        first -= 1
    while concept and (words[concept[0]] in LEADS or words[concept[0]] in CUES):
        concept.pop(0)
    while concept and words[concept[-1]] in TAILS | LINKS:
        concept.pop()
    return first, last, concept


def _cue_behind_join(words: list[str], at: int) -> bool:
    """Says whether a second denial begins at a place, as "no" in "no dog no cat"."""
    return words[at] in ("no", "without", "not")


def _joined(caption: str, found: list, kept: list[bool]) -> str:
    """Returns the words that are kept, as they stood, without marks and joins at the ends."""
    pieces, end = [], 0
    for match, keep in zip(found, kept, strict=True):
        if keep:
            gap = caption[end : match.start()] if pieces else ""
            pieces.append((" " if gap and not gap.isspace() else gap) + match.group())
            end = match.end()
    text = re.sub(r"\s*([,.;:!?])(?:\s*[,.;:!?])*", r"\1", "".join(pieces)).strip()
    while (trimmed := JOINS.sub("", text).strip()) != text:
        text = trimmed
    return text if re.search(r"\w", text) else ""
