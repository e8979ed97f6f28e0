"""Odd caption files of every layout: every row gives a text or is counted, or the file is refused by name."""

import bz2
import gzip
import io
import json
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crepebench.caption_counts import count_corpus
from crepebench.corpora import fold, read_batches
from crepebench.parsing import parse_texts
from crepebench.scan import CandidateIndex
from crepebench.texts import normalise_text
from crepebench.vocabularies import vocabulary_keys

from .mutations import damaged, inputs, mutated, odd_texts, only_errors_that_name

CAPTIONS = ["a red jar on a table", "Ein kleiner Hund läuft", 'a dog\'s park, with "trees"', "two cats", ""]
URLS = [f"https://h/{n}.jpg" for n in range(len(CAPTIONS))]
WORDS = "a the red small jar dog man table on under holds next to with of and his 2 two , . ( & don't <b> 狗 🐕".split()


def lines(*fields: list[str], separator="\t") -> bytes:
    return "".join(separator.join(row) + "\n" for row in zip(*fields, strict=True)).encode()


def yfcc_lines() -> bytes:
    rows = []
    for n, caption in enumerate(CAPTIONS):
        fields = [str(n), *["x"] * 7, caption.replace(" ", "+"), "see+%3Cb%3Eit%3C%2Fb%3E", *["y"] * 6, URLS[n]]
        rows.append("\t".join([*fields, *["z"] * 8]))
    return ("\n".join(rows) + "\n").encode()


def json_lines() -> bytes:
    rows = [{"url": url, "caption": caption} for url, caption in zip(URLS, CAPTIONS, strict=True)]
    return "".join(json.dumps(row) + "\n" for row in [*rows, {"caption": ["a jar", None]}]).encode()


def parquet_file(**columns) -> bytes:
    buffer = io.BytesIO()
    table = pa.table(columns or {"URL": URLS, "TEXT": CAPTIONS, "similarity": [0.5] * len(URLS)})
    pq.write_table(table, buffer, row_group_size=2)
    return buffer.getvalue()


def tar_file() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for n, caption in enumerate(CAPTIONS):
            for suffix, text in (("jpg", "picture"), ("txt", caption), ("json", json.dumps({"caption": caption}))):
                info = tarfile.TarInfo(f"00/{n:04d}.{suffix}")
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


FILES = {
    "cc12m.tsv": ({"format": "cc12m"}, lines(URLS, CAPTIONS)),
    "cc12m.tsv.gz": ({"format": "cc12m"}, gzip.compress(lines(URLS, CAPTIONS), mtime=0)),
    "yfcc100m_dataset": ({"format": "yfcc15m_clip"}, yfcc_lines()),
    "yfcc100m_dataset.bz2": ({"format": "yfcc15m_clip"}, bz2.compress(yfcc_lines())),
    "yfcc.tsv": ({"format": "yfcc_extract"}, lines(URLS, CAPTIONS, CAPTIONS)),
    "declip.json": ({"format": "yfcc15m_declip"}, json_lines()),
    "laion.parquet": ({"format": "laion400m"}, parquet_file()),
    "own.csv": (
        {"format": "csv", "caption": ["caption", "title"]},
        lines(["caption", *CAPTIONS], ["title", *URLS], separator=","),
    ),
    "numbered.csv": ({"format": "csv", "caption": 2}, lines(URLS, CAPTIONS, separator=",")),
    "own.tsv": ({"format": "tsv", "caption": "caption"}, lines(["url", *URLS], ["caption", *CAPTIONS])),
    "own.jsonl": ({"format": "jsonl", "caption": "caption"}, json_lines()),
    "own.tar": ({"format": "webdataset", "caption": "txt"}, tar_file()),
    "fields.tar": ({"format": "webdataset", "caption": "json.caption"}, tar_file()),
}


@pytest.fixture(scope="module")
def subset(folder) -> str:
    """A list of the rows that count."""
    path = folder / "subset.tsv"
    path.write_text("0\t1\n3\t7\n")
    return str(path)


def read(path: Path, definition: dict, n_shards: int = 1) -> tuple[list[str], int, Counter]:
    """Returns the texts, the number of rows, and what was dropped, of all shards."""
    texts, n_read, dropped = [], 0, Counter()
    for shard in range(n_shards):
        for batch in read_batches([str(path)], definition, shard, n_shards):
            texts += batch.texts.to_pylist()
            n_read += batch.n_read
            dropped += batch.dropped
    assert n_read == len(texts) + dropped.total()
    assert all(text and text == normalise_text(text) for text in texts)
    return texts, n_read, dropped


