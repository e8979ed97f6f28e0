import json
import re
import zipfile
from collections import Counter

import numpy as np
import polars as pl
import pytest
import yaml

from crepebench.accounting import KEPT, READ, kept_rows
from crepebench.aliases import Aliases
from crepebench.annotations import read_items
from crepebench.corpora import list_files, read_batches
from crepebench.image_files import IMAGE_ZIPS, ImageSearch
from crepebench.models import CONFIG_FILE, WEIGHTS_FILE, load_model
from crepebench.objects import AttributeEntries, MergedObjects, attribute_items, object_rows
from crepebench.parsing import parse_texts
from crepebench.regions import canonical_caption, filter_regions
from crepebench.visual_genome import ANNOTATIONS, image_rows, region_rows, relationship_rows
from icons_world import phrases
from icons_world.control import control_row
from icons_world.corpora import (
    CELLS,
    add_denials,
    draw_corpus_rows,
    draw_corpus_scenes,
    frame_scene,
    scene_truth,
    write_captions,
    write_corpus,
)
from icons_world.denials import deny
from icons_world.glyphs import glyph_mask
from icons_world.scenes import MARGIN, Scene, Thing, draw_scenes, frame, place_pair, place_scene
from icons_world.training import train_mini_clip
from icons_world.visual_genome import HEIGHT, LAYOUTS, WIDTH, annotations, draw_image, write_visual_genome
from icons_world.world import NOTHING_HELD_OUT, HeldOut, draw_held_out, read_world

CORPORA = ("mini_cc12m", "mini_yfcc15m", "mini_laion400m")
LEAST_CAPTIONS = 3
"""Captions in which each compound that a corpus does not hold out must be named."""
N_IMAGES = 120
LEAST_SIDE = 100


@pytest.fixture(scope="module")
def world_path(repository):
    return str(repository / "resources" / "icons" / "world.yaml")


@pytest.fixture(scope="module")
def world(world_path):
    return read_world(world_path)


@pytest.fixture(scope="module")
def config(repository):
    return yaml.safe_load((repository / "config" / "config.yaml").read_text())


@pytest.fixture(scope="module")
def icons(config):
    return config["icons"]


@pytest.fixture(scope="module")
def images(world):
    return [draw_image(world, index, 1) for index in range(N_IMAGES)]


@pytest.fixture(scope="module")
def files(world, images):
    return annotations(world, images, 1)


def draw_held(world, rng, colours=0.0, styles=0.0, triples=0.0, kinds=0):
    return draw_held_out(world, rng, colour_share=colours, style_share=styles, triple_share=triples, n_kinds=kinds)


def held_out_of(world, icons, corpus):
    shares = {name: icons[f"held_out_{name}"] for name in ("colours", "styles", "triples", "kinds")}
    return draw_held(world, np.random.default_rng([icons["seed"], *corpus.encode()]), **shares)


def corpora_of_icons(config):
    definitions = config["corpora"]["definitions"]
    special = {"control_of", "denials", "sentences"}
    return [name for name, d in definitions.items() if d["source"] == "icons" and not special & set(d)]


# The table


def test_world_has_at_least_40_kinds_in_families_of_at_least_5(world):
    assert len(world.kinds) >= 40
    assert min(map(len, world.kinds_by_family.values())) >= 5


def test_names_of_kinds_are_unique_single_words(world):
    names = [kind.name for kind in world.kinds]
    assert len(set(names)) == len(names)
    assert all(name.isalpha() and name.islower() for name in names)


def test_every_kind_has_a_physical_synset_that_it_is_a_word_of(world, lexicon):
    for kind in world.kinds:
        synset = lexicon.synset(kind.synset)
        assert lexicon.is_physical(synset), kind
        assert kind.name in [name.lower() for name in synset.lemma_names()], kind


def test_every_kind_has_4_cousins_in_the_world_that_are_no_relatives(world, lexicon):
    names = {kind.name for kind in world.kinds}
    for kind in world.kinds:
        cousins = (lexicon.cousins(lexicon.synset(kind.synset)) & names) - lexicon.relatives(kind.name, "n")
        assert len(cousins) >= 4, kind


def test_kinds_of_a_family_are_cousins_of_each_other(world, lexicon):
    for kinds in world.kinds_by_family.values():
        for kind in kinds:
            others = {other.name for other in kinds if other is not kind}
            assert others <= lexicon.cousins(lexicon.synset(kind.synset)), kind
            assert not others & lexicon.relatives(kind.name, "n"), kind


def test_every_relation_joins_families_that_there_are(world):
    for relation in world.relations:
        assert relation.joins, relation
        assert len(set(relation.joins)) == len(relation.joins)
        for join in relation.joins:
            assert set(join) <= world.kinds_by_family.keys(), relation
            assert join[0] != join[1], relation


def test_every_family_is_subject_and_object_of_at_least_4_relations(world):
    for family in world.kinds_by_family:
        for end in (0, 1):
            joined = {r.name for r in world.relations for join in r.joins if join[end] == family}
            assert len(joined) >= 4, (family, end)


def test_triples_are_those_that_a_naive_loop_gives(world):
    naive = {
        (subject.name, relation.name, object_.name)
        for relation in world.relations
        for subject in world.kinds
        for object_ in world.kinds
        if (subject.family, object_.family) in relation.joins
    }
    assert set(world.triples) == naive
    assert len(world.triples) == len(naive)


def test_every_kind_has_a_glyph_of_its_own(world):
    masks = [glyph_mask(kind.glyph, 64, 64) for kind in world.kinds]
    assert all(np.asarray(mask).max() > 200 for mask in masks)
    assert len({mask.tobytes() + bytes(mask.size) for mask in masks}) == len(world.kinds)


