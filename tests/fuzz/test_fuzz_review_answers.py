"""Odd files of annotators, mutated or damaged, with a checksum that fits or not: refused by name, or figures."""

import json

from hypothesis import given
from hypothesis import strategies as st

from crepebench.review_answers import SIGNED, Sample, checksum_of, read_all_answers
from crepebench.review_judgements import disagreement_rows, exclusion_rows, judgements
from crepebench.review_tables import COLUMNS, review_rows

from ..unit.review_rows import ITEMS, SAMPLE, good_answers, signed, write_json
from .mutations import damaged, inputs, mutated, odd_values, only_errors_that_name

SHOWN = Sample(SAMPLE["sample_id"], ITEMS)
answer_values = st.one_of(odd_values, st.sampled_from(["yes", "no", "unsure", "truth", 0, 1, 2, 4, -1, {}, None]))


def use(path, other):
    """Uses a file, and a good one beside it, as far as the tables go."""
    with only_errors_that_name(path):
        annotators = read_all_answers([str(path), other], SHOWN)
        names = [each.annotator for each in annotators]
        found = list(judgements(SHOWN, annotators))
        rows = list(review_rows(found, names, {}))
        assert all(row.keys() == set(COLUMNS) and 0 <= float(row["value"] or 0) <= 100 for row in rows)
        assert all(row["low"] == "" or row["low"] <= row["value"] + 1e-9 <= row["high"] + 2e-9 for row in rows)
        wrong = exclusion_rows(found, names, SHOWN.sample_id)
        assert wrong == []  # the other one finds nothing wrong
        json.dumps([*disagreement_rows(found, names)], ensure_ascii=False).encode()


def sign(file):
    """Gives a file the checksum that fits, if it is one."""
    if isinstance(file, dict) and all(field in file for field in SIGNED):
        file["checksum"] = checksum_of(file)
    return file


@inputs(0.1)
@given(st.data())
def test_edited_files_are_read_or_refused_by_name(folder, data):
    other = write_json(folder / "other.json", signed("Ben"))
    path = folder / "file.json"
    path.write_text(json.dumps(data.draw(mutated(signed()))))
    use(path, other)


@inputs(0.25)
@given(st.data())
def test_wrong_answers_under_a_good_checksum_are_read_or_refused_by_name(folder, data):
    other = write_json(folder / "other.json", signed("Ben"))
    path = folder / "file.json"
    if data.draw(st.booleans()):
        file = signed(answers=data.draw(mutated(good_answers(), values=answer_values)))
    else:
        file = sign(data.draw(mutated(signed(), values=answer_values)))
    path.write_text(json.dumps(file))
    use(path, other)


@inputs(0.15)
@given(st.data())
def test_damaged_files_are_read_or_refused_by_name(folder, data):
    other = write_json(folder / "other.json", signed("Ben"))
    path = folder / "file.json"
    text = json.dumps(signed("Ada Øster"), ensure_ascii=False)
    encoding = data.draw(st.sampled_from(["utf-8", "utf-8", "utf-8-sig", "utf-16", "latin-1"]))
    path.write_bytes(data.draw(damaged(text.encode(encoding))))
    use(path, other)
