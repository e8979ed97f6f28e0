"""Released models of CLIP's own architectures: OpenAI's five, CyCLIP, and fine-tunes of OpenAI's.

All are loaded into open_clip's architectures with QuickGELU, which they all were trained with: OpenAI's code has no
other activation, CyCLIP's is a copy of it, and the fine-tunes start from its weights. So no config can get it wrong.
A checkpoint may be OpenAI's TorchScript archive or a state dict of OpenAI, open_clip, Hugging Face or DAC; its keys
tell (`crepebench.checkpoint_maps`). Several files, as TripletCLIP's two encoders, are put together.
"""

from collections.abc import Mapping
from pathlib import Path

from crepebench.open_clip_models import OpenClipModel, build

OPENAI_TAG = "openai"
CYCLIP_ARCHITECTURE = "RN50"


def load(definition: Mapping, weights_paths: list[str], device: str) -> OpenClipModel:
    """Loads OpenAI's CLIP or a fine-tune of it.

    Args:
        definition: config entry; `architecture` is OpenAI's name (ViT-B/32) or open_clip's (ViT-B-32), `weights` a
            checkpoint, or for OpenAI's own also the tag `openai`.
        weights_paths: files that together hold the weights; empty for the tag.
        device: "cpu" or "cuda".

    Raises:
        ValueError: the architecture is missing or none of CLIP's, or there are no weights.
        CheckpointError: the weights cannot be read, or do not fit.
    """
    import open_clip

    name = architecture_name(definition.get("architecture", ""))
    weights, precision = definition.get("weights", ""), definition.get("precision", "float32")
    files = checkpoint_files(weights_paths, weights)
    if files:
        return build(name, files, open_clip.get_tokenizer(name), device, precision)
    if weights != OPENAI_TAG:
        raise ValueError(f"there is no checkpoint {weights!r}; a model of OpenAI can also have the weights 'openai'")
    model, preprocess = open_clip.create_model_from_pretrained(name, OPENAI_TAG)
    return OpenClipModel(model, preprocess, open_clip.get_tokenizer(name), device, precision)


def load_cyclip(definition: Mapping, weights_paths: list[str], device: str) -> OpenClipModel:
    """Loads CyCLIP from its released checkpoint (`best.pt`); its architecture is RN50 unless the entry says otherwise.

    Raises:
        CheckpointError: the weights cannot be read, or do not fit.
    """
    # ASSUME: CyCLIP's texts keep their end token when they are cut, unlike in its own code, which then reads the
    # feature at whichever token has the largest id.
    architecture = definition.get("architecture") or CYCLIP_ARCHITECTURE
    return load({**definition, "architecture": architecture}, weights_paths, device)


def architecture_name(name: str) -> str:
    """Returns open_clip's name, with QuickGELU, of an architecture of OpenAI's CLIP.

    Args:
        name: OpenAI's name or open_clip's, with or without "-quickgelu": "ViT-B/32", "ViT-L/14@336px", "RN50".

    Raises:
        ValueError: CLIP has no such architecture.
    """
    import open_clip

    plain = name.replace("/", "-").replace("@336px", "-336").removesuffix("-quickgelu")
    known = open_clip.list_openai_models()
    if plain not in known:
        plains = [each for each in known if not each.endswith("-quickgelu")]
        raise ValueError(f"CLIP has no architecture {name!r}: use one of {', '.join(plains)}")
    return f"{plain}-quickgelu"


def checkpoint_files(paths: list[str], weights: str) -> list[str]:
    """Returns the files that hold weights: those of `paths`, or else `weights` or, of a folder, what is in it."""
    suffixes = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")
    found = [path for path in paths if Path(path).suffix in suffixes]
    if not found and Path(weights).is_file():
        found = [weights]
    if not found and Path(weights).is_dir():
        found = sorted(str(path) for path in Path(weights).rglob("*") if path.suffix in suffixes)
    return _safe_twins(found)


def _safe_twins(paths: list[str]) -> list[str]:
    """Leaves out pickled files that have a safetensors file beside them."""
    safe = {Path(path).parent for path in paths if path.endswith(".safetensors")}
    return [path for path in paths if path.endswith(".safetensors") or Path(path).parent not in safe]
