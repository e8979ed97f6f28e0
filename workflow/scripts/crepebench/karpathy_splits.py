"""Read the JSON file of Karpathy's splits of COCO or Flickr30K, for retrieval in both directions.

Source: the files' own form: `images` is a list of {filename, filepath (COCO alone), split, sentences: [{raw}]}.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from crepebench.benchmark_items import ImageRef, Item
from crepebench.benchmark_readers._records import check_options, text
from crepebench.benchmark_retrieval import RETRIEVE_CAPTION, RETRIEVE_IMAGE, retrieval_items
from crepebench.file_faults import named_faults

TEST = "test"
RAW, ARO = "raw", "aro"
MOST_WORDS = 30
ARO_MARKS = re.compile(r"[.!\"()*#:;~]")


def caption_text(raw: str, form: str) -> str:
    """Returns a caption in the form in which it is given to models.

    Args:
        raw: as the file has it.
        form: RAW, less spaces at the ends; or ARO: lower case, without `.!"()*#:;~`, at most 30 words, as the retrieval
            tables of ARO, NegCLIP and CLIC have it.

    Raises:
        ValueError: unknown form.
    """
    if form == RAW:
        return raw.strip()
    if form == ARO:
        return " ".join(ARO_MARKS.sub(" ", raw.lower()).split()[:MOST_WORDS])
    raise ValueError(f"option caption_form is {form!r}: use {RAW} or {ARO}")


def read_split(
    paths: Sequence[str], options: Mapping, subset: str, root_of: Callable[[Mapping], str]
) -> Iterator[Item]:
    """Yields the items of the test split.

    Args:
        paths: one JSON file.
        options: `caption_form` (RAW unless given), and `root`, the name of the pictures' root (that of `root_of` unless
            given).
        subset: name of the subset.
        root_of: gives the name of the root of a record's picture.

    Raises:
        ValueError: not one file, no JSON of this form, or no picture of the split; names file, picture and value.
    """
    check_options(options, ("caption_form", "root"), f"of {subset}")
    if len(paths) != 1:
        raise ValueError(f"{subset} has one JSON file with the splits, not {len(paths)}: {list(paths)}")
    (path,) = paths
    n_images = 0
    for number, record in enumerate(_records(path)):
        where = f"{path}, image {number}"
        if not isinstance(record, dict) or not isinstance(record.get("filename"), str):
            raise ValueError(f"{where}: no record with a filename: {record!r:.200}")
        if record.get("split") != TEST:
            continue
        n_images += 1
        image = ImageRef(options.get("root") or root_of(record), record["filename"])
        captions = tuple(_captions(record, options.get("caption_form", RAW), where))
        name, tasks = f"{subset}/{record['filename']}", (RETRIEVE_CAPTION, RETRIEVE_IMAGE)
        yield from retrieval_items(name, subset, image, captions, tasks, cues=False)
    if not n_images:
        raise ValueError(f"{path}: no image is of the split {TEST!r}")


def _records(path: str) -> list:
    with named_faults(path):
        content = Path(path).read_text(encoding="utf-8-sig")
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON ({error})") from error
    if not isinstance(found, dict) or not isinstance(found.get("images"), list):
        raise ValueError(f"{path}: no object with a list `images`")
    return found["images"]


def _captions(record: Mapping, form: str, where: str) -> Iterator[str]:
    sentences = record.get("sentences")
    if not isinstance(sentences, list) or not sentences:
        raise ValueError(f"{where}: sentences is no list, or empty: {sentences!r:.200}")
    for sentence in sentences:
        raw = sentence.get("raw") if isinstance(sentence, dict) else None
        caption = caption_text(text(raw, where), form) if isinstance(raw, str) else ""
        if not caption:
            raise ValueError(f"{where}: a sentence without a text: {sentence!r:.200}")
        yield caption
