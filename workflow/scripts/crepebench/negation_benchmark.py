"""Build a test of negation from annotated images: questions, captions for retrieval, crops of things to classify.

Form: NegBench (arXiv:2501.09425): questions (`crepebench.negation_questions`), and retrieval with captions to which a
denial is added.

# ASSUME: a thing is absent where no annotation of the image names it, nor a word above or below it in WordNet, nor a
part of it; and only kinds that many images hold are denied.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.files import atomic_path
from crepebench.graphs import OBJECT
from crepebench.hashed_draws import draw_ids
from crepebench.lexicon import Lexicon
from crepebench.negation_forms import (
    BARE,
    TRAIN,
    NegationForms,
    deny_object,
    read_forms,
)
from crepebench.negation_plans import Related, deal, is_absent, make_related, rng_of
from crepebench.negation_questions import NEW, NO_ABSENT, PAIR, SEEN, choose_template, image_name, make_questions
from crepebench.negation_scenes import (
    Scene,
    captions_of,
    frequent_kinds,
    make_scenes,
    pair_view,
)
from crepebench.schema import IMAGES, OBJECTS, REGION_DESCRIPTIONS, RELATIONSHIPS, iterate_rows
from crepebench.word_tables import WordTables, read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

NO_CLASS = "no_class"
"""Reason of an image whose largest thing is of no class."""
N_PARTS = 2
"""Relations that a caption for retrieval tells."""


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
    write_accounting(accounting_path, "negation_benchmark", counts)
    tags = Counter((row["template"], row["form"], row["kind"], row["transfer"]) for row in questions)
    logger.info("%d questions, %d images with captions, %d crops", len(questions), len(captions), len(classes))
    logger.info("questions by template, form, kind and transfer: %s", dict(sorted(tags.items())))


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
        template = choose_template(forms, OBJECT, BARE, [noun], config, rng)
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
