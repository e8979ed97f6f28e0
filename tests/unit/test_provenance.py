import ast
import shutil

import pytest

from crepebench.provenance import code_digest, reached_statements

DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef

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
        {"words": WORDS.replace("word):", "word, n=LIMIT):").replace("\n\n\n", "\nLIMIT = 3\n\n\n")},
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
    script = "from crepebench import job\n\njob.start_log(snakemake)\n"
    assert digest(tmp_path / "a", script=script) == digest(tmp_path / "b", script=script, job=job, words="A = 1\n")


def test_edit_in_place_is_seen(tmp_path):
    before = digest(tmp_path / "a")
    (tmp_path / "a" / "crepebench" / "words.py").write_text(WORDS.replace("path + word", "word"))
    assert code_digest(str(tmp_path / "a"), "build_foils.py") != before


def reached(folder, **modules):
    """Writes a folder of scripts and returns the names that its one script reaches, by module."""
    digest(folder, **modules)
    found = reached_statements(folder, "build_foils.py")
    names = {module: set().union(*(statement.binds for statement in found[module])) for module in found}
    assert names.pop("<script>") >= {"build"}
    return {module.removeprefix("crepebench."): bound for module, bound in names.items()}


@pytest.mark.parametrize(
    ("foils", "expected"),
    [
        ("A = 1\nB = 2\ndef build(p): return A\n", {"A", "build"}),
        (
            "def build(p): return first(p)\ndef first(p): return second(p)\ndef second(p): 1\ndef third(p): 1\n",
            {"build", "first", "second"},
        ),
        ("def build(p): return build(p - 1)\n", {"build"}),
        ("def build(p): return other(p)\ndef other(p): return build(p)\n", {"build", "other"}),
        ("import os\nimport re\ndef build(p): return os.sep\ndef other(p): return re.escape(p)\n", {"build", "os"}),
        ("from os import path, sep\ndef build(p): return path\ndef other(p): return sep\n", {"build", "path"}),
        ("class Pool: pass\nclass Pond: pass\ndef build(p: Pool): return p\n", {"build", "Pool"}),
        ("A: int = 1\nB: int = 2\nbuild = lambda p: A\n", {"build", "A"}),
        ("A, (B, *C) = 1, (2, 3)\nD, E = 4, 5\ndef build(p): return C\n", {"build", "A", "B", "C"}),
        ("A = [B for B in 'ab']\nB = 2\ndef build(p): return B\n", {"build", "B"}),
        ("A = (B := 2)\ndef build(p): return B\n", {"build", "A", "B"}),
        ("A = 1\ndef build(p):\n    global A\n    return 2\n", {"build", "A"}),
        ("A = 1\ndef set_a():\n    global A\n    A = 2\ndef build(p): return A\n", {"build", "A", "set_a"}),
        ("A = 1\ndef build(p):\n    A = p\n    return A\n", {"build", "A"}),
        ("A = 1\nB = 2\ndef build(p, a=A): return f'{B}'\n", {"build", "A", "B"}),
        ("from functools import cache\n@cache\ndef build(p): 1\n@cache\ndef other(p): 1\n", {"build", "cache"}),
    ],
    ids=[
        "constant",
        "chain of calls",
        "recursion",
        "calls in a circle",
        "import",
        "one name of an import",
        "annotation",
        "annotated assignment",
        "tuple",
        "comprehension variable",
        "walrus",
        "global",
        "global elsewhere",
        "local of the same name",
        "default and f-string",
        "decorator",
    ],
)
def test_a_name_brings_in_what_binds_it_and_what_that_uses(tmp_path, foils, expected):
    assert reached(tmp_path / "a", foils=foils) == {"foils": expected}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("A = 1\nA = 2\n", "A = 3\nA = 2\n"),
        ("A = [1]\nA += [2]\n", "A = [1]\nA += [3]\n"),
        ("A = {}\nA['b'] = 1\n", "A = {}\nA['b'] = 2\n"),
        ("A = {}\nA.update(b=1)\n", "A = {}\nA.update(b=2)\n"),
        ("A = {}\nfor b in 'ab':\n    A[b] = 1\n", "A = {}\nfor b in 'abc':\n    A[b] = 1\n"),
        ("for A in 'ab': pass\n", "for A in 'ac': pass\n"),
        ("with open('a') as A: pass\n", "with open('b') as A: pass\n"),
        (
            "try:\n    import os as A\nexcept ImportError:\n    A = 1\n",
            "try:\n    import os as A\nexcept ImportError:\n    A = 2\n",
        ),
        ("if True:\n    def A(): return 1\n", "if True:\n    def A(): return 2\n"),
        ("A = 1\ndel A\n", "A = 1\n"),
    ],
    ids=["twice", "+=", "item", "call", "filled in a loop", "loop variable", "with", "try", "if", "del"],
)
def test_every_statement_that_gives_a_name_its_value_counts(tmp_path, old, new):
    build = "def build(p): return A\n"
    assert digest(tmp_path / "old", foils=old + build) != digest(tmp_path / "new", foils=new + build)


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("print(A)\n", {"A"}),
        ("A['b'] = 1\n", {"A"}),
        ("A += 1\n", {"A"}),
        ("if A:\n    C = 1\n", {"A", "C"}),
        ("@register(A)\ndef c(): pass\n", {"A", "register", "c"}),
        ("class C:\n    print(A)\n", {"A", "C"}),
        ("from __future__ import annotations\n", {"annotations"}),
        ("import readline\n", {"readline"}),
        ("from crepebench.words import replace\n", {"replace"}),
    ],
    ids=["call", "item", "+=", "block", "decorator", "class with a call", "future", "import for its effect", "unused"],
)
def test_what_runs_on_loading_counts_without_being_named(tmp_path, statement, expected):
    foils = f"{statement}A = B = 1\ndef register(a): 1\ndef build(p): return p\ndef other(p): return p\n"
    found = reached(tmp_path / "a", foils=foils)["foils"]
    assert found == expected | {"build"} | ({"B"} if "A" in expected else set())


