"""The words that replacements may come from: those that the graphs of the test regions hold, and their senses.

# ASSUME: replacements must occur as atoms in the graphs of the test regions at least `min_pool_count` times. So foils
# stay within the words that people use for such pictures, and rare or odd words of WordNet do not come in.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from crepebench import inflection
from crepebench.files import atomic_path
from crepebench.graphs import ATTRIBUTE, ENDINGS, OBJECT, RELATION
from crepebench.image_facts import head_noun, normal_relation
from crepebench.schema import GRAPHS, OBJECTS, RELATIONSHIPS, iterate_rows

PARTS_OF_SPEECH = {OBJECT: "n", RELATION: "v"}
"""Parts of speech whose senses annotators gave, by kind of atom."""
NUMBERED = re.compile(r"\.(n|v)\.\d+$")


@dataclass(frozen=True)
class Pool:
    """The words that replacements may come from: normal forms of atoms that the test regions' graphs hold often.

    Attributes:
        words: normal forms by kind of atom.
        relation_forms: the commonest form of each relation as it follows a noun ("hang from": "hanging from").
        votes: how often annotators gave each synset to each word, by part of speech ("n", "v") and word.
    """

    words: Mapping[str, frozenset[str]]
    relation_forms: Mapping[str, str]
    votes: Mapping[str, Mapping[str, Mapping[str, int]]] = field(default_factory=dict)

    def words_by_part_of_speech(self) -> dict[str, frozenset[str]]:
        """Returns the nouns, and the verbs that relations begin with."""
        verbs = frozenset(relation.partition(" ")[0] for relation in self.words.get(RELATION, ()))
        return {"n": self.words.get(OBJECT, frozenset()), "v": verbs}


def build_pool(
    graphs: Iterable[list[dict]], min_count: int, objects: Iterable[dict] = (), relationships: Iterable[dict] = ()
) -> Pool:
    """Collects the pool.

    Args:
        graphs: column `atoms` of table GRAPHS.
        min_count: least number of times that an atom must occur.
        objects: rows of table OBJECTS; of them `names` and `synsets` are used.
        relationships: rows of table RELATIONSHIPS; of them `predicate` and `synsets` are used.
    """
    counts: Counter = Counter()
    forms: dict[str, Counter] = defaultdict(Counter)
    for atoms in graphs:
        for atom in atoms:
            counts[atom["kind"], atom["text"]] += 1
            if atom["kind"] == RELATION:
                forms[atom["text"]].update([atom["surface"]] if atom["surface"] not in ENDINGS else [])
    words = {
        kind: frozenset(text for (k, text), count in counts.items() if k == kind and count >= min_count)
        for kind in (OBJECT, ATTRIBUTE, RELATION)
    }
    usable = {text: _participial_form(text, surfaces) for text, surfaces in sorted(forms.items())}
    return Pool(words, usable, count_votes(objects, relationships))


def count_votes(objects: Iterable[dict], relationships: Iterable[dict]) -> dict[str, dict[str, dict[str, int]]]:
    """Counts how often annotators gave each synset to each noun and verb.

    Args:
        objects: rows with `names` and `synsets`.
        relationships: rows with `predicate` and `synsets`.
    """
    votes: dict[str, dict[str, Counter]] = {pos: defaultdict(Counter) for pos in PARTS_OF_SPEECH.values()}
    for row in objects:
        for word in {*row["names"], *map(head_noun, row["names"])}:
            votes["n"][word].update(row["synsets"])
    for row in relationships:
        votes["v"][normal_relation(row["predicate"]).partition(" ")[0]].update(row["synsets"])
    return {
        pos: {
            word: {name: found[name] for name in sorted(found) if (kind := NUMBERED.search(name)) and kind[1] == pos}
            for word, found in sorted(by_word.items())
        }
        for pos, by_word in votes.items()
    }


def _participial_form(relation: str, surfaces: Counter) -> str:
    """Returns the commonest surface without a finite verb, else the present participle."""
    by_count = sorted(surfaces, key=lambda surface: (-surfaces[surface], surface))
    n_words = relation.count(" ")
    usable = (s for s in by_count if inflection.verb_tag(relation, s) in ("", "VBG", "VBN") and s.count(" ") == n_words)
    return next(
        usable, relation if inflection.verb_tag(relation, relation) == "" else inflection.inflect(relation, "VBG")
    )


def build_word_pool(
    graphs_paths: list[str], objects_path: str, relationships_path: str, pool_path: str, cfg: str
) -> None:
    """Writes the pool.

    Args:
        graphs_paths: tables GRAPHS of all kept regions.
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        pool_path: JSON to write.
        cfg: config block `foils` as JSON: min_pool_count.
    """
    graphs = (row["atoms"] for path in graphs_paths for row in iterate_rows(path, GRAPHS, columns=["atoms"]))
    pool = build_pool(
        graphs,
        json.loads(cfg)["min_pool_count"],
        iterate_rows(objects_path, OBJECTS, columns=["names", "synsets"]),
        iterate_rows(relationships_path, RELATIONSHIPS, columns=["predicate", "synsets"]),
    )
    words = {kind: sorted(found) for kind, found in pool.words.items()}
    with atomic_path(pool_path) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump({"words": words, "relation_forms": pool.relation_forms, "votes": pool.votes}, file, sort_keys=True)


def read_word_pool(path: str) -> Pool:
    """Reads what `build_word_pool` wrote."""
    with open(path, encoding="utf-8") as file:
        found = json.load(file)
    words = {kind: frozenset(texts) for kind, texts in found["words"].items()}
    return Pool(words, found["relation_forms"], found["votes"])
