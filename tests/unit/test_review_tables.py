import csv
import json

import pytest

from crepebench.agreement import wilson
from crepebench.foil_choices import filter_foils
from crepebench.review_judgements import DISAGREEMENT_COLUMNS
from crepebench.review_tables import CELL_COLUMNS, COLUMNS, read_checks, tabulate_human_review
from crepebench.schema import FOIL_CANDIDATES, FOIL_CHOICES, read_table, write_table
from crepebench.set_ids import foil_id, read_exclusions, set_id_of

from .foil_rows import candidate
from .review_rows import (
    CAPTION,
    CC12M,
    DOGS,
    ITEMS,
    JARS,
    LAION,
    LOOSE_CAPTION,
    SAMPLE,
    edited,
    foil_ids,
    good_answers,
    set_item,
    signed,
    write_json,
)

BLUE, CUP = foil_ids(JARS)
BED, _ = foil_ids(DOGS)


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def tabulate(tmp_path, repository):
    """Tabulates the answers of annotators; the tables are attributes of what it returns, a function for one row."""

    def run(sample=SAMPLE, **annotators):
        paths = [
            write_json(tmp_path / f"{name}.json", signed(name, answers, sample)) for name, answers in annotators.items()
        ]
        out = [str(tmp_path / name) for name in ("human_review.csv", "disagreements.csv", "exclusions.csv")]
        checks = str(repository / "resources" / "published" / "checks.csv")
        tabulate_human_review(write_json(tmp_path / "sample.json", sample), paths, checks, *out)
        run.table, run.disagreements, run.exclusions = map(read_csv, out)
        run.exclusions_path = out[2]

        def row(measure, annotator="all", **names):
            names = {"measure": measure, "annotator": annotator, **names}
            (found,) = [row for row in run.table if all(row[name] == value for name, value in names.items())]
            return found

        return row

    return run


def in_cell(family, foil_type="", foil_kind="", complexity="all"):
    names = ("family", "foil_type", "foil_kind", "complexity")
    return dict(zip(names, (family, foil_type, foil_kind, complexity), strict=True))


def test_a_share_of_two_annotators_is_the_mean_of_their_judgements(tabulate):
    row = tabulate(Ada=edited((CAPTION, "faithful", "no")), Ben=good_answers())
    names = in_cell("productivity") | {"sample": "captions"}
    both, ada = row("faithful_captions", **names), row("faithful_captions", "Ada", **names)
    assert (both["value"], ada["value"], row("faithful_captions", "Ben", **names)["value"]) == (
        "75.00",
        "50.00",
        "100.00",
    )
    assert (both["n"], both["n_judgements"], ada["n_judgements"]) == ("2", "4", "2")


def test_the_interval_of_two_annotators_counts_what_both_judged_once(tabulate):
    row = tabulate(Ada=edited((CAPTION, "faithful", "no")), Ben=good_answers())
    found = row("faithful_captions", sample="captions", complexity="all")
    low, high = wilson(1.5, 2)
    assert (found["low"], found["high"]) == (f"{100 * low:.2f}", f"{100 * high:.2f}")


def test_unsure_is_no_yes_and_has_a_share_of_its_own(tabulate):
    row = tabulate(Ada=edited((JARS, "foils", BLUE, "false", "unsure"), (JARS, "foils", CUP, "false", "no")))
    found = row("genuine_foils", **in_cell("systematicity", "all", "all"))
    assert (found["value"], found["unsure"]) == ("0.00", "50.00")
    assert row("natural_foils", **in_cell("systematicity", "all", "all"))["unsure"] == ""


def test_foils_stand_by_type_kind_and_complexity(tabulate):
    row = tabulate(Ada=edited((JARS, "foils", BLUE, "false", "no"), (DOGS, "foils", BED, "natural", "no")))
    assert row("genuine_foils", **in_cell("systematicity", "atom", "attribute"))["value"] == "0.00"
    assert row("genuine_foils", **in_cell("systematicity", "atom", "object"))["value"] == "100.00"
    assert row("natural_foils", **in_cell("productivity", "swap", "swapped_object"))["value"] == "50.00"
    assert row("natural_foils", **in_cell("productivity", "swap", "all", "4"))["n"] == "2"
    assert row("genuine_foils", **in_cell("productivity", "all", "all"))["value"] == "100.00"


def test_sets_whose_atoms_are_not_known_stand_in_no_row_of_a_number_of_atoms(tabulate):
    sample = {**SAMPLE, "items": [{**ITEMS[JARS], "complexity": None}]}
    row = tabulate(sample, Ada=good_answers(sample))
    assert {found["complexity"] for found in tabulate.table} == {""}
    assert row("genuine_foils", **in_cell("systematicity", "all", "all", ""))["published"] == "86.00"


def test_captions_of_their_own_sample_and_of_sets_are_kept_apart(tabulate):
    row = tabulate(Ada=edited((DOGS, "faithful", "no")))
    assert row("faithful_captions", sample="captions", complexity="all")["value"] == "100.00"
    of_sets = in_cell("productivity", "all")
    assert row("faithful_captions", sample="sets", **of_sets)["value"] == "0.00"


