"""What re-runs after a change of config or code, read from dry runs on a finished tiny run."""

import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config

from crepebench.plan import parse_job_counts

from .conftest import ROOT, TINY, assert_nothing_to_do, assert_ok, edited, run_snakemake

MANUAL = ROOT / "docs" / "reruns.md"
HEAD = """# What re-runs when the config changes

Written by `make reruns` from dry runs of a finished run of tests/data/tiny.yaml; a test compares it. One row is one
change of one key. ● all jobs of the stage run again, ○ some of them (other corpora or models stay as they are), empty:
nothing runs. A stage also runs again where only its input is made anew. Features run again cheaply: what the feature
store holds is not encoded again.

"""
CANDIDATE_RULES = {
    *("build_test_keys", "build_first_wave", "parse_candidates", "build_next_wave", "build_candidate_counts"),
    *("build_draws", "build_candidate_vocabulary"),
}
"""Rules of the stage of vocabularies that run in other modes than the default."""
STAGES = {
    "WordNet": ["build_wordnet"],
    "icons: images": ["build_icons_visual_genome"],
    "icons: corpora": ["build_icons_corpus"],
    "icons: training": ["train_icons_model"],
    "Visual Genome": ["build_visual_genome"],
    "regions": ["filter_regions"],
    "graphs": ["parse_regions", "build_region_graphs", "filter_graphs"],
    "corpora": ["validate_corpus"],
    "vocabularies": ["parse_corpus", "build_vocabulary", *CANDIDATE_RULES],
    "splits": ["build_splits"],
    "foils": ["build_word_pool", "build_foils", "score_foils", "filter_foils"],
    "subgraphs": ["sample_subgraphs", "filter_subgraphs"],
    "captions": ["build_captions"],
    "productivity foils": ["build_productivity_foils", "score_entailment"],
    "retrieval sets": ["build_retrieval_sets"],
    "features": ["extract_features"],
    "scores": ["score_retrieval_sets"],
    "parser quality": ["tabulate_parser_quality"],
    "audit": ["audit_retrieval_sets", "tabulate_blind_baselines"],
    "tables": [
        *("tabulate_systematicity", "tabulate_productivity", "tabulate_raw_retrieval", "tabulate_accounting"),
        "write_table_formats",
    ],
    "published figures": [
        *("tabulate_imagenet_correlation", "plot_imagenet_correlation", "tabulate_published_comparison"),
        "tabulate_dataset_statistics",
    ],
    "plots": [
        *("plot_systematicity", "plot_systematicity_gap", "plot_productivity", "plot_accounting", "plot_contact_sheet"),
    ],
    "gallery": ["build_gallery"],
    "run record": ["write_run_record"],
}
CHANGES = {
    "wordnet.install": False,
    "icons.seed": 2,
    "icons.n_images": 81,
    "icons.n_captions": 241,
    "icons.held_out_kinds": 1,
    "icons.epochs": 2,
    "icons.control.model": "mini_clip_yfcc15m",
    "visual_genome.source": "visual_genome",
    "visual_genome.missing_images": "stop",
    "visual_genome.download": "nothing",
    "visual_genome.sample": {"share": 0.5},
    "regions.min_area": 30_000,
    "parser.spacy_model": "en_core_web_md",
    "parser_review.n_captions": 10,
    "atoms.attributes": "all",
    "graphs.source": "visual_genome",
    "graphs.min_atoms": 3,
    "graphs.duplicates": "dataset",
    "graphs.parts": 2,
    "corpora.use": ["mini_cc12m", "mini_yfcc15m"],  # with NEEDED
    "corpora.shards": 2,
    "vocabularies.mode": "candidates",
    "splits.min_count": 2,
    "thinning.seed": 2,
    "splits.matched": True,
    "systematicity.max_queries": 50,
    "foils.protocol": "paper",
    "foils.seed": 2,
    "foils.min_pool_count": 2,
    "foils.max_lost": 0.2,
    "foils.plausibility": "masked",  # with NEEDED
    "foils.parts": 2,
    "productivity.seed": 2,
    "productivity.max_queries": 20,
    "productivity.n_foils": 4,
    "captioner.backend": "openai",  # with NEEDED
    "captioner.concurrency": 2,
    "entailment.backend": "nli",  # with NEEDED
    "models.use": ["mini_clip_cc12m", "mini_clip_yfcc15m"],
    "models.seeds": [1, 2],
    "features.batch_size": 32,
    "stores.features": "elsewhere",
    "audit.folds": 3,
    "evaluation.n_resamples": 200,
    "evaluation.raw_pool.systematicity": 9,
    "evaluation.cross_corpus": True,
    "plots.seed": 2,
    "review.set_share": 0.5,
    "gallery.max_sets": 10,
    "data.folder": "released",
    "own_captions.table": "mine.csv",
    "benchmarks.missing_images": "skip",
    "negation.training.epochs": 3,
    "clic.training.epochs": 3,
}
NEEDED = {
    "corpora.use": {"models.use": ["mini_clip_cc12m", "mini_clip_yfcc15m"]},
    "foils.plausibility": {"foils.language_model": "some_model"},
    "captioner.backend": {"captioner.model": "some_model", "captioner.base_url": "http://127.0.0.1:9"},
    "entailment.backend": {"entailment.model": "some_model"},
}
"""Changes without which a change would be refused."""
LIBRARY = Path("workflow") / "scripts" / "crepebench"
UPSTREAM_OF_SETS = {"build_icons_corpus", "train_icons_model", "parse_corpus", "parse_regions", "build_visual_genome"}
EDITS = {  # file, old text, new text, rules that run again for it, rules that neither it nor their input concerns
    "a rule of the foils": (
        LIBRARY / "foils.py",
        "class FoilBuilder:",
        "class FoilBuilder:\n    n_rounds = 3\n",
        {"build_foils"},
        {*UPSTREAM_OF_SETS, "filter_graphs", "build_splits"},
    ),
    "a new column of the splits": (
        LIBRARY / "schema.py",
        '        ("split", pa.string()),  # SC',
        '        ("split", pa.string()),\n        ("reason", pa.string()),  # SC',
        {"build_splits", "audit_retrieval_sets"},
        {*UPSTREAM_OF_SETS, "build_retrieval_sets", "extract_features", "score_retrieval_sets"},
    ),
    "the filter of graphs": (
        LIBRARY / "region_parsing.py",
        "def drop_reason(",
        "def drop_reason(*_):\n    return None\n\n\ndef drop_reason(",
        {"filter_graphs"},
        UPSTREAM_OF_SETS,
    ),
    "the rule for ties": (
        LIBRARY / "scores.py",
        "/ 2.0",
        "/ 3.0",
        {"score_retrieval_sets", "audit_retrieval_sets", "tabulate_raw_retrieval"},
        {*UPSTREAM_OF_SETS, "build_retrieval_sets", "extract_features"},
    ),
    "a script": (
        Path("workflow") / "scripts" / "plot_systematicity.py",
        "    start_log(snakemake)",
        "    start_log(snakemake)\n    str()",
        {"plot_systematicity"},
        {*UPSTREAM_OF_SETS, "score_retrieval_sets", "tabulate_systematicity", "plot_systematicity_gap"},
    ),
    "the module that opens logs": (LIBRARY / "job.py", "buffering=1", "buffering=-1", set(), set()),
    "a comment": (LIBRARY / "schema.py", "IMAGES = ", "# one row an image\nIMAGES = ", set(), set()),
    "a docstring": (LIBRARY / "foils.py", '"""', '"""And more. ', set(), set()),
}


