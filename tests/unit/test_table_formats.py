import csv
import re
from xml.etree import ElementTree

import pytest

from crepebench.accounting import COLUMNS as ACCOUNTING_COLUMNS
from crepebench.audit import COLUMNS as AUDIT_COLUMNS
from crepebench.benchmark_tables import COLUMNS as BENCHMARK_COLUMNS
from crepebench.clic_tables import COLUMNS as CLIC_COLUMNS
from crepebench.correlations import COLUMNS as CORRELATION_COLUMNS
from crepebench.dataset_statistics import COLUMNS as STATISTICS_COLUMNS
from crepebench.model_comparison import COLUMNS as COMPARISON_COLUMNS
from crepebench.negation_tables import COLUMNS as NEGATION_COLUMNS
from crepebench.own_tables import COLUMNS as OWN_COLUMNS
from crepebench.pages import html_table, numeric_columns
from crepebench.parser_quality import COLUMNS as QUALITY_COLUMNS
from crepebench.productivity_tables import BY_KIND_COLUMNS as PRODUCTIVITY_BY_KIND_COLUMNS
from crepebench.productivity_tables import PRODUCTIVITY_COLUMNS
from crepebench.published import COLUMNS as PUBLISHED_COLUMNS
from crepebench.raw_retrieval_tables import COLUMNS as RAW_COLUMNS
from crepebench.released_tables import COLUMNS as RELEASED_COLUMNS
from crepebench.review_tables import COLUMNS as REVIEW_COLUMNS
from crepebench.systematicity_tables import BY_KIND_COLUMNS, GAP_COLUMNS, GAP_SEEDS_COLUMNS, SYSTEMATICITY_COLUMNS
from crepebench.table_formats import (
    Explanation,
    explain_columns,
    html_page,
    latex_table,
    markdown_table,
    read_explanations,
    section_of,
    write_table_formats,
)
from crepebench.thinning import COLUMNS as THINNED_COLUMNS
from icons_world.control import COLUMNS as CONTROL_COLUMNS

TABLES = {
    "systematicity": SYSTEMATICITY_COLUMNS,
    "systematicity_gap": GAP_COLUMNS,
    "systematicity_gap_seeds": GAP_SEEDS_COLUMNS,
    "systematicity_by_kind": BY_KIND_COLUMNS,
    "systematicity_gap_by_recall": THINNED_COLUMNS,
    "productivity": PRODUCTIVITY_COLUMNS,
    "productivity_by_kind": PRODUCTIVITY_BY_KIND_COLUMNS,
    "raw_retrieval": RAW_COLUMNS,
    "comparison": COMPARISON_COLUMNS,
    "blind_baselines": AUDIT_COLUMNS,
    "parser_quality": QUALITY_COLUMNS,
    "human_review": REVIEW_COLUMNS,
    "released_scores": RELEASED_COLUMNS,
    "own_captions": OWN_COLUMNS,
    "benchmarks": BENCHMARK_COLUMNS,
    "negation": NEGATION_COLUMNS,
    "clic": CLIC_COLUMNS,
    "judged_prompts": ("metric", "value", "n_prompts"),
    "imagenet_correlation": CORRELATION_COLUMNS,
    "published_comparison": PUBLISHED_COLUMNS,
    "dataset_statistics": STATISTICS_COLUMNS,
    "icons_control": CONTROL_COLUMNS,
    "accounting": ACCOUNTING_COLUMNS,
}
FORMATS = ("twin.md", "twin.tex", "twin.html")
COLUMNS = ("model", "gap", "n_images")
ROWS = [
    {"model": "mini", "gap": "-3.10", "n_images": "12"},
    {"model": "a & b", "gap": "0.00", "n_images": "7"},
    {"model": "", "gap": "", "n_images": "110"},
]
MANUAL = """# The tables

A text before the tables.

## main.csv: recall by split
One row for each model.

| column | meaning | unit |
|---|---|---|
| model | name in `models.definitions` | |
| recall, recall_low | share of queries with *rank 1* | % |
| n | queries | count |

Marks:
- `seen`: a list below the table.

## How to read it

| split | meaning |
|---|---|
| SC | all seen |

## gap.csv: seen against unseen
| column | meaning | unit |
|---|---|---|
| model, n | as above | |
| gap | unseen less seen | points |

## counts.csv: what was dropped
| column | meaning |
|---|---|
| reason | why |

| stage | unit: reasons |
|---|---|
| regions | region: area |
"""


