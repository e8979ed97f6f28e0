import math

import numpy as np
import pytest

from crepebench.albef_models import contrastive_part, network, resized_positions
from crepebench.checkpoints import CheckpointError
from crepebench.models import load_model, truncated_ids

from .model_files import TEXTS, random_images, shake, write_bert_vocabulary


def write_albef(folder, name="ALBEF.pth", finetuned=False, size=64, width=128, depth=2, dim=16, vocabulary=None):
    """Writes random weights in the form of the released checkpoints; returns the path and the weights that count."""
    import torch

    vocabulary = max(vocabulary or 0, write_bert_vocabulary(folder))
    torch.manual_seed(8)
    model = shake(network(size, width, depth, vocabulary, dim))
    weights = {key: tensor.clone() for key, tensor in model.state_dict().items()}
    bert = "text_encoder." if finetuned else "text_encoder.bert."
    state = {key.replace("text_encoder.", bert): tensor for key, tensor in weights.items()}
    for layer in (6, 7):
        state[f"{bert}encoder.layer.{layer}.attention.self.query.weight"] = torch.zeros(2)
        state[f"{bert}encoder.layer.{layer}.crossattention.self.key.weight"] = torch.zeros(2)
    others = ["temp", "image_queue", "queue_ptr", "itm_head.weight", "visual_encoder_m.cls_token", "text_proj_m.bias"]
    state |= {key: torch.zeros(2) for key in [*others, f"{bert}embeddings.position_ids"]}
    if not finetuned:
        state["text_encoder.cls.predictions.bias"] = torch.zeros(2)
    document = {"model": state, "optimizer": {}, "lr_scheduler": {}, "config": {"image_res": size}, "epoch": 29}
    torch.save(document, folder / name)
    return str(folder / name), weights


def gelu(x):
    import torch

    return x * 0.5 * (1 + torch.erf(x / math.sqrt(2)))


def normalise(x, weights, name, eps):
    mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / (variance + eps).sqrt() * weights[f"{name}.weight"] + weights[f"{name}.bias"]


