"""Read the tables from which a review draws: what may be drawn, and the rows of what was drawn."""

from collections.abc import Collection, Mapping, Sequence

from crepebench.review_page_items import SET, box_of
from crepebench.review_sample import Record
from crepebench.schema import CAPTIONS, RETRIEVAL_SETS, SUBGRAPHS, iterate_rows

BOX_COLUMNS = ["x", "y", "width", "height"]
SUBGRAPH_COLUMNS = ["subgraph_id", "image_id", *BOX_COLUMNS, "complexity"]
CAPTION_COLUMNS = ["subgraph_id", "caption", "caption_source"]
SET_COLUMNS = ["set_id", "foil_type", "image_id", *BOX_COLUMNS, "complexity", "foils"]
UNKNOWN = -1
"""Number of atoms of a set that does not say it."""


def set_records(paths: Sequence[str], family: str) -> list[Record]:
    """Returns the records of all sets of a family; the key is set_id and foil_type."""
    records = []
    for path in paths:
        for row in iterate_rows(path, RETRIEVAL_SETS, SET_COLUMNS):
            complexity = UNKNOWN if row["complexity"] is None else row["complexity"]
            kinds = tuple(sorted({foil["kind"] for foil in row["foils"]}))
            stratum = (family, row["foil_type"], complexity)
            records.append(Record((SET, row["set_id"], row["foil_type"]), stratum, kinds, row["image_id"], box_of(row)))
    return records


def read_sets(paths: Sequence[str], records: Collection[Record]) -> dict[tuple, dict]:
    """Returns the rows of table RETRIEVAL_SETS of records, by the records' keys."""
    image_ids = {record.image_id for record in records}
    keys = {record.key for record in records}
    rows = {}
    for path in paths:
        for row in iterate_rows(path, RETRIEVAL_SETS, image_ids=image_ids):
            key = (SET, row["set_id"], row["foil_type"])
            if key in keys:
                rows[key] = row
    return rows


def read_subgraphs(path: str) -> dict[int, dict]:
    """Returns the rows of table SUBGRAPHS by their ids, without the atoms."""
    return {row["subgraph_id"]: row for row in iterate_rows(path, SUBGRAPHS, SUBGRAPH_COLUMNS)}


def read_captions(paths: Sequence[str]) -> dict[int, dict]:
    """Returns the rows of table CAPTIONS that have a caption, by subgraph."""
    rows = (row for path in paths for row in iterate_rows(path, CAPTIONS, CAPTION_COLUMNS))
    return {row["subgraph_id"]: row for row in rows if row["caption"] is not None}


def caption_records(captions: Mapping[int, dict], subgraphs: Mapping[int, dict]) -> list[Record]:
    """Returns the records of captions; the key is the subgraph's id.

    # ASSUME: captions by template are drawn, too, though the paper's annotators saw those of GPT-3 only; the sample
    # says who wrote a caption, and each source is a stratum of its own.
    """
    records = []
    for subgraph_id, caption in captions.items():
        subgraph = subgraphs[subgraph_id]
        stratum = ("caption", caption["caption_source"], subgraph["complexity"])
        records.append(Record((subgraph_id,), stratum, (), subgraph["image_id"], box_of(subgraph)))
    return records


def read_set_ids(paths: Sequence[str]) -> dict[tuple[int, str], str]:
    """Returns the ids of productivity sets by subgraph and true caption; negate may give a truth of its own."""
    columns = ["set_id", "subgraph_id", "caption"]
    rows = (row for path in paths for row in iterate_rows(path, RETRIEVAL_SETS, columns))
    return {(row["subgraph_id"], row["caption"]): row["set_id"] for row in rows}
