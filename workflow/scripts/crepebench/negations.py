"""Negate one atom of a caption, or the whole: HN-Neg.

Source: paper section 3.3 and A.3 to A.4, and the four forms of the released files: "not" before a relation, "something"
for an object and "there is no X" behind, the caption and "there is no X" behind, and the whole under one negation.

The forms here, for "a red jar above a box. there is a fan":
    relation        a red jar not above a box. there is a fan
    attribute       a jar that is not red above a box. there is a fan
    object          a red jar above something. there is no box. there is a fan   ("there is no box" stands at the end)
                    something red above a box. there is a fan. there is no jar
                    a red jar above a box. there is no fan
    whole           the following is not true: a red jar above a box. there is a fan
    contradiction   a red jar above a box. there is a fan. there is no box       (protocol paper only)

# ASSUME: the whole is denied by "the following is not true: ", which fits noun phrases, sentences and several of them;
"there is no" before it, as released, denies the first noun alone.
# ASSUME: the negation of "with" is "without", and "of" has none: "a leg not of a table" is no English.
# ASSUME: the attributes of a denied object stay: "something red". So every caption names all atoms.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crepebench import inflection
from crepebench.caption_edits import first_mention, phrase_start, splice
from crepebench.caption_words import is_plural, normalise
from crepebench.captions import TEMPLATE, Caption, is_counted
from crepebench.families import NEGATED
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.image_facts import COPULAS

WHOLE = "whole"
KIND_NEGATED = {kind: NEGATED + kind for kind in (RELATION, ATTRIBUTE, OBJECT, WHOLE)}
"""Kind of a foil by what is negated."""
NOT_TRUE = "the following is not true: "
NEGATION = re.compile(r"\b(?:not|no|without)\b")
THERE = re.compile(r"(?<![\w'-])there (?:is|are) $")
NUMBERS = frozenset("one two three four five six seven eight nine ten several many few multiple".split())
"""Attributes that cannot follow "something" or "that are"."""
DO = {"VBZ": "does", "VBP": "do", "VBD": "did"}


class Slot(NamedTuple):
    """What can be negated: an atom, by its kind and place, or the whole (place -1)."""

    kind: str
    atom: int


def slots(atoms: Sequence[Mapping]) -> list[Slot]:
    """Returns the whole and each atom."""
    return [Slot(WHOLE, -1), *(Slot(atom["kind"], i) for i, atom in enumerate(atoms))]


def negate(caption: Caption, atoms: Sequence[Mapping], slot: Slot) -> str | None:
    """Returns the caption with one negation, or None where the slot cannot be negated in good English.

    Args:
        caption: with its mentions.
        atoms: of the caption.
        slot: what to negate.
    """
    if slot.kind == WHOLE:
        return normalise(NOT_TRUE + caption.text)
    negated = {RELATION: _negate_relation, ATTRIBUTE: _negate_attribute, OBJECT: _deny_object}[slot.kind]
    text = negated(caption, atoms, slot.atom)
    return None if text is None else normalise(text)


def contradict(caption: Caption, atoms: Sequence[Mapping], index: int) -> str:
    """Returns the caption with "there is no X" behind, X being one of its objects."""
    return normalise(f"{ended(caption.text)} {_denial(caption, atoms, index)}")


def _negate_relation(caption: Caption, atoms: Sequence[Mapping], index: int) -> str | None:
    mention = first_mention(caption, index)
    surface = caption.text[mention.start : mention.end]
    first, _, rest = surface.partition(" ")
    tag = "" if caption.source == TEMPLATE else inflection.verb_tag(atoms[index]["text"], surface)
    if surface == "of" or NEGATION.search(surface):
        return None
    if surface == "with":
        words = "without"
    elif first in COPULAS:
        words = f"{first} not {rest}"
    elif tag in DO:
        words = f"{DO[tag]} not {atoms[index]['text'].partition(' ')[0]} {rest}"
    else:
        words = f"not {surface}"
    return splice(caption.text, {(mention.start, mention.end): words.strip()})


def _negate_attribute(caption: Caption, atoms: Sequence[Mapping], index: int) -> str | None:
    """Returns "a jar that is not red" for "a red jar", and "is not red" for "is red"."""
    mention, object_ = first_mention(caption, index), atoms[index]["object"]
    words = caption.text[mention.start : mention.end]
    if words in NUMBERS:
        return None
    for noun in (other for other in caption.mentions if other.atom == object_):
        found = phrase_start(caption, atoms, noun)
        if found is not None and mention in found[1]:
            following = caption.text[mention.end : noun.end].lstrip()
            verb = "are" if is_plural({**atoms[object_], "name": caption.text[noun.start : noun.end]}) else "is"
            return splice(caption.text, {(mention.start, noun.end): f"{following} that {verb} not {words}"})
    before = caption.text[: mention.start].rstrip().rpartition(" ")[2]
    return splice(caption.text, {(mention.start, mention.end): f"not {words}"}) if before in COPULAS else None


def _deny_object(caption: Caption, atoms: Sequence[Mapping], index: int) -> str | None:
    """Returns the caption with "something" for each mention of an object, and "there is no X" behind.

    "there is a fan" becomes "there is no fan". Where names are counted ("another man"), the denial of one would deny
    the others; and a plural that a sentence agrees with cannot become "something".
    """
    if is_counted(caption, atoms, index):
        return None
    ends = [atom for atom in atoms if index in (atom["subject"], atom["object"])]
    if caption.source != TEMPLATE and is_plural(atoms[index]) and any(atom["subject"] == index for atom in ends):
        return None
    edits = {}
    for mention in (other for other in caption.mentions if other.atom == index):
        found = phrase_start(caption, atoms, mention)
        if found is None:
            return None
        start, attributes = found
        adjectives = [caption.text[other.start : other.end] for other in attributes]
        if NUMBERS.intersection(adjectives):
            return None
        there = THERE.search(caption.text[:start])
        if not ends and there:
            return splice(caption.text, {(start, mention.end): f"no {caption.text[mention.start : mention.end]}"})
        described = " and ".join(filter(None, [", ".join(adjectives[:-1]), *adjectives[-1:]]))
        words = " ".join(filter(None, ["there is" if there else "", "something", described]))
        edits[there.start() if there else start, mention.end] = words
    return f"{ended(splice(caption.text, edits))} {_denial(caption, atoms, index)}"


def ended(text: str) -> str:
    """Returns a text with a full stop, unless a mark ends it."""
    return text if text[-1] in ".!?" else f"{text}."


def _denial(caption: Caption, atoms: Sequence[Mapping], index: int) -> str:
    """Returns "there is no X"."""
    mention = first_mention(caption, index)
    name = caption.text[mention.start : mention.end]
    verb = "are" if is_plural({**atoms[index], "name": name}) else "is"
    return f"there {verb} no {name}"
