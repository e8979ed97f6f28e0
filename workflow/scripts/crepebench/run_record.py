"""Record what a run rests on: versions, config, seeds, hashes of its tables, time and memory of every rule.

Times and memory are those of Snakemake's benchmark files. Snakemake samples memory, twice a second at first and every
30 seconds later, so a short peak may be missed; of a job of less than a second it knows nothing.
"""

import csv
import hashlib
import html
import json
import os
import platform
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from crepebench.files import atomic_path
from crepebench.pages import html_table, page
from crepebench.provenance import code_digest

SHORTEST_SAMPLED = 1.0
"""Seconds; the memory of shorter jobs is not known."""
FILE_COLUMNS = ("path", "version", "bytes", "sha256", "hash_status", "url")
CORPUS_COLUMNS = ("corpus", "corpus_id", "format", "release", "n_files", "bytes")
RULE_COLUMNS = ("rule", "jobs", "seconds", "longest_job_seconds", "peak_memory_mb", "last_ended")


def package_versions(requirements_path: str) -> dict[str, str | None]:
    """Returns the installed version of each package of a requirements file, None for one that is not installed."""
    versions: dict[str, str | None] = {}
    for name in re.findall(r"^([\w.-]+)==", Path(requirements_path).read_text(encoding="utf-8"), re.MULTILINE):
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            versions[name] = None
    return versions


def find_seeds(config: dict, prefix: str = "") -> dict[str, object]:
    """Returns every `seed` and `seeds` of a config, by its dotted key."""
    seeds: dict[str, object] = {}
    for key, value in config.items():
        if isinstance(value, dict):
            seeds |= find_seeds(value, f"{prefix}{key}.")
        elif key in ("seed", "seeds"):
            seeds[prefix + key] = value
    return seeds


def code_version(folder: Path) -> dict[str, object]:
    """Returns the commit of the workflow and whether files differ from it; None where git does not say."""

    def git(*arguments: str) -> str | None:
        try:
            return subprocess.run(
                ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True, timeout=60
            ).stdout.strip()
        except (OSError, subprocess.SubprocessError):
            return None

    changes = git("status", "--porcelain")
    return {"commit": git("rev-parse", "HEAD"), "changed": None if changes is None else bool(changes)}


