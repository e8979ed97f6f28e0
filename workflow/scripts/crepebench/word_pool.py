"""The words that replacements may come from: those that the graphs of the test regions hold.

# ASSUME: replacements must occur as atoms in the graphs of the test regions at least `min_pool_count` times. So foils
# stay within the words that people use for such pictures, and rare or odd words of WordNet do not come in.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from crepebench import inflection
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION


@dataclass(frozen=True)
class Pool:
    """The words that replacements may come from: normal forms of atoms that the test regions' graphs hold often.

    Attributes:
        words: normal forms by kind of atom.
        relation_forms: the commonest form of each relation as it follows a noun ("hang from": "hanging from").
    """

    words: Mapping[str, frozenset[str]]
    relation_forms: Mapping[str, str]


def build_pool(graphs: Iterable[list[dict]], min_count: int) -> Pool:
    """Collects the pool from graphs.

    Args:
        graphs: column `atoms` of table GRAPHS.
        min_count: least number of times that an atom must occur.
    """
    counts: Counter = Counter()
    forms: dict[str, Counter] = defaultdict(Counter)
    for atoms in graphs:
        for atom in atoms:
            counts[atom["kind"], atom["text"]] += 1
            if atom["kind"] == RELATION:
                forms[atom["text"]][atom["surface"]] += 1
    words = {
        kind: frozenset(text for (k, text), count in counts.items() if k == kind and count >= min_count)
        for kind in (OBJECT, ATTRIBUTE, RELATION)
    }
    return Pool(words, {text: _participial_form(text, surfaces) for text, surfaces in forms.items()})


def _participial_form(relation: str, surfaces: Counter) -> str:
    """Returns the commonest surface without a finite verb, else the present participle."""
    by_count = sorted(surfaces, key=lambda surface: (-surfaces[surface], surface))
    n_words = relation.count(" ")
    usable = (s for s in by_count if inflection.verb_tag(relation, s) in ("", "VBG", "VBN") and s.count(" ") == n_words)
    return next(
        usable, relation if inflection.verb_tag(relation, relation) == "" else inflection.inflect(relation, "VBG")
    )