def test_what_runs_on_loading_counts_in_modules_that_are_only_imported_on_the_way(tmp_path):
    foils = "from crepebench import tables\nfrom crepebench.words import replace\n" + (
        "def build(p): return p\ndef other(p): return replace(p, tables.A)\n"
    )
    words = "from crepebench.plots import D\nA = {}\nB = 1\nA['b'] = B\ndef replace(p, w): return D\n"
    found = reached(tmp_path / "a", foils=foils, words=words, tables="A = 1\nprint(2)\n", plots="D = 1\nD.run()\n")
    assert found == {"foils": {"build"}, "words": {"A", "B"}, "tables": set(), "plots": {"D"}}


@pytest.mark.parametrize(
    ("foils", "expected"),
    [
        ("from crepebench.words import A\ndef build(p): return A\n", {"A"}),
        ("def build(p):\n    from crepebench.words import A\n    return A\n", {"A"}),
        ("from crepebench.words import A as B\ndef build(p): return B\n", {"A"}),
        ("from .words import A\ndef build(p): return A\n", {"A"}),
        ("from crepebench import words\ndef build(p): return words.A\n", {"A"}),
        ("from . import words\ndef build(p): return words.A\n", {"A"}),
        ("from crepebench import words as w\ndef build(p): return w.A.B\n", {"A"}),
        ("def build(p):\n    from crepebench import words\n    return words.A\n", {"A"}),
        ("import crepebench.words as w\ndef build(p): return w.A\n", {"A"}),
        ("import crepebench.words\ndef build(p): return crepebench.words.A\n", {"A"}),
        ("import crepebench\ndef build(p): return crepebench.words.A\n", {"A"}),
        ("from crepebench import words\ndef build(p): words.A = p\n", {"A"}),
        ("from crepebench import words\ndef build(p): return getattr(words, p)\n", {"A", "B", "c"}),
        ("from crepebench import words\ndef build(p): return words.A, words\n", {"A", "B", "c"}),
        ("import crepebench.words\ndef build(p): return vars(crepebench)\n", {"A", "B", "c"}),
        ("import crepebench as c\ndef build(p): return getattr(c, p)\n", {"A", "B", "c"}),
        ("import crepebench.words\ndef build(p): return p\n", {"A", "B", "c"}),
        ("from crepebench.words import *\ndef build(p): return A\n", {"A", "B", "c"}),
        ("from crepebench.words import missing\ndef build(p): return missing\n", {"A", "B", "c"}),
        ("from crepebench import words\ndef build(p): return words.missing\n", {"A", "B", "c"}),
    ],
)
def test_imports_lead_to_the_names_that_are_used(tmp_path, foils, expected):
    found = reached(tmp_path / "a", foils=foils, words="A = 1\nB = 2\ndef c(): return B\n")
    assert found["words"] == expected
    assert "build" in found["foils"]


