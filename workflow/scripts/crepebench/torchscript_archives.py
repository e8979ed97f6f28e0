"""Read the weights out of a TorchScript archive without loading its code.

`torch.jit.load` would run code of the archive: a module may bring a `__setstate__`, which can call operators that write
files. The weights are pickled beside the code. The reader here builds tensors, numbers and plain containers, takes a
module for a bag of attributes, and refuses whatever else a pickle may name.

Source: torch/csrc/jit/serialization (pickler.cpp, import.cpp) of torch 2: archive/data.pkl, tensors in archive/data/,
and in archive/code/ for each class the names of its parameters and buffers.
"""

import collections
import pickle
import re
import zipfile
from collections.abc import Iterator
from pathlib import PurePosixPath

CLASS = re.compile(r"^class (\w+)\(Module\):\n((?:  .*\n)*)", re.MULTILINE)
NAMES = re.compile(r"^  __(?:parameters|buffers)__ = \[(.*)\]$", re.MULTILINE)
QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
STORAGES = {
    **{"DoubleStorage": "float64", "FloatStorage": "float32", "HalfStorage": "float16", "BFloat16Storage": "bfloat16"},
    **{"LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8"},
    **{"ByteStorage": "uint8", "BoolStorage": "bool"},
}
"""Types of torch by the name under which a pickle has their storage."""
LISTS = ("build_intlist", "build_doublelist", "build_boollist", "build_tensorlist")


class ArchiveError(ValueError):
    """An archive holds what weights do not need, or is damaged."""


class _Module:
    """A module of the archive: the place of its class, and its attributes."""

    place = ("", "")
    attributes: dict

    def __setstate__(self, state):
        if not isinstance(state, dict):
            raise ArchiveError(f"the state of a module is a {type(state).__name__}, not its attributes")
        self.attributes = state


class _WeightsUnpickler(pickle.Unpickler):
    """Unpickles nothing but modules, tensors and plain containers; no name in the pickle is imported."""

    def __init__(self, stream, archive: zipfile.ZipFile, root: str):
        super().__init__(stream)
        self._archive, self._root = archive, root
        self._storages: dict[str, object] = {}

    def find_class(self, module: str, name: str):
        if module == "__torch__" or module.startswith("__torch__."):
            return type("Module", (_Module,), {"place": (module, name)})
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor
        if (module, name) == ("collections", "OrderedDict"):
            return collections.OrderedDict
        if module == "torch" and name in STORAGES:
            return STORAGES[name]
        if module == "torch.jit._pickle" and name in LISTS:
            return list
        if (module, name) == ("torch.jit._pickle", "restore_type_tag"):
            return _untagged
        raise ArchiveError(f"it names {module}.{name}, which weights do not need")

    def persistent_load(self, pid):
        import torch

        kind, type_, key, *_ = pid
        if kind != "storage" or type_ not in STORAGES.values():
            raise ArchiveError(f"it names an object {kind!r}, which weights do not need")
        if key not in self._storages:
            member = self._archive.getinfo(f"{self._root}/data/{key}")
            if member.compress_type != zipfile.ZIP_STORED:
                raise ArchiveError(f"{member.filename} is compressed, which no archive of weights is")
            data, dtype = bytearray(self._archive.read(member)), getattr(torch, type_)
            self._storages[key] = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        return self._storages[key]


def _tensor(storage, offset, size, stride, *_):
    """Returns a tensor; one that would reach beyond its storage is refused by torch."""
    import torch

    return torch.as_strided(storage, size, stride, offset)


def _untagged(value, _):
    return value


def read_archive(path: str) -> dict:
    """Reads the parameters and buffers of an archive.

    Returns:
        Tensors by name, as `torch.jit.load(path).state_dict()` would give them.

    Raises:
        ArchiveError: the archive is damaged, or holds what weights do not need; says what.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            data = next(name for name in archive.namelist() if name.endswith("/data.pkl"))
            root = str(PurePosixPath(data).parent)
            with archive.open(data) as stream:
                module = _WeightsUnpickler(stream, archive, root).load()
            if not isinstance(module, _Module):
                raise ArchiveError("it holds no module")
            return dict(_tensors(module, archive, root, {}))
    except ArchiveError:
        raise
    except Exception as error:  # a damaged pickle raises errors of every kind
        raise ArchiveError(f"it is damaged ({type(error).__name__}: {error})") from error


def _tensors(module: _Module, archive: zipfile.ZipFile, root: str, known: dict, prefix: str = "") -> Iterator[tuple]:
    """Yields name and tensor of the parameters and buffers of a module and of those within it."""
    import torch

    if module.place not in known:
        known[module.place] = _declared(module.place, archive, root)
    for name, value in module.attributes.items():
        if isinstance(value, _Module):
            yield from _tensors(value, archive, root, known, f"{prefix}{name}.")
        elif isinstance(value, torch.Tensor) and name in known[module.place]:
            yield prefix + name, value


def _declared(place: tuple[str, str], archive: zipfile.ZipFile, root: str) -> frozenset[str]:
    """Returns the names of the parameters and buffers that a class declares; other tensors are no weights."""
    module, name = place
    code = archive.read(f"{root}/code/{module.replace('.', '/')}.py").decode()
    for found in CLASS.finditer(code):
        if found[1] == name:
            return frozenset(text for names in NAMES.findall(found[2]) for text in QUOTED.findall(names))
    raise ArchiveError(f"it has no code of the class {module}.{name}")
