"""Generated subgraphs that the tests of productivity foils share."""

import re

from crepebench import inflection
from crepebench.captions import Caption, Mention
from crepebench.image_facts import ImageFacts

from .foil_rows import ATTRIBUTES, NOUNS, RELATIONS, facts_of

CROP = {"x": 0, "y": 0, "width": 400, "height": 400}


def graph_atom(kind, text, name="", subject=-1, object_=-1, box=(None,) * 4):
    """Returns an atom of a subgraph."""
    atom = {"kind": kind, "text": text, "name": name or text, "subject": subject, "object": object_}
    return atom | dict(zip(("x", "y", "width", "height"), box, strict=True))


def make_subgraph(rng, subgraph_id):
    """Makes a subgraph of 4 to 12 atoms, its boxes at random, and facts that hold it and more."""
    n_objects, n_atoms = int(rng.integers(2, 6)), int(rng.integers(4, 13))
    nouns = [str(noun) for noun in rng.choice(NOUNS, n_objects, replace=bool(rng.random() < 0.3))]
    atoms = []
    for noun in nouns:
        name = inflection.inflect(noun, "NNS") if rng.random() < 0.2 else noun
        box = [int(n) for n in (*rng.integers(0, 200, 2), *rng.integers(40, 200, 2))]
        atoms.append(graph_atom("object", noun, name, box=box))
    relations = [str(word) for word in rng.permutation(RELATIONS)]
    attributes = [str(word) for word in rng.permutation(ATTRIBUTES)]
    pairs = [(int(i), int(j)) for i in range(n_objects) for j in range(n_objects) if i != j]
    pairs = [pairs[i] for i in rng.permutation(len(pairs))]
    joins = []
    while len(atoms) + len(joins) < n_atoms and relations and attributes:
        if rng.random() < 0.5 and pairs:
            subject, object_ = pairs.pop()
            joins.append(graph_atom("relation", relations.pop(), subject=subject, object_=object_))
        else:
            joins.append(graph_atom("attribute", attributes.pop(), object_=int(rng.integers(n_objects))))
    atoms += joins
    extra = [str(noun) for noun in rng.permutation(NOUNS)[: int(rng.integers(0, 9))]]
    facts = graph_facts(atoms, extra)
    for noun in extra:
        facts.boxes[noun].add(tuple(int(n) for n in (*rng.integers(0, 600, 2), *rng.integers(40, 200, 2))))
    for noun in nouns + extra:
        words = [str(word) for word in rng.permutation(ATTRIBUTES)[: int(rng.integers(0, 3))]]
        facts.attributes[noun].update(words)
        facts.annotated[noun].update(words)
    for _ in range(int(rng.integers(0, 5))):
        ends = [str(noun) for noun in rng.choice(nouns + extra, 2)]
        facts.triples.add((ends[0], str(rng.choice(RELATIONS)), ends[1]))
    return {"subgraph_id": subgraph_id, "atoms": atoms, **CROP}, facts


def graph_facts(atoms, extra=()) -> ImageFacts:
    """Returns the facts that the atoms of a subgraph state."""
    facts = facts_of([*(atom["text"] for atom in atoms if atom["kind"] == "object"), *extra])
    for atom in atoms:
        if atom["kind"] == "attribute":
            facts.attributes[atoms[atom["object"]]["text"]].add(atom["text"])
        elif atom["kind"] == "relation":
            facts.triples.add((atoms[atom["subject"]]["text"], atom["text"], atoms[atom["object"]]["text"]))
        else:
            facts.boxes[atom["text"]].add(tuple(atom[name] for name in ("x", "y", "width", "height")))
    return facts


def caption_of(text, *words) -> Caption:
    """Returns a language model's caption; `words` are those of each atom in turn, with "|" between its mentions."""
    mentions = []
    for i, group in enumerate(words):
        for word in group.split("|"):
            taken = {mention.start for mention in mentions}
            start = next(m.start() for m in re.finditer(rf"\b{re.escape(word)}\b", text) if m.start() not in taken)
            mentions.append(Mention(i, start, start + len(word)))
    return Caption(text, tuple(sorted(mentions, key=lambda mention: mention.start)), "transformers/model")
