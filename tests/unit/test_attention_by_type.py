import numpy as np
import pytest

from crepebench.attention_by_type import (
    Prompt,
    attention_of_words,
    compare_attention,
    read_prompts,
    token_offsets,
    words_of,
)


@pytest.fixture
def committed(repository):
    return str(repository / "resources" / "negation" / "attention_prompts.yaml")


PROMPT = Prompt("The dog isn't red, no!", frozenset({"dog", "red"}))


def test_words_have_their_class_and_contractions_are_two():
    found = [(PROMPT.text[start:end], kind) for (start, end), kind in words_of(PROMPT)]
    assert found == [
        ("The", "other"),
        ("dog", "content"),
        ("is", "other"),
        ("n't", "negation"),
        ("red", "content"),
        ("no", "negation"),
    ]


def test_pieces_of_a_word_are_added_and_marks_and_punctuation_left_out():
    weights = np.array([[0.1, 0.2, 0.3, 0.05, 0.15, 0.2]])
    offsets = [None, (0, 3), (3, 6), (6, 7), (8, 10), None]
    assert attention_of_words(weights, offsets, [(0, 6), (8, 10)]) == pytest.approx(np.array([[0.5, 0.15]]))


def test_ratio_is_that_of_the_means_and_a_head_is_selective_above_one_and_a_half():
    prompts = [Prompt("no red dog", frozenset({"red", "dog"})), Prompt("no cat", frozenset({"cat"}))]
    weights = {
        "no red dog": np.array([[0.6, 0.2, 0.2], [0.2, 0.4, 0.4], [0.3, 0.2, 0.2]]),
        "no cat": np.array([[0.5, 0.5], [0.5, 0.5], [0.3, 0.2]]),
    }
    offsets = {"no red dog": [(0, 2), (3, 6), (7, 10)], "no cat": [(0, 2), (3, 6)]}
    found = compare_attention(prompts, lambda text: (weights[text], offsets[text]))
    assert [row["ratio"] for row in found["heads"]] == pytest.approx([1.1 / 0.7, 0.7 / 0.9, 1.5])
    assert found["selective"] == [0]
    assert found["share_selective"] == pytest.approx(100 / 3)


def test_uniform_attention_has_a_ratio_of_one_if_words_are_one_token(committed):
    def attend(text):
        places, at = [None], 0
        for word in text.split():
            places.append((at, at + len(word)))
            at += len(word) + 1
        return np.full((2, len(places)), 1 / len(places)), places

    prompts = [prompt for prompt in read_prompts(committed) if "n't" not in prompt.text]
    assert [row["ratio"] for row in compare_attention(prompts, attend)["heads"]] == pytest.approx([1.0, 1.0])


def test_word_that_the_model_cut_off_is_named():
    with pytest.raises(ValueError, match="'no red dog': no token stands for 'dog'"):
        compare_attention([Prompt("no red dog", frozenset({"dog"}))], lambda text: (np.ones((1, 2)), [(0, 2), (3, 6)]))


def test_weights_of_another_number_of_tokens_are_refused():
    with pytest.raises(ValueError, match=r"shape \(1, 3\) are not of 2 tokens"):
        attention_of_words(np.ones((1, 3)), [None, (0, 1)], [(0, 1)])


def test_committed_prompts_are_enough_and_their_tokens_of_clip_are_placed(committed):
    import open_clip

    tokeniser = open_clip.SimpleTokenizer()
    prompts = read_prompts(committed)
    assert len(prompts) >= 12
    for prompt in prompts:
        row = tokeniser([prompt.text])[0]
        places = token_offsets(tokeniser, prompt.text, len(row))
        assert len(places) == len(row)
        assert places[0] is None and places[int(row.argmax())] is None
        said = "".join(prompt.text[place[0] : place[1]] for place in places if place)
        assert said == prompt.text.replace(" ", "")
    uniform = compare_attention(prompts, lambda text: (np.ones((1, 77)), token_offsets(tokeniser, text, 77)))
    assert 0.8 < uniform["heads"][0]["ratio"] < 1.25


def test_content_words_of_the_committed_prompts_are_those_of_the_tagger(committed, parser):
    wanted = {"NN", "VB", "JJ", "RB", "CD"}
    differing = 0
    for prompt in read_prompts(committed):
        tagged = {t.text.lower() for t in parser(prompt.text) if t.tag_[:2] in wanted and t.tag_ != "EX"}
        tagged -= {"is", "are", "not", "n't", "never", "nothing", "none", "do", "else"}
        differing += tagged != prompt.content
    assert differing <= 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("- {text: a dog, content: dog}", r"prompt 1 \('a dog'\): it has no negation word"),
        ("- {text: no dog, content: cat}", r"prompt 1 \('no dog'\): it lacks the words cat"),
        ("- {text: no dog}", "prompt 1: .* has not both a text and its content words"),
        ("", "no list `prompts`"),
    ],
)
def test_prompt_that_is_wrong_is_named(tmp_path, line, message):
    path = tmp_path / "prompts.yaml"
    path.write_text(f"prompts:\n{line}\n")
    with pytest.raises(ValueError, match=message):
        read_prompts(str(path))
