"""Build the training data of negation: pairs and questions from captions with images.

The released recipe (`crepebench.negation_recipe`) and a language model (`crepebench.negation_writers`) are options;
templates are the default.
"""

import json
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.benchmark_building import set_rows
from crepebench.caption_words import normalise
from crepebench.captioned_images import CaptionedImages, read_captioned_images
from crepebench.lemmas import lemmatise
from crepebench.lexicon import Lexicon
from crepebench.long_captions import fits_clip
from crepebench.negation_filters import Denial, check_denials
from crepebench.negation_forms import BARE, NegationForms, read_forms
from crepebench.negation_plans import Plan, Shown, make_related, make_visible, plan_all, prepare, read_captions
from crepebench.negation_rows import NEGATED, TEMPLATE, pair_row, question_rows
from crepebench.parsing import ALL, load_parser, parse_texts
from crepebench.schema import (
    IMAGES,
    NEGATION_PAIRS,
    NEGATION_QUESTIONS,
    OBJECTS,
    RETRIEVAL_SETS,
    iterate_rows,
    write_table,
)
from crepebench.word_tables import WordTables, read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

ROW_REPEATED = "row_repeated"
TASK = "negation"


def build_negation_data(
    forms_path: str,
    tables_paths: Sequence[str],
    wordnet_path: str,
    objects_path: str | None,
    pairs_path: str,
    questions_path: str,
    images_path: str,
    sets_path: str,
    accounting_path: str,
    packed_path: str | None,
    cfg: str,
) -> None:
    """Writes pairs, questions, their images, and what of them is to be encoded.

    Args:
        forms_path: resources/negation/templates.yaml.
        tables_paths: tables of resources/foils.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        objects_path: table OBJECTS of the images, if their objects are annotated; ids are those of the source's images.
        pairs_path: table NEGATION_PAIRS to write.
        questions_path: table NEGATION_QUESTIONS to write.
        images_path: table IMAGES to write.
        sets_path: table RETRIEVAL_SETS to write; it holds what is to be encoded.
        accounting_path: counts to write.
        packed_path: zip to copy the images of tars into.
        cfg: JSON of `source` (as `read_captioned_images` takes it), `parser` (spaCy pipeline), `seed`, `use`, `forms`,
            `attribute_share`, `bare_share`, `min_count`, `negated_share`, `wrong_of_negated`, `validation_share`,
            `most_captions` (null for all), `plans_per_caption` (1), and `generator` (`template`, or a config block
            `captioner` with `store`).

    Raises:
        ValueError: the source gives no caption, or no pair.
    """
    config = json.loads(cfg)
    forms, tables = read_forms(forms_path), read_word_tables(tables_paths)
    lexicon = Lexicon(read_wordnet(wordnet_path))
    related = make_related(lexicon)
    data = read_captioned_images(config["source"], packed_path)
    parser = load_parser(config["parser"])
    counts: dict[str, Counter] = {"row": data.counts}
    seen = annotated_objects(objects_path)
    plans = make_plans(data, parser, forms, tables, lexicon, seen, config, counts)
    sources = [TEMPLATE] * len(plans)
    generator = config.get("generator", TEMPLATE)
    if generator != TEMPLATE:
        from crepebench.negation_writers import rewrite_plans

        plans, sources = rewrite_plans(plans, generator, make_judge(parser, forms), counts)
    plans, sources = check_plans(plans, sources, parser, forms, counts)
    pairs = list(distinct_rows((pair_row(p, config, s) for p, s in zip(plans, sources, strict=True)), "pair", counts))
    reasons: Counter = Counter()
    questions = list(distinct_rows(question_rows(plans, config, seen.objects, related, reasons), "question", counts))
    counts["question"] += reasons + Counter({READ: reasons.total()})
    if not pairs:
        raise ValueError(f"{config['source']['name']}: no pair could be made: {counts}")
    write_rows(pairs, questions, data.images, (pairs_path, questions_path, images_path, sets_path))
    write_accounting(accounting_path, "negation_data", counts)
    report(pairs, questions)


def annotated_objects(objects_path: str | None) -> Shown:
    """Returns what annotations show of each image, by heads of names as lemmas; nothing without annotations."""
    seen = Shown({}, {})
    for row in iterate_rows(objects_path, OBJECTS, ["image_id", "names", "attributes"]) if objects_path else ():
        names = {lemmatise(normalise(name).rpartition(" ")[2], "NOUN") for name in row["names"]}
        seen.objects.setdefault(row["image_id"], set()).update(names)
        own = {(normalise(attribute), name) for attribute in row["attributes"] for name in names}
        seen.attributes.setdefault(row["image_id"], set()).update(own)
    return seen


def make_plans(
    data: CaptionedImages,
    parser,
    forms: NegationForms,
    tables: WordTables,
    lexicon: Lexicon,
    seen: Shown,
    config: Mapping,
    counts: dict[str, Counter],
) -> list[Plan]:
    """Returns the plans of training captions, and adds to `seen` what they show; counts each caption once a plan."""
    captions = data.captions
    most = config.get("most_captions")
    if most is not None and most < len(captions):
        chosen = np.sort(np.random.default_rng(config["seed"]).permutation(len(captions))[:most])
        captions = [captions[i] for i in chosen]
    graphs = parse_texts((prepare(caption) for _, caption in captions), parser, ALL)
    captioned = list(read_captions(captions, graphs, forms, seen))
    reasons: Counter = Counter()
    related, is_visible = make_related(lexicon), make_visible(lexicon)
    n_rounds, plans = config.get("plans_per_caption", 1), []
    for i in range(n_rounds):
        own = {**config, "seed": config["seed"] if i == 0 else f"{config['seed']} round {i}"}
        found = plan_all(captioned, seen, forms, tables, related, is_visible, own, reasons)
        plans += (plan._replace(round=i) for plan in found)
    counts["caption"] = reasons + Counter({READ: n_rounds * len(captioned), KEPT: len(plans)})
    return plans


