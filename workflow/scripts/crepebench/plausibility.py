"""Say how likely texts are, by a masked or a causal language model, each text once.

Source: paper section 4.1: BERT filters the foils; checkpoint, score and threshold are not stated. Here a model's
likelihoods only say how many foils of a set are likelier than its truth (`crepebench.refinement`).
"""

import hashlib
import json
import logging
from collections.abc import Iterator, Sequence

import numpy as np

from crepebench.feature_store import FeatureStore
from crepebench.language_models import DECIMALS, LanguageModel, batches
from crepebench.schema import FOIL_CANDIDATES, FOIL_SCORES, iterate_rows, write_table

logger = logging.getLogger(__name__)

MASKED, CAUSAL = "masked", "causal"
TEXTS_PER_SHARD = 20_000


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


def model_identity(kind: str, model) -> str:
    """Returns a digest of kind, weights and vocabulary: what a text's likelihood depends on."""
    digest = hashlib.sha256(kind.encode())
    for key, tensor in sorted(model.model.state_dict().items()):
        digest.update(f"{key} {tuple(tensor.shape)} {tensor.dtype}".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    digest.update(json.dumps(sorted(model.tokenizer.get_vocab().items())).encode())
    return digest.hexdigest()[:32]


class StoredLikelihoods:
    """The likelihoods of texts under one model, kept in a content-addressed store.

    Args:
        kind: `MASKED` or `CAUSAL`.
        name: folder or hub name of the model.
        store: folder of the store.
    """

    def __init__(self, kind: str, name: str, store: str):
        self._model = load_language_model(kind, name)
        self._store = FeatureStore(store, model_identity(kind, self._model))

    def of(self, texts: Sequence[str]) -> dict[str, float]:
        """Returns the likelihood of each text; what the store lacks is scored and added, a shard at a time."""
        keys = {text: hashlib.sha256(text.encode()).hexdigest()[:32] for text in dict.fromkeys(texts)}
        there = self._store.find(keys.values())
        missing = [text for text, key in keys.items() if key not in there]
        logger.info("%d of %d texts are to be scored", len(missing), len(keys))
        for start in range(0, len(missing), TEXTS_PER_SHARD):
            chunk = missing[start : start + TEXTS_PER_SHARD]
            found = self._model.log_likelihoods(chunk)
            values = found[0] if isinstance(found, tuple) else found
            self._store.add([keys[text] for text in chunk], values.astype(np.float32)[:, None])
        places = self._store.find(keys.values())
        values = self._store.read([places[key] for key in keys.values()])
        return (
            dict(zip(keys, np.round(values[:, 0].astype(np.float64), DECIMALS).tolist(), strict=True)) if keys else {}
        )


def score_foils(candidates_path: str, scores_path: str, cfg: str) -> None:
    """Writes how likely a language model finds the truths and candidates of one part.

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

    write_table(scores_path, FOIL_SCORES, scored())
