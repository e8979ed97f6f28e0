import copy
import json

import numpy as np
import pytest

from crepebench.models import CONFIG_FILE, WEIGHTS_FILE, encode_trimmed_texts, load_model, trim_tokens

MODEL_CONFIG = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
}
PREPROCESSING = {"mean": [0.5, 0.5, 0.5], "std": [0.25, 0.25, 0.25], "interpolation": "bicubic"}
TEXTS = [
    "a red jar",
    "two large hollow blue buckets hanging from a small brown dumpster",
    "",
    "a b c d e f g h i j k l m n o p",
    "umbrella",
]
DEFINITION = {"family": "open_clip"}


@pytest.fixture(scope="module")
def model():
    import open_clip
    import torch

    torch.manual_seed(3)
    model = open_clip.CLIP(**MODEL_CONFIG).eval()
    with torch.no_grad():
        model.text_projection.normal_()
        model.positional_embedding.normal_()
    return model


@pytest.fixture(scope="module")
def tokens():
    import open_clip

    return open_clip.get_tokenizer("ViT-B-32")(TEXTS)


def write_folder(folder, model, model_config=MODEL_CONFIG, preprocessing=PREPROCESSING, change=None):
    """Writes a model as an open_clip folder; returns the paths of its files."""
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    document = {"model_cfg": model_config, "preprocess_cfg": preprocessing}
    (folder / CONFIG_FILE).write_text(json.dumps(document))
    weights = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    if change:
        weights[change].view(-1)[0] += 0.25
    save_file(weights, str(folder / WEIGHTS_FILE))
    return [str(folder / CONFIG_FILE), str(folder / WEIGHTS_FILE)]


@pytest.fixture(scope="module")
def loaded(model, tmp_path_factory):
    return load_model(DEFINITION, write_folder(tmp_path_factory.mktemp("model") / "a", model))


def test_trimmed_texts_are_encoded_as_open_clip_does(model, tokens):
    import torch

    with torch.inference_mode():
        expected = model.encode_text(tokens).numpy()
        found = encode_trimmed_texts(model, trim_tokens(tokens)).numpy()
    assert trim_tokens(tokens).shape[1] < tokens.shape[1]
    assert np.abs(expected).max() > 0.1
    assert np.abs(expected - expected[0]).max() > 0.01
    assert np.abs(found - expected).max() < 1e-5


@pytest.mark.parametrize("n_texts", [1, 3, 5])
def test_trimmed_length_does_not_change_a_text(model, tokens, n_texts):
    import torch

    with torch.inference_mode():
        alone = encode_trimmed_texts(model, trim_tokens(tokens[:1])).numpy()
        among_others = encode_trimmed_texts(model, trim_tokens(tokens[:n_texts])).numpy()[:1]
    assert np.abs(alone - among_others).max() < 1e-5


def test_linear_text_projection_is_applied(model, tokens):
    import torch

    linear = copy.deepcopy(model)
    projection = torch.nn.Linear(16, 8, bias=True)
    del linear.text_projection
    linear.text_projection = projection
    with torch.inference_mode():
        expected = linear.encode_text(tokens).numpy()
        found = encode_trimmed_texts(linear, trim_tokens(tokens)).numpy()
    assert found.shape == (len(TEXTS), 8)
    assert np.abs(found - expected).max() < 1e-5


@pytest.mark.parametrize(
    ("rows", "length"), [([[5, 9, 0, 0]], 2), ([[5, 9, 0, 0], [5, 6, 9, 0]], 3), ([[5, 6, 7, 9]], 4)]
)
def test_tokens_are_cut_behind_the_last_end_token(rows, length):
    import torch

    tokens = torch.tensor(rows)
    assert trim_tokens(tokens).tolist() == [row[:length] for row in rows]


def test_features_are_unit_rows_of_float32(loaded):
    import torch

    images = torch.rand(3, 3, 32, 32)
    for features in (loaded.encode_texts(TEXTS), loaded.encode_images(images)):
        assert features.dtype == np.float32
        assert np.abs(np.linalg.norm(features, axis=1) - 1).max() < 1e-6


