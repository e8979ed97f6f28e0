"""Parse captions into scene graphs of atoms and compounds, by rules on spaCy's dependency parse.

One parser serves the regions of Visual Genome and the training corpora, so that their graphs are comparable (paper
section 4.1 and A.2; the paper used the rule-based Stanford Scene Graph Parser, with attributes from spaCy's adjective
tags). docs/parser.md explains the rules with worked examples.

# ASSUME: a possessive ending is the relation "have"; "of" and "with" are relations of their own names. Pronouns ("his")
# give none, since nobody says whose they are.

Normal forms: lower case; nouns, verbs and adjectives as lemmas; of a compound noun only the head.
"""

import logging
from collections.abc import Iterable, Iterator
from itertools import islice

from crepebench.clauses import Clauses
from crepebench.graphs import ATTRIBUTE, ENDINGS, HAVE, OBJECT, RELATION, Atom, Graph
from crepebench.phrases import (
    ALL,
    PAPER_RULE,
    PORTIONS,
    attribute_lemma,
    conjuncts,
    first_conjunct,
    is_attribute,
    is_negated,
    lemma,
    modifiers,
)
from crepebench.prepared_texts import prepare_text
from crepebench.prepositions import MULTIWORD_PREPOSITIONS, NORMAL_FORM_OF_WORDS, common_words, preposition_spans
from crepebench.words import Word, mend_tags, read_words

logger = logging.getLogger(__name__)

BATCH_SIZE = 256
CHUNK_SIZE = 2048
PROGRESS_STEP = 20_000
FEW_FAILURES, MOST_FAILED = 10, 0.01
"""Texts that may fail, as a number and as a share; texts that fail are rare, and an error in a rule hits many."""


def load_parser(model: str):
    """Loads the spaCy pipeline without the components that the rules do not use.

    Raises:
        OSError: the pipeline is not installed; says how to install it.
    """
    import spacy

    try:
        return spacy.load(model, exclude=["ner", "senter", "lemmatizer", "attribute_ruler"])
    except OSError as error:
        raise OSError(f"spaCy pipeline {model!r} is not installed: `pip install -r requirements.txt`") from error


def parse_texts(texts: Iterable[str], parser, attributes: str = PAPER_RULE) -> Iterator[Graph]:
    """Parses texts into graphs, in input order.

    A text that makes spaCy or a rule fail gives an empty graph that is marked as failed; failures are logged. Where
    more than one text in a hundred fails, it is the code that is wrong, and not the texts.
    Memory does not grow: what spaCy remembers of words is forgotten after every `CHUNK_SIZE` texts.

    Args:
        texts: captions; they are parsed in lower case, since the tagger takes capitals for names.
        parser: what `load_parser` returns.
        attributes: `PAPER_RULE` or `ALL`; see `crepebench.phrases.is_attribute`.

    Raises:
        RuntimeError: more than FEW_FAILURES texts, and more than a share of MOST_FAILED, cannot be parsed.
    """
    n_parsed, n_failed = 0, 0
    texts = iter(texts)
    while chunk := list(islice(texts, CHUNK_SIZE)):
        with parser.memory_zone():
            graphs = list(_parse_chunk(chunk, parser, attributes))
        yield from graphs
        n_parsed += len(graphs)
        n_failed += sum(graph.failed for graph in graphs)
        if n_failed > max(FEW_FAILURES, MOST_FAILED * n_parsed):
            raise RuntimeError(f"{n_failed} of {n_parsed} texts cannot be parsed; the log names them and the errors")
        if n_parsed // PROGRESS_STEP > (n_parsed - len(graphs)) // PROGRESS_STEP:
            logger.info("%d texts parsed, %d failed", n_parsed, n_failed)


