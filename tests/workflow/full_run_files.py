"""Visual Genome and three corpora in the layouts and under the names of the true ones, with some of their dirt."""

import bz2
import json
import zipfile
from io import BytesIO
from itertools import combinations
from pathlib import Path
from urllib.parse import quote_plus

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from PIL import Image, ImageDraw

from .full_run_scenes import (
    HEIGHT,
    SYNSETS,
    WIDTH,
    Scene,
    World,
    describe_relation,
    draw_captions,
    draw_scene,
    held_out,
    noun_phrase,
    union,
)

IMAGE_URL = "https://cs.stanford.edu/people/rak248/{folder}/{number}.jpg"
FOLDERS = {"images.zip": "VG_100K", "images2.zip": "VG_100K_2"}
EXCLUDED = (1592, 1722)
"""Ids that the default config leaves out."""
RENUMBERED = (2412112, 2370463)
"""Id of an image, and the number in its url, as in Visual Genome's field guide."""
MISSING, TRUNCATED = 7, 8
"""Places of an image without a file, and of one whose file is cut off."""
LAION_NAME = "part-{:05d}-5b54c5d5-bbcf-484d-a2ce-0d6f73df1a36-c000.snappy.parquet"
NOT_IN_SUBSET = 300
"""Rows of YFCC100M's metadata that CLIP's subset does not name."""


def image_ids(n_images: int) -> list[int]:
    """Returns ids of images, most of them in a row, as the true ones are."""
    return [*range(1, n_images - len(EXCLUDED)), *EXCLUDED, RENUMBERED[0]]


