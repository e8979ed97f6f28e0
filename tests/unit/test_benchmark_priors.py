"""What text alone makes of NegBench's questions: of its samples, and of made-up ones in its templates."""

from dataclasses import replace

import numpy as np
import pytest

from crepebench.audit import make_parts
from crepebench.benchmark_blind import blind_parts, blind_rows
from crepebench.benchmark_building import item_row, read_items
from crepebench.benchmark_images import FoundImage
from crepebench.benchmark_items import ImageRef, Item
from crepebench.own_captions import file_image_id


def blind_accuracy(items, parts):
    """Share, 0-1, of questions that the strongest blind scorer answers, by subset, ties split."""
    rows = [
        item_row(item, [FoundImage({"image_id": file_image_id(item.images[0].name)}, (0, 0, 1, 1), "")])
        for item in items
    ]
    found = {}
    for row, scores in blind_rows(rows, parts, 5, 0):
        best = scores == scores.max()
        found.setdefault(row["subset"], []).append(best[0] / best.sum())
    return {subset: float(np.mean(shares)) for subset, shares in found.items()}


def shuffled(items):
    """The questions with an answer drawn at random in place of the right one."""
    generator = np.random.default_rng(0)
    return [replace(item, captions=tuple(generator.permutation(item.captions).tolist()), kinds=()) for item in items]


def templated_questions(n_images):
    """Questions in NegBench's templates, of images in which some things are common and others rare."""
    generator = np.random.default_rng(0)
    things = [f"thing{i}" for i in range(30)]
    share = np.linspace(0.9, 0.05, len(things))
    for image in range(n_images):
        is_there = generator.random(len(things)) < share
        there, absent = ([thing for thing, one in zip(things, is_there == flag, strict=True) if one] for flag in (1, 0))
        if len(there) < 2 or not absent:
            continue
        (a, c), b = generator.choice(there, 2, replace=False).tolist(), str(generator.choice(absent))
        right = [f"a {a} and a {c}", f"there is no {b}", f"a {a} but no {b}"][image % 3]
        captions = (right, f"a {b} but no {a}", f"a {a} and a {b}", f"there is no {a}")
        yield Item(f"q{image}", "made_up", "choose_caption", (ImageRef("r", f"{image}.png"),), captions)


def test_text_alone_answers_questions_about_common_and_rare_things():
    items = list(templated_questions(600))
    assert blind_accuracy(items, blind_parts(make_parts(0, None)))["made_up"] > 0.55  # chance is 0.25
    assert blind_accuracy(shuffled(items), blind_parts(make_parts(0, None)))["made_up"] == pytest.approx(0.25, abs=0.06)


def test_words_that_are_asserted_or_denied_tell_more_than_words(shared_data):
    folder = shared_data / "benchmarks" / "negbench"
    paths = sorted(map(str, [*folder.glob("COCO_val_mcq*"), *folder.glob("VOC2007_mcq_llama*")]))
    items = read_items("negbench_mcq", paths, {}, "b")
    found = blind_accuracy(items, blind_parts(make_parts(0, None)))
    assert min(found.values()) > 0.4  # of 60 questions each; chance is 0.25, its deviation 0.056
    of_noise = blind_accuracy(shuffled(items), blind_parts(make_parts(0, None)))
    assert max(of_noise.values()) < 0.4
