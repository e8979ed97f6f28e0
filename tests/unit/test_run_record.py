import hashlib
import json
import os
import re
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from xml.etree import ElementTree

import pytest

from crepebench.run_record import (
    RULE_COLUMNS,
    code_version,
    file_hash,
    find_seeds,
    package_versions,
    read_benchmarks,
    rule_rows,
    write_run_record,
)

HEAD = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time"
ENDED = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC).timestamp()
SHA256_OF_ABC = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
CONFIG = {
    "graphs": {"parts": 2, "note": "</pre><b>\"a\" & 'b'</b>"},
    "icons": {"seed": 5},
    "models": {"seeds": [1, 2]},
}


def write_benchmark(folder, rule, job, *measures, ended=ENDED):
    """Writes the benchmark file of a job as Snakemake does: a line of seconds and peak memory for each repeat."""
    path = folder / rule / f"{job}.tsv"
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{seconds}\t0:00:00\t{memory}\t9.9\t8.8\t7.7\t0.00\t0.00\t0.00\t0" for seconds, memory in measures]
    path.write_text("".join(f"{line}\n" for line in (HEAD, *lines)))
    os.utime(path, (ended, ended))


def test_seeds_are_found_by_dotted_key():
    config = {
        "corpora": {"definitions": {"a": {"seed": 0, "shards": 3}}},
        "models": {"seeds": [1, 2, 3], "n_seeds": 3, "use": ["seed"]},
        "seed": 7,
        "seeded": {"by": "seed"},
    }
    assert find_seeds(config) == {"corpora.definitions.a.seed": 0, "models.seeds": [1, 2, 3], "seed": 7}


def test_config_without_a_seed_has_none():
    assert find_seeds({"graphs": {"parts": 2}, "regions": {}}) == {}


