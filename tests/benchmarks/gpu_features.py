"""Measure a GPU: texts and crops a second against a plain loop of open_clip, GPU use, time for all of CREPE.

Called by `extract_features.py --device cuda`.
"""

import os
import subprocess
import threading
import time
from pathlib import Path
from statistics import mean

from feature_baselines import encode_crops_in_batches, encode_texts_at_full_length
from feature_inputs import Inputs, make_captions, random_clip

from crepebench.batch_sizes import AUTO, BatchSizer
from crepebench.crop_tensors import EXACT, FAST, CropTensors
from crepebench.encoding import CROPS_ON_GPU, TEXTS_ON_GPU, encode_crops, encode_texts
from crepebench.feature_store import FeatureStore

ARCHITECTURES = ("ViT-B-32", "ViT-L-14")
FAMILIES = {"systematicity": (3 * 29_000, 11), "productivity": (17_553, 16)}
"""Crops of the paper's full sets, and texts of each: about 29,000 queries of each of three corpora."""
CPU_SHARE = 10
"""The plain loop has so many times fewer texts and images, since it is slow."""


class GpuUse:
    """Samples, in a thread, the share of time in which the GPU computes."""

    def __enter__(self):
        self._samples: list[float] = []
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    @property
    def percent(self) -> float:
        """Mean of the samples."""
        return mean(self._samples or [0.0])

    def _sample(self) -> None:
        command = ["nvidia-smi", "--query-gpu=utilization.gpu", "--format=csv,noheader,nounits"]
        while not self._end.wait(0.5):
            self._samples.append(float(subprocess.check_output(command, text=True).split()[0]))


def measure_gpu(folder: Path, n_texts: int, n_images: int) -> list[dict]:
    """Measures all architectures and precisions.

    Args:
        folder: for what is written meanwhile.
        n_texts: number of texts.
        n_images: number of images, of five crops each.
    """
    import torch

    texts = make_captions(n_texts, 1)
    inputs = Inputs(folder / "gpu", n_images, 5, 1, 2)
    few = Inputs(folder / "few", max(1, n_images // CPU_SHARE), 5, 1, 3)
    rows = []
    for architecture in ARCHITECTURES:
        model = random_clip(architecture, "cuda")
        encode_texts_at_full_length(model, texts[:64])  # warms up
        loop = {
            "texts": _rate(lambda m=model: encode_texts_at_full_length(m, texts[: n_texts // CPU_SHARE])),
            "crops": _rate(lambda m=model: encode_crops_in_batches(m, few)),
        }
        rows += [_row(f"{architecture}, {what}: plain loop", *found, 1.0) for what, found in loop.items()]
        for precision in ("float32", "bfloat16"):
            model = random_clip(architecture, "cuda", precision)
            torch.cuda.reset_peak_memory_stats()
            rates = {"texts": _rate(lambda m=model: _encode_texts(folder, m, texts))}
            for pipeline in (EXACT, FAST):
                rates[f"crops, {pipeline}"] = _rate(lambda m=model, p=pipeline: _encode_crops(folder, m, inputs, p))
            for what, (rate, use) in rates.items():
                ratio = rate / loop[what.partition(",")[0]][0]
                rows.append(_row(f"{architecture}, {precision}, {what}", rate, use, ratio))
            print(f"{architecture} {precision}: {torch.cuda.max_memory_allocated() / 1e9:.1f} GB at most")
            for family, (n_crops, size) in FAMILIES.items():
                hours = (n_crops * size / rates["texts"][0] + n_crops / rates[f"crops, {EXACT}"][0]) / 3600
                print(f"{architecture} {precision}: all of {family} would take {hours:.2f} h")
    return rows


def _row(what: str, rate: float, use: float, ratio: float) -> dict:
    return {"what": f"{what} (GPU use {use:.0f}%)", "per_second": rate, "gpu_percent": use, "ratio": ratio}


def _rate(call) -> tuple[float, float]:
    """Returns how many items a second a call encodes, which returns their number or features, and the GPU's use."""
    import torch

    with GpuUse() as use:
        start = time.perf_counter()
        found = call()
        torch.cuda.synchronize()
        seconds = time.perf_counter() - start
    return (found if isinstance(found, int) else len(found)) / seconds, use.percent


def _encode_texts(folder: Path, model, texts: list[str]) -> int:
    store = FeatureStore(str(folder), f"texts-{time.monotonic_ns()}")
    encode_texts(texts, model, store, BatchSizer(AUTO, TEXTS_ON_GPU))
    return len(texts)


def _encode_crops(folder: Path, model, inputs: Inputs, pipeline: str) -> int:
    store = FeatureStore(str(folder), f"crops-{time.monotonic_ns()}")
    sizer, tensors = BatchSizer(AUTO, CROPS_ON_GPU), CropTensors(model, pipeline)
    encode_crops(inputs.crops, inputs.images(), model, store, sizer, tensors, len(os.sched_getaffinity(0)))
    return len(inputs.crops)
