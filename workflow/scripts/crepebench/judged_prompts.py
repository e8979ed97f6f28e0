"""Hand prompts to an image generator and read what a judge says of its images.

The paper generates images from 107 prompts with a frozen GALIP and lets a language model judge them ("PeakPatch", arXiv
2607.23271, text-to-image experiment). Neither is part of this workflow: it exports what a generator needs, and reads a
judge's answers. Comb is the share of prompts whose image has what is affirmed and lacks what is denied: an AND for each
prompt, not Aff times Neg (which the paper's figures confirm).
"""

import csv
import json
import logging
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.file_faults import named_faults
from crepebench.files import atomic_path
from crepebench.measures import write_csv

logger = logging.getLogger(__name__)

PROMPT_COLUMNS = ("Prompts", "Affirmative", "Negated")
JUDGE_COLUMNS = ("prompt_id", "affirmative", "negated_present")
YES, NO = frozenset(("yes", "true", "1")), frozenset(("no", "false", "0"))
ERROR, SKIP = POLICIES = ("error", "skip")
"""What to do with a bad row: stop, or leave it out and count it."""
UNKNOWN_PROMPT, JUDGED_TWICE, NO_ANSWER, NOT_JUDGED, INCOMPLETE = (
    "unknown_prompt",
    "judged_twice",
    "neither_yes_nor_no",
    "not_judged",
    "columns_wrong",
)
SHOWN = 5


class Prompt(NamedTuple):
    """A prompt, what its image should show, and what not; the id is the number of its row, from 1, as "p001"."""

    id: str
    text: str
    affirmative: str
    negated: str


class Judgement(NamedTuple):
    """What a judge says of an image: whether it shows what is affirmed, and what is denied."""

    affirmative: bool
    negated_present: bool


def read_prompts(path: str) -> list[Prompt]:
    """Reads prompts.

    Raises:
        ValueError: the file is no CSV with the columns PROMPT_COLUMNS, has no row, or a row lacks a text or repeats a
            prompt; names file and row.
    """
    prompts: list[Prompt] = []
    seen: dict[str, str] = {}
    for number, row in enumerate(_read_rows(path, PROMPT_COLUMNS), start=1):
        texts = [(row[column] or "").strip() for column in PROMPT_COLUMNS]
        if None in row or not all(texts):
            raise ValueError(f"{path}: row {number}: needs {', '.join(PROMPT_COLUMNS)}, each with a text: {row}")
        if texts[0] in seen:
            raise ValueError(f"{path}: row {number}: the prompt {texts[0]!r} is that of {seen[texts[0]]}")
        prompts.append(Prompt(f"p{number:03d}", *texts))
        seen[texts[0]] = prompts[-1].id
    if not prompts:
        raise ValueError(f"{path}: there are no prompts")
    return prompts


def export_embeddings(
    prompts: Sequence[Prompt],
    encoders: dict[str, Callable[[list[str]], np.ndarray]],
    embeddings_path: str,
    prompts_path: str,
) -> None:
    """Writes the text features of prompts for a generator, row by row in the order of the lines of prompts.

    Args:
        prompts: the prompts.
        encoders: what encodes texts into (n, dim) float32, by the name of the tensor ("frozen", "corrected").
        embeddings_path: safetensors file to write; a tensor (n, dim) float32 for each name.
        prompts_path: JSON lines to write: row, prompt_id, prompt, affirmative, negated.
    """
    from safetensors.numpy import save_file

    texts = [prompt.text for prompt in prompts]
    tensors = {name: np.ascontiguousarray(encode(texts), np.float32) for name, encode in encoders.items()}
    with atomic_path(embeddings_path) as partial:
        save_file(tensors, partial)
    with atomic_path(prompts_path) as partial, open(partial, "w", encoding="utf-8") as file:
        for row, prompt in enumerate(prompts):
            line = {"row": row, "prompt_id": prompt.id, "prompt": prompt.text}
            line |= {"affirmative": prompt.affirmative, "negated": prompt.negated}
            file.write(json.dumps(line, ensure_ascii=False) + "\n")


