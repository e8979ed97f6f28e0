import bz2
import gzip
import lzma
import random

import pyarrow as pa
import pytest

from crepebench import line_files
from crepebench.line_files import DamagedFileError, is_compressed, read_lines


def zstd(content):
    sink = pa.BufferOutputStream()
    with pa.CompressedOutputStream(sink, "zstd") as stream:
        stream.write(content)
    return sink.getvalue().to_pybytes()


COMPRESSORS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, ".zst": zstd}


def random_lines(seed, n):
    rng = random.Random(seed)
    return [f"{i}".encode() + b"x" * rng.choice([0, 1, 3, 9, 40]) for i in range(n)]


def lines_of(path, shard, n_shards):
    chunks = read_lines(path, lambda block: block % n_shards == shard)
    return [line for chunk, _ in chunks for line in chunk.removesuffix(b"\n").split(b"\n")]


@pytest.mark.parametrize("suffix", COMPRESSORS)
@pytest.mark.parametrize("block_bytes", [1, 7, 64, 100_000])
@pytest.mark.parametrize("n_shards", [1, 2, 5])
def test_shards_cover_every_line_once(tmp_path, monkeypatch, suffix, block_bytes, n_shards):
    monkeypatch.setattr(line_files, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(line_files, "CHUNK_BYTES", 3 * block_bytes)
    for seed, end in ((1, b""), (2, b"\n")):
        lines = random_lines(seed, 60)
        path = tmp_path / f"a.tsv{suffix}"
        path.write_bytes(COMPRESSORS[suffix](b"\n".join(lines) + end))
        found = [lines_of(str(path), shard, n_shards) for shard in range(n_shards)]
        assert sorted(line for part in found for line in part) == sorted(lines)
        assert found[0] == lines or n_shards > 1


@pytest.mark.parametrize("suffix", COMPRESSORS)
def test_chunk_says_whether_it_begins_the_file(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(line_files, "BLOCK_BYTES", 2)
    monkeypatch.setattr(line_files, "CHUNK_BYTES", 4)
    path = tmp_path / f"a.tsv{suffix}"
    path.write_bytes(COMPRESSORS[suffix](b"1\n2\n3\n4\n5\n"))
    assert [at_start for _, at_start in read_lines(str(path), lambda _: True)] == [True, False, False]
    assert not any(at_start for _, at_start in read_lines(str(path), lambda block: block % 2 == 1))


def test_a_plain_file_is_read_where_its_blocks_lie(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "BLOCK_BYTES", 1000)
    path = tmp_path / "a.tsv"
    path.write_bytes(b"123456789\n" * 10_000)
    n_read = 0

    class Counting:
        def __init__(self, stream):
            self.stream = stream

        def __enter__(self):
            return self

        def __exit__(self, *_):
            self.stream.close()

        def seek(self, position):
            self.stream.seek(position)

        def read(self, size):
            nonlocal n_read
            n_read += size
            return self.stream.read(size)

        def readline(self, size):
            line = self.stream.readline(size)
            nonlocal n_read
            n_read += len(line)
            return line

    monkeypatch.setattr(line_files, "open_binary", lambda p: Counting(open(p, "rb")))  # noqa: SIM115
    lines = lines_of(str(path), 3, 10)
    assert lines == [b"123456789"] * 1000
    assert n_read == 10 * 1001


def test_empty_file_has_no_lines(tmp_path):
    (tmp_path / "a.tsv").touch()
    assert list(read_lines(str(tmp_path / "a.tsv"), lambda _: True)) == []


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [(suffix, "cut") for suffix in (".gz", ".bz2", ".xz", ".zst")]
    + [(suffix, "flipped") for suffix in (".gz", ".bz2", ".xz")],  # a zst file need not hold a checksum
)
def test_damaged_compressed_file_is_named_with_the_block(tmp_path, suffix, damage):
    path = tmp_path / f"a.tsv{suffix}"
    content = COMPRESSORS[suffix](bytes(random.Random(1).choices(b"abcdefgh\n", k=20_000)))
    flipped = content[:2000] + bytes(255 - byte for byte in content[2000:2100]) + content[2100:]
    path.write_bytes(content[:-300] if damage == "cut" else flipped)
    with pytest.raises(DamagedFileError, match=rf"a\.tsv\{suffix}: the file is damaged in block 0 \("):
        lines_of(str(path), 0, 1)


def test_file_that_is_not_compressed_as_its_name_says_is_refused(tmp_path):
    (tmp_path / "a.tsv.gz").write_bytes(b"u\ta jar\n")
    with pytest.raises(DamagedFileError, match=r"a\.tsv\.gz: the file is damaged in block 0 \(Not a gzipped file"):
        lines_of(str(tmp_path / "a.tsv.gz"), 0, 1)


def test_file_without_lines_is_refused_in_bounded_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(line_files, "MOST_ROW_BYTES", 1000)
    monkeypatch.setattr(line_files, "BLOCK_BYTES", 100)
    (tmp_path / "a.tsv").write_bytes(b"x" * 5000)
    with pytest.raises(DamagedFileError, match=r"a\.tsv: a row has more than 1,000 bytes; is it a file of lines\?"):
        lines_of(str(tmp_path / "a.tsv"), 0, 2)


def test_compressed_files_are_known_by_their_names():
    assert [is_compressed(name) for name in ("a.tsv.gz", "a.jsonl.zst", "a.tsv", "gz")] == [True, True, False, False]
