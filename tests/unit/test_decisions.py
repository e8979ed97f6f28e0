"""Every ASSUME in the code stands in docs/decisions.md."""

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
SCRIPTS = REPOSITORY / "workflow" / "scripts"
CODE = sorted([*SCRIPTS.rglob("*.py"), *(REPOSITORY / "workflow" / "rules").glob("*.smk"), REPOSITORY / "Snakefile"])
ASSUMPTION = re.compile(r"# ASSUME:((?:[\s#]*[^\s#]+){5})")
"""The first five words, which may run on to the next line."""


def assumptions(text: str) -> list[str]:
    """Returns the first five words of each ASSUME."""
    return [" ".join(found.replace("#", " ").split()) for found in ASSUMPTION.findall(text)]


def module_name(path: Path) -> str:
    """Returns the dotted name of a module, or the name of a rule file or script."""
    inside = path.relative_to(SCRIPTS) if path.is_relative_to(SCRIPTS) else path
    return ".".join(inside.with_suffix("").parts) if len(inside.parts) == 2 else path.name


def found_in_code() -> list[tuple[str, str]]:
    return [(module_name(path), words) for path in CODE for words in assumptions(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize(("module", "words"), found_in_code())
def test_assumption_stands_in_the_decisions(module, words):
    lines = (REPOSITORY / "docs" / "decisions.md").read_text(encoding="utf-8").splitlines()
    assert any(f"`{module}`" in line and words in line for line in lines), f"{module}: ASSUME: {words} ..."


def test_no_assumption_is_overlooked():
    n_written = sum(path.read_text(encoding="utf-8").count("ASSUME") for path in CODE)
    assert n_written == len(found_in_code()) > 0


def test_words_may_run_on_to_the_next_line():
    assert assumptions("x = 1\n    # ASSUME: a long\n    # sentence on two lines") == ["a long sentence on two"]
