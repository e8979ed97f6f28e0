from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from crepebench import inflection
from crepebench.foils import (
    Candidate,
    CandidateFinder,
    FoilBuilder,
    ImageFacts,
    Pool,
    WordTables,
    build_pool,
    normal_text,
    read_word_tables,
)
from crepebench.graphs import parse_texts
from crepebench.region_parsing import graph_row

NOUNS = (
    "bottle jar bucket cup glass bowl box basket house church hotel taxi car vehicle truck couch sofa chair table bed "
    "lamp boy girl man woman person dog cat horse kite plate spoon fork knife umbrella apple"
).split()
ATTRIBUTES = (
    "red blue green yellow purple black white brown gray orange pink large small big little tall short clean dirty"
).split()
RELATIONS = (
    "above",
    "below",
    "in front of",
    "behind",
    "to the left of",
    "to the right of",
    "next to",
    "on top of",
    "under",
    "inside",
)
N_GRAPHS = 300


NO_TABLES = WordTables({}, {}, {}, {}, frozenset())


class FixedLexicon:
    """A lexicon that knows the cousins that it is given, and nothing else."""

    def __init__(self, cousins):
        self._cousins = cousins

    def synsets(self, word, pos):
        return [FixedSynset(word)]

    def synset(self, name):
        return None

    def is_physical(self, synset):
        return True

    def cousins(self, synset):
        return self._cousins[synset.word]

    def relatives(self, word, pos):
        return frozenset({word})

    def antonyms(self, word, pos):
        return ()


@dataclass(frozen=True)
class FixedSynset:
    """The only sense of a word."""

    word: str

    def name(self):
        return self.word


def atom(kind, text, surface="", start=0, subject=-1, object_=-1):
    surface = surface or text
    end = start + len(surface)
    names = ("kind", "text", "surface", "start", "end", "subject", "object")
    return dict(zip(names, (kind, text, surface, start, end, subject, object_), strict=True))


def pool_of(objects=NOUNS, attributes=ATTRIBUTES, relations=RELATIONS):
    words = {"object": frozenset(objects), "attribute": frozenset(attributes), "relation": frozenset(relations)}
    return Pool(words, {relation: relation for relation in relations})


def facts_of(kinds=(), attributes=(), triples=(), synsets=None):
    facts = ImageFacts(set(kinds), triples=set(triples), synsets=synsets or {})
    for attribute, kind in attributes:
        facts.attributes[kind].add(attribute)
    return facts


@pytest.fixture(scope="module")
def tables(repository):
    folder = repository / "resources" / "foils"
    return read_word_tables(str(folder / "attributes.csv"), str(folder / "relations.csv"))


@pytest.fixture(scope="module")
def finder(lexicon, tables):
    return CandidateFinder(lexicon, tables, pool_of())


def object_candidates(finder, text, facts):
    return {c.text for c in finder.candidates([atom("object", text)], 0, facts)}


def attribute_candidates(finder, attribute, kind, facts):
    atoms = [atom("object", kind), atom("attribute", attribute, object_=0)]
    return {c.text for c in finder.candidates(atoms, 1, facts)}


def relation_candidates(finder, subject, relation, object_, facts):
    atoms = [atom("object", subject), atom("object", object_), atom("relation", relation, subject=0, object_=1)]
    return {c.text for c in finder.candidates(atoms, 2, facts)}


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
    ("there", "gone"), [("truck", "truck"), ("sofa", "couch"), ("person", "girl"), ("girl", "girl"), ("taxi", "car")]
)
def test_object_that_is_in_the_image_under_any_name_is_never_chosen(finder, there, gone):
    word = {"truck": "car", "sofa": "table", "person": "boy", "girl": "boy", "taxi": "truck"}[there]
    assert gone in object_candidates(finder, word, facts_of([word]))
    assert gone not in object_candidates(finder, word, facts_of([word, there]))


