"""The icons world's UC split holds what the corpus holds out, not what its captions or the parser miss."""

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest
import yaml

from crepebench.distinct import read_distinct
from crepebench.image_facts import normal_relation
from crepebench.parsing import parse_texts
from crepebench.regions import canonical_caption
from crepebench.splits import SC, UC, decide_split
from crepebench.vocabularies import count_keys
from icons_world.corpora import draw_corpus_rows, draw_corpus_scenes, write_captions
from icons_world.visual_genome import annotations, draw_image
from icons_world.world import draw_held_out, read_world

CORPORA = ("mini_cc12m", "mini_yfcc15m", "mini_laion400m")
N_IMAGES = 300
MOST_UNEXPLAINED = 0.05


@pytest.fixture(scope="module")
def config(repository):
    return yaml.safe_load((repository / "config" / "config.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def world(repository):
    return read_world(str(repository / "resources" / "icons" / "world.yaml"))


@pytest.fixture(scope="module", params=CORPORA)
def corpus(request):
    return request.param


@pytest.fixture(scope="module")
def held_out(world, config, corpus):
    """What the corpus holds out, drawn as `icons_world.corpora.write_corpus` draws it."""
    icons = config["icons"]
    shares = (icons[f"held_out_{name}"] for name in ("colours", "styles", "triples", "kinds"))
    return draw_held_out(world, np.random.default_rng([icons["seed"], *corpus.encode()]), *shares)


@pytest.fixture(scope="module")
def seen(world, held_out, config, corpus, parser, tmp_path_factory):
    """Keys of the atoms and compounds that the corpus's captions show."""
    icons, format_ = config["icons"], config["corpora"]["definitions"][corpus]["format"]
    scenes = draw_corpus_scenes(world, held_out, corpus, icons["n_captions"], icons["seed"])
    captions = [row.caption for row in draw_corpus_rows(world, scenes, corpus, icons["seed"])]
    folder = tmp_path_factory.mktemp("captions")
    write_captions(format_, corpus, captions, folder, np.random.default_rng([icons["seed"], *corpus.encode(), 2]))
    captions = read_distinct([str(folder)], {"format": format_}, 0, 1)
    attributes = config["atoms"]["attributes"]
    vocabulary = sum(count_keys(captions.batches(), parser, attributes, Counter()), Counter())
    return {key for key, count in vocabulary.items() if count >= config["splits"]["min_count"]}


@pytest.fixture(scope="module")
def regions(world, config, parser):
    """(caption, graph) of every region that has a compound: pairs and single objects."""
    seed = config["icons"]["seed"]
    images = [draw_image(world, index, seed) for index in range(N_IMAGES)]
    entries = annotations(world, images, seed)["region_descriptions"]
    captions = [canonical_caption(region["phrase"]) for entry in entries for region in entry["regions"]]
    graphs = parse_texts(captions, parser)
    return [(caption, graph) for caption, graph in zip(captions, graphs, strict=True) if graph.compounds]


@pytest.fixture(scope="module")
def splits(regions, seen):
    """(caption, graph, split, deciding atom or compound) of every region."""
    found = []
    for caption, graph in regions:
        compounds = [asdict(compound) for compound in graph.compounds]
        found.append((caption, graph, *decide_split([asdict(atom) for atom in graph.atoms], compounds, seen)))
    return found


def is_pair(world, caption):
    """Says whether a caption describes two objects in a relation."""
    return any(f" {name} " in caption for name in world.relation_by_name)


def test_regions_hold_many_pairs_and_single_objects(world, regions):
    n_pairs = sum(is_pair(world, caption) for caption, _ in regions)
    assert min(n_pairs, len(regions) - n_pairs) > 200


@pytest.mark.parametrize("pairs_only", [True, False], ids=["pairs", "all regions"])
def test_unseen_compounds_are_those_that_the_corpus_holds_out(world, splits, held_out, pairs_only):
    triples = {(subject, normal_relation(relation), object_) for subject, relation, object_ in held_out.triples}
    found = [row for row in splits if is_pair(world, row[0]) or not pairs_only]
    unseen = [(caption, graph, why) for caption, graph, split, why in found if split == UC]
    unexplained = [
        (caption, why)
        for caption, graph, why in unseen
        if not any(
            (compound.attribute, compound.object) in held_out.pairs
            or (compound.subject, compound.relation, compound.object) in triples
            for compound in graph.compounds
        )
    ]
    assert len(unseen) > 200
    assert len(unexplained) <= MOST_UNEXPLAINED * len(unseen), unexplained


@pytest.mark.parametrize("pairs_only", [True, False], ids=["pairs", "all regions"])
def test_both_splits_of_the_gap_hold_many_regions(world, splits, pairs_only):
    found = [row for row in splits if is_pair(world, row[0]) or not pairs_only]
    sizes = [sum(split == wanted for _, _, split, _ in found) for wanted in (SC, UC)]
    assert min(sizes) > 0.1 * len(found), sizes
