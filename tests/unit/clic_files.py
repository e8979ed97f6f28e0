"""A small model, images and items for the tests of CLIC's training."""

import zlib
from collections import Counter
from typing import NamedTuple

import numpy as np
from PIL import Image

from crepebench.clic_distributed import Processes
from crepebench.clic_images import ImageJoiner
from crepebench.clic_items import Item
from crepebench.clic_loading import Batches, Examples
from crepebench.clic_settings import training_settings, variant_of
from crepebench.clic_steps import Steps
from crepebench.models import load_model
from crepebench.schema import IMAGES

from .peakpatch_files import write_backbone

COLOURS = {
    "red": (220, 30, 30),
    "green": (30, 200, 40),
    "blue": (30, 40, 220),
    "white": (250, 250, 250),
    "black": (5, 5, 5),
}
THINGS = ("jar", "umbrella", "bucket", "dog", "fan", "cup", "kite")
QUICK = {"batch_size": 8, "epochs": 2, "workers": 0, "peak_learning_rate": 1e-3, "initial_learning_rate": 1e-4}


class Maker:
    """Makes items of rows (sentences, orientation) in the simplest way that there is."""

    def __init__(self, sentences, wider, variant, seed):
        self._sentences, self._wider, self._variant, self._seed = sentences, np.asarray(wider), variant, seed

    def item(self, epoch, i):
        rng = np.random.default_rng([self._seed, epoch, i])
        order, j = bool(rng.integers(2)), i
        if self._variant.pictures == "joined":
            others = np.flatnonzero((self._wider == self._wider[i]) & (np.arange(len(self._wider)) != i))
            j = int(rng.choice(others))
        a, b = self._sentences[i], self._sentences[j]
        extras = tuple(f"{a[1]}. {b[1]}. {k}" for k in range(self._variant.n_extra))
        negative = "" if i == 3 else f"{b[0].split()[1]} {a[0]}. {b[0]}."
        reasons = ("no_negative",) if i == 3 else ()
        return Item(i, j, order, (f"{a[0]}. {b[0]}.", f"{b[0]}. {a[0]}.", *extras), negative, a[0], "NOUN", reasons)


def write_images(folder, n=24):
    """Writes images of one colour each, every third higher than wide; returns rows of table IMAGES, and sentences."""
    folder.mkdir(parents=True, exist_ok=True)
    images, sentences = [], []
    for i in range(n):
        colour, thing = list(COLOURS)[i % len(COLOURS)], THINGS[i % len(THINGS)]
        size = (20, 32) if i % 3 == 2 else (32, 20)
        Image.new("RGB", size, COLOURS[colour]).save(folder / f"{i}.png")
        crc32 = zlib.crc32((folder / f"{i}.png").read_bytes())
        row = {"image_id": 100 + i, "width": size[0], "height": size[1], "archive": str(folder), "path": f"{i}.png"}
        images.append({**dict.fromkeys(IMAGES.names), **row, "crc32": crc32})
        sentences.append([f"a {colour} {thing}", f"the {thing} is {colour} and {'long ' * (i % 4)}made of paper"])
    return images, sentences


def load_base(folder):
    """Writes and loads a small model of random weights."""
    if not folder.exists():
        write_backbone(folder)
    return load_model({"family": "open_clip"}, [str(path) for path in sorted(folder.iterdir())])


class Parts(NamedTuple):
    """What a training needs."""

    base: object
    examples: Examples
    batches: Batches
    steps: Steps
    variant: object
    settings: object


def make_parts(folder, images, sentences, options=(), variant="clic", seed=1, frozen=None, processes=None) -> Parts:
    """Returns a model with random weights, and what trains it."""
    options = {**QUICK, **dict(options)}
    base, variant, settings = load_base(folder / "base"), variant_of(variant, options), training_settings(options)
    wider = [image["width"] >= image["height"] for image in images]
    maker = Maker(sentences, wider, variant, seed)
    examples = Examples(maker, [each[0] for each in sentences], images, np.arange(len(images)) + 500)
    joiner = ImageJoiner(base.image_plan, variant)
    preprocess = None if frozen is not None else base.preprocess
    batches = Batches(examples, variant, base.tokenise, joiner, preprocess)
    steps = Steps(base, variant, settings, processes or Processes(), joiner, frozen)
    return Parts(base, examples, batches, steps, variant, settings)


def kinds_of(curve):
    """Returns how many steps of each kind a curve has."""
    return Counter(row["kind"] for row in curve if row["split"] == "train")
