"""The two networks of PeakPatch: one corrects text features, one scores pairs of an image and a text.

Source: paper "PeakPatch, arXiv 2607.23271", sections 3.2 (ECN, here Correction) and 3.3 (SCN, here Scorer). At d = 512
they have 4,728,833 and 493,825 parameters; the paper says 4.7M and 494K. The paper takes the text tower's width and
the joint dimension to be one; here the first may differ (ResNets).

This module holds torch modules and is imported where they are needed, inside functions.
"""

from collections.abc import Sequence
from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional

HIDDEN = 1024
CONTEXT, CONTEXT_HIDDEN, HEAD_HIDDEN = 128, 256, 128
HEADS = 8
DROPOUT = 0.1
LARGEST_OFFSET = 0.20
FIRST_ALPHA = 0.5
SPREAD, LAST_SPREAD = 0.02, 0.001
FULL, NO_ANCHOR, NO_POOL, END_ONLY = "full", "no_anchor", "no_pool", "end_only"
INPUTS = {
    FULL: ("end", "attended", "anchor", "pooled"),
    NO_ANCHOR: ("end", "attended", "pooled"),
    NO_POOL: ("end", "attended", "anchor"),
    END_ONLY: ("end", "anchor"),
}
"""What the correction is computed from, by form."""
VALID, ALL = "valid", "all"
"""Positions that the query may attend to: those up to the end token (release), or all, padding included (paper)."""


