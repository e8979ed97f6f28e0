"""Parse captions into scene graphs of atoms and compounds, by rules on spaCy's dependency parse.

One parser serves the regions of Visual Genome and the training corpora, so that their graphs are comparable (paper
section 4.1 and A.2; the paper used the rule-based Stanford Scene Graph Parser, with attributes from spaCy's adjective
tags). docs/parser.md explains the rules with worked examples.

Normal forms: lower case; nouns, verbs and adjectives as lemmas; of a compound noun only the head.
"""

import json
import logging
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field

import polars as pl

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.lemmas import lemmatise
from crepebench.schema import GRAPHS, REGIONS, read_table, write_table

logger = logging.getLogger(__name__)

BATCH_SIZE = 256
PROGRESS_STEP = 20_000

OBJECT = "object"
ATTRIBUTE = "attribute"
RELATION = "relation"
ATTRIBUTE_OBJECT = "attribute_object"
OBJECT_RELATION_OBJECT = "object_relation_object"

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

COLOURS = frozenset("red orange yellow green blue purple pink brown black white gray grey".split())
"""Basic colour terms: adjectives before a noun, whatever the tagger makes of "white house" or "orange key"."""

SEPARATOR = re.compile(r"(?<=\s)[|–—•·-](?=\s)")
"""What web texts put between a caption and its tail; parsed as the end of a sentence, at the same length."""


@dataclass(frozen=True)
class Atom:
    """One node instance of a scene graph; see `crepebench.schema.ATOM` for the fields."""

    kind: str
    text: str
    surface: str
    start: int
    end: int
    subject: int = -1
    object: int = -1


@dataclass(frozen=True)
class Compound:
    """One primitive join of atoms, by their normal forms; fields that do not apply are ""."""

    kind: str
    subject: str
    relation: str
    object: str
    attribute: str

    def __str__(self) -> str:
        words = (
            (self.attribute, self.object)
            if self.kind == ATTRIBUTE_OBJECT
            else (self.subject, self.relation, self.object)
        )
        return " ".join(words)


@dataclass
class Graph:
    """A caption's scene graph: instances of objects, then of attributes and relations."""

    atoms: list[Atom] = field(default_factory=list)

    @property
    def compounds(self) -> list[Compound]:
        """Compounds in the order of the atoms that join them, each once."""
        found = {}
        for atom in self.atoms:
            if atom.kind == ATTRIBUTE:
                found[Compound(ATTRIBUTE_OBJECT, "", "", self.atoms[atom.object].text, atom.text)] = None
            elif atom.kind == RELATION:
                ends = self.atoms[atom.subject].text, self.atoms[atom.object].text
                found[Compound(OBJECT_RELATION_OBJECT, ends[0], atom.text, ends[1], "")] = None
        return list(found)


def load_parser(model: str):
    """Loads the spaCy pipeline without the components that the rules do not use.

    Raises:
        OSError: the pipeline is not installed; says how to install it.
    """
    import spacy

    try:
        return spacy.load(model, exclude=["ner", "senter", "lemmatizer"])
    except OSError as error:
        raise OSError(f"spaCy pipeline {model!r} is not installed: `pip install -r requirements.txt`") from error


def parse_texts(texts: Iterable[str], parser) -> Iterator[Graph]:
    """Parses texts into graphs, in input order.

    Args:
        texts: captions; they are parsed in lower case, since the tagger takes capitals for names.
        parser: what `load_parser` returns.
    """
    prepared = (SEPARATOR.sub(".", text.lower()) for text in texts)
    for n_parsed, doc in enumerate(parser.pipe(prepared, batch_size=BATCH_SIZE), start=1):
        yield build_graph(doc)
        if n_parsed % PROGRESS_STEP == 0:
            logger.info("%d texts parsed", n_parsed)


def build_graph(doc) -> Graph:
    """Builds the graph of one parsed text."""
    spans = _preposition_spans(doc)
    in_span = {token.i for span in spans for token in span}
    builder = _Builder(doc, in_span)
    for noun in builder.nouns:
        builder.add_attributes(noun)
    for span in spans:
        builder.add_span_relation(span)
    for token in doc:
        if token.i in in_span:
            continue
        if token.dep_ in ("prep", "agent", "dative") and token.pos_ in ("ADP", "SCONJ", "ADV"):
            builder.add_preposition(token)
        elif token.pos_ == "VERB":
            builder.add_verb(token)
    return builder.graph()


def _preposition_spans(doc) -> list:
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


