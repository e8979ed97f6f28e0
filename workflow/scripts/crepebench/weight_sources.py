"""Know where a model's weights and vocabulary are fetched from: files of the hub, or a URL. Nothing here fetches."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

HUB = "hf-hub:"
"""What stands before the name of a repository of the hub."""
OPEN_CLIP_FILES = ("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors", "open_clip_pytorch_model.bin")
TRANSFORMERS_FILES = ("model.safetensors", "pytorch_model.bin")
TOKENISER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt"),
    *("added_tokens.json", "spiece.model", "sentencepiece.bpe.model", "tokenizer.model"),
)
VOCABULARY_REPOSITORY = "google-bert/bert-base-uncased"
"""Vocabulary of FLAVA and ALBEF."""
CLIP_FAMILIES = ("openai_clip", "cyclip", "clip_fine_tune")


@dataclass(frozen=True)
class HubFiles:
    """Files of a repository of the hub.

    Attributes:
        repository: "owner/name".
        one_of: names of which the first that is there is needed.
        all_of: names that are taken where they are there.
        all_weights: whether all files of weights are taken: the safetensors ones, else the pickled ones.
    """

    repository: str
    one_of: tuple[str, ...] = ()
    all_of: tuple[str, ...] = ()
    all_weights: bool = False


@dataclass(frozen=True)
class UrlFile:
    """One file at a URL.

    Attributes:
        url: where it is.
        sha256: the SHA-256 or its first digits, as far as the URL states it; "" if it does not.
    """

    url: str
    sha256: str = ""


def is_fetched(definition: Mapping) -> bool:
    """Says whether a model's weights come from the network, as its config entry has them: a tag, a name or a URL."""
    weights = definition.get("weights", "")
    if not weights or os.path.exists(weights):
        return False
    is_path = Path(weights).suffix in (".pt", ".pth", ".bin", ".ckpt", ".safetensors") or weights.startswith((".", "/"))
    return is_url(weights) or weights.startswith(HUB) or not is_path


def is_url(text: str) -> bool:
    """Says whether a text is a URL."""
    return text.startswith(("https://", "http://"))


def weight_sources(definition: Mapping) -> list[HubFiles | UrlFile]:
    """Returns what has to be fetched for a model: weights first, then its vocabulary if that is apart.

    Raises:
        ValueError: the config entry names nothing that can be fetched.
    """
    family, weights = definition["family"], definition["weights"]
    repository = weights.removeprefix(HUB)
    vocabulary = HubFiles(definition.get("tokenizer") or VOCABULARY_REPOSITORY, all_of=TOKENISER_FILES)
    is_repository = bool(re.fullmatch(r"[\w.-]+/[\w.-]+", repository))
    if is_url(weights):
        return [UrlFile(weights, stated_hash(weights)), *([vocabulary] if family == "albef" else [])]
    if family == "flava" and is_repository:
        return [HubFiles(repository, TRANSFORMERS_FILES, ("config.json", *TOKENISER_FILES))]
    if family in CLIP_FAMILIES and weights.startswith(HUB):
        return [HubFiles(repository, all_weights=True)]
    if family == "open_clip" and weights.startswith(HUB):
        return [HubFiles(repository, OPEN_CLIP_FILES, ("open_clip_config.json", *TOKENISER_FILES))]
    if family in ("open_clip", *CLIP_FAMILIES):
        return _tag_sources(family, definition.get("architecture", ""), weights)
    raise ValueError(f"weights {weights!r} of a model of family {family!r} are no file, folder, URL or name on the hub")


def _tag_sources(family: str, architecture: str, tag: str) -> list[HubFiles | UrlFile]:
    """Returns what has to be fetched for a tag of open_clip, with the vocabulary of its architecture if it has one."""
    import open_clip

    if family in CLIP_FAMILIES:
        from crepebench.clip_models import architecture_name

        architecture = architecture_name(architecture)
    source = tag_source(architecture, tag)
    text = (open_clip.get_model_config(architecture) or {}).get("text_cfg", {})
    vocabulary = text.get("hf_tokenizer_name")
    return [source, *([HubFiles(vocabulary, all_of=TOKENISER_FILES)] if vocabulary else [])]


def tag_source(architecture: str, tag: str) -> HubFiles | UrlFile:
    """Returns where the weights of a tag of open_clip are.

    Raises:
        ValueError: open_clip has no such tag for the architecture.
    """
    import open_clip

    names = (architecture, architecture.removesuffix("-quickgelu"))
    name = next((each for each in names if open_clip.is_pretrained_cfg(each, tag)), None)
    if name is None:
        tags = open_clip.list_pretrained_tags_by_model(names[1])
        raise ValueError(f"open_clip has no tag {tag!r} for {architecture!r}; it has {', '.join(tags) or 'none'}")
    config = open_clip.get_pretrained_cfg(name, tag)
    repository, _, file = config["hf_hub"].rpartition("/")
    # open_clip 3.3 gives for ViT-B-16-plus-240 laion400m_e32 the repository of laion400m_e31
    others = set(open_clip.list_pretrained_tags_by_model(name)) - {tag.lower().replace("-", "_")}
    if config["url"] and (repository.rpartition(".")[2] in others or not repository):
        return UrlFile(config["url"], stated_hash(config["url"]))
    safe = (f"{file.rpartition('.')[0]}.safetensors", file) if file else OPEN_CLIP_FILES
    return HubFiles(repository, safe)


def stated_hash(url: str) -> str:
    """Returns the SHA-256, or its first 8 digits, that a URL holds as OpenAI's and open_clip's releases do; else ""."""
    folder, _, name = url.rpartition("/")
    whole = re.search(r"/([0-9a-f]{64})$", folder)
    start = re.search(r"-([0-9a-f]{8})\.\w+$", name)
    return whole[1] if whole else start[1] if start else ""
