"""Train PeakPatch on features of a frozen model: correction and scorer, together or alone.

Source: paper "PeakPatch, arXiv 2607.23271", section 3.4, and the release. An epoch is one pass over the questions; the
pairs are cycled beside them, so that an epoch may see a part of them only.

# ASSUME: the correction alone takes as many steps as both together, so that variants differ in nothing else.
# ASSUME: all validation questions are judged; the release leaves out the last ones that fill no batch.
# ASSUME: pre-training takes the pairs whose wrong caption holds the negation, as those of the release all do.
"""

import hashlib
from dataclasses import astuple
from typing import NamedTuple

import numpy as np

from crepebench.peakpatch_data import (
    ABSENT,
    OPTIONS,
    Data,
    Pairs,
    Questions,
    batches,
    cycled_batch,
    shuffle_options,
)
from crepebench.peakpatch_judging import question_hits
from crepebench.peakpatch_settings import DETACHED, ECN_PART, NO_ANCHOR, SCN_PART, Training
from crepebench.peakpatch_stage import Stage

PRETRAINING, TRAINING = "pretraining", "training"
PRETRAINING_SEED, WEIGHTS_SEED = 4, 5
KEPT_IMAGES = 8
"""Images with which the scores of a caption that denies nothing are kept where they were."""


class Trained(NamedTuple):
    """Trained networks.

    Attributes:
        networks: torch ModuleDict with "ecn" and "scn", as far as the variant has them.
        curve: rows of `Stage.run`; before them epoch 0, of the networks after any pre-training.
        stages: what was trained, with its checkpoint, which the caller removes once all is written.
    """

    networks: "torch.nn.ModuleDict"
    curve: list[dict]
    stages: list[Stage]


def build_networks(width: int, dim: int, settings: Training, seed: int):
    """Returns untrained networks of a variant, as a torch ModuleDict."""
    import torch

    from crepebench.peakpatch_networks import FULL, Correction, Scorer
    from crepebench.peakpatch_networks import NO_ANCHOR as WITHOUT_ANCHOR

    networks = torch.nn.ModuleDict()
    with torch.random.fork_rng():
        torch.manual_seed(int(np.random.SeedSequence([seed, WEIGHTS_SEED]).generate_state(1)[0]))
        if settings.has_ecn:
            form = WITHOUT_ANCHOR if settings.variant == NO_ANCHOR else FULL
            networks[ECN_PART] = Correction(width, dim, form, settings.attends, settings.hidden)
        if settings.has_scn:
            networks[SCN_PART] = Scorer(dim, largest=settings.largest_offset)
    return networks


