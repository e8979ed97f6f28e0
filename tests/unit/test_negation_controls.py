import numpy as np
import pytest

from crepebench.negation_controls import (
    CONDITIONS,
    TextPair,
    build_conditions,
    describe_conditions,
    shape_of,
)
from crepebench.negation_cues import has_cue
from crepebench.paraphrases import change_voice, paraphrase, paraphrases_of, read_rules


@pytest.fixture(scope="module")
def rules(repository):
    path = repository / "resources" / "negation" / "paraphrases.yaml"
    return read_rules(str(path), {"guy": "man", "barren tree": "tree without leaves"})


def pair(caption, image_id, negated="nothing"):
    return {"caption": caption, "negated": negated, "image_id": image_id}


@pytest.mark.parametrize(
    ("caption", "expected"),
    [
        ("a man holding a red cup", "a red cup held by a man"),
        ("A red cup held by a man.", "A man holding a red cup."),
        ("a dog is chasing an old cat", "an old cat is being chased by a dog"),
        ("an old cat is being chased by a dog", "a dog is chasing an old cat"),
        ("two men are riding two horses", None),  # "is being ridden" would not agree
        ("a man holding a cup in a room", None),
        ("a red cup above a box", None),
    ],
)
def test_voice_changes_where_a_caption_is_one_clause(rules, caption, expected):
    assert change_voice(caption, rules.participles) == expected


def test_synonyms_agree_in_number_article_and_capital(rules):
    assert paraphrase("Small taxis", rules, "synonym") == "Little taxis"
    assert paraphrase("two taxis to the left of a box", rules, "synonym") == "two cabs to the left of a box"
    assert paraphrase("an automobile in front of a box", rules, "synonym") == "a car in front of a box"
    assert paraphrase("a box to the left of a key", rules, "synonym") == "a box on the left of a key"
    assert paraphrase("a smaller taxicab", rules, "synonym") is None


def test_aliases_swap_both_ways_and_those_that_deny_are_left_out(rules):
    assert paraphrase("a guy", rules, "alias") == "a man"
    assert paraphrase("two men", rules, "alias") == "two guys"
    assert paraphrase("a barren tree", rules, "alias") is None


def test_caption_with_a_cue_has_no_paraphrase(rules):
    assert paraphrases_of(["a taxi without a man", "a taxi"], rules) == [None, ("synonym", "a cab")]


def test_committed_words_deny_nothing_and_change_something(rules):
    texts = [*rules.synonyms.items(), *rules.participles.items()]
    assert not any(has_cue(f"{one} {other}") for one, other in texts)
    assert all(one != other for one, other in rules.synonyms.items())
    assert len(rules.participles) >= 20


def test_table_that_denies_is_refused_by_name(tmp_path):
    path = tmp_path / "words.yaml"
    path.write_text("nouns: {bald man: man without hair}\nwords: {}\nverbs: {}\n")
    with pytest.raises(ValueError, match=r"words.yaml: 'bald man'"):
        read_rules(str(path))
    path.write_text("nouns: {}\n")
    with pytest.raises(ValueError, match="needs the tables nouns, words, verbs"):
        read_rules(str(path))


def test_conditions_hold_so_many_pairs_and_count_the_rest(rules):
    rows = [
        pair(text, i)
        for i, text in enumerate(["a taxi", "a taxi", "a xylophone", "a box, no taxi", "a sofa", "a bike"])
    ]
    pairs, counts = build_conditions(rows, rules, n=2, seed=0)
    assert [(p.one, p.other) for p in pairs["paraphrase"]] == [("a taxi", "a cab"), ("a sofa", "a couch")]
    assert dict(counts["paraphrase"]) == {
        **{"read": 6, "kept": 2, "caption_repeated": 1},
        **{"no_rule_fits": 1, "holds_a_cue": 1, "not_needed": 1},
    }
    assert [len(pairs[condition]) for condition in CONDITIONS] == [2, 2, 2]


def test_random_captions_are_of_another_image_and_differ(rules):
    rows = [pair(f"caption {i // 2}", i // 4) for i in range(40)]
    pairs, counts = build_conditions(rows, rules, n=100, seed=3)
    image_of = {row["caption"]: row["image_id"] for row in rows}
    assert len(pairs["random"]) == 40
    assert all(image_of[p.other] != p.image_id and p.one != p.other for p in pairs["random"])
    assert build_conditions(rows, rules, n=100, seed=3)[0] == pairs
    one_image, counts = build_conditions(rows[:4], rules, n=100, seed=3)
    assert one_image["random"] == [] and counts["random"]["no_other_image"] == 4


def curve(*means, noise=0.01, n=200, seed=0):
    return np.array(means) + np.random.default_rng(seed).normal(0, noise, size=(n, len(means)))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (curve(0.1, 0.3, 0.2), ("peak", 2)),
        (curve(0.1, 0.2, 0.3), ("rises", 3)),
        (curve(0.3, 0.2, 0.1), ("falls", 1)),
        (curve(0.1, 0.1, 0.1, noise=0.1), ("flat", None)),
        (curve(0.1, 0.3005, 0.3, noise=0.1), ("rises", None)),  # the fall is no more than chance
    ],
)
def test_shape_of_a_curve_is_told_beyond_chance(values, expected):
    shape, highest = shape_of(values, range(len(values)))
    assert shape == expected[0]
    assert expected[1] in (None, highest)


def described(negation, paraphrased, random):
    values = {"negation": negation, "paraphrase": paraphrased, "random": random}
    counts = {condition: {"read": 200, "kept": 200} for condition in CONDITIONS}
    pairs = {c: [TextPair("a", "b", i, "voice" if c == "paraphrase" else "") for i in range(200)] for c in values}
    return describe_conditions(pairs, values, counts)


def test_verdict_holds_where_only_negation_peaks_inside():
    found = described(curve(0.1, 0.3, 0.1), curve(0.01, 0.01, 0.01, noise=0.1), curve(0.2, 0.4, 0.6))
    assert found["as_published"] is True
    assert found["verdict"].startswith("as the paper says")
    assert found["conditions"]["paraphrase"]["by_kind"]["voice"]["n"] == 200


def test_verdict_says_as_it_is_found_where_others_peak_too():
    found = described(curve(0.1, 0.3, 0.1), curve(0.1, 0.2, 0.1), curve(0.2, 0.4, 0.6))
    assert found["as_published"] is False
    assert "paraphrase has a peak at layer 2, random rises" in found["verdict"]
    assert found["paraphrase_share"] == pytest.approx(2 / 3, abs=0.02)


def test_no_verdict_without_pairs():
    empty = {condition: [] for condition in CONDITIONS}
    found = describe_conditions(empty, {}, {condition: {} for condition in CONDITIONS})
    assert found["as_published"] is None and "no pairs of the condition negation, paraphrase" in found["verdict"]
