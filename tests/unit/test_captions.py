import re

import numpy as np
import pytest

from crepebench import inflection
from crepebench.caption_words import head_of, is_plural, normalise, relation_words
from crepebench.captions import TEMPLATE, Caption, Mention, is_counted, replace_mentions, write_template_caption
from crepebench.image_facts import head_noun, normal_relation

MASS_NOUNS = frozenset(("grass", "snow", "water"))
NAMES = [
    *("man", "woman", "umbrella", "jar", "grass", "fire hydrant", "jeans", "dogs", "people", "glass of water", "eggs"),
    *("old shoe", "snow", "fire hydrants", "orange"),
]
ATTRIBUTES = ["red", "old", "orange", "wooden", "black and white", "empty"]
RELATIONS = ["wears", "on", "is parked on", "has", "above", "next to", "of", "looks at", "in front of", "held by"]


def obj(name):
    return {"kind": "object", "text": head_noun(name), "name": name, "subject": -1, "object": -1}


def att(name, owner):
    return {"kind": "attribute", "text": name, "name": name, "subject": -1, "object": owner}


def rel(subject, name, object_):
    return {"kind": "relation", "text": normal_relation(name), "name": name, "subject": subject, "object": object_}


def text_of(*atoms):
    return write_template_caption(atoms, MASS_NOUNS).text


def parts_of(caption):
    return [(m.atom, caption.text[m.start : m.end]) for m in caption.mentions]


def generated_subgraphs(n_subgraphs, seed=0):
    """Yields atoms of random subgraphs: 1 to 6 objects, relations among them, up to 2 attributes each."""
    for number in range(n_subgraphs):
        rng = np.random.default_rng([seed, number])
        atoms = [obj(str(rng.choice(NAMES))) for _ in range(rng.integers(1, 7))]
        n_objects = len(atoms)
        for owner in range(n_objects):
            chosen = rng.choice(ATTRIBUTES, size=rng.choice(3, p=[0.6, 0.3, 0.1]), replace=False)
            atoms += [att(str(name), owner) for name in chosen]
        for _ in range(rng.integers(0, 5) if n_objects > 1 else 0):
            ends = rng.choice(n_objects, size=2, replace=False)
            atoms.append(rel(int(ends[0]), str(rng.choice(RELATIONS)), int(ends[1])))
        yield atoms


def test_style_of_the_fragments():
    atoms = [obj("jar"), att("red", 0), obj("box"), rel(0, "above", 2), obj("taxi"), rel(2, "behind", 4), obj("fan")]
    assert text_of(*atoms) == "a red jar above a box. the box behind a taxi. there is a fan"


def test_isolated_objects_have_their_attributes():
    assert text_of(obj("fan"), att("red", 0), obj("dogs")) == "there is a red fan. there are dogs"


def test_plurals_and_mass_nouns_have_no_article():
    atoms = [obj("jeans"), obj("grass"), rel(0, "on", 1), obj("people"), att("old", 3), rel(3, "near", 1)]
    assert text_of(*atoms) == "jeans on grass. old people near the grass"


def test_plural_is_told_by_the_head_noun():
    assert (
        text_of(obj("glasses of water"), obj("glass of water"))
        == "there are glasses of water. there is a glass of water"
    )
    assert is_plural(obj("fire hydrants"))
    assert not is_plural(obj("glass of beans"))


def test_fragment_begins_with_an_object_that_was_mentioned():
    atoms = [obj("man"), obj("hat"), obj("bench"), rel(2, "near", 1), rel(0, "on", 2), rel(0, "wears", 1)]
    assert text_of(*atoms) == "a man on a bench. the bench near a hat. the man wearing the hat"


def test_component_of_the_first_atom_comes_first():
    atoms = [obj("fan"), obj("jar"), obj("box"), rel(1, "in", 2), obj("bag"), rel(0, "above", 4)]
    assert text_of(*atoms) == "a fan above a bag. a jar in a box"


def test_objects_of_one_name_are_told_apart():
    atoms = [obj("man"), obj("hat"), obj("man"), obj("bench"), rel(0, "wears", 1), rel(2, "on", 3), rel(2, "near", 0)]
    assert text_of(*atoms) == "a man on a bench. the first man near another man. the second man wearing a hat"


def test_another_never_claims_an_attribute_of_the_first():
    assert text_of(obj("jar"), att("red", 0), obj("jar")) == "there is a red jar. there is another jar"
    assert text_of(obj("jar"), obj("jar"), att("red", 1)) == "there is a jar. there is a red jar"
    assert text_of(obj("dogs"), obj("dogs")) == "there are dogs. there are other dogs"


def test_article_fits_the_word_behind_it():
    assert text_of(obj("jar"), att("orange", 0), obj("umbrella"), att("red", 2)) == (
        "there is an orange jar. there is a red umbrella"
    )


def test_mentions_are_whole_names_without_articles():
    caption = write_template_caption(
        [obj("glass of water"), att("full", 0), obj("man"), rel(2, "holds", 0)], MASS_NOUNS
    )
    assert parts_of(caption) == [(2, "man"), (3, "holding"), (1, "full"), (0, "glass of water")]
    assert caption.source == TEMPLATE