def overlay_of(changes: dict, folder: Path) -> Path:
    """Writes the tiny overlay with other values of some keys."""
    config = yaml.safe_load(TINY.read_text(encoding="utf-8"))
    for key, value in changes.items():
        nested = value
        for name in reversed(key.split(".")):
            nested = {name: nested}
        update_config(config, nested)
    path = folder / f"{'-'.join(changes) or 'none'}.yaml"
    path.write_text(yaml.safe_dump(config), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def planned(tiny_run, checkout, tmp_path_factory) -> dict[str, dict[str, int]]:
    """Jobs that would run after each change, by rule; "" is a first run, in an empty folder."""
    folder = tmp_path_factory.mktemp("overlays")
    for name in ("image_data", "objects", "attributes", "relationships", "region_descriptions"):
        (tiny_run / "visual_genome").mkdir(exist_ok=True)
        (tiny_run / "visual_genome" / f"{name}.json").touch()
    for name in ("images.zip", "images2.zip"):
        (tiny_run / "visual_genome" / name).touch()

    def plan(change: str) -> dict[str, int]:
        where = tiny_run if change else folder / "empty"
        changes = {change: CHANGES[change], **NEEDED.get(change, {})} if change else {}
        done = run_snakemake(where, "-n", "--quiet", "rules", overlay=overlay_of(changes, folder), root=checkout)
        assert_ok(done)
        return parse_job_counts(done.stdout)

    changes = ["", *CHANGES]
    with ThreadPoolExecutor(2) as pool:
        found = dict(zip(changes, pool.map(plan, changes), strict=True))
    shutil.rmtree(tiny_run / "visual_genome")
    return found


def stage_mark(stage: str, jobs: dict[str, int], first: dict[str, int]) -> str:
    n_jobs, n_first = (sum(counts.get(rule, 0) for rule in STAGES[stage]) for counts in (jobs, first))
    return "" if n_jobs == 0 else "●" if n_jobs >= n_first else "○"


def reruns_page(planned: dict[str, dict[str, int]]) -> str:
    lines = [["change", *STAGES], ["---"] + [":-:"] * len(STAGES)]
    for change, value in CHANGES.items():
        shown = yaml.safe_dump(value, default_flow_style=True).removesuffix("...\n").strip()
        lines.append([f"`{change}: {shown}`", *(stage_mark(stage, planned[change], planned[""]) for stage in STAGES)])
    return HEAD + "".join(f"| {' | '.join(line)} |\n" for line in lines)


def test_the_page_on_re_runs_is_what_dry_runs_say(planned, request):
    page = reruns_page(planned)
    if request.config.getoption("--write-docs"):
        MANUAL.write_text(page, encoding="utf-8")
    assert MANUAL.read_text(encoding="utf-8") == page, "call `make reruns` and look at what changed"


def test_the_page_covers_every_block_of_the_config_and_every_rule_of_a_run(planned):
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text(encoding="utf-8"))
    assert {change.partition(".")[0] for change in CHANGES} == set(config)
    chosen = {"build_region_graphs", "score_foils", "score_entailment", *CANDIDATE_RULES}
    assert {rule for rules in STAGES.values() for rule in rules} - chosen == set(planned[""]) - {"all"}
    assert "build_region_graphs" in planned["graphs.source"] and "parse_regions" not in planned["graphs.source"]
    in_candidates = {"build_test_keys", "build_first_wave", "parse_candidates", "build_candidate_vocabulary"}
    assert in_candidates <= set(planned["vocabularies.mode"])
    assert "parse_corpus" not in planned["vocabularies.mode"]


