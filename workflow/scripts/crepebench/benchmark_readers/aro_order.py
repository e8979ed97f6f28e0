"""Build and read questions of word order in the manner of ARO's: a caption and four shuffles of its words.

ARO (arXiv:2210.01936) shuffles captions of COCO and Flickr30k anew, without a seed, whenever it is run, so that no
two runs ask the same. Here `build_order_file` shuffles once and writes a file, and `read` reads nothing else. The
four shuffles are of the nouns and adjectives, of all other words, of runs of three words, and within each run.
Captions are in lower case, without punctuation, and have at most 30 words.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import CHOOSE_CAPTION, ImageRef, Item
from crepebench.benchmark_readers._files import listed, read_json, read_json_lines, stem_of
from crepebench.benchmark_readers._records import base_name, cell, check_options, items_of, text, text_of
from crepebench.files import atomic_path

ROOTS = {"coco": "coco_val2014", "flickr30k": "flickr30k"}
"""Root by the first part of the name of a frozen file, which is the subset."""
PUNCTUATION = re.compile(r"[.!\"()*#:;~,?]")
MOST_WORDS, RUN = 30, 3
NOUNS_ADJECTIVES = frozenset(("NN", "NNS", "NNP", "NNPS", "JJ", "JJR", "JJS"))
"""Tags of the Penn Treebank, as spaCy's English pipelines give them."""
SHUFFLES = ("nouns_adjectives", "other_words", "runs", "within_runs")
MOST_TRIES = 50
NO_SHUFFLE = "no_four_shuffles"
"""Reason of a caption of which a shuffle gives nothing new: it is too short, or its words repeat."""


def read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]:
    """Yields an item for each line.

    Args:
        paths: files of `build_order_file`, named coco_*.jsonl or flickr30k_*.jsonl.
        options: none.
        counts: takes what was read, kept and dropped.

    Raises:
        ValueError: a file has another name, or is not of its form; names file and line.
    """
    check_options(options, (), "aro_order")
    for path in paths:
        subset = stem_of(path).partition("_")[0]
        if subset not in ROOTS:
            raise ValueError(f"{path}: a file of frozen orders is named {' or '.join(f'{name}_*' for name in ROOTS)}")

        def make(where: str, _: None, record: object, subset: str = subset) -> tuple[Item]:
            image = ImageRef(ROOTS[subset], base_name(cell(record, "image", where), f"{where}, image"))
            captions = tuple(text_of(record, key, where) for key in ("caption", *SHUFFLES))
            if len(set(captions)) < len(captions):
                raise ValueError(f"{where}: two of the five captions are the same: {captions!r:.300}")
            return (Item(f"{subset}:{text_of(record, 'id', where)}", subset, CHOOSE_CAPTION, (image,), captions),)

        yield from items_of(((where, None, record) for where, record in read_json_lines(path)), make, counts)


def build_order_file(captions_path: str, path: str, seed: int, parser) -> Counter:
    """Writes a frozen file: an object a line with id, seed, image, caption and the four shuffles.

    Args:
        captions_path: JSON list of {"image": name, "caption": text or list of texts}.
        path: file to write.
        seed: of the shuffles; each depends on it, the image, the number of the caption and the kind of shuffle alone.
        parser: spaCy's pipeline, as `crepebench.parsing.load_parser` returns it.

    Returns:
        Counts of captions: READ, KEPT and reasons.

    Raises:
        ValueError: the file of captions is not of its form; names file and record.
    """
    counts: Counter = Counter()
    with atomic_path(path) as partial, open(partial, "w", encoding="utf-8") as file:
        for id_, image, caption in _read_captions(captions_path):
            counts[READ] += 1
            words = order_words(caption)
            found = shuffle_words(words, _tags(words, parser), f"{seed} {id_}") if words else None
            counts[KEPT if found else NO_SHUFFLE] += 1
            if found:
                row = {"id": id_, "seed": seed, "image": image, "caption": " ".join(words), **found}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
    return counts


def _read_captions(path: str) -> Iterator[tuple[str, str, str]]:
    """Yields id, image and caption, of each caption of a file."""
    for where, _, record in listed(read_json(path), path):
        image, found = base_name(cell(record, "image", where), f"{where}, image"), cell(record, "caption", where)
        for number, caption in enumerate(found if isinstance(found, list) else [found]):
            yield f"{image}:{number}", image, text(caption, f"{where}, caption")


def order_words(caption: str) -> list[str]:
    """Returns the words of a caption in lower case, without punctuation, and at most 30.

    # ASSUME: commas and question marks go with the marks that ARO strips; left on a word that moves, they would tell
    the shuffles from the caption.
    """
    return PUNCTUATION.sub(" ", caption.lower()).split()[:MOST_WORDS]


def _tags(words: Sequence[str], parser) -> list[str]:
    from spacy.tokens import Doc

    return [token.tag_ for token in parser(Doc(parser.vocab, words=list(words)))]


def shuffle_words(words: Sequence[str], tags: Sequence[str], key: str) -> dict[str, str] | None:
    """Returns the text of each shuffle; None where one of them would repeat the caption or another shuffle.

    # ASSUME: a shuffle that gives nothing new is drawn again; ARO keeps it, so that the caption ties with itself.

    Args:
        words: of the caption.
        tags: of the Penn Treebank, one for each word.
        key: what the shuffles depend on.
    """
    runs = [list(range(start, min(start + RUN, len(words)))) for start in range(0, len(words), RUN)]
    chosen = [i for i, tag in enumerate(tags) if tag in NOUNS_ADJECTIVES]
    others = [i for i in range(len(words)) if i not in set(chosen)]
    orders: dict[str, Callable[[str], list[int]]] = {
        "nouns_adjectives": lambda key: _in_places(len(words), chosen, key),
        "other_words": lambda key: _in_places(len(words), others, key),
        "runs": lambda key: [i for run in _shuffled(runs, key) for i in run],
        "within_runs": lambda key: [i for n, run in enumerate(runs) for i in _shuffled(run, f"{key} {n}")],
    }
    found, seen = {}, {" ".join(words)}
    for name in SHUFFLES:
        tries = (" ".join(words[i] for i in orders[name](f"{key} {name} {n}")) for n in range(MOST_TRIES))
        new = next((text for text in tries if text not in seen), None)
        if new is None:
            return None
        found[name] = new
        seen.add(new)
    return found


def _in_places(n_words: int, places: Sequence[int], key: str) -> list[int]:
    """Returns an order of words in which only those at some places have moved, among these places."""
    moved = dict(zip(places, _shuffled(places, key), strict=True))
    return [moved.get(i, i) for i in range(n_words)]


def _shuffled(values: Sequence, key: str) -> list:
    """Returns values in an order that depends on the key alone."""
    order = sorted(range(len(values)), key=lambda i: hashlib.sha256(f"{key} {i}".encode()).digest())
    return [values[i] for i in order]
