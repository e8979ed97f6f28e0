"""Estimate jobs, time, disk and missing files of a configured run before it starts.

Snakemake itself says which jobs would run. What they cost comes from committed tables: seconds and bytes per image or
caption, measured or scaled as their notes say. The estimate is for CPUs and means to be right within a factor of two or
three; it says so.
"""

import csv
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from crepebench.caption_counts import count_corpus
from crepebench.manifests import missing_message, read_manifest
from crepebench.model_definitions import ICONS, read_definition, read_models, used_models

REAL, ANY = "visual_genome", "any"
"""Worlds of the cost table, beside ICONS."""
PUBLISHED_IMAGES = 108_077
"""Rows of Visual Genome's image_data."""
PUBLISHED_CAPTIONS = {
    "cc12m": 12_400_000,
    "yfcc15m_clip": 14_829_396,
    "yfcc15m_declip": 15_388_848,
    "laion400m": 413_000_000,
}
"""Captions of the published corpora, by format, for files that are not there yet."""
NO_COST = ("all", "plan")
"""Rules that do no work."""
NO_IMAGES = """
No place of images is there: sets can be built, but extract_features will fail. Name a target such as
results/tables/blind_baselines.csv, or bring the images.
"""
JOB_COUNT = re.compile(r"^(\w+)\s+(\d+)$")


def parse_job_counts(text: str) -> dict[str, int]:
    """Reads the number of jobs of each rule from what a dry run prints; empty where nothing has to be done."""
    lines = text.partition("Job stats:")[2].splitlines()
    counts: dict[str, int] = {}
    for line in lines:
        found = JOB_COUNT.match(line.strip())
        if found and found[1] == "total":
            break
        if found:
            counts[found[1]] = int(found[2])
    return counts


def count_units(
    config: Mapping, corpus_paths: Mapping[str, Sequence[str]], relative_costs: Mapping[str, float]
) -> dict:
    """Returns how many units of work a run holds, by unit.

    Args:
        config: the whole config.
        corpus_paths: files of each used corpus; empty for one that is made here.
        relative_costs: cost of an architecture's features, ViT-B-32 being 1.
    """
    icons, sample = config["icons"], config["visual_genome"]["sample"] or {}
    n_images = icons["n_images"] if config["visual_genome"]["source"] == ICONS else PUBLISHED_IMAGES
    n_images = min(n_images, len(sample["ids"])) if "ids" in sample else round(n_images * sample.get("share", 1))
    n_captions = 0
    for corpus, paths in corpus_paths.items():
        definition = read_definition(config, "corpora", corpus)
        if definition["source"] == ICONS:
            n_captions += icons["n_captions"]
        elif all(Path(path).is_file() for path in paths):
            n_captions += count_corpus(paths, definition)
        else:
            n_captions += PUBLISHED_CAPTIONS.get(definition["format"], 0)
    models = read_models(config)
    used = [models[name] for name in used_models(config)]
    n_trained = sum(model["source"] == ICONS for model in used)
    return {
        "image": n_images,
        "caption": n_captions,
        "caption_epoch": icons["n_captions"] * icons["epochs"] * n_trained,
        "model_image": n_images * len(used),
        "weighted_model_image": n_images
        * sum(relative_costs.get(model.get("architecture", ""), 1.0) for model in used),
    }


def plan_rows(
    to_run: Mapping[str, int], in_all: Mapping[str, int], costs: Mapping[str, dict], units: Mapping[str, float]
) -> list[dict]:
    """Returns jobs, CPU seconds and bytes of each rule that has jobs to run.

    Args:
        to_run: jobs to run now, by rule.
        in_all: jobs of the whole workflow, by rule.
        costs: rows of the cost table, by rule.
        units: number of units, by unit.

    Raises:
        ValueError: the cost table lacks a rule.
    """
    rows = []
    for rule, n_jobs in to_run.items():
        if rule in NO_COST:
            continue
        if rule not in costs:
            raise ValueError(f"the cost table has no row for the rule {rule!r}")
        cost = costs[rule]
        n_units = units[cost["unit"]] * n_jobs / max(in_all.get(rule, 0), n_jobs)
        rows.append(
            {
                "rule": rule,
                "jobs": n_jobs,
                "seconds": n_jobs * float(cost["seconds_per_job"]) + n_units * float(cost["seconds_per_unit"]),
                "bytes": n_jobs * float(cost["bytes_per_job"]) + n_units * float(cost["bytes_per_unit"]),
                "basis": cost["source"],
            }
        )
    return rows


