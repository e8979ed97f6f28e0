from collections import Counter

import pyarrow as pa
import pytest

from crepebench.accounting import KEPT, READ
from crepebench.corpora import CaptionBatch
from crepebench.distinct import DistinctCaptions, read_distinct


def batch(*texts, **dropped):
    return CaptionBatch(pa.array(texts, pa.large_string()), len(texts) + sum(dropped.values()), Counter(dropped))


def distinct(*batches):
    captions = DistinctCaptions(lambda: iter(batches))
    found = [list(zip(texts.to_pylist(), weights.tolist(), strict=True)) for texts, weights in captions.batches()]
    return captions, found


def test_captions_that_are_equal_but_for_case_stand_once_with_their_number():
    captions, found = distinct(batch("a Jar", "a box", "A JAR"), batch("a box", "a key", "a jar"))
    assert found == [[("a jar", 3), ("a box", 2)], [("a key", 1)]]
    assert captions.n_distinct == 3


def test_captions_that_differ_in_more_than_case_all_stand():
    _, found = distinct(batch("a jar", "a jar.", "jar", "Straße", "STRASSE", ""))
    assert [text for text, _ in found[0]] == ["a jar", "a jar.", "jar", "straße", "strasse", ""]


def test_rows_are_counted_repeated_ones_each_time():
    captions, _ = distinct(batch("a jar", "a jar", text_empty=2), batch("a jar", columns_wrong=1))
    assert captions.counts == {READ: 6, KEPT: 3, "text_empty": 2, "columns_wrong": 1}


def test_a_shard_without_rows_has_no_captions():
    for batches in ((), (batch(),), (batch(text_empty=3),)):
        captions, found = distinct(*batches)
        assert captions.n_distinct == 0
        assert [pair for pairs in found for pair in pairs] == []


@pytest.mark.parametrize("size", [1, 4, 11, 1000])
def test_batches_of_any_size_hold_the_same_captions(size):
    texts = [f"caption {n * n % 37}" for n in range(200)]
    captions, found = distinct(*(batch(*texts[i : i + size]) for i in range(0, 200, size)))
    assert Counter(dict(pair for pairs in found for pair in pairs)) == Counter(texts)
    assert captions.n_distinct == len(set(texts))


def test_a_shard_is_read_from_its_files(tmp_path):
    (tmp_path / "a.tsv").write_text("u\ta jar\nu\tA jar\nu\t\n")
    captions = read_distinct([str(tmp_path)], {"format": "cc12m"}, 0, 1)
    assert [weights.tolist() for _, weights in captions.batches()] == [[2]]
    assert captions.counts[READ] == 3