def write_visual_genome(folder: Path, world: World, n_images: int, seed: int) -> None:
    """Writes the zips of version 1.2 and of objects and relationships 1.4, both zips of images, and the alias files."""
    scenes = [draw_scene(world, 9, np.random.default_rng([seed, 4, i])) for i in range(n_images)]
    ids = image_ids(n_images)
    files = _annotations(world, scenes, ids, seed)
    for name, rows in files.items():
        member = name.removesuffix("_v1_2")
        with zipfile.ZipFile(folder / f"{name}.json.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr(f"{member}.json", json.dumps(rows))
    for name, members in FOLDERS.items():
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.writestr(f"{members}/", b"")
            for place, scene in enumerate(scenes):
                if place % 2 == (name == "images2.zip") and place != MISSING:
                    jpeg = _jpeg(scene, np.random.default_rng([seed, 5, place]))
                    content = jpeg[: len(jpeg) // 2] if place == TRUNCATED else jpeg
                    archive.writestr(f"{members}/{_number(ids[place])}.jpg", content)
    (folder / "object_alias.txt").write_text("bicycle,bike,bicycles\ncouch,sofa,sofas\ntaxi,cab\n")
    (folder / "relationship_alias.txt").write_text("wearing,wears,is wearing\non,ON,is on\n")


def _number(image_id: int) -> int:
    return dict([RENUMBERED]).get(image_id, image_id)


def _jpeg(scene: Scene, rng: np.random.Generator) -> bytes:
    """Draws each thing as a box of noise of its own colour."""
    noise = rng.integers(0, 255, (HEIGHT // 25, WIDTH // 25, 3), np.uint8)
    picture = Image.fromarray(noise).resize((WIDTH, HEIGHT))
    draw = ImageDraw.Draw(picture)
    for thing in scene.things:
        x, y, width, height = thing.box
        draw.rectangle((x, y, x + width, y + height), tuple(rng.integers(0, 255, 3).tolist()), width=int(width // 4))
    buffer = BytesIO()
    picture.save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def _annotations(world: World, scenes: list[Scene], ids: list[int], seed: int) -> dict[str, list[dict]]:
    names = "image_data objects_v1_2 objects attributes relationships_v1_2 relationships region_descriptions".split()
    files: dict[str, list[dict]] = {name: [] for name in names}
    region_id = 1382
    for place, (image_id, scene) in enumerate(zip(ids, scenes, strict=True)):
        rng = np.random.default_rng([seed, 6, place])
        folder = list(FOLDERS.values())[place % 2]
        files["image_data"].append(
            {
                "width": WIDTH,
                "url": IMAGE_URL.format(folder=folder, number=_number(image_id)),
                "height": HEIGHT,
                "image_id": image_id,
                "coco_id": 400_000 + place if place % 2 else None,
                "flickr_id": 8_505_158_818 + place if place % 5 else None,
            }
        )
        objects = _objects(world, scene, 1_058_000 + 100 * place, rng)
        relations = _relations(scene, objects, 15_000 + 100 * place)
        files["attributes"].append({"image_id": image_id, "attributes": objects})
        plain = [{key: value for key, value in row.items() if key != "attributes"} for row in objects]
        files["objects_v1_2"].append({"image_id": image_id, "objects": plain})
        merged = [{**row, "merged_object_ids": [900_000_000 + row["object_id"]]} for row in plain]
        files["objects"].append({"image_id": image_id, "objects": merged})
        files["relationships_v1_2"].append({"image_id": image_id, "relationships": relations})
        files["relationships"].append({"image_id": image_id, "relationships": _merged_ends(relations)})
        regions = [] if place == 3 else _regions(scene, place, rng)  # an image without regions
        for region in regions:
            region |= {"region_id": region_id, "image_id": image_id}
            region_id += 1
        files["region_descriptions"].append({"id": image_id, "regions": regions})
    return files


def _objects(world: World, scene: Scene, first_id: int, rng: np.random.Generator) -> list[dict]:
    """Returns the objects of an image; some have no synset, none of the attributes, or a box that begins outside."""
    rows = []
    for i, thing in enumerate(scene.things):
        x, y, width, height = thing.box
        synsets = [] if rng.random() < 0.08 else [world.synsets[thing.name]]
        box = {"x": x - 3 if x == 0 else x, "y": y, "w": width, "h": height}
        row = {"synsets": synsets, "object_id": first_id + i, "names": [thing.name], **box}
        if thing.attributes:
            row["attributes"] = thing.attributes
        rows.append(row)
    return rows


def _relations(scene: Scene, objects: list[dict], first_id: int) -> list[dict]:
    rows = []
    for i, (subject, predicate, object_) in enumerate(scene.relations):
        ends = [
            {**{key: objects[j][key] for key in ("object_id", "synsets", "x", "y", "w", "h")}, "name": name}
            for j, name in ((k, scene.things[k].name) for k in (subject, object_))
        ]
        rows.append(
            {
                "predicate": predicate.upper() if predicate == "on" else predicate,
                "relationship_id": first_id + i,
                "synsets": [SYNSETS[predicate]] if predicate in SYNSETS else [],
                "subject": ends[0],
                "object": ends[1],
            }
        )
    return rows


def _merged_ends(relations: list[dict]) -> list[dict]:
    """Returns relations as in version 1.4: ends have `names`, and one in each image is of a merged object."""
    rows = []
    for i, row in enumerate(relations):
        ends = {}
        for side in ("subject", "object"):
            end = {key: value for key, value in row[side].items() if key != "name"}
            end |= {"names": [row[side]["name"]], "merged_object_ids": []}
            if i == 0 and side == "subject":
                end["object_id"] += 900_000_000
            ends[side] = end
        rows.append({**row, **ends})
    return rows


def _regions(scene: Scene, place: int, rng: np.random.Generator) -> list[dict]:
    """Returns region descriptions: relations, single things, and some of the dirt of the true ones."""
    regions = []
    for i in range(len(scene.relations)):
        boxes = [scene.things[j].box for j in scene.relations[i][::2]]
        regions.append(_region(union(boxes), describe_relation(scene, i, rng, 0.7)))
    for first, second in _disjoint(scene.relations)[:3]:
        boxes = [scene.things[j].box for j in (*scene.relations[first][::2], *scene.relations[second][::2])]
        said = [describe_relation(scene, i, rng, 0.7) for i in (first, second)]
        regions.append(_region(union(boxes), " and ".join(said)))
    for thing in scene.things[:2]:
        regions.append(_region(thing.box, noun_phrase(thing, rng)))
    regions[0]["phrase"] = f"{regions[0]['phrase'].capitalize()} "
    if place % 10 == 0:
        regions[1] |= {"x": -5, "y": -2}
        regions.append({**regions[2]})  # said twice
        regions.append(_region((0, 0, WIDTH, 90), "the sky is blue"))
        regions.append(_region((10, 10, 300, 300), ""))
        regions.append(_region((WIDTH + 20, 10, 220, 220), "a man on a horse"))
    return regions


def _disjoint(relations: list[tuple[int, str, int]]) -> list[tuple[int, int]]:
    """Returns the places of pairs of relations that have no thing in common."""
    pairs = combinations(range(len(relations)), 2)
    return [(i, j) for i, j in pairs if not set(relations[i][::2]) & set(relations[j][::2])]


def _region(box: tuple[int, int, int, int], phrase: str) -> dict:
    return {**dict(zip(("x", "y", "width", "height"), box, strict=True)), "phrase": phrase}


def write_corpora(folder: Path, world: World, n_captions: int, seed: int) -> None:
    """Writes CC-12M, YFCC100M's metadata with the list of CLIP's subset, and LAION-400M, below `folder`."""
    writers = {"cc12m": _write_cc12m, "yfcc100m": _write_yfcc, "laion400m": _write_laion}
    for i, (name, write) in enumerate(writers.items()):
        captions = draw_captions(held_out(world, seed + i), n_captions, seed + i)
        (folder / name).mkdir(parents=True)
        write(folder / name, captions, np.random.default_rng([seed + i, 7]))


def _write_cc12m(folder: Path, captions: list[str], rng: np.random.Generator) -> None:
    tails = ["", "", " .", " by <PERSON>", " - stock photo", ", on a sunny day"]
    rows = [f"https://img.invalid/{i}.jpg\t{text}{rng.choice(tails)}\n" for i, text in enumerate(captions)]
    content = "".join([*rows, "https://img.invalid/x.jpg\n", "https://img.invalid/y.jpg\t\n"]).encode()
    (folder / "cc12m.tsv").write_bytes(content + b"https://img.invalid/z.jpg\t\xff\xfe\n")


def _write_yfcc(folder: Path, captions: list[str], rng: np.random.Generator) -> None:
    """Writes two parts of the metadata, percent-encoded, some rows of which the subset does not name."""
    parts: list[list[str]] = [[], []]
    subset = []
    for i, text in enumerate([*captions, *["a spaceship orbiting a planet"] * NOT_IN_SUBSET]):
        title, description = text, ""
        if i % 5 == 0:
            title, description = f"IMG_{1000 + i}", f'{text} & more.\n<a href="http://www.flickr.com/">my set</a>'
        photo, digest = str(2_000_000_000 + i), f"{i:032x}"
        row = [""] * 25
        row[:5] = [str(3 * i), photo, digest, "12345678@N00", quote_plus("a user")]
        row[8:10] = quote_plus(title), quote_plus(description)
        row[16:18] = f"http://farm1.staticflickr.com/1/{photo}.jpg", "Attribution License"
        row[24] = "0"
        parts[i % 2].append("\t".join(row) + "\n")
        if i < len(captions):
            subset.append(f"{3 * i}\t{photo}\t{digest}\n")
    for i, lines in enumerate(parts):
        (folder / f"yfcc100m_dataset-{i}.bz2").write_bytes(bz2.compress("".join(lines).encode()))
    (folder / "yfcc100m_subset_data.tsv.bz2").write_bytes(bz2.compress("".join(subset).encode()))


def _write_laion(folder: Path, captions: list[str], rng: np.random.Generator) -> None:
    names = ("SAMPLE_ID", "URL", "TEXT", "HEIGHT", "WIDTH", "LICENSE", "NSFW", "similarity")
    texts = [
        text.upper() if i % 30 == 0 else f"{text} | Shop" if i % 7 == 0 else text for i, text in enumerate(captions)
    ]
    for shard in range(4):
        rows = [(i, f"https://img.invalid/{i}.jpg", texts[i]) for i in range(shard, len(texts), 4)]
        rows += [(-1, "https://img.invalid/none.jpg", None)]
        columns = [*zip(*rows, strict=True), *([value] * len(rows) for value in (300, 400, "?", "UNLIKELY", 0.31))]
        table = pa.table(dict(zip(names, map(list, columns), strict=True)))
        pq.write_table(table, folder / LAION_NAME.format(shard), row_group_size=200)