@pytest.mark.parametrize("atoms", [[], [obj("man"), {**obj("hat"), "name": " "}]])
def test_atoms_without_names_are_an_error(atoms):
    with pytest.raises(ValueError, match="no caption can be written"):
        write_template_caption(atoms, MASS_NOUNS)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("wears", "wearing"),
        ("wear", "wearing"),
        ("wearing", "wearing"),
        ("wore", "wearing"),
        ("is parked on", "parked on"),
        ("parked on a", "parked on"),
        ("is sitting on the", "sitting on"),
        ("has", "with"),
        ("have a", "with"),
        ("having", "with"),
        ("of", "of"),
        ("next to", "next to"),
        ("top of", "top of"),
        ("adjacent to", "adjacent to"),
        ("cuts", "cutting"),
        ("is cut by", "cut by"),
        ("held by", "held by"),
        ("hangs from", "hanging from"),
    ],
)
def test_relation_stands_as_it_follows_a_noun(name, words):
    assert relation_words(name) == words


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("A man’s  “hat”.", 'a man\'s "hat"'),
        ("one – two.\n", "one - two"),
        ("There is a fan. . ", "there is a fan"),
        ("Colour stays.", "colour stays"),
        ("", ""),
    ],
)
def test_normal_form(text, normal):
    assert normalise(text) == normal


def test_head_stands_before_the_preposition():
    assert [head_of(name) for name in ("glass of water", "fire hydrant", "on")] == ["glass", "fire hydrant", "on"]


def test_all_mentions_are_replaced():
    caption = write_template_caption([obj("jar"), obj("box"), obj("taxi"), rel(0, "on", 1), rel(1, "near", 2)], ())
    assert caption.text == "a jar on a box. the box near a taxi"
    other = replace_mentions(caption, {1: "umbrella", 3: "under"})
    assert other.text == "a jar under an umbrella. the umbrella near a taxi"
    assert parts_of(other) == [(0, "jar"), (3, "under"), (1, "umbrella"), (1, "umbrella"), (4, "near"), (2, "taxi")]


def test_swap_is_made_at_once():
    caption = write_template_caption([obj("egg"), obj("box"), rel(0, "on", 1)], ())
    assert replace_mentions(caption, {0: "box", 1: "egg"}).text == "a box on an egg"


def test_article_agrees_with_the_attribute_that_is_put_in():
    caption = write_template_caption([obj("jar"), att("red", 0)], ())
    assert replace_mentions(caption, {1: "orange"}).text == "there is an orange jar"
    assert replace_mentions(caption, {0: "umbrella"}).text == "there is a red umbrella"


def test_all_but_the_words_and_their_articles_stays():
    caption = Caption('an hour , "a  jar", a  hat', (Mention(0, 14, 17), Mention(1, 23, 26)), "x")
    assert replace_mentions(caption, {1: "egg"}).text == 'an hour , "a  jar", an  egg'
    assert replace_mentions(caption, {}) == caption


def test_count_of_a_name_is_seen():
    atoms = [obj("man"), obj("hat"), obj("man"), att("old", 2), obj("bench"), rel(0, "wears", 1), rel(2, "on", 4)]
    atoms += [att("old", 0), rel(2, "near", 0)]
    caption = write_template_caption(atoms, MASS_NOUNS)
    assert caption.text.startswith("an old man on a bench. the first man near another old man.")
    assert [is_counted(caption, atoms, i) for i in (0, 1, 2, 4)] == [True, False, True, False]


def test_generated_captions_say_each_atom_in_its_words():
    for atoms in generated_subgraphs(3000):
        caption = write_template_caption(atoms, MASS_NOUNS)
        mentioned = [mention.atom for mention in caption.mentions]
        for index, atom in enumerate(atoms):
            words = relation_words(atom["name"]) if atom["kind"] == "relation" else atom["name"]
            found = [caption.text[m.start : m.end] for m in caption.mentions if m.atom == index]
            assert set(found) == {words}
            assert atom["kind"] == "object" or mentioned.count(index) == 1


def test_generated_captions_are_in_normal_form():
    for atoms in generated_subgraphs(3000):
        caption = write_template_caption(atoms, MASS_NOUNS)
        assert normalise(caption.text) == caption.text
        assert "  " not in caption.text
        ends = [0, *(m.end for m in caption.mentions)]
        assert all(end <= m.start < m.end for end, m in zip(ends, caption.mentions, strict=False))
        for article, following in re.findall(r"(?<![\w'])(an?) ([\w'-]+)", caption.text):
            assert inflection.article_for(following) == article


def test_generated_captions_name_each_object_clearly():
    for atoms in generated_subgraphs(500):
        caption = write_template_caption(atoms, MASS_NOUNS)
        phrases = {}
        for mention in caption.mentions:
            phrase = re.search(r"(the \w+ )$|(the )$", caption.text[: mention.start])
            if phrase and atoms[mention.atom]["kind"] == "object":
                phrases.setdefault(phrase[0] + atoms[mention.atom]["name"], set()).add(mention.atom)
        assert all(len(found) == 1 for found in phrases.values())


def test_generated_captions_survive_replacements_of_nothing_and_back():
    for atoms in generated_subgraphs(1000):
        caption = write_template_caption(atoms, MASS_NOUNS)
        words = {m.atom: caption.text[m.start : m.end] for m in caption.mentions}
        changed = replace_mentions(caption, {index: f"{'u' if index % 2 else ''}zyx{index}" for index in words})
        assert {changed.text[m.start : m.end] for m in changed.mentions} == {
            f"{'u' if index % 2 else ''}zyx{index}" for index in words
        }
        assert replace_mentions(changed, words) == caption
