"""Read every layer of a CLIP text tower: what its blocks say of a text, beside what its last one does.

Terms (paper "PeakPatch, arXiv 2607.23271", section 3.1): H^l is the residual stream after block l, from 1 on; e the
position where the tower reads its feature (the end token of CLIP, the last position of SigLIP). Token features are
LN_final(H^l); the projected feature is f^l = normalise(W LN_final(H^l[e])), so that the last layer's is the ordinary
text feature. All of it is computed without gradients, in the tower's precision, and returned as float32.

Any text tower of open_clip's own kind is read; towers of Hugging Face and CoCa's, which reads a class token behind the
text, raise a TowerError.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crepebench.text_trimming import can_trim


class TowerError(ValueError):
    """A text tower has layers that are not read here, or a layer is asked for that it does not have."""


class Readings(NamedTuple):
    """What PeakPatch reads of n texts, on the tower's device, float32.

    Attributes:
        final: (n, dim), unit rows: f^L, the ordinary text features.
        peak: (n, dim), unit rows: f^l at the peak layer.
        anchor: (n, width): LN_final(H^l[e]) at the anchor layer.
        tokens: (n, length, width): LN_final(H^l) at the peak layer.
        valid: (n, length) bool, positions up to e.
    """

    final: "torch.Tensor"
    peak: "torch.Tensor"
    anchor: "torch.Tensor"
    tokens: "torch.Tensor"
    valid: "torch.Tensor"


class TextLayers:
    """The layers of a model's text tower.

    Args:
        model: open_clip.CLIP, another model of open_clip with a tower `text`, or such a tower itself.

    Attributes:
        n_layers: number of blocks.
        width: of the tower.
        dim: of the projected features.

    Raises:
        TowerError: the tower is none of open_clip's own, or it reads neither an end token nor the last position.
    """

    def __init__(self, model):
        from torch import nn

        tower = model.text if hasattr(model, "text") else model
        if not hasattr(getattr(tower, "transformer", None), "resblocks"):
            raise TowerError(f"{type(tower).__name__} is no text tower of open_clip's own: its layers are not read")
        if getattr(tower, "cls_emb", None) is not None:
            raise TowerError(f"{type(tower).__name__} reads a class token behind the text: its layers are not read")
        self._pool = getattr(tower, "text_pool_type", getattr(tower, "pool_type", None))
        if self._pool not in ("argmax", "eos", "last"):
            raise TowerError(f"a text tower that pools by {self._pool!r} is not read: only argmax, eos and last are")
        self._end_id = getattr(tower, "text_eos_id", getattr(tower, "eos_id", None))
        self._tower, self._trims = tower, can_trim(tower)
        self.n_layers, self.width = len(tower.transformer.resblocks), tower.positional_embedding.shape[1]
        projection = tower.text_projection
        if projection is None:
            self.dim = self.width
        else:
            self.dim = projection.out_features if isinstance(projection, nn.Linear) else projection.shape[1]

    def ends(self, ids):
        """Returns the position where each text's feature is read: (n,) int64 for (n, length) ids."""
        if self._pool == "last":
            return ids.new_full((len(ids),), ids.shape[1] - 1)
        return ids.argmax(dim=-1) if self._pool == "argmax" else (ids == self._end_id).int().argmax(dim=-1)

    def valid(self, ids):
        """Returns which positions count, those up to the end: (n, length) bool; all of a tower that reads the last."""
        import torch

        return torch.arange(ids.shape[1], device=ids.device) <= self.ends(ids)[:, None]

    def projected(self, ids, layers: Sequence[int]) -> dict:
        """Returns the projected features of layers.

        Args:
            ids: (n, length) int64, on any device.
            layers: from 1 to `n_layers`.

        Returns:
            {layer: (n, dim) float32, unit rows}.
        """
        import torch

        with torch.no_grad():
            rows, ends = self._place(ids)
            return {layer: self._project(_at(self._final_norm(x), ends)) for layer, x in self._blocks(rows, layers)}

    def tokens(self, ids, layers: Sequence[int]) -> dict:
        """Returns the token features of layers; 0 at positions behind all ends that the tower need not compute.

        Args:
            ids: (n, length) int64, on any device.
            layers: from 1 to `n_layers`.

        Returns:
            {layer: (n, length, width) float32}.
        """
        import torch

        with torch.no_grad():
            rows, _ = self._place(ids)
            missing = ids.shape[1] - rows.shape[1]
            read = {layer: self._final_norm(x).float() for layer, x in self._blocks(rows, layers)}
            return {layer: torch.nn.functional.pad(x, (0, 0, 0, missing)) for layer, x in read.items()}

    def read(self, ids, peak: int, anchor: int, whole: bool = False) -> Readings:
        """Returns what PeakPatch reads, in one pass; `length` is that of the longest text where that can be.

        Args:
            ids: (n, length) int64, on any device.
            peak: peak layer.
            anchor: anchor layer.
            whole: keeps all positions of `ids`.
        """
        import torch

        with torch.no_grad():
            rows, ends = self._place(ids, whole)
            found = {x: self._final_norm(h) for x, h in self._blocks(rows, {peak, anchor, self.n_layers})}
            valid = torch.arange(rows.shape[1], device=rows.device) <= ends[:, None]
            final, at_peak = (self._project(_at(found[layer], ends)) for layer in (self.n_layers, peak))
            return Readings(final, at_peak, _at(found[anchor], ends).float(), found[peak].float(), valid)

    def _place(self, ids, whole: bool = False) -> tuple:
        """Returns ids on the tower's device, without the padding behind all ends if that is nothing, and the ends."""
        rows = ids.to(self._tower.positional_embedding.device)
        ends = self.ends(rows)
        return (rows[:, : int(ends.max()) + 1] if self._trims and not whole and len(rows) else rows), ends

    def _blocks(self, ids, layers) -> Iterator[tuple]:
        """Yields (layer, H^l) of the layers that are asked for, in order: (n, length, width).

        Raises:
            TowerError: there is no such layer.
        """
        wanted = sorted(set(layers))
        if wanted and not 1 <= wanted[0] <= wanted[-1] <= self.n_layers:
            raise TowerError(f"layers {wanted} are not all from 1 to {self.n_layers}")
        tower, length = self._tower, ids.shape[1]
        if hasattr(tower, "_embeds"):
            x, mask = tower._embeds(ids)
        else:
            dtype = tower.transformer.get_cast_dtype()
            x = tower.token_embedding(ids).to(dtype) + tower.positional_embedding[:length].to(dtype)
            mask = tower.attn_mask
        if mask is not None and mask.ndim == 2:
            mask = mask[:length, :length]
        first = tower.transformer.batch_first
        x = x if first else x.transpose(0, 1)
        for number, block in enumerate(tower.transformer.resblocks[: max(wanted, default=0)], 1):
            x = block(x, attn_mask=mask)
            if number in wanted:
                yield number, x if first else x.transpose(0, 1)

    def _final_norm(self, x):
        return self._tower.ln_final(x)

    def _project(self, x):
        """Returns (n, dim) float32 unit rows of (n, width)."""
        import torch

        projection = self._tower.text_projection
        if projection is not None:
            x = projection(x) if isinstance(projection, torch.nn.Linear) else x @ projection
        return torch.nn.functional.normalize(x.float(), dim=-1)


def _at(x, ends):
    """Returns (n, width): each row of (n, length, width) at its end."""
    import torch

    return x[torch.arange(len(x), device=x.device), ends]
