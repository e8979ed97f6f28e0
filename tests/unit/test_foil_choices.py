import json

import numpy as np
import pytest

from crepebench.foil_choices import filter_foils
from crepebench.schema import FOIL_CANDIDATES, FOIL_CHOICES, FOIL_SCORES, read_table, write_table

from .foil_rows import candidate

COLOURS = "red blue green yellow purple black white brown".split()
KINDS = "jar cup box hat pen bell".split()
CFG = {"seed": 1, "plausibility": "ngram", "max_lost": 0.3}


def rows_of(region_id):
    rng = np.random.default_rng(region_id)
    one, other = (str(word) for word in rng.permutation(COLOURS)[:2])
    first, second = (str(word) for word in rng.permutation(KINDS)[:2])
    atom = [f"a {word} {first}" for word in COLOURS if word != one]
    single = [f"a {word} {first} and a {other} {second}" for word in COLOURS if word != one]
    comp = [f"a {a} {first} and a {b} {second}" for a in COLOURS[:3] for b in COLOURS[3:] if a != one and b != other]
    truth = f"a {one} {first} and a {other} {second}"
    rows = [
        candidate(region_id, "atom", atom, image_id=region_id, caption=f"a {one} {first}"),
        candidate(region_id, "comp", comp, image_id=region_id, caption=truth),
        candidate(region_id, "combined", single, image_id=region_id, caption=truth),
    ]
    rows[2]["foils"] += rows[1]["foils"]
    return rows


@pytest.fixture(scope="module")
def choose(tmp_path_factory):
    """Chooses among the candidates of 60 regions in some parts, and returns choices by region and foil_type."""

    def choose(n_parts=1, scores=None, **cfg):
        folder = tmp_path_factory.mktemp("choices")
        paths = [str(folder / f"{part}.parquet") for part in range(n_parts)]
        for part, path in enumerate(paths):
            rows = [row for region_id in range(part, 60, n_parts) for row in rows_of(region_id)]
            write_table(path, FOIL_CANDIDATES, [*rows, candidate(900 + part, texts=[], reason="atom_foils")])
        out = str(folder / "choices.parquet")
        filter_foils(paths, scores or [], out, json.dumps({**CFG, **cfg}))
        return {(row["region_id"], row["foil_type"]): row for row in read_table(out, FOIL_CHOICES).to_pylist()}

    return choose


def test_number_of_parts_does_not_change_the_choice(choose):
    found = choose()
    assert found == choose(n_parts=3)
    assert len(found) == 180


def test_sets_have_their_full_number_of_foils_or_a_reason(choose):
    for (_, foil_type), row in choose().items():
        size = {"atom": 4, "comp": 6, "combined": 10}[foil_type]
        assert (len(set(row["chosen"])), row["reason"]) in ((size, ""), (0, "refinement"))


def test_combined_takes_the_foils_of_comp_and_four_with_one_wrong_atom(choose):
    found = choose()
    for region_id in range(60):
        combined, comp = found[region_id, "combined"], found[region_id, "comp"]
        if comp["reason"]:
            assert combined["reason"]
        elif not combined["reason"]:
            assert [place - 7 for place in combined["chosen"][4:]] == comp["chosen"]
            assert max(combined["chosen"][:4]) < 7


def test_likelihoods_of_a_language_model_take_the_place_of_counts(choose, tmp_path):
    rng = np.random.default_rng(1)
    scores = [
        {"region_id": row["region_id"], "foil_type": row["foil_type"], "scores": rng.normal(size=1 + len(row["foils"]))}
        for region_id in range(60)
        for row in rows_of(region_id)
    ]
    write_table(str(tmp_path / "scores"), FOIL_SCORES, scores)
    found = choose(scores=[str(tmp_path / "scores")], plausibility="masked", max_lost=0.0)
    above = []
    for row in scores:
        if row["foil_type"] == "atom":
            chosen = found[row["region_id"], "atom"]["chosen"]
            above.append(int((row["scores"][1:][chosen] > row["scores"][0]).sum()))
    assert set(above) == set(range(5))
    assert found != choose(plausibility="none", max_lost=0.0)
