"""Each reader finds the right answer by what its file says, not by its slot, and refuses what is odd by name."""

import csv
import json
from collections import Counter

import pytest

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import ImageRef
from crepebench.benchmark_readers._records import CAPTION_EMPTY
from crepebench.benchmark_readers.aro import read_excluded
from crepebench.benchmark_readers.winoground import read_retags

from .benchmark_files import (
    ATTRIBUTION,
    BOXES,
    COLA,
    FILES,
    NEGBENCH,
    PAIR,
    PP,
    RELATION,
    VALSE,
    WINOGROUND,
    read_items,
    write_file,
)

NEEDED = {
    "sugarcrepe": ("filename", "caption", "negative_caption"),
    "sugarcrepe_pp": ("id", "filename", "caption", "caption2", "negative_caption"),
    "aro": ("image_path", "bbox_x", "bbox_h", "true_caption", "false_caption", "relation_name"),
    "aro_order": ("id", "image", "caption", "runs"),
    "winoground": ("id", "image_1", "caption_0", "collapsed_tag"),
    "valse": ("image_file", "caption", "foil", "provenance_of_foils", "mturk"),
    "negbench_mcq": ("image_path", "correct_answer", "caption_3", "correct_answer_template"),
    "negrefcocog": ("image", "phrase", "ref_bbox", "bbox_list"),
}
"""Keys without which a record cannot be read."""


def first_of(content):
    return content[next(iter(content))] if isinstance(content, dict) else content[0]


@pytest.mark.parametrize("reader", FILES)
def test_every_reader_counts_all_records(tmp_path, reader):
    name, content = FILES[reader]
    counts = Counter()
    items = read_items(reader, [write_file(tmp_path, name, content)], counts)
    assert counts == {READ: len(content), KEPT: len(content)}
    assert len(items) == len(content) * (2 if reader == "sugarcrepe_pp" else 1)


@pytest.mark.parametrize(("reader", "key"), [(reader, key) for reader, keys in NEEDED.items() for key in keys])
def test_missing_key_is_named_with_its_file(tmp_path, reader, key):
    name, content = FILES[reader]
    content = json.loads(json.dumps(content))
    del first_of(content)[key]
    path = write_file(tmp_path, name, content)
    with pytest.raises(ValueError, match=key) as caught:
        read_items(reader, [path])
    assert path in str(caught.value)


@pytest.mark.parametrize("reader", [reader for reader in FILES if reader != "cola"])
def test_caption_without_words_drops_its_record(tmp_path, reader):
    name, content = FILES[reader]
    content = json.loads(json.dumps(content))
    key = next(key for key in first_of(content) if key in ("caption", "true_caption", "caption_0", "phrase"))
    first_of(content)[key] = "  "
    counts = Counter()
    read_items(reader, [write_file(tmp_path, name, content)], counts)
    assert counts[CAPTION_EMPTY] == 1
    assert counts[READ] == counts[CAPTION_EMPTY] + counts[KEPT]


@pytest.mark.parametrize("reader", FILES)
def test_unknown_option_is_named(tmp_path, reader):
    with pytest.raises(ValueError, match=f"reader {reader}: has no option .'exclude'"):
        read_items(reader, [write_file(tmp_path, *FILES[reader])], exclude="list.json")


@pytest.mark.parametrize("reader", ["sugarcrepe", "sugarcrepe_pp", "aro", "aro_order", "negbench_mcq"])
def test_file_of_another_name_is_refused(tmp_path, reader):
    name, content = FILES[reader]
    path = write_file(tmp_path, f"my.{name.rpartition('.')[2]}", content)
    with pytest.raises(ValueError, match=r"my\..*name"):
        read_items(reader, [path])


@pytest.mark.parametrize("reader", ["sugarcrepe", "valse"])
def test_key_that_stands_twice_is_refused(tmp_path, reader):
    name, content = FILES[reader]
    record = json.dumps(first_of(content))
    path = tmp_path / name
    path.write_text(f'{{"7": {record}, "7": {record}}}')
    with pytest.raises(ValueError, match=f"{name}: the key '7' stands twice"):
        read_items(reader, [path])


