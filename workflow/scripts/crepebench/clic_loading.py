"""Make the batches of a CLIC training, in as many processes as one likes: every batch is a function of seed and step.

Only what a step uses is made: plain steps have no joined images, and no images at all where the features of a frozen
vision tower are kept.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from crepebench.clic_images import ImageJoiner, is_wider
from crepebench.clic_settings import PLAIN, SINGLE, Training, Variant, step_kind
from crepebench.images import ImageReader

ORDER = 11
"""What is drawn here: the order of an epoch's items."""
MOST_KEPT_BYTES = 1 << 28
"""Bytes of halves of images that all workers of a process keep together."""
NO_NEGATIVE = "no_negative"


class Examples(NamedTuple):
    """What is trained on, or validated with.

    Attributes:
        maker: `crepebench.clic_items.ItemMaker` of the rows.
        sentences: the first sentence of each row.
        images: row of table IMAGES of each row.
        row_ids: row_id of each row, for messages.
    """

    maker: object
    sentences: Sequence[str]
    images: Sequence[Mapping]
    row_ids: np.ndarray

    def __len__(self) -> int:
        return len(self.row_ids)


class Plan(NamedTuple):
    """One step: epoch and step, both from 0 (steps over all epochs), its kind, and the rows of one process."""

    epoch: int
    step: int
    kind: str
    rows: np.ndarray


class Batch(NamedTuple):
    """What a step needs. Of n items with k texts each there are u different texts.

    Attributes:
        plan: the step.
        pixels: (n, size, size, 3) uint8 tensor of joined images, else None.
        images: (n, 3, size, size) float32 tensor of single images, preprocessed; else None, also where features of a
            frozen tower are kept.
        tokens: (u, context) int64 tensor, the shortest text first.
        places: (k, n) int64 tensor: the row of each text in `tokens`; slots in the order [p1 | p2 | ... | n], or only
            the first sentence in a plain step.
        has_negative: (n,) bool tensor; None in a plain step. Where it is False the last slot holds p1.
        reasons: what the makers of items say of them, one entry for each item and reason.
    """

    plan: Plan
    pixels: "torch.Tensor | None"
    images: "torch.Tensor | None"
    tokens: "torch.Tensor"
    places: "torch.Tensor"
    has_negative: "torch.Tensor | None"
    reasons: tuple[str, ...]


class Batches:
    """The batches of some examples; a torch dataset, of which each element is a whole batch.

    Args:
        examples: what is trained on.
        variant: of the training.
        tokenise: gives `crepebench.models.Tokens` of texts.
        joiner: makes joined images.
        preprocess: makes the tensor of a single picture; None where the features of single images are kept.
        kept_bytes: of halves of images that are kept, so that they need not be read again.
    """

    def __init__(
        self,
        examples: Examples,
        variant: Variant,
        tokenise: Callable,
        joiner: ImageJoiner,
        preprocess: Callable | None,
        kept_bytes: int = MOST_KEPT_BYTES,
    ):
        self._examples, self._variant, self._tokenise = examples, variant, tokenise
        self._joiner, self._preprocess = joiner, preprocess
        self._halves: dict[int, np.ndarray] = {}
        self._room = kept_bytes
        self._reader, self._process = ImageReader(), os.getpid()

    def __getitem__(self, plan: Plan) -> Batch:
        """Returns the batch of a step."""
        import torch

        if plan.kind == PLAIN:
            tokens, places = self._texts([[self._examples.sentences[i] for i in plan.rows]])
            return Batch(plan, None, self._single(plan.rows), tokens, places, None, ())
        items = [self._examples.maker.item(plan.epoch, int(i)) for i in plan.rows]
        slots = [[item.positives[k] for item in items] for k in range(self._variant.n_positives)]
        slots.append([item.negative or item.positives[0] for item in items])
        has_negative = torch.tensor([bool(item.negative) for item in items])
        reasons = tuple(reason for item in items for reason in item.reasons)
        single = self._variant.pictures == SINGLE
        pixels = None if single else torch.from_numpy(np.stack([self._joined(item) for item in items]))
        images = self._single(plan.rows) if single else None
        return Batch(plan, pixels, images, *self._texts(slots), has_negative, reasons)

    def _texts(self, slots: list[list[str]]) -> tuple:
        """Returns the tokens of the different texts, sorted by length, and the place of each text: (k, n)."""
        import torch

        texts = list(dict.fromkeys(text for slot in slots for text in slot))
        tokens = self._tokenise(texts)
        lengths = np.minimum(tokens.n_tokens, tokens.limit)
        order = np.argsort(lengths, kind="stable")
        place = {texts[at]: i for i, at in enumerate(order)}
        places = torch.tensor([[place[text] for text in slot] for slot in slots])
        return tokens.ids[torch.from_numpy(order)], places

    def _joined(self, item) -> np.ndarray:
        first, second = (item.second, item.first) if item.image_order else (item.first, item.second)
        return self._joiner.join(self._half(first), self._half(second))

    def _half(self, i: int) -> np.ndarray:
        half = self._halves.get(i)
        if half is None:
            image = self._examples.images[i]
            half = self._joiner.half(self._read(image), is_wider(image))
            if self._room >= half.nbytes:
                self._halves[i] = half
                self._room -= half.nbytes
        return half

    def _single(self, rows: np.ndarray):
        import torch

        if self._preprocess is None:
            return None
        return torch.stack([self._preprocess(self._read(self._examples.images[i])) for i in rows])

    def _read(self, image: Mapping):
        if self._process != os.getpid():  # a zip that is open in another process cannot be shared
            self._reader, self._process = ImageReader(), os.getpid()
        return self._reader.read(image).picture


def batch_size(n: int, settings: Training, world: int = 1) -> int:
    """Returns the items of a step: those of the settings, or all if there are fewer; the same for each process.

    Raises:
        ValueError: there are fewer items than processes could share, two for each.
    """
    size = min(settings.batch_size, n) // world * world
    if size < 2 * world:
        raise ValueError(f"CLIC cannot be trained on {n} items in batches of {settings.batch_size}, {world} processes")
    return size


def plan_steps(
    n: int, variant: Variant, settings: Training, seed: int, first: int = 0, rank: int = 0, world: int = 1
) -> Iterator[Plan]:
    """Yields the steps of a training from the first one that is not yet done; each process has its share of the rows.

    The last items of an epoch's order that fill no batch have no part in that epoch.
    """
    size = batch_size(n, settings, world)
    share, n_steps = size // world, n // size
    for epoch in range(first // n_steps, settings.epochs):
        order = np.random.default_rng([seed, ORDER, epoch]).permutation(n)
        for i in range(n_steps):
            step = epoch * n_steps + i
            if step >= first:
                start = i * size + rank * share
                kind = step_kind(step, variant, settings.hard_negative_freq)
                yield Plan(epoch, step, kind, order[start : start + share])


def load_batches(batches: Batches, plans: Iterator[Plan], workers: int, pins: bool = False) -> Iterator[Batch]:
    """Yields the batches of plans in their order, made ahead by worker processes; the same for any number of them.

    Args:
        batches: makes them.
        plans: the steps.
        workers: number of processes; 0 makes each batch when it is asked for.
        pins: whether tensors are put where a GPU fetches them fastest.
    """
    from torch.utils.data import DataLoader

    ahead = {"prefetch_factor": 2, "multiprocessing_context": "fork"} if workers else {}
    yield from DataLoader(
        batches, sampler=plans, batch_size=None, num_workers=workers, collate_fn=_as_it_is, pin_memory=pins, **ahead
    )


def _as_it_is(batch: Batch) -> Batch:
    return batch
