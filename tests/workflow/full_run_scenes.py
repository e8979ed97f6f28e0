"""Scenes of things in relations, in the forms of Visual Genome's annotations and of captions of the web.

One list of true compounds is drawn first; images and corpora show only these, and each corpus holds some of them out.
"""

from dataclasses import dataclass, field

import numpy as np

WIDTH, HEIGHT = 500, 375
OBJECTS = {
    "person": "man:man.n.01 woman:woman.n.01 boy:male_child.n.01 girl:female_child.n.01",
    "animal": "dog:dog.n.01 cat:cat.n.01 cow:cow.n.01 sheep:sheep.n.01 bird:bird.n.01",
    "mount": "horse:horse.n.01 elephant:elephant.n.01 bike:bicycle.n.01 motorcycle:motorcycle.n.01",
    "vehicle": "car:car.n.01 bus:bus.n.01 truck:truck.n.01 van:van.n.05 taxi:cab.n.03",
    "clothing": "shirt:shirt.n.01 jacket:jacket.n.01 hat:hat.n.01 helmet:helmet.n.02 dress:dress.n.01",
    "held": "umbrella:umbrella.n.01 bag:bag.n.01 bottle:bottle.n.01 cup:cup.n.01 book:book.n.01 kite:kite.n.03",
    "food": "pizza:pizza.n.01 sandwich:sandwich.n.01 cake:cake.n.03 apple:apple.n.01 banana:banana.n.02",
    "seat": "chair:chair.n.01 bench:bench.n.01 couch:sofa.n.01",
    "surface": "table:table.n.02 desk:desk.n.01 counter:counter.n.01 shelf:shelf.n.01",
    "ground": "street:street.n.01 sidewalk:sidewalk.n.01 field:field.n.01 road:road.n.01",
    "structure": "building:building.n.01 house:house.n.01 fence:fence.n.01 wall:wall.n.01 tree:tree.n.01",
}
ATTRIBUTES = {
    "person": "young old tall happy short",
    "animal": "brown white black small large",
    "mount": "brown black grey large small",
    "vehicle": "red blue white yellow green old",
    "clothing": "red blue white black striped yellow",
    "held": "red green blue small large plastic",
    "food": "large small sliced fresh green",
    "seat": "wooden metal brown empty green",
    "surface": "wooden white round large metal",
    "ground": "wide narrow empty wet green",
    "structure": "tall white brick old large",
}
FRAMES = [
    ("person", "wearing", "clothing"),
    ("person", "wears", "clothing"),
    ("person", "holding", "held"),
    ("person", "riding", "mount"),
    ("person", "sitting on", "seat"),
    ("person", "standing on", "ground"),
    ("person", "next to", "vehicle"),
    ("person", "near", "animal"),
    ("person", "eating", "food"),
    ("animal", "standing on", "ground"),
    ("animal", "lying on", "seat"),
    ("animal", "behind", "structure"),
    ("mount", "in front of", "structure"),
    ("mount", "on", "ground"),
    ("vehicle", "parked on", "ground"),
    ("vehicle", "in front of", "structure"),
    ("vehicle", "behind", "vehicle"),
    ("held", "on", "surface"),
    ("held", "under", "seat"),
    ("food", "on", "surface"),
    ("food", "next to", "held"),
    ("seat", "near", "surface"),
    ("surface", "in front of", "structure"),
    ("structure", "behind", "ground"),
]
SYNSETS = {
    "wearing": "wear.v.01",
    "wears": "wear.v.01",
    "holding": "hold.v.02",
    "riding": "ride.v.01",
    "eating": "eat.v.01",
    "on": "along.r.01",
}
"""Synsets of predicates as annotators gave them; the others have none."""
TRIPLES_OF_FRAME = 9
Triple = tuple[str, str, str]


@dataclass(frozen=True)
class World:
    """What there is to show.

    Attributes:
        triples: subject, predicate, object.
        attributes: attributes of each kind of object.
    """

    triples: list[Triple]
    attributes: dict[str, list[str]]
    synsets: dict[str, str]


@dataclass
class Thing:
    """An object of an image: its name, attributes and box (x, y, width, height)."""

    name: str
    attributes: list[str]
    box: tuple[int, int, int, int] = (0, 0, 0, 0)


@dataclass
class Scene:
    """Things, and their relations: place of the subject, predicate, place of the object."""

    things: list[Thing] = field(default_factory=list)
    relations: list[tuple[int, str, int]] = field(default_factory=list)


