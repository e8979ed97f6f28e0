"""Tables, features and a model on disk for the tests of CLIC's training from files to files."""

import json
import zlib

from crepebench.clic_vision import extract_clic_vision
from crepebench.schema import CLIC_CANDIDATES, CLIC_ROWS, IMAGES, write_table

from .clic_files import QUICK, load_base, write_images

N = 30
MODEL = {"family": "open_clip"}
DAMAGED = 100 + 7


def write_inputs(folder):
    """Writes tables of 30 images, one of them damaged, six held out; a model; and features of single images."""
    images, sentences = write_images(folder / "images", N)
    rows = []
    for i, (image, texts) in enumerate(zip(images, sentences, strict=True)):
        words, start = [], 0
        for text, pos in zip(texts[0].split(), ("DET", "ADJ", "NOUN"), strict=True):
            words.append({"text": text, "pos": pos, "fine": pos, "start": start, "end": start + len(text)})
            start += len(text) + 1
        split = "validation" if i % 5 == 4 else "train"
        rows.append({"row_id": i, "image_id": image["image_id"], "split": split, "sentences": texts, "words": words})
    (folder / "images" / "7.png").write_bytes(b"no image")
    images[7]["crc32"] = zlib.crc32(b"no image")
    write_table(str(folder / "rows.parquet"), CLIC_ROWS, rows)
    write_table(str(folder / "images.parquet"), IMAGES, images)
    pairs = [("jar", "NOUN", ["umbrella", "dog"]), ("red", "ADJ", ["blue"])]
    candidates = [{"word": word, "fine": fine, "candidates": found} for word, fine, found in pairs]
    write_table(str(folder / "candidates.parquet"), CLIC_CANDIDATES, candidates)
    load_base(folder / "base")
    extract_clic_vision(
        images_path=str(folder / "images.parquet"),
        index_path=str(folder / "vision" / "index.json"),
        features_path=str(folder / "vision" / "features.npy"),
        accounting_path=str(folder / "vision" / "accounting.csv"),
        weights_paths=weights(folder),
        n_loaders=2,
        cfg=json.dumps({"model": MODEL}),
    )
    return folder


def weights(inputs):
    """Returns the files of the model."""
    return [str(path) for path in sorted((inputs / "base").iterdir())]


def arguments(inputs, folder, variant="clic", seed=1, vision=True, **training):
    """Returns the arguments of a training that writes into a folder."""
    names = {"weights": "clic.safetensors", "config": "clic.json", "curve": "curve.csv", "accounting": "accounting.csv"}
    return {
        "rows_path": str(inputs / "rows.parquet"),
        "images_path": str(inputs / "images.parquet"),
        "candidates_path": str(inputs / "candidates.parquet") if variant == "candidates" else None,
        "vision_path": str(inputs / "vision" / "index.json") if vision else None,
        **{f"{name}_path": str(folder / file) for name, file in names.items()},
        "checkpoints_folder": str(folder / "checkpoints"),
        "weights_paths": weights(inputs),
        "seed": seed,
        "cfg": json.dumps({"model": MODEL, "variant": variant, "training": {**QUICK, **training}}),
    }
