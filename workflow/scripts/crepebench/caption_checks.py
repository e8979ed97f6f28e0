"""Check that a caption expresses the atoms of its subgraph, all of them and nothing else.

The paper's captions of 5 to 12 atoms are written by a language model, and one in eight is not faithful (section 4.3).
So each answer is checked, and refused for a named reason. docs/captions.md explains the rules and how well they do.

# ASSUME: each atom has words of its own, so that a foil can change it alone. "two men" is one mention of two objects,
and "wearing a hat and gloves" one of two relations: both are refused.
# ASSUME: "he", "she", "his" and "her" say more than a noun does, and tell foils that change it; they are added words.
# ASSUME: "sitting", "standing", "lying" and "resting" before the relation of a thing add nothing; of a person or animal
they do.
# ASSUME: "with" may join anything, as "and" does.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations, product
from typing import NamedTuple

from crepebench.caption_phrases import Names, Phrase, find_phrases
from crepebench.caption_relations import Place, attribute_places, relation_places
from crepebench.caption_tokens import BE, CONNECTIVES, DETERMINERS, PRONOUNS, PUNCTUATION, Token, form_fault, tokenise
from crepebench.caption_words import normalise
from crepebench.captions import ORDINALS, Mention
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.word_tables import WordTables
from crepebench.wordnet import Lexicon

REASONS = (
    "not_one_line",
    "no_sentence",
    "negation",
    "too_short",
    "too_long",
    "cut_off",
    "missing_object",
    "missing_attribute",
    "missing_relation",
    "added_word",
)
"""Why a caption is refused, in the order in which it is checked; the first reason counts."""
FREE = BE | CONNECTIVES | DETERMINERS | PRONOUNS | PUNCTUATION | {"there", "with", "has", "have", "having"}
"""Words that state no fact of their own."""
SHOWN = frozenset("seen shown visible located placed positioned situated".split())
"""Participles that only say that something is there."""
POSTURES = frozenset("sit stand lie lay rest".split())
THE_PICTURE = frozenset("image photo photograph picture scene".split())
LIVING = ("noun.person", "noun.animal")
MOST_WAYS = 720
"""Ways to tell objects of one name apart that are tried."""


class Checked(NamedTuple):
    """What the check of a caption found.

    Attributes:
        reason: one of `REASONS`, "" where the caption passes.
        text: the normalised caption.
        mentions: of all atoms in that text, by start; empty where it does not pass.
    """

    reason: str
    text: str
    mentions: tuple[Mention, ...] = ()


def check_caption(text: str, atoms: Sequence[Mapping], lexicon: Lexicon, tables: WordTables) -> Checked:
    """Checks one caption.

    Args:
        text: as a model wrote it.
        atoms: of the subgraph, as `crepebench.schema.SUBGRAPH_ATOM`.
        lexicon: WordNet, for synonyms.
        tables: tables of words, for relations that say the same.
    """
    caption = normalise(text)
    attributes = {normalise(atom["name"]) for atom in atoms if atom["kind"] == ATTRIBUTE}
    tokens = tokenise(caption, {name for name in attributes if " and " in name})
    own_words = {word for atom in atoms for word in normalise(atom["name"]).split()}
    reason = form_fault(text, tokens, own_words, len(atoms))
    if reason:
        return Checked(reason, caption)
    names = Names(atoms, lexicon)
    phrases, extra = find_phrases(tokens, names)
    said = {entity for phrase in phrases if not phrase.is_pronoun for entity in phrase.entities}
    if len(said) < sum(map(len, names.groups)):
        return Checked("missing_object", caption)
    places = {
        index: attribute_places(atom, tokens, phrases, lexicon)
        if atom["kind"] == ATTRIBUTE
        else relation_places(atom, tokens, phrases, tables)
        for index, atom in enumerate(atoms)
        if atom["kind"] != OBJECT
    }
    reasons = []
    for entity_of in islice(_ways_to_tell_apart(names.groups), MOST_WAYS):
        reason, chosen = _choose_places(atoms, places, entity_of)
        if not reason and (extra or _added(tokens, phrases, chosen, atoms, names, lexicon)):
            reason = "added_word"
        if not reason:
            return Checked("", caption, _mentions(tokens, phrases, chosen, entity_of))
        reasons.append(reason)
    return Checked(max(reasons, key=REASONS.index), caption)


def _ways_to_tell_apart(groups: list[list[int]]) -> Iterator[dict[int, tuple[int, int]]]:
    """Yields what stands for each object's atom; objects of one name in every order."""
    for orders in product(*(permutations(group) for group in groups)):
        yield {atom: (group, number) for group, order in enumerate(orders) for number, atom in enumerate(order)}


