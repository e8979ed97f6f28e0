"""The three caption corpora of the icons world, in their originals' formats, with the images that they caption.

`mini_cc12m` is a TSV of url and caption, `mini_yfcc15m` a TSV of url, title and description (percent-encoded, with
HTML), `mini_laion400m` Parquet shards with URL and TEXT. Each leaves out kinds, attribute-kind pairs and triples of
its own, drawn from its seed; what it leaves out and what each row truly shows is written beside it, for tests.
"""

import json
import logging
import zipfile
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from crepebench.files import atomic_path
from icons_world import phrases
from icons_world.denials import deny
from icons_world.scenes import Scene, Thing, draw_scenes, frame, move_scene, place_scene
from icons_world.sentences import write_sentences
from icons_world.world import NOTHING_HELD_OUT, HeldOut, World, draw_held_out, read_world

logger = logging.getLogger(__name__)

CELLS = ((320, 480), (320, 240), (320, 480), (320, 240), (213, 240))
"""Width and height of a training scene before scaling: the cells of the miniature Visual Genome."""
SCALE = 0.3
"""Training images are stored at this share of the 640x480 images' resolution."""
SINGLE_SHARE = 0.15
"""Share of training images with one object."""
ATTRIBUTE_SHARE = 0.35
"""Share of the attributes that a caption of a pair names. Were all named, colours alone would tell captions apart, and
a model would learn no shapes."""
SIZELESS_CARDS = 14
"""Things without a size word for each small and each large one."""
STYLE_SHARE = 0.8
PLURAL_SHARE = 0.08
"""Shares of things with a style, and of things drawn as two glyphs."""
PLACEMENTS = 16
"""Cells that are tried for a scene whose size words do not fit the first."""
URL = "https://icons.invalid/{corpus}/{row:06d}.jpg"
LAION_SHARDS = 4


def write_corpus(world_path: str, corpus: str, captions_path: str, images_path: str, truth_path: str, cfg: str) -> None:
    """Writes one corpus: captions in its format, images in a zip, and the truth about both.

    Args:
        world_path: the world's table.
        corpus: name of the corpus; its generators are seeded by it.
        captions_path: folder for the caption files.
        images_path: zip file with one member per row, named as the last part of its url.
        truth_path: JSON with what is held out, and per row the scene that the caption describes.
        cfg: JSON of config block `icons` and the corpus's `definition`: `format` ("cc12m", "yfcc_extract" or
            "laion400m"), for a control `control_of` (it draws as that corpus does, and holds nothing out), and
            `denials`, the share (0-1) of captions that also deny something; `sentences`, the number of sentences of a
            caption; and `held_out_of`, the corpus that holds out the same, in place of draws of its own.

    Raises:
        ValueError: the format is unknown.
    """
    config, definition = (json.loads(cfg)[block] for block in ("icons", "definition"))
    world = read_world(world_path)
    source = definition.get("control_of", corpus)
    held_out = draw_held_out(
        world,
        np.random.default_rng([config["seed"], *definition.get("held_out_of", source).encode()]),
        config["held_out_colours"],
        config["held_out_styles"],
        config["held_out_triples"],
        config["held_out_kinds"],
    )
    if "control_of" in definition:
        held_out = NOTHING_HELD_OUT
    scenes = draw_corpus_scenes(world, held_out, source, config["n_captions"], config["seed"])
    rows = draw_corpus_rows(world, scenes, source, config["seed"])
    if "sentences" in definition:
        captions = add_sentences(held_out, rows, source, config["seed"], definition["sentences"])
    else:
        captions = add_denials(world, held_out, rows, source, config["seed"], definition.get("denials", 0.0))
    with atomic_path(images_path) as partial, zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as archive:
        for i, row in enumerate(rows):
            picture = draw_scenes(world, [row.scene], row.width, row.height, SCALE, row.rng)
            buffer = BytesIO()
            picture.save(buffer, "JPEG", quality=92)
            archive.writestr(zipfile.ZipInfo(f"{i:06d}.jpg"), buffer.getvalue())
            if (i + 1) % 1000 == 0:
                logger.info("%s: %d of %d images drawn", corpus, i + 1, len(rows))
    rng = np.random.default_rng([config["seed"], *source.encode(), 2])
    write_captions(definition["format"], corpus, captions, Path(captions_path), rng, "sentences" not in definition)
    with atomic_path(truth_path) as partial:
        document = {
            "held_out": {
                "kinds": sorted(held_out.kinds),
                "pairs": sorted(held_out.pairs),
                "triples": sorted(held_out.triples),
            },
            "rows": [scene_truth(row.scene) for row in rows],
        }
        Path(partial).write_text(json.dumps(document), encoding="utf-8")