def test_unknown_glyph_is_refused():
    with pytest.raises(KeyError, match="no solid glyph 'no-such-glyph'"):
        glyph_mask("no-such-glyph", 10, 10)


@pytest.mark.parametrize(("width", "height"), [(100, 40), (40, 100), (7, 7)])
def test_glyph_fits_its_box(world, width, height):
    for kind in world.kinds[::7]:
        mask = glyph_mask(kind.glyph, width, height)
        assert mask.width <= width and mask.height <= height
        assert mask.width == width or mask.height == height


def test_parser_finds_every_kind_and_attribute(world, parser):
    captions = [f"a {attribute} {kind}" for attribute, kind in world.pairs]
    graphs = list(parse_texts(captions, parser))
    missed = [
        c for (a, k), c, g in zip(world.pairs, captions, graphs, strict=True) if f"{a} {k}" not in map(str, g.compounds)
    ]
    assert missed == []


def test_parser_finds_every_relation(world, parser):
    firsts = {(t[1], world.kind_by_name[t[0]].family): t for t in world.triples}
    captions = [f"a {s} {r} a {o}" for s, r, o in firsts.values()]
    compounds = [[c for c in g.compounds if c.relation] for g in parse_texts(captions, parser)]
    missed = [
        c
        for c, (s, _, o), found in zip(captions, firsts.values(), compounds, strict=True)
        if [(f.subject, f.object) for f in found] != [(s, o)]
    ]
    assert missed == []


# What is held out


def test_held_out_shares_are_those_asked_for(world):
    held_out = draw_held(world, np.random.default_rng(1), colours=0.3, styles=0.6, triples=0.1, kinds=2)
    n_out = Counter()
    for kind in world.kinds:
        out = {attribute for attribute, name in held_out.pairs if name == kind.name}
        assert not out & set(world.sizes)
        for group, share in ((world.colours, 0.3), (world.styles, 0.6)):
            assert abs(len(out & set(group)) - share * len(group)) < 1, kind
        n_out.update(out)
    assert set(n_out) == {*world.colours, *world.styles}
    assert len(held_out.triples) == round(0.1 * len(world.triples))
    assert len(held_out.kinds) == 2


def test_held_out_kinds_are_of_different_families(world):
    n_families = len(world.kinds_by_family)
    held_out = draw_held(world, np.random.default_rng(1), kinds=n_families)
    assert len({world.kind_by_name[name].family for name in held_out.kinds}) == n_families


def test_nothing_and_everything_can_be_held_out(world):
    assert draw_held(world, np.random.default_rng(1)) == NOTHING_HELD_OUT
    held_out = draw_held(world, np.random.default_rng(1), colours=1.0, styles=1.0, triples=1.0)
    everything = {(a, kind.name) for kind in world.kinds for a in (*world.colours, *world.styles)}
    assert (held_out.pairs, held_out.triples) == (everything, set(world.triples))


def test_corpora_hold_out_different_things(world, icons, config):
    drawn = [held_out_of(world, icons, corpus) for corpus in corpora_of_icons(config)]
    assert len({held_out.pairs for held_out in drawn}) == len(drawn) > 1
    assert held_out_of(world, icons, corpora_of_icons(config)[0]) == drawn[0]


@pytest.mark.parametrize(
    ("attribute", "kind", "allowed"),
    [("red", "jar", False), ("blue", "jar", True), ("red", "box", True), ("blue", "cup", False)],
)
def test_held_out_pair_or_kind_is_not_allowed(attribute, kind, allowed):
    held_out = HeldOut(frozenset({"cup"}), frozenset({("red", "jar")}), frozenset())
    assert held_out.allows_pair(attribute, kind) is allowed


@pytest.mark.parametrize(
    ("triple", "allowed"),
    [(("jar", "above", "box"), False), (("box", "above", "jar"), True), (("cup", "above", "box"), False)],
)
def test_held_out_triple_or_kind_is_not_allowed(triple, allowed):
    held_out = HeldOut(frozenset({"cup"}), frozenset(), frozenset({("jar", "above", "box")}))
    assert held_out.allows_triple(*triple) is allowed


# Corpora


def named_thing(world, phrase):
    """Returns the kind that a noun phrase names, and its pairs (attribute, kind)."""
    kind_of = {form: kind.name for kind in world.kinds for form in (kind.name, phrases.plural(kind.name))}
    *words, noun = phrase.split()
    attributes = [word for word in words if word not in ("a", "an", "the", "two")]
    assert noun in kind_of and set(attributes) <= set(world.attributes), phrase
    return kind_of[noun], {(attribute, kind_of[noun]) for attribute in attributes}


def named_compounds(world, caption):
    """Returns the pairs and triples that a caption names, found word by word."""
    relation = next((name for name in world.relation_by_name if f" {name} " in caption), None)
    if relation:
        left, _, right = caption.partition(f" {relation} ")
        subject, its_pairs = named_thing(world, left.removesuffix(" is").removesuffix(" are"))
        object_, other_pairs = named_thing(world, right)
        return its_pairs | other_pairs | {(subject, relation, object_)}
    copula = next((word for word in (" is ", " are ") if word in caption), None)
    left, _, colour = caption.partition(copula) if copula else (caption, "", "")
    kind, pairs = named_thing(world, left)
    assert not copula or colour in world.colours, caption
    return pairs | ({(colour, kind)} if copula else set())


