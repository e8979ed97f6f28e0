"""Rows of objects and relationships that the tests of scene graphs and subgraphs share; and generated images."""

from collections import Counter

from crepebench.scene_graphs import UNITS

SIZE = (800, 600)
IMAGE_ID = 9
HERE, THERE = (100, 100, 200, 150), (400, 200, 250, 250)
NAMES = "man woman hat dog bench tree car street house window sign fire-hydrant bag shoe".split()
ODD_NAMES = ("the man", "men", "glass of water", '"walk"', "background", "2")
ATTRIBUTES = ("red", "tall", "old", "black and white", "wooden", "on", "made of bricks", "parked", "man")
PREDICATES = ("on", "wearing", "near", "is behind", "has", "in front of the", "holding", "-", "is", "not on")
BOX = ("x", "y", "width", "height")


def unit_counts():
    return {unit: Counter() for unit in UNITS}


def object_row(object_id, names, attributes=(), box=HERE, image_id=IMAGE_ID):
    """Returns a row of table OBJECTS."""
    row = {"image_id": image_id, "object_id": object_id, "merged_object_ids": [], "synsets": []}
    return {**row, "names": list(names), "attributes": list(attributes), **dict(zip(BOX, box, strict=True))}


def relationship_row(relationship_id, predicate, subject, object_, image_id=IMAGE_ID):
    """Returns a row of table RELATIONSHIPS; ends are (id, name, box)."""
    row = {"image_id": image_id, "relationship_id": relationship_id, "predicate": predicate}
    row |= {"predicate_raw": predicate, "synsets": []}
    for side, (identity, name, box) in (("subject", subject), ("object", object_)):
        row |= {f"{side}_id": identity, f"{side}_name": name}
        row |= dict(zip((f"{side}_{key}" for key in BOX), box, strict=True))
    return row


def image_row(image_id=IMAGE_ID, size=SIZE, coco_id=None):
    """Returns a row of table IMAGES."""
    row = dict.fromkeys(("archive", "path", "crc32", "flickr_id"))
    return {**row, "image_id": image_id, "width": size[0], "height": size[1], "coco_id": coco_id}


def draw_box(rng):
    """Draws a box that may reach beyond the image, or lie outside; mostly of some size."""
    x, y = rng.integers(-50, SIZE[0] - 20), rng.integers(-50, SIZE[1] - 20)
    return int(x), int(y), *rng.integers(0 if rng.random() < 0.05 else 20, 450, 2).tolist()


def draw_rows(rng, image_id=IMAGE_ID):
    """Draws an image as annotated: objects listed twice, without id, of odd names; ends that are no objects."""
    n_objects, n_relationships = int(rng.integers(0, 30)), int(rng.integers(0, 30))
    objects = []
    for i in range(n_objects):
        if objects and rng.random() < 0.25:  # the same thing again, its box a little otherwise
            known = objects[rng.integers(len(objects))]
            names = known["names"]
            box = tuple(int(known[key] + rng.integers(-10, 11)) for key in BOX)
        else:
            words = NAMES if rng.random() < 0.85 else ODD_NAMES
            names = [str(name) for name in rng.choice(words, rng.integers(1, 3))]
            box = draw_box(rng)
        attributes = [str(text) for text in rng.choice(ATTRIBUTES, rng.integers(0, 3))]
        identity = None if rng.random() < 0.1 else 100 + i
        objects.append(object_row(identity, names, attributes, box, image_id))
    relationships = []
    for i in range(n_relationships):
        ends = []
        for _ in range(2):
            if objects and rng.random() < 0.8:
                row = objects[rng.integers(len(objects))]
                ends.append((row["object_id"], row["names"][0], tuple(row[key] for key in BOX)))
            else:
                identity = None if rng.random() < 0.3 else int(rng.integers(500, 510))
                ends.append((identity, str(rng.choice(NAMES)), draw_box(rng)))
        identity = None if rng.random() < 0.1 else i
        relationships.append(relationship_row(identity, str(rng.choice(PREDICATES)), *ends, image_id))
    return objects, relationships
