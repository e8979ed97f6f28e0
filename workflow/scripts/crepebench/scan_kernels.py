"""Compiled loops of `crepebench.scan`: find the words of captions in Arrow's buffers, and the keys that they complete.

Words are slots, numbered from 0; a run of letters or digits (see `crepebench.surface_forms.RUN`) stands for any number
of them. Runs are compared by 64-bit hashes only: equal hashes of different runs can add candidates, never lose one.
Nothing is cleared between captions: `seen[slot] == row` says that the caption holds the word.
"""

import numpy as np
from numba import njit

HASH_START = np.uint64(0xCBF29CE484222325)
HASH_FACTOR = np.uint64(0x100000001B3)
"""The constants of the hash FNV-1a."""
NOT_FOUND = -1

RUN_CLASS = np.zeros(256, np.uint8)
"""0 for bytes between runs, those of non-ASCII characters included; 1 for letters, 2 for digits."""
RUN_CLASS[ord("a") : ord("z") + 1] = 1
RUN_CLASS[ord("0") : ord("9") + 1] = 2

ATOM, ATTRIBUTE_PAIR, TRIPLE = 0, 1, 2
NEAR_ATTRIBUTE, NEAR_TRIPLE, MIDDLE_TRIPLE = 4, 4, 10
"""Distances in runs: tier 2 of an attribute and its object; tiers 1 and 2 of a subject and its object."""


def hash_run(run: str) -> int:
    """Returns the hash of a run, never 0."""
    value = int(HASH_START)
    for byte in run.encode():
        value = (value ^ byte) * int(HASH_FACTOR) % 2**64
    return value or 1


@njit(nogil=True)
def next_run(data, start, end):
    """Returns the end and the hash of the run that begins at or after `start`; the hash is 0 if there is none."""
    while start < end and RUN_CLASS[data[start]] == 0:
        start += 1
    if start == end:
        return end, np.uint64(0)
    run_class, value = RUN_CLASS[data[start]], HASH_START
    while start < end and RUN_CLASS[data[start]] == run_class:
        value = (value ^ np.uint64(data[start])) * HASH_FACTOR
        start += 1
    return start, value if value else np.uint64(1)


@njit(nogil=True)
def find_form(value, table):
    """Returns the position of a hash in the table of forms, or NOT_FOUND."""
    mask = len(table) - 1
    at = np.int64(value & np.uint64(mask))
    while table[at] != value:
        if table[at] == 0:
            return NOT_FOUND
        at = (at + 1) & mask
    return at


@njit(nogil=True)
def holds_others(entry, row, seen, other_starts, others):
    """Says whether a caption holds the other words of a key, too."""
    for at in range(other_starts[entry], other_starts[entry + 1]):
        if seen[others[at]] != row:
            return False
    return True


@njit(nogil=True)
def match_rows(data, offsets, forms, keys, n_slots):
    """Says which captions hold all words of at least one key.

    Args:
        data: (n_bytes,) uint8, UTF-8.
        offsets: (n_rows + 1,) int64.
        forms: table (power of two,) uint64 hashes, its slot_starts and slot_ends int32, and slots int32.
        keys: entry_starts (n_slots + 1,) int64 by rarest word, other_starts (n_entries + 1,) int64, others int32.
        n_slots: number of words.

    Returns:
        (n_rows,) bool.
    """
    table, slot_starts, slot_ends, slots = forms
    entry_starts, other_starts, others = keys
    n_rows = len(offsets) - 1
    found = np.zeros(n_rows, np.bool_)
    seen = np.full(n_slots, -1, np.int64)
    present = np.empty(n_slots, np.int32)
    for row in range(n_rows):
        n_present, start, end = 0, offsets[row], offsets[row + 1]
        while True:
            start, value = next_run(data, start, end)
            if value == 0:
                break
            form = find_form(value, table)
            if form == NOT_FOUND:
                continue
            for at in range(slot_starts[form], slot_ends[form]):
                slot = slots[at]
                if seen[slot] != row:
                    seen[slot] = row
                    present[n_present] = slot
                    n_present += 1
        for at in range(n_present):
            slot = present[at]
            for entry in range(entry_starts[slot], entry_starts[slot + 1]):
                if holds_others(entry, row, seen, other_starts, others):
                    found[row] = True
                    break
            if found[row]:
                break
    return found


@njit(nogil=True)
def grow(array):
    """Returns the array with room for twice as many values."""
    larger = np.empty(2 * len(array), array.dtype)
    larger[: len(array)] = array
    return larger


@njit(nogil=True)
def attribute_tier(attribute, object_, heads, nexts, places):
    """Returns the tier of an attribute (slot) and its object by the places of both in a caption."""
    tier, first = 3, heads[object_]
    at = heads[attribute]
    while at != NOT_FOUND:
        while first != NOT_FOUND and places[first] < places[at] - NEAR_ATTRIBUTE:
            first = nexts[first]
        near = first
        while near != NOT_FOUND and places[near] <= places[at] + NEAR_ATTRIBUTE:
            if places[near] == places[at] + 1:
                return 1
            if places[near] != places[at]:
                tier = 2
            near = nexts[near]
        at = nexts[at]
    return tier


