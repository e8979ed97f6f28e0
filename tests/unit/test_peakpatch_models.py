import json

import numpy as np
import pytest
import torch

from crepebench.backbones import BackboneError
from crepebench.models import Model, load_model
from crepebench.peakpatch_models import PeakPatchError, ScoredPeakPatchModel
from crepebench.text_layers import TextLayers
from crepebench.token_rows import token_rows

from .model_files import TEXTS, random_images
from .peakpatch_files import DIM, write_backbone, write_networks

CAPTIONS = ["a red jar", "a red jar without a lid", *TEXTS[3:], "no umbrella"]


@pytest.fixture(scope="module")
def backbone(tmp_path_factory):
    return write_backbone(tmp_path_factory.mktemp("backbone") / "a")


def definition(**options):
    return {"family": "peakpatch", "backbone": {"family": "open_clip"}, **options}


def load(backbone, folder, variant="joint", **options):
    return load_model(definition(**options), [*backbone[1], *write_networks(folder / variant, variant)])


def test_correction_alone_gives_the_corrected_features_and_plain_cosines(backbone, tmp_path):
    model, frozen = load(backbone, tmp_path, "ecn"), load_model({"family": "open_clip"}, backbone[1])
    read = TextLayers(frozen.model).read(frozen.tokenise(CAPTIONS).ids, 2, 1)
    network = model._networks["ecn"]
    expected = network(read.final, read.tokens, read.valid, read.anchor).numpy()
    features = model.encode_texts(CAPTIONS)
    assert np.abs(features - expected).max() < 1e-6
    assert 1e-3 < np.abs(features - frozen.encode_texts(CAPTIONS)).max() < 1
    assert type(model).score is Model.score
    images = random_images(32)
    assert np.array_equal(model.encode_images(images), frozen.encode_images(images))


@pytest.mark.parametrize("variant", ["joint", "scn", "no_anchor", "detached"])
def test_scores_of_cached_features_are_those_of_the_networks(backbone, tmp_path, variant):
    model, frozen = load(backbone, tmp_path, variant), load_model({"family": "open_clip"}, backbone[1])
    texts, images = model.encode_texts(CAPTIONS), model.encode_images(random_images(32, len(CAPTIONS)))
    for rows in (texts, images):
        assert rows.shape == (len(CAPTIONS), 2 * DIM) and rows.dtype == np.float32
        assert np.abs(np.linalg.norm(rows, axis=1) - 1).max() < 1e-6
    read = TextLayers(frozen.model).read(frozen.tokenise(CAPTIONS).ids, 2, 1)
    has_ecn = variant != "scn"
    corrected = read.final
    if has_ecn:
        corrected = model._networks["ecn"](read.final, read.tokens, read.valid, read.anchor)
    image = torch.from_numpy(images[:, :DIM])
    expected, offsets = model._networks["scn"].score(image, [read.peak], corrected)
    assert np.abs(model.score(images, texts) - expected.numpy()).max() < 1e-6
    assert offsets.abs().max() > 1e-4
    if not has_ecn:
        assert np.abs(texts[:, :DIM] * 2**0.5 - frozen.encode_texts(CAPTIONS)).max() < 1e-6


def test_scores_have_the_offsets_bound_of_their_training(backbone, tmp_path):
    files = [write_networks(tmp_path / str(bound), "joint", largest_offset=bound) for bound in (0.2, 0.8)]
    models = [load_model(definition(), [*backbone[1], *paths]) for paths in files]
    texts, images = models[0].encode_texts(CAPTIONS), models[0].encode_images(random_images(32, len(CAPTIONS)))
    cosines = 2**0.5 * (images[:, :DIM] * texts[:, :DIM]).sum(axis=1)
    one, other = (model.score(images, texts) - cosines for model in models)
    assert np.allclose(other, 4 * one, atol=1e-6) and np.abs(one).max() > 1e-4


def test_equal_pairs_score_exactly_alike_whatever_stands_beside_them(backbone, tmp_path):
    model = load(backbone, tmp_path)
    rng = np.random.default_rng(1)
    texts, images = rng.normal(size=(2, 4099, 2 * DIM)).astype(np.float32)
    images[:, DIM:] = 0
    texts, images = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (texts, images))
    texts[7], images[7] = texts[4098], images[4098]
    whole = model.score(images, texts)
    assert whole[7] == whole[4098]
    for size in (1, 3, 64, 1000):
        parts = [model.score(images[i : i + size], texts[i : i + size]) for i in range(0, 2 * size, size)]
        assert np.array_equal(np.concatenate(parts), whole[: 2 * size])
    order = rng.permutation(len(whole))
    assert np.array_equal(model.score(images[order], texts[order]), whole[order])


def test_control_without_text_branch_scores_as_the_network_does(backbone, tmp_path):
    whole = load(backbone, tmp_path)
    texts, images = whole.encode_texts(CAPTIONS), whole.encode_images(random_images(32, len(CAPTIONS)))
    halves = [torch.from_numpy(texts[:, part] * np.float32(2**0.5)) for part in (slice(DIM), slice(DIM, None))]
    image = torch.from_numpy(images[:, :DIM])
    expected = whole._networks["scn"].score(image, [halves[1]], halves[0], text_branch=False)[0]
    control = whole.score(images, texts, text_branch=False)
    assert np.abs(control - expected.numpy()).max() < 1e-6
    assert np.abs(control - whole.score(images, texts)).max() > 1e-6


