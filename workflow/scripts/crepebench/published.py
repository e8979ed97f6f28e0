"""Read the published figures of resources/published, and put the run's own beside those of the paper.

A model of the run is one of the paper's if it has its name in resources/published/models.csv, so the names of
config/crepe.yaml claim the paper's figures. Only sets of protocol `paper` are compared. docs/tables.md explains every
column and the words of `differs_by`.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from crepebench.drawing import read_rows
from crepebench.families import ATOM, NEGATE, OVERALL, PRODUCTIVITY, SWAP, SYSTEMATICITY
from crepebench.measures import write_csv
from crepebench.productivity_plots import complexity_rows

PAPER, RELEASED = "paper", "released"
COMPARED = (PAPER, RELEASED)
"""Protocols that are compared."""
COLUMNS = (
    *("family", "training_corpus", "model", "foil_type", "split", "complexity", "caption_source"),
    *("n_queries", "published_n_queries", "recall_at_1", "recall_at_1_low", "recall_at_1_high"),
    *("published_recall_at_1", "difference", "inside_interval", "differs_by", "source"),
)
OPENAI_FAMILY, OPENAI_PRECISION = "openai_clip", "float16"
COLLECTION = "OpenCLIP"
"""Checkpoints of resources/published/checkpoints.csv that open_clip has by architecture and tag."""
DIFFERENCES = {
    SYSTEMATICITY: ("parser", "queries", "foil_words", "plausibility", "ties"),
    PRODUCTIVITY: ("subgraphs", "captioner", "artefacts", "ties"),
    ATOM: ("foil_words",),
    SWAP: ("foil_words", "entailment"),
    NEGATE: ("foil_words", "grammar"),
}
"""What always differs for a family, and for a foil type of productivity."""
MARKED = {"matched": "matched", "undecided_left_out": "sampled_corpus"}
"""What a mark of a row says about it."""
VOCABULARY = (
    *(
        "parser",
        "queries",
        "subgraphs",
        "captioner",
        "foil_words",
        "plausibility",
        "entailment",
        "grammar",
        "artefacts",
    ),
    *("ties", "weights", "precision", "image_sample", "matched", "sampled_corpus"),
)
"""All words of `differs_by`, in their order."""

Cell = tuple[str, str, str, str, str]
"""Family, model, foil type, split ("" for productivity), complexity ("" for systematicity)."""


def read_by_name(path: str, name: str = "model") -> dict[str, dict]:
    """Reads a table whose rows have names.

    Raises:
        ValueError: a name stands there twice.
    """
    rows = read_rows(path)
    by_name = {row[name]: row for row in rows}
    if len(by_name) != len(rows):
        raise ValueError(f"{path}: a {name} stands in several rows")
    return by_name


def read_recalls(path: str) -> dict[Cell, dict]:
    """Reads the paper's recalls by cell.

    Raises:
        ValueError: a cell stands there twice.
    """
    rows = read_rows(path)
    cells = {(row["family"], row["model"], row["foil_type"], row["split"], row["complexity"]): row for row in rows}
    if len(cells) != len(rows):
        raise ValueError(f"{path}: a cell stands in several rows")
    return cells


def imagenet_top1(
    name: str, definition: Mapping, published: Mapping[str, Mapping], checkpoints: Sequence[Mapping]
) -> float | None:
    """Returns the published ImageNet top-1 of a model in percent, None where none is known.

    Args:
        name: name of the model in the config.
        definition: its definition.
        published: rows of resources/published/models.csv by name.
        checkpoints: rows of resources/published/checkpoints.csv, for other models of open_clip by architecture and tag.
    """
    if name in published:
        return float(published[name]["imagenet_top1"]) if published[name]["imagenet_top1"] else None
    architecture = definition.get("architecture", "").replace("/", "-")
    wanted = (architecture, definition.get("weights"), COLLECTION)
    found = [row for row in checkpoints if (row["architecture"], row["weights"], row["collection"]) == wanted]
    return float(found[0]["imagenet_top1"]) if found else None


def differences(family: str, row: Mapping, definition: Mapping, known: Mapping, method: Mapping) -> str:
    """Returns what still differs between a row of ours and the paper's, as words of VOCABULARY.

    Args:
        family: family of the sets.
        row: row of systematicity.csv or productivity.csv.
        definition: the model's definition in the config.
        known: row of resources/models/models.csv of that name.
        method: `is_released`: the sets are read from the released files; `is_image_sample`: a part of the images.
    """
    found = {"ties"}
    if not method["is_released"]:
        found |= {*DIFFERENCES[family], *(DIFFERENCES.get(row["foil_type"], ()) if family == PRODUCTIVITY else ())}
    if any(definition.get(key, "") != known.get(key, "") for key in ("architecture", "weights")):
        found.add("weights")
    if definition["family"] == OPENAI_FAMILY and definition.get("precision") != OPENAI_PRECISION:
        found.add("precision")
    if method["is_image_sample"]:
        found.add("image_sample")
    found |= {MARKED[mark] for mark in row["marks"].split() if mark in MARKED}
    return " ".join(word for word in VOCABULARY if word in found)


def compared_rows(systematicity: Sequence[dict], productivity: Sequence[dict]) -> Iterator[tuple[str, dict]]:
    """Yields family and row of what may be compared: the paper's forms; of productivity one row for each complexity."""
    for row in systematicity:
        if row["protocol"] in COMPARED:
            yield SYSTEMATICITY, row
    by_line: dict[tuple[str, str], list[dict]] = defaultdict(list)
    for row in productivity:
        if row["protocol"] in COMPARED and row["foil_type"] != OVERALL:
            by_line[row["model"], row["foil_type"]].append(row)
    for rows in by_line.values():
        for row in complexity_rows(rows):
            yield PRODUCTIVITY, row


