from types import SimpleNamespace

import pytest

from crepebench.text_layers import TextLayers, TowerError

from .model_files import SMALL_CLIP, shake

END = 999
"""End token of a vocabulary that is small, since filling large ones takes longest; blocks are whole."""


def tower_of(architecture, **changes):
    """Builds the text tower of an architecture, with all blocks unless told otherwise."""
    import open_clip
    import torch
    from open_clip.model import _build_text_tower

    torch.manual_seed(1)
    config = open_clip.get_model_config(architecture)
    text = {**config["text_cfg"], "vocab_size": END + 1, **changes}
    tower = _build_text_tower(config["embed_dim"], text, config.get("quick_gelu", False))
    return tower.eval()


def rows(*lengths, context=77):
    import torch

    generator = torch.Generator().manual_seed(2)
    ids = torch.zeros(len(lengths), context, dtype=torch.int64)
    for row, length in zip(ids, lengths, strict=True):
        row[:length] = torch.randint(1, END, (length,), generator=generator)
        row[length - 1] = END
    return ids


def unit_text(model, ids):
    import torch

    with torch.inference_mode():
        encode = model.encode_text if hasattr(model, "encode_text") else model
        return torch.nn.functional.normalize(encode(ids), dim=-1)


LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("ViT-L-14", "ViT-g-14")]


@pytest.mark.parametrize("architecture", ["ViT-B-32-quickgelu", "RN50", "ViT-B-16-SigLIP", *LARGE])
def test_last_layer_is_the_text_feature(architecture):
    siglip = architecture.endswith("SigLIP")
    tower = tower_of(architecture)
    ids = rows(7, 12, context=64 if siglip else 77)
    layers = TextLayers(tower)
    expected = unit_text(tower, ids)
    found = layers.projected(ids, [1, layers.n_layers])
    assert found[layers.n_layers].shape == (2, layers.dim) == expected.shape
    assert (found[layers.n_layers] - expected).abs().max() < 1e-6
    assert (found[1] - expected).abs().max() > 1e-3
    assert (found[1].norm(dim=-1) - 1).abs().max() < 1e-6
    assert layers.ends(ids).tolist() == ([63, 63] if siglip else [6, 11])
    assert layers.valid(ids).sum(1).tolist() == ([64, 64] if siglip else [7, 12])
    assert layers.width == tower.width


@pytest.fixture(scope="module")
def small():
    import open_clip
    import torch

    torch.manual_seed(3)
    text = {**SMALL_CLIP["text_cfg"], "width": 24, "layers": 3}
    return shake(open_clip.CLIP(**{**SMALL_CLIP, "text_cfg": text}))


def test_whole_model_is_read_as_its_tower_is(small):
    ids = rows(5, 9)
    layers = TextLayers(small)
    assert (layers.n_layers, layers.width, layers.dim) == (3, 24, 16)
    assert (layers.projected(ids, [3])[3] - unit_text(small, ids)).abs().max() < 1e-6


def test_token_features_are_those_of_open_clips_own_loop(small):
    import torch

    ids = rows(5, 9)
    with torch.no_grad():
        x = small.token_embedding(ids) + small.positional_embedding
        for block in small.transformer.resblocks[:2]:
            x = block(x, attn_mask=small.attn_mask)
        expected = small.ln_final(x)
    found = TextLayers(small).tokens(ids, [2])[2]
    assert found.shape == (2, 77, 24)
    for i, length in enumerate((5, 9)):
        assert (found[i, :length] - expected[i, :length]).abs().max() < 1e-5
    assert (found[:, 9:] == 0).all()  # behind all ends, where a causal tower need not look


def test_readings_agree_with_the_single_functions(small):
    ids = rows(5, 9)
    layers = TextLayers(small)
    read = layers.read(ids, 2, 1)
    single = layers.projected(ids, [2, 3])
    assert (read.peak - single[2]).abs().max() == (read.final - single[3]).abs().max() == 0
    assert (read.tokens == layers.tokens(ids, [2])[2][:, :9]).all()
    assert (read.anchor[1] == layers.tokens(ids, [1])[1][1, 8]).all()
    assert read.valid.sum(1).tolist() == [5, 9]
    assert layers.read(ids, 2, 1, whole=True).tokens.shape[1] == 77


def test_ids_behind_the_end_change_nothing(small):
    ids = rows(5, 9)
    other = ids.clone()
    other[0, 5:] = 17
    layers = TextLayers(small)
    a, b = layers.read(ids, 2, 1), layers.read(other, 2, 1)
    assert (a.peak == b.peak).all() and (a.anchor == b.anchor).all() and (a.tokens[0, :5] == b.tokens[0, :5]).all()


def test_tower_without_projection_has_the_joint_width():
    tower = tower_of("RN50", layers=1, proj_type="none")
    layers = TextLayers(tower)
    assert layers.dim == layers.width == 512
    ids = rows(4)
    assert (layers.projected(ids, [1])[1] - unit_text(tower, ids)).abs().max() < 1e-6


def test_layers_are_read_without_gradients(small):
    assert not TextLayers(small).read(rows(5), 2, 1).tokens.requires_grad


def test_towers_of_other_kinds_are_refused_by_name(small):
    with pytest.raises(TowerError, match="SimpleNamespace is no text tower of open_clip's own"):
        TextLayers(SimpleNamespace(text=SimpleNamespace()))
    with pytest.raises(TowerError, match="TextTransformer reads a class token behind the text"):
        TextLayers(tower_of("RN50", layers=1, embed_cls=True))
    with pytest.raises(TowerError, match="pools by 'first' is not read"):
        TextLayers(tower_of("RN50", layers=1, pool_type="first"))
    with pytest.raises(TowerError, match=r"layers \[0, 2\] are not all from 1 to 3"):
        TextLayers(small).projected(rows(5), [0, 2])
