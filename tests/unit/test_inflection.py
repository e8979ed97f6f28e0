import pytest

from crepebench.inflection import (
    article_for,
    inflect,
    is_plural,
    match_adjective,
    match_article,
    match_noun,
    match_relation,
    replace_span,
    verb_tag,
)
from crepebench.lemmas import PLURALIA_TANTUM, lemmatise
from crepebench.prepositions import MULTIWORD_PREPOSITIONS


@pytest.mark.parametrize(
    ("lemma", "tag", "form"),
    [
        ("box", "NNS", "boxes"),
        ("tennis racket", "NNS", "tennis rackets"),
        ("hang from", "VBG", "hanging from"),
        ("tie to", "VBN", "tied to"),
        ("tall", "JJS", "tallest"),
        ("pants", "NNS", "pants"),
        ("swimming trousers", "NNS", "swimming trousers"),
    ],
)
def test_word_that_carries_the_form_is_inflected(lemma, tag, form):
    assert inflect(lemma, tag) == form


@pytest.mark.parametrize(
    ("lemma", "surface", "plural"),
    [
        ("dog", "dogs", True),
        ("man", "men", True),
        ("dog", "dog", False),
        ("sheep", "sheep", False),
        ("glass", "glasses", True),
        ("clothes", "clothes", True),
        ("pants", "pants", True),
        ("scissors", "scissors", True),
    ],
)
def test_plural_is_seen_by_its_form(lemma, surface, plural):
    assert is_plural(lemma, surface) is plural


@pytest.mark.parametrize(
    ("lemma", "surface", "replacement", "matched"),
    [
        ("dog", "dogs", "wolf", "wolves"),
        ("man", "men", "woman", "women"),
        ("mouse", "mice", "leaf", "leaves"),
        ("dog", "dog", "wolf", "wolf"),
        ("bowl", "bowls", "wine glass", "wine glasses"),
        ("shirt", "shirts", "pants", "pants"),
        ("pants", "pants", "shirt", "shirts"),
        ("jeans", "jeans", "shorts", "shorts"),
    ],
)
def test_noun_takes_the_number_of_the_one_it_replaces(lemma, surface, replacement, matched):
    assert match_noun(lemma, surface, replacement) == matched


@pytest.mark.parametrize(
    ("lemma", "surface", "replacement", "matched"),
    [
        ("tall", "taller", "short", "shorter"),
        ("tall", "tallest", "short", "shortest"),
        ("good", "better", "bad", "worse"),
        ("red", "red", "blue", "blue"),
    ],
)
def test_adjective_takes_the_degree_of_the_one_it_replaces(lemma, surface, replacement, matched):
    assert match_adjective(lemma, surface, replacement) == matched


@pytest.mark.parametrize(
    ("relation", "surface", "tag"),
    [
        ("hang from", "hanging from", "VBG"),
        ("hang from", "hangs from", "VBZ"),
        ("wear", "wore", "VBD"),
        ("see", "seen", "VBN"),
        ("tie to", "tied to", "VBN"),
        ("sit on", "sit on", "VBP"),
        ("above", "above", ""),
        ("next to", "next to", ""),
    ],
)
def test_verb_of_a_relation_has_its_tag(relation, surface, tag):
    assert verb_tag(relation, surface) == tag


@pytest.mark.parametrize("relation", [*MULTIWORD_PREPOSITIONS, "throughout", "alongside", "like", "via"])
def test_relation_without_a_verb_has_no_tag(relation):
    assert verb_tag(relation, relation) == ""


@pytest.mark.parametrize(
    ("relation", "surface"), [("tie to", "tied to"), ("park by", "parked by"), ("hang from", "hung from")]
)
def test_participle_that_looks_like_a_past_tense_is_a_participle(relation, surface):
    assert verb_tag(relation, surface) == "VBN"


@pytest.mark.parametrize(
    ("relation", "surface", "form", "matched"),
    [
        ("hang from", "hanging from", "above", "above"),
        ("hang from", "hangs from", "above", "is above"),
        ("hang from", "hang from", "leaning against", "are leaning against"),
        ("above", "above", "hanging from", "hanging from"),
        ("tie to", "tied to", "behind", "behind"),
    ],
)
def test_relation_fits_where_the_other_stood(relation, surface, form, matched):
    assert match_relation(relation, surface, form) == matched


