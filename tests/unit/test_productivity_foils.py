import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from crepebench.captions import normalise, write_template_caption
from crepebench.families import PARTS_OF_TYPE, PRODUCTIVITY, part_of
from crepebench.foils import normal_text
from crepebench.lemmas import lemmatise
from crepebench.negations import NEGATION
from crepebench.productivity_foils import ProductivityFoilBuilder
from crepebench.refined_productivity import RefinedProductivityFoilBuilder

from .foil_rows import RELATIONS, pool_of
from .subgraph_rows import CROP, caption_of, graph_atom, graph_facts, make_subgraph

N_SUBGRAPHS = 1000
N_FOILS, N_CANDIDATES = 5, 24
DENIED = re.compile(r"\b(?:is|are) no ([\w ]+)")
DENIAL = re.compile(r"(?:the ([a-z ]+) (?:is|are) not ([a-z]+)|there (?:is|are) no ([a-z ]+))$")
WRONG = re.compile(r"\ba [aeio]|\ban [^aeiouh]|  |\.\.|\. \.|\ban?\b [a-z]*s\b|something something")
"""What no text holds, but for "a glass"."""
BUILDERS = {"paper": ProductivityFoilBuilder, "refined": RefinedProductivityFoilBuilder}


@pytest.fixture(scope="module")
def builders(finder, tables):
    arguments = (finder, tables, pool_of(), 5, N_FOILS, N_CANDIDATES)
    return {protocol: builder(*arguments) for protocol, builder in BUILDERS.items()}


@pytest.fixture(scope="module")
def built(builders, tables):
    """(protocol, subgraph, caption, facts, drafts) of many generated subgraphs, the protocols in turns."""
    results = []
    for i in range(N_SUBGRAPHS):
        subgraph, facts = make_subgraph(np.random.default_rng([7, i]), i)
        caption = write_template_caption(subgraph["atoms"], tables.mass_nouns)
        protocol = ("refined", "paper")[i % 3 == 0]
        drafts = builders[protocol].drafts(subgraph, caption, facts)
        results.append((protocol, subgraph, caption, facts, drafts))
    return results


def drafts_of(built, foil_type, protocol=None):
    """Yields (subgraph, caption, facts, draft) where a draft has foils."""
    for found, subgraph, caption, facts, drafts in built:
        if protocol in (None, found) and not drafts[foil_type].reason:
            yield subgraph, caption, facts, drafts[foil_type]


def texts_of(draft):
    return [draft.caption, *(foil.text for foil in draft.foils)]


def test_foil_types_have_enough_foils_or_a_reason(built):
    for _, subgraph, _, _, drafts in built:
        assert tuple(drafts) == ("atom", "swap", "negate", "overall")
        for foil_type, draft in drafts.items():
            parts = Counter(part_of(foil.kind) for foil in draft.foils)
            if draft.reason:
                assert draft.reason in [f"{part}_foils" for part in PARTS_OF_TYPE[PRODUCTIVITY][foil_type]]
                assert not draft.foils
            else:
                assert draft.complexity == len(subgraph["atoms"])
                assert tuple(parts) == PARTS_OF_TYPE[PRODUCTIVITY][foil_type]
                assert N_FOILS <= min(parts.values()) <= max(parts.values()) <= N_CANDIDATES


def test_most_subgraphs_give_sets_of_each_type(built):
    for foil_type, share in (("atom", 0.9), ("negate", 0.85), ("swap", 0.55), ("overall", 0.2)):
        assert len(list(drafts_of(built, foil_type))) > share * N_SUBGRAPHS, foil_type


@pytest.mark.parametrize("foil_type", ["atom", "swap", "negate", "overall"])
def test_foils_differ_from_truth_and_each_other(built, foil_type):
    for _, _, _, draft in drafts_of(built, foil_type):
        texts = list(map(normal_text, texts_of(draft)))
        assert len(set(texts)) == len(texts), texts


def test_truth_is_the_caption_but_for_negations_of_protocol_refined(built):
    for protocol, _, caption, _, drafts in built:
        for foil_type, draft in drafts.items():
            is_caption = protocol == "paper" or foil_type in ("atom", "swap")
            assert draft.reason or (draft.caption == caption.text) == is_caption


