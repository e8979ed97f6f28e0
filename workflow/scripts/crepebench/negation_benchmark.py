"""Build a test of negation from annotated images: questions, captions for retrieval, crops of things to classify.

Form: NegBench (arXiv:2501.09425) has questions whose right answer is positive ("A and B"), negative ("no N") or hybrid
("A but no N"), and retrieval with captions to which a denial is added. Here each question has two texts that deny
something and two that do not, and a thing is denied truly as often as falsely, so that text alone says nothing:

    positive            right A and B       wrong A but no B, A and N, B but no A
    negative, hybrid    right A but no N    wrong A but no B, A and N, B and N
    (of attributes: A is a thing, B and N two attributes that exclude each other)

# ASSUME: a thing is absent where no annotation of the image names it, nor a word above or below it in WordNet, nor a
part of it; and only kinds that many images hold are denied.
"""

import json
import logging
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import NamedTuple

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.captioned_images import EPOCH
from crepebench.files import atomic_path
from crepebench.graphs import ATTRIBUTE, OBJECT
from crepebench.hashed_draws import draw_ids
from crepebench.images import is_zip
from crepebench.inflection import article_for
from crepebench.lexicon import Lexicon
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
    read_forms,
)
from crepebench.negation_plans import Related, deal, is_absent, make_related, rng_of
from crepebench.negation_rows import AFFIRMATIVE, HYBRID, NEGATED, NEGATIVE, POSITIVE, digest
from crepebench.negation_scenes import (
    Scene,
    Thing,
    captions_of,
    deniable_attributes,
    frequent_kinds,
    make_scenes,
    pair_view,
    phrase,
)
from crepebench.negation_slots import contrast_of
from crepebench.schema import IMAGES, OBJECTS, REGION_DESCRIPTIONS, RELATIONSHIPS, iterate_rows
from crepebench.word_tables import WordTables, read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

NO_TWO_THINGS, NO_ABSENT, OPTIONS_EQUAL, NO_CLASS = "no_two_things", "nothing_absent", "options_equal", "no_class"
IMAGE, PAIR = VIEWS = ("image", "pair")
"""What of an image is looked at."""
SEEN, NEW = "seen", "new"
"""Whether a template is one of training, too."""
N_PARTS = 2
"""Relations that a caption for retrieval tells."""


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


def build_negation_benchmark(
    images_path: str,
    objects_path: str,
    relationships_path: str,
    descriptions_path: str | None,
    forms_path: str,
    tables_paths: Sequence[str],
    wordnet_path: str,
    questions_path: str,
    captions_path: str,
    classes_path: str,
    accounting_path: str,
    pictures_path: str | None,
    cfg: str,
) -> None:
    """Writes the files of the benchmark: a JSON object a line.

    Args:
        images_path: table IMAGES.
        objects_path: table OBJECTS.
        relationships_path: table RELATIONSHIPS.
        descriptions_path: table REGION_DESCRIPTIONS, whose words are never denied of their image; may be None.
        forms_path: resources/negation/templates.yaml.
        tables_paths: tables of resources/foils.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        questions_path: questions to write: id, image, box (null for all), captions (the right one first), template,
            form, polarity, kind, frame and transfer (whether training has the frame: SEEN or NEW).
        captions_path: images to write: image, box, captions, negated (captions that deny something truly), form, frame,
            transfer.
        classes_path: crops to write: image, box, class.
        accounting_path: counts to write.
        pictures_path: zip to copy the images into that the files name, as they are; a root of benchmarks is one zip or
            folder, and images may lie in several. None where one holds them all.
        cfg: JSON of `seed`, `n_images` (null for all), `questions_per_image`, `forms` (weight by form),
            `attribute_share`, `bare_share`, `negated_share`, `n_kinds`, `min_images` (of a kind), `n_retrieval`
            (images), `n_classes`, and `view` (IMAGE, or PAIR: the part around two things that a relation joins).
    """
    config = json.loads(cfg)
    forms, tables = read_forms(forms_path), read_word_tables(tables_paths)
    lexicon = Lexicon(read_wordnet(wordnet_path))
    images = [row for row in iterate_rows(images_path, IMAGES) if row["archive"] is not None]
    chosen = draw_ids([row["image_id"] for row in images], config["n_images"], config["seed"])
    rows = [
        list(iterate_rows(path, schema, image_ids=chosen)) if path else []
        for path, schema in (
            (objects_path, OBJECTS),
            (relationships_path, RELATIONSHIPS),
            (descriptions_path, REGION_DESCRIPTIONS),
        )
    ]
    scenes = make_scenes([row for row in images if row["image_id"] in chosen], *rows, tables)
    kinds = frequent_kinds(scenes, lexicon, forms.no_concepts, config["n_kinds"], config["min_images"])
    related = make_related(lexicon)
    counts: dict[str, Counter] = {}
    questions = list(make_questions(scenes, kinds, forms, tables, related, config, counts))
    captions = list(make_captions(scenes, kinds, forms, tables, related, config, counts))
    classes = list(make_classes(scenes, kinds, config, counts))
    for path, found in ((questions_path, questions), (captions_path, captions), (classes_path, classes)):
        with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as file:
            file.writelines(f"{json.dumps(row, ensure_ascii=False)}\n" for row in found)
    if pictures_path:
        named = {row["image"] for found in (questions, captions, classes) for row in found}
        pack_images([scene.image for scene in scenes if image_name(scene) in named], pictures_path)
    write_accounting(accounting_path, "negation_benchmark", counts)
    tags = Counter((row["template"], row["form"], row["kind"], row["transfer"]) for row in questions)
    logger.info("%d questions, %d images with captions, %d crops", len(questions), len(captions), len(classes))
    logger.info("questions by template, form, kind and transfer: %s", dict(sorted(tags.items())))


