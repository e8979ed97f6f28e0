"""Compute once what PeakPatch reads of captions: token features of the peak layer, and two features of each caption.

Source: paper "PeakPatch, arXiv 2607.23271", appendix on training. Of a caption only the positions up to its end token
are kept (all of them where the correction attends to all), one caption after the other. Token features may be kept as
float32 or float16, or not at all: then they are computed again for each batch of the training, as the release does.

A folder holds an index, `index.json`, and shards of SHARD captions. A shard that an earlier, killed run has finished is
kept.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Iterable, Sequence
from errno import ENOSPC
from pathlib import Path

import numpy as np

from crepebench.feature_index import text_id
from crepebench.files import atomic_path
from crepebench.models import load_model
from crepebench.peakpatch_data import CaptionBatch, Captions
from crepebench.schema import NEGATION_PAIRS, NEGATION_QUESTIONS, read_table
from crepebench.text_layers import TextLayers

logger = logging.getLogger(__name__)

FLOAT32, FLOAT16, RECOMPUTED = "float32", "float16", "recomputed"
STORES = {FLOAT32: 4, FLOAT16: 2, RECOMPUTED: 0}
"""Ways to keep token features, with the bytes of a number."""
INDEX = "index.json"
SHARD = 10_000
BATCH = 256
VERSION = 1


def extract_negation_features(
    pairs_path: str, questions_path: str, layers_path: str, index_path: str, weights_paths: list[str], cfg: str
) -> None:
    """Computes the features of all captions of pairs and questions with a frozen model.

    Args:
        pairs_path: table NEGATION_PAIRS.
        questions_path: table NEGATION_QUESTIONS.
        layers_path: JSON of the chosen layers, `peak` and `anchor`.
        index_path: INDEX to write, in the folder of the shards.
        weights_paths: files of the model's weights.
        cfg: JSON of `model` (its config entry), `tokens` (one of STORES) and `attends` (valid, all).

    Raises:
        ValueError: the model has no layers that are read, or a setting is unknown.
        OSError: the disk has too little space; says how much is needed.
    """
    config = json.loads(cfg)
    layers = json.loads(Path(layers_path).read_text(encoding="utf-8"))
    texts = caption_texts(pairs_path, questions_path)
    model = load_model(config["model"], weights_paths)
    extract_captions(
        model, texts, layers["peak"], layers["anchor"], index_path, config["tokens"], config["attends"] == "all"
    )


def caption_texts(pairs_path: str, questions_path: str) -> list[str]:
    """Returns the distinct captions of pairs and questions, sorted."""
    pairs = read_table(pairs_path, NEGATION_PAIRS, ["caption", "negated"])
    questions = read_table(questions_path, NEGATION_QUESTIONS, ["captions"])
    columns = pairs["caption"], pairs["negated"], questions["captions"].combine_chunks().flatten()
    return sorted({text for column in columns for text in column.to_pylist()})


def extract_captions(
    model, texts: Sequence[str], peak: int, anchor: int, index_path: str, tokens: str, whole: bool = False
) -> None:
    """Computes the features of captions and writes shards and index.

    Args:
        model: `crepebench.open_clip_models.OpenClipModel`.
        texts: distinct captions.
        peak: peak layer.
        anchor: anchor layer.
        index_path: INDEX to write.
        tokens: one of STORES.
        whole: keeps all positions, those behind the end token as well.

    Raises:
        ValueError: there are no captions, the model is of another kind, or `tokens` is unknown.
        OSError: the disk has too little space.
    """
    if tokens not in STORES:
        raise ValueError(f"unknown way {tokens!r} to keep token features: use one of {', '.join(STORES)}")
    if not hasattr(model, "model"):
        raise ValueError(f"the layers of a {type(model).__name__} are not read: PeakPatch needs a model of open_clip")
    if not texts:
        raise ValueError("there are no captions of pairs or questions to compute features of")
    layers, folder = TextLayers(model.model), Path(index_path).parent
    folder.mkdir(parents=True, exist_ok=True)
    n_tokens = 0
    for start in range(0, len(texts), SHARD):
        ids = model.tokenise(texts[start : start + SHARD]).ids
        n_tokens += ids.numel() if whole else int(layers.ends(ids).sum()) + len(ids)
    n_bytes = disk_bytes(len(texts), n_tokens, layers.width, layers.dim, ids.shape[1], tokens)
    logger.info("%d captions with %d tokens take %.3f GB on the disk", len(texts), n_tokens, n_bytes / 1e9)
    if n_bytes > shutil.disk_usage(folder).free:
        raise OSError(ENOSPC, f"the features of {len(texts)} captions need {n_bytes:,} bytes", str(folder))
    shape = {"version": VERSION, "identity": model.identity, "peak": peak, "anchor": anchor, "tokens": tokens}
    shape |= {"attends": "all" if whole else "valid", "n_layers": layers.n_layers}
    shape |= {"width": layers.width, "dim": layers.dim, "logit_scale": logit_scale(model.model)}
    shards = []
    for start in range(0, len(texts), SHARD):
        part = texts[start : start + SHARD]
        key = hashlib.sha256("\n".join([json.dumps(shape, sort_keys=True), *map(text_id, part)]).encode()).hexdigest()
        shards.append(f"{key[:32]}.safetensors")
        if not (folder / shards[-1]).exists():
            _write_shard(folder / shards[-1], model, layers, part, shape)
            logger.info("%d of %d captions", start + len(part), len(texts))
    with atomic_path(index_path) as partial:
        document = {**shape, "n_captions": len(texts), "n_tokens": n_tokens, "bytes": n_bytes, "shards": shards}
        Path(partial).write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    for path in folder.glob("*.safetensors"):
        if path.name not in shards:
            path.unlink()


def logit_scale(model) -> float | None:
    """Returns what a model multiplies its cosines by, of any size to a thousandth; None if it has no such number."""
    scale = getattr(model, "logit_scale", None)
    return None if scale is None else round(float(scale.detach().exp()), 3)


def disk_bytes(n_captions: int, n_tokens: int, width: int, dim: int, context: int, tokens: str) -> int:
    """Returns how many bytes the features of captions take, but for a few hundred of each shard.

    Args:
        n_captions: number of captions.
        n_tokens: positions that are kept, of all captions together.
        width: of the text tower.
        dim: of the joint space.
        context: tokens of a row of ids.
        tokens: one of STORES.
    """
    each = 16 + 8 + 8 + 4 * (width + dim) + (4 * context if tokens == RECOMPUTED else 0)
    return n_captions * each + n_tokens * width * STORES[tokens]


def _write_shard(path: Path, model, layers: TextLayers, texts: Sequence[str], shape: dict) -> None:
    """Writes the features of some captions."""
    import torch
    from safetensors.torch import save_file

    ids, whole = model.tokenise(texts).ids, shape["attends"] == "all"
    ends = layers.ends(ids)
    lengths = torch.full_like(ends, ids.shape[1]) if whole else ends + 1
    kept = getattr(torch, shape["tokens"]) if shape["tokens"] != RECOMPUTED else None
    parts: dict[str, list] = {"peak": [], "anchor": [], "tokens": []}
    for start in range(0, len(texts), BATCH):
        read = layers.read(ids[start : start + BATCH], shape["peak"], shape["anchor"], whole)
        parts["peak"].append(read.peak.cpu())
        parts["anchor"].append(read.anchor.cpu())
        if kept:
            rows = zip(read.tokens.cpu(), lengths[start : start + BATCH].tolist(), strict=True)
            parts["tokens"] += [row[:length].to(kept) for row, length in rows]
    tensors = {name: torch.cat(part) for name, part in parts.items() if part}
    names = np.frombuffer(bytes.fromhex("".join(map(text_id, texts))), np.uint8).reshape(len(texts), 16)
    tensors |= {"texts": torch.from_numpy(names.copy()), "ends": ends, "stops": lengths.cumsum(0)}
    if kept is None:
        tensors["ids"] = ids.int()
    with atomic_path(str(path)) as partial:
        save_file({name: tensor.contiguous() for name, tensor in tensors.items()}, partial)


class StoredTokens:
    """Token features in shards, read from the disk as they are asked for.

    Args:
        shards: tensors of each shard.
        places: (n, 2) shard and row of each caption.
    """

    def __init__(self, shards: Sequence[dict], places: np.ndarray):
        self._shards, self._places = shards, places

    def __getitem__(self, row: int):
        shard, at = self._places[row].tolist()
        tensors = self._shards[shard]
        return tensors["tokens"][int(tensors["stops"][at - 1]) if at else 0 : int(tensors["stops"][at])]


class RecomputedCaptions(Captions):
    """Features of captions whose tokens are computed again for each batch.

    Args:
        final: as in Captions.
        peak: likewise.
        anchor: likewise.
        ids: (n, context) tokens.
        layers: of the frozen model.
        index: what INDEX says.
    """

    def __init__(self, final, peak, anchor, ids: np.ndarray, layers: TextLayers, index: dict):
        super().__init__(final, peak, anchor, ())
        self._ids, self._layers, self._index = ids, layers, index

    def batch(self, rows, device: str = "cpu") -> CaptionBatch:
        """Returns the features of some captions as float32 tensors, tokens padded to the longest of them."""
        import torch

        chosen = np.asarray(rows, np.int64)
        ids = torch.from_numpy(self._ids[chosen].astype(np.int64))
        read = self._layers.read(ids, self._index["peak"], self._index["anchor"], self._index["attends"] == "all")
        parts = [torch.as_tensor(part[chosen]).to(device, torch.float32) for part in self.arrays()]
        return CaptionBatch(*parts, read.tokens.to(device), read.valid.to(device))


def read_captions(index_path: str, texts: Iterable[str], final: np.ndarray, model=None) -> Captions:
    """Reads the features of captions.

    Args:
        index_path: INDEX of a folder.
        texts: captions, in the order of the rows to come.
        final: (n, dim) float32, their ordinary features.
        model: the frozen model; only needed where token features were not kept.

    Raises:
        KeyError: a caption is not in the index, which is that of other data then.
    """
    from safetensors.torch import load_file

    index = json.loads(Path(index_path).read_text(encoding="utf-8"))
    shards = [load_file(str(Path(index_path).parent / name)) for name in index["shards"]]
    found = {
        bytes(name): (number, row) for number, shard in enumerate(shards) for row, name in enumerate(_names(shard))
    }
    places = np.array([found[bytes.fromhex(text_id(text))] for text in texts], np.int64).reshape(-1, 2)

    def rows(name: str) -> np.ndarray:
        array = np.zeros((len(places), shards[0][name].shape[-1]), shards[0][name].numpy().dtype)
        for number, shard in enumerate(shards):
            here = places[:, 0] == number
            array[here] = shard[name].numpy()[places[here, 1]]
        return array

    if index["tokens"] == RECOMPUTED:
        return RecomputedCaptions(final, rows("peak"), rows("anchor"), rows("ids"), TextLayers(model.model), index)
    ends = np.array([int(shards[number]["ends"][row]) for number, row in places.tolist()], np.int64)
    return Captions(final, rows("peak"), rows("anchor"), StoredTokens(shards, places), ends)


def _names(shard: dict) -> np.ndarray:
    return shard["texts"].numpy()
