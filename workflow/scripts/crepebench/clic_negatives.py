"""Show negatives of CLIC to people: what was swapped in which sentences, as a table and as a page.

Source: the authors' answer to reviewers of CLIC (arXiv 2505.24424). Of 75 of each kind that they read, 28% of the
negatives by random words are grammatical, meaningful and different from the captions, and 69% of those by candidates.
"""

import csv
import html
import json
import logging
from collections.abc import Callable, Sequence

import numpy as np

from crepebench.clic_candidate_index import index_candidates
from crepebench.clic_items import CANDIDATE_MISSING, NEGATIVES, Item, ItemMaker
from crepebench.clic_rows import read_clic_rows
from crepebench.clic_settings import CANDIDATES, Variant
from crepebench.files import atomic_path
from crepebench.pages import html_table, page
from crepebench.schema import CLIC_CANDIDATES, iterate_rows

logger = logging.getLogger(__name__)

COLUMNS = ("negatives", "number", "first", "second", "word_of_first", "word_of_second", "part_of_speech", "negative")
TITLE = "Negatives of CLIC"


def write_clic_negatives(
    rows_path: str, images_path: str, candidates_path: str | None, table_path: str, page_path: str, cfg: str
) -> None:
    """Writes negatives of random items of the training split, by random words and, where there are any, by candidates.

    Args:
        rows_path: table CLIC_ROWS.
        images_path: table IMAGES.
        candidates_path: table CLIC_CANDIDATES, if there is one.
        table_path: CSV to write.
        page_path: HTML page to write.
        cfg: JSON of `n` (negatives of each kind at most) and `seed`.
    """
    from open_clip.tokenizer import SimpleTokenizer

    from crepebench.open_clip_models import tokenise

    config, tokeniser = json.loads(cfg), SimpleTokenizer()
    rows, _, wider = read_clic_rows(rows_path, images_path, "train")
    candidates = None
    if candidates_path:
        candidates = index_candidates(iterate_rows(candidates_path, CLIC_CANDIDATES), rows, wider)

    def count_tokens(texts: Sequence[str]) -> np.ndarray:
        return tokenise(tokeniser, list(texts))[1]

    found = []
    for kind in NEGATIVES:
        if kind != CANDIDATES or candidates is not None:
            options = Variant(negatives=kind)
            own = (config["seed"], count_tokens, tokeniser.context_length, candidates)
            found += example_rows(rows, ItemMaker(rows, wider, options, *own), kind, config)
    _write_table(table_path, found)
    with atomic_path(page_path) as partial, open(partial, "w", encoding="utf-8") as file:
        file.write(examples_page(found))
    logger.info("%d negatives written", len(found))


def example_rows(rows: Sequence[dict], maker: ItemMaker, kind: str, config: dict) -> list[dict[str, str]]:
    """Returns negatives of one kind, as texts by `COLUMNS`; items without one of that kind are passed over."""
    order = np.random.default_rng(config["seed"]).permutation(len(rows))
    found: list[dict[str, str]] = []
    for i in order.tolist():
        if len(found) == config["n"]:
            break
        item = maker.item(0, i)
        if item.negative and CANDIDATE_MISSING not in item.reasons:
            found.append(_row(kind, len(found) + 1, item, lambda place: rows[place]["sentences"][0]))
    return found


def _row(kind: str, number: int, item: Item, sentence_of: Callable[[int], str]) -> dict[str, str]:
    values = (
        kind,
        str(number),
        sentence_of(item.first),
        sentence_of(item.second),
        *item.words,
        item.pos,
        item.negative,
    )
    return dict(zip(COLUMNS, values, strict=True))


def _write_table(path: str, rows: Sequence[dict[str, str]]) -> None:
    with atomic_path(path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def examples_page(rows: Sequence[dict[str, str]]) -> str:
    """Returns the page: a table of negatives for each kind."""
    parts = []
    for kind in NEGATIVES:
        own = [row for row in rows if row["negatives"] == kind]
        if own:
            columns = [column for column in COLUMNS if column != "negatives"]
            parts.append(f"<h2>{html.escape(kind)}: {len(own)}</h2>\n{html_table(columns, own)}")
    return page(TITLE, "\n".join(parts))
