import base64
import io

import pytest
from PIL import Image

from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY
from crepebench.gallery_report import fitting_page, part_of
from crepebench.splits import read_splits

from .gallery_files import CORPORA, MODELS, PAIRS, build, data_of, write_inputs
from .review_page_files import box_of, write_images
from .test_gallery_choice import read_pools

N_SETS = 12 * 3 + 12 * 4


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Paths, sets and scores of a gallery, its data, and its two pages; no image 4, no picture in image 5."""
    folder = tmp_path_factory.mktemp("gallery")
    paths, sets, scores = write_inputs(folder)
    images = write_images(folder, without_file=(4,), unreadable=(5,))
    pages = build(folder, paths, images, max_sets=1_000)
    return paths, sets, scores, data_of(pages[0]), pages


def test_the_page_says_of_each_set_what_the_tables_say(built):
    paths, sets, scores, data, _ = built
    splits = [read_splits(path) for path in paths["splits"]]
    entries = {(entry["family"], entry["set_id"], entry["foil_type"]): entry for entry in data["sets"]}
    assert data["models"] == MODELS[PRODUCTIVITY] and data["corpora"] == CORPORA
    for family in FOIL_TYPES:
        for place, row in enumerate(sets[family]):
            of_models = {model: rows[place] for model, rows in scores[family].items()}
            if all(score["reason"] for score in of_models.values()):
                assert (family, row["set_id"], row["foil_type"]) not in entries
                continue
            entry = entries.pop((family, row["set_id"], row["foil_type"]))
            for name in ("image_id", "complexity", "caption", "caption_source", "protocol", "foils"):
                assert entry[name] == row[name]
            assert entry["box"] == [row[side] for side in ("x", "y", "width", "height")]
            assert entry["splits"] == ([s[row["region_id"]] for s in splits] if family == SYSTEMATICITY else [])
            assert (
                entry["unit"] == ("region" if family == SYSTEMATICITY else "subgraph") + f" {2**60 + row['image_id']}"
            )
            for model, found in zip(data["models"], entry["scores"], strict=True):
                expected = of_models.get(model)
                if expected is None:
                    assert found is None
                elif expected["reason"]:
                    assert found == {"reason": "equal_tokens"}
                else:
                    rank, margin, wins = (expected[name] for name in ("rank", "margin", "wins"))
                    assert found == {"rank": rank, "margin": pytest.approx(margin, abs=1e-6), "wins": wins}
    assert entries == {}


def test_the_page_knows_which_of_its_models_were_made_from_others(built):
    assert built[3]["pairs"] == PAIRS[:2]


def test_the_page_counts_all_sets_and_those_that_some_model_scored(built):
    _, _, _, data, _ = built
    assert [family["n_sets"] for family in data["families"]] == [36, 48]
    assert sum(family["n_scored"] for family in data["families"]) == len(data["sets"]) < N_SETS


def test_sets_of_one_crop_share_its_picture_and_images_stand_once(built):
    _, _, _, data, _ = built
    assert len(data["crops"]) == 10
    for entry in data["sets"]:
        if entry["image_id"] in (4, 5):
            assert entry["crop"] is None
            continue
        head, _, text = data["crops"][entry["crop"]].partition(",")
        assert head == "data:image/webp;base64"
        box = box_of(entry["image_id"])
        assert Image.open(io.BytesIO(base64.b64decode(text))).size == (box["width"], box["height"])
        image = data["images"][str(entry["image_id"])]
        assert (image["width"], image["height"]) == (120, 90)


def test_an_image_that_cannot_be_used_leaves_its_sets_with_the_reason(built):
    _, _, _, data, _ = built
    assert data["images"]["4"] == {"problem": "image_missing: no file was found"}
    assert data["images"]["5"]["problem"].startswith("image_unreadable: ")
    assert sum(entry["crop"] is None for entry in data["sets"]) >= 10


def test_the_page_depends_on_no_order_of_rows_and_no_number_of_parts(tmp_path):
    pages = []
    images = write_images(tmp_path)
    for name, changes in (("a", {}), ("b", {"n_parts": 3, "backwards": True})):
        paths, _, _ = write_inputs(tmp_path / name, **changes)
        pages.append([page.read_bytes() for page in build(tmp_path / name, paths, images)])
    assert pages[0] == pages[1]


def test_a_part_holds_its_sets_and_no_other_pictures(built):
    _, _, _, data, _ = built
    wanted = [entry for entry in data["sets"] if entry["image_id"] in (2, 4, 7) and entry["family"] == PRODUCTIVITY]
    part = part_of(data, [(entry["family"], entry["set_id"], entry["foil_type"]) for entry in wanted])
    assert [entry["set_id"] for entry in part["sets"]] == [entry["set_id"] for entry in wanted]
    assert set(part["images"]) == {"2", "4", "7"}
    for entry, before in zip(part["sets"], wanted, strict=True):
        assert (entry["crop"] is None) == (before["crop"] is None) == (entry["image_id"] == 4)
        if entry["crop"] is not None:
            assert part["crops"][entry["crop"]] == data["crops"][before["crop"]]
    assert len(part["crops"]) == 2


@pytest.mark.parametrize("n_kept", [0, 1, 9, 30])
def test_a_page_that_is_too_large_for_a_report_has_fewer_sets_and_says_how_many_there_are(built, n_kept):
    paths, _, _, data, _ = built
    seen = []

    def render(shown):
        seen.append(shown)
        return "x" * (1_000 + 100 * len(shown["sets"]))

    most = 1_000 + 100 * n_kept + 50
    page = fitting_page(data, read_pools(paths), 3, render, most)
    assert len(page) == 1_000 + 100 * n_kept
    assert seen[-1]["n_in_gallery"] == len(data["sets"])
    assert {entry["set_id"] for entry in seen[-1]["sets"]} <= {entry["set_id"] for entry in data["sets"]}


def test_a_page_that_fits_a_report_is_the_gallery_itself(built):
    _, _, _, _, (page, report_page) = built
    assert page.read_bytes() == report_page.read_bytes()
