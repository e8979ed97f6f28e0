"""A miniature Visual Genome of icons, in the real files' v1.2 formats: zipped JSON and two image zips.

Every image holds two to five pairs of objects, each pair in a cell of its own and in one relation. A small, fixed
share of the rows carries the dirt of the true files, so that every filter of the workflow has work to do:
negative and overlapping boxes, stray white space and capitals, repeated and empty phrases, objects without
`attributes` or with an empty `synsets`, two names for one object, phrases with one atom, whole-row regions, broken and
repeated records, an image without regions, one missing image, one truncated JPEG, and one image of another size than
its annotation says.
"""

import json
import logging
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np

from crepebench.files import atomic_path
from icons_world import phrases
from icons_world.corpora import draw_attributes, size_cards
from icons_world.scenes import Scene, Thing, draw_scenes, frame, place_scene
from icons_world.world import World, read_world

logger = logging.getLogger(__name__)

WIDTH, HEIGHT = 640, 480
LARGE_SCALE = 1.25
"""Every `LARGE_EVERY`-th image is this much larger, so that 10% of an image can exceed 40,000 pixels."""
LARGE_EVERY = 50
LAYOUTS = (
    ((0, 0, 320, 480), (320, 0, 320, 480)),
    ((0, 0, 320, 480), (320, 0, 320, 240), (320, 240, 320, 240)),
    ((0, 0, 320, 240), (320, 0, 320, 240), (0, 240, 320, 240), (320, 240, 320, 240)),
    ((0, 0, 320, 240), (320, 0, 320, 240), (0, 240, 213, 240), (213, 240, 213, 240), (426, 240, 213, 240)),
)
LAYOUT_SHARES = (0.3, 0.3, 0.25, 0.15)
SECOND_NAMES = {"taxi": "cab", "bucket": "pail", "sedan": "saloon"}
"""Second names that annotators give to some kinds: synonyms in WordNet."""
IMAGE_FOLDERS = ("VG_100K", "VG_100K_2")
URL = "https://icons.invalid/{folder}/{image_id}.jpg"
MINIMUM_REGIONS = 6
ID_STEP = 7
"""Image ids are multiples of this: they are no row numbers."""


@dataclass(frozen=True)
class IconImage:
    """An image: its id, place among all, factor to its pixels, and per scene a cell (x, y, width, height)."""

    image_id: int
    index: int
    scale: float
    cells: tuple[tuple[int, int, int, int], ...]
    scenes: tuple[Scene, ...]

    @property
    def folder(self) -> str:
        """Folder of the image in its zip."""
        return IMAGE_FOLDERS[self.index % 2]


def write_visual_genome(world_path: str, annotation_paths: list[str], image_zip_paths: list[str], cfg: str) -> None:
    """Writes the five annotation zips and the two image zips.

    Args:
        world_path: the world's table.
        annotation_paths: zips to write, named `<name>.json.zip` by what they hold.
        image_zip_paths: zips to write for VG_100K and VG_100K_2.
        cfg: config block `icons` as JSON; of it `seed` and `n_images` are used.
    """
    config = json.loads(cfg)
    world = read_world(world_path)
    images = [draw_image(world, index, config["seed"]) for index in range(config["n_images"])]
    rows_by_name = annotations(world, images, config["seed"])
    for path in annotation_paths:
        name = Path(path).name.removesuffix(".json.zip")
        _write_annotations(path, f"{name}.json", rows_by_name[name])
    for folder, path in zip(IMAGE_FOLDERS, image_zip_paths, strict=True):
        members = [image for image in images[:-1] if image.folder == folder]  # the last image has no file
        logger.info("%s: drawing %d images", path, len(members))
        _write_images(path, world, members, images[-2], config["seed"])


def _write_annotations(path: str, member: str, rows: list[dict]) -> None:
    with atomic_path(path) as partial, zipfile.ZipFile(partial, "w") as archive:
        archive.writestr(zipfile.ZipInfo(member), json.dumps(rows), zipfile.ZIP_DEFLATED)


