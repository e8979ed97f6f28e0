import csv
import json
import logging

import pytest

from crepebench.accounting import KEPT, READ
from crepebench.alignment import Thing
from crepebench.annotations import FormError
from crepebench.region_graphs import build_region_graphs, is_within, region_annotation, scene_annotation
from crepebench.schema import GRAPHS, OBJECTS, REGIONS, RELATIONSHIPS, read_table, write_table

REGION = {"x": 100, "y": 100, "width": 200, "height": 200}
INSIDE, OUTSIDE = (110, 110, 50, 50), (0, 0, 50, 50)


def object_row(object_id, name, box=INSIDE, attributes=(), image_id=9, merged=()):
    return {
        "image_id": image_id,
        "object_id": object_id,
        "merged_object_ids": list(merged),
        "names": [name],
        "synsets": [],
        "attributes": list(attributes),
        **dict(zip(("x", "y", "width", "height"), box, strict=True)),
    }


def relationship_row(predicate, subject, object_, image_id=9):
    """Ends are (id, name, box)."""
    row = {
        "image_id": image_id,
        "relationship_id": 1,
        "predicate": predicate,
        "predicate_raw": predicate,
        "synsets": [],
    }
    for side, (identity, name, box) in (("subject", subject), ("object", object_)):
        row |= {f"{side}_id": identity, f"{side}_name": name}
        row |= dict(zip((f"{side}_{key}" for key in ("x", "y", "width", "height")), box, strict=True))
    return row


def region_row(region_id, caption, image_id=9):
    raw = {f"{key}_raw": value for key, value in REGION.items()}
    return {"region_id": region_id, "image_id": image_id, **REGION, **raw, "caption": caption, "caption_raw": caption}


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        ((100, 100, 200, 200), True),
        ((75, 150, 100, 40), True),  # exactly three quarters
        ((74, 150, 100, 40), False),
        ((0, 0, 50, 50), False),
        ((90, 90, 400, 400), False),
        ((150, 150, 0, 10), False),
        ((None, None, None, None), False),
    ],
)
def test_object_belongs_to_a_region_by_three_quarters_of_its_box(box, expected):
    assert is_within(box, tuple(REGION.values())) is expected


def test_scene_graph_is_cut_to_the_region():
    objects = [object_row(1, "jar", attributes=["red"]), object_row(2, "box"), object_row(3, "lamp", OUTSIDE)]
    jar, box, lamp = (1, "jar", INSIDE), (2, "box", INSIDE), (3, "lamp", OUTSIDE)
    found = scene_annotation(REGION, objects, [relationship_row("on", jar, box), relationship_row("by", jar, lamp)])
    assert found.things == [Thing(["jar"], ["red"]), Thing(["box"], [])]
    assert found.relations == [(0, "on", 1)]


def test_ends_that_are_no_objects_count_with_their_own_name_and_box():
    shade, street, far = (71, "shade", INSIDE), (72, "street", INSIDE), (73, "tree", OUTSIDE)
    rows = [
        relationship_row("on", shade, street),
        relationship_row("in", shade, far),
        relationship_row("on", shade, street),
    ]
    found = scene_annotation(REGION, [], rows)
    assert found.things == [Thing(["shade"], []), Thing(["street"], [])]
    assert found.relations == [(0, "on", 1), (0, "on", 1)]


def test_ends_without_an_id_are_things_of_their_own():
    nameless = [(None, "man", INSIDE), (None, "hat", INSIDE)]
    found = scene_annotation(REGION, [object_row(None, "dog")], [relationship_row("in", *nameless)])
    assert [thing.names for thing in found.things] == [["dog"], ["man"], ["hat"]]
    assert found.relations == [(1, "in", 2)]


@pytest.mark.parametrize(
    "relationship",
    [
        {"predicate": "ON", "subject_id": 1, "object_id": 2},
        {"predicate": "on", "subject": {"object_id": 1, "name": "jar"}, "object": {"id": 2, "names": ["box"]}},
    ],
)
def test_region_graph_names_ends_by_id_or_as_objects(relationship):
    objects = [{"object_id": 1, "name": "Jar"}, {"object_id": 2, "names": ["box"]}]
    found = region_annotation({"objects": objects, "relationships": [relationship]}, {1: ["red"]})
    assert found.things == [Thing(["jar"], ["red"]), Thing(["box"], [])]
    assert found.relations == [(0, "on", 1)]


def test_attributes_in_a_region_graph_win_over_those_of_the_object():
    item = {"objects": [{"object_id": 1, "name": "jar", "attributes": ["Old"]}], "relationships": []}
    assert region_annotation(item, {1: ["red"]}).things == [Thing(["jar"], ["old"])]


