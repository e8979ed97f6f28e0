"""What a model reads of a text: its row of tokens. Texts whose rows are equal are one text to the model."""

import hashlib
from typing import NamedTuple

import numpy as np

from crepebench.models import Tokens, truncated_ids

DIGITS = 16
"""Hexadecimal digits of a digest: two of a hundred million rows are alike by chance once in four thousand runs."""


class TokenRow(NamedTuple):
    """What is known of a text's tokens.

    Attributes:
        tokens_id: digest of the ids that the model reads; equal for texts that it cannot tell apart.
        n_tokens: tokens that the text needs, with the marks of its beginning and end.
        is_cut: whether these are more than the model reads.
    """

    tokens_id: str
    n_tokens: int
    is_cut: bool


def token_rows(tokens: Tokens) -> list[TokenRow]:
    """Describes the rows of tokens; padding does not count, so it does not matter which texts came together.

    # ASSUME: padding stands on the right where a model has no mask, as in every CLIP.
    """
    ids = np.ascontiguousarray(tokens.ids.numpy(), dtype="<i8")
    if tokens.mask is None:
        read = [row[:n] for row, n in zip(ids, lengths_of(tokens).tolist(), strict=True)]
    else:
        read = [row[mask] for row, mask in zip(ids, tokens.mask.numpy() != 0, strict=True)]
    digests = [hashlib.sha256(row.tobytes()).hexdigest()[:DIGITS] for row in read]
    cut = truncated_ids(tokens).tolist()
    return [TokenRow(*fields) for fields in zip(digests, np.asarray(tokens.n_tokens).tolist(), cut, strict=True)]


def lengths_of(tokens: Tokens) -> np.ndarray:
    """Returns how many tokens of each text the model reads, (n,) int64."""
    return np.minimum(np.asarray(tokens.n_tokens), tokens.limit)


def take_rows(tokens: Tokens, rows: np.ndarray | slice) -> Tokens:
    """Returns some rows of tokens, in the order of `rows`."""
    import torch

    chosen = rows if isinstance(rows, slice) else torch.from_numpy(np.asarray(rows))
    mask = None if tokens.mask is None else tokens.mask[chosen]
    return Tokens(tokens.ids[chosen], mask, np.asarray(tokens.n_tokens)[rows], tokens.limit)