@dataclass(frozen=True)
class CorpusScene:
    """One row of a corpus: its scene in a picture of width x height, its caption, and the generator to draw it with."""

    scene: Scene
    width: int
    height: int
    caption: str
    rng: np.random.Generator


def draw_corpus_rows(world: World, scenes: list[Scene], corpus: str, seed: int) -> list[CorpusScene]:
    """Places and captions scenes; each row's choices depend on the seed, the corpus and the row's number alone."""
    rows = []
    for i, scene in enumerate(scenes):
        rng = np.random.default_rng([seed, *corpus.encode(), 1, i])
        framed, width, height = frame_scene(world, scene, rng)
        rows.append(CorpusScene(framed, width, height, phrases.describe_scene(framed, rng, ATTRIBUTE_SHARE), rng))
    return rows


def add_denials(
    world: World, held_out: HeldOut, rows: list[CorpusScene], corpus: str, seed: int, share: float
) -> list[str]:
    """Returns the rows' captions, a share (0-1) of which also denies something; each row has draws of its own."""
    captions = []
    for i, row in enumerate(rows):
        rng = np.random.default_rng([seed, *corpus.encode(), 4, i])
        is_denial = rng.random() < share
        captions.append(deny(world, held_out, row.scene, row.caption, rng) if is_denial else row.caption)
    return captions


def add_sentences(held_out: HeldOut, rows: list[CorpusScene], corpus: str, seed: int, n_sentences: int) -> list[str]:
    """Returns a caption of `n_sentences` for each row; each row has draws of its own."""
    return [
        write_sentences(held_out, row.scene, n_sentences, np.random.default_rng([seed, *corpus.encode(), 5, i]))
        for i, row in enumerate(rows)
    ]


def draw_corpus_scenes(world: World, held_out: HeldOut, corpus: str, n_captions: int, seed: int) -> list[Scene]:
    """Draws scenes so that every compound that is not held out comes round equally often.

    Returns:
        `n_captions` scenes without boxes, in the order of their rows.
    """
    rng = np.random.default_rng([seed, *corpus.encode(), 3])
    triples = [t for t in world.triples if held_out.allows_triple(*t)]
    kinds = [kind.name for kind in world.kinds if kind.name not in held_out.kinds]
    triple_deck, kind_deck = _Deck(triples, rng), _Deck(kinds, rng)
    colour_decks = {k: _Deck([c for c in world.colours if held_out.allows_pair(c, k)], rng) for k in kinds}
    size_decks = {k: _Deck(size_cards(world), rng) for k in kinds}
    style_decks = {k: _Deck([p for p in world.styles if held_out.allows_pair(p, k)], rng) for k in kinds}

    def draw_thing(kind: str) -> Thing:
        return draw_attributes(kind, rng, colour_decks[kind].draw(), style_decks[kind].draw(), size_decks[kind].draw())

    scenes = []
    for _ in range(n_captions):
        if rng.random() < SINGLE_SHARE:
            scenes.append(Scene(draw_thing(kind_deck.draw())))
        else:
            subject, relation, object_ = triple_deck.draw()
            scenes.append(Scene(draw_thing(subject), relation, draw_thing(object_)))
    return scenes


def frame_scene(world: World, scene: Scene, rng: np.random.Generator) -> tuple[Scene, int, int]:
    """Places a scene in a cell and cuts it to the box that an annotator would draw.

    Returns:
        The scene in the coordinates of that box, and the box's width and height.
    """
    for _ in range(PLACEMENTS):
        cell = (0, 0, *CELLS[rng.integers(len(CELLS))])
        placed = place_scene(world, scene, cell, rng)
        if [thing.size for thing in placed.things] == [thing.size for thing in scene.things]:
            break  # the cell is large enough for what the size words say
    x, y, width, height = frame(placed, cell, rng)
    return move_scene(placed, -x, -y), width, height


