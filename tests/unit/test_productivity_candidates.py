import json

import pytest

from crepebench.captions import write_template_caption
from crepebench.productivity_candidates import build_productivity_foils, read_captions
from crepebench.schema import (
    CAPTIONS,
    FOIL_CANDIDATES,
    GRAPHS,
    OBJECTS,
    REGION_DESCRIPTIONS,
    RELATIONSHIPS,
    SUBGRAPHS,
    read_table,
    write_table,
)

from .foil_rows import object_row, pool_of, relationship_row
from .subgraph_rows import graph_atom

FOIL_TYPES = ["atom", "swap", "negate", "overall"]
CFG = {"protocol": "refined", "seed": 1, "candidates": 12, "n_foils": 5}
BOX = {"x": 0, "y": 0, "width": 200, "height": 200}
ATOMS = [
    graph_atom("object", "jar", box=(0, 0, 100, 80)),
    graph_atom("object", "box", box=(0, 100, 100, 100)),
    graph_atom("object", "dog", "dogs", box=(120, 20, 50, 50)),
    graph_atom("attribute", "red", object_=0),
    graph_atom("attribute", "blue", object_=1),
    graph_atom("relation", "above", subject=0, object_=1),
]


def subgraph_row(subgraph_id, image_id=10, atoms=ATOMS, **others):
    counts = {"complexity": len(atoms), "n_objects": 3, "n_relations": 1, "n_attributes": 2, "n_components": 2}
    shape = {"shape": "3o+1r+2A in 2", "n_swaps": 6}
    return {"subgraph_id": subgraph_id, "image_id": image_id, **BOX, **counts, **shape, "atoms": atoms, **others}


def caption_row(subgraph_id, atoms=ATOMS, reason=""):
    caption = write_template_caption(atoms, ())
    mentions = [mention._asdict() for mention in caption.mentions]
    written = {"caption": caption.text, "caption_source": caption.source, "mentions": mentions}
    if reason:
        written = {"caption": None, "caption_source": None, "mentions": None}
    return {"subgraph_id": subgraph_id, **written, "n_attempts": 0, "failures": [], "reason": reason}


@pytest.fixture(scope="module")
def build(tmp_path_factory, lexicon, repository):
    """Builds the candidates of given subgraphs and captions."""
    patch = pytest.MonkeyPatch()
    patch.setattr("crepebench.productivity_candidates.read_wordnet", lambda path: None)
    patch.setattr("crepebench.productivity_candidates.Lexicon", lambda reader: lexicon)
    patch.setattr("crepebench.productivity_candidates.read_word_pool", lambda path: pool_of())
    tables = sorted(map(str, (repository / "resources" / "foils").glob("*.csv")))

    def build(subgraphs, captions, **cfg):
        folder = tmp_path_factory.mktemp("foils")
        names = ("subgraphs", "captions", "graphs", "objects", "relationships", "descriptions", "candidates")
        path = {name: str(folder / f"{name}.parquet") for name in names}
        write_table(path["subgraphs"], SUBGRAPHS, subgraphs)
        write_table(path["captions"], CAPTIONS, captions)
        write_table(path["graphs"], GRAPHS, [])
        write_table(path["objects"], OBJECTS, [object_row(1, ["cup"], ["green"], ["cup.n.01"], image_id=10)])
        write_table(path["relationships"], RELATIONSHIPS, [relationship_row("box", "above", "jar", image_id=10)])
        said = {"region_id": 1, "image_id": 10, **BOX, "phrase": "a yellow jar"}
        write_table(path["descriptions"], REGION_DESCRIPTIONS, [said])
        inputs = [path[name] for name in ("objects", "relationships", "descriptions")]
        build_productivity_foils(
            *(path["subgraphs"], path["captions"], [path["graphs"]], *inputs, "pool", tables, "wordnet"),
            *(path["candidates"], json.dumps({**CFG, **cfg})),
        )
        return read_table(path["candidates"], FOIL_CANDIDATES).to_pylist()

    yield build
    patch.undo()


@pytest.mark.parametrize("protocol", ["paper", "refined"])
def test_each_subgraph_has_a_row_of_each_foil_type(build, protocol):
    rows = build([subgraph_row(1), subgraph_row(2, 11)], [caption_row(1), caption_row(2)], protocol=protocol)
    assert [(row["source_id"], row["foil_type"]) for row in rows] == [(i, name) for i in (1, 2) for name in FOIL_TYPES]
    assert {(row["family"], row["protocol"]) for row in rows} == {("productivity", protocol)}
    atom = rows[4]
    assert (atom["image_id"], atom["complexity"], atom["caption_source"]) == (11, 6, "template")
    assert atom["caption"] == "a red jar above a blue box. there are dogs"
    assert 5 <= len(atom["foils"]) <= 12 and atom["reason"] == ""


def test_rows_do_not_depend_on_the_other_subgraphs(build):
    both = build([subgraph_row(1), subgraph_row(2, 11)], [caption_row(1), caption_row(2)])
    assert both[4:] == build([subgraph_row(1), subgraph_row(2, 11)], [caption_row(2)])


def test_subgraph_without_a_caption_has_a_reason(build):
    rows = build([subgraph_row(1)], [caption_row(1, reason="attempts")])
    assert [(row["foil_type"], row["reason"], row["foils"]) for row in rows] == [
        (foil_type, "no_caption", []) for foil_type in FOIL_TYPES
    ]


def test_equal_caption_of_the_same_crop_is_no_second_set(build):
    rows = build([subgraph_row(1), subgraph_row(2), subgraph_row(3, x=5)], [caption_row(i) for i in (1, 2, 3)])
    reasons = {row["source_id"]: row["reason"] for row in rows if row["foil_type"] == "atom"}
    assert reasons == {1: "", 2: "repeated_set", 3: ""}


def test_what_annotations_say_is_no_foil(build):
    rows = build([subgraph_row(1), subgraph_row(2, 11)], [caption_row(1), caption_row(2)], candidates=24)
    words = {row["source_id"]: {foil["replacement"] for foil in row["foils"]} for row in rows[::4]}
    assert {"yellow", "cup", "below"} <= words[2]
    assert not words[1] & {"yellow", "cup", "below"}  # a yellow jar, a cup, and a box above the jar are there


def test_captions_are_read_with_their_mentions(tmp_path):
    path = str(tmp_path / "captions.parquet")
    write_table(path, CAPTIONS, [caption_row(1), caption_row(2, reason="attempts")])
    assert read_captions(path) == {1: write_template_caption(ATOMS, ()), 2: None}
