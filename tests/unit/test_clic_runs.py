import csv
import json

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file

from crepebench.clic_runs import train_clic
from crepebench.clic_vision import VisionError, read_vision
from crepebench.models import load_model

from .clic_inputs import DAMAGED, MODEL, N, arguments, weights, write_inputs


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    return write_inputs(tmp_path_factory.mktemp("inputs"))


def run(inputs, folder, variant="clic", seed=1, vision=True, **training):
    train_clic(**arguments(inputs, folder, variant, seed, vision, **training))
    return load_file(folder / "clic.safetensors"), json.loads((folder / "clic.json").read_text())


def counts_of(path):
    with open(path, newline="") as file:
        return {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}


def test_a_training_writes_tensors_what_is_said_of_them_its_course_and_its_counts(inputs, tmp_path):
    tensors, said = run(inputs, tmp_path)
    base = load_model(MODEL, weights(inputs))
    before = base.model.state_dict()
    assert said["tensors"] == sorted(tensors) == sorted(name for name in before if "visual" not in name)
    assert said["base_identity"] == base.identity
    assert (said["version"], said["variant"], said["seed"]) == (1, "clic", 1)
    assert not torch.equal(tensors["text_projection"], before["text_projection"])
    with open(tmp_path / "curve.csv", newline="") as file:
        curve = list(csv.DictReader(file))
    assert [row["kind"] for row in curve if row["split"] == "train"] == ["joined", "plain"] * 2
    assert [row["epoch"] for row in curve if row["split"] == "validation"] == ["0", "0", "1", "1", "2", "2"]
    counts = counts_of(tmp_path / "accounting.csv")
    assert counts["row", "image_unreadable"] == 1
    assert counts["training_row", "kept"] == 23
    assert counts["training_row", "other_split"] == 6
    assert counts["use_of_row", "batch_incomplete"] == 2 * 7
    assert counts["joined_item", "read"] == 16
    assert not (tmp_path / "checkpoints").exists()
    assert said["vision"]["uses"] == 16
    assert said["vision"]["seconds_without"] > said["vision"]["seconds_with"]


def test_the_same_seed_gives_the_same_bytes_for_any_number_of_workers_and_another_one_others(inputs, tmp_path):
    first, again = (run(inputs, tmp_path / name, workers=workers)[0] for name, workers in (("a", 0), ("b", 2)))
    assert all(torch.equal(first[name], again[name]) for name in first)
    other = run(inputs, tmp_path / "c", seed=2)[0]
    assert not torch.equal(first["text_projection"], other["text_projection"])


@pytest.mark.parametrize("variant", ["candidates", "single", "within", "imagenet_norm"])
def test_variants_train_from_the_same_tables(inputs, tmp_path, variant):
    tensors, said = run(inputs, tmp_path, variant, epochs=1)
    assert said["variant"] == variant
    assert "logit_scale" in tensors


def test_without_kept_features_damaged_images_are_set_aside_and_the_losses_are_the_same(inputs, tmp_path):
    run(inputs, tmp_path / "with")
    run(inputs, tmp_path / "without", vision=False)
    assert counts_of(tmp_path / "with" / "accounting.csv") == counts_of(tmp_path / "without" / "accounting.csv")
    losses = []
    for name in ("with", "without"):
        with open(tmp_path / name / "curve.csv", newline="") as file:
            losses.append([float(row["loss"]) for row in csv.DictReader(file)])
    assert losses[0] == pytest.approx(losses[1], abs=1e-4)


def test_kept_features_are_those_of_a_direct_pass(inputs):
    base = load_model(MODEL, weights(inputs))
    vision = read_vision(str(inputs / "vision" / "index.json"), str(inputs / "images.parquet"), base.identity)
    assert vision.damaged == {DAMAGED: "image_unreadable"}
    sound = [image_id for image_id in range(100, 100 + N) if image_id != DAMAGED]
    pictures = [Image.open(inputs / "images" / f"{image_id - 100}.png") for image_id in sound]
    wanted = base.encode_images(torch.stack([base.preprocess(picture) for picture in pictures]))
    assert np.array_equal(vision.matrix[vision.rows_of(sound)], wanted)
    assert not vision.matrix[vision.rows_of([DAMAGED])].any()
    with pytest.raises(VisionError, match="image 999"):
        vision.rows_of([100, 999])
    with pytest.raises(VisionError, match="another model"):
        read_vision(str(inputs / "vision" / "index.json"), str(inputs / "images.parquet"), "other")


def test_candidates_need_their_table(inputs, tmp_path):
    with pytest.raises(ValueError, match="no table of candidates"):
        run(inputs, tmp_path, negatives="candidates")
