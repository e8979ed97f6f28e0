"""A benchmark run from its files to the table, with an encoder that a test brings."""

import csv
import json
from pathlib import Path

from crepebench.benchmark_blind import audit_benchmark
from crepebench.benchmark_building import build_benchmark_items
from crepebench.benchmark_scores import score_benchmark
from crepebench.benchmark_tables import tabulate_benchmarks
from crepebench.features import extract_features
from crepebench.schema import BENCHMARK_ITEMS, read_table

MANIFESTS = Path(__file__).parents[2] / "resources" / "benchmarks"
NAMES = ("items", "images", "sets", "missing", "accounting")


def build(folder, reader, files, roots, missing="error", options=None):
    """Builds the items of a benchmark in a folder, and returns the rows of their table."""
    paths = [str(folder / name) for name in NAMES]
    cfg = {"reader": reader, "options": options or {}, "roots": roots, "missing_images": missing}
    build_benchmark_items(files, *paths, str(folder / "frames"), "bench", json.dumps(cfg))
    return read_table(paths[0], BENCHMARK_ITEMS).to_pylist()


def measure(folder, reader, encoder, monkeypatch, with_audit=True):
    """Encodes, scores and tabulates what `build` has built, and returns the table by subset and metric."""
    monkeypatch.setattr("crepebench.features.load_model", lambda *_: encoder)
    paths = {name: str(folder / name) for name in (*NAMES, "index.parquet", "scores", "blind", "count")}
    cfg = {"batch_size": 64, "image_pipeline": "exact", "precision_of_store": "float32", "model": {}}
    cfg = json.dumps({**cfg, "store": str(folder / "store")})
    extract_features(
        [paths["sets"]], paths["images"], [], paths["index.parquet"], paths["count"], [], "model", "bench_bench", cfg
    )
    cfg = json.dumps({"model": {}})
    score_benchmark(paths["items"], paths["index.parquet"], paths["scores"], paths["count"], "model", "bench", cfg)
    audit = json.dumps({"folds": 2 if with_audit else 10**6, "seed": 0, "language_model": ""})
    audit_benchmark(paths["items"], paths["blind"], paths["count"], "bench", audit)
    models, manifests = [("model", {"seen_images": []})], [str(path) for path in MANIFESTS.glob("*.yaml")]
    cfg = {"evaluation": {"n_resamples": 20, "seed": 0}, "models": models, "benchmarks": [("bench", reader)]}
    table = str(folder / "benchmarks.csv")
    tabulate_benchmarks([paths["items"]], [paths["scores"]], [paths["blind"]], manifests, [], table, json.dumps(cfg))
    with open(table, newline="", encoding="utf-8") as file:
        return {(row["subset"], row["metric"]): row for row in csv.DictReader(file)}
