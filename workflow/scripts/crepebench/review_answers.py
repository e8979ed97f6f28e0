"""Read what annotators answered on the review page, and check it against the sample that the page showed.

A file is taken whole or refused: of this sample, every item answered, and as the page wrote it (a checksum tells).
docs/review.md says how people make such files.
"""

import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

FORMAT = "crepe-review-1"
SIGNED = ("format", "sample_id", "annotator", "n_items", "answers")
"""Fields that the checksum covers, in its order."""
FIELDS = {*SIGNED, "saved_at", "checksum"}
CAPTION, SET, PARSER = "caption", "set", "parser"  # kinds of items
TRUTH = "truth"
"""Id of the true candidate of a set; the others are foils, under their foil_id."""
YES, NO, UNSURE = "yes", "no", "unsure"
YES_NO_UNSURE = (YES, NO, UNSURE)
YES_NO = (YES, NO)
MOST_BYTES = 64 * 2**20
"""A thousand times the answers to a hundred sets; what is larger is something else."""
MOST_FACTS = 999
"""Facts that a caption can lack; more is a slip of the keyboard."""
MOST_NAME = 40
MOST_SHOWN = 5
"""Open items that a message names."""


@dataclass(frozen=True)
class Sample:
    """What the review page showed.

    Attributes:
        sample_id: digest of all of it.
        items: by item_id, in the order of the page.
    """

    sample_id: str
    items: dict[str, dict]


@dataclass(frozen=True)
class Answers:
    """What one annotator answered.

    Attributes:
        path: the file.
        annotator: name.
        answers: by item_id, for every item of the sample.
    """

    path: str
    annotator: str
    answers: dict[str, dict]


def read_sample(path: str) -> Sample:
    """Reads results/review/sample.json."""
    sample = json.loads(Path(path).read_text(encoding="utf-8"))
    return Sample(sample["sample_id"], {item["item_id"]: item for item in sample["items"]})


def checksum_of(file: Mapping) -> str:
    """Returns the checksum of an annotator's file: CRC-32 of its signed fields as JSON, 8 hexadecimal digits."""
    text = json.dumps([file[field] for field in SIGNED], sort_keys=True, separators=(",", ":"))
    return f"{zlib.crc32(text.encode('ascii')):08x}"


def foils_of(item: Mapping) -> dict[str, dict]:
    """Returns the foils of a set by foil_id, in the order in which the page showed them."""
    return {candidate["id"]: candidate for candidate in item["candidates"] if candidate["id"] != TRUTH}


def read_answers(path: str, sample: Sample) -> Answers:
    """Reads an annotator's file.

    Raises:
        ValueError: it is too large, no UTF-8 or JSON, of another format or sample, edited, or half finished, or an
            answer is none that the page offers; names file, item and value.
    """
    try:
        file = _read_json(path)
        _check_head(file, sample)
        _check_answers(file["answers"], sample)
    except RecursionError as error:
        raise ValueError(f"{path}: is nested too deep for a file of the review page") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return Answers(path, file["annotator"], file["answers"])


def _read_json(path: str):
    size = os.path.getsize(path)
    if size > MOST_BYTES:
        raise ValueError(f"has {size} bytes; a file of the review page has at most {MOST_BYTES}")
    try:
        text = Path(path).read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 (byte {error.start}): was it saved by another program?") from error
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"is no JSON, or only a part of it: {error}") from error


def _check_head(file, sample: Sample) -> None:
    """Checks everything but the answers.

    Raises:
        ValueError: says what is wrong.
    """
    if not isinstance(file, dict) or "format" not in file:
        raise ValueError("is no file of the review page: it has no field 'format'")
    if file["format"] != FORMAT:
        raise ValueError(f"has the format {_show(file['format'])}; this version reads {FORMAT!r}")
    if odd := sorted(file.keys() ^ FIELDS):
        raise ValueError(f"lacks or adds the fields {_show(odd)}; a file of the review page has {sorted(FIELDS)}")
    if file["sample_id"] != sample.sample_id:
        raise ValueError(
            f"answers the sample {_show(file['sample_id'])}, and sample.json is {sample.sample_id!r}: the file is of "
            "another run, or the page was made anew with other captions, foils, or settings"
        )
    if (expected := checksum_of(file)) != file["checksum"]:
        raise ValueError(
            f"was edited: its checksum is {_show(file['checksum'])} and should be {expected!r}; load the file as the "
            "page wrote it into the page, and correct the answers there"
        )
    name = file["annotator"]
    if not isinstance(name, str) or not 0 < len(name) <= MOST_NAME or not name.isprintable() or name != name.strip():
        raise ValueError(f"the annotator {_show(name)} is no name of 1 to {MOST_NAME} characters")
    if name.casefold() == "all":
        raise ValueError(f"the annotator is called {name!r}, as all annotators together are in the table")
    if file["n_items"] != len(sample.items) or isinstance(file["n_items"], bool):
        raise ValueError(f"n_items is {_show(file['n_items'])}; the sample has {len(sample.items)} items")
    if not isinstance(file["answers"], dict):
        raise ValueError("answers is no object of item_id and answer")