class _Builder:
    """Collects the atoms of one text; objects first, in reading order."""

    def __init__(self, doc, in_span: set[int]):
        self.doc = doc
        self.nouns = [token for token in doc if token.i not in in_span and _is_object(token, in_span)]
        self._index = {noun.i: index for index, noun in enumerate(self.nouns)}
        self._atoms = [_atom(OBJECT, _lemma(noun), noun, noun) for noun in self.nouns]
        self._joins: dict[tuple, Atom] = {}

    def graph(self) -> Graph:
        """Returns the graph: objects, then attributes and relations in reading order."""
        return Graph(
            self._atoms + sorted(self._joins.values(), key=lambda atom: (atom.start, atom.subject, atom.object))
        )

    def add_attributes(self, noun) -> None:
        """Adds adjectives before a noun and those that a copula says of it, with the ones joined to them."""
        adjectives = _modifiers(noun)
        if noun.dep_ == "nsubj" and _lemma(noun.head) == "be" and not _is_negated(noun.head):
            adjectives += [child for child in noun.head.children if child.dep_ in ("acomp", "attr")]
        for clause in noun.children:
            if clause.dep_ == "relcl" and _lemma(clause) == "be" and not _is_negated(clause):
                adjectives += [child for child in clause.children if child.dep_ == "acomp"]
        for adjective in adjectives:
            for token in _conjuncts(adjective):
                if (token.pos_ == "ADJ" and token.text.isalpha()) or token.text in COLOURS:
                    atom = _atom(ATTRIBUTE, _lemma(token), token, token, object_=self._index[noun.i])
                    self._joins.setdefault((ATTRIBUTE, token.i, noun.i), atom)

    def add_span_relation(self, span) -> None:
        """Adds a relation named by a preposition of several words."""
        preposition = NORMAL_FORM_OF_WORDS[tuple(token.lower_ for token in span)]
        inside = {token.i for token in span}
        children = [child for token in span for child in token.children if child.i >= span.end]
        objects = sorted((child for child in children if child.i in self._index), key=lambda child: child.i)
        if not objects:
            objects = [noun for noun in self.nouns if noun.i >= span.end][:1]
        governor = span.root.head if span.root.head.i not in inside else None
        subject_nouns, verb = self._subjects_of(governor) if governor is not None else ([], None)
        if not subject_nouns:
            subject_nouns = [noun for noun in self.nouns if noun.i < span.start][-1:]
        objects = [noun for found in objects for noun in _conjuncts(found) if noun.i in self._index]
        if not any(map(_is_negated, (*span, governor or span.root))):
            self._add_relations(subject_nouns, objects, verb, span[0], span[-1], preposition)

    def add_preposition(self, preposition) -> None:
        """Adds the relations between a preposition's governor and its objects; "out on" is one preposition."""
        first, text, governor = preposition, preposition.lower_, preposition.head
        if governor.pos_ == "ADP" and governor.i == preposition.i - 1 and not _objects_of(governor, self._index):
            first, text, governor = governor, f"{governor.lower_} {text}", governor.head
        objects = _objects_of(preposition, self._index)
        if objects and not _is_negated(governor) and not _is_negated(preposition):
            subject_nouns, verb = self._subjects_of(governor)
            self._add_relations(subject_nouns, objects, verb, first, preposition, text)

    def add_verb(self, verb) -> None:
        """Adds the relations between a verb's subjects and its direct objects."""
        objects = [c for child in verb.children if child.dep_ in ("dobj", "obj") for c in _conjuncts(child)]
        objects = [noun for noun in objects if noun.i in self._index]
        if objects and not _is_negated(verb):
            subject_nouns, _ = self._subjects_of(verb)
            self._add_relations(subject_nouns, objects, None, verb, verb, _lemma(verb))

    def _subjects_of(self, governor) -> tuple[list, object]:
        """Returns the nouns that a governor speaks of, and the governor itself where it is a full verb."""
        if governor.i in self._index:
            return [governor], None
        if governor.pos_ not in ("VERB", "AUX"):
            return [], None
        verb = governor if _lemma(governor) != "be" else None
        for candidate in (governor, *governor.ancestors):
            found = [child for child in candidate.children if child.dep_ in ("nsubj", "nsubjpass")]
            nouns = [noun for child in found for noun in _conjuncts(child) if noun.i in self._index]
            if nouns:
                return nouns, verb
            if candidate.dep_ in ("acl", "relcl") and candidate.head.i in self._index:
                return [candidate.head], verb
            if candidate.dep_ not in ("conj", "advcl", "xcomp", "ccomp"):
                break
        return [], verb

    def _add_relations(self, subjects, objects, verb, first, last, preposition: str) -> None:
        """Adds a relation for each subject and object; a full verb before the preposition belongs to its name."""
        if verb is not None and verb.i < first.i:
            between = self.doc[verb.i + 1 : first.i]
            particles = [token.lower_ for token in between if token.dep_ == "prt"]
            text = " ".join([_lemma(verb), *particles, preposition])
            start = verb
        else:
            text, start = preposition, first
        for subject in subjects:
            for object_ in objects:
                if subject.i != object_.i:
                    ends = self._index[subject.i], self._index[object_.i]
                    self._joins.setdefault((RELATION, text, *ends), _atom(RELATION, text, start, last, *ends))


def _atom(kind: str, text: str, first, last, subject: int = -1, object_: int = -1) -> Atom:
    start, end = first.idx, last.idx + len(last.text)
    return Atom(kind, text, first.doc.text[start:end], start, end, subject, object_)


