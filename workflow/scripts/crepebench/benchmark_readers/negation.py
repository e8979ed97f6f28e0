"""Read the test of negation that `crepebench.negation_benchmark` builds: questions, retrieval and classes of crops.

Images are those of Visual Genome, or whatever stands in its place, by file name in the root `run_images`.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import CHOOSE_CAPTION, ImageRef, Item
from crepebench.benchmark_readers._files import read_json_lines, stem_of
from crepebench.benchmark_readers._records import base_name, box, cell, check_options, text, text_of
from crepebench.benchmark_retrieval import RETRIEVE_CAPTION, RETRIEVE_IMAGE, retrieval_items
from crepebench.zero_shot import CLASS, CLASS_TAG, CLASSIFY, SIMPLE_7, class_tag, prompts_of

ROOT = "run_images"
QUESTIONS, CAPTIONS, CLASSES = FILES = ("questions", "captions", "classes")
MCQ, ORDINARY, NEGATED, ZERO_SHOT = "mcq", "retrieval", "retrieval_negated", "zero_shot"
"""Subsets; each has the pools of its own."""
TAGS = ("template", "form", "polarity", "kind", "transfer")
"""What questions are averaged over."""


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields the items of the files.

    Args:
        paths: files named questions.jsonl, captions.jsonl, classes.jsonl; not all need be there.
        options: `templates` of the classes, as `crepebench.zero_shot.prompts_of` takes them (SIMPLE_7 unless given),
            and `root`, the name of the images' root (ROOT unless given).
        counts: takes the number of lines.

    Raises:
        ValueError: a file has another name, or a line is of another form; names file, line and value.
    """
    check_options(options, ("templates", "root"), "negation")
    readers = {QUESTIONS: _questions, CAPTIONS: _captions, CLASSES: _classes}
    for path in paths:
        stem = stem_of(path)
        if stem not in readers:
            raise ValueError(f"{path}: a file is named {', '.join(f'{name}.jsonl' for name in FILES)}")
        rows = list(read_json_lines(path))
        if counts is not None:
            counts.update({READ: len(rows), KEPT: len(rows)})
        yield from readers[stem](rows, options)


def _questions(rows: Sequence[tuple[str, object]], options: Mapping) -> Iterator[Item]:
    for where, row in rows:
        tags = {name: text_of(row, name, where) for name in TAGS}
        name = f"{MCQ}/{text_of(row, 'id', where)}"
        yield Item(name, MCQ, CHOOSE_CAPTION, (_image(row, options, where),), _texts(row, "captions", where), tags)


def _captions(rows: Sequence[tuple[str, object]], options: Mapping) -> Iterator[Item]:
    for number, (where, row) in enumerate(rows):
        image = _image(row, options, where)
        for subset, key in ((ORDINARY, "captions"), (NEGATED, "negated")):
            name, texts = f"{subset}/{number:06d}", _texts(row, key, where)
            yield from retrieval_items(name, subset, image, texts, (RETRIEVE_CAPTION, RETRIEVE_IMAGE), cues=False)


def _classes(rows: Sequence[tuple[str, object]], options: Mapping) -> Iterator[Item]:
    """Yields the classes, then the crops; the first prompt of its class is a crop's caption."""
    names = sorted({text_of(row, "class", where) for where, row in rows})
    tags = {name: {CLASS_TAG: class_tag(number, name)} for number, name in enumerate(names)}
    prompts = {name: prompts_of(name, options.get("templates", SIMPLE_7)) for name in names}
    for number, name in enumerate(names):
        yield Item(f"{ZERO_SHOT}/class/{number:04d}", ZERO_SHOT, CLASS, (), prompts[name], tags[name])
    for number, (where, row) in enumerate(rows):
        name = row["class"]
        image = _image(row, options, where)
        yield Item(f"{ZERO_SHOT}/{number:06d}", ZERO_SHOT, CLASSIFY, (image,), prompts[name][:1], tags[name])


def _image(row: object, options: Mapping, where: str) -> ImageRef:
    """Returns the image of a line, or the part of it that the line names."""
    name = base_name(cell(row, "image", where), f"{where}, image")
    part = row.get("box")
    return ImageRef(options.get("root") or ROOT, name, None if part is None else box(part, f"{where}, box"))


def _texts(row: object, key: str, where: str) -> tuple[str, ...]:
    found = cell(row, key, where)
    if not isinstance(found, list) or not found:
        raise ValueError(f"{where}, {key}: no list of texts, or an empty one: {found!r:.200}")
    return tuple(text(one, f"{where}, {key}") for one in found)
