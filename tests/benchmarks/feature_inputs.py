"""Synthetic pictures, captions and retrieval sets for measuring how fast features are made."""

import io
import sys
import zipfile
import zlib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "scripts"))

import numpy as np
from PIL import Image

from crepebench.models import Model
from crepebench.schema import IMAGES, RETRIEVAL_SETS, write_table

SIZES = ((500, 375), (800, 600), (1024, 683), (640, 480))
"""Width and height of pictures, as in Visual Genome."""
QUALITY = 90
WORDS = (
    "man woman dog red tall wooden table chair standing beside under a the of on with two small large blue window "
    "street car tree holding umbrella plate white black near behind sitting grass building sign bench shirt"
).split()
LENGTHS = (3, 16)
"""Words of a caption, at least and less than."""


def make_captions(n_captions: int, seed: int) -> list[str]:
    """Returns different captions of 9 words and 11 tokens in the mean: region captions have 6 words, longer sets 14."""
    rng, found = np.random.default_rng(seed), {}
    while len(found) < n_captions:
        found[" ".join(rng.choice(WORDS, rng.integers(*LENGTHS)))] = None
    return list(found)


def make_jpegs(n_images: int, seed: int) -> list[bytes]:
    """Returns files of pictures with soft edges and some noise, 70 to 250 kB each."""
    rng, files = np.random.default_rng(seed), []
    for i in range(n_images):
        width, height = SIZES[i % len(SIZES)]
        coarse = rng.integers(0, 256, (height // 12, width // 12, 3)).astype(np.uint8)
        pixels = np.asarray(Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)).astype(int)
        pixels = np.clip(pixels + rng.integers(-12, 13, pixels.shape), 0, 255).astype(np.uint8)
        buffer = io.BytesIO()
        Image.fromarray(pixels).save(buffer, "JPEG", quality=QUALITY)
        files.append(buffer.getvalue())
    return files


def make_boxes(jpegs: list[bytes], n_boxes: int, seed: int) -> list[list[tuple[int, int, int, int]]]:
    """Returns boxes of each picture, within the bounds of the paper's crops (0.5 to 2 in width by height)."""
    rng, boxes = np.random.default_rng(seed), []
    for data in jpegs:
        width, height = Image.open(io.BytesIO(data)).size
        boxes.append([])
        for _ in range(n_boxes):
            box_width = int(rng.uniform(0.4, 0.95) * width)
            box_height = int(min(height, np.clip(rng.uniform(0.4, 0.95) * height, box_width / 2, box_width * 2)))
            x, y = rng.integers(0, width - box_width + 1), rng.integers(0, height - box_height + 1)
            boxes[-1].append((int(x), int(y), box_width, box_height))
    return boxes


class Inputs:
    """A zip of pictures, and retrieval sets on their crops, as tables of the workflow.

    Args:
        folder: where to write them.
        n_images: number of pictures.
        n_boxes: crops of each.
        n_texts: candidates of each crop's set, the truth first.
        seed: seed of all.
    """

    def __init__(self, folder: Path, n_images: int, n_boxes: int, n_texts: int, seed: int):
        self.folder = folder
        folder.mkdir(parents=True)
        self.jpegs = make_jpegs(n_images, seed)
        self.boxes = make_boxes(self.jpegs, n_boxes, seed)
        texts = make_captions(n_images * n_boxes * n_texts, seed)
        self.crops = [(i, box) for i, boxes in enumerate(self.boxes) for box in boxes]
        self.texts = [texts[i * n_texts : (i + 1) * n_texts] for i in range(len(self.crops))]
        self.sets_path, self.images_path = str(folder / "sets.parquet"), str(folder / "images.parquet")
        self.archive = str(folder / "images.zip")
        with zipfile.ZipFile(self.archive, "w") as archive:
            for i, data in enumerate(self.jpegs):
                archive.writestr(f"VG_100K/{i}.jpg", data)
        write_table(self.images_path, IMAGES, map(self._image_row, range(n_images)))
        write_table(self.sets_path, RETRIEVAL_SETS, map(self._set_row, range(len(self.crops))))

    def images(self) -> dict[int, dict]:
        """Returns the rows of table IMAGES by id."""
        return {i: self._image_row(i) for i in range(len(self.jpegs))}

    def _image_row(self, image_id: int) -> dict:
        width, height = Image.open(io.BytesIO(self.jpegs[image_id])).size
        place = {"archive": self.archive, "path": f"VG_100K/{image_id}.jpg", "crc32": zlib.crc32(self.jpegs[image_id])}
        return {"image_id": image_id, "width": width, "height": height, **place, "coco_id": None, "flickr_id": None}

    def _set_row(self, i: int) -> dict:
        (image_id, box), (truth, *foils) = self.crops[i], self.texts[i]
        row = dict.fromkeys(RETRIEVAL_SETS.names, "")
        row |= {"set_id": str(i), "foil_type": "atom", "image_id": image_id, "region_id": i, "subgraph_id": None}
        foil = dict.fromkeys(RETRIEVAL_SETS.field("foils").type.value_type.names, "")
        return {
            **row,
            **dict(zip(("x", "y", "width", "height"), box, strict=True)),
            "complexity": 2,
            "caption": truth,
            "foils": [{**foil, "text": text} for text in foils],
        }


def random_clip(architecture: str, device: str, precision: str = "float32") -> Model:
    """Returns a model of open_clip with random weights; the same ones whenever it is called."""
    import open_clip
    import torch

    from crepebench.open_clip_models import OpenClipModel

    torch.manual_seed(1)
    model, _, preprocess = open_clip.create_model_and_transforms(architecture)
    return OpenClipModel(model.eval(), preprocess, open_clip.get_tokenizer(architecture), device, precision)
