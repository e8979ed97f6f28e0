"""Find where a caption expresses a relation or an attribute, and of which objects.

# ASSUME: a relation may be said in the words of its name, by what the table of relations says is the same, from the
other side (its inverse, or the passive), with "in" for "wearing" and "with" for "has"; never without its verb.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from crepebench import inflection
from crepebench.caption_phrases import Entity, Phrase, entities_of, subjects_before, subjects_of_verb
from crepebench.caption_tokens import BE, BOUNDARIES, DETERMINERS, Token
from crepebench.caption_words import normalise, relation_words
from crepebench.graphs import HAVE
from crepebench.image_facts import COPULAS
from crepebench.prepositions import NORMAL_FORM_OF_WORDS
from crepebench.word_tables import WordTables
from crepebench.wordnet import Lexicon

OF, WITH, WEAR = "of", "with", "wear"
FORMS = {
    HAVE: (("with",), ("'s",), ("having",)),
    WITH: (("has",), ("have",), ("having",), ("'s",)),
    WEAR: (("in",), ("dressed", "in")),
}
"""Other ways to say a relation: tokens between its subject and its object."""
INVERSE_FORMS = {
    HAVE: (("of",), ("belonging", "to")),
    WITH: (("of",), ("belonging", "to")),
    OF: (("with",), ("has",), ("have",), ("having",), ("'s",)),
}
"""Ways to say a relation from its object to its subject."""
SEPARATORS = frozenset((*BOUNDARIES, ",", "and"))


class Place(NamedTuple):
    """Tokens `first` to `last` (exclusive) that may express an atom: an attribute of an object, or a relation."""

    first: int
    last: int
    subjects: tuple[Entity, ...]
    objects: tuple[Entity, ...]


def relation_places(
    atom: Mapping, tokens: Sequence[Token], phrases: Sequence[Phrase], tables: WordTables
) -> list[Place]:
    """Returns where a relation may stand, longest wordings first."""
    texts = [token.text for token in tokens]
    found: dict[Place, None] = {}
    for pattern, is_inverse in sorted(_patterns(atom, tables), key=lambda way: (-len(way[0]), way[1], way[0])):
        for first in range(len(tokens) - len(pattern) + 1):
            if not _matches(pattern, tokens[first : first + len(pattern)]):
                continue
            last = first + len(pattern)
            for subjects, objects in _ends(texts, tokens, phrases, first, last):
                ends = (objects, subjects) if is_inverse else (subjects, objects)
                found[Place(first, last, *ends)] = None
    return list(found)


def _patterns(atom: Mapping, tables: WordTables) -> set[tuple[tuple[str, ...], bool]]:
    """Returns wordings of a relation, and whether each runs from object to subject; "*hold" is any form of a verb."""
    text, words = atom["text"], tuple(relation_words(atom["name"]).split())
    found = {(words, False), (tuple(normalise(atom["name"]).split()), False)}
    for name in tables.same.get(text, {text}):
        found.update((way, False) for way in _spellings(name, tables))
    for name in tables.inverses.get(text, ()):
        found.update((way, True) for way in _spellings(name, tables))
    found.update((way, False) for way in FORMS.get(text, ()))
    found.update((way, True) for way in INVERSE_FORMS.get(text, ()))
    first, _, rest = text.partition(" ")
    if _is_verb(text):
        found.add(((f"*{first}", *rest.split(), "by"), True))
        if rest == "by":
            found.add(((f"*{first}",), True))
    return {way for way in found if way[0]}


def _is_verb(relation: str) -> bool:
    return bool(inflection.verb_tag(relation, relation))


def _spellings(name: str, tables: WordTables) -> Iterator[tuple[str, ...]]:
    """Yields the wordings of a relation in normal form: its verb in any form, its preposition in every spelling."""
    verb, _, rest = name.partition(" ") if _is_verb(name) else ("", "", name)
    rests = {()}
    if rest:
        rests = {tuple(same.split()) for same in tables.same.get(rest, {rest})}
        normal = {" ".join(words) for words in rests}
        rests |= {words for words, text in NORMAL_FORM_OF_WORDS.items() if text in normal}
    heads = [(f"*{verb}",)] if verb else [()]
    for head, tail in product(heads, rests):
        yield (*head, *tail)


def _matches(pattern: tuple[str, ...], tokens: Sequence[Token]) -> bool:
    """Says whether tokens are a wording."""
    return all(
        token.verb == word[1:] if word.startswith("*") else token.text == word
        for word, token in zip(pattern, tokens, strict=True)
    )


def _ends(
    texts: list[str], tokens: Sequence[Token], phrases: Sequence[Phrase], first: int, last: int
) -> Iterator[tuple[tuple[Entity, ...], tuple[Entity, ...]]]:
    """Yields what may be the two ends of words in the middle, left end first."""
    before, behind = subjects_before(tokens, phrases, first), _phrase_at(tokens, phrases, last)
    if behind and behind.is_pronoun and len(before) > 1:  # "a tower with a clock on it"
        yield before[0].entities, before[1].entities
    elif behind:
        for entity in entities_of(_subjects(tokens, phrases, first)):
            yield (entity,), tuple(other for other in behind.entities if other != entity)
        if first == 0 or texts[first - 1] in SEPARATORS:  # "behind the man, another man"; "on it is a cup"
            i = behind.last
            while i < len(texts) and texts[i] in BE | {",", "there"}:
                i += 1
            following = _phrase_at(tokens, phrases, i)
            if following:
                yield following.entities, behind.entities
    elif len(before) > 1 and (last == len(texts) or texts[last] in SEPARATORS | BE):
        gap = texts[before[1].last : before[0].first]  # "a bench that a man sits on"
        if not gap or gap in (["that"], ["which"], ["whom"]):
            yield before[0].entities, before[1].entities


def _subjects(tokens: Sequence[Token], phrases: Sequence[Phrase], first: int) -> list[Phrase]:
    """Returns the phrases that a relation's words may be said of."""
    verb = first
    while verb > 0 and tokens[verb - 1].text in ("being", "also", "both"):
        verb -= 1
    if verb > 0 and tokens[verb - 1].text in COPULAS:
        return subjects_of_verb(tokens, phrases, verb - 1)
    if inflection.verb_tag(tokens[first].verb, tokens[first].text) == "VBZ":
        return subjects_of_verb(tokens, phrases, first)
    return subjects_before(tokens, phrases, first)