@inputs(0.6)
@given(st.data())
def test_rows_of_damaged_files_are_read_or_counted(folder, subset, data):
    name = data.draw(st.sampled_from(list(FILES)))
    definition, good = FILES[name]
    definition = {**definition, "subset": subset} if definition["format"] == "yfcc15m_clip" else definition
    path = folder / name
    path.write_bytes(data.draw(damaged(good, most=3)))
    with only_errors_that_name(path):
        found = read(path, definition)
        assert Counter(read(path, definition, n_shards=3)[0]) == Counter(found[0])
    with only_errors_that_name(path, subset):
        assert count_corpus([str(path)], definition) >= 0


@inputs(0.1)
@given(st.data())
def test_odd_json_lines_are_read_or_counted(folder, data):
    rows = [{"url": "u", "caption": "a red jar"}, {"caption": ["a jar", "a dog"], "n": 1}, {"caption": "two cats"}]
    rows = data.draw(mutated(rows, most=4))
    path = folder / "odd.jsonl"
    path.write_bytes(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    _, n_read, _ = read(path, {"format": "jsonl", "caption": "caption"})
    lists = [row["caption"] for row in rows if isinstance(row, dict) and isinstance(row.get("caption"), list)]
    assert n_read == len(rows) + sum(len(each) - 1 for each in lists)


@inputs(0.1)
@given(st.data())
def test_odd_texts_in_parquet_are_read_or_counted(folder, data):
    cells = data.draw(st.lists(st.one_of(st.none(), st.binary(max_size=9), odd_texts), max_size=6))
    cells = [cell.encode(errors="surrogatepass") if isinstance(cell, str) else cell for cell in cells]
    type_ = data.draw(st.sampled_from([pa.binary(), pa.large_binary(), pa.dictionary(pa.int32(), pa.binary())]))
    column = pa.array(cells, pa.binary())
    column = column.dictionary_encode() if pa.types.is_dictionary(type_) else column.cast(type_)
    names = data.draw(st.lists(st.sampled_from(["TEXT", "text", "URL", "Caption", ""]), min_size=1, max_size=3))
    path = folder / "odd.parquet"
    pq.write_table(pa.Table.from_arrays([column] * len(names), names=names), path)
    with only_errors_that_name(path):
        assert read(path, {"format": "laion400m"})[1] == len(cells)


@inputs(0.1)
@given(st.data())
def test_lists_of_line_numbers_are_read_or_refused_by_name(folder, data):
    path = folder / data.draw(st.sampled_from(["odd.tsv", "odd.tsv.gz", "odd.tsv.bz2"]))
    good = b"0\t1\n3\t7\n"
    compress = {".gz": gzip.compress, ".bz2": bz2.compress}.get(path.suffix, bytes)
    path.write_bytes(data.draw(damaged(compress(data.draw(damaged(good))), most=1)))
    metadata = folder / "yfcc100m_dataset"
    metadata.write_bytes(yfcc_lines())
    with only_errors_that_name(path):
        read(metadata, {"format": "yfcc15m_clip", "subset": str(path)})


captions = st.one_of(
    st.lists(st.one_of(st.sampled_from(WORDS), odd_texts), max_size=12).map(" ".join),
    st.text(max_size=30),
)


@inputs(0.1)
@given(texts=st.lists(captions, min_size=1, max_size=5))
def test_odd_captions_are_parsed_and_their_candidates_found(parser, texts):
    texts = [normalise_text(text.encode(errors="ignore").decode())[:300] for text in texts]
    graphs = list(parse_texts(texts, parser))
    assert len(graphs) == len(texts)
    keys = [vocabulary_keys(graph) for graph in graphs]
    index = CandidateIndex(sorted(set().union(*keys)))
    folded = fold(pa.array(texts, pa.large_string()))
    matches = index.matches(folded)
    assert matches.tolist() == [bool(keys_) or matches[i] for i, keys_ in enumerate(keys)]
    pairs = set(zip(*(column.tolist() for column in index.pairs(folded)[:2]), strict=True))
    assert isinstance(matches, np.ndarray) and len(pairs) >= sum(map(len, keys))