def test_only_the_starred_module_counts_whole(tmp_path):
    foils = "from crepebench.words import *\ndef build(p): return replace(p, p)\ndef other(p): return p\n"
    found = reached(tmp_path / "a", foils=foils, words=WORDS + "A = 1\n")
    assert found == {"foils": {"build", "*"}, "words": {"replace", "A"}}


def test_a_module_that_is_passed_on_by_another_one_leads_on(tmp_path):
    words, tables = "from crepebench import tables\nB = 1\n", "A = 1\nB = 2\n"
    foils = "from crepebench import words\ndef build(p): return words.tables.A\n"
    found = reached(tmp_path / "a", foils=foils, words=words, tables=tables)
    assert found["words"] == {"tables"} and found["tables"] == {"A", "B"}  # words does not use it: its import counts
    foils = "from crepebench.words import tables as t\ndef build(p): return t.A\n"
    words += "def c(): return tables.A\n"
    assert reached(tmp_path / "b", foils=foils, words=words, tables=tables)["tables"] == {"A"}


@pytest.mark.parametrize("call", ["globals()[p]", "vars()", "eval(p)"])
def test_looking_into_the_own_module_makes_all_of_it_count(tmp_path, call):
    found = reached(tmp_path / "a", foils=f"A = 1\ndef build(p): return {call}\ndef other(p): return p\n")
    assert found == {"foils": {"A", "build", "other"}}


def test_a_name_that_is_a_definition_and_a_module_leads_to_both(tmp_path):
    package = "def foils(): return 1\n"
    script = "from crepebench import foils\nbuild = foils.build\n"
    found = reached(tmp_path / "a", script=script, __init__=package)
    assert found == {"crepebench": {"foils"}, "foils": {"build", "words"}, "words": {"replace"}}


def test_swapped_modules_count(tmp_path):
    old = "from crepebench import words as a, tables as b\ndef build(p): return a.f(), b.f()\n"
    new = "from crepebench import words as b, tables as a\ndef build(p): return a.f(), b.f()\n"
    modules = {"words": "def f(): return 1\n", "tables": "def f(): return 2\n"}
    assert digest(tmp_path / "old", foils=old, **modules) != digest(tmp_path / "new", foils=new, **modules)


def test_new_import_counts_with_all_that_it_imports(tmp_path):
    words = "from crepebench.tables import A\n" + WORDS
    first = digest(tmp_path / "a", words=words, tables="import crepebench.plots\nA = 1\n", plots="B = 1\n")
    second = digest(tmp_path / "b", words=words, tables="import crepebench.plots\nA = 1\n", plots="B = 2\n")
    assert len({digest(tmp_path / "old"), first, second}) == 3


@pytest.mark.parametrize("statement", ["import crepebench.words", "from crepebench.words import replace"])
def test_the_package_of_an_imported_module_counts_whole(tmp_path, statement):
    script = f"{statement}\n"
    first = digest(tmp_path / "a", script=script, __init__="")
    assert digest(tmp_path / "b", script=script, __init__="A = 1\n") != first


def test_modules_that_import_each_other_are_found_once(tmp_path):
    words = "from crepebench import foils\nA = 1\ndef replace(p, w): return foils.build\n"
    assert reached(tmp_path / "a", words=words) == {"foils": {"build", "words"}, "words": {"foils", "replace"}}


def test_the_script_counts_whole(tmp_path):
    assert digest(tmp_path / "old") != digest(tmp_path / "new", script=SCRIPT + "\n\ndef unused(): pass\n")


def test_missing_script_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"build_foils\.py"):
        code_digest(str(tmp_path), "build_foils.py")


