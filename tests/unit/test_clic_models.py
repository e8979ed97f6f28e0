import json

import numpy as np
import pytest
import torch

from crepebench.clic_models import CONFIG, WEIGHTS, ClicError, ClicModel
from crepebench.clic_plots import plot_clic_curves
from crepebench.clic_runs import train_in_process
from crepebench.feature_index import Contents
from crepebench.feature_store import FeatureStore
from crepebench.features import share_crops
from crepebench.models import load_model
from crepebench.open_clip_models import OpenClipModel
from crepebench.schema import CLIC_ROWS, IMAGES, write_table

from .clic_files import QUICK, write_images
from .clic_tuned_files import changed, write_training
from .model_files import TEXTS, random_images
from .peakpatch_files import write_backbone, write_networks


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    """A base, and the paths of its files."""
    _, paths = write_backbone(tmp_path_factory.mktemp("base") / "a")
    return load_model({"family": "open_clip"}, paths), paths


def definition(**options):
    return {"family": "clic", "backbone": {"family": "open_clip"}, **options}


def load(base, folder, trained=None, **said):
    trained = changed(base[0].model.state_dict()) if trained is None else trained
    return load_model(definition(), [*base[1], *write_training(folder, base[0], trained, **said)])


def test_trained_tensors_take_the_places_of_the_bases_and_nothing_else_changes(base, tmp_path):
    tensors = changed(base[0].model.state_dict())
    model = load(base, tmp_path, tensors)
    assert isinstance(model, OpenClipModel)
    for name, tensor in model.model.state_dict().items():
        assert torch.equal(tensor, tensors.get(name, base[0].model.state_dict()[name]))
    images = random_images(32)
    assert np.array_equal(model.encode_images(images), base[0].encode_images(images))
    assert np.abs(model.encode_texts(TEXTS) - base[0].encode_texts(TEXTS)).max() > 1e-3
    assert model.image_plan == base[0].image_plan


def test_identity_is_that_of_base_and_trained_tensors(base, tmp_path):
    state = base[0].model.state_dict()
    models = [load(base, tmp_path / f"{seed}", changed(state, seed=seed)) for seed in (1, 2)]
    models.append(load(base, tmp_path / "visual", changed(state, ("visual.",))))
    assert len({model.identity for model in (*models, base[0])}) == 4
    again = load(base, tmp_path / "again", changed(state), seed=5)
    assert again.identity == models[0].identity  # what is said of a training shapes no feature
    assert models[0].image_identity == models[1].image_identity == base[0].identity
    assert models[2].image_identity == models[2].identity


def test_a_training_on_another_device_fits_its_base(base, tmp_path):
    assert isinstance(load(base, tmp_path, base_identity=base[0].identity_on("cuda")), ClicModel)


def test_a_tuned_model_can_be_used_in_another_precision_than_it_was_trained_in(base, tmp_path):
    files = write_training(tmp_path / "a", base[0], changed(base[0].model.state_dict()))
    half = {"family": "clic", "backbone": {"family": "open_clip", "precision": "bfloat16"}}
    models = [load_model(each, [*base[1], *files]) for each in (definition(), half)]
    assert models[1].model.logit_scale.dtype == torch.bfloat16
    assert np.abs(models[0].encode_texts(TEXTS) - models[1].encode_texts(TEXTS)).max() < 0.05
    assert models[1].identity not in (models[0].identity, base[0].identity)
    assert models[1].image_identity == models[1].identity


def test_files_that_are_missing_or_do_not_fit_are_named(base, tmp_path):
    paths = write_training(tmp_path / "a", base[0], tensors := changed(base[0].model.state_dict()))
    with pytest.raises(ClicError, match=r"the model lacks clic\.json: rule train_clic writes"):
        load_model(definition(), [*base[1], paths[0]])
    with pytest.raises(ClicError, match="a tuned model cannot be tuned again"):
        load_model(definition(), [*base[1], *paths, *paths])
    with pytest.raises(ClicError, match=r"clic\.json is of variant 'clic', not 'single'"):
        load_model(definition(variant="single"), [*base[1], *paths])
    for said, message in (
        ({"version": 9}, "unknown version 9, not 1"),
        ({"base_identity": "x"}, "is of another base: x, not"),
        ({"tensors": ["ln_final.bias"]}, "do not speak of the same tensors: ln_final.weight"),
    ):
        with pytest.raises(ClicError, match=message):
            load(base, tmp_path / "b", **said)
    for name, tensor, message in (
        ("other", torch.zeros(1), "the base has no tensor 'other'"),
        ("ln_final.bias", torch.zeros(3), r"'ln_final.bias' has the shape \(3,\), in the base \(24,\)"),
        ("ln_final.bias", torch.full((24,), torch.nan), "'ln_final.bias' holds what is no number"),
    ):
        with pytest.raises(ClicError, match=message):
            load(base, tmp_path / "c", {**tensors, name: tensor})
    config = json.loads((tmp_path / "a" / "clic.json").read_text())
    del config["seed"]
    (tmp_path / "a" / "clic.json").write_text(json.dumps(config))
    with pytest.raises(ClicError, match="the keys seed are missing"):
        load_model(definition(), [*base[1], *paths])
    (tmp_path / "a" / "clic.json").write_text("{")
    with pytest.raises(ClicError, match=r"clic\.json: no JSON"):
        load_model(definition(), [*base[1], *paths])
    (tmp_path / "a" / "clic.safetensors").write_bytes(b"x")
    (tmp_path / "a" / "clic.json").write_text(json.dumps({**config, "seed": 1}))
    with pytest.raises(ClicError, match=r"clic\.safetensors cannot be read"):
        load_model(definition(), [*base[1], *paths])