@pytest.mark.parametrize(
    ("caption", "compounds"),
    [
        ("a small red jar", {("small", "jar"), ("red", "jar")}),
        ("two boxes", set()),
        ("the flat keys are blue", {("flat", "key"), ("blue", "key")}),
        ("jar above the white box", {("white", "box"), ("jar", "above", "box")}),
        (
            "two red jars are to the left of an eraser",
            {("red", "jar"), ("jar", "to the left of", "eraser")},
        ),
    ],
)
def test_compounds_of_a_caption_are_found_word_by_word(world, caption, compounds):
    assert named_compounds(world, caption) == compounds


def test_corpora_of_the_default_config_are_those_tested_here(config):
    assert tuple(corpora_of_icons(config)) == tuple(config["corpora"]["use"]) == CORPORA


@pytest.mark.parametrize("corpus", CORPORA)
def test_everything_not_held_out_is_named_in_at_least_3_captions(world, icons, corpus):
    held_out = held_out_of(world, icons, corpus)
    scenes = draw_corpus_scenes(world, held_out, corpus, icons["n_captions"], icons["seed"])
    rows = draw_corpus_rows(world, scenes, corpus, icons["seed"])
    counts = Counter()
    for row in rows:
        truth = scene_truth(row.scene)
        named = named_compounds(world, row.caption)
        assert named <= {tuple(compound) for compound in truth["pairs"] + truth["triples"]}, row.caption
        counts.update(named)
    allowed = [pair for pair in world.pairs if held_out.allows_pair(*pair)]
    allowed += [triple for triple in world.triples if held_out.allows_triple(*triple)]
    rare = {compound: counts[compound] for compound in allowed if counts[compound] < LEAST_CAPTIONS}
    assert rare == {}
    assert len(rows) == icons["n_captions"]


@pytest.mark.parametrize("corpus", CORPORA)
def test_nothing_held_out_is_shown(world, icons, corpus):
    held_out = held_out_of(world, icons, corpus)
    for scene in draw_corpus_scenes(world, held_out, corpus, icons["n_captions"], icons["seed"]):
        truth = scene_truth(scene)
        assert all(held_out.allows_pair(*pair) for pair in truth["pairs"]), scene
        assert all(held_out.allows_triple(*triple) for triple in truth["triples"]), scene


def test_scenes_are_as_many_as_asked_for_and_the_same_again(world):
    scenes = draw_corpus_scenes(world, NOTHING_HELD_OUT, "mini", 37, 1)
    assert len(scenes) == 37
    assert scenes == draw_corpus_scenes(world, NOTHING_HELD_OUT, "mini", 37, 1)
    assert scenes != draw_corpus_scenes(world, NOTHING_HELD_OUT, "other", 37, 1)


def test_row_of_a_corpus_depends_on_seed_corpus_and_number_alone(world):
    scenes = draw_corpus_scenes(world, NOTHING_HELD_OUT, "mini", 20, 1)
    rows = draw_corpus_rows(world, scenes, "mini", 1)

    def content(row):
        return row.scene, row.width, row.height, row.caption

    assert list(map(content, rows[:9])) == list(map(content, draw_corpus_rows(world, scenes[:9], "mini", 1)))
    for other in (draw_corpus_rows(world, scenes, "other", 1), draw_corpus_rows(world, scenes, "mini", 2)):
        assert list(map(content, rows)) != list(map(content, other))
    for scene, row in zip(scenes, rows, strict=True):
        assert [thing.kind for thing in row.scene.things] == [thing.kind for thing in scene.things]
        assert all(thing.kind[:3] in row.caption for thing in scene.things)
        assert scene.relation is None or f" {scene.relation} " in row.caption


CAPTIONS = [
    f"a {colour} jar {relation} two boxes" for colour in ("red", "orange & gold") for relation in ("on", "100% by")
]


def read_corpus(folder, format_):
    """Returns (url, text) of every usable row, and the others by reason."""
    batches = list(read_batches(list_files([str(folder)]), {"format": format_}, with_urls=True))
    rows = [row for b in batches for row in zip(b.urls.to_pylist(), b.texts.to_pylist(), strict=True)]
    return rows, sum((b.dropped for b in batches), Counter())


@pytest.mark.parametrize(
    ("format_", "reasons"),
    [
        ("cc12m", {"columns_wrong": 1, "text_empty": 1, "text_undecodable": 1}),
        ("yfcc_extract", {"text_empty": 1}),
        ("laion400m", {"text_null": 1, "text_empty": 1}),
    ],
)
def test_captions_come_back_through_the_workflows_reader(tmp_path, format_, reasons):
    captions = CAPTIONS * 11
    write_captions(format_, "mini", captions, tmp_path / "captions", np.random.default_rng(1))
    rows, dropped = read_corpus(tmp_path / "captions", format_)
    assert len(rows) == len(captions) + (format_ == "yfcc_extract")
    assert dropped == reasons
    text_of = {}
    for url, text in rows:
        text_of.setdefault(url, text.lower())
    urls = [f"https://icons.invalid/mini/{row:06d}.jpg" for row in range(len(captions))]
    assert set(text_of) == set(urls)
    assert [c for url, c in zip(urls, captions, strict=True) if c not in text_of[url]] == []


def test_tails_of_the_web_are_written_too(tmp_path):
    for format_, tail in (("cc12m", "by <PERSON>"), ("yfcc_extract", "my set"), ("laion400m", "| Icon Shop")):
        write_captions(format_, "mini", ["a red jar"] * 60, tmp_path / format_, np.random.default_rng(1))
        texts = [text for _, text in read_corpus(tmp_path / format_, format_)[0]]
        assert any(tail in text for text in texts), format_
        assert "a red jar" in texts


def test_unknown_format_is_refused(tmp_path):
    with pytest.raises(ValueError, match="unknown corpus format 'coyo': use cc12m, yfcc_extract or laion400m"):
        write_captions("coyo", "mini", ["a jar"], tmp_path, np.random.default_rng(1))


