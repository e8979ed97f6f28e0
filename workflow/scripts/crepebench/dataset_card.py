"""Word the card of an exported data set: a YAML head that the Hugging Face hub and `datasets` read, and the text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from crepebench.exports import RELEASED
from crepebench.pages import markdown_text

ICONS = "icons"
SIZE_BOUNDS = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
LARGEST = "1M<n<10M"
LICENCES = {ICONS: "apache-2.0", RELEASED: "unknown"}
"""Value of `license` where the texts are not derived from Visual Genome's annotations alone."""
VISUAL_GENOME_LICENCE = "cc-by-4.0"
COLUMNS = {
    "set_id": "id of the set: a hash of family, image, box and caption",
    "protocol": "form of captions and foils",
    "foil_type": "what the foils change",
    "image_id": "image",
    "region_id": "region of the annotations (systematicity), else null",
    "subgraph_id": "subgraph of the image's scene graph (productivity), else null",
    "x, y, width, height": "the crop, in pixels of the image as it is stored",
    "complexity": "number of atoms (objects, attributes, relations) of the caption; null where unknown",
    "caption": "the true caption",
    "caption_source": "where it comes from",
    "foils": "list of false captions: foil_id, text, kind, original, replacement, source",
    "split_<corpus>": "split of the region by a training corpus (systematicity): SC, UC, UA, or another value for none",
}
LIMITS = (
    "Foils are made by rules on annotations that are not complete: a foil may be true of the image.",
    "Text alone may tell some truths from their foils; results should stand beside those of scorers that see no image.",
    "Whether a compound counts as seen rests on a parser of the training captions, which misses some.",
    "Everything is in English.",
)
LIMITS_OF_PHOTOGRAPHS = (
    "Many images are also in COCO, and models may have seen them.",
    "What the photographs show is what annotators of Visual Genome wrote down.",
)
INTRODUCTION = (
    "Each row is a retrieval set: a crop of an image, one true caption, and foils that are nearly like it and false. A",
    "model ranks the texts by how well they fit the crop. The sets follow the CREPE benchmark (Ma et al., CVPR 2023):",
    "systematicity (compounds that a training corpus shows, or not) and productivity (captions of more atoms).",
)


class Part(NamedTuple):
    """A configuration of the data set.

    Attributes:
        name: `<family>_<foil_type>`.
        files: pattern of its files, relative to the card.
        n_sets: number of sets.
        n_images: number of images.
        n_foils: foils of a set.
        by_cell: number of sets by number of atoms, or by corpus and split.
    """

    name: str
    files: str
    n_sets: int
    n_images: int
    n_foils: int
    by_cell: Mapping[str, int]


def world_of(config: Mapping) -> str:
    """Returns what the images are of."""
    return "the embedded icons world" if config["source"] == ICONS else "Visual Genome"


def licence_of(config: Mapping) -> str:
    """Returns the identifier of the licence of captions and foils."""
    if config["data"] == RELEASED:
        return LICENCES[RELEASED]
    return LICENCES.get(config["source"], VISUAL_GENOME_LICENCE)


def card_head(parts: Sequence[Part], config: Mapping) -> dict:
    """Returns the head of the card: licence, size, and which files a configuration has."""
    n_sets = sum(part.n_sets for part in parts)
    size = next((name for bound, name in SIZE_BOUNDS if n_sets < bound), LARGEST)
    return {
        "pretty_name": f"Compositional retrieval sets of {world_of(config)}, protocol {config['protocol']}",
        "license": licence_of(config),
        "language": ["en"],
        "task_categories": ["text-retrieval", "zero-shot-image-classification"],
        "tags": ["compositionality", "hard-negatives", "vision-language", "crepe"],
        "size_categories": [size],
        "configs": [
            {"config_name": part.name, "data_files": [{"split": "test", "path": part.files}]} for part in parts
        ],
    }


def licence_lines(config: Mapping) -> list[str]:
    """Returns the licence chain."""
    if config["data"] == RELEASED:
        texts = (
            "Captions and foils: as released by the authors of CREPE, who state no licence. Ask them before sharing."
        )
    elif config["source"] == ICONS:
        texts = "Captions and foils: of the embedded icons world, drawn by the code; Apache-2.0."
    else:
        texts = (
            "Captions, boxes and foils: derived from Visual Genome's annotations, "
            "[CC BY 4.0](https://creativecommons.org/licenses/by/4.0/); name Visual Genome (Krishna et al., 2017)."
        )
    lines = ["Code that made the sets: Apache-2.0.", texts]
    if config["data"] != RELEASED and config["captioner"] != "template":
        captioner = markdown_text(config["captioner"])
        lines.append(f"Captions of the productivity family: worded by {captioner}; its terms of use apply.")
    if config["source"] != ICONS:
        lines.append("Images: not in this folder. They are from Flickr, and each keeps its owner's terms.")
    return lines


def card_text(parts: Sequence[Part], config: Mapping) -> str:
    """Returns the text of the card, without its head."""
    rows = [f"| {part.name} | {part.n_sets} | {part.n_images} | {part.n_foils} |" for part in parts]
    cells = [f"| {part.name} | {cell} | {count} |" for part in parts for cell, count in part.by_cell.items()]
    first = next((part.name for part in parts), "")
    return "\n".join(
        [
            f"# Compositional retrieval sets, protocol {config['protocol']}",
            "",
            *INTRODUCTION,
            "",
            "    from datasets import load_dataset",
            f'    sets = load_dataset("path/of/this/folder", "{first}", split="test")',
            "",
            f"The images are not in here: cut `x, y, width, height` out of image `image_id` of {world_of(config)}.",
            "",
            "## Licence",
            *(f"- {line}" for line in licence_lines(config)),
            "",
            "## How the sets were made",
            *(f"- {name}: {markdown_text(str(config[name]))}" for name in sorted(config) if name != "corpora"),
            "",
            "## Counts",
            "| configuration | sets | images | foils of a set |",
            "|---|---|---|---|",
            *rows,
            "",
            "| configuration | number of atoms, or corpus and split | sets |",
            "|---|---|---|",
            *cells,
            "",
            "## Columns",
            "| column | meaning |",
            "|---|---|",
            *(f"| {name} | {meaning} |" for name, meaning in COLUMNS.items()),
            "",
            "## Known limits",
            *(f"- {limit}" for limit in (LIMITS if config["source"] == ICONS else LIMITS + LIMITS_OF_PHOTOGRAPHS)),
            "",
        ]
    )


def card(parts: Sequence[Part], config: Mapping) -> str:
    """Returns the whole card.

    Args:
        parts: configurations of the data set.
        config: data, source, protocol and captioner, and whatever else says how the sets were made.
    """
    import yaml

    head = yaml.safe_dump(card_head(parts, config), sort_keys=False, allow_unicode=True)
    return f"---\n{head}---\n\n{card_text(parts, config)}"
