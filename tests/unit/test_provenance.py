import pytest

from crepebench.provenance import code_digest, imported_modules

SCRIPT = '''"""Builds foils."""
from crepebench.job import start_log
from crepebench.foils import build

if __name__ == "__main__":
    start_log(snakemake)
    build(snakemake.input.graphs)
'''
FOILS = '''"""Foils."""

from crepebench import words


def build(path):
    """Builds foils."""
    # from the table
    return words.replace(path, "a")
'''
WORDS = '''"""Words."""


def replace(path, word):
    """Replaces a word."""
    return path + word
'''


def digest(folder, script=SCRIPT, foils=FOILS, words=WORDS, job="def start_log(snakemake): pass\n", **others):
    """Writes a folder of scripts and returns the digest of its one script."""
    package = folder / "crepebench"
    package.mkdir(parents=True)
    modules = {"__init__": "", "foils": foils, "words": words, "job": job, **others}
    for name, text in modules.items():
        (package / f"{name}.py").write_text(text)
    (folder / "build_foils.py").write_text(script)
    return code_digest(str(folder), "build_foils.py")


def test_equal_code_in_another_folder_has_the_same_digest(tmp_path):
    assert digest(tmp_path / "a") == digest(tmp_path / "elsewhere" / "b")


@pytest.mark.parametrize(
    "change",
    [
        {"foils": FOILS.replace("# from the table", "# from elsewhere, see the paper")},
        {
            "foils": FOILS.replace(
                '"""Builds foils."""', '"""Builds all foils.\n\n    Args:\n        path: a file.\n    """'
            )
        },
        {"words": WORDS.replace('"""Words."""', '"""Words and more."""')},
        {"words": WORDS.replace("path + word", "(\n        path\n        + word\n    )")},
        {"script": SCRIPT.replace('"""Builds foils."""', '"""Builds the foils of a region."""')},
    ],
    ids=["comment", "docstring", "module docstring of an imported module", "layout", "docstring of the script"],
)
def test_comments_docstrings_and_layout_do_not_count(tmp_path, change):
    assert digest(tmp_path / "old") == digest(tmp_path / "new", **change)


@pytest.mark.parametrize(
    "change",
    [
        {"script": SCRIPT.replace("input.graphs", "input.regions")},
        {"foils": FOILS.replace('"a"', '"an"')},
        {"words": WORDS.replace("path + word", "word + path")},
        {"words": "LIMIT = 3\n" + WORDS},
    ],
    ids=["script", "imported module", "module that a module imports", "constant of that module"],
)
def test_every_change_of_meaning_counts(tmp_path, change):
    assert digest(tmp_path / "old") != digest(tmp_path / "new", **change)


def test_text_that_is_no_docstring_counts(tmp_path):
    words = WORDS.replace("return path + word", 'text = "old"\n    return text')
    assert digest(tmp_path / "old", words=words) != digest(tmp_path / "new", words=words.replace("old", "new"))


def test_module_that_is_not_imported_does_not_count(tmp_path):
    assert digest(tmp_path / "old", plots="A = 1\n") == digest(tmp_path / "new", plots="A = 2\n")


def test_module_that_opens_logs_does_not_count(tmp_path):
    job = "from crepebench import plots\n\n\ndef start_log(snakemake):\n    plots.draw()\n"
    assert digest(tmp_path / "old") == digest(tmp_path / "new", job=job, plots="A = 1\n")


def test_new_import_counts_with_all_that_it_imports(tmp_path):
    words = "from crepebench.tables import A\n" + WORDS
    first = digest(tmp_path / "a", words=words, tables="import crepebench.plots\nA = 1\n", plots="B = 1\n")
    second = digest(tmp_path / "b", words=words, tables="import crepebench.plots\nA = 1\n", plots="B = 2\n")
    assert len({digest(tmp_path / "old"), first, second}) == 3


@pytest.mark.parametrize("statement", ["import crepebench.words", "import crepebench.words as w"])
def test_parent_package_of_a_dotted_import_counts(tmp_path, statement):
    script = f"{statement}\n"
    first = digest(tmp_path / "a", script=script, __init__="")
    assert digest(tmp_path / "b", script=script, __init__="A = 1\n") != first
    assert set(imported_modules(tmp_path / "a", tmp_path / "a" / "build_foils.py")) == {
        "crepebench",
        "crepebench.words",
    }


def test_edit_in_place_is_seen(tmp_path):
    before = digest(tmp_path / "a")
    (tmp_path / "a" / "crepebench" / "words.py").write_text(WORDS.replace("path + word", "word"))
    assert code_digest(str(tmp_path / "a"), "build_foils.py") != before


def test_modules_that_import_each_other_are_found_once(tmp_path):
    digest(tmp_path / "a", words="from crepebench import foils\n" + WORDS)
    found = imported_modules(tmp_path / "a", tmp_path / "a" / "build_foils.py")
    assert set(found) == {"crepebench", "crepebench.foils", "crepebench.words"}


def test_missing_script_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"build_foils\.py"):
        code_digest(str(tmp_path), "build_foils.py")


def test_every_script_of_the_workflow_has_a_digest_of_its_own(repository):
    scripts = repository / "workflow" / "scripts"
    names = [path.name for path in sorted(scripts.glob("*.py"))]
    assert len({code_digest(str(scripts), name) for name in names}) == len(names) > 0
