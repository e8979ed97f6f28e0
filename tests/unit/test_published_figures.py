"""The committed files of published figures are complete, sourced, and equal to what they were taken from."""

import csv

import pytest
import yaml

from crepebench.families import FOIL_TYPES
from crepebench.published import read_by_name, read_recalls

FILES = "benchmarks blind checkpoints checks correlations counts models other_papers recalls released".split()
SHARED_NAMES = {"CC-12M": "cc12m", "YFCC-15M": "yfcc15m", "LAION-400M": "laion400m"}


def read(folder, name):
    with open(folder / f"{name}.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.fixture
def folder(repository):
    return repository / "resources" / "published"


def test_readme_names_every_file(folder):
    readme = (folder / "README.md").read_text(encoding="utf-8")
    assert sorted(path.stem for path in folder.glob("*.csv")) == FILES
    assert [name for name in FILES if f"`{name}.csv`" not in readme] == []


@pytest.mark.parametrize("name", FILES)
def test_every_row_has_a_source(folder, name):
    rows = read(folder, name)
    assert rows
    assert all(row["source"] for row in rows)
    assert len({tuple(row.items()) for row in rows}) == len(rows)


def test_every_recall_is_of_a_known_model_and_foil_type(folder, repository):
    models = read_by_name(str(folder / "models.csv"))
    known = read_by_name(str(repository / "resources" / "models" / "models.csv"), "name")
    recalls = read_recalls(str(folder / "recalls.csv"))
    assert {model for _, model, *_ in recalls} == set(models) <= set(known)
    assert all(foil_type in FOIL_TYPES[family] for family, _, foil_type, *_ in recalls)
    assert len(recalls) == 7 * 3 * 2 + 15 * 3 * 2


def test_models_have_the_names_of_the_overlay(folder, repository):
    overlay = yaml.safe_load((repository / "config" / "crepe.yaml").read_text(encoding="utf-8"))
    seven = [row["model"] for row in read(folder, "models") if row["paper_seven"] == "yes"]
    assert overlay["models"]["use"][:7] == seven


def test_largest_drops_are_those_of_the_paper(folder):
    recalls = read_recalls(str(folder / "recalls.csv"))

    def gap(model, foil_type):
        seen, unseen = (
            float(recalls["systematicity", model, foil_type, split, ""]["recall_at_1"]) for split in ("SC", "UC")
        )
        return round(unseen - seen, 2)

    models = [row["model"] for row in read(folder, "models") if row["paper_seven"] == "yes"]
    assert min((gap(model, "atom"), model) for model in models) == (-12.57, "vit_b_32_laion400m")
    assert min(gap(model, "combined") for model in models) == -6.28
    rises = [gap(model, "comp") for model in models if model.endswith("laion400m")]
    assert (min(rises), max(rises), len(rises)) == (2.51, 3.68, 4)


def test_counts_of_the_paper_add_up(folder):
    counts = {
        row["quantity"]: int(row["value"])
        for row in read(folder, "counts")
        if (row["counts_of"], row["training_corpus"], row["split"]) == ("arXiv v3", "cc12m", "SC+UC")
    }
    assert counts == {"n_pairs": 29_593, "n_foils": 29_593 * 10, "n_texts": 29_593 * 11}
    assert (counts["n_foils"], counts["n_texts"]) == (295_930, 325_523)


def test_every_recall_of_productivity_is_a_whole_number_of_hits_on_the_released_rows(folder):
    n_sets = {(row["foil_type"], row["complexity"]): int(row["n_sets"]) for row in read(folder, "released")}
    for (family, _, foil_type, _, complexity), row in read_recalls(str(folder / "recalls.csv")).items():
        if family == "productivity":
            n, recall = n_sets[foil_type, complexity], row["recall_at_1"]
            assert f"{100 * round(float(recall) * n / 100) / n:.2f}" == recall


def test_released_totals(folder):
    totals = {row["foil_type"]: row for row in read(folder, "released") if row["complexity"] == "all"}
    assert [int(totals[name]["n_sets"]) for name in ("atom", "swap", "negate")] == [16_727, 6_652, 16_336]
    wanted = {"n_pairs": 17_274, "n_sets": 39_715, "n_foils": 198_575, "n_images": 7_379}
    assert {name: int(totals["all"][name]) for name in wanted} == wanted
    assert [totals[name]["n_truth_among_foils_caseless"] for name in ("swap", "negate")] == ["34", "222"]


def test_recalls_equal_the_tables_they_were_taken_from(folder, shared_data):
    models = {row["published_name"]: row["model"] for row in read(folder, "models")}
    recalls = read_recalls(str(folder / "recalls.csv"))
    source = shared_data / "crepe_tables"
    for row in read(source, "productivity_r1_n4_n12"):
        cell = ("productivity", models[row["model"]], row["type"], "", row["n"])
        assert float(recalls[cell]["recall_at_1"]) == float(row["R1_paper"])
    for row in read(source, "systematicity_r1"):
        if row["train_data"] in SHARED_NAMES:
            architecture = row["model"].lower().replace("-", "_")
            model = f"{architecture}_{SHARED_NAMES[row['train_data']]}"
            for split in ("SC", "UC"):
                cell = ("systematicity", model, row["set"], split, "")
                assert float(recalls[cell]["recall_at_1"]) == float(row[f"{split}_R1"])


def test_released_profile_equals_what_was_measured_before(folder, shared_data):
    found = {(row["foil_type"], row["complexity"]): row for row in read(folder, "released")}
    profile = read(shared_data / "crepe_tables", "released_prod_profile")
    assert len(profile) == 27
    for row in profile:
        ours = found[row["type"], row["n"]]
        pairs = {
            "rows": "n_sets",
            "unique_images": "n_images",
            "rows_with_negative_equal_caption": "n_truth_among_foils",
        }
        assert {theirs: ours[name] for theirs, name in pairs.items()} == {theirs: row[theirs] for theirs in pairs}
        for theirs, name in (("gt_words_mean", "truth_words"), ("neg_words_mean", "foil_words")):
            assert float(ours[name]) == pytest.approx(float(row[theirs]), abs=0.011)


def test_secondary_figures_of_clic_equal_the_notes_they_were_taken_from(folder, shared_data):
    ours = {(row["model"], row["benchmark"], row["subset"], row["metric"]): row for row in read(folder, "benchmarks")}
    models = {"CLIP": "openai_vit_b_32", "NegCLIP": "negclip", "DAC-LLM": "dac_llm", "TripletCLIP": "triplet_clip"}
    models |= {"CLIC-RedCaps": "clic_vit_b_32_redcaps", "CLIC-CC12M": "clic_vit_b_32_cc12m"}
    cells = {
        "scpp_replace_itt": ("sugarcrepe_pp", "group=replace", "itt_macro"),
        "scpp_swap_itt": ("sugarcrepe_pp", "group=swap", "itt_macro"),
        "sugarcrepe_replace": ("sugarcrepe", "group=replace", "accuracy_macro"),
        "winoground_image": ("winoground", "all", "image"),
        "coco_i2t_r5": ("coco_retrieval", "coco_5k", "image_to_text_recall_at_5"),
        "coco_t2i_r5": ("coco_retrieval", "coco_5k", "text_to_image_recall_at_5"),
    }
    for row in read(shared_data / "tables", "clic_main_vitb32_secondary"):
        for column, cell in cells.items():
            value, _, other = row[column].rstrip("*").partition(" or ")
            if value:
                found = ours[models[row["method"]], *cell]
                assert float(found["value"]) == float(value) and other in found["note"]