@pytest.fixture(scope="module")
def corpus(world_path, icons, tmp_path_factory):
    """A small corpus and its control."""
    folder = tmp_path_factory.mktemp("corpus")
    settings = {**icons, "n_captions": 12}
    for name, more in (("mini", {}), ("twin", {"control_of": "mini"})):
        cfg = json.dumps({"icons": settings, "definition": {"format": "cc12m", **more}})
        paths = [str(folder / name / n) for n in ("captions", "images.zip", "truth.json")]
        write_corpus(world_path, name, *paths, cfg)
    return folder


def test_corpus_has_an_image_for_every_caption(corpus):
    rows, _ = read_corpus(corpus / "mini" / "captions", "cc12m")
    with zipfile.ZipFile(corpus / "mini" / "images.zip") as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [url.rpartition("/")[2] for url, _ in rows]
    assert len(json.loads((corpus / "mini" / "truth.json").read_text())["rows"]) == len(rows) == 12


def test_corpus_shows_nothing_that_it_holds_out(corpus):
    truth = json.loads((corpus / "mini" / "truth.json").read_text())
    out = {kind: {tuple(item) for item in truth["held_out"][kind]} for kind in ("pairs", "triples")}
    assert out["pairs"] and out["triples"]
    for row in truth["rows"]:
        for kind in ("pairs", "triples"):
            assert not {tuple(compound) for compound in row[kind]} & out[kind]


def test_control_holds_nothing_out(corpus):
    held_out = json.loads((corpus / "twin" / "truth.json").read_text())["held_out"]
    assert held_out == {"kinds": [], "pairs": [], "triples": []}


@pytest.fixture(scope="module")
def denials(world, icons):
    """Scenes with their captions, and the captions with a denial."""
    held_out = draw_held_out(world, np.random.default_rng(5), 0.4, 0.4, 0.1, 2)
    scenes = draw_corpus_scenes(world, held_out, "mini", 400, icons["seed"])
    rows = draw_corpus_rows(world, scenes, "mini", icons["seed"])
    rng = np.random.default_rng(1)
    return held_out, [(row.scene, row.caption, deny(world, held_out, row.scene, row.caption, rng)) for row in rows]


def test_denials_are_true_and_name_nothing_that_is_held_out(world, denials):
    held_out, rows = denials
    forms = set()
    for scene, caption, text in rows:
        assert caption in text
        words = [word.removesuffix("less") for word in re.findall("[a-z]+", text.replace(caption, ""))]
        kinds, colours = [w for w in words if w in world.kind_by_name], [w for w in words if w in world.colours]
        shown = {thing.kind: thing.colour for thing in scene.things}
        if colours:
            kind = kinds[0] if kinds else scene.subject.kind
            assert shown[kind] != colours[0] and held_out.allows_pair(colours[0], kind), text
        else:
            assert kinds[0] not in shown and kinds[0] not in held_out.kinds, text
        forms.add(tuple(w for w in words if w not in (*kinds, *colours, "a", "an")))
    assert len(forms) > 8


def test_share_of_captions_has_a_denial_and_the_others_stay_as_they_are(world, icons):
    scenes = draw_corpus_scenes(world, NOTHING_HELD_OUT, "mini", 400, icons["seed"])
    rows = draw_corpus_rows(world, scenes, "mini", icons["seed"])
    plain = [row.caption for row in rows]
    assert add_denials(world, NOTHING_HELD_OUT, rows, "mini", icons["seed"], 0.0) == plain
    some, more = (add_denials(world, NOTHING_HELD_OUT, rows, "mini", icons["seed"], share) for share in (0.3, 0.6))
    changed = [one for one, own in zip(some, plain, strict=True) if one != own]
    assert 0.22 < len(changed) / 400 < 0.38
    assert set(changed) <= set(more)


def test_corpus_with_denials_has_the_images_of_the_one_without(corpus, world_path, icons, tmp_path):
    paths = [str(tmp_path / name) for name in ("captions", "images.zip", "truth.json")]
    definition = {"format": "cc12m", "denials": 1.0}
    write_corpus(
        world_path, "mini", *paths, json.dumps({"icons": {**icons, "n_captions": 12}, "definition": definition})
    )
    assert (tmp_path / "images.zip").read_bytes() == (corpus / "mini" / "images.zip").read_bytes()
    own, denying = (read_corpus(folder, "cc12m")[0] for folder in (corpus / "mini" / "captions", paths[0]))
    assert len(own) == len(denying)
    assert all(len(text) > len(plain) for (_, plain), (_, text) in zip(own, denying, strict=True))


def test_training_twice_gives_one_model_that_the_workflow_loads(corpus, tmp_path):
    paths = [str(corpus / "mini" / name) for name in ("captions", "images.zip")]
    for name in ("a", "b"):
        outputs = [str(tmp_path / name / file) for file in (CONFIG_FILE, WEIGHTS_FILE)]
        train_mini_clip(*paths, *outputs, 4, 1, json.dumps({"epochs": 1, "format": "cc12m"}))
    first, second = ((tmp_path / name / WEIGHTS_FILE).read_bytes() for name in ("a", "b"))
    assert first == second
    model = load_model({"family": "open_clip"}, [str(tmp_path / "a" / n) for n in (CONFIG_FILE, WEIGHTS_FILE)])
    assert np.abs(np.linalg.norm(model.encode_texts(["a red jar", "a box"]), axis=1) - 1).max() < 1e-5


# Scenes


def cells():
    return sorted({cell for layout in LAYOUTS for cell in layout} | {(0, 0, *cell) for cell in CELLS})