def test_sense_of_the_annotators_is_used(finder):
    with_synset = object_candidates(finder, "plate", facts_of(["plate"], synsets={"plate": ["plate.n.04"]}))
    assert {"bowl", "cup"} & with_synset


def test_synset_that_is_no_sense_of_the_word_is_not_used(lexicon, tables):
    calendar = lexicon.synset("calendar.n.01")
    assert not lexicon.is_sense_of("calendar.n.01", "picture")
    words = sorted(lexicon.cousins(calendar) | {"photograph", "painting", "sculpture", "drawing", "collage"})
    finder = CandidateFinder(lexicon, tables, pool_of(objects=words))
    annotated = facts_of(["picture", "calendar"], synsets={n: ["calendar.n.01"] for n in ("picture", "calendar")})
    visible = object_candidates(finder, "picture", facts_of(["picture", "calendar"]))
    assert visible
    assert object_candidates(finder, "picture", annotated) == visible
    sources = {c.source for c in finder.candidates([atom("object", "picture")], 0, annotated)}
    assert "cousin of calendar.n.01" not in sources
    assert {c.source for c in finder.candidates([atom("object", "calendar")], 0, annotated)} == {
        "cousin of calendar.n.01"
    }


def test_first_synset_that_is_a_sense_of_the_word_is_used(finder):
    names = ["calendar.n.01", "nonsense", "plate.n.04", "plate.n.02"]
    atoms = [atom("object", "plate")]
    found = finder.candidates(atoms, 0, facts_of(["plate"], synsets={"plate": names}))
    assert {c.source for c in found} == {"cousin of plate.n.04"}


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
    pool = pool_of(objects=["cheque", "draft", "ball", "bank draft", "treasury note", "glider", "airplane"])
    found = object_candidates(CandidateFinder(lexicon, tables, pool), "kite", facts_of(["kite"]))
    assert "ball" in found
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


@pytest.mark.parametrize(("kind", "other"), [("taxi", "car"), ("car", "taxi"), ("sofa", "couch"), ("boy", "person")])
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


@pytest.mark.parametrize(("relation", "antonym"), [("open", "close"), ("push", "pull"), ("show", "hide")])
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


def test_words_that_say_the_same_are_marked_from_every_side(tables):
    assert set(tables.same) == set(tables.relations)
    for relation, others in tables.same.items():
        assert relation in others
        assert all(tables.same[other] == others for other in others), relation


def test_words_that_say_the_same_have_the_same_inverses(tables):
    for others in tables.same.values():
        inverses = {tables.inverses.get(other, frozenset()) for other in others}
        assert len(inverses) == 1, others
        for inverse in inverses.pop():
            assert tables.same[inverse] <= tables.inverses[min(others)], (others, inverse)


def test_relation_is_never_contrasted_with_its_own_meaning(tables):
    for relation, contrasts in tables.relations.items():
        assert not tables.same[relation] & set(contrasts), relation


def test_tables_hold_no_word_as_its_own_contrast(tables):
    assert all(word not in others for word, (_, others) in tables.attributes.items())
    assert all(relation not in others for relation, others in tables.relations.items())
    assert len(tables.attributes) > 20
    assert len(tables.relations) > 15


def test_inverses_are_marked_from_both_sides(tables):
    pairs = {(a, b) for a, others in tables.inverses.items() for b in others}
    assert {
        ("above", "below"),
        ("over", "under"),
        ("over", "beneath"),
        ("near", "near"),
        ("behind", "in front of"),
    } <= pairs
    assert [pair for pair in sorted(pairs) if pair[::-1] not in pairs] == []


def test_what_may_both_be_true_is_no_contrast(tables):
    contrasts = {(a, b) for a, (_, others) in tables.attributes.items() for b in others}
    assert tables.compatible
    assert all((a, b) not in contrasts for pair in tables.compatible for a in pair for b in pair)


def test_words_that_may_both_be_true_are_marked_from_both_sides(tables):
    pairs = {(a, b) for a, (_, others) in tables.attributes.items() for b in others}
    assert [pair for pair in sorted(pairs) if pair[::-1] not in pairs] == []