@pytest.mark.parametrize("foil_type", ["atom", "swap", "negate", "overall"])
def test_texts_are_plain_english(built, foil_type):
    for _, _, _, draft in drafts_of(built, foil_type):
        for text in texts_of(draft):
            assert text == normalise(text)
            assert not (found := WRONG.search(text)) or found[0] == "a glass", text


def test_foils_of_atoms_change_one_atom(built):
    for subgraph, caption, facts, draft in drafts_of(built, "atom"):
        texts = [atom["text"] for atom in subgraph["atoms"]]
        for foil in draft.foils:
            assert foil.original in texts and foil.kind in ("object", "attribute", "relation")
            assert foil.replacement not in facts.kinds
            changed = Counter(lemmas(foil.text)) - Counter(lemmas(caption.text))
            assert set(changed) <= {*lemmas(foil.replacement), "another", "the", "first", "second", "third", "fourth"}


def test_atoms_of_a_caption_take_turns(built):
    for _, _, _, draft in drafts_of(built, "atom"):
        originals = [foil.original for foil in draft.foils]
        assert len(set(originals[:N_FOILS])) >= min(N_FOILS - 1, len(set(originals)) - 1), originals


def lemmas(text):
    """Returns the words of a text but for articles and the verb of "there is", as lemmas."""
    words = re.findall(r"[a-z'-]+", text)
    return [lemmatise(word, "NOUN") for word in words if word not in ("a", "an", "is", "are", "there")]


def test_foils_of_swaps_have_the_words_of_the_caption(built):
    counting = ("the", "another", "other", "first", "second", "third", "fourth", "fifth")
    for _, caption, _, draft in drafts_of(built, "swap"):
        words = set(lemmas(caption.text)) - set(counting)
        for foil in draft.foils:
            assert set(lemmas(foil.text)) - set(counting) == words
            assert sorted(foil.original.split(", ")) == sorted(foil.replacement.split(", "))


def content_of(atoms, objects):
    """Returns what relations and attributes state, `objects` being the names of the objects by place."""
    return {
        (atom["text"], *(objects[atom[end]] for end in ("subject", "object") if atom[end] >= 0))
        for atom in atoms
        if atom["kind"] != "object"
    }


def test_swaps_state_something_that_no_fact_holds(built, tables):
    for subgraph, caption, facts, draft in drafts_of(built, "swap"):
        atoms = subgraph["atoms"]
        for foil in draft.foils:
            moved = list(map(dict, atoms))
            for old, new in zip(foil.original.split(", "), foil.replacement.split(", "), strict=True):
                for atom, after in zip(atoms, moved, strict=True):
                    if atom["text"] == old and f"swapped_{atom['kind']}" == foil.kind:
                        after["text"] = new
            names = [[atom["text"] for atom in graph] for graph in (atoms, moved)]
            if len(set(names[0])) < len(names[0]):
                continue  # equal names: which of them moved is not told
            added = content_of(moved, names[1]) - content_of(atoms, names[0])
            known = {(r, s, o) for s, r, o in facts.triples}
            known |= {(attribute, kind) for kind, found in facts.attributes.items() for attribute in found}
            assert added - known, (caption.text, foil)


def n_negations(text):
    return len(NEGATION.findall(text))


def test_only_negations_hold_negations_in_protocol_paper(built):
    for foil_type in ("atom", "swap", "negate"):
        for _, _, _, draft in drafts_of(built, foil_type, "paper"):
            assert n_negations(draft.caption) == 0
            assert {n_negations(foil.text) for foil in draft.foils} == {int(foil_type == "negate")}


def test_every_candidate_of_a_negation_holds_one_in_protocol_refined(built):
    for foil_type, n in (("atom", 0), ("swap", 0), ("negate", 1), ("overall", 1)):
        for _, _, _, draft in drafts_of(built, foil_type, "refined"):
            assert set(map(n_negations, texts_of(draft))) == {n}


def test_paper_uses_each_of_its_forms(built):
    kinds = Counter(foil.kind for *_, draft in drafts_of(built, "negate", "paper") for foil in draft.foils[:N_FOILS])
    assert set(kinds) == {
        *("negated_object", "negated_relation", "negated_attribute", "negated_whole"),
        "contradiction",
    }