def plan_text(rows: Sequence[dict], n_cores: int) -> str:
    """Returns the plan as text for a terminal."""
    if not rows:
        return "Nothing has to be done: every table and picture is there and up to date.\n"
    lines = [f"{'rule':<28}{'jobs':>6}{'CPU time':>12}{'disk':>10}  basis"]
    lines += [
        f"{row['rule']:<28}{row['jobs']:>6}{format_seconds(row['seconds']):>12}{format_bytes(row['bytes']):>10}  "
        + row["basis"]
        for row in rows
    ]
    seconds = sum(row["seconds"] for row in rows)
    longest = max(row["seconds"] / row["jobs"] for row in rows)
    n_jobs, n_bytes = (sum(row[key] for row in rows) for key in ("jobs", "bytes"))
    lines.append(f"{'total':<28}{n_jobs:>6}{format_seconds(seconds):>12}{format_bytes(n_bytes):>10}")
    wall = format_seconds(max(seconds / n_cores, longest))
    lines.append(
        f"\nOn {n_cores} cores: {wall} or more. These are estimates for CPUs: expect a factor of two either way,"
    )
    lines.append("and much less time for extract_features on a GPU.")
    return "\n".join(lines) + "\n"


def missing_text(missing: Sequence[str]) -> str:
    """Returns a list of missing files for a terminal, "" if there are none."""
    if not missing:
        return ""
    head = f"\nFiles that are not there yet and that the run cannot make ({len(missing)}):"
    return "\n".join([head, *(f"  {path}" for path in missing)]) + "\n"


def format_seconds(seconds: float) -> str:
    """Returns a duration in the unit that suits it."""
    for limit, size, unit in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h"), (float("inf"), 86_400, "days")):
        if seconds < limit:
            return f"{seconds / size:.3g} {unit}"
    raise ValueError(f"no duration: {seconds}")


def format_bytes(n_bytes: float) -> str:
    """Returns a size in MB, GB or TB (powers of ten)."""
    for limit, size, unit in ((1e9, 1e6, "MB"), (1e12, 1e9, "GB"), (float("inf"), 1e12, "TB")):
        if n_bytes < limit:
            return f"{n_bytes / size:.3g} {unit}"
    raise ValueError(f"no size: {n_bytes}")


def read_costs(path: str, world: str) -> dict[str, dict]:
    """Reads the rows of the cost table that hold in a world (ICONS or REAL) or in any, by rule."""
    with open(path, newline="", encoding="utf-8") as file:
        return {row["rule"]: row for row in csv.DictReader(file) if row["world"] in (world, ANY)}


def read_relative_costs(path: str) -> dict[str, float]:
    """Reads what features cost with each architecture, ViT-B-32 being 1."""
    with open(path, newline="", encoding="utf-8") as file:
        return {row["architecture"]: float(row["relative_cost"]) for row in csv.DictReader(file)}


