import bz2
import gzip
import io
import tarfile

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from crepebench import caption_counts
from crepebench.caption_counts import count_captions, count_corpus


def test_rows_of_a_parquet_file_are_counted(tmp_path):
    pq.write_table(pa.table({"TEXT": ["a jar"] * 11}), tmp_path / "captions")
    assert count_captions(str(tmp_path / "captions"), "parquet") == 11


@pytest.mark.parametrize(("suffix", "compress"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)])
def test_rows_of_a_large_text_file_are_estimated_from_its_first_lines(tmp_path, monkeypatch, suffix, compress):
    monkeypatch.setattr(caption_counts, "SAMPLE_BYTES", 1_800_000)  # bzip2 has blocks of 900,000
    path = tmp_path / f"captions.tsv{suffix}"
    path.write_bytes(compress("".join(f"u{i}\ta red jar {i * i}\n" for i in range(200_000)).encode()))
    assert count_captions(str(path)) == pytest.approx(200_000, rel=0.4)


def test_empty_text_file_has_no_rows(tmp_path):
    (tmp_path / "captions.tsv").touch()
    assert count_captions(str(tmp_path / "captions.tsv")) == 0


@pytest.mark.parametrize("n_members", [20, 10_000])
def test_samples_of_a_tar_are_estimated_from_its_first_members(tmp_path, monkeypatch, n_members):
    monkeypatch.setattr(caption_counts, "SAMPLE_MEMBERS", n_members)
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        for i in range(400):
            for suffix in ("txt", "json"):
                archive.addfile(tarfile.TarInfo(f"{i}.{suffix}"), io.BytesIO())
    assert count_captions(str(tmp_path / "a.tar"), "webdataset") == pytest.approx(400, rel=0.1)


@pytest.mark.parametrize("kind", ["parquet", "webdataset"])
def test_damaged_file_is_named(tmp_path, kind):
    (tmp_path / "a").write_bytes(b"x" * 600)
    with pytest.raises(ValueError, match=r"a: the file is damaged "):
        count_captions(str(tmp_path / "a"), kind)


def test_a_corpus_has_the_rows_of_its_files_or_of_its_subset(tmp_path):
    for name, n in (("a.tsv", 3), ("b.tsv", 4), ("subset.tsv", 2)):
        (tmp_path / name).write_text("u\ta jar\n" * n)
    paths = [str(tmp_path / name) for name in ("a.tsv", "b.tsv", "subset.tsv")]
    assert count_corpus(paths[:2], {"format": "cc12m"}) == 7
    assert count_corpus(paths, {"format": "yfcc15m_clip", "subset": paths[2]}) == 2


@pytest.mark.parametrize(
    ("name", "kind", "content"),
    [
        ("a.tsv.gz", "tsv", gzip.compress(b"a jar\n" * 99, mtime=0)[:-9]),
        ("a.parquet", "parquet", b"PAR1\x15\x04\x15\x00PAR1"),
        ("a.tar", "webdataset", gzip.compress(b"a jar" * 999, mtime=0)[:40]),
    ],
    ids=["cut gzip", "cut parquet", "cut tar"],
)
def test_compressed_or_cut_file_that_is_damaged_is_named(tmp_path, name, kind, content):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name}: the file is damaged"):
        count_captions(str(tmp_path / name), kind)