@pytest.fixture
def manual(tmp_path):
    path = tmp_path / "tables.md"
    path.write_text(MANUAL, encoding="utf-8")
    return str(path)


def column_of(values):
    return [{"value": value} for value in values]


def cells_of(table):
    """Returns the cells of a table in HTML, line by line, as a browser would show them."""
    return [[cell.text or "" for cell in line] for line in ElementTree.fromstring(table).iter("tr")]


def marked_lines(columns, rows):
    """Returns the numbers of the rows that have a line above them."""
    lines = list(ElementTree.fromstring(html_table(columns, rows)).iter("tr"))[1:]
    return [i for i, line in enumerate(lines) if line.get("class") == "first"]


@pytest.mark.parametrize("values", [["1", "22"], ["-3.10", "0.00"], ["1.5", "", "7"]])
def test_column_of_numbers_and_gaps_is_numeric(values):
    assert numeric_columns(("value",), column_of(values)) == {"value"}


@pytest.mark.parametrize(
    "values", [["1", "mini"], ["", ""], [], ["1,000"], ["5%"], ["-"], ["3.11.7"], [".5"], ["1-2"], ["1\n"]]
)
def test_column_with_a_text_or_without_a_number_is_not_numeric(values):
    assert numeric_columns(("value",), column_of(values)) == set()


def test_numeric_columns_are_found_one_by_one():
    assert numeric_columns(COLUMNS, ROWS) == {"gap", "n_images"}


def test_markdown_has_a_line_for_each_row_and_numbers_to_the_right():
    assert markdown_table(COLUMNS, ROWS).splitlines() == [
        "| model | gap | n_images |",
        "| --- | ---: | ---: |",
        "| mini | -3.10 | 12 |",
        "| a & b | 0.00 | 7 |",
        "|  |  | 110 |",
    ]


@pytest.mark.parametrize(("text", "cell"), [("a|b||", r"a\|b\|\|"), ("two\nlines", "two lines")])
def test_text_cannot_break_a_markdown_table(text, cell):
    assert markdown_table(("value",), column_of([text])).splitlines()[2] == f"| {cell} |"


def test_markdown_of_a_table_without_a_row_is_its_head():
    assert markdown_table(COLUMNS, []) == "| model | gap | n_images |\n| --- | --- | --- |\n"


def test_latex_has_a_line_for_each_row_and_numbers_to_the_right():
    assert latex_table(COLUMNS, ROWS).splitlines() == [
        r"% \usepackage{booktabs}",
        r"\begin{tabular}{lrr}",
        r"\toprule",
        r"model & gap & n\_images \\",
        r"\midrule",
        r"mini & $-3.10$ & 12 \\",
        r"a \& b & 0.00 & 7 \\",
        r" &  & 110 \\",
        r"\bottomrule",
        r"\end{tabular}",
    ]


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("&", r"\&"),
        ("%", r"\%"),
        ("$", r"\$"),
        ("#", r"\#"),
        ("_", r"\_"),
        ("{", r"\{"),
        ("}", r"\}"),
        ("~", r"\textasciitilde{}"),
        ("^", r"\textasciicircum{}"),
        ("\\", r"\textbackslash{}"),
        (r"\b_{~}", r"\textbackslash{}b\_\{\textasciitilde{}\}"),
    ],
)
def test_latex_escapes_special_characters_once(text, cell):
    assert rf"{cell} \\" in latex_table(("value",), column_of([text])).splitlines()


