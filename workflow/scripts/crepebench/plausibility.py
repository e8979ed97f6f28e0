"""Say how likely texts are, by a masked or a causal language model, each text once.

Source: paper section 4.1: BERT filters the foils; checkpoint, score and threshold are not stated. Here a model's
likelihoods only say how many foils of a set are likelier than its truth (`crepebench.refinement`).
"""

import json
from collections.abc import Iterator, Sequence

import numpy as np

from crepebench.language_models import DECIMALS, LanguageModel, batches
from crepebench.schema import FOIL_CANDIDATES, FOIL_SCORES, iterate_rows, write_table
from crepebench.stored_values import StoredValues, model_identity

MASKED, CAUSAL = "masked", "causal"


class MaskedLanguageModel:
    """A masked language model, onto the GPU if there is one, else the CPU with one thread.

    Args:
        name: folder of a model, or name on the Hugging Face hub.
    """

    def __init__(self, name: str):
        import torch
        from transformers import AutoModelForMaskedLM, AutoTokenizer

        torch.set_num_threads(1)
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForMaskedLM.from_pretrained(name, dtype=torch.float32).eval()
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model.to(self._device)

    def log_likelihoods(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the sum of the logarithms of each token's probability given all others, (n_texts,) float64.

        # ASSUME: a masked model's likelihood of a text is its pseudo-log-likelihood, each token masked in turn.
        """
        rows, owners, targets = [], [], []
        for i, text in enumerate(texts):
            tokens = self.tokenizer(text)["input_ids"]
            special = self.tokenizer.get_special_tokens_mask(tokens, already_has_special_tokens=True)
            for place in (place for place, is_special in enumerate(special) if not is_special):
                rows.append([*tokens[:place], self.tokenizer.mask_token_id, *tokens[place + 1 :]])
                owners.append(i)
                targets.append((place, tokens[place]))
        totals = np.zeros(len(texts))
        for batch in batches(rows):
            found = self._score([rows[i] for i in batch], [targets[i] for i in batch])
            np.add.at(totals, [owners[i] for i in batch], found)
        return np.round(totals, DECIMALS)

    def _score(self, rows: list[list[int]], targets: list[tuple[int, int]]) -> np.ndarray:
        """Returns the log-probability of the masked token of each row."""
        import torch

        length = max(map(len, rows))
        tokens = torch.tensor([row + [0] * (length - len(row)) for row in rows], device=self._device)
        mask = torch.tensor([[1] * len(row) + [0] * (length - len(row)) for row in rows], device=self._device)
        with torch.inference_mode():
            logits = self.model(input_ids=tokens, attention_mask=mask).logits
            places = torch.tensor([place for place, _ in targets], device=self._device)
            chosen = torch.tensor([token for _, token in targets], device=self._device)
            found = logits[torch.arange(len(rows), device=self._device), places].double().log_softmax(1)
        return found[torch.arange(len(rows)), chosen].cpu().numpy()


def load_language_model(kind: str, name: str) -> MaskedLanguageModel | LanguageModel:
    """Loads a model of a kind, `MASKED` or `CAUSAL`."""
    return MaskedLanguageModel(name) if kind == MASKED else LanguageModel(name)


class StoredLikelihoods(StoredValues):
    """The likelihoods of texts under one model, kept in a content-addressed store.

    Args:
        kind: `MASKED` or `CAUSAL`.
        name: folder or hub name of the model.
        store: folder of the store.
    """

    def __init__(self, kind: str, name: str, store: str):
        model = load_language_model(kind, name)

        def likelihoods(texts: Sequence[str]) -> np.ndarray:
            found = model.log_likelihoods(texts)
            return found[0] if isinstance(found, tuple) else found

        super().__init__(model_identity(kind, model), likelihoods, store, DECIMALS)


def score_foils(candidates_path: str, scores_path: str, cfg: str) -> None:
    """Writes how likely a language model finds the truths and candidates of one part, and which shards say so.

    Args:
        candidates_path: table FOIL_CANDIDATES.
        scores_path: table FOIL_SCORES to write.
        cfg: JSON of `plausibility` (masked, causal), `language_model` (folder or hub name) and `store` (folder).
    """
    config = json.loads(cfg)
    rows = [row for row in iterate_rows(candidates_path, FOIL_CANDIDATES) if not row["reason"]]
    texts = [[row["caption"], *(foil["text"] for foil in row["foils"])] for row in rows]
    likelihoods = StoredLikelihoods(config["plausibility"], config["language_model"], config["store"])
    found = likelihoods.of([text for group in texts for text in group])

    def scored() -> Iterator[dict]:
        for row, group in zip(rows, texts, strict=True):
            scores = [found[text] for text in group]
            yield {"source_id": row["source_id"], "foil_type": row["foil_type"], "scores": scores}

    likelihoods.write_used_shards(scores_path)
    write_table(scores_path, FOIL_SCORES, scored())
