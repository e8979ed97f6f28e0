"""Read test sets of classification through torchvision, and lay their pictures into a folder under names of their own.

Some sets keep pictures in one file (CIFAR), others give one file name in every class's folder. So each picture that is
used gets a name that is unique in its set: a link to its file where it has one, else a PNG without loss.
"""

import hashlib
import json
import logging
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from crepebench.files import atomic_path

logger = logging.getLogger(__name__)

FORM = 1
"""Of the list of pictures; part of it."""


class ZeroShotSet(NamedTuple):
    """A test set.

    Attributes:
        reader: name of its class in torchvision.datasets.
        arguments: what that is given beside the folder.
        gives_paths: whether it takes a `loader`, so that it can give paths in place of pictures.
        classes: attribute with the names of the classes; "" where the user must give them.
        n_images: pictures of the whole set, where the set's page states it.
    """

    reader: str
    arguments: Mapping[str, object]
    gives_paths: bool
    classes: str
    n_images: int


# ASSUME: of Caltech-101, which has no split of its own, all pictures but the background's are used; the others have the
# test split that torchvision knows, DTD its first partition, aircraft the variants.
SETS = {
    "imagenet": ZeroShotSet("ImageFolder", {"allow_empty": True}, True, "imagenet", 50_000),
    "cifar10": ZeroShotSet("CIFAR10", {"train": False}, False, "classes", 10_000),
    "cifar100": ZeroShotSet("CIFAR100", {"train": False}, False, "classes", 10_000),
    "food101": ZeroShotSet("Food101", {"split": "test"}, True, "classes", 25_250),
    "cars": ZeroShotSet("StanfordCars", {"split": "test"}, True, "classes", 8_041),
    "fgvc_aircraft": ZeroShotSet("FGVCAircraft", {"split": "test"}, True, "classes", 3_333),
    "dtd": ZeroShotSet("DTD", {"split": "test"}, True, "classes", 1_880),
    "pets": ZeroShotSet("OxfordIIITPet", {"split": "test"}, False, "classes", 3_669),
    "caltech101": ZeroShotSet("Caltech101", {}, False, "categories", 8_677),
    "flowers": ZeroShotSet("Flowers102", {"split": "test"}, True, "classes", 6_149),
    "country211": ZeroShotSet("Country211", {"split": "test"}, True, "", 21_100),
}
"""ImageNet, and the ten sets on which CLIC is measured; ImageNet is its folder `val` with one folder a class."""


def open_set(name: str, folder: str):
    """Opens a set; nothing is downloaded or written.

    Args:
        name: one of SETS.
        folder: the folder that torchvision calls `root`; of ImageNet, the one that holds the 1,000 folders.

    Raises:
        ValueError: the set is unknown, or not whole in the folder; says why.
    """
    import torchvision

    if name not in SETS:
        raise ValueError(f"unknown set {name!r}: use one of {', '.join(sorted(SETS))}")
    if not Path(folder).is_dir():
        raise ValueError(f"set {name}: {folder} is no folder")
    if name == "caltech101" and not (Path(folder) / "caltech101").is_dir():  # its reader would make that folder
        raise ValueError(f"set {name}: {folder} holds no folder caltech101")
    known = SETS[name]
    arguments = {**known.arguments, **({"loader": str} if known.gives_paths else {})}
    try:
        return getattr(torchvision.datasets, known.reader)(folder, **arguments)
    except (OSError, RuntimeError, KeyError, ValueError) as error:
        raise ValueError(f"set {name}: {folder} does not hold it ({error})") from error


