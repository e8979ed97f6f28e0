"""Measure how fast CLIC trains a model of the shapes of ViT-B/32 with random weights, on made-up images and captions.

Run `python tests/benchmarks/train_clic.py --device cuda`; nothing is fetched. It prints, for batches of 200 as one of
the paper's four GPUs has them, items a second of joined and of plain steps, with batches that are made already and with
batches made by worker processes, and peak memory; the same for 800 items in micro-batches of 200, as one GPU takes a
whole batch; and the time that 1,000,000 items (625 joined and 625 plain steps of 800) would take on one GPU and on
four, beside the 40 minutes on four A100 that the paper's authors state.
`--quick` is for a first look on a CPU. The test suite leaves this out.
"""

import argparse
import json
import os
import sys
import tempfile
import time
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "scripts"))

import numpy as np
import torch
from PIL import Image

from crepebench.clic_distributed import Processes
from crepebench.clic_images import ImageJoiner, is_wider
from crepebench.clic_items import ItemMaker
from crepebench.clic_loading import Batches, Examples, Plan, load_batches
from crepebench.clic_settings import JOINED, PLAIN, training_settings, variant_of
from crepebench.clic_steps import Steps
from crepebench.clic_tokens import TextTokens
from crepebench.clic_vision import FrozenRows
from crepebench.open_clip_models import OpenClipModel
from crepebench.schema import IMAGES

PAPER_ITEMS, PAPER_MINUTES, PAPER_GPUS = 1_000_000, 40, 4
TAGS = ("NOUN", "ADJ", "VERB", "ADP")
SIZES = ((640, 480), (480, 640), (512, 512))
"""Width and height of the made-up images."""


def make_base(device: str, quick: bool) -> OpenClipModel:
    """Makes ViT-B/32 with random weights; a small one for a first look."""
    import open_clip
    from open_clip.transform import PreprocessCfg, image_transform_v2

    if quick:
        towers = {"vision_cfg": {"image_size": 64, "layers": 2, "width": 64, "patch_size": 16, "head_width": 32}}
        towers["text_cfg"] = {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2}
        model = open_clip.CLIP(embed_dim=64, **towers)
    else:
        model = open_clip.create_model("ViT-B-32-quickgelu", load_weights=False)
    preprocess = image_transform_v2(PreprocessCfg(size=model.visual.image_size), is_train=False)
    return OpenClipModel(model, preprocess, open_clip.get_tokenizer("ViT-B-32"), device)


def make_examples(folder: Path, n_images: int, n_rows: int, tokens: TextTokens, variant) -> Examples:
    """Makes JPEG files of noise, which rows share, and sentences of 8 to 24 words."""
    rng = np.random.default_rng(1)
    files = []
    for i in range(n_images):
        width, height = SIZES[i % len(SIZES)]
        noise = Image.fromarray(rng.integers(0, 256, (24, 24, 3), dtype=np.uint8))
        noise.resize((width, height)).save(folder / f"{i}.jpg", quality=90)
        crc32 = zlib.crc32((folder / f"{i}.jpg").read_bytes())
        row = {"image_id": i, "width": width, "height": height, "archive": str(folder), "path": f"{i}.jpg"}
        files.append({**dict.fromkeys(IMAGES.names), **row, "crc32": crc32})
    lexicon = ["".join(rng.choice(list("aeioubdgklmnprst"), rng.integers(3, 8))) for _ in range(2_000)]
    images, rows = [], []
    for i in range(n_rows):
        images.append(files[i % n_images])
        sentences = [" ".join(rng.choice(lexicon, rng.integers(8, 24))) for _ in range(4)]
        words, start = [], 0
        for text in sentences[0].split():
            pos = TAGS[len(text) % len(TAGS)]
            words.append({"text": text, "pos": pos, "fine": pos, "start": start, "end": start + len(text)})
            start += len(text) + 1
        rows.append({"row_id": i, "image_id": i % n_images, "split": "train", "sentences": sentences, "words": words})
    orientations = np.array([is_wider(image) for image in images], bool)
    maker = ItemMaker(rows, orientations, variant, 1, tokens.count, tokens.limit)
    return Examples(maker, [row["sentences"][0] for row in rows], images, np.arange(n_rows))


