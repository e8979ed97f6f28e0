import pytest

from crepebench.lexicon import DOWN, UP


def one_line(reader, word, other):
    """Says whether two nouns share a synset, or one names a sense above or below one of the other."""
    for a in reader.synsets(word.replace(" ", "_"), "n"):
        for b in reader.synsets(other.replace(" ", "_"), "n"):
            if a in {s for path in b.hypernym_paths() for s in path} | {b}:
                return True
            if b in {s for path in a.hypernym_paths() for s in path}:
                return True
    return False


def naive_cousins(synset):
    """Returns the words within UP hypernyms and DOWN hyponyms of a synset that are not on its own line."""
    above, below = {synset}, {synset}
    for _ in range(25):
        above |= {h for s in above for h in s.hypernyms() + s.instance_hypernyms()}
        below |= {h for s in below for h in s.hyponyms() + s.instance_hyponyms()}
    words = set()

    def go_down(start, steps):
        for child in start.hyponyms() + start.instance_hyponyms() if steps else ():
            if child not in above | below:
                words.update(name.lower().replace("_", " ") for name in child.lemma_names())
            go_down(child, steps - 1)

    def go_up(start, steps):
        for parent in start.hypernyms() + start.instance_hypernyms() if steps else ():
            go_down(parent, DOWN)
            go_up(parent, steps - 1)

    go_up(synset, UP)
    return words


@pytest.mark.parametrize(
    ("word", "relative"),
    [("couch", "sofa"), ("boy", "person"), ("car", "vehicle"), ("vehicle", "car"), ("bicycle", "bike")],
)
def test_synonyms_hypernyms_and_hyponyms_are_relatives(lexicon, word, relative):
    assert relative in lexicon.relatives(word, "n")


@pytest.mark.parametrize(
    ("word", "synonym"),
    [
        *(("couch", "sofa"), ("couch", "lounge"), ("sidewalk", "pavement"), ("bicycle", "bike"), ("airplane", "plane")),
        *(("kid", "child"), ("sneaker", "tennis shoe"), ("jeans", "trousers"), ("cab", "car"), ("surfer", "person")),
    ],
)
def test_words_that_may_name_the_same_thing_are_relatives_from_both_sides(lexicon, word, synonym):
    assert synonym in lexicon.relatives(word, "n")
    assert word in lexicon.relatives(synonym, "n")


@pytest.mark.parametrize("word", ["couch", "boy", "jeans", "plate"])
def test_every_word_of_every_sense_is_a_relative(lexicon, wordnet_reader, word):
    names = {name for synset in wordnet_reader.synsets(word, "n") for name in synset.lemma_names()}
    assert {name.lower().replace("_", " ") for name in names} <= lexicon.relatives(word, "n")


@pytest.mark.parametrize(("name", "word"), [("jean.n.01", "jeans"), ("trouser.n.01", "trousers")])
def test_garments_that_captions_name_in_the_plural_have_their_senses(lexicon, name, word):
    assert lexicon.is_sense_of(name, word)


def test_love_shows_no_act(lexicon):
    assert [synset.name() for synset in lexicon.synsets("love", "v") if lexicon.is_visible(synset)] == []


@pytest.mark.parametrize(("word", "other"), [("couch", "table"), ("bottle", "jar"), ("car", "truck"), ("dog", "cat")])
def test_cousins_are_no_relatives(lexicon, word, other):
    assert other not in lexicon.relatives(word, "n")


@pytest.mark.parametrize("name", ["sofa.n.01", "male_child.n.01", "car.n.01", "plate.n.04", "cab.n.03"])
def test_cousins_equal_those_of_a_naive_walk(lexicon, name):
    synset = lexicon.synset(name)
    above = {s for path in synset.hypernym_paths() for s in path}
    line = above | set(synset.closure(lambda s: s.hyponyms() + s.instance_hyponyms()))
    words_of_line = {name.lower().replace("_", " ") for s in line for name in s.lemma_names()}
    found = lexicon.cousins(synset)
    assert len(found) > 10
    assert found - words_of_line == naive_cousins(synset) - words_of_line


@pytest.mark.parametrize(
    ("name", "word"), [("sofa.n.01", "settee"), ("male_child.n.01", "lad"), ("dog.n.01", "carnivore")]
)
def test_cousins_hold_no_word_of_a_synset_above_or_below(lexicon, name, word):
    assert word not in lexicon.cousins(lexicon.synset(name))