def read_benchmarks(folder: str) -> Iterator[tuple[str, float, float | None, float]]:
    """Yields rule, seconds, peak memory (MB, None where not known) and time of the end of each job that left a file.

    Args:
        folder: results/benchmarks; a job's file is `<rule>/<job>.tsv`.
    """
    for path in sorted(Path(folder).glob("*/*.tsv")):
        with open(path, newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                seconds = float(row["s"])
                known = seconds >= SHORTEST_SAMPLED and row["max_rss"] not in ("NA", "-", "")
                yield path.parent.name, seconds, float(row["max_rss"]) if known else None, path.stat().st_mtime


def rule_rows(benchmarks: Iterator[tuple[str, float, float | None, float]]) -> list[dict]:
    """Returns one row per rule: number of jobs, their seconds, the longest job, peak memory, time of the last end."""
    by_rule = defaultdict(list)
    for rule, *measures in benchmarks:
        by_rule[rule].append(measures)
    rows = []
    for rule, jobs in by_rule.items():
        peaks = [peak for _, peak, _ in jobs if peak is not None]
        rows.append(
            {
                "rule": rule,
                "jobs": len(jobs),
                "seconds": round(sum(seconds for seconds, *_ in jobs), 1),
                "longest_job_seconds": round(max(seconds for seconds, *_ in jobs), 1),
                "peak_memory_mb": round(max(peaks)) if peaks else None,
                "last_ended": _time(max(ended for *_, ended in jobs)),
            }
        )
    return rows


def file_hash(path: str | Path) -> str:
    """Returns the SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_run_record(
    table_paths: Sequence[str],
    identity_paths: Sequence[str],
    resource_paths: Sequence[str],
    file_index_paths: Sequence[str],
    corpus_paths: Sequence[str],
    requirements_path: str,
    benchmarks_path: str,
    record_path: str,
    page_path: str,
    cfg: str,
) -> None:
    """Writes the record of a run as JSON and as a page.

    Args:
        table_paths: tables for people, as CSV.
        identity_paths: `.identity.json` of each model's features.
        resource_paths: committed inputs.
        file_index_paths: records of the files of Visual Genome, none of the icons world.
        corpus_paths: records of the corpora.
        requirements_path: requirements.txt.
        benchmarks_path: results/benchmarks.
        record_path: run.json to write.
        page_path: HTML to write.
        cfg: the whole config as JSON.
    """
    config = json.loads(cfg)
    scripts = Path(__file__).parents[1]
    identities = [json.loads(Path(path).read_text(encoding="utf-8")) for path in identity_paths]
    record = {
        "written": _time(datetime.now(UTC).timestamp()),
        "workflow": code_version(Path(__file__).parent),
        "python": sys.version.split()[0],
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "packages": package_versions(requirements_path),
        "models": {identity["model"]: identity["identity"] for identity in identities},
        "seeds": find_seeds(config),
        "config_sha256": hashlib.sha256(cfg.encode()).hexdigest(),
        "config": config,
        "code_digests": {path.name: code_digest(str(scripts), path.name) for path in sorted(scripts.glob("*.py"))},
        "resources_sha256": {_short_path(path): file_hash(path) for path in resource_paths},
        "visual_genome_files": [
            record for path in file_index_paths for record in json.loads(Path(path).read_text(encoding="utf-8"))
        ],
        "corpora": [json.loads(Path(path).read_text(encoding="utf-8")) for path in corpus_paths],
        "tables_sha256": {Path(path).name: file_hash(path) for path in table_paths},
        "rules": rule_rows(read_benchmarks(benchmarks_path)),
    }
    with atomic_path(record_path) as partial:
        Path(partial).write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    with atomic_path(page_path) as partial:
        Path(partial).write_text(record_page(record), encoding="utf-8")


def record_page(record: dict) -> str:
    """Returns the record as a page that needs no other file."""
    facts = {key: record[key] for key in ("written", "python", "platform", "processor", "cores", "config_sha256")}
    facts |= {f"workflow {key}": value for key, value in record["workflow"].items()}
    sections = [
        ("Time and memory", _table(record["rules"], RULE_COLUMNS)),
        ("Where and when", _pairs(facts)),
        ("Packages", _pairs(record["packages"])),
        ("Models", _pairs(record["models"], ("model", "identity of weights and preprocessing"))),
        ("Seeds", _pairs(record["seeds"])),
        ("Tables", _pairs(record["tables_sha256"], ("file", "SHA-256"))),
        ("Visual Genome", _table(record["visual_genome_files"], FILE_COLUMNS)),
        ("Corpora", _table(record["corpora"], CORPUS_COLUMNS)),
        ("Committed inputs", _pairs(record["resources_sha256"], ("file", "SHA-256"))),
        ("Code", _pairs(record["code_digests"], ("script", "digest of what it reaches"))),
        ("Config", f"<pre>{html.escape(json.dumps(record['config'], indent=2))}</pre>"),
    ]
    body = "\n".join(f"<h2>{title}</h2>\n{content}" for title, content in sections)
    return page("What this run rests on", body)


def _pairs(values: dict, columns: tuple[str, str] = ("what", "value")) -> str:
    return _table([dict(zip(columns, pair, strict=True)) for pair in values.items()], columns)


def _table(rows: Sequence[dict], columns: Sequence[str]) -> str:
    text = [{column: "" if row[column] is None else str(row[column]) for column in columns} for row in rows]
    return html_table(columns, text)


def _short_path(path: str) -> str:
    """Returns the end of a path, from the folder `resources` on."""
    parts = Path(path).parts
    return "/".join(parts[len(parts) - 1 - parts[::-1].index("resources") :])


def _time(timestamp: float) -> str:
    return datetime.fromtimestamp(timestamp, UTC).isoformat(timespec="seconds")