def _phrase_at(tokens: Sequence[Token], phrases: Sequence[Phrase], place: int) -> Phrase | None:
    """Returns the phrase that begins at a token; one without a determiner may hold the verb before it, too."""
    for phrase in phrases:
        if phrase.first == place or (
            phrase.first < place <= phrase.noun and tokens[phrase.first].text not in DETERMINERS
        ):
            return phrase
    return None


def attribute_places(
    atom: Mapping, tokens: Sequence[Token], phrases: Sequence[Phrase], lexicon: Lexicon
) -> list[Place]:
    """Returns where an attribute may stand: before a noun, behind a copula, or right behind the noun."""
    name = tuple(normalise(atom["name"]).split())
    ways = {name, (" ".join(name),), tuple(atom["text"].split())}
    ways |= {tuple(word.split()) for word in lexicon.synonyms(atom["text"], "a")}
    nouns = {i for phrase in phrases for i in range(phrase.noun, phrase.last)}
    found = []
    for way in sorted(ways, key=lambda way: (way != name, way)):
        for first in range(len(tokens) - len(way) + 1):
            last = first + len(way)
            own = tokens[first:last]
            is_said = tuple(t.text for t in own) == way or (len(way) == 1 and own[0].adjective == way[0])
            if is_said and nouns.isdisjoint(range(first, last)):
                entities = _owners(tokens, phrases, first, last)
                found += [Place(first, last, (), (entity,)) for entity in entities]
    return found


def _owners(tokens: Sequence[Token], phrases: Sequence[Phrase], first: int, last: int) -> list[Entity]:
    """Returns the objects that words may be attributes of."""
    for phrase in phrases:
        if phrase.first <= first and last <= phrase.noun:
            return list(phrase.entities)
    i = first
    while i > 0 and tokens[i - 1].text not in BE | BOUNDARIES and not _ends_phrase(phrases, i):
        i -= 1
    if i > 0 and tokens[i - 1].text in BE:
        return entities_of(subjects_of_verb(tokens, phrases, i - 1))
    if i > 0 and _ends_phrase(phrases, i) and first - i <= 1:  # "a jar, red and small"
        return entities_of(phrase for phrase in phrases if phrase.last == i)
    return []


def _ends_phrase(phrases: Sequence[Phrase], place: int) -> bool:
    return any(phrase.last == place for phrase in phrases)
