"""A test of negation from annotated images, and its reader."""

import json
from collections import Counter

import pytest

from crepebench.benchmark_items import SHAPES, check_items
from crepebench.benchmark_pools import POOL_SHAPES
from crepebench.benchmark_readers.negation import read
from crepebench.negation_benchmark import make_captions, make_classes
from crepebench.negation_forms import read_forms
from crepebench.negation_plans import make_related, rng_of
from crepebench.negation_questions import make_questions
from crepebench.negation_scenes import frequent_kinds, make_scenes, pair_view

KINDS = ("jar", "box", "key", "fan", "church", "wallet", "bell", "cup")
CONFIG = {
    **{"seed": 1, "questions_per_image": 3, "forms": {"explicit": 2, "implicit": 1, "morphological": 1}},
    **{"attribute_share": 0.3, "bare_share": 0.25, "negated_share": 0.5, "n_retrieval": 20, "n_classes": 6},
    "view": "image",
}


def rows_of(n: int):
    """Returns rows of images, objects and relationships; image i holds four kinds from the i-th on."""
    images, objects, links = [], [], []
    for i in range(n):
        place = {"archive": "images.zip", "path": f"VG/{i}.jpg", "crc32": 1, "coco_id": None, "flickr_id": None}
        images.append({"image_id": i, "width": 100, "height": 80, **place})
        for j in range(4):
            name = KINDS[(i + j * (1 + i % 3)) % len(KINDS)]
            box = {"x": 20 * j, "y": 5, "width": 15 + j, "height": 20}
            own = {"names": [name], "synsets": [], "attributes": [("red", "blue", "green")[(i + j) % 3], "standing"]}
            objects.append({"image_id": i, "object_id": 10 * i + j, "merged_object_ids": [], **own, **box})
        for j in (0, 2):
            ends = {"subject_id": 10 * i + j, "object_id": 10 * i + j + 1, "predicate": "is above"}
            names = {"subject_name": objects[-4 + j]["names"][0], "object_name": objects[-3 + j]["names"][0]}
            links.append({"image_id": i, **ends, **names})
    return images, objects, links


@pytest.fixture(scope="module")
def forms(repository):
    return read_forms(str(repository / "resources" / "negation" / "templates.yaml"))


@pytest.fixture(scope="module")
def scenes(tables):
    return make_scenes(*rows_of(40), [{"image_id": 0, "phrase": "a wallet"}], tables)


@pytest.fixture(scope="module")
def questions(scenes, forms, tables):
    return list(make_questions(scenes, KINDS, forms, tables, make_related(None), CONFIG, {}))


def test_two_of_four_captions_deny_something_whichever_is_right(questions, forms):
    assert len(questions) > 60
    for row in questions:
        denying = [forms.has_cue(text) for text in row["captions"]]
        assert sum(denying) == 2, row
        assert denying[0] == (row["polarity"] == "negated") == (row["template"] != "positive")
    assert set(Counter(row["transfer"] for row in questions)) == {"seen", "new"}
    assert {row["template"] for row in questions} == {"positive", "negative", "hybrid"}


def test_right_answers_are_true_and_others_false(questions, scenes, forms):
    kinds = {f"{scene.image['image_id']}.jpg": {thing.noun for thing in scene.things} for scene in scenes}
    for row in questions:
        if row["kind"] != "object" or row["form"] == "morphological":
            continue
        for place, text in enumerate(row["captions"]):
            named = {kind for kind in KINDS if kind in text.replace("boxes", "box").replace("churches", "church")}
            denied = named & forms.denied_words(text)
            is_true = named - denied <= kinds[row["image"]] and not denied & kinds[row["image"]]
            assert is_true == (place == 0), (row, text)


def test_what_descriptions_name_is_not_absent(questions):
    for row in questions:
        if row["image"] == "0.jpg" and row["polarity"] == "negated" and row["kind"] == "object":
            assert "wallet" not in row["captions"][0]


def test_a_pair_is_looked_at_within_its_box(scenes):
    view = pair_view(scenes[0], KINDS, rng_of(0))
    assert len(view.things) == 2 and view.links == ((0, "above", 1),)
    assert view.box[0] in (0, 40) and view.box[2] in (35 + 1, 35 + 3)
    assert view.kinds == scenes[0].kinds


def test_only_kinds_that_a_picture_can_show_and_many_images_hold_are_denied(scenes, lexicon):
    assert set(frequent_kinds(scenes, lexicon, {"cup"}, 100, 2)) == set(KINDS) - {"cup"}
    assert frequent_kinds(scenes, lexicon, (), 3, 2) == frequent_kinds(scenes, lexicon, (), 100, 2)[:3]
    assert frequent_kinds(scenes, lexicon, (), 3, 41) == []


def test_the_reader_gives_items_that_benchmarks_take(tmp_path, scenes, questions, forms, tables):
    found = {
        "questions": questions,
        "captions": list(make_captions(scenes, KINDS, forms, tables, make_related(None), CONFIG, {})),
        "classes": list(make_classes(scenes, KINDS, CONFIG, {})),
    }
    for name, rows in found.items():
        (tmp_path / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    counts = Counter()
    paths = [str(tmp_path / f"{name}.jsonl") for name in found]
    items = list(check_items(read(paths, {"templates": ["a {}."]}, counts), "negation", {**SHAPES, **POOL_SHAPES}))
    by_subset = Counter((item.subset, item.task) for item in items)
    n_images = len(found["captions"])
    assert n_images > 10
    assert by_subset["mcq", "choose_caption"] == len(questions)
    assert by_subset["retrieval", "retrieve_caption"] == by_subset["retrieval_negated", "retrieve_image"] == n_images
    assert by_subset["zero_shot", "classify"] == len(found["classes"]) > by_subset["zero_shot", "class"] > 1
    first = items[0]
    assert first.captions[0] == questions[0]["captions"][0]
    assert (first.images[0].root, first.images[0].name) == ("run_images", questions[0]["image"])
    assert set(first.tags) == {"template", "form", "polarity", "kind", "transfer"}
    crop = next(item for item in items if item.task == "classify")
    assert crop.images[0].box == tuple(found["classes"][0]["box"])
    assert counts["read"] == sum(map(len, found.values()))


def test_a_negated_caption_adds_a_true_denial_to_the_ordinary_one(scenes, forms, tables):
    for row in make_captions(scenes, KINDS, forms, tables, make_related(None), CONFIG, {}):
        (ordinary,), (negated,) = row["captions"], row["negated"]
        assert negated.startswith(f"{ordinary}. ") and forms.has_cue(negated) and not forms.has_cue(ordinary)


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        ("other", {}, "a file is named questions.jsonl"),
        ("questions", {"id": "1"}, "line 1: the key 'template' is missing"),
        ("captions", {"image": "1.jpg", "captions": []}, "line 1, captions: no list of texts"),
        ("classes", {"image": "1.jpg", "class": "jar", "box": [0, 0, 0, 1]}, "line 1, box: the box has no area"),
    ],
)
def test_a_line_of_another_form_is_named(tmp_path, name, row, message):
    path = tmp_path / f"{name}.jsonl"
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        list(read([str(path)], {}))
