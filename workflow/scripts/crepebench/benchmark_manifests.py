"""Read the manifests of other benchmarks, and say where counts differ from the published ones."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from crepebench.file_faults import named_faults

NEEDED = ("title", "source", "licence", "citation", "files", "images", "metrics", "chance")
OTHERS = ("subsets", "macro", "notes")
COUNT_DIFFERS = "count_differs"
"""Beginning of a mark."""


def read_manifest(path: str) -> dict:
    """Reads a manifest of resources/benchmarks.

    Returns:
        title, source (address), licence, citation; files: by name, `rows` and `sha256`, None where no source says it;
        images: names of the roots, and what each is; metrics; chance: percent by metric. Some also have subsets: number
        of items by name; macro: what `crepebench.benchmark_cells.cells_of` takes; notes.

    Raises:
        ValueError: it is no YAML, or lacks a key, or has one that is not known.
    """
    try:
        with named_faults(path):
            found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: no YAML ({error})") from error
    if not isinstance(found, dict):
        raise ValueError(f"{path}: no manifest: {found!r:.200}")
    missing, unknown = set(NEEDED).difference(found), set(found).difference(NEEDED, OTHERS)
    if missing or unknown:
        raise ValueError(f"{path}: the keys {sorted(missing)} are missing, {sorted(map(str, unknown))} are unknown")
    return found


def check_counts(manifest: Mapping, n_items: Mapping[str, int]) -> list[str]:
    """Returns a mark for each subset that has not as many items as the published files give.

    A user may well read a part of a benchmark; but then its figures are not those of papers.

    Args:
        manifest: what `read_manifest` returns.
        n_items: number of items by subset, those with missing images among them.

    Returns:
        "count_differs_<subset>_<number>_of_<published number>", in the order of subsets; nothing of subsets whose
            number is not known.
    """
    known = manifest.get("subsets", {})
    wrong = {subset: n for subset, n in n_items.items() if subset in known and n != known[subset]}
    return [f"{COUNT_DIFFERS}_{subset}_{n}_of_{known[subset]}" for subset, n in sorted(wrong.items())]
