"""Measure how fast texts and crops are encoded, sets ranked and features read, against the usual ways.

Run `python tests/benchmarks/extract_features.py` (or `make bench-features`); nothing is fetched: ViT-B-32 has random
weights. Ways that are compared take turns in one process, on one core without a GPU; ratios are medians of the ratios
of each round, in CPU time. `--quick` is for a first look. With `--device cuda` it measures a GPU instead
(`gpu_features.py`). The test suite leaves this out.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from feature_baselines import (
    decode_per_crop,
    encode_texts_at_full_length,
    evaluate_one_by_one,
)
from feature_inputs import Inputs, make_captions, random_clip
from gpu_features import measure_gpu
from ranks_and_shards import compare, measure_ranks, measure_shards

import crepebench.features
from crepebench.batch_sizes import AUTO, BatchSizer
from crepebench.crop_tensors import EXACT, FAST, CropTensors
from crepebench.encoding import TEXTS_ON_GPU, encode_texts
from crepebench.feature_index import text_id
from crepebench.feature_store import PRECISIONS, FeatureStore
from crepebench.images import decode_image
from crepebench.schema import SCORES, read_table
from crepebench.scores import score_retrieval_sets

ARCHITECTURE = "ViT-B-32"
NEAR = 1e-6
"""Scores that differ by less may take either order."""
N_BOXES, N_TEXTS = 5, 6
"""Crops of an image, and texts of a crop."""


def measure_texts(folder: Path, n_texts: int, rounds: int) -> list[dict]:
    """Compares texts sorted and trimmed with open_clip's encode_text at full length."""
    texts, model = make_captions(n_texts, 1), random_clip(ARCHITECTURE, "cpu")
    keys = [text_id(text) for text in texts]

    def encode(precision_model, name: str) -> np.ndarray:
        with TemporaryDirectory(dir=folder) as root:
            store = FeatureStore(root, name)
            encode_texts(texts, precision_model, store, BatchSizer(AUTO, TEXTS_ON_GPU))
            places = store.find(keys)
            return store.read([places[key] for key in keys])

    half = random_clip(ARCHITECTURE, "cpu", "bfloat16")
    results, seconds, ratios = compare(
        {
            "texts: encode_text at 77 tokens": lambda: encode_texts_at_full_length(model, texts),
            "texts: sorted and trimmed": lambda: encode(model, "float32"),
            "texts: sorted and trimmed, bfloat16 weights": lambda: encode(half, "bfloat16"),
        },
        rounds,
    )
    base = next(iter(results.values()))
    return [
        {"what": name, "per_second": n_texts / seconds[name], "ratio": ratios[name], "most_off": _most_off(base, found)}
        for name, found in results.items()
    ]


def _most_off(first: np.ndarray, other: np.ndarray) -> float:
    return float(np.abs(first - other).max())


def measure_crops(folder: Path, n_images: int, rounds: int) -> list[dict]:
    """Compares both pipelines with a decoding for each crop and the model's own transform; in steps of 1/255."""
    inputs = Inputs(folder / "crops", n_images, N_BOXES, 1, 2)
    model = random_clip(ARCHITECTURE, "cpu")

    def run(pipeline: str) -> Callable:
        tensors = CropTensors(model, pipeline)
        pairs = list(zip(inputs.jpegs, inputs.boxes, strict=True))
        return lambda: [tensor for data, boxes in pairs for tensor in tensors.of(decode_image(data).picture, boxes)]

    ways = {
        "crops: decoded for each, own transform": lambda: decode_per_crop(model.preprocess, inputs.jpegs, inputs.boxes)
    }
    results, seconds, ratios = compare({**ways, **{f"crops: {name}": run(name) for name in (EXACT, FAST)}}, rounds)
    steps = 255 * np.array(model.image_plan.std)[:, None, None]
    base = next(iter(results.values()))
    return [
        {
            "what": name,
            "per_second": len(inputs.crops) / seconds[name],
            "ratio": ratios[name],
            "most_off": max(float(np.abs((a - b).numpy() * steps).max()) for a, b in zip(base, found, strict=True)),
        }
        for name, found in results.items()
    ]


def run_stages(model, inputs: Inputs, pipeline: str) -> np.ndarray:
    """Runs both stages of the workflow on the inputs, from nothing; returns the rank of each set."""
    crepebench.features.load_model = lambda *_: model
    with TemporaryDirectory(dir=inputs.folder) as folder:
        index, scores, counts = (f"{folder}/{name}" for name in ("index.parquet", "scores.parquet", "counts.csv"))
        cfg = {"batch_size": AUTO, "image_pipeline": pipeline, "precision_of_store": "float32"}
        cfg |= {"store": f"{folder}/store", "model": {}}
        crepebench.features.extract_features(
            [inputs.sets_path], inputs.images_path, [], index, counts, [], "m", "systematicity", json.dumps(cfg)
        )
        score_retrieval_sets([inputs.sets_path], index, scores, counts, "m", "systematicity")
        return np.array(read_table(scores, SCORES)["rank"].to_pylist())


