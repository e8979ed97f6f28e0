from math import comb

import numpy as np

from crepebench.swaps import MOST_MOVED, derangements, draw_swaps, move_atoms, swap_groups

from .subgraph_rows import graph_atom

ATOMS = [
    graph_atom("object", "jar", box=(0, 0, 10, 10)),
    graph_atom("object", "box", box=(50, 50, 20, 20)),
    graph_atom("attribute", "red", object_=0),
    graph_atom("attribute", "blue", object_=1),
    graph_atom("attribute", "small", object_=1),
    graph_atom("attribute", "parked", object_=1),
    graph_atom("relation", "above", subject=0, object_=1),
]


def test_atoms_change_places_within_their_kind_and_group(tables):
    assert swap_groups(ATOMS, tables) == [[2, 3], [0, 1]]


def test_fixed_atoms_stay(tables):
    assert swap_groups(ATOMS, tables, frozenset([0])) == [[2, 3]]


def test_every_permutation_is_drawn_once_and_few_moves_come_first():
    moves = list(draw_swaps([[0, 1, 2, 3]], np.random.default_rng(1)))
    assert len({tuple(sorted(move.items())) for move in moves}) == len(moves) == 23
    assert [len(move) for move in moves] == [2] * 6 + [3] * 8 + [4] * 9


def test_no_more_atoms_move_than_allowed():
    sizes = [len(move) for move in draw_swaps([list(range(6))], np.random.default_rng(1))]
    assert max(sizes) == MOST_MOVED and sizes.count(MOST_MOVED) == comb(6, MOST_MOVED) * 44


def test_groups_take_turns():
    moves = list(draw_swaps([[0, 1, 2], [5, 6, 7]], np.random.default_rng(1)))
    assert [min(move) < 5 for move in moves[:6]] in ([True, False] * 3, [False, True] * 3)


def test_order_depends_on_the_generator_alone():
    drawn = [list(draw_swaps([[0, 1, 2, 3]], np.random.default_rng(seed))) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_deranged_atoms_all_move():
    assert list(derangements([4, 7])) == [{4: 7, 7: 4}]


def test_objects_take_their_boxes_along_and_leave_their_links():
    moved = move_atoms(ATOMS, {0: 1, 1: 0})
    assert [(atom["text"], atom["x"], atom["instance"]) for atom in moved[:2]] == [("box", 50, 1), ("jar", 0, 0)]
    assert [(atom["text"], atom["object"]) for atom in moved[2:4]] == [("red", 0), ("blue", 1)]


def test_relations_and_attributes_take_their_words_alone():
    moved = move_atoms(ATOMS, {2: 3, 3: 2})
    assert [(atom["text"], atom["object"]) for atom in moved[2:4]] == [("blue", 0), ("red", 1)]
