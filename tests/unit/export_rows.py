"""Small retrieval sets of both families, written to tables, that the tests of the exports share."""

from crepebench.families import FOIL_TYPES, PARTS_OF_TYPE
from crepebench.schema import RETRIEVAL_SETS, SPLITS, SUBGRAPHS, write_table

N_OF_PART = {"comp": 6, "atom": 4}
ODD = 'a "cup"\\ on a box; naïve 日本 \U0001f600, it\'s\u2028'
"""A foil with characters that Python and JSON may write in different ways."""


def make_set(family, foil_type, i, caption, n_of_part=None):
    """Returns a set of image i; its region or subgraph has the number 100 + i."""
    sizes = n_of_part or N_OF_PART
    foils = [
        {
            **dict.fromkeys(("original", "replacement", "source"), "x"),
            "kind": part,
            "foil_id": f"{family[0]}{i}{part}{k}",
            "text": ODD if (part, k, i) == ("atom", 0, 1) else f"{part} foil {k} of {caption}",
        }
        for part in PARTS_OF_TYPE[family][foil_type]
        for k in range(sizes.get(part, 5))
    ]
    return {
        "set_id": f"{family[:4]}{i:012d}",
        "region_id": 100 + i if family == "systematicity" else None,
        "subgraph_id": 100 + i if family == "productivity" else None,
        **{"protocol": "paper", "foil_type": foil_type, "image_id": i, "complexity": 4 + i % 2},
        **dict(zip(("x", "y", "width", "height"), (i, 2 * i, 40 + i, 30 + i), strict=True)),
        **{"caption": caption, "caption_source": "test", "foils": foils},
    }


def make_sets(family, n, refined=False):
    """Returns the sets of n images; in a refined family comp and combined have another truth than atom."""
    rows = []
    for i in range(1, n + 1):
        for foil_type in FOIL_TYPES[family]:
            is_other = refined and foil_type in ("comp", "combined", "negate", "overall")
            sizes = {"atom": 5} if family == "productivity" else None
            rows.append(make_set(family, foil_type, i, f"truth {i}{' joined' * is_other}", sizes))
    return rows


def write_inputs(folder, n=5, refined=False, splits=("SC", "UC", "UA", "undecided", "SC")):
    """Writes tables of sets (in two parts), splits and subgraphs, and returns their paths and the sets by family."""
    sets, paths = {}, {}
    for family in FOIL_TYPES:
        sets[family] = make_sets(family, n, refined)
        paths[family] = [str(folder / f"{family}{part}.parquet") for part in range(2)]
        for part, path in enumerate(paths[family]):
            write_table(path, RETRIEVAL_SETS, [row for row in sets[family] if row["image_id"] % 2 == part])
    splits_path, subgraphs_path = str(folder / "splits.parquet"), str(folder / "subgraphs.parquet")
    rows = [
        {"region_id": 100 + i, "split": split, "decided_by": "", "corpus_id": ""} for i, split in enumerate(splits, 1)
    ]
    write_table(splits_path, SPLITS, rows)
    subgraphs = [
        dict.fromkeys(SUBGRAPHS.names)
        | {"subgraph_id": 100 + i, "n_objects": 3, "n_relations": 1, "n_attributes": i, "n_components": 2, "atoms": []}
        for i in range(1, n + 1)
    ]
    write_table(subgraphs_path, SUBGRAPHS, subgraphs)
    return paths, [splits_path], [subgraphs_path], sets