def test_human_recall_stands_beside_chance_and_the_papers_oracle(tabulate):
    row = tabulate(Ada=edited((JARS, "pick", CUP)), Ben=good_answers())
    found = row("human_recall_at_1", **in_cell("systematicity", "all"))
    assert (found["value"], found["random_recall_at_1"], found["published"]) == ("50.00", "33.33", "100.00")


def test_chance_is_the_mean_over_sets_of_several_sizes(tabulate):
    small = set_item(9, "systematicity", "comp", "a red jar on a bed", [("object", "a red cup on a bed")], 4)
    sample = {**SAMPLE, "items": [*SAMPLE["items"], small]}
    row = tabulate(sample, Ada=good_answers(sample))
    assert row("human_recall_at_1", **in_cell("systematicity", "all"))["random_recall_at_1"] == "41.67"


def test_the_parser_is_right_in_what_is_not_wrong_and_misses_what_is_missed(tabulate):
    row = tabulate(Ada=edited((CC12M, "n_wrong", 1), (CC12M, "n_missed", 2)), Ben=good_answers())
    precision, recall = (row(f"parser_{name}", "Ada", corpus="cc12m") for name in ("precision", "recall"))
    assert (precision["value"], precision["n_judgements"]) == ("75.00", "4")
    assert (recall["value"], recall["n_judgements"], recall["published"]) == ("60.00", "5", "64.04")
    assert row("parser_recall", corpus="all")["value"] == f"{100 * (5 + 6) / (7 + 6):.2f}"


def test_a_parser_that_found_nothing_has_no_precision(tabulate):
    sample = {**SAMPLE, "items": [{**ITEMS[LAION], "found": []}]}
    row = tabulate(sample, Ada=good_answers(sample))
    found = row("parser_precision", corpus="laion400m")
    assert [found[name] for name in ("n", "n_judgements", "value", "low", "high")] == ["1", "0", "", "", ""]


def test_agreement_and_kappa_stand_in_the_rows_of_all(tabulate):
    row = tabulate(Ada=edited((CAPTION, "faithful", "no")), Ben=edited((CAPTION, "faithful", "unsure")))
    found = row("faithful_captions", sample="captions", complexity="all")
    assert (found["agreement"], found["kappa"], found["marks"]) == ("50.00", "0.33", "")
    assert row("faithful_captions", "Ada", sample="captions", complexity="all")["agreement"] == ""


def test_two_wrong_picks_agree_but_are_looked_at(tabulate):
    row = tabulate(Ada=edited((JARS, "pick", CUP)), Ben=edited((JARS, "pick", BLUE)))
    assert row("human_recall_at_1", **in_cell("systematicity", "all"))["agreement"] == "100.00"
    assert [found["answers"] for found in tabulate.disagreements] == ["Ada: a red cup; Ben: a blue jar"]


def test_kappa_is_empty_where_it_says_nothing(tabulate):
    row = tabulate(Ada=good_answers(), Ben=good_answers())
    found = row("human_recall_at_1", **in_cell("systematicity", "all"))
    assert (found["agreement"], found["kappa"], found["marks"]) == ("100.00", "", "no_variation")
    row = tabulate(Ada=good_answers())
    found = row("human_recall_at_1", **in_cell("systematicity", "all"))
    assert (found["agreement"], found["kappa"], found["marks"]) == ("", "", "one_annotator")


def test_the_papers_figures_stand_beside_their_cells_alone(tabulate):
    tabulate(Ada=good_answers())
    of_all = [row for row in tabulate.table if row["annotator"] == "all" and row["published"]]
    assert {tuple(row[name] for name in CELL_COLUMNS if row[name]): row["published"] for row in of_all} == {
        ("faithful_captions", "captions", "productivity", "all"): "87.90",
        ("genuine_foils", "sets", "productivity", "all", "all", "all"): "83.70",
        ("genuine_foils", "sets", "productivity", "swap", "all", "all"): "70.00",
        ("genuine_foils", "sets", "systematicity", "all", "all", "all"): "86.00",
        ("human_recall_at_1", "sets", "systematicity", "all", "all"): "100.00",
        ("parser_recall", "parser", "cc12m"): "64.04",
        ("parser_recall", "parser", "laion400m"): "39.55",
    }
    (parser,) = [row for row in of_all if row["corpus"] == "cc12m"]
    assert parser["note"] == "20 captions; of triplets alone, while objects count here, too"
    (swap,) = [row for row in of_all if row["foil_type"] == "swap"]
    assert (swap["note"], swap["source"]) == ("about; swap and negate together", "arXiv:2212.07796v3, sec. 6")


def test_columns_and_the_order_of_the_files_are_fixed(tabulate):
    tabulate(Ada=edited((CAPTION, "faithful", "no")), Ben=good_answers())
    before = tabulate.table, tabulate.disagreements, tabulate.exclusions
    assert tuple(before[0][0]) == COLUMNS
    assert tuple(before[1][0]) == DISAGREEMENT_COLUMNS
    tabulate(Ben=good_answers(), Ada=edited((CAPTION, "faithful", "no")))
    assert (tabulate.table, tabulate.disagreements, tabulate.exclusions) == before


