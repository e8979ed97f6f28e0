"""Find the captions that may hold a compound, without parsing them: those with all of its words, in any inflection.

The parser can only make a normal form of the words that `crepebench.surface_forms` lists, so no caption is missed.
Captions are read from Arrow's buffers, without making Python strings.
"""

from collections import Counter
from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from crepebench.graphs import ATTRIBUTE_OBJECT, OBJECT_RELATION_OBJECT
from crepebench.parsing import necessary_words
from crepebench.surface_forms import find_runs

Key = tuple[str, str, str, str, str]
"""Kind, subject, relation, object, attribute: `crepebench.vocabularies.KEY_FIELDS`."""

ANY = -1
"""The slot of a word that may stand in any caption, since its forms hold no ASCII letter or digit."""
PAIRS_AT_ONCE = 1 << 20
"""Pairs that are collected before they are copied together."""


class CandidateIndex:
    """The words of vocabulary keys, ready to be looked for in captions.

    Attributes:
        keys: as given; their positions are the key_ids.
        is_open: (n_keys,) bool, False for keys that were dropped.
        runs: for each slot, a word that keys need, the runs that stand for it.
    """

    def __init__(self, keys: Iterable[Key]):
        self.keys = list(keys)
        self.is_open = np.ones(len(self.keys), bool)
        slots = _Slots()
        roles = [_roles(key, slots) for key in self.keys]
        self.runs = slots.runs
        self._n_slots = len(self.runs)
        self._forms = _form_table(self.runs)
        words = [{first, second, *middle} - {ANY} for _, first, second, middle in roles]
        n_keys = Counter(slot for each in words for slot in each)
        by_rarity = [sorted(each, key=lambda slot: (n_keys[slot], slot)) or [ANY] for each in words]
        self._rarest = np.array([each[0] for each in by_rarity], np.int32)
        self._others = _ragged([each[1:] for each in by_rarity])
        self._kinds = np.array([kind for kind, *_ in roles], np.int8)
        self._firsts = np.array([first for _, first, _, _ in roles], np.int32)
        self._seconds = np.array([second for _, _, second, _ in roles], np.int32)
        self._middles = _ragged([middle for *_, middle in roles])
        self._arrange()

    def matches(self, texts: pa.LargeStringArray) -> np.ndarray:
        """Says which captions hold all words of at least one open key.

        Args:
            texts: folded captions, without nulls.

        Returns:
            (n_texts,) bool.

        Raises:
            ValueError: the array is of another type or holds nulls.
        """
        from crepebench.scan_kernels import match_rows

        buffers = _buffers(texts)
        found = np.full(len(texts), self._always.size > 0)
        if not self._always.size:
            seen, present = np.full(self._n_slots, -1), np.empty(self._n_slots, np.int32)
            match_rows(buffers, self._forms, self._entries, seen, present, found)
        return found

    def pairs(self, texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Finds for each caption the open keys of which it holds all words.

        Tier 1: atoms, attributes right before their object, relations between subject and object that are at most
        4 words apart. Tier 2: attributes up to 4 words from it on either side, subjects up to 10 words before their
        object. Tier 3: the rest.

        Args:
            texts: folded captions, without nulls.

        Returns:
            (n_pairs,) rows int64, ascending; key_ids int32; tiers int8.

        Raises:
            ValueError: the array is of another type or holds nulls.
        """
        from crepebench.scan_kernels import pair_rows

        buffers = _buffers(texts)
        scratch = self._scratch(int(np.diff(buffers[1]).max(initial=0)))
        room = max(PAIRS_AT_ONCE, len(self._key_ids))
        found = np.empty(room, np.int64), np.empty(room, np.int32), np.empty(room, np.int8)
        parts, row = [self._always_pairs(len(texts))], 0
        while row < len(texts):
            row, n = pair_rows(buffers, self._forms, self._entries, self._roles, scratch, found, row)
            rows, entries, tiers = (each[:n] for each in found)
            parts.append((rows.copy(), self._key_ids[entries], tiers.copy()))
        rows, key_ids, tiers = (np.concatenate(column) for column in zip(*parts, strict=True))
        if len(parts[0][0]):
            order = np.argsort(rows, kind="stable")
            rows, key_ids, tiers = rows[order], key_ids[order], tiers[order]
        return rows, key_ids, tiers

    def _scratch(self, n_bytes: int) -> tuple[np.ndarray, ...]:
        """Returns the working memory of `pair_rows` for captions of up to `n_bytes` (and as many runs)."""
        _, slot_starts, slot_ends, _ = self._forms
        n_places = n_bytes * int((slot_ends - slot_starts).max())
        of_slots = (np.empty(self._n_slots, np.int32) for _ in range(3))
        of_places = (np.empty(n_places, np.int32) for _ in range(2))
        return np.full(self._n_slots, -1), *of_slots, *of_places, np.empty(len(self._roles[-1]), np.int32)

    def _always_pairs(self, n_texts: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns the pairs of open keys without a word to look for: with every caption."""
        tiers = np.where(self._kinds[self._always] == 0, 1, 3).astype(np.int8)
        return np.repeat(np.arange(n_texts), tiers.size), np.tile(self._always, n_texts), np.tile(tiers, n_texts)

    def drop(self, key_ids: Iterable[int]) -> None:
        """Takes keys out of the search, since they are decided; keys may be dropped twice."""
        self.is_open[np.fromiter(key_ids, np.int64)] = False
        self._arrange()

    def _arrange(self) -> None:
        """Lists the open keys under the rarest of their words: fewest keys have it."""
        self._always = np.flatnonzero(self.is_open & (self._rarest == ANY)).astype(np.int32)
        listed = np.flatnonzero(self.is_open & (self._rarest != ANY))
        self._key_ids = listed[np.argsort(self._rarest[listed], kind="stable")].astype(np.int32)
        starts = np.searchsorted(self._rarest[self._key_ids], np.arange(self._n_slots + 1))
        self._entries = (starts, *_take(self._others, self._key_ids))
        of_keys = (values[self._key_ids] for values in (self._kinds, self._firsts, self._seconds))
        self._roles = (*of_keys, *_take(self._middles, self._key_ids))


class _Slots:
    """Numbers words by the runs that stand for them."""

    def __init__(self):
        self.runs: list[frozenset[str]] = []
        self._of_runs: dict[frozenset[str], int] = {}
        self._of_words: dict[frozenset[str], int] = {}

    def find(self, words: frozenset[str]) -> int:
        """Returns the slot of words any of which will do."""
        if words not in self._of_words:
            runs = find_runs(words)
            if "" in runs:
                self._of_words[words] = ANY
            else:
                self._of_words[words] = self._of_runs.setdefault(runs, len(self.runs))
                if self._of_words[words] == len(self.runs):
                    self.runs.append(runs)
        return self._of_words[words]


def _roles(key: Key, slots: _Slots) -> tuple[int, int, int, list[int]]:
    """Returns the kind of a key for the kernels, and the slots of attribute or subject, object and relation."""
    from crepebench.scan_kernels import ATOM, ATTRIBUTE_PAIR, TRIPLE

    kind, subject, relation, object_, attribute = key
    middle = [slots.find(words) for words in necessary_words(relation)] if relation else []
    first, second = (slots.find(frozenset([word])) if word else ANY for word in (subject or attribute, object_))
    code = {ATTRIBUTE_OBJECT: ATTRIBUTE_PAIR, OBJECT_RELATION_OBJECT: TRIPLE}.get(kind, ATOM)
    return code, first, second, [slot for slot in middle if slot != ANY]


def _form_table(runs_of_slots: list[frozenset[str]]) -> tuple[np.ndarray, ...]:
    """Returns a hash table of runs with open addressing, and the slots of each run."""
    from crepebench.scan_kernels import hash_run

    slots_of_hash: dict[int, list[int]] = {}
    for slot, runs in enumerate(runs_of_slots):
        for value in set(map(hash_run, runs)):
            slots_of_hash.setdefault(value, []).append(slot)
    size = 1 << (4 * len(slots_of_hash) + 1).bit_length()
    table, starts, ends = np.zeros(size, np.uint64), np.zeros(size, np.int32), np.zeros(size, np.int32)
    slots = []
    for value, found in slots_of_hash.items():
        at = value % size
        while table[at]:
            at = (at + 1) % size
        table[at], starts[at], ends[at] = value, len(slots), len(slots) + len(found)
        slots += found
    return table, starts, ends, np.array(slots, np.int32)


def _ragged(lists: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    """Returns the starts of lists, int64 and one more than lists, and all their values, int32."""
    starts = np.zeros(len(lists) + 1, np.int64)
    np.cumsum([len(each) for each in lists], out=starts[1:])
    return starts, np.array([value for each in lists for value in each], np.int32)


def _take(ragged: tuple[np.ndarray, np.ndarray], ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns some of the lists of `_ragged`, in the order of their ids."""
    starts, values = ragged
    lengths = np.diff(starts)[ids]
    ends = np.cumsum(lengths)
    places = np.arange(lengths.sum()) + np.repeat(starts[:-1][ids] - (ends - lengths), lengths)
    return np.concatenate([[0], ends]), values[places]


def _buffers(texts: pa.LargeStringArray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the bytes of an array of texts and the offsets of its rows, without copying."""
    if not pa.types.is_large_string(texts.type) or texts.null_count:
        raise ValueError(
            f"captions to scan: {texts.type} with {texts.null_count} nulls; large_string without nulls is needed"
        )
    _, offsets, data = texts.buffers()
    rows = slice(texts.offset, texts.offset + len(texts) + 1)
    views = (
        np.frombuffer(data, np.uint8) if data is not None and data.size else np.empty(0, np.uint8),
        np.frombuffer(offsets, np.int64)[rows] if len(texts) else np.zeros(1, np.int64),
    )
    for view in views:
        view.flags.writeable = False  # else the loops would be compiled for each kind
    return views
