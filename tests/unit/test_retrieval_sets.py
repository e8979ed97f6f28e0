import csv
import json

import pytest

from crepebench.foils import Foil
from crepebench.graphs import parse_texts
from crepebench.image_facts import collect_facts, head_noun, normal_relation
from crepebench.region_parsing import filter_graphs, graph_row
from crepebench.retrieval_sets import (
    build_retrieval_sets,
    foil_id,
    retrieval_set_rows,
    set_id,
)
from crepebench.schema import GRAPHS, OBJECTS, REGIONS, RELATIONSHIPS, RETRIEVAL_SETS, read_table, write_table

BOX = {"x": 1, "y": 2, "width": 300, "height": 200}
REGION = {"region_id": 5, "image_id": 9, **BOX, "caption": "a red jar"}
FOILS = {
    "atom": [Foil("a blue jar", "attribute", "red", "blue", "table of colours")],
    "comp": [Foil("a red box and blue jar", "attribute_object", "red jar", "red box and blue jar", "cousin")],
}
FOILS["combined"] = FOILS["atom"] + FOILS["comp"]
CAPTIONS = [
    "a red jar above a blue box",
    "a green bottle to the left of a small basket",
    "a yellow cup",
    "two white bowls behind a large bucket",
    "a black house",
    "a purple glass in front of the brown church",
]
WORDS = ["a hotel", "a school", "a wallet", "an envelope", "a briefcase", "a gray pot", "a vase below a dish", "a tin"]
CFG = json.dumps({"protocol": "paper", "seed": 1, "min_pool_count": 1})


def object_row(object_id, names, attributes=(), synsets=(), image_id=9):
    lists = {"names": list(names), "synsets": list(synsets), "attributes": list(attributes), "merged_object_ids": []}
    return {"image_id": image_id, "object_id": object_id, **lists, "x": 0, "y": 0, "width": 5, "height": 5}


def relationship_row(subject, predicate, object_, image_id=9):
    ids = {"image_id": image_id, "relationship_id": 1, "subject_id": 1, "object_id": 2}
    texts = {"predicate": predicate, "predicate_raw": predicate, "subject_name": subject, "object_name": object_}
    return {**dict.fromkeys(RELATIONSHIPS.names), **ids, **texts, "synsets": []}


@pytest.mark.parametrize(
    "other",
    [
        ("productivity", 9, (1, 2, 3, 4), "a red jar"),
        ("systematicity", 8, (1, 2, 3, 4), "a red jar"),
        ("systematicity", 9, (1, 2, 34, 4), "a red jar"),
        ("systematicity", 9, (1, 2, 3, 4), "a red jar."),
    ],
)
def test_set_id_depends_on_family_image_box_and_caption(other):
    ids = [set_id("systematicity", 9, (1, 2, 3, 4), "a red jar"), set_id(*other)]
    assert len(set(ids)) == 2


def test_ids_are_the_same_in_every_run():
    identity = set_id("systematicity", 9, (1, 2, 3, 4), "a red jar")
    assert identity == "39312abcce3de43e"
    assert foil_id(identity, "a blue jar") == "a55dc9fb79bd41ca"


@pytest.mark.parametrize(
    ("name", "noun"),
    [
        ("jars", "jar"),
        ("street light", "light"),
        ("men", "man"),
        ("wine glasses", "glass"),
        ("jar", "jar"),
        ("glass of water", "glass"),
        ("wine glasses on the table", "glass"),
        ("man in front of house", "man"),
        ("pants", "pants"),
        ("inside", "inside"),
    ],
)
def test_head_noun_is_what_the_parser_gives(name, noun):
    assert head_noun(name) == noun


@pytest.mark.parametrize(
    ("predicate", "relation"),
    [
        ("is ON", "on"),
        ("are standing on", "stand on"),
        ("sitting on top of", "sit on top of"),
        ("on the left side of", "to the left of"),
        ("WEARING", "wear"),
        ("has", "have"),
        ("next to", "next to"),
        ("wearing a", "wear"),
        ("on the", "on"),
        ("is", "be"),
    ],
)
def test_predicate_has_the_parsers_normal_form(predicate, relation):
    assert normal_relation(predicate) == relation


@pytest.mark.parametrize("predicate", ["above", "to the left of", "on top of", "hanging from", "leaning against"])
def test_predicate_in_a_caption_has_the_same_normal_form(parser, predicate):
    (graph,) = parse_texts([f"a jar {predicate} a box"], parser)
    assert [atom.text for atom in graph.atoms if atom.kind == "relation"] == [normal_relation(predicate)]


def test_facts_hold_all_names_whole_and_head(parser):
    facts = collect_facts([object_row(1, ["street lights", "lamp"])], [], [])[9]
    assert facts.kinds == {"street lights", "light", "lamp"}