def test_tables_read_from_literal_rows(tmp_path):
    (tmp_path / "attributes.csv").write_text(
        "group,attribute,never_for\ncolour,red,pink\ncolour,pink,red\ncolour,blue,\nsize,small,tiny\n"
    )
    (tmp_path / "relations.csv").write_text(
        "relation,same_as,inverses,foils\nabove,over,below,below;hang from\nover,above,,below\n"
        "under,,above,above\non,,,under\n"
    )
    tables = read_word_tables(str(tmp_path / "attributes.csv"), str(tmp_path / "relations.csv"))
    assert tables == WordTables(
        {
            "red": ("colour", ("blue",)),
            "pink": ("colour", ("blue",)),
            "blue": ("colour", ("red", "pink")),
            "small": ("size", ()),
        },
        {"above": ("below", "hang from"), "over": ("below",), "under": ("above",), "on": ("under",)},
        {
            "above": frozenset({"above", "over"}),
            "over": frozenset({"above", "over"}),
            "under": frozenset({"under"}),
            "on": frozenset({"on"}),
        },
        {
            "above": frozenset({"below", "under"}),
            "below": frozenset({"above", "over"}),
            "under": frozenset({"above", "over"}),
        },
        frozenset({frozenset({"red", "pink"}), frozenset({"small", "tiny"})}),
    )


def test_pool_holds_what_occurs_often_enough():
    graphs = [[atom("object", "jar"), atom("attribute", "red")], [atom("object", "jar")], [atom("object", "box")]]
    pool = build_pool(graphs, 2)
    assert pool.words == {"object": {"jar"}, "attribute": set(), "relation": set()}


@pytest.mark.parametrize(
    ("relation", "surfaces", "form"),
    [
        ("hang from", ["hanging from", "hangs from", "hangs from"], "hanging from"),
        ("hang from", ["hangs from"], "hanging from"),
        ("have", ["'s", "has", "'s"], "having"),
        ("have", ["'"], "having"),
        ("tie to", ["tied to", "tied to", "ties to"], "tied to"),
        ("above", ["above"], "above"),
        ("close to", ["close to"], "close to"),
        ("sit on", ["sitting on a couch on", "sits on"], "sitting on"),
    ],
)
def test_pool_has_the_form_of_a_relation_after_a_noun(relation, surfaces, form):
    pool = build_pool([[atom("relation", relation, surface)] for surface in surfaces], 1)
    assert pool.relation_forms[relation] == form


def make_region(rng):
    """Makes a caption of one to three objects with attributes and relations, its atoms, and the image's facts."""
    n_objects = int(rng.integers(1, 4))
    nouns = [str(noun) for noun in rng.permutation(NOUNS)[:n_objects]]
    words_left = [str(word) for word in rng.permutation(ATTRIBUTES)]
    relations = [str(word) for word in rng.permutation(RELATIONS)]
    caption, objects, others = "", [], []
    for i, noun in enumerate(nouns):
        if i:
            relation = relations.pop()
            verb = str(rng.choice(["", "is "]))
            others.append(atom("relation", relation, start=len(caption) + 1 + len(verb), subject=i - 1, object_=i))
            caption += f" {verb}{relation} "
        surface = inflection.inflect(noun, "NNS") if rng.random() < 0.2 else noun
        attributes = [words_left.pop() for _ in range(int(rng.integers(0 if n_objects > 1 else 1, 3)))]
        first = [*attributes, surface][0]
        caption += "the " if surface != noun else f"{inflection.article_for(first)} "
        for attribute in attributes:
            others.append(atom("attribute", attribute, start=len(caption), object_=i))
            caption += f"{attribute} "
        objects.append(atom("object", noun, surface, start=len(caption)))
        caption += surface
    atoms = objects + sorted(others, key=lambda a: (a["start"], a["subject"], a["object"]))
    assert all(caption[a["start"] : a["end"]] == a["surface"] for a in atoms)
    extra = [str(noun) for noun in rng.permutation(NOUNS)[: int(rng.integers(0, 5))]]
    facts = facts_of([*nouns, *extra])
    for a in atoms:
        if a["kind"] == "attribute":
            facts.attributes[nouns[a["object"]]].add(a["text"])
        elif a["kind"] == "relation":
            facts.triples.add((nouns[a["subject"]], a["text"], nouns[a["object"]]))
    for noun in nouns + extra:
        facts.attributes[noun].update(str(word) for word in rng.permutation(ATTRIBUTES)[: int(rng.integers(0, 4))])
    for _ in range(int(rng.integers(0, 6))):
        ends = [str(noun) for noun in rng.choice(nouns + extra, 2)]
        facts.triples.add((ends[0], str(rng.choice(RELATIONS)), ends[1]))
    return caption, atoms, facts


