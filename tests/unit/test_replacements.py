import copy
from dataclasses import dataclass

import pytest

from crepebench.image_facts import collect_facts
from crepebench.replacements import CandidateFinder
from crepebench.word_pool import Pool
from crepebench.word_tables import WordTables

from .foil_rows import (
    ATTRIBUTES,
    NO_TABLES,
    RELATIONS,
    atom,
    attribute_candidates,
    facts_of,
    object_candidates,
    pool_of,
    relation_candidates,
)


class FixedLexicon:
    """A lexicon that knows the cousins that it is given, and nothing else."""

    def __init__(self, cousins):
        self._cousins = cousins

    def synsets(self, word, pos):
        return [FixedSynset(word)]

    def synset(self, name):
        return None

    def cousins(self, synset):
        return self._cousins.get(synset.word, set())

    def cousin_senses(self, synset, up, down):
        return {word: frozenset({FixedSynset(word)}) for word in self.cousins(synset)}

    def is_visible(self, synset):
        return True

    def parts(self, synset):
        return frozenset()

    def synonyms(self, word, pos):
        return frozenset({word})

    def relatives(self, word, pos):
        return frozenset({word})

    def antonyms(self, word, synset):
        return ()


@dataclass(frozen=True)
class FixedSynset:
    """The only sense of a word."""

    word: str

    def name(self):
        return self.word

    def lexname(self):
        return "noun.artifact"


def with_cousins(lexicon, words):
    """Returns a WordNet in which every noun has some words as cousins, so that only what refuses them is at work."""
    changed = copy.copy(lexicon)
    changed.cousin_senses = lambda synset, up=2, down=2: {
        word: frozenset(lexicon.synsets(word, synset.pos())) for word in words
    }
    return changed


def test_what_stands_above_or_below_is_no_candidate(lexicon, tables):
    words = ["person", "man", "girl", "dog"]
    finder = CandidateFinder(with_cousins(lexicon, words), tables, pool_of())
    assert object_candidates(finder, "boy", facts_of(["boy"])) == {"girl", "dog"}


def test_what_a_man_is_beside_being_a_man_is_no_candidate(lexicon, tables):
    roles = ["senior citizen", "elder", "caregiver", "homebody", "gentleman", "chap", "fellow", "human being"]
    words = [*roles, "cook", "waiter", "woman", "dog"]
    description = {"image_id": 1, "phrase": "an old man cooks"}
    facts = collect_facts([], [], [], [description])[1]
    facts.kinds.add("man")
    finder = CandidateFinder(with_cousins(lexicon, words), tables, nouns(*words))
    assert object_candidates(finder, "man", facts) == {"waiter", "woman", "dog"}
    assert "cook" in object_candidates(finder, "man", facts_of(["man"]))


def test_no_word_for_jeans_is_chosen_where_jeans_are(lexicon, tables):
    garments = ["trousers", "pants", "jeans", "shorts", "sock"]
    finder = CandidateFinder(with_cousins(lexicon, garments), tables, nouns(*garments))

    def found(*kinds):
        return {c.text for c in finder.candidates([atom("object", "shirt", "shirts")], 0, facts_of(kinds))}

    assert {"trousers", "pants", "jeans"} <= found("shirt")
    assert not found("shirt", "jeans") & {"trousers", "pants", "jeans"}
    assert "sock" in found("shirt", "jeans")


@pytest.mark.parametrize("name", ["tennis racket", "hot dog", "teddy bear", "cell phone", "wine glass", "street light"])
def test_names_of_several_words_have_candidates_without_underscores(lexicon, tables, name):
    sense = lexicon.synset({"hot dog": "hotdog.n.02"}.get(name, lexicon.synsets(name, "n")[0].name()))
    words = sorted(lexicon.cousins(sense))
    finder = CandidateFinder(lexicon, tables, nouns(*words, votes={"n": {name: {sense.name(): 3}}}))
    found = object_candidates(finder, name, facts_of([name]))
    assert found
    assert not any("_" in word for word in found)


