from collections import Counter
from itertools import pairwise

import numpy as np
import pytest

from crepebench.refined_foils import RefinedFoilBuilder

from .foil_rows import atom, facts_of, make_region, pool_of
from .test_foils import FixedFinder, is_absent

N_GRAPHS = 2000
N_CANDIDATES = 20
MASS = frozenset(["grass", "water"])


def builder_of(finder, n_candidates=N_CANDIDATES):
    return RefinedFoilBuilder(finder, pool_of(), 5, n_candidates, MASS)


@pytest.fixture(scope="module")
def drafted(finder):
    """(caption, atoms, facts, drafts) of many generated regions."""
    builder = builder_of(finder)
    regions = [make_region(np.random.default_rng([4, i])) for i in range(N_GRAPHS)]
    return [(*region, builder.drafts(i, *region)) for i, region in enumerate(regions)]


def all_sets(drafted):
    for _, _, facts, drafts in drafted:
        for foil_type, draft in drafts.items():
            if not draft.reason:
                yield foil_type, draft, facts


def test_there_are_thousands_of_sets_and_a_reason_for_each_that_is_not(drafted):
    reasons = Counter((name, draft.reason) for *_, drafts in drafted for name, draft in drafts.items())
    assert all(reasons[name, ""] > 500 for name in ("atom", "comp", "combined")), reasons
    assert {reason for _, reason in reasons} <= {"", "atom_foils", "comp_foils", "one_compound"}


def test_no_foil_equals_its_truth_or_another_foil(drafted):
    for _, draft, _ in all_sets(drafted):
        texts = [draft.caption, *(foil.text for foil in draft.foils)]
        assert len(set(texts)) == len(texts), texts


def test_no_foil_has_a_word_that_is_none(drafted, wordnet_reader):
    from lemminflect import getAllLemmas

    words = {word for _, draft, _ in all_sets(drafted) for foil in draft.foils for word in foil.text.split()}
    unknown = [word for word in sorted(words) if not getAllLemmas(word) and not wordnet_reader.synsets(word)]
    assert set(unknown) <= {"and", "of", "the"}


def test_no_replaced_object_is_in_the_image(drafted, wordnet_reader):
    n_checked = 0
    for _, draft, facts in list(all_sets(drafted))[::10]:
        for foil in draft.foils:
            if foil.kind == "object":
                n_checked += 1
                assert is_absent(wordnet_reader, foil.replacement, facts.kinds), (draft.caption, foil)
    assert n_checked > 500


def test_no_foil_is_true_by_the_attributes_of_the_image(drafted):
    for _, draft, facts in all_sets(drafted):
        for foil in draft.foils:
            if foil.kind == "attribute_object":
                for false, true in zip(foil.replacement.split(" and "), foil.original.split(" and "), strict=True):
                    attribute, noun = false.split(" ", 1)
                    assert false != true
                    assert attribute not in facts.attributes.get(noun, ()) or noun not in facts.kinds, foil


def test_truth_of_comp_joins_two_true_compounds_of_different_objects(drafted):
    kinds = Counter()
    for caption, atoms, _, drafts in drafted:
        draft = drafts["comp"]
        if draft.reason:
            continue
        kinds.update(foil.kind for foil in draft.foils)
        truths = [f"{a['text']} {atoms[a['object']]['text']}" for a in atoms if a["kind"] == "attribute"]
        if draft.foils[0].kind == "attribute_object":
            first, second = draft.foils[0].original.split(" and ")
            assert {first, second} <= set(truths), (caption, draft.foils[0])
            assert first.split(" ", 1)[1] != second.split(" ", 1)[1]
            assert draft.complexity == 4
    assert kinds["attribute_object"] > 1000
    assert kinds["mixed"] > 100


def test_foils_of_comp_have_the_form_of_their_truth(drafted):
    for *_, drafts in drafted:
        for foil in drafts["comp"].foils:
            truth = drafts["comp"].caption
            assert foil.text.count(" and ") == truth.count(" and ") == 1
            if foil.kind == "attribute_object":
                assert len(foil.text.split()) == len(truth.split())


def test_combined_has_the_truth_and_the_foils_of_comp_and_foils_with_one_wrong_atom(drafted):
    for *_, drafts in drafted:
        comp, combined = drafts["comp"], drafts["combined"]
        assert (combined.caption, combined.caption_source) == (comp.caption, comp.caption_source)
        if not comp.reason:
            assert combined.foils[-len(comp.foils) :] == comp.foils
            single = combined.foils[: -len(comp.foils)]
            assert len(single) >= 4
            assert {foil.kind for foil in single} <= {"object", "attribute", "relation"}


def test_region_without_two_compounds_gives_an_atom_set_all_the_same(finder):
    atoms = [atom("object", "jar", start=6), atom("attribute", "red", start=2, object_=0)]
    drafts = builder_of(finder).drafts(1, "a red jar", atoms, facts_of(["jar"], [("red", "jar")]))
    assert [drafts[name].reason for name in ("atom", "comp", "combined")] == ["", "one_compound", "one_compound"]
    assert len(drafts["atom"].foils) > 4


def test_mass_nouns_and_plurals_have_no_article():
    atoms = [
        atom("object", "grass"),
        atom("object", "house", surface="houses"),
        atom("attribute", "green", object_=0),
        atom("attribute", "orange", object_=1),
    ]
    finder = FixedFinder("apple", "water", "cup", "hat")
    drafts = builder_of(finder).drafts(1, "x", atoms, facts_of())
    assert drafts["comp"].caption == "green grass and orange houses"
    texts = {foil.text for foil in drafts["comp"].foils}
    assert not [text for text in texts if "a water" in text or "an apples" in text]


def test_articles_agree_in_every_phrase(drafted):
    for _, draft, _ in all_sets(drafted):
        for text in [draft.caption, *(foil.text for foil in draft.foils)]:
            words = text.split()
            for article, word in pairwise(words):
                if article in ("a", "an"):
                    assert (article == "an") == (word[0] in "aeiou"), text


def test_candidates_depend_on_seed_and_region_only(finder):
    regions = [(i, *make_region(np.random.default_rng([4, i]))) for i in range(10)]
    builder = builder_of(finder)
    assert [builder.drafts(*region) for region in regions] == [
        builder_of(finder).drafts(*region) for region in reversed(regions)
    ][::-1]
    few = builder_of(finder, 6)
    assert all(len(few.drafts(*region)["atom"].foils) <= 6 for region in regions)
