"""A causal language model of transformers that reads prompts in batches and then one token a step.

# ASSUME: weights are read as float32, on GPUs too: with 16 bits, likely tokens get equal logits, and the batch beside
a prompt would decide. A model of 7 billion parameters takes 31 GB.
"""

import copy
import logging
from collections.abc import Generator, Sequence
from pathlib import Path

import numpy as np

from crepebench.captioners import Request
from crepebench.language_models import GGUF

logger = logging.getLogger(__name__)


class CausalModel:
    """Tokenizer and weights, on the GPU if there is one, else the CPU with one thread.

    Args:
        model: folder, GGUF file or name on the hub.
        revision: commit of the hub.
    """

    def __init__(self, model: str, revision: str | None):
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer

        torch.set_num_threads(1)
        path, source = Path(model), {"pretrained_model_name_or_path": model}
        if path.suffix == GGUF:
            source = {"pretrained_model_name_or_path": str(path.parent), "gguf_file": path.name}
        elif not path.exists():
            source["revision"] = revision
        logger.info("loading %s", model)
        self._tokenizer = AutoTokenizer.from_pretrained(**source)
        self._model = AutoModelForCausalLM.from_pretrained(**source, dtype=torch.float32).eval()
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self._model.to(self._device)
        texts = self._tokenizer.batch_decode([[token] for token in range(len(self._tokenizer))])
        self.end_set = {token for token, text in enumerate(texts) if "\n" in text}
        stops = self._model.generation_config.eos_token_id
        stops = stops if isinstance(stops, list) else [stops, self._tokenizer.eos_token_id]
        self.end_set |= {token for token in stops if token is not None}
        self.ends = np.array(sorted(self.end_set))

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        """Returns the tokens of texts, with the mark of the beginning where the tokenizer sets one."""
        return self._tokenizer(list(texts))["input_ids"]

    def tokens_within(self, words: str) -> list[int]:
        """Returns the tokens of words, or of a mark, behind another word."""
        texts = ("a", f"a {words}" if words[:1].isalnum() else f"a{words}")
        before, whole = (self._tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts)
        return whole[len(before) :]

    def decode(self, tokens: Sequence[int]) -> str:
        """Returns the text of tokens without special ones."""
        return self._tokenizer.decode(tokens, skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def check_length(self, requests: Sequence[Request], rows: Sequence[list[int]], most: int) -> None:
        """Raises ValueError if a prompt with `most` further tokens is longer than the model can read."""
        longest = getattr(self._model.config, "max_position_embeddings", None)
        for request, row in zip(requests, rows, strict=True):
            if longest is not None and len(row) + most > longest:
                raise ValueError(
                    f"{request.about}: its prompt has {len(row)} tokens; with captioner.max_tokens {most} it is "
                    f"longer than the {longest} that the model can read"
                )

    def read(self, tokens: Sequence[int]):
        """Returns keys and values of the beginning of a prompt; empty ones if there is none."""
        import torch
        from transformers import DynamicCache

        past = DynamicCache(config=self._model.config)
        if tokens:
            with torch.inference_mode():
                self._model(input_ids=torch.tensor([tokens], device=self._device), cache=past, use_cache=True)
        return past

    def steps(
        self, rows: Sequence[list[int]], past, n_past: int
    ) -> Generator[np.ndarray, tuple[list[int], list[int]], None]:
        """Reads prompts behind a shared beginning, then one token a step.

        It yields logits of the next tokens, (n, n_tokens) float32, and is sent the places of the rows
        that go on among those of the step before, and their tokens.

        Args:
            rows: tokens behind the beginning, one at least each. They are padded on the left.
            past: what `read` returned for the beginning.
            n_past: number of tokens of the beginning.
        """
        import torch

        def tensor(values):
            return torch.tensor(values, device=self._device)

        width = max(map(len, rows))
        tokens = tensor([[0] * (width - len(row)) + row for row in rows])
        mask = tensor([[1] * n_past + [0] * (width - len(row)) + [1] * len(row) for row in rows])
        positions = mask.cumsum(1)[:, n_past:] - 1
        past = copy.deepcopy(past)
        past.batch_repeat_interleave(len(rows))
        while True:
            with torch.inference_mode():
                logits = self._model(
                    input_ids=tokens,
                    attention_mask=mask,
                    position_ids=positions.clamp(min=0),
                    cache=past,
                    use_cache=True,
                    logits_to_keep=1,
                ).logits[:, -1]
            going, chosen = yield logits.float().cpu().numpy()
            if len(going) < len(mask):
                places = tensor(going)
                past.batch_select_indices(places)
                mask, positions = mask[places], positions[places]
            tokens = tensor(chosen)[:, None]
            mask = torch.cat([mask, torch.ones_like(tokens)], 1)
            positions = positions[:, -1:] + 1
