"""Permute atoms of one kind within a caption: HN-Swap.

Source: paper sections 4.2 and A.4. Objects change places with objects, relations with relations, attributes with
attributes; no word comes from outside the caption. (In the released files a third of the foils take words of other
objects of the image, which are often second names of the same thing.)

# ASSUME: attributes change places within a group (colours, sizes) or among those of no group, since "a parked jar"
tells itself by the word alone.
# ASSUME: fewer atoms change places before more do: exchanges of two first, then of three, up to MOST_MOVED.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations, permutations

import numpy as np

from crepebench.families import SWAPPED
from crepebench.foils import in_turns
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.word_tables import WordTables

KIND_SWAPPED = {kind: SWAPPED + kind for kind in (OBJECT, ATTRIBUTE, RELATION)}
"""Kind of a foil by the kind of the atoms that changed places."""
MOST_MOVED = 5
"""Atoms that change places at most."""
MOVING = ("text", "name")
"""What of an atom moves into another's place; its links stay."""
MOVING_WITH_OBJECTS = (*MOVING, "x", "y", "width", "height", "instance")


def swap_groups(atoms: Sequence[Mapping], tables: WordTables, fixed: frozenset[int] = frozenset()) -> list[list[int]]:
    """Returns the places of atoms that may change places with each other, of two and more.

    Args:
        atoms: of the caption.
        tables: has the groups of attributes.
        fixed: places that stay.
    """
    groups: dict[tuple[str, str], list[int]] = {}
    for i, atom in enumerate(atoms):
        if i not in fixed:
            is_attribute = atom["kind"] == ATTRIBUTE
            group = tables.attributes.get(atom["text"], ("",))[0] if is_attribute else ""
            groups.setdefault((atom["kind"], group), []).append(i)
    return [places for _, places in sorted(groups.items()) if len(places) > 1]


def draw_swaps(groups: Sequence[Sequence[int]], rng: np.random.Generator) -> Iterator[dict[int, int]]:
    """Yields the permutations that move 2 to MOST_MOVED atoms, as what comes into each place; groups take turns."""
    for n_moved in range(2, MOST_MOVED + 1):
        found = {}
        for place in rng.permutation(len(groups)):
            moves = [move for chosen in combinations(groups[place], n_moved) for move in derangements(chosen)]
            found[int(place)] = [moves[i] for i in rng.permutation(len(moves))]
        for _, move in in_turns(found):
            yield move


def derangements(places: Sequence[int]) -> Iterator[dict[int, int]]:
    """Yields the ways in which all of some atoms can change places: which comes into each place."""
    for order in permutations(places):
        if all(new != old for new, old in zip(order, places, strict=True)):
            yield dict(zip(places, order, strict=True))


def move_atoms(atoms: Sequence[Mapping], move: Mapping[int, int]) -> list[dict]:
    """Returns the atoms after some have changed places; objects take their boxes along, and note their `instance`.

    Args:
        atoms: of the caption.
        move: which atom comes into each place.
    """
    before = [{**atom, "instance": i} for i, atom in enumerate(atoms)]
    after = [dict(atom) for atom in before]
    for place, source in move.items():
        names = MOVING_WITH_OBJECTS if atoms[place]["kind"] == OBJECT else MOVING
        after[place].update({name: before[source][name] for name in names if name in before[source]})
    return after


def graph_content(atoms: Sequence[Mapping]) -> tuple:
    """Returns what a graph says, in normal forms, whatever the order in which it says it."""
    joined = {end for atom in atoms for end in (atom["subject"], atom["object"])}
    facts = [
        (atom["kind"], atom["text"], *(atoms[end]["text"] for end in (atom["subject"], atom["object"]) if end >= 0))
        for i, atom in enumerate(atoms)
        if atom["kind"] != OBJECT or i not in joined
    ]
    return tuple(sorted(facts))
