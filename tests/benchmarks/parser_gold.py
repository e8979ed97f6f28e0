"""Compare parsers with the hand-made scene graphs of real region captions (FACTUAL, in the shared data).

The gold graphs are text: "( boys , is , 3 ) , ( boys , sit on , wall )". Each fact is an object alone, an attribute
("is") or a relation. They are split once, by a hash of image_id, into a development half, whose errors may be looked
at, and a test half, whose errors may not.

Objects, attribute pairs and relation triples of a caption are compared as sets, by head nouns and lemmas of
lemminflect on both sides, exactly. Mapped figures apply the rules of tests/data/gold_mapping.csv to both sides first.
"""

import csv
import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Graph
from crepebench.image_facts import head_noun
from crepebench.inflection import PREPOSITIONS
from crepebench.lemmas import lemmatise

GOLD = Path("factual_scene_graphs", "factual_sg_half.csv")
MAPPING = Path(__file__).parents[1] / "data" / "gold_mapping.csv"
MOST_RULES = 15
KINDS = (OBJECT, ATTRIBUTE, RELATION)
IS = "is"
SALT = "crepebench parser gold"
"""Makes the split independent of hashes by which others have chosen images."""


@dataclass
class Facts:
    """Facts of one caption in normal form: objects, (object, attribute), (subject, relation, object)."""

    objects: set = field(default_factory=set)
    attributes: set = field(default_factory=set)
    relations: set = field(default_factory=set)

    def of_kind(self, kind: str) -> set:
        """Returns the facts of one of `KINDS`."""
        return {OBJECT: self.objects, ATTRIBUTE: self.attributes, RELATION: self.relations}[kind]


class GoldRow(NamedTuple):
    """A caption with its gold facts, and the number of its facts that could not be read."""

    caption: str
    facts: Facts
    n_malformed: int
    is_test: bool


class Score(NamedTuple):
    """Shares, 0-1."""

    precision: float
    recall: float
    f1: float


def is_test_image(image_id: str) -> bool:
    """Says whether an image belongs to the test half."""
    return hashlib.sha256(f"{SALT} {image_id}".encode()).digest()[-1] % 2 == 1


def read_facts(text: str) -> tuple[list[tuple[str, ...]], int]:
    """Reads a graph as FACTUAL writes it.

    Brackets and commas are syntax where they stand alone, as the tokens of the format do. A field may hold balanced
    brackets; a fact with another number of fields than 1 or 3 is malformed.

    Returns:
        Facts as tuples of 1 or 3 fields, and the number of malformed facts.
    """
    facts: list[tuple[str, ...]] = []
    n_malformed, depth, fields = 0, 0, [[]]
    for token in text.split():
        if token == "(":
            depth += 1
            if depth == 1:
                fields = [[]]
                continue
        elif token == ")":
            depth -= 1
            if depth == 0:
                fact = tuple(" ".join(words) for words in fields)
                if len(fact) in (1, 3) and all(fact):
                    facts.append(fact)
                else:
                    n_malformed += 1
                continue
            if depth < 0:
                return facts, n_malformed + 1
        elif token == "," and depth <= 1:
            if depth == 1:
                fields.append([])
            continue
        if depth == 0:
            return facts, n_malformed + 1
        fields[-1].append(token)
    return facts, n_malformed + (depth > 0)


def normal_object(name: str) -> str:
    """Returns the lemma of the head noun."""
    return head_noun(name.lower())


def normal_attribute(text: str) -> str:
    """Returns the lemmas of an attribute's words, as adjectives, else as verbs."""
    return " ".join(map(_attribute_lemma, text.lower().split()))


def _attribute_lemma(word: str) -> str:
    lemmas = (lemmatise(word, part_of_speech) for part_of_speech in ("ADJ", "VERB"))
    return next((lemma for lemma in lemmas if lemma != word), word)


def normal_predicate(text: str) -> str:
    """Returns a relation's words with the first as the lemma of a verb, unless it is a preposition."""
    first, *rest = text.lower().split()
    return " ".join([first if first in PREPOSITIONS else lemmatise(first, "VERB"), *rest])


def gold_facts(facts: Iterable[tuple[str, ...]]) -> Facts:
    """Returns gold facts in normal form."""
    found = Facts()
    for fact in facts:
        subject = normal_object(fact[0])
        found.objects.add(subject)
        if len(fact) == 3 and fact[1] == IS:
            found.attributes.add((subject, normal_attribute(fact[2])))
        elif len(fact) == 3:
            found.objects.add(normal_object(fact[2]))
            found.relations.add((subject, normal_predicate(fact[1]), normal_object(fact[2])))
    return found


def graph_facts(graph: Graph) -> Facts:
    """Returns the facts of our parser's graph in normal form."""
    found, atoms = Facts(), graph.atoms
    for atom in atoms:
        if atom.kind == OBJECT:
            found.objects.add(normal_object(atom.text))
        elif atom.kind == ATTRIBUTE:
            found.attributes.add((normal_object(atoms[atom.object].text), normal_attribute(atom.text)))
        else:
            ends = (normal_object(atoms[end].text) for end in (atom.subject, atom.object))
            subject, object_ = ends
            found.relations.add((subject, normal_predicate(atom.text), object_))
    return found


