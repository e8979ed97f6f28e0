import json
import re

import numpy as np
import open_clip
import pytest
import torch

from crepebench.clic_export import ExportError, architecture_config, export_clic
from crepebench.models import CONFIG_FILE, WEIGHTS_FILE, load_model

from .clic_tuned_files import changed, write_training
from .model_files import SMALL_CLIP, TEXTS, random_images, shake, unit

DEFINITION = {"family": "clic", "backbone": {"family": "open_clip"}}
MEAN, STD = [0.4, 0.5, 0.6], [0.2, 0.25, 0.3]
RESNET = {**SMALL_CLIP, "vision_cfg": {"image_size": 32, "layers": [1, 1, 1, 1], "width": 8, "patch_size": None}}


def tune(folder, resize_mode="shortest", **changes):
    """Writes a small base and a training of it; returns the paths of all files."""
    from safetensors.torch import save_file

    config = {**SMALL_CLIP, **changes}
    (folder / "base").mkdir(parents=True)
    preprocessing = {"mean": MEAN, "std": STD, "interpolation": "bilinear", "resize_mode": resize_mode}
    written = {"model_cfg": config, "preprocess_cfg": preprocessing}
    (folder / "base" / CONFIG_FILE).write_text(json.dumps(written))
    torch.manual_seed(3)
    kind = open_clip.CustomTextCLIP if config.pop("custom_text", False) else open_clip.CLIP
    model = shake(kind(**config))
    save_file({key: tensor.contiguous() for key, tensor in model.state_dict().items()}, folder / "base" / WEIGHTS_FILE)
    paths = [str(folder / "base" / name) for name in (CONFIG_FILE, WEIGHTS_FILE)]
    base = load_model({"family": "open_clip"}, paths)
    names = ("ln_final.", "token_embedding.", "logit_scale", "text.")
    return [*paths, *write_training(folder / "training", base, changed(base.model.state_dict(), names))]


def export(folder, paths):
    """Exports into a folder; returns what the summary says."""
    export_clic(str(folder), paths, json.dumps({"model": DEFINITION}))
    return json.loads((folder / "export.json").read_text())


@pytest.fixture(scope="module", params=[False, True], ids=["gelu", "quick_gelu"])
def exported(request, tmp_path_factory):
    """The model, the folder of its export, and whether it has QuickGELU."""
    folder = tmp_path_factory.mktemp("export")
    paths = tune(folder, quick_gelu=request.param, vision_cfg={**SMALL_CLIP["vision_cfg"], "layers": 2})
    summary = export(folder / "exported", paths)
    assert summary["open_clip"] == summary["hugging_face"] == "written"
    return load_model(DEFINITION, paths), folder / "exported", request.param


def test_open_clip_loads_the_export_with_the_same_features_and_preprocessing(exported):
    model, folder, is_quick = exported
    files = [str(path) for path in (folder / "open_clip").iterdir()]
    again = load_model({"family": "open_clip"}, files)
    images = random_images(32)
    assert np.array_equal(again.encode_images(images), model.encode_images(images))
    assert np.array_equal(again.encode_texts(TEXTS), model.encode_texts(TEXTS))
    assert again.image_plan == model.image_plan and again.image_plan.mean == tuple(MEAN)
    assert json.loads((folder / "open_clip" / CONFIG_FILE).read_text())["model_cfg"]["quick_gelu"] is is_quick
    loaded, _ = open_clip.create_model_from_pretrained(f"local-dir:{folder / 'open_clip'}")
    assert torch.equal(loaded.logit_scale, model.model.logit_scale)