@pytest.mark.parametrize(
    ("text", "cell"),
    [("-3.10", "$-3.10$"), ("-7", "$-7$"), ("3.10", "3.10"), ("a-b", "a-b"), ("-3 to -1", "-3 to -1"), ("-", "-")],
)
def test_latex_sets_the_minus_of_a_number_and_no_other_dash(text, cell):
    assert rf"{cell} \\" in latex_table(("value",), column_of([text])).splitlines()


def test_latex_of_a_table_without_a_row_has_its_head():
    lines = latex_table(COLUMNS, []).splitlines()
    assert lines[1:4] == [r"\begin{tabular}{lll}", r"\toprule", r"model & gap & n\_images \\"]
    assert lines[4:] == [r"\midrule", r"\bottomrule", r"\end{tabular}"]


def test_html_shows_every_cell_as_it_is():
    assert cells_of(html_table(COLUMNS, ROWS)) == [list(COLUMNS), *([row[name] for name in COLUMNS] for row in ROWS)]


@pytest.mark.parametrize("text", ["<b>bold</b>", "a & b &amp; c", "say \"yes\" or 'no'", "<script>alert(1)</script>"])
def test_html_escapes_what_would_be_markup(text):
    table = html_table((text,), [{text: text}])
    assert cells_of(table) == [[text], [text]]
    assert not any(mark in table for mark in ("<b>", "<script", " & ", '"yes"', "'no'"))


def test_html_puts_numbers_and_their_heads_to_the_right():
    lines = ElementTree.fromstring(html_table(COLUMNS, ROWS)).iter("tr")
    assert {tuple(cell.get("class") for cell in line) for line in lines} == {(None, "number", "number")}


def test_html_of_a_table_without_a_row_is_its_head():
    assert cells_of(html_table(COLUMNS, [])) == [list(COLUMNS)]


def test_line_parts_groups_that_share_their_first_two_columns():
    names = [("a", "x"), ("a", "x"), ("a", "y"), ("b", "y"), ("b", "y")]
    rows = [{"corpus": corpus, "model": model, "n": str(i)} for i, (corpus, model) in enumerate(names)]
    assert marked_lines(("corpus", "model", "n"), rows) == [2, 3]


def test_no_line_parts_rows_that_share_nothing():
    rows = [{"corpus": "a", "model": f"mini_{i}", "n": "1"} for i in range(4)]
    assert marked_lines(("corpus", "model", "n"), rows) == []


def test_no_line_stands_above_a_single_group():
    rows = [{"corpus": "a", "model": "mini", "n": str(i)} for i in range(3)]
    assert marked_lines(("corpus", "model", "n"), rows) == []


def test_page_explains_its_columns_without_marks_of_markdown():
    page = html_page("a table", ("n",), [{"n": "1"}], {"n": ("queries of `models.use` at *rank 1*, < 5", "count")})
    legend = page.partition("<h2>Columns</h2>")[2].partition("</body>")[0]
    assert cells_of(legend.strip()) == [
        ["column", "meaning", "unit"],
        ["n", "queries of models.use at rank 1, < 5", "count"],
    ]


def test_page_escapes_its_title():
    page = html_page("<i>a & b</i>", ("n",), [], {})
    assert page.count("&lt;i&gt;a &amp; b&lt;/i&gt;") == 2
    assert "<i>" not in page


def test_page_needs_no_other_file():
    page = html_page("a table", COLUMNS, ROWS, dict.fromkeys(COLUMNS, ("a meaning", "count")))
    assert re.findall(r"<script|<link|<img|<iframe|\bsrc=|\bhref=|url\(|@import|https?:", page) == []