def read_gold(folder: Path) -> Iterator[GoldRow]:
    """Reads the gold captions of the shared data."""
    with open(folder / GOLD, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            facts, n_malformed = read_facts(row["scene_graph"])
            yield GoldRow(row["caption"], gold_facts(facts), n_malformed, is_test_image(row["image_id"]))


class Mapping:
    """Rules for the gold's conventions, applied to both sides, in the order of the file.

    A rule rewrites one field of facts of a kind: the object, attribute or relation that its pattern (a regular
    expression) matches wholly. "a|b" to "c|d" rewrites a to c and b to d. An `inverted` rule swaps a relation's ends.
    """

    def __init__(self, path: Path = MAPPING):
        with open(path, newline="", encoding="utf-8") as file:
            self.rules = list(csv.DictReader(file))
        if len(self.rules) > MOST_RULES:
            raise ValueError(f"{path}: has {len(self.rules)} rules, at most {MOST_RULES} are allowed")
        self._compiled = [(rule["kind"], _rewriter(rule), rule["inverted"] == "yes") for rule in self.rules]

    def apply(self, facts: Facts) -> Facts:
        """Returns the facts as the rules rewrite them."""
        return Facts(
            {self._map(OBJECT, name)[0] for name in facts.objects},
            {(self._map(OBJECT, name)[0], self._map(ATTRIBUTE, text)[0]) for name, text in facts.attributes},
            {self._map_relation(*fact) for fact in facts.relations},
        )

    def _map(self, kind: str, text: str) -> tuple[str, bool]:
        inverted = False
        for of_kind, rewrite, inverts in self._compiled:
            if of_kind == kind and (rewritten := rewrite(text)) is not None:
                text, inverted = rewritten, inverted ^ inverts
        return text, inverted

    def _map_relation(self, subject: str, relation: str, object_: str) -> tuple[str, str, str]:
        relation, inverted = self._map(RELATION, relation)
        ends = self._map(OBJECT, subject)[0], self._map(OBJECT, object_)[0]
        return (ends[1], relation, ends[0]) if inverted else (ends[0], relation, ends[1])


def _rewriter(rule: dict[str, str]) -> Callable[[str], str | None]:
    """Returns a function that gives the text that a rule makes of another, None where it does not match."""
    if "|" in rule["replacement"]:
        pairs = dict(zip(rule["pattern"].split("|"), rule["replacement"].split("|"), strict=True))
        return pairs.get
    pattern = re.compile(rule["pattern"])
    return lambda text: match.expand(rule["replacement"]) if (match := pattern.fullmatch(text)) else None


def score(pairs: Iterable[tuple[Facts, Facts]]) -> dict[str, Score]:
    """Scores pairs of gold facts and parsed facts: micro precision, recall and F1 of each kind."""
    counts: Counter = Counter()
    for gold, parsed in pairs:
        for kind in KINDS:
            wanted, found = gold.of_kind(kind), parsed.of_kind(kind)
            counts[kind, "wanted"] += len(wanted)
            counts[kind, "found"] += len(found)
            counts[kind, "right"] += len(wanted & found)
    scores = {}
    for kind in KINDS:
        right = counts[kind, "right"]
        precision, recall = right / max(1, counts[kind, "found"]), right / max(1, counts[kind, "wanted"])
        scores[kind] = Score(precision, recall, 2 * precision * recall / max(1e-9, precision + recall))
    return scores


def ceiling(rows: Iterable[GoldRow], apply: Callable[[Facts], Facts]) -> dict[str, Score]:
    """Returns what a perfect literal parser would score: it gives each gold fact whose words the caption holds.

    Args:
        rows: gold captions.
        apply: what is done to facts before they are compared; the words of the caption count as it rewrites them, too.
    """
    return score((apply(row.facts), _literal_facts(row, apply)) for row in rows)


def _literal_facts(row: GoldRow, apply: Callable[[Facts], Facts]) -> Facts:
    """Returns the gold facts of which each word is a word of the caption, or a lemma of one."""
    tokens = re.findall(r"[\w'’-]+", row.caption.lower())
    tokens += [part for token in tokens for part in token.split("-")]
    words = set(tokens) | {lemmatise(t, upos) for t in tokens for upos in ("NOUN", "VERB", "ADJ")}
    words |= {_attribute_lemma(token) for token in tokens}
    as_facts = Facts(words, {("", word) for word in words}, {("", word, "") for word in words})
    rewritten = apply(as_facts)
    words |= rewritten.objects | {a for _, a in rewritten.attributes} | {r for _, r, _ in rewritten.relations}

    def is_literal(*texts: str) -> bool:
        return all(word in words for text in texts for word in text.split())

    gold = apply(row.facts)
    return Facts(
        {name for name in gold.objects if is_literal(name)},
        {fact for fact in gold.attributes if is_literal(*fact)},
        {fact for fact in gold.relations if is_literal(*fact)},
    )
