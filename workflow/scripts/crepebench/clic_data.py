"""Build the items that CLIC trains on: images with sentences, and the words of their first sentences with tags.

Source: paper "CLIC, arXiv 2505.24424" and its code. The tagger reads each first sentence once; what it says is kept in
the table, so that training needs no tagger.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.clic_rows import is_wider
from crepebench.clic_sentences import (
    LEAST_SENTENCES,
    SentenceRules,
    in_one,
    read_sentence_rules,
    split_sentences,
    use_sentences,
)
from crepebench.clic_sources import ImageTexts, read_image_texts
from crepebench.files import atomic_path
from crepebench.hashed_draws import draw_ids
from crepebench.negation_rows import VALIDATION, split_of
from crepebench.schema import CLIC_ROWS, IMAGES, write_table

logger = logging.getLogger(__name__)

SENTENCES_FEW = "sentences_few"
"""Reason why an image is dropped, and the sentences that it has."""
MOST_ITEMS = "over_most_items"
BATCH_SIZE = 256
CHUNK_SIZE = 4096
"""Sentences after which the tagger forgets words, so that memory does not grow."""
PROGRESS_STEP = 50_000


class Described(NamedTuple):
    """An image with sentences that can be used."""

    image_id: int
    sentences: list[str]


def build_clic_data(
    rules_path: str,
    rows_path: str,
    images_path: str,
    held_out_path: str,
    accounting_path: str,
    packed_path: str | None,
    cfg: str,
) -> None:
    """Writes items, their images, those of validation as a test of retrieval with long captions, and counts.

    Args:
        rules_path: resources/clic/sentences.yaml.
        rows_path: table CLIC_ROWS to write.
        images_path: table IMAGES to write.
        held_out_path: JSON lines to write, as the reader `long_retrieval` takes them: image and captions of each item
            of validation, all of its sentences in one.
        accounting_path: counts to write.
        packed_path: zip to copy the images of tars into; for a source of kind webdataset alone.
        cfg: JSON of `source` (as `crepebench.clic_sources.read_image_texts` takes it), `tagger` (spaCy pipeline),
            `seed`, `validation_share` (0-1, of the images), `release_quirks` (of `split_sentences`), and `most_items`
            (images that are used at most, the first of a hashed order; null for all).

    Raises:
        ValueError: no image has enough sentences.
    """
    config = json.loads(cfg)
    rules = read_sentence_rules(rules_path)
    data = read_image_texts(config["source"], packed_path)
    counts: dict[str, Counter] = {"row": data.counts}
    items = describe(data, rules, config, counts)
    if not items:
        raise ValueError(f"{config['source']['name']}: no image has {LEAST_SENTENCES} sentences of use: {counts}")
    n_rows = write_table(rows_path, CLIC_ROWS, item_rows(items, load_tagger(config["tagger"]), config))
    write_table(images_path, IMAGES, (data.images[item.image_id] for item in items))
    with atomic_path(held_out_path) as partial, open(partial, "w", encoding="utf-8") as file:
        for item in items:
            if split_of(item.image_id, config["seed"], config["validation_share"]) == VALIDATION:
                line = {"image": data.images[item.image_id]["path"], "captions": [in_one(*item.sentences)]}
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    write_accounting(accounting_path, "clic_data", counts)
    wider = sum(is_wider(data.images[item.image_id]) for item in items)
    n_sentences = sum(len(item.sentences) for item in items)
    logger.info(
        "%d items with %d sentences; %d images are wider, %d higher", n_rows, n_sentences, wider, n_rows - wider
    )


def describe(data: ImageTexts, rules: SentenceRules, config: Mapping, counts: dict[str, Counter]) -> list[Described]:
    """Returns the images that have enough sentences, in the order of the source; counts images and sentences.

    # ASSUME: of an image with several captions each is taken apart by itself, and the first sentence of the first
    caption is the one in which words are swapped. So COCO's first caption is the first sentence, the others follow.
    # ASSUME: cells of the release's table are sentences as they stand; only their length is looked at once more.
    """
    images, sentences = Counter({READ: 0, KEPT: 0}), Counter({READ: 0, KEPT: 0})
    items = []
    allowed = draw_ids(list(data.texts), config.get("most_items"), config["seed"])
    for image_id, texts in data.texts.items():
        images[READ] += 1
        if image_id not in allowed:
            images[MOST_ITEMS] += 1
            continue
        quirks = config.get("release_quirks", False)
        parts = texts if data.is_split else [one for text in texts for one in split_sentences(text, rules, quirks)]
        own: Counter = Counter()
        used = use_sentences(parts, own)
        if len(used) >= LEAST_SENTENCES:
            items.append(Described(image_id, used))
        elif used:
            own[SENTENCES_FEW] = own.pop(KEPT)
        images[KEPT if len(used) >= LEAST_SENTENCES else SENTENCES_FEW] += 1
        sentences.update(own)
    counts["image"], counts["sentence"] = images, sentences
    return items


def item_rows(items: Sequence[Described], tagger, config: Mapping) -> Iterator[dict]:
    """Yields the rows of table CLIC_ROWS.

    Args:
        items: images with sentences.
        tagger: what `load_tagger` returns.
        config: `seed` and `validation_share`.
    """
    tagged = tag_sentences((item.sentences[0] for item in items), tagger)
    for row_id, (item, words) in enumerate(zip(items, tagged, strict=True)):
        split = split_of(item.image_id, config["seed"], config["validation_share"])
        yield {
            "row_id": row_id,
            "image_id": item.image_id,
            "split": split,
            "sentences": item.sentences,
            "words": words,
        }


def load_tagger(model: str):
    """Loads a spaCy pipeline with no more than coarse and fine tags need.

    Raises:
        OSError: the pipeline is not installed; says how to install it.
    """
    import spacy

    try:
        return spacy.load(model, exclude=["parser", "ner", "senter", "lemmatizer"])
    except OSError as error:
        raise OSError(f"spaCy pipeline {model!r} is not installed: `pip install -r requirements.txt`") from error


def tag_sentences(sentences: Iterable[str], tagger) -> Iterator[list[dict]]:
    """Yields the words of each sentence: text, pos, fine, start and end (characters); spaces are no words."""
    sentences, n_tagged = iter(sentences), 0
    while chunk := list(islice(sentences, CHUNK_SIZE)):
        with tagger.memory_zone():
            tagged = [
                [
                    {"text": t.text, "pos": t.pos_, "fine": t.tag_, "start": t.idx, "end": t.idx + len(t.text)}
                    for t in doc
                    if not t.is_space
                ]
                for doc in tagger.pipe(chunk, batch_size=BATCH_SIZE)
            ]
        yield from tagged
        n_tagged += len(chunk)
        if n_tagged // PROGRESS_STEP > (n_tagged - len(chunk)) // PROGRESS_STEP:
            logger.info("%d first sentences tagged", n_tagged)