def arrangements(world):
    return sorted({relation.arrangement for relation in world.relations})


def test_pair_lies_inside_its_cell_with_sides_of_at_least_100_pixels(world):
    rng = np.random.default_rng(0)
    low = min(bounds[0] for bounds in (*world.sizes.values(), world.default_size))
    high = max(bounds[1] for bounds in (*world.sizes.values(), world.default_size))
    assert low >= LEAST_SIDE
    for arrangement in arrangements(world):
        for cell in cells():
            for _ in range(60):
                sides = rng.integers(low, high + 1, size=2).tolist()
                boxes = place_pair(arrangement, cell, *sides, rng)
                for (x, y, width, height), asked in zip(boxes, sides, strict=True):
                    assert cell[0] + MARGIN <= x and x + width <= cell[0] + cell[2] - MARGIN, (arrangement, cell)
                    assert cell[1] + MARGIN <= y and y + height <= cell[1] + cell[3] - MARGIN, (arrangement, cell)
                    assert LEAST_SIDE <= width == height <= asked, (arrangement, cell, sides)


def test_pair_is_arranged_as_its_relation_says(world):
    rng = np.random.default_rng(1)
    for cell in cells():
        for _ in range(40):
            sides = rng.integers(LEAST_SIDE, 200, size=2).tolist()
            for arrangement in arrangements(world):
                a, b = place_pair(arrangement, cell, *sides, rng)
                horizontal = (a[0] + a[2] <= b[0], b[0] + b[2] <= a[0])
                vertical = (a[1] + a[3] <= b[1], b[1] + b[3] <= a[1])
                holds = {
                    "left": horizontal[0],
                    "right": horizontal[1],
                    "above": vertical[0],
                    "below": vertical[1],
                    "hanging": vertical[1],
                    "leaning": a[0] + a[2] == b[0] or b[0] + b[2] == a[0],
                    "tied": any(horizontal),
                    "front": not any(horizontal + vertical) and a[1] + a[3] / 2 > b[1] + b[3] / 2,
                    "behind": not any(horizontal + vertical) and a[1] + a[3] / 2 < b[1] + b[3] / 2,
                }
                assert holds[arrangement], (arrangement, cell, a, b)


def test_overlapping_pair_overlaps_by_two_fifths_of_the_shorter_side(world):
    rng = np.random.default_rng(2)
    for arrangement in ("front", "behind"):
        for cell in cells():
            for _ in range(40):
                a, b = place_pair(arrangement, cell, *rng.integers(LEAST_SIDE, 200, size=2).tolist(), rng)
                overlaps = [min(a[i] + a[i + 2], b[i] + b[i + 2]) - max(a[i], b[i]) for i in (0, 1)]
                assert overlaps == [int(0.4 * min(a[2], b[2]))] * 2, (arrangement, cell, a, b)


def test_cell_too_small_for_100_pixels_still_holds_its_pair(world):
    for arrangement in arrangements(world):
        for seed in range(30):
            cell = (10, 20, 100, 90)
            boxes = place_pair(arrangement, cell, 230, 100, np.random.default_rng(seed))
            for x, y, width, height in boxes:
                assert x >= 10 and x + width <= 110 and y >= 20 and y + height <= 110, (arrangement, boxes)
                assert width > 0 and height > 0


def test_unknown_arrangement_is_refused():
    with pytest.raises(ValueError, match="unknown arrangement 'floating'"):
        place_pair("floating", (0, 0, 320, 240), 100, 100, np.random.default_rng(0))


def test_size_word_is_kept_only_where_it_is_true(world):
    triple = world.triples[0]
    dropped = 0
    for size, (low, high) in world.sizes.items():
        for seed in range(40):
            things = (Thing(kind, "red", size=size) for kind in (triple[0], triple[2]))
            scene = Scene(next(things), triple[1], next(things))
            placed = place_scene(world, scene, (426, 240, 213, 240), np.random.default_rng(seed))
            for thing in placed.things:
                assert thing.size is None or low <= thing.box[2] <= high
                dropped += thing.size is None
    assert dropped > 0


def test_frame_holds_its_things_and_stays_in_the_cell(world):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        cell = cells()[seed % len(cells())]
        triple = world.triples[seed * 17 % len(world.triples)]
        scene = place_scene(world, Scene(Thing(triple[0], "red"), triple[1], Thing(triple[2], "blue")), cell, rng)
        x, y, width, height = frame(scene, cell, rng)
        assert cell[0] <= x and x + width <= cell[0] + cell[2]
        assert cell[1] <= y and y + height <= cell[1] + cell[3]
        for thing in scene.things:
            assert x <= thing.box[0] and thing.box[0] + thing.box[2] <= x + width
            assert y <= thing.box[1] and thing.box[1] + thing.box[3] <= y + height


def test_framed_scene_lies_inside_its_picture(world):
    for seed in range(40):
        triple = world.triples[seed * 13 % len(world.triples)]
        scene = Scene(Thing(triple[0], "red"), triple[1], Thing(triple[2], "blue"))
        placed, width, height = frame_scene(world, scene, np.random.default_rng(seed))
        for thing in placed.things:
            assert thing.box[0] >= 0 and thing.box[0] + thing.box[2] <= width
            assert thing.box[1] >= 0 and thing.box[1] + thing.box[3] <= height


