import numpy as np
import pytest

from crepebench.benchmark_results import result_rows
from crepebench.negation_cells import Bootstrap, near_ties
from crepebench.negation_tables import change_rows, control_rows, crepe_rows, near_tie_rows, value_rows

from .benchmark_rows import make_item, rows_of

DRAW = Bootstrap(50, 1, ("m", "b"))
RIGHT, WRONG = [4.0, 1.0, 2.0, 3.0], [1.0, 4.0, 2.0, 3.0]


def questions(n, **tags):
    return rows_of([make_item("choose_caption", i, tags=tags) for i in range(n)])


def results(rows, scores):
    return [one for row, found in zip(rows, scores, strict=True) for one in result_rows(row, np.array(found), False)]


def values(rows):
    return {(row["subset"], row["metric"]): row["value"] for row in rows}


def test_a_gain_is_the_difference_to_the_frozen_model_item_by_item():
    rows = questions(4, form="explicit")
    own, frozen = results(rows, [RIGHT, RIGHT, RIGHT, WRONG]), results(rows, [WRONG, RIGHT, WRONG, RIGHT])
    found = values(value_rows(rows, own, frozen, {}, DRAW))
    assert found["all", "accuracy"] == found["form=explicit", "accuracy"] == 75.0
    assert found["all", "accuracy_gain"] == 25.0
    same = {row["metric"]: row for row in value_rows(rows, own, own, {}, DRAW) if row["subset"] == "all"}
    assert [same["accuracy_gain"][key] for key in ("value", "low", "high")] == [0.0] * 3
    assert not any(metric.endswith("_gain") for _, metric in values(value_rows(rows, own, None, {}, DRAW)))


def test_near_ties_are_a_quarter_rounded_up_by_the_frozen_margin_and_then_the_id():
    rows = questions(9)
    margins = [0.5, 0.25, 0.25, 0.25, 0.5, 0.5, 0.5, 0.5, 0.5]
    frozen = results(rows, [[1.0, 1.0 - margin, 0.0, 0.0] for margin in margins])
    assert near_ties(rows, frozen) == {"choose_caption1", "choose_caption2", "choose_caption3"}
    own = results(rows, [WRONG] + [RIGHT] * 2 + [WRONG] * 6)
    (row,) = near_tie_rows(rows, own, frozen, DRAW)
    assert (row["subset"], row["metric"], round(row["value"], 2)) == ("near_tie", "accuracy", 66.67)


def test_each_control_has_rows_of_its_own():
    rows = questions(2)
    controls = [{**row, "control": "a"} for row in results(rows, [RIGHT, WRONG])]
    controls += [{**row, "control": "b"} for row in results(rows, [WRONG, WRONG])]
    found = {row["control"]: row["value"] for row in control_rows(rows, controls, {}, DRAW) if row["subset"] == "all"}
    assert found == {"a": 50.0, "b": 0.0}


def test_corrections_are_averaged_by_cue_place_and_form():
    rows = questions(1, form="implicit")
    changes = [
        {
            "item_id": "choose_caption0",
            "caption": i,
            "has_cue": i == 1,
            "cosine": 0.5 + i / 10,
            "offset": (-1) ** i / 10,
        }
        for i in range(4)
    ]
    found = values(change_rows(rows, changes, DRAW))
    assert found["all", "cosine_to_frozen"] == pytest.approx(65.0)
    assert found["cue=yes", "cosine_to_frozen"] == found["form=implicit", "cosine_to_frozen"] == pytest.approx(60.0)
    assert found["right=yes", "cosine_to_frozen"] == pytest.approx(50.0)
    assert found["all", "offset_size"] == pytest.approx(10.0)  # of its size, whatever the sign


def test_sets_of_crepe_are_compared_by_type_and_kind_of_foil():
    def scored(rank, wins):
        return {"rank": rank, "wins": wins}

    sets = [
        {
            **{"image_id": i, "foil_type": "negate", "kinds": ["negated_object", "negated_relation"]},
            **{"one": scored(2.0, [0.0, 1.0]), "other": scored(1.0 if i else 3.0, [1.0, 1.0])},
        }
        for i in range(2)
    ]
    unscored = {**sets[0], "other": None}
    found = values(crepe_rows([*sets, unscored], "productivity", False, DRAW))
    assert found == {
        ("negate", "recall_at_1"): 50.0,
        ("negate", "recall_at_1_gain"): 50.0,
        ("negate/negated_object", "pairwise_accuracy"): 100.0,
        ("negate/negated_object", "pairwise_accuracy_gain"): 100.0,
        ("negate/negated_relation", "pairwise_accuracy"): 100.0,
        ("negate/negated_relation", "pairwise_accuracy_gain"): 0.0,
    }
