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
from itertools import islice

from crepebench.phrases import (
    ALL,
    PAPER_RULE,
    PORTIONS,
    attribute_lemma,
    conjuncts,
    is_attribute,
    is_measure,
    is_negated,
    is_object,
    lemma,
    modifiers,
)
from crepebench.prepositions import NORMAL_FORM_OF_WORDS, preposition_spans
from crepebench.words import Word, mend_tags, read_words

logger = logging.getLogger(__name__)

BATCH_SIZE = 256
CHUNK_SIZE = 2048
PROGRESS_STEP = 20_000

OBJECT = "object"
ATTRIBUTE = "attribute"
RELATION = "relation"
ATTRIBUTE_OBJECT = "attribute_object"
OBJECT_RELATION_OBJECT = "object_relation_object"

SEPARATOR = re.compile(r"(?<=\s)[|–—•·-](?=\s)")
"""What web texts put between a caption and its tail; parsed as the end of a sentence, at the same length."""

ARTICLE = "the "
STOPS = (".", "!", "?")
NO_ARTICLE_BEFORE = frozenset(
    (
        "a an the this that these those there here it he she they we i you who what where when his her its their my "
        "our your some any no each every all both many several few one two three four five six seven eight nine ten "
        "another is are was were has have in on at of by under above behind near next to from with inside outside "
        "between"
    ).split()
)
"""First words of a text that no article goes before, or that need none."""
CLAUSES = ("prep", "acl", "relcl", "amod")
"""Dependencies of what says something of a noun behind it."""
ALONE = ("nsubj", "nsubjpass", "aux", "auxpass", "punct", "mark", "cc", "advmod")
"""Dependencies of what may stand beside a participle that describes its subject: "the cheese is melted"."""
RELATIVES = ("that", "which", "who", "whom")


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
    """A caption's scene graph: instances of objects, then of attributes and relations.

    Attributes:
        atoms: the instances, which name each other by their places here.
        failed: whether the graph is empty because the caption could not be parsed.
    """

    atoms: list[Atom] = field(default_factory=list)
    failed: bool = False

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


def parse_texts(texts: Iterable[str], parser, attributes: str = PAPER_RULE) -> Iterator[Graph]:
    """Parses texts into graphs, in input order.

    A text that makes spaCy or a rule fail gives an empty graph that is marked as failed; failures are logged.
    Memory does not grow: what spaCy remembers of words is forgotten after every `CHUNK_SIZE` texts.

    Args:
        texts: captions; they are parsed in lower case, since the tagger takes capitals for names.
        parser: what `load_parser` returns.
        attributes: `PAPER_RULE` or `ALL`; see `crepebench.phrases.is_attribute`.
    """
    n_parsed, n_failed = 0, 0
    texts = iter(texts)
    while chunk := list(islice(texts, CHUNK_SIZE)):
        with parser.memory_zone():
            graphs = list(_parse_chunk(chunk, parser, attributes))
        yield from graphs
        n_parsed += len(graphs)
        n_failed += sum(graph.failed for graph in graphs)
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


def prepare_text(text: str) -> tuple[str, int]:
    """Returns a text as the tagger reads it best, and the number of characters before its own first one.

    The tagger takes the first word of a fragment for a verb ("leaves on the ground"). So a text that starts with none
    of `NO_ARTICLE_BEFORE` gets an article, and every text a full stop; neither becomes an atom.
    """
    text = SEPARATOR.sub(".", text.lower())
    first = text.split(maxsplit=1)[:1]
    article = ARTICLE if first and first[0].isalpha() and first[0] not in NO_ARTICLE_BEFORE else ""
    stop = "" if text.rstrip().endswith(STOPS) else " ."
    return f"{article}{text}{stop}", len(article)


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
    builder = _Builder(doc.text[offset:], words, attributes)
    for noun in builder.nouns:
        builder.add_attributes(noun)
    for measure in builder.measures:
        builder.add_measure(measure)
    for span in spans:
        builder.add_span_relation(span)
    for word in words:
        if word.dep == "poss":
            builder.add_possessive(word)
        if word.in_preposition or not word.is_word:
            continue
        if word.dep in ("prep", "agent", "dative", "prt") and word.pos in ("ADP", "SCONJ", "ADV"):
            builder.add_preposition(word)
        elif word.pos == "VERB":
            builder.add_verb(word)
    return builder.graph()