def test_repeated_id_is_named_with_its_record(tmp_path):
    path = write_file(tmp_path, "swap_obj.json", [PP, PP])
    with pytest.raises(ValueError, match=r"swap_obj.json, record 1: an earlier record has its id 'swap_obj:0"):
        read_items("sugarcrepe_pp", [path])


def test_list_where_records_have_keys_is_refused(tmp_path):
    path = write_file(tmp_path, "swap_obj.json", [PAIR])
    with pytest.raises(ValueError, match=r"swap_obj.json: holds no object of records, but list"):
        read_items("sugarcrepe", [path])


def test_sugarcrepe_has_group_image_and_caption_before_foil(tmp_path):
    (item, *_) = read_items("sugarcrepe", [write_file(tmp_path, "replace_att.json", {"3": PAIR})])
    assert (item.id, item.subset, item.task, item.tags) == (
        "replace_att:3",
        "replace_att",
        "choose_caption",
        {"group": "replace"},
    )
    assert item.images == (ImageRef("coco_val2017", "000000000001.jpg"),)
    assert item.captions == ("a red cup", "a blue cup")


def test_sugarcrepes_gap_in_the_keys_costs_no_record(shared_data):
    counts = Counter()
    items = read_items("sugarcrepe", [shared_data / "benchmarks" / "sugarcrepe" / "swap_obj.sample.json"], counts)
    ids = [item.id for item in items]
    assert "swap_obj:107" in ids and "swap_obj:108" not in ids and "swap_obj:109" in ids
    assert counts == {READ: 22, KEPT: 22}


def test_sugarcrepe_pp_gives_an_item_with_and_one_without_the_image(tmp_path):
    itt, tot = read_items("sugarcrepe_pp", [write_file(tmp_path, "swap_att.json", [PP])])
    assert (itt.task, len(itt.images), tot.task, len(tot.images)) == ("two_captions", 1, "text_only", 0)
    assert itt.captions == tot.captions == ("a red cup", "a cup that is red", "a blue cup")
    assert (itt.tags, tot.tags["image"]) == ({"group": "swap"}, "000000000001.jpg")


def test_aro_takes_the_true_caption_by_its_key_and_the_box(tmp_path):
    (item,) = read_items("aro", [write_file(tmp_path, "visual_genome_relation.json", [RELATION])])
    assert item.captions == ("the shelf is above the cup", "the cup is above the shelf")
    assert item.images == (ImageRef("visual_genome", "7.jpg", (10, 20, 30, 40)),)


@pytest.mark.parametrize("by", ["path", "name"])
def test_aro_drops_the_relations_of_the_users_list(tmp_path, by):
    path, list_path = write_file(tmp_path, *FILES["aro"]), write_file(tmp_path, "list.json", ["near", "beside"])
    counts = Counter()
    option = list_path if by == "path" else "list.json"
    items = read_items("aro", [path, list_path], counts, excluded_relations=option)
    assert [(item.subset, item.tags) for item in items] == [("relation", {"relation": "above"})]
    assert counts == {READ: 2, KEPT: 1, "relation_excluded": 1}


def test_option_that_names_none_of_the_files_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"option excluded_relations: 'list.json' is none of the files"):
        read_items("aro", [write_file(tmp_path, *FILES["aro"])], excluded_relations="list.json")


def test_aro_without_a_list_says_so_in_subset_and_tag(tmp_path):
    items = read_items("aro", [write_file(tmp_path, *FILES["aro"])])
    assert {item.subset for item in items} == {"relation_none_excluded"}
    assert [item.tags for item in items] == [{"any_relation": "above"}, {"any_relation": "near"}]


def test_aros_real_list_has_157_relations(shared_data):
    found = read_excluded(str(shared_data / "benchmarks" / "aro" / "vg_relation_excluded_relations.json"))
    assert len(found) == 157


