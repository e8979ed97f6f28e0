"""Choose the images of a run: images known to be bad are left out, and a sample serves for a first look.

The choice is made while each file is read, so no table holds anything of an image that is left out, and each file's
counts say what was left out with it.
"""

import hashlib
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from crepebench.accounting import KEPT, READ

logger = logging.getLogger(__name__)

IMAGE_EXCLUDED, NOT_IN_SAMPLE = "image_excluded", "not_in_sample"
IMAGE_DATA = "image_data"
N_SHOWN = 10
"""Ids that a message names."""


def image_fraction(image_id: int) -> float:
    """Returns a number from 0 up to 1 that depends on the image id alone: where a sample's share reaches it."""
    return int.from_bytes(hashlib.sha256(str(image_id).encode()).digest()[:6], "big") / 2**48


class ImageSelection:
    """Says of each image whether it is in the run, and remembers in which files it was met."""

    def __init__(self, config: Mapping):
        """Takes the choice from a config.

        Args:
            config: `exclude_images`: ids; `sample`: None, {"share": 0-1} or {"ids": ids}.
        """
        self._excluded = frozenset(config["exclude_images"])
        self._sample = config["sample"]
        self._sample_ids = frozenset((self._sample or {}).get("ids", ()))
        self._met: dict[str, set[int]] = {}

    def reason(self, image_id: int | None) -> str:
        """Returns why an image is left out, "" where it is in the run; without an id it is in no sample."""
        if image_id in self._excluded:
            return IMAGE_EXCLUDED
        if self._sample is None:
            return ""
        if "ids" in self._sample:
            is_in = image_id in self._sample_ids
        else:
            is_in = image_id is not None and image_fraction(image_id) < self._sample["share"]
        return "" if is_in else NOT_IN_SAMPLE

    def select(
        self, images: Iterable[tuple[int | None, list]], name: str, counts: Counter
    ) -> Iterator[tuple[int | None, list]]:
        """Yields the images of the run and counts the items of the others by reason.

        Args:
            images: image id and items of each image in a file.
            name: name of the file's content, such as IMAGE_DATA.
            counts: counts of items to add to.
        """
        met = self._met.setdefault(name, set())
        for image_id, items in images:
            reason = self.reason(image_id)
            if not reason:
                if image_id is not None:
                    met.add(image_id)
                yield image_id, items
            elif items:
                counts[READ] += len(items)
                counts[reason] += len(items)

    def unknown_sample_ids(self) -> list[int]:
        """Returns the ids of the sample that image_data does not hold."""
        return sorted(self._sample_ids - self._met[IMAGE_DATA] - self._excluded)

    def join_counts(self) -> Counter:
        """Counts the images that every file holds, and by reason those that are in some files only; logs their ids."""
        known = self._met[IMAGE_DATA]
        others = {name: met for name, met in self._met.items() if name != IMAGE_DATA}
        by_reason: dict[str, list[int]] = {}
        for image_id in sorted(known.union(*others.values())):
            missing = next((f"{name}_missing" for name, met in others.items() if image_id not in met), KEPT)
            by_reason.setdefault(missing if image_id in known else "image_unknown", []).append(image_id)
        for reason, image_ids in by_reason.items():
            if reason != KEPT:
                logger.warning("%s: %d images, ids %s", reason, len(image_ids), image_ids[:N_SHOWN])
        counts = Counter({reason: len(image_ids) for reason, image_ids in by_reason.items()})
        counts[READ] = counts.total()
        return counts
