import json

import pytest

from crepebench.published import (
    COLUMNS,
    DIFFERENCES,
    MARKED,
    VOCABULARY,
    imagenet_top1,
    read_by_name,
    read_recalls,
    tabulate_published_comparison,
)

from .published_files import productivity_row, published_paths, read_csv, systematicity_row, write_tables

OURS = {"family": "open_clip", "architecture": "RN50-quickgelu", "weights": "cc12m"}
METHOD = {"is_released": False, "is_image_sample": False}
PARTS = ("models", "recalls", "released")


@pytest.fixture
def compare(repository, tmp_path):
    """Writes published_comparison.csv for rows of our tables and returns its rows."""

    def tabulate(systematicity=(), productivity=(), definition=OURS, **method):
        models = [(name, definition) for name in ("rn50_cc12m", "my_clip", "openai_vit_b_32")]
        tables = write_tables(tmp_path, systematicity, productivity)
        cfg = json.dumps({"models": models, "method": {**METHOD, **method}})
        path = str(tmp_path / "table.csv")
        tabulate_published_comparison(**tables, **published_paths(repository, *PARTS), table_path=path, cfg=cfg)
        return read_csv(path)

    return tabulate


def test_cell_of_systematicity_stands_beside_the_papers(compare):
    (row,) = compare([systematicity_row("rn50_cc12m", "cc12m", "atom", "UC", 35.5)])
    assert tuple(row) == COLUMNS
    assert (row["recall_at_1"], row["published_recall_at_1"], row["difference"]) == ("35.50", "34.88", "0.62")
    assert (row["inside_interval"], row["n_queries"], row["published_n_queries"]) == ("yes", "100", "")
    assert row["differs_by"] == "parser queries foil_words plausibility ties"
    assert row["source"] == "arXiv:2212.07796v3, app. B.1"


def test_cell_of_productivity_stands_beside_the_papers(compare):
    (row,) = compare(productivity=[productivity_row("rn50_cc12m", 4, "swap", recall=20.0)])
    assert (row["training_corpus"], row["split"], row["complexity"]) == ("cc12m", "", "4")
    assert (row["published_recall_at_1"], row["published_n_queries"]) == ("7.41", "27")
    assert (row["difference"], row["inside_interval"]) == ("12.59", "no")
    assert row["differs_by"] == "subgraphs captioner foil_words entailment artefacts ties"


@pytest.mark.parametrize(("recall", "inside"), [(33.87, "no"), (33.88, "yes"), (35.88, "yes"), (35.89, "no")])
def test_ends_belong_to_the_interval(compare, recall, inside):
    (row,) = compare([systematicity_row("rn50_cc12m", "cc12m", "atom", "UC", recall)])
    assert row["inside_interval"] == inside


def test_refined_sets_are_never_compared(compare):
    systematicity = [systematicity_row("rn50_cc12m", "cc12m", protocol="refined")]
    productivity = [productivity_row("rn50_cc12m", 4, protocol="refined")]
    assert compare(systematicity, productivity) == []


@pytest.mark.parametrize(
    "row",
    [
        systematicity_row("my_clip", "cc12m"),
        systematicity_row("rn50_cc12m", "laion400m", marks="cross_corpus"),
        systematicity_row("rn50_cc12m", "cc12m", split="UA"),
        systematicity_row("openai_vit_b_32", "openai_wit"),
    ],
    ids=["another model", "splits of another corpus", "split that the paper left out", "model that it left out there"],
)
def test_cell_that_the_paper_lacks_gives_no_row(compare, row):
    assert compare([row]) == []


@pytest.mark.parametrize("foil_type, complexity", [("atom", 8), ("atom", "all"), ("overall", 4)])
def test_productivity_that_the_paper_lacks_gives_no_row(compare, foil_type, complexity):
    assert compare(productivity=[productivity_row("rn50_cc12m", complexity, foil_type)]) == []


def test_run_without_a_published_model_has_a_head_and_no_row(compare, tmp_path):
    assert compare() == []
    assert (tmp_path / "table.csv").read_text() == ",".join(COLUMNS) + "\n"


def test_row_of_all_sources_is_compared_where_there_are_several(compare):
    rows = [productivity_row("rn50_cc12m", 12, source=source) for source in ("template", "qwen", "all")]
    assert [row["caption_source"] for row in compare(productivity=rows)] == ["all"]


def test_other_weights_under_a_papers_name_are_said(compare):
    row = systematicity_row("rn50_cc12m", "cc12m")
    for changes in ({"architecture": "RN50"}, {"weights": "/data/cc12m.pt"}):
        assert compare([row], definition={**OURS, **changes})[0]["differs_by"].split()[-1] == "weights"


def test_single_precision_of_openai_models_is_said(compare):
    definition = {"family": "openai_clip", "architecture": "ViT-B/32", "weights": "openai"}
    row = productivity_row("openai_vit_b_32", 12)
    assert "precision" in compare(productivity=[row], definition=definition)[0]["differs_by"]
    half = {**definition, "precision": "float16"}
    assert "precision" not in compare(productivity=[row], definition=half)[0]["differs_by"]


def test_marks_and_a_sample_of_images_are_said(compare):
    row = systematicity_row("rn50_cc12m", "cc12m", marks="undecided_left_out matched seen_images_vg")
    differs_by = compare([row], is_image_sample=True)[0]["differs_by"].split()
    assert differs_by[-3:] == ["image_sample", "matched", "sampled_corpus"]


def test_released_sets_differ_by_ties_alone(compare):
    (row,) = compare(productivity=[productivity_row("rn50_cc12m", 12)], is_released=True)
    assert row["differs_by"] == "ties"


def test_every_difference_is_a_word_of_the_vocabulary():
    assert {word for words in DIFFERENCES.values() for word in words} | set(MARKED.values()) <= set(VOCABULARY)


def test_top1_of_another_model_of_open_clip_is_found_by_architecture_and_tag(repository):
    folder = repository / "resources" / "published"
    published, checkpoints = read_by_name(str(folder / "models.csv")), read_csv(folder / "checkpoints.csv")

    def top1(name, **definition):
        return imagenet_top1(name, definition, published, checkpoints)

    assert top1("rn50_cc12m") == 36.47
    assert top1("mine", architecture="ViT-B-16-SigLIP", weights="webli") == 76.05
    assert top1("mine", architecture="ViT-B/16", weights="openai") == 68.32
    assert top1("mine", architecture="CLIP_ViT-B-16", weights="cc12m") is None  # of another collection
    assert top1("flava") is None
    assert top1("mini_clip_cc12m") is None


def test_repeated_rows_of_published_files_stop(tmp_path):
    path = tmp_path / "rows.csv"
    head, row = "family,model,foil_type,split,complexity,recall_at_1", "systematicity,a,atom,SC,,50.00"
    path.write_text("\n".join([head, row, row]))
    with pytest.raises(ValueError, match=r"rows\.csv: a cell stands in several rows"):
        read_recalls(str(path))
    with pytest.raises(ValueError, match=r"rows\.csv: a model stands in several rows"):
        read_by_name(str(path))