def test_aro_attribution_has_its_pair_of_attributes(tmp_path):
    (item,) = read_items("aro", [write_file(tmp_path, "visual_genome_attribution.json", [ATTRIBUTION])])
    assert (item.subset, item.tags) == ("attribution", {"attribute_pair": "red, tall"})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"bbox_w": 0}, "record 0, bbox_x to bbox_h: the box has no area"),
        ({"bbox_x": "left"}, "record 0, bbox_x to bbox_h: no number: 'left'"),
        ({"bbox_y": float("nan")}, "no number: nan"),
        ({"image_path": "images/"}, None),
        ({"image_path": ""}, "image_path: names no image file: ''"),
        ({"true_caption": 3}, "true_caption: no text: 3"),
        ({"false_caption": "half \ud800"}, "false_caption: no text in Unicode"),
    ],
)
def test_odd_value_is_named_with_record_and_key(tmp_path, change, match):
    path = write_file(tmp_path, "visual_genome_relation.json", [{**RELATION, **change}])
    if match is None:
        assert read_items("aro", [path])[0].images[0].name == "images"
        return
    with pytest.raises(ValueError, match=match):
        read_items("aro", [path])


def test_winoground_pairs_images_and_captions_by_number(tmp_path):
    (item,) = read_items("winoground", [write_file(tmp_path, "examples.jsonl", [WINOGROUND])])
    assert (item.task, item.captions) == ("pairs", ("a cup on a hat", "a hat on a cup"))
    assert [image.name for image in item.images] == ["ex_0_img_0.png", "ex_0_img_1.png"]
    assert item.tags == {"collapsed_tag": "Object"}


def test_winoground_items_without_a_new_tag_are_tagged_so(tmp_path):
    lines = [{**WINOGROUND, "id": i} for i in range(2)]
    retags = write_file(tmp_path, "retags.json", {"0": [], "1": ["Unusual Text", "Unusual Image"]})
    paths = [write_file(tmp_path, "examples.jsonl", lines), retags]
    one, two = read_items("winoground", paths, retags="retags.json")
    assert one.tags == {"collapsed_tag": "Object", "NoTag": "yes"}
    assert two.tags == {"collapsed_tag": "Object", "Unusual Text": "yes", "Unusual Image": "yes"}


def test_winoground_item_that_the_new_tags_lack_is_named(tmp_path):
    retags = write_file(tmp_path, "retags.json", {"1": []})
    with pytest.raises(ValueError, match=r"retags.json: has no tags for item '0' of .*examples.jsonl, line 1"):
        read_items("winoground", [write_file(tmp_path, "examples.jsonl", [WINOGROUND]), retags], retags=retags)


def test_winogrounds_real_new_tags_leave_172_of_400_untagged(shared_data):
    found = read_retags(str(shared_data / "benchmarks" / "winoground" / "new_tag_assignments.json"))
    assert (len(found), sum(not tags for tags in found.values())) == (400, 172)


def test_line_that_is_no_json_is_named(tmp_path):
    path = tmp_path / "examples.jsonl"
    path.write_text(json.dumps(WINOGROUND) + "\n{half\n")
    with pytest.raises(ValueError, match=r"examples.jsonl, line 2: no JSON"):
        read_items("winoground", [path])


def test_cola_finds_images_by_the_id_at_the_end_of_the_address(shared_data):
    path = shared_data / "benchmarks" / "cola" / "COLA_multiobjects_matching_benchmark.json"
    counts = Counter()
    items = read_items("cola", [path], counts)
    assert counts == {READ: 210, KEPT: 210}
    assert {image.root for item in items for image in item.images} == {"visual_genome"}
    assert all(image.name.removesuffix(".jpg").isdecimal() for item in items for image in item.images)
    assert {item.task for item in items} == {"pairs_image"}


def test_cola_record_of_three_values_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"cola.json, record 1: no list of image, caption, image, caption"):
        read_items("cola", [write_file(tmp_path, "cola.json", [COLA, COLA[:3]])])


