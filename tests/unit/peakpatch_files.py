"""A small model of open_clip as a folder, and files of PeakPatch for it with weights that do something."""

import json

from crepebench.models import CONFIG_FILE, WEIGHTS_FILE
from crepebench.peakpatch_models import CONFIG, VERSION, WEIGHTS
from crepebench.peakpatch_settings import training_settings

from .model_files import SMALL_CLIP, shake

DIM, WIDTH, N_LAYERS = 16, 24, 3


def write_backbone(folder, seed=3):
    """Writes a small model whose text width is not the joint dimension; returns it and the paths of its files."""
    import open_clip
    import torch
    from safetensors.torch import save_file

    folder.mkdir(parents=True)
    config = {**SMALL_CLIP, "text_cfg": {**SMALL_CLIP["text_cfg"], "width": WIDTH, "layers": N_LAYERS}}
    preprocessing = {"mean": [0.5] * 3, "std": [0.5] * 3, "resize_mode": "squash"}
    (folder / CONFIG_FILE).write_text(json.dumps({"model_cfg": config, "preprocess_cfg": preprocessing}))
    torch.manual_seed(seed)
    model = shake(open_clip.CLIP(**config))
    save_file({key: tensor.contiguous() for key, tensor in model.state_dict().items()}, str(folder / WEIGHTS_FILE))
    return model, [str(path) for path in sorted(folder.iterdir())]


def write_networks(folder, variant, **config):
    """Writes untrained networks, shaken; returns the paths of both files."""
    from safetensors.torch import save_file

    from crepebench.peakpatch_training import build_networks

    folder.mkdir(parents=True, exist_ok=True)
    networks = shake(build_networks(WIDTH, DIM, training_settings({"variant": variant}), 1))
    save_file(networks.state_dict(), str(folder / WEIGHTS))
    said = {"version": VERSION, "variant": variant, "width": WIDTH, "dim": DIM, "n_layers": N_LAYERS}
    (folder / CONFIG).write_text(json.dumps({**said, "peak": 2, "anchor": 1, "attends": "valid", **config}))
    return [str(folder / WEIGHTS), str(folder / CONFIG)]
