"""Templates of negation, and what of a caption can be denied."""

import pytest

from crepebench.graphs import OBJECT
from crepebench.negation_cues import has_cue
from crepebench.negation_filters import Denial, is_denied, refuse
from crepebench.negation_forms import BEHIND, TEST, TRAIN, deny_attribute, deny_object, read_forms
from crepebench.negation_slots import clean, exchange, find_slots, replace_words
from crepebench.parsing import ALL, parse_texts


@pytest.fixture(scope="module")
def forms(repository):
    return read_forms(str(repository / "resources" / "negation" / "templates.yaml"))


def graph_of(parser, text):
    return next(parse_texts([text], parser, ALL))


def slots_of(parser, forms, text):
    return list(find_slots(text, graph_of(parser, text), forms.no_concepts))


def test_every_template_denies_and_its_twin_does_not(forms):
    for template in forms.templates.values():
        if template.kind == OBJECT:
            texts = [deny_object(template, denies, "a box", "key", forms, ()) for denies in (True, False)]
        else:
            attribute = "painted" if "{un}" in template.negated else "red"
            texts = [deny_attribute(template, denies, "box", attribute, False, forms) for denies in (True, False)]
        assert [forms.has_cue(text) for text in texts] == [True, False], template.name


def test_each_form_and_kind_has_frames_that_training_lacks(forms):
    new = {(one.form, one.kind) for one in forms.templates.values() if one.use == (TEST,)}
    assert new >= {(form, kind) for form in ("explicit", "implicit") for kind in ("object", "attribute")}
    assert ("morphological", "object") in new


def test_nouns_stand_as_english_asks(forms):
    without, free = forms.templates["without"], forms.templates["free_of"]
    texts = [deny_object(without, True, "a box", noun, forms, {"grass"}) for noun in ("orange", "grass", "people")]
    assert texts == ["a box without an orange", "a box without grass", "a box without people"]
    assert deny_object(free, True, "a box", "church", forms, ()) == "a box in a scene free of churches"


def test_morphological_templates_need_a_listed_word(forms):
    names = {one.name for one in forms.fitting(OBJECT, [BEHIND], TRAIN, ["key"]) if one.form == "morphological"}
    assert names == {"less_scene", "less_picture"}
    assert not [one for one in forms.fitting(OBJECT, [BEHIND], TRAIN, ["key", "wallet"]) if one.form == "morphological"]


def test_words_of_the_lists_are_cues_here_and_not_in_negbench(forms):
    assert forms.has_cue("a keyless scene") and not has_cue("a keyless scene")
    assert not forms.has_cue("a wireless mouse beside a notebook")


@pytest.mark.parametrize(
    ("text", "denied"),
    [
        ("a red jar without a cup", {"cup"}),
        ("a red jar without a cup, and a box", {"cup"}),
        ("a jar in a scene free of boxes", {"box"}),
        ("a cup is missing from this picture", {"cup"}),
        ("a box, a cup being absent", {"cup"}),
        ("a keyless picture of a box", {"key"}),
        ("a non-red jar", {"red"}),
    ],
)
def test_a_cue_reaches_to_the_end_of_its_clause(forms, text, denied):
    assert forms.denied_words(text) & {"jar", "red", "cup", "box", "key"} == denied


def test_denying_an_object_leaves_what_stands_without_it(parser, forms):
    text = "a red jar above a box"
    found = {(slot.concept, slot.base, slot.kept) for slot in slots_of(parser, forms, text) if slot.kind == OBJECT}
    assert found == {("jar", "a box", ("box",)), ("box", "a red jar", ("jar",))}


def test_denying_an_attribute_keeps_the_caption(parser, forms):
    text = "a small red jar above an orange"
    (slot,) = [slot for slot in slots_of(parser, forms, text) if slot.concept == "red"]
    words = deny_attribute(forms.templates["that_is_not"], True, slot.rest, "red", slot.is_plural, forms)
    assert replace_words(text, slot, words) == "a small jar that is not red above an orange"
    assert exchange(text, slot, "orange") == "a small orange jar above an orange"


def test_an_attribute_behind_is_is_denied_in_its_place(parser, forms):
    (slot,) = [slot for slot in slots_of(parser, forms, "the jar is blue") if slot.kind != OBJECT]
    assert replace_words("the jar is blue", slot, "not blue") == "the jar is not blue"


def test_another_object_takes_article_and_number_of_the_one_it_replaces(parser, forms):
    slots = {slot.concept: slot for slot in slots_of(parser, forms, "a jar above two boxes")}
    assert exchange("a jar above two boxes", slots["jar"], "orange") == "an orange above two boxes"
    assert exchange("a jar above two boxes", slots["box"], "church") == "a jar above two churches"


def test_an_object_that_stands_twice_or_alone_is_not_denied(parser, forms):
    assert not [slot for slot in slots_of(parser, forms, "a jar above a red jar") if slot.kind == OBJECT]
    assert not [slot for slot in slots_of(parser, forms, "a jar in the picture") if slot.kind == OBJECT]


def test_noise_of_web_captions_leaves_the_text():
    texts = ["a jar - stock illustration", "a red jar by <person>", "a jar is hanging from", "a jar, and"]
    assert [clean(text) for text in texts] == ["a jar", "a red jar", "a jar is hanging", "a jar"]


@pytest.mark.parametrize(
    ("text", "affirmed", "reason"),
    [
        ("a box without a jar", "a box with a jar", ""),
        ("a box in a scene free of jars", "a box in a scene with a jar", ""),
        ("a box without a jar", "A box without a jar.", "copy"),
        ("a box with a jar", "a box and a jar", "cue_missing"),
        ("a box without a jar", "a box with no jar", "cue_in_affirmed"),
        ("a box without a cup", "a box with a jar", "round_trip"),
        ("a jar above a box, without a jar", "a jar above a box", "round_trip"),
        ("without a jar", "with a jar", "round_trip"),
    ],
)
def test_reasons_for_which_a_denial_is_refused(parser, forms, text, affirmed, reason):
    denial = Denial(text, affirmed, OBJECT, "jar")
    assert refuse(denial, graph_of(parser, text), forms) == reason


def test_a_denied_attribute_must_keep_its_noun(parser, forms):
    for text, found in [
        ("a jar that is not red", True),
        ("a red jar that is not red and red", False),
        ("not red", False),
    ]:
        denial = Denial(text, "", "attribute", "red", "jar")
        assert is_denied(denial, graph_of(parser, text), forms) is found, text


def test_a_table_of_another_form_is_refused(tmp_path):
    path = tmp_path / "templates.yaml"
    path.write_text("templates: {}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"templates.yaml: needs the keys"):
        read_forms(str(path))
