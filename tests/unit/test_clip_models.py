import numpy as np
import pytest

from crepebench.checkpoint_maps import to_open_clip
from crepebench.checkpoints import CheckpointError, read_state_dict, strip_prefixes
from crepebench.clip_models import architecture_name
from crepebench.models import load_model

from .model_files import TEXTS, random_images, shake, unit, write_torchscript

OPENAI = ["RN50", "RN101", "ViT-B/32", "ViT-B/16", "ViT-L/14"]
VISION = {"image_size": 32, "patch_size": 16, "width": 64, "layers": 2}
TEXT = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 1, "layers": 2}
SMALL = {"embed_dim": 32, "vision_cfg": VISION, "text_cfg": TEXT, "quick_gelu": True}


def reference_of(config, seed=1):
    import open_clip
    import torch

    torch.manual_seed(seed)
    return shake(open_clip.CLIP(**config))


def assert_same(model, reference, size):
    import open_clip
    import torch

    images = random_images(size)
    with torch.inference_mode():
        texts = unit(reference.encode_text(open_clip.tokenize(TEXTS)))
        pictures = unit(reference.encode_image(images))
    assert np.abs(texts - texts[0]).max() > 1e-3
    assert np.abs(model.encode_texts(TEXTS) - texts).max() < 1e-5
    assert np.abs(model.encode_images(images) - pictures).max() < 1e-5


@pytest.fixture
def small(monkeypatch):
    """A small CLIP in place of ViT-B-32, and RN50 with a small residual network."""
    from open_clip import factory

    residual = {"image_size": 32, "layers": [1, 1, 1, 1], "width": 16, "head_width": 16}
    rn50 = {**SMALL, "vision_cfg": residual}
    monkeypatch.setitem(factory._MODEL_CONFIGS, "ViT-B-32-quickgelu", SMALL)
    monkeypatch.setitem(factory._MODEL_CONFIGS, "RN50-quickgelu", rn50)
    return {"ViT-B-32": SMALL, "RN50": rn50}


def with_prefix(prefix, state):
    return {prefix + key: tensor for key, tensor in state.items()}


WRAPPINGS = {  # as the authors' loading code shows
    "OpenAI, and NegationCLIP": lambda state: state,
    "CoN-CLIP": lambda state: {"model": state, "optimizer": {"state": {}, "param_groups": [{"lr": 1e-6}]}},
    "NegCLIP": lambda state: {"epoch": 5, "name": "negclip", "state_dict": with_prefix("module.", state)},
    "compiled": lambda state: {"state_dict": with_prefix("_orig_mod.module.", state)},
    "CLIC's training": lambda state: with_prefix("module.model.", state),
}


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_state_dict_in_any_wrapping_gives_open_clips_features(tmp_path, small, wrapping):
    import torch

    reference = reference_of(SMALL)
    torch.save(WRAPPINGS[wrapping](reference.state_dict()), tmp_path / "a.pt")
    definition = {"family": "clip_fine_tune", "architecture": "ViT-B/32"}
    assert_same(load_model(definition, [str(tmp_path / "a.pt")]), reference, 32)


@pytest.mark.parametrize("architecture", ["ViT-B-32", "RN50"])
def test_openais_archive_in_half_precision_is_read(tmp_path, small, architecture):
    import torch

    reference = reference_of(small[architecture])
    state = {key: value.half() if value.is_floating_point() else value for key, value in reference.state_dict().items()}
    reference.load_state_dict(state)
    sizes = {name: torch.tensor(n) for name, n in (("input_resolution", 32), ("context_length", 77))}
    write_torchscript(tmp_path / "a.pt", {**state, **sizes, "vocab_size": torch.tensor(49408)})
    definition = {"family": "openai_clip", "architecture": architecture}
    assert_same(load_model(definition, [str(tmp_path / "a.pt")]), reference, 32)


def test_openais_archive_needs_quickgelu_in_the_family_open_clip_too(tmp_path, small):
    from crepebench.activations import ActivationError

    write_torchscript(tmp_path / "a.pt", reference_of(SMALL).state_dict())
    definition = {"family": "open_clip", "architecture": "ViT-B-32", "weights": "a.pt"}
    with pytest.raises(ActivationError, match="trained with QuickGELU"):
        load_model(definition, [str(tmp_path / "a.pt")])


@pytest.mark.parametrize("architecture", [pytest.param(name, marks=pytest.mark.slow) for name in OPENAI])
def test_true_architecture_of_openai_is_read_from_an_archive(tmp_path, architecture):
    import open_clip
    import torch

    torch.manual_seed(1)
    reference = shake(open_clip.create_model(architecture_name(architecture), load_weights=False))
    write_torchscript(tmp_path / "a.pt", reference.state_dict())
    model = load_model({"family": "openai_clip", "architecture": architecture}, [str(tmp_path / "a.pt")])
    assert_same(model, reference, 224)


