"""Write what people found of captions, foils and the parser: shares with intervals, agreement, the paper's figures.

Source: paper sections 4.3, 5.1 and 6, appendix A.2; their figures stand in resources/published/checks.csv. What is
asked is defined in `crepebench.review_judgements`.
"""

import csv
import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from statistics import fmean

from crepebench.agreement import mean_agreement, wilson
from crepebench.families import FOIL_TYPES
from crepebench.measures import write_csv
from crepebench.review_answers import PARSER, read_all_answers, read_sample
from crepebench.review_judgements import (
    DISAGREEMENT_COLUMNS,
    FAITHFUL,
    FALSE,
    MISSED,
    NATURAL,
    PICK,
    SAMPLES,
    WRONG,
    Judgement,
    disagreement_rows,
    exclusion_rows,
    judgements,
)
from crepebench.set_ids import COLUMNS as EXCLUSION_COLUMNS

logger = logging.getLogger(__name__)

ALL = "all"
MEASURES = {
    FAITHFUL: "faithful_captions",
    FALSE: "genuine_foils",
    NATURAL: "natural_foils",
    PICK: "human_recall_at_1",
    WRONG: "parser_precision",
    MISSED: "parser_recall",
}
"""What the answers to each question give, in the order of the table."""
CELL_COLUMNS = ("measure", "sample", "family", "foil_type", "foil_kind", "complexity", "corpus")
COLUMNS = (
    *CELL_COLUMNS,
    "annotator",
    "n",
    "n_judgements",
    "value",
    "low",
    "high",
    "unsure",
    "random_recall_at_1",
    "agreement",
    "kappa",
    "published",
    "note",
    "source",
    "marks",
)
ONE_ANNOTATOR, NO_VARIATION = "one_annotator", "no_variation"
"""Marks: why there is no kappa."""
CHECKS = {
    "faithful captions": ("faithful_captions", "captions"),
    "genuine foils": ("genuine_foils", "sets"),
    "human recall at 1": ("human_recall_at_1", "sets"),
    "triplets that the parser found": ("parser_recall", "parser"),
}
"""Measure and sample of each check in checks.csv."""
Cell = tuple[str, ...]
"""Values of CELL_COLUMNS."""


def read_checks(path: str) -> dict[Cell, dict]:
    """Reads checks.csv.

    Returns:
        Published figure, note and source of each cell of human_review.csv that the paper has; a figure of several
        foil types together stands with each.

    Raises:
        ValueError: a check is unknown; names file and check.
    """
    found = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["check"] not in CHECKS:
                raise ValueError(f"{path}: the check {row['check']!r} is unknown; known are {list(CHECKS)}")
            measure, sample = CHECKS[row["check"]]
            types = row["foil_type"].split() or [""]
            remark = f"{' and '.join(types)} together" if len(types) > 1 else ""
            if sample == SAMPLES[PARSER]:
                remark = "of triplets alone, while objects count here, too"
            note = "; ".join(filter(None, (row["note"], remark)))
            values = {"published": float(row["percent"]), "note": note, "source": row["source"]}
            for foil_type in types:
                names = (row["subject"], foil_type, "")
                family, of_type, corpus = names if sample != SAMPLES[PARSER] else ("", "", row["subject"])
                found[measure, sample, family, of_type, corpus] = values
    return found


def cells_of(judgement: Judgement) -> Iterator[Cell]:
    """Yields the cells of the table to which a judgement belongs: its own, and those that pool."""
    item = judgement.item
    head = MEASURES[judgement.question], SAMPLES[item["kind"]]
    if item["kind"] == PARSER:
        for corpus in (ALL, item["corpus"]):
            yield (*head, "", "", "", "", corpus)
        return
    atoms = item.get("complexity")
    complexities = [""] if atoms is None else [ALL, str(atoms)]
    foil_type = item.get("foil_type")
    for of_type in [ALL, foil_type] if foil_type else [""]:
        for complexity in complexities:
            yield (*head, item["family"], of_type, ALL if judgement.foil else "", complexity, "")
        if judgement.foil:
            yield (*head, item["family"], of_type, judgement.foil["kind"], complexities[0], "")


def _order(cell: Cell) -> tuple:
    """Returns a sort key: measures and foil types as they are defined, what pools before its parts."""
    measure, sample, family, foil_type, kind, complexity, corpus = cell
    types = ["", ALL, *FOIL_TYPES.get(family, ())]
    n_atoms = int(complexity) if complexity not in ("", ALL) else -1
    place = list(MEASURES.values()).index(measure)
    return (place, sample, family, types.index(foil_type), kind not in ("", ALL), kind, n_atoms, corpus != ALL, corpus)