class _Builder:
    """Collects the atoms of one text; objects first, in reading order."""

    def __init__(self, text: str, words: list[Word], attributes: str):
        self._text = text
        self._words = words
        self._rule = attributes
        named = list(filter(is_object, words))
        self.nouns = [noun for noun in named if not is_measure(noun)]
        self.measures = [noun for noun in named if is_measure(noun)]
        self._measures = {measure.i for measure in self.measures}
        self._index = {noun.i: index for index, noun in enumerate(self.nouns)}
        self._atoms = [self._atom(OBJECT, lemma(noun), noun, noun) for noun in self.nouns]
        self._joins: dict[tuple, Atom] = {}

    def graph(self) -> Graph:
        """Returns the graph: objects, then attributes and relations in reading order."""
        return Graph(
            self._atoms + sorted(self._joins.values(), key=lambda atom: (atom.start, atom.subject, atom.object))
        )

    def _objects(self, found: Iterable[Word]) -> list[Word]:
        """Returns the objects among words and the ones joined to them; what a measure measures stands for it."""
        objects = []
        for word in found:
            for joined in conjuncts(word):
                if joined.i in self._index:
                    objects.append(joined)
                elif joined.i in self._measures:
                    of = next(child for child in joined.children if child.text == "of")
                    objects += self._objects(child for child in of.children if child.dep == "pobj")
        return objects

    def add_attributes(self, noun: Word) -> None:
        """Adds what stands before a noun and what a copula says of it, with the words joined to it."""
        found = modifiers(noun)
        if noun.dep in ("nsubj", "nsubjpass"):
            found += self._predicates(noun.head)
        for clause in noun.children:
            if clause.dep == "relcl":
                found += self._predicates(clause)
        for adjective in found:
            for word in conjuncts(adjective):
                before, following = self._words[max(0, word.i - 1)], self._words[min(word.i + 1, len(self._words) - 1)]
                if is_attribute(word, before, following, self._rule):
                    self._add_attribute(attribute_lemma(word), word, noun)

    def add_measure(self, measure: Word) -> None:
        """Adds a portion as an attribute of what it measures, under the rule `ALL`: the pizza is a slice."""
        if self._rule == ALL and lemma(measure) in PORTIONS:
            for noun in self._objects([measure]):
                self._add_attribute(lemma(measure), measure, noun)

    def _add_attribute(self, text: str, word: Word, noun: Word) -> None:
        atom = self._atom(ATTRIBUTE, text, word, word, object_=self._index[noun.i])
        self._joins.setdefault((ATTRIBUTE, word.i, noun.i), atom)

    def _predicates(self, clause: Word) -> list[Word]:
        """Returns what a clause with a form of "be" says of its subject, a lone participle included."""
        if is_negated(clause):
            return []
        if lemma(clause) == "be":
            return [child for child in clause.children if child.dep in ("acomp", "attr")]
        is_said = any(child.dep in ("aux", "auxpass") and lemma(child) == "be" for child in clause.children)
        is_alone = all(child.dep in ALONE for child in clause.children)
        return [clause] if clause.tag in ("VBG", "VBN") and is_said and is_alone else []

    def add_span_relation(self, span: list[Word]) -> None:
        """Adds a relation named by a preposition of several words."""
        preposition = NORMAL_FORM_OF_WORDS[tuple(word.text for word in span)]
        first, last = span[0], span[-1]
        children = [child for word in span for child in word.children if child.i > last.i]
        objects = self._objects(sorted(children, key=lambda child: child.i))
        if not objects:
            objects = self._objects([noun for noun in self.nouns if noun.i > last.i][:1])
        governor = next((word.head for word in span if not word.head.in_preposition), None)
        subjects, verb = self._subjects_of(governor) if governor is not None else ([], None)
        if not subjects:
            subjects = [noun for noun in self.nouns if noun.i < first.i][-1:]
        if not any(map(is_negated, (*span, governor or first))):
            self._add_relations(subjects, objects, verb, first, last, preposition)

    def add_preposition(self, preposition: Word) -> None:
        """Adds the relations between a preposition's governor and its objects; "out on" is one preposition."""
        first, text, governor = preposition, preposition.text, preposition.head
        if governor.i in self._measures and text == "of":
            return
        if governor.pos == "ADP" and governor.i == preposition.i - 1 and not self._objects_of(governor):
            first, text, governor = governor, f"{governor.text} {text}", governor.head
        objects = self._objects_of(preposition)
        if objects and not is_negated(governor) and not is_negated(preposition):
            subjects, verb = self._subjects_of(governor)
            self._add_relations(subjects, objects, verb, first, preposition, text)

    def _objects_of(self, preposition: Word) -> list[Word]:
        """Returns the objects of a preposition; one that ends a relative clause has what the clause describes."""
        complements = [child for child in preposition.children if child.dep == "pobj"]
        if all(child.text in RELATIVES for child in complements):
            return self._described(preposition.head) if preposition.i > preposition.head.i else []
        return self._objects(complements)

    def _described(self, verb: Word) -> list[Word]:
        """Returns the noun that a relative clause with a subject of its own describes."""
        subjects = [child for child in verb.children if child.dep in ("nsubj", "nsubjpass")]
        if verb.dep != "relcl" or not self._objects(subjects) or any(child.text == "where" for child in verb.children):
            return []
        return self._objects([verb.head])[:1]

    def add_verb(self, verb: Word) -> None:
        """Adds the relations between a verb's subjects and its direct objects; a particle belongs to the name."""
        complements = [child for child in verb.children if child.dep == "dobj"]
        objects = self._objects(complements)
        if all(child.text in RELATIVES for child in complements) and not any(map(self._objects_of, verb.children)):
            objects = self._described(verb)
        if objects and not is_negated(verb):
            particle = next((c for c in verb.children if c.dep == "prt" and c.i == verb.i + 1), None)
            text = f"{lemma(verb)} {particle.text}" if particle else lemma(verb)
            self._add_relations(self._subjects_of(verb)[0], objects, None, verb, particle or verb, text)

    def add_possessive(self, owner: Word) -> None:
        """Adds the relation "have" between an owner and what it owns, named by its ending."""
        owners, owned = self._objects([owner]), self._objects([owner.head])
        ending = next((child for child in owner.children if child.dep == "case"), None)
        if ending is not None:
            self._add_relations(owners, owned, None, ending, ending, "have")

    def _subjects_of(self, governor: Word) -> tuple[list[Word], Word | None]:
        """Returns the nouns that a governor speaks of, and the governor itself where it is a full verb."""
        nouns = self._objects([governor])
        if governor.i in self._index or governor.i in self._measures:
            return nouns[:1], None
        if governor.pos == "ADJ" and governor.dep in ("amod", "acl", "relcl"):
            return self._objects([governor.head])[:1], None
        if governor.pos == "ADJ" and governor.dep in ("acomp", "ccomp"):
            return self._subjects_of(governor.head)[0], None
        if governor.pos not in ("VERB", "AUX"):
            return [], None
        verb = governor if lemma(governor) != "be" else None
        candidate = governor
        while True:
            found = [child for child in candidate.children if child.dep in ("nsubj", "nsubjpass")]
            nouns = self._objects(found)
            if nouns:
                return nouns, verb
            if candidate.dep in ("acl", "relcl") and self._objects([candidate.head]):
                return self._objects([candidate.head])[:1], verb
            if candidate.dep not in ("conj", "advcl", "xcomp", "ccomp"):
                return self._noun_before(governor), verb
            candidate = candidate.head

    def _noun_before(self, verb: Word) -> list[Word]:
        """Returns the object right before a participle."""
        before = self._words[verb.i - 1] if verb.i and verb.tag in ("VBG", "VBN") else verb
        return self._objects([before])[:1]

    def _joined_before(self, subject: Word, relation: Word) -> list[Word]:
        """Returns a subject and the objects joined to it, as far as one relation behind them speaks of all.

        The parse hangs what follows "a man and a woman" on one of them. If anything else is said of one before the
        last of them, each has a relation of its own ("a man with a hat and a woman with a bag").
        """
        first = subject
        while first.dep == "conj":
            first = first.head
        joined = [noun for noun in self._objects([first]) if noun.i < relation.i]
        if subject not in joined:
            return [subject]
        last = max(noun.i for noun in joined)
        own = any(child.dep in CLAUSES and noun.i < child.i < last for noun in joined for child in noun.children)
        return [subject] if own else joined

    def _add_relations(self, subjects, objects, verb, first: Word, last: Word, preposition: str) -> None:
        """Adds a relation for each subject and object; a full verb before the preposition belongs to its name."""
        text, start = preposition, first
        if verb is not None and verb.i < first.i and not any(child.dep == "dobj" for child in verb.children):
            between = self._words[verb.i + 1 : first.i]
            particles = [word.text for word in between if word.dep == "prt"]
            text, start = " ".join([lemma(verb), *particles, preposition]), verb
        if len(subjects) == 1:
            subjects = self._joined_before(subjects[0], start)
        for subject in subjects:
            for object_ in objects:
                if subject.i != object_.i:
                    ends = self._index[subject.i], self._index[object_.i]
                    self._joins.setdefault((RELATION, text, *ends), self._atom(RELATION, text, start, last, *ends))

    def _atom(self, kind: str, text: str, first: Word, last: Word, subject: int = -1, object_: int = -1) -> Atom:
        return Atom(kind, text, self._text[first.start : last.end], first.start, last.end, subject, object_)
