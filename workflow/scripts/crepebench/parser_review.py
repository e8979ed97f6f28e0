"""Write a sheet of captions with what the parser found in them, and read it after people have corrected it.

The labels of a sheet are what the parser had found, less what is marked wrong, plus what is added as missed. So they
stay good when the parser changes. docs/parser_review.md tells people how to fill a sheet in.
"""

import csv
import hashlib
import heapq
import json
import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from crepebench.corpora import list_files, read_batches
from crepebench.file_faults import named_faults
from crepebench.files import atomic_path
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.parser_labels import Facts, LabelledCaption, graph_facts, label_fact
from crepebench.parsing import load_parser, parse_texts

COLUMNS_OF_KIND = {OBJECT: "objects", ATTRIBUTE: "attributes", RELATION: "relations"}
FOUND = tuple(f"found_{name}" for name in COLUMNS_OF_KIND.values())
CORRECTIONS = tuple(f"{what}_{name}" for name in COLUMNS_OF_KIND.values() for what in ("wrong", "missed"))
SHEET_COLUMNS = ("id", "corpus", "style", "caption", *FOUND, *CORRECTIONS, "done")
DONE = "yes"
FACT_SEPARATOR = re.compile(r"\s*(?:;\s|\n|;$)\s*")
PART_SEPARATOR = " > "
NUMBER = re.compile("[0-9]{1,9}")
FORMULA = re.compile(r"'*[=+\-@\t\r]")
"""How a cell begins that a spreadsheet would take for a formula, and run; or one that has been guarded."""
DIGEST_LENGTH = 10
"""Hexadecimal digits of the digest in an id."""


def usable_captions(paths: Sequence[str], definition: Mapping) -> Iterator[str]:
    """Yields every usable caption of a corpus, in the order of its files, whatever the number of shards."""
    for batch in read_batches(list_files(list(paths)), definition):
        yield from batch.texts.to_pylist()


def sample_captions(captions: Iterable[str], n_captions: int, seed: str) -> list[str]:
    """Returns captions drawn without replacement, all alike likely, in the order in which they came."""
    rng = random.Random(seed)
    keyed = ((rng.random(), place, caption) for place, caption in enumerate(captions))
    return [caption for _, _, caption in sorted(heapq.nsmallest(n_captions, keyed), key=lambda drawn: drawn[1])]


def sheet_id(corpus: str, number: int, caption: str, found: Sequence[str]) -> str:
    """Returns the id of a row; it changes with the caption and with what the parser found, so that edits show."""
    digest = hashlib.sha256("\0".join((caption, *found)).encode()).hexdigest()
    return f"{corpus}-{number:02d}-{digest[:DIGEST_LENGTH]}"


def sheet_row(corpus: str, style: str, number: int, caption: str, facts: Facts) -> dict[str, str]:
    """Returns the row of a caption, with nothing filled in."""
    cells = ["; ".join(map(PART_SEPARATOR.join, facts[kind])) for kind in COLUMNS_OF_KIND]
    row = dict.fromkeys(SHEET_COLUMNS, "") | dict(zip(FOUND, cells, strict=True))
    return row | {
        "id": sheet_id(corpus, number, caption, cells),
        "corpus": corpus,
        "style": style,
        "caption": caption,
    }


def guarded(cell: str) -> str:
    """Returns a cell that a spreadsheet shows as text: captions are from the web, and people open the sheet."""
    return f"'{cell}" if FORMULA.match(cell) else cell


def unguarded(cell):
    """Returns a cell as it was before it was guarded; what is no text, as it is."""
    is_guarded = isinstance(cell, str) and cell.startswith("'") and FORMULA.match(cell)
    return cell[1:] if is_guarded else cell


