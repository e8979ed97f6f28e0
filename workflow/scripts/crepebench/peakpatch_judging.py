"""Say which questions trained networks, or the frozen model, answer rightly."""

import numpy as np

from crepebench.peakpatch_data import ABSENT, Data, Questions
from crepebench.peakpatch_settings import ECN_PART, SCN_PART

ROWS_AT_ONCE = 1024
"""Captions, or questions, that are computed together."""


def question_hits(data: Data, questions: Questions, networks, device: str) -> np.ndarray:
    """Returns for each question whether its right option scores above all others, (n,) bool.

    Args:
        data: features of captions and images.
        questions: whatever they are.
        networks: as `build_networks` returns them, in evaluation mode; none of either kind is the frozen model.
        device: where the networks are.
    """
    import torch

    used, places = np.unique(np.maximum(questions.options, 0), return_inverse=True)
    corrected, peaks = [], []
    hits = np.zeros(len(questions), bool)
    with torch.no_grad():
        for start in range(0, len(used), ROWS_AT_ONCE):
            batch = data.captions.batch(used[start : start + ROWS_AT_ONCE], device)
            has_ecn = ECN_PART in networks
            rest = batch.tokens, batch.valid, batch.anchor
            corrected.append(networks[ECN_PART](batch.final, *rest) if has_ecn else batch.final)
            peaks.append(batch.peak)
        texts, lower = torch.cat(corrected), torch.cat(peaks)
        places = torch.from_numpy(places.reshape(questions.options.shape)).to(device)
        for start in range(0, len(questions), ROWS_AT_ONCE):
            part = slice(start, start + ROWS_AT_ONCE)
            images = torch.as_tensor(data.images[questions.images[part]]).to(device, torch.float32)[:, None]
            chosen = texts[places[part]]
            scores = (images * chosen).sum(-1)
            if SCN_PART in networks:
                scores = networks[SCN_PART].score(images, [lower[places[part]]], chosen)[0]
            scores = scores.cpu().numpy()
            scores[questions.options[part] == ABSENT] = -np.inf
            hits[part] = scores[:, 0] > scores[:, 1:].max(axis=1)
    return hits
