"""Rows that the tests of the foils share: atoms, pools and facts; and generated regions."""

from crepebench import inflection
from crepebench.image_facts import ImageFacts
from crepebench.schema import RELATIONSHIPS
from crepebench.word_pool import Pool
from crepebench.word_tables import WordTables

NOUNS = (
    "bottle jar bucket cup glass bowl box basket house church hotel taxi car vehicle truck couch sofa chair table bed "
    "lamp boy girl man woman person dog cat horse kite plate spoon fork knife umbrella apple"
).split()
ATTRIBUTES = (
    "red blue green yellow purple black white brown gray orange pink large small big little tall short clean dirty"
).split()
RELATIONS = (
    "above",
    "below",
    "in front of",
    "behind",
    "to the left of",
    "to the right of",
    "next to",
    "on top of",
    "under",
    "inside",
)


SENSES = {noun: f"{noun}.n.01" for noun in NOUNS} | {
    **{"church": "church.n.02", "glass": "glass.n.02", "kite": "kite.n.03", "plate": "plate.n.04"},
    **{"table": "table.n.02", "couch": "sofa.n.01", "taxi": "cab.n.03", "boy": "male_child.n.01", "lamp": "lamp.n.02"},
}
VOTES = {"n": {word: {name: 2} for word, name in SENSES.items()}}
"""Senses that annotators gave."""
NO_TABLES = WordTables({}, {}, {}, {}, frozenset())


def atom(kind, text, surface="", start=0, subject=-1, object_=-1):
    surface = surface or text
    end = start + len(surface)
    names = ("kind", "text", "surface", "start", "end", "subject", "object")
    return dict(zip(names, (kind, text, surface, start, end, subject, object_), strict=True))


def pool_of(objects=NOUNS, attributes=ATTRIBUTES, relations=RELATIONS):
    words = {"object": frozenset(objects), "attribute": frozenset(attributes), "relation": frozenset(relations)}
    return Pool(words, {relation: relation for relation in relations}, VOTES)


def facts_of(kinds=(), attributes=(), triples=(), synsets=None):
    facts = ImageFacts(set(kinds), triples=set(triples), synsets=synsets or {})
    for attribute, kind in attributes:
        facts.attributes[kind].add(attribute)
    return facts


def object_candidates(finder, text, facts):
    return {c.text for c in finder.candidates([atom("object", text)], 0, facts)}


def attribute_candidates(finder, attribute, kind, facts):
    atoms = [atom("object", kind), atom("attribute", attribute, object_=0)]
    return {c.text for c in finder.candidates(atoms, 1, facts)}


def relation_candidates(finder, subject, relation, object_, facts):
    atoms = [atom("object", subject), atom("object", object_), atom("relation", relation, subject=0, object_=1)]
    return {c.text for c in finder.candidates(atoms, 2, facts)}


def make_region(rng):
    """Makes a caption of one to three objects with attributes and relations, its atoms, and the image's facts."""
    n_objects = int(rng.integers(1, 4))
    nouns = [str(noun) for noun in rng.permutation(NOUNS)[:n_objects]]
    words_left = [str(word) for word in rng.permutation(ATTRIBUTES)]
    relations = [str(word) for word in rng.permutation(RELATIONS)]
    caption, objects, others = "", [], []
    for i, noun in enumerate(nouns):
        if i:
            relation = relations.pop()
            verb = str(rng.choice(["", "is "]))
            others.append(atom("relation", relation, start=len(caption) + 1 + len(verb), subject=i - 1, object_=i))
            caption += f" {verb}{relation} "
        surface = inflection.inflect(noun, "NNS") if rng.random() < 0.2 else noun
        attributes = [words_left.pop() for _ in range(int(rng.integers(0 if n_objects > 1 else 1, 3)))]
        first = [*attributes, surface][0]
        caption += "the " if surface != noun else f"{inflection.article_for(first)} "
        for attribute in attributes:
            others.append(atom("attribute", attribute, start=len(caption), object_=i))
            caption += f"{attribute} "
        objects.append(atom("object", noun, surface, start=len(caption)))
        caption += surface
    atoms = objects + sorted(others, key=lambda a: (a["start"], a["subject"], a["object"]))
    assert all(caption[a["start"] : a["end"]] == a["surface"] for a in atoms)
    extra = [str(noun) for noun in rng.permutation(NOUNS)[: int(rng.integers(0, 5))]]
    facts = facts_of([*nouns, *extra])
    for a in atoms:
        if a["kind"] == "attribute":
            facts.attributes[nouns[a["object"]]].add(a["text"])
        elif a["kind"] == "relation":
            facts.triples.add((nouns[a["subject"]], a["text"], nouns[a["object"]]))
    for noun in nouns + extra:
        facts.attributes[noun].update(str(word) for word in rng.permutation(ATTRIBUTES)[: int(rng.integers(0, 4))])
    for _ in range(int(rng.integers(0, 6))):
        ends = [str(noun) for noun in rng.choice(nouns + extra, 2)]
        facts.triples.add((ends[0], str(rng.choice(RELATIONS)), ends[1]))
    return caption, atoms, facts


def object_row(object_id, names, attributes=(), synsets=(), image_id=9):
    lists = {"names": list(names), "synsets": list(synsets), "attributes": list(attributes), "merged_object_ids": []}
    return {"image_id": image_id, "object_id": object_id, **lists, "x": 0, "y": 0, "width": 5, "height": 5}


def relationship_row(subject, predicate, object_, image_id=9):
    ids = {"image_id": image_id, "relationship_id": 1, "subject_id": 1, "object_id": 2}
    texts = {"predicate": predicate, "predicate_raw": predicate, "subject_name": subject, "object_name": object_}
    return {**dict.fromkeys(RELATIONSHIPS.names), **ids, **texts, "synsets": []}


def candidate(source_id=5, foil_type="atom", texts=("a blue jar", "a green jar"), reason="", image_id=9, **others):
    """Returns a row of table FOIL_CANDIDATES."""
    row = {"family": "systematicity", "protocol": "refined", "foil_type": foil_type, "image_id": image_id}
    row["source_id"] = source_id
    row |= {"x": 1, "y": 2, "width": 300, "height": 200, "complexity": 2, "reason": reason}
    row |= {"caption": "a red jar", "caption_source": "visual_genome", **others}
    kind = {"comp": "attribute_object"}.get(foil_type, "attribute")
    words = {"kind": kind, "original": "red", "replacement": "blue", "source": "table of colours"}
    return {**row, "foils": [{"text": text, **words} for text in texts]}
