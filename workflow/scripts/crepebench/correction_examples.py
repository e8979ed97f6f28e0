"""Show what a trained correction does to texts: maps, attention by kind of word, features for a generator."""

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from crepebench.attention_by_type import COLUMNS, token_offsets, write_attention
from crepebench.backbones import load_backbone
from crepebench.judged_prompts import export_embeddings, read_prompts
from crepebench.measures import write_csv
from crepebench.models import unit_rows
from crepebench.negation_maps import AFTER, BEFORE, write_maps
from crepebench.open_clip_models import OpenClipModel
from crepebench.peakpatch_models import CONFIG, WEIGHTS, PeakPatchError, read_networks
from crepebench.peakpatch_settings import ECN_PART
from crepebench.text_layers import TextLayers

logger = logging.getLogger(__name__)

FROZEN, CORRECTED = "frozen", "corrected"


class CorrectedTexts:
    """The texts of a frozen model, before and after a correction.

    Args:
        backbone: the frozen model.
        networks: torch ModuleDict; one without a correction leaves texts as they are.
        config: what peakpatch.json says.
    """

    def __init__(self, backbone: OpenClipModel, networks, config: Mapping):
        self.frozen = backbone.encode_texts
        self._backbone, self._config = backbone, config
        self._layers = TextLayers(backbone.model)
        self._correction = dict(networks.items()).get(ECN_PART)

    @property
    def attends(self) -> bool:
        """Says whether there is a correction with heads of attention."""
        return hasattr(self._correction, "attention")

    def corrected(self, texts: Sequence[str]) -> np.ndarray:
        """Returns the corrected features of texts, (n, dim) float32, unit rows."""
        import torch

        if self._correction is None:
            return self.frozen(texts)
        read = self._read(texts)
        with torch.no_grad():
            return unit_rows(self._correction(read.final, read.tokens, read.valid, read.anchor))

    def attend(self, text: str) -> tuple[np.ndarray, list]:
        """Returns the attention of each head on each token of a text, (n_heads, n_tokens), and the tokens' offsets."""
        import torch

        read = self._read([text])
        with torch.no_grad():
            weights = self._correction.attention_weights(read.tokens, read.valid)[0].cpu().numpy()
        return weights, token_offsets(self._backbone._tokeniser, text, weights.shape[1])

    def _read(self, texts: Sequence[str]):
        ids = self._backbone.tokenise(list(texts)).ids
        whole = self._config["attends"] == "all"
        return self._layers.read(ids, self._config["peak"], self._config["anchor"], whole)


def load_corrected_texts(definition: Mapping, weights_paths: Sequence[str], device: str = "cpu") -> CorrectedTexts:
    """Loads a correction and the frozen model under it.

    Args:
        definition: config entry of the family "peakpatch".
        weights_paths: files of the backbone's weights, then peakpatch.safetensors and peakpatch.json.
        device: "cpu" or "cuda".

    Raises:
        PeakPatchError: files are missing or do not fit.
    """
    found = {Path(path).name: path for path in weights_paths if Path(path).name in (WEIGHTS, CONFIG)}
    if missing := sorted({WEIGHTS, CONFIG} - set(found)):
        raise PeakPatchError(f"the model lacks {', '.join(missing)}: rule train_peakpatch writes them")
    backbone = load_backbone(definition, [path for path in weights_paths if path not in found.values()], device)
    config = json.loads(Path(found[CONFIG]).read_text(encoding="utf-8"))
    return CorrectedTexts(backbone, read_networks(found[WEIGHTS], config).to(device), config)


def write_correction_examples(
    templates_path: str,
    attention_path: str,
    prompts_path: str,
    weights_paths: Sequence[str],
    points_path: str,
    cosines_path: str,
    heads_path: str,
    embeddings_path: str,
    lines_path: str,
    cfg: str,
) -> None:
    """Writes maps, attention and features of prompts of one correction.

    Args:
        templates_path: resources/negation/map_templates.yaml.
        attention_path: resources/negation/attention_prompts.yaml.
        prompts_path: CSV of prompts for a generator (`crepebench.judged_prompts.PROMPT_COLUMNS`), or "", which
            gives files without any.
        weights_paths: as in `load_corrected_texts`.
        points_path: CSV of the maps to write.
        cosines_path: CSV of mean cosines to write.
        heads_path: CSV of the attention by head to write; without rows where the correction has no heads.
        embeddings_path: safetensors file of the prompts' frozen and corrected features to write.
        lines_path: JSON lines of the prompts to write.
        cfg: JSON of `model` (config entry of the family "peakpatch") and `seed` (of t-SNE).
    """
    import torch

    torch.set_num_threads(1)
    config = json.loads(cfg)
    texts = load_corrected_texts(config["model"], weights_paths)
    write_maps(
        templates_path, {BEFORE: texts.frozen, AFTER: texts.corrected}, points_path, cosines_path, config["seed"]
    )
    if texts.attends:
        found = write_attention(attention_path, texts.attend, heads_path)
        n_heads, n_selective = len(found["heads"]), len(found["selective"])
        logger.info("%d of %d heads are negation-selective: %s", n_selective, n_heads, found["selective"])
    else:
        write_csv(heads_path, COLUMNS, [])
        logger.info("the variant has no heads of attention")
    prompts = read_prompts(prompts_path) if prompts_path else []
    encoders = {FROZEN: texts.frozen, CORRECTED: texts.corrected} if prompts else {}
    export_embeddings(prompts, encoders, embeddings_path, lines_path)
