"""The families of models: what loads a model of each.

A family's function is given the config entry, the paths of the weights' files (none where the entry names a tag) and
the device, and returns a `crepebench.models.Model`. Adding a family is one module and one line here; docs/models.md.
"""

from crepebench import (
    albef_models,
    clic_models,
    clip_models,
    flava_models,
    negvector_models,
    open_clip_models,
    peakpatch_models,
)

FAMILIES = {
    "open_clip": open_clip_models.load,
    "openai_clip": clip_models.load,
    "cyclip": clip_models.load_cyclip,
    "clip_fine_tune": clip_models.load,
    "flava": flava_models.load,
    "albef": albef_models.load,
    "clic": clic_models.load,
    "peakpatch": peakpatch_models.load,
    "negvector": negvector_models.load,
}
