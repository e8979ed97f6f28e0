"""The families of models: what loads a model of each.

A family's function is given the config entry, the paths of the weights' files (none where the entry names a tag) and
the device, and returns a `crepebench.models.Model`. Adding a family is one module and one line here; docs/models.md.
"""

from crepebench import open_clip_models

FAMILIES = {"open_clip": open_clip_models.load}
