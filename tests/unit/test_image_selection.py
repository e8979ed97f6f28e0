import logging
from collections import Counter

import pytest

from crepebench.accounting import KEPT, READ, check_counts
from crepebench.image_selection import IMAGE_DATA, ImageSelection, image_fraction


def selection(exclude_images=(), sample=None):
    return ImageSelection({"exclude_images": list(exclude_images), "sample": sample})


def chosen(choice, image_ids):
    return [image_id for image_id in image_ids if not choice.reason(image_id)]


def selected(choice, images, name=IMAGE_DATA):
    counts = Counter()
    return list(choice.select(images, name, counts)), counts


def test_all_images_are_in_a_run_without_a_choice():
    assert chosen(selection(), range(100)) == list(range(100))


def test_excluded_images_have_a_reason_of_their_own():
    choice = selection([1592], {"ids": [1592, 7]})
    assert [choice.reason(image_id) for image_id in (1592, 7, 8)] == ["image_excluded", "", "not_in_sample"]


def test_a_sample_of_ids_is_these_images():
    assert chosen(selection(sample={"ids": [7, 3]}), range(10)) == [3, 7]


def test_a_sample_has_about_its_share_of_the_images():
    assert 0.23 < len(chosen(selection(sample={"share": 0.25}), range(10_000))) / 10_000 < 0.27
    assert len(chosen(selection(sample={"share": 1.0}), range(10_000))) == 10_000


def test_a_sample_depends_on_the_ids_alone_not_on_order_or_other_images():
    choice = selection(sample={"share": 0.3})
    ids = list(range(1000))
    assert set(chosen(choice, ids[::-1])) == set(chosen(choice, ids))
    assert chosen(choice, ids[::7]) == [image_id for image_id in chosen(choice, ids) if image_id % 7 == 0]


def test_a_larger_sample_holds_the_smaller_one():
    small, large = (set(chosen(selection(sample={"share": share}), range(2000))) for share in (0.1, 0.2))
    assert small < large


def test_the_number_of_an_image_never_changes():
    assert image_fraction(2381815) == pytest.approx(0.764034, abs=1e-6)


def test_all_items_of_an_image_that_is_left_out_are_counted():
    images = [(1592, ["a", "b", "c"]), (7, ["d"]), (9, ["e"]), (1722, [])]
    found, counts = selected(selection([1592, 1722], {"ids": [7]}), images)
    assert found == [(7, ["d"])]
    assert counts == {READ: 4, "image_excluded": 3, "not_in_sample": 1}


def test_image_without_an_id_is_in_no_sample():
    assert selection().reason(None) == ""
    assert selection(sample={"share": 1.0}).reason(None) == "not_in_sample"


def test_images_in_some_files_only_are_counted_and_named(caplog):
    choice = selection([99])
    selected(choice, [(i, [i]) for i in (1, 2, 3, 99)])
    selected(choice, [(i, [i]) for i in (3, 2, 8, 99, None)], "objects")
    selected(choice, [(i, []) for i in (2, 1)], "relationships")
    with caplog.at_level(logging.WARNING):
        counts = choice.join_counts()
    assert counts == {READ: 4, KEPT: 1, "image_unknown": 1, "objects_missing": 1, "relationships_missing": 1}
    check_counts("visual_genome", "annotated_image", counts)
    assert "image_unknown: 1 images, ids [8]" in caplog.text
    assert "objects_missing: 1 images, ids [1]" in caplog.text


def test_ids_of_the_sample_that_are_no_images_are_found():
    choice = selection([4], {"ids": [1, 4, 5]})
    selected(choice, [(1, ["a"]), (2, ["b"])])
    assert choice.unknown_sample_ids() == [5]
