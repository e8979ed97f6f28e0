"""Turn the files that the authors of CREPE released into retrieval sets, which are scored as those built here."""

import logging
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.boxes import Box, clip_box
from crepebench.captions import TEMPLATE
from crepebench.families import ATOM, COMBINED, COMP, FOIL_TYPES, OVERALL, PARTS_OF_TYPE, PRODUCTIVITY, SYSTEMATICITY
from crepebench.foils import N_FOILS, VISUAL_GENOME
from crepebench.released_files import (
    ReleasedFile,
    ReleasedRow,
    list_released_files,
    missing_names,
    read_released_rows,
)
from crepebench.released_kinds import change_of_words, released_kind
from crepebench.released_splits import PROTOCOL, RegionVersions
from crepebench.schema import IMAGES, RETRIEVAL_SETS, read_table, write_table
from crepebench.set_ids import foil_id, set_id

logger = logging.getLogger(__name__)

GPT3 = "text-davinci-002"
"""Source of the captions of more than four atoms. Source: paper section 4.2."""
N_PRODUCTIVITY_FOILS = 5
N_OF_TYPE = {ATOM: N_FOILS[ATOM], COMP: N_FOILS[COMP], COMBINED: N_FOILS[ATOM] + N_FOILS[COMP]}
"""Foils of a systematicity set."""
IMAGE_UNKNOWN, BOX_OUTSIDE, WRONG_NUMBER, TYPES_MISSING, SET_REPEATED = (
    "image_unknown",
    "box_outside",
    "n_foils",
    "foil_types_missing",
    "set_repeated",
)
"""Reasons why a row gives no set."""
TEMPLATE_ATOMS = 4
"""Captions of this number of atoms are worded by a template. Source: paper section 4.2."""


class Crops:
    """The crops of released rows, as far as the images are known.

    Args:
        images: rows of table IMAGES.
    """

    def __init__(self, images: Iterable[Mapping]):
        self._sizes = {row["image_id"]: (row["width"], row["height"]) for row in images}

    def cut(self, row: ReleasedRow) -> Box | str:
        """Returns the crop of a row, or the reason why there is none.

        # ASSUME: a box that reaches beyond its image is cut to it; the authors' scripts would fill up with black.
        """
        if row.image_id not in self._sizes:
            return IMAGE_UNKNOWN
        return clip_box(row.box, self._sizes[row.image_id]) or BOX_OUTSIDE


def make_set(
    row: ReleasedRow, box: Box, foil_type: str, foils: Mapping[str, Sequence[str]], complexity: int | None
) -> dict:
    """Returns a row of table RETRIEVAL_SETS.

    The id depends on the number of atoms or the region, too: nine truths stand at two complexities, with other foils.

    Args:
        row: has image, region and caption.
        box: the crop.
        foil_type: of the set.
        foils: by part of the set.
        complexity: number of atoms, None where the files do not say it.
    """
    is_syst = row.region_id is not None
    key = f"{PROTOCOL} {SYSTEMATICITY} {row.region_id}" if is_syst else f"{PROTOCOL} {PRODUCTIVITY} {complexity}"
    identity = set_id(key, row.image_id, box, row.caption)
    x, y, width, height = box
    source = VISUAL_GENOME if is_syst else TEMPLATE if complexity == TEMPLATE_ATOMS else GPT3
    return {
        "set_id": identity,
        "region_id": row.region_id,
        "subgraph_id": None,
        "protocol": PROTOCOL,
        "foil_type": foil_type,
        "image_id": row.image_id,
        **{"x": x, "y": y, "width": width, "height": height},
        "complexity": complexity,
        "caption": row.caption,
        "caption_source": source,
        "foils": [_foil(identity, part, row.caption, text) for part, texts in foils.items() for text in texts],
    }


def _foil(identity: str, part: str, caption: str, text: str) -> dict:
    original, replacement = change_of_words(caption, text) if part == ATOM else ("", "")
    return {
        "foil_id": foil_id(identity, text),
        "text": text,
        "kind": released_kind(part, caption, text),
        "original": original,
        "replacement": replacement,
        "source": PROTOCOL,
    }