def test_explanations_are_read_by_table_and_column(manual):
    assert read_explanations(manual) == {
        "main": Explanation(
            "recall by split",
            {
                "model": ("name in `models.definitions`", ""),
                "recall": ("share of queries with *rank 1*", "%"),
                "recall_low": ("share of queries with *rank 1*", "%"),
                "n": ("queries", "count"),
            },
        ),
        "gap": Explanation(
            "seen against unseen",
            {"model": ("as above", ""), "n": ("as above", ""), "gap": ("unseen less seen", "points")},
        ),
        "counts": Explanation("what was dropped", {"reason": ("why", "")}),
    }


def test_section_without_a_table_explains_no_column(tmp_path):
    path = tmp_path / "tables.md"
    path.write_text("## a.csv: to come\nA text.\n\n## b.csv: here\n| column | meaning |\n|---|---|\n| n | queries |\n")
    assert [len(explanation.columns) for explanation in read_explanations(str(path)).values()] == [0, 1]


def test_columns_are_explained_in_the_order_of_the_table(manual):
    explained = explain_columns(read_explanations(manual), "main", ("n", "recall_low"))
    assert list(explained.items()) == [
        ("n", ("queries", "count")),
        ("recall_low", ("share of queries with *rank 1*", "%")),
    ]


def test_as_above_is_what_an_earlier_table_says(manual):
    explained = explain_columns(read_explanations(manual), "gap", ("model", "n", "gap"))
    assert explained == {
        "model": ("name in `models.definitions`", ""),
        "n": ("queries", "count"),
        "gap": ("unseen less seen", "points"),
    }


def test_column_that_its_table_leaves_out_is_what_an_earlier_table_says(manual):
    explained = explain_columns(read_explanations(manual), "gap", ("recall",))
    assert explained == {"recall": ("share of queries with *rank 1*", "%")}


def test_table_named_by_models_has_the_section_of_its_kind():
    explanations = {"comparison": Explanation("two models", {"n": ("sets", "")}), "gap": Explanation("", {})}
    assert section_of("comparison_mini_clip_2_other") == "comparison"
    assert explain_columns(explanations, section_of("comparison_a_b"), ("n",)) == {"n": ("sets", "")}
    assert section_of("gap_a_b") == "gap_a_b"


def test_own_explanation_of_a_table_comes_first():
    explanations = {"main": Explanation("", {"n": ("queries", "")}), "gap": Explanation("", {"n": ("pairs", "")})}
    assert explain_columns(explanations, "gap", ("n",)) == {"n": ("pairs", "")}


@pytest.mark.parametrize("column", ["recal", "gap"], ids=["nowhere explained", "explained by a later table only"])
def test_column_without_an_explanation_is_named(manual, column):
    with pytest.raises(ValueError, match=rf"does not explain the column '{column}' of main\.csv"):
        explain_columns(read_explanations(manual), "main", ("n", column))


def test_as_above_without_an_earlier_table_is_no_explanation():
    explanations = {"main": Explanation("", {"n": ("as above", "")}), "gap": Explanation("", {"n": ("pairs", "")})}
    with pytest.raises(ValueError, match=r"does not explain the column 'n' of main\.csv"):
        explain_columns(explanations, "main", ("n",))


def test_table_without_a_section_is_named(manual):
    with pytest.raises(ValueError, match=r"has no section '## recalls\.csv: \.\.\.'"):
        explain_columns(read_explanations(manual), "recalls", ("n",))


def test_manual_has_a_section_for_every_table_and_no_other(repository):
    assert set(read_explanations(str(repository / "docs" / "tables.md"))) == set(TABLES)


@pytest.mark.parametrize("table", TABLES)
def test_manual_explains_every_column_of_a_table(repository, table):
    explanations = read_explanations(str(repository / "docs" / "tables.md"))
    explained = explain_columns(explanations, table, TABLES[table])
    assert list(explained) == list(TABLES[table])
    assert [column for column, (meaning, _) in explained.items() if not meaning] == []


