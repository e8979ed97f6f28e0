"""What features and ranks are compared with: the usual way, written plainly."""

import io

import numpy as np
from feature_inputs import Inputs
from PIL import Image

BATCH = 64


def encode_texts_at_full_length(model, texts: list[str], batch_size: int = BATCH) -> np.ndarray:
    """Encodes texts as open_clip does: in their order, each padded to the whole context; (n, dim) unit rows."""
    import torch

    parts = []
    with torch.inference_mode():
        for start in range(0, len(texts), batch_size):
            tokens = model._tokeniser(texts[start : start + batch_size]).to(model._device)
            features = model.model.encode_text(tokens).float()
            parts.append(torch.nn.functional.normalize(features, dim=-1).cpu().numpy())
    return np.concatenate(parts)


def decode_per_crop(preprocess, jpegs: list[bytes], boxes: list[list[tuple[int, int, int, int]]]) -> list:
    """Returns the tensor of each crop, each from a picture decoded for it."""
    tensors = []
    for data, boxes_of_image in zip(jpegs, boxes, strict=True):
        for x, y, width, height in boxes_of_image:
            picture = Image.open(io.BytesIO(data)).convert("RGB")
            tensors.append(preprocess(picture.crop((x, y, x + width, y + height))))
    return tensors


def encode_crops_in_batches(model, inputs: Inputs, batch_size: int = BATCH) -> np.ndarray:
    """Encodes crops as a plain loop does: decode and preprocess a batch, then encode it; (n, dim) unit rows."""
    import torch

    parts = []
    with torch.inference_mode():
        for start in range(0, len(inputs.crops), batch_size):
            some = inputs.crops[start : start + batch_size]
            tensors = [decode_per_crop(model.preprocess, [inputs.jpegs[i]], [[box]])[0] for i, box in some]
            features = model.model.encode_image(torch.stack(tensors).to(model._device)).float()
            parts.append(torch.nn.functional.normalize(features, dim=-1).cpu().numpy())
    return np.concatenate(parts)


def evaluate_one_by_one(model, inputs: Inputs) -> tuple[np.ndarray, np.ndarray]:
    """Ranks sets in the way of the released code: one image a step, its own texts at full length, then a sort.

    Returns:
        (n_sets, n_texts) float32 scores, and (n_sets,) ranks of the truth from 1.
    """
    import torch

    scores, ranks = [], []
    with torch.inference_mode():
        for (image_id, box), texts in zip(inputs.crops, inputs.texts, strict=True):
            (tensor,) = decode_per_crop(model.preprocess, [inputs.jpegs[image_id]], [[box]])
            image = torch.nn.functional.normalize(model.model.encode_image(tensor[None].to(model._device)), dim=-1)
            tokens = model._tokeniser(texts).to(model._device)
            found = torch.nn.functional.normalize(model.model.encode_text(tokens), dim=-1)
            similarity = (image @ found.T)[0].float()
            ranks.append(rank_by_sorting(similarity))
            scores.append(similarity.cpu().numpy())
    return np.stack(scores), np.array(ranks, np.float64)


def rank_by_sorting(scores) -> int:
    """Returns the rank, from 1, of the first of some candidates, given the tensor of their scores."""
    import torch

    order = torch.argsort(scores, descending=True)
    return int(torch.where(order == 0)[0][0]) + 1
