"""Read the lists of pictures that `crepebench.zero_shot_sets` writes: items of classes and of pictures."""

from collections.abc import Iterator, Mapping, Sequence

from crepebench.benchmark_items import ImageRef, Item
from crepebench.benchmark_readers._records import check_options
from crepebench.zero_shot import CLASS, CLASS_TAG, CLASSIFY, IMAGENET_80, class_tag, prompts_of
from crepebench.zero_shot_sets import read_list

ROOT = "zero_shot_"
"""Beginning of the name of the root with the pictures of a set."""


def read(paths: Sequence[str], options: Mapping) -> Iterator[Item]:
    """Yields the items of the sets: first of a set's classes, which hold their prompts, then of its pictures.

    The first prompt of its class is a picture's caption, so that no text is encoded for pictures alone.

    Args:
        paths: lists of pictures, one a set.
        options: `templates`, as `crepebench.zero_shot.prompts_of` takes them; ImageNet's 80 unless given.

    Raises:
        ValueError: a list is none, or a picture has no class; names the file and picture.
    """
    check_options(options, ("templates",), "zero_shot")
    templates = options.get("templates", IMAGENET_80)
    for path in paths:
        found = read_list(path)
        name, classes = found["set"], found["classes"]
        tags = [{CLASS_TAG: class_tag(number, one)} for number, one in enumerate(classes)]
        prompts = [prompts_of(one, templates) for one in classes]
        for number, texts in enumerate(prompts):
            yield Item(f"{name}/class/{number:04d}", name, CLASS, (), texts, tags[number])
        for picture, label in found["pictures"]:
            if not isinstance(label, int) or not 0 <= label < len(classes):
                raise ValueError(f"{path}, picture {picture!r}: class {label!r} is none of {len(classes)}")
            image = ImageRef(ROOT + name, picture)
            yield Item(f"{name}/{picture}", name, CLASSIFY, (image,), prompts[label][:1], tags[label])
