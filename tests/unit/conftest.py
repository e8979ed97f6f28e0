"""Fixtures that the tests of the foils share."""

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