def train(data: Data, settings: Training, seed: int, folder: str | None = None, device: str = "cpu") -> Trained:
    """Trains a variant.

    Args:
        data: what is trained on.
        settings: of the training.
        seed: of weights, orders and dropout.
        folder: for checkpoints, with which a killed training goes on; None keeps none.
        device: "cpu" or "cuda".

    Raises:
        ValueError: there are no questions, or no pairs for a correction.
    """
    if not len(data.questions) or not len(data.validation) or (settings.has_ecn and not len(data.pairs)):
        n = len(data.pairs), len(data.questions), len(data.validation)
        raise ValueError("PeakPatch cannot be trained on {} pairs, {} questions, {} validation questions".format(*n))
    networks = build_networks(data.captions.width, data.captions.dim, settings, seed).to(device).eval()
    steps, stages, key = Steps(data, networks, settings, seed, device), [], _digest(data, settings, seed)
    chosen = np.flatnonzero(~data.pairs.negated)
    if settings.has_ecn and settings.pretraining_epochs and len(chosen):
        size = min(settings.pretraining_batch, len(chosen))
        ecn = {ECN_PART: settings.pretraining_rate}
        first = _module_dict(networks, ECN_PART)
        stages.append(Stage(PRETRAINING, first, ecn, settings, seed + PRETRAINING_SEED, folder, key))
        stages[-1].run(
            settings.pretraining_epochs,
            len(chosen) // size,
            lambda epoch, step: steps.pretrain(chosen, size, epoch * (len(chosen) // size) + step),
        )
    before = {"epoch": 0, **steps.judge(), "seconds": 0.0}
    rates = {ECN_PART: settings.learning_rate_ecn, SCN_PART: settings.learning_rate_scn}
    stages.append(Stage(TRAINING, networks, rates, settings, seed, folder, key))
    size = min(settings.question_batch, len(data.questions))
    curve = stages[-1].run(settings.epochs, len(data.questions) // size, steps.losses, steps.judge)
    return Trained(networks, [before, *curve], stages)


class Texts(NamedTuple):
    """Features of n captions, (n, dim) each, unit rows: of the last layer, the peak layer, and corrected."""

    final: "torch.Tensor"
    peak: "torch.Tensor"
    corrected: "torch.Tensor"

    def split(self, sizes: list[int]) -> list["Texts"]:
        """Returns consecutive parts of so many captions each."""
        return [Texts(*parts) for parts in zip(*(tensor.split(sizes) for tensor in self), strict=True)]

    def take(self, rows) -> "Texts":
        """Returns some captions."""
        return Texts(*(tensor[rows] for tensor in self))


class Steps:
    """The losses of single steps, and how good networks are.

    Args:
        data: what is trained on.
        networks: as `build_networks` returns them.
        settings: of the training.
        seed: of orders.
        device: where the networks are.
    """

    def __init__(self, data: Data, networks, settings: Training, seed: int, device: str):
        self._data, self._networks, self._settings = data, networks, settings
        self._seed, self._device = seed, device
        self._orders: dict[int, list[np.ndarray]] = {}

    def pretrain(self, chosen: np.ndarray, size: int, step: int) -> dict:
        """Returns the loss of a step of the correction's pre-training, on the negated captions of some pairs."""
        from crepebench.peakpatch_losses import direction_loss

        captions, pairs = self._data.captions, self._data.pairs
        rows = chosen[cycled_batch(len(chosen), size, self._seed + PRETRAINING_SEED, step)]
        batch = captions.batch(pairs.wrong[rows], self._device)
        right = self._tensor(captions.final[pairs.right[rows]])
        delta = self._networks[ECN_PART].delta(batch.tokens, batch.valid, batch.anchor)
        return {"loss": direction_loss(delta, right - batch.final)}

    def losses(self, epoch: int, step: int) -> dict:
        """Returns the losses of a step: "loss", and its parts "loss_ecn", "loss_keep" and "loss_scn".

        All captions of a step are corrected at once, since a few large products take less time than many small ones.
        """
        data, settings = self._data, self._settings
        size = min(settings.question_batch, len(data.questions))
        if epoch not in self._orders:
            self._orders = {epoch: list(batches(len(data.questions), size, self._seed, epoch))}
        number = epoch * len(self._orders[epoch]) + step
        pairs = self._pairs_of(number) if settings.has_ecn or settings.keep_weight else data.pairs.take([])
        wrong = pairs.wrong if settings.has_ecn else pairs.wrong[:0]
        asked = data.questions.take(self._orders[epoch][step] if settings.has_scn else [])
        options, right = shuffle_options(asked.options, np.random.default_rng([self._seed, OPTIONS, epoch, step]))
        present = options != ABSENT
        filled = np.where(present, options, asked.options[:, :1])
        texts = self._read(np.concatenate([pairs.right, wrong, filled.ravel()]))
        own, others, offered = texts.split([len(pairs), len(wrong), filled.size])
        losses = {}
        if settings.has_ecn:
            losses["loss_ecn"] = self._contrast(pairs, own, others)
        if settings.keep_weight:
            losses["loss_keep"] = self._keep(pairs, own)
        if settings.has_scn:
            losses["loss_scn"] = self._choice(asked, offered, right, present)
        weights = {"loss_keep": settings.keep_weight, "loss_scn": settings.scn_weight}
        total = sum(weights.get(name, 1.0) * loss for name, loss in losses.items())
        return {"loss": total, **losses}

    def _pairs_of(self, step: int) -> Pairs:
        """Returns the pairs of a step, numbered through all epochs."""
        pairs = self._data.pairs
        return pairs.take(cycled_batch(len(pairs), min(self._settings.pair_batch, len(pairs)), self._seed, step))

    def _read(self, captions: np.ndarray) -> "Texts":
        """Returns the features of captions, frozen and corrected."""
        batch = self._data.captions.batch(captions, self._device)
        return Texts(batch.final, batch.peak, self._corrected(batch) if len(captions) else batch.final)

    def _contrast(self, pairs: Pairs, right: "Texts", wrong: "Texts"):
        """Returns the correction's loss on a batch of pairs."""
        from crepebench.peakpatch_losses import contrastive_loss

        images, settings = self._tensor(self._data.images[pairs.images]), self._settings
        texts, scale = settings.contrast_texts, settings.logit_scale
        return contrastive_loss(images, right.corrected, wrong.corrected, texts, scale)

    def _keep(self, pairs: Pairs, right: "Texts"):
        """Returns how far scores moved of the right captions of a batch of pairs that deny nothing.

        They are those with the caption's own image and with the next KEPT_IMAGES - 1 of the batch.
        """
        import torch

        from crepebench.peakpatch_losses import keeping_loss

        rows = np.flatnonzero(~pairs.negated)
        beside = (rows[:, None] + np.arange(min(KEPT_IMAGES, len(pairs)))) % max(1, len(pairs))
        images = self._tensor(self._data.images[pairs.images[beside]])
        kept = right.take(torch.from_numpy(rows).to(self._device))
        scores = (images * kept.corrected[:, None]).sum(-1)
        if self._settings.has_scn and len(rows):
            scores = scores + self._networks[SCN_PART](images, [kept.peak[:, None]], self._scored(kept)[:, None])
        return keeping_loss(scores, (images * kept.final[:, None]).sum(-1), self._settings.logit_scale)

    def _choice(self, asked: Questions, offered: "Texts", right: np.ndarray, present: np.ndarray):
        """Returns the scorer's loss on a batch of questions.

        Args:
            asked: the questions.
            offered: their options in a drawn order, question by question.
            right: place of the right option of each.
            present: (n, options) bool; False where a question has fewer options than others.
        """
        import torch

        from crepebench.peakpatch_losses import choice_loss

        settings, shape = self._settings, (*present.shape, -1)
        images = self._tensor(self._data.images[asked.images])[:, None]
        scorer = self._networks[SCN_PART]
        scores, offsets = scorer.score(images, [offered.peak.view(shape)], self._scored(offered).view(shape))
        right, present = (torch.from_numpy(each).to(self._device) for each in (right, present))
        return choice_loss(scores, offsets, right, present, settings.temperature, settings.offset_weight)

    def _scored(self, texts: "Texts"):
        """Returns the corrected features that the scorer reads, and through which it trains the correction or not."""
        return texts.corrected.detach() if self._settings.variant == DETACHED else texts.corrected

    def judge(self) -> dict[str, float]:
        """Returns the share of validation questions whose right option scores best, "accuracy", and by template."""
        hits = question_hits(self._data, self._data.validation, self._networks, self._device)
        templates = self._data.validation.templates
        found = {f"accuracy_{name}": float(hits[templates == name].mean()) for name in np.unique(templates).tolist()}
        return {"accuracy": float(hits.mean()), **found}

    def _corrected(self, batch):
        return (
            self._networks[ECN_PART](batch.final, batch.tokens, batch.valid, batch.anchor)
            if (ECN_PART in self._networks)
            else batch.final
        )

    def _tensor(self, array: np.ndarray):
        import torch

        return torch.as_tensor(array).to(self._device, torch.float32)


def _module_dict(networks, name: str):
    import torch

    return torch.nn.ModuleDict({name: networks[name]})


def _digest(data: Data, settings: Training, seed: int) -> str:
    """Returns a digest of all that a training depends on."""
    digest = hashlib.sha256(repr((astuple(settings), seed)).encode())
    pairs, questions = data.pairs, (data.questions, data.validation)
    arrays = [*data.captions.arrays(), data.images, pairs.images, pairs.right, pairs.wrong, pairs.negated]
    arrays += [array for each in questions for array in (each.images, each.options)]
    for array in arrays:
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
