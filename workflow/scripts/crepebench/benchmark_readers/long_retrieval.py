"""Read pictures with long captions from JSON lines, and cut the captions to what CLIP reads.

Sets of long captions come in many forms; one line for a picture, {"image": name, "captions": [text, ...]}, is easily
made of any of them.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from crepebench.accounting import KEPT
from crepebench.benchmark_items import ImageRef, Item
from crepebench.benchmark_readers._records import check_options, text
from crepebench.benchmark_retrieval import RETRIEVE_CAPTION, RETRIEVE_IMAGE, retrieval_items
from crepebench.file_faults import named_faults
from crepebench.long_captions import CutCaption, count_captions, cut_captions, fits_clip

logger = logging.getLogger(__name__)

ROOT = "long_captions"


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields the items of both directions; the subset is the file's name.

    Args:
        paths: files of JSON lines.
        options: `root`, the name of the pictures' root (ROOT unless given), and `cut` (true unless given): whether
            captions over CLIP's 77 tokens are cut at the last punctuation mark that fits.
        counts: takes the captions that were read and left as they are (kept), and those that were cut, by how.

    Raises:
        ValueError: a line is of another form; names file, line and value.
    """
    check_options(options, ("cut", "root"), "long_retrieval")
    for path in paths:
        rows, subset = list(_rows(path)), Path(path).stem
        captions = [caption for _, _, own in rows for caption in own]
        cut = [CutCaption(caption, KEPT) for caption in captions]
        if options.get("cut", True):
            cut = cut_captions(captions, fits_clip())
            captions = [caption.text for caption in cut]
        logger.info("%s: captions: %s", path, dict(count_captions(cut)))
        if counts is not None:
            counts.update(count_captions(cut))
        start = 0
        for line, image, own in rows:
            ref = ImageRef(options.get("root", ROOT), image)
            texts, start = captions[start : start + len(own)], start + len(own)
            name, tasks = f"{subset}/{line}", (RETRIEVE_CAPTION, RETRIEVE_IMAGE)
            yield from retrieval_items(name, subset, ref, texts, tasks, cues=False)


def _rows(path: str) -> Iterator[tuple[int, str, list[str]]]:
    with named_faults(path):
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    for line, content in enumerate(lines, start=1):
        if not content.strip():
            continue
        try:
            row = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{path}, line {line}: no JSON ({error})") from error
        image, captions = (row.get("image"), row.get("captions")) if isinstance(row, dict) else (None, None)
        if not isinstance(image, str) or not image or not isinstance(captions, list) or not captions:
            raise ValueError(f"{path}, line {line}: no image with a list of captions: {content!r:.200}")
        if not all(isinstance(caption, str) and caption.strip() for caption in captions):
            raise ValueError(f"{path}, line {line}: a caption is empty or no text: {captions!r:.200}")
        yield line, text(image, f"{path}, line {line}"), [text(one, f"{path}, line {line}") for one in captions]