def test_backbone_stays_frozen(backbone, tmp_path):
    model = load(backbone, tmp_path)
    model.encode_texts(CAPTIONS)
    parameters = dict(model._backbone.model.named_parameters())
    assert not any(parameter.requires_grad or parameter.grad is not None for parameter in parameters.values())
    assert all(torch.equal(tensor, parameters[name]) for name, tensor in backbone[0].named_parameters())


def test_identity_covers_backbone_weights_layers_and_variant(backbone, tmp_path):
    files = write_networks(tmp_path / "a", "joint")
    models = [load_model(definition(), [*backbone[1], *files])]
    models.append(load_model(definition(), [*write_backbone(tmp_path / "other", 4)[1], *files]))
    models.append(load_model(definition(), [*backbone[1], *write_networks(tmp_path / "b", "joint", anchor=2)]))
    models.append(load_model(definition(), [*backbone[1], *write_networks(tmp_path / "c", "detached")]))
    models.append(load_model(definition(), [*backbone[1], *files]))
    with torch.no_grad():
        models[-1]._networks["scn"].head[3].bias += 1
    assert len({model.identity for model in models}) == 5
    assert models[0].identity == load_model(definition(), [*backbone[1], *files]).identity
    assert isinstance(models[0], ScoredPeakPatchModel)


def test_files_that_are_missing_or_do_not_fit_are_named(backbone, tmp_path):
    files = write_networks(tmp_path / "a", "joint")
    with pytest.raises(PeakPatchError, match=r"the model lacks peakpatch\.json: rule train_peakpatch writes"):
        load_model(definition(), [*backbone[1], files[0]])
    with pytest.raises(PeakPatchError, match=r"peakpatch\.json is of variant 'joint', not 'ecn'"):
        load_model(definition(variant="ecn"), [*backbone[1], *files])
    config = json.loads((tmp_path / "a" / "peakpatch.json").read_text())
    for change, message in (
        ({"n_layers": 12}, r"is of another backbone: .*'n_layers': 3"),
        ({"version": 9}, "unknown version 9"),
        ({"dim": 24}, "does not fit what peakpatch.json says of it"),
    ):
        (tmp_path / "a" / "peakpatch.json").write_text(json.dumps({**config, **change}))
        with pytest.raises(PeakPatchError, match=message):
            load_model(definition(), [*backbone[1], *files])


def test_backbones_of_other_families_are_refused(tmp_path, monkeypatch):
    from crepebench import model_families

    monkeypatch.setitem(model_families.FAMILIES, "flava", lambda *_: object())
    files = write_networks(tmp_path / "a", "joint")
    with pytest.raises(BackboneError, match="'peakpatch' stands on models of open_clip, not on those of 'flava'"):
        load_model({"family": "peakpatch", "backbone": {"family": "flava"}}, files)
    with pytest.raises(BackboneError, match="needs a backbone with a known family, not None"):
        load_model({"family": "negvector"})


def test_negation_vector_takes_the_denied_concept_away(backbone):
    model = load_model({"family": "negvector", "backbone": {"family": "open_clip"}, "beta": 0.3}, backbone[1])
    frozen = load_model({"family": "open_clip"}, backbone[1])
    texts = ["a red jar", "a red jar without a lid", "a b c d e f"]
    found, plain = model.encode_texts(texts), frozen.encode_texts(texts)
    assert np.array_equal(model.encode_texts(texts[:1]), frozen.encode_texts(texts[:1]))
    assert np.abs(found[[0, 2]] - plain[[0, 2]]).max() < 1e-6  # up to what stands beside them in a batch
    parts = frozen.encode_texts(["a red jar", "lid"])
    expected = parts[0] - 0.3 * parts[1]
    assert np.abs(found[1] - expected / np.linalg.norm(expected)).max() < 1e-6
    assert np.abs(found[1] - plain[1]).max() > 1e-3


def test_texts_are_one_to_the_negation_vector_if_their_rows_are_equal(backbone):
    model = load_model({"family": "negvector", "backbone": {"family": "open_clip"}}, backbone[1])
    tokens = model.tokenise(["a jar", "A  jar", "no jar", "a jar without a lid", " ".join(["jar"] * 99)])
    ids = [row.tokens_id for row in token_rows(tokens)]
    assert ids[0] == ids[1] and len(set(ids)) == 4
    assert tokens.n_tokens.tolist() == [4, 4, 4, 7, 101] and tokens.limit == 77
    beside = model.tokenise(["a jar"])
    assert token_rows(beside)[0].tokens_id == ids[0]


def test_identity_of_the_negation_vector_covers_beta(backbone):
    entries = [{"family": "negvector", "backbone": {"family": "open_clip"}, "beta": beta} for beta in (0.2, 0.5, 0.5)]
    identities = [load_model(entry, backbone[1]).identity for entry in entries]
    assert identities[1] == identities[2] != identities[0]
