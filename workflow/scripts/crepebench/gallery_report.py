"""Make the gallery small enough for a report, by leaving sets out."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from crepebench.families import FOIL_TYPES
from crepebench.gallery_choice import Pool, choose, restrict

REPORT_BYTES = 1_500_000
"""Bytes of a page in a report at most: a report holds it as an address in base64, and Chromium takes 2 MiB of these."""


def part_of(data: Mapping, keys: Iterable[tuple[str, str, str]]) -> dict:
    """Returns the data of some of the sets (family, set_id, foil_type), with no other pictures."""
    wanted = set(keys)
    sets = [entry for entry in data["sets"] if (entry["family"], entry["set_id"], entry["foil_type"]) in wanted]
    crops = sorted({entry["crop"] for entry in sets} - {None})
    image_ids = {str(entry["image_id"]) for entry in sets}
    return {
        **data,
        "sets": [{**entry, "crop": None if entry["crop"] is None else crops.index(entry["crop"])} for entry in sets],
        "crops": [data["crops"][place] for place in crops],
        "images": {image_id: image for image_id, image in data["images"].items() if image_id in image_ids},
    }


def fitting_page(
    data: Mapping, pools: Sequence[Pool], largest_margins: int, render: Callable[[Mapping], str], most_bytes: int
) -> str:
    """Returns a page of at most `most_bytes`, with as many of the sets as it may hold, chosen among them as they were.

    Args:
        data: as `gallery_data` gives it.
        pools: sets of each family.
        largest_margins: as `choose` takes it.
        render: makes a page of data.
        most_bytes: bound; a page without any set is returned whatever its size.
    """
    page, n_sets = render(data), len(data["sets"])
    if len(page.encode()) <= most_bytes:
        return page
    chosen = {family: [] for family in FOIL_TYPES}
    for entry in data["sets"]:
        chosen[entry["family"]].append((entry["set_id"], entry["foil_type"]))
    shown = [restrict(pool, chosen[pool.family]) for pool in pools]
    while n_sets and len(page.encode()) > most_bytes:
        n_sets = min(n_sets - 1, int(n_sets * most_bytes / len(page.encode())))
        part = part_of(data, choose(shown, n_sets, largest_margins))
        page = render({**part, "n_in_gallery": len(data["sets"])})
    return page
