"""What there is in the icons world: kinds, attributes, relations and the compounds they can form."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import yaml


@dataclass(frozen=True)
class Kind:
    """A kind of object: its name, glyph of Font Awesome Free, WordNet 3.0 synset and family."""

    name: str
    glyph: str
    synset: str
    family: str


@dataclass(frozen=True)
class Relation:
    """A relation: its words, the arrangement it is drawn as, and the (subject, object) families it joins."""

    name: str
    arrangement: str
    joins: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class World:
    """The table `resources/icons/world.yaml`, in the order of the file."""

    kinds: tuple[Kind, ...]
    relations: tuple[Relation, ...]
    colours: dict[str, tuple[int, int, int]]
    sizes: dict[str, tuple[int, int]]
    default_size: tuple[int, int]
    styles: tuple[str, ...]

    @cached_property
    def kinds_by_family(self) -> dict[str, tuple[Kind, ...]]:
        """Kinds of each family."""
        return {f: tuple(k for k in self.kinds if k.family == f) for f in dict.fromkeys(k.family for k in self.kinds)}

    @cached_property
    def kind_by_name(self) -> dict[str, Kind]:
        """Kind of each name."""
        return {kind.name: kind for kind in self.kinds}

    @cached_property
    def relation_by_name(self) -> dict[str, Relation]:
        """Relation of each name."""
        return {relation.name: relation for relation in self.relations}

    @cached_property
    def relations_by_join(self) -> dict[tuple[str, str], tuple[Relation, ...]]:
        """Relations of each (subject family, object family)."""
        joins = dict.fromkeys(join for relation in self.relations for join in relation.joins)
        return {join: tuple(r for r in self.relations if join in r.joins) for join in joins}

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Every attribute: colours, sizes, styles."""
        return (*self.colours, *self.sizes, *self.styles)

    @cached_property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every compound of attribute and kind, as names."""
        return tuple((attribute, kind.name) for kind in self.kinds for attribute in self.attributes)

    @cached_property
    def triples(self) -> tuple[tuple[str, str, str], ...]:
        """Every compound of kind, relation and kind, as names."""
        return tuple(
            (subject.name, relation.name, object_.name)
            for join, relations in self.relations_by_join.items()
            for subject in self.kinds_by_family[join[0]]
            for relation in relations
            for object_ in self.kinds_by_family[join[1]]
        )


def read_world(path: str) -> World:
    """Reads the world's table."""
    table = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    return World(
        kinds=tuple(
            Kind(name=name, family=family, **entry)
            for family, kinds in table["families"].items()
            for name, entry in kinds.items()
        ),
        relations=tuple(
            Relation(name, entry["arrangement"], tuple(tuple(join) for join in entry["joins"]))
            for name, entry in table["relations"].items()
        ),
        colours={name: tuple(rgb) for name, rgb in table["colours"].items()},
        sizes={name: tuple(bounds) for name, bounds in table["sizes"].items()},
        default_size=tuple(table["default_size"]),
        styles=tuple(table["styles"]),
    )


@dataclass(frozen=True)
class HeldOut:
    """What a corpus must not show: names of kinds, compounds of attribute and kind, and triples."""

    kinds: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    triples: frozenset[tuple[str, str, str]]

    def allows_pair(self, attribute: str, kind: str) -> bool:
        """Says whether the corpus may show `attribute` on `kind`."""
        return kind not in self.kinds and (attribute, kind) not in self.pairs

    def allows_triple(self, subject: str, relation: str, object_: str) -> bool:
        """Says whether the corpus may show the triple."""
        return not {subject, object_} & self.kinds and (subject, relation, object_) not in self.triples


NOTHING_HELD_OUT = HeldOut(frozenset(), frozenset(), frozenset())


def draw_held_out(
    world: World,
    rng: np.random.Generator,
    colour_share: float,
    style_share: float,
    triple_share: float,
    n_kinds: int,
) -> HeldOut:
    """Draws what a corpus leaves out.

    Args:
        world: the world.
        rng: the corpus's own generator.
        colour_share: share (0-1) of each kind's colours that is never shown with it.
        style_share: share (0-1) of each kind's styles that is never shown with it; sizes are never held out.
        triple_share: share (0-1) of all triples that is held out.
        n_kinds: number of kinds that never occur, at most one of a family.

    Returns:
        HeldOut.
    """
    pairs = set()
    for kind in world.kinds:
        for group, share in ((tuple(world.colours), colour_share), (world.styles, style_share)):
            n_out = int(share * len(group) + rng.random())  # the expected number is the share's
            pairs.update((attribute, kind.name) for attribute in rng.permutation(group)[:n_out].tolist())
    n_triples = round(triple_share * len(world.triples))
    triples = {world.triples[i] for i in rng.permutation(len(world.triples))[:n_triples]}
    families = rng.permutation(list(world.kinds_by_family))[:n_kinds].tolist()
    kinds = {
        world.kinds_by_family[family][rng.integers(len(world.kinds_by_family[family]))].name for family in families
    }
    return HeldOut(frozenset(kinds), frozenset(pairs), frozenset(triples))
