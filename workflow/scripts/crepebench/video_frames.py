"""Take four frames of a clip, as pictures of their own, through PyAV (the libraries of FFmpeg).

A clip stands for its frames wherever a benchmark names one: the frames are PNG files, which the feature store takes
like any picture, and `crepebench.pooled_features` averages their features. Source: NegBench's evaluation of MSR-VTT
takes the middle frame of each of four equal intervals (github.com/m1k2zoo/negbench).
"""

import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain, pairwise
from pathlib import Path, PurePosixPath

from crepebench.accounting import KEPT, READ
from crepebench.benchmark_items import ImageRef
from crepebench.files import atomic_path

logger = logging.getLogger(__name__)

N_FRAMES = 4
SUFFIXES = (".mp4", ".avi", ".mkv", ".mov", ".webm")
VIDEO_MISSING, VIDEO_UNREADABLE = "video_missing", "video_unreadable"


class BadVideoError(ValueError):
    """A clip of which no frames can be taken; names the file."""


def is_clip(name: str) -> bool:
    """Says whether a file is a clip, by its suffix."""
    return PurePosixPath(name).suffix.lower() in SUFFIXES


def frame_names(name: str) -> tuple[str, ...]:
    """Returns the file names of a clip's frames: "video7.mp4" to "video7.mp4.frame0.png" and so on."""
    return tuple(f"{PurePosixPath(name).name}.frame{number}.png" for number in range(N_FRAMES))


def middle_frames(n_frames: int, n_taken: int = N_FRAMES) -> list[int]:
    """Returns the middle frame of each of some equal intervals of a clip, by number from 0.

    # ASSUME: intervals are counted in frames, not in seconds, and of two middle frames the earlier is taken; a clip of
    fewer frames than intervals gives some of them twice.

    Args:
        n_frames: frames of the clip, one at least.
        n_taken: number of intervals.
    """
    bounds = [number * n_frames // n_taken for number in range(n_taken + 1)]
    return [max(start, (start + end - 1) // 2) for start, end in pairwise(bounds)]


def read_frames(path: str, n_taken: int = N_FRAMES) -> list:
    """Returns frames of a clip, as RGB pictures of Pillow.

    The clip is decoded twice, once to count its frames, since containers state no number or a wrong one. Pixels are
    those that are stored, without the turn that a container may ask for, as with pictures.

    Args:
        path: the clip.
        n_taken: number of frames.

    Raises:
        BadVideoError: it cannot be decoded to its end, or has no frame.
        FileNotFoundError: it is not there.
    """
    n_frames = sum(1 for _ in _decode(path))
    if not n_frames:
        raise BadVideoError(f"{path}: the clip has no frame")
    wanted = middle_frames(n_frames, n_taken)
    pictures = {number: frame.to_image() for number, frame in enumerate(_decode(path)) if number in wanted}
    return [pictures[number] for number in wanted]


def _decode(path: str) -> Iterator:
    """Yields the frames of a clip's first video stream, in the order in which they are shown."""
    import av

    with _named_faults(path), av.open(path) as container:
        if not container.streams.video:
            raise BadVideoError(f"{path}: the file has no video stream")
        stream = container.streams.video[0]
        stream.thread_type = "AUTO"
        yield from container.decode(stream)


@contextmanager
def _named_faults(path: str) -> Iterator[None]:
    import av

    try:
        yield
    except FileNotFoundError:
        raise
    except av.error.FFmpegError as error:
        raise BadVideoError(f"{path}: the clip cannot be decoded ({error.strerror})") from error


def write_frames(path: str, folder: str) -> list[str]:
    """Writes the frames of a clip to a folder as PNG and returns their paths; names are those of `frame_names`.

    Raises:
        BadVideoError: as `read_frames`.
    """
    paths = [str(Path(folder) / name) for name in frame_names(path)]
    for picture, target in zip(read_frames(path), paths, strict=True):
        with atomic_path(target) as partial:
            picture.save(partial, format="PNG")
    return paths


def extract_frames(clips_folders: Sequence[str], names: Iterable[str], folder: str) -> tuple[dict[str, str], Counter]:
    """Writes the frames of clips, which lie in folders at any depth.

    Args:
        clips_folders: folders of the clips.
        names: file names of clips; those of other files are passed over.
        folder: where frames go.

    Returns:
        Why clips have no frames (VIDEO_MISSING, VIDEO_UNREADABLE), by name; and counts of clips for accounting.

    Raises:
        ValueError: several clips have one name; names them.
    """
    wanted = sorted({PurePosixPath(name).name for name in names if is_clip(name)})
    places, problems = _find_clips(clips_folders, wanted), {}
    for name in wanted:
        try:
            if name not in places:
                problems[name] = VIDEO_MISSING
            else:
                write_frames(places[name], folder)
        except BadVideoError as error:
            problems[name] = VIDEO_UNREADABLE
            logger.warning("%s", error)
    counts = Counter({READ: len(wanted), KEPT: len(wanted) - len(problems)})
    counts.update(problems.values())
    return problems, counts


def lay_frames(
    refs: Iterable[ImageRef], roots: Mapping[str, Sequence[str]], folder: str
) -> tuple[dict[str, Sequence[str]], dict[str, Counter]]:
    """Writes the frames of the clips among pictures, and returns roots in which the frames are found.

    Args:
        refs: pictures and clips of a benchmark.
        roots: folders by name of root.
        folder: where frames go, one folder a root; nothing is made where there is no clip.

    Returns:
        The roots, those of clips exchanged for the folders of their frames; and counts of clips by root.

    Raises:
        ValueError: several clips have one name, or a root of clips is no folder; names it.
    """
    clips: dict[str, set[str]] = {}
    for ref in refs:
        if is_clip(ref.name):
            clips.setdefault(ref.root, set()).add(ref.name)
    found, counts = dict(roots), {}
    for root in sorted(clips.keys() & roots.keys()):
        if strange := next((place for place in roots[root] if not Path(place).is_dir()), None):
            raise ValueError(f"root {root}: clips are read from a folder, and {strange} is none")
        frames = Path(folder) / root
        frames.mkdir(parents=True, exist_ok=True)
        found[root] = [str(frames)]
        _, counts[root] = extract_frames(roots[root], clips[root], str(frames))
    return found, counts


def _find_clips(places: Sequence[str], names: Sequence[str]) -> dict[str, str]:
    """Returns where clips lie, by file name."""
    found, wanted = {}, set(names)
    for place, folders, files in chain.from_iterable(map(os.walk, places)):
        folders.sort()
        for name in sorted(wanted.intersection(files)):
            path = str(Path(place) / name)
            if name in found:
                raise ValueError(f"two clips have one name: {found[name]} and {path}; remove one")
            found[name] = path
    return found