def image_name(scene: Scene) -> str:
    """Returns the file name of a scene's image."""
    return PurePosixPath(scene.image["path"]).name


def pack_images(images: Sequence[Mapping], path: str) -> None:
    """Copies image files into a zip, each under its file name.

    Args:
        images: rows of table IMAGES.
        path: zip to write.

    Raises:
        ValueError: two images have one file name; names both.
    """
    packed: dict[str, str] = {}
    with ExitStack() as stack, atomic_path(path) as partial:
        archives: dict[str, zipfile.ZipFile] = {}
        target = stack.enter_context(zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED))
        for image in images:
            place, name = image["archive"], PurePosixPath(image["path"]).name
            if name in packed:
                raise ValueError(f"two images are called {name}: {packed[name]}, {place}/{image['path']}")
            packed[name] = f"{place}/{image['path']}"
            if is_zip(place) and place not in archives:
                archives[place] = stack.enter_context(zipfile.ZipFile(place))
            data = archives[place].read(image["path"]) if is_zip(place) else Path(place, image["path"]).read_bytes()
            target.writestr(zipfile.ZipInfo(name, EPOCH), data)


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
            template = _template(forms, ATTRIBUTE, NOUN, [attribute], config, rng)
            if others and template:
                return Draft(scene, template, bool(is_negated), thing, others[0][0], attribute, others[0][1])
    by_noun = {thing.noun: thing for thing in scene.things if thing.noun in kinds}
    if len(by_noun) < 2:
        return None
    nouns = sorted(by_noun)
    one, other = (by_noun[nouns[i]] for i in rng.choice(len(nouns), 2, replace=False))
    template = _template(forms, OBJECT, BARE if is_bare else BEHIND, [one.noun, other.noun], config, rng)
    return template and Draft(scene, template, bool(is_negated), one, other, other.noun)


def _template(
    forms: NegationForms, kind: str, place: str, concepts: Sequence[str], config: Mapping, rng: np.random.Generator
) -> Template | None:
    fitting = forms.fitting(kind, [place], TEST, concepts)
    weights = {form: config["forms"].get(form, 0) for form in dict.fromkeys(one.form for one in fitting)}
    total = sum(weights.values())
    if not total:
        return None
    form = list(weights)[rng.choice(len(weights), p=[weight / total for weight in weights.values()])]
    fitting = [one for one in fitting if one.form == form]
    return fitting[rng.integers(len(fitting))]


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


def make_captions(
    scenes: Sequence[Scene],
    kinds: Sequence[str],
    forms: NegationForms,
    tables: WordTables,
    related: Related,
    config: Mapping,
    counts: dict[str, Counter],
) -> Iterator[dict]:
    """Yields images with a caption, and with the same caption and a denial of what is absent; counts images."""
    own = counts["retrieval_image"] = Counter({READ: 0, KEPT: 0})
    chosen = draw_ids([scene.image["image_id"] for scene in scenes], config["n_retrieval"], config["seed"] + 1)
    used = [scene for scene in scenes if scene.image["image_id"] in chosen]
    nouns = [noun for scene in used for noun in sorted({thing.noun for thing in scene.things}.intersection(kinds))]
    rng = rng_of(config["seed"], "retrieval")
    deck = [nouns[i] for i in rng.integers(len(nouns), size=len(used))] if nouns else [""] * len(used)
    absent = deal(deck, lambda i, noun: bool(noun) and is_absent(noun, used[i].kinds, related), rng)
    for scene, noun in zip(used, absent, strict=True):
        own[READ] += 1
        if noun is None:
            own[NO_ABSENT] += 1
            continue
        rng = rng_of(config["seed"], "retrieval", scene.image["image_id"])
        view = pair_view(scene, kinds, rng) if config["view"] == PAIR else scene
        template = _template(forms, OBJECT, BARE, [noun], config, rng)
        if template is None or view is None:
            own[NO_ABSENT] += 1
            continue
        own[KEPT] += 1
        caption = captions_of(view, tables.mass_nouns, N_PARTS, rng)
        negated = f"{caption}. {deny_object(template, True, '', noun, forms, tables.mass_nouns)}"
        tags = {"form": template.form, "frame": template.name, "transfer": SEEN if TRAIN in template.use else NEW}
        yield {"image": image_name(scene), "box": view.box, "captions": [caption], "negated": [negated], **tags}


def make_classes(
    scenes: Sequence[Scene], kinds: Sequence[str], config: Mapping, counts: dict[str, Counter]
) -> Iterator[dict]:
    """Yields of each image its largest thing, if it is of a kind that is classified; counts images.

    # ASSUME: pictures to classify are crops of the largest thing, since an image shows things of several kinds.
    """
    own = counts["class_image"] = Counter({READ: 0, KEPT: 0})
    classes = set(kinds[: config["n_classes"]])
    for scene in scenes:
        own[READ] += 1
        thing = max(scene.things, key=lambda one: (one.box[2] * one.box[3], one.box))
        if thing.noun not in classes or thing.is_plural or min(thing.box[2:]) < 1:
            own[NO_CLASS] += 1
            continue
        own[KEPT] += 1
        yield {"image": image_name(scene), "box": list(thing.box), "class": thing.noun}
