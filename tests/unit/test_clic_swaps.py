"""Words change places: of one tag, as whole words, absent from the other sentence."""

import numpy as np
import pytest

from crepebench.clic_swaps import EXCLUDED, replace_words, swap_across, swap_within, words_by_tag

from .clic_item_rows import words_of


def across(first: str, second: str, seed: int):
    return swap_across(first, words_of(first), second, words_of(second), np.random.default_rng(seed))


def within(text: str, seed: int):
    return swap_within(text, words_of(text), np.random.default_rng(seed))


def test_every_occurrence_is_replaced_as_a_whole_word_and_quotes_stay():
    text = "a 'cat' and a cat, no category, the cat's cat."
    assert replace_words(text, {"cat": "dog"}) == "a 'dog' and a dog, no category, the dog's dog."


def test_two_words_are_exchanged_at_once():
    assert replace_words("a red jar on a blue box", {"red": "blue", "blue": "red"}) == "a blue jar on a red box"


@pytest.mark.parametrize("word", ["c++", "a.b", "(x)"])
def test_signs_of_patterns_in_words_mean_themselves(word):
    assert replace_words(f"see {word} here", {word: "jar"}) == "see jar here"


def test_articles_agree_where_that_is_asked():
    assert replace_words("a jar and an owl", {"jar": "owl", "owl": "jar"}) == "a owl and an jar"
    assert replace_words("a jar and an owl", {"jar": "owl", "owl": "jar"}, articles=True) == "an owl and a jar"


def test_tags_without_content_are_not_swapped():
    assert words_by_tag(words_of("a red jar above the box.")) == {
        "ADJ": ["red"],
        "ADP": ["above"],
        "NOUN": ["box", "jar"],
    }
    assert {"DET", "SPACE", "PUNCT"} <= EXCLUDED


def test_words_of_one_tag_change_sentences():
    for seed in range(20):
        swap = across("a red jar above a box", "the blue key below the cup", seed)
        tags = {
            w["text"]: w["pos"] for s in ("a red jar above a box", "the blue key below the cup") for w in words_of(s)
        }
        assert {tags[word] for word in swap.words} == {swap.pos}
        assert swap.texts == (
            "a red jar above a box".replace(swap.words[0], swap.words[1]),
            "the blue key below the cup".replace(swap.words[1], swap.words[0]),
        )


def test_tags_are_drawn_alike_however_many_words_they_have():
    found = [across("a red jar box cup above", "the blue key bell fan below", seed).pos for seed in range(600)]
    assert all(150 < found.count(pos) < 250 for pos in ("NOUN", "ADJ", "ADP"))


def test_words_that_both_sentences_hold_stay():
    for seed in range(20):
        assert across("a red jar above a box", "the red jar below the cup", seed).words in (
            ("above", "below"),
            ("box", "cup"),
        )


def test_a_word_that_the_other_sentence_holds_with_another_tag_stays():
    first, second = "a red jar", "a red key"
    other = [{**word, "pos": "NOUN"} if word["text"] == "red" else word for word in words_of(second)]
    for seed in range(10):
        swap = swap_across(first, words_of(first), second, other, np.random.default_rng(seed))
        assert swap.words == ("jar", "key")


def test_without_a_shared_tag_any_two_words_change_places():
    swap = across("red.", "jar.", 0)
    assert (swap.words, swap.pos, swap.texts) == (("red", "jar"), "", ("jar.", "red."))


def test_equal_sentences_have_no_swap():
    assert across("a red jar.", "a red jar.", 0) is None


def test_two_words_of_one_sentence_change_places():
    assert {within("a red jar above a box", seed).texts for seed in range(10)} == {("a red box above a jar",)}
    assert within("a red jar above a box", 0).pos == "NOUN"


def test_words_of_two_tags_change_places_where_no_tag_has_two():
    swaps = {within("a red jar above", seed).texts[0] for seed in range(40)}
    assert swaps == {"a jar red above", "a above jar red", "a red above jar"}


def test_a_sentence_with_one_word_has_no_swap():
    assert within("a the jar.", 0) is None