@pytest.mark.parametrize("table", TABLES)
def test_manual_explains_no_column_that_a_table_lacks(repository, table):
    explanations = read_explanations(str(repository / "docs" / "tables.md"))
    assert [column for column in explanations[table].columns if column not in TABLES[table]] == []


class Twins:
    """Writes the formats of a table of the small manual."""

    def __init__(self, folder, manual):
        self.folder, self.manual = folder, manual

    def write(self, columns, rows, table="gap"):
        with open(self.folder / "table.csv", "w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([columns, *rows])
        formats = [str(self.folder / name) for name in FORMATS]
        write_table_formats(str(self.folder / "table.csv"), self.manual, *formats, table)

    def read(self):
        """Returns the texts of the Markdown, the LaTeX and the page that are there."""
        return [path.read_text(encoding="utf-8") for path in map(self.folder.joinpath, FORMATS) if path.exists()]


@pytest.fixture
def formats(tmp_path, manual):
    return Twins(tmp_path, manual)


def test_all_twins_show_the_table(formats):
    formats.write(("model", "gap"), [("mini, small", "-3.10"), ('"large"', "0.50")])
    markdown, latex, page = formats.read()
    assert markdown.splitlines()[2:] == ["| mini, small | -3.10 |", '| "large" | 0.50 |']
    assert latex.splitlines()[5:7] == [r"mini, small & $-3.10$ \\", r'"large" & 0.50 \\']
    table = page.partition("</h1>")[2].partition("<h2>")[0]
    assert cells_of(table.strip()) == [["model", "gap"], ["mini, small", "-3.10"], ['"large"', "0.50"]]


def test_page_has_title_and_meanings_of_the_manual(formats):
    formats.write(("model", "gap"), [("mini", "-3.10")])
    page = formats.read()[2]
    assert "<h1>gap.csv: seen against unseen</h1>" in page
    assert cells_of(page.partition("</h2>")[2].partition("</body>")[0].strip())[1:] == [
        ["model", "name in models.definitions", ""],
        ["gap", "unseen less seen", "points"],
    ]


def test_table_without_a_row_has_every_format(formats):
    formats.write(("model", "gap"), [])
    markdown, latex, page = formats.read()
    assert markdown == "| model | gap |\n| --- | --- |\n"
    assert r"model & gap \\" in latex
    assert "<th>gap</th>" in page


def test_letters_beyond_ascii_survive(formats):
    formats.write(("model", "gap"), [("café → 猫", "0.50")])
    assert ["café → 猫" in text for text in formats.read()] == [True, True, True]


@pytest.mark.parametrize(("table", "columns"), [("gap", ("model", "gab")), ("gaps", ("model", "gap"))])
def test_table_that_is_not_explained_gets_no_format(formats, table, columns):
    with pytest.raises(ValueError, match=r"docs/tables\.md"):
        formats.write(columns, [("mini", "-3.10")], table)
    assert formats.read() == []


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("a|b", "a\\|b"),
        ("a\\|b", "a\\\\\\|b"),
        ("<script>alert(1)</script>", "&lt;script>alert(1)&lt;/script>"),
        ("![x](https://h/?a)", "!\\[x](https://h/?a)"),
        ("[x][1]", "\\[x][1]"),
        ("[0.1, 0.2]", "[0.1, 0.2]"),
        ("`a` *b* mini_clip", "\\`a\\` \\*b\\* mini_clip"),
        ("a\n\n# b\r| c", "a # b \\| c"),
    ],
)
def test_markdown_escapes_what_would_be_a_cell_markup_or_a_link(text, cell):
    assert markdown_table(["a"], [{"a": text}]).splitlines()[2] == f"| {cell} |"


def test_latex_of_a_text_is_no_command_and_no_paragraph():
    assert r"\textbackslash{}input\{/etc/passwd\} \%" in latex_table(["a"], [{"a": "\\input{/etc/passwd}\n\n%"}])
