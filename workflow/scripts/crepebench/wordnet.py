"""Find, complete and read WordNet 3.0, the source of antonyms and cousins.

nltk (3.10 and newer) opens a WordNet folder only below its own data path, and only if `lexnames` and
`index.sense` are there; Debian's `wordnet-base` package ships neither. `write_wordnet` therefore copies the
database that it finds into one folder, derives the two missing files from the ones present, and
`read_wordnet` opens that folder. `crepebench.lexicon` asks the reader that it returns.
"""

import atexit
import io
import json
import logging
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

from crepebench.file_faults import DAMAGED_ZIP
from crepebench.files import atomic_path

logger = logging.getLogger(__name__)

DATABASE_FILES = tuple(f"{kind}.{pos}" for kind in ("data", "index") for pos in ("noun", "verb", "adj", "adv")) + tuple(
    f"{pos}.exc" for pos in ("noun", "verb", "adj", "adv")
)
OPTIONAL_FILES = ("cntlist.rev", "lexnames", "index.sense")
DEBIAN_FOLDER = Path("/usr/share/wordnet")
DEBIAN_PACKAGE = "wordnet-base"
TIMEOUT = 60
"""Seconds without an answer after which the download has failed; nltk sets none."""

# The 45 lexicographer files of WordNet 3.0, in the order of their numbers (lexnames(5WN)).
LEXICOGRAPHER_FILES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body "
    "noun.cognition noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive "
    "noun.object noun.person noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation "
    "noun.shape noun.state noun.substance noun.time verb.body verb.change verb.cognition verb.communication "
    "verb.competition verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception "
    "verb.possession verb.social verb.stative verb.weather adj.ppl"
).split()
PART_OF_SPEECH_NUMBER = {"noun": 1, "verb": 2, "adj": 3, "adv": 4}
SYNSET_TYPE_NUMBER = {"n": 1, "v": 2, "a": 3, "r": 4, "s": 5}
DATA_FILES = {"n": "noun", "v": "verb", "a": "adj", "r": "adv", "s": "adj"}
"""Name of the data file of each synset type."""


def write_wordnet(output_path: str, cfg: str) -> None:
    """Writes a complete WordNet folder to `output_path`/corpora/wordnet, which is then an nltk data path.

    Args:
        output_path: folder to create.
        cfg: config block `wordnet` as JSON: install, whether `wordnet-base` may be installed with apt-get where nothing
            else is found.

    Raises:
        FileNotFoundError: WordNet is neither found nor downloadable nor installable; says what to run.
    """
    source = find_wordnet() or _download_wordnet() or (_install_wordnet() if json.loads(cfg)["install"] else None)
    if source is None:
        raise FileNotFoundError(
            "WordNet 3.0 is missing: run `python -m nltk.downloader wordnet`, "
            f"or on Debian and Ubuntu `sudo apt-get install {DEBIAN_PACKAGE}`, and start the workflow again."
        )
    logger.info("WordNet: copying the database found in %s", source)
    target = Path(output_path) / "corpora" / "wordnet"
    target.mkdir(parents=True, exist_ok=True)
    for name in DATABASE_FILES + OPTIONAL_FILES:
        if (source / name).is_file():
            with atomic_path(str(target / name)) as partial:
                shutil.copyfile(source / name, partial)
    _write_missing(target / "cntlist.rev", lambda: "")
    _write_missing(target / "lexnames", lexnames_text)
    _write_missing(target / "index.sense", lambda: "".join(line + "\n" for line in sense_index_lines(target)))


def _write_missing(path: Path, text: Callable[[], str]) -> None:
    """Writes a file that the source lacks."""
    if not path.exists():
        with atomic_path(str(path)) as partial:
            Path(partial).write_text(text())


def find_wordnet() -> Path | None:
    """Finds WordNet's database in nltk's data path, unpacked or zipped, or in Debian's folder."""
    import nltk

    for root in map(Path, nltk.data.path):
        folder = root / "corpora" / "wordnet"
        if is_wordnet_folder(folder):
            return folder
        if folder.with_suffix(".zip").is_file() and (unpacked := _unpack(folder.with_suffix(".zip"))):
            return unpacked
    return DEBIAN_FOLDER if is_wordnet_folder(DEBIAN_FOLDER) else None


