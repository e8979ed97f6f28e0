import json

import numpy as np
import pytest

from crepebench.accounting import read_accounting
from crepebench.judged_prompts import (
    Judgement,
    export_embeddings,
    read_judgements,
    read_prompts,
    score_judgements,
    tabulate_judged_prompts,
)

PROMPTS = "Prompts,Affirmative,Negated\na book with no cover,a book,cover\na street without cars,a street,cars\n"
HEAD = "prompt_id,affirmative,negated_present\n"


def write(folder, name, text):
    (folder / name).write_text(text, encoding="utf-8")
    return str(folder / name)


@pytest.fixture
def prompts(tmp_path):
    return read_prompts(write(tmp_path, "prompts.csv", PROMPTS))


def test_prompts_are_numbered_as_they_stand(prompts):
    assert [prompt.id for prompt in prompts] == ["p001", "p002"]
    assert prompts[1] == ("p002", "a street without cars", "a street", "cars")


def test_published_prompts_are_107(shared_data):
    path = shared_data / "benchmarks" / "negbench" / "t2i_prompts_107.csv"
    prompts = read_prompts(str(path))
    assert len(prompts) == 107
    assert prompts[0] == ("p001", "a book with no cover", "a book", "cover")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Prompts,Affirmative\na,b\n", "prompts.csv: lacks the columns Negated"),
        (PROMPTS + "a cat,,cat\n", "prompts.csv: row 3: needs"),
        (PROMPTS + "a cat,a,b,c\n", "prompts.csv: row 3: needs"),
        (PROMPTS + "a book with no cover,a book,cover\n", "row 3: the prompt 'a book with no cover' is that of p001"),
        ("Prompts,Affirmative,Negated\n", "there are no prompts"),
    ],
)
def test_prompts_that_are_wrong_are_named(tmp_path, text, message):
    with pytest.raises(ValueError, match=message):
        read_prompts(write(tmp_path, "prompts.csv", text))


def test_export_holds_a_row_for_each_line_of_prompts(tmp_path, prompts):
    from safetensors.numpy import load_file

    features = {"frozen": np.eye(2, 3), "corrected": np.eye(2, 3)[::-1]}
    encoders = {name: (lambda texts, name=name: features[name]) for name in features}
    export_embeddings(prompts, encoders, str(tmp_path / "e.safetensors"), str(tmp_path / "p.jsonl"))
    found = load_file(tmp_path / "e.safetensors")
    assert all(np.array_equal(found[name], features[name]) and found[name].dtype == np.float32 for name in features)
    lines = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert lines[1] == {
        **{"row": 1, "prompt_id": "p002", "prompt": "a street without cars"},
        **{"affirmative": "a street", "negated": "cars"},
    }


def test_comb_is_an_and_of_each_prompt_and_no_product():
    yes_no = [(True, True), (True, False), (False, False), (False, False)]
    found = score_judgements({f"p{i}": Judgement(*each) for i, each in enumerate(yes_no)})
    assert found == {"aff": 50.0, "neg": 75.0, "comb": 25.0, "n_prompts": 4}


def test_answers_are_read_in_any_spelling_and_missing_ones_counted(tmp_path, prompts, caplog):
    answers, counts = read_judgements(write(tmp_path, "judge.csv", HEAD + "p002,Yes,0\n"), prompts)
    assert answers == {"p002": Judgement(True, False)}
    assert counts["prompt"] == {"read": 2, "kept": 1, "not_judged": 1}
    assert counts["judgement"] == {"read": 1, "kept": 1}
    assert "1 of 2 prompts are not judged: p001" in caplog.text


BAD = [
    ("p009,yes,no", "unknown_prompt"),
    ("p001,maybe,no", "neither_yes_nor_no"),
    ("p002,no,no", "judged_twice"),
    ("p001,yes", "columns_wrong"),
    ("p001,yes,no,no", "columns_wrong"),
]


@pytest.mark.parametrize(("row", "reason"), BAD)
def test_bad_row_stops_by_name_or_is_counted(tmp_path, prompts, row, reason):
    path = write(tmp_path, "judge.csv", f"{HEAD}p002,yes,no\n{row}\n")
    with pytest.raises(ValueError, match=f"judge.csv: row 2: {reason}"):
        read_judgements(path, prompts)
    answers, counts = read_judgements(path, prompts, bad_rows="skip")
    assert list(answers) == ["p002"]
    assert counts == {"prompt": {"read": 2, "kept": 1, "not_judged": 1}, "judgement": {"read": 2, "kept": 1, reason: 1}}


def test_table_holds_the_shares_and_the_counts_add_up(tmp_path):
    paths = write(tmp_path, "prompts.csv", PROMPTS), write(tmp_path, "judge.csv", f"{HEAD}p002,yes,no\np009,yes,no\n")
    tabulate_judged_prompts(*paths, str(tmp_path / "table.csv"), str(tmp_path / "counts.csv"), '{"bad_rows": "skip"}')
    assert (tmp_path / "table.csv").read_text() == "metric,value,n_prompts\naff,100.00,1\nneg,100.00,1\ncomb,100.00,1\n"
    assert {(row["unit"], row["reason"]): row["count"] for row in read_accounting([str(tmp_path / "counts.csv")])} == {
        **{("prompt", "read"): 2, ("prompt", "kept"): 1, ("prompt", "not_judged"): 1},
        **{("judgement", "read"): 2, ("judgement", "kept"): 1, ("judgement", "unknown_prompt"): 1},
    }


def test_nothing_judged_is_no_score(tmp_path, prompts):
    answers, _ = read_judgements(write(tmp_path, "judge.csv", HEAD), prompts)
    with pytest.raises(ValueError, match="no prompt was judged"):
        score_judgements(answers)
    with pytest.raises(ValueError, match="lacks the columns negated_present"):
        read_judgements(write(tmp_path, "other.csv", "prompt_id,affirmative\n"), prompts)
