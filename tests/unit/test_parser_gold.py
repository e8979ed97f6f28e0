"""The parser against hand-made graphs of real captions; tests/benchmarks/parser_quality.py prints the whole table."""

import pytest

from crepebench.graphs import RELATION
from crepebench.lemmas import INFLECTED, lemmatise
from crepebench.parsing import necessary_words, parse_texts
from crepebench.phrases import ALL, PAPER_RULE
from tests.benchmarks.parser_gold import (
    MAPPING,
    MOST_RULES,
    Facts,
    GoldRow,
    Mapping,
    ceiling,
    gold_facts,
    graph_facts,
    is_test_image,
    normal_attribute,
    normal_object,
    normal_predicate,
    read_facts,
    read_gold,
    score,
)

N_CAPTIONS = 20_400
LEAST_F1 = {
    "raw": {"object": 0.92, "attribute": 0.70, "relation": 0.65},
    "mapped": {"object": 0.93, "attribute": 0.75, "relation": 0.70},
}
LEAST_F1_OF_ADJECTIVES = {"raw": 0.70, "mapped": 0.72}


@pytest.mark.parametrize(
    ("text", "facts", "n_malformed"),
    [
        ("( boys , is , 3 ) , ( boys , sit on , wall )", [("boys", "is", "3"), ("boys", "sit on", "wall")], 0),
        ("( urban park )", [("urban park",)], 0),
        ("( sign , say , open ( 24 hours ) )", [("sign", "say", "open ( 24 hours )")], 0),
        ('( word , is , " stop " )', [("word", "is", '" stop "')], 0),
        ("( broccoli , snap peas , on , plate ) , ( plate )", [("plate",)], 1),
        ("( dog , on )", [], 1),
        ("( dog ,  , grass )", [], 1),
        ("( dog , on , grass ) , ( cat , on", [("dog", "on", "grass")], 1),
        ("( dog ) ) , ( cat )", [("dog",)], 1),
        ("", [], 0),
    ],
)
def test_graph_is_read_by_its_brackets_and_commas(text, facts, n_malformed):
    assert read_facts(text) == (facts, n_malformed)


def test_facts_are_compared_by_head_nouns_and_lemmas():
    assert [normal_object(name) for name in ("tree trunks", "glass of wine", "Men")] == ["trunk", "glass", "man"]
    assert [normal_attribute(text) for text in ("larger", "parked", "dark blue")] == ["large", "park", "dark blue"]
    assert [normal_predicate(text) for text in ("sitting on", "on top of", "left")] == ["sit on", "on top of", "leave"]


def test_gold_facts_are_objects_attributes_and_relations():
    facts = gold_facts([("boys", "is", "young"), ("boys", "sit on", "stone wall"), ("trees",)])
    assert facts == Facts({"boy", "wall", "tree"}, {("boy", "young")}, {("boy", "sit on", "wall")})


def test_our_graph_has_the_same_facts(parser):
    (graph,) = parse_texts(["young boys sitting on a stone wall"], parser)
    assert graph_facts(graph) == Facts({"boy", "wall"}, {("boy", "young")}, {("boy", "sit on", "wall")})


def test_images_are_split_evenly_and_once():
    test_ids = {image_id for image_id in range(2000) if is_test_image(str(image_id))}
    assert 900 < len(test_ids) < 1100
    assert [is_test_image(image_id) for image_id in ("2319840", "3360", "2387329")] == [True, False, True]


def test_mapping_has_few_rules_with_reasons():
    rules = Mapping().rules
    assert 0 < len(rules) <= MOST_RULES
    assert all(rule["why"] for rule in rules)


def test_too_many_rules_are_refused(tmp_path):
    lines = MAPPING.read_text(encoding="utf-8").splitlines()
    path = tmp_path / "mapping.csv"
    path.write_text("\n".join([lines[0], *[lines[1]] * (MOST_RULES + 1)]), encoding="utf-8")
    with pytest.raises(ValueError, match="has 16 rules, at most 15 are allowed"):
        Mapping(path)