def draw_world(seed: int) -> World:
    """Draws the true compounds."""
    rng = np.random.default_rng([seed, 1])
    kinds = {group: [word.partition(":")[0] for word in words.split()] for group, words in OBJECTS.items()}
    triples: list[Triple] = []
    for subjects, predicate, objects in FRAMES:
        every = [(s, predicate, o) for s in kinds[subjects] for o in kinds[objects] if s != o]
        triples += [every[i] for i in sorted(rng.permutation(len(every))[:TRIPLES_OF_FRAME])]
    attributes = {}
    for group, names in kinds.items():
        words = ATTRIBUTES[group].split()
        for name in names:
            attributes[name] = [words[i] for i in sorted(rng.permutation(len(words))[:4])]
    synsets = dict(word.split(":") for words in OBJECTS.values() for word in words.split())
    return World(triples, attributes, synsets)


def held_out(world: World, seed: int) -> World:
    """Returns what is left of a world if a corpus never shows two kinds of object and a quarter of the compounds."""
    rng = np.random.default_rng([seed, 2])
    names = sorted(world.attributes)
    hidden = {names[i] for i in rng.permutation(len(names))[:2]}
    triples = [each for each in world.triples if rng.random() > 0.25 and not hidden & {each[0], each[2]}]
    attributes = {name: [word for word in words if rng.random() > 0.25] for name, words in world.attributes.items()}
    return World(triples, attributes, world.synsets)


def draw_scene(world: World, n_relations: int, rng: np.random.Generator) -> Scene:
    """Draws a scene whose relations join its things: each one begins or ends with a thing that is there, if it can."""
    scene = Scene()

    def thing(name: str) -> int:
        words = world.attributes[name]
        n_words = int(rng.integers(0, min(3, len(words) + 1)))
        chosen = [words[i] for i in sorted(rng.permutation(len(words))[:n_words])]
        scene.things.append(Thing(name, chosen, _draw_box(rng)))
        return len(scene.things) - 1

    for _ in range(n_relations):
        places = {each.name: i for i, each in enumerate(scene.things)}
        known = [(s, p, o) for s, p, o in world.triples if (s in places) != (o in places)]
        s, predicate, o = (known or world.triples)[rng.integers(len(known or world.triples))]
        ends = [places[name] if name in places else thing(name) for name in (s, o)]
        scene.relations.append((ends[0], predicate, ends[1]))
    return scene


def _draw_box(rng: np.random.Generator) -> tuple[int, int, int, int]:
    width, height = int(rng.integers(110, 230)), int(rng.integers(110, 200))
    return int(rng.integers(0, WIDTH - width)), int(rng.integers(0, HEIGHT - height)), width, height


def noun_phrase(thing: Thing, rng: np.random.Generator, share: float = 1.0) -> str:
    """Names a thing: "a tall man"."""
    words = [*(word for word in thing.attributes if rng.random() < share), thing.name]
    determiner = str(rng.choice(["a", "a", "the"]))
    if determiner == "a" and words[0][0] in "aeiou":
        determiner = "an"
    return " ".join([determiner, *words])


def describe_relation(scene: Scene, place: int, rng: np.random.Generator, share: float = 1.0) -> str:
    """Says a relation of a scene: "a tall man wearing a red shirt"."""
    subject, predicate, object_ = scene.relations[place]
    ends = [noun_phrase(scene.things[i], rng, share) for i in (subject, object_)]
    copula = "is " if predicate != "wears" and rng.random() < 0.2 else ""
    return f"{ends[0]} {copula}{predicate} {ends[1]}"


def draw_captions(world: World, n_captions: int, seed: int) -> list[str]:
    """Draws captions of scenes of one or two relations."""
    rng = np.random.default_rng([seed, 3])
    captions = []
    for _ in range(n_captions):
        scene = draw_scene(world, int(rng.integers(1, 3)), rng)
        captions.append(" and ".join(describe_relation(scene, i, rng) for i in range(len(scene.relations))))
    return captions


def union(boxes: list[tuple[int, int, int, int]]) -> tuple[int, int, int, int]:
    """Returns the least box around boxes."""
    left, top = (min(box[i] for box in boxes) for i in (0, 1))
    right, bottom = (max(box[i] + box[i + 2] for box in boxes) for i in (0, 1))
    return left, top, right - left, bottom - top