@pytest.mark.parametrize(
    ("size", "config"), [("small", None), pytest.param("true", "RN50-quickgelu", marks=pytest.mark.slow)]
)
def test_cyclips_checkpoint_gives_the_features_of_its_residual_network(tmp_path, request, size, config):
    import open_clip
    import torch

    found = request.getfixturevalue("small")["RN50"] if config is None else open_clip.get_model_config(config)
    reference = reference_of(found)
    document = {"epoch": 64, "name": "cyclip", "state_dict": with_prefix("module.", reference.state_dict())}
    torch.save({**document, "optimizer": {}}, tmp_path / "best.pt")
    model = load_model({"family": "cyclip"}, [str(tmp_path / "best.pt")])
    assert_same(model, reference, found["vision_cfg"]["image_size"])


def clip_model(small=True):
    """A CLIPModel of transformers; the true one has the sizes of ViT-B/32."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    text = {"hidden_size": 64, "intermediate_size": 256, "num_hidden_layers": 2, "num_attention_heads": 1}
    vision = {**text, "image_size": 32, "patch_size": 16}
    config = {"text_config": text, "vision_config": vision, "projection_dim": 32} if small else {}
    torch.manual_seed(4)
    return shake(CLIPModel(CLIPConfig(**config)))


@pytest.mark.parametrize("is_small", [True, pytest.param(False, marks=pytest.mark.slow)])
def test_clip_model_of_hugging_face_gives_its_own_features(tmp_path, request, is_small):
    import open_clip
    import torch
    from safetensors.torch import save_file

    if is_small:
        request.getfixturevalue("small")
    reference = clip_model(is_small)
    path = tmp_path / "model.safetensors"
    save_file({key: tensor.contiguous() for key, tensor in reference.state_dict().items()}, str(path))
    model = load_model({"family": "clip_fine_tune", "architecture": "ViT-B-32"}, [str(path)])
    images, tokens = random_images(32 if is_small else 224), open_clip.tokenize(TEXTS)
    with torch.inference_mode():
        found = reference(input_ids=tokens, pixel_values=images)
    assert np.abs(model.encode_texts(TEXTS) - found.text_embeds.numpy()).max() < 1e-5
    assert np.abs(model.encode_images(images) - found.image_embeds.numpy()).max() < 1e-5


def test_pair_of_encoders_as_tripletclips_is_put_together(tmp_path, small):
    from safetensors.torch import save_file

    state = {key: tensor.contiguous() for key, tensor in clip_model().state_dict().items()}
    paths = []
    for folder, parts in (("vision-encoder", ("vision", "visual")), ("text-encoder", ("text",))):
        (tmp_path / "pair" / folder).mkdir(parents=True)
        own = {f"model.{key}": tensor for key, tensor in state.items() if key.startswith(parts)}
        paths.append(str(tmp_path / "pair" / folder / "model.safetensors"))
        save_file(own, paths[-1])
    whole = tmp_path / "whole.safetensors"
    save_file(state, str(whole))
    definition = {"family": "clip_fine_tune", "architecture": "ViT-B-32"}
    pair, one = load_model(definition, paths), load_model(definition, [str(whole)])
    assert (pair.encode_texts(TEXTS) == one.encode_texts(TEXTS)).all()
    images = random_images(32)
    assert (pair.encode_images(images) == one.encode_images(images)).all()
    folder = load_model({**definition, "weights": str(tmp_path / "pair")})
    assert (folder.encode_texts(TEXTS) == one.encode_texts(TEXTS)).all()


def low_rank(shape, rank, generator):
    """Random factors in loralib's shapes for a weight, and their sum in its shape; a scale of 1 / rank."""
    import torch

    side = shape[-1] if len(shape) == 4 else 1
    a = torch.randn(rank * side, shape[1] * side, generator=generator)
    b = torch.randn(shape[0] * side, rank * side, generator=generator)
    return a, b, (b @ a).reshape(shape) / rank


def test_dacs_low_rank_additions_are_added_up(tmp_path, small):
    import torch

    generator, reference = torch.Generator().manual_seed(3), reference_of(SMALL)
    state = {key: tensor.clone() for key, tensor in reference.state_dict().items()}
    added = dict(state)
    for key in list(state):
        is_attention = key.endswith("in_proj_weight")
        if is_attention or key.endswith(("out_proj.weight", "c_fc.weight", "c_proj.weight", "visual.conv1.weight")):
            a, b, whole = low_rank(state[key].shape, 4, generator)
            start = f"{key}_" if is_attention else key.removesuffix("weight")
            added |= {f"{start}lora_A": a, f"{start}lora_B": b}
            state[key] = state[key] + whole
    assert sum(key.endswith("lora_A") for key in added) == 17
    reference.load_state_dict(state)
    torch.save({"state_dict": with_prefix("module.", added)}, tmp_path / "a.pt")
    definition = {"family": "clip_fine_tune", "architecture": "ViT-B-32"}
    assert_same(load_model(definition, [str(tmp_path / "a.pt")]), reference, 32)


