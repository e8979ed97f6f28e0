"""Set the distance of a caption and its negation beside that of a paraphrase, and of a random caption.

Only if the curve of negation rises and falls, and the others do not, is the fall one of negation and not of the text
tower. Source: paper "PeakPatch" (arXiv 2607.23271), layer analysis: 1,000 pairs a condition; where its paraphrases come
from is not said.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.accounting import KEPT, READ
from crepebench.layer_curves import curve_of
from crepebench.negation_cues import has_cue
from crepebench.paraphrases import KINDS, Rules, paraphrases_of

NEGATION, PARAPHRASE, RANDOM = CONDITIONS = ("negation", "paraphrase", "random")
PEAK, RISES, FALLS, FLAT = "peak", "rises", "falls", "flat"
"""Shapes of a curve."""
NO_RULE, NEGATED, REPEATED, NO_OTHER, NOT_NEEDED = (
    "no_rule_fits",
    "holds_a_cue",
    "caption_repeated",
    "no_other_image",
    "not_needed",
)
AS_PUBLISHED = "as the paper says: only the curve of negation has its peak inside"


class TextPair(NamedTuple):
    """Two texts of a condition.

    Attributes:
        one: the caption.
        other: its negation, paraphrase, or another image's caption.
        image_id: image of the caption.
        kind: of paraphrases, one of `crepebench.paraphrases.KINDS`, else "".
    """

    one: str
    other: str
    image_id: int
    kind: str = ""


def build_conditions(
    rows: Sequence[Mapping], rules: Rules, n: int, seed: int
) -> tuple[dict[str, list[TextPair]], dict[str, Counter]]:
    """Draws the pairs of each condition, and counts for each what was read, kept and dropped.

    # ASSUME: paraphrases are taken over all captions of the rows in their order until there are enough, so that their
    captions need not be those of the negations; each caption counts once.

    Args:
        rows: rows of NEGATION_PAIRS whose right caption is affirmative, in the order in which they are taken.
        rules: of paraphrases.
        n: most pairs of a condition.
        seed: seed of the draw of random captions.
    """
    pairs = {NEGATION: [TextPair(row["caption"], row["negated"], row["image_id"]) for row in rows[:n]]}
    counts = {condition: Counter({READ: len(rows), KEPT: 0}) for condition in CONDITIONS}
    counts[NEGATION].update({KEPT: len(pairs[NEGATION]), NOT_NEEDED: len(rows) - len(pairs[NEGATION])})
    pairs[PARAPHRASE] = _paraphrased(rows, rules, n, counts[PARAPHRASE])
    pairs[RANDOM] = _random_pairs(rows, n, seed, counts[RANDOM])
    return pairs, {
        name: Counter({k: v for k, v in found.items() if v or k in (READ, KEPT)}) for name, found in counts.items()
    }


def _paraphrased(rows: Sequence[Mapping], rules: Rules, n: int, counts: Counter) -> list[TextPair]:
    pairs: list[TextPair] = []
    seen: set[str] = set()
    for row in rows:
        caption = row["caption"]
        if len(pairs) == n:
            reason = NOT_NEEDED
        elif caption in seen:
            reason = REPEATED
        elif has_cue(caption):
            reason = NEGATED
        else:
            (found,) = paraphrases_of([caption], rules)
            reason = KEPT if found else NO_RULE
            if found:
                pairs.append(TextPair(caption, found[1], row["image_id"], found[0]))
        seen.add(caption)
        counts[reason] += 1
    return pairs


def _random_pairs(rows: Sequence[Mapping], n: int, seed: int, counts: Counter) -> list[TextPair]:
    """Gives each caption that of the next row, in a drawn order, with another image and another caption."""
    order = np.random.default_rng(seed).permutation(len(rows))
    place = {int(row): i for i, row in enumerate(order)}
    pairs = []
    for i, row in enumerate(rows):
        if len(pairs) == n:
            counts[NOT_NEEDED] += 1
            continue
        following = (rows[order[(place[i] + step) % len(rows)]] for step in range(1, len(rows)))
        other = next(
            (o for o in following if o["image_id"] != row["image_id"] and o["caption"] != row["caption"]), None
        )
        counts[KEPT if other else NO_OTHER] += 1
        if other:
            pairs.append(TextPair(row["caption"], other["caption"], row["image_id"]))
    return pairs


def shape_of(values: np.ndarray, image_ids: Sequence[int]) -> tuple[str, int]:
    """Returns the shape of a curve and its highest layer.

    A peak stands at a layer between the first and the last, and above both by more than chance: the 95% intervals of
    the two differences leave 0 out. Else the curve rises or falls from the first layer to the last, or is flat, by the
    interval of that difference.

    Args:
        values: (n, n_layers) distances.
        image_ids: image of each row.
    """
    highest = int(np.argmax(values.mean(axis=0)))
    columns = [values[:, highest] - values[:, 0], values[:, highest] - values[:, -1], values[:, -1] - values[:, 0]]
    _, low, high = curve_of(np.stack(columns, axis=1), image_ids)
    if 0 < highest < values.shape[1] - 1 and low[0] > 0 and low[1] > 0:
        return PEAK, highest + 1
    return (RISES if low[2] > 0 else FALLS if high[2] < 0 else FLAT), highest + 1


def describe_conditions(
    pairs: Mapping[str, Sequence[TextPair]], distances: Mapping[str, np.ndarray], counts: Mapping[str, Mapping]
) -> dict:
    """Describes the curves of the conditions and says whether they are as published.

    Args:
        pairs: by condition.
        distances: (n, n_layers) of each condition; none of one without pairs.
        counts: by condition.

    Returns:
        `conditions` (for each: n, distance, low, high, shape, highest layer, counts, and of paraphrases `by_kind`),
        `paraphrase_share` (the greatest D of paraphrases as a share of that of negation), `as_published` (bool, None
        where a condition has no pairs) and `verdict`.
    """
    conditions: dict[str, dict] = {}
    for condition in CONDITIONS:
        found = conditions[condition] = {"n": len(pairs[condition]), "counts": dict(counts[condition])}
        if not pairs[condition]:
            continue
        ids = [pair.image_id for pair in pairs[condition]]
        curve = curve_of(distances[condition], ids)
        shape, highest = shape_of(distances[condition], ids)
        found |= {name: values.tolist() for name, values in zip(("distance", "low", "high"), curve, strict=True)}
        found |= {"shape": shape, "highest": highest}
        if condition == PARAPHRASE:
            kinds = np.array([pair.kind for pair in pairs[condition]])
            found["by_kind"] = {
                kind: {
                    "n": int((kinds == kind).sum()),
                    "distance": distances[condition][kinds == kind].mean(0).tolist(),
                }
                for kind in KINDS
                if (kinds == kind).any()
            }
    return {"conditions": conditions, **_judge(conditions)}


def _judge(conditions: Mapping[str, Mapping]) -> dict:
    """Returns paraphrase_share, as_published and verdict."""
    empty = [condition for condition in CONDITIONS if not conditions[condition]["n"]]
    if empty:
        verdict = f"no verdict: there are no pairs of the condition {', '.join(empty)}"
        return {"paraphrase_share": None, "as_published": None, "verdict": verdict}
    greatest = {condition: max(conditions[condition]["distance"]) for condition in CONDITIONS}
    share = greatest[PARAPHRASE] / greatest[NEGATION] if greatest[NEGATION] > 0 else None
    shapes = {condition: conditions[condition]["shape"] for condition in CONDITIONS}
    as_published = [condition for condition in CONDITIONS if shapes[condition] == PEAK] == [NEGATION]
    words = ", ".join(
        f"{condition} has a peak at layer {conditions[condition]['highest']}"
        if shape == PEAK
        else f"{condition} {'is flat' if shape == FLAT else shape}"
        for condition, shape in shapes.items()
    )
    if share is not None:
        words += f"; the greatest distance of paraphrases is {share:.2f} times that of negations"
    verdict = f"{AS_PUBLISHED}; {words}" if as_published else f"not as the paper says: {words}"
    return {"paraphrase_share": share, "as_published": as_published, "verdict": verdict}