def test_drawn_scene_shows_the_colours_of_its_things(world):
    colours = list(world.colours)[:2]
    scene = Scene(Thing(world.triples[0][0], colours[0]), world.triples[0][1], Thing(world.triples[0][2], colours[1]))
    rng = np.random.default_rng(0)
    placed = place_scene(world, scene, (0, 0, 320, 480), rng)
    picture = draw_scenes(world, [placed], 320, 480, 0.5, rng)
    assert picture.size == (160, 240)
    pixels = np.asarray(picture)
    for thing, colour in zip(placed.things, colours, strict=True):
        x, y, width, height = (round(value * 0.5) for value in thing.box)
        box = pixels[y : y + height, x : x + width].reshape(-1, 3)
        assert (box == np.array(world.colours[colour])).all(axis=1).mean() > 0.1


@pytest.mark.parametrize(
    ("thing", "determiner", "phrase"),
    [
        (Thing("jar", "red", size="small"), "a", "a small red jar"),
        (Thing("eraser", "red"), "a", "a red eraser"),
        (Thing("brush", "red", count=2), "a", "two red brushes"),
        (Thing("box", "blue", count=2), "the", "the blue boxes"),
        (Thing("box", "blue"), "", "blue box"),
    ],
)
def test_noun_phrase_has_number_and_determiner(thing, determiner, phrase):
    assert phrases.noun_phrase(thing, determiner, thing.attributes) == phrase


def test_article_before_a_vowel_is_an():
    assert phrases.noun_phrase(Thing("eraser", "red"), "a", ()) == "an eraser"


@pytest.mark.parametrize(("share", "least", "most"), [(0.0, 0.0, 0.0), (1.0, 1.0, 1.0), (0.35, 0.25, 0.45)])
def test_pair_names_its_attributes_with_the_share_asked_for(world, share, least, most):
    triple = world.triples[0]
    things = (Thing(kind, "red", size="small", style=world.styles[0]) for kind in (triple[0], triple[2]))
    scene = Scene(next(things), triple[1], next(things))
    words = ["red", world.styles[0]]
    texts = [phrases.describe_scene(scene, np.random.default_rng(i), share) for i in range(200)]
    named = sum(text.split().count(word) for text in texts for word in words) / (200 * 2 * len(words))
    assert least <= named <= most
    assert [text for text in texts if text.split().count("small") != 2] == []  # a size is always named


def test_single_thing_is_described_with_all_its_attributes(world):
    scene = Scene(Thing(world.triples[0][0], "red", size="small", style=world.styles[0]))
    for i in range(20):
        text = phrases.describe_scene(scene, np.random.default_rng(i), 0.0)
        assert {"red", "small", world.styles[0]} <= set(text.split()), text


def test_description_says_only_what_is_true(world, parser):
    texts, truths = [], []
    for i, triple in enumerate(world.triples[::23]):
        scene = Scene(Thing(triple[0], "red", size="small"), triple[1], Thing(triple[2], "blue", style=world.styles[0]))
        texts.append(phrases.describe_pair(scene, np.random.default_rng(i)))
        truths.append({f"{a} {t.kind}" for t in scene.things for a in t.attributes})
    for text, truth, graph in zip(texts, truths, parse_texts(texts, parser), strict=True):
        pairs = {str(c) for c in graph.compounds if c.attribute}
        assert pairs <= truth, text


# The miniature Visual Genome


def test_files_are_those_of_visual_genome(files):
    assert tuple(files) == ANNOTATIONS
    added = {"image_data": 1, "region_descriptions": 4}  # an image listed twice, and four broken or small regions
    assert {n: len(entries) for n, entries in files.items()} == {n: N_IMAGES + added.get(n, 0) for n in ANNOTATIONS}


def test_entries_have_the_keys_of_version_1_2(files):
    def keys(items):
        return {frozenset(item) for item in items}

    box = {"x", "y", "w", "h"}
    assert keys(files["image_data"]) == {frozenset({"image_id", "url", "width", "height", "coco_id", "flickr_id"})}
    assert keys(files["objects"]) == {frozenset({"image_id", "objects"})}
    assert keys(files["region_descriptions"]) == {frozenset({"id", "regions"})}
    objects = [item for entry in files["objects"] for item in entry["objects"]]
    assert keys(objects) == {frozenset(box | {"object_id", "names", "synsets"})}
    attributes = [item for entry in files["attributes"] for item in entry["attributes"]]
    bare = frozenset(box | {"object_id", "names", "synsets"})
    assert keys(attributes) == {bare, bare | {"attributes"}}
    relationships = [item for entry in files["relationships"] for item in entry["relationships"]]
    assert keys(relationships) == {frozenset({"relationship_id", "predicate", "synsets", "subject", "object"})}
    ends = [item[end] for item in relationships for end in ("subject", "object")]
    assert keys(ends) == {frozenset(box | {"object_id", "name", "synsets"})}
    regions = [item for entry in files["region_descriptions"] for item in entry["regions"]]
    assert keys(regions) == {frozenset({"region_id", "image_id", "x", "y", "width", "height", "phrase"})}


def test_real_files_of_version_1_2_have_the_same_keys(files, shared_data):
    inner = {"objects": "objects", "attributes": "attributes", "relationships": "relationships"}
    for name, items in {**inner, "region_descriptions": "regions"}.items():
        real = json.loads((shared_data / "visual_genome_5_images" / "v1.2" / f"{name}.json").read_text())
        wanted = {key for entry in real for item in entry[items] for key in item}
        found = {key for entry in files[name] for item in entry[items] for key in item}
        assert found <= wanted, name


