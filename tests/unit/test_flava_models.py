import numpy as np
import pytest

from crepebench.checkpoints import CheckpointError
from crepebench.flava_models import contrastive_part
from crepebench.models import ImagePlan, load_model, truncated_ids

from .model_files import TEXTS, random_images, shake, write_bert_vocabulary

SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def write_flava(folder, is_small=True, as_pretraining=True):
    """Writes a FLAVA of random weights as it was released; returns transformers' own model."""
    import torch
    from safetensors.torch import save_file
    from transformers import FlavaConfig, FlavaModel

    vocabulary = write_bert_vocabulary(folder)
    own = {
        "text_config": {**SMALL, "vocab_size": vocabulary},
        "image_config": {**SMALL, "image_size": 32},
        "multimodal_config": SMALL,
        "hidden_size": 32,
        "projection_dim": 24,
    }
    torch.manual_seed(6)
    model = shake(FlavaModel(FlavaConfig(**own) if is_small else FlavaConfig()))
    prefix = "flava." if as_pretraining else ""
    state = {prefix + key: tensor.contiguous() for key, tensor in model.state_dict().items()}
    if as_pretraining:
        state |= {"image_codebook.blocks.input.weight": torch.zeros(2), "mmm_text_head.bias": torch.zeros(2)}
    save_file(state, str(folder / "model.safetensors"))
    (folder / "config.json").write_text(model.config.to_json_string())
    return model


def unit_rows(array):
    return array / np.linalg.norm(array, axis=1, keepdims=True)


def reference_features(model, tokenizer, texts, images, length):
    """Features as transformers gives them, texts padded to a length and masked."""
    import torch

    inputs = tokenizer(texts, padding="max_length", max_length=length, truncation=True, return_tensors="pt")
    with torch.inference_mode():
        text = model.get_text_features(**inputs).pooler_output[:, 0].numpy()
        image = model.get_image_features(pixel_values=images).pooler_output[:, 0].numpy()
    return unit_rows(text), unit_rows(image)


@pytest.mark.parametrize("as_pretraining", [True, False])
def test_released_form_gives_transformers_features_at_512_tokens(tmp_path, as_pretraining):
    from transformers import BertTokenizer

    reference = write_flava(tmp_path, as_pretraining=as_pretraining)
    model = load_model({"family": "flava", "weights": str(tmp_path)}, sorted(map(str, tmp_path.iterdir())))
    images = random_images(32)
    texts = [*TEXTS, "a " * 600]
    tokenizer = BertTokenizer.from_pretrained(str(tmp_path))
    text, image = reference_features(reference, tokenizer, texts, images, 512)
    assert np.abs(text - text[0]).max() > 1e-3
    assert np.abs(model.encode_texts(texts) - text).max() < 1e-5
    assert np.abs(model.encode_images(images) - image).max() < 1e-5


@pytest.mark.slow
def test_true_size_gives_transformers_features(tmp_path):
    from transformers import BertTokenizer

    reference = write_flava(tmp_path, is_small=False)
    model = load_model({"family": "flava", "weights": str(tmp_path)})
    images = random_images(224, n=1)
    tokenizer = BertTokenizer.from_pretrained(str(tmp_path))
    text, image = reference_features(reference, tokenizer, TEXTS, images, 128)
    assert np.abs(model.encode_texts(TEXTS) - text).max() < 1e-5
    assert np.abs(model.encode_images(images) - image).max() < 1e-5


@pytest.fixture(scope="module")
def flava(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flava")
    write_flava(folder)
    return load_model({"family": "flava", "weights": str(folder)})


def test_preprocessing_is_flavas(flava):
    from PIL import Image
    from transformers import FlavaImageProcessor

    processor = FlavaImageProcessor(size={"height": 32, "width": 32}, crop_size={"height": 32, "width": 32})
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (50, 120, 3), np.uint8))
    expected = np.asarray(processor(picture, return_tensors="np")["pixel_values"][0])
    assert np.abs(flava.preprocess(picture).numpy() - expected).max() < 2 / 255 / 0.26
    assert flava.image_plan == ImagePlan(
        (32, 32), "squash", "bicubic", (0.48145466, 0.4578275, 0.40821073), (0.26862954, 0.26130258, 0.27577711)
    )


def test_feature_does_not_depend_on_batch_mates(flava):
    together = flava.encode_texts(TEXTS)
    alone = np.concatenate([flava.encode_texts([text]) for text in TEXTS])
    assert np.abs(together - alone).max() < 1e-5


def test_over_long_texts_are_flagged_and_keep_their_end_token(flava):
    tokens = flava.tokenise(["a " * 510, "a " * 511, "a " * 510 + "red"])
    assert tokens.n_tokens.tolist() == [512, 513, 513]
    assert (tokens.limit, truncated_ids(tokens).tolist()) == (512, [False, True, True])
    assert (tokens.ids[:, -1] == 3).all() and (tokens.ids[0] == tokens.ids[2]).all()


def test_weights_of_another_model_are_refused():
    import torch

    with pytest.raises(CheckpointError, match=r"of no FLAVA: bert\.x"):
        contrastive_part({"flava.text_model.x": torch.zeros(1), "bert.x": torch.zeros(1)}, "a")


def test_missing_weights_are_named(tmp_path):
    import torch
    from safetensors.torch import load_file, save_file

    write_flava(tmp_path)
    path = str(tmp_path / "model.safetensors")
    state = load_file(path)
    del state["flava.text_projection.bias"]
    save_file({**state, "flava.image_model.head": torch.zeros(1)}, path)
    with pytest.raises(CheckpointError, match=r"lacks: text_projection\.bias; .* unknown .*: image_model\.head"):
        load_model({"family": "flava", "weights": str(tmp_path)})


def test_folder_without_weights_is_named(tmp_path):
    write_flava(tmp_path)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(FileNotFoundError, match=r"holds neither model\.safetensors nor pytorch_model\.bin"):
        load_model({"family": "flava", "weights": str(tmp_path)})