def test_every_script_of_the_workflow_has_a_digest_of_its_own(repository):
    scripts = repository / "workflow" / "scripts"
    names = [path.name for path in sorted(scripts.glob("*.py"))]
    assert len({code_digest(str(scripts), name) for name in names}) == len(names) > 0


@pytest.fixture
def scripts(repository, tmp_path):
    """A copy of the scripts of the workflow."""
    ignored = shutil.ignore_patterns("__pycache__")
    return shutil.copytree(repository / "workflow" / "scripts", tmp_path / "scripts", ignore=ignored)


def digests(scripts):
    """Returns the digest of every script."""
    return {path.stem: code_digest(str(scripts), path.name) for path in sorted(scripts.glob("*.py"))}


EXPORTS = ("write_crepe_csv", "write_datasets_folder", "write_webdataset")


@pytest.mark.parametrize(
    ("module", "replacement", "expected"),
    [
        (
            "schema.py",
            ('("split", pa.string()),  # SC', '("split", pa.string()), ("count", pa.int64()),  # SC'),
            {
                *("build_splits", "audit_retrieval_sets", "tabulate_icons_control", "tabulate_systematicity"),
                *("tabulate_model_comparison", "tabulate_raw_retrieval", "tabulate_dataset_statistics"),
                *("build_released_splits", "tabulate_released", "build_gallery", "tabulate_clic"),
                *EXPORTS,
            },
        ),
        (
            "schema.py",
            ('("foils", pa.list_(FOIL)),', '("foils", pa.list_(FOIL)), ("note", pa.string()),'),
            {
                *("build_retrieval_sets", "extract_features", "score_retrieval_sets", "plot_contact_sheet"),
                *("tabulate_icons_control", "tabulate_systematicity", "tabulate_thinned_gap"),
                *("audit_retrieval_sets", "tabulate_productivity", "tabulate_dataset_statistics"),
                *("tabulate_model_comparison", "tabulate_raw_retrieval", "tabulate_released"),
                *("build_own_sets", "build_released_flags", "build_released_sets", "tabulate_own_captions"),
                *("build_gallery", "build_review_page", "build_benchmark_items"),
                *("build_negation_data", "build_released_negation_data", "tabulate_negation", "tabulate_clic"),
                *EXPORTS,
            },
        ),
        (
            "schema.py",
            (
                "    n_rows, batch, group, names = 0, [], [], set(schema.names)",
                "    n_rows, batch, group, names = 0, [], [], {*schema.names}",
            ),
            {
                *("build_region_graphs", "build_retrieval_sets", "build_splits", "build_visual_genome"),
                *("build_foils", "filter_foils", "parse_candidates", "score_foils"),
                *("extract_features", "filter_graphs", "filter_regions", "parse_corpus", "parse_regions"),
                *("score_retrieval_sets", "score_entailment", "sample_subgraphs", "filter_subgraphs"),
                *("build_captions", "build_productivity_foils", "tabulate_model_comparison", "build_own_sets"),
                *("build_released_flags", "build_released_sets", "build_released_splits", "write_datasets_folder"),
                *("build_benchmark_items", "score_benchmark", "audit_benchmark"),
                *("build_negation_data", "build_released_negation_data", "score_image_controls"),
                *("build_clic_data", "build_clic_candidates"),
            },
        ),
        ("foils.py", ("class FoilBuilder:\n", "class FoilBuilder:\n    note = 1\n"), {"build_foils", "build_own_sets"}),
        (
            "image_facts.py",
            ('ARTICLES = ("a", ', 'ARTICLES = ("a", "some", '),
            {
                *("build_foils", "build_region_graphs", "build_word_pool", "sample_subgraphs", "build_captions"),
                *("build_productivity_foils", "build_own_sets", "build_negation_benchmark"),
            },
        ),
        (
            "families.py",
            ("PRODUCTIVITY: {ATOM: (ATOM,), SWAP", "PRODUCTIVITY: {COMP: (COMP,), ATOM: (ATOM,), SWAP"),
            {
                *("build_foils", "filter_foils", "build_retrieval_sets", "audit_retrieval_sets"),
                *("tabulate_icons_control", "tabulate_productivity", "tabulate_systematicity", "tabulate_thinned_gap"),
                *("plot_contact_sheet", "build_productivity_foils", "tabulate_model_comparison"),
                *("plot_imagenet_correlation", "tabulate_imagenet_correlation", "tabulate_dataset_statistics"),
                *(
                    "build_own_sets",
                    "build_released_sets",
                    "tabulate_released",
                    "tabulate_human_review",
                    "build_gallery",
                    "tabulate_negation",
                    "tabulate_clic",
                ),
                *EXPORTS,
            },
        ),
        ("region_parsing.py", ("def filter_graphs(", "def filter_graphs(*, "), {"filter_graphs"}),
        (
            "parsing.py",
            ("def build_graph(", "def build_graph(*, "),
            {
                *("build_parser_review", "parse_candidates", "parse_corpus", "parse_regions"),
                *("tabulate_parser_quality", "build_own_sets", "build_review_page", "build_negation_data"),
            },
        ),
        ("settings.py", ("def check_names(", "def check_names(*, "), set()),
        ("provenance.py", ("def code_digest(", "def code_digest(*, "), {"write_run_record"}),
    ],
    ids=[
        "column of SPLITS",
        "column of RETRIEVAL_SETS",
        "write_table",
        "FoilBuilder",
        "constant of the foils",
        "constant that the tables import",
        "filter_graphs",
        "build_graph",
        "checks of the config",
        "the digest itself",
    ],
)
def test_an_edit_changes_the_digests_of_the_scripts_that_it_concerns(scripts, module, replacement, expected):
    before = digests(scripts)
    path = scripts / "crepebench" / module
    text = path.read_text()
    assert text.count(replacement[0]) == 1
    path.write_text(text.replace(*replacement))
    after = digests(scripts)
    assert {name for name in before if before[name] != after[name]} == expected


