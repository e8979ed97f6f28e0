"""The icons world's UC split holds what the corpus holds out, not what its captions or the parser miss."""

from dataclasses import asdict

import numpy as np
import pytest
import yaml

from crepebench.corpora import list_files, read_rows
from crepebench.graphs import parse_texts
from crepebench.regions import canonical_caption
from crepebench.retrieval_sets import normal_relation
from crepebench.splits import SC, UC, decide_split
from crepebench.vocabularies import count_captions
from icons_world.corpora import draw_corpus_rows, draw_corpus_scenes, write_captions
from icons_world.visual_genome import annotations, draw_image
from icons_world.world import draw_held_out, read_world

CORPUS = "mini_cc12m"
N_IMAGES = 300
MOST_UNEXPLAINED = 0.05


@pytest.fixture(scope="module")
def config(repository):
    return yaml.safe_load((repository / "config" / "config.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def world(repository):
    return read_world(str(repository / "resources" / "icons" / "world.yaml"))


@pytest.fixture(scope="module")
def held_out(world, config):
    """What the corpus holds out, drawn as `icons_world.corpora.write_corpus` draws it."""
    icons = config["icons"]
    shares = (icons[f"held_out_{name}"] for name in ("colours", "styles", "triples", "kinds"))
    return draw_held_out(world, np.random.default_rng([icons["seed"], *CORPUS.encode()]), *shares)


@pytest.fixture(scope="module")
def seen(world, held_out, config, parser, tmp_path_factory):
    """Keys of the atoms and compounds that the corpus's captions show."""
    icons, format_ = config["icons"], config["corpora"]["definitions"][CORPUS]["format"]
    scenes = draw_corpus_scenes(world, held_out, CORPUS, icons["n_captions"], icons["seed"])
    captions = [row.caption for row in draw_corpus_rows(world, scenes, CORPUS, icons["seed"])]
    folder = tmp_path_factory.mktemp("captions")
    write_captions(format_, CORPUS, captions, folder, np.random.default_rng([icons["seed"], *CORPUS.encode(), 2]))
    vocabulary, _ = count_captions(read_rows(list_files([str(folder)]), format_), parser)
    return {key for key, count in vocabulary.items() if count >= config["splits"]["min_count"]}


@pytest.fixture(scope="module")
def splits(world, seen, config, parser):
    """(caption, graph, split, deciding atom or compound) of every region that describes a pair."""
    seed = config["icons"]["seed"]
    images = [draw_image(world, index, seed) for index in range(N_IMAGES)]
    entries = annotations(world, images, seed)["region_descriptions"]
    captions = [canonical_caption(region["phrase"]) for entry in entries for region in entry["regions"]]
    captions = [caption for caption in captions if any(f" {name} " in caption for name in world.relation_by_name)]
    found = []
    for caption, graph in zip(captions, parse_texts(captions, parser), strict=True):
        compounds = [asdict(compound) for compound in graph.compounds]
        if compounds:
            split = decide_split([asdict(atom) for atom in graph.atoms], compounds, seen)
            found.append((caption, graph, *split))
    return found


def test_unseen_compounds_are_those_that_the_corpus_holds_out(splits, held_out):
    triples = {(subject, normal_relation(relation), object_) for subject, relation, object_ in held_out.triples}
    unseen = [(caption, graph, why) for caption, graph, split, why in splits if split == UC]
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


def test_both_splits_of_the_gap_hold_many_pairs(splits):
    sizes = [sum(split == wanted for _, _, split, _ in splits) for wanted in (SC, UC)]
    assert min(sizes) > 0.1 * len(splits), sizes
