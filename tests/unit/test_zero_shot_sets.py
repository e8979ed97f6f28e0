import hashlib
import json
import pickle

import numpy as np
import pytest

from crepebench.benchmark_manifests import read_manifest
from crepebench.benchmark_readers import zero_shot
from crepebench.zero_shot_sets import SETS, choose_numbers, class_names, lay_pictures, open_set, read_list

WNIDS = [f"n{number:08d}" for number in range(1000)]


def picture(path, colour=0):
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), (colour, 0, 0)).save(path)


def write_cifar(folder, monkeypatch, n_images=6):
    """CIFAR-10 of a few pictures; its reader is told the checksums of these files."""
    import torchvision

    rng = np.random.default_rng(0)
    batch = {"data": rng.integers(0, 256, (n_images, 3072), np.uint8), "labels": [i % 10 for i in range(n_images)]}
    names = {"label_names": ["airplane", "automobile", *(f"kind_{i}" for i in range(8))]}
    inner = folder / "cifar-10-batches-py"
    inner.mkdir()
    sums = {}
    for name, content in (("test_batch", batch), ("batches.meta", names)):
        (inner / name).write_bytes(pickle.dumps(content))
        sums[name] = hashlib.md5((inner / name).read_bytes()).hexdigest()
    reader = torchvision.datasets.CIFAR10
    monkeypatch.setattr(reader, "train_list", [])
    monkeypatch.setattr(reader, "test_list", [["test_batch", sums["test_batch"]]])
    monkeypatch.setattr(reader, "meta", {**reader.meta, "md5": sums["batches.meta"]})
    return batch["data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)


def write_food(folder):
    """Food-101 of two classes whose pictures have the same names."""
    for name in ("apple_pie", "waffles"):
        for number in range(3):
            picture(folder / "food-101" / "images" / name / f"{number}.jpg", 80 * number)
    meta = {name: [f"{name}/{number}" for number in range(3)] for name in ("apple_pie", "waffles")}
    (folder / "food-101" / "meta").mkdir()
    (folder / "food-101" / "meta" / "test.json").write_text(json.dumps(meta), encoding="utf-8")


def lay(name, folder, names=(), n_images=None, seed=0):
    laid = folder.with_name(folder.name + "_laid")
    path = laid / "pictures.json"
    cfg = {"set": name, "class_names": names, "n_images": n_images, "seed": seed}
    n = lay_pictures(str(folder), str(laid / "pictures"), str(path), json.dumps(cfg))
    found = read_list(str(path))
    assert n == len(found["pictures"])
    return found, laid / "pictures", path


def test_pictures_that_lie_in_one_file_are_written_without_loss(tmp_path, monkeypatch):
    from PIL import Image

    pixels = write_cifar(tmp_path, monkeypatch)
    found, folder, _ = lay("cifar10", tmp_path)
    assert found["classes"][:3] == ["airplane", "automobile", "kind 0"]
    assert found["pictures"] == [[f"cifar10_{number:06d}.png", number] for number in range(6)]
    for number, (name, _) in enumerate(found["pictures"]):
        assert np.array_equal(np.asarray(Image.open(folder / name)), pixels[number])


def test_files_of_one_name_in_folders_of_classes_get_names_of_their_own(tmp_path):
    write_food(tmp_path)
    found, folder, _ = lay("food101", tmp_path)
    assert found["classes"] == ["apple pie", "waffles"]
    assert found["pictures"] == [[f"food101_{number:06d}.jpg", number // 3] for number in range(6)]
    original = tmp_path / "food-101" / "images" / "waffles" / "1.jpg"
    assert (folder / "food101_000004.jpg").read_bytes() == original.read_bytes()


def test_caltech_gives_all_pictures_but_the_background(tmp_path):
    for name in ("BACKGROUND_Google", "Faces_easy", "ant"):
        for number in (1, 2):
            picture(tmp_path / "caltech101" / "101_ObjectCategories" / name / f"image_{number:04d}.jpg")
    found, folder, _ = lay("caltech101", tmp_path)
    assert found["classes"] == ["Faces easy", "ant"]
    assert [label for _, label in found["pictures"]] == [0, 0, 1, 1]
    assert all((folder / name).is_symlink() for name, _ in found["pictures"])


def test_imagenet_has_the_names_of_its_classes_in_the_order_of_their_folders(tmp_path):
    for wnid in WNIDS:
        (tmp_path / wnid).mkdir()
    picture(tmp_path / WNIDS[0] / "a.jpg")
    picture(tmp_path / WNIDS[999] / "a.jpg")
    found, _, _ = lay("imagenet", tmp_path)
    assert [found["classes"][number] for number in (0, 999)] == ["tench", "toilet paper"]
    assert [label for _, label in found["pictures"]] == [0, 999]
    (tmp_path / WNIDS[5]).rmdir()
    with pytest.raises(ValueError, match="1000 names of classes, and 9"):
        lay("imagenet", tmp_path)


def test_codes_of_countries_need_names(tmp_path):
    for code in ("AD", "AE"):
        picture(tmp_path / "country211" / "test" / code / "x.jpg")
    with pytest.raises(ValueError, match="country211: torchvision knows codes"):
        lay("country211", tmp_path)
    found, _, _ = lay("country211", tmp_path, names=["Andorra", "United Arab Emirates"])
    assert found["classes"] == ["Andorra", "United Arab Emirates"]
    with pytest.raises(ValueError, match="1 names of classes, and 2 classes"):
        lay("country211", tmp_path, names=["Andorra"])


@pytest.mark.parametrize("name", sorted(SETS))
def test_a_set_that_is_not_there_is_an_error_and_nothing_is_written(tmp_path, name):
    with pytest.raises(ValueError, match=f"set {name}: "):
        class_names(name, open_set(name, str(tmp_path)), ())
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_set_and_a_folder_that_is_not_there_are_errors(tmp_path):
    with pytest.raises(ValueError, match="unknown set 'mnist'"):
        open_set("mnist", str(tmp_path))
    with pytest.raises(ValueError, match="is no folder"):
        open_set("cifar10", str(tmp_path / "lost"))


def test_a_larger_draw_holds_the_smaller_one_and_the_seed_decides():
    small, large = (set(choose_numbers("pets", 500, n, 1)) for n in (50, 100))
    assert small < large
    assert (len(small), len(large)) == (50, 100)
    assert choose_numbers("pets", 500, 50, 1) != choose_numbers("pets", 500, 50, 2)
    assert choose_numbers("pets", 5, 50, 1) == choose_numbers("pets", 5, None, 1) == [0, 1, 2, 3, 4]


def test_laid_pictures_are_read_as_items(tmp_path):
    write_food(tmp_path)
    _, _, path = lay("food101", tmp_path, n_images=4)
    items = list(zero_shot.read([str(path)], {"templates": ["a photo of {}.", "{}"]}))
    classes, pictures = items[:2], items[2:]
    assert [item.captions for item in classes] == [
        ("a photo of apple pie.", "apple pie"),
        ("a photo of waffles.", "waffles"),
    ]
    assert [item.task for item in items] == ["class"] * 2 + ["classify"] * 4
    assert {item.images[0].root for item in pictures} == {"zero_shot_food101"}
    assert {item.tags["class"] for item in pictures} <= {item.tags["class"] for item in classes}
    assert len({item.id for item in items}) == 6
    assert {item.subset for item in items} == {"food101"}
    assert len(next(zero_shot.read([str(path)], {})).captions) == 80


@pytest.mark.parametrize("content", ["{", "[]", '{"form": 0, "set": "cifar10"}', '{"form": 1, "set": "mnist"}'])
def test_a_list_of_another_form_is_an_error(tmp_path, content):
    (tmp_path / "pictures.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"pictures\.json"):
        list(zero_shot.read([str(tmp_path / "pictures.json")], {}))


def test_a_picture_of_no_class_is_an_error(tmp_path):
    content = {"form": 1, "set": "cifar10", "classes": ["a"], "pictures": [["x.png", 1]]}
    (tmp_path / "pictures.json").write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises(ValueError, match=r"pictures\.json, picture 'x\.png': class 1 is none of 1"):
        list(zero_shot.read([str(tmp_path / "pictures.json")], {}))


def test_the_manifest_knows_every_set(repository):
    manifest = read_manifest(str(repository / "resources" / "benchmarks" / "zero_shot.yaml"))
    assert {name.removesuffix(".json"): file["rows"] for name, file in manifest["files"].items()} == {
        name: known.n_images for name, known in SETS.items()
    }
    assert set(manifest["images"]) == {f"zero_shot_{name}" for name in SETS}
