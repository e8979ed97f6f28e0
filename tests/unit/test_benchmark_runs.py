"""Every reader, from the files of its samples or of its published form to the table, on generated pictures."""

import json
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from crepebench.benchmark_building import read_items
from crepebench.benchmark_images import base_name
from crepebench.benchmark_manifests import read_manifest
from crepebench.pooled_features import BOX_KEYS, frame_images, picture_id
from crepebench.schema import IMAGES, read_table
from crepebench.video_frames import is_clip
from crepebench.zero_shot_sets import lay_pictures

from .benchmark_files import ATTRIBUTION, FILES, write_file
from .benchmark_run import MANIFESTS, build, measure
from .fake_encoder import FakeEncoder

SAMPLES = {
    **{name: f"{name}/*.json" for name in ("sugarcrepe", "sugarcrepe_pp", "cola", "valse", "negrefcocog")},
    **{"negbench_mcq": "negbench/*_mcq*.csv", "negbench_retrieval": "negbench/*_retrieval*.csv"},
}
"""Where samples of a reader lie in the shared data."""
CAPTIONED = [("1.jpg", ["a red cup", "a cup."]), ("2.jpg", ["a hat, blue", "one hat"]), ("3.jpg", ["a shelf"])]
MADE = ("coco_retrieval", "flickr30k_retrieval", "long_retrieval", "zero_shot")
POOLS = (*MADE, "samples of negbench_retrieval")
"""Cases whose chance depends on the number of pictures, which is that of the whole files in the manifests."""
SIDE = 660
"""Pixels of pictures of which parts are cut; no box of a sample reaches further."""


def made_files(reader: str, folder: Path) -> list[str]:
    """Files of readers that are neither in FILES nor among the samples."""
    if reader == "long_retrieval":
        rows = [{"image": name, "captions": captions} for name, captions in CAPTIONED]
        return [write_file(folder, "long.jsonl", rows)]
    if reader == "zero_shot":
        from .test_zero_shot_sets import write_food

        write_food(folder)
        cfg = {"set": "food101", "class_names": ["pie", "waffle"], "n_images": None, "seed": 0}
        lay_pictures(str(folder), str(folder / "laid"), str(folder / "food101.json"), json.dumps(cfg))
        return [str(folder / "food101.json")]
    images = [
        {"filename": name, "filepath": "val2014", "split": "test", "sentences": [{"raw": text} for text in captions]}
        for name, captions in CAPTIONED
    ]
    return [write_file(folder, "dataset.json", {"images": images})]


def files_of(case: str, folder: Path, request) -> tuple[str, list[str]]:
    """The reader of a case, and files for it."""
    reader = case.removeprefix("samples of ")
    if reader != case:
        paths = (request.getfixturevalue("shared_data") / "benchmarks").glob(SAMPLES[reader])
        return reader, sorted(map(str, paths))
    if reader in MADE:
        return reader, made_files(reader, folder)
    paths = [write_file(folder, *FILES[reader])]
    if reader == "aro":
        paths.append(write_file(folder, "visual_genome_attribution.json", [ATTRIBUTION] * 2))
    return reader, paths