def test_a_base_of_another_training_is_refused(base, tmp_path):
    _, other = write_backbone(tmp_path / "other", 4)
    files = write_training(tmp_path / "a", base[0], changed(base[0].model.state_dict()))
    with pytest.raises(ClicError, match="is of another base"):
        load_model(definition(), [*other, *files])


def test_corrections_stand_on_a_tuned_model(base, tmp_path):
    files = write_training(tmp_path / "a", base[0], changed(base[0].model.state_dict()))
    tuned = load_model(definition(), [*base[1], *files])
    vector = load_model({"family": "negvector", "backbone": definition()}, [*base[1], *files])
    assert np.array_equal(vector.encode_texts(["a red jar"]), tuned.encode_texts(["a red jar"]))
    networks = write_networks(tmp_path / "networks", "ecn")
    corrected = load_model({"family": "peakpatch", "backbone": definition()}, [*base[1], *files, *networks])
    on_base = load_model({"family": "peakpatch", "backbone": {"family": "open_clip"}}, [*base[1], *networks])
    assert np.abs(corrected.encode_texts(TEXTS) - on_base.encode_texts(TEXTS)).max() > 1e-3
    assert len({each.identity for each in (tuned, vector, corrected, on_base)}) == 4


CROPS = Contents({}, {(i, (0, 0, 1, 1)): key for i, key in enumerate(("one", "two", "three"))}, {})


def test_crops_that_the_base_has_encoded_are_not_encoded_again(base, tmp_path):
    model = load(base, tmp_path / "training")
    under, store = (FeatureStore(str(tmp_path / "store"), each.identity) for each in (base[0], model))
    share_crops(model, store, CROPS, str(tmp_path / "store"))
    assert not under.folder.exists()  # the base has no store
    rows = np.eye(4, dtype=np.float32)
    under.add(["one", "two", "other"], rows[:3])
    store.add(["two"], rows[3:])
    share_crops(model, store, CROPS, str(tmp_path / "store"))
    places = store.find([*CROPS.keys, "other"])
    assert sorted(places) == ["one", "two"]
    assert np.array_equal(store.read([places["one"], places["two"]]), rows[[0, 3]])


def test_a_model_whose_vision_changed_shares_no_crops(base, tmp_path):
    model = load(base, tmp_path / "training", changed(base[0].model.state_dict(), ("visual.",)))
    under, store = (FeatureStore(str(tmp_path / "store"), each.identity) for each in (base[0], model))
    under.add(["one"], np.eye(1, dtype=np.float32))
    share_crops(model, store, CROPS, str(tmp_path / "store"))
    assert not store.folder.exists()


def test_what_a_training_writes_is_loaded_and_drawn(base, tmp_path):
    images, sentences = write_images(tmp_path / "images", 24)
    tags = ("DET", "ADJ", "NOUN")
    rows = []
    for i, (image, found) in enumerate(zip(images, sentences, strict=True)):
        words = [
            {
                "text": word,
                "pos": pos,
                "fine": pos,
                "start": found[0].index(word),
                "end": found[0].index(word) + len(word),
            }
            for word, pos in zip(found[0].split(), tags, strict=True)
        ]
        split = "validation" if i >= 20 else "train"
        rows.append({"row_id": i, "image_id": image["image_id"], "split": split, "sentences": found, "words": words})
    paths = {name: str(tmp_path / name) for name in (WEIGHTS, CONFIG, "curve.csv", "accounting.csv", "rows", "table")}
    write_table(paths["rows"], CLIC_ROWS, rows)
    write_table(paths["table"], IMAGES, images)
    cfg = {"model": {"family": "open_clip"}, "variant": "clic", "training": QUICK}
    outputs = [paths[name] for name in (WEIGHTS, CONFIG, "curve.csv", "accounting.csv")]
    train_in_process(
        paths["rows"], paths["table"], None, None, *outputs, str(tmp_path / "run"), base[1], 1, json.dumps(cfg)
    )
    model = load_model(definition(variant="clic"), [*base[1], *outputs[:2]])
    assert model.image_identity == base[0].identity
    assert np.abs(model.encode_texts(TEXTS) - base[0].encode_texts(TEXTS)).max() > 1e-3
    figures = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("crepebench.clic_plots.save", lambda figure, path: figures.append(figure))
        plot_clic_curves([outputs[2]], ["clic seed 1"], "")
    panels = [ax for ax in figures[0].axes if ax.get_title()]
    assert len(panels) == 4 and all(len(ax.lines) >= 2 for ax in panels)
