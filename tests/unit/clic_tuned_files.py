"""Files of a training of CLIC for the small model of `peakpatch_files`, with weights that do something."""

import json

from crepebench.clic_models import CONFIG, VERSION, WEIGHTS

TEXT_TOWER = ("token_embedding.", "positional_embedding", "transformer.", "ln_final.", "text_projection", "logit_scale")


def changed(state, names=TEXT_TOWER, seed=1):
    """Returns the tensors whose names begin so, each with some noise of its own."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    found = {name: tensor for name, tensor in sorted(state.items()) if name.startswith(names)}
    return {name: tensor + 0.05 * torch.randn(tensor.shape, generator=generator) for name, tensor in found.items()}


def write_training(folder, base, trained, **said):
    """Writes the files of a training that gave tensors; returns their paths.

    Args:
        folder: where they go.
        base: the OpenClipModel that was tuned.
        trained: the trained tensors.
        said: other values in the config.
    """
    from safetensors.torch import save_file

    folder.mkdir(parents=True, exist_ok=True)
    save_file(trained, str(folder / WEIGHTS))
    config = {"version": VERSION, "variant": "clic", "seed": 0, "base_identity": base.identity}
    (folder / CONFIG).write_text(json.dumps({**config, "tensors": sorted(trained), **said}))
    return [str(folder / WEIGHTS), str(folder / CONFIG)]
