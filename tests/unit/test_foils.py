from collections import Counter

import numpy as np
import pytest

from crepebench import inflection
from crepebench.foils import FoilBuilder, normal_text
from crepebench.graphs import parse_texts
from crepebench.region_parsing import graph_row
from crepebench.replacements import Candidate, CandidateFinder
from crepebench.word_pool import build_pool

from .foil_rows import ATTRIBUTES, NOUNS, atom, facts_of, make_region, pool_of

N_GRAPHS = 300
N_CANDIDATES = 6


def build(builder, *region):
    """Returns foils by foil_type and "", or nothing and the reason."""
    drafts = builder.drafts(*region)
    (reason,) = {draft.reason for draft in drafts.values()}
    return ({} if reason else {foil_type: list(draft.foils) for foil_type, draft in drafts.items()}), reason


@pytest.fixture(scope="module")
def builder(finder):
    return FoilBuilder(finder, pool_of(), 5, N_CANDIDATES)


@pytest.fixture(scope="module")
def built(builder):
    """(caption, atoms, facts, foils, reason) of many generated regions."""
    results = []
    for i in range(N_GRAPHS):
        caption, atoms, facts = make_region(np.random.default_rng([3, i]))
        results.append((caption, atoms, facts, *build(builder, i, caption, atoms, facts)))
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


def test_region_has_at_least_4_atom_and_6_comp_foils_or_none_and_a_reason(built):
    for _, _, _, foils, reason in built:
        if reason:
            assert (foils, reason in ("atom_foils", "comp_foils")) == ({}, True)
        else:
            assert 4 <= len(foils["atom"]) <= N_CANDIDATES
            assert len(foils["comp"]) == N_CANDIDATES
            assert foils["combined"] == foils["atom"] + foils["comp"]


def test_no_foil_equals_its_caption_or_another_foil(full):
    for caption, _, _, foils in full:
        texts = [caption.lower().split()] + [foil.text.lower().split() for foil in foils["combined"]]
        assert len({tuple(text) for text in texts}) == len(texts), caption


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
    forwards = {i: build(builder, i, *region) for i, *region in regions}
    backwards = {i: build(builder, i, *region) for i, *region in reversed(regions)}
    other_seed = {i: build(FoilBuilder(finder, pool_of(), 6, N_CANDIDATES), i, *region) for i, *region in regions}
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
    foils, reason = build(FoilBuilder(finder, pool_of(), 1, N_CANDIDATES), 1, "leaves is red", atoms[:1], facts_of())
    assert (foils, reason) == ({}, "comp_foils")
    for seed in range(20):
        foils, _ = build(FoilBuilder(finder, pool_of(), seed, N_CANDIDATES), 1, "leaves is red", atoms, facts_of())
        assert "leaves is red" not in {foil.text for foil in foils["atom"]}


def test_replacements_that_read_alike_make_one_foil():
    atoms = [atom("object", "jar", surface="jars", start=4), atom("attribute", "red", object_=0)]
    finder = FixedFinder("leaf", "leave", "cup", "bowl", "box")
    for seed in range(20):
        foils, _ = build(FoilBuilder(finder, pool_of(), seed, N_CANDIDATES), 1, "red jars", atoms, facts_of())
        texts = [foil.text for foil in foils["combined"]]
        assert len(set(texts)) == len(texts) >= 10


@pytest.mark.parametrize(
    ("nouns", "attributes", "reason"),
    [(["jar"], ["red", "blue"], "atom_foils"), (NOUNS, ["red"], "comp_foils"), (NOUNS, ATTRIBUTES, "")],
)
def test_reason_says_which_foils_are_too_few(lexicon, tables, nouns, attributes, reason):
    pool = pool_of(objects=nouns, attributes=attributes)
    builder = FoilBuilder(CandidateFinder(lexicon, tables, pool), pool, 1, N_CANDIDATES)
    atoms = [atom("object", "bottle", start=6), atom("attribute", "red", start=2, object_=0)]
    assert build(builder, 1, "a red bottle", atoms, facts_of(["bottle"], [("red", "bottle")]))[1] == reason


def test_comp_foil_has_the_papers_form(builder):
    atoms = [atom("object", "bottle", start=6), atom("attribute", "red", start=2, object_=0)]
    foils, _ = build(builder, 1, "a red bottle", atoms, facts_of(["bottle"], [("red", "bottle")]))
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
    builder = FoilBuilder(CandidateFinder(lexicon, tables, pool), pool, 1, N_CANDIDATES)
    found = set()
    for region_id in range(20):
        foils, reason = build(builder, region_id, caption, rows[0]["atoms"], facts_of(["jar", "box"]))
        assert reason == ""
        found.update(foil.text for foil in foils["combined"])
    assert [text for text in found if {"tying", "closing", "was", "are"} & set(text.split())] == []


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [("A  red Jar", "a red jar", True), ("a red jar ", "a red jar", True), ("a red jar", "a redjar", False)],
)
def test_texts_are_compared_without_case_and_spacing(one, other, equal):
    assert (normal_text(one) == normal_text(other)) is equal