def measure_end_to_end(folder: Path, n_images: int, rounds: int) -> list[dict]:
    """Compares the stages with the released loop, on other images in each round."""
    model, half = random_clip(ARCHITECTURE, "cpu"), random_clip(ARCHITECTURE, "cpu", "bfloat16")
    names = ("exact", "fast", "exact, bfloat16 weights", "fast, bfloat16 weights")
    ratios, agreement = {name: [] for name in names}, {name: np.zeros(3, int) for name in names}
    seconds = {name: 0.0 for name in ("loop", *names)}
    for i in range(rounds):
        inputs = Inputs(folder / f"round_{i}", n_images, N_BOXES, N_TEXTS, 10 + i)
        start = time.process_time()
        scores, expected = evaluate_one_by_one(model, inputs)
        loop = time.process_time() - start
        seconds["loop"] += loop
        near = (np.abs(scores[:, 1:] - scores[:, :1]) < NEAR).any(axis=1)
        for name in names:
            start = time.process_time()
            ranks = run_stages(half if "bfloat16" in name else model, inputs, name.partition(",")[0])
            spent = time.process_time() - start
            ratios[name].append(loop / spent)
            seconds[name] += spent
            differ = ranks != expected
            agreement[name] += [int((~differ).sum()), int((differ & near).sum()), int((differ & ~near).sum())]
    n_crops = n_images * N_BOXES * rounds
    rows = [{"what": "end to end: one image a step, own texts at 77 tokens", "per_second": n_crops / seconds["loop"]}]
    for name in names:
        equal, near_ties, others = agreement[name].tolist()
        ranks = {"ranks_equal": equal, "ranks_of_near_ties": near_ties, "ranks_that_differ": others}
        rows.append(
            {
                "what": f"end to end: {name}",
                "per_second": n_crops / seconds[name],
                "ratio": median(ratios[name]),
                **ranks,
            }
        )
    return rows


def print_rows(rows: list[dict]) -> None:
    """Prints measurements as a table in Markdown."""
    print("| what | a second | ratio | most off | ranks equal / near ties / others |")
    print("|---|---:|---:|---:|---:|")
    for row in rows:
        ranks = [row[key] for key in ("ranks_equal", "ranks_of_near_ties", "ranks_that_differ") if key in row]
        fields = [f"{row['per_second']:,.1f}", f"{row.get('ratio', 1.0):.2f}"]
        fields += [f"{row['most_off']:.2g}" if "most_off" in row else "", " / ".join(map(str, ranks))]
        print(f"| {row['what']} | {' | '.join(fields)} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--only", nargs="+", choices=("texts", "crops", "end", "ranks", "shards"), help="some parts")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--texts", type=int, help="texts of a round (default: 192, on a GPU 40,000)")
    parser.add_argument("--images", type=int, help="images of a round, 5 crops each (default: 20, on a GPU 600)")
    parser.add_argument("--queries", type=int, default=100_000, help="queries that are ranked")
    parser.add_argument("--rows", type=int, default=50_000, help="vectors of a shard")
    parser.add_argument("--dim", type=int, default=512, help="numbers of a vector")
    parser.add_argument("--quick", action="store_true", help="one round of fewer texts and images")
    parser.add_argument("--json", help="file to write the measurements to")
    args = parser.parse_args()
    if args.quick:
        args.rounds = 1
    on_gpu, is_quick = args.device == "cuda", args.quick
    args.texts = args.texts or (40_000 if on_gpu else 96 if is_quick else 192)
    args.images = args.images or (600 if on_gpu else 4 if is_quick else 20)
    import torch

    with TemporaryDirectory() as name:
        folder = Path(name)
        if on_gpu:
            rows = measure_gpu(folder, args.texts, args.images)
        else:
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
            torch.set_num_threads(1)
            parts = {
                "texts": lambda: measure_texts(folder, args.texts, args.rounds),
                "crops": lambda: measure_crops(folder, args.images, args.rounds),
                "end": lambda: measure_end_to_end(folder, args.images, args.rounds),
                "ranks": lambda: measure_ranks(args.queries, args.rounds),
                "shards": lambda: [
                    row
                    for precision in PRECISIONS
                    for row in measure_shards(folder, args.rows, args.dim, args.rounds, precision)
                ],
            }
            rows = [row for part in args.only or parts for row in parts[part]()]
    print_rows(rows)
    if args.json:
        Path(args.json).write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
