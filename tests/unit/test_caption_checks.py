import pytest

from crepebench.caption_checks import REASONS, check_caption
from crepebench.captions import write_template_caption
from tests.benchmarks.check_captions import check_rows, precision_and_recall, read_labelled

from .test_captions import MASS_NOUNS, att, generated_subgraphs, obj, rel

STREET = [obj("man"), obj("hat"), obj("bench"), rel(0, "wearing", 1), rel(0, "near", 2), att("red", 1)]
OBJECTS = [obj("dog"), obj("fence"), obj("couch"), obj("lamp")]


@pytest.fixture(scope="module")
def check(lexicon, tables):
    """The check of captions with WordNet and the committed tables."""
    return lambda text, atoms: check_caption(text, atoms, lexicon, tables)


def parts_of(checked):
    return [(m.atom, checked.text[m.start : m.end]) for m in checked.mentions]


def test_mentions_of_a_caption_that_passes(check):
    checked = check("A man who wears a red hat is near a bench.", STREET)
    assert checked.reason == ""
    assert checked.text == "a man who wears a red hat is near a bench"
    assert parts_of(checked) == [(0, "man"), (3, "wears"), (5, "red"), (1, "hat"), (4, "near"), (2, "bench")]


@pytest.mark.parametrize(
    "text",
    [
        "a man near a bench, wearing a red hat",
        "a red hat worn by a man who is near a bench",
        "there is a man near a bench and the man is wearing a hat that is red",
        "a man in a red hat is next to a bench",
        "a bench beside a man dressed in a red hat",
        "near a bench is a man wearing a red hat",
        "in this picture, a man wearing a red hat can be seen near a bench".replace(" can be", ""),
    ],
)
def test_other_wordings_pass(check, text):
    assert check(text, STREET).reason == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a man wearing a red hat\nnear a bench", "not_one_line"),
        ("", "no_sentence"),
        ("sorry, there is a man wearing a red hat near a bench", "no_sentence"),
        ("caption: a man wearing a red hat near a bench", "no_sentence"),
        ('"a man wearing a red hat near a bench"', "no_sentence"),
        ("- a man wearing a red hat near a bench", "no_sentence"),
        ("a man not wearing a red hat near a bench", "negation"),
        ("a man isn't wearing a red hat near a bench", "negation"),
        ("a man near a bench without a red hat", "negation"),
        ("a red hat", "too_short"),
        ("a man wearing a red hat near a bench. " * 5, "too_long"),
        ("a man wearing a red hat near a", "cut_off"),
        ("a man wearing a red hat near", "cut_off"),
        ("a man wearing a red hat and", "cut_off"),
        ("a man wearing a red coat near a bench", "missing_object"),
        ("men wearing a red hat near a bench", "missing_object"),
        ("a man wearing a hat near a bench", "missing_attribute"),
        ("a man wearing a hat near a red bench", "missing_attribute"),
        ("a red man wearing a hat near a bench", "missing_attribute"),
        ("a man wearing a red hat and a bench", "missing_relation"),
        ("a red hat wearing a man near a bench", "missing_relation"),
        ("a bench wearing a red hat near a man", "missing_relation"),
        ("a man near a red hat wearing a bench", "missing_relation"),
        ("a tall man wearing a red hat near a bench", "added_word"),
        ("a man wearing a red hat near a bench on a street", "added_word"),
        ("two benches and a man wearing a red hat near a bench", "added_word"),
        ("a man wearing a red hat near a bench. there is another man", "added_word"),
        ("a man sitting near a bench wearing a red hat", "added_word"),
        ("a man wearing his red hat near a bench", "added_word"),
    ],
)
def test_each_fault_has_its_reason(check, text, reason):
    checked = check(text, STREET)
    assert checked.reason == reason
    assert checked.mentions == ()


def test_every_reason_is_named_once():
    assert len(set(REASONS)) == len(REASONS) == 10


@pytest.mark.parametrize(
    ("name", "words", "passes"),
    [
        ("above", "above", True),
        ("above", "over", True),
        ("above", "under", False),
        ("sits on", "sitting on", True),
        ("sits on", "on", False),
        ("next to", "close to", True),
        ("to the left of", "left of", True),
        ("has", "with", True),
        ("has", "near", False),
        ("chases", "is chasing", True),
        ("is chased by", "chased by", True),
        ("chased by", "chasing", False),
    ],
)
def test_words_of_a_relation(check, name, words, passes):
    atoms = [*OBJECTS, rel(0, name, 1)]
    assert (check(f"a dog {words} a fence. a couch and a lamp", atoms).reason == "") is passes


@pytest.mark.parametrize(("name", "inverse"), [("above", "below"), ("chases", "chased by"), ("has", "of")])
def test_relation_may_be_said_from_the_other_side_but_not_turned_round(check, name, inverse):
    atoms = [*OBJECTS, rel(0, name, 1)]
    assert check(f"a fence {inverse} a dog. a couch and a lamp", atoms).reason == ""
    assert check(f"a dog {inverse} a fence. a couch and a lamp", atoms).reason == "missing_relation"