def figure(found: Sequence[Judgement], annotators: Sequence[int]) -> dict:
    """Returns the share of what counts, in percent, with its interval, and how many answers were unsure.

    Args:
        found: judgements of a cell.
        annotators: places of the annotators that count.

    Returns:
        n, n_judgements, value, low, high, unsure; "" where nothing is there to be a share of.
    """
    hits = sum(each.hits[i] for each in found for i in annotators)
    total = sum(each.totals[i] for each in found for i in annotators)
    row = {"n": len(found), "n_judgements": total, "value": "", "low": "", "high": "", "unsure": ""}
    if total:
        # ASSUME: a figure of several annotators is the mean of their judgements (the paper says "two annotators each"
        # and no more); its interval takes what both judged as one, so it is as wide as that of one annotator.
        low, high = wilson(hits / len(annotators), total / len(annotators))
        row |= {"value": 100.0 * hits / total, "low": 100.0 * low, "high": 100.0 * high}
    if found[0].question in (FAITHFUL, FALSE):
        row["unsure"] = 100.0 * fmean(each.answers[i] == "unsure" for each in found for i in annotators)
    return row


def agreement_columns(found: Sequence[Judgement]) -> dict:
    """Returns agreement in percent, kappa and marks of all annotators of a cell."""
    by_annotator = list(zip(*(each.categories for each in found), strict=True))
    # ASSUME: agreement is the share of equal answers and Cohen's kappa, unweighted, each the mean over pairs where
    # there are more than two annotators (the paper names no statistic); unsure is an answer like any other.
    share, kappa = mean_agreement(by_annotator)
    mark = ONE_ANNOTATOR if share is None else NO_VARIATION if kappa is None else ""
    return {
        "agreement": "" if share is None else 100.0 * share,
        "kappa": "" if kappa is None else float(kappa),
        "marks": mark,
    }


def review_rows(found: Iterable[Judgement], names: Sequence[str], published: Mapping[Cell, Mapping]) -> Iterator[dict]:
    """Yields the rows of human_review.csv: of each cell one for all annotators, and one for each.

    Args:
        found: judgements.
        names: of the annotators, in the order of the answers.
        published: what `read_checks` returns.
    """
    cells: dict[Cell, list[Judgement]] = defaultdict(list)
    for judgement in found:
        for cell in cells_of(judgement):
            cells[cell].append(judgement)
    everyone = range(len(names))
    for cell in sorted(cells, key=_order):
        of_cell = cells[cell]
        key = dict.fromkeys(COLUMNS, "") | dict(zip(CELL_COLUMNS, cell, strict=True))
        if of_cell[0].question == PICK:
            key["random_recall_at_1"] = 100.0 * fmean(1 / len(each.item["candidates"]) for each in of_cell)
        if {key["foil_kind"], key["complexity"]} <= {"", ALL}:
            key |= published.get((*cell[:4], key["corpus"]), {})
        yield {**key, "annotator": ALL, **figure(of_cell, everyone), **agreement_columns(of_cell)}
        for i, name in enumerate(names):
            yield {**key, "annotator": name, **figure(of_cell, [i])}


def tabulate_human_review(
    sample_path: str,
    answers_paths: list[str],
    checks_path: str,
    table_path: str,
    disagreements_path: str,
    exclusions_path: str,
) -> None:
    """Writes what people found, what they disagree about, and what they would leave out.

    Args:
        sample_path: results/review/sample.json.
        answers_paths: files of the annotators.
        checks_path: resources/published/checks.csv.
        table_path: human_review.csv to write.
        disagreements_path: CSV of the judgements that want a third look, to write.
        exclusions_path: exclusion list to write, in the form of `foils.exclusions`.

    Raises:
        ValueError: there is no file of an annotator, or one is refused; names file, item and value.
    """
    sample = read_sample(sample_path)
    annotators = read_all_answers(answers_paths, sample)
    names = [each.annotator for each in annotators]
    found = list(judgements(sample, annotators))
    disagreements = list(disagreement_rows(found, names))
    exclusions = exclusion_rows(found, names, sample.sample_id)
    logger.info("%d items, annotators: %s", len(sample.items), ", ".join(names))
    logger.info("%d judgements, %d of them disputed", len(found), len(disagreements))
    n_setless = sum(
        each.question == FAITHFUL and not each.item.get("set_id") and set(each.answers) == {"no"} for each in found
    )
    logger.info("%d exclusions; %d unfaithful captions of no set are no exclusion", len(exclusions), n_setless)
    write_csv(table_path, COLUMNS, list(review_rows(found, names, read_checks(checks_path))))
    write_csv(disagreements_path, DISAGREEMENT_COLUMNS, disagreements)
    write_csv(exclusions_path, EXCLUSION_COLUMNS, exclusions)