def _unpack(archive: Path) -> Path | None:
    """Unpacks the database files of nltk's zip, and nothing else, into a folder that ends with this process."""
    folder = Path(tempfile.mkdtemp(prefix="wordnet"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    target = folder / "wordnet"
    target.mkdir()
    try:
        with zipfile.ZipFile(archive) as opened:
            members = set(opened.namelist())
            for name in DATABASE_FILES + OPTIONAL_FILES:
                if f"wordnet/{name}" in members:
                    (target / name).write_bytes(opened.read(f"wordnet/{name}"))
    except DAMAGED_ZIP as error:
        logger.warning("WordNet: %s is damaged (%s)", archive, error)
        return None
    return target if is_wordnet_folder(target) else None


def is_wordnet_folder(folder: Path) -> bool:
    """Says whether `folder` holds every database file."""
    return all((folder / name).is_file() for name in DATABASE_FILES)


def _download_wordnet() -> Path | None:
    """Downloads nltk's WordNet package; None where there is no network."""
    import nltk

    folder = tempfile.mkdtemp(prefix="wordnet")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    logger.info("WordNet: neither in nltk's data path nor in %s; downloading it", DEBIAN_FOLDER)
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT)
    try:
        nltk.download("wordnet", download_dir=folder, quiet=True, raise_on_error=True)
    except Exception as error:  # nltk raises plain ValueError, URLError and its own errors alike
        logger.warning("WordNet: the download failed (%s)", error)
        return None
    finally:
        socket.setdefaulttimeout(before)
    found = Path(folder) / "corpora" / "wordnet"
    if is_wordnet_folder(found):
        return found
    archive = found.with_suffix(".zip")
    return _unpack(archive) if archive.is_file() else None


def _install_wordnet() -> Path | None:
    """Installs Debian's package where we are root on a system with apt-get; None elsewhere."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return None
    logger.warning("WordNet: installing the Debian package %s (wordnet.install: false turns this off)", DEBIAN_PACKAGE)
    for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "--no-install-recommends", DEBIAN_PACKAGE]):
        done = subprocess.run(command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, stdout=sys.stderr)
        if done.returncode != 0:
            logger.warning("WordNet: `%s` failed with status %d", " ".join(command), done.returncode)
    return DEBIAN_FOLDER if is_wordnet_folder(DEBIAN_FOLDER) else None


def lexnames_text() -> str:
    """Returns the text of `lexnames`: number, name and part of speech of each lexicographer file."""
    return "".join(
        f"{number:02d}\t{name}\t{PART_OF_SPEECH_NUMBER[name.partition('.')[0]]}\n"
        for number, name in enumerate(LEXICOGRAPHER_FILES)
    )


def sense_index_lines(folder: Path) -> list[str]:
    """Derives `index.sense` from the data, index and count files of a WordNet folder.

    Returns:
        Sorted lines "sense_key synset_offset sense_number tag_count" (senseidx(5WN)).
    """
    counts = {}
    for line in (folder / "cntlist.rev").read_text().splitlines():
        sense_key, _, count = line.split()
        counts[sense_key] = count
    lines = []
    for pos in PART_OF_SPEECH_NUMBER:
        sense_numbers = {}
        for fields in _database_rows(folder / f"index.{pos}"):
            n_synsets = int(fields[2])
            for number, offset in enumerate(fields[len(fields) - n_synsets :], start=1):
                sense_numbers[fields[0], offset] = number
        rows = {fields[0]: fields for fields in _database_rows(folder / f"data.{pos}")}
        for offset, fields in rows.items():
            for word, lex_id in _synset_words(fields):
                head = _head_of_satellite(fields, rows) if fields[2] == "s" else ":"
                key = f"{word}%{SYNSET_TYPE_NUMBER[fields[2]]}:{fields[1]}:{lex_id:02d}:{head}"
                lines.append(f"{key} {offset} {sense_numbers[word, offset]} {counts.get(key, 0)}")
    return sorted(lines)


def _database_rows(path: Path) -> list[list[str]]:
    """Splits the rows of a data or index file, without licence lines and glosses."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return [line.partition(" | ")[0].split() for line in lines if not line.startswith("  ")]


def _synset_words(fields: list[str]) -> list[tuple[str, int]]:
    """Returns (lower-case word without syntactic marker, lex_id) for each word of a data row."""
    n_words = int(fields[3], 16)
    pairs = zip(fields[4 : 4 + 2 * n_words : 2], fields[5 : 5 + 2 * n_words : 2], strict=True)
    return [(word.partition("(")[0].lower(), int(lex_id, 16)) for word, lex_id in pairs]


def _head_of_satellite(fields: list[str], rows: dict[str, list[str]]) -> str:
    """Returns "head_word:head_id" of an adjective satellite: the first word of the synset it is similar to."""
    n_words = int(fields[3], 16)
    pointers = fields[5 + 2 * n_words :]
    similar = pointers[pointers.index("&") + 1]
    word, lex_id = _synset_words(rows[similar])[0]
    return f"{word}:{lex_id:02d}"


def read_wordnet(wordnet_path: str):
    """Opens the folder written by `write_wordnet` and loads its index and synsets into memory; fetches nothing.

    nltk's reader keeps each data file open and seeks in it, so that threads, or processes that were forked from one
    another, read each other's lines. Here every look-up has a position of its own in a file that lies in memory.

    Args:
        wordnet_path: the folder given to `write_wordnet` as `output_path`.

    Returns:
        nltk's WordNetCorpusReader; threads and forked processes may ask it for synsets at once.

    Raises:
        FileNotFoundError: the folder is not complete; says what to run.
    """
    import nltk
    from nltk.corpus.reader.wordnet import WordNetCorpusReader

    root = str(Path(wordnet_path).resolve())
    if root not in nltk.data.path:
        nltk.data.path.insert(0, root)  # nltk refuses folders outside its data path
    folder = Path(root) / "corpora" / "wordnet"
    if not is_wordnet_folder(folder):
        raise FileNotFoundError(f"{folder} is no WordNet folder: run `snakemake --forcerun build_wordnet`")
    contents = {pos: (folder / f"data.{name}").read_bytes() for pos, name in DATA_FILES.items()}

    class MemoryReader(WordNetCorpusReader):
        """Reads synsets from memory."""

        def _data_file(self, pos: str) -> io.TextIOWrapper:
            return io.TextIOWrapper(io.BytesIO(contents[pos]), encoding="utf-8")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nltk warns that no multilingual data is attached; none is wanted
        return MemoryReader(nltk.data.FileSystemPathPointer(str(folder)), None)
