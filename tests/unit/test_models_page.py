"""The made-up family of docs/models.md works as the page says, and the table of known models holds what it names."""

import csv
import importlib.util
import re

import numpy as np
import pytest
from PIL import Image

from crepebench import model_families
from crepebench.models import PRECISIONS, Model, load_model, truncated_ids

SHA256 = re.compile(r"[0-9a-f]{64}|")


@pytest.fixture(scope="module")
def page(repository):
    return (repository / "docs" / "models.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def rows(repository):
    with open(repository / "resources" / "models" / "models.csv", encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


@pytest.fixture
def bag(page, tmp_path, monkeypatch):
    """Follows the section `Adding a family`: saves the code and registers its function."""
    code = re.search(r"```python\n(.*?)```", page, re.DOTALL)[1]
    (tmp_path / "bag_models.py").write_text(code)
    spec = importlib.util.spec_from_file_location("bag_models", tmp_path / "bag_models.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setitem(model_families.FAMILIES, "bag", module.load)
    return module


@pytest.fixture
def weights(bag, tmp_path):
    import torch
    from safetensors.torch import save_file

    torch.manual_seed(1)
    own = {"colours.weight": (12, 3), "colours.bias": (12,), "words.weight": (bag.N_WORDS + 1, 12)}
    state = {key: torch.randn(shape) for key, shape in own.items()}
    save_file(state, str(tmp_path / "bag.safetensors"))
    return str(tmp_path / "bag.safetensors"), {key: tensor.numpy() for key, tensor in state.items()}


def test_made_up_family_measures_features(bag, weights):
    import torch

    path, state = weights
    model = load_model({"family": "bag", "weights": path}, [path])
    assert isinstance(model, Model)
    pictures = [Image.new("RGB", (40, 20), colour) for colour in ((255, 0, 0), (0, 0, 255))]
    images = model.encode_images(torch.stack([model.preprocess(picture) for picture in pictures]))
    expected = np.array([[1, -1, -1], [-1, -1, 1]]) @ state["colours.weight"].T + state["colours.bias"]
    assert np.abs(images - expected / np.linalg.norm(expected, axis=1, keepdims=True)).max() < 1e-5
    texts = model.encode_texts(["a red jar", "a blue jar", ""])
    assert texts.shape == (3, 12) and np.abs(np.linalg.norm(texts, axis=1) - 1).max() < 1e-6
    scores = model.score(images, texts[:2])
    assert scores.dtype == np.float64 and np.abs(scores - (images * texts[:2]).sum(axis=1)).max() < 1e-6
    assert model.image_plan.resize == "squash" and model.image_plan.size == (8, 8)


def test_made_up_family_flags_what_it_cuts_and_identifies_itself(bag, weights):
    path, _ = weights
    model = load_model({"family": "bag"}, [path])
    assert truncated_ids(model.tokenise(["a " * 16, "a " * 17])).tolist() == [False, True]
    identities = {load_model({"family": "bag", "precision": each}, [path]).identity for each in PRECISIONS}
    assert len(identities) == 3 and model.identity in identities


def test_page_names_every_family(page):
    assert [name for name in model_families.FAMILIES if f"| `{name}` |" not in page] == []


def test_table_names_each_model_once_with_a_known_family(rows):
    names = [row["name"] for row in rows]
    assert len(set(names)) == len(names)
    made = {"clic", "peakpatch", "negvector"}  # of a model, whichever
    assert {row["family"] for row in rows} == set(model_families.FAMILIES) - made
    assert all(re.fullmatch("[a-z0-9_]+", name) for name in names)
    for row in rows:
        assert SHA256.fullmatch(row["sha256"]) and row["source_url"].startswith("https://")
        assert set(row["seen_images"].split()) <= {"vg", "coco"}
        assert re.fullmatch("[0-9]*", row["parameters"]) and re.fullmatch("[0-9]*", row["training_pairs"])


def test_tags_of_the_table_exist_have_the_right_activation_and_are_at_its_urls(rows):
    import open_clip

    from crepebench.activations import check_activation, known_activation
    from crepebench.clip_models import architecture_name

    tags = [row for row in rows if row["family"] in ("open_clip", "openai_clip") and row["architecture"]]
    assert len(tags) > 12
    for row in tags:
        is_openai = row["family"] == "openai_clip"
        architecture = architecture_name(row["architecture"]) if is_openai else row["architecture"]
        config = open_clip.get_pretrained_cfg(architecture, row["weights"])
        assert config, row["name"]
        check_activation(row, architecture, known_activation(architecture, row["weights"]))
        assert row["source_url"] in (config["url"], f"https://huggingface.co/{config['hf_hub'].strip('/')}")
        assert row["sha256"] in ("", row["source_url"].split("/")[-2])


def test_every_model_of_the_table_says_what_is_fetched(rows):
    from crepebench.weight_sources import is_fetched, weight_sources

    fetched = [row for row in rows if is_fetched(row)]
    assert {row["name"] for row in rows} - {row["name"] for row in fetched} == {
        *("cyclip", "negclip", "con_clip_vit_b_32", "con_clip_vit_b_16", "con_clip_vit_l_14", "dac_llm", "dac_sam")
    }
    for row in fetched:
        assert weight_sources(row), row["name"]


@pytest.mark.parametrize(
    ("name", "expected"), [("vit_b_16_plus_240_laion400m", 208_377_345), ("openai_rn101", 119_688_033)]
)
def test_number_of_parameters_is_that_of_the_architecture(rows, name, expected):
    import open_clip

    row = next(row for row in rows if row["name"] == name)
    architecture = row["architecture"] if row["family"] == "open_clip" else f"{row['architecture']}-quickgelu"
    model = open_clip.create_model(architecture, load_weights=False, device="meta")
    assert int(row["parameters"]) == expected == sum(tensor.numel() for tensor in model.parameters())
