"""Single steps of CLIC: features of a batch, losses of the whole batch, gradients that are exact for any micro-batch.

A contrastive loss needs the features of all items at once. So features are made first, then the loss's gradient with
respect to them, and then each micro-batch is encoded again and takes its part of that gradient through the network:
memory is that of a micro-batch, and the gradient is that of one pass, to rounding. Where all fits into one pass nothing
is encoded twice.

# ASSUME: normalisation by batches, in residual towers, is left as it was trained, and nothing is dropped out, also
where the vision tower is trained; so a feature depends on its own image alone.
"""

import copy
import math

import numpy as np

from crepebench.clic_distributed import Processes
from crepebench.clic_images import ImageJoiner
from crepebench.clic_loading import Batch
from crepebench.clic_losses import clamp_scale, joined_losses, plain_losses
from crepebench.clic_parameters import SCALE, parameter_groups, precision_of, trained_parameters
from crepebench.clic_settings import TEXT, VISION, Training, Variant
from crepebench.clic_vision import FrozenRows
from crepebench.open_clip_models import OpenClipModel

TEXTS_PER_PASS = 128
"""On a CPU texts are encoded so many at a time, short ones first, so that little padding is computed."""
ITEMS_SHOWN = 5
MANY = 1 << 30


class NonFiniteLossError(ValueError):
    """A loss is no number or infinite; names step and items."""


