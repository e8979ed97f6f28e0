"""Questions of a test of negation: an image, and four captions of which one is right.

Form: NegBench (arXiv:2501.09425) has questions whose right answer is positive ("A and B"), negative ("no N") or hybrid
("A but no N"). Here each question has two texts that deny something and two that do not, and a thing is denied truly as
often as falsely, so that text alone says nothing:

    positive            right A and B       wrong A but no B, A and N, B but no A
    negative, hybrid    right A but no N    wrong A but no B, A and N, B and N

A and B are there, N is not. Of attributes, A and B are things, and N is excluded by what A is.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

import numpy as np

from crepebench.accounting import KEPT, READ
from crepebench.graphs import ATTRIBUTE, OBJECT
from crepebench.inflection import article_for
from crepebench.negation_forms import (
    BARE,
    BEHIND,
    NOUN,
    TEST,
    TRAIN,
    NegationForms,
    Template,
    deny_attribute,
    deny_object,
)
from crepebench.negation_plans import Related, deal, is_absent, rng_of
from crepebench.negation_rows import AFFIRMATIVE, HYBRID, NEGATED, NEGATIVE, POSITIVE, digest
from crepebench.negation_scenes import Scene, Thing, deniable_attributes, pair_view, phrase
from crepebench.negation_slots import contrast_of
from crepebench.word_tables import WordTables

NO_TWO_THINGS, NO_ABSENT, OPTIONS_EQUAL = "no_two_things", "nothing_absent", "options_equal"
"""Reasons why there is no question."""
IMAGE, PAIR = VIEWS = ("image", "pair")
"""What of an image is looked at."""
SEEN, NEW = "seen", "new"
"""Whether a template is one of training, too."""


class Draft(NamedTuple):
    """A question before it is known what is absent.

    Attributes:
        scene: of the image.
        template: how things are denied.
        is_negated: whether the right answer denies something.
        one: the thing A.
        other: the thing B; of an attribute, another thing with an attribute.
        concept: the noun of B, or the attribute of A.
        second: of an attribute, that of the other thing.
    """

    scene: Scene
    template: Template
    is_negated: bool
    one: Thing
    other: Thing
    concept: str
    second: str = ""


def image_name(scene: Scene) -> str:
    """Returns the file name of a scene's image."""
    return PurePosixPath(scene.image["path"]).name


def make_questions(
    scenes: Sequence[Scene],
    kinds: Sequence[str],
    forms: NegationForms,
    tables: WordTables,
    related: Related,
    config: Mapping,
    counts: dict[str, Counter],
) -> Iterator[dict]:
    """Yields the questions; counts how many were tried, and why some are none."""
    own = counts["question"] = Counter({READ: 0, KEPT: 0})
    drafts: dict[str, list[Draft]] = {}
    for scene in scenes:
        for number in range(config["questions_per_image"]):
            own[READ] += 1
            rng = rng_of(config["seed"], "test", scene.image["image_id"], number)
            view = pair_view(scene, kinds, rng) if config["view"] == PAIR else scene
            draft = view and _draft(view, frozenset(kinds), forms, tables, config, rng)
            if draft is None:
                own[NO_TWO_THINGS] += 1
            else:
                group = tables.attributes[draft.concept][0] if draft.template.kind == ATTRIBUTE else ""
                drafts.setdefault(f"{draft.template.name}/{group}", []).append(draft)
    found = []
    for key in sorted(drafts):
        dealt = _deal(drafts[key], tables, related, rng_of(config["seed"], "test", key))
        again = _deal_again(drafts[key], dealt, tables, related, rng_of(config["seed"], "test again", key))
        for draft, absent, other in zip(drafts[key], dealt, again, strict=True):
            row = NO_ABSENT if None in (absent, other) else _question(draft, absent, other, forms, tables)
            own[row if isinstance(row, str) else KEPT] += 1
            found += [] if isinstance(row, str) else [row]
    known = {row["id"]: row for row in found}
    own[KEPT] = len(known)
    if len(known) < len(found):
        own["row_repeated"] = len(found) - len(known)
    yield from sorted(known.values(), key=lambda row: row["id"])