def test_disagreements_are_listed_with_what_a_third_one_needs(tabulate):
    answers = edited((DOGS, "foils", BED, "false", "no"), (CC12M, "n_missed", 2))
    tabulate(Ada=good_answers(), Ben=answers)
    foil, parser = tabulate.disagreements
    assert foil == {
        **{"item_id": DOGS, "sample": "sets", "question": "false", "family": "productivity", "foil_type": "swap"},
        **{"complexity": "4", "corpus": "", "image_id": "4", "box": "1 2 30 40", "set_id": ITEMS[DOGS]["set_id"]},
        **{"foil_id": BED, "foil_kind": "swapped_object", "caption": "a dog on a bed", "text": "a bed on a dog"},
        "answers": "Ada: yes; Ben: no",
    }
    assert (parser["question"], parser["corpus"], parser["answers"]) == ("n_missed", "cc12m", "Ada: 0; Ben: 2")
    assert parser["text"].startswith("dog > has > thing 0; ")


def test_what_all_find_wrong_is_excluded_and_what_one_finds_wrong_is_not(tabulate):
    both = [(JARS, "faithful", "no"), (DOGS, "foils", BED, "false", "no")]
    tabulate(
        Ada=edited(*both, (JARS, "foils", CUP, "false", "no")),
        Ben=edited(*both, (JARS, "foils", CUP, "false", "unsure")),
    )
    by_whom = "say Ada, Ben (review 0123456789abcdef)"
    assert read_exclusions([tabulate.exclusions_path]) == {
        ITEMS[JARS]["set_id"]: f"the caption is not faithful, {by_whom}",
        BED: f"the foil is not false, {by_whom}",
    }


@pytest.mark.parametrize("of_overall, is_excluded", [("no", True), ("yes", False), ("unsure", False)])
def test_what_stands_in_two_items_is_excluded_only_if_it_is_wrong_in_both(tabulate, of_overall, is_excluded):
    overall = {**ITEMS[DOGS], "item_id": "9" * 16, "foil_type": "overall"}
    sample = {**SAMPLE, "items": [ITEMS[DOGS], overall]}
    answers = good_answers(sample)
    for item_id, said in ((DOGS, "no"), ("9" * 16, of_overall)):
        answers[item_id]["faithful"] = answers[item_id]["foils"][BED]["false"] = said
    tabulate(sample, Ada=answers)
    assert [row["id"] for row in tabulate.exclusions] == [ITEMS[DOGS]["set_id"], BED] * is_excluded


def test_unfaithful_captions_of_no_set_exclude_nothing(tabulate):
    tabulate(Ada=edited((LOOSE_CAPTION, "faithful", "no")))
    assert tabulate.exclusions == []
    assert read_exclusions([tabulate.exclusions_path]) == {}


def test_a_foil_that_all_find_wrong_gives_its_place_to_a_spare_and_its_set_lives(tabulate, tmp_path):
    row = candidate(3, texts=[f"a {colour} jar" for colour in ("blue", "green", "white", "black", "pink")])
    item = set_item(
        3, "systematicity", "atom", row["caption"], [("attribute", foil["text"]) for foil in row["foils"][:4]]
    )
    item |= {
        "set_id": set_id_of(row),
        "image_id": row["image_id"],
        "box": [row[side] for side in ("x", "y", "width", "height")],
    }
    for shown in item["candidates"]:
        if shown["id"] != "truth":
            shown["id"] = foil_id(item["set_id"], shown["text"])
    sample = {**SAMPLE, "items": [item]}
    answers = good_answers(sample)
    answers[item["item_id"]]["foils"][foil_id(item["set_id"], "a green jar")]["false"] = "no"
    tabulate(sample, Ada=answers, Ben=answers)

    paths = [str(tmp_path / name) for name in ("candidates.parquet", "choices.parquet", "outcomes.csv")]
    write_table(paths[0], FOIL_CANDIDATES, [row])
    cfg = json.dumps({"protocol": "paper", "seed": 1, "plausibility": "none", "max_lost": 0.3})
    filter_foils([paths[0]], [], [], [tabulate.exclusions_path], *paths[1:], "systematicity", cfg)
    (choice,) = read_table(paths[1], FOIL_CHOICES).to_pylist()
    assert ([row["foils"][i]["text"] for i in choice["chosen"]], choice["reason"]) == (
        ["a blue jar", "a pink jar", "a white jar", "a black jar"],
        "",
    )
    (outcome,) = read_csv(paths[2])
    assert outcome["outcome"] == "foil_replaced"


def test_a_check_of_another_name_stops(tmp_path):
    path = tmp_path / "checks.csv"
    path.write_text("check,subject,foil_type,percent,note,source\ncharm,productivity,,1.00,,nowhere\n")
    with pytest.raises(ValueError, match=r"checks\.csv: the check 'charm' is unknown"):
        read_checks(str(path))