def dry_run(snakefile: str, profile: str, folder: str, cfg: str, *options: str) -> dict[str, int]:
    """Asks Snakemake how many jobs of each rule it would run.

    Raises:
        RuntimeError: it refuses; holds what it says.
    """
    with TemporaryDirectory() as temporary:
        config_path = Path(temporary) / "config.json"
        config_path.write_text(cfg, encoding="utf-8")
        command = [sys.executable, "-m", "snakemake", "--snakefile", snakefile, "--directory", folder]
        command += ["--workflow-profile", profile, "--configfile", str(config_path), "--dry-run", "--nolock"]
        done = subprocess.run([*command, "--quiet", "rules", *options], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"snakemake cannot plan this run:\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return parse_job_counts(done.stdout + done.stderr)


def count_jobs(
    snakefile: str, profile: str, cfg: str, present: Sequence[str], missing: Sequence[str]
) -> tuple[dict, dict]:
    """Returns the jobs to run now and those of the whole workflow.

    The whole workflow is counted in a folder with nothing but links to the files that are there, and empty files in
    place of those that are missing. Where files are missing, Snakemake would refuse to plan, and nothing can have been
    made from them; so all jobs are to run.

    Raises:
        RuntimeError: Snakemake refuses, or the folder cannot be made; says why.
    """
    with TemporaryDirectory() as folder:
        lay_out(folder, present, missing)
        in_all = dry_run(snakefile, profile, folder, cfg)
    return (in_all if missing else dry_run(snakefile, profile, ".", cfg)), in_all


def lay_out(folder: str, present: Sequence[str], missing: Sequence[str]) -> None:
    """Fills a folder with links to files and folders that are there, and with empty files for those that are not.

    Absolute paths that are there need no link. Nothing outside the folder is touched.

    Raises:
        RuntimeError: a path cannot stand in the folder: it is missing and absolute, leads out of it, or lies in a
            folder that is there.
    """
    root = Path(folder).resolve()
    for path in sorted(path for path in present if not Path(path).is_absolute()):
        target = root / path
        if not target.exists():  # else it lies in a folder that is linked already
            _make_parent(root, path).symlink_to(Path(path).resolve())
    for path in missing:
        _make_parent(root, path).touch()


def _make_parent(root: Path, path: str) -> Path:
    """Returns a relative path in a folder after making the folders above it."""
    target = root / path
    if not target.resolve().is_relative_to(root):
        raise RuntimeError(f"the jobs cannot be counted: a run with {path} cannot be laid out elsewhere")
    target.parent.mkdir(parents=True, exist_ok=True)
    return target


def show_plan(
    source_paths: Sequence[str],
    image_paths: Sequence[str],
    other_paths: Sequence[str],
    downloads: Mapping[str, str],
    corpus_paths: Mapping[str, Sequence[str]],
    costs_path: str,
    architectures_path: str,
    snakefile: str,
    profile: str,
    n_cores: int,
    cfg: str,
) -> None:
    """Writes the plan of a run to standard output.

    Args:
        source_paths: files that the user brings.
        image_paths: places of images that are there or will be.
        other_paths: further files that a run reads if they are there.
        downloads: files that the run would fetch, each with the manifest that lists it.
        corpus_paths: files of each used corpus.
        costs_path: resources/plan/costs.csv.
        architectures_path: resources/plan/architectures.csv.
        snakefile: the Snakefile.
        profile: folder of a profile that writes plain lines.
        n_cores: cores of the run.
        cfg: the whole config as JSON.
    """
    config = json.loads(cfg)
    world = ICONS if config["visual_genome"]["source"] == ICONS else REAL
    units = count_units(config, corpus_paths, read_relative_costs(architectures_path))
    paths = [*source_paths, *image_paths, *other_paths]
    missing = [path for path in source_paths if not Path(path).exists()]
    present = [path for path in dict.fromkeys(paths) if Path(path).exists()]
    entries = {manifest: read_manifest(manifest) for manifest in set(downloads.values())}
    fetched = [(path, entries[manifest][Path(path).name]) for path, manifest in downloads.items()]
    try:
        to_run, in_all = count_jobs(snakefile, profile, cfg, present, missing)
    except RuntimeError as error:
        sys.stdout.write(f"{error}\n{missing_text(missing)}")
    else:
        rows = plan_rows(to_run, in_all, read_costs(costs_path, world), units)
        for row in rows:
            if row["rule"] == "download_file":
                row["bytes"] += sum(entry.n_bytes or 0 for _, entry in fetched)
        sys.stdout.write(plan_text(rows, n_cores) + missing_text(missing))
    if fetched:
        sys.stdout.write(f"\nTo be fetched: {missing_message(fetched)}\n")
    if not image_paths:
        sys.stdout.write(NO_IMAGES)