def test_pronoun_stands_for_an_object_before_it(check):
    atoms = [*OBJECTS, rel(3, "on", 2), rel(0, "near", 2)]
    assert check("a couch with a lamp on it, a fence, and a dog near the couch", atoms).reason == ""
    assert check("a lamp on a couch. it is near a dog. a fence", atoms).reason == ""


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        ("a dog near a fence is on a couch. a lamp", True),
        ("a fence near a dog is on a couch. a lamp", False),
        ("a dog that is on a couch, near a fence, and a lamp", True),
        ("a fence near a dog that is on a couch, and a lamp", True),
        ("a couch that a dog near a fence is on, and a lamp", False),
    ],
)
def test_finite_verb_has_the_subject_of_its_clause(check, text, passes):
    atoms = [*OBJECTS, rel(0, "on", 2), rel(0, "near", 1)]
    assert (check(text, atoms).reason == "") is passes


def test_posture_of_a_thing_adds_nothing_and_that_of_an_animal_does(check):
    atoms = [*OBJECTS, rel(3, "on", 2)]
    assert check("a lamp sitting on a couch. a dog. a fence", atoms).reason == ""
    atoms = [*OBJECTS, rel(0, "on", 2)]
    assert check("a dog sitting on a couch. a lamp. a fence", atoms).reason == "added_word"


def test_synonyms_and_spellings_of_names(check):
    atoms = [obj("couch"), obj("airplane"), obj("fire hydrants"), att("gray", 0), obj("bike")]
    checked = check("a grey sofa, a plane, hydrants and a bicycle", atoms)
    assert parts_of(checked) == [(3, "grey"), (0, "sofa"), (1, "plane"), (2, "hydrants"), (4, "bicycle")]


def test_objects_of_one_name_need_a_mention_each(check):
    atoms = [obj("man"), obj("man"), obj("bat"), rel(0, "holding", 2), rel(1, "behind", 0), att("tall", 1)]
    assert check("two men. a tall one behind a bat", atoms).reason == "missing_object"
    checked = check("a tall man behind another man holding a bat", atoms)
    assert parts_of(checked) == [(5, "tall"), (1, "man"), (4, "behind"), (0, "man"), (3, "holding"), (2, "bat")]
    assert check("a man holding a bat. a tall man behind the first man", atoms).reason == ""
    assert check("a tall man holding a bat. another man behind the first man", atoms).reason != ""


def test_atoms_share_no_words(check):
    atoms = [obj("man"), obj("hat"), obj("gloves"), rel(0, "wearing", 1), rel(0, "wearing", 2)]
    assert check("a man wearing a hat and gloves", atoms).reason == "missing_relation"
    assert check("a man wearing a hat and wearing gloves", atoms).reason == ""


def test_own_words_of_atoms_are_never_held_against_a_caption(check):
    atoms = [obj("no parking sign"), obj("pole"), rel(0, "on", 1), obj("dog"), att("without a collar", 3)]
    assert check("a no parking sign on a pole. a dog", atoms).reason == "missing_attribute"
    assert check("a no parking sign on a pole. there is a dog", atoms[:4]).reason == ""


def test_templates_pass_with_their_own_mentions(check):
    n_checked = 0
    for atoms in generated_subgraphs(300, seed=1):
        names = [atom["name"] for atom in atoms if atom["kind"] == "object"]
        if len(atoms) < 4 or len(set(names)) < len(names) or "orange" in names:
            continue
        n_checked += 1
        caption = write_template_caption(atoms, MASS_NOUNS)
        checked = check(caption.text, atoms)
        assert checked.reason == ""
        for mine, its in zip(caption.mentions, checked.mentions, strict=True):
            assert (mine.start, mine.end) == (its.start, its.end)
    assert n_checked > 50


def test_captions_of_other_facts_are_refused(check):
    for atoms in generated_subgraphs(300, seed=2):
        names = [atom["name"] for atom in atoms if atom["kind"] == "object"]
        relations = [i for i, atom in enumerate(atoms) if atom["kind"] == "relation" and atom["text"] == "look at"]
        if len(relations) != 1 or len(set(names)) < len(names) or "orange" in names:
            continue
        text = write_template_caption(atoms, MASS_NOUNS).text
        turned = dict(atoms[relations[0]])
        turned["subject"], turned["object"] = turned["object"], turned["subject"]
        assert check(text, [*atoms[: relations[0]], turned, *atoms[relations[0] + 1 :]]).reason == "missing_relation"
        fewer = [atom for i, atom in enumerate(atoms) if i != relations[0]]
        assert check(text, fewer).reason in ("added_word", "too_long")


def test_labelled_captions_are_judged_well(lexicon, tables):
    rows = read_labelled()["second"]
    precision, recall = precision_and_recall(rows, check_rows(rows, lexicon, tables))
    assert precision >= 0.95
    assert recall >= 0.9


def test_labelled_captions_hold_both_kinds_and_known_faults():
    for rows in read_labelled().values():
        assert len(rows) == 50
        assert sum(row["faithful"] for row in rows) == 25
        assert all(row["faithful"] == (row["fault"] == "") for row in rows)
        assert {row["fault"] for row in rows} <= {"", *REASONS}
        assert {len(row["atoms"]) for row in rows} <= set(range(5, 13))
