"""Pages of HTML that need no other file: a frame, and tables. Texts that are markup in HTML or Markdown are escaped."""

import html
import re
from collections.abc import Sequence

NUMBER = re.compile(r"-?\d+(\.\d+)?")
MARKDOWN_SPECIAL = re.compile(r"[\\|`*]|\[(?=[^\]]*\][(\[])")
"""Characters that Markdown gives a meaning; of brackets only those of a link."""
FRAME = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>
body {{ font: 15px/1.45 system-ui, sans-serif; margin: 1.5rem; color: #222; }}
h1 {{ font-size: 1.3rem; }} h2 {{ font-size: 1.05rem; margin-top: 2rem; }}
.scroll {{ overflow-x: auto; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: .3rem .7rem; border-bottom: 1px solid #ddd; text-align: left; vertical-align: top; }}
th {{ border-bottom: 2px solid #888; }}
td.number, th.number {{ text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }}
tr.first td {{ border-top: 2px solid #bbb; }}
</style></head><body>
<h1>{title}</h1>
{body}
</body></html>
"""


def page(title: str, body: str) -> str:
    """Returns a page.

    Args:
        title: plain text.
        body: HTML.
    """
    return FRAME.format(title=html.escape(title), body=body)


def markdown_text(text: str) -> str:
    """Returns text for Markdown, in which nothing ends a cell or a line, or counts as HTML, a link or a picture."""
    return MARKDOWN_SPECIAL.sub(r"\\\g<0>", " ".join(text.split()).replace("<", "&lt;"))


def numeric_columns(columns: Sequence[str], rows: Sequence[dict]) -> set[str]:
    """Returns the columns whose every value is a number or empty, and some value is a number."""
    return {
        column
        for column in columns
        if any(row[column] for row in rows) and all(NUMBER.fullmatch(row[column]) for row in rows if row[column])
    }


def html_table(columns: Sequence[str], rows: Sequence[dict]) -> str:
    """Returns a table in HTML.

    Where rows share their first two columns, a line parts the groups.
    """
    numeric = numeric_columns(columns, rows)
    kind = {column: ' class="number"' if column in numeric else "" for column in columns}
    lines = ["<tr>" + "".join(f"<th{kind[column]}>{html.escape(column)}</th>" for column in columns) + "</tr>"]
    groups = [tuple(row[column] for column in columns[:2]) for row in rows]
    shared = len(set(groups)) < len(groups)
    for i, row in enumerate(rows):
        mark = ' class="first"' if shared and i and groups[i] != groups[i - 1] else ""
        cells = "".join(f"<td{kind[column]}>{html.escape(row[column])}</td>" for column in columns)
        lines.append(f"<tr{mark}>{cells}</tr>")
    return '<div class="scroll"><table>\n' + "\n".join(lines) + "\n</table></div>"