def size_cards(world: World) -> list[str | None]:
    """Returns one of each size word, and None for the things without one."""
    return [*world.sizes, *[None] * SIZELESS_CARDS]


def draw_attributes(kind: str, rng: np.random.Generator, colour: str, style: str | None, size: str | None) -> Thing:
    """Draws a thing of `kind`: with the given colour and size, mostly with the style, at times as two glyphs."""
    has_style = rng.random() < STYLE_SHARE and style is not None
    return Thing(kind, colour, size, style if has_style else None, count=2 if rng.random() < PLURAL_SHARE else 1)


class _Deck:
    """Deals items in shuffled rounds, so that each comes equally often; None where there are none."""

    def __init__(self, items: list, rng: np.random.Generator):
        self._items, self._rng, self._round = items, rng, []

    def draw(self):
        if not self._items:
            return None
        if not self._round:
            self._round = [self._items[i] for i in self._rng.permutation(len(self._items))]
        return self._round.pop()


def scene_truth(scene: Scene) -> dict:
    """Returns the compounds that a scene shows: pairs (attribute, kind) and triples, as lists of names."""
    pairs = [[attribute, thing.kind] for thing in scene.things for attribute in thing.attributes]
    triples = [] if scene.object is None else [[scene.subject.kind, scene.relation, scene.object.kind]]
    return {"pairs": pairs, "triples": triples}


def write_captions(
    format_: str, corpus: str, captions: list[str], folder: Path, rng: np.random.Generator, has_tails: bool = True
) -> None:
    """Writes captions in the format of the original corpus, with a few rows of its usual dirt.

    Args:
        format_: "cc12m", "yfcc_extract" or "laion400m".
        corpus: name of the corpus.
        captions: one a row.
        folder: for the files.
        rng: of the dirt.
        has_tails: whether captions in CC-12M's format get its tails; sentences end with their full stop.
    """
    folder.mkdir(parents=True, exist_ok=True)
    urls = [URL.format(corpus=corpus, row=row) for row in range(len(captions))]
    if format_ == "cc12m":
        lines = [
            f"{url}\t{phrases.cc12m_row(text, rng) if has_tails else text}"
            for url, text in zip(urls, captions, strict=True)
        ]
        lines += [urls[0], f"{urls[0]}\t"]  # a row without its second column, and an empty caption
        undecodable = b"\xff\xfe\tno UTF-8\n"
        with atomic_path(str(folder / "cc12m.tsv")) as partial:
            Path(partial).write_bytes("".join(f"{line}\n" for line in lines).encode() + undecodable)
    elif format_ == "yfcc_extract":
        rows = [(url, *phrases.yfcc15m_row(text, rng)) for url, text in zip(urls, captions, strict=True)]
        rows += [(urls[0], "", ""), (urls[0], "100%25+icons", "")]  # no text at all, and a literal per cent sign
        with atomic_path(str(folder / "yfcc15m.tsv")) as partial:
            Path(partial).write_text("".join("\t".join(row) + "\n" for row in rows), encoding="utf-8")
    elif format_ == "laion400m":
        texts = [phrases.laion400m_row(text, rng) for text in captions] + [None, "   "]
        urls += [urls[0], urls[0]]
        schema = pa.schema([("SAMPLE_ID", pa.int64()), ("URL", pa.string()), ("TEXT", pa.string())])
        for shard in range(LAION_SHARDS):
            rows = range(shard, len(texts), LAION_SHARDS)
            columns = [list(rows), [urls[i] for i in rows], [texts[i] for i in rows]]
            table = pa.table(dict(zip(schema.names, columns, strict=True)), schema=schema)
            with atomic_path(str(folder / f"part-{shard:05d}.parquet")) as partial:
                pq.write_table(table, partial, row_group_size=500)
    else:
        raise ValueError(f"unknown corpus format {format_!r}: use cc12m, yfcc_extract or laion400m")
