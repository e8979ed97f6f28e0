import json
from collections import Counter

import pytest

from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.parser_labels import check_ids, graph_facts, label_fact, read_web_captions
from crepebench.parsing import parse_texts
from crepebench.texts import normalise_text

ROW = {
    "id": "cc12m_01",
    "style": "cc12m",
    "caption": "a red jar on tables",
    "objects": ["jar", "tables"],
    "attributes": [["red", "jar"]],
    "relations": [["jar", "on", "table"]],
}


def write_captions(folder, *rows):
    path = folder / "captions.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return str(path)


@pytest.fixture(scope="module")
def committed(repository):
    return read_web_captions(str(repository / "resources" / "parser" / "web_captions.jsonl"))


def test_facts_of_a_graph_name_the_ends(parser):
    (graph,) = parse_texts(["two red jars sitting on a table"], parser)
    assert graph_facts(graph) == {
        OBJECT: [("jar",), ("table",)],
        ATTRIBUTE: [("red", "jar")],
        RELATION: [("jar", "sit on", "table")],
    }


@pytest.mark.parametrize(
    ("kind", "words", "fact"),
    [
        (OBJECT, ["Dogs"], ("dog",)),
        (ATTRIBUTE, ["larger", "Trees"], ("large", "tree")),
        (RELATION, ["men", "sit  on", "leaves"], ("man", "sit on", "leaf")),
    ],
)
def test_nouns_and_adjectives_of_a_label_are_lemmatised(kind, words, fact):
    assert label_fact(kind, words) == fact


@pytest.mark.parametrize(
    ("kind", "words", "message"),
    [
        (ATTRIBUTE, ["dog"], "'dog' is no attribute, which has 2 parts"),
        (RELATION, ["dog", "", "sofa"], "'dog >  > sofa' is no relation, which has 3 parts"),
        (OBJECT, ["red", "dog"], "'red > dog' is no object, which has 1 parts"),
    ],
)
def test_a_fact_with_missing_or_further_parts_is_refused(kind, words, message):
    with pytest.raises(ValueError, match=message):
        label_fact(kind, words)


def test_labels_are_read(tmp_path):
    (caption,) = read_web_captions(write_captions(tmp_path, ROW))
    assert (caption.id, caption.source, caption.style) == ("cc12m_01", "web_captions", "cc12m")
    assert caption.facts[OBJECT] == [("jar",), ("table",)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attributes": [["red", "box"]]}, r"line 2: 'red > box' names \['box'\], not among its objects"),
        ({"relations": [["box", "on", "table"]]}, r"line 2: 'box > on > table' names \['box'\]"),
        ({"attributes": [["red"]]}, "line 2: 'red' is no attribute"),
        ({"n_objects": 2}, "line 2: has the fields"),
    ],
)
def test_a_label_that_does_not_hold_together_is_named_with_its_line(tmp_path, change, message):
    with pytest.raises(ValueError, match=message):
        read_web_captions(write_captions(tmp_path, ROW, {**ROW, **change}))


def test_a_line_that_is_no_json_is_named(tmp_path):
    (tmp_path / "captions.jsonl").write_text("dog\n")
    with pytest.raises(ValueError, match=r"captions.jsonl, line 1: Expecting value"):
        read_web_captions(str(tmp_path / "captions.jsonl"))


def test_a_caption_labelled_twice_is_named(tmp_path):
    with pytest.raises(ValueError, match="cc12m_01 is labelled twice"):
        check_ids(read_web_captions(write_captions(tmp_path, ROW, ROW)))


def test_committed_captions_are_50_of_each_style_as_the_reader_hands_them_on(committed):
    check_ids(committed)
    assert Counter(caption.style for caption in committed) == {"cc12m": 50, "yfcc15m": 50, "laion400m": 50}
    assert len({caption.caption for caption in committed}) == 150
    assert all(caption.caption == normalise_text(caption.caption) for caption in committed)


def test_some_committed_captions_say_nothing_and_all_kinds_occur(committed):
    assert sum(not caption.facts[OBJECT] for caption in committed) > 10
    for kind in (OBJECT, ATTRIBUTE, RELATION):
        assert sum(len(caption.facts[kind]) for caption in committed) > 100


@pytest.mark.parametrize("line", ["[1]", "null", "[" * 100_000])
def test_a_line_that_is_no_object_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_text(line + "\n")
    with pytest.raises(ValueError, match=r"a\.jsonl, line 1"):
        read_web_captions(str(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("words", [[1], "cat", [None]])
def test_a_fact_that_is_no_list_of_texts_is_refused(words):
    with pytest.raises(ValueError, match="is no object, which is a list of 1 texts"):
        label_fact(OBJECT, words)
