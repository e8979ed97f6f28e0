import json

import numpy as np
import pytest

from crepebench.correction_examples import load_corrected_texts, write_correction_examples
from crepebench.drawing import read_rows
from crepebench.peakpatch_models import PeakPatchError
from crepebench.peakpatch_settings import ECN, SCN

TEXTS = ["a dog", "there is no dog on the wooden bench"]


@pytest.fixture(scope="module")
def backbone():
    """A CLIP with random weights and four text layers."""
    import open_clip
    import torch

    from crepebench.open_clip_models import OpenClipModel

    torch.manual_seed(0)
    text = {"context_length": 30, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 4}
    vision = {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16}
    clip = open_clip.CLIP(embed_dim=8, vision_cfg=vision, text_cfg=text)
    return OpenClipModel(clip, None, open_clip.SimpleTokenizer(context_length=30), "cpu")


@pytest.fixture
def files(tmp_path, backbone, monkeypatch):
    """Writes the files of a random correction of a variant."""
    import torch
    from safetensors.torch import save_file

    from crepebench.peakpatch_networks import Correction, Scorer

    monkeypatch.setattr("crepebench.correction_examples.load_backbone", lambda *args: backbone)
    monkeypatch.setattr("crepebench.peakpatch_models.load_backbone", lambda *args: backbone)

    def write(variant):
        torch.manual_seed(1)
        networks = torch.nn.ModuleDict({"ecn": Correction(16, 8)} if variant == ECN else {"scn": Scorer(8)})
        config = {"version": 1, "variant": variant, "width": 16, "dim": 8, "n_layers": 4, "attends": "valid"}
        paths = [str(tmp_path / name) for name in ("peakpatch.safetensors", "peakpatch.json")]
        save_file({name: tensor.contiguous() for name, tensor in networks.state_dict().items()}, paths[0])
        (tmp_path / "peakpatch.json").write_text(json.dumps({**config, "peak": 3, "anchor": 1}))
        return paths

    return write


def test_corrected_texts_are_those_of_the_corrected_model(files, backbone):
    from crepebench.peakpatch_models import load

    paths = files(ECN)
    texts = load_corrected_texts({}, paths)
    model = load({"family": "peakpatch"}, paths, "cpu")
    assert np.allclose(texts.corrected(TEXTS), model.encode_texts(TEXTS), atol=1e-6)
    assert np.allclose(texts.frozen(TEXTS), backbone.encode_texts(TEXTS))
    assert not np.allclose(texts.corrected(TEXTS), texts.frozen(TEXTS), atol=1e-4)


def test_attention_of_each_head_is_one_in_all_and_each_token_has_a_place(files):
    weights, offsets = load_corrected_texts({}, files(ECN)).attend(TEXTS[1])
    assert weights.shape == (8, len(offsets))
    assert weights.sum(axis=1) == pytest.approx(np.ones(8), abs=1e-5)
    assert [TEXTS[1][place[0] : place[1]] for place in offsets if place] == TEXTS[1].split()


def run(tmp_path, repository, paths, prompts=""):
    resources = repository / "resources" / "negation"
    names = ("points.csv", "cosines.csv", "heads.csv", "embeddings.safetensors", "lines.jsonl")
    write_correction_examples(
        str(resources / "map_templates.yaml"),
        str(resources / "attention_prompts.yaml"),
        prompts,
        paths,
        *(str(tmp_path / name) for name in names),
        cfg=json.dumps({"model": {}, "seed": 0}),
    )
    return [read_rows(str(tmp_path / name)) for name in names[:3]]


def test_all_examples_of_a_correction_are_written(tmp_path, repository, files):
    from safetensors.numpy import load_file

    (tmp_path / "prompts.csv").write_text("Prompts,Affirmative,Negated\na book with no cover,a book,cover\n")
    points, cosines, heads = run(tmp_path, repository, files(ECN), str(tmp_path / "prompts.csv"))
    assert (len(points), len(cosines), len(heads)) == (200, 12, 8)
    assert {row["selective"] for row in heads} <= {"yes", "no"}
    found = load_file(tmp_path / "embeddings.safetensors")
    assert found["corrected"].shape == found["frozen"].shape == (1, 8)


def test_scorer_alone_leaves_texts_as_they_are_and_has_no_heads(tmp_path, repository, files):
    _, cosines, heads = run(tmp_path, repository, files(SCN))
    by_state = {state: [row["cosine"] for row in cosines if row["state"] == state] for state in ("before", "after")}
    assert by_state["before"] == by_state["after"]
    assert heads == []


def test_missing_files_are_named(files):
    with pytest.raises(PeakPatchError, match=r"lacks peakpatch.json"):
        load_corrected_texts({}, files(ECN)[:1])