def _draft(
    scene: Scene,
    kinds: frozenset[str],
    forms: NegationForms,
    tables: WordTables,
    config: Mapping,
    rng: np.random.Generator,
) -> Draft | None:
    """Returns what a question asks of an image; None where it shows too little."""
    is_attribute, is_bare, is_negated = rng.random(3) < [
        config[f"{one}_share"] for one in ("attribute", "bare", "negated")
    ]
    if is_attribute:
        pairs = list(deniable_attributes(scene, tables))
        order = [pairs[i] for i in rng.permutation(len(pairs))]
        for thing, attribute in order[:1]:
            others = [one for one in order if one[0].noun != thing.noun]
            template = choose_template(forms, ATTRIBUTE, NOUN, [attribute], config, rng)
            if others and template:
                return Draft(scene, template, bool(is_negated), thing, others[0][0], attribute, others[0][1])
    by_noun = {thing.noun: thing for thing in scene.things if thing.noun in kinds}
    if len(by_noun) < 2:
        return None
    nouns = sorted(by_noun)
    one, other = (by_noun[nouns[i]] for i in rng.choice(len(nouns), 2, replace=False))
    template = choose_template(forms, OBJECT, BARE if is_bare else BEHIND, [one.noun, other.noun], config, rng)
    return template and Draft(scene, template, bool(is_negated), one, other, other.noun)


def choose_template(
    forms: NegationForms, kind: str, place: str, concepts: Sequence[str], config: Mapping, rng: np.random.Generator
) -> Template | None:
    """Returns a test template that can deny each of some concepts, drawn by the weights of forms; None without one."""
    return forms.draw(forms.fitting(kind, [place], TEST, concepts), config["forms"], rng)


def _deal(drafts: Sequence[Draft], tables: WordTables, related: Related, rng: np.random.Generator) -> list[str | None]:
    """Deals what drafts deny falsely as what they deny truly."""

    def fits(i: int, concept: str) -> bool:
        draft = drafts[i]
        if draft.template.kind == OBJECT:
            return is_absent(concept, draft.scene.kinds, related)
        return concept in contrast_of(draft.concept, tables.attributes)

    return deal([draft.concept for draft in drafts], fits, rng)


def _deal_again(
    drafts: Sequence[Draft], dealt: Sequence[str | None], tables: WordTables, related: Related, rng: np.random.Generator
) -> list[str | None]:
    """Deals what the last wrong text affirms: beside B the same thing as beside A, alone another one, of an attribute
    one that B's excludes.
    """
    if drafts[0].template.place == BEHIND:
        return list(dealt)

    def fits(i: int, concept: str) -> bool:
        draft = drafts[i]
        if draft.template.kind == OBJECT:
            return concept != dealt[i] and is_absent(concept, draft.scene.kinds, related)
        return concept in contrast_of(draft.second, tables.attributes)

    return deal([draft.second or draft.concept for draft in drafts], fits, rng)


def _question(draft: Draft, absent: str, other_absent: str, forms: NegationForms, tables: WordTables) -> dict | str:
    """Returns a question, or why there is none."""
    is_object, template = draft.template.kind == OBJECT, draft.template

    def write(thing: Thing, denies: bool, concept: str) -> str:
        if is_object:
            base = phrase(thing, "", tables.mass_nouns) if template.place == BEHIND else ""
            return deny_object(template, denies, base, concept, forms, tables.mass_nouns)
        words = deny_attribute(template, denies, thing.name, concept, thing.is_plural, forms)
        return words if thing.noun in tables.mass_nouns else f"{article_for(words)} {words}"

    right = write(draft.one, draft.is_negated, absent if draft.is_negated else draft.concept)
    wrong = [write(draft.one, True, draft.concept), write(draft.one, False, absent)]
    if not is_object and not draft.is_negated and not forms.fits(template, draft.second):
        return NO_TWO_THINGS
    denied = draft.one.noun if is_object else draft.second
    last = write(draft.other, not draft.is_negated, other_absent if draft.is_negated else denied)
    captions = [right, *wrong, last]
    if len(set(captions)) < len(captions):
        return OPTIONS_EQUAL
    is_alone = template.place == BARE or not is_object
    return {
        "id": digest("negation_test", draft.scene.image["image_id"], *captions),
        **{"image": image_name(draft.scene), "box": draft.scene.box},
        "captions": captions,
        "template": (NEGATIVE if is_alone else HYBRID) if draft.is_negated else POSITIVE,
        "polarity": NEGATED if draft.is_negated else AFFIRMATIVE,
        **{"form": template.form, "kind": template.kind, "frame": template.name},
        "transfer": SEEN if TRAIN in template.use else NEW,
    }
