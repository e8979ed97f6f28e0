"""Plan what is denied of each training caption: truly (an absent thing) and falsely (a thing that is shown).

A plan has four texts of one frame: the thing that is shown, affirmed and denied; a thing that is absent, affirmed and
denied. The first and the last are true of the image, the others false. Absent things are dealt from the very things
that plans of the same template deny falsely, so that neither words nor frames say which text is true.

# ASSUME: what no caption of an image names, nor any word above or below it in WordNet, nor a part of it, is absent;
where objects are annotated, none of them may be it either.
# ASSUME: an attribute is absent where the committed table (resources/foils/attributes.csv) says that it cannot be true
beside the one that is named; other attributes are never denied, since captions do not name all that is true.
"""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from crepebench.caption_words import normalise
from crepebench.graphs import OBJECT, Graph
from crepebench.lexicon import Lexicon
from crepebench.negation_forms import BARE, BEHIND, NegationForms, Template, deny_attribute, deny_object
from crepebench.negation_slots import Slot, clean, contrast_of, exchange, find_slots, replace_words, shown
from crepebench.word_tables import WordTables

HAS_CUE, NOT_PARSED, NO_SLOT, RARE = (
    *("caption_has_cue", "caption_not_parsed", "nothing_to_deny", "concept_rare_or_invisible"),
)
AMBIGUOUS, NO_CONTRAST = "attribute_ambiguous", "attribute_without_contrast"
NO_ABSENT = "nothing_absent"
"""Reasons why a caption gives no plan."""
MOST_LOOKED_AT = 200
"""Absent things of a deck that are looked at for a plan."""
N_SENSES = 2
"""Senses of a noun, the most usual first, of which a picture must be able to show one."""
Related = Callable[[str, str], bool]


class Captioned(NamedTuple):
    """A caption and what can be denied of it."""

    image_id: int
    text: str
    slots: tuple[Slot, ...]
    reason: str


class Plan(NamedTuple):
    """What is denied of a caption, and the texts that this gives.

    Attributes:
        image_id: of table IMAGES.
        caption: in lower case, without what does not say what is shown.
        slot: what is there, and is denied falsely.
        template: how it is denied.
        absent: what is not there, and is denied truly.
        affirmed_shown: true.
        denied_shown: false.
        affirmed_absent: false.
        denied_absent: true.
        exchanged: the caption with the absent thing in the place of the one that is shown; false.
        round: number among the plans of the caption.
    """

    image_id: int
    caption: str
    slot: Slot
    template: Template
    absent: str
    affirmed_shown: str
    denied_shown: str
    affirmed_absent: str
    denied_absent: str
    exchanged: str
    round: int = 0


class Shown(NamedTuple):
    """What captions and annotations show of each image: objects, and pairs of attribute and object."""

    objects: dict[int, set[str]]
    attributes: dict[int, set[tuple[str, str]]]


