"""Draw what people are to look at: retrieval sets and captions, stratified, so that the draw depends on ids and a seed.

Every stratum that has anything gives something; beyond that the strata give in proportion to their sizes. Within a
stratum the kinds of foils come in proportion, too. The order of the records, and so the number of parts of a table,
changes nothing, and a record that is taken away changes little.

# ASSUME: the paper drew 2% of the generated captions and 1% of the queries (section 4.3) and does not say how. We draw
# in strata: sets by family, foil type and number of atoms, captions by who wrote them and number of atoms.
# ASSUME: of one crop a second set is drawn only where its stratum has no other: who has seen the truth of a crop is no
# longer blind to it.
"""

import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple

Box = tuple[int, int, int, int]
"""x, y, width, height in pixels of the image."""


class Record(NamedTuple):
    """What may be drawn.

    Attributes:
        key: what names it: strings and integers.
        stratum: what it is drawn with.
        kinds: distinct kinds of its foils, sorted; empty for a caption.
        image_id: its image.
        box: its crop.
    """

    key: tuple
    stratum: tuple
    kinds: tuple[str, ...]
    image_id: int
    box: Box


def hashed_place(*parts) -> float:
    """Returns a number of [0, 1) that depends on the parts alone."""
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def number_drawn(n: int, share: float, least: int) -> int:
    """Returns how many of `n` are drawn: a share (0-1), rounded up, but at least so many if there are so many."""
    return min(n, max(math.ceil(round(share * n, 6)), least))


def share_out(sizes: Mapping[Hashable, int], total: int) -> dict:
    """Shares a number out among strata: at least 1 each, else in proportion to their sizes, by largest remainders.

    Args:
        sizes: records of each stratum, above 0.
        total: how many to draw; at most the sum of the sizes. If there are more strata than that, each gives 1.
    """
    whole = sum(sizes.values())
    total = max(total, len(sizes))
    quotas = {name: total * size / whole for name, size in sizes.items()}
    shares = {name: min(sizes[name], max(1, math.floor(quota))) for name, quota in quotas.items()}
    while sum(shares.values()) < total:
        name = max((name for name in sorted(sizes) if shares[name] < sizes[name]), key=lambda n: quotas[n] - shares[n])
        shares[name] += 1
    while sum(shares.values()) > total:
        name = max((name for name in sorted(sizes) if shares[name] > 1), key=lambda n: shares[n] - quotas[n])
        shares[name] -= 1
    return shares


def spread(records: Iterable[Record], seed: int) -> list[Record]:
    """Orders the records of a stratum, so that its first n show the kinds of foils about as often as all do."""
    groups: dict[tuple, list[Record]] = defaultdict(list)
    for record in records:
        groups[record.kinds].append(record)
    placed = []
    for kinds, group in groups.items():
        start = hashed_place(seed, group[0].stratum, kinds)
        group.sort(key=lambda record: (hashed_place(seed, record.key), record.key))
        placed += [((rank + start) / len(group), record.key, record) for rank, record in enumerate(group)]
    return [record for _, _, record in sorted(placed)]


def draw(records: Sequence[Record], share: float, least: int, seed: int) -> list[Record]:
    """Draws records.

    Args:
        records: all, in any order, with distinct keys.
        share: 0-1, of all records.
        least: number drawn at least, if there are so many.
        seed: seed of the draw.

    Returns:
        The records drawn, in an order at random, so that neither strata nor images stand together.
    """
    strata: dict[tuple, list[Record]] = defaultdict(list)
    for record in records:
        strata[record.stratum].append(record)
    if not strata:
        return []
    shares = share_out({name: len(found) for name, found in strata.items()}, number_drawn(len(records), share, least))
    drawn: list[Record] = []
    crops: set[tuple[int, Box]] = set()
    for name in sorted(strata):
        first, second = [], []
        seen = set(crops)
        for record in spread(strata[name], seed):
            crop = (record.image_id, record.box)
            (second if crop in seen else first).append(record)
            seen.add(crop)
        chosen = (first + second)[: shares[name]]
        crops.update((record.image_id, record.box) for record in chosen)
        drawn += chosen
    return sorted(drawn, key=lambda record: (hashed_place(seed, "order", record.key), record.key))
