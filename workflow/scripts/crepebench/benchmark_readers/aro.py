"""Read ARO's relations and attributions: a box of an image, a caption, and the caption with its parts exchanged.

Source: mertyg/vision-language-models-are-bows, MIT (arXiv:2210.01936); its files are fetched by the authors' code.
Each is a list of records {image_path, bbox_x, bbox_y, bbox_w, bbox_h, true_caption, false_caption}, with
relation_name, or two attributes. The headlines are means over relations, and over pairs of attributes with at least
25 records.

The authors leave out 157 relations whose exchange stays true or is told by the scene ("near"). That list is not part
of this project: the option `excluded_relations` says which of the files holds it. Without it subset and
tag have other names, as the figures are not those of papers.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from crepebench.benchmark_items import CHOOSE_CAPTION, ImageRef, Item
from crepebench.benchmark_readers._files import listed, part_files, read_json, stem_of
from crepebench.benchmark_readers._records import base_name, box, cell, check_options, items_of, text, text_of

ROOT = "visual_genome"
RELATION_FILE, ATTRIBUTION_FILE = "visual_genome_relation", "visual_genome_attribution"
RELATION, ALL_RELATIONS, ATTRIBUTION = "relation", "relation_none_excluded", "attribution"
"""Subsets; the second stands for the first where no list of relations is given."""
BOX_KEYS = ("bbox_x", "bbox_y", "bbox_w", "bbox_h")
EXCLUDED, RELATION_EXCLUDED = "excluded_relations", "relation_excluded"
"""The option, and the reason of the records that it drops."""


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each record that is not excluded.

    Its tag is `relation` (`any_relation` where no list is given), or `attribute_pair`.

    Args:
        paths: JSON files, named as the authors name them.
        options: `excluded_relations`, which of the files is a JSON list of relations that are left out.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: a file has another name, or is not of its form; names file and record.
    """
    check_options(options, (EXCLUDED,), "aro")
    paths, list_path = part_files(paths, options, EXCLUDED)
    makers: dict[str, Callable] = {RELATION_FILE: _relation_maker, ATTRIBUTION_FILE: _attribution_maker}
    for path in paths:
        if stem_of(path) not in makers:
            raise ValueError(f"{path}: a file of ARO is named {' or '.join(f'{name}.json' for name in makers)}")
        yield from items_of(listed(read_json(path), path), makers[stem_of(path)](list_path), counts)


def read_excluded(path: str) -> frozenset[str]:
    """Reads a list of relations.

    Raises:
        ValueError: it is no JSON list of texts.
    """
    return frozenset(text(relation, where).strip() for where, _, relation in listed(read_json(path), path))


def _relation_maker(list_path: str | None) -> Callable:
    excluded = read_excluded(list_path) if list_path else frozenset()
    subset, tag = (RELATION, "relation") if list_path else (ALL_RELATIONS, "any_relation")

    def make(where: str, number: int, record: object) -> tuple[Item] | str:
        relation = text_of(record, "relation_name", where).strip()
        item = _item(where, number, record, subset, {tag: relation})
        return RELATION_EXCLUDED if relation in excluded else (item,)

    return make


def _attribution_maker(_: str | None) -> Callable:
    def make(where: str, number: int, record: object) -> tuple[Item]:
        return (_item(where, number, record, ATTRIBUTION, {"attribute_pair": _pair(record, where)}),)

    return make


def _pair(record: object, where: str) -> str:
    found = cell(record, "attributes", where)
    if not isinstance(found, list) or len(found) != 2:
        raise ValueError(f"{where}, attributes: no list of two texts: {found!r:.200}")
    return ", ".join(text(one, f"{where}, attributes") for one in found)


def _item(where: str, number: int, record: object, subset: str, tags: dict[str, str]) -> Item:
    return Item(
        id=f"{subset}:{number}",
        subset=subset,
        task=CHOOSE_CAPTION,
        images=(
            ImageRef(
                ROOT,
                base_name(cell(record, "image_path", where), f"{where}, image_path"),
                box([cell(record, key, where) for key in BOX_KEYS], f"{where}, {BOX_KEYS[0]} to {BOX_KEYS[-1]}"),
            ),
        ),
        captions=(text_of(record, "true_caption", where), text_of(record, "false_caption", where)),
        tags=tags,
    )