def _check_answers(answers: Mapping[str, object], sample: Sample) -> None:
    """Checks that every item of the sample is answered, and nothing else.

    Raises:
        ValueError: names the items.
    """
    if unknown := [item_id for item_id in answers if item_id not in sample.items]:
        raise ValueError(f"answers items that the sample does not have: {_list(unknown)}")
    is_open = []
    for item_id, item in sample.items.items():
        try:
            if item_id not in answers or not CHECKS[item["kind"]](item, answers[item_id]):
                is_open.append(item_id)
        except ValueError as error:
            raise ValueError(f"item {item_id} ({item['kind']}): {error}") from error
    if is_open:
        raise ValueError(
            f"is half finished: {len(is_open)} of {len(sample.items)} items are open, the first {_list(is_open)}; "
            "load it into the page and go on"
        )


def _is_caption_done(item: Mapping, answer) -> bool:
    _check_fields(answer, ("faithful",))
    return _is_chosen(answer, "faithful", YES_NO_UNSURE)


def _is_set_done(item: Mapping, answer) -> bool:
    _check_fields(answer, ("pick", "faithful", "foils"))
    foils = foils_of(item)
    is_done = [_is_chosen(answer, "pick", (TRUTH, *foils)), _is_chosen(answer, "faithful", YES_NO_UNSURE)]
    judged = answer.get("foils") or {}
    if not isinstance(judged, dict):
        raise ValueError(f"foils is {_show(judged)}, and no object of foil_id and judgement")
    if unknown := [identity for identity in judged if identity not in foils]:
        raise ValueError(f"judges foils that the set does not have: {_list(unknown)}")
    for identity in foils:
        judgement = judged.get(identity) or {}
        _check_fields(judgement, ("false", "natural"))
        is_done += [_is_chosen(judgement, "false", YES_NO_UNSURE), _is_chosen(judgement, "natural", YES_NO)]
    return all(is_done)


def _is_parser_done(item: Mapping, answer) -> bool:
    _check_fields(answer, ("n_wrong", "n_missed"))
    return all([_is_count(answer, "n_wrong", len(item["found"])), _is_count(answer, "n_missed", MOST_FACTS)])


CHECKS = {CAPTION: _is_caption_done, SET: _is_set_done, PARSER: _is_parser_done}
"""By kind of item, what says whether an answer is complete, and raises ValueError where it is wrong."""


def _check_fields(answer, fields: Sequence[str]) -> None:
    if not isinstance(answer, dict):
        raise ValueError(f"the answer is {_show(answer)}, and no object")
    if unknown := answer.keys() - set(fields):
        raise ValueError(f"the answer has the fields {_show(sorted(unknown))}, which the page does not ask for")


def _is_chosen(answer: Mapping, field: str, allowed: Sequence[str]) -> bool:
    """Says whether a question is answered, with one of the answers that are offered; null is no answer."""
    value = answer.get(field)
    if value is not None and value not in allowed:
        raise ValueError(f"{field} is {_show(value)}, which is none of {', '.join(allowed)}")
    return value is not None


def _is_count(answer: Mapping, field: str, most: int) -> bool:
    value = answer.get(field)
    if value is None:
        return False
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise ValueError(f"{field} is {_show(value)}, and no whole number from 0 to {most}")
    return True


def _show(value: object) -> str:
    return f"{value!a:.80}"


def _list(ids: Sequence[str]) -> str:
    return ", ".join(ascii(identity)[1:17] for identity in ids[:MOST_SHOWN]) + (" ..." if len(ids) > MOST_SHOWN else "")


def read_all_answers(paths: Sequence[str], sample: Sample) -> list[Answers]:
    """Reads the files of all annotators.

    Returns:
        Answers in the order of the names, whatever the order of the files.

    Raises:
        ValueError: there is no file, one is refused, or two are of one annotator.
    """
    if not paths:
        raise ValueError("review.answers of the config names no file of an annotator: see docs/review.md")
    found: dict[str, Answers] = {}
    for path in paths:
        answers = read_answers(path, sample)
        name = " ".join(answers.annotator.casefold().split())
        if known := found.get(name):
            differing = sum(known.answers[item_id] != answers.answers[item_id] for item_id in sample.items)
            what = f"they differ in {differing} of {len(sample.items)} items" if differing else "with the same answers"
            raise ValueError(
                f"{known.path} and {path} are both of the annotator {answers.annotator!r}, {what}: keep one of them, "
                "or let two people take two names"
            )
        found[name] = answers
    return [found[name] for name in sorted(found)]