def test_a_bound_of_the_regions_leaves_icons_corpora_training_and_vocabularies(planned):
    rules = set(planned["regions.min_area"])
    assert {"filter_regions", "parse_regions", "build_splits", "build_retrieval_sets", "extract_features"} <= rules
    assert not rules & {
        "build_icons_visual_genome",
        "build_icons_corpus",
        "train_icons_model",
        "build_visual_genome",
        "parse_corpus",
        "build_vocabulary",
    }


def test_the_number_of_resamples_re_runs_the_table_and_no_feature(planned):
    assert "tabulate_systematicity" in planned["evaluation.n_resamples"]
    assert "extract_features" not in planned["evaluation.n_resamples"]


def test_another_seed_of_training_keeps_the_first_training(planned):
    assert planned["models.seeds"]["train_icons_model"] == planned[""]["train_icons_model"]
    assert "parse_corpus" not in planned["models.seeds"]


def test_a_finished_run_has_nothing_to_do(tiny_run, checkout, tmp_path):
    assert_nothing_to_do(run_snakemake(tiny_run, "-n", "--cores", "2", root=checkout))
    assert_nothing_to_do(run_snakemake(tiny_run, "-n", "--cores", "1", root=checkout))
    assert_nothing_to_do(run_snakemake(tiny_run, "-n", "results/tables/systematicity.csv", root=checkout))


def test_another_working_directory_of_the_caller_re_runs_nothing(tiny_run, checkout, tmp_path):
    command = ["snakemake", "-n", "-s", str(checkout / "Snakefile"), "-d", str(tiny_run)]
    done = subprocess.run([*command, "--configfile", str(TINY)], cwd=tmp_path, capture_output=True, text=True)
    assert_nothing_to_do(done)


def directly_triggered(done: subprocess.CompletedProcess) -> set[str]:
    """Rules that run because of their own params, not because of their input."""
    assert_ok(done)
    found = re.search(r"^Rules with provenance triggered jobs: (.*)$", done.stdout + done.stderr, re.MULTILINE)
    return set(re.split(r"[,\s]+", found[1])) if found else set()


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_re_runs_exactly_the_rules_that_depend_on_it(tiny_run, checkout, edit):
    path, old, new, rules, untouched = EDITS[edit]
    with edited(checkout / path, old, new):
        done = run_snakemake(tiny_run, "-n", root=checkout)
    assert directly_triggered(done) == rules
    assert not untouched & set(parse_job_counts(done.stdout))
    if not rules:
        assert_nothing_to_do(done)


def test_touched_files_re_run_nothing(tiny_run, checkout):
    for path in [checkout / "Snakefile", *(checkout / "workflow").rglob("*"), *(checkout / "config").rglob("*")]:
        path.touch()
    for path in (checkout / "resources").rglob("*"):
        path.touch()
    assert_nothing_to_do(run_snakemake(tiny_run, "-n", root=checkout))


def test_a_switch_of_branches_and_back_re_runs_nothing(tiny_run, checkout):
    def git(*arguments: str) -> None:
        identity = ["-c", "user.name=test", "-c", "user.email=test@example.org"]
        subprocess.run(["git", *identity, *arguments], cwd=checkout, check=True, capture_output=True)

    git("init", "--quiet", "--initial-branch", "main")
    git("add", "--all")
    git("commit", "--quiet", "--message", "all")
    git("checkout", "--quiet", "-b", "other")
    path, old, new, *_ = EDITS["the rule for ties"]
    text = (checkout / path).read_text(encoding="utf-8")
    (checkout / path).write_text(text.replace(old, new), encoding="utf-8")
    git("commit", "--quiet", "--all", "--message", "other ties")
    planned = run_snakemake(tiny_run, "-n", root=checkout)
    git("checkout", "--quiet", "main")
    assert "score_retrieval_sets" in directly_triggered(planned)
    assert_nothing_to_do(run_snakemake(tiny_run, "-n", root=checkout))
