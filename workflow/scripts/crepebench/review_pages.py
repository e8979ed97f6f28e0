"""Write the page on which people review a sample of captions, retrieval sets and the parser's findings.

The page needs nothing but itself. Beside it stands the sample, against which the answers are read. docs/review.md tells
people how to work through it.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from crepebench.families import PRODUCTIVITY
from crepebench.files import atomic_path
from crepebench.images import BadImageError, ImageReader, cut_crop
from crepebench.inline_pages import inline_page, picture_uri
from crepebench.parser_labels import graph_facts
from crepebench.parser_review import sample_captions, usable_captions
from crepebench.parsing import load_parser, parse_texts
from crepebench.review_page_draws import (
    caption_records,
    read_captions,
    read_set_ids,
    read_sets,
    read_subgraphs,
    set_records,
)
from crepebench.review_page_items import caption_item, crop_key, image_key, parser_item, sample_id, set_item, shown_item
from crepebench.review_sample import Record, draw
from crepebench.schema import IMAGES, iterate_rows

logger = logging.getLogger(__name__)

FORMAT = "crepe-review-1"
"""Format of the files that the page gives."""
TITLE = "Review of captions and foils"
NO_FILE = "image_has_no_file"
"""Reason of sets and captions that cannot be drawn, beside those of crepebench.images."""
MOST_SIDE = 512
"""Pixels of a picture's longer side."""


class Pictures:
    """The pictures of the page: images, and the crops of them, as data URIs.

    Attributes:
        faults: reason by image that cannot be read.
    """

    def __init__(self, images: Mapping[int, Mapping], reader: ImageReader):
        """Takes the rows of table IMAGES by image_id, and what reads them."""
        self.faults = {
            image_id: NO_FILE for image_id, row in images.items() if row["archive"] is None or row["crc32"] is None
        }
        self._images, self._reader = images, reader
        self._crops: dict[tuple[int, tuple], str] = {}
        self._whole: dict[int, dict] = {}

    def can_show(self, record: Record) -> bool:
        """Says whether nothing is known against the record's image."""
        return record.image_id not in self.faults

    def add(self, records: Iterable[Record]) -> bool:
        """Reads what records show, and says whether all of it could be read; images that could not are in `faults`."""
        n_faults = len(self.faults)
        missing = [record for record in records if (record.image_id, record.box) not in self._crops]
        for record in sorted(missing, key=lambda record: (record.image_id, record.box)):
            if not self.can_show(record):
                continue
            try:
                picture = self._reader.read(self._images[record.image_id]).picture
            except BadImageError as error:
                logger.warning("image %d: %s", record.image_id, error)
                self.faults[record.image_id] = error.reason
                continue
            width, height = picture.size
            self._crops[record.image_id, record.box] = picture_uri(cut_crop(picture, record.box), MOST_SIDE)
            if record.image_id not in self._whole:
                uri = picture_uri(picture, MOST_SIDE)
                self._whole[record.image_id] = {"uri": uri, "width": width, "height": height}
        return len(self.faults) == n_faults

    def shown(self, items: Iterable[Mapping]) -> dict[str, dict]:
        """Returns the images and crops of items by the names that the page knows them by."""
        images, crops = {}, {}
        for item in items:
            images[image_key(item)] = self._whole[item["image_id"]]
            crops[crop_key(item)] = self._crops[item["image_id"], tuple(item["box"])]
        return {"images": images, "crops": crops}


def draw_readable(
    groups: Sequence[tuple[list[Record], float, int]], pictures: Pictures, seed: int
) -> list[list[Record]]:
    """Draws from each group (records, share, least), anew without the images that turn out to be unreadable."""
    while True:
        drawn = [draw(list(filter(pictures.can_show, records)), share, least, seed) for records, share, least in groups]
        if all([pictures.add(records) for records in drawn]):
            return drawn


