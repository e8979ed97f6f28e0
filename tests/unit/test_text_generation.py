"""The backend `transformers` with tiny models of random weights; and, where it is installed, with a packaged one."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from crepebench.captioners import Request
from crepebench.text_generation import TextGenerator, choose_token, model_revision, shared_tokens
from crepebench.word_constraints import ARTICLES, JOINTS, WordConstraint

PREFIX = "atoms: a red jar, a box\ncaption: a red jar on a box\n\natoms: a cup\ncaption: there is a cup\n\n"
SUFFIXES = [f"atoms: {names}\ncaption:" for names in ("a jar", "a red box, a cup", "two jars on a red box", "a", "box")]
CONFIG = {
    "backend": "transformers",
    "revision": None,
    "temperature": 0,
    "max_tokens": 12,
    "constrained": False,
    "batch_size": 3,
}


def save_tokenizer(folder):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=320, special_tokens=["<end>"], initial_alphabet=alphabet)
    tokenizer.train_from_iterator([PREFIX, *SUFFIXES], trainer)
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>").save_pretrained(folder)


@pytest.fixture(scope="module", params=["llama", "gpt2"])
def folder(request, tmp_path_factory):
    """A tiny model with rotated or learned positions."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM

    torch.manual_seed(3)
    folder = str(tmp_path_factory.mktemp(request.param))
    size = {"vocab_size": 320, "bos_token_id": 0, "eos_token_id": 0, "initializer_range": 0.6}
    if request.param == "llama":
        heads = {"num_attention_heads": 4, "num_key_value_heads": 2, "num_hidden_layers": 2}
        config = LlamaConfig(hidden_size=32, intermediate_size=48, max_position_embeddings=256, **heads, **size)
        model = LlamaForCausalLM(config)
    else:
        model = GPT2LMHeadModel(GPT2Config(n_positions=256, n_embd=32, n_layer=2, n_head=2, **size))
    model.save_pretrained(folder)
    save_tokenizer(folder)
    return folder


def requests_of(suffixes=SUFFIXES, prefix=PREFIX, seed=5, phrases=()):
    return [Request(f"subgraph {i}", prefix, suffix, seed, phrases) for i, suffix in enumerate(suffixes)]


def texts_of(folder, requests, **config):
    generator = TextGenerator({**CONFIG, "model": folder, **config}, "digest")
    answers = {request.about: answer for request, answer in generator.answer(requests)}
    assert answers.keys() == {request.about for request in requests}
    return {about: answer.text for about, answer in answers.items()}