def read_judgements(
    path: str, prompts: Sequence[Prompt], bad_rows: str = ERROR
) -> tuple[dict[str, Judgement], dict[str, Counter]]:
    """Reads a judge's answers.

    Args:
        path: CSV with the columns JUDGE_COLUMNS; answers are yes or no, true or false, 1 or 0.
        prompts: the prompts that were judged.
        bad_rows: ERROR or SKIP. Prompts that nobody judged are no bad rows: they are counted and told of.

    Returns:
        Answers by the id of the prompt, and the counts of the units "prompt" and "judgement" (a row), for accounting.

    Raises:
        ValueError: the file is no such CSV, or a row is bad and `bad_rows` is ERROR; names file, row and value.
    """
    if bad_rows not in POLICIES:
        raise ValueError(f"unknown policy {bad_rows!r} for bad rows: use {' or '.join(POLICIES)}")
    known = {prompt.id for prompt in prompts}
    answers: dict[str, Judgement] = {}
    rows: Counter = Counter({READ: 0, KEPT: 0})
    for number, row in enumerate(_read_rows(path, JUDGE_COLUMNS), start=1):
        rows[READ] += 1
        found = _judgement(row, known, answers)
        if isinstance(found, Judgement):
            rows[KEPT] += 1
            answers[row["prompt_id"].strip()] = found
            continue
        if bad_rows == ERROR:
            raise ValueError(f"{path}: row {number}: {found}: {row}")
        logger.warning("%s: row %d is left out: %s: %s", path, number, found, row)
        rows[found] += 1
    missing = sorted(known - answers.keys())
    if missing:
        first = ", ".join(missing[:SHOWN]) + (", ..." if len(missing) > SHOWN else "")
        logger.warning("%s: %d of %d prompts are not judged: %s", path, len(missing), len(known), first)
    counts = Counter({READ: len(known), KEPT: len(answers), **({NOT_JUDGED: len(missing)} if missing else {})})
    return answers, {"prompt": counts, "judgement": rows}


def _judgement(row: dict, known: set[str], answers: dict) -> Judgement | str:
    """Returns what a row says, or why it is bad."""
    values = [row[column] for column in JUDGE_COLUMNS]
    if None in row or None in values:
        return INCOMPLETE
    id_, *words = (value.strip() for value in values)
    if id_ not in known:
        return UNKNOWN_PROMPT
    if id_ in answers:
        return JUDGED_TWICE
    if any(word.lower() not in YES | NO for word in words):
        return NO_ANSWER
    return Judgement(*(word.lower() in YES for word in words))


def score_judgements(answers: dict[str, Judgement]) -> dict:
    """Returns Aff, Neg and Comb in percent over the prompts that were judged, and their number.

    Aff: the image shows what is affirmed. Neg: it does not show what is denied. Comb: both, prompt by prompt.

    Raises:
        ValueError: nothing was judged.
    """
    if not answers:
        raise ValueError("no prompt was judged, so there is nothing to score")
    affirmed = np.array([answers[id_].affirmative for id_ in sorted(answers)])
    lacking = np.array([not answers[id_].negated_present for id_ in sorted(answers)])
    shares = {"aff": affirmed, "neg": lacking, "comb": affirmed & lacking}
    return {**{name: 100.0 * float(values.mean()) for name, values in shares.items()}, "n_prompts": len(answers)}


def tabulate_judged_prompts(
    prompts_path: str, judgements_path: str, table_path: str, accounting_path: str, cfg: str
) -> None:
    """Writes Aff, Neg and Comb of a judge's answers as CSV (metric, value, n_prompts), and counts of both files.

    Args:
        prompts_path: CSV of prompts.
        judgements_path: CSV of a judge's answers.
        table_path: CSV to write; values in percent.
        accounting_path: counts to write.
        cfg: JSON of `bad_rows`, ERROR or SKIP.
    """
    answers, counts = read_judgements(judgements_path, read_prompts(prompts_path), json.loads(cfg)["bad_rows"])
    scores = score_judgements(answers)
    rows = [
        {"metric": name, "value": scores[name], "n_prompts": scores["n_prompts"]} for name in ("aff", "neg", "comb")
    ]
    write_csv(table_path, ("metric", "value", "n_prompts"), rows)
    write_accounting(accounting_path, "judged_prompts", counts)


def _read_rows(path: str, columns: Sequence[str]) -> list[dict]:
    """Reads a CSV file; a row that has too many columns holds them under None.

    Raises:
        ValueError: it is no CSV in UTF-8, or lacks a column.
    """
    with named_faults(path), open(path, newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file)
        missing = [column for column in columns if column not in (reader.fieldnames or [])]
        if missing:
            raise ValueError(f"{path}: lacks the columns {', '.join(missing)}; it has {reader.fieldnames}")
        return list(reader)