@njit(nogil=True)
def triple_tier(subject, object_, middle, cursors, heads, nexts, places):
    """Returns the tier of a subject (slot), the words of a relation and an object by their places in a caption.

    Args:
        subject: slot.
        object_: slot.
        middle: slots of the relation.
        cursors: scratch, at least as long as `middle`.
        heads: first occurrence of each slot in the caption.
        nexts: next occurrence of the same slot.
        places: number of the occurrence's run in the caption.
    """
    for i in range(len(middle)):
        cursors[i] = heads[middle[i]]
    tier, last, at = 3, heads[object_], heads[subject]
    while at != NOT_FOUND:
        place = places[at]  # of the subject, then of the last word of the relation
        for i in range(len(middle)):
            while cursors[i] != NOT_FOUND and places[cursors[i]] <= places[at]:
                cursors[i] = nexts[cursors[i]]
            if cursors[i] == NOT_FOUND:
                return tier
            place = max(place, places[cursors[i]])
        while last != NOT_FOUND and places[last] <= place:
            last = nexts[last]
        if last == NOT_FOUND:
            return tier
        span = places[last] - places[at]
        if span <= NEAR_TRIPLE:
            return 1
        if span <= MIDDLE_TRIPLE:
            tier = 2
        at = nexts[at]
    return tier


@njit(nogil=True)
def pair_rows(data, offsets, forms, keys, n_slots, roles):
    """Finds all captions and keys whose words they hold, with the tier of closeness.

    Args:
        data: as for `match_rows`.
        offsets: as for `match_rows`.
        forms: as for `match_rows`.
        keys: as for `match_rows`.
        n_slots: number of words.
        roles: of the entries: kinds int8, firsts int32 (attribute or subject) and seconds int32 (object),
            NOT_FOUND where any caption has the word, middle_starts (n_entries + 1,) int64, middles int32.

    Returns:
        (n_pairs,) rows int64, entries int32, tiers int8, in the order of rows.
    """
    table, slot_starts, slot_ends, slots = forms
    entry_starts, other_starts, others = keys
    kinds, firsts, seconds, middle_starts, middles = roles
    seen = np.full(n_slots, -1, np.int64)
    present = np.empty(n_slots, np.int32)
    heads, tails = np.full(n_slots, NOT_FOUND, np.int32), np.empty(n_slots, np.int32)
    nexts, places = np.empty(1024, np.int32), np.empty(1024, np.int32)
    cursors = np.empty(len(middles) + 1, np.int32)
    rows, entries, tiers = np.empty(1024, np.int64), np.empty(1024, np.int32), np.empty(1024, np.int8)
    n_pairs = 0
    for row in range(len(offsets) - 1):
        n_present, n_places, place, start, end = 0, 0, 0, offsets[row], offsets[row + 1]
        while True:
            start, value = next_run(data, start, end)
            if value == 0:
                break
            place += 1
            form = find_form(value, table)
            if form == NOT_FOUND:
                continue
            for at in range(slot_starts[form], slot_ends[form]):
                slot = slots[at]
                if n_places == len(places):
                    nexts, places = grow(nexts), grow(places)
                nexts[n_places], places[n_places] = NOT_FOUND, place
                if seen[slot] != row:
                    seen[slot] = row
                    present[n_present] = slot
                    n_present += 1
                    heads[slot] = n_places
                else:
                    nexts[tails[slot]] = n_places
                tails[slot] = n_places
                n_places += 1
        for at in range(n_present):
            slot = present[at]
            for entry in range(entry_starts[slot], entry_starts[slot + 1]):
                if not holds_others(entry, row, seen, other_starts, others):
                    continue
                tier = 1
                if kinds[entry] != ATOM and (firsts[entry] == NOT_FOUND or seconds[entry] == NOT_FOUND):
                    tier = 3
                elif kinds[entry] == ATTRIBUTE_PAIR:
                    tier = attribute_tier(firsts[entry], seconds[entry], heads, nexts, places)
                elif kinds[entry] == TRIPLE:
                    middle = middles[middle_starts[entry] : middle_starts[entry + 1]]
                    tier = triple_tier(firsts[entry], seconds[entry], middle, cursors, heads, nexts, places)
                if n_pairs == len(rows):
                    rows, entries, tiers = grow(rows), grow(entries), grow(tiers)
                rows[n_pairs], entries[n_pairs], tiers[n_pairs] = row, entry, tier
                n_pairs += 1
    return rows[:n_pairs].copy(), entries[:n_pairs].copy(), tiers[:n_pairs].copy()