def test_transformers_load_the_export_with_the_same_features(exported):
    from transformers import CLIPModel, CLIPTokenizer

    model, folder, is_quick = exported
    clip = CLIPModel.from_pretrained(folder / "hugging_face")
    tokeniser = CLIPTokenizer.from_pretrained(folder / "hugging_face")
    assert clip.config.text_config.hidden_act == clip.config.vision_config.hidden_act
    assert clip.config.text_config.hidden_act == ("quick_gelu" if is_quick else "gelu")
    images = random_images(32)
    texts = tokeniser(TEXTS, padding=True, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        of_images = unit(clip.get_image_features(images).pooler_output)
        of_texts = unit(clip.get_text_features(**texts).pooler_output)
    assert np.abs(of_images - model.encode_images(images)).max() < 1e-5
    assert np.abs(of_texts - model.encode_texts(TEXTS)).max() < 1e-5
    assert torch.equal(clip.logit_scale, model.model.logit_scale)


def test_tokens_and_preprocessing_of_transformers_are_those_of_the_model(exported):
    from PIL import Image
    from transformers import CLIPImageProcessor, CLIPTokenizer

    model, folder, _ = exported
    tokeniser = CLIPTokenizer.from_pretrained(folder / "hugging_face")
    texts = [*TEXTS, "It's 3.5 o'clock,  naïve!", "many " * 90]
    for text, ids in zip(texts, model.tokenise(texts).ids, strict=True):
        found = tokeniser(text, truncation=True)["input_ids"]
        assert found == ids[: len(found)].tolist() and not ids[len(found) :].any()
    processor = CLIPImageProcessor.from_pretrained(folder / "hugging_face")
    rng = np.random.default_rng(1)
    same_size, larger = (Image.fromarray(rng.integers(0, 256, size, np.uint8)) for size in ((32, 32, 3), (90, 64, 3)))
    for picture, most in ((same_size, 1e-6), (larger, 0.1)):  # of pixels between -3 and 3
        found = processor(picture, return_tensors="pt")["pixel_values"][0]
        assert (found - model.preprocess(picture)).abs().max() < most


def test_pictures_that_are_squashed_stay_so(tmp_path):
    assert export(tmp_path / "exported", tune(tmp_path, "squash"))["hugging_face"] == "written"
    processor = json.loads((tmp_path / "exported" / "hugging_face" / "preprocessor_config.json").read_text())
    assert processor["size"] == {"height": 32, "width": 32} and not processor["do_center_crop"]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (RESNET, "the vision tower is a ModifiedResNet, no VisionTransformer"),
        ({"custom_text": True}, "the text tower stands apart, in a CustomTextCLIP"),
        (
            {"vision_cfg": {**SMALL_CLIP["vision_cfg"], "pool_type": "avg"}},
            "cannot have a vision feature by pool 'avg'",
        ),
        (
            {"text_cfg": {**SMALL_CLIP["text_cfg"], "no_causal_mask": True}},
            "cannot have a text tower without causal mask",
        ),
        (
            {"text_cfg": {**SMALL_CLIP["text_cfg"], "ls_init_value": 0.1}},
            r"no place for transformer\.resblocks\.0\.ls_1",
        ),
        ({"vision_cfg": {**SMALL_CLIP["vision_cfg"], "no_ln_pre": True}}, "without a norm before its blocks"),
    ],
)
def test_a_model_that_transformers_cannot_hold_is_one_of_open_clip_alone_and_says_why(tmp_path, changes, reason):
    summary = export(tmp_path / "exported", tune(tmp_path, **changes))
    assert summary["open_clip"] == "written"
    assert re.search(reason, summary["hugging_face"])
    assert sorted(path.name for path in (tmp_path / "exported").iterdir()) == ["export.json", "open_clip"]


def test_an_architecture_is_known_by_its_config_or_its_name():
    config = architecture_config({"family": "openai_clip", "architecture": "ViT-B/32"}, [])
    assert config["quick_gelu"] and config["vision_cfg"]["patch_size"] == 32
    assert architecture_config({"family": "open_clip", "architecture": "RN50"}, [])["embed_dim"] == 1024
    with pytest.raises(ExportError, match=f"'hf-hub:a/b' has no {CONFIG_FILE} among its files"):
        architecture_config({"family": "open_clip", "weights": "hf-hub:a/b"}, [])
