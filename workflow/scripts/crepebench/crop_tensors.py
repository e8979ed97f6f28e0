"""Make the tensors that a model's image encoder takes, for all crops of a picture that was decoded once.

Two pipelines, of which the config chooses one (`features.image_pipeline`):

- EXACT gives the numbers of the model's own preprocessing, bit for bit. Where an ImagePlan says what that is, Pillow
  resizes and the steps after it are done in place; else the model's own preprocessing is called.
- FAST resizes with torchvision's kernels for 8-bit tensors, which round otherwise: at most 2/255 from EXACT, or 4/255
  beside hard edges to white, where both cut off in another order. Without an ImagePlan it is EXACT.

Both take what `crepebench.images` decodes, so faults and colours are the same.
"""

import logging
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from crepebench.images import cut_crop
from crepebench.models import ImagePlan, Model

logger = logging.getLogger(__name__)

EXACT, FAST = "exact", "fast"
GREATEST = 255.0
PROBES = ((97, 61), (61, 97), (300, 220), (640, 333), (333, 640))
"""Width and height of the pictures on which a plan is compared with the preprocessing that it describes."""


class Layout(NamedTuple):
    """Where the pixels of a crop come to lie, all in whole pixels.

    Attributes:
        width: of the whole crop after resizing.
        height: likewise.
        left: first column that is kept.
        top: first row that is kept.
    """

    width: int
    height: int
    left: int
    top: int


def layout_of(plan: ImagePlan, width: int, height: int) -> Layout:
    """Returns the layout of a crop of some size; rounds as torchvision does (Resize, CenterCrop)."""
    rows, columns = plan.size
    if plan.resize == "squash":
        return Layout(columns, rows, 0, 0)
    side = min(rows, columns)
    new_width = side if width <= height else int(side * width / height)
    new_height = side if height <= width else int(side * height / width)
    return Layout(new_width, new_height, round((new_width - columns) / 2.0), round((new_height - rows) / 2.0))


class CropTensors:
    """Makes the tensors of crops.

    Args:
        model: gives the preprocessing, and a plan of it where there is one.
        pipeline: EXACT or FAST.

    Attributes:
        pipeline: the one that is used: EXACT if there is no plan.
    """

    def __init__(self, model: Model, pipeline: str):
        self._preprocess, self._plan = model.preprocess, model.image_plan
        if self._plan is not None and not follows_plan(self._preprocess, self._plan):
            logger.warning("the plan of the model's preprocessing is not exact; its own preprocessing is used")
            self._plan = None
        self.pipeline = pipeline if self._plan is not None else EXACT
        if self.pipeline != pipeline:
            logger.warning("the model's preprocessing has no fast form; the exact one is used")

    def of(self, picture, boxes: list[tuple[int, int, int, int]]) -> list:
        """Returns the tensor of each box of a picture.

        Args:
            picture: RGB picture of Pillow.
            boxes: x, y, width, height in whole pixels.

        Returns:
            (3, height, width) float32 tensors.

        Raises:
            ValueError: a box is empty or not within the picture.
        """
        if self.pipeline == FAST:
            return fast_tensors(self._plan, picture, boxes)
        crops = [cut_crop(picture, box) for box in boxes]
        return [exact_tensor(self._plan, crop) if self._plan else self._preprocess(crop) for crop in crops]


def follows_plan(preprocess: Callable, plan: ImagePlan) -> bool:
    """Says whether a preprocessing gives the plan's tensors for pictures of noise of several sizes."""
    from PIL import Image

    rng = np.random.default_rng(1)
    for width, height in PROBES:
        picture = Image.fromarray(rng.integers(0, 256, (height, width, 3), dtype=np.uint8))
        if not np.array_equal(np.asarray(preprocess(picture)), exact_tensor(plan, picture).numpy()):
            return False
    return True


def exact_tensor(plan: ImagePlan, crop):
    """Returns the tensor of an RGB picture of Pillow, equal to that of the preprocessing which the plan describes."""
    import torch
    from PIL import Image

    layout, (rows, columns) = layout_of(plan, *crop.size), plan.size
    resized = crop.resize((layout.width, layout.height), Image.Resampling[plan.interpolation.upper()])
    kept = resized.crop((layout.left, layout.top, layout.left + columns, layout.top + rows))
    return _normalise(plan, torch.from_numpy(np.array(kept)).permute(2, 0, 1))


def fast_tensors(plan: ImagePlan, picture, boxes: list[tuple[int, int, int, int]]) -> list:
    """Returns the tensors of boxes of an RGB picture of Pillow, resized by torchvision on 8-bit tensors."""
    import torch
    from torchvision.transforms.v2 import InterpolationMode
    from torchvision.transforms.v2.functional import resize

    mode, (rows, columns) = InterpolationMode(plan.interpolation), plan.size
    pixels = torch.from_numpy(np.array(picture)).permute(2, 0, 1)
    tensors = []
    for box in boxes:
        x, y, width, height = box
        if not (0 <= x < x + width <= picture.width and 0 <= y < y + height <= picture.height):
            raise ValueError(f"the box {box} (x, y, width, height) is not within the picture's {picture.size} pixels")
        layout = layout_of(plan, width, height)
        crop = pixels[None, :, y : y + height, x : x + width]
        resized = resize(crop, [layout.height, layout.width], mode, antialias=True)[0]
        kept = resized[:, layout.top : layout.top + rows, layout.left : layout.left + columns]
        tensors.append(_normalise(plan, kept))
    return tensors


def _normalise(plan: ImagePlan, pixels):
    """Returns (3, height, width) 8-bit pixels as float32: from 0 to 1, less the mean, by the deviation."""
    import torch

    mean, std = (torch.tensor(values)[:, None, None] for values in (plan.mean, plan.std))
    values = pixels.to(torch.float32, memory_format=torch.contiguous_format)
    return values.div_(GREATEST).sub_(mean).div_(std)