def test_ids_are_unique_but_for_one_image_and_one_region_and_no_row_numbers(files, images):
    image_ids = [entry["image_id"] for entry in files["image_data"]]
    region_ids = [item["region_id"] for entry in files["region_descriptions"] for item in entry["regions"]]
    object_ids = [item["object_id"] for entry in files["objects"] for item in entry["objects"]]
    assert [image_id for image_id, count in Counter(image_ids).items() if count > 1] == [images[1].image_id]
    assert [region_id for region_id, count in Counter(region_ids).items() if count > 1] == [max(region_ids) - 2]
    assert [len(ids) - len(set(ids)) for ids in (image_ids, region_ids, object_ids)] == [1, 1, 0]
    image_ids = image_ids[:-1]
    assert image_ids == [image.image_id for image in images]
    assert image_ids != list(range(N_IMAGES)) and image_ids != list(range(1, N_IMAGES + 1))


def test_flickr_ids_go_beyond_32_bits_and_some_ids_are_null(files):
    flickr_ids = [entry["flickr_id"] for entry in files["image_data"]]
    assert max(filter(None, flickr_ids)) > 2**32
    assert None in flickr_ids
    assert None in [entry["coco_id"] for entry in files["image_data"]]


def test_relationships_join_listed_objects_but_for_the_two_broken_ones(files):
    known = {item["object_id"] for entry in files["objects"] for item in entry["objects"]}
    items = [item for entry in files["relationships"] for item in entry["relationships"]]
    others = [i for i in items if not {i["subject"]["object_id"], i["object"]["object_id"]} <= known]
    assert [(item["predicate"], item["subject"]["name"], item["object"]["name"]) for item in others] == [
        ("", "jar", ""),
        ("above", "jar", ""),
    ]


def test_one_of_each_broken_record_is_there(files, images):
    image_data, regions = files["image_data"], files["region_descriptions"]
    assert image_data[N_IMAGES:] == [image_data[1]]  # an image listed twice
    sizes = {entry["image_id"]: (entry["width"], entry["height"]) for entry in image_data}
    true_sizes = {image.image_id: (int(WIDTH * image.scale), int(HEIGHT * image.scale)) for image in images}
    wrong = {image_id: size for image_id, size in sizes.items() if size != true_sizes[image_id]}
    assert wrong == {images[2].image_id: (WIDTH + 10, HEIGHT)}
    listed = {name: [i for entry in files[name] for i in entry[name]] for name in ("objects", "attributes")}
    assert [item["object_id"] for item in listed["objects"] if not any(item["names"])] == [-1]
    known = {item["object_id"] for item in listed["objects"]}
    unknown = [item for item in listed["attributes"] if item["object_id"] not in known]
    assert [(item["object_id"], item["attributes"]) for item in unknown] == [(-2, ["red"])]
    relationships = [item for entry in files["relationships"] for item in entry["relationships"]]
    nameless = [i["relationship_id"] for i in relationships if not (i["subject"]["name"] and i["object"]["name"])]
    assert [item["relationship_id"] for item in relationships if not item["predicate"]] == [-1]
    assert nameless == [-1, -2]
    larger = next(image for image in images if image.scale > 1)
    added = [images[1].image_id, images[1].image_id, -1, larger.image_id]
    assert [entry["id"] for entry in regions[N_IMAGES:]] == added
    [small] = regions[-1]["regions"]  # enough pixels, but not a tenth of the larger image
    assert 40_000 <= small["width"] * small["height"] < 0.1 * WIDTH * HEIGHT * larger.scale**2
    assert regions[N_IMAGES] == regions[N_IMAGES + 1]  # a repeated region id
    assert [entry["id"] for entry in regions if entry["id"] not in sizes] == [-1]
    assert all(item["image_id"] == entry["id"] for entry in regions for item in entry["regions"])


def test_every_broken_record_is_counted_under_its_own_reason(files, config):
    counts = {name: Counter() for name in ("image", "object", "relationship", "region_description")}

    def items(name, list_name):
        return read_items(files[name], name, list_name)

    image_table = list(image_rows(files["image_data"], ImageSearch([]), counts["image"]))
    attributes, merged = AttributeEntries(), MergedObjects()
    for _, found in attribute_items(items("attributes", "attributes"), "attributes"):
        for object_id, texts in found:
            attributes.add(object_id, texts)
    objects = object_rows(items("objects", "objects"), "objects", attributes, merged, Aliases())
    list(kept_rows(objects, counts["object"]))
    relationships = relationship_rows(items("relationships", "relationships"), "relationships", merged, Aliases())
    list(kept_rows(relationships, counts["relationship"]))
    regions = region_rows(items("region_descriptions", "regions"), "regions")
    region_table = list(kept_rows(regions, counts["region_description"]))
    reasons = {name: {r: n for r, n in found.items() if r not in (READ, KEPT)} for name, found in counts.items()}
    assert reasons == {
        "image": {"image_id_repeated": 1},
        "object": {"name_missing": 1},
        "relationship": {"predicate_missing": 1, "endpoint_name_missing": 1},
        "region_description": {},
    }
    assert attributes.counts()["object_unknown"] == 1
    found = filter_regions(pl.DataFrame(region_table), pl.DataFrame(image_table), config["regions"])["reason"].to_list()
    assert (found.count("region_id_repeated"), found.count("image_unknown")) == (1, 1)


def test_image_holds_two_to_five_pairs_of_different_joins(images, world):
    for image in images:
        assert 2 <= len(image.scenes) <= 5
        joins = [tuple(world.kind_by_name[t.kind].family for t in scene.things) for scene in image.scenes]
        assert len(set(joins)) == len(joins)
    assert {len(image.scenes) for image in images} == {2, 3, 4, 5}


