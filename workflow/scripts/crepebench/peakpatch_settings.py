"""How PeakPatch is trained: the numbers of the paper and of its release.

Source: paper "PeakPatch, arXiv 2607.23271", section 3.4 and appendix, and the released scripts, whose values hold where
the paper is silent. Both kinds of pre-training are the release's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from crepebench.peakpatch_losses import RIGHT_TEXTS, SCALE
from crepebench.peakpatch_networks import HIDDEN

JOINT, ECN, SCN, NO_ANCHOR, DETACHED = "joint", "ecn", "scn", "no_anchor", "detached"
VARIANTS = (JOINT, ECN, SCN, NO_ANCHOR, DETACHED)
"""Both networks; the correction alone; the scorer alone; no anchor; the scorer's gradient kept from the correction."""

AUTO = "auto"
"""In place of a number that is measured in cosines: that of the paper, as wide as the backbone's own cosines spread."""
LARGEST_OFFSET, TEMPERATURE = 0.20, 0.07

ECN_PART, SCN_PART = "ecn", "scn"
"""Names of the two networks, correction and scorer."""


@dataclass(frozen=True)
class Training:
    """Settings of a training.

    Attributes:
        variant: one of VARIANTS.
        epochs: passes over the questions.
        pair_batch: pairs of a step, as far as there are so many.
        question_batch: questions of a step, likewise.
        learning_rate_ecn: of the correction at the start.
        learning_rate_scn: of the scorer at the start.
        last_learning_rate: of both at the end.
        warm_up_steps: steps in which the rate rises; then it falls with each step, else with each epoch.
        weight_decay: of all parameters.
        clip_norm: longest gradient.
        temperature: of scores in the loss; or AUTO.
        largest_offset: of the scorer, either way; or AUTO.
        scn_weight: weight of the scorer's loss.
        offset_weight: weight of the offsets' mean square in it.
        contrast_texts: texts that look for their image, of `crepebench.peakpatch_losses`.
        logit_scale: cosines of the correction's loss are multiplied by it; or AUTO, the backbone's own.
        keep_weight: weight of a loss that keeps the scores of captions that deny nothing near the frozen ones.
        attends: positions that the correction attends to, of `crepebench.peakpatch_networks`.
        hidden: size of the correction's hidden layers.
        pretraining_epochs: passes over the pairs before, of the correction alone; 0 for none.
        pretraining_batch: pairs of a step then.
        pretraining_rate: learning rate then.
    """

    variant: str = JOINT
    epochs: int = 10
    pair_batch: int = 1024
    question_batch: int = 1024
    learning_rate_ecn: float = 1.0e-5
    learning_rate_scn: float = 1.0e-4
    last_learning_rate: float = 1.0e-6
    warm_up_steps: int = 0
    weight_decay: float = 0.01
    clip_norm: float = 1.0
    temperature: float | str = TEMPERATURE
    largest_offset: float | str = LARGEST_OFFSET
    scn_weight: float = 1.0
    offset_weight: float = 0.1
    contrast_texts: str = RIGHT_TEXTS
    logit_scale: float | str = SCALE
    keep_weight: float = 0.0
    attends: str = "valid"
    hidden: int = HIDDEN
    pretraining_epochs: int = 20
    pretraining_batch: int = 2048
    pretraining_rate: float = 1.0e-3

    @property
    def has_ecn(self) -> bool:
        """Says whether a correction is trained."""
        return self.variant != SCN

    @property
    def has_scn(self) -> bool:
        """Says whether a scorer is trained."""
        return self.variant != ECN


def fit_to_backbone(settings: Training, scale: float | None) -> Training:
    """Returns settings with numbers in the place of AUTO.

    # ASSUME: a model that was trained to a smaller logit scale than OpenAI's 100 has cosines that spread so much wider;
    the paper's numbers in cosines, bound of the offset and temperature, are then multiplied by 100 / scale.

    Args:
        settings: of a training.
        scale: the backbone's own logit scale; None where it has none.

    Raises:
        ValueError: a setting is AUTO, and the backbone has no logit scale.
    """
    paper = {"temperature": TEMPERATURE, "largest_offset": LARGEST_OFFSET}
    chosen = [name for name in (*paper, "logit_scale") if getattr(settings, name) == AUTO]
    if chosen and not scale:
        raise ValueError(f"PeakPatch's training: {', '.join(chosen)} {AUTO} needs a backbone with a logit scale")
    found = {name: SCALE / scale * paper[name] if name in paper else scale for name in chosen}
    return replace(settings, **found)


SCN_PRETRAINING = {"variant": SCN, "epochs": 10, "question_batch": 512, "warm_up_steps": 500}
"""What the release's pre-training of a scorer differs in; the joint training takes nothing of it."""


def training_settings(options: Mapping) -> Training:
    """Returns the settings of a config block; what it does not name has the paper's value.

    Raises:
        ValueError: an option or the variant is unknown.
    """
    names = [field.name for field in fields(Training)]
    if unknown := sorted(set(options) - set(names)):
        raise ValueError(f"unknown options of PeakPatch's training: {', '.join(unknown)}; known: {', '.join(names)}")
    settings = Training(**options)
    if settings.variant not in VARIANTS:
        raise ValueError(f"unknown variant {settings.variant!r} of PeakPatch: use one of {', '.join(VARIANTS)}")
    return settings