def _parse_chunk(texts: list[str], parser, attributes: str) -> Iterator[Graph]:
    """Parses some texts, one by one where they cannot be parsed together."""
    prepared = [prepare_text(text) for text in texts]
    try:
        docs = list(parser.pipe((text for text, _ in prepared), batch_size=BATCH_SIZE))
    except Exception:  # spaCy's components raise errors of many kinds
        docs = [None] * len(texts)
    for text, (ready, offset), doc in zip(texts, prepared, docs, strict=True):
        try:
            yield build_graph(doc or parser(ready), attributes, offset)
        except Exception as error:
            logger.warning("a text gives an empty graph, since parsing failed: %.200r: %r", text, error)
            yield Graph(failed=True)


def necessary_words(relation: str) -> tuple[frozenset[str], ...]:
    """Returns what a text must hold for the parser to find a relation in it.

    The rules make names of relations in three ways: the lemma of a verb, its particles and a preposition, each as it
    stands; the normal form of a preposition of several words; and "have" for a possessive ending.

    Args:
        relation: normal form, "look up at".

    Returns:
        Groups of words: of each group the text must hold one, as a token or as a token's lemma under some part of
        speech.
    """
    if relation == HAVE:
        return (frozenset((HAVE, *ENDINGS)),)
    words = relation.split()
    start = next((i for i in range(len(words)) if " ".join(words[i:]) in MULTIWORD_PREPOSITIONS), len(words))
    groups = tuple(frozenset((word,)) for word in words[:start])
    return groups + (common_words(" ".join(words[start:])) if start < len(words) else ())


def build_graph(doc, attributes: str = PAPER_RULE, offset: int = 0) -> Graph:
    """Builds the graph of one parsed text.

    Args:
        doc: spaCy's Doc.
        attributes: as in `parse_texts`.
        offset: characters before the text itself.
    """
    words = read_words(doc, offset)
    spans = preposition_spans(words)
    mend_tags(words)
    clauses = Clauses(words)
    builder = _Builder(doc.text[offset:], clauses, attributes)
    for noun in clauses.nouns:
        builder.add_attributes(noun)
    for measure in clauses.measures:
        builder.add_measure(measure)
    for span in spans:
        builder.add_span_relation(span)
    for word in words:
        if word.dep == "poss":
            builder.add_possessive(word)
        if word.in_preposition or not word.is_word:
            continue
        if word.dep in ("prep", "agent", "dative", "prt") and word.pos in ("ADP", "ADV"):
            builder.add_preposition(word)
        elif word.pos == "VERB":
            builder.add_verb(word)
    return builder.graph()


