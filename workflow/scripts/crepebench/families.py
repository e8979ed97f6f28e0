"""The two families of retrieval sets, their foil types, and the parts of a set.

A set of a mixed foil type (combined, overall) has one truth and the foils of several parts.
"""

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION

SYSTEMATICITY, PRODUCTIVITY = "systematicity", "productivity"
ATOM, COMP, COMBINED, SWAP, NEGATE, OVERALL = "atom", "comp", "combined", "swap", "negate", "overall"
PARTS_OF_TYPE = {
    SYSTEMATICITY: {ATOM: (ATOM,), COMP: (COMP,), COMBINED: (ATOM, COMP)},
    PRODUCTIVITY: {ATOM: (ATOM,), SWAP: (SWAP,), NEGATE: (NEGATE,), OVERALL: (ATOM, SWAP, NEGATE)},
}
"""Foil types of each family, and the parts of their sets in the order of the foils."""
FOIL_TYPES = {family: tuple(parts) for family, parts in PARTS_OF_TYPE.items()}
SHARED_PART = {COMBINED: COMP}
"""The part of a mixed set that has the foils of its own foil type, since both have one truth."""
UNITS = {SYSTEMATICITY: "region", PRODUCTIVITY: "subgraph"}
"""What gives a set."""
SWAPPED, NEGATED = "swapped_", "negated_"
"""Beginnings of the kinds of foils that permute or negate atoms."""
CONTRADICTION = "contradiction"
"""Kind of a foil that denies what it affirms."""


def part_of(kind: str) -> str:
    """Returns the part of a set that foils of a kind belong to."""
    if kind in (OBJECT, ATTRIBUTE, RELATION):
        return ATOM
    if kind.startswith(SWAPPED):
        return SWAP
    return NEGATE if kind.startswith(NEGATED) or kind == CONTRADICTION else COMP