def _choose_places(atoms, places: Mapping[int, list[Place]], entity_of) -> tuple[str, dict[int, Place]]:
    """Chooses tokens for each attribute and relation, none twice.

    Returns:
        The reason why that cannot be done, "" where it can, and the places.
    """
    chosen: dict[int, Place] = {}
    for kind, reason in ((ATTRIBUTE, "missing_attribute"), (RELATION, "missing_relation")):
        fitting = [
            (index, [place for place in found if _fits(atoms[index], place, entity_of)])
            for index, found in places.items()
            if atoms[index]["kind"] == kind
        ]
        used = {i for place in chosen.values() for i in range(place.first, place.last)}
        found = _without_overlap(fitting, used)
        if found is None:
            return reason, chosen
        chosen |= found
    return "", chosen


def _fits(atom: Mapping, place: Place, entity_of) -> bool:
    """Says whether what a place speaks of are the atom's own objects."""
    has_subject = atom["kind"] == ATTRIBUTE or entity_of[atom["subject"]] in place.subjects
    return has_subject and entity_of[atom["object"]] in place.objects


def _without_overlap(fitting: list[tuple[int, list[Place]]], used: set[int]) -> dict[int, Place] | None:
    """Returns one place for each atom so that no token is used twice, None where there is no way."""
    if not fitting:
        return {}
    (index, places), *others = fitting
    for place in places:
        own = set(range(place.first, place.last))
        if own.isdisjoint(used):
            rest = _without_overlap(others, used | own)
            if rest is not None:
                return {index: place, **rest}
    return None


def _added(tokens: Sequence[Token], phrases, chosen: Mapping[int, Place], atoms, names: Names, lexicon) -> bool:
    """Says whether a token is neither an atom's nor one that states nothing."""
    used = {i for place in chosen.values() for i in range(place.first, place.last)}
    used |= {i for phrase in phrases for i in range(phrase.noun, phrase.last)}
    free = FREE | set(ORDINALS) if any(len(group) > 1 for group in names.groups) else FREE
    subject_at = {place.first: atoms[i]["subject"] for i, place in chosen.items() if atoms[i]["kind"] == RELATION}
    for i, token in enumerate(tokens):
        if i in used or token.text in free or token.text in SHOWN or _speaks_of_picture(tokens, i):
            continue
        subject = subject_at.get(i + 1)
        if token.verb in POSTURES and subject is not None and not _is_living(atoms[subject]["text"], lexicon):
            continue
        return True
    return False


def _speaks_of_picture(tokens: Sequence[Token], i: int) -> bool:
    """Says whether a token belongs to "in the picture" or "a picture of"."""
    if tokens[i].text in THE_PICTURE:
        return True
    if tokens[i].text == "of":
        return i > 0 and tokens[i - 1].text in THE_PICTURE
    return tokens[i].text == "in" and any(token.text in THE_PICTURE for token in tokens[i + 1 : i + 3])


def _is_living(noun: str, lexicon: Lexicon) -> bool:
    return any(synset.lexname() in LIVING for synset in lexicon.synsets(noun, "n")[:1])


def _mentions(tokens: Sequence[Token], phrases: Sequence[Phrase], chosen: Mapping[int, Place], entity_of) -> tuple:
    """Returns where all atoms stand."""
    atom_of = {entity: atom for atom, entity in entity_of.items()}
    spans = [(atom_of[phrase.entities[0]], phrase.noun, phrase.last) for phrase in phrases if not phrase.is_pronoun]
    spans += [(index, place.first, place.last) for index, place in chosen.items()]
    mentions = (Mention(atom, tokens[first].start, tokens[last - 1].end) for atom, first, last in spans)
    return tuple(sorted(mentions, key=lambda mention: mention.start))