def kind_of_negation(text):
    if text.startswith("the following is not true"):
        return "whole"
    return (
        "object" if DENIED.search(text) else "attribute" if " that is not" in text or "are not" in text else "relation"
    )


def test_truths_negate_each_kind_about_as_often_as_foils(built):
    drafts = [draft for *_, draft in drafts_of(built, "negate", "refined")]
    truths = Counter(kind_of_negation(draft.caption) for draft in drafts)
    foils = Counter()
    for draft in drafts:  # each set counts alike, since each takes as many foils
        foils.update({foil.kind: 0.0 for foil in draft.foils})
        for foil in draft.foils:
            foils[foil.kind] += 1 / len(draft.foils)
    assert {f"negated_{kind}" for kind in truths} == set(foils)
    for kind in truths:
        assert truths[kind] / len(drafts) == pytest.approx(foils[f"negated_{kind}"] / len(drafts), abs=0.05), kind


def test_truth_with_a_negation_denies_what_no_fact_holds(built):
    for subgraph, caption, facts, draft in drafts_of(built, "negate", "refined"):
        if found := DENIED.search(draft.caption):
            assert lemmatise(found[1], "NOUN") not in facts.kinds, (caption.text, draft.caption)
        if kind_of_negation(draft.caption) == "relation":
            atoms = subgraph["atoms"]
            found = re.search(rf"\bnot ({'|'.join(RELATIONS)}) ", draft.caption)[1]
            (old,) = [a for a in atoms if a["kind"] == "relation" and f" {a['text']} " not in draft.caption]
            assert (atoms[old["subject"]]["text"], found, atoms[old["object"]]["text"]) not in facts.triples


def test_foils_deny_what_the_caption_states(built):
    for subgraph, caption, _, draft in drafts_of(built, "negate"):
        names = {atom["name"] for atom in subgraph["atoms"] if atom["kind"] == "object"}
        for foil in draft.foils:
            if found := DENIED.search(foil.text):
                assert found[1] in names, (caption.text, foil)


def test_overall_of_protocol_paper_has_the_foils_of_all_types(built):
    for protocol, *_, drafts in built:
        if protocol == "paper" and not drafts["overall"].reason:
            parts = [drafts[part] for part in ("atom", "swap", "negate")]
            assert drafts["overall"].foils == tuple(foil for draft in parts for foil in draft.foils)
            assert {draft.caption for draft in parts} == {drafts["overall"].caption}


def test_overall_of_protocol_refined_is_the_caption_and_one_denial(built):
    for _, caption, _, draft in drafts_of(built, "overall", "refined"):
        denial = draft.caption.removeprefix(f"{caption.text}. ")
        for foil in draft.foils:
            if part_of(foil.kind) == "negate":
                own = foil.text.removeprefix(f"{caption.text}. ")
                assert own != foil.text and DENIAL.fullmatch(own), foil
            else:
                assert foil.text.endswith(f". {denial}") and not foil.text.startswith(caption.text), foil
        assert DENIAL.fullmatch(denial), draft.caption


def test_denials_of_overall_speak_of_what_the_caption_does_not_say(built):
    for subgraph, _, facts, draft in drafts_of(built, "overall", "refined"):
        atoms = subgraph["atoms"]
        said = {(atom["text"], atoms[atom["object"]]["text"]) for atom in atoms if atom["kind"] == "attribute"}
        for foil in (foil for foil in draft.foils if foil.kind == "negated_object"):
            assert foil.original in facts.kinds
            assert foil.original not in {atom["text"] for atom in atoms}
        for foil in (foil for foil in draft.foils if foil.kind == "negated_attribute"):
            owner = lemmatise(DENIAL.search(foil.text)[1].split()[-1], "NOUN")
            assert foil.original in facts.attributes[owner] and (foil.original, owner) not in said
        found = DENIAL.search(draft.caption)
        if found[1]:
            assert found[2] not in facts.attributes[lemmatise(found[1].split()[-1], "NOUN")]
        else:
            assert lemmatise(found[3], "NOUN") not in facts.kinds


