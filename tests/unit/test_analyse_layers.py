import csv
import json

import numpy as np
import pytest

from crepebench.accounting import read_accounting
from crepebench.analyse_layers import analyse_layers
from crepebench.feature_index import crop_id, text_id, write_index
from crepebench.feature_reader import read_features
from crepebench.feature_store import FeatureStore
from crepebench.schema import IMAGES, NEGATION_PAIRS, write_table

N_LAYERS = 4
NAMES = "taxi sofa bike road phone truck".split()


def pair_row(number, **changes):
    name = NAMES[number % len(NAMES)]
    row = dict.fromkeys(NEGATION_PAIRS.names, "")
    row |= {"pair_id": f"p{number:03d}", "split": "validation", "image_id": number // 2, "polarity": "affirmative"}
    return {**row, "caption": f"a {name} and {number} cups", "negated": f"no {name} and {number} cups", **changes}


@pytest.fixture(scope="module")
def model():
    """A CLIP with random weights and four text layers."""
    import open_clip
    import torch

    from crepebench.open_clip_models import OpenClipModel

    torch.manual_seed(0)
    text = {"context_length": 20, "vocab_size": 49408, "width": 16, "heads": 2, "layers": N_LAYERS}
    vision = {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16}
    clip = open_clip.CLIP(embed_dim=8, vision_cfg=vision, text_cfg=text)
    return OpenClipModel(clip, None, open_clip.SimpleTokenizer(context_length=20), "cpu")


class Stage:
    """Tables and features of a small run, and what the analysis writes."""

    def __init__(self, folder, model, rows):
        self.folder, self.rows = folder, rows
        write_table(self.at("pairs.parquet"), NEGATION_PAIRS, rows)
        image_ids = sorted({row["image_id"] for row in rows})
        images = [dict.fromkeys(IMAGES.names) | {"image_id": i, "width": 9, "height": 7} for i in image_ids]
        write_table(self.at("images.parquet"), IMAGES, images)
        texts = sorted({row[name] for row in rows for name in ("caption", "negated")})
        crops = [crop_id(i, (0, 0, 9, 7)) for i in image_ids[1:]]  # the first image has no feature
        vectors = np.random.default_rng(0).normal(size=(len(crops), 8)).astype(np.float32)
        matrix = np.concatenate([model.encode_texts(texts), vectors / np.linalg.norm(vectors, axis=1, keepdims=True)])
        store = FeatureStore(self.at("store"), "model")
        store.add([text_id(text) for text in texts] + crops, matrix)
        places = store.find([text_id(text) for text in texts] + crops)
        index = [self.index_row("text", text_id(text), places[text_id(text)]) for text in texts]
        index += [self.index_row("crop", crop, places[crop]) for crop in crops]
        index.append(self.index_row("crop", crop_id(image_ids[0], (0, 0, 9, 7)), (None, None), "image_missing"))
        origin = {"model": "mini", "identity": store.folder.name, "store": self.at("store"), "own_score": False}
        write_index(self.at("index.parquet"), index, origin)

    def index_row(self, kind, id_, place, reason=""):
        row = {"kind": kind, "id": id_, "shard": place[0], "row": place[1], "reason": reason}
        return {**row, "tokens_id": None, "n_tokens": None, "is_cut": None}

    def at(self, name):
        return str(self.folder / name)

    def run(self, repository, **changes):
        options = {"n_triples": 20, "n_controls": 12, "batch_size": 7, "seed": 0, "peak": None, "anchor": None}
        analyse_layers(
            pairs_path=self.at("pairs.parquet"),
            images_path=self.at("images.parquet"),
            index_path=self.at("index.parquet"),
            paraphrases_path=str(repository / "resources" / "negation" / "paraphrases.yaml"),
            aliases_path="",
            weights_paths=[],
            layers_path=self.at("layers.json"),
            curves_path=self.at("curves.csv"),
            accounting_path=self.at("accounting.csv"),
            model="mini",
            cfg=json.dumps({"model": {}, **options, **changes}),
        )
        with open(self.at("layers.json"), encoding="utf-8") as file:
            return json.load(file)


@pytest.fixture
def stage(tmp_path, model, monkeypatch):
    monkeypatch.setattr("crepebench.analyse_layers.load_model", lambda definition, paths: model)
    rows = [pair_row(i) for i in range(30)]
    rows += [pair_row(30, split="train"), pair_row(31, polarity="negated")]
    return Stage(tmp_path, model, rows)


def test_curves_equal_those_of_each_triple_by_itself(stage, model, repository):
    import torch

    from crepebench.text_layers import TextLayers

    report = stage.run(repository, n_triples=100)
    rows = [row for row in stage.rows[:30] if row["image_id"] != 0]
    features = read_features(stage.at("index.parquet"))
    layers = TextLayers(model.model)
    for layer in range(1, N_LAYERS + 1):
        d, a = [], []
        for row in rows:
            right, wrong = (
                layers.projected(model.tokenise([row[name]]).ids, [layer])[layer][0] for name in ("caption", "negated")
            )
            crop = features.rows["crop"][crop_id(row["image_id"], (0, 0, 9, 7))]
            d.append(1 - float(right @ wrong))
            a.append(float(right @ torch.from_numpy(features.matrix[crop].copy())))
        assert report["distance"][layer - 1] == pytest.approx(np.mean(d), abs=1e-5)
        assert report["alignment"][layer - 1] == pytest.approx(np.mean(a), abs=1e-5)
    assert (report["n_triples"], report["n_layers"]) == (28, N_LAYERS)
    assert report["deviation_of_last_layer"] < 1e-5


def test_all_pairs_are_accounted_for(stage, repository):
    stage.run(repository)
    rows = [row for row in read_accounting([stage.at("accounting.csv")]) if row["unit"] == "pair"]
    assert {row["reason"]: row["count"] for row in rows} == {
        **{"read": 32, "kept": 20, "not_drawn": 8, "image_without_a_feature": 2},
        **{"not_of_the_validation_split": 1, "right_caption_is_negated": 1},
    }


def test_analysis_is_the_same_each_time_and_whatever_the_batch(stage, repository):
    first = stage.run(repository)
    assert stage.run(repository) == first
    other = stage.run(repository, batch_size=20)
    assert (other["peak"], other["anchor"]) == (first["peak"], first["anchor"])
    assert other["distance"] == pytest.approx(first["distance"], abs=1e-6)
    assert other["token_distance"] == pytest.approx(first["token_distance"], abs=1e-6)


def test_report_holds_controls_and_probe_and_the_curves_name_the_chosen_layers(stage, repository):
    report = stage.run(repository, peak=3, anchor=2)
    assert (report["peak"], report["anchor"], report["chosen_by"], report["rule_version"]) == (3, 2, "config", 1)
    assert {name: found["n"] for name, found in report["controls"]["conditions"].items()} == {
        "negation": 12,
        "paraphrase": 12,
        "random": 12,
    }
    assert len(report["probe"]["accuracy"]) == N_LAYERS and report["probe"]["baseline"] == 100.0
    with open(stage.at("curves.csv"), newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len({row["curve"] for row in rows}) == 7 and len(rows) == 7 * N_LAYERS
    roles = {row["layer"]: row["role"] for row in rows}
    assert "peak" in roles["3"].split() and roles["2"] == "anchor"
    assert [float(row["value"]) for row in rows[:N_LAYERS]] == pytest.approx(report["distance"], abs=1e-6)


def test_lack_of_a_collapse_is_said_in_json_and_log(stage, repository, caplog, monkeypatch):
    from crepebench import layer_reading

    true_distances = layer_reading.distances
    monkeypatch.setattr(layer_reading, "distances", lambda *args: np.sort(true_distances(*args), axis=1))
    report = stage.run(repository)
    assert report["collapse"] is False
    assert any("no collapse" in warning for warning in report["warnings"])
    assert "no collapse" in caplog.text


def test_index_of_another_model_is_refused(stage, model, repository):
    model.model.ln_final.weight.data.neg_()[:3].zero_()
    try:
        with pytest.raises(
            ValueError, match=r"index.parquet: the text features are not those of the model's last layer"
        ):
            stage.run(repository)
    finally:
        model.model.ln_final.weight.data.fill_(1.0)


def test_table_without_a_usable_pair_is_named(tmp_path, model, monkeypatch, repository):
    monkeypatch.setattr("crepebench.analyse_layers.load_model", lambda definition, paths: model)
    stage = Stage(tmp_path, model, [pair_row(0, split="train"), pair_row(2, split="train")])
    with pytest.raises(ValueError, match=r"pairs.parquet: no pair of the split validation.*not_of_the_validation"):
        stage.run(repository)