@pytest.mark.parametrize(
    ("caption", "word", "replacement", "result"),
    [
        ("A child holding an umbrella.", "umbrella", "child", "A child holding a child."),
        ("A child holding an umbrella.", "child", "umbrella", "An umbrella holding an umbrella."),
        ("the man's  hat , a red one", "red", "orange", "the man's  hat , an orange one"),
        ("plan a jar", "jar", "onion", "plan an onion"),
        ("a dog; banana jar", "jar", "onion", "a dog; banana onion"),
    ],
)
def test_only_the_word_and_the_article_before_it_change(caption, word, replacement, result):
    start = caption.index(word)
    assert replace_span(caption, start, start + len(word), replacement) == result


@pytest.mark.parametrize("noun", sorted(PLURALIA_TANTUM))
def test_noun_that_is_always_plural_is_its_own_lemma_and_plural(noun):
    assert lemmatise(noun, "NOUN") == noun
    assert inflect(noun, "NNS") == noun
    assert is_plural(noun, noun)


@pytest.mark.parametrize(
    ("caption", "lemma", "surface", "replacement", "foil"),
    [
        ("two dogs running", "dog", "dogs", "wolf", "two wolves running"),
        ("two men's hats.", "man", "men", "woman", "two women's hats."),
        ("pants on a chair", "pants", "pants", "shirt", "shirts on a chair"),
    ],
)
def test_noun_in_a_caption_keeps_its_number(caption, lemma, surface, replacement, foil):
    start = caption.index(surface)
    words = match_noun(lemma, surface, replacement)
    assert replace_span(caption, start, start + len(surface), words) == foil


@pytest.mark.parametrize(
    ("caption", "surface", "form", "foil"),
    [
        ("a dog is sitting on a bed", "sitting on", "standing on", "a dog is standing on a bed"),
        ("a dog sits on a bed", "sits on", "standing on", "a dog is standing on a bed"),
        ("two dogs sit on a bed", "sit on", "standing on", "two dogs are standing on a bed"),
    ],
)
def test_relation_in_a_caption_keeps_its_verb_form(caption, surface, form, foil):
    start = caption.index(surface)
    assert replace_span(caption, start, start + len(surface), match_relation("sit on", surface, form)) == foil


def test_articles_and_capitals_agree_when_two_nouns_trade_places():
    caption = "A child holding an umbrella"
    caption = replace_span(caption, caption.index("umbrella"), len(caption), "child")
    assert replace_span(caption, 2, 7, "umbrella") == "An umbrella holding a child"


@pytest.mark.parametrize(
    "caption", ["The man's hat , isn't red .", "a dog's “toy”.", "An owl's nest: 2 eggs!", "a . b ."]
)
def test_words_that_are_not_replaced_stay_as_they_are_to_the_byte(caption):
    for word in caption.split():
        start = caption.index(word)
        foil = replace_span(caption, start, start + len(word), "jar")
        after = caption[start + len(word) :]
        assert foil.encode().endswith(after.encode())
        before = foil.removesuffix(after).removesuffix("jar")
        assert before in (caption[:start], caption[:start].replace("An ", "A "))


def test_swap_keeps_word_count():
    caption = "two small jars  hanging from a box ."
    start = caption.index("jars")
    foil = replace_span(caption, start, start + 4, match_noun("jar", "jars", "wolf"))
    assert foil == "two small wolves  hanging from a box ."
    assert len(foil.split()) == len(caption.split())


@pytest.mark.parametrize(
    ("words", "article"),
    [("umbrella", "an"), ("hour", "an"), ("university", "a"), ("one-way sign", "a"), ("x-ray", "an"), ("jar", "a")],
)
def test_article_goes_by_sound(words, article):
    assert article_for(words) == article


@pytest.mark.parametrize(
    ("article", "following", "right"),
    [("a", "umbrella", "an"), ("An", "jar", "A"), ("A", "umbrella", "An"), ("an", "onion", "an")],
)
def test_article_keeps_its_capital(article, following, right):
    assert match_article(article, following) == right
