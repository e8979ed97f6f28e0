import csv
import json

import numpy as np
import pytest

from crepebench.accounting import KEPT, READ
from crepebench.feature_index import Contents, crop_id, text_id, write_index
from crepebench.feature_store import FeatureStore
from crepebench.models import load_model
from crepebench.peakpatch_features import caption_texts, extract_negation_features
from crepebench.peakpatch_runs import train_peakpatch
from crepebench.schema import IMAGES, NEGATION_PAIRS, NEGATION_QUESTIONS, write_table

from .peakpatch_files import DIM, write_backbone

NAMES = ["jar", "umbrella", "bucket", "dog", "cup", "fan"]


def row(schema, **values):
    return {name: values.get(name, "") for name in schema.names}


def write_tables(folder, n_images=12):
    """Image i shows the two names i and i + 1; the last one has no feature."""
    pairs, questions, images = [], [], []
    for i in range(n_images):
        here, there, other = (NAMES[(i + step) % len(NAMES)] for step in range(3))
        split = "validation" if i % 3 == 2 else "train"
        right, wrong = f"a {here} and a {there}", f"a {here} without a {there}"
        denies = f"a {here} without a {other}"
        shared = {"split": split, "image_id": i}
        pairs.append(row(NEGATION_PAIRS, **shared, caption=right, negated=wrong, polarity="affirmative"))
        pairs.append(row(NEGATION_PAIRS, **shared, caption=denies, negated=wrong, polarity="negated"))
        captions = [right, wrong, f"a {other}"] if i % 2 else [denies, wrong, f"a {here} and a {other}", f"a {other}"]
        template = "positive" if i % 2 else "hybrid"
        questions.append(row(NEGATION_QUESTIONS, **shared, captions=captions, roles=captions, template=template))
        images.append({**dict.fromkeys(IMAGES.names), "image_id": i, "width": 10, "height": 20})
    for name, schema, rows in (
        ("pairs", NEGATION_PAIRS, pairs),
        ("questions", NEGATION_QUESTIONS, questions),
        ("images", IMAGES, images),
    ):
        write_table(str(folder / f"{name}.parquet"), schema, rows)


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    write_tables(folder)
    weights = write_backbone(folder / "backbone")[1]
    model = load_model({"family": "open_clip"}, weights)
    texts = caption_texts(str(folder / "pairs.parquet"), str(folder / "questions.parquet"))
    keys = [text_id(text) for text in texts]
    store = FeatureStore(str(folder / "store"), "m")
    store.add(keys, model.encode_texts(texts))
    vectors = np.random.default_rng(1).normal(size=(11, DIM)).astype(np.float32)
    store.add([f"image {i}" for i in range(11)], vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    box = (0, 0, 10, 20)
    crops = {(i, box): f"image {i}" for i in range(11)}
    contents = Contents(dict(zip(texts, keys, strict=True)), crops, {(11, box): "image_missing"})
    origin = {"store": str(folder / "store"), "identity": "m", "own_score": False}
    write_index(str(folder / "features.parquet"), contents.index_rows(store.find(contents.keys)), origin)
    (folder / "layers.json").write_text(json.dumps({"peak": 2, "anchor": 1}))
    assert crop_id(11, box) == "11:0,0,10,20"
    return folder, weights


def run(inputs, folder, tokens="float32", **training):
    tables, weights = inputs
    model = {"family": "open_clip"}
    extract_negation_features(
        *(str(tables / name) for name in ("pairs.parquet", "questions.parquet", "layers.json")),
        str(folder / "captions" / "index.json"),
        weights,
        json.dumps({"model": model, "tokens": tokens, "attends": "valid"}),
    )
    names = ("peakpatch.safetensors", "peakpatch.json", "curve.csv", "accounting.csv")
    outputs = [str(folder / name) for name in names]
    train_peakpatch(
        *(str(tables / f"{name}.parquet") for name in ("pairs", "questions", "images", "features")),
        str(folder / "captions" / "index.json"),
        *outputs,
        str(folder / "checkpoints"),
        weights,
        1,
        json.dumps(
            {"model": model, "training": {"epochs": 2, "pretraining_epochs": 1, "keep_weight": 0.1, **training}}
        ),
    )
    return [*weights, *outputs[:2]]


def test_training_writes_what_the_family_loads(inputs, tmp_path):
    files = run(inputs, tmp_path)
    model = load_model({"family": "peakpatch", "backbone": {"family": "open_clip"}, "variant": "joint"}, files)
    assert model.encode_texts(["a jar without a dog"]).shape == (1, 2 * DIM)
    said = json.loads((tmp_path / "peakpatch.json").read_text())
    assert {
        "peak": 2,
        "anchor": 1,
        "n_pairs": 16,
        "n_questions": 8,
        "n_validation": 3,
        "seed": 1,
    }.items() <= said.items()
    with open(tmp_path / "curve.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["epoch"] for row in rows] == ["0", "1", "2"]
    assert rows[0]["loss"] == "" and float(rows[2]["loss_scn"]) > 0
    assert {"accuracy", "accuracy_positive", "accuracy_hybrid", "seconds"} <= set(rows[0])
    assert not (tmp_path / "checkpoints").exists()


def test_what_has_no_image_feature_is_counted(inputs, tmp_path):
    run(inputs, tmp_path, variant="scn")
    with open(tmp_path / "accounting.csv", newline="") as file:
        counts = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
    assert counts["validation_question", "image_missing"] == 1
    assert counts["validation_question", KEPT] == 3 and counts["validation_question", READ] == 12
    assert counts["pair", KEPT] == 16 and counts["pair", "other_split"] == 8


def test_recomputed_tokens_train_to_the_same_weights(inputs, tmp_path):
    from safetensors.torch import load_file

    files = [run(inputs, tmp_path / tokens, tokens)[-2] for tokens in ("float32", "recomputed")]
    stored, recomputed = map(load_file, files)
    assert all((stored[name] - recomputed[name]).abs().max() < 1e-4 for name in stored)


def test_positions_other_than_those_that_were_kept_are_refused(inputs, tmp_path):
    with pytest.raises(ValueError, match=r"index\.json has positions 'valid', not 'all'"):
        run(inputs, tmp_path, attends="all")