def productivity_sets(
    files: Sequence[ReleasedFile], crops: Crops, is_wanted, counts: Mapping[str, Counter]
) -> Iterator[dict]:
    """Yields the sets of the productivity files: atom, swap and negate as the files give them, overall where all do.

    Args:
        files: productivity files.
        crops: crops of the images.
        is_wanted: says whether the sets of an image are made.
        counts: counts by unit to add to: rows by foil_type, and the truths that any of them has as `overall`.
    """
    by_truth: dict[str, dict[str, dict]] = defaultdict(dict)
    for file in files:
        for row in read_released_rows(file, is_wanted):
            found = _productivity_set(row, file, crops)
            if not isinstance(found, str):  # else the scores of one of the two would count for both
                found = SET_REPEATED if file.foil_type in by_truth[found["set_id"]] else found
            counts[file.foil_type].update((READ, found if isinstance(found, str) else KEPT))
            if not isinstance(found, str):
                by_truth[found["set_id"]][file.foil_type] = found
                yield found
    parts = PARTS_OF_TYPE[PRODUCTIVITY][OVERALL]
    for of_type in by_truth.values():
        is_whole = set(of_type) == set(parts)
        counts[OVERALL].update((READ, KEPT if is_whole else TYPES_MISSING))
        if is_whole:
            foils = [foil for part in parts for foil in of_type[part]["foils"]]
            yield {**of_type[parts[0]], "foil_type": OVERALL, "foils": foils}


def _productivity_set(row: ReleasedRow, file: ReleasedFile, crops: Crops) -> dict | str:
    """Returns the set of a row, or the reason why there is none."""
    box, foils = crops.cut(row), row.foils[file.foil_type]
    if isinstance(box, str) or len(foils) != N_PRODUCTIVITY_FOILS:
        return box if isinstance(box, str) else WRONG_NUMBER
    return make_set(row, box, file.foil_type, {file.foil_type: foils}, file.complexity)


def systematicity_sets(
    files: Sequence[ReleasedFile], crops: Crops, is_wanted, counts: Mapping[str, Counter]
) -> Iterator[dict]:
    """Yields the sets of the systematicity files: one of each foil_type for a region, whatever the number of corpora.

    Args:
        files: systematicity files.
        crops: crops of the images.
        is_wanted: says whether the sets of an image are made.
        counts: counts by unit to add to: regions by foil_type.
    """
    versions = RegionVersions()
    for file in files:
        for row in read_released_rows(file, is_wanted):
            region_id, is_new = versions.number(row)
            if not is_new:
                continue
            box, row = crops.cut(row), row._replace(region_id=region_id)
            for foil_type, foils in row.foils.items():
                is_right = len(foils) == N_OF_TYPE[foil_type]
                reason = box if isinstance(box, str) else "" if is_right else WRONG_NUMBER
                counts[foil_type].update((READ, reason or KEPT))
                if not reason:
                    yield make_set(row, box, foil_type, _parts(foil_type, row.foils), None)


def _parts(foil_type: str, foils: Mapping[str, Sequence[str]]) -> dict[str, Sequence[str]]:
    """Returns the foils of a set by part; those of `combined` are atom foils if they stand among these."""
    if foil_type != COMBINED:
        return {foil_type: foils[foil_type]}
    of_atom = set(foils[ATOM])
    found = foils[COMBINED]
    return {
        ATOM: [text for text in found if text in of_atom],
        COMP: [text for text in found if text not in of_atom],
    }


def build_released_sets(
    released_paths: Sequence[str],
    images_path: str,
    sets_path: str,
    accounting_path: str,
    family: str,
    part: int,
    n_parts: int,
) -> None:
    """Writes the sets of a family for the images of one part.

    Args:
        released_paths: released CSV files, and zips that may hold some.
        images_path: table IMAGES.
        sets_path: table RETRIEVAL_SETS to write; empty where there are no files of the family.
        accounting_path: counts to write.
        family: family of the sets.
        part: index of the part, from 0.
        n_parts: number of parts.

    Raises:
        ValueError: there are no released files, one is not of its form, or no image of a family is known; names what.
    """
    if not any(list_released_files(released_paths, name) for name in FOIL_TYPES):
        raise ValueError(f"no released file, such as prod_vg_hard_negs_atom_complexity_4.csv, is in {released_paths}")
    files = list_released_files(released_paths, family)
    missing = missing_names(files, family, sorted({file.corpus for file in files}))
    logger.info("%d files of the family %s; missing of a full release: %s", len(files), family, missing or "none")
    counts = {foil_type: Counter({READ: 0, KEPT: 0}) for foil_type in FOIL_TYPES[family]}
    crops = Crops(read_table(images_path, IMAGES, ["image_id", "width", "height"]).to_pylist())
    make = systematicity_sets if family == SYSTEMATICITY else productivity_sets
    write_table(sets_path, RETRIEVAL_SETS, make(files, crops, lambda id_: id_ % n_parts == part, counts))
    n_unknown = sum(found[IMAGE_UNKNOWN] for found in counts.values())
    if n_unknown and n_unknown == sum(found[READ] for found in counts.values()):
        raise ValueError(
            f"no image of the released {family} files is in {images_path}: they are of Visual Genome, and "
            "visual_genome.source, sample or exclude_images of the config leaves out all of them"
        )
    unit = "region" if family == SYSTEMATICITY else "row"
    units = {f"{'truth' if name == OVERALL else unit}_{name}": found for name, found in counts.items()}
    write_accounting(accounting_path, f"retrieval_sets/{family}", units)
