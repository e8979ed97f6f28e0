import json

import numpy as np
import pytest

from crepebench.activations import ActivationError
from crepebench.checkpoints import CheckpointError
from crepebench.models import CONFIG_FILE, WEIGHTS_FILE, FeatureError, ImagePlan, load_model, truncated_ids
from crepebench.open_clip_models import preprocessing

from .model_files import SMALL_CLIP, TEXTS, random_images, shake, unit, write_word_tokeniser

PAPER = [  # section 4.1; the models with quickgelu in their name are so in the released evaluation, too
    "RN50-quickgelu",
    "RN101-quickgelu",
    "ViT-B-32-quickgelu",
    "ViT-B-16",
    "ViT-B-16-plus-240",
    "ViT-L-14",
]
SLOW = [pytest.param(name, marks=pytest.mark.slow) for name in [*PAPER[1:], "EVA02-B-16"]]
LONG = " ".join(["jar"] * 200)


def make(architecture, seed=1):
    import open_clip
    import torch

    torch.manual_seed(seed)
    return shake(open_clip.create_model(architecture, load_weights=False, pretrained_text=False))


def encode(model, texts, tokeniser):
    import torch

    with torch.inference_mode():
        return unit(model.encode_text(tokeniser(texts)))


@pytest.mark.parametrize("architecture", ["RN50-quickgelu", *SLOW])
def test_true_architecture_gives_open_clips_features(tmp_path, architecture):
    import open_clip
    import torch
    from safetensors.torch import save_file

    reference = make(architecture)
    path = tmp_path / "weights.safetensors"
    save_file({key: tensor.contiguous() for key, tensor in reference.state_dict().items()}, str(path))
    model = load_model({"family": "open_clip", "architecture": architecture}, [str(path)])
    size = reference.visual.image_size
    images = random_images(size if isinstance(size, int) else size[0])
    with torch.inference_mode():
        expected = unit(reference.encode_image(images))
    assert np.abs(model.encode_images(images) - expected).max() < 1e-5
    expected = encode(reference, [*TEXTS, LONG], open_clip.get_tokenizer(architecture))
    assert np.abs(expected - expected[0]).max() > 1e-3
    assert np.abs(model.encode_texts([*TEXTS, LONG]) - expected).max() < 1e-5


@pytest.mark.slow
def test_siglip_gives_open_clips_features_and_squashes(tmp_path):
    import torch
    from open_clip.tokenizer import HFTokenizer
    from safetensors.torch import save_file

    reference = make("ViT-B-16-SigLIP")
    write_word_tokeniser(tmp_path)
    path = tmp_path / "weights.safetensors"
    save_file({key: tensor.contiguous() for key, tensor in reference.state_dict().items()}, str(path))
    paths = [str(path), str(tmp_path / "tokenizer.json")]
    model = load_model({"family": "open_clip", "architecture": "ViT-B-16-SigLIP"}, paths)
    assert model.image_plan == ImagePlan((224, 224), "squash", "bicubic", (0.5,) * 3, (0.5,) * 3)
    tokeniser = HFTokenizer(str(tmp_path), context_length=64, clean="canonicalize")
    assert np.abs(model.encode_texts(TEXTS) - encode(reference, TEXTS, tokeniser)).max() < 1e-5
    images = random_images(224)
    with torch.inference_mode():
        assert np.abs(model.encode_images(images) - unit(reference.encode_image(images))).max() < 1e-5


