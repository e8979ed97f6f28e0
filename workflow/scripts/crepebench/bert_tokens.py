"""BERT's word pieces for models whose text encoder is a BERT: FLAVA and ALBEF."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from crepebench.models import Tokens

VOCABULARY = "bert-base-uncased"
"""Name on the hub of the vocabulary that both models were trained with."""
FILES = ("vocab.txt", "tokenizer.json")


class BertTokens:
    """Turns texts into word pieces between the marks of beginning and, if the model has one, end.

    Args:
        source: folder with `vocab.txt` or `tokenizer.json`, or name on the hub.
        limit: most tokens that the model reads, with the marks.
        has_end: whether texts end in the mark [SEP].
    """

    def __init__(self, source: str, limit: int, has_end: bool):
        from transformers import BertTokenizer

        self._tokenizer = BertTokenizer.from_pretrained(source)
        self._limit, self._has_end = limit, has_end

    def __call__(self, texts: Sequence[str]) -> Tokens:
        """Returns the tokens, padded to the longest text, with their mask; texts over the limit keep the end mark."""
        import torch

        tokenizer = self._tokenizer
        encoded = tokenizer(list(texts), add_special_tokens=False)["input_ids"] if len(texts) else []
        ends = [tokenizer.sep_token_id] if self._has_end else []
        most = self._limit - 1 - len(ends)
        rows = [[tokenizer.cls_token_id, *row[:most], *ends] for row in encoded]
        length = max(map(len, rows), default=1)
        ids = torch.full((len(rows), length), tokenizer.pad_token_id, dtype=torch.int64)
        mask = torch.zeros((len(rows), length), dtype=torch.int64)
        for i, row in enumerate(rows):
            ids[i, : len(row)] = torch.tensor(row)
            mask[i, : len(row)] = 1
        counts = np.array([len(row) + 1 + len(ends) for row in encoded], np.int64)
        return Tokens(ids, mask, counts, self._limit)


def trim_padding(ids, mask) -> tuple:
    """Cuts the columns that are padding in every text; a text's feature does not depend on what is masked.

    Args:
        ids: (n, length) int64.
        mask: (n, length) int64, 1 for tokens of the text, which come first.
    """
    length = max(int(mask.sum(dim=1).max()), 1)
    return ids[:, :length], mask[:, :length]


def vocabulary_source(paths: Sequence[str], given: str | None) -> str:
    """Returns where the word pieces come from: what the config entry says, else the folder of the files, else the hub.

    Args:
        paths: files of the weights.
        given: key `tokenizer` of the config entry.
    """
    own = next((str(Path(path).parent) for path in paths if Path(path).name in FILES), None)
    return given or own or VOCABULARY
