"""Write a tuned model as checkpoints that others load: a folder of open_clip, and one of transformers."""

import json
import logging
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from crepebench.files import atomic_path
from crepebench.hugging_face_clip import HeldNotError, clip_tokeniser, image_processor, to_clip_model
from crepebench.models import CONFIG_FILE, WEIGHTS_FILE, load_model

logger = logging.getLogger(__name__)

OPEN_CLIP, HUGGING_FACE, SUMMARY = "open_clip", "hugging_face", "export.json"
TOKENISER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "vocab.json", "merges.txt")
PREPROCESSING = ("mean", "std", "interpolation", "resize_mode")


class ExportError(ValueError):
    """A model cannot be exported; says why."""


def export_clic(folder: str, weights_paths: Sequence[str], cfg: str) -> None:
    """Writes a model into two folders, and what became of each into SUMMARY.

    Args:
        folder: gets OPEN_CLIP (a folder that open_clip loads as `local-dir:`), HUGGING_FACE (one that
            `CLIPModel.from_pretrained` loads; left out where CLIPModel cannot hold the model) and SUMMARY.
        weights_paths: files of the model's weights.
        cfg: JSON of `model` (its config entry).

    Raises:
        ExportError: the config of the model's architecture is not at hand.
    """
    definition = json.loads(cfg)["model"]
    model = load_model(definition, weights_paths)
    architecture = architecture_config(lowest(definition), weights_paths)
    target = Path(folder)
    shutil.rmtree(target, ignore_errors=True)
    write_open_clip(model, architecture, target / OPEN_CLIP, weights_paths)
    summary = {OPEN_CLIP: "written", HUGGING_FACE: "written", "identity": model.identity}
    try:
        write_hugging_face(model, target / HUGGING_FACE)
    except HeldNotError as error:
        summary[HUGGING_FACE] = f"not written: {error}"
        logger.warning("no checkpoint of transformers: %s", error)
    with atomic_path(str(target / SUMMARY)) as partial:
        Path(partial).write_text(json.dumps(summary, indent=2) + "\n", encoding="utf-8")


def lowest(definition: Mapping) -> Mapping:
    """Returns the config entry of the model under all others."""
    while "backbone" in definition:
        definition = definition["backbone"]
    return definition


def architecture_config(definition: Mapping, weights_paths: Sequence[str]) -> dict:
    """Returns open_clip's `model_cfg` of a model: from the config among its files, or by the architecture's name.

    Raises:
        ExportError: there is neither.
    """
    import open_clip

    from crepebench.clip_models import CYCLIP_ARCHITECTURE, architecture_name

    weights = definition.get("weights", "")
    folders = [Path(path).parent for path in weights_paths if Path(path).name == CONFIG_FILE]
    folders += [Path(weights)] if weights and (Path(weights) / CONFIG_FILE).is_file() else []
    if folders:
        return json.loads((folders[0] / CONFIG_FILE).read_text(encoding="utf-8"))["model_cfg"]
    name = definition.get("architecture", "")
    if definition["family"] != "open_clip":
        name = architecture_name(name or CYCLIP_ARCHITECTURE)
    found = open_clip.get_model_config(name) if name else None
    if found is None:
        raise ExportError(
            f"{weights or name!r} has no {CONFIG_FILE} among its files and no architecture of open_clip's in the config"
        )
    return found


def write_open_clip(model, architecture: Mapping, folder: Path, weights_paths: Sequence[str]) -> None:
    """Writes a folder that open_clip loads by itself.

    Args:
        model: `crepebench.open_clip_models.OpenClipModel`.
        architecture: `model_cfg` of its architecture.
        folder: folder to write.
        weights_paths: files of the weights; files of a tokenizer among them are copied.
    """
    from safetensors.torch import save_file

    preprocessing = {key: model.model.visual.preprocess_cfg[key] for key in PREPROCESSING}
    has_quick = any(type(module).__name__ == "QuickGELU" for module in model.model.modules())
    config = {"model_cfg": {**architecture, "quick_gelu": has_quick}, "preprocess_cfg": preprocessing}
    with atomic_path(str(folder / CONFIG_FILE)) as partial:
        Path(partial).write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    tensors = {name: tensor.cpu().contiguous().clone() for name, tensor in model.model.state_dict().items()}
    with atomic_path(str(folder / WEIGHTS_FILE)) as partial:
        save_file(tensors, partial)
    for path in map(Path, weights_paths):
        if path.name in TOKENISER_FILES:
            shutil.copyfile(path, folder / path.name)


def write_hugging_face(model, folder: Path) -> None:
    """Writes a folder that transformers load: model, preprocessing, tokenizer.

    Args:
        model: `crepebench.open_clip_models.OpenClipModel`.
        folder: folder to write; nothing is written where the model cannot be held.

    Raises:
        HeldNotError: CLIPModel cannot hold it, or its preprocessing has no name in transformers; says why.
    """
    processor = image_processor(model.image_plan)
    if processor is None:
        raise HeldNotError("its preprocessing has other steps than CLIPImageProcessor")
    clip = to_clip_model(model.model, model._tokeniser)
    for part in (clip, processor, clip_tokeniser(model._tokeniser)):
        part.save_pretrained(str(folder))