class Measure:
    """Measures steps of one model.

    Args:
        base: the model.
        examples: what it trains on.
        batches: makes their batches.
        device: "cpu" or "cuda".
        workers: processes that make batches.
    """

    def __init__(self, base: OpenClipModel, examples: Examples, batches: Batches, device: str, workers: int):
        self._base, self._examples, self._batches = base, examples, batches
        self._device, self._workers = device, workers
        n, dim = len(examples), base.encode_texts(["a"]).shape[1]
        features = np.random.default_rng(2).standard_normal((n, dim), np.float32)
        features /= np.linalg.norm(features, axis=1, keepdims=True)
        self._frozen = FrozenRows(features, np.arange(n))

    def steps(self, micro: int) -> Steps:
        """Returns the steps of a new training."""
        settings = training_settings({"micro_batch": micro, "workers": self._workers})
        joiner = ImageJoiner(self._base.image_plan, variant_of("clic", {}))
        return Steps(self._base, variant_of("clic", {}), settings, Processes(device=self._device), joiner, self._frozen)

    def plans(self, kind: str, size: int, n_steps: int) -> list[Plan]:
        """Returns steps of one kind."""
        rows = np.random.default_rng(3).integers(0, len(self._examples), (n_steps, size))
        return [Plan(0, step, kind, each) for step, each in enumerate(rows)]

    def network(self, kind: str, size: int, micro: int, n_steps: int) -> dict:
        """Returns the rate of steps on a batch that is made already, and the most memory that they take."""
        steps, batch = self.steps(micro), self._batches[self.plans(kind, size, 1)[0]]
        start = 0.0
        for step in range(-3, n_steps):
            if step == 0:
                self._wait()
                if self._device == "cuda":
                    torch.cuda.reset_peak_memory_stats()
                start = time.perf_counter()
            steps.take(batch, 1e-6, self._examples.row_ids)
        self._wait()
        seconds = time.perf_counter() - start
        memory = torch.cuda.max_memory_allocated() / 2**30 if self._device == "cuda" else None
        what = {"what": f"{kind} steps, batch made already", "batch": size, "micro_batch": micro}
        return {**what, "items_per_second": n_steps * size / seconds, "peak_gib": memory}

    def loading(self, kind: str, size: int, n_steps: int) -> dict:
        """Returns the rate of batches that worker processes make, and that of steps on them."""
        rates = {}
        for name, steps in (("loading", None), ("whole", self.steps(0))):
            plans, start, n_warm = self.plans(kind, size, n_steps + self._workers), 0.0, max(1, self._workers)
            for i, batch in enumerate(load_batches(self._batches, iter(plans), self._workers, self._device == "cuda")):
                if steps:
                    steps.take(batch, 1e-6, self._examples.row_ids)
                if i + 1 == n_warm:  # what the workers had made ahead is not counted
                    self._wait()
                    start = time.perf_counter()
            self._wait()
            rates[name] = (len(plans) - n_warm) * size / (time.perf_counter() - start)
        what = {"what": f"{kind} steps, {self._workers} workers", "batch": size}
        return {**what, "items_per_second": rates["whole"], "loaded_per_second": rates["loading"]}

    def _wait(self) -> None:
        if self._device == "cuda":
            torch.cuda.synchronize()


def project(results: list[dict]) -> dict:
    """Returns the minutes that 1,000,000 items would take, half of them joined and half plain."""
    found = {}
    for name, prefix in (("network alone", "batch made already"), ("with loading", "workers")):
        rates = [row["items_per_second"] for row in results if prefix in row["what"] and row.get("micro_batch", 0) == 0]
        minutes = sum(PAPER_ITEMS / 2 / rate for rate in rates) / 60
        found[f"minutes on one GPU, {name}"] = minutes
        found[f"minutes on {PAPER_GPUS} GPUs, {name}"] = minutes / PAPER_GPUS
    return {"what": f"{PAPER_ITEMS} items", **found, f"minutes on {PAPER_GPUS} A100 in the paper": PAPER_MINUTES}


def main() -> None:
    """Measures and prints one JSON a line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cpu", "cuda"], default="cpu")
    parser.add_argument("--steps", type=int, default=20, help="steps of each measurement")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 1) - 1), help="loading processes")
    parser.add_argument("--quick", action="store_true", help="a small model and small batches, for a first look")
    parser.add_argument("--out", help="JSON to write")
    options = parser.parse_args()
    torch.set_num_threads(1)
    size, steps = (16, 2) if options.quick else (200, options.steps)
    workers = min(options.workers, 2) if options.quick else options.workers
    base, variant = make_base(options.device, options.quick), variant_of("clic", {})
    with tempfile.TemporaryDirectory() as folder:
        tokens = TextTokens(base.tokenise)
        examples = make_examples(Path(folder), 64 if options.quick else 600, 40 * size, tokens, variant)
        batches = Batches(examples, variant, tokens, ImageJoiner(base.image_plan, variant), None, kept_bytes=0)
        measure = Measure(base, examples, batches, options.device, workers)
        results = []
        if options.device == "cuda":
            results.append({"what": torch.cuda.get_device_name(), "workers": workers})
        for kind in (JOINED, PLAIN):
            results.append(measure.network(kind, size, 0, steps))
            results.append(measure.network(kind, 4 * size, size, max(2, steps // 4)))
            results.append(measure.loading(kind, size, steps))
    results.append(project(results))
    for row in results:
        print(json.dumps({key: round(value, 3) if isinstance(value, float) else value for key, value in row.items()}))
    if options.out:
        Path(options.out).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
