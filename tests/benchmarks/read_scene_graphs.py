"""Measure how fast, and in how much memory, a synthetic scene_graphs.json of the true size is read on one core.

Run `python tests/benchmarks/read_scene_graphs.py`; docs/performance.md has the figures. The test suite leaves it out.
Each measurement is a process of its own, on one core: what it says of memory includes Python and all libraries.
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "scripts"))

MEGABYTES = 739
"""Size of the true scene_graphs.json."""
N_OBJECTS, N_RELATIONSHIPS = 35, 21
"""Of an image: the averages of Visual Genome."""
MEMBER = "scene_graphs.json"


def draw_entry(rng: random.Random, image_id: int) -> dict:
    """Returns the scene graph of one image, with lengths of names and numbers like the true ones."""
    first_id = 1_000_000 + 100 * image_id

    def word() -> str:
        return "".join(rng.choices("abcdefghijklmnoprstuvwy", k=rng.randint(3, 9)))

    objects = [
        {
            "object_id": first_id + i,
            **{key: rng.randrange(800) for key in "xywh"},
            "names": [word()],
            "synsets": [f"{word()}.n.01"],
            "attributes": [word() for _ in range(rng.randrange(3))],
        }
        for i in range(N_OBJECTS)
    ]
    relationships = [
        {
            "relationship_id": first_id + i,
            "predicate": word(),
            "synsets": [f"{word()}.v.01"],
            "subject_id": first_id + rng.randrange(N_OBJECTS),
            "object_id": first_id + rng.randrange(N_OBJECTS),
        }
        for i in range(N_RELATIONSHIPS)
    ]
    return {"image_id": image_id, "objects": objects, "relationships": relationships}


def write_scene_graphs(path: Path, n_bytes: int) -> None:
    """Writes a zip with a JSON array of at least `n_bytes`."""
    rng = random.Random(1)
    n_written, image_id = 0, 0
    with (
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
        archive.open(MEMBER, "w", force_zip64=True) as file,
    ):
        while n_written < n_bytes:
            image_id += 1
            text = (", " if image_id > 1 else "[") + json.dumps(draw_entry(rng, image_id))
            n_written += file.write(text.encode())
        file.write(b"]")


def read_all(path: str, folder: str) -> int:
    """Reads all entries; returns their number."""
    from crepebench.annotations import read_entries

    return sum(1 for _ in read_entries(path))


def read_all_with_ijson(path: str, folder: str) -> int:
    """Reads all entries with ijson, for comparison; it is no requirement of the workflow."""
    import ijson

    with zipfile.ZipFile(path) as archive, archive.open(MEMBER) as stream:
        return sum(1 for _ in ijson.items(stream, "item", use_float=True))


def write_objects(path: str, folder: str) -> int:
    """Reads all entries and writes the table of their objects; returns the number of rows."""
    from crepebench.aliases import Aliases
    from crepebench.annotations import read_entries, read_items
    from crepebench.objects import AttributeEntries, MergedObjects, object_rows
    from crepebench.schema import OBJECTS, write_table

    images = read_items(read_entries(path), path, "objects")
    rows = object_rows(images, path, AttributeEntries(), MergedObjects(), Aliases())
    return write_table(f"{folder}/objects.parquet", OBJECTS, rows)


MEASUREMENTS = {"read": read_all, "ijson": read_all_with_ijson, "objects": write_objects}


def measure(name: str, path: str, folder: str) -> None:
    """Runs one measurement in this process, on one core, and prints time, speed and peak memory."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    n_megabytes = sum(member.file_size for member in zipfile.ZipFile(path).infolist()) / 1e6
    start, cpu_start = time.perf_counter(), time.process_time()
    n_made = MEASUREMENTS[name](path, folder)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    print(
        f"{name:<8}{n_made:>10,} made of {n_megabytes:.0f} MB in {seconds:.1f} s ({cpu_seconds:.1f} s of CPU time): "
        f"{n_megabytes / seconds:.0f} MB/s ({n_megabytes / cpu_seconds:.0f}), peak {peak:.0f} MB of memory"
    )


def main() -> None:
    """Makes the file and starts the measurements."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=MEGABYTES, help="size of the JSON, not zipped")
    parser.add_argument("--only", choices=MEASUREMENTS, nargs="+", default=["read", "objects"])
    parser.add_argument("--measure", nargs=3, metavar=("NAME", "PATH", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        measure(*arguments.measure)
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"{MEMBER}.zip"
        write_scene_graphs(path, int(arguments.megabytes * 1e6))
        for name in arguments.only:
            subprocess.run([sys.executable, __file__, "--measure", name, str(path), folder], check=True)


if __name__ == "__main__":
    main()