def write_pictures(folder: Path, items) -> dict[str, list[str]]:
    """Writes a picture or clip for each that items name, no two alike, and returns the roots."""
    refs = {(ref.root, base_name(ref.name)): ref.box for item in items for ref in item.images}
    across, down = np.meshgrid(np.arange(SIDE) % 256, np.arange(SIDE) // 3)
    for number, ((root, name), box) in enumerate(sorted(refs.items())):
        path = folder / root / "deep" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if is_clip(name):
            pytest.importorskip("av")
            from .test_video_frames import write_clip

            write_clip(path, [(number % 16 * 16, number // 16 * 16, 90)] * 4, codec="mpeg4", pix_fmt="yuv420p")
        elif box is None:
            Image.new("RGB", (8, 8), (number % 256, number // 256, 7)).save(path, "PNG")
        else:
            pixels = np.stack([across, down, np.full_like(down, number % 256)], -1).astype(np.uint8)
            Image.fromarray(pixels).save(path, "PNG")
    return {root: [str(folder / root)] for root, _ in refs}


class Constant(FakeEncoder):
    """Gives all pictures and texts one feature."""

    identity = "constant"

    def encode_tokens(self, tokens):
        return np.ones((len(tokens.ids), 4), np.float32) / 2

    def encode_images(self, images):
        return np.ones((len(images), 4), np.float32) / 2


class Oracle(FakeEncoder):
    """Knows which pictures a text is true of: each picture has a dimension of its own, and all else shares one.

    Args:
        rows: rows of table BENCHMARK_ITEMS.
        images: rows of table IMAGES by image_id.
        sign: 1.0; -1.0 turns every right answer into the worst.
    """

    def __init__(self, rows, images, sign):
        super().__init__()
        self.identity = f"oracle {sign}"
        pictures = sorted({picture_id(image) for row in rows for image in row["images"]})
        number = {one: i for i, one in enumerate(pictures)}
        self._n, self._sign = len(pictures) + sum(row["task"] == "text_only" for row in rows) + 1, sign
        self._of_pixels, self._of_text, extra = {}, {}, len(pictures)
        for row in rows:
            for image in row["images"]:
                for frame in frame_images(image):
                    file = images[frame["image_id"]]
                    x, y, width, height = (image[key] for key in BOX_KEYS)
                    with Image.open(Path(file["archive"], file["path"])) as picture:
                        crop = picture.convert("RGB").crop((x, y, x + width, y + height))
                    self._of_pixels[zlib.crc32(crop.tobytes())] = number[picture_id(image)]
            if row["task"] == "text_only":
                true = [(text, extra) for text in row["captions"][:2]]
                extra += 1
            else:
                owners = [number[picture_id(image)] for image in row["images"]]
                n_true = {"two_captions": 2, "retrieve_caption": len(row["captions"]), "class": 0}.get(row["task"], 1)
                is_pair = row["task"].startswith("pairs")
                true = list(zip(row["captions"], owners if is_pair else owners[:1] * n_true, strict=False))
            for text, owner in true:
                self._of_text.setdefault(text, set()).add(owner)

    def preprocess(self, picture):
        import torch

        return torch.tensor(
            [float(zlib.crc32(picture.tobytes()) % 2**20), float(zlib.crc32(picture.tobytes()) // 2**20)]
        )

    def encode_images(self, images):
        found = np.zeros((len(images), self._n), np.float32)
        for row, (low, high) in zip(found, images.tolist(), strict=True):
            row[self._of_pixels[int(low) + int(high) * 2**20]] = 1.0
        return found

    def tokenise(self, texts):
        self._known = {**getattr(self, "_known", {}), **{zlib.crc32(text.encode()): text for text in texts}}
        tokens = super().tokenise(texts)
        import torch

        ids = torch.tensor([[zlib.crc32(text.encode())] for text in texts], dtype=torch.int64)
        return tokens._replace(ids=ids, limit=10**6)

    def encode_tokens(self, tokens):
        found = np.zeros((len(tokens.ids), self._n), np.float32)
        for row, (code,) in zip(found, tokens.ids.tolist(), strict=True):
            owners = sorted(self._of_text.get(self._known[code], ()))
            row[owners] = self._sign
            row[-1] = not owners
        return found / np.linalg.norm(found, axis=1, keepdims=True)


def is_unsolvable(row):
    """Says whether an item's false caption is written as one of its true ones, as some of SugarCrepe++ are."""
    return row["captions"][2] in row["captions"][:2]


@pytest.mark.parametrize("case", [*FILES, *MADE, *(f"samples of {name}" for name in SAMPLES)])
def test_a_constant_is_at_chance_an_oracle_at_100_and_its_contrary_at_0(case, request, tmp_path, monkeypatch):
    reader, files = files_of(case, tmp_path, request)
    if reader == "zero_shot":
        roots = {"zero_shot_food101": [str(tmp_path / "laid")]}
        for number, path in enumerate(sorted((tmp_path / "laid").iterdir())):
            target = path.resolve()
            Image.new("RGB", (8, 8), (number, 0, 0)).save(target, "PNG")
    else:
        roots = write_pictures(tmp_path / "pictures", read_items(reader, files, {}, "bench"))
    manifest = read_manifest(str(MANIFESTS / f"{reader}.yaml"))
    assert roots.keys() <= manifest["images"].keys()
    rows = build(tmp_path, reader, files, roots)
    assert not any(row["reason"] for row in rows)
    images = {row["image_id"]: row for row in read_table(str(tmp_path / "images"), IMAGES).to_pylist()}
    encoders = {"constant": Constant(), "right": Oracle(rows, images, 1.0), "wrong": Oracle(rows, images, -1.0)}
    tables = {name: measure(tmp_path, reader, one, monkeypatch, with_audit=False) for name, one in encoders.items()}
    assert tables["constant"]
    with_image = [row for row in rows if row["task"] == "two_captions"]
    unsolvable = [row["subset"] for row in with_image if is_unsolvable(row)]
    assert not unsolvable or (case, unsolvable) == ("samples of sugarcrepe_pp", ["swap_obj", "swap_obj"])
    lost = 100 * len(unsolvable) / sum(row["subset"] == "swap_obj" for row in with_image) if unsolvable else 0
    for key, row in tables["constant"].items():
        if key[1].startswith("chosen_"):
            found = [float(tables[name][key]["value"]) for name in ("constant", "right")]
            assert found == [pytest.approx(float(row["chance"]), abs=0.011), 0], key
            continue
        if key[0] == "all" and key[1] in manifest["chance"] and case not in POOLS:
            assert float(row["chance"]) == pytest.approx(manifest["chance"][key[1]], abs=0.011)
        chance, is_of_texts = float(row["chance"]), key[1].startswith("tot")
        if key[1].endswith("_ties_split"):
            assert float(row["value"]) == pytest.approx(chance, abs=0.011), key
        else:
            assert float(row["value"]) == (100 if chance == 100 else 0), key
        assert float(tables["right"][key]["value"]) >= 100 - lost, key
        if chance < 100 and not is_of_texts:  # texts alone are alike whatever the sign
            assert float(tables["wrong"][key]["value"]) <= lost, key
