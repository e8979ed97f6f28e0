"""Parse the captions of regions into graphs, and keep those that can be tested (paper section 4.1)."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict

import polars as pl

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.graphs import Graph
from crepebench.parsing import load_parser, parse_texts
from crepebench.schema import GRAPHS, REGIONS, read_table, write_table


def parse_regions(regions_path: str, graphs_path: str, part: int, n_parts: int, cfg: str) -> None:
    """Parses every `n_parts`-th region, from `part` on, and writes the graphs.

    Args:
        regions_path: table REGIONS.
        graphs_path: table GRAPHS to write.
        part: index of the part, from 0.
        n_parts: number of parts.
        cfg: JSON of `spacy_model` and `attributes` (config blocks `parser` and `atoms`).
    """
    table = read_table(regions_path, REGIONS, ["region_id", "image_id", "caption"])
    rows = table.take(list(range(part, table.num_rows, n_parts))).to_pylist()
    config = json.loads(cfg)
    parser = load_parser(config["spacy_model"])
    graphs = parse_texts((row["caption"] for row in rows), parser, config["attributes"])
    write_table(graphs_path, GRAPHS, map(graph_row, rows, graphs))


def graph_row(region: dict, graph: Graph) -> dict:
    """Returns the row of table GRAPHS for a region's graph."""
    return {
        "region_id": region["region_id"],
        "image_id": region["image_id"],
        "atoms": [asdict(atom) for atom in graph.atoms],
        "compounds": [asdict(compound) for compound in graph.compounds],
        "n_atoms": len(graph.atoms),
    }


def drop_reason(row: dict, config: dict, seen: set) -> str:
    """Returns why a region's graph is dropped, "" where it is kept.

    Args:
        row: row of table GRAPHS.
        config: block `graphs`: min_atoms, min_compounds, duplicates (image, dataset or keep).
        seen: graphs kept so far; the row's own is added.
    """
    if row["n_atoms"] < config["min_atoms"]:
        return "atoms"
    if len(row["compounds"]) < config["min_compounds"]:
        return "compounds"
    if config["duplicates"] != "keep":
        scope = row["image_id"] if config["duplicates"] == "image" else None
        atoms = sorted((atom["kind"], atom["text"]) for atom in row["atoms"])
        key = json.dumps([scope, atoms, sorted(tuple(compound.values()) for compound in row["compounds"])])
        if key in seen:
            return "duplicate_graph"
        seen.add(key)
    return ""


def filter_graphs(part_paths: list[str], graphs_path: str, accounting_path: str, cfg: str) -> None:
    """Keeps graphs with enough atoms and compounds, one of each per image (paper section 4.1).

    Args:
        part_paths: tables GRAPHS of all parts.
        graphs_path: table GRAPHS to write, by region_id.
        accounting_path: counts to write.
        cfg: config block `graphs` as JSON.
    """
    config = json.loads(cfg)
    counts: Counter = Counter({READ: 0, KEPT: 0})
    parts = pl.concat([pl.from_arrow(read_table(path, GRAPHS)) for path in part_paths]).sort("region_id")
    seen: set[str] = set()

    def kept_rows() -> Iterator[dict]:
        for row in parts.iter_rows(named=True):
            reason = drop_reason(row, config, seen)
            counts[READ] += 1
            counts[reason or KEPT] += 1
            if not reason:
                yield row

    write_table(graphs_path, GRAPHS, kept_rows())
    write_accounting(accounting_path, "graphs", {"region": counts})