class Correction(nn.Module):
    """Corrects text features by what the peak layer says: the Embedding Correction Network.

    # ASSUME: attention weights start as torch's own do; the paper gives a start for linear layers only.

    Args:
        width: of the text tower.
        dim: of the joint space.
        form: one of INPUTS.
        attends: VALID or ALL.
        hidden: size of its two hidden layers.

    Raises:
        ValueError: form or `attends` are unknown, or the width is no multiple of HEADS.
    """

    def __init__(self, width: int, dim: int, form: str = FULL, attends: str = VALID, hidden: int = HIDDEN):
        super().__init__()
        if form not in INPUTS or attends not in (VALID, ALL):
            raise ValueError(f"unknown form {form!r} or positions {attends!r}: use {', '.join(INPUTS)}; {VALID}, {ALL}")
        if width % HEADS:
            raise ValueError(f"a text tower of width {width} cannot be attended to by {HEADS} heads")
        self.inputs, self.attends = INPUTS[form], attends
        if "attended" in self.inputs:
            self.query = nn.Parameter(SPREAD * torch.randn(1, 1, width))
            self.attention = nn.MultiheadAttention(width, HEADS, dropout=DROPOUT, batch_first=True)
            self.norm = nn.LayerNorm(width)
        sizes = (len(self.inputs) * width, hidden, hidden)
        layers = [
            layer
            for before, after in pairwise(sizes)
            for layer in (nn.Linear(before, after), nn.LayerNorm(after), nn.GELU(), nn.Dropout(DROPOUT))
        ]
        self.mlp = nn.Sequential(*layers, nn.Linear(hidden, dim))
        self.log_alpha = nn.Parameter(torch.tensor(FIRST_ALPHA).log())
        _start(self.mlp)

    def forward(self, final, tokens, valid, anchor):
        """Returns the corrected features, normalise(f_T + alpha delta): (n, dim), unit rows.

        Args:
            final: (n, dim), f_T, unit rows.
            tokens: (n, length, width), token features of the peak layer.
            valid: (n, length) bool, positions up to the end token.
            anchor: (n, width), feature of the anchor layer at the end token.
        """
        return functional.normalize(final + self.log_alpha.exp() * self.delta(tokens, valid, anchor), dim=-1)

    def delta(self, tokens, valid, anchor):
        """Returns the direction of correction: (n, dim).

        Args:
            tokens: (n, length, width), token features of the peak layer.
            valid: (n, length) bool, positions up to the end token, which are the first of each row.
            anchor: (n, width), feature of the anchor layer at the end token.
        """
        parts = {"anchor": anchor, "end": tokens[torch.arange(len(tokens), device=tokens.device), valid.sum(1) - 1]}
        if "attended" in self.inputs:
            parts["attended"] = self.norm(self._attended(tokens, valid))
        if "pooled" in self.inputs:
            weights = valid.to(tokens.dtype)[..., None]
            parts["pooled"] = (tokens * weights).sum(1) / weights.sum(1)
        return self.mlp(torch.cat([parts[name] for name in self.inputs], dim=-1))

    def attention_weights(self, tokens, valid):
        """Returns how much each head attends to each position: (n, HEADS, length), 1 in all for each head."""
        width = self.query.shape[-1]
        query = functional.linear(
            self.query[0, 0], self.attention.in_proj_weight[:width], self.attention.in_proj_bias[:width]
        )
        keys = self.attention.in_proj_weight[width : 2 * width].view(HEADS, -1, width)
        asked = torch.einsum("hd,hdw->hw", query.view(HEADS, -1), keys) / (width // HEADS) ** 0.5
        scores = (tokens @ asked.T).transpose(1, 2)
        if self.attends != ALL:
            scores = scores.masked_fill(~valid[:, None], -torch.inf)
        return scores.softmax(dim=-1)

    def _attended(self, tokens, valid):
        """Returns what the query gathers from the tokens, as `attention` itself would: (n, width).

        There is one query, so it is brought to the tokens, and the tokens are averaged before they become values; a
        key and a value of each token would take most of the time of a training.
        """
        width = self.query.shape[-1]
        weights = functional.dropout(self.attention_weights(tokens, valid), self.attention.dropout, self.training)
        pooled = weights @ tokens
        values = self.attention.in_proj_weight[2 * width :].view(HEADS, -1, width)
        biases = self.attention.in_proj_bias[2 * width :].view(HEADS, -1)
        found = torch.einsum("nhw,hdw->nhd", pooled, values) + weights.sum(-1, keepdim=True) * biases
        return self.attention.out_proj(found.flatten(1))


class Scorer(nn.Module):
    """Adds a small offset to the cosine of an image and a text: the Score Correction Network.

    Args:
        dim: of the joint space.
        n_layers: text features that it reads of each text: those of layers before the last, and the corrected one.
        largest: largest offset either way.
    """

    def __init__(self, dim: int, n_layers: int = 2, largest: float = LARGEST_OFFSET):
        super().__init__()
        self.largest = largest
        self.text = _context(n_layers * dim)
        self.pair = _context(dim)
        self.head = nn.Sequential(
            nn.Linear(n_layers + 2 * CONTEXT, HEAD_HIDDEN), nn.GELU(), nn.Dropout(DROPOUT), nn.Linear(HEAD_HIDDEN, 1)
        )
        for part in (self.text, self.pair):
            _start(part, SPREAD)
        _start(self.head)

    def forward(self, images, layers: Sequence, corrected, text_branch: bool = True):
        """Returns the offsets of pairs, (...), each at most `largest` either way.

        Args:
            images: (..., dim), unit rows; leading dimensions are broadcast.
            layers: for each layer before the last that is read, (..., dim), unit rows.
            corrected: (..., dim), unit rows.
            text_branch: False leaves out what the text alone says (a control).
        """
        features = [*layers, corrected]
        text = self.text(torch.cat(features, dim=-1))
        pair = self.pair(images * corrected)
        cosines = torch.stack([(feature * images).sum(-1) for feature in features], dim=-1)
        context = text if text_branch else torch.zeros_like(text)
        return self.largest * torch.tanh(self.head(torch.cat([cosines, context.expand_as(pair), pair], -1)).squeeze(-1))

    def score(self, images, layers: Sequence, corrected, text_branch: bool = True) -> tuple:
        """Returns scores and offsets of pairs: cosine of image and corrected text, and the offset added to it."""
        offsets = self(images, layers, corrected, text_branch)
        return (images * corrected).sum(-1) + offsets, offsets


def _context(size: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(size, CONTEXT_HIDDEN), nn.LayerNorm(CONTEXT_HIDDEN), nn.GELU(), nn.Linear(CONTEXT_HIDDEN, CONTEXT)
    )


def _start(layers: nn.Sequential, last_spread: float = LAST_SPREAD) -> None:
    """Gives linear layers normal weights and no biases, the last one nearly no weights."""
    linear = [layer for layer in layers if isinstance(layer, nn.Linear)]
    for layer in linear:
        nn.init.normal_(layer.weight, std=last_spread if layer is linear[-1] else SPREAD)
        nn.init.zeros_(layer.bias)