def test_facts_hold_attributes_under_every_name():
    objects = [object_row(1, ["taxi", "cab"], ["yellow"], ["cab.n.03"]), object_row(2, ["taxi"], ["red"])]
    facts = collect_facts(objects, [], [])[9]
    assert facts.attributes == {"taxi": {"yellow", "red"}, "cab": {"yellow"}}
    assert facts.synsets == {"taxi": ["cab.n.03"], "cab": ["cab.n.03"]}


def test_facts_hold_all_synsets_in_the_order_of_the_objects():
    objects = [
        object_row(1, ["plate"], synsets=["plate.n.04", "dish.n.01"]),
        object_row(2, ["plates"], synsets=["plate.n.02"]),
    ]
    facts = collect_facts(objects, [], [])[9]
    assert facts.synsets == {
        "plate": ["plate.n.04", "dish.n.01", "plate.n.02"],
        "plates": ["plate.n.02"],
    }


def test_attribute_of_several_words_counts_word_by_word_too():
    facts = collect_facts([object_row(1, ["dog"], ["black and white", "small"])], [], [])[9]
    assert facts.attributes == {"dog": {"black and white", "black", "and", "white", "small"}}


def test_facts_hold_triples_in_normal_form():
    facts = collect_facts([], [relationship_row("two men", "ARE SITTING ON", "park bench")], [])[9]
    assert facts.triples == {("man", "sit on", "bench")}


def test_facts_hold_what_every_region_says(parser):
    graphs = [
        graph_row({"region_id": i, "image_id": 9}, graph)
        for i, graph in enumerate(parse_texts(["a red jar above a box", "lamp"], parser))
    ]
    facts = collect_facts([], [], graphs)[9]
    assert facts.kinds == {"jar", "box", "lamp"}
    assert facts.attributes["jar"] == {"red"}
    assert facts.triples == {("jar", "above", "box")}


def test_facts_of_images_stay_apart():
    facts = collect_facts([object_row(1, ["jar"], image_id=1), object_row(2, ["box"], image_id=2)], [], [])
    assert (facts[1].kinds, facts[2].kinds) == ({"jar"}, {"box"})


def test_region_has_a_row_per_foil_type_with_one_set_id():
    rows = list(retrieval_set_rows(REGION, 2, "paper", FOILS))
    assert [row["foil_type"] for row in rows] == ["atom", "comp", "combined"]
    assert {row["set_id"] for row in rows} == {set_id("systematicity", 9, (1, 2, 300, 200), "a red jar")}
    assert rows[2]["foils"] == rows[0]["foils"] + rows[1]["foils"]
    assert rows[0]["foils"][0]["foil_id"] == foil_id(rows[0]["set_id"], "a blue jar")


def test_rows_survive_a_round_trip(tmp_path):
    rows = list(retrieval_set_rows(REGION, 2, "paper", FOILS))
    write_table(str(tmp_path / "sets.parquet"), RETRIEVAL_SETS, rows)
    table = read_table(str(tmp_path / "sets.parquet"), RETRIEVAL_SETS)
    assert table.schema.equals(RETRIEVAL_SETS)
    assert table.to_pylist() == rows


def test_same_crop_and_caption_make_one_set(tmp_path, parser, lexicon, repository, monkeypatch):
    path = {n: str(tmp_path / f"{n}.parquet") for n in ("regions", "graphs", "objects", "relationships", "sets")}
    boxes = {1: BOX, 2: BOX, 3: {**BOX, "x": 2}, 4: BOX}
    words = [(10 + i, 8, BOX, text) for i, text in enumerate(CAPTIONS + WORDS)]
    regions = [
        {
            "region_id": region_id,
            "image_id": image_id,
            **box,
            **{f"{key}_raw": value for key, value in box.items()},
            "caption": text,
            "caption_raw": text,
        }
        for region_id, image_id, box, text in [
            *((i, 7 if i == 4 else 9, box, CAPTIONS[0]) for i, box in boxes.items()),
            *words,
        ]
    ]
    write_table(path["regions"], REGIONS, regions)
    graphs = list(map(graph_row, regions, parse_texts([region["caption"] for region in regions], parser)))
    write_table(path["graphs"], GRAPHS, graphs)
    for name, table in (("objects", OBJECTS), ("relationships", RELATIONSHIPS)):
        write_table(path[name], table, [])
    monkeypatch.setattr("crepebench.retrieval_sets.read_wordnet", lambda path: None)
    monkeypatch.setattr("crepebench.retrieval_sets.Lexicon", lambda reader: lexicon)
    tables = [str(repository / "resources" / "foils" / f"{name}.csv") for name in ("attributes", "relations")]
    inputs = [path["regions"], path["graphs"], [path["graphs"]], path["objects"], path["relationships"], *tables]
    build_retrieval_sets(*inputs, "wordnet", path["sets"], str(tmp_path / "counts.csv"), 0, 1, CFG)
    rows = [row for row in read_table(path["sets"], RETRIEVAL_SETS).to_pylist() if row["region_id"] < 10]
    assert {row["region_id"] for row in rows} == {1, 3, 4}
    assert len({(row["set_id"], row["foil_type"]) for row in rows}) == len(rows) == 9
    with open(tmp_path / "counts.csv", newline="") as file:
        counts = {row["reason"]: int(row["count"]) for row in csv.DictReader(file)}
    assert counts["repeated_set"] == 1