def rng_of(seed: int, *names: object) -> np.random.Generator:
    """Returns a generator that depends on a seed and names alone."""
    digest = hashlib.sha256("\0".join(map(str, (seed, *names))).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def prepare(caption: str) -> str:
    """Returns a caption in lower case, without what does not say what is shown."""
    return clean(normalise(caption))


def read_captions(
    captions: Iterable[tuple[int, str]], graphs: Iterable[Graph], forms: NegationForms, seen: Shown
) -> Iterator[Captioned]:
    """Yields each caption with what can be denied of it, and notes in `seen` what it shows.

    Args:
        captions: image_id and caption.
        graphs: of the captions as `prepare` gives them.
        forms: templates and words.
        seen: is added to.
    """
    for (image_id, caption), graph in zip(captions, graphs, strict=True):
        text = prepare(caption)
        objects, attributes = shown(graph)
        seen.objects.setdefault(image_id, set()).update(objects)
        seen.attributes.setdefault(image_id, set()).update(attributes)
        if forms.has_cue(text):
            yield Captioned(image_id, text, (), HAS_CUE)
        elif graph.failed or not graph.atoms:
            yield Captioned(image_id, text, (), NOT_PARSED)
        else:
            slots = tuple(find_slots(text, graph, forms.no_concepts))
            yield Captioned(image_id, text, slots, "" if slots else NO_SLOT)


def make_related(lexicon: Lexicon | None) -> Related:
    """Returns what says whether two nouns may name one thing, or a thing and its part; "" of WordNet: equal words."""
    if lexicon is None:
        return lambda one, other: one == other

    def related(one: str, other: str) -> bool:
        if one == other or other in lexicon.relatives(one, "n"):
            return True
        parts = (lexicon.parts(synset) for synset in lexicon.synsets(other, "n"))
        return any(one in words for words in parts)

    return related


def make_visible(lexicon: Lexicon | None) -> Callable[[str], bool]:
    """Returns what says whether a noun names what a picture can show: one of its first senses in WordNet does."""
    if lexicon is None:
        return lambda noun: True
    return lambda noun: any(lexicon.is_visible(one) for one in lexicon.synsets(noun, "n")[:N_SENSES])


def is_absent(concept: str, objects: Set[str], related: Related) -> bool:
    """Says whether an object is none of those that an image shows, nor related to one of them."""
    return concept not in objects and not any(related(concept, other) for other in objects)


def plan_all(
    captions: Sequence[Captioned],
    seen: Shown,
    forms: NegationForms,
    tables: WordTables,
    related: Related,
    is_visible: Callable[[str], bool],
    config: Mapping,
    counts: Counter,
) -> list[Plan]:
    """Returns the plans of all captions, one a caption at most, in their order.

    Args:
        captions: with what can be denied.
        seen: what is shown of each image.
        forms: templates and words.
        tables: which attributes exclude each other; mass nouns.
        related: which nouns may name one thing.
        is_visible: which nouns name what a picture can show.
        config: `seed`, `use`, `forms` (weight by form), `attribute_share`, `bare_share`, `min_count`.
        counts: takes the reasons of captions without a plan.
    """
    frequency: Counter = Counter()
    for objects in seen.objects.values():
        frequency.update(objects)
    usable = {noun for noun, n in frequency.items() if n >= config["min_count"] and is_visible(noun)}
    chosen: dict[tuple[str, str], list[tuple[int, Slot, Template]]] = defaultdict(list)
    for number, captioned in enumerate(captions):
        rng = rng_of(config["seed"], captioned.image_id, captioned.text)
        found = captioned.reason or _choose(captioned, seen, forms, tables, usable, config, rng)
        if isinstance(found, str):
            counts[found] += 1
        else:
            slot, template = found
            group = tables.attributes[slot.concept][0] if slot.kind != OBJECT else ""
            chosen[template.name, group].append((number, slot, template))
    plans: dict[int, Plan] = {}
    for key in sorted(chosen):
        rows = chosen[key]
        absent = deal_absent(rows, captions, seen, tables, related, rng_of(config["seed"], *key))
        for (number, slot, template), other in zip(rows, absent, strict=True):
            if other is None:
                counts[NO_ABSENT] += 1
            else:
                plans[number] = _plan(captions[number], slot, template, other, forms, tables)
    return [plans[number] for number in sorted(plans)]


def _choose(
    captioned: Captioned,
    seen: Shown,
    forms: NegationForms,
    tables: WordTables,
    concepts: Collection[str],
    config: Mapping,
    rng: np.random.Generator,
) -> tuple[Slot, Template] | str:
    """Returns what is denied of a caption and how, or why nothing is."""
    usable: dict[bool, list[Slot]] = {True: [], False: []}
    reason = NO_SLOT
    for slot in captioned.slots:
        if slot.kind == OBJECT:
            fault = "" if slot.concept in concepts else RARE
        else:
            contrast = contrast_of(slot.concept, tables.attributes)
            others = {one for one, noun in seen.attributes[captioned.image_id] if noun == slot.noun}
            fault = AMBIGUOUS if others.intersection(contrast) else "" if contrast else NO_CONTRAST
        if fault:
            reason = fault
        else:
            usable[slot.kind == OBJECT].append(slot)
    is_object = bool(usable[True]) and not (usable[False] and rng.random() < config["attribute_share"])
    slots = usable[is_object]
    if not slots:
        return reason
    slot = slots[rng.integers(len(slots))]
    is_bare = is_object and rng.random() < config["bare_share"]
    fitting = forms.fitting(slot.kind, [BARE if is_bare else slot.place], config["use"], [slot.concept])
    template = forms.draw(fitting, config["forms"], rng)
    return NO_SLOT if template is None else (slot, template)


def deal_absent(
    rows: Sequence[tuple[int, Slot, Template]],
    captions: Sequence[Captioned],
    seen: Shown,
    tables: WordTables,
    related: Related,
    rng: np.random.Generator,
) -> list[str | None]:
    """Deals the things that some plans deny falsely, as the things that they deny truly; None where none is left.

    Each is dealt once, so that a thing is denied truly as often as falsely, but for those that are left over.
    """

    def fits(i: int, concept: str) -> bool:
        number, slot, _ = rows[i]
        image_id = captions[number].image_id
        if slot.kind == OBJECT:
            return is_absent(concept, seen.objects[image_id], related)
        known = seen.attributes[image_id]
        return concept in contrast_of(slot.concept, tables.attributes) and (concept, slot.noun) not in known

    return deal([slot.concept for _, slot, _ in rows], fits, rng)


def deal(concepts: Sequence[str], fits: Callable[[int, str], bool], rng: np.random.Generator) -> list[str | None]:
    """Deals some concepts to as many places, each once, where they fit; None where none that is left does.

    Args:
        concepts: what is dealt.
        fits: says whether a concept fits a place.
        rng: shuffles both.
    """
    deck = [concepts[i] for i in rng.permutation(len(concepts))]
    dealt: list[str | None] = [None] * len(concepts)
    for i in map(int, rng.permutation(len(concepts))):
        tried: set[str] = set()
        for place in range(len(deck) - 1, max(-1, len(deck) - 1 - MOST_LOOKED_AT), -1):
            if deck[place] not in tried and fits(i, deck[place]):
                dealt[i] = deck.pop(place)
                break
            tried.add(deck[place])
    return dealt


def _plan(
    captioned: Captioned, slot: Slot, template: Template, absent: str, forms: NegationForms, tables: WordTables
) -> Plan:
    """Returns a plan with its four texts."""

    def write(denies: bool, concept: str) -> str:
        if slot.kind == OBJECT:
            base = slot.base if template.place == BEHIND else ""
            return deny_object(template, denies, base, concept, forms, tables.mass_nouns)
        words = deny_attribute(template, denies, slot.rest, concept, slot.is_plural, forms)
        return replace_words(captioned.text, slot, words)

    texts = [write(denies, concept) for concept in (slot.concept, absent) for denies in (False, True)]
    exchanged = exchange(captioned.text, slot, absent)
    return Plan(captioned.image_id, captioned.text, slot, template, absent, *texts, exchanged)
