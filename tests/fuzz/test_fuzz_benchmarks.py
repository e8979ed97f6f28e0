"""Odd files of other benchmarks: every record gives items or is counted, or the file is refused by name."""

import json
from collections import Counter
from importlib import import_module
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import check_items
from crepebench.benchmark_readers import READERS
from crepebench.benchmark_readers.aro_order import shuffle_words

from ..unit.benchmark_files import ATTRIBUTION, FILES
from .mutations import csv_text, damaged, inputs, mutated, odd_texts, odd_values, only_errors_that_name

KINDS = [(reader, name, content) for reader, (name, content) in FILES.items()]
KINDS += [("aro", "visual_genome_attribution.json", [ATTRIBUTION] * 2)]
cells = st.one_of(odd_texts, odd_values.map(str), st.sampled_from(["0.0", "3", "-1", "positive", "a/b\\c.jpg", ".."]))


def as_bytes(name: str, content) -> bytes:
    """Returns the bytes of a file with that content; what JSON cannot hold is written as Python has it."""
    if name.endswith(".csv"):
        return csv_text(content)
    if name.endswith(".jsonl"):
        return "".join(json.dumps(record) + "\n" for record in content).encode()
    return json.dumps(content).encode()


def read_file(reader: str, path: Path) -> None:
    """Reads a file, and compares the items with the counts of its records."""
    counts: Counter = Counter()
    with only_errors_that_name(path):
        items = list(check_items(import_module(READERS[reader]).read([str(path)], {}, counts), path.name))
        assert counts[READ] == sum(counts.values()) - counts[READ]
        assert len(items) == counts[KEPT] * (2 if reader == "sugarcrepe_pp" else 1)
        for item in items:
            "".join((item.id, item.subset, *item.captions, *item.tags, *item.tags.values())).encode()
            assert all(image.name and "/" not in image.name for image in item.images)


@inputs(0.7)
@given(st.data())
def test_odd_records_give_items_or_a_named_file(folder, data):
    reader, name, content = data.draw(st.sampled_from(KINDS))
    values = cells if name.endswith(".csv") else odd_values
    (folder / name).write_bytes(as_bytes(name, data.draw(mutated(content, values=values))))
    read_file(reader, folder / name)


@inputs(0.3)
@given(st.data())
def test_damaged_files_give_items_or_a_named_file(folder, data):
    reader, name, content = data.draw(st.sampled_from(KINDS))
    (folder / name).write_bytes(data.draw(damaged(as_bytes(name, content))))
    read_file(reader, folder / name)


@inputs(0.3)
@given(st.lists(st.tuples(st.sampled_from("ab cde"), st.sampled_from(["NN", "JJ", "IN"])), max_size=9), st.text())
def test_shuffles_are_new_orders_of_the_same_words_or_none(tagged, key):
    words, tags = [word for word, _ in tagged], [tag for _, tag in tagged]
    found = shuffle_words(words, tags, key.encode(errors="replace").decode())
    if found is not None:
        texts = [" ".join(words), *found.values()]
        assert len(set(texts)) == 5
        assert all(sorted(text) == sorted(texts[0]) for text in texts)
