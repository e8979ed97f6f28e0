"""Measure how fast PeakPatch trains at the paper's batch size, on made-up features of the shapes of ViT-B/32.

Run `python tests/benchmarks/train_peakpatch.py --device cuda`; nothing is fetched. It prints, for the joint training of
1024 pairs and 1024 questions of four options a step: steps and questions a second with and without the making of
batches, memory, and the time that the paper's 3,050 steps (313,000 questions, 10 epochs) would take, beside the 2.7
hours on one A100 that it states. Also the rate of the correction's pre-training.
`--quick` is for a first look on a CPU. The test suite leaves this out.
"""

import argparse
import json
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "scripts"))

import numpy as np
import torch

from crepebench.peakpatch_data import Captions, Data, Pairs, Questions
from crepebench.peakpatch_settings import Training, training_settings
from crepebench.peakpatch_training import Steps, build_networks, train

DIM = 512
LENGTHS = (8, 24)
"""Tokens of a caption, at least and less than."""
PAPER_STEPS, PAPER_BATCH, PAPER_HOURS = 3_050, 1024, 2.7


def make_data(n_captions: int, n_questions: int, seed: int = 1) -> Data:
    """Makes features as large as real ones are, and pairs and questions at random."""
    rng = np.random.default_rng(seed)

    def unit(n: int) -> np.ndarray:
        rows = rng.standard_normal((n, DIM), np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    pool = torch.from_numpy(rng.standard_normal((200_000, DIM), np.float32)).half()
    lengths, starts = rng.integers(*LENGTHS, n_captions), rng.integers(0, len(pool) - LENGTHS[1], n_captions)
    tokens = [pool[start : start + length] for start, length in zip(starts, lengths, strict=True)]
    anchor = rng.standard_normal((n_captions, DIM), np.float32)
    captions = Captions(unit(n_captions), unit(n_captions), anchor, tokens)
    rows = rng.integers(0, n_captions, (4, n_questions))
    images = np.arange(n_questions)
    pairs = Pairs(images, rows[0], rows[1], np.zeros(n_questions, bool))
    questions = Questions(images, rows.T, np.full(n_questions, "positive"))
    few = Questions(images[:256], rows.T[:256], np.full(len(images[:256]), "positive"))
    return Data(captions, unit(n_questions), pairs, questions, few)


def measure_training(data: Data, settings: Training, device: str) -> dict:
    """Returns the rate of whole steps, in the second of two epochs; the first warms up."""
    size = min(settings.question_batch, len(data.questions))
    row = train(data, settings, 1, None, device).curve[-1]
    steps = len(data.questions) // size
    return _rates("joint training, batches made on the way", steps / row["seconds"], size)


def measure_networks(data: Data, settings: Training, device: str, n_steps: int) -> dict:
    """Returns the rate of steps on batches that are made already: forward, backward and optimiser."""
    networks = build_networks(DIM, DIM, settings, 1).to(device).train()
    steps = Steps(data, networks, settings, 1, device)
    kept: dict[bytes, object] = {}
    make = data.captions.batch

    def batch(rows, device: str):
        key = np.asarray(rows, np.int64).tobytes()
        if key not in kept:
            kept[key] = make(rows, device)
        return kept[key]

    data.captions.batch = batch
    optimiser = torch.optim.AdamW(networks.parameters(), lr=1e-5)
    start = 0.0
    for step in range(-3, n_steps):
        if step == 0:
            _wait(device)
            start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        steps.losses(0, 0)["loss"].backward()
        torch.nn.utils.clip_grad_norm_(networks.parameters(), settings.clip_norm)
        optimiser.step()
    _wait(device)
    seconds = time.perf_counter() - start
    del data.captions.batch
    return _rates(
        "joint training, networks alone", n_steps / seconds, min(settings.question_batch, len(data.questions))
    )


def measure_pretraining(data: Data, settings: Training, device: str, n_steps: int) -> dict:
    """Returns the rate of steps of the correction's pre-training."""
    networks = build_networks(DIM, DIM, settings, 1).to(device).train()
    steps, size = Steps(data, networks, settings, 1, device), min(settings.pretraining_batch, len(data.pairs))
    optimiser, chosen, start = torch.optim.AdamW(networks["ecn"].parameters(), lr=1e-3), np.arange(len(data.pairs)), 0.0
    for step in range(-1, n_steps):
        if step == 0:
            _wait(device)
            start = time.perf_counter()
        optimiser.zero_grad(set_to_none=True)
        steps.pretrain(chosen, size, max(step, 0))["loss"].backward()
        optimiser.step()
    _wait(device)
    return {
        "what": "pre-training of the correction",
        "pairs_per_second": size * n_steps / (time.perf_counter() - start),
    }


def _rates(what: str, steps_per_second: float, size: int) -> dict:
    hours = PAPER_STEPS * PAPER_BATCH / (steps_per_second * size) / 3600
    rates = {"steps_per_second": steps_per_second, "questions_per_second": steps_per_second * size}
    return {"what": what, **rates, "hours_for_the_paper": hours, "hours_in_the_paper": PAPER_HOURS}


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def main() -> None:
    """Measures and prints one JSON a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--steps", type=int, default=40, help="steps of an epoch")
    parser.add_argument("--quick", action="store_true", help="small batches, for a first look")
    parser.add_argument("--out", help="JSON to write")
    options = parser.parse_args()
    if options.device == "cpu":
        torch.set_num_threads(1)
    size = 32 if options.quick else 1024
    steps = 2 if options.quick else options.steps
    settings = training_settings(
        {
            "epochs": 2,
            "pretraining_epochs": 0,
            "pair_batch": size,
            "question_batch": size,
            "pretraining_batch": 2 * size,
        }
    )
    data = make_data(20 * size, steps * size)
    results = [
        measure_networks(data, settings, options.device, steps),
        measure_training(data, settings, options.device),
        measure_pretraining(data, settings, options.device, min(steps, 10)),
    ]
    if options.device == "cuda":
        memory = torch.cuda.max_memory_allocated() / 1e9
        results.append({"what": torch.cuda.get_device_name(), "gigabytes_at_most": memory})
    for row in results:
        print(json.dumps({key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}))
    if options.out:
        Path(options.out).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