class Steps:
    """Takes steps on a model.

    Args:
        base: the model that is fine-tuned, in float32.
        variant: of the training.
        settings: of the training.
        processes: where this one stands; tensors go to its device.
        joiner: makes joined images.
        frozen: features of the single images of training rows; None encodes them.
    """

    def __init__(
        self,
        base: OpenClipModel,
        variant: Variant,
        settings: Training,
        processes: Processes,
        joiner: ImageJoiner,
        frozen: FrozenRows | None = None,
    ):
        import torch

        self._base, self._variant, self._settings = base, variant, settings
        self._processes, self._joiner, self._frozen = processes, joiner, frozen
        self._cuda = processes.device.startswith("cuda")
        self._precision = precision_of(settings.precision, self._cuda)
        self._scale = base.model.get_parameter(SCALE)
        base.model.eval()
        base.model.visual.to(memory_format=torch.channels_last)
        self.trained = trained_parameters(base.model, variant.tower)
        base.model.requires_grad_(False)
        for parameter in self.trained.values():
            parameter.requires_grad_(True)
        self.optimiser = torch.optim.AdamW(
            parameter_groups(self.trained, settings.weight_decay),
            lr=settings.peak_learning_rate,
            betas=settings.betas,
            eps=settings.eps,
            fused=True,
        )
        self.scaler = torch.amp.GradScaler(enabled=self._precision == torch.float16)

    def take(self, batch: Batch, rate: float, row_ids: np.ndarray) -> dict[str, float]:
        """Takes a step.

        Args:
            batch: this process's share.
            rate: learning rate.
            row_ids: of all training rows, for messages.

        Returns:
            Losses of the whole batch as `crepebench.clic_losses` names them, and "logit_scale" after the step.

        Raises:
            NonFiniteLossError: the loss is no finite number; the weights are those before the step.
        """
        import torch

        images, texts = self._passes(batch)
        keeps = self._micro_of(batch) == len(batch.plan.rows)
        with self._autocast(), torch.set_grad_enabled(keeps):
            parts = [[encode() for encode in passes] for passes in (images, texts)]
        features = self._leaves(parts, batch)
        losses = self.losses(batch, *features)
        named = dict(zip(losses, _numbers(losses.values()), strict=True))
        if not math.isfinite(named["loss"]):
            shown = ", ".join(map(str, row_ids[batch.plan.rows[:ITEMS_SHOWN]]))
            raise NonFiniteLossError(
                f"CLIC: the {batch.plan.kind} step {batch.plan.step} has the loss {named['loss']}; among its "
                f"{len(batch.plan.rows)} items are those of rows {shown}; take a lower learning rate, or float32"
            )
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.zero_grad(set_to_none=True)
        self._backward(batch, losses["loss"], features, parts if keeps else None, (images, texts))
        self._processes.sum_gradients(self.trained.values())
        self.scaler.step(self.optimiser)
        self.scaler.update()
        clamp_scale(self._scale, self._settings.largest_scale)
        return {**named, "logit_scale": float(self._scale.detach().exp())}

    def beside(self, frozen: FrozenRows | None) -> "Steps":
        """Returns the same steps for other rows, whose single images have these features; only for validation."""
        other = copy.copy(self)
        other._frozen = frozen
        return other

    def losses(self, batch: Batch, images, texts) -> dict:
        """Returns the losses of features of a whole batch: images (n, dim), texts (k, n, dim)."""
        has_negative = None
        if batch.has_negative is not None:
            has_negative = self._processes.gather(batch.has_negative.to(images.device))
        return self._losses(images, texts, has_negative)

    def losses_alone(self, batch: Batch, images, texts) -> dict:
        """Returns the losses of features of a batch of this process alone."""
        has_negative = None if batch.has_negative is None else batch.has_negative.to(images.device)
        return self._losses(images, texts, has_negative)

    def _losses(self, images, texts, has_negative) -> dict:
        scale = self._scale.exp()
        if has_negative is None:
            return plain_losses(images, texts, scale)
        return joined_losses(images, texts, has_negative, scale, self._variant, self._settings)

    def features(self, batch: Batch, images=None) -> tuple:
        """Returns features without gradients, of a batch of this process alone: images (n, dim), texts (k, n, dim).

        Args:
            batch: the batch.
            images: their features if they are known.
        """
        import torch

        of_images, of_texts = self._passes(batch)
        with torch.no_grad(), self._autocast():
            if images is None:
                images = torch.cat([encode() for encode in of_images])
            texts = torch.cat([encode() for encode in of_texts])
        return images, texts[batch.places.to(texts.device)]

    def _passes(self, batch: Batch) -> tuple[list, list]:
        """Returns functions that encode images, and texts, each some of them: (m, dim) unit rows."""
        n, micro = len(batch.plan.rows), self._micro_of(batch)
        n_texts = micro * len(batch.places) if self._cuda or micro < n else TEXTS_PER_PASS
        images = [lambda rows=rows: self._images(batch, rows) for rows in _slices(n, micro)]
        texts = [lambda rows=rows: self._texts(batch.tokens[rows]) for rows in _slices(len(batch.tokens), n_texts)]
        return images, texts

    def _micro_of(self, batch: Batch) -> int:
        return min(self._settings.micro_batch or MANY, len(batch.plan.rows))

    def _images(self, batch: Batch, rows: slice):
        import torch

        if batch.pixels is None and batch.images is None:
            found = torch.from_numpy(self._frozen.of(batch.plan.rows[rows]))
            return found.to(self._processes.device)
        given = batch.images if batch.pixels is None else batch.pixels
        given = given[rows].to(self._processes.device, non_blocking=True)
        pixels = given if batch.pixels is None else self._joiner.normalise(given)
        pixels = pixels.contiguous(memory_format=torch.channels_last)
        with torch.set_grad_enabled(self._variant.tower != TEXT and torch.is_grad_enabled()):
            return _unit(self._base.image_features(pixels))

    def _texts(self, tokens):
        import torch

        ids = tokens.to(self._processes.device, non_blocking=True)
        with torch.set_grad_enabled(self._variant.tower != VISION and torch.is_grad_enabled()):
            return _unit(self._base.text_features(ids, None))

    def _leaves(self, parts: list, batch: Batch) -> tuple:
        """Returns the features of all processes, which the loss is derived by: images (n, dim), texts (k, n, dim)."""
        import torch

        images, texts = (torch.cat([part.detach() for part in found]) for found in parts)
        slots = texts[batch.places.to(texts.device)].transpose(0, 1)
        images, slots = self._processes.gather(images), self._processes.gather(slots).transpose(0, 1).contiguous()
        return images.requires_grad_(self._variant.tower != TEXT), slots.requires_grad_(self._variant.tower != VISION)

    def _backward(self, batch: Batch, loss, features: tuple, parts, passes: tuple) -> None:
        """Takes the loss's gradient with respect to features through the towers that are trained.

        Args:
            batch: this process's share.
            loss: of the whole batch.
            features: of the whole batch.
            parts: features of this process that have a graph; None encodes them again.
            passes: functions that do.
        """
        import torch

        inputs = [each for each in features if each.requires_grad]
        *found, of_scale = torch.autograd.grad(self.scaler.scale(loss), [*inputs, self._scale])
        self._scale.grad = of_scale / self._processes.world  # all have the same; their sum is taken
        for i, whole in enumerate(features):
            if not whole.requires_grad:
                continue
            gradient = found.pop(0)
            if i == 0:
                gradient = self._processes.own(gradient)
            else:
                own = self._processes.own(gradient.transpose(0, 1)).transpose(0, 1)
                places = batch.places.to(own.device).flatten()
                gradient = own.new_zeros(len(batch.tokens), own.shape[-1]).index_add_(0, places, own.flatten(0, 1))
            start = 0
            for number, encode in enumerate(passes[i]):
                if parts:
                    part = parts[i][number]
                else:
                    with self._autocast():
                        part = encode()
                part.backward(gradient[start : start + len(part)])
                start += len(part)

    def _autocast(self):
        import torch

        enabled = self._precision != torch.float32
        return torch.autocast("cuda" if self._cuda else "cpu", self._precision if enabled else None, enabled)


def _unit(features):
    """Returns features as float32 rows of length one."""
    from torch.nn.functional import normalize

    return normalize(features.float(), dim=-1)


def _slices(n: int, size: int) -> list[slice]:
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def _numbers(tensors) -> list[float]:
    """Returns the values of scalar tensors, fetched at once."""
    import torch

    return torch.stack([tensor.detach().float() for tensor in tensors]).tolist()
