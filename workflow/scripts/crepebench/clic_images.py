"""Join two images into one, and say which images can be joined.

Source: paper "CLIC, arXiv 2505.24424", and its code. Two images that are wider than high stand one above the other, two
that are higher than wide side by side; each fills its half, whatever its aspect ratio.
"""

from collections.abc import Mapping

import numpy as np

from crepebench.clic_settings import IMAGENET_NORM, Variant
from crepebench.models import ImagePlan

IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


class JoinedImageError(ValueError):
    """A model's images cannot be made of two halves."""


class ImageJoiner:
    """Makes joined images as a model takes them.

    # ASSUME: images are read as everywhere here, transparent pixels on white. The method's code drops the alpha channel
    # instead, which shows whatever colour a file has under what nobody sees.

    Args:
        plan: what the model's preprocessing does; None where nothing exact is known of it.
        variant: its `norm` says whose mean and deviation are taken.

    Raises:
        JoinedImageError: the plan is unknown, or its size is no square of even pixels.
    """

    def __init__(self, plan: ImagePlan | None, variant: Variant):
        if plan is None:
            raise JoinedImageError("CLIC needs a model whose preprocessing is one of open_clip's usual ones")
        height, width = plan.size
        if height != width or height % 2:
            raise JoinedImageError(f"CLIC joins images to squares of an even size, not to {height} x {width} pixels")
        self.size = height
        own = plan.mean, plan.std
        self._mean, self._std = (IMAGENET_MEAN, IMAGENET_STD) if variant.norm == IMAGENET_NORM else own

    def half(self, picture, wider: bool) -> np.ndarray:
        """Returns a picture at the size of a half, bicubic, its aspect ratio not kept.

        Args:
            picture: Pillow's, in RGB.
            wider: its class, of `is_wider`.

        Returns:
            (size / 2, size, 3) uint8 for wide ones, else (size, size / 2, 3).
        """
        from PIL import Image

        size = (self.size, self.size // 2) if wider else (self.size // 2, self.size)
        return np.asarray(picture.resize(size, Image.Resampling.BICUBIC))

    def join(self, first: np.ndarray, second: np.ndarray) -> np.ndarray:
        """Joins two halves of one class: the first one stands above, or left.

        Returns:
            (size, size, 3) uint8.

        Raises:
            JoinedImageError: the halves are of different classes.
        """
        if first.shape != second.shape:
            raise JoinedImageError(f"halves of {first.shape} and {second.shape} cannot be joined")
        return np.concatenate([first, second], axis=0 if first.shape[0] < first.shape[1] else 1)

    def normalise(self, pixels):
        """Returns pixels as a model takes them.

        Args:
            pixels: (n, size, size, 3) uint8 tensor on any device.

        Returns:
            (n, 3, size, size) float32 tensor.
        """
        import torch

        values = pixels.permute(0, 3, 1, 2).float().div(255)
        mean, std = (torch.tensor(each, device=pixels.device).view(3, 1, 1) for each in (self._mean, self._std))
        return (values - mean) / std


def is_wider(image: Mapping) -> bool:
    """Says whether an image of table IMAGES counts as wide: as wide as high, or wider."""
    return image["width"] >= image["height"]
