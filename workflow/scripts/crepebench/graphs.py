"""Parse captions into scene graphs of atoms and compounds, by rules on spaCy's dependency parse.

One parser serves the regions of Visual Genome and the training corpora, so that their graphs are comparable (paper
section 4.1 and A.2; the paper used the rule-based Stanford Scene Graph Parser, with attributes from spaCy's adjective
tags). docs/parser.md explains the rules with worked examples.

Normal forms: lower case; nouns, verbs and adjectives as lemmas; of a compound noun only the head.
"""

import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from crepebench.phrases import COLOURS, conjuncts, is_negated, is_object, lemma, modifiers, objects_of
from crepebench.prepositions import NORMAL_FORM_OF_WORDS, preposition_spans

logger = logging.getLogger(__name__)

BATCH_SIZE = 256
PROGRESS_STEP = 20_000

OBJECT = "object"
ATTRIBUTE = "attribute"
RELATION = "relation"
ATTRIBUTE_OBJECT = "attribute_object"
OBJECT_RELATION_OBJECT = "object_relation_object"

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
    spans = preposition_spans(doc)
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


class _Builder:
    """Collects the atoms of one text; objects first, in reading order."""

    def __init__(self, doc, in_span: set[int]):
        self.doc = doc
        self.nouns = [token for token in doc if token.i not in in_span and is_object(token, in_span)]
        self._index = {noun.i: index for index, noun in enumerate(self.nouns)}
        self._atoms = [_atom(OBJECT, lemma(noun), noun, noun) for noun in self.nouns]
        self._joins: dict[tuple, Atom] = {}

    def graph(self) -> Graph:
        """Returns the graph: objects, then attributes and relations in reading order."""
        return Graph(
            self._atoms + sorted(self._joins.values(), key=lambda atom: (atom.start, atom.subject, atom.object))
        )

    def add_attributes(self, noun) -> None:
        """Adds adjectives before a noun and those that a copula says of it, with the ones joined to them."""
        adjectives = modifiers(noun)
        if noun.dep_ == "nsubj" and lemma(noun.head) == "be" and not is_negated(noun.head):
            adjectives += [child for child in noun.head.children if child.dep_ in ("acomp", "attr")]
        for clause in noun.children:
            if clause.dep_ == "relcl" and lemma(clause) == "be" and not is_negated(clause):
                adjectives += [child for child in clause.children if child.dep_ == "acomp"]
        for adjective in adjectives:
            for token in conjuncts(adjective):
                if (token.pos_ == "ADJ" and token.text.isalpha()) or token.text in COLOURS:
                    atom = _atom(ATTRIBUTE, lemma(token), token, token, object_=self._index[noun.i])
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
        objects = [noun for found in objects for noun in conjuncts(found) if noun.i in self._index]
        if not any(map(is_negated, (*span, governor or span.root))):
            self._add_relations(subject_nouns, objects, verb, span[0], span[-1], preposition)

    def add_preposition(self, preposition) -> None:
        """Adds the relations between a preposition's governor and its objects; "out on" is one preposition."""
        first, text, governor = preposition, preposition.lower_, preposition.head
        if governor.pos_ == "ADP" and governor.i == preposition.i - 1 and not objects_of(governor, self._index):
            first, text, governor = governor, f"{governor.lower_} {text}", governor.head
        objects = objects_of(preposition, self._index)
        if objects and not is_negated(governor) and not is_negated(preposition):
            subject_nouns, verb = self._subjects_of(governor)
            self._add_relations(subject_nouns, objects, verb, first, preposition, text)

    def add_verb(self, verb) -> None:
        """Adds the relations between a verb's subjects and its direct objects."""
        objects = [c for child in verb.children if child.dep_ in ("dobj", "obj") for c in conjuncts(child)]
        objects = [noun for noun in objects if noun.i in self._index]
        if objects and not is_negated(verb):
            subject_nouns, _ = self._subjects_of(verb)
            self._add_relations(subject_nouns, objects, None, verb, verb, lemma(verb))

    def _subjects_of(self, governor) -> tuple[list, object]:
        """Returns the nouns that a governor speaks of, and the governor itself where it is a full verb."""
        if governor.i in self._index:
            return [governor], None
        if governor.pos_ not in ("VERB", "AUX"):
            return [], None
        verb = governor if lemma(governor) != "be" else None
        for candidate in (governor, *governor.ancestors):
            found = [child for child in candidate.children if child.dep_ in ("nsubj", "nsubjpass")]
            nouns = [noun for child in found for noun in conjuncts(child) if noun.i in self._index]
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
            text = " ".join([lemma(verb), *particles, preposition])
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
