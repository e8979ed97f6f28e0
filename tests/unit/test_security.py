"""What files and settings from elsewhere must not be able to do; more of it stands beside the tests of each module.

Code in weights: test_torchscript_archives.py. Redirections, web pages and hashes of downloads: test_downloads.py,
test_weights.py. Keys: test_chat_servers.py, test_config_values.py. Formulas: test_parser_review.py. Markdown and LaTeX:
test_table_formats.py.
"""

import ast
import io
import json
import pickle
import tarfile
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
import torch
import yaml
from jsonschema import Draft202012Validator
from PIL import Image

from crepebench.checkpoints import CheckpointError, read_state_dict
from crepebench.config_values import check_values
from crepebench.contact_sheets import _write_texts
from crepebench.corpora import read_batches
from crepebench.dataset_card import card
from crepebench.image_files import list_image_files
from crepebench.images import BadImageError, ImageReader, decode_image
from crepebench.own_captions import OwnImages, SetAside, use_records
from crepebench.pages import html_table, page
from crepebench.released_files import list_released_files, parse_foils, read_released_rows
from crepebench.run_record import write_run_record
from crepebench.table_formats import html_page

from .released_rows import productivity_row, write_released

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = ROOT / "workflow" / "scripts"
SOURCES = sorted([*SCRIPTS.rglob("*.py"), *(ROOT / "tests" / "benchmarks").glob("*.py")])
HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</td></table><b>", "' onload='x"]
SCHEMA = yaml.safe_load((ROOT / "workflow" / "schemas" / "config.schema.yaml").read_text())
PROD = "prod_vg_hard_negs_atom_complexity_4.csv"


# ---- code that files could bring