def test_valse_keeps_what_two_annotators_confirm_and_tells_its_halves(tmp_path):
    records = {f"x{n}": {**VALSE, "mturk": {"caption": n}} for n in range(4)}
    records["y"] = {**VALSE, "provenance_of_foils": "something_to_zero"}
    counts = Counter()
    items = read_items("valse", [write_file(tmp_path, "existence.json", records)], counts)
    assert [(item.id, item.subset) for item in items] == [
        ("x2", "zero_to_some"),
        ("x3", "zero_to_some"),
        ("y", "some_to_zero"),
    ]
    assert counts == {READ: 5, KEPT: 3, "few_annotators_chose_the_caption": 2}


def test_valse_sample_is_read_with_its_one_unconfirmed_record(shared_data):
    counts = Counter()
    items = read_items("valse", [shared_data / "benchmarks" / "valse" / "existence.sample.json"], counts)
    assert counts == {READ: 40, KEPT: 39, "few_annotators_chose_the_caption": 1}
    assert {item.subset for item in items} == {"zero_to_some"}


def test_valse_unknown_provenance_is_named(tmp_path):
    path = write_file(tmp_path, "existence.json", {"k": {**VALSE, "provenance_of_foils": "counts"}})
    with pytest.raises(ValueError, match=r"record 'k', provenance_of_foils: 'counts' is none of"):
        read_items("valse", [path])


@pytest.mark.parametrize("right", range(4))
def test_negbench_puts_the_right_caption_first_wherever_it_stands(tmp_path, right):
    row = {**NEGBENCH, "correct_answer": right}
    (item,) = read_items("negbench_mcq", [write_file(tmp_path, FILES["negbench_mcq"][0], [row])])
    assert item.captions[0] == NEGBENCH[f"caption_{right}"]
    assert item.captions[1:] == tuple(NEGBENCH[f"caption_{i}"] for i in range(4) if i != right)
    assert item.tags == {"template": "hybrid"}


def test_negbench_reads_columns_by_name(tmp_path):
    name = FILES["negbench_mcq"][0]
    backwards = dict(reversed({**NEGBENCH, "extra": "x"}.items()))
    (one,) = read_items("negbench_mcq", [write_file(tmp_path, name, [NEGBENCH])])
    assert read_items("negbench_mcq", [write_file(tmp_path, name, [backwards])]) == [one]


@pytest.mark.parametrize(
    ("name", "stored", "subset", "image"),
    [
        ("COCO_val_mcq_llama3.1_rephrased", "data/coco/val2017/1.jpg", "coco", ("coco_val2017", "1.jpg")),
        ("VOC2007_mcq_llama3.1_rephrased", "VOC2007/JPEGImages/2.jpg", "voc2007", ("voc2007_test", "2.jpg")),
        ("VOC2007_mcq", "/data/authors/disk/VOC2007/2.jpg", "voc2007_templated", ("voc2007_test", "2.jpg")),
        ("msr_vtt_mcq_rephrased_llama", "video9.mp4", "msr_vtt", ("msr_vtt", "video9.mp4")),
        ("msr_vtt_mcq_templated", "/data/authors/all/video9.mp4", "msr_vtt_templated", ("msr_vtt", "video9.mp4")),
        (
            "synthetic_mcq_llama3.1_rephrased",
            "data/negative/3_img.png",
            "synthetic",
            ("negbench_synthetic_negative", "3_img.png"),
        ),
    ],
)
def test_negbench_finds_images_by_the_last_part_of_any_path(tmp_path, name, stored, subset, image):
    path = write_file(tmp_path, f"{name}.csv", [{**NEGBENCH, "image_path": stored}])
    (item,) = read_items("negbench_mcq", [path])
    assert (item.subset, item.images) == (subset, (ImageRef(*image),))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"correct_answer": "4"}, "line 2, correct_answer: 4 is not in 0 to 3"),
        ({"correct_answer": ""}, "line 2, correct_answer: no number: ''"),
        ({"correct_answer": "0.5"}, "line 2, correct_answer: no whole number"),
        ({"correct_answer_template": "double"}, "line 2, correct_answer_template: 'double' is none of"),
        ({"image_path": ".."}, "line 2, image_path: names no image file"),
    ],
)
def test_negbench_odd_cell_is_named_with_its_line(tmp_path, change, match):
    path = write_file(tmp_path, FILES["negbench_mcq"][0], [{**NEGBENCH, **change}])
    with pytest.raises(ValueError, match=match):
        read_items("negbench_mcq", [path])


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("COCO_val_mcq_llama3.1_rephrased", {"0": 60}),
        ("VOC2007_mcq_llama3.1_rephrased", {"0": 60}),
        ("VOC2007_mcq", {"0": 60}),
        ("msr_vtt_mcq_rephrased_llama", {"0": 60}),
        ("msr_vtt_mcq_templated", {"0": 17, "1": 13, "2": 13, "3": 17}),
        ("synthetic_mcq_llama3.1_rephrased", {"0": 20, "1": 20}),
    ],
)
def test_negbench_samples_are_read_whole(shared_data, name, answers):
    path = shared_data / "benchmarks" / "negbench" / f"{name}.sample.csv"
    counts = Counter()
    items = read_items("negbench_mcq", [path], counts)
    assert counts[READ] == counts[KEPT] == sum(answers.values())
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["correct_answer"] for row in rows) == answers
    assert [item.captions[0] for item in items] == [row[f"caption_{row['correct_answer']}"] for row in rows]