def build_parser_review(corpus_paths: Mapping[str, Sequence[str]], sheet_path: str, cfg: str) -> None:
    """Writes the sheet of captions sampled from each corpus.

    Args:
        corpus_paths: files or folders of each corpus.
        sheet_path: CSV to write.
        cfg: JSON of `definitions` (how each corpus is read), `n_captions`, `seed`, and `parser` (spacy_model and
            attributes).
    """
    config = json.loads(cfg)
    parser = load_parser(config["parser"]["spacy_model"])
    rows = []
    for corpus, paths in corpus_paths.items():
        definition = config["definitions"][corpus]
        texts = usable_captions(paths, definition)
        captions = sample_captions(texts, config["n_captions"], f"{config['seed']} {corpus}")
        graphs = parse_texts(captions, parser, config["parser"]["attributes"])
        for number, (caption, graph) in enumerate(zip(captions, graphs, strict=True), 1):
            rows.append(sheet_row(corpus, definition["format"], number, caption, graph_facts(graph)))
    with atomic_path(sheet_path) as partial, open(partial, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, SHEET_COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows({name: guarded(cell) for name, cell in row.items()} for row in rows)


def read_sheet(path: str) -> list[LabelledCaption]:
    """Reads a sheet that people have filled in.

    Raises:
        ValueError: it is no CSV in UTF-8, the columns are others, an id is unknown, a caption or what the parser found
            was edited, a row is not done, or a correction is no fact; names file and row.
    """
    with named_faults(path), open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        rows = [{name: unguarded(cell) for name, cell in row.items()} for row in reader]
        columns = tuple(reader.fieldnames or ())
    if columns != SHEET_COLUMNS:
        raise ValueError(f"{path}: has the columns {list(columns)}; a review sheet has {list(SHEET_COLUMNS)}")
    if not rows:
        raise ValueError(f"{path}: holds no caption")
    for row in rows:
        _check_row(path, row)
    open_ids = [row["id"] for row in rows if row["done"].strip().lower() != DONE]
    if open_ids:
        raise ValueError(f"{path}: half filled in: done is not {DONE!r} for {', '.join(open_ids)}")
    return [
        LabelledCaption(row["id"], row["corpus"], row["style"], row["caption"], _row_facts(path, row)) for row in rows
    ]


def _check_row(path: str, row: dict) -> None:
    """Checks that a row is one of ours, and only filled in.

    Raises:
        ValueError: it is not; names file and row.
    """
    corpus, _, rest = row["id"].rpartition("-")[0].rpartition("-")
    if corpus != row["corpus"] or not NUMBER.fullmatch(rest):
        raise ValueError(f"{path}: the id {row['id']!r} is unknown: it is no caption of corpus {row['corpus']!r}")
    if None in row or None in row.values():
        raise ValueError(f"{path}: {row['id']} has more or fewer cells than there are columns")
    if row["id"] != sheet_id(corpus, int(rest), row["caption"], [row[name] for name in FOUND]):
        raise ValueError(
            f"{path}: {row['id']} was edited: caption {row['caption']!r} or {', '.join(FOUND)} are not those that were "
            "written; correct in the columns wrong_ and missed_"
        )


def _row_facts(path: str, row: dict) -> Facts:
    """Returns the facts of a row: found, less wrong, plus missed."""
    facts: Facts = {}
    for kind, name in COLUMNS_OF_KIND.items():
        found = Counter(map(tuple, _split_cell(row[f"found_{name}"])))
        wrong = Counter(map(tuple, _split_cell(row[f"wrong_{name}"])))
        for fact in wrong - found:
            raise ValueError(
                f"{path}: {row['id']}: wrong_{name} holds {PART_SEPARATOR.join(fact)!r}, which is not in found_{name}"
            )
        try:
            missed = [label_fact(kind, words) for words in _split_cell(row[f"missed_{name}"])]
        except ValueError as error:
            raise ValueError(f"{path}: {row['id']}: missed_{name}: {error}") from error
        facts[kind] = [*(found - wrong).elements(), *missed]
    return facts


def _split_cell(cell: str) -> list[list[str]]:
    """Returns the facts of a cell, separated by semicolons or line ends, each as its parts."""
    facts = (fact.strip() for fact in FACT_SEPARATOR.split(cell))
    return [[part.strip() for part in fact.split(">")] for fact in facts if fact]