@pytest.mark.parametrize(
    ("name", "never"),
    [("sofa.n.01", {"couch", "sofa", "lounge"}), ("male_child.n.01", {"boy", "person"}), ("car.n.01", {"car", "cab"})],
)
def test_cousins_less_relatives_hold_none_of_the_words_own_line(lexicon, wordnet_reader, name, never):
    synset = lexicon.synset(name)
    word = name.partition(".")[0].replace("_", " ")
    chosen = lexicon.cousins(synset) - lexicon.relatives(word, "n") - lexicon.relatives(min(never), "n")
    assert chosen
    assert not chosen & never
    assert [other for other in sorted(chosen)[::40] if one_line(wordnet_reader, word, other)] == []


@pytest.mark.parametrize(
    ("word", "sense", "antonyms"),
    [
        ("tall", 0, ("short",)),
        ("good", 0, ("bad",)),
        ("good", 2, ("evil",)),
        ("wet", 0, ("dry",)),
        ("red", 0, ()),
        ("light", 0, ("heavy",)),
        ("light", 1, ("dark",)),
    ],
)
def test_antonyms_are_direct_of_one_sense_and_never_the_word_itself(lexicon, word, sense, antonyms):
    assert lexicon.antonyms(word, lexicon.synsets(word, "a")[sense]) == antonyms


@pytest.mark.parametrize(
    ("name", "synset"),
    [
        ("tennis racket", "tennis_racket.n.01"),
        ("fire hydrant", "fireplug.n.01"),
        ("hot dog", "hotdog.n.01"),
        ("teddy bear", "teddy.n.01"),
        ("cell phone", "cellular_telephone.n.01"),
        ("wine glass", "wineglass.n.01"),
        ("street light", "streetlight.n.01"),
        ("stop sign", "sign.n.01"),
    ],
)
def test_names_of_several_words_are_found_joined_or_by_their_head(lexicon, name, synset):
    assert lexicon.synsets(name, "n")[0].name() == synset


def test_unknown_word_has_no_synsets(lexicon):
    assert lexicon.synsets("zzyx", "n") == ()


@pytest.mark.parametrize("word", ["hot dog", "teddy bear", "fire hydrant"])
def test_no_underscore_comes_out(lexicon, word):
    words = lexicon.relatives(word, "n") | lexicon.cousins(lexicon.synsets(word, "n")[0])
    assert any(" " in word for word in words)
    assert not any("_" in word for word in words)


@pytest.mark.parametrize(
    ("name", "physical"),
    [("plate.n.04", True), ("kite.n.03", True), ("kite.n.01", False), ("idea.n.01", False), ("dog.n.01", True)],
)
def test_only_what_can_be_seen_is_physical(lexicon, name, physical):
    assert lexicon.is_physical(lexicon.synset(name)) is physical


@pytest.mark.parametrize("name", ["", "nonsense", "plate.n.99", "zzyx.n.01"])
def test_synset_of_unknown_name_is_none(lexicon, name):
    assert lexicon.synset(name) is None


def test_synonyms_of_all_senses_are_found_with_the_word_itself(lexicon):
    assert {"large", "big"} <= lexicon.synonyms("large", "a")
    assert lexicon.synonyms("zzyx", "a") == {"zzyx"}


@pytest.mark.parametrize(
    ("name", "word", "is_sense"),
    [
        ("calendar.n.01", "calendar", True),
        ("calendar.n.01", "picture", False),
        ("plate.n.04", "plate", True),
        ("male_child.n.01", "boy", True),
        ("stop_sign.n.01", "sign", False),
        ("street_sign.n.01", "sign", True),
        ("cellular_telephone.n.01", "cell phone", True),
        ("wineglass.n.01", "wine glass", True),
        ("dog.n.01", "animal", False),
        ("", "dog", False),
        ("nonsense", "dog", False),
    ],
)
def test_synset_is_a_sense_of_its_own_words_and_heads(lexicon, name, word, is_sense):
    assert lexicon.is_sense_of(name, word) is is_sense


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("man.n.01", "arm"),
        ("man.n.01", "finger"),
        ("car.n.01", "wheel"),
        ("building.n.01", "room"),
        ("dog.n.01", "paw"),
    ],
)
def test_parts_are_those_of_all_that_a_thing_is(lexicon, name, part):
    assert part in lexicon.parts(lexicon.synset(name))


@pytest.mark.parametrize(("name", "other"), [("man.n.01", "hat"), ("car.n.01", "road"), ("jar.n.01", "cup")])
def test_what_is_only_near_a_thing_is_no_part(lexicon, name, other):
    assert other not in lexicon.parts(lexicon.synset(name))