def parser_items(corpus_paths: Mapping[str, Sequence[str]], config: Mapping) -> list[dict]:
    """Returns the items of captions sampled from each corpus; none where the config asks for none.

    Args:
        corpus_paths: files or folders of each corpus.
        config: captions_per_corpus, seed, definitions (how each corpus is read), parser (spacy_model, attributes).
    """
    if not corpus_paths or not config["captions_per_corpus"]:
        return []
    parser = load_parser(config["parser"]["spacy_model"])
    items = []
    for corpus, paths in corpus_paths.items():
        texts = usable_captions(paths, config["definitions"][corpus])
        captions = sample_captions(texts, config["captions_per_corpus"], f"{config['seed']} {corpus}")
        graphs = parse_texts(captions, parser, config["parser"]["attributes"])
        items += [
            parser_item(corpus, caption, graph_facts(graph)) for caption, graph in zip(captions, graphs, strict=True)
        ]
    return list({item["item_id"]: item for item in items}.values())  # a caption may stand twice in a corpus


def build_review_page(
    sets_paths: Mapping[str, Sequence[str]],
    captions_paths: Sequence[str],
    subgraphs_path: str | None,
    images_path: str,
    corpus_paths: Mapping[str, Sequence[str]],
    body_path: str,
    styles: Sequence[str],
    scripts: Sequence[str],
    page_path: str,
    sample_path: str,
    cfg: str,
) -> None:
    """Writes the page and its sample.

    Args:
        sets_paths: tables RETRIEVAL_SETS of each family.
        captions_paths: tables CAPTIONS; none of released sets.
        subgraphs_path: table SUBGRAPHS; None of released sets.
        images_path: table IMAGES.
        corpus_paths: files or folders of each corpus; none of released sets.
        body_path: HTML of the page's body.
        styles: CSS files.
        scripts: JavaScript files.
        page_path: HTML to write.
        sample_path: JSON to write: sample_id, run, items.
        cfg: config block `review` (all but `answers`), `protocol`, and what `parser_items` needs.
    """
    config = json.loads(cfg)
    seed = config["seed"]
    families = list(sets_paths)
    images = {row["image_id"]: row for row in iterate_rows(images_path, IMAGES)}
    groups = [(set_records(sets_paths[name], name), config["set_share"], config["min_sets"]) for name in families]
    captions = read_captions(captions_paths)
    subgraphs = read_subgraphs(subgraphs_path) if subgraphs_path else {}
    groups.append((caption_records(captions, subgraphs), config["caption_share"], config["min_captions"]))
    with ImageReader() as reader:
        pictures = Pictures(images, reader)
        *drawn_sets, drawn_captions = draw_readable(groups, pictures, seed)
    items = []
    for family, records in zip(families, drawn_sets, strict=True):
        rows = read_sets(sets_paths[family], records)
        items += [set_item(rows[record.key], family, seed) for record in records]
    set_ids = read_set_ids(sets_paths[PRODUCTIVITY])
    for record in drawn_captions:
        (subgraph_id,) = record.key
        caption = captions[subgraph_id]
        known = set_ids.get((subgraph_id, caption["caption"]))
        items.append(caption_item(caption, subgraphs[subgraph_id], known))
    pictured = list(items)
    items += parser_items(corpus_paths, config)
    left_out = Counter(
        pictures.faults[record.image_id]
        for records, _, _ in groups
        for record in records
        if not pictures.can_show(record)
    )
    run = {
        **{"protocol": config["protocol"], "families": families, "seed": seed},
        **{"n_sets": {name: len(group[0]) for name, group in zip(families, groups, strict=False)}},
        **{"n_captions": len(captions), "left_out": dict(left_out)},
    }
    sample = {"sample_id": sample_id(items), "run": run, "items": items}
    logger.info("%s of %s; left out: %s", Counter(item["kind"] for item in items), run, dict(left_out))
    data = {"format": FORMAT, "sample_id": sample["sample_id"], "items": [shown_item(item) for item in items]}
    body = Path(body_path).read_text(encoding="utf-8")
    page = inline_page(TITLE, body, styles, scripts, {**data, **pictures.shown(pictured)})
    _write(sample_path, json.dumps(sample, indent=1) + "\n")
    _write(page_path, page)


def _write(path: str, text: str) -> None:
    with atomic_path(path) as partial:
        Path(partial).write_text(text, encoding="utf-8", newline="\n")
