"""Make pairs and questions of plans, so that the polarity of a text says nothing of whether it is right.

Source: PeakPatch (arXiv 2607.23271), sections 3.4 and J: pairs of a caption and its negated version; questions of four
captions. Ours differ: half of the right answers deny something, and each question has two texts that deny something
and two that do not.

    question        right            wrong: negated   affirmed          other_image (true of another image)
    positive        affirmed_shown   denied_shown     affirmed_absent   denied_absent of another plan
    negative,       denied_absent    denied_shown     affirmed_absent   affirmed_shown of another plan
    hybrid

# ASSUME: where the right caption denies something, the wrong one of a pair affirms it (`wrong_of_negated: affirmed`):
then a text that denies is right as often as it is wrong. With `negated` the wrong one denies what is shown.
# ASSUME: half of the affirmative captions of pairs are the image's own, half the template's; where they are wrong, the
own ones name the absent thing in the place of the one that is shown.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from crepebench.graphs import OBJECT
from crepebench.negation_forms import BARE
from crepebench.negation_plans import Plan, Related, is_absent, rng_of

TRAIN, VALIDATION = SPLITS = ("train", "validation")
AFFIRMATIVE, NEGATED, BOTH, AFFIRMED = "affirmative", "negated", "both", "affirmed"
POSITIVE, NEGATIVE, HYBRID = "positive", "negative", "hybrid"
RIGHT, OTHER_IMAGE, REWORDED = "right", "other_image", "reworded"
TEMPLATE, LLM, RELEASED = "template", "llm", "released"
NO_OTHER, TRUE_OF_IMAGE, OPTIONS_EQUAL = "no_other_image", "true_of_image", "options_equal"
"""Reasons why a plan gives no question."""
TRIES = 20
"""Other plans that are looked at for an option."""


def digest(*parts: object) -> str:
    """Returns an id that depends on its parts alone: 16 hexadecimal digits."""
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:16]


def split_of(image_id: int, seed: int, validation_share: float) -> str:
    """Returns the split of an image, which depends on its id and the seed alone."""
    number = int(hashlib.sha256(f"{seed} split {image_id}".encode()).hexdigest()[:12], 16)
    return VALIDATION if number < validation_share * 16**12 else TRAIN


def pair_row(plan: Plan, config: Mapping, source: str = TEMPLATE) -> dict:
    """Returns a row of table NEGATION_PAIRS.

    Args:
        plan: of a caption.
        config: `seed`, `negated_share` (pairs whose right caption denies something), `wrong_of_negated` (AFFIRMED,
            NEGATED or BOTH), `validation_share`.
        source: of the texts.
    """
    rng = rng_of(config["seed"], "pair", plan.image_id, plan.caption, *_later(plan))
    is_negated, in_frame, denies = rng.random(3) < (config["negated_share"], 0.5, 0.5)
    in_frame = in_frame or plan.template.place == BARE
    wrong = {AFFIRMED: plan.affirmed_absent if in_frame else plan.exchanged, NEGATED: plan.denied_shown}
    if is_negated:
        which = config["wrong_of_negated"] if config["wrong_of_negated"] != BOTH else (AFFIRMED, NEGATED)[int(denies)]
        texts = plan.denied_absent, wrong[which]
        concept = plan.absent if which == AFFIRMED else plan.slot.concept
    else:
        affirmed = plan.affirmed_shown if in_frame else plan.caption
        texts, concept = (affirmed, plan.denied_shown), plan.slot.concept
    return {
        "pair_id": digest("pair", plan.image_id, *texts),
        "split": split_of(plan.image_id, config["seed"], config["validation_share"]),
        **{"image_id": plan.image_id, "caption": texts[0], "negated": texts[1]},
        **{"polarity": NEGATED if is_negated else AFFIRMATIVE, "form": plan.template.form, "kind": plan.slot.kind},
        **{"concept": concept, "template": plan.template.name, "source": source},
    }


def _later(plan: Plan) -> tuple[int, ...]:
    """Returns what sets a caption's later plans apart in draws: their number; nothing for the first."""
    return (plan.round,) if plan.round else ()


def question_rows(
    plans: Sequence[Plan], config: Mapping, objects: Mapping[int, set[str]], related: Related, counts: Counter
) -> Iterator[dict]:
    """Yields a row of table NEGATION_QUESTIONS of each plan for which another image gives an option.

    The other plan is of the same split and template.

    Args:
        plans: of captions.
        config: `seed`, `negated_share` (questions whose right answer denies something), `validation_share`.
        objects: what is shown of each image.
        related: which nouns may name one thing.
        counts: takes the reasons of plans without a question.
    """
    splits = [split_of(plan.image_id, config["seed"], config["validation_share"]) for plan in plans]
    alike: dict[tuple[str, ...], list[Plan]] = defaultdict(list)
    for plan, split in zip(plans, splits, strict=True):
        alike[split, plan.template.name].append(plan)
        alike[split, plan.template.name, plan.absent].append(plan)
    for plan, split in zip(plans, splits, strict=True):
        rng = rng_of(config["seed"], "question", plan.image_id, plan.caption, *_later(plan))
        is_negated = bool(rng.random() < config["negated_share"])
        shown = objects[plan.image_id]
        pool = alike[split, plan.template.name]
        if plan.template.place == BARE and not is_negated:  # "there is no jar" is false where there is one
            here = sorted(shown - {plan.slot.concept})
            pool = [one for concept in here for one in alike.get((split, plan.template.name, concept), ())[:TRIES]]
        drawn = (pool[i] for i in rng.integers(len(pool), size=TRIES)) if pool else ()
        others = [one for one in drawn if one.image_id != plan.image_id]
        other = next((one for one in others if is_false(one, not is_negated, shown, related)), None)
        if other is None:
            counts[TRUE_OF_IMAGE if others else NO_OTHER] += 1
            continue
        right = plan.denied_absent if is_negated else plan.affirmed_shown
        last = other.affirmed_shown if is_negated else other.denied_absent
        texts = [right, plan.denied_shown, plan.affirmed_absent, last]
        if len(set(texts)) < len(texts):
            counts[OPTIONS_EQUAL] += 1
            continue
        template = (NEGATIVE if plan.template.place == BARE else HYBRID) if is_negated else POSITIVE
        yield {
            **{"question_id": digest("question", plan.image_id, *texts), "split": split, "image_id": plan.image_id},
            **{"captions": texts, "roles": [RIGHT, NEGATED, AFFIRMED, OTHER_IMAGE], "template": template},
            **{"form": plan.template.form, "kind": plan.slot.kind},
        }


def is_false(plan: Plan, denies: bool, objects: set[str], related: Related) -> bool:
    """Says whether a text that is true of a plan's own image is false of another image.

    Args:
        plan: of the one image.
        denies: whether the text is `denied_absent`; else `affirmed_shown`.
        objects: what the other image shows.
        related: which nouns may name one thing.
    """
    if denies and plan.slot.kind == OBJECT and plan.absent in objects:
        return True
    named = plan.slot.kept if plan.template.place != BARE else ()
    if not denies and plan.slot.kind == OBJECT:
        named = (*named, plan.slot.concept)
    return any(is_absent(one, objects, related) for one in named)