@pytest.fixture(scope="module")
def builder(finder):
    return FoilBuilder(finder, pool_of(), seed=5)


@pytest.fixture(scope="module")
def built(builder):
    """(caption, atoms, facts, foils, reason) of many generated regions."""
    results = []
    for i in range(N_GRAPHS):
        caption, atoms, facts = make_region(np.random.default_rng([3, i]))
        results.append((caption, atoms, facts, *builder.build(i, caption, atoms, facts)))
    return results


@pytest.fixture(scope="module")
def full(built):
    found = [(caption, atoms, facts, foils) for caption, atoms, facts, foils, reason in built if not reason]
    assert len(found) > N_GRAPHS / 2
    return found


def is_absent(reader, word, kinds):
    """Says whether no sense of `word` is the same as, above or below a sense of one of the kinds."""
    lines = [set(), set()]
    for synset in reader.synsets(word, "n"):
        lines[0].update(s for path in synset.hypernym_paths() for s in path)
        lines[1].add(synset)
    for kind in kinds:
        for synset in reader.synsets(kind, "n"):
            if synset in lines[0] or lines[1] & {s for path in synset.hypernym_paths() for s in path}:
                return False
    return True


def test_region_has_4_atom_and_6_comp_foils_or_none_and_a_reason(built):
    for _, _, _, foils, reason in built:
        if reason:
            assert (foils, reason in ("atom_foils", "comp_foils")) == ({}, True)
        else:
            assert {foil_type: len(found) for foil_type, found in foils.items()} == {
                "atom": 4,
                "comp": 6,
                "combined": 10,
            }
            assert foils["combined"] == foils["atom"] + foils["comp"]


def test_no_foil_equals_its_caption_or_another_foil(full):
    for caption, _, _, foils in full:
        texts = [caption.lower().split()] + [foil.text.lower().split() for foil in foils["combined"]]
        assert len({tuple(text) for text in texts}) == 11, caption


def test_every_kind_of_foil_is_made(full):
    kinds = Counter(foil.kind for _, _, _, foils in full for foil in foils["combined"])
    assert set(kinds) == {"object", "attribute", "relation", "attribute_object", "object_relation_object"}
    assert min(kinds.values()) > 20


def test_object_foils_are_absent_from_the_image(full, wordnet_reader):
    for caption, _, facts, foils in full:
        for foil in foils["atom"]:
            if foil.kind == "object":
                assert is_absent(wordnet_reader, foil.replacement, facts.kinds), (caption, foil, facts.kinds)


def names_of(reader, kind, facts):
    """Returns the kinds of an image that may name the same object: senses equal, above or below one another."""
    return {kind} | {other for other in facts.kinds if not is_absent(reader, kind, [other])}


def test_attribute_foils_are_not_true_of_any_object_of_that_kind(full, wordnet_reader):
    for caption, atoms, facts, foils in full:
        for foil in foils["atom"]:
            if foil.kind == "attribute":
                (own,) = [a for a in atoms if a["kind"] == "attribute" and a["text"] == foil.original]
                for name in names_of(wordnet_reader, atoms[own["object"]]["text"], facts):
                    assert foil.replacement not in facts.attributes.get(name, ()), (caption, foil, name)


