"""The worked examples of docs/parser.md are what the parser gives."""

import re
from pathlib import Path

import pytest

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Graph, parse_texts

PAGE = Path(__file__).parents[2] / "docs" / "parser.md"
COLUMNS = ["caption", "objects", "attributes", "relations", "compounds"]
N_EXAMPLES = 20
NOTHING = "-"


def read_cells(line: str) -> list[str]:
    """Returns the cells of a line of a Markdown table; a pipe inside a cell is written with a backslash."""
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [cell.strip().replace(r"\|", "|") for cell in cells]


def read_examples() -> list[list[str]]:
    """Returns the rows of the table whose head is `COLUMNS`."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|") and read_cells(line) == COLUMNS)
    table = lines[start + 2 :]
    end = next((i for i, line in enumerate(table) if not line.startswith("|")), len(table))
    return [read_cells(line) for line in table[:end]]


def graph_cells(graph: Graph) -> list[str]:
    """Returns a graph as the page writes it: objects, attributes, relations, compounds."""
    name = [atom.text for atom in graph.atoms]
    objects = [atom.text for atom in graph.atoms if atom.kind == OBJECT]
    attributes = [f"{a.text} ({name[a.object]})" for a in graph.atoms if a.kind == ATTRIBUTE]
    relations = [f"{a.text} ({name[a.subject]}, {name[a.object]})" for a in graph.atoms if a.kind == RELATION]
    compounds = list(map(str, graph.compounds))
    return ["; ".join(cell) or NOTHING for cell in (objects, attributes, relations, compounds)]


@pytest.mark.parametrize("row", read_examples(), ids=lambda row: row[0])
def test_parser_gives_the_row_of_the_page(row, parser):
    caption, *cells = row
    (graph,) = parse_texts([caption.strip("`")], parser)
    assert graph_cells(graph) == cells


def test_page_has_twenty_different_examples():
    captions = [row[0] for row in read_examples()]
    assert len(captions) == len(set(captions)) == N_EXAMPLES


def test_escaped_pipe_stays_inside_its_cell():
    assert read_cells(r"| `a jar \| Shop` | jar; shop | - |") == ["`a jar | Shop`", "jar; shop", "-"]
