"""Load the model of open_clip under one that corrects or tunes it: the families "peakpatch", "negvector" and "clic"."""

from collections.abc import Mapping

from crepebench.open_clip_models import OpenClipModel


class BackboneError(ValueError):
    """A config entry has no model under it, or one of another kind."""


def load_backbone(definition: Mapping, weights_paths: list[str], device: str) -> OpenClipModel:
    """Loads the model under a corrected or tuned one; its parameters need no gradient.

    Args:
        definition: config entry of the upper model: `family`, and `backbone` (another entry).
        weights_paths: files of the lower model's weights.
        device: "cpu" or "cuda".

    Raises:
        BackboneError: the entry has none, or it is no model of open_clip.
    """
    from crepebench.model_families import FAMILIES

    own, family = definition["family"], definition.get("backbone", {}).get("family")
    if family not in FAMILIES:
        raise BackboneError(f"family {own!r} needs a backbone with a known family, not {family!r}")
    backbone = FAMILIES[family](definition["backbone"], weights_paths, device)
    if not isinstance(backbone, OpenClipModel):
        raise BackboneError(f"family {own!r} stands on models of open_clip, not on those of {family!r}")
    backbone.model.requires_grad_(False)
    return backbone