def test_installed_version_is_reported_and_not_the_pinned_one(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("# Pinned: numpy==9\n\n# checks\npytest==0.0.1\nruff==0.0.2 # comment\npillow>=1\n")
    assert package_versions(str(path)) == {"pytest": version("pytest"), "ruff": version("ruff")}


def test_package_that_is_not_installed_has_no_version(tmp_path):
    path = tmp_path / "requirements.txt"
    path.write_text("no-such-package.of_ours==1.0\npytest==0.0.1\n")
    assert package_versions(str(path)) == {"no-such-package.of_ours": None, "pytest": version("pytest")}


def test_every_package_of_the_requirements_is_reported(repository):
    path = repository / "requirements.txt"
    pinned = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    assert [line.partition("==")[0] for line in pinned] == list(package_versions(str(path)))


@pytest.fixture
def git_folder(tmp_path, monkeypatch):
    """A folder in no repository, and git as it is without a user's settings."""
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def git(folder, *arguments):
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    done = subprocess.run(["git", "-C", folder, *identity, *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit_a_file(folder):
    git(folder, "init", "-q")
    (folder / "code.py").write_text("A = 1\n")
    git(folder, "add", "code.py")
    git(folder, "commit", "-q", "-m", "First")


def test_code_outside_git_has_no_version(git_folder):
    assert code_version(git_folder) == {"commit": None, "changed": None}


def test_code_has_no_version_where_git_is_not_installed(git_folder, monkeypatch):
    commit_a_file(git_folder)
    monkeypatch.setenv("PATH", "")
    assert code_version(git_folder) == {"commit": None, "changed": None}


def test_version_of_committed_code_is_its_commit(git_folder):
    commit_a_file(git_folder)
    commit = git(git_folder, "rev-parse", "HEAD")
    assert re.fullmatch(r"[0-9a-f]{40}", commit)
    assert code_version(git_folder) == {"commit": commit, "changed": False}


@pytest.mark.parametrize("name", ["code.py", "new.py"])
def test_file_that_differs_from_the_commit_is_a_change(git_folder, name):
    commit_a_file(git_folder)
    (git_folder / name).write_text("A = 2\n")
    assert code_version(git_folder)["changed"] is True


def test_change_is_seen_from_a_folder_below(git_folder):
    commit_a_file(git_folder)
    (git_folder / "code.py").write_text("A = 2\n")
    (git_folder / "package").mkdir()
    assert code_version(git_folder / "package")["changed"] is True


def test_benchmarks_are_read_rule_by_rule(tmp_path):
    write_benchmark(tmp_path, "score_sets", "mini", (4.5, 300.25))
    write_benchmark(tmp_path, "build_foils", "part-1", (20.0, 512.0), ended=ENDED + 1)
    write_benchmark(tmp_path, "build_foils", "part-0", (10.25, 256.5))
    assert list(read_benchmarks(str(tmp_path))) == [
        ("build_foils", 10.25, 256.5, ENDED),
        ("build_foils", 20.0, 512.0, ENDED + 1),
        ("score_sets", 4.5, 300.25, ENDED),
    ]


def test_every_repeat_of_a_job_is_read(tmp_path):
    write_benchmark(tmp_path, "build_foils", "a", (2.0, 10.0), (3.0, 11.0))
    assert [row[1:3] for row in read_benchmarks(str(tmp_path))] == [(2.0, 10.0), (3.0, 11.0)]


@pytest.mark.parametrize("memory", ["NA", "-", ""])
def test_memory_that_snakemake_does_not_know_is_not_known(tmp_path, memory):
    write_benchmark(tmp_path, "build_foils", "a", (2.0, memory))
    assert list(read_benchmarks(str(tmp_path))) == [("build_foils", 2.0, None, ENDED)]


@pytest.mark.parametrize(("seconds", "peak"), [(0.99, None), (1.0, 3.5)])
def test_memory_of_a_job_of_less_than_a_second_is_not_known(tmp_path, seconds, peak):
    write_benchmark(tmp_path, "build_foils", "a", (seconds, 3.5))
    assert list(read_benchmarks(str(tmp_path))) == [("build_foils", seconds, peak, ENDED)]


def test_run_without_benchmarks_has_no_rows(tmp_path):
    assert rule_rows(read_benchmarks(str(tmp_path / "benchmarks"))) == []


def test_rule_has_the_sum_and_the_longest_of_its_jobs():
    jobs = [("build", 10.26, 256.4, ENDED), ("build", 30.5, 511.6, ENDED - 9), ("build", 0.5, None, ENDED - 5)]
    assert rule_rows(iter(jobs)) == [
        {
            "rule": "build",
            "jobs": 3,
            "seconds": 41.3,
            "longest_job_seconds": 30.5,
            "peak_memory_mb": 512,
            "last_ended": "2026-03-01T12:00:30+00:00",
        }
    ]


def test_rules_are_counted_apart():
    jobs = [("build", 1.0, 5.0, ENDED), ("score", 2.0, 7.0, ENDED), ("build", 3.0, 6.0, ENDED)]
    rows = rule_rows(iter(jobs))
    assert [(row["rule"], row["jobs"], row["seconds"], row["peak_memory_mb"]) for row in rows] == [
        ("build", 2, 4.0, 6),
        ("score", 1, 2.0, 7),
    ]


def test_peak_is_not_known_where_no_job_was_sampled():
    (row,) = rule_rows(iter([("build", 0.4, None, ENDED), ("build", 0.9, None, ENDED)]))
    assert row["peak_memory_mb"] is None


def test_rows_have_the_columns_of_the_page():
    (row,) = rule_rows(iter([("build", 1.0, 5.0, ENDED)]))
    assert tuple(row) == RULE_COLUMNS


def test_hash_of_a_file_is_its_sha_256(tmp_path):
    (tmp_path / "file").write_bytes(b"abc")
    assert file_hash(str(tmp_path / "file")) == SHA256_OF_ABC


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A folder with the inputs of a run, its record and its page."""
    folder = tmp_path_factory.mktemp("run")
    resources = folder / "resources" / "project" / "resources"
    (resources / "words").mkdir(parents=True)
    for path in (folder / "recalls.csv", folder / "gaps.csv", resources / "words" / "list.csv"):
        path.write_bytes(b"abc" if path.name != "gaps.csv" else b"")
    for name in ("mini", "other"):
        identity = {"model": name, "identity": f"identity of {name}", "store": "elsewhere"}
        (folder / f"{name}.identity.json").write_text(json.dumps(identity))
    (folder / "requirements.txt").write_text("pytest==0.0.1\nno-such-package-of-ours==1.0\n")
    write_benchmark(folder / "benchmarks", "build_foils", "a", (10.0, 256.0))
    write_benchmark(folder / "benchmarks", "score_sets", "a", (0.5, "NA"))
    corpus = {"corpus": "mine", "corpus_id": "cc12m:1", "format": "cc12m", "release": None, "n_files": 2, "bytes": 30}
    (folder / "corpus.json").write_text(json.dumps({**corpus, "files": []}))
    write_run_record(
        table_paths=[str(folder / "recalls.csv"), str(folder / "gaps.csv")],
        identity_paths=[str(folder / f"{name}.identity.json") for name in ("mini", "other")],
        resource_paths=[str(resources / "words" / "list.csv")],
        file_index_paths=[],
        corpus_paths=[str(folder / "corpus.json")],
        requirements_path=str(folder / "requirements.txt"),
        benchmarks_path=str(folder / "benchmarks"),
        record_path=str(folder / "run.json"),
        page_path=str(folder / "run.html"),
        cfg=json.dumps(CONFIG),
    )
    return folder


@pytest.fixture
def record(run):
    return json.loads((run / "run.json").read_text(encoding="utf-8"))


@pytest.fixture
def sections(run):
    """The content of each section of the page, by its heading."""
    parts = re.split(r"<h2>(.*?)</h2>", (run / "run.html").read_text(encoding="utf-8").partition("</body>")[0])
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def rows_of(section):
    """Returns the rows of a table of the page below its head."""
    lines = list(ElementTree.fromstring(section.strip()).iter("tr"))[1:]
    return [[cell.text or "" for cell in line] for line in lines]


def test_record_says_what_the_run_rests_on(record):
    assert set(record) == {
        "written",
        "workflow",
        "python",
        "platform",
        "processor",
        "cores",
        "packages",
        "models",
        "seeds",
        "config_sha256",
        "config",
        "code_digests",
        "resources_sha256",
        "tables_sha256",
        "visual_genome_files",
        "corpora",
        "rules",
    }
    assert set(record["workflow"]) == {"commit", "changed"}


def test_record_has_the_hash_of_every_table(record):
    assert record["tables_sha256"] == {"recalls.csv": SHA256_OF_ABC, "gaps.csv": hashlib.sha256(b"").hexdigest()}


def test_record_names_committed_inputs_from_the_folder_resources_on(record):
    assert record["resources_sha256"] == {"resources/words/list.csv": SHA256_OF_ABC}


def test_record_holds_the_config_with_hash_and_seeds(record):
    assert record["config"] == CONFIG
    assert record["config_sha256"] == hashlib.sha256(json.dumps(CONFIG).encode()).hexdigest()
    assert record["seeds"] == {"icons.seed": 5, "models.seeds": [1, 2]}


def test_record_has_the_identity_of_every_model(record):
    assert record["models"] == {"mini": "identity of mini", "other": "identity of other"}


def test_record_has_a_digest_of_every_script(record, repository):
    scripts = [path.name for path in sorted((repository / "workflow" / "scripts").glob("*.py"))]
    assert list(record["code_digests"]) == scripts
    assert len(set(record["code_digests"].values())) == len(scripts)


def test_record_has_a_row_for_every_rule_that_left_a_benchmark(record):
    assert [(row["rule"], row["seconds"], row["peak_memory_mb"]) for row in record["rules"]] == [
        ("build_foils", 10.0, 256),
        ("score_sets", 0.5, None),
    ]


def test_record_says_when_it_was_written(record, run):
    written = datetime.fromisoformat(record["written"]).timestamp()
    assert written == pytest.approx((run / "run.json").stat().st_mtime, abs=60)


def test_page_shows_rules_and_leaves_unknown_memory_empty(sections):
    ended = "2026-03-01T12:00:30+00:00"
    assert rows_of(sections["Time and memory"]) == [
        ["build_foils", "1", "10.0", "10.0", "256", ended],
        ["score_sets", "1", "0.5", "0.5", "", ended],
    ]


def test_page_shows_packages_models_seeds_and_hashes(sections):
    assert rows_of(sections["Packages"]) == [["pytest", version("pytest")], ["no-such-package-of-ours", ""]]
    assert rows_of(sections["Models"]) == [["mini", "identity of mini"], ["other", "identity of other"]]
    assert rows_of(sections["Seeds"]) == [["icons.seed", "5"], ["models.seeds", "[1, 2]"]]
    assert rows_of(sections["Tables"])[0] == ["recalls.csv", SHA256_OF_ABC]
    assert rows_of(sections["Committed inputs"]) == [["resources/words/list.csv", SHA256_OF_ABC]]


def test_page_says_where_and_when(sections, record):
    facts = dict(rows_of(sections["Where and when"]))
    assert (facts["written"], facts["python"], facts["cores"]) == (
        record["written"],
        record["python"],
        str(record["cores"]),
    )
    assert facts["workflow commit"] == (record["workflow"]["commit"] or "")


def test_page_shows_the_config_as_text(sections):
    shown = ElementTree.fromstring(sections["Config"].strip())
    assert shown.tag == "pre"
    assert json.loads(shown.text) == CONFIG
    assert "<b>" not in sections["Config"]


def test_page_needs_no_other_file(run):
    page = (run / "run.html").read_text(encoding="utf-8")
    assert re.findall(r"<script|<link|<img|<iframe|\bsrc=|\bhref=|url\(|@import|https?:", page) == []