@pytest.mark.parametrize(
    ("word", "synsets", "never"),
    [
        ("plate", ["plate.n.04"], {"second base", "first base", "base"}),
        ("bike", ["bicycle.n.01"], {"motorcycle", "motorbike"}),
        ("kite", [], {"cheque", "draft", "bank draft"}),
        ("hot dog", [], {"poser"}),
    ],
)
def test_words_of_another_sense_are_never_chosen(lexicon, tables, word, synsets, never):
    others = "bowl cup dish saucer doll toy burger hamburger chip crisp tricycle".split()
    finder = CandidateFinder(lexicon, tables, nouns(*others, *never))
    assert not object_candidates(finder, word, facts_of([word], synsets={word: synsets})) & never


def test_antonym_of_a_synonym_is_no_candidate(lexicon, tables):
    finder = CandidateFinder(lexicon, tables, pool_of(attributes=["good", "bad", "evil", "ill", "well", "poor"]))
    assert attribute_candidates(finder, "good", "jar", facts_of(["jar"])) == {"bad"}


@pytest.mark.parametrize(
    ("word", "never", "cousin"),
    [
        ("couch", {"sofa", "couch"}, "table"),
        ("sofa", {"couch", "sofa"}, "table"),
        ("boy", {"person", "man", "boy"}, "girl"),
        ("car", {"vehicle", "taxi", "car"}, "truck"),
        ("taxi", {"car", "vehicle", "taxi"}, "truck"),
    ],
)
def test_synonym_hypernym_and_hyponym_are_never_chosen(finder, word, never, cousin):
    found = object_candidates(finder, word, facts_of())
    assert cousin in found
    assert not found & never


@pytest.mark.parametrize(
    ("there", "gone"),
    [
        *(("truck", "truck"), ("sofa", "couch"), ("person", "girl"), ("girl", "girl"), ("taxi", "car")),
        ("car", "taxi"),
    ],
)
def test_object_that_is_in_the_image_under_any_name_is_never_chosen(finder, there, gone):
    word = {"truck": "car", "sofa": "table", "person": "boy", "girl": "boy", "taxi": "truck", "car": "truck"}[there]
    assert gone in object_candidates(finder, word, facts_of([word]))
    assert gone not in object_candidates(finder, word, facts_of([word, there]))


def test_sense_of_the_annotators_is_used(finder):
    with_synset = object_candidates(finder, "plate", facts_of(["plate"], synsets={"plate": ["plate.n.04"]}))
    assert {"bowl", "cup"} & with_synset


def test_synset_that_is_no_sense_of_the_word_or_cannot_be_seen_is_not_used(lexicon, tables):
    calendar = lexicon.synset("calendar.n.01")
    assert not lexicon.is_sense_of("calendar.n.01", "picture")
    words = sorted(lexicon.cousins(calendar) | {"photograph", "painting", "sculpture", "map", "globe", "effigy"})
    finder = CandidateFinder(lexicon, tables, pool_of(objects=words))
    annotated = facts_of(["picture", "calendar"], synsets={n: ["calendar.n.01"] for n in ("picture", "calendar")})
    visible = object_candidates(finder, "picture", facts_of(["picture", "calendar"]))
    assert visible
    assert object_candidates(finder, "picture", annotated) == visible
    sources = {c.source for c in finder.candidates([atom("object", "picture")], 0, annotated)}
    assert sources == {"cousin of picture.n.01 (chosen)"}


def test_first_synset_that_is_a_sense_of_the_word_is_used(finder):
    names = ["calendar.n.01", "nonsense", "plate.n.04", "plate.n.02"]
    atoms = [atom("object", "plate")]
    found = finder.candidates(atoms, 0, facts_of(["plate"], synsets={"plate": names}))
    assert {c.source for c in found} == {"cousin of plate.n.04 (annotated)"}