def test_loaded_model_gives_open_clips_features(loaded, model, tokens):
    import torch

    with torch.inference_mode():
        expected = torch.nn.functional.normalize(model.encode_text(tokens), dim=-1).numpy()
    assert np.abs(loaded.encode_texts(TEXTS) - expected).max() < 1e-5


def test_features_do_not_depend_on_batch_mates(loaded):
    together = loaded.encode_texts(TEXTS)
    alone = np.concatenate([loaded.encode_texts([text]) for text in TEXTS])
    assert (together * alone).sum(axis=1).min() > 0.9999


def test_text_beyond_the_context_is_cut(loaded):
    words = [str(number) for number in range(100, 200)]
    long, longer = loaded.encode_texts([" ".join(words), " ".join([*words, "jar"])])
    assert np.abs(long - longer).max() < 1e-6


def test_model_is_in_evaluation_mode(loaded):
    assert not any(module.training for module in loaded.model.modules())


def test_picture_is_preprocessed_to_the_models_size(loaded):
    from PIL import Image

    tensor = loaded.preprocess(Image.new("RGB", (100, 40), (255, 255, 255)))
    assert tuple(tensor.shape) == (3, 32, 32)
    assert np.abs(tensor.numpy() - 2.0).max() < 1e-5


def test_equal_models_have_one_identity(loaded, model, tmp_path):
    assert load_model(DEFINITION, write_folder(tmp_path / "b", model)).identity == loaded.identity


@pytest.mark.parametrize(
    "change",
    [
        {"change": "ln_final.bias"},
        {"model_config": {**MODEL_CONFIG, "quick_gelu": True}},
        {"preprocessing": {**PREPROCESSING, "mean": [0.4, 0.5, 0.5]}},
        {"preprocessing": {**PREPROCESSING, "resize_mode": "squash"}},
    ],
    ids=["weight", "activation", "mean", "resize mode"],
)
def test_identity_depends_on_all_that_shapes_a_feature(loaded, model, tmp_path, change):
    assert load_model(DEFINITION, write_folder(tmp_path / "b", model, **change)).identity != loaded.identity


def test_identity_depends_on_the_tokens(model, tmp_path):
    found, other = (load_model(DEFINITION, write_folder(tmp_path / name, model)) for name in ("b", "c"))
    tokenise = other.tokenise
    other.tokenise = lambda texts: tokenise([text.lower().replace("photo", "picture") for text in texts])
    assert found.identity != other.identity


def test_unknown_family_is_refused():
    with pytest.raises(ValueError, match=r"unknown model family 'clap': use one of .*open_clip"):
        load_model({"family": "clap"})


def test_weights_without_architecture_are_refused(tmp_path):
    (tmp_path / "weights.pt").write_bytes(b"")
    with pytest.raises(ValueError, match=r"weights\.pt' is no folder .* and no architecture is given"):
        load_model(DEFINITION, [str(tmp_path / "weights.pt")])


@pytest.mark.parametrize(("resize_mode", "ends_are_seen"), [("shortest", False), ("squash", True)])
@pytest.mark.parametrize("size", [(400, 100), (100, 400)])
def test_crop_that_is_not_square_goes_through_the_models_own_preprocessing(
    loaded, model, tmp_path, resize_mode, ends_are_seen, size
):
    from PIL import Image

    preprocessing = {**PREPROCESSING, "resize_mode": resize_mode}
    other = load_model(DEFINITION, write_folder(tmp_path / "b", model, preprocessing=preprocessing))
    picture = Image.new("RGB", size, (0, 0, 0))
    picture.paste((255, 255, 255), (0, 0, size[0] // 4, size[1] // 4))  # white in one corner, at the end of both sides
    tensor = other.preprocess(picture)
    assert tuple(tensor.shape) == (3, 32, 32)
    assert bool(tensor.max() > 1.5) == ends_are_seen
    assert (other.identity != loaded.identity) == ends_are_seen  # open_clip's default is "shortest"
