"""Facts of a caption, as the parser finds them and as people label them, in one form.

A fact is a tuple of normal forms: (object), (attribute, object) or (subject, relation, object). People write words;
lemmas of nouns and adjectives are then taken as the parser takes them. resources/parser/README.md has the rules.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from crepebench.file_faults import named_faults
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Graph
from crepebench.lemmas import lemmatise

Facts = dict[str, list[tuple[str, ...]]]
"""Facts by kind (object, attribute, relation), each as often as it is mentioned."""
LENGTHS = {OBJECT: 1, ATTRIBUTE: 2, RELATION: 3}
"""Words or groups of words in a fact of each kind."""
CAPTION_FIELDS = {"id", "style", "caption", "objects", "attributes", "relations"}


@dataclass
class LabelledCaption:
    """A caption with the facts that a reader takes from it.

    Attributes:
        id: unique among all labelled captions.
        source: "web_captions", or the corpus from which it was sampled.
        style: format of the corpus that it comes from or imitates.
        caption: as the parser gets it.
        facts: what it says.
    """

    id: str
    source: str
    style: str
    caption: str
    facts: Facts


def graph_facts(graph: Graph) -> Facts:
    """Returns the facts that the parser found, in the order of its atoms."""
    facts: Facts = {kind: [] for kind in LENGTHS}
    for atom in graph.atoms:
        subject, object_ = (graph.atoms[i].text if i >= 0 else "" for i in (atom.subject, atom.object))
        parts = {OBJECT: (atom.text,), ATTRIBUTE: (atom.text, object_), RELATION: (subject, atom.text, object_)}
        facts[atom.kind].append(parts[atom.kind])
    return facts


def label_fact(kind: str, words: Sequence[str]) -> tuple[str, ...]:
    """Returns a fact in normal form.

    Args:
        kind: object, attribute or relation.
        words: (object), (attribute, object) or (subject, relation, object), as a person writes them; a relation in
            its normal form.

    Raises:
        ValueError: there are too few or too many words, or an empty one.
    """
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise ValueError(f"{words!r:.80} is no {kind}, which is a list of {LENGTHS[kind]} texts")
    words = [" ".join(word.lower().split()) for word in words]
    if len(words) != LENGTHS[kind] or not all(words):
        raise ValueError(f"{' > '.join(words)!r} is no {kind}, which has {LENGTHS[kind]} parts")
    if kind == RELATION:
        subject, relation, object_ = words
        return lemmatise(subject, "NOUN"), relation, lemmatise(object_, "NOUN")
    *attribute, object_ = words
    return (*(lemmatise(word, "ADJ") for word in attribute), lemmatise(object_, "NOUN"))


def read_web_captions(path: str) -> list[LabelledCaption]:
    """Reads resources/parser/web_captions.jsonl.

    Raises:
        ValueError: a line is no JSON, has other fields, or a fact of the wrong form or about something that is no
            labelled object; names file and line.
    """
    labelled = []
    with named_faults(path), open(path, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                labelled.append(_web_caption(json.loads(line)))
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path}, line {number}: {error}") from error
    return labelled


def _web_caption(row: dict) -> LabelledCaption:
    if not isinstance(row, dict):
        raise ValueError(f"{row!r:.80} is no JSON object")
    if row.keys() != CAPTION_FIELDS:
        raise ValueError(f"has the fields {sorted(row)}, where {sorted(CAPTION_FIELDS)} are expected")
    for name in ("objects", "attributes", "relations"):
        if not isinstance(row[name], list) or not all(isinstance(fact, str | list) for fact in row[name]):
            raise ValueError(f"{name} is {row[name]!r:.80}, not a list")
    for name in ("id", "style", "caption"):
        if not isinstance(row[name], str):
            raise ValueError(f"{name} is {row[name]!r:.80}, not a text")
    facts = {
        OBJECT: [label_fact(OBJECT, [word]) for word in row["objects"]],
        ATTRIBUTE: [label_fact(ATTRIBUTE, words) for words in row["attributes"]],
        RELATION: [label_fact(RELATION, words) for words in row["relations"]],
    }
    objects = {word for (word,) in facts[OBJECT]}
    for fact in facts[ATTRIBUTE] + facts[RELATION]:
        missing = {fact[0], fact[-1]} - objects if len(fact) == LENGTHS[RELATION] else {fact[-1]} - objects
        if missing:
            raise ValueError(f"{' > '.join(fact)!r} names {sorted(missing)}, not among its objects")
    return LabelledCaption(row["id"], "web_captions", row["style"], row["caption"], facts)


def check_ids(labelled: Iterable[LabelledCaption]) -> None:
    """Checks that no caption is labelled twice.

    Raises:
        ValueError: names the id.
    """
    ids = set()
    for caption in labelled:
        if caption.id in ids:
            raise ValueError(f"the caption {caption.id} is labelled twice")
        ids.add(caption.id)
