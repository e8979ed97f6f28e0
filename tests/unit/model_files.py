"""Random weights in the forms of released checkpoints, and tiny vocabularies, for the tests of the model families."""

import json
import string

TEXTS = [
    "a red jar",
    "two large hollow blue buckets hanging from a small brown dumpster",
    "",
    "a b c d e f g h i j k l m n o p",
    "umbrella",
]
SMALL_CLIP = {
    "embed_dim": 16,
    "vision_cfg": {"image_size": 32, "layers": 1, "width": 32, "patch_size": 16, "head_width": 16},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 16, "heads": 2, "layers": 2},
}


def random_images(size, n=2):
    import torch

    return torch.rand(n, 3, size, size, generator=torch.Generator().manual_seed(5)) * 2 - 1


def shake(model, seed=7):
    """Gives every weight that starts as a constant some noise, so that no swap of two of them goes unseen."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, tensor in model.state_dict().items():
            if tensor.is_floating_point() and "running" not in name and "logit" not in name:
                tensor += 0.02 * torch.randn(tensor.shape, generator=generator)
    return model.eval()


def unit(features):
    import torch

    return torch.nn.functional.normalize(features.float(), dim=-1).numpy()


def write_bert_vocabulary(folder):
    """Writes a vocabulary of letters, so that words take as many pieces as they have letters."""
    folder.mkdir(parents=True, exist_ok=True)
    letters = string.ascii_lowercase + string.digits
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", *letters[1:], *(f"##{each}" for each in letters)]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    return len(words)


def write_word_tokeniser(folder, ends=True):
    """Writes a fast tokenizer of words as Hugging Face keeps them, with an end token behind each text."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    folder.mkdir(parents=True, exist_ok=True)
    words = sorted({word for text in TEXTS for word in text.split()} | {"photo", "dogs"})
    vocabulary = {word: i for i, word in enumerate(["<pad>", "</s>", "<unk>", "<s>", "<cls>", *words])}
    tokeniser = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokeniser.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if ends:
        tokeniser.post_processor = processors.TemplateProcessing("$A </s>", special_tokens=[("</s>", 1)])
    tokeniser.save(str(folder / "tokenizer.json"))
    marks = {"pad_token": "<pad>", "eos_token": "</s>", "unk_token": "<unk>", "bos_token": "<s>", "cls_token": "<cls>"}
    marks["sep_token"] = "</s>"
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 1000, **marks}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return len(vocabulary)


def write_torchscript(path, state):
    """Writes a state dict as an archive like OpenAI's: a scripted module with the weights under their names."""
    import torch

    class Holder(torch.nn.Module):
        def forward(self, x: torch.Tensor):
            return x

    root = Holder()
    for key, tensor in state.items():
        module, (*parents, name) = root, key.split(".")
        for parent in parents:
            if parent not in module._modules:
                module.add_module(parent, Holder())
            module = module._modules[parent]
        module.register_buffer(name, tensor)
    torch.jit.script(root).save(str(path))