class _Builder:
    """Collects the atoms of one text; objects first, in reading order."""

    def __init__(self, text: str, clauses: Clauses, attributes: str):
        self._text = text
        self._clauses = clauses
        self._rule = attributes
        self._atoms = [self._atom(OBJECT, lemma(noun), noun, noun) for noun in clauses.nouns]
        self._joins: dict[tuple, Atom] = {}

    def graph(self) -> Graph:
        """Returns the graph: objects, then attributes and relations in reading order."""
        return Graph(
            self._atoms + sorted(self._joins.values(), key=lambda atom: (atom.start, atom.subject, atom.object))
        )

    def add_attributes(self, noun: Word) -> None:
        """Adds what stands before a noun and what a copula says of it, with the words joined to it."""
        found = modifiers(noun)
        subject = first_conjunct(noun)
        if subject.dep in ("nsubj", "nsubjpass"):
            found += self._clauses.predicates(subject.head)
        for clause in noun.children:
            if clause.dep == "relcl":
                found += self._clauses.predicates(clause)
        for adjective in found:
            for word in conjuncts(adjective):
                if is_attribute(word, *self._clauses.neighbours(word), self._rule):
                    self._add_attribute(attribute_lemma(word), word, noun)

    def add_measure(self, measure: Word) -> None:
        """Adds a portion as an attribute of what it measures, under the rule `ALL`: the pizza is a slice."""
        if self._rule == ALL and lemma(measure) in PORTIONS:
            for noun in self._clauses.objects([measure]):
                self._add_attribute(lemma(measure), measure, noun)

    def _add_attribute(self, text: str, word: Word, noun: Word) -> None:
        atom = self._atom(ATTRIBUTE, text, word, word, object_=self._clauses.index[noun.i])
        self._joins.setdefault((ATTRIBUTE, word.i, noun.i), atom)

    def add_span_relation(self, span: list[Word]) -> None:
        """Adds a relation named by a preposition of several words."""
        preposition = NORMAL_FORM_OF_WORDS[tuple(word.text for word in span)]
        first, last = span[0], span[-1]
        children = [child for word in span for child in word.children if child.i > last.i]
        objects = self._clauses.objects(sorted(children, key=lambda child: child.i))
        if not objects:
            objects = self._clauses.objects([noun for noun in self._clauses.nouns if noun.i > last.i][:1])
        governor = next((word.head for word in span if not word.head.in_preposition), None)
        subjects, verb = self._clauses.subjects_of(governor) if governor is not None else ([], None)
        if not subjects:
            subjects = [noun for noun in self._clauses.nouns if noun.i < first.i][-1:]
        if not any(map(is_negated, (*span, governor or first))):
            self._add_relations(subjects, objects, verb, first, last, preposition)

    def add_preposition(self, preposition: Word) -> None:
        """Adds the relations between a preposition's governor and its objects; "out on" is one preposition."""
        first, text, governor = preposition, preposition.text, preposition.head
        if self._clauses.is_measure(governor) and text == "of":
            return
        if governor.pos == "ADP" and governor.i == preposition.i - 1 and not self._clauses.objects_of(governor):
            first, text, governor = governor, f"{governor.text} {text}", governor.head
        objects = self._clauses.objects_of(preposition)
        if objects and not is_negated(governor) and not is_negated(preposition):
            subjects, verb = self._clauses.subjects_of(governor)
            self._add_relations(subjects, objects, verb, first, preposition, text)

    def add_verb(self, verb: Word) -> None:
        """Adds the relations between a verb's subjects and its direct objects; a particle belongs to the name."""
        objects = self._clauses.direct_objects(verb)
        if objects and not is_negated(verb):
            particle = next((c for c in verb.children if c.dep == "prt" and c.i == verb.i + 1), None)
            text = f"{lemma(verb)} {particle.text}" if particle else lemma(verb)
            self._add_relations(self._clauses.subjects_of(verb)[0], objects, None, verb, particle or verb, text)

    def add_possessive(self, owner: Word) -> None:
        """Adds the relation "have" between an owner and what it owns, named by its ending."""
        owners, owned = self._clauses.objects([owner]), self._clauses.objects([owner.head])
        ending = next((child for child in owner.children if child.dep == "case"), None)
        if ending is not None and ending.text in ENDINGS:
            self._add_relations(owners, owned, None, ending, ending, HAVE)

    def _add_relations(self, subjects, objects, verb, first: Word, last: Word, preposition: str) -> None:
        """Adds a relation for each subject and object; a full verb before the preposition belongs to its name."""
        text, start = preposition, first
        if verb is not None and verb.i < first.i and not any(child.dep == "dobj" for child in verb.children):
            between = self._clauses.words[verb.i + 1 : first.i]
            particles = [word.text for word in between if word.dep == "prt"]
            text, start = " ".join([lemma(verb), *particles, preposition]), verb
        if len(subjects) == 1:
            subjects = self._clauses.joined_before(subjects[0], start)
        for subject in subjects:
            for object_ in objects:
                if subject.i != object_.i:
                    ends = self._clauses.index[subject.i], self._clauses.index[object_.i]
                    self._joins.setdefault((RELATION, text, *ends), self._atom(RELATION, text, start, last, *ends))

    def _atom(self, kind: str, text: str, first: Word, last: Word, subject: int = -1, object_: int = -1) -> Atom:
        return Atom(kind, text, self._text[first.start : last.end], first.start, last.end, subject, object_)