@pytest.mark.parametrize(
    ("relation", "mapped"),
    [
        (("leg", "of", "chair"), ("chair", "have", "leg")),
        (("chair", "with", "leg"), ("chair", "have", "leg")),
        (("cat", "on the side of", "road"), ("cat", "on side of", "road")),
        (("cat", "sit at the back of", "bus"), ("cat", "sit on back of", "bus")),
        (("jar", "to the left of", "box"), ("jar", "on left of", "box")),
        (("hill", "cover with", "snow"), ("snow", "cover", "hill")),
        (("cat", "underneath", "car"), ("cat", "under", "car")),
        (("dog", "lay on", "bed"), ("dog", "lie on", "bed")),
        (("guy", "on", "skateboard"), ("person", "on", "board")),
    ],
)
def test_mapping_rewrites_relations(relation, mapped):
    assert Mapping().apply(Facts(relations={relation})).relations == {mapped}


@pytest.mark.parametrize(
    ("attribute", "mapped"),
    [("two", "2"), ("dark blue", "blue"), ("group of", "group"), ("gray", "grey"), ("of", "of")],
)
def test_mapping_rewrites_attributes(attribute, mapped):
    assert Mapping().apply(Facts(attributes={("dog", attribute)})).attributes == {("dog", mapped)}


def test_scores_are_shares_of_all_captions_together():
    gold, parsed = Facts({"cat", "dog", "bed"}), Facts({"cat", "rug"})
    scores = score([(gold, parsed), (Facts({"jar"}), Facts({"jar"}))])
    assert (scores["object"].precision, scores["object"].recall) == (2 / 3, 2 / 4)
    assert scores["relation"].f1 == 0


def test_ceiling_counts_gold_facts_in_the_words_of_the_caption():
    facts = Facts({"dog"}, {("dog", "2"), ("dog", "black")}, {("dog", "have", "tail")})
    rows = [GoldRow("two black dogs with tails", facts, 0, False)]
    raw = ceiling(rows, lambda facts: facts)
    assert (raw["object"].recall, raw["attribute"].recall, raw["relation"].recall) == (1, 0.5, 0)
    mapped = ceiling(rows, Mapping().apply)
    assert (mapped["attribute"].recall, mapped["relation"].recall) == (1, 1)


@pytest.fixture(scope="module")
def gold(shared_data):
    return list(read_gold(shared_data))


@pytest.fixture(scope="module")
def parsed(gold, parser):
    """Gold and parsed facts of the test half, under both rules for attributes."""
    captions = [row.caption for row in gold if row.is_test]
    facts = [row.facts for row in gold if row.is_test]
    return {
        rule: list(zip(facts, map(graph_facts, parse_texts(captions, parser, rule)), strict=True))
        for rule in (ALL, PAPER_RULE)
    }


def mappings():
    return {"raw": lambda facts: facts, "mapped": Mapping().apply}


def test_gold_is_complete(gold, shared_data):
    assert len(gold) == N_CAPTIONS
    assert sum(row.n_malformed for row in gold) == 0
    assert sum(not row.facts.objects for row in gold) == 0


@pytest.mark.parametrize("how", ["raw", "mapped"])
def test_parser_reaches_its_targets_on_the_test_half(parsed, how):
    apply = mappings()[how]
    scores = score((apply(gold), apply(found)) for gold, found in parsed[ALL])
    assert {kind: scores[kind].f1 >= least for kind, least in LEAST_F1[how].items()} == dict.fromkeys(scores, True)


@pytest.mark.parametrize("how", ["raw", "mapped"])
def test_adjectives_alone_score_almost_as_high(parsed, how):
    apply = mappings()[how]
    scores = score((apply(gold), apply(found)) for gold, found in parsed[PAPER_RULE])
    assert scores["attribute"].f1 >= LEAST_F1_OF_ADJECTIVES[how]


@pytest.mark.parametrize("rule", [ALL, PAPER_RULE])
def test_every_atom_can_be_found_from_the_words_of_its_caption(gold, parser, rule):
    captions = [row.caption for row in gold if not row.is_test][:3000]
    for caption, graph in zip(captions, parse_texts(captions, parser, rule), strict=True):
        tokens = {token.text for token in parser.tokenizer(caption.lower())}
        words = tokens | {lemmatise(token, part_of_speech) for token in tokens for part_of_speech in INFLECTED}
        for atom in graph.atoms:
            if atom.kind == RELATION:
                assert all(group & words for group in necessary_words(atom.text)), (caption, atom)
            else:
                assert atom.text in words, (caption, atom)