@pytest.mark.parametrize(
    ("surface", "usable"), [("shirt", {"hat"}), ("shirts", {"hat", "pants", "trousers"}), ("pants", {"hat", "shirt"})]
)
def test_noun_that_is_always_plural_replaces_plurals_only(surface, usable):
    lexicon = FixedLexicon({"shirt": {"hat", "pants", "trousers"}, "pants": {"hat", "shirt"}})
    finder = CandidateFinder(lexicon, NO_TABLES, pool_of(objects=["hat", "shirt", "pants", "trousers"]))
    text = surface if surface == "pants" else "shirt"
    found = finder.candidates([atom("object", text, surface)], 0, facts_of([text]))
    assert {c.text for c in found} == usable


def test_first_sense_is_not_taken_blindly(lexicon, tables):
    pool = pool_of(objects=["cheque", "draft", "doll", "bank draft", "treasury note", "glider", "airplane"])
    found = object_candidates(CandidateFinder(lexicon, tables, pool), "kite", facts_of(["kite"]))
    assert "doll" in found
    assert not {"cheque", "draft", "bank draft", "treasury note"} & found


def test_word_without_a_sense_has_no_candidates(finder):
    assert object_candidates(finder, "zzyx", facts_of(["zzyx"])) == set()


def test_words_outside_the_pool_are_never_chosen(lexicon, tables):
    finder = CandidateFinder(lexicon, tables, pool_of(objects=["jar", "cup"], attributes=["blue"]))
    assert object_candidates(finder, "bottle", facts_of(["bottle"])) == {"jar", "cup"}
    assert attribute_candidates(finder, "red", "jar", facts_of(["jar"])) == {"blue"}


def test_attribute_true_of_any_object_of_that_kind_is_never_chosen(finder):
    facts = facts_of(["jar", "box"], [("red", "jar"), ("blue", "jar"), ("green", "box")])
    found = attribute_candidates(finder, "red", "jar", facts)
    assert "blue" not in found
    assert "green" in found


@pytest.mark.parametrize(("kind", "other"), [("taxi", "car"), ("car", "taxi"), ("sofa", "couch"), ("dog", "animal")])
def test_attribute_true_under_another_name_of_the_kind_is_never_chosen(finder, kind, other):
    apart = facts_of([kind, other], [("white", kind)])
    assert "yellow" in attribute_candidates(finder, "white", kind, apart)
    facts = facts_of([kind, other], [("white", kind), ("yellow", other)])
    found = attribute_candidates(finder, "white", kind, facts)
    assert "yellow" not in found
    assert "blue" in found


def test_attribute_of_a_kind_that_is_no_other_name_does_not_matter(finder):
    facts = facts_of(["car", "truck"], [("white", "car"), ("yellow", "truck")])
    assert "yellow" in attribute_candidates(finder, "white", "car", facts)


@pytest.mark.parametrize(
    ("attribute", "true", "synonym"), [("small", "large", "big"), ("tall", "little", "small"), ("blue", "gray", "grey")]
)
def test_synonym_of_a_true_attribute_is_never_chosen(lexicon, tables, attribute, true, synonym):
    finder = CandidateFinder(lexicon, tables, pool_of(attributes=[*ATTRIBUTES, "grey"]))
    assert synonym in attribute_candidates(finder, attribute, "jar", facts_of(["jar"], [(attribute, "jar")]))
    facts = facts_of(["jar"], [(attribute, "jar"), (true, "jar")])
    assert synonym not in attribute_candidates(finder, attribute, "jar", facts)


@pytest.mark.parametrize(
    ("attribute", "never"), [("red", "pink"), ("large", "big"), ("gray", "silver"), ("small", "little")]
)
def test_attribute_that_can_be_true_together_is_never_chosen(finder, attribute, never):
    found = attribute_candidates(finder, attribute, "jar", facts_of(["jar"], [(attribute, "jar")]))
    assert found
    assert not found & {never, attribute}


