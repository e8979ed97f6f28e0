"""Write a table for people once more: in Markdown, in LaTeX, and as a page that explains its columns.

The explanations are those of docs/tables.md, so that they are written in one place. A table has one section there,
headed `## <table>.csv: <title>`, with a row for each column or several columns together.
"""

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from crepebench.files import atomic_path
from crepebench.pages import NUMBER, html_table, markdown_text, numeric_columns, page

SECTION = re.compile(r"^## (?P<table>\w+)\.csv: (?P<title>.+)$", re.MULTILINE)
AS_ABOVE = "as above"
NAMED_BY_MODELS = ("comparison",)
"""Tables whose file names go on with names of models; one section explains all of a kind."""
LATEX_SPECIAL = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    **{"~": "\\textasciitilde{}", "^": "\\textasciicircum{}", "\\": "\\textbackslash{}"},
}


@dataclass
class Explanation:
    """What docs/tables.md says of a table.

    Attributes:
        title: one line.
        columns: meaning and unit of each column.
    """

    title: str
    columns: dict[str, tuple[str, str]] = field(default_factory=dict)


def read_explanations(manual_path: str) -> dict[str, Explanation]:
    """Reads docs/tables.md.

    Returns:
        The explanation of each table, by its name without suffix.
    """
    text = Path(manual_path).read_text(encoding="utf-8")
    found = {}
    heads = list(SECTION.finditer(text))
    for head in heads:
        body = text[head.end() :].split("\n## ")[0]
        rows = body.partition("| column |")[2].partition("\n\n")[0].splitlines()[2:]
        explanation = Explanation(head["title"])
        for row in rows:
            columns, meaning, unit = (f"{row}|".split("|")[i].strip() for i in (1, 2, 3))
            explanation.columns |= {column.strip(): (meaning, unit) for column in columns.split(",")}
        found[head["table"]] = explanation
    return found


def section_of(table: str) -> str:
    """Returns the name of the section that explains a table."""
    return next((kind for kind in NAMED_BY_MODELS if table.startswith(f"{kind}_")), table)


def explain_columns(explanations: dict[str, Explanation], table: str, columns: Sequence[str]) -> dict:
    """Returns meaning and unit of each column; what is "as above", or not said, is taken from an earlier table.

    Raises:
        ValueError: neither the table nor an earlier one explains a column, or the table has no section.
    """
    if table not in explanations:
        raise ValueError(f"docs/tables.md has no section '## {table}.csv: ...'")
    names = list(explanations)
    places = [explanations[name] for name in (table, *names[: names.index(table)])]
    result = {}
    for column in columns:
        said = (place.columns[column] for place in places if column in place.columns)
        result[column] = next((text for text in said if text[0] != AS_ABOVE), None)
        if result[column] is None:
            raise ValueError(f"docs/tables.md does not explain the column {column!r} of {table}.csv")
    return result


def markdown_table(columns: Sequence[str], rows: Sequence[dict]) -> str:
    """Returns a table in GitHub's Markdown, numbers to the right."""
    numeric = numeric_columns(columns, rows)
    lines = [columns, ["---:" if column in numeric else "---" for column in columns]]
    lines += [[markdown_text(row[column]) for column in columns] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


def latex_table(columns: Sequence[str], rows: Sequence[dict]) -> str:
    """Returns a tabular environment; it needs the package booktabs."""
    numeric = numeric_columns(columns, rows)
    head = "".join("r" if column in numeric else "l" for column in columns)
    lines = [" & ".join(_latex(row[column]) for column in columns) + r" \\" for row in rows]
    names = " & ".join(_latex(column) for column in columns) + r" \\"
    return "\n".join(
        [
            "% \\usepackage{booktabs}",
            f"\\begin{{tabular}}{{{head}}}",
            "\\toprule",
            names,
            "\\midrule",
            *lines,
            "\\bottomrule",
            "\\end{tabular}\n",
        ]
    )


def _latex(text: str) -> str:
    """Returns text with LaTeX's special characters escaped; the minus of a number is set as one."""
    escaped = "".join(LATEX_SPECIAL.get(character, character) for character in " ".join(text.split()))
    return f"${escaped}$" if text.startswith("-") and NUMBER.fullmatch(text) else escaped


def html_page(title: str, columns: Sequence[str], rows: Sequence[dict], explained: dict) -> str:
    """Returns a page with a table and the meaning of its columns; it needs no other file."""
    legend = [
        {"column": column, "meaning": re.sub(r"[`*]", "", meaning), "unit": unit}
        for column, (meaning, unit) in explained.items()
    ]
    body = [html_table(columns, rows), "<h2>Columns</h2>", html_table(("column", "meaning", "unit"), legend)]
    return page(title, "\n".join(body))


def write_table_formats(
    table_path: str, manual_path: str, markdown_path: str, latex_path: str, page_path: str, table: str
) -> None:
    """Writes a table in its other formats.

    Args:
        table_path: CSV with a head row.
        manual_path: docs/tables.md.
        markdown_path: Markdown to write.
        latex_path: LaTeX to write.
        page_path: HTML to write.
        table: name of the table.

    Raises:
        ValueError: the manual does not explain the table or one of its columns.
    """
    with open(table_path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file)
        columns, rows = list(reader.fieldnames or ()), list(reader)
    explanations = read_explanations(manual_path)
    section = section_of(table)
    explained = explain_columns(explanations, section, columns)
    title = f"{table}.csv: {explanations[section].title}"
    for path, text in (
        (markdown_path, markdown_table(columns, rows)),
        (latex_path, latex_table(columns, rows)),
        (page_path, html_page(title, columns, rows, explained)),
    ):
        with atomic_path(path) as partial:
            Path(partial).write_text(text, encoding="utf-8")