def write_folder(folder, text, tokens=True, quick_gelu=False):
    """Writes a small model of open_clip as a folder; returns it and the paths of its files."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    text = {**SMALL_CLIP["text_cfg"], **text}
    if tokens:
        text |= {"vocab_size": write_word_tokeniser(folder, ends=text.get("tokenizer_mode") != "clips")}
    config = {**SMALL_CLIP, "text_cfg": text, "quick_gelu": quick_gelu, "custom_text": True}
    document = {"model_cfg": config, "preprocess_cfg": {"mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash"}}
    (folder / CONFIG_FILE).write_text(json.dumps(document))
    torch.manual_seed(3)
    options = {key: value for key, value in config.items() if key != "custom_text"}
    model = shake(open_clip.CustomTextCLIP(**options))
    save_file({key: tensor.contiguous() for key, tensor in model.state_dict().items()}, str(folder / WEIGHTS_FILE))
    return model, [str(path) for path in folder.iterdir()]


KINDS = {
    "siglip": {"hf_tokenizer_name": "x", "context_length": 20, "no_causal_mask": True, "pool_type": "last"},
    "clipa": {
        "hf_tokenizer_name": "x",
        "context_length": 20,
        "no_causal_mask": True,
        "pool_type": "last",
        "tokenizer_kwargs": {"strip_sep_token": True},
    },
    "clips": {"hf_tokenizer_name": "x", "context_length": 20, "tokenizer_mode": "clips", "pool_type": "last"},
    "end token": {"hf_tokenizer_name": "x", "context_length": 20, "pool_type": "eos", "eos_id": 1},
}


@pytest.mark.parametrize(
    ("kind", "trims"), [("siglip", False), ("clipa", False), ("clips", False), ("end token", True)]
)
def test_folder_of_any_kind_gives_open_clips_features(tmp_path, kind, trims):
    import open_clip
    import torch

    reference, paths = write_folder(tmp_path / "a", KINDS[kind])
    model = load_model({"family": "open_clip"}, paths)
    tokeniser = open_clip.get_tokenizer(f"local-dir:{tmp_path / 'a'}")
    expected = encode(reference, [*TEXTS, LONG], tokeniser)
    assert np.abs(expected - expected[0]).max() > 1e-3
    assert np.abs(model.encode_texts([*TEXTS, LONG]) - expected).max() < 1e-5
    assert model._trims == trims
    images = random_images(32)
    with torch.inference_mode():
        assert np.abs(model.encode_images(images) - unit(reference.encode_image(images))).max() < 1e-5


@pytest.mark.parametrize(("kind", "marks"), [("siglip", 1), ("clips", 3)])
def test_tokens_of_hugging_face_are_counted_with_their_marks(tmp_path, kind, marks):
    model = load_model({"family": "open_clip"}, write_folder(tmp_path / "a", KINDS[kind])[1])
    tokens = model.tokenise(["a red jar", LONG])
    assert tokens.n_tokens.tolist() == [3 + marks, 200 + marks]
    assert (tokens.limit, truncated_ids(tokens).tolist()) == (20, [False, True])


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    folder = tmp_path_factory.mktemp("small") / "a"
    return write_folder(folder, {}, tokens=False)[1]


def test_over_long_texts_are_flagged_and_keep_their_end_token(small):
    model = load_model({"family": "open_clip"}, small)
    just = " ".join(["jar"] * 75)
    tokens = model.tokenise([just, f"{just} jar", f"{just} red", "jar"])
    assert truncated_ids(tokens).tolist() == [False, True, True, False]
    assert tokens.n_tokens.tolist() == [77, 78, 78, 3]
    assert (tokens.ids[:3, -1] == 49407).all()
    assert (tokens.ids[1] == tokens.ids[2]).all()  # equal once they are cut


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_lower_precision_is_close_of_unit_length_and_another_identity(small, precision):
    exact, coarse = (load_model({"family": "open_clip", "precision": each}, small) for each in ("float32", precision))
    found = coarse.encode_texts(TEXTS), coarse.encode_images(random_images(32))
    expected = exact.encode_texts(TEXTS), exact.encode_images(random_images(32))
    for a, b in zip(found, expected, strict=True):
        assert a.dtype == np.float32
        assert np.abs(np.linalg.norm(a, axis=1) - 1).max() < 1e-6  # normalised after they are float32 again
        assert 0 < np.abs(a - b).max() < 0.05
    assert exact.identity != coarse.identity


def test_unknown_precision_is_refused(small):
    with pytest.raises(ValueError, match="unknown precision 'int8': use one of float32, float16, bfloat16"):
        load_model({"family": "open_clip", "precision": "int8"}, small)


def test_feature_that_is_no_number_is_refused(small):
    import torch

    model = load_model({"family": "open_clip"}, small)
    images = random_images(32)
    images[1] = torch.nan
    with pytest.raises(FeatureError, match="1 of 2 features are zero or no numbers"):
        model.encode_images(images)


@pytest.mark.parametrize(
    ("architecture", "weights", "message"),
    [
        ("RN50", "cc12m", "was trained with QuickGELU, but 'RN50' has GELU: use the architecture 'RN50-quickgelu'"),
        ("ViT-B-32", "laion400m_e32", "was trained with QuickGELU, but 'ViT-B-32' has GELU"),
        ("ViT-B-32", "openai", "was trained with QuickGELU"),
        ("ViT-B-32-quickgelu", "laion2b_e16", "was trained with GELU, but .* has QuickGELU: use .* 'ViT-B-32'"),
    ],
)
def test_tag_under_another_activation_is_refused(architecture, weights, message):
    with pytest.raises(ActivationError, match=message):
        load_model({"family": "open_clip", "architecture": architecture, "weights": weights})


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    """A small architecture of open_clip under the name RN50, and a file named as a release of RN50 with QuickGELU."""
    import open_clip
    import torch

    torch.manual_seed(2)
    path = tmp_path_factory.mktemp("released") / "rn50-quickgelu-cc12m-f000538c.pt"
    torch.save({"state_dict": open_clip.CLIP(**SMALL_CLIP).state_dict()}, path)
    return str(path)


@pytest.fixture
def small_architectures(monkeypatch):
    from open_clip import factory

    for name, quick_gelu in (("RN50", False), ("RN50-quickgelu", True)):
        monkeypatch.setitem(factory._MODEL_CONFIGS, name, {**SMALL_CLIP, "quick_gelu": quick_gelu})


def test_released_file_under_another_activation_is_refused_unless_waived(released, small_architectures):
    definition = {"family": "open_clip", "architecture": "RN50", "weights": released}
    with pytest.raises(ActivationError, match="use the architecture 'RN50-quickgelu', or waive this with"):
        load_model(definition, [released])
    waived = load_model({**definition, "activation": "waived"}, [released])
    right = load_model({**definition, "architecture": "RN50-quickgelu"}, [released])
    assert waived.identity != right.identity
    assert np.abs(waived.encode_texts(TEXTS) - right.encode_texts(TEXTS)).max() > 1e-6


def test_file_with_the_hash_of_a_release_is_known_under_any_name(tmp_path, released, monkeypatch):
    from crepebench import activations

    path = tmp_path / "mine.pt"
    path.write_bytes(b"weights")
    assert activations.known_activation("RN50", path=str(path)) is None
    start = activations.hashlib.sha256(b"weights").hexdigest()[:8]
    monkeypatch.setattr(activations, "_released_files", lambda: {start: True})
    assert activations.known_activation("RN50", path=str(path)) is True


def test_weights_that_do_not_fit_are_named(tmp_path, small_architectures):
    import open_clip
    import torch

    state = open_clip.CLIP(**SMALL_CLIP).state_dict()
    del state["ln_final.bias"], state["ln_final.weight"]
    state["head.weight"] = torch.zeros(2)
    state["text_projection"] = torch.zeros(16, 8)
    torch.save(state, tmp_path / "a.pt")
    message = r"a\.pt does not fit .* lacks: ln_final\.weight, ln_final\.bias; .* unknown to the model: head\.weight; "
    message += r".* in another shape: text_projection \(16, 8\), not \(16, 16\)"
    with pytest.raises(CheckpointError, match=message):
        load_model({"family": "open_clip", "architecture": "RN50"}, [str(tmp_path / "a.pt")])


def test_pickled_objects_are_refused(tmp_path, small_architectures):
    import argparse

    import torch

    torch.save({"state_dict": {}, "args": argparse.Namespace(lr=1)}, tmp_path / "a.pt")
    with pytest.raises(
        CheckpointError, match=r"cannot be read as weights alone .*save its state dict with safetensors"
    ):
        load_model({"family": "open_clip", "architecture": "RN50"}, [str(tmp_path / "a.pt")])


@pytest.mark.parametrize(
    ("architecture", "tag", "expected"),
    [
        ("RN50", "", ("bicubic", "shortest")),
        ("ViT-B-16-SigLIP", "", ("bicubic", "squash")),
        ("ViT-L-14-CLIPA", "", ("bilinear", "squash")),
        ("ViT-L-14-quickgelu", "dfn2b", ("bicubic", "shortest")),
        ("ViT-H-14-378-quickgelu", "dfn5b", ("bicubic", "squash")),
    ],
)
def test_preprocessing_is_that_of_the_architectures_tags(architecture, tag, expected):
    found = preprocessing(architecture, tag)
    assert (found["interpolation"], found["resize_mode"]) == expected


def test_preprocessing_is_open_clips_default_where_the_tags_differ():
    assert preprocessing("ViT-H-14") == {}


@pytest.mark.parametrize(("resize_mode", "plan"), [("shortest", "shortest"), ("squash", "squash"), ("longest", None)])
def test_plan_does_what_the_preprocessing_does(resize_mode, plan):
    from open_clip.transform import PreprocessCfg, image_transform_v2
    from PIL import Image
    from torchvision.transforms import functional

    from crepebench.image_plans import plan_of

    settings = PreprocessCfg(size=32, mean=(0.4, 0.5, 0.6), std=(0.2, 0.3, 0.4), resize_mode=resize_mode)
    preprocess = image_transform_v2(settings, is_train=False)
    found = plan_of(preprocess)
    if plan is None:
        assert found is None
        return
    assert found == ImagePlan((32, 32), plan, "bicubic", (0.4, 0.5, 0.6), (0.2, 0.3, 0.4))
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (40, 100, 3), np.uint8))
    resized = functional.resize(
        picture, 32 if found.resize == "shortest" else list(found.size), functional.InterpolationMode.BICUBIC
    )
    tensor = functional.to_tensor(functional.center_crop(resized, list(found.size)))
    assert (functional.normalize(tensor, found.mean, found.std) == preprocess(picture)).all()


def test_other_pipelines_have_no_plan():
    from torchvision import transforms

    from crepebench.image_plans import plan_of

    end = [transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.5,) * 3)]
    assert plan_of(transforms.Compose([transforms.Resize(32), transforms.CenterCrop(32), *end])) is not None
    assert plan_of(transforms.Compose([transforms.Resize(40), transforms.CenterCrop(32), *end])) is None
    assert plan_of(transforms.Compose([transforms.Resize(32), *end])) is None
    assert plan_of(transforms.Compose([transforms.Resize((32, 32)), transforms.Grayscale(3), *end])) is None
    assert plan_of(lambda picture: picture) is None
