"""The worked examples of docs/parser.md are what the parser gives."""

import re
from pathlib import Path

import pytest

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION, Graph
from crepebench.parsing import parse_texts
from crepebench.phrases import ALL, PAPER_RULE

PAGE = Path(__file__).parents[2] / "docs" / "parser.md"
COLUMNS = ["caption", "objects", "attributes", "relations", "compounds"]
RULE_COLUMNS = ["caption", "`adjectives`", "`all`"]
N_EXAMPLES = 40
NOTHING = "-"


def read_cells(line: str) -> list[str]:
    """Returns the cells of a line of a Markdown table; a pipe inside a cell is written with a backslash."""
    cells = re.split(r"(?<!\\)\|", line.strip())[1:-1]
    return [cell.strip().replace(r"\|", "|") for cell in cells]


def read_examples(columns: list[str]) -> list[list[str]]:
    """Returns the rows of the table with that head."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|") and read_cells(line) == columns)
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


@pytest.mark.parametrize("row", read_examples(COLUMNS), ids=lambda row: row[0])
def test_parser_gives_the_row_of_the_page(row, parser):
    caption, *cells = row
    (graph,) = parse_texts([caption.strip("`")], parser)
    assert graph_cells(graph) == cells


@pytest.mark.parametrize("row", read_examples(RULE_COLUMNS), ids=lambda row: row[0])
def test_both_rules_for_attributes_give_the_row_of_the_page(row, parser):
    caption, *cells = row
    graphs = (next(parse_texts([caption.strip("`")], parser, rule)) for rule in (PAPER_RULE, ALL))
    assert [graph_cells(graph)[1] for graph in graphs] == cells


def test_page_has_forty_different_examples():
    captions = [row[0] for row in read_examples(COLUMNS)]
    assert len(captions) == len(set(captions)) == N_EXAMPLES


def test_escaped_pipe_stays_inside_its_cell():
    assert read_cells(r"| `a jar \| Shop` | jar; shop | - |") == ["`a jar | Shop`", "jar; shop", "-"]
