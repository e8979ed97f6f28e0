"""Compiled loops of the choice of foils: a balance of counts, and sets that are taken out of it and put back.

All arguments are flat arrays. `balance` and `slack` have one entry for each thing counted; `columns`, `values` and
`starts` are `crepebench.refinement.Differences`; `taken` holds places among all candidates.
"""

import numba
import numpy as np


@numba.njit(cache=True)
def _add(balance, columns, values, start, end, sign):
    for j in range(start, end):
        balance[columns[j]] += sign * values[j]


@numba.njit(cache=True)
def _excess(difference, slack):
    """Returns the square of what a difference has beyond its slack."""
    beyond = max(abs(difference) - slack, 0)
    return beyond * beyond


@numba.njit(cache=True)
def _cost(balance, slack, columns, values, start, end):
    """Returns by how much the sum of squares grows if a foil is taken."""
    cost = 0
    for j in range(start, end):
        column = columns[j]
        cost += _excess(balance[column] + values[j], slack[column]) - _excess(balance[column], slack[column])
    return cost


@numba.njit(cache=True)
def _choose(balance, slack, columns, values, starts, first, last, is_above, n_above, n_foils, taken):
    """Chooses the foils of one set one by one, and adds them to the balance."""
    left = np.array([n_foils - n_above, n_above])
    for place in range(n_foils):
        best, best_cost = -1, 0
        for candidate in range(first, last):
            side = 1 if is_above[candidate] else 0
            is_free = left[side] > 0
            for earlier in range(place):
                if taken[earlier] == candidate:
                    is_free = False
            if is_free:
                cost = _cost(balance, slack, columns, values, starts[candidate], starts[candidate + 1])
                if best < 0 or cost < best_cost:
                    best, best_cost = candidate, cost
        taken[place] = best
        left[1 if is_above[best] else 0] -= 1
        _add(balance, columns, values, starts[best], starts[best + 1], 1)


@numba.njit(cache=True)
def sweep(balance, slack, columns, values, starts, set_starts, is_above, ranks, order, taken, n_foils):
    """Chooses the foils of every kept set anew, given all the others."""
    for i in order:
        for place in range(n_foils):
            if taken[i, place] >= 0:
                _add(balance, columns, values, starts[taken[i, place]], starts[taken[i, place] + 1], -1)
        first, last = set_starts[i], set_starts[i + 1]
        _choose(balance, slack, columns, values, starts, first, last, is_above, ranks[i], n_foils, taken[i])


@numba.njit(cache=True)
def find_gains(balance, slack, columns, values, starts, taken):
    """Returns how much the loss of each single set would lower the sum of squares, its foils taken one by one."""
    gains = np.zeros(len(taken), np.int64)
    for i in range(len(taken)):
        for place in range(taken.shape[1]):
            for j in range(starts[taken[i, place]], starts[taken[i, place] + 1]):
                before, after = balance[columns[j]], balance[columns[j]] - values[j]
                gains[i] += _excess(before, slack[columns[j]]) - _excess(after, slack[columns[j]])
    return gains


@numba.njit(cache=True)
def drop_sets(balance, slack, columns, values, starts, taken, order, most, is_kept):
    """Takes out sets, at most `most`, whose loss lowers the sum of squares."""
    n_dropped = 0
    for i in order:
        if n_dropped == most:
            break
        gain = 0
        for place in range(taken.shape[1]):
            for j in range(starts[taken[i, place]], starts[taken[i, place] + 1]):
                column = columns[j]
                gain += _excess(balance[column], slack[column])
                balance[column] -= values[j]
                gain -= _excess(balance[column], slack[column])
        if gain > 0:
            is_kept[i] = False
            n_dropped += 1
        else:
            for place in range(taken.shape[1]):
                _add(balance, columns, values, starts[taken[i, place]], starts[taken[i, place] + 1], 1)
