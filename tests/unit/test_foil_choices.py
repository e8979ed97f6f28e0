import json
from pathlib import Path

import numpy as np
import pytest

from crepebench.foil_choices import filter_foils
from crepebench.schema import ENTAILMENT, FOIL_CANDIDATES, FOIL_CHOICES, FOIL_SCORES, read_table, write_table
from crepebench.set_ids import foil_id, set_id_of

from .foil_rows import candidate

COLOURS = "red blue green yellow purple black white brown".split()
KINDS = "jar cup box hat pen bell".split()
CFG = {"protocol": "refined", "seed": 1, "plausibility": "ngram", "max_lost": 0.3}


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

    def choose(n_parts=1, scores=None, exclusions="", **cfg):
        folder = tmp_path_factory.mktemp("choices")
        paths = [str(folder / f"{part}.parquet") for part in range(n_parts)]
        for part, path in enumerate(paths):
            rows = [row for region_id in range(part, 60, n_parts) for row in rows_of(region_id)]
            write_table(path, FOIL_CANDIDATES, [*rows, candidate(900 + part, texts=[], reason="atom_foils")])
        out, outcomes, listed = (str(folder / name) for name in ("choices.parquet", "outcomes.csv", "listed.csv"))
        Path(listed).write_text(f"id,reason\n{exclusions}")
        cfg = json.dumps({**CFG, **cfg})
        filter_foils(paths, scores or [], [], [listed], out, outcomes, "systematicity", cfg)
        choose.outcomes = Path(outcomes).read_text().splitlines()[1:]
        return {(row["source_id"], row["foil_type"]): row for row in read_table(out, FOIL_CHOICES).to_pylist()}

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
        {"source_id": row["source_id"], "foil_type": row["foil_type"], "scores": rng.normal(size=1 + len(row["foils"]))}
        for region_id in range(60)
        for row in rows_of(region_id)
    ]
    write_table(str(tmp_path / "scores"), FOIL_SCORES, scores)
    found = choose(scores=[str(tmp_path / "scores")], plausibility="masked", max_lost=0.0)
    above = []
    for row in scores:
        if row["foil_type"] == "atom":
            chosen = found[row["source_id"], "atom"]["chosen"]
            above.append(int((row["scores"][1:][chosen] > row["scores"][0]).sum()))
    assert set(above) == set(range(5))
    assert found != choose(plausibility="none", max_lost=0.0)


def test_protocol_paper_takes_the_first_foils_of_each_part(choose):
    found = choose(protocol="paper")
    assert found[3, "atom"]["chosen"] == [0, 1, 2, 3]
    assert found[3, "comp"]["chosen"] == [0, 1, 2, 3, 4, 5]
    assert found[3, "combined"]["chosen"] == [0, 1, 2, 3, 7, 8, 9, 10, 11, 12]


@pytest.mark.parametrize("protocol", ["paper", "refined"])
def test_a_spare_takes_the_place_of_an_excluded_foil_and_no_other_set_changes(choose, protocol):
    before = choose(protocol=protocol)
    region_id = next(i for i in range(60) if not before[i, "combined"]["reason"])
    row = rows_of(region_id)[1]
    texts = [row["foils"][i]["text"] for i in before[region_id, "comp"]["chosen"]]
    identity = foil_id(set_id_of(row), texts[2])
    after = choose(protocol=protocol, exclusions=f"{identity},it is true\n")
    changed = {key for key in before if before[key] != after[key]}
    assert changed == {(region_id, "comp"), (region_id, "combined")}  # they share truth and foils
    left = [row["foils"][i]["text"] for i in after[region_id, "comp"]["chosen"]]
    assert (len(set(left)), set(texts) - set(left)) == (6, {texts[2]})
    assert [i - 7 for i in after[region_id, "combined"]["chosen"][4:]] == after[region_id, "comp"]["chosen"]
    assert choose.outcomes == [f"{identity},it is true,foil_replaced"]


def test_excluded_sets_are_left_out_and_ids_that_name_nothing_are_told(choose):
    identity = set_id_of(rows_of(7)[0])
    found = choose(protocol="paper", exclusions=f"{identity},wrong box\n{'0' * 16},\n")
    assert (found[7, "atom"]["chosen"], found[7, "atom"]["reason"]) == ([], "excluded")
    assert found[7, "comp"]["reason"] == ""
    assert choose.outcomes == [f"{identity},wrong box,set_left_out", f"{'0' * 16},,names_nothing"]


def test_set_without_a_spare_is_lost_for_that_reason(choose):
    row = rows_of(7)[0]
    ids = [foil_id(set_id_of(row), foil["text"]) for foil in row["foils"][:4]]  # of 7, so 3 spares
    found = choose(protocol="paper", exclusions="".join(f"{identity},\n" for identity in ids))
    assert found[7, "atom"]["reason"] == "excluded_foils"
    assert [line.rpartition(",")[2] for line in choose.outcomes].count("set_lost_for_lack_of_a_spare") == 1


def test_foils_that_their_truth_entails_are_not_chosen(tmp_path):
    kinds = ["swapped_object"] * 7
    rows = [candidate(i, "swap", [f"{i} foil {k}" for k in range(7)], family="productivity") for i in (1, 2)]
    for row in rows:
        row["foils"] = [{**foil, "kind": kind} for foil, kind in zip(row["foils"], kinds, strict=True)]
    probabilities = {1: [0.9, 0.5, 0.1, 0.2, 0.3, 0.4, 0.4], 2: [0.9, 0.9, 0.9, 0.2, 0.3, 0.4, 0.4]}
    entailment = [{"source_id": i, "foil_type": "swap", "probabilities": p} for i, p in probabilities.items()]
    paths = [str(tmp_path / name) for name in ("candidates", "entailment", "choices", "outcomes")]
    write_table(paths[0], FOIL_CANDIDATES, rows)
    write_table(paths[1], ENTAILMENT, entailment)
    cfg = json.dumps({**CFG, "protocol": "paper", "n_foils": 5, "threshold": 0.5})
    filter_foils([paths[0]], [], [paths[1]], [], paths[2], paths[3], "productivity", cfg)
    found = read_table(paths[2], FOIL_CHOICES).to_pylist()
    assert [(row["chosen"], row["reason"]) for row in found] == [([2, 3, 4, 5, 6], ""), ([], "entailed_foils")]