@pytest.mark.parametrize("place", range(3))
def test_negrefcocog_knows_the_right_box_by_its_numbers(tmp_path, place):
    others = [[0, 0, 30, 40], [9, 9, 9, 9]]
    boxes = [*others[:place], BOXES["ref_bbox"], *others[place:]]
    (item,) = read_items("negrefcocog", [write_file(tmp_path, "x.json", [{**BOXES, "bbox_list": boxes}])])
    assert item.task == "choose_image"
    assert [image.box for image in item.images] == [(5, 6.5, 70, 80), *map(tuple, others)]
    assert {image.name for image in item.images} == {BOXES["image"]}


@pytest.mark.parametrize("boxes", [[[0, 0, 30, 40]], [BOXES["ref_bbox"]], [BOXES["ref_bbox"]] * 2, []])
def test_negrefcocog_record_without_one_right_box_among_others_is_named(tmp_path, boxes):
    path = write_file(tmp_path, "x.json", [{**BOXES, "bbox_list": boxes}])
    with pytest.raises(ValueError, match="record 0, bbox_list: needs ref_bbox"):
        read_items("negrefcocog", [path])


def test_negrefcocog_sample_is_read_whole(shared_data):
    counts = Counter()
    items = read_items("negrefcocog", [shared_data / "benchmarks" / "negrefcocog" / "NegRefCOCOg.sample.json"], counts)
    assert counts == {READ: 40, KEPT: 40}
    assert {len(item.images) for item in items} == {2}


@pytest.mark.parametrize("reader", ["sugarcrepe", "sugarcrepe_pp"])
def test_samples_of_all_subsets_are_read_whole(shared_data, reader):
    paths = sorted((shared_data / "benchmarks" / reader).glob("*.sample.json"))
    counts = Counter()
    items = read_items(reader, paths, counts)
    assert counts[READ] == counts[KEPT] == sum(len(json.loads(path.read_text())) for path in paths)
    assert {item.subset for item in items} == {path.name.partition(".")[0] for path in paths}


def test_negbench_says_of_what_kind_each_caption_is(tmp_path):
    row = {**NEGBENCH, "image_path": "data/positive/7_img.png", "correct_answer": "1"}
    names = ("COCO_val_mcq_llama3.1_rephrased.csv", "synthetic_mcq_llama3.1_rephrased.csv")
    coco, synthetic = (read_items("negbench_mcq", [write_file(tmp_path, name, [row])])[0] for name in names)
    assert coco.kinds == ()  # what its first column says is known only where that is right
    assert synthetic.kinds == ("right", "wrong_positive", "wrong_hybrid", "wrong_negative")
    (item,) = read_items("negbench_mcq", [write_file(tmp_path, names[0], [NEGBENCH])])
    assert item.kinds == ("right", "wrong_hybrid", "wrong_positive", "wrong_negative")