def test_end_that_the_region_graph_does_not_list_is_unknown_or_new():
    ids = {"predicate": "on", "subject_id": 1, "object_id": 99}
    objects = {
        "predicate": "on",
        "subject": {"object_id": 1, "name": "jar"},
        "object": {"object_id": 99, "name": "box"},
    }
    item = {"objects": [{"object_id": 1, "name": "jar"}], "relationships": [ids, objects]}
    found = region_annotation(item, {})
    assert [thing.names for thing in found.things] == [["jar"], ["box"]]
    assert found.relations == [(0, "on", None), (0, "on", 1)]


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        ({"relationships": []}, r"none of the fields \['objects'\]"),
        ({"objects": []}, r"none of the fields \['relationships'\]"),
        ({"objects": [], "relationships": [{"predicate": "on"}]}, r"none of the fields \['subject_id', 'subject'\]"),
        (
            {"objects": [{"object_id": 1}], "relationships": []},
            r"none of the fields \['names', 'name', 'object_names'\]",
        ),
    ],
)
def test_region_graph_of_unknown_form_is_refused(item, reason):
    with pytest.raises(FormError, match=reason):
        region_annotation(item, {})


class Stage:
    """The rule on small tables: rows of its graphs, and its counts."""

    def __init__(self, folder, regions, objects=(), relationships=(), region_graphs=None):
        path = {name: str(folder / f"{name}.parquet") for name in ("regions", "objects", "relationships", "graphs")}
        write_table(path["regions"], REGIONS, regions)
        write_table(path["objects"], OBJECTS, objects)
        write_table(path["relationships"], RELATIONSHIPS, relationships)
        files = []
        if region_graphs is not None:
            files = [str(folder / "region_graphs.json")]
            (folder / "region_graphs.json").write_text(json.dumps(region_graphs))
        tables = path["regions"], path["objects"], path["relationships"]
        build_region_graphs(*tables, files, path["graphs"], str(folder / "counts.csv"))
        self.graphs = read_table(path["graphs"], GRAPHS).to_pylist()
        self.counts: dict[str, dict[str, int]] = {}
        with open(folder / "counts.csv", newline="") as file:
            for row in csv.DictReader(file):
                assert row["stage"] == "graphs/visual_genome"
                self.counts.setdefault(row["unit"], {})[row["reason"]] = int(row["count"])


def test_graphs_come_from_the_scene_graphs_where_there_are_no_region_graphs(tmp_path):
    jar, box = (1, "jar", INSIDE), (2, "box", INSIDE)
    stage = Stage(
        tmp_path,
        [region_row(5, "a red jar on a box"), region_row(6, "a lamp"), region_row(7, "a jar", image_id=8)],
        [object_row(1, "jar", attributes=["red"]), object_row(2, "box"), object_row(3, "jar", image_id=8)],
        [relationship_row("on", jar, box)],
    )
    assert [(row["region_id"], row["image_id"], row["n_atoms"]) for row in stage.graphs] == [
        (7, 8, 1),
        (5, 9, 4),
        (6, 9, 0),
    ]
    assert [compound["relation"] for compound in stage.graphs[1]["compounds"]] == ["", "on"]
    assert stage.counts == {
        "region": {READ: 3, KEPT: 3},
        "atom": {READ: 9, "end_not_in_caption": 2, "not_in_caption": 2, KEPT: 5},
    }


def test_image_without_region_graphs_is_counted_and_stops_nothing(tmp_path, caplog):
    item = {"region_id": 5, "objects": [{"object_id": 77, "name": "jar"}], "relationships": []}
    entries = [{"image_id": 4, "regions": [item]}, {"image_id": 9, "regions": [item, {**item, "region_id": 50}]}]
    with caplog.at_level(logging.INFO):
        stage = Stage(
            tmp_path,
            [region_row(5, "a red jar"), region_row(6, "a jar"), region_row(7, "a jar", image_id=8)],
            [object_row(1, "pot", attributes=["red"], merged=[77])],
            region_graphs=entries,
        )
    (row,) = stage.graphs
    assert (row["region_id"], [atom["text"] for atom in row["atoms"]]) == (5, ["jar", "red"])
    assert stage.counts["region"] == {READ: 3, "region_graph_missing": 2, KEPT: 1}
    assert "1 of 3 regions have an annotated graph" in caplog.text


def test_region_graph_of_unknown_form_is_refused_by_file_image_and_place(tmp_path):
    with pytest.raises(
        ValueError, match=r"region_graphs\.json: image 9, regions\[0\]: none of the fields \['objects'\]"
    ):
        Stage(tmp_path, [region_row(5, "a jar")], region_graphs=[{"image_id": 9, "regions": [{"region_id": 5}]}])


def test_image_that_stands_twice_is_refused(tmp_path):
    entry = {"image_id": 9, "regions": [{"region_id": 5, "objects": [], "relationships": []}]}
    with pytest.raises(ValueError, match=r"region_graphs\.json: image 9 stands twice"):
        Stage(tmp_path, [region_row(5, "a jar")], region_graphs=[entry, entry])


@pytest.mark.parametrize("change", [{"objects": 5}, {"relationships": {"a": 1}}])
def test_region_whose_lists_are_none_is_refused(change):
    with pytest.raises(FormError, match="not a list"):
        region_annotation({"objects": [], "relationships": []} | change, {})