def naive(folder, prompt, most=12):
    """The greedy answer to one prompt, all tokens read anew for each token."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(folder), AutoModelForCausalLM.from_pretrained(folder).eval()
    tokens = tokenizer(prompt)["input_ids"]
    start = len(tokens)
    with torch.inference_mode():
        while len(tokens) < start + most:
            tokens.append(int(model(torch.tensor([tokens])).logits[0, -1].argmax()))
            if tokens[-1] == tokenizer.eos_token_id or "\n" in tokenizer.decode(tokens[-1:]):
                break
    return tokenizer.decode(tokens[start:], skip_special_tokens=True).partition("\n")[0].strip()


@pytest.mark.parametrize("prefix", [PREFIX, "", "\n", PREFIX[:-1]])
def test_greedy_answers_are_those_of_each_prompt_alone_without_any_cache(folder, prefix):
    expected = {f"subgraph {i}": naive(folder, prefix + suffix) for i, suffix in enumerate(SUFFIXES)}
    assert texts_of(folder, requests_of(prefix=prefix)) == expected
    assert len(set(expected.values())) > 1


def test_answers_to_several_prefixes_do_not_mix(folder):
    first = requests_of()
    second = [Request(f"other {r.about}", "caption: a box\n", r.suffix, r.seed) for r in first]
    together = texts_of(folder, [pair for pairs in zip(first, second, strict=True) for pair in pairs])
    assert together == {**texts_of(folder, first), **texts_of(folder, second)}


@pytest.mark.parametrize("temperature", [0, 0.7, 2.0])
def test_an_answer_does_not_depend_on_the_prompts_beside_it(folder, temperature):
    requests = requests_of()
    alone = {}
    for request in requests:
        alone |= texts_of(folder, [request], temperature=temperature)
    assert texts_of(folder, requests[::-1], temperature=temperature, batch_size=5) == alone
    assert texts_of(folder, requests, temperature=temperature, batch_size=2) == alone


def test_an_answer_depends_on_its_seed_unless_it_is_greedy(folder):
    drawn = [texts_of(folder, requests_of(seed=seed), temperature=2.0) for seed in (5, 6)]
    assert drawn[0] != drawn[1]
    assert texts_of(folder, requests_of(seed=5)) == texts_of(folder, requests_of(seed=6))


def test_prefix_is_read_once(folder, monkeypatch):
    from crepebench.causal_models import CausalModel

    read, lengths = CausalModel.read, []
    monkeypatch.setattr(CausalModel, "read", lambda self, tokens: lengths.append(len(tokens)) or read(self, tokens))
    texts_of(folder, requests_of(), batch_size=1)
    assert len(lengths) == 1 and lengths[0] > 20


VOCABULARY = [*(f" {word}" for word in (*JOINTS, "red", "jar", "box", "fire", "hydrant", "on", "dog")), "\n"]
END = len(VOCABULARY) - 1


def tokens_of(phrase):
    return [VOCABULARY.index(f" {word}") for word in phrase.split()]


def write(phrases, inner=(), wanted=(), most=20, seed=0):
    """What is written under a constraint by a model that prefers the wanted words, then the end."""
    constraint, written = WordConstraint(phrases, inner, tokens_of, np.array([END])), []
    rng = np.random.default_rng(seed)
    for n_left in range(most, 0, -1):
        logits = rng.normal(size=len(VOCABULARY))
        logits[[VOCABULARY.index(f" {word}") for word in wanted[len(written) :][:1]] or END] += 5.0
        text = "".join(VOCABULARY[token] for token in written)
        written.append(choose_token(constraint.adjust(logits, written, text, n_left), 0.5, rng))
        if written[-1] == END:
            break
    return "".join(VOCABULARY[token] for token in written)


def test_constraint_leaves_a_good_answer_alone_and_ends_it():
    words = ["a", "red", "jar", "on", "the", "box"]
    assert write(["jar", "on", "red", "box"], ["on"], words) == " a red jar on the box\n"
    assert write(["jar", "on", "red", "box"], ["on"], [*words, ",", "and", "a"]) == " a red jar on the box\n"


def test_constraint_writes_what_the_model_left_out():
    text = write(["jar", "fire hydrant"], (), ["a", "jar"])
    assert text.startswith(" a jar") and text.endswith(" fire hydrant\n")


@pytest.mark.parametrize("most", [10, 30])
def test_constrained_answers_hold_each_phrase_as_often_as_given_and_nothing_but_joints(most):
    phrases, inner = ["jar", "jar", "fire hydrant", "red", "on"], ["on"]
    texts = [write(phrases, inner, ["the", "dog", "on", "on"], most, seed) for seed in range(200)]
    for text in texts:
        words = text.removesuffix("\n").replace("fire hydrant", "fire_hydrant").split()
        own = [word.replace("_", " ") for word in words if word not in JOINTS]
        assert text.endswith("\n") and sorted(own) == sorted(phrases)
        place = words.index("on")
        assert any(word in ("jar", "fire_hydrant", "red") for word in words[:place]) and place < len(words) - 1
        assert words[place - 1] not in ARTICLES
        assert not any(word in ARTICLES and follower in JOINTS for word, follower in pairwise(words))
    assert len(set(texts)) > 50


def test_constrained_model_writes_the_phrases(folder):
    requests = requests_of(phrases=("zebra", "two red jars"))
    words = {"zebra", "two", "red", "jars", *JOINTS}
    config = {"max_tokens": 60, "batch_size": 5}
    free, bound = (texts_of(folder, requests, constrained=flag, **config) for flag in (False, True))
    assert not any("zebra" in text or "two red jars" in text for text in free.values())
    assert all("zebra" in text and "two red jars" in text for text in bound.values()), bound
    assert all(set(text.replace(",", " ,").replace(".", " .").split()) <= words for text in bound.values())


def test_answer_that_reaches_the_most_tokens_is_cut_off(folder):
    generator = TextGenerator({**CONFIG, "model": folder, "max_tokens": 1}, "")
    answers = [answer for _, answer in generator.answer(requests_of())]
    assert {(a.failure, a.finish_reason, a.n_output_tokens) for a in answers} <= {
        *[("cut_off", "length", 1), ("empty", "stop", 1)]
    }
    assert "cut_off" in {answer.failure for answer in answers}


def test_prompt_that_is_too_long_is_named(folder):
    generator = TextGenerator({**CONFIG, "model": folder, "max_tokens": 250}, "")
    with pytest.raises(ValueError, match=r"subgraph \d: its prompt has \d+ tokens; with captioner.max_tokens 250"):
        list(generator.answer(requests_of()))


def test_tokens_are_drawn_by_their_probability():
    logits, rng = np.log([0.5, 0.0001, 0.3, 0.2]).astype(np.float32), np.random.default_rng(1)
    logits[1] = -np.inf
    counts = np.bincount([choose_token(logits, 1.0, rng) for _ in range(20_000)], minlength=4) / 20_000
    np.testing.assert_allclose(counts, [0.5, 0.0, 0.3, 0.2], atol=0.02)
    sharp = np.bincount([choose_token(logits, 0.5, rng) for _ in range(20_000)], minlength=4) / 20_000
    np.testing.assert_allclose(sharp, np.array([25, 0, 9, 4]) / 38, atol=0.02)
    assert choose_token(logits, 0, rng) == 0


def test_shared_tokens_end_where_a_row_differs_and_leave_one_token():
    assert shared_tokens([1, 2, 3], [[1, 2, 3, 4], [1, 2, 3, 5]]) == 3
    assert shared_tokens([1, 2, 3], [[1, 2, 3, 4], [1, 2, 9, 5]]) == 2
    assert shared_tokens([1, 2, 3], [[1, 2, 3]]) == 2
    assert shared_tokens([], [[1]]) == 0


def test_revision_is_the_content_of_files_or_a_commit(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "model.gguf").write_text("weights")
    folder, file = str(tmp_path), str(tmp_path / "model.gguf")
    before = model_revision(folder, None), model_revision(file, None)
    assert before == (model_revision(folder, "ignored"), model_revision(file, None))
    (tmp_path / "model.gguf").write_text("other weights")
    assert model_revision(folder, None) != before[0] and model_revision(file, None) != before[1]
    assert model_revision("Qwen/some-model", "a" * 40) == "a" * 40
    for revision in (None, "main", "a" * 39):
        with pytest.raises(ValueError, match=r"'Qwen/some-model' is no folder or file.* needs the commit"):
            model_revision("Qwen/some-model", revision)


def test_identity_and_source_name_the_model_by_its_content(folder, tmp_path):
    first = TextGenerator({**CONFIG, "model": folder}, "prompts")
    assert first.source == f"transformers:{Path(folder).name}@{first.identity['revision'][:12]}"
    for change in ({"temperature": 1}, {"max_tokens": 9}, {"constrained": True}):
        assert TextGenerator({**CONFIG, "model": folder, **change}, "prompts").identity != first.identity
    assert TextGenerator({**CONFIG, "model": folder, "batch_size": 1}, "prompts").identity == first.identity
    with pytest.raises(ValueError, match=r"needs a captioner\.model"):
        TextGenerator({**CONFIG, "model": None}, "")


def test_packaged_model_answers_in_english(packaged_model):
    request = Request(
        "subgraph 1", "The capital of Italy: Rome\nThe capital of Spain: Madrid\n", "The capital of France:", 1
    )
    assert texts_of(packaged_model, [request], max_tokens=8) == {"subgraph 1": "Paris"}
