"""Candidates for words: of the same fine tag, of the data, at most five; and the items that hold them."""

from collections import Counter

import numpy as np
import pytest

from crepebench.captioners import Answer, Captioner
from crepebench.clic_candidate_index import index_candidates, stands_alone
from crepebench.clic_candidate_writers import ask_for_candidates, words_of
from crepebench.clic_candidates import CandidateFinder, count_words

from .clic_item_rows import clic_rows
from .clic_item_rows import words_of as tagged

NOUNS = "bottle jar bucket cup bowl dog cat horse"
POOL = {
    **{(word, "NN"): 3 for word in NOUNS.split()},
    **{(word, "NNS"): 2 for word in "dogs cats jars horses".split()},
    **{(word, "JJ"): 5 for word in "red blue green yellow white black small large".split()},
    **{(word, "IN"): 5 for word in "above below behind on".split()},
    **{(word, "CD"): 5 for word in "two three four".split()},
    **{(word, "VBG"): 2 for word in "sitting standing walking running".split()},
    ("paris", "NNP"): 9,
}


@pytest.fixture(scope="module")
def finder(lexicon, tables):
    return CandidateFinder(POOL, lexicon, tables)


def test_candidates_have_the_tag_of_the_word_and_are_at_most_five_others(finder):
    found = {key: finder.find(*key) for key in POOL}
    assert max(map(len, found.values())) == 5
    for (word, fine), others in found.items():
        assert len(set(others) - {word}) == len(others)
        assert all((other, fine) in POOL for other in others)


def test_a_plural_stays_plural(finder):
    assert "cats" in finder.find("dogs", "NNS")
    assert "cat" not in finder.find("dogs", "NNS")


def test_a_colour_is_replaced_by_colours(finder):
    found = finder.find("red", "JJ")
    assert found and set(found) <= {"blue", "green", "yellow", "white", "black"}


def test_numbers_are_replaced_by_numbers_and_prepositions_by_contrasts(finder):
    assert finder.find("two", "CD") == ["four", "three"]
    assert "below" in finder.find("above", "IN")


def test_what_the_data_hold_more_often_comes_first(lexicon, tables):
    pool = {**POOL, ("yellow", "JJ"): 50}
    assert CandidateFinder(pool, lexicon, tables).find("red", "JJ")[0] == "yellow"


def test_names_have_no_candidates(finder):
    assert finder.find("paris", "NNP") == []


def test_words_are_counted_once_a_sentence():
    counts = count_words(clic_rows(["a red jar above a red jar.", "a red jars"]))
    assert counts == Counter({("red", "JJ"): 2, ("jar", "NN"): 1, ("above", "IN"): 1, ("jars", "NNS"): 1})


def test_an_index_finds_other_items_of_the_same_orientation_that_hold_a_candidate():
    items = clic_rows(["a red jar.", "a blue key.", "a blue cup.", "a blue bell.", "a blue jar."])
    wider = np.array([True, True, False, True, True])
    index = index_candidates([{"word": "red", "fine": "JJ", "candidates": ["blue"]}], items, wider)
    rng = np.random.default_rng(0)
    found = Counter(index.draw(items[0]["words"], 0, True, rng) for _ in range(300))
    assert set(found) == {("red", "blue", "JJ", "ADJ", place) for place in (1, 3, 4)}
    assert min(found.values()) > 70
    assert index.draw(tagged("a blue key."), 1, True, rng) is None
    assert index.draw(tagged("a red key."), 2, False, rng) is None


@pytest.mark.parametrize(
    ("sentence", "word", "fine", "alone"),
    [
        ("a jar above the box.", "jar", "NN", True),
        ("a jar cup above the box.", "jar", "NN", False),
        ("a jar cup above the box.", "cup", "NN", True),
        ("a jar above top of a box.", "above", "IN", False),
        ("a jar above a box of red.", "above", "IN", True),
        ("a jar and a box above", "above", "IN", False),
        ("a jar and a box above.", "above", "IN", False),
    ],
)
def test_parts_of_longer_names_and_prepositions_are_left_alone(sentence, word, fine, alone):
    assert stands_alone(tagged(sentence), word, fine) == alone


def test_a_noun_means_people_only_if_its_first_visible_sense_does(lexicon, tables):
    pool = {(word, "NN"): 3 for word in "head boy girl man woman child hand".split()}
    finder = CandidateFinder(pool, lexicon, tables)
    assert not {"boy", "girl", "man", "woman"} & set(finder.find("head", "NN"))
    assert finder.find("boy", "NN")


def test_tags_with_candidates_are_drawn_alike():
    items = clic_rows(["a red jar above a cup.", "a blue key below."])
    rows = [
        {"word": "red", "fine": "JJ", "candidates": ["blue"]},
        {"word": "jar", "fine": "NN", "candidates": ["key"]},
        {"word": "cup", "fine": "NN", "candidates": ["key"]},
    ]
    index, rng = index_candidates(rows, items, np.array([True, True])), np.random.default_rng(0)
    found = Counter(index.draw(items[0]["words"], 0, True, rng)[0] for _ in range(400))
    assert 160 < found["red"] < 240


def test_answers_of_a_model_are_read_as_words():
    assert words_of("\nOthers: Blue, green , 'dark red', blue, 7.\nmore") == ["blue", "green"]
    assert words_of("") == []


class Writer(Captioner):
    """Answers by the word that is asked for, and by round."""

    source, identity = "made:up", {"backend": "made up"}

    def __init__(self, replies):
        self._replies, self.n_asked = replies, Counter()

    def answer(self, requests):
        for request in requests:
            word = request.suffix.split("word: ")[1].split("\n")[0]
            self.n_asked[word] += 1
            replies = self._replies[word]
            yield request, Answer(replies[min(self.n_asked[word], len(replies)) - 1], "stop")


def test_a_model_names_candidates_and_is_asked_again_for_what_is_of_no_use(tmp_path):
    items = clic_rows(["a red jar.", "a blue key.", "a green cup."])
    asked = [("jar", "NN"), ("red", "JJ")]
    writer = Writer({"jar": ["crate, jars", "key, cup, jar"], "red": ["blue, green"]})
    config, counts = {"store": str(tmp_path), "seed": 1, "attempts": 3, "temperature": 0.7}, {}
    found = ask_for_candidates(items, asked, count_words(items), config, counts, writer)
    assert found == {("jar", "NN"): ["key", "cup"], ("red", "JJ"): ["blue", "green"]}
    assert counts["answer"] == {"read": 3, "kept": 2, "candidates_not_in_data": 1}
    again = Writer({})
    assert ask_for_candidates(items, asked, count_words(items), config, {}, again) == found
    assert not again.n_asked
