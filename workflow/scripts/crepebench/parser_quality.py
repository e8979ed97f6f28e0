"""Measure the parser against captions that people have labelled: precision, recall and F1 by style of caption.

Source: paper section A.2, which gives the recall of triplets on 20 captions of each corpus.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, load_parser, parse_texts
from crepebench.measures import bootstrap_means, cell_seed, interval, write_csv
from crepebench.parser_labels import Facts, LabelledCaption, check_ids, graph_facts, read_web_captions
from crepebench.parser_review import read_sheet

TRIPLET = "triplet"
# ASSUME: a triplet of the paper is an attribute with its object or a relation with its ends (A.2 defines none); so
# the kind `triplet` is both together.
KINDS = {OBJECT: (OBJECT,), ATTRIBUTE: (ATTRIBUTE,), RELATION: (RELATION,), TRIPLET: (ATTRIBUTE, RELATION)}
PUBLISHED_RECALL = {"cc12m": 64.04, "yfcc15m": 81.11, "yfcc15m_clip": 81.11, "laion400m": 39.55}
"""Recall of triplets of the paper's parser, in percent, by style (section A.2)."""
MEASURES = ("precision", "recall", "f1")
COLUMNS = (
    "source",
    "style",
    "kind",
    "n_captions",
    "n_found",
    "n_labelled",
    *(f"{measure}{end}" for measure in MEASURES for end in ("", "_low", "_high")),
    "published_recall",
)


def count_facts(found: Facts, labelled: Facts, kind: str) -> tuple[int, int, int]:
    """Returns how many facts of a kind were found, are labelled, and are both; a repeated one counts each time."""
    bags = [Counter(fact for part in KINDS[kind] for fact in facts[part]) for facts in (found, labelled)]
    return bags[0].total(), bags[1].total(), (bags[0] & bags[1]).total()


def quality_row(counts: Sequence[tuple[int, int, int]], n_resamples: int, seed: list[int]) -> dict:
    """Returns precision, recall and F1 over captions, in percent, with intervals.

    Args:
        counts: per caption what `count_facts` returns.
        n_resamples: bootstrap resamples; captions are resampled with all their facts.
        seed: seed of the generator.

    Returns:
        Columns of the table; "" where nothing was found or is labelled, so that a measure has no value.
    """
    per_caption = np.array(counts)
    n_found, n_labelled, n_both = (int(n) for n in per_caption.sum(axis=0))
    row = {"n_captions": len(counts), "n_found": n_found, "n_labelled": n_labelled}
    totals = {"precision": n_found, "recall": n_labelled, "f1": (n_found + n_labelled) / 2}
    values = {measure: 100.0 * n_both / total if total else "" for measure, total in totals.items()}
    bounds = dict.fromkeys(MEASURES, ("", ""))
    if n_found and n_labelled:
        groups = [_records(per_caption[:, 2], per_caption[:, i]) for i in (0, 1)]
        precision, recall = 100.0 * bootstrap_means(groups, n_resamples, seed)
        with np.errstate(invalid="ignore"):
            f1 = np.where(precision + recall > 0, 2 * precision * recall / (precision + recall), precision + recall)
        bounds = dict(zip(MEASURES, map(interval, (precision, recall, f1)), strict=True))
    for measure in MEASURES:
        low, high = bounds[measure]
        row |= {measure: values[measure], f"{measure}_low": low, f"{measure}_high": high}
    return row


def _records(n_hits: np.ndarray, n_all: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns one record for each fact: index of its caption, and 1.0 where it was hit."""
    hits = [np.arange(n) < n_hit for n_hit, n in zip(n_hits, n_all, strict=True)]
    return np.repeat(np.arange(len(n_all)), n_all), np.concatenate(hits).astype(np.float64)


def quality_rows(
    labelled: Sequence[LabelledCaption], found: Sequence[Facts], n_resamples: int, seed: int
) -> Iterator[dict]:
    """Yields the rows of the table: for each source and style, in the order of the captions, one row a kind."""
    groups = defaultdict(list)
    for caption, facts in zip(labelled, found, strict=True):
        groups[caption.source, caption.style].append((facts, caption.facts))
    for (source, style), pairs in groups.items():
        for kind in KINDS:
            counts = [count_facts(*pair, kind) for pair in pairs]
            yield {
                "source": source,
                "style": style,
                "kind": kind,
                **quality_row(counts, n_resamples, cell_seed(seed, source, style, kind)),
                "published_recall": PUBLISHED_RECALL.get(style, "") if kind == TRIPLET else "",
            }


def parse_captions(captions: Iterable[str], config: dict) -> list[Facts]:
    """Returns the facts that the parser finds in captions.

    Args:
        captions: texts.
        config: `spacy_model` and `attributes`.
    """
    graphs = parse_texts(captions, load_parser(config["spacy_model"]), config["attributes"])
    return [graph_facts(graph) for graph in graphs]


def tabulate_parser_quality(captions_path: str, sheet_paths: Sequence[str], table_path: str, cfg: str) -> None:
    """Writes how well the parser reads the labelled captions.

    Args:
        captions_path: resources/parser/web_captions.jsonl.
        sheet_paths: review sheets that people have filled in.
        table_path: parser_quality.csv.
        cfg: JSON of `parser` (spacy_model, attributes) and `evaluation` (n_resamples, seed).

    Raises:
        ValueError: a label has not the right form, a sheet is not filled in, or a caption is labelled twice.
    """
    config = json.loads(cfg)
    labelled = read_web_captions(captions_path)
    for path in sheet_paths:
        labelled += read_sheet(path)
    check_ids(labelled)
    found = parse_captions((caption.caption for caption in labelled), config["parser"])
    write_csv(table_path, COLUMNS, list(quality_rows(labelled, found, **config["evaluation"])))