def class_names(name: str, dataset, given: Sequence[str] = ()) -> list[str]:
    """Returns what prompts call the classes, by number: those that are given, or the set's own, with spaces.

    Raises:
        ValueError: there are none, or not as many as the set has classes.
    """
    known = SETS[name]
    own = _imagenet_names() if known.classes == "imagenet" else getattr(dataset, known.classes) if known.classes else []
    found = [str(one).replace("_", " ").strip() for one in (given or own)]
    if not found:
        raise ValueError(f"set {name}: torchvision knows codes in place of names; give `class_names`, one a class")
    n_classes = len(getattr(dataset, "classes", own)) or len(found)
    if len(found) != n_classes:
        raise ValueError(f"set {name}: {len(found)} names of classes, and {n_classes} classes in the set")
    return found


def _imagenet_names() -> list[str]:
    """Returns the names of ImageNet's classes in the order of their WordNet ids, as open_clip has them."""
    from open_clip import IMAGENET_CLASSNAMES

    return list(IMAGENET_CLASSNAMES)


def choose_numbers(name: str, n_all: int, n_images: int | None, seed: int) -> list[int]:
    """Returns which pictures of a set are used, by number, sorted: a draw by hash, or all.

    Args:
        name: name of the set.
        n_all: pictures of the set.
        n_images: pictures to draw; None for all. A larger draw holds the smaller one.
        seed: seed of the draw.
    """
    if n_images is None or n_images >= n_all:
        return list(range(n_all))
    digests = {number: hashlib.sha256(f"{seed} {name} {number}".encode()).digest() for number in range(n_all)}
    return sorted(sorted(range(n_all), key=digests.__getitem__)[:n_images])


def lay_pictures(folder: str, pictures_folder: str, list_path: str, cfg: str) -> int:
    """Lays the pictures of a set into a folder and writes the list of them; returns their number.

    Args:
        folder: where the set lies.
        pictures_folder: where pictures go, as `<set>_<number>.<suffix>`.
        list_path: JSON to write: form, set, classes (names by number), and pictures (name, number of the class).
        cfg: JSON of `set` (one of SETS), `class_names` (in place of the set's own; may be empty), `n_images` (pictures
            to draw; null for all) and `seed` (of the draw).

    Raises:
        ValueError: the set is not whole; or a picture's class has no name.
    """
    config = json.loads(cfg)
    name = config["set"]
    dataset = open_set(name, folder)
    classes = class_names(name, dataset, config["class_names"])
    if len(dataset) != SETS[name].n_images:
        logger.warning("set %s: %s has %d pictures, not %d", name, folder, len(dataset), SETS[name].n_images)
    rows = []
    for number in choose_numbers(name, len(dataset), config["n_images"], config["seed"]):
        picture, label = dataset[number]
        if not 0 <= label < len(classes):
            raise ValueError(f"set {name}, picture {number}: class {label} has no name; there are {len(classes)}")
        rows.append((_lay_picture(picture, Path(pictures_folder) / f"{name}_{number:06d}"), int(label)))
    with atomic_path(list_path) as partial, open(partial, "w", encoding="utf-8") as file:
        json.dump({"form": FORM, "set": name, "classes": classes, "pictures": rows}, file, ensure_ascii=False)
    logger.info("set %s: %d of %d pictures, %d classes", name, len(rows), len(dataset), len(classes))
    return len(rows)


def _lay_picture(picture: object, stem: Path) -> str:
    """Links to a picture's file, or writes the picture; returns the name.

    The list of pictures is written last, so a folder whose making was broken off has none.
    """
    source = picture if isinstance(picture, str | os.PathLike) else getattr(picture, "filename", "")
    target = stem.with_name(stem.name + (Path(source).suffix.lower() if source else ".png"))
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    if source:
        target.symlink_to(os.path.abspath(source))
    else:
        picture.save(target, format="PNG")
    return target.name


def read_list(path: str) -> dict:
    """Reads a list of pictures that `lay_pictures` wrote.

    Raises:
        ValueError: it is no such list, or one of another form; names the file.
    """
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: no JSON in UTF-8 ({error})") from error
    if not isinstance(found, dict) or found.get("form") != FORM or found.get("set") not in SETS:
        raise ValueError(f"{path}: no list of pictures of form {FORM}; lay the pictures again")
    return found