def denials_of(plan: Plan) -> Iterator[Denial]:
    """Yields the two texts of a plan that deny something."""
    noun, has_base = plan.slot.noun, plan.template.place != BARE
    kind = plan.slot.kind
    yield Denial(plan.denied_shown, plan.affirmed_shown, kind, plan.slot.concept, noun, has_base)
    yield Denial(plan.denied_absent, plan.affirmed_absent, kind, plan.absent, noun, has_base)


def make_judge(parser, forms: NegationForms) -> Callable[[Sequence[tuple[Plan, int, str]]], list[str]]:
    """Returns what says why a model's denials, false (0) or true (1), of plans are of no use."""
    fits = fits_clip()

    def judge(rows: Sequence[tuple[Plan, int, str]]) -> list[str]:
        denials = []
        for plan, which, text in rows:
            affirmed, concept = ((plan.caption, plan.slot.concept), (plan.exchanged, plan.absent))[which]
            denials.append(Denial(text, affirmed, plan.slot.kind, concept, plan.slot.noun))
        return check_denials(denials, lambda texts: parse_texts(texts, parser, ALL), forms, fits)

    return judge


def check_plans(
    plans: Sequence[Plan], sources: Sequence[str], parser, forms: NegationForms, counts: dict[str, Counter]
) -> tuple[list[Plan], list[str]]:
    """Returns the plans of which both denials pass the filters, with their sources; counts plans."""
    denials = (denial for plan in plans for denial in denials_of(plan))
    reasons = check_denials(denials, lambda texts: parse_texts(texts, parser, ALL), forms, fits_clip())
    own = [one or other for one, other in zip(reasons[::2], reasons[1::2], strict=True)]
    counts["plan"] = Counter({READ: len(plans), KEPT: 0}) + Counter(reason or KEPT for reason in own)
    counts["plan"].setdefault(KEPT, 0)
    kept = [i for i, reason in enumerate(own) if not reason]
    return [plans[i] for i in kept], [sources[i] for i in kept]


def distinct_rows(rows: Iterable[dict], unit: str, counts: dict[str, Counter]) -> Iterator[dict]:
    """Yields rows, each once, and counts them; the id of a row is the column "<unit>_id"."""
    known, own = set(), counts.setdefault(unit, Counter({READ: 0, KEPT: 0}))
    for row in rows:
        is_new = row[f"{unit}_id"] not in known
        known.add(row[f"{unit}_id"])
        own.update((READ, KEPT if is_new else ROW_REPEATED))
        if is_new:
            yield row


def write_rows(
    pairs: Sequence[dict], questions: Sequence[dict], images: Mapping[int, dict], paths: tuple[str, str, str, str]
) -> None:
    """Writes the tables of pairs, questions, images and sets, in this order of `paths`."""
    texts: dict[int, dict[str, None]] = {}
    for row in pairs:
        texts.setdefault(row["image_id"], {}).update(dict.fromkeys((row["caption"], row["negated"])))
    for row in questions:
        texts.setdefault(row["image_id"], {}).update(dict.fromkeys(row["captions"]))
    used = sorted(texts)
    write_table(paths[0], NEGATION_PAIRS, pairs)
    write_table(paths[1], NEGATION_QUESTIONS, questions)
    write_table(paths[2], IMAGES, (images[image_id] for image_id in used))

    def sets() -> Iterator[dict]:
        for image_id in used:
            image = images[image_id]
            crop = {"image_id": image_id, "x": 0, "y": 0, "width": image["width"], "height": image["height"]}
            item = {"item_id": f"{TASK}/{image_id}", "task": TASK, "captions": list(texts[image_id])}
            yield from set_rows({**item, "images": [{"root": "", "name": "", **crop}]})

    write_table(paths[3], RETRIEVAL_SETS, sets())


def balance(pairs: Sequence[dict], questions: Sequence[dict]) -> dict[str, float]:
    """Returns how much the polarity and the concept of a text say of whether it is right, 0-1; 0.5 is nothing.

    Returns:
        `negated_right`: share of denials among the right captions of pairs, `negated_wrong` among the wrong ones;
        `questions_negated`: share of questions whose right answer denies something; `concept`: greatest share of pairs
        that a rule "this concept is denied truly" could decide, over pairs in which the concept is named.
    """
    denied = [row["polarity"] == NEGATED for row in pairs]
    by_concept: dict[tuple[str, str], Counter] = {}
    for row, is_denied in zip(pairs, denied, strict=True):
        by_concept.setdefault((row["kind"], row["concept"]), Counter())[is_denied] += 1
    best = sum(max(counter.values()) for counter in by_concept.values())
    return {
        "pairs_negated": float(np.mean(denied)),
        "questions_negated": float(np.mean([row["template"] != "positive" for row in questions] or [np.nan])),
        "concept": best / len(pairs),
    }


def report(pairs: Sequence[dict], questions: Sequence[dict]) -> None:
    """Logs how many rows there are of each form, and how near they come to balance."""
    forms = Counter((row["polarity"], row["form"], row["kind"]) for row in pairs)
    logger.info("%d pairs, %d questions; pairs by polarity, form and kind: %s", len(pairs), len(questions), dict(forms))
    logger.info("balance: %s", balance(pairs, questions))
