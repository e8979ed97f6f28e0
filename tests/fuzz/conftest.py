"""How many inputs a fuzz test is given: 1,000 of a kind, always the same; 10,000 new ones with --run-slow.

What fails is printed as a whole example; put it into a plain test of the module that failed.
"""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.configuration import set_hypothesis_home_dir

PHASES = [phase for phase in Phase if phase != Phase.explain]
SHARED = {"phases": PHASES, "deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}
settings.register_profile("tenth", max_examples=1_000, derandomize=True, **SHARED)
settings.register_profile("full", max_examples=10_000, print_blob=True, **SHARED)


def pytest_configure(config):
    settings.load_profile("full" if config.getoption("--run-slow") else "tenth")


@pytest.fixture(scope="session", autouse=True)
def hypothesis_home(tmp_path_factory):
    """Keeps hypothesis from leaving a folder in the repository."""
    set_hypothesis_home_dir(tmp_path_factory.mktemp("hypothesis"))


@pytest.fixture(scope="module", autouse=True)
def no_logs() -> Iterator[None]:
    """Keeps a thousand warnings from hiding what failed."""
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, request) -> Path:
    """A folder that all inputs of a module share; each writes its files anew."""
    return tmp_path_factory.mktemp(request.module.__name__.rpartition(".")[2])
