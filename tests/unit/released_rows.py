"""Small files in the layout of the released ones."""

import csv

from crepebench.released_files import PRODUCTIVITY_COLUMNS, SYSTEMATICITY_COLUMNS

ATOM_FOILS = [f"a {colour} brick sidewalk" for colour in ("brown", "white", "purple", "green")]
COMP_FOILS = [f"a red {noun} and blue sidewalk" for noun in ("mall", "alley", "path", "road", "hall", "lane")]


def productivity_row(image_id=1, caption="jar on box. there is a fan.", n=4, foils=None, box=(10, 20, 300, 200)):
    foils = (
        [f"jar {word} box. there is a fan." for word in ("below", "under", "across", "inside", "by")]
        if (foils is None)
        else foils
    )
    counts = {"n_objects": 3, "n_relations": 1, "n_attributes": 0, "n_connected_components": 2}
    cell = foils if isinstance(foils, str) else repr(foils)
    row = {"image_id": image_id, "caption": caption, "n": n, **counts, "hard_negs": cell}
    return row | dict(zip(("x", "y", "width", "height"), map(float, box), strict=True))


def systematicity_row(region_id=7, image_id=1, caption="a red brick sidewalk", atom=ATOM_FOILS, comp=COMP_FOILS):
    cells = {"atom": atom, "comp": comp, "combined": [*atom, *comp]}
    row = {"region_id": region_id, "caption": caption, "image_id": image_id}
    row |= {f"valid_hard_negs_{name}": repr(foils) for name, foils in cells.items()}
    return row | {"x": 10, "y": 20, "width": 300, "height": 200}


def write_released(path, rows, columns=None):
    columns = columns or (SYSTEMATICITY_COLUMNS if path.name.startswith("syst") else PRODUCTIVITY_COLUMNS)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def image_row(image_id, width=800, height=600):
    row = {"archive": "images", "path": f"{image_id}.jpg", "crc32": 1, "coco_id": None, "flickr_id": None}
    return {"image_id": image_id, "width": width, "height": height, **row}