def dirt(files):
    """Counts each kind of dirt in the annotations."""
    counts = Counter()
    objects = [item for entry in files["objects"] for item in entry["objects"]]
    counts["synsets empty"] = sum(item["synsets"] == [] for item in objects)
    counts["two names"] = sum(len(item["names"]) == 2 for item in objects)
    attributes = [item for entry in files["attributes"] for item in entry["attributes"]]
    counts["attributes absent"] = sum("attributes" not in item for item in attributes)
    counts["predicate in capitals"] = sum(
        item["predicate"].isupper() for entry in files["relationships"] for item in entry["relationships"]
    )
    image_of = {entry["image_id"]: entry for entry in files["image_data"]}
    for entry in files["region_descriptions"]:
        regions = entry["regions"]
        if entry["id"] not in image_of:
            counts["image unknown"] += len(regions)
            continue
        image = image_of[entry["id"]]
        counts["no regions"] += not regions
        captions = [canonical_caption(region["phrase"]) for region in regions]
        counts["phrase repeated"] += len(captions) - len(set(captions))
        for region in regions:
            phrase = region["phrase"]
            counts["box negative"] += min(region["x"], region["y"]) < 0
            counts["box outside"] += region["x"] >= image["width"]
            counts["row of the whole image"] += region["width"] == image["width"] and region["height"] < image["height"]
            counts["phrase empty"] += phrase == ""
            counts["line feed"] += phrase.endswith("\n")
            counts["stray space"] += phrase.startswith(" ") and "  " in phrase
            counts["capital"] += phrase[:1].isupper()
            counts["one word"] += len(phrase.split()) == 1
        counts["overlapping boxes"] += any(
            a["x"] < b["x"] + b["width"]
            and b["x"] < a["x"] + a["width"]
            and a["y"] < b["y"] + b["height"]
            and b["y"] < a["y"] + a["height"]
            for i, a in enumerate(regions)
            for b in regions[:i]
        )
    return counts


def test_promised_dirt_is_there_but_rare(files):
    counts = dirt(files)
    assert {name for name, count in counts.items() if count == 0} == set()
    n_regions = sum(len(entry["regions"]) for entry in files["region_descriptions"])
    rare = ("box negative", "box outside", "phrase empty", "row of the whole image", "line feed", "stray space")
    assert max(counts[name] for name in rare) < 0.1 * n_regions


def test_annotations_are_the_same_again(world, images, files):
    first = annotations(world, images[:5], 1)
    assert {name: entries[:5] for name, entries in first.items()} == {n: entries[:5] for n, entries in files.items()}
    assert annotations(world, images, 1) == files
    assert draw_image(world, 3, 1) == images[3]
    assert draw_image(world, 3, 2) != images[3]


def test_objects_lie_inside_their_image(files):
    image_of = {image["image_id"]: image for image in files["image_data"]}
    for entry in files["objects"]:
        image = image_of[entry["image_id"]]
        for item in entry["objects"]:
            assert item["x"] >= 0 and item["x"] + item["w"] <= image["width"]
            assert item["y"] >= 0 and item["y"] + item["h"] <= image["height"]


def test_written_zips_hold_all_images_but_one_and_a_truncated_one(tmp_path, world_path, icons):
    from io import BytesIO

    from PIL import Image

    names = [f"{name}.json.zip" for name in ANNOTATIONS]
    paths = [[str(tmp_path / name) for name in part] for part in (names, IMAGE_ZIPS)]
    write_visual_genome(world_path, *paths, json.dumps({**icons, "n_images": 6}))
    assert {path.name for path in tmp_path.iterdir()} == {*names, *IMAGE_ZIPS}
    for name in names:
        with zipfile.ZipFile(tmp_path / name) as archive:
            assert archive.namelist() == [name.removesuffix(".zip")]
    broken, whole = [], []
    for name in ("images.zip", "images2.zip"):
        with zipfile.ZipFile(tmp_path / name) as archive:
            for member in archive.namelist():
                try:
                    picture = Image.open(BytesIO(archive.read(member)))
                    picture.load()
                    whole.append(picture.size)
                except OSError:
                    broken.append(member)
    assert (len(whole), len(broken)) == (4, 1)
    assert set(whole) == {(WIDTH, HEIGHT)}


# The control


def test_control_row_holds_both_gaps_and_their_difference():
    rng = np.random.default_rng(0)
    groups = [(rng.integers(0, 9, size=n), rng.integers(0, 2, size=n).astype(float)) for n in (23, 17, 23, 17)]
    row = control_row(groups, 200, [1])
    means = [100 * sum(hits) / len(hits) for _, hits in groups]
    assert row["gap"] == pytest.approx(means[1] - means[0])
    assert row["twin_gap"] == pytest.approx(means[3] - means[2])
    assert row["difference"] == pytest.approx(row["gap"] - row["twin_gap"])
    for name in ("gap", "twin_gap", "difference"):
        assert row[f"{name}_low"] <= row[name] <= row[f"{name}_high"]


def test_model_that_equals_its_twin_has_no_difference():
    rng = np.random.default_rng(0)
    groups = [(rng.integers(0, 9, size=20), rng.integers(0, 2, size=20).astype(float)) for _ in range(2)]
    row = control_row(groups * 2, 200, [1])
    assert [row[f"difference{end}"] for end in ("", "_low", "_high")] == pytest.approx([0.0] * 3, abs=1e-9)
    assert row["gap_low"] < row["gap"] < row["gap_high"]


@pytest.mark.parametrize("form", ["cc12m", "yfcc_extract", "laion400m"])
def test_files_of_captions_are_written_whole_or_not_at_all(tmp_path, monkeypatch, form):
    def fill_the_disk(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fill_the_disk)
    with pytest.raises(OSError, match="No space left"):
        write_captions(form, "c", ["a jar"], tmp_path, np.random.default_rng(0))
    assert list(tmp_path.iterdir()) == []
