"""Measure the CPU time of reading, normalising and folding captions, for each kind of file, on one core.

Run `python tests/benchmarks/read_captions.py`; docs/performance.md has the figures. The test suite leaves it out.
Captions are put together from words at random; a share of them holds what web text holds: accents, entities, emoji,
runs of spaces. The same captions are written in every format, in one file.
"""

import argparse
import bz2
import csv
import gzip
import io
import json
import random
import re
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import quote_plus

import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "workflow" / "scripts"))

from crepebench.corpora import fold, read_batches  # noqa: E402
from crepebench.texts import normalise_text, normalise_texts  # noqa: E402

WORDS = """a the of on in with and red blue small old wooden dog cat table chair photo stock vintage beach house
woman by for vector Illustration PERSON Black White design background free new home city at from Wedding 2017""".split()
DIRT = ["caf\u00e9", "\u00a0", "  ", "\u2026", "\U0001f408", "na\u00efve", "\u2019s", "\u200e", "\u4e2d\u6587", "&amp;"]


def draw_captions(n: int, dirty_share: float) -> list[str]:
    """Returns captions of 10 words on average; a share of them with one piece of dirt."""
    rng = random.Random(1)
    captions = []
    for _ in range(n):
        words = rng.choices(WORDS, k=rng.randint(4, 16))
        if rng.random() < dirty_share:
            words[rng.randrange(len(words))] = rng.choice(DIRT)
        captions.append(" ".join(words))
    return captions


def write_tar(path: Path, captions: list[str]) -> None:
    """Writes a tar with one text a sample, without images."""
    with tarfile.open(path, "w") as archive:
        for row, caption in enumerate(captions):
            member = tarfile.TarInfo(f"{row:09d}.txt")
            member.size = len(content := caption.encode())
            archive.addfile(member, io.BytesIO(content))


def write_files(folder: Path, captions: list[str]) -> dict[str, tuple[Path, dict]]:
    """Writes the captions in every format; returns path and definition of each."""
    url = "https://pictures.example.org/2014/05/some-picture-{}.jpg".format
    lines = "".join(f"{url(i)}\t{caption}\n" for i, caption in enumerate(captions)).encode()
    encoded = "".join(f"{url(i)}\t{quote_plus(caption)}\t\n" for i, caption in enumerate(captions)).encode()
    rows = "".join(json.dumps({"url": url(i), "caption": caption}) + "\n" for i, caption in enumerate(captions))
    files = {
        "cc12m": ("a.tsv", {"format": "cc12m"}, lines),
        "cc12m, .gz": ("a.tsv.gz", {"format": "cc12m"}, gzip.compress(lines, 6)),
        "cc12m, .bz2": ("a.tsv.bz2", {"format": "cc12m"}, bz2.compress(lines)),
        "yfcc_extract": ("b.tsv", {"format": "yfcc_extract"}, encoded),
        "jsonl": ("a.jsonl", {"format": "jsonl", "caption": "caption"}, rows.encode()),
        "csv": ("a.csv", {"format": "csv", "caption": "caption"}, None),
        "laion400m": ("a.parquet", {"format": "laion400m"}, None),
        "webdataset": ("a.tar", {"format": "webdataset", "caption": "txt"}, None),
    }
    for name, _, content in files.values():
        if content is not None:
            (folder / name).write_bytes(content)
    with open(folder / "a.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["url", "caption"])
        writer.writerows((url(i), caption) for i, caption in enumerate(captions))
    table = pa.table({"URL": [url(i) for i in range(len(captions))], "TEXT": captions})
    pq.write_table(table, folder / "a.parquet", row_group_size=100_000)
    write_tar(folder / "a.tar", captions)
    return {name: (folder / file, definition) for name, (file, definition, _) in files.items()}


def measure(path: str, definition: dict, n_shards: int) -> dict:
    """Reads one shard of a file; returns captions, CPU seconds and the peak memory of the process in MB."""
    start, n_texts = time.process_time(), 0
    for batch in read_batches([path], definition, 0, n_shards):
        n_texts += len(fold(batch.texts))
    seconds = time.process_time() - start
    (peak,) = re.findall(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    return {"n": n_texts, "seconds": seconds, "mb": int(peak) / 1000}


def measure_apart(path: Path, definition: dict, n_shards: int = 1) -> dict:
    """Calls `measure` in a process of its own."""
    command = [sys.executable, __file__, "--measure", json.dumps([str(path), definition, n_shards])]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    """Prints tables in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--captions", type=int, default=1_000_000)
    parser.add_argument("--dirty-share", type=float, default=0.1)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        print(json.dumps(measure(*json.loads(options.measure))))
        return
    print(f"{options.captions:,} captions, one core\n\n| normalised | captions a CPU second | one by one | ratio |")
    print("|---|---:|---:|---:|")
    for name, share in (("clean ASCII", 0.0), ("a tenth with dirt", 0.1), ("all with dirt", 1.0)):
        captions = draw_captions(options.captions, share)
        texts = pa.array(captions, pa.large_string())
        start = time.process_time()
        normalise_texts(texts)
        middle = time.process_time()
        for caption in captions:
            normalise_text(caption)
        fast, slow = (options.captions / s for s in (middle - start, time.process_time() - middle))
        print(f"| {name} | {fast:,.0f} | {slow:,.0f} | {fast / slow:.1f} |")
    print("\n| read, normalised and folded | captions a CPU second | peak memory | a shard of 8, share of the time |")
    print("|---|---:|---:|---:|")
    with TemporaryDirectory() as temporary:
        captions = draw_captions(options.captions, options.dirty_share)
        for name, (path, definition) in write_files(Path(temporary), captions).items():
            whole, part = measure_apart(path, definition), measure_apart(path, definition, 8)
            share = part["seconds"] / whole["seconds"]
            print(
                f"| {name} | {whole['n'] / whole['seconds']:,.0f} | {whole['mb']:,.0f} MB | {share:.2f} |", flush=True
            )


if __name__ == "__main__":
    main()