@pytest.mark.parametrize(
    ("attribute", "true", "gone"), [("blue", "red", "pink"), ("blue", "pink", "red"), ("white", "brown", "tan")]
)
def test_attribute_compatible_with_another_true_one_is_never_chosen(lexicon, tables, attribute, true, gone):
    assert frozenset((true, gone)) in tables.compatible
    finder = CandidateFinder(lexicon, tables, pool_of(attributes=[*ATTRIBUTES, "tan"]))
    assert gone in attribute_candidates(finder, attribute, "jar", facts_of(["jar"], [(attribute, "jar")]))
    of_box = facts_of(["jar", "box"], [(attribute, "jar"), (true, "box")])
    assert gone in attribute_candidates(finder, attribute, "jar", of_box)
    facts = facts_of(["jar"], [(attribute, "jar"), (true, "jar")])
    assert gone not in attribute_candidates(finder, attribute, "jar", facts)


@pytest.mark.parametrize(("attribute", "antonym"), [("dirty", "clean"), ("clean", "dirty"), ("wet", "dry")])
def test_attribute_outside_the_table_gets_its_antonym(lexicon, tables, attribute, antonym):
    finder = CandidateFinder(lexicon, tables, pool_of(attributes=[*ATTRIBUTES, "dry", "wet"]))
    assert attribute not in tables.attributes
    assert attribute_candidates(finder, attribute, "jar", facts_of(["jar"])) == {antonym}


@pytest.fixture(scope="module")
def relation_finder(lexicon):
    """A finder with a small table of relations of its own."""
    contrasts = {"to the left of": ("above", "below", "in front of", "behind", "inside")}
    inverses = {
        "above": frozenset({"below", "under"}),
        "below": frozenset({"above"}),
        "under": frozenset({"above"}),
        "in front of": frozenset({"behind"}),
        "behind": frozenset({"in front of"}),
    }
    return CandidateFinder(lexicon, WordTables({}, contrasts, {}, inverses, frozenset()), pool_of())


@pytest.mark.parametrize("true", ["above", "behind", "inside"])
def test_true_triple_is_never_chosen(relation_finder, true):
    facts = facts_of(("jar", "box"), triples=[("jar", "to the left of", "box"), ("jar", true, "box")])
    found = relation_candidates(relation_finder, "jar", "to the left of", "box", facts)
    assert found == {"above", "below", "in front of", "behind", "inside"} - {true}


@pytest.mark.parametrize(
    ("seen", "gone"),
    [("above", "below"), ("below", "above"), ("under", "above"), ("in front of", "behind"), ("behind", "in front of")],
)
def test_triple_seen_from_the_other_side_is_never_chosen(relation_finder, seen, gone):
    facts = facts_of(("jar", "box"), triples=[("box", seen, "jar")])
    found = relation_candidates(relation_finder, "jar", "to the left of", "box", facts)
    assert found == {"above", "below", "in front of", "behind", "inside"} - {gone}


def test_triple_of_other_objects_does_not_matter(relation_finder):
    facts = facts_of(("jar", "box"), triples=[("box", "inside", "jar"), ("cup", "above", "box")])
    found = relation_candidates(relation_finder, "jar", "to the left of", "box", facts)
    assert found == {"above", "below", "in front of", "behind", "inside"}


@pytest.mark.parametrize(("relation", "antonym"), [("open", "close"), ("push", "pull")])
def test_verb_outside_the_table_gets_its_antonym(lexicon, relation, antonym):
    finder = CandidateFinder(lexicon, NO_TABLES, pool_of(relations=[relation, antonym, "above"]))
    assert relation_candidates(finder, "boy", relation, "box", facts_of(("boy", "box"))) == {antonym}