@pytest.fixture(scope="module")
def stage(tmp_path_factory, parser, lexicon, repository):
    """Builds the sets of five images in one part and in two; returns rows and counts of each."""
    folder = tmp_path_factory.mktemp("sets")
    path = {n: str(folder / f"{n}.parquet") for n in ("regions", "parsed", "graphs", "objects", "relationships")}
    texts = CAPTIONS + WORDS
    raw = {f"{key}_raw": value for key, value in BOX.items()}
    regions = [
        {"region_id": 100 + i, "image_id": 10 + i % 5, **BOX, **raw, "caption": text, "caption_raw": text}
        for i, text in enumerate(texts)
    ]
    write_table(path["regions"], REGIONS, regions)
    write_table(path["parsed"], GRAPHS, map(graph_row, regions, parse_texts(texts, parser)))
    rules = {"min_atoms": 2, "min_compounds": 1, "duplicates": "image"}
    filter_graphs([path["parsed"]], path["graphs"], str(folder / "graphs.csv"), json.dumps(rules))
    write_table(path["objects"], OBJECTS, [object_row(1, ["pot"], ["green"], ["pot.n.01"], image_id=10)])
    write_table(path["relationships"], RELATIONSHIPS, [relationship_row("jar", "below", "box", image_id=10)])
    results = {}
    patch = pytest.MonkeyPatch()
    patch.setattr("crepebench.retrieval_sets.read_wordnet", lambda path: None)
    patch.setattr("crepebench.retrieval_sets.Lexicon", lambda reader: lexicon)
    for n_parts in (1, 2):
        rows, counts = [], []
        for part in range(n_parts):
            out = [str(folder / f"{part}-{n_parts}.{suffix}") for suffix in ("parquet", "csv")]
            build_retrieval_sets(
                path["regions"],
                path["graphs"],
                [path["parsed"]],
                path["objects"],
                path["relationships"],
                str(repository / "resources" / "foils" / "attributes.csv"),
                str(repository / "resources" / "foils" / "relations.csv"),
                "wordnet",
                *out,
                part,
                n_parts,
                CFG,
            )
            rows += read_table(out[0], RETRIEVAL_SETS).to_pylist()
            with open(out[1], newline="") as file:
                counts += list(csv.DictReader(file))
        results[n_parts] = rows, counts
    patch.undo()
    return results


def test_number_of_parts_does_not_change_the_sets(stage):
    def by_region(rows):
        return sorted(rows, key=lambda row: (row["region_id"], row["foil_type"]))

    assert by_region(stage[1][0]) == by_region(stage[2][0])
    assert len(stage[1][0]) >= 9


def test_every_region_read_is_kept_or_dropped_for_a_reason(stage):
    _, counts = stage[1]
    by_reason = {row["reason"]: int(row["count"]) for row in counts}
    assert set(by_reason) <= {"read", "kept", "atom_foils", "comp_foils"}
    assert by_reason["read"] == 8
    assert 3 * by_reason["kept"] == len(stage[1][0])


def test_every_set_has_its_full_number_of_foils(stage):
    sizes = {(row["foil_type"], len(row["foils"])) for row in stage[1][0]}
    assert sizes == {("atom", 4), ("comp", 6), ("combined", 10)}


def test_foils_of_a_set_have_ids_and_texts_of_their_own(stage):
    for row in stage[1][0]:
        texts = {row["caption"], *(foil["text"] for foil in row["foils"])}
        assert len(texts) == len(row["foils"]) + 1
        assert len({foil["foil_id"] for foil in row["foils"]}) == len(row["foils"])


def test_what_the_annotations_say_is_no_foil(stage):
    foils = [
        foil
        for row in stage[1][0]
        if row["image_id"] == 10 and row["region_id"] == 100 and row["foil_type"] == "atom"
        for foil in row["foils"]
    ]
    assert len(foils) == 4
    assert not {"pot", "below"} & {foil["replacement"] for foil in foils}
