"""Put other atoms into captions, and find the phrases around their mentions.

A caption of the template is written anew from the edited atoms, so that articles and "another" fit and its style is
that of the truth. A caption of a language model is edited where the atoms are mentioned.

# ASSUME: in a language model's caption words take the number of their place ("hats" that come to "a man" are "a hat"),
since verbs agree with it; in a template's they keep their own.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from crepebench import inflection
from crepebench.caption_words import head_of, is_plural, relation_words
from crepebench.captions import TEMPLATE, Caption, Mention, is_counted, replace_mentions, write_template_caption
from crepebench.graphs import ATTRIBUTE, OBJECT
from crepebench.image_facts import COPULAS
from crepebench.lemmas import lemmatise

DETERMINER = re.compile(r"(?<![\w'-])(?:an?|the|another|other|some|this|that|these|those|his|her|its|their)\s+$")
LAST_WORD = re.compile(r"[\w'-]+$")
COUNT, MASS, ONLY_PLURAL = "count", "mass", "only_plural"
"""What a noun can be."""


def first_mention(caption: Caption, atom: int) -> Mention:
    """Returns the first mention of an atom."""
    return next(mention for mention in caption.mentions if mention.atom == atom)


def with_surfaces(caption: Caption, atoms: Sequence[Mapping]) -> list[dict]:
    """Returns the atoms with `surface`, the text of the first mention; of an object its head: "glass" of water."""
    found = []
    for i, atom in enumerate(atoms):
        mention = first_mention(caption, i)
        surface = caption.text[mention.start : mention.end]
        found.append({**atom, "surface": head_of(surface) if atom["kind"] == OBJECT else surface})
    return found


def reword(
    caption: Caption, atoms: Sequence[Mapping], changed: Mapping[int, Mapping], mass_nouns: Collection[str]
) -> Caption:
    """Returns the caption of the same graph with other atoms in some places.

    Args:
        caption: of `atoms`.
        atoms: as `crepebench.schema.SUBGRAPH_ATOM`.
        changed: atoms by place; of them `text` and `name` are used.
        mass_nouns: nouns without an indefinite article.
    """
    edited = [{**atom, **changed.get(i, {})} for i, atom in enumerate(atoms)]
    if caption.source == TEMPLATE:
        return write_template_caption(edited, mass_nouns)
    words = {i: _words_in_place(caption, atoms[i], edited[i], i) for i in changed}
    return replace_mentions(caption, words)


def _words_in_place(caption: Caption, atom: Mapping, new: Mapping, index: int) -> str:
    """Returns the words of another atom in the form of the one whose place it takes."""
    mention = first_mention(caption, index)
    surface = caption.text[mention.start : mention.end]
    if atom["kind"] == OBJECT:
        return in_number(new, is_plural({**atom, "name": surface}))
    if atom["kind"] == ATTRIBUTE:
        return inflection.match_adjective(atom["text"], surface, new["name"])
    return inflection.match_relation(atom["text"], surface, relation_words(new["name"]))


def in_number(atom: Mapping, plural: bool) -> str:
    """Returns an object's name in a number: "glass of water" as "glasses of water"."""
    if is_plural(atom) == plural:
        return atom["name"]
    head = head_of(atom["name"])
    rest, _, last = head.rpartition(" ")
    last = inflection.inflect(last, "NNS") if plural else lemmatise(last, "NOUN")
    return " ".join(filter(None, [rest, last])) + atom["name"][len(head) :]


def countability(atom: Mapping, mass_nouns: Collection[str]) -> str:
    """Says whether a noun is COUNT, MASS or ONLY_PLURAL ("jeans", "people")."""
    if head_of(atom["name"]).rpartition(" ")[2] in mass_nouns:
        return MASS
    return ONLY_PLURAL if is_plural({**atom, "name": in_number(atom, plural=False)}) else COUNT


def is_replaceable(caption: Caption, atoms: Sequence[Mapping], index: int) -> bool:
    """Says whether other words may come into an atom's place: in a model's caption not where names are counted."""
    return caption.source == TEMPLATE or not is_counted(caption, atoms, index)


def phrase_start(caption: Caption, atoms: Sequence[Mapping], mention: Mention) -> tuple[int, list[Mention]] | None:
    """Finds where the noun phrase of an object's mention starts.

    Args:
        caption: with its mentions.
        atoms: of the caption.
        mention: of an object.

    Returns:
        The first character, its determiner included, and the mentions of the attributes in the phrase; None where
        other words stand before the noun, so that nobody can say where the phrase starts.
    """
    start, attributes = mention.start, []
    by_end = {other.end: other for other in caption.mentions}
    while True:
        before = caption.text[:start].rstrip()
        other = by_end.get(len(before))
        if other is None or atoms[other.atom]["kind"] != ATTRIBUTE or atoms[other.atom]["object"] != mention.atom:
            break
        attributes.insert(0, other)
        start = other.start
    if determiner := DETERMINER.search(caption.text[:start]):
        return determiner.start(), attributes
    word = LAST_WORD.search(before)
    is_start = word is None or other is not None or word[0] in inflection.PREPOSITIONS or word[0] in (*COPULAS, "and")
    return (start, attributes) if is_start else None


def splice(text: str, edits: Mapping[tuple[int, int], str]) -> str:
    """Puts other words in the places of some; places (first character, character behind the last) do not overlap."""
    for (start, end), words in sorted(edits.items(), reverse=True):
        text = inflection.replace_span(text, start, end, words) if words else text[:start] + text[end:]
    return text