@pytest.mark.parametrize(
    ("relation", "words"),
    [("ahead of", ["open to", "near to"]), ("like", ["dislike", "unlike"]), ("around", ["above"])],
)
def test_preposition_outside_the_table_gets_no_foil(lexicon, tables, relation, words):
    assert relation not in tables.relations
    finder = CandidateFinder(lexicon, tables, pool_of(relations=[relation, *words, *RELATIONS]))
    assert relation_candidates(finder, "boy", relation, "box", facts_of(("boy", "box"))) == set()


@pytest.fixture(scope="module")
def every_relation(tables):
    """Finds the foils of relations with the committed tables and a pool that holds every relation of them."""
    words = {*tables.relations, *(other for others in tables.relations.values() for other in others)}

    def find(lexicon, relation, facts):
        finder = CandidateFinder(lexicon, tables, pool_of(relations=sorted(words)))
        return relation_candidates(finder, "cup", relation, "box", facts)

    return find


@pytest.mark.parametrize(
    ("relation", "fact", "gone"),
    [
        ("outside", ("cup", "in", "box"), {"in", "inside"}),
        ("in front of", ("cup", "in", "box"), {"inside"}),
        ("in front of", ("cup", "on", "box"), {"on top of"}),
        ("under", ("cup", "on", "box"), {"on top of"}),
        ("above", ("cup", "under", "box"), {"below", "under", "underneath", "beneath"}),
        ("below", ("cup", "above", "box"), {"above", "over"}),
        ("far from", ("cup", "near", "box"), {"next to", "near", "beside"}),
        ("far from", ("box", "beside", "cup"), {"next to", "near", "beside"}),
        ("above", ("box", "over", "cup"), {"below", "under", "underneath", "beneath"}),
        ("above", ("box", "on", "cup"), {"below", "under", "underneath", "beneath"}),
        ("under", ("box", "beneath", "cup"), {"above", "over", "on top of"}),
        ("behind", ("box", "behind", "cup"), {"in front of"}),
    ],
)
def test_relation_that_holds_in_other_words_is_never_chosen(every_relation, lexicon, relation, fact, gone):
    before = every_relation(lexicon, relation, facts_of(("cup", "box")))
    after = every_relation(lexicon, relation, facts_of(("cup", "box"), triples=[fact]))
    assert before & gone
    assert after == before - gone


@pytest.mark.parametrize(
    ("fact", "gone"),
    [
        (("taxi", "inside", "box"), True),
        (("vehicle", "in", "box"), True),
        (("car", "in", "basket"), False),
        (("truck", "in", "box"), False),
        (("box", "in", "taxi"), False),
    ],
)
def test_relation_that_holds_under_another_name_is_never_chosen(lexicon, tables, fact, gone):
    finder = CandidateFinder(lexicon, tables, pool_of())
    kinds = ("car", "box", "basket", "taxi", "truck", "vehicle")
    assert "inside" in relation_candidates(finder, "car", "in front of", "box", facts_of(kinds))
    found = relation_candidates(finder, "car", "in front of", "box", facts_of(kinds, triples=[fact]))
    assert ("inside" in found) is not gone


def test_inverse_that_holds_under_another_name_is_never_chosen(lexicon, tables):
    finder = CandidateFinder(lexicon, tables, pool_of())
    facts = facts_of(("car", "box", "taxi"), triples=[("box", "behind", "taxi")])
    assert "in front of" in relation_candidates(finder, "car", "behind", "box", facts_of(("car", "box", "taxi")))
    assert "in front of" not in relation_candidates(finder, "car", "behind", "box", facts)


def nouns(*words, votes=None):
    """Returns a pool of nouns."""
    return Pool({"object": frozenset(words), "attribute": frozenset(), "relation": frozenset()}, {}, votes or {})


@pytest.mark.parametrize("word", ["lad", "chap", "fellow", "stray", "hag", "bitch", "whore", "person"])
def test_insults_and_words_for_anybody_are_never_chosen(lexicon, tables, word):
    assert word in tables.blocked
    kin = {"man": {word, "woman"}, "woman": {word, "man"}, "dog": {word, "cat"}, "boy": {word, "girl"}}
    finder = CandidateFinder(FixedLexicon(kin), tables, nouns(word, "woman", "man", "cat", "girl"))
    for original, cousins in kin.items():
        assert object_candidates(finder, original, facts_of([original])) == cousins - {word}


