"""Random weights of the true architectures, under the names and in the forms of the released ones."""

import json
from collections.abc import Mapping
from pathlib import Path

from crepebench.clip_models import architecture_name
from crepebench.weight_sources import HubFiles, weight_sources

from ..unit.model_files import write_torchscript
from ..unit.test_albef_models import write_albef
from ..unit.test_flava_models import write_flava
from .full_run_scenes import ATTRIBUTES, FRAMES, OBJECTS
from .loopback_host import LoopbackHost, sha256_of

OPENAI_URL = "https://openaipublic.azureedge.net/clip/models/{sha256}/RN50.pt"
ARCHIVED = "openai_rn50"
"""The model whose weights come as OpenAI's own archive, from its own host; those of the others are on the hub."""
BERT, NLI = "google-bert/bert-base-uncased", "FacebookAI/roberta-large-mnli"
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"


def serve_weights(definitions: Mapping[str, Mapping], folder: Path, host: LoopbackHost) -> dict[str, str]:
    """Writes and serves the weights of models; those of the hub under their repository's name.

    Returns:
        URL here of the weights of each model that is not on the hub.
    """
    moved = {}
    for seed, (name, definition) in enumerate(definitions.items()):
        source, *_ = weight_sources(definition)
        target = folder / name
        target.mkdir(parents=True)
        if definition["family"] == "flava":
            write_flava(target, is_small=False)
            write_word_pieces(target)
            host.add_repository(source.repository, target)
        elif definition["family"] == "albef":
            path, _ = write_albef(target, size=256, width=768, depth=12, dim=256, vocabulary=30522)
            moved[name] = host.add_file(source.url, Path(path))
            write_word_pieces(target / "bert")
            host.add_repository(BERT, target / "bert")
        elif name == ARCHIVED:
            write_torchscript(target / "RN50.pt", random_clip(definition, seed))
            url = OPENAI_URL.format(sha256=sha256_of(target / "RN50.pt"))
            moved[name] = host.add_file(url, target / "RN50.pt")
        elif isinstance(source, HubFiles):
            save_safe(random_clip(definition, seed), target / "open_clip_model.safetensors")
            host.add_repository(source.repository, target)
        else:
            moved[name] = _serve_url(source.url, random_clip(definition, seed), target, host)
    return moved


def _serve_url(url: str, state: Mapping, folder: Path, host: LoopbackHost) -> str:
    """Serves a pickled state dict under a URL whose name ends in the digits of its own SHA-256, as open_clip's do."""
    import torch

    torch.save(state, folder / "weights.pt")
    digits = sha256_of(folder / "weights.pt")[:8]
    return host.add_file(f"{url.rpartition('-')[0]}-{digits}.pt", folder / "weights.pt")


def random_clip(definition: Mapping, seed: int) -> dict:
    """Returns the random weights of an architecture of CLIP, as float16: half the disk."""
    import open_clip
    import torch

    torch.manual_seed(seed)
    architecture = definition["architecture"]
    if definition["family"] == "openai_clip":
        architecture = architecture_name(architecture)
    state = open_clip.create_model(architecture, load_weights=False).state_dict()
    return {key: tensor.half() if tensor.is_floating_point() else tensor for key, tensor in state.items()}


def save_safe(state: Mapping, path: Path) -> None:
    """Writes weights as safetensors."""
    from safetensors.torch import save_file

    save_file({key: tensor.contiguous() for key, tensor in state.items()}, str(path))


def words() -> list[str]:
    """Returns the words of the scenes."""
    texts = [*ATTRIBUTES.values(), *(predicate for _, predicate, _ in FRAMES)]
    names = [word.partition(":")[0] for line in OBJECTS.values() for word in line.split()]
    return sorted({word for text in texts for word in text.split()} | set(names) | set("the is and not an of".split()))


def write_word_pieces(folder: Path) -> int:
    """Writes a vocabulary of BERT's kind: the words of the scenes and letters; returns its size."""
    folder.mkdir(parents=True, exist_ok=True)
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", *LETTERS, *(f"##{each}" for each in LETTERS)]
    pieces = list(dict.fromkeys([*marks, *words()]))
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    return len(pieces)


def _tiny(vocabulary: int) -> dict:
    sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}
    return {**sizes, "vocab_size": vocabulary, "initializer_range": 0.5}


def write_nli(folder: Path) -> None:
    """Writes a tiny model of inference, with the labels of roberta-large-mnli."""
    import torch
    from transformers import RobertaConfig, RobertaForSequenceClassification

    n_tokens = _write_byte_tokeniser(folder)
    labels = ["CONTRADICTION", "NEUTRAL", "ENTAILMENT"]
    torch.manual_seed(1)
    config = RobertaConfig(
        **_tiny(n_tokens),
        max_position_embeddings=514,
        type_vocab_size=1,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
        **{"bos_token_id": 0, "pad_token_id": 1, "eos_token_id": 2},
    )
    RobertaForSequenceClassification(config).save_pretrained(folder)


def _write_byte_tokeniser(folder: Path) -> int:
    """Writes a tokenizer of RoBERTa's kind whose tokens are bytes; returns their number."""
    from tokenizers.pre_tokenizers import ByteLevel
    from transformers import RobertaTokenizer

    folder.mkdir(parents=True, exist_ok=True)
    marks = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]
    tokens = [*marks, *sorted(ByteLevel.alphabet())]
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}))
    (folder / "merges.txt").write_text("#version: 0.2\n")
    files = {"vocab_file": str(folder / "vocab.json"), "merges_file": str(folder / "merges.txt")}
    RobertaTokenizer.from_pretrained(str(folder), **files).save_pretrained(folder)
    return len(tokens)


def write_masked_model(folder: Path) -> None:
    """Writes a tiny masked model of texts."""
    import torch
    from transformers import BertConfig, BertForMaskedLM, BertTokenizer

    n_pieces = write_word_pieces(folder)
    BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    torch.manual_seed(2)
    BertForMaskedLM(BertConfig(**_tiny(n_pieces))).save_pretrained(folder)


def write_causal_model(folder: Path) -> None:
    """Writes a tiny causal model of texts, for the audit."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast

    tokens = {word: i for i, word in enumerate(["<end>", "?", *words()])}
    tokeniser = Tokenizer(models.WordLevel(tokens, unk_token="?"))
    tokeniser.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(3)
    sizes = {"n_positions": 256, "n_embd": 16, "n_layer": 2, "n_head": 2}
    GPT2LMHeadModel(GPT2Config(vocab_size=len(tokens), **sizes)).save_pretrained(folder)
    marks = {"eos_token": "<end>", "unk_token": "?", "pad_token": "<end>"}
    PreTrainedTokenizerFast(tokenizer_object=tokeniser, **marks).save_pretrained(folder)