def test_relation_foils_give_no_true_triple(full, wordnet_reader):
    down = ("below", "under")
    same = {"below": down, "under": down}
    inverses = {"above": down, "on top of": down, "below": ("above", "on top of"), "under": ("above", "on top of")}
    inverses |= {"in front of": ("behind",), "behind": ("in front of",), "next to": ("next to",)}
    inverses |= {"to the left of": ("to the right of",), "to the right of": ("to the left of",)}
    for caption, atoms, facts, foils in full:
        for foil in foils["atom"]:
            if foil.kind == "relation":
                (own,) = [a for a in atoms if a["kind"] == "relation" and a["text"] == foil.original]
                subject, object_ = (atoms[own[end]]["text"] for end in ("subject", "object"))
                subjects, objects = (names_of(wordnet_reader, kind, facts) for kind in (subject, object_))
                true = {r for s, r, o in facts.triples if s in subjects and o in objects}
                turned = {r for s, r, o in facts.triples if s in objects and o in subjects}
                assert not true & {foil.replacement, *same.get(foil.replacement, ())}, (caption, foil)
                assert not turned & set(inverses.get(foil.replacement, ())), (caption, foil)


def test_atom_foils_change_one_place_and_the_article_before_it(full):
    for caption, atoms, _, foils in full:
        for foil in foils["atom"]:
            (own,) = [a for a in atoms if (a["kind"], a["text"]) == (foil.kind, foil.original)]
            before, after = caption[: own["start"]], caption[own["end"] :]
            assert foil.text.endswith(after)
            head = foil.text[: len(foil.text) - len(after)]
            assert head.startswith((before, before.removesuffix("a ") + "an ", before.removesuffix("an ") + "a "))


def test_plural_stays_plural(full):
    n_plural = 0
    for _, atoms, _, foils in full:
        for foil in foils["atom"]:
            own = next(a for a in atoms if (a["kind"], a["text"]) == (foil.kind, foil.original))
            if foil.kind == "object" and own["surface"] != own["text"]:
                n_plural += 1
                assert inflection.inflect(foil.replacement, "NNS") in foil.text
    assert n_plural > 10


def test_comp_foils_join_two_false_compounds_that_hold_both_true_atoms(full, wordnet_reader):
    for caption, _, facts, foils in full:
        for foil in foils["comp"]:
            first, second = foil.replacement.split(" and ")
            if foil.kind == "attribute_object":
                attribute, object_ = foil.original.split(" ", 1)
                assert first.startswith(f"{attribute} ") and second.endswith(f" {object_}")
                assert is_absent(wordnet_reader, first.removeprefix(f"{attribute} "), facts.kinds), (caption, foil)
                for name in names_of(wordnet_reader, object_, facts):
                    assert second.removesuffix(f" {object_}") not in facts.attributes.get(name, ()), (caption, foil)
            else:
                subject, object_ = foil.original.split(" ")[0], foil.original.split(" ")[-1]
                relation = foil.original.removeprefix(subject).removesuffix(object_)
                assert first.startswith(subject + relation) and second.endswith(relation + object_)
                assert is_absent(wordnet_reader, first.removeprefix(subject + relation), facts.kinds), (caption, foil)
                assert is_absent(wordnet_reader, second.removesuffix(relation + object_), facts.kinds), (caption, foil)


def test_foils_depend_on_seed_and_region_but_not_on_order(builder, finder):
    regions = [(i, *make_region(np.random.default_rng([3, i]))) for i in range(12)]
    forwards = {i: builder.build(i, *region) for i, *region in regions}
    backwards = {i: builder.build(i, *region) for i, *region in reversed(regions)}
    other_seed = {i: FoilBuilder(finder, pool_of(), seed=6).build(i, *region) for i, *region in regions}
    assert forwards == backwards
    assert forwards != other_seed