OFFENSIVE = (
    "bitch bimbo blackamoor cocksucker coon cunt darky deflower faggot fuck half-caste harlot hooker jigaboo kike "
    "lesbo masturbate negress nigger nymphet paki pickaninny piss redskin shag sheeny shirtlifter shit skank slattern "
    "slut sodomize spic squaw strumpet tramp trollop wank wetback whitey whore wog wop yid"
).split()
"""Words that no caption may hold."""


@pytest.mark.parametrize("word", ["woman", "man", "girl", "dog"])
def test_no_offensive_kin_of_a_person_or_dog_is_chosen(lexicon, tables, word):
    words = [*OFFENSIVE, "street whore", "horse", "nurse"]
    votes = {"n": {other: {s.name(): 1} for other in words for s in lexicon.synsets(other, "n")[:1]}}
    finder = CandidateFinder(with_cousins(lexicon, words), tables, nouns(*words, votes=votes))
    found = object_candidates(finder, word, facts_of([word]))
    assert found and found <= {"horse", "nurse"}


@pytest.mark.parametrize("relation", ["love", "love with", "kiss", "hug"])
def test_no_offensive_verb_is_chosen(lexicon, tables, relation):
    verbs = [*OFFENSIVE, "bang", "hump", "bonk", "screw", "ride", "mount", "hold", "have sex", "make love", "bugger"]
    relations = [f"{verb} {rest}".strip() for verb in verbs for rest in ("", "with")]
    finder = CandidateFinder(lexicon, tables, pool_of(relations=[*relations, relation]))
    found = relation_candidates(finder, "boy", relation, "dog", facts_of(["boy", "dog"]))
    assert {text.partition(" ")[0] for text in found} <= {"hold", "ride", "mount"}
    if relation.startswith("love"):
        assert found == set()


def test_parts_of_what_is_there_and_wholes_of_what_is_replaced_are_never_chosen(lexicon, tables):
    senses = {"arm": "arm.n.01", "man": "man.n.01", "leg": "leg.n.01", "building": "building.n.01", "room": "room.n.01"}
    votes = {"n": {word: {name: 1} for word, name in senses.items()}}
    finder = CandidateFinder(lexicon, tables, nouns(*senses, votes=votes))
    assert object_candidates(finder, "leg", facts_of(["leg"])) == {"arm"}
    assert object_candidates(finder, "leg", facts_of(["leg", "man"])) == set()
    assert "building" not in object_candidates(finder, "room", facts_of(["room"]))


def test_what_any_description_mentions_is_never_chosen(finder):
    facts = facts_of(["couch"])
    assert "chair" in object_candidates(finder, "couch", facts)
    facts.mentioned = {"chair"}
    assert "chair" not in object_candidates(finder, "couch", facts)


def test_a_mass_noun_replaces_a_mass_noun_only(lexicon, tables):
    kin = {"grass": {"sand", "table"}, "table": {"sand", "chair"}}
    finder = CandidateFinder(FixedLexicon(kin), tables, nouns("sand", "table", "chair", "grass"))
    assert object_candidates(finder, "grass", facts_of(["grass"])) == {"sand"}
    assert object_candidates(finder, "table", facts_of(["table"])) == {"chair"}


def test_colours_of_people_are_left_alone(finder):
    for noun, is_person in (("man", True), ("girl", True), ("dog", False), ("chair", False)):
        atoms = [atom("object", noun), atom("attribute", "white", object_=0)]
        found = finder.candidates(atoms, 1, facts_of([noun]))
        assert (found == []) == is_person, noun
        tall = [atom("object", noun), atom("attribute", "tall", object_=0)]
        assert finder.candidates(tall, 1, facts_of([noun]))
