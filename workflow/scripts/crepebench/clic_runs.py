"""Fine-tune a model by CLIC from tables to files: what the family "clic" loads, and the course of the training."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from crepebench.accounting import write_accounting
from crepebench.clic_distributed import Processes, joined_processes, launch
from crepebench.clic_images import ImageJoiner
from crepebench.clic_loading import Batches, Examples
from crepebench.clic_models import VERSION
from crepebench.clic_outputs import counts_of, rates_of, saving_of, write_trained
from crepebench.clic_settings import (
    TEXT,
    Training,
    Variant,
    training_settings,
    variant_of,
)
from crepebench.clic_steps import Steps
from crepebench.clic_tokens import TextTokens
from crepebench.clic_training import TRAIN, VALIDATION, Judge, Trained, train
from crepebench.clic_training_data import ClicData, data_digest, make_examples, read_data
from crepebench.clic_vision import FrozenRows
from crepebench.models import load_model
from crepebench.open_clip_models import OpenClipModel
from crepebench.training_checkpoints import remove_checkpoints

logger = logging.getLogger(__name__)

VALIDATION_SEED = 1_000_003
"""Added to the seed for the items of validation, which are drawn once."""
INDIFFERENT = ("workers", "checkpoint_steps")
"""Settings that change no weight."""
MODULE = "crepebench.clic_job"


def train_clic(checkpoints_folder: str, cfg: str, **paths) -> None:
    """Trains one variant with one seed: on as many GPUs as the config says, else on a CPU with one thread.

    # ASSUME: several processes are for GPUs; without one, a single process takes the whole batch. The results are those
    of several, to rounding.

    Args:
        checkpoints_folder: for checkpoints, which are removed at the end.
        cfg: JSON of `model` (config entry of the base), `variant` (a name of `crepebench.clic_settings.VARIANTS`) and
            `training` (of `training_settings`).
        paths: the other arguments of `train_in_process`.

    Raises:
        ValueError: a setting is unknown, there are fewer GPUs than it says, or too little is left to train on.
    """
    import torch

    settings = training_settings(json.loads(cfg)["training"])
    if settings.gpus > 1 and torch.cuda.is_available():
        if settings.gpus > torch.cuda.device_count():
            raise ValueError(f"CLIC's training: gpus is {settings.gpus}: there are {torch.cuda.device_count()}")
        launch(settings.gpus, MODULE, {"cfg": cfg, "checkpoints_folder": checkpoints_folder, **paths})
    else:
        train_in_process(checkpoints_folder=checkpoints_folder, cfg=cfg, **paths)
    folder = Path(checkpoints_folder)
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def train_in_process(
    rows_path: str,
    images_path: str,
    candidates_path: str | None,
    vision_path: str | None,
    weights_path: str,
    config_path: str,
    curve_path: str,
    accounting_path: str,
    checkpoints_folder: str,
    weights_paths: Sequence[str],
    seed: int,
    cfg: str,
) -> None:
    """Trains in this process, with the others that `torchrun` has started.

    Args:
        rows_path: table CLIC_ROWS.
        images_path: table IMAGES.
        candidates_path: table CLIC_CANDIDATES; None where no variant needs it.
        vision_path: index of `crepebench.clic_vision`; None encodes all images in the training.
        weights_path: clic.safetensors to write.
        config_path: clic.json to write.
        curve_path: CSV of CURVE_COLUMNS to write.
        accounting_path: counts to write.
        checkpoints_folder: for checkpoints.
        weights_paths: files of the base's weights.
        seed: of orders and items.
        cfg: as for `train_clic`.
    """
    import torch

    config = json.loads(cfg)
    settings, variant = training_settings(config["training"]), variant_of(config["variant"], config["training"])
    deterministic = torch.are_deterministic_algorithms_enabled()
    with joined_processes() as processes:
        torch.set_num_threads(1)
        torch.use_deterministic_algorithms(not processes.device.startswith("cuda"))
        try:
            base = load_base(config["model"], weights_paths)
            said = {"version": VERSION, "variant": config["variant"], "seed": seed, "base_identity": base.identity}
            said |= {"settings": asdict(settings), "data": data_digest(rows_path, images_path, candidates_path)}
            data = read_data(rows_path, images_path, candidates_path, vision_path, base, variant)
            trained = train_on(data, base, variant, settings, seed, processes, checkpoints_folder, _key(said))
        finally:
            torch.use_deterministic_algorithms(deterministic)
        if processes.is_first:
            said |= {"tensors": sorted(trained.tensors), "dim": len(base.encode_texts(["a"])[0])}
            said |= {"rates": rates_of(trained), "counts": dict(sorted(trained.counts.items()))}
            said["vision"] = saving_of(trained, data.vision, variant)
            logger.info("CLIC: %s; kept features of single images: %s", said["rates"], said["vision"])
            n_rows = {split: len(found) for split, found in data.rows.items()}
            write_trained(trained, said, weights_path, config_path, curve_path)
            write_accounting(
                accounting_path,
                f"clic/{config['variant']}/seed_{seed}",
                counts_of(data.counts, n_rows, trained, settings),
            )
            if trained.checkpoint:
                remove_checkpoints([trained.checkpoint], checkpoints_folder)


def load_base(definition: Mapping, weights_paths: Sequence[str]) -> OpenClipModel:
    """Loads the model that is fine-tuned, in float32.

    Raises:
        ValueError: it is no model of open_clip.
    """
    base = load_model({**definition, "precision": "float32"}, weights_paths)
    if not isinstance(base, OpenClipModel):
        raise ValueError(f"CLIC fine-tunes models of open_clip, not those of family {definition['family']!r}")
    return base


def train_on(
    data: ClicData,
    base: OpenClipModel,
    variant: Variant,
    settings: Training,
    seed: int,
    processes: Processes,
    folder: str | None,
    key: str,
) -> Trained:
    """Trains on data; validates if there are held-out rows."""
    joiner = ImageJoiner(base.image_plan, variant)
    frozen = variant.tower == TEXT and data.vision is not None

    def parts_of(split: str, seed: int) -> tuple[Examples, Batches, FrozenRows | None]:
        tokens = TextTokens(base.tokenise)
        examples = make_examples(data, split, tokens, variant, seed)
        preprocess = None if frozen else base.preprocess
        batches = Batches(examples, variant, tokens, joiner, preprocess)
        ids = [image["image_id"] for image in examples.images]
        return examples, batches, FrozenRows(data.vision.matrix, data.vision.rows_of(ids)) if frozen else None

    examples, batches, features = parts_of(TRAIN, seed)
    steps = Steps(base, variant, settings, processes, joiner, features)
    judge = None
    if len(data.rows[VALIDATION]) > 1 and processes.is_first:
        held_out, of_held_out, features = parts_of(VALIDATION, seed + VALIDATION_SEED)
        judge = Judge(held_out, of_held_out, steps.beside(features), settings.batch_size, variant.tower == TEXT)
    return train(steps, examples, batches, judge, variant, settings, seed, processes, folder, key)


def _key(said: Mapping) -> str:
    """Returns what a checkpoint must agree with: all but how batches come and when checkpoints are written."""
    settings = {name: value for name, value in said["settings"].items() if name not in INDIFFERENT}
    return json.dumps({**said, "settings": settings}, sort_keys=True)
