"""Compiled loops of `crepebench.scan`: find the words of captions in Arrow's buffers, and the keys that they complete.

Words are slots, numbered from 0; a run (`crepebench.surface_forms.RUN`) stands for any number of them. Runs are
compared by 64-bit hashes only: equal hashes of different runs can add candidates, never lose one.
Nothing is cleared between captions: `seen[slot] == row` says that the caption holds the word.
"""

import string

import numpy as np
from numba import njit

from crepebench.surface_forms import MARK

HASH_START = np.uint64(0xCBF29CE484222325)
HASH_FACTOR = np.uint64(0x100000001B3)
"""The constants of the hash FNV-1a."""
NOT_FOUND = -1

LETTER, DIGIT, MARKS = 1, 2, 3
RUN_CLASS = np.zeros(256, np.uint8)
"""Classes of bytes; 0 for those between runs: spaces and most non-ASCII characters."""
RUN_CLASS[list(map(ord, string.ascii_lowercase))] = LETTER
RUN_CLASS[list(map(ord, string.digits))] = DIGIT
RUN_CLASS[[*map(ord, string.punctuation), MARK.encode()[0]]] = MARKS

ATOM, ATTRIBUTE_PAIR, TRIPLE = 0, 1, 2
STEP = 2
"""From a word's place to the next word's; marks stand between."""
NEAR_ATTRIBUTE, NEAR_TRIPLE, MIDDLE_TRIPLE = 4 * STEP, 4 * STEP, 10 * STEP
"""Distances: tier 2 of an attribute and its object; tiers 1 and 2 of a subject and its object."""


def hash_run(run: str) -> int:
    """Returns the hash of a run, never 0."""
    value = int(HASH_START)
    for byte in run.encode()[: len(run)]:  # of a mark the first
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
        if run_class == MARKS:
            break
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
    at, end = other_starts[entry], other_starts[entry + 1]
    while at < end and seen[others[at]] == row:
        at += 1
    return at == end


@njit(nogil=True)
def match_rows(texts, forms, entries, seen, present, found):
    """Says which captions hold all words of at least one key.

    Args:
        texts: data (n_bytes,) uint8, UTF-8, and its offsets (n_rows + 1,) int64.
        forms: table (a power of two,) uint64 of hashes, its slot_starts and slot_ends int32, and slots int32.
        entries: starts (n_slots + 1,) int64 by rarest word, other_starts (n_entries + 1,) int64, others int32.
        seen: (n_slots,) int64, all below 0.
        present: scratch, (n_slots,) int32.
        found: (n_rows,) bool, all False; the result.
    """
    data, offsets = texts
    table, slot_starts, slot_ends, slots = forms
    entry_starts, other_starts, others = entries
    for row in range(len(offsets) - 1):
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
            if places[near] == places[at] + STEP:
                return 1
            if places[near] != places[at]:
                tier = 2
            near = nexts[near]
        at = nexts[at]
    return tier


@njit(nogil=True)
def triple_tier(subject, object_, middle_start, middle_end, cursors, heads, nexts, places):
    """Returns the tier of a subject (slot), the words of a relation and an object by their places in a caption.

    Args:
        subject: slot.
        object_: slot.
        middle_start: where the relation's words begin in `cursors`.
        middle_end: where they end.
        cursors: first occurrences of the relation's words; they are moved on.
        heads: first occurrence of each slot in the caption.
        nexts: next occurrence of the same slot.
        places: where the occurrence stands, in steps of `STEP` a word.
    """
    tier, last, at = 3, heads[object_], heads[subject]
    while at != NOT_FOUND:
        place = places[at]  # of the subject, then of the last word of the relation
        for i in range(middle_start, middle_end):
            while cursors[i] != NOT_FOUND and places[cursors[i]] <= places[at]:
                cursors[i] = nexts[cursors[i]]
            if cursors[i] == NOT_FOUND:
                return tier
            place = max(place, places[cursors[i]])
        while last != NOT_FOUND and places[last] <= place:
            last = nexts[last]
        if last == NOT_FOUND:
            return tier
        if places[last] - places[at] <= NEAR_TRIPLE:
            return 1
        if places[last] - places[at] <= MIDDLE_TRIPLE:
            tier = 2
        at = nexts[at]
    return tier


@njit(nogil=True)
def pair_rows(texts, forms, entries, roles, scratch, pairs, first_row):
    """Finds captions and the keys whose words they hold, with the tier of closeness, until there may be no more room.

    Args:
        texts: as for `match_rows`.
        forms: as for `match_rows`.
        entries: as for `match_rows`.
        roles: of the entries: kinds int8, firsts int32 (attribute or subject) and seconds int32 (object),
            NOT_FOUND where any caption has the word, middle_starts (n_entries + 1,) int64, middles int32.
        scratch: seen (n_slots,) int64, below `first_row`; present, heads, tails (n_slots,) int32; nexts and places
            int32, with room for each slot of each run of the longest caption; cursors int32, like `middles`.
        pairs: rows int64, entries int32, tiers int8, with room for all entries: the result, in the order of rows.
        first_row: where to begin.

    Returns:
        The row to go on with, and the number of pairs.
    """
    data, offsets = texts
    table, slot_starts, slot_ends, slots = forms
    entry_starts, other_starts, others = entries
    kinds, firsts, seconds, middle_starts, middles = roles
    seen, present, heads, tails, nexts, places, cursors = scratch
    pair_rows, pair_entries, pair_tiers = pairs
    n_pairs = 0
    for row in range(first_row, len(offsets) - 1):
        if n_pairs + len(kinds) > len(pair_rows):
            return row, n_pairs
        n_present, n_places, place, start, end = 0, 0, 0, offsets[row], offsets[row + 1]
        while True:
            start, value = next_run(data, start, end)
            if value == 0:
                break
            is_mark = RUN_CLASS[data[start - 1]] == MARKS
            place += 0 if is_mark else STEP
            form = find_form(value, table)
            if form == NOT_FOUND:
                continue
            for at in range(slot_starts[form], slot_ends[form]):
                slot = slots[at]
                nexts[n_places], places[n_places] = NOT_FOUND, place + is_mark
                if seen[slot] == row:
                    nexts[tails[slot]] = n_places
                else:
                    seen[slot] = row
                    present[n_present] = slot
                    n_present += 1
                    heads[slot] = n_places
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
                    middle_start, middle_end = middle_starts[entry], middle_starts[entry + 1]
                    for i in range(middle_start, middle_end):
                        cursors[i] = heads[middles[i]]
                    tier = triple_tier(
                        firsts[entry], seconds[entry], middle_start, middle_end, cursors, heads, nexts, places
                    )
                pair_rows[n_pairs], pair_entries[n_pairs], pair_tiers[n_pairs] = row, entry, tier
                n_pairs += 1
    return len(offsets) - 1, n_pairs
