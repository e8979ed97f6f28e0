"""Train a mini CLIP on one corpus of the icons world, with open_clip's own model class.

The checkpoint is a folder that open_clip loads by itself (`local-dir:`): weights, model config, preprocessing.
One torch thread whatever the number of cores, since weights differ in their last digits between one and two.
"""

import json
import logging
import time
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
from PIL import Image

from crepebench.corpora import list_files, read_batches
from crepebench.files import atomic_path
from crepebench.models import encode_trimmed_texts, trim_tokens

logger = logging.getLogger(__name__)

MODEL_CONFIG = {
    "embed_dim": 64,
    "vision_cfg": {"image_size": 48, "layers": [1, 1, 1, 1], "width": 16, "patch_size": None},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2},
}
"""Of open_clip, but for the number of text layers."""
PREPROCESSING = {
    "mean": [0.5, 0.5, 0.5],
    "std": [0.25, 0.25, 0.25],
    "interpolation": "bicubic",
    "resize_mode": "squash",  # a centre crop would cut off an object of a wide or tall pair
}
BATCH_SIZE = 64
LEARNING_RATE = 2.0e-3
WEIGHT_DECAY = 0.05
WARM_UP_SHARE = 0.1


def train_mini_clip(
    captions_path: str, images_path: str, config_path: str, weights_path: str, n_layers: int, seed: int, cfg: str
) -> None:
    """Trains a mini CLIP on a corpus and writes it as an open_clip folder.

    Args:
        captions_path: folder of the corpus's caption files.
        images_path: zip with the images, named as the last part of each row's url.
        config_path: open_clip_config.json to write.
        weights_path: open_clip_model.safetensors to write, in the same folder.
        n_layers: number of layers of the text tower.
        seed: seed of the weights and of the order of the rows.
        cfg: JSON of `epochs` and the corpus's `format`, one of `crepebench.corpora.PUBLISHED`.
    """
    import open_clip
    import torch
    from safetensors.torch import save_file

    config = json.loads(cfg)
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    torch.manual_seed(seed)
    rows = read_training_rows(captions_path, config["format"])
    preprocess_config = open_clip.transform.PreprocessCfg(
        size=MODEL_CONFIG["vision_cfg"]["image_size"], **PREPROCESSING
    )
    preprocess = open_clip.transform.image_transform_v2(preprocess_config, is_train=False)
    images = read_images(images_path, [member for member, _ in rows], preprocess)
    tokens = open_clip.get_tokenizer("ViT-B-32")([text for _, text in rows])
    model_cfg = {**MODEL_CONFIG, "text_cfg": {**MODEL_CONFIG["text_cfg"], "layers": n_layers}}
    model = open_clip.CLIP(**model_cfg)
    train(model, images, tokens, config["epochs"], seed)
    model_config = {"model_cfg": model_cfg, "preprocess_cfg": PREPROCESSING}
    with atomic_path(config_path) as partial:
        Path(partial).write_text(json.dumps(model_config, indent=2) + "\n", encoding="utf-8")
    with atomic_path(weights_path) as partial:
        save_file({name: tensor.contiguous() for name, tensor in model.state_dict().items()}, partial)


def read_training_rows(captions_path: str, format_: str) -> list[tuple[str, str]]:
    """Reads (image member, caption) of each usable row."""
    batches = read_batches(list_files([captions_path]), {"format": format_}, with_urls=True)
    return [
        (url.rpartition("/")[2], text)
        for batch in batches
        for url, text in zip(batch.urls.to_pylist(), batch.texts.to_pylist(), strict=True)
    ]


def read_images(images_path: str, members: list[str], preprocess):
    """Reads and preprocesses images.

    Returns:
        (n, 3, size, size) float32 tensor, in the order of `members`.
    """
    import torch

    with zipfile.ZipFile(images_path) as archive:
        pictures = (Image.open(BytesIO(archive.read(member))) for member in members)
        return torch.stack([preprocess(picture) for picture in pictures])


def train(model, images, tokens, epochs: int, seed: int) -> None:
    """Trains `model` in place with the symmetric contrastive loss, AdamW, warm-up and cosine decay.

    Args:
        model: open_clip.CLIP.
        images: (n, 3, size, size) float32.
        tokens: (n, context) int64.
        epochs: passes over the data; the last incomplete batch of each is left out.
        seed: seed of the order of the rows.
    """
    import torch
    from open_clip.loss import ClipLoss

    rng = np.random.default_rng(seed)
    batch_size = min(BATCH_SIZE, len(images))
    n_batches = len(images) // batch_size
    n_steps = epochs * n_batches
    decayed = [p for p in model.parameters() if p.ndim >= 2]
    kept = [p for p in model.parameters() if p.ndim < 2]
    optimiser = torch.optim.AdamW(
        [{"params": decayed, "weight_decay": WEIGHT_DECAY}, {"params": kept, "weight_decay": 0.0}],
        lr=LEARNING_RATE,
        betas=(0.9, 0.98),
        eps=1.0e-6,
        fused=True,
    )
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimiser,
        lambda step: min(1.0, (step + 1) / (WARM_UP_SHARE * n_steps)) * 0.5 * (1 + np.cos(np.pi * step / n_steps)),
    )
    loss_function = ClipLoss()
    model.train()
    model.visual.to(memory_format=torch.channels_last)  # twice as fast on CPU
    images = images.contiguous(memory_format=torch.channels_last)
    start = time.monotonic()
    for epoch in range(epochs):
        total = 0.0
        order = rng.permutation(len(images))
        for i in range(n_batches):
            batch = order[i * batch_size : (i + 1) * batch_size]
            image_features = model.encode_image(images[batch], normalize=True)
            text_features = encode_trimmed_texts(model, trim_tokens(tokens[batch]))
            text_features = torch.nn.functional.normalize(text_features, dim=-1)
            loss = loss_function(image_features, text_features, model.logit_scale.exp())
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
            schedule.step()
            with torch.no_grad():
                model.logit_scale.clamp_(0, np.log(100))
            total += float(loss.detach())
        logger.info(
            "epoch %d of %d: mean loss %.3f, %.0f s", epoch + 1, epochs, total / n_batches, time.monotonic() - start
        )
    model.eval()