def test_comments_and_docstrings_in_every_module_change_no_digest(scripts):
    before = digests(scripts)
    for path in scripts.rglob("*.py"):
        lines = path.read_text().split("\n")
        for node in ast.walk(ast.parse("\n".join(lines))):
            if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
                line = node.body[0].lineno - 1
                lines[line] = lines[line].replace('"""', '"""Changed: ', 1)
        lines = [line + "  # new" if line == ")" else line for line in lines]
        path.write_text("\n".join(["# new", "", *lines, "", "# new", ""]))
    assert digests(scripts) == before


def reader_digests(scripts):
    """Returns the digest of every reader of benchmarks, which a rule has beside that of its script."""
    paths = sorted((scripts / "crepebench" / "benchmark_readers").glob("[!_]*.py"))
    names = [path.relative_to(scripts).with_suffix("").as_posix() for path in paths]
    return {name: code_digest(str(scripts), f"{name}.py") for name in names}


@pytest.mark.parametrize("step", [10, pytest.param(1, marks=pytest.mark.slow)])
def test_an_edit_of_any_function_changes_some_digest_unless_only_rule_files_call_it(scripts, step):
    before = digests(scripts) | reader_digests(scripts)
    reached = {name: reached_statements(scripts, f"{name}.py") for name in before}
    n_functions, unseen = 0, set()
    for path in sorted(scripts.glob("*/*.py")):
        module = f"{path.parent.name}.{path.stem}"
        likely = sorted(before, key=lambda name: module not in reached[name])
        text = path.read_text()
        for node in ast.parse(text).body:
            if isinstance(node, ast.FunctionDef):
                n_functions += 1
                if n_functions % step:
                    continue
                lines = text.split("\n")
                lines.insert(node.body[-1].lineno - 1, " " * node.body[-1].col_offset + "print()")
                path.write_text("\n".join(lines))
                if all(code_digest(str(scripts), f"{name}.py") == before[name] for name in likely):
                    unseen.add((module, node.name))
        path.write_text(text)
    assert n_functions > 150
    names = ("crepebench.image_files", "crepebench.job", "crepebench.manifests")
    only_in_rule_files = {
        *names,
        *("crepebench.settings", "crepebench.tuning_settings", "crepebench.model_definitions"),
        "crepebench.config_values",
        "crepebench.released_files",
        "crepebench.waves",
        "crepebench.weight_sources",
        "icons_world.settings",
    }
    found = {module for module, _ in unseen}
    assert found == only_in_rule_files if step == 1 else found <= only_in_rule_files