PUBLISHED = {  # names as published, and what they are called in open_clip
    "text_model.embeddings.token_embedding.weight": "token_embedding.weight",
    "text_model.embeddings.position_embedding.weight": "positional_embedding",
    "text_model.encoder.layers.11.layer_norm1.bias": "transformer.resblocks.11.ln_1.bias",
    "text_model.encoder.layers.0.self_attn.out_proj.weight": "transformer.resblocks.0.attn.out_proj.weight",
    "text_model.encoder.layers.0.mlp.fc1.weight": "transformer.resblocks.0.mlp.c_fc.weight",
    "text_model.final_layer_norm.weight": "ln_final.weight",
    "text_projection.weight": "text_projection",
    "vision_model.embeddings.class_embedding": "visual.class_embedding",
    "vision_model.embeddings.patch_embedding.weight": "visual.conv1.weight",
    "vision_model.embeddings.position_embedding.weight": "visual.positional_embedding",
    "vision_model.pre_layrnorm.bias": "visual.ln_pre.bias",
    "vision_model.encoder.layers.3.layer_norm2.weight": "visual.transformer.resblocks.3.ln_2.weight",
    "vision_model.encoder.layers.3.mlp.fc2.bias": "visual.transformer.resblocks.3.mlp.c_proj.bias",
    "vision_model.post_layernorm.weight": "visual.ln_post.weight",
    "visual_projection.weight": "visual.proj",
    "logit_scale": "logit_scale",
}


@pytest.mark.parametrize("published", PUBLISHED)
def test_published_name_is_mapped(published):
    import torch

    tensor = torch.zeros(2, 3)
    marker = {"text_model.embeddings.position_ids": torch.zeros(1)}
    state = {**marker, published: tensor, "vision_model.post_layernorm.bias": tensor}
    assert set(to_open_clip(state)) == {PUBLISHED[published], "visual.ln_post.bias"}


def test_names_of_openai_stay():
    import torch

    names = [
        *("positional_embedding", "text_projection", "logit_scale", "visual.class_embedding", "visual.proj"),
        *("visual.conv1.weight", "visual.transformer.resblocks.0.attn.in_proj_weight", "ln_final.bias"),
        *("visual.layer1.0.downsample.0.weight", "visual.attnpool.c_proj.weight", "token_embedding.weight"),
    ]
    assert list(to_open_clip({name: torch.zeros(2) for name in names})) == names


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (["text_model.head.weight"], r"of no CLIPModel: text_model\.head\.weight"),
        (["text_model.encoder.layers.0.self_attn.q_proj.weight"], r"there is only \['q'\]"),
        (["ln_1.lora_A", "ln_1.lora_B"], r"there is no ln_1\.weight"),
        (["x.in_proj_weight_lora_A", "x.in_proj_weight"], r"no x\.in_proj_weight_lora_B beside it"),
    ],
)
def test_keys_that_no_form_has_are_named(keys, message):
    import torch

    with pytest.raises(CheckpointError, match=message):
        to_open_clip({key: torch.zeros(2, 2) for key in keys})


def test_prefix_is_kept_where_only_some_keys_have_it():
    state = {"module.a": 1, "b": 2}
    assert strip_prefixes(state) == state


def test_file_without_a_state_dict_is_named(tmp_path):
    import torch

    torch.save({"epoch": 3, "metrics": {"loss": 1.0}}, tmp_path / "a.pt")
    with pytest.raises(CheckpointError, match=r"a\.pt holds no state dict, but \['epoch', 'metrics'\]"):
        read_state_dict(tmp_path / "a.pt")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("ViT-B/32", "ViT-B-32-quickgelu"),
        ("ViT-L/14@336px", "ViT-L-14-336-quickgelu"),
        ("RN50-quickgelu", "RN50-quickgelu"),
    ],
)
def test_names_of_openai_have_quickgelu(name, expected):
    assert architecture_name(name) == expected


def test_architecture_that_clip_lacks_is_refused():
    with pytest.raises(ValueError, match="CLIP has no architecture 'ViT-B-8': use one of RN50, RN101"):
        load_model({"family": "openai_clip", "architecture": "ViT-B-8", "weights": "openai"})


def test_missing_checkpoint_is_named():
    with pytest.raises(ValueError, match=r"there is no checkpoint 'negclip\.pth'"):
        load_model({"family": "clip_fine_tune", "architecture": "ViT-B-32", "weights": "negclip.pth"})
