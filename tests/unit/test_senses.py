import pytest

from crepebench.senses import SenseChooser

POOL = {
    "n": frozenset(
        "bowl cup dish saucer fork car truck table chair cat horse doll heron fridge hat leg hand jeans burger".split()
    ),
    "v": frozenset(["sit", "stand", "lie"]),
}


def chooser_of(lexicon, **votes):
    return SenseChooser(lexicon, {"n": votes}, POOL)


def test_sense_of_the_annotators_of_this_image_comes_first(lexicon):
    chooser = chooser_of(lexicon, plate={"home_plate.n.01": 9})
    assert str(chooser.sense("plate", "n", ["bowl.n.01", "plate.n.04"])) == "plate.n.04 (annotated)"


@pytest.mark.parametrize(
    ("word", "name", "first"),
    [
        ("plate", "plate.n.04", "home_plate.n.01"),
        ("bike", "bicycle.n.01", "motorcycle.n.01"),
        ("kite", "kite.n.03", "kite.n.01"),
        ("crane", "crane.n.04", "crane.n.01"),
        ("pants", "trouser.n.01", "bloomers.n.01"),
        ("hot dog", "hotdog.n.02", "hotdog.n.01"),
    ],
)
def test_annotated_sense_comes_before_the_first(lexicon, word, name, first):
    assert lexicon.synsets(word, "n")[0].name() == first
    assert str(chooser_of(lexicon).sense(word, "n", [name])) == f"{name} (annotated)"


def test_sense_that_annotators_gave_elsewhere_comes_next(lexicon):
    votes = {"bowl.n.01": 9, "plate.n.04": 2, "plate.n.02": 1}
    assert str(chooser_of(lexicon, plate=votes).sense("plate", "n")) == "plate.n.04 (annotated elsewhere)"


@pytest.mark.parametrize(
    ("word", "sense"),
    [
        ("plate", "plate.n.04"),
        ("kite", "kite.n.03"),
        ("crane", "crane.n.04"),
        ("pants", "trouser.n.01"),
        ("hot dog", "hotdog.n.02"),
        ("table", "table.n.02"),
        ("dog", "dog.n.01"),
        ("car", "car.n.01"),
    ],
)
def test_else_a_visible_sense_is_chosen_and_never_the_first_blindly(lexicon, word, sense):
    assert str(chooser_of(lexicon).sense(word, "n")) == f"{sense} (chosen)"


@pytest.mark.parametrize("word", ["zzyx", "idea", "spring break"])
def test_word_without_a_visible_sense_has_none(lexicon, word):
    assert chooser_of(lexicon).sense(word, "n") is None


@pytest.mark.parametrize(
    ("word", "name", "means"),
    [
        ("arm", "branch.n.01", False),
        ("arm", "arm.n.01", True),
        ("spring", "spring.n.02", False),
        ("branch", "arm.n.01", False),
        ("cup", "cup.n.01", True),
    ],
)
def test_replacement_must_commonly_mean_that_sort_of_thing(lexicon, word, name, means):
    assert chooser_of(lexicon).means(word, "n", frozenset([lexicon.synset(name)])) is means


def test_annotators_decide_what_a_word_commonly_means(lexicon):
    furniture = frozenset([lexicon.synset("table.n.02")])
    assert not chooser_of(lexicon).means("table", "n", furniture)
    assert chooser_of(lexicon, table={"table.n.02": 3}).means("table", "n", furniture)