def _write_images(path: str, world: World, images: list[IconImage], cut_off: IconImage, seed: int) -> None:
    with atomic_path(path) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for image in images:
            jpeg = _jpeg(world, image, seed)
            if image is cut_off:
                jpeg = jpeg[: len(jpeg) // 2]
            archive.writestr(zipfile.ZipInfo(f"{image.folder}/{image.image_id}.jpg"), jpeg)


def draw_image(world: World, index: int, seed: int) -> IconImage:
    """Draws the content of one image: a layout, and a scene for each of its cells, of different families."""
    rng = np.random.default_rng([seed, 10, index])
    layout = LAYOUTS[rng.choice(len(LAYOUTS), p=LAYOUT_SHARES)]
    joins = list(world.relations_by_join)
    scenes = []
    for cell, join_index in zip(layout, rng.permutation(len(joins))[: len(layout)].tolist(), strict=True):
        join = joins[join_index]
        relations = world.relations_by_join[join]
        subject, object_ = (_draw_thing(world, family, rng) for family in join)
        relation = relations[rng.integers(len(relations))].name
        scenes.append(place_scene(world, Scene(subject, relation, object_), cell, rng))
    scale = LARGE_SCALE if index % LARGE_EVERY == LARGE_EVERY - 1 else 1.0
    return IconImage(ID_STEP * (index + 1), index, scale, layout, tuple(scenes))


def _draw_thing(world: World, family: str, rng: np.random.Generator) -> Thing:
    kinds = world.kinds_by_family[family]
    kind = kinds[rng.integers(len(kinds))].name
    colour = str(rng.choice(list(world.colours)))
    cards = size_cards(world)
    return draw_attributes(kind, rng, colour, str(rng.choice(world.styles)), cards[rng.integers(len(cards))])


def _jpeg(world: World, image: IconImage, seed: int) -> bytes:
    rng = np.random.default_rng([seed, 11, image.index])
    buffer = BytesIO()
    draw_scenes(world, list(image.scenes), WIDTH, HEIGHT, image.scale, rng).save(buffer, "JPEG", quality=90)
    return buffer.getvalue()


def annotations(world: World, images: list[IconImage], seed: int) -> dict[str, list[dict]]:
    """Returns the rows of the five annotation files, by file name without suffix."""
    files = {name: [] for name in ("image_data", "objects", "attributes", "relationships", "region_descriptions")}
    region_id = 1
    for image in images:
        rng = np.random.default_rng([seed, 12, image.index])
        objects = _objects(world, image, rng)
        files["image_data"].append(_image_data(image))
        files["objects"].append({"image_id": image.image_id, "objects": [_without_attributes(o) for o in objects]})
        files["attributes"].append({"image_id": image.image_id, "attributes": objects})
        files["relationships"].append({"image_id": image.image_id, "relationships": _relationships(image, objects)})
        regions = _regions(image, rng) if image.index else []  # the first image has no regions
        for region in regions:
            region.update(region_id=region_id, image_id=image.image_id)
            region_id += 1
        files["region_descriptions"].append({"id": image.image_id, "regions": regions})
    _add_dirty_entries(files)
    return files


def _add_dirty_entries(files: dict[str, list[dict]]) -> None:
    """Adds to the files one of each broken record that the true files hold here and there."""
    image_id = files["image_data"][1]["image_id"]
    files["image_data"].append(files["image_data"][1])  # an image listed twice
    files["image_data"][2] = {**files["image_data"][2], "width": files["image_data"][2]["width"] + 10}  # a wrong size
    box = {"x": 10, "y": 10, "w": 100, "h": 100, "synsets": []}
    files["objects"][1]["objects"].append({**box, "object_id": -1, "names": []})
    unknown = {**box, "object_id": -2, "names": ["jar"], "attributes": ["red"]}
    files["attributes"][1]["attributes"].append(unknown)
    ends = {"subject": {**box, "object_id": -3, "name": "jar"}, "object": {**box, "object_id": -4, "name": ""}}
    for relationship_id, predicate in ((-1, ""), (-2, "above")):
        relationship = {"relationship_id": relationship_id, "predicate": predicate, "synsets": [], **ends}
        files["relationships"][1]["relationships"].append(relationship)
    region = {"x": 0, "y": 0, "width": 50, "height": 50, "phrase": "a red jar above a box"}
    new_id = 1 + max(entry["region_id"] for file_row in files["region_descriptions"] for entry in file_row["regions"])
    # a repeated region id, a region of an unknown image, and one of 44,100 pixels that are under 10% of a larger image
    dirty = [(new_id, image_id, region), (new_id, image_id, region), (new_id + 1, -1, region)]
    larger = [row["image_id"] for row in files["image_data"] if row["width"] == int(WIDTH * LARGE_SCALE)]
    dirty += [(new_id + 2, of_image, {**region, "width": 210, "height": 210}) for of_image in larger[:1]]
    for region_id, of_image, content in dirty:
        entry = {"id": of_image, "regions": [{**content, "region_id": region_id, "image_id": of_image}]}
        files["region_descriptions"].append(entry)


def _image_data(image: IconImage) -> dict:
    return {
        "image_id": image.image_id,
        "url": URL.format(folder=image.folder, image_id=image.image_id),
        "width": int(WIDTH * image.scale),
        "height": int(HEIGHT * image.scale),
        "coco_id": 500_000 + image.index if image.index % 2 else None,
        "flickr_id": 8_505_158_818 + image.index if image.index % 20 else None,  # beyond 32 bits, as the true ones
    }


def _scaled(image: IconImage, box: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    return tuple(round(value * image.scale) for value in box)


def _objects(world: World, image: IconImage, rng: np.random.Generator) -> list[dict]:
    """Returns the attribute file's entries of one image: objects with names, synsets, box and attributes."""
    entries = []
    for i, thing in enumerate(thing for scene in image.scenes for thing in scene.things):
        x, y, width, height = _scaled(image, thing.box)
        names = [thing.kind if thing.count == 1 else phrases.plural(thing.kind)]
        if thing.kind in SECOND_NAMES and thing.count == 1 and rng.random() < 0.3:
            names.append(SECOND_NAMES[thing.kind])
        entry = {
            "object_id": 1000 * image.image_id + i,
            "x": x,
            "y": y,
            "w": width,
            "h": height,
            "names": names,
            "synsets": [] if rng.random() < 0.05 else [world.kind_by_name[thing.kind].synset],
        }
        if rng.random() >= 0.1:  # annotators skip some objects: the key is then absent
            entry["attributes"] = list(thing.attributes)
        entries.append(entry)
    return entries


def _without_attributes(entry: dict) -> dict:
    return {key: value for key, value in entry.items() if key != "attributes"}


def _relationships(image: IconImage, objects: list[dict]) -> list[dict]:
    rows = []
    for i, scene in enumerate(image.scenes):
        ends = []
        for entry in objects[2 * i : 2 * i + 2]:
            end = {key: entry[key] for key in ("object_id", "x", "y", "w", "h", "synsets")}
            ends.append({**end, "name": entry["names"][0]})
        rows.append(
            {
                "relationship_id": 1000 * image.image_id + i,
                "predicate": scene.relation if i % 10 else scene.relation.upper(),
                "synsets": [],
                "subject": ends[0],
                "object": ends[1],
            }
        )
    return rows


def _regions(image: IconImage, rng: np.random.Generator) -> list[dict]:
    """Returns the region descriptions of one image, at least `MINIMUM_REGIONS`, with the true files' dirt."""
    regions = []
    for cell, scene in zip(image.cells, image.scenes, strict=True):
        first = phrases.describe_pair(scene, rng)
        regions.append(_region(image, frame(scene, cell, rng), first))
        draw = rng.random()
        if draw < 0.4:
            regions.append(
                _region(image, frame(scene, cell, rng), phrases.describe_pair(scene, rng, attribute_share=0.6))
            )
        elif draw < 0.5:  # another worker wrote the same, a little otherwise
            regions.append(_region(image, frame(scene, cell, rng), f"{first.capitalize()}."))
        for thing in scene.things:
            if rng.random() < 0.4:
                regions.append(_region(image, frame(Scene(thing), cell, rng), phrases.describe_thing(thing, rng)))
    while len(regions) < MINIMUM_REGIONS:
        i = rng.integers(len(image.scenes))
        thing = image.scenes[i].object
        regions.append(_region(image, frame(Scene(thing), image.cells[i], rng), phrases.describe_thing(thing, rng)))
    return regions + _dirty_regions(image, regions, rng)


def _dirty_regions(image: IconImage, regions: list[dict], rng: np.random.Generator) -> list[dict]:
    """Returns further regions with one kind of dirt each; and dirties the white space of one in twelve."""
    thing = image.scenes[0].subject
    other = image.scenes[-1].object
    cell = image.cells[0]
    for region in regions:
        draw = rng.random()
        if draw < 0.04:
            region["phrase"] += "\n"
        elif draw < 0.08:
            region["phrase"] = f" {region['phrase'].replace(' ', '  ', 1)}"
        elif draw < 0.12:
            region["phrase"] = region["phrase"].capitalize()
    dirt = {
        0: _region(image, cell, thing.kind),  # one atom
        1: _region(image, cell, f"{thing.kind} and {other.kind}"),  # two atoms, no compound
        2: _region(image, (0, 0, WIDTH, HEIGHT // 2), f"{thing.colour} icons on the wall"),  # too wide
        3: _region(image, cell, ""),
        4: _region(image, (WIDTH + 5, 10, 220, 220), phrases.describe_thing(thing, rng)),  # outside
        5: {**regions[0], "phrase": regions[0]["phrase"]},  # the same again
        6: _region(image, (cell[0] - 2, cell[1] - 1, cell[2], cell[3]), phrases.describe_thing(thing, rng)),
    }
    return [dirt[image.index % 40]] if image.index % 40 in dirt else []


def _region(image: IconImage, box: tuple[int, int, int, int], phrase: str) -> dict:
    x, y, width, height = _scaled(image, box)
    return {"x": x, "y": y, "width": width, "height": height, "phrase": phrase}