FORBIDDEN_MODULES = {"pickle", "cPickle", "dill", "shelve", "marshal", "joblib", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__", "input"}
FORBIDDEN_ATTRIBUTES = {
    *("os.system", "os.popen", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "yaml.load_all", "torch.jit.load"),
    *("shutil.unpack_archive", "tempfile.mktemp", "np.load", "numpy.load"),
}
RESTRICTED = {"torchscript_archives.py": {"pickle"}}
"""Modules that may import what others may not: one whose unpickler imports no name that a file gives it."""


def dotted(node) -> str:
    """Returns the dotted name of an expression, as far as it is one."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def faults_of(source: str, allowed: set[str] = frozenset()) -> list[str]:
    """Returns what in a module could run code, or leave a folder, as a file says."""
    faults = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
            faults += [name for name in names if name in FORBIDDEN_MODULES - allowed]
        if not isinstance(node, ast.Call):
            continue
        name, keywords = dotted(node.func), {keyword.arg: keyword.value for keyword in node.keywords}
        values = {key: value.value for key, value in keywords.items() if isinstance(value, ast.Constant)}
        if name in FORBIDDEN_CALLS | FORBIDDEN_ATTRIBUTES or name.rpartition(".")[2] in ("extractall", "extract"):
            faults.append(name)
        if name == "torch.load" and values.get("weights_only") is not True:
            faults.append("torch.load without weights_only")
        faults += [key for key in ("shell", "allow_pickle", "trust_remote_code") if values.get(key)]
        faults += ["verify"] * (values.get("verify") is False)
    return faults


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_no_module_runs_what_a_file_says(path):
    assert faults_of(path.read_text(encoding="utf-8"), RESTRICTED.get(path.name, set())) == []


@pytest.mark.parametrize(
    "source",
    [
        *("import pickle", "from pickle import loads", "eval('1')", "os.system('x')", "yaml.load(x)", "torch.load(x)"),
        *(
            "torch.load(x, weights_only=False)",
            "subprocess.run(x, shell=True)",
            "archive.extractall()",
            "torch.jit.load(x)",
        ),
        *("a.from_pretrained(x, trust_remote_code=True)", "requests.get(x, verify=False)"),
    ],
)
def test_what_must_not_stand_in_a_module_is_seen(source):
    assert faults_of(source)


class Harm:
    def __reduce__(self):
        return open, ("FILE", "w")


@pytest.mark.parametrize("write", [lambda path: torch.save({"model": Harm()}, path), lambda path: write_pickle(path)])
def test_pickled_weights_run_nothing(tmp_path, monkeypatch, write):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "a.pt")
    with pytest.raises(CheckpointError, match=r"a\.pt cannot be read as weights alone"):
        read_state_dict(tmp_path / "a.pt")
    assert not (tmp_path / "FILE").exists()


def write_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps(Harm()))


@pytest.mark.parametrize(
    "cell", ["open('FILE', 'w')", "[__import__('os').mkdir('FILE')]", "[x for x in ['a']]", "[f'{1}']"]
)
def test_cells_with_python_are_not_run(tmp_path, monkeypatch, cell):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match="no list or set of texts"):
        parse_foils(cell, "here")
    assert not (tmp_path / "FILE").exists()


# ---- members that would leave their folder


NAMES = ["../../{}", "/tmp/{}", "..\\..\\{}", "C:\\{}", "a/../../../{}"]


def everything_in(folder: Path) -> list[Path]:
    return sorted(folder.parent.rglob("*"))


@pytest.mark.parametrize("name", NAMES)
def test_members_of_zips_are_read_and_never_unpacked(tmp_path, name):
    folder = tmp_path / "a" / "b"
    folder.mkdir(parents=True)
    png = encoded(Image.new("RGB", (8, 8)))
    text = Path(write_released(tmp_path / PROD, [productivity_row()])).read_bytes()
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        archive.writestr(name.format("7.jpg"), png)
        archive.writestr(name.format(PROD), text)
    before = everything_in(tmp_path)
    for files in list_image_files([str(folder / "images.zip")]).values():
        image = {"archive": files[0].archive, "path": files[0].path, "crc32": zlib.crc32(png), "width": 8, "height": 8}
        with ImageReader() as reader:
            assert reader.read(image).picture.size == (8, 8)
    for file in list_released_files([str(folder / "images.zip")], "productivity"):
        assert len(list(read_released_rows(file))) == 1
    assert everything_in(tmp_path) == before


@pytest.mark.parametrize("type_", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_in_a_tar_are_no_captions(tmp_path, type_):
    (tmp_path / "secret").write_text("a secret")
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        link = tarfile.TarInfo("0.txt")
        link.type, link.linkname = type_, str(tmp_path / "secret")
        archive.addfile(link)
        caption = tarfile.TarInfo("../../1.txt")
        caption.size = 5
        archive.addfile(caption, io.BytesIO(b"a jar"))
    (batch,) = read_batches([str(tmp_path / "a.tar")], {"format": "webdataset", "caption": "txt"})
    assert batch.texts.to_pylist() == ["a jar"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.tar", "secret"]


@pytest.mark.parametrize("name", ["../mine", "a/b", "a.b", "", "A", "a b", "a\n", "..", "~"])
@pytest.mark.parametrize("block", ["corpora", "models"])
def test_names_in_the_config_that_become_paths_are_plain(block, name):
    config = yaml.safe_load((ROOT / "config" / "config.yaml").read_text())
    schema = Draft202012Validator(SCHEMA)
    definitions = config[block]["definitions"]
    definitions[name] = next(iter(definitions.values()))
    config[block]["use"] = [name]
    if schema.is_valid(config):  # a pattern's $ also stands before a line end
        with pytest.raises(ValueError, match=f"config: {block}: .* is no name"):
            check_values(config, SCHEMA)


def test_own_captions_may_name_any_file_but_only_pictures_are_read_and_nothing_is_shown(tmp_path):
    (tmp_path / "secret").write_text("root:x:0:0")
    (tmp_path / "table").mkdir()
    images = OwnImages(str(tmp_path / "table"), {})
    (row,) = use_records([{"image": "../secret", "caption": "a jar"}], images)
    assert row == SetAside(1, "image_unreadable", "../secret")
    assert images.used == {}


# ---- files that would fill memory or disk


def encoded(picture, format_="PNG") -> bytes:
    buffer = io.BytesIO()
    picture.save(buffer, format_)
    return buffer.getvalue()


def test_picture_of_20000_by_20000_pixels_in_few_bytes_is_refused_before_it_is_decoded():
    data = encoded(Image.new("1", (20_000, 20_000)))
    assert len(data) < 100_000
    with pytest.raises(BadImageError, match="image_too_large"):
        decode_image(data)


def test_file_in_a_zip_that_says_it_is_huge_is_not_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("crepebench.images.MOST_BYTES", 10_000)
    with zipfile.ZipFile(tmp_path / "images.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("VG_100K/7.jpg", bytes(10_001))
    (tmp_path / "7.jpg").write_bytes(bytes(10_001))
    for archive, path in ((tmp_path / "images.zip", "VG_100K/7.jpg"), (tmp_path, "7.jpg")):
        image = {"archive": str(archive), "path": path, "crc32": zlib.crc32(bytes(10_001)), "width": 8, "height": 8}
        with ImageReader() as reader, pytest.raises(BadImageError, match="image_too_large: the file has 10001 bytes"):
            reader.read(image)


# ---- texts that would become markup


@pytest.mark.parametrize("text", HOSTILE)
def test_texts_of_pages_are_no_markup(text):
    tables = [html_table([text], [{text: text}]), html_page(text, ["a"], [{"a": text}], {"a": (text, text)})]
    for found in [*tables, page(text, "")]:
        assert "<script>" not in found and "<img" not in found and "<b>" not in found and "' onload='" not in found


def test_record_page_shows_a_hostile_config_as_text(tmp_path):
    record = run_record(tmp_path, {"captioner": {"model": HOSTILE[0]}, HOSTILE[1]: HOSTILE[2]})[1]
    assert "<script>" not in record and "<img" not in record and "<b>" not in record


def test_card_of_an_export_shows_hostile_settings_as_text():
    config = {
        "data": "built",
        "source": "icons",
        "protocol": "refined",
        "captioner": f"{HOSTILE[0]}\n\n# ![a](b)",
        "corpora": [],
    }
    _, head, text = card([], config).split("---\n", 2)
    assert yaml.safe_load(head)
    assert "<script>" not in text and "\n# !" not in text and "![a](b)" not in text


def test_captions_on_contact_sheets_are_no_formulas():
    class Axes:
        transAxes = None

        def text(self, *_, parse_math, **__):
            assert parse_math is False

    foils = [{"kind": "atom", "text": r"$\frac{a}{b}$"}]
    _write_texts(Axes(), {"foil_type": "atom", "complexity": 4, "caption": r"$\input{x}$", "foils": foils}, 3.0)


# ---- keys


def run_record(folder: Path, config: dict) -> tuple[str, str]:
    """Returns the record of a run with a config, and its page."""
    (folder / "requirements.txt").write_text("pytest==1\n")
    paths = [str(folder / name) for name in ("run.json", "run.html")]
    write_run_record([], [], [], [], [], str(folder / "requirements.txt"), str(folder), *paths, json.dumps(config))
    return tuple(Path(path).read_text() for path in paths)


def test_no_variable_of_the_environment_stands_in_the_record_of_a_run(tmp_path, monkeypatch):
    for name in ("OPENAI_API_KEY", "HF_TOKEN", "MY_KEY"):
        monkeypatch.setenv(name, "sk-0123456789abcdef")
    found = run_record(tmp_path, {"captioner": {"api_key_variable": "MY_KEY", "base_url": "https://example.org/v1"}})
    assert "MY_KEY" in found[0] and not any("sk-0123456789abcdef" in text for text in found)


def test_only_one_module_reads_the_key():
    readers = [path.name for path in SCRIPTS.rglob("*.py") if "api_key_variable" in path.read_text(encoding="utf-8")]
    assert sorted(readers) == ["chat_servers.py", "config_values.py", "settings.py"]


def test_no_array_of_objects_can_be_read():
    buffer = io.BytesIO()
    np.save(buffer, np.array([Harm()], object), allow_pickle=True)
    with pytest.raises(ValueError, match="allow_pickle=False"):
        np.load(io.BytesIO(buffer.getvalue()))