def test_drafts_depend_on_seed_and_id_alone(builders, built):
    for protocol, subgraph, caption, facts, drafts in built[:30]:
        assert builders[protocol].drafts(subgraph, caption, facts) == drafts


@pytest.mark.parametrize("protocol", BUILDERS)
def test_captions_of_a_model_keep_the_same_promises(builders, tables, protocol):
    n_kept = Counter()
    for i in range(200):
        subgraph, facts = make_subgraph(np.random.default_rng([8, i]), i)
        caption = replace(write_template_caption(subgraph["atoms"], tables.mass_nouns), source="transformers/model")
        for foil_type, draft in builders[protocol].drafts(subgraph, caption, facts).items():
            n_kept[foil_type] += not draft.reason
            texts = list(map(normal_text, texts_of(draft)))
            assert draft.reason or len(set(texts)) == len(texts)
            if protocol == "refined" and not draft.reason:
                assert set(map(n_negations, texts)) == {int(foil_type in ("negate", "overall"))}
            for text in texts:
                assert not WRONG.search(text) or WRONG.search(text)[0] == "a glass", text
                assert not re.search(r"there are an? |there is [a-z]+s(?:\.|$)", text), text
    n_overall = n_kept.pop("overall")  # refined: few generated captions have five facts beside them
    assert min(n_kept.values()) > 40 and n_overall > 5, n_kept


MAN = (0, 0, 100, 200)
DOG_UNDER_TABLE = [
    graph_atom("object", "man", box=MAN),
    graph_atom("object", "hat", box=(20, 0, 30, 20)),
    graph_atom("object", "dog", box=(200, 150, 50, 40)),
    graph_atom("object", "table", box=(180, 100, 100, 100)),
    graph_atom("relation", "wear", "wearing", subject=0, object_=1),
    graph_atom("relation", "under", subject=2, object_=3),
]
SUBGRAPH = {"subgraph_id": 3, "atoms": DOG_UNDER_TABLE, **CROP}


def drafts_by_hand(builders, protocol, caption, facts=None):
    return builders[protocol].drafts(SUBGRAPH, caption, facts or graph_facts(DOG_UNDER_TABLE))


def test_man_with_a_hat_and_dog_under_a_table(builders):
    caption = write_template_caption(DOG_UNDER_TABLE, ())
    assert caption.text == "a man wearing a hat. a dog under a table"
    drafts = drafts_by_hand(builders, "paper", caption)
    swaps = {foil.text for foil in drafts["swap"].foils}
    assert {"a hat wearing a man. a dog under a table", "a man wearing a hat. a table under a dog"} <= swaps
    assert "a man under a hat. a dog wearing a table" not in swaps  # their boxes touch
    negated = {foil.text for foil in drafts["negate"].foils}
    assert {
        "a man not wearing a hat. a dog under a table",
        "a man wearing a hat. something under a table. there is no dog",
        "a man wearing a hat. a dog under a table. there is no hat",
        "the following is not true: a man wearing a hat. a dog under a table",
    } <= negated


def test_caption_of_a_model_keeps_its_sentence(builders):
    text = "a man wears a hat while a dog is under a table"
    caption = caption_of(text, "man", "hat", "dog", "table", "wears", "under")
    drafts = drafts_by_hand(builders, "paper", caption)
    texts = {foil_type: {foil.text for foil in draft.foils} for foil_type, draft in drafts.items()}
    assert "a man wears a hat while a dog is under a chair" in texts["atom"]
    assert "a hat wears a man while a dog is under a table" in texts["swap"]
    assert "a man does not wear a hat while a dog is under a table" in texts["negate"]
    assert "a man wears a hat while something is under a table. there is no dog" in texts["negate"]


def test_relation_is_denied_alone_only_where_no_other_object_may_have_the_name(builders):
    caption = write_template_caption(DOG_UNDER_TABLE, ())
    alone, with_another = graph_facts(DOG_UNDER_TABLE), graph_facts(DOG_UNDER_TABLE)
    with_another.boxes["dog"].add((100, 10, 50, 50))
    text = "a man wearing a hat. a dog not under a table"
    for facts, is_there in ((alone, True), (with_another, False)):
        draft = drafts_by_hand(builders, "refined", caption, facts)["negate"]
        assert (text in [foil.text for foil in draft.foils]) == is_there
