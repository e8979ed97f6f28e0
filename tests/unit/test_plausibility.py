import json

import numpy as np
import pytest

from crepebench import plausibility
from crepebench.plausibility import MaskedLanguageModel, StoredLikelihoods, score_foils
from crepebench.schema import FOIL_CANDIDATES, FOIL_SCORES, read_table, write_table
from crepebench.stored_values import read_shards_file

from .foil_rows import candidate

WORDS = "a an red blue green jar cup and".split()
TEXTS = ["a red jar", "a blue cup and a red jar", "a green jar", "a cup"]


@pytest.fixture(scope="module")
def tiny_bert(tmp_path_factory):
    """Folder of a masked model of two small layers with random weights."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    folder = tmp_path_factory.mktemp("bert")
    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    model = BertForMaskedLM(BertConfig(vocab_size=5 + len(WORDS), initializer_range=1.0, **sizes))
    model.save_pretrained(folder)
    return str(folder)


def test_likelihood_of_a_masked_model_is_that_of_each_token_masked_in_turn(tiny_bert):
    import torch

    model = MaskedLanguageModel(tiny_bert)
    tokens = model.tokenizer(TEXTS[0])["input_ids"]
    expected = 0.0
    for place in range(1, len(tokens) - 1):
        masked = [*tokens[:place], model.tokenizer.mask_token_id, *tokens[place + 1 :]]
        with torch.inference_mode():
            logits = model.model(input_ids=torch.tensor([masked])).logits[0, place]
        expected += float(logits.log_softmax(0)[tokens[place]])
    assert model.log_likelihoods(TEXTS[:1]) == pytest.approx([expected], abs=2e-3)


def test_likelihood_does_not_depend_on_the_texts_beside_it(tiny_bert):
    model = MaskedLanguageModel(tiny_bert)
    alone = [model.log_likelihoods([text])[0] for text in TEXTS]
    assert model.log_likelihoods(TEXTS) == pytest.approx(alone, abs=2e-3)
    assert len(set(alone)) == len(TEXTS)


def test_texts_are_scored_once(tiny_bert, tmp_path, monkeypatch):
    first = StoredLikelihoods("masked", tiny_bert, str(tmp_path)).of(TEXTS)
    scored = []
    monkeypatch.setattr(
        MaskedLanguageModel, "log_likelihoods", lambda self, texts: scored.extend(texts) or np.zeros(len(texts))
    )
    again = StoredLikelihoods("masked", tiny_bert, str(tmp_path)).of([*TEXTS, "a blue jar", TEXTS[0]])
    assert scored == ["a blue jar"]
    assert {text: again[text] for text in TEXTS} == first


def test_another_model_has_another_place_in_the_store(tiny_bert, tmp_path):
    model = MaskedLanguageModel(tiny_bert)
    one = plausibility.model_identity("masked", model)
    assert one == plausibility.model_identity("masked", MaskedLanguageModel(tiny_bert))
    model.model.state_dict()["cls.predictions.bias"].add_(1.0)
    assert one != plausibility.model_identity("masked", model)


def test_every_candidate_and_truth_is_scored(tiny_bert, tmp_path):
    candidates = [candidate(1), candidate(2, texts=[], reason="atom_foils"), candidate(3, texts=["a red cup"])]
    paths = {name: str(tmp_path / f"{name}.parquet") for name in ("candidates", "scores")}
    write_table(paths["candidates"], FOIL_CANDIDATES, candidates)
    cfg = {"plausibility": "masked", "language_model": tiny_bert, "store": str(tmp_path / "store")}
    score_foils(paths["candidates"], paths["scores"], json.dumps(cfg))
    rows = read_table(paths["scores"], FOIL_SCORES).to_pylist()
    assert [(row["source_id"], len(row["scores"])) for row in rows] == [(1, 3), (3, 2)]
    assert rows[0]["scores"][0] == rows[1]["scores"][0]
    ((identity, shard),) = read_shards_file(paths["scores"])
    assert (tmp_path / "store" / identity / f"{shard}.parquet").exists()


def test_a_causal_model_finds_nonsense_unlikely(packaged_model, tmp_path):
    texts = ["a man rides a horse", "a horse man a rides"]
    likelihoods = StoredLikelihoods("causal", packaged_model, str(tmp_path)).of(texts)
    assert likelihoods["a man rides a horse"] > likelihoods["a horse man a rides"] + 5
