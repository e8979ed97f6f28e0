"""Read the items of CLIC, a million of them without a million dicts in memory."""

from collections.abc import Mapping, Sequence

import numpy as np

from crepebench.schema import CLIC_ROWS, IMAGES, read_table


def is_wider(image: Mapping) -> bool:
    """Says whether an image is joined above another, as those are that are as wide as high; else beside it."""
    return image["width"] >= image["height"]


class ClicRows(Sequence):
    """Rows of table CLIC_ROWS, which become dicts one by one, so that a million of them fits into memory.

    Args:
        table: Arrow table with the columns of CLIC_ROWS.
    """

    def __init__(self, table):
        self._table = table.combine_chunks()

    def __len__(self) -> int:
        return self._table.num_rows

    def __getitem__(self, index: int) -> dict:
        if not -len(self) <= index < len(self):
            raise IndexError(f"row {index} of {len(self)}")
        return self._table.slice(index % len(self), 1).to_pylist()[0]

    def flat_words(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Returns place of the row, text and fine tag of each word of all first sentences, row by row."""
        import pyarrow.compute as pc

        words = self._table["words"]
        places = pc.list_parent_indices(words).to_numpy()
        flat = pc.list_flatten(words)
        texts, fines = (pc.struct_field(flat, name).to_numpy(zero_copy_only=False) for name in ("text", "fine"))
        return places, texts, fines


def read_clic_rows(
    rows_path: str, images_path: str, split: str | None = None
) -> tuple[ClicRows, list[dict], np.ndarray]:
    """Reads items.

    Args:
        rows_path: table CLIC_ROWS.
        images_path: table IMAGES.
        split: "train" or "validation"; all where None.

    Returns:
        The items, their rows of table IMAGES, and (n,) bool whether each is wider, in one order.

    Raises:
        ValueError: an item's image is not in the table; names it.
    """
    import pyarrow.compute as pc

    table = read_table(rows_path, CLIC_ROWS)
    if split is not None:
        table = table.filter(pc.equal(table["split"], split))
    known = {image["image_id"]: image for image in read_table(images_path, IMAGES).to_pylist()}
    image_ids = table["image_id"].to_pylist()
    if missing := [image_id for image_id in image_ids if image_id not in known]:
        raise ValueError(f"{rows_path}: image {missing[0]} is not in {images_path}")
    images = [known[image_id] for image_id in image_ids]
    return ClicRows(table), images, np.array([is_wider(image) for image in images], bool)


def flat_words(items: Sequence[Mapping]) -> tuple[Sequence[int], Sequence[str], Sequence[str]]:
    """Returns place of the item, text and fine tag of each word of all first sentences, item by item."""
    if isinstance(items, ClicRows):
        return items.flat_words()
    words = [(place, word["text"], word["fine"]) for place, item in enumerate(items) for word in item["words"]]
    return tuple(zip(*words, strict=True)) if words else ((), (), ())
