import json

import pytest

from crepebench.foil_candidates import build_foils
from crepebench.hashed_draws import draw_ids
from crepebench.parsing import parse_texts
from crepebench.region_parsing import filter_graphs, graph_row
from crepebench.schema import (
    FOIL_CANDIDATES,
    GRAPHS,
    OBJECTS,
    REGION_DESCRIPTIONS,
    REGIONS,
    RELATIONSHIPS,
    read_table,
    write_table,
)
from crepebench.word_pool import build_word_pool

from .foil_rows import object_row, relationship_row

BOX = {"x": 1, "y": 2, "width": 300, "height": 200}
CAPTIONS = [
    "a red jar above a blue box",
    "a green bottle to the left of a small basket",
    "a yellow cup",
    "two white bowls behind a large bucket",
    "a black house",
    "a purple glass in front of the brown church",
]
WORDS = ["a hotel", "a school", "a wallet", "an envelope", "a briefcase", "a gray pot", "a vase below a dish", "a tin"]
CFG = {"seed": 1, "candidates": 12, "max_queries": None}


@pytest.fixture(scope="module")
def build(tmp_path_factory, parser, lexicon, repository):
    """Builds the candidates of given regions, and returns the rows of all parts."""
    patch = pytest.MonkeyPatch()
    patch.setattr("crepebench.foil_candidates.read_wordnet", lambda path: None)
    patch.setattr("crepebench.foil_candidates.Lexicon", lambda reader: lexicon)
    tables = sorted(map(str, (repository / "resources" / "foils").glob("*.csv")))

    def build(regions, n_parts=1, duplicates="image", **cfg):
        folder = tmp_path_factory.mktemp("foils")
        names = ("regions", "parsed", "graphs", "objects", "relationships", "descriptions")
        path = {name: str(folder / f"{name}.parquet") for name in names}
        raw = {f"{key}_raw": value for key, value in BOX.items()}
        rows = [{**BOX, **raw, "caption_raw": row["caption"], **row} for row in regions]
        write_table(path["regions"], REGIONS, rows)
        write_table(path["parsed"], GRAPHS, map(graph_row, rows, parse_texts([r["caption"] for r in rows], parser)))
        rules = {"min_atoms": 2, "min_compounds": 1, "duplicates": duplicates}
        filter_graphs([path["parsed"]], path["graphs"], str(folder / "graphs.csv"), json.dumps(rules))
        write_table(path["objects"], OBJECTS, [object_row(1, ["pot"], ["green"], ["pot.n.01"], image_id=10)])
        write_table(path["relationships"], RELATIONSHIPS, [relationship_row("jar", "below", "box", image_id=10)])
        said = {"region_id": 1, "image_id": 10, **BOX, "phrase": "a tin on the left"}
        write_table(path["descriptions"], REGION_DESCRIPTIONS, [said])
        pool = str(folder / "pool.json")
        build_word_pool(
            [path["parsed"]], path["objects"], path["relationships"], pool, json.dumps({"min_pool_count": 1})
        )
        found = []
        for part in range(n_parts):
            out = str(folder / f"{part}.parquet")
            facts = [path["objects"], path["relationships"], path["descriptions"]]
            inputs = [path["regions"], path["graphs"], [path["parsed"]], *facts, pool, tables, "wordnet"]
            build_foils(*inputs, out, f"part-{part:05d}-of-{n_parts:05d}", json.dumps({**CFG, **cfg}))
            found += read_table(out, FOIL_CANDIDATES).to_pylist()
        return sorted(found, key=lambda row: (row["source_id"], row["foil_type"]))

    yield build
    patch.undo()


@pytest.fixture(scope="module")
def regions():
    return [
        {"region_id": 100 + i, "image_id": 10 + i % 5, "caption": text} for i, text in enumerate([*CAPTIONS, *WORDS])
    ]


@pytest.mark.parametrize("protocol", ["paper", "refined"])
def test_number_of_parts_does_not_change_the_candidates(build, regions, protocol):
    rows = build(regions, protocol=protocol)
    assert rows == build(regions, n_parts=2, protocol=protocol)
    assert {row["protocol"] for row in rows} == {protocol}
    assert len(rows) == 3 * 8
    assert sum(not row["reason"] for row in rows) >= 9


def test_paper_has_enough_foils_of_all_types_under_the_annotators_caption(build, regions):
    rows = [row for row in build(regions, protocol="paper") if not row["reason"]]
    least = {"atom": 4, "comp": 6, "combined": 10}
    assert all(len(row["foils"]) >= least[row["foil_type"]] for row in rows)
    assert len({row["source_id"] for row in rows}) == len(rows) / 3
    assert {row["caption_source"] for row in rows} == {"visual_genome"}


def test_refined_says_where_a_truth_comes_from(build, regions):
    rows = build(regions, protocol="refined")
    found = {(row["foil_type"], row["caption"]) for row in rows if row["source_id"] == 100}
    assert found == {
        ("atom", "a red jar above a blue box"),
        ("comp", "a red jar and a blue box"),
        ("combined", "a red jar and a blue box"),
    }
    sources = {row["foil_type"]: row["caption_source"] for row in rows if row["source_id"] == 100}
    assert sources == {"atom": "visual_genome", "comp": "compounds", "combined": "compounds"}


def test_what_annotations_or_descriptions_say_is_no_foil(build, regions):
    rows = [row for row in build(regions, protocol="refined") if row["source_id"] == 100]
    replaced = {word for row in rows for foil in row["foils"] for word in foil["replacement"].split()}
    assert len(replaced) > 5
    assert not {"pot", "below", "tin"} & replaced


def test_same_crop_and_caption_make_one_set(build, regions):
    text = CAPTIONS[0]
    same = [{"region_id": i, "image_id": 9, "caption": text} for i in (1, 2)]
    same += [{"region_id": 3, "image_id": 9, "caption": text, "x": 2}, {"region_id": 4, "image_id": 7, "caption": text}]
    rows = build([*same, *regions], duplicates="keep", protocol="paper")
    reasons = {row["source_id"]: row["reason"] for row in rows if row["foil_type"] == "atom" and row["source_id"] < 9}
    assert reasons == {1: "", 2: "repeated_set", 3: "", 4: ""}


def test_regions_that_are_not_drawn_are_counted(build, regions):
    rows = build(regions, protocol="refined", max_queries=3)
    assert {row["source_id"] for row in rows if row["reason"] != "max_queries"} <= draw_ids(range(100, 114), 14, 1)
    assert len({row["source_id"] for row in rows if row["reason"] != "max_queries"}) == 3