class FixedFinder:
    """Finds the candidates that it is given, whatever the atom."""

    def __init__(self, *words):
        self._words = words

    def candidates(self, atoms, index, facts):
        return [Candidate(word, "test") for word in self._words]


def test_replacement_that_reads_like_the_original_makes_no_foil():
    atoms = [atom("object", "leave", surface="leaves"), atom("attribute", "red", object_=0, start=10)]
    finder = FixedFinder("leaf", "jar", "cup", "bowl", "box")
    foils, reason = FoilBuilder(finder, pool_of(), seed=1).build(1, "leaves is red", atoms[:1], facts_of())
    assert (foils, reason) == ({}, "comp_foils")
    for seed in range(20):
        foils, _ = FoilBuilder(finder, pool_of(), seed).build(1, "leaves is red", atoms, facts_of())
        assert "leaves is red" not in {foil.text for foil in foils["atom"]}


def test_replacements_that_read_alike_make_one_foil():
    atoms = [atom("object", "jar", surface="jars", start=4), atom("attribute", "red", object_=0)]
    finder = FixedFinder("leaf", "leave", "cup", "bowl", "box")
    for seed in range(20):
        foils, _ = FoilBuilder(finder, pool_of(), seed).build(1, "red jars", atoms, facts_of())
        texts = [foil.text for foil in foils["combined"]]
        assert len(set(texts)) == len(texts) == 10


@pytest.mark.parametrize(
    ("nouns", "attributes", "reason"),
    [(["jar"], ["red", "blue"], "atom_foils"), (NOUNS, ["red"], "comp_foils"), (NOUNS, ATTRIBUTES, "")],
)
def test_reason_says_which_foils_are_too_few(lexicon, tables, nouns, attributes, reason):
    pool = pool_of(objects=nouns, attributes=attributes)
    builder = FoilBuilder(CandidateFinder(lexicon, tables, pool), pool, seed=1)
    atoms = [atom("object", "bottle", start=6), atom("attribute", "red", start=2, object_=0)]
    assert builder.build(1, "a red bottle", atoms, facts_of(["bottle"], [("red", "bottle")]))[1] == reason


def test_comp_foil_has_the_papers_form(builder):
    atoms = [atom("object", "bottle", start=6), atom("attribute", "red", start=2, object_=0)]
    foils, _ = builder.build(1, "a red bottle", atoms, facts_of(["bottle"], [("red", "bottle")]))
    for foil in foils["comp"]:
        first, second = foil.text.split(" and ")
        assert first.startswith("a red ") and second.endswith(" bottle")
        assert len(second.split()) == 2


@pytest.mark.parametrize(
    "caption", ["a red jar is tied to a blue box", "two jars tied to a box", "a jar close to a box"]
)
def test_foils_of_parsed_captions_are_grammatical(lexicon, tables, parser, caption):
    texts = [caption, "a jar tied to a box", "a red box", "a bucket above a cup", "a bottle behind a blue bowl"]
    texts += ["a basket below a glass", "a green couch", "a jar close to a bowl", "a dog in front of a black table"]
    rows = [graph_row({"region_id": 1, "image_id": 1}, graph) for graph in parse_texts(texts, parser)]
    pool = build_pool([row["atoms"] for row in rows], 1)
    builder = FoilBuilder(CandidateFinder(lexicon, tables, pool), pool, seed=1)
    found = set()
    for region_id in range(20):
        foils, reason = builder.build(region_id, caption, rows[0]["atoms"], facts_of(["jar", "box"]))
        assert reason == ""
        found.update(foil.text for foil in foils["combined"])
    assert [text for text in found if {"tying", "closing", "was", "are"} & set(text.split())] == []


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [("A  red Jar", "a red jar", True), ("a red jar ", "a red jar", True), ("a red jar", "a redjar", False)],
)
def test_texts_are_compared_without_case_and_spacing(one, other, equal):
    assert (normal_text(one) == normal_text(other)) is equal
