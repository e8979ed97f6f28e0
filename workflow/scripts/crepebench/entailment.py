"""Say how likely a true caption entails a foil that permutes its atoms: such a foil is true, too.

Source: paper section 4.2: RoBERTa filters the swaps by entailment; checkpoint, direction and threshold are not stated.

# ASSUME: the direction is from the true caption to the foil. What follows from a true caption is true of the picture;
a foil from which the true caption follows may still be false.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from crepebench.families import OVERALL, SWAP, part_of
from crepebench.language_models import batches
from crepebench.schema import ENTAILMENT, FOIL_CANDIDATES, iterate_rows, write_table
from crepebench.stored_values import StoredValues, model_identity

LABEL = "entailment"
DECIMALS = 4
"""Of a probability. The size of a batch changes digits beyond these."""
LONGEST_SHOWN = 3
"""Pairs that are too long for a model and shown in the error."""
Pair = tuple[str, str]
"""A true caption and a foil."""


class EntailmentModel:
    """A model of natural language inference, onto the GPU if there is one, else the CPU with one thread.

    Args:
        name: folder of a model, or name on the Hugging Face hub.

    Raises:
        ValueError: the model does not say which of its labels is entailment.
    """

    def __init__(self, name: str):
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer

        torch.set_num_threads(1)
        self.name = name
        self.tokenizer = AutoTokenizer.from_pretrained(name)
        self.model = AutoModelForSequenceClassification.from_pretrained(name, dtype=torch.float32).eval()
        self.label = entailment_label(name, self.model.config.id2label)
        self._most_tokens = most_tokens(self.tokenizer, self.model)
        self._device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model.to(self._device)

    def probabilities(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Returns the probability that the first text of each pair entails the second, (n_pairs,) float64.

        Pairs of one length go through the model together, so that none is padded: a model that counts positions from
        the left would read a pair that is padded on the left otherwise than alone, whatever the mask.

        Raises:
            ValueError: a pair is longer than the model reads; nothing is cut off.
        """
        rows = self._encode(pairs)["input_ids"]
        too_long = sorted(
            (-len(row), pair) for row, pair in zip(rows, pairs, strict=True) if len(row) > self._most_tokens
        )
        if too_long:
            shown = "; ".join(f"{-length} tokens: {' / '.join(pair)}" for length, pair in too_long[:LONGEST_SHOWN])
            raise ValueError(
                f"entailment.model {self.name} reads {self._most_tokens} tokens, and {len(too_long)} pairs of captions "
                f"are longer ({shown})"
            )
        found = np.zeros(len(pairs))
        for batch in batches(rows):
            for _, places in groupby(batch, key=lambda i: len(rows[i])):
                places = list(places)
                found[places] = self._score([pairs[i] for i in places])
        return np.round(found, DECIMALS)

    def _encode(self, pairs: Sequence[Pair], **options) -> Mapping:
        truths, foils = zip(*pairs, strict=True)
        return self.tokenizer(list(truths), list(foils), **options)

    def _score(self, pairs: Sequence[Pair]) -> np.ndarray:
        """Returns the probability of entailment of each of some pairs of one length."""
        import torch

        encoded = self._encode(pairs, return_tensors="pt").to(self._device)
        with torch.inference_mode():
            return self.model(**encoded).logits.double().softmax(1)[:, self.label].cpu().numpy()


def entailment_label(name: str, labels: Mapping[int, str]) -> int:
    """Returns the place of the label that is called entailment, whatever its case.

    Raises:
        ValueError: no label is called so, or several are.
    """
    found = [place for place, label in labels.items() if label.lower() == LABEL]
    if len(found) != 1:
        raise ValueError(
            f"entailment.model {name}: one of its labels must be called {LABEL!r}, and they are "
            f"{[labels[place] for place in sorted(labels)]}; mend id2label in its config.json, or choose another model"
        )
    return found[0]


def most_tokens(tokenizer, model) -> int:
    """Returns how many tokens a model reads at most, marks included; the lowest of what it and its tokenizer say."""
    limits = [tokenizer.model_max_length, getattr(model.config, "max_position_embeddings", tokenizer.model_max_length)]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limits.append(module.num_embeddings - module.padding_idx - 1)  # RoBERTa counts positions from there
    return min(limits)


class StoredEntailment(StoredValues):
    """The probabilities of entailment under one model, kept in a content-addressed store.

    Args:
        name: folder or hub name of the model.
        store: folder of the store.
    """

    def __init__(self, name: str, store: str):
        model = EntailmentModel(name)
        super().__init__(model_identity(f"{LABEL} {model.label}", model), model.probabilities, store, DECIMALS)


def swap_pairs(row: Mapping) -> list[Pair | None]:
    """Returns the truth with each foil that permutes atoms, None in the place of any other foil.

    Args:
        row: row of table FOIL_CANDIDATES.
    """
    return [(row["caption"], foil["text"]) if part_of(foil["kind"]) == SWAP else None for foil in row["foils"]]


def score_entailment(candidates_path: str, entailment_path: str, cfg: str) -> None:
    """Writes how likely the truths of one part entail the foils that permute their atoms, and which shards say so.

    Args:
        candidates_path: table FOIL_CANDIDATES.
        entailment_path: table ENTAILMENT to write, of the foil types swap and overall.
        cfg: JSON of `model` (folder or hub name) and `store` (folder).
    """
    config = json.loads(cfg)
    rows = iterate_rows(candidates_path, FOIL_CANDIDATES)
    rows = [row for row in rows if row["foil_type"] in (SWAP, OVERALL) and not row["reason"]]
    pairs = [swap_pairs(row) for row in rows]
    probabilities = StoredEntailment(config["model"], config["store"])
    found = probabilities.of([pair for of_row in pairs for pair in of_row if pair])

    def scored() -> Iterator[dict]:
        for row, of_row in zip(rows, pairs, strict=True):
            values = [found[pair] if pair else None for pair in of_row]
            yield {"source_id": row["source_id"], "foil_type": row["foil_type"], "probabilities": values}

    probabilities.write_used_shards(entailment_path)
    write_table(entailment_path, ENTAILMENT, scored())