def comparison_row(family: str, row: Mapping, cell: Mapping, n_published: str, differs_by: str) -> dict:
    """Returns a row of published_comparison.csv.

    Args:
        family: family of the sets.
        row: row of systematicity.csv or productivity.csv.
        cell: row of resources/published/recalls.csv.
        n_published: queries of the paper's cell, "" where they are not known.
        differs_by: words of VOCABULARY.
    """
    published = float(cell["recall_at_1"])
    low, high = float(row["recall_at_1_low"]), float(row["recall_at_1_high"])
    copied = {name: row[name] for name in COLUMNS if name in row}
    return {
        **dict.fromkeys(COLUMNS, ""),
        **copied,
        "family": family,
        "published_n_queries": n_published,
        "published_recall_at_1": published,
        "difference": float(row["recall_at_1"]) - published,
        "inside_interval": "yes" if low <= published <= high else "no",
        "differs_by": differs_by,
        "source": cell["source"],
    }


def tabulate_published_comparison(
    systematicity_path: str,
    productivity_path: str,
    published_path: str,
    recalls_path: str,
    released_path: str,
    known_path: str,
    table_path: str,
    cfg: str,
) -> None:
    """Writes published_comparison.csv; without a model or a set of the paper it is a head without rows.

    Args:
        systematicity_path: systematicity.csv.
        productivity_path: productivity.csv.
        published_path: resources/published/models.csv.
        recalls_path: resources/published/recalls.csv.
        released_path: resources/published/released.csv.
        known_path: resources/models/models.csv.
        table_path: table to write.
        cfg: JSON of `models` (pairs of name and definition) and `method` (see `differences`).
    """
    config = json.loads(cfg)
    definitions, published = dict(config["models"]), read_by_name(published_path)
    known, recalls = read_by_name(known_path, "name"), read_recalls(recalls_path)
    n_released = {(row["foil_type"], row["complexity"]): row["n_sets"] for row in read_rows(released_path)}
    rows = []
    for family, row in compared_rows(read_rows(systematicity_path), read_rows(productivity_path)):
        model = row["model"]
        if model not in published:
            continue
        corpus = published[model]["training_corpus"]
        key = (family, model, row["foil_type"], row.get("split", ""), "")
        if family == PRODUCTIVITY:
            key = (*key[:4], row["complexity"])
            n_published = n_released.get((row["foil_type"], row["complexity"]), "")
        elif row["training_corpus"] != corpus:  # a control on the splits of another corpus
            continue
        else:
            n_published = ""
        if key in recalls:
            differs_by = differences(family, row, definitions[model], known[model], config["method"])
            found = comparison_row(family, row, recalls[key], n_published, differs_by)
            rows.append({**found, "training_corpus": corpus})
    write_csv(table_path, COLUMNS, rows)
