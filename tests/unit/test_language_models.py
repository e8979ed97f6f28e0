import numpy as np
import pytest

from crepebench.language_models import LanguageModel, LanguageModelScorer

TEXTS = ["a red jar", "two cups on a red box", "a", "", "red red red jar on two cups", "a blue jar"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny model of random weights, whose tokenizer pads on the left."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    words = ["<end>", "?", "a", "red", "blue", "jar", "two", "cups", "on", "box"]
    tokenizer = Tokenizer(models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(1)
    model = GPT2LMHeadModel(GPT2Config(vocab_size=len(words), n_positions=32, n_embd=16, n_layer=2, n_head=2))
    folder = str(tmp_path_factory.mktemp("model"))
    model.save_pretrained(folder)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", unk_token="?", pad_token="<end>", padding_side="left"
    )
    fast.save_pretrained(folder)
    return folder


def naive(folder, text):
    """The log-probability of one text, token by token, and the number of tokens."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokens = [0, *AutoTokenizer.from_pretrained(folder)(text, add_special_tokens=False)["input_ids"]]
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.inference_mode():
        logs = model(torch.tensor([tokens])).logits[0].log_softmax(1)
    return sum(float(logs[i, token]) for i, token in enumerate(tokens[1:])), len(tokens) - 1


def test_a_text_has_the_log_probability_of_its_tokens(folder):
    values, sizes = LanguageModel(folder).log_likelihoods(TEXTS)
    expected = [naive(folder, text) if text else (0.0, 0) for text in TEXTS]
    np.testing.assert_allclose(values, [value for value, _ in expected], atol=1e-3)
    assert sizes.tolist() == [size for _, size in expected]


@pytest.mark.parametrize("most_tokens", [1, 12, 1000])
def test_the_score_of_a_text_does_not_depend_on_the_texts_beside_it(folder, monkeypatch, most_tokens):
    monkeypatch.setattr("crepebench.language_models.MOST_TOKENS", most_tokens)
    together, _ = LanguageModel(folder).log_likelihoods(TEXTS)
    alone = [LanguageModel(folder).log_likelihoods([text])[0][0] for text in TEXTS]
    np.testing.assert_allclose(together, alone, atol=1e-3)


def test_texts_are_read_once(folder, monkeypatch):
    model = LanguageModel(folder)
    first = model.log_likelihoods(TEXTS[:2])[0]
    monkeypatch.setattr(model, "_score", None)
    assert model.log_likelihoods(TEXTS[1::-1])[0].tolist() == first[::-1].tolist()
    assert model.log_likelihoods([])[0].shape == (0,)


def test_scorers_are_raw_and_per_token(folder):
    model = LanguageModel(folder)
    values, sizes = model.log_likelihoods(TEXTS)
    raw, per_token = (LanguageModelScorer(model, per_token) for per_token in (False, True))
    assert (raw.name, per_token.name) == ("language_model", "language_model_per_token")
    assert raw.score(TEXTS).tolist() == values.tolist()
    assert per_token.score(TEXTS).tolist() == (values / np.maximum(sizes, 1)).tolist()


def test_packaged_model_prefers_english(packaged_model):
    texts = ["a red car on the street", "a car red street the on", "two dogs in the grass", "two dogs grass in the"]
    scores = LanguageModelScorer(LanguageModel(packaged_model), per_token=False).score(texts)
    assert scores[0] > scores[1] and scores[2] > scores[3]