def linear(x, weights, name):
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def attend(query, key, value, n_heads):
    n, length, width = query.shape
    query, key, value = (x.reshape(n, length, n_heads, -1).transpose(1, 2) for x in (query, key, value))
    scores = (query @ key.transpose(-1, -2) / math.sqrt(width // n_heads)).softmax(-1)
    return (scores @ value).transpose(1, 2).reshape(n, length, width)


def image_features(images, weights, depth, n_heads):
    """ALBEF's image branch, line by line: a pre-norm ViT over patches of 16 pixels."""
    import torch

    prefix = "visual_encoder."
    own = {key.removeprefix(prefix): tensor for key, tensor in weights.items() if key.startswith(prefix)}
    patches = images.unfold(2, 16, 16).unfold(3, 16, 16).permute(0, 2, 3, 1, 4, 5).flatten(3).flatten(1, 2)
    x = patches @ own["patch_embed.proj.weight"].flatten(1).T + own["patch_embed.proj.bias"]
    x = torch.cat([own["cls_token"].expand(len(x), -1, -1), x], dim=1) + own["pos_embed"]
    for i in range(depth):
        block = f"blocks.{i}."
        parts = linear(normalise(x, own, f"{block}norm1", 1e-6), own, f"{block}attn.qkv").chunk(3, dim=-1)
        x = x + linear(attend(*parts, n_heads), own, f"{block}attn.proj")
        inner = gelu(linear(normalise(x, own, f"{block}norm2", 1e-6), own, f"{block}mlp.fc1"))
        x = x + linear(inner, own, f"{block}mlp.fc2")
    return linear(normalise(x, own, "norm", 1e-6)[:, 0], weights, "vision_proj")


def text_features(ids, weights, n_heads):
    """ALBEF's text branch for one text without padding, line by line: six post-norm layers of BERT."""
    prefix = "text_encoder."
    own = {key.removeprefix(prefix): tensor for key, tensor in weights.items() if key.startswith(prefix)}
    x = own["embeddings.word_embeddings.weight"][ids] + own["embeddings.position_embeddings.weight"][: len(ids)]
    x = (x + own["embeddings.token_type_embeddings.weight"][0])[None]
    x = normalise(x, own, "embeddings.LayerNorm", 1e-12)
    for i in range(6):
        layer = f"encoder.layer.{i}."
        parts = [linear(x, own, f"{layer}attention.self.{name}") for name in ("query", "key", "value")]
        x = x + linear(attend(*parts, n_heads), own, f"{layer}attention.output.dense")
        x = normalise(x, own, f"{layer}attention.output.LayerNorm", 1e-12)
        inner = gelu(linear(x, own, f"{layer}intermediate.dense"))
        x = normalise(x + linear(inner, own, f"{layer}output.dense"), own, f"{layer}output.LayerNorm", 1e-12)
    return linear(x[:, 0], weights, "text_proj")


def assert_same(model, weights, size, depth, n_heads):
    import torch

    images = random_images(size)
    tokens = model.tokenise(TEXTS)
    rows = [ids[mask == 1] for ids, mask in zip(tokens.ids, tokens.mask, strict=True)]
    pictures = torch.nn.functional.normalize(image_features(images, weights, depth, n_heads), dim=-1).numpy()
    texts = torch.cat([text_features(row, weights, n_heads) for row in rows])
    texts = torch.nn.functional.normalize(texts, dim=-1).numpy()
    assert np.abs(texts - texts[0]).max() > 1e-3
    assert np.abs(model.encode_texts(TEXTS) - texts).max() < 1e-5
    assert np.abs(model.encode_images(images) - pictures).max() < 1e-5


@pytest.mark.parametrize("finetuned", [False, True])
def test_released_form_gives_the_features_of_a_plain_computation(tmp_path, finetuned):
    path, weights = write_albef(tmp_path, finetuned=finetuned)
    model = load_model({"family": "albef", "weights": path}, [path, str(tmp_path / "vocab.txt")])
    assert_same(model, weights, size=64, depth=2, n_heads=2)


@pytest.mark.slow
def test_true_size_gives_the_features_of_a_plain_computation(tmp_path):
    path, weights = write_albef(tmp_path, size=256, width=768, depth=12, dim=256, vocabulary=30522)
    model = load_model({"family": "albef", "weights": path}, [path, str(tmp_path / "vocab.txt")])
    assert_same(model, weights, size=256, depth=12, n_heads=12)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("albef")
    return [write_albef(folder)[0], str(folder / "vocab.txt")]


def test_other_image_size_interpolates_the_positions(files):
    import torch

    own, larger = (load_model({"family": "albef", "image_size": size}, files) for size in (64, 96))
    assert larger.image_plan.size == (96, 96) and larger.image_plan.resize == "squash"
    assert tuple(larger.model.state_dict()["visual_encoder.pos_embed"].shape) == (1, 37, 128)
    assert own.identity != larger.identity
    positions = torch.arange(1.0, 18).reshape(1, 17, 1)
    found = resized_positions(positions, 8)
    assert found[0, 0] == 1  # the class token's stays
    assert torch.isclose(found[0, 1:].mean(), positions[0, 1:].mean(), atol=0.1)
    assert resized_positions(positions, 4) is positions


def test_image_size_must_be_whole_patches(files):
    with pytest.raises(ValueError, match="image_size 100 is no multiple of the patches' 16 pixels"):
        load_model({"family": "albef", "image_size": 100}, files)


def test_texts_have_a_begin_mark_and_no_end_mark(files):
    model = load_model({"family": "albef"}, files)
    tokens = model.tokenise(["a red jar", "a " * 511, "a " * 512, "a " * 511 + "red"])
    assert tokens.n_tokens.tolist() == [6, 512, 513, 513]
    assert tokens.ids[0, :6].tolist()[:3] == [2, 5, 6] and 3 not in tokens.ids
    assert truncated_ids(tokens).tolist() == [False, False, True, True]
    assert (tokens.ids[1] == tokens.ids[3]).all()


def test_weights_of_another_model_are_refused():
    import torch

    with pytest.raises(
        CheckpointError, match=r"a is no ALBEF: unknown keys \['x'\], no weights of \['visual_encoder\."
    ):
        contrastive_part({"x": torch.zeros(1)}, "a")


def test_missing_checkpoint_is_named():
    with pytest.raises(ValueError, match=r"there is no checkpoint 'ALBEF\.pth'"):
        load_model({"family": "albef", "weights": "ALBEF.pth"})
