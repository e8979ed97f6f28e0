"""Write retrieval sets with their crops as WebDataset shards: tar files in which files of one name are one sample.

A sample is a crop, `<key>.jpg`, and `<key>.json` with the ids and all sets that have this crop, since most crops have
sets of several foil types. Crops are encoded again as JPEG: what a model makes of them may differ a little from what it
makes of the crop of the original image.
"""

import io
import json
import logging
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.exports import read_all_splits, read_sets
from crepebench.families import FOIL_TYPES, SYSTEMATICITY
from crepebench.files import atomic_path
from crepebench.images import BadImageError, ImageReader, cut_crop
from crepebench.schema import IMAGES, read_table

logger = logging.getLogger(__name__)

SAMPLES_PER_SHARD = 1_000
JPEG = {"format": "JPEG", "quality": 95, "subsampling": 0}
BOX = ("x", "y", "width", "height")
OF_SAMPLE = ("image_id", *BOX)
"""Columns that the sets of a sample share."""


def sample_key(crop: Sequence[int]) -> str:
    """Returns the name of a sample: image id and box."""
    return "_".join(map(str, crop))


def sample_json(crop: Sequence[int], sets: Sequence[Mapping], splits: Mapping[str, Mapping[int, str]]) -> bytes:
    """Returns what a sample says of its crop.

    Args:
        crop: values of OF_SAMPLE.
        sets: rows of table RETRIEVAL_SETS of that crop.
        splits: by corpus, the split of each region.
    """
    found = []
    for row in sets:
        of_region = {corpus: split_of[row["region_id"]] for corpus, split_of in splits.items()}
        own = {name: value for name, value in row.items() if name not in OF_SAMPLE}
        found.append(own | ({"splits": of_region} if splits else {}))
    content = dict(zip(OF_SAMPLE, crop, strict=True)) | {"sets": found}
    return json.dumps(content, ensure_ascii=False).encode()


def add_file(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    """Adds a file to a tar; nothing in it depends on time or user."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    archive.addfile(info, io.BytesIO(content))


def read_crops(
    sets: Iterable[Mapping], images: Mapping[int, Mapping], reader: ImageReader, counts: Counter
) -> Iterator[tuple[tuple[int, ...], list[Mapping], bytes]]:
    """Yields each crop with its sets, and as JPEG; counts those whose image cannot be used by reason.

    Args:
        sets: rows of table RETRIEVAL_SETS.
        images: rows of table IMAGES by image_id.
        reader: opens images.
        counts: counts of crops to add to.
    """
    by_crop: dict[tuple[int, ...], list[Mapping]] = {}
    for row in sets:
        by_crop.setdefault(tuple(row[name] for name in OF_SAMPLE), []).append(row)
    last, picture, reason = None, None, ""
    for crop in sorted(by_crop):
        if crop[0] != last:
            last, picture, reason = crop[0], None, ""
            try:
                picture = reader.read(images[crop[0]]).picture
            except BadImageError as error:
                logger.warning("image %d is set aside: %s", crop[0], error)
                reason = error.reason
        counts.update((READ, reason or KEPT))
        if not reason:
            buffer = io.BytesIO()
            cut_crop(picture, crop[1:]).save(buffer, **JPEG)
            yield crop, by_crop[crop], buffer.getvalue()


def write_shards(folder: Path, family: str, samples: Iterator[tuple], splits: Mapping[str, Mapping[int, str]]) -> int:
    """Writes samples to `<family>-<number>.tar`, and returns the number of shards.

    Args:
        folder: folder to write to.
        family: family of the sets.
        samples: what `read_crops` yields.
        splits: by corpus, the split of each region; none for productivity.
    """
    n_shards = 0
    while chunk := list(islice(samples, SAMPLES_PER_SHARD)):
        path = folder / f"{family}-{n_shards:06d}.tar"
        with atomic_path(str(path)) as partial, tarfile.open(partial, "w", format=tarfile.USTAR_FORMAT) as archive:
            for crop, sets, jpeg in chunk:
                add_file(archive, f"{sample_key(crop)}.jpg", jpeg)
                add_file(archive, f"{sample_key(crop)}.json", sample_json(crop, sets, splits))
        n_shards += 1
    return n_shards


def write_webdataset(
    sets_paths: Mapping[str, Sequence[str]],
    images_path: str,
    splits_paths: Sequence[str],
    folder: str,
    accounting_path: str,
    cfg: str,
) -> None:
    """Writes the sets of both families as shards.

    Args:
        sets_paths: tables RETRIEVAL_SETS by family.
        images_path: table IMAGES.
        splits_paths: table SPLITS of each corpus, in the order of `corpora`.
        folder: folder to write.
        accounting_path: counts to write: crops by family.
        cfg: JSON of `corpora`: pairs, of which the first is the name in the config.
    """
    corpora = [name for name, _ in json.loads(cfg)["corpora"]]
    images = {row["image_id"]: row for row in read_table(images_path, IMAGES).to_pylist()}
    splits = read_all_splits(splits_paths, corpora)
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    units = {}
    for family, paths in sets_paths.items():
        counts = units[f"{family}_crop"] = Counter({READ: 0, KEPT: 0})
        sets = read_sets(paths, FOIL_TYPES[family]).iter_rows(named=True)
        of_family = splits if family == SYSTEMATICITY else {}
        with ImageReader() as reader:
            n_shards = write_shards(target, family, read_crops(sets, images, reader, counts), of_family)
        logger.info("%s: %d of %d crops in %d shards", family, counts[KEPT], counts[READ], n_shards)
    write_accounting(accounting_path, "export/webdataset", units)