def _is_object(token, in_span: set[int]) -> bool:
    """Says whether a token is the head of a noun phrase that names an object."""
    if token.pos_ not in ("NOUN", "PROPN") or not any(char.isalpha() for char in token.text):
        return False
    if any(child.lower_ == "no" for child in token.children):
        return False  # "no cars": what is said to be absent is no object
    if token.text in COLOURS and token.i + 1 < len(token.doc) and token.nbor().pos_ in ("NOUN", "PROPN", "ADJ"):
        return False
    if token.dep_ in ("compound", "nmod") and token.head.pos_ in ("NOUN", "PROPN") and token.head.i not in in_span:
        return token.head.i < token.i  # a compound's modifier stands before its head
    return True


def _modifiers(token) -> list:
    """Returns the adjectives before a noun, also those that hang on its modifier nouns or on each other."""
    found = []
    for child in token.children:
        if child.dep_ == "amod" or _is_stray_adjective(child):
            found += [child, *_modifiers(child)]
        elif child.dep_ in ("compound", "nmod") and child.i < token.i:
            found += _modifiers(child)
    return found


def _is_stray_adjective(token) -> bool:
    """Says whether an adjective or colour stands before its noun under another label than amod."""
    is_adjective = token.pos_ == "ADJ" or token.text in COLOURS
    return is_adjective and token.dep_ in ("compound", "nmod", "advmod", "nummod") and token.i < token.head.i


def _is_negated(token) -> bool:
    """Says whether "not" or "never" belongs to a verb or preposition."""
    return any(child.dep_ == "neg" for child in token.children)


def _conjuncts(token) -> list:
    """Returns a token and the ones joined to it by "and" or commas."""
    found = [token]
    for child in token.children:
        if child.dep_ == "conj":
            found += _conjuncts(child)
    return found


def _objects_of(preposition, index: dict[int, int]) -> list:
    """Returns the object nouns of a preposition, those joined by "and" included."""
    nouns = [noun for child in preposition.children if child.dep_ == "pobj" for noun in _conjuncts(child)]
    return [noun for noun in nouns if noun.i in index]


def _lemma(token) -> str:
    """Returns the lemma of a noun, adjective or verb token."""
    return lemmatise(token.lower_, "NOUN" if token.pos_ == "PROPN" else token.pos_)


def parse_regions(regions_path: str, graphs_path: str, part: int, n_parts: int, cfg: str) -> None:
    """Parses every `n_parts`-th region, from `part` on, and writes the graphs.

    Args:
        regions_path: table REGIONS.
        graphs_path: table GRAPHS to write.
        part: index of the part, from 0.
        n_parts: number of parts.
        cfg: config block `parser` as JSON: spacy_model.
    """
    table = read_table(regions_path, REGIONS, ["region_id", "image_id", "caption"])
    rows = table.take(list(range(part, table.num_rows, n_parts))).to_pylist()
    graphs = parse_texts((row["caption"] for row in rows), load_parser(json.loads(cfg)["spacy_model"]))
    write_table(graphs_path, GRAPHS, map(graph_row, rows, graphs))


def graph_row(region: dict, graph: Graph) -> dict:
    """Returns the row of table GRAPHS for a region's graph."""
    return {
        "region_id": region["region_id"],
        "image_id": region["image_id"],
        "atoms": [asdict(atom) for atom in graph.atoms],
        "compounds": [asdict(compound) for compound in graph.compounds],
        "n_atoms": len(graph.atoms),
    }


def drop_reason(row: dict, config: dict, seen: set) -> str:
    """Returns why a region's graph is dropped, "" where it is kept.

    Args:
        row: row of table GRAPHS.
        config: block `graphs`: min_atoms, min_compounds, duplicates (image, dataset or keep).
        seen: graphs kept so far; the row's own is added.
    """
    if row["n_atoms"] < config["min_atoms"]:
        return "atoms"
    if len(row["compounds"]) < config["min_compounds"]:
        return "compounds"
    if config["duplicates"] != "keep":
        scope = row["image_id"] if config["duplicates"] == "image" else None
        atoms = sorted((atom["kind"], atom["text"]) for atom in row["atoms"])
        key = json.dumps([scope, atoms, sorted(tuple(compound.values()) for compound in row["compounds"])])
        if key in seen:
            return "duplicate_graph"
        seen.add(key)
    return ""


def filter_graphs(part_paths: list[str], graphs_path: str, accounting_path: str, cfg: str) -> None:
    """Keeps graphs with enough atoms and compounds, one of each per image (paper section 4.1).

    Args:
        part_paths: tables GRAPHS of all parts.
        graphs_path: table GRAPHS to write, by region_id.
        accounting_path: counts to write.
        cfg: config block `graphs` as JSON.
    """
    config = json.loads(cfg)
    counts: Counter = Counter({READ: 0, KEPT: 0})
    parts = pl.concat([pl.from_arrow(read_table(path, GRAPHS)) for path in part_paths]).sort("region_id")
    seen: set[str] = set()

    def kept_rows() -> Iterator[dict]:
        for row in parts.iter_rows(named=True):
            reason = drop_reason(row, config, seen)
            counts[READ] += 1
            counts[reason or KEPT] += 1
            if not reason:
                yield row

    write_table(graphs_path, GRAPHS, kept_rows())
    write_accounting(accounting_path, "graphs", {"region": counts})
