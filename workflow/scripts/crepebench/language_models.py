"""Score texts with a causal language model: the logarithm of a text's probability, raw and per token."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from crepebench.blind_scorers import Scorer

MOST_TOKENS = 1024
"""Tokens of a batch, padding included; bounds the memory of the model's output."""
DECIMALS = 3
"""Of a log-probability. The size of a batch changes digits beyond these."""
GGUF = ".gguf"


class LanguageModel:
    """A causal language model; texts that were scored once are remembered."""

    def __init__(self, name: str):
        """Loads the model onto the GPU if there is one, else the CPU with one thread.

        Args:
            name: folder of a model, file in GGUF, or name on the Hugging Face hub.
        """
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        path = Path(name)
        source = {"pretrained_model_name_or_path": name}
        if path.suffix == GGUF:
            source = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        self.tokenizer = AutoTokenizer.from_pretrained(**source)
        self.model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval()
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model.to(self._device)
        # ASSUME: a text begins where a document begins. A model without a mark of the beginning is given that of the
        # end, as GPT-2 was trained. The end of the text is not scored.
        marks = (self.tokenizer.bos_token_id, self.tokenizer.eos_token_id)
        self._start = [mark for mark in marks if mark is not None][:1]
        self._known: dict[str, tuple[float, int]] = {}

    def log_likelihoods(self, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Returns the natural logarithm of each text's probability, and its number of scored tokens.

        A model with no mark to begin with cannot score a text's first token. Texts are padded on the right and the
        padding is masked, so the score of a text does not depend on the texts beside it.

        Returns:
            (n_texts,) float64 and (n_texts,) int64.
        """
        unknown = sorted(set(texts) - self._known.keys())
        encoded = self.tokenizer(unknown, add_special_tokens=False)["input_ids"] if unknown else []
        rows = [[*self._start, *tokens] for tokens in encoded]
        for batch in batches(rows):
            for place, value in zip(batch, self._score([rows[i] for i in batch]), strict=True):
                self._known[unknown[place]] = (value, max(len(rows[place]) - 1, 0))
        values, sizes = zip(*(self._known[text] for text in texts), strict=True) if len(texts) else ((), ())
        return np.array(values, np.float64), np.array(sizes, np.int64)

    def _score(self, rows: list[list[int]]) -> list[float]:
        """Returns the log-probability of each row of tokens, given its first."""
        import torch

        length = max(map(len, rows))
        if length < 2:
            return [0.0] * len(rows)
        tokens = torch.tensor([row + [0] * (length - len(row)) for row in rows], device=self._device)
        mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows], device=self._device)
        with torch.inference_mode():
            logits = self.model(input_ids=tokens, attention_mask=mask).logits[:, :-1].float()
            chosen = logits.gather(2, tokens[:, 1:, None])[..., 0]
            found = torch.where(mask[:, 1:] > 0, chosen - logits.logsumexp(2), 0.0)
        return np.round(found.double().sum(1).cpu().numpy(), DECIMALS).tolist()


class LanguageModelScorer(Scorer):
    """The log-probability of a text under a language model, raw or per token."""

    def __init__(self, model: LanguageModel, per_token: bool):
        self.model, self._per_token = model, per_token
        self.name = "language_model_per_token" if per_token else "language_model"

    def score(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the log-probability, or its mean over the tokens."""
        values, sizes = self.model.log_likelihoods(texts)
        return values / np.maximum(sizes, 1) if self._per_token else values


def batches(rows: Sequence[Sequence[int]]) -> Iterator[list[int]]:
    """Yields places of rows of like length, so many as MOST_TOKENS allows, one at least."""
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]))
    batch: list[int] = []
    for place in order:
        if batch and (len(batch) + 1) * len(rows[place]) > MOST_TOKENS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
