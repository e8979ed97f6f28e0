"""Find the noun phrases of a caption that name given objects, and what each may be the subject of.

A caption states known facts, so no tagger is needed: phrases are found by the names of the objects, and what a word is
said of by its place.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from crepebench.caption_tokens import BE, BOUNDARIES, CONNECTIVES, DETERMINERS, JOINTS, PRONOUNS, PUNCTUATION, Token
from crepebench.caption_words import head_of, is_plural, normalise
from crepebench.captions import ORDINALS
from crepebench.graphs import OBJECT
from crepebench.inflection import PREPOSITIONS
from crepebench.lemmas import lemmatise
from crepebench.wordnet import Lexicon

NEW = ("a", "an", "another")
"""Determiners of an object that was not mentioned."""
STOPPERS = (
    BE | BOUNDARIES | CONNECTIVES | PRONOUNS | PUNCTUATION | PREPOSITIONS | {"'s", "there", "has", "have", "having"}
)
"""Tokens that no noun phrase holds before its noun."""
RELATIVES = ("that", "which", "whom", "where", "as")
Entity = tuple[int, int]
"""An object as the caption has it: its group of atoms with one name, and its number among them."""


@dataclass(frozen=True)
class Phrase:
    """A noun phrase, or a pronoun: tokens `first` to `last` (exclusive) with determiner, the name from `noun` on.

    Attributes:
        entities: what it may stand for; several for a pronoun.
        is_pronoun: whether it is one.
    """

    first: int
    noun: int
    last: int
    entities: tuple[Entity, ...]
    is_pronoun: bool = False


class Names:
    """The words by which objects may be called.

    Args:
        atoms: of a subgraph.
        lexicon: WordNet.
    """

    def __init__(self, atoms: Sequence[Mapping], lexicon: Lexicon):
        keys = [(normalise(atom["name"]), atom["text"]) for atom in atoms if atom["kind"] == OBJECT]
        objects = [i for i, atom in enumerate(atoms) if atom["kind"] == OBJECT]
        self.groups = [[i for i, k in zip(objects, keys, strict=True) if k == key] for key in dict.fromkeys(keys)]
        self._ways: dict[tuple[str, ...], tuple[int, int]] = {}
        self._plural = [is_plural(atoms[group[0]]) for group in self.groups]
        for number, (name, text) in enumerate(dict.fromkeys(keys)):
            for rank, ways in enumerate(_ways_to_say(name, text, lexicon)):
                for way in ways:
                    known = self._ways.get(way)
                    if known is None or rank < known[0]:
                        self._ways[way] = rank, number
        self._longest = max((len(way) for way in self._ways), default=0)

    def find(self, tokens: Sequence[Token], start: int) -> tuple[int, int] | None:
        """Returns the group that the longest name at a token means and the token behind it; None where there is none.

        # ASSUME: one name in another number ("dogs" for a dog) says another thing.
        """
        for last in range(min(len(tokens), start + self._longest), start, -1):
            words = tuple(token.text for token in tokens[start:last])
            for way in (words, (*words[:-1], tokens[last - 1].noun), tuple(t.noun for t in tokens[start:last])):
                rank, group = self._ways.get(way, (0, -1))
                if group >= 0 and ((rank == 0 and way == words) or self._has_number(group, words)):
                    return group, last
        return None

    def _has_number(self, group: int, words: tuple[str, ...]) -> bool:
        head = head_of(" ".join(words))
        return is_plural({"name": head, "text": lemmatise(head.rpartition(" ")[2], "NOUN")}) == self._plural[group]


def _ways_to_say(name: str, text: str, lexicon: Lexicon) -> list[set[tuple[str, ...]]]:
    """Returns the words for an object, best first: its name, with lemmas, its head noun, and synonyms."""
    head = head_of(name)
    lemmas = tuple(lemmatise(word, "NOUN") for word in name.split())
    heads = {tuple(head.split()), (head.split()[-1],), tuple(text.split()), (text.split()[-1],)}
    heads |= {(*way[:-1], lemmatise(way[-1], "NOUN")) for way in heads}
    synonyms = {tuple(word.split()) for word in lexicon.synonyms(head, "n") | lexicon.synonyms(text, "n")}
    synonyms -= {way for way in synonyms if way[1:] in heads and lexicon.synsets(way[0], "a")}  # "little girl"
    return [{tuple(name.split())}, {lemmas}, heads, synonyms]


def find_phrases(tokens: Sequence[Token], names: Names) -> tuple[list[Phrase], list[int]]:
    """Finds the noun phrases and pronouns of a caption in reading order.

    Returns:
        The phrases, and the tokens that introduce more objects of a name than there are.
    """
    spans, start = [], 0
    while start < len(tokens):
        found = names.find(tokens, start)
        if found:
            spans.append((start, found[1], found[0]))
        elif tokens[start].text in PRONOUNS:
            spans.append((start, start + 1, -1))
        start = found[1] if found else start + 1
    followers = {span[0] for span in spans if span[2] >= 0}
    spans = [span for span in spans if span[1] not in followers]  # "orange" of "an orange jar" is no object
    phrases: list[Phrase] = []
    known: dict[int, list[Entity]] = {group: [] for group in range(len(names.groups))}
    extra, mentioned = [], {}
    for noun, last, group in spans:
        if group < 0:
            phrases.append(Phrase(noun, noun, last, _antecedents(tokens, phrases, noun), is_pronoun=True))
            continue
        first = _phrase_start(tokens, noun, phrases[-1].last if phrases else 0)
        words = [token.text for token in tokens[first:noun]]
        number = _number(words, len(known[group]), len(names.groups[group]), mentioned.get(group, 0))
        if number >= len(names.groups[group]):
            extra.append(noun)
            number = len(names.groups[group]) - 1
        entity = (group, number)
        if entity not in known[group]:
            known[group].append(entity)
        mentioned[group] = number
        phrases.append(Phrase(first, noun, last, (entity,)))
    return phrases, extra


def _phrase_start(tokens: Sequence[Token], noun: int, after: int) -> int:
    """Returns the first token of a noun phrase: its determiner, or the first of the words before the noun."""
    first = noun
    while first > after:
        word = tokens[first - 1].text
        if word in DETERMINERS:
            has_two = first - 1 > after and word == "other" and tokens[first - 2].text in DETERMINERS
            return first - 2 if has_two else first - 1
        is_joint = word in ("and", ",") and first < noun and first - 1 > after and _is_plain(tokens[first - 2].text)
        if not _is_plain(word) and not (is_joint and _has_determiner(tokens, first - 1, after)):
            break
        first -= 1
    return first


def _has_determiner(tokens: Sequence[Token], before: int, after: int) -> bool:
    """Says whether plain words and joints lead back to a determiner: "a black and white"."""
    while before > after and (_is_plain(tokens[before - 1].text) or tokens[before - 1].text in ("and", ",")):
        before -= 1
    return before > after and tokens[before - 1].text in DETERMINERS


def _is_plain(word: str) -> bool:
    return word not in STOPPERS and word not in DETERMINERS


def _number(words: list[str], n_known: int, n_objects: int, last: int) -> int:
    """Returns which object of a name is meant, by the words before the noun; one that is not there may be meant."""
    ordinal = next((ORDINALS.index(word) for word in words if word in ORDINALS), None)
    if ordinal is not None:
        return ordinal
    if not n_known or any(word in NEW for word in words[:1]) or words[:1] == ["other"]:
        return n_known
    if "other" in words:
        return n_known if n_known < n_objects else 1 - last if n_objects == 2 else 0
    if words[:1] and words[0] in DETERMINERS and words[0] != "some":
        return last
    return n_known if n_known < n_objects else last


def _antecedents(tokens: Sequence[Token], phrases: list[Phrase], place: int) -> tuple[Entity, ...]:
    """Returns what a pronoun may stand for: the objects before it in its sentence, else in the last one."""
    start = next((i + 1 for i in range(place - 1, -1, -1) if tokens[i].text in BOUNDARIES), 0)
    own = [phrase for phrase in phrases if phrase.first >= start]
    if not own and phrases:
        return _antecedents(tokens, phrases, phrases[-1].last)
    return tuple(dict.fromkeys(entity for phrase in reversed(own) for entity in phrase.entities))


def subjects_before(tokens: Sequence[Token], phrases: Sequence[Phrase], place: int) -> list[Phrase]:
    """Returns the phrases that what starts at a token may be said of: the nearest before it, and those that govern it.

    "a man on a bench wearing": the bench, the man. A joint or the end of a sentence before a phrase cuts it off from
    what stands before.
    """
    ends = {phrase.last: phrase for phrase in phrases}
    found, i = [], place
    while i > 0:
        phrase = ends.get(i)
        if phrase:
            found.append(phrase)
            i = phrase.first
            if i == 0 or tokens[i - 1].text in JOINTS:
                break
        elif tokens[i - 1].text in BOUNDARIES or tokens[i - 1].text == "there":
            break
        else:
            i -= 1
    return found


def subjects_of_verb(tokens: Sequence[Token], phrases: Sequence[Phrase], place: int) -> list[Phrase]:
    """Returns the phrases that a finite verb at a token may be said of.

    "a man on a bench wears": the man, since the bench belongs to his phrase. "a bench that is old": the bench.
    """
    found = subjects_before(tokens, phrases, place)
    if len(found) < 2 or tokens[place - 1].text == "who":
        return found
    nearest = found[0]
    opens_clause = nearest.first > 0 and tokens[nearest.first - 1].text in RELATIVES  # "that a man sits on"
    follows = found[1].last == nearest.first and tokens[nearest.first].text in DETERMINERS  # "the bench a man sits on"
    if tokens[place - 1].text in RELATIVES or opens_clause or follows:
        return found[:1]
    return found[1:]


def entities_of(phrases: Iterable[Phrase]) -> list[Entity]:
    """Returns what phrases stand for, each once, in order."""
    return list(dict.fromkeys(entity for phrase in phrases for entity in phrase.entities))
