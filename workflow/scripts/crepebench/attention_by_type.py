"""Compare how much each head of a correction attends to negation words and to content words.

Source: paper "PeakPatch" (arXiv 2607.23271), its analysis of attention by token type: a head is negation-selective if
its mean attention on negation words is more than 1.5 times that on content words. Neither its 12 prompts nor its lists
of words are published; ours are committed in resources/negation/attention_prompts.yaml.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from crepebench.measures import write_csv

NEGATION_WORDS = frozenset("no not without never neither nor nothing none n't".split())
SELECTIVE_RATIO = 1.5
NEGATION, CONTENT, OTHER = "negation", "content", "other"
WORD = re.compile(r"n['\u2019]t\b|[a-z]+?(?=n['\u2019]t\b)|[a-z0-9]+(?:-[a-z0-9]+)*", re.IGNORECASE)
"""Words, of which "isn't" is two; punctuation is none."""
Offsets = Sequence[tuple[int, int] | None]
"""Characters, from and to, of each token's text; None of marks of beginning and end, and of padding."""
COLUMNS = ("head", "negation", "content", "ratio", "selective", "n_prompts")


class Prompt(NamedTuple):
    """A prompt and its words of content, lower case."""

    text: str
    content: frozenset[str]


def read_prompts(path: str) -> list[Prompt]:
    """Reads the committed prompts.

    Raises:
        ValueError: the file has none, a prompt has no negation word, or a content word does not stand in it; names it.
    """
    import yaml

    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    rows = document.get("prompts") if isinstance(document, Mapping) else None
    if not rows:
        raise ValueError(f"{path}: there is no list `prompts`")
    prompts = []
    for number, row in enumerate(rows, start=1):
        if not isinstance(row, Mapping) or not {"text", "content"} <= row.keys():
            raise ValueError(f"{path}: prompt {number}: {row!r} has not both a text and its content words")
        prompt = Prompt(row["text"], frozenset(row["content"].lower().split()))
        words = {prompt.text[start:end].lower() for start, end in word_spans(prompt.text)}
        if missing := sorted(prompt.content - words):
            raise ValueError(f"{path}: prompt {number} ({prompt.text!r}): it lacks the words {', '.join(missing)}")
        if NEGATION not in {kind for _, kind in words_of(prompt)} or not prompt.content:
            raise ValueError(f"{path}: prompt {number} ({prompt.text!r}): it has no negation word, or no content word")
        prompts.append(prompt)
    return prompts


def word_spans(text: str) -> list[tuple[int, int]]:
    """Returns where the words of a text begin and end."""
    return [match.span() for match in WORD.finditer(text)]


def words_of(prompt: Prompt) -> list[tuple[tuple[int, int], str]]:
    """Returns the place and the class of each word of a prompt: NEGATION, CONTENT or OTHER."""
    found = []
    for start, end in word_spans(prompt.text):
        word = prompt.text[start:end].lower().replace("\u2019", "'")
        kind = NEGATION if word in NEGATION_WORDS else CONTENT if word in prompt.content else OTHER
        found.append(((start, end), kind))
    return found


def attention_of_words(weights: np.ndarray, offsets: Offsets, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """Adds up the attention on the tokens of each word, (n_heads, n_words).

    A token belongs to the word with which it shares most characters, the first of equals; tokens without a text, and
    those of no word (punctuation), are left out.

    Args:
        weights: (n_heads, n_tokens).
        offsets: of each token.
        spans: of each word.

    Raises:
        ValueError: weights and offsets differ in number.
    """
    if weights.ndim != 2 or weights.shape[1] != len(offsets):
        raise ValueError(f"weights of shape {weights.shape} are not of {len(offsets)} tokens")
    found = np.zeros((len(weights), len(spans)))
    for token, place in enumerate(offsets):
        if place is None:
            continue
        shared = [min(place[1], end) - max(place[0], start) for start, end in spans]
        if shared and max(shared) > 0:
            found[:, shared.index(max(shared))] += weights[:, token]
    return found


def compare_attention(prompts: Sequence[Prompt], attend: Callable[[str], tuple[np.ndarray, Offsets]]) -> dict:
    """Compares the attention on negation words and content words for each head.

    # ASSUME: of each prompt the attention is averaged over its negation words and over its content words, these means
    over prompts, and the ratio is that of the two results; the paper does not say in which order it averages.

    Args:
        prompts: the prompts.
        attend: gives a prompt's attention weights (n_heads, n_tokens) and the offsets of its tokens.

    Returns:
        `heads` (rows of COLUMNS; a ratio is None where the attention on content words is 0), `selective` (the numbers
        of negation-selective heads), `share_selective` (in percent) and `n_prompts`.

    Raises:
        ValueError: there are no prompts, or a word of a prompt has no token (the model cut it off).
    """
    means = []
    for prompt in prompts:
        words = words_of(prompt)
        weights, offsets = attend(prompt.text)
        spans = [span for span, _ in words]
        _check_cover(prompt, offsets, spans)
        of_words = attention_of_words(np.asarray(weights, np.float64), offsets, spans)
        kinds = np.array([kind for _, kind in words])
        means.append([of_words[:, kinds == kind].mean(axis=1) for kind in (NEGATION, CONTENT)])
    if not means:
        raise ValueError("there are no prompts to read the attention of")
    negation, content = np.mean(means, axis=0)
    rows = []
    for head, (on_negation, on_content) in enumerate(zip(negation.tolist(), content.tolist(), strict=True)):
        ratio = on_negation / on_content if on_content > 0 else None
        is_selective = on_negation > SELECTIVE_RATIO * on_content
        rows.append(dict(zip(COLUMNS, (head, on_negation, on_content, ratio, is_selective, len(means)), strict=True)))
    selective = [row["head"] for row in rows if row["selective"]]
    share = 100.0 * len(selective) / len(rows)
    return {"heads": rows, "selective": selective, "share_selective": share, "n_prompts": len(means)}


def write_attention(prompts_path: str, attend: Callable[[str], tuple[np.ndarray, Offsets]], table_path: str) -> dict:
    """Writes the attention of each head by kind of word as CSV (COLUMNS), and returns what was found.

    Args:
        prompts_path: attention_prompts.yaml.
        attend: as in `compare_attention`.
        table_path: CSV to write; `selective` is yes or no.
    """
    found = compare_attention(read_prompts(prompts_path), attend)
    rows = [
        {name: f"{value:.6f}" if isinstance(value, float) else value for name, value in row.items()}
        | {"ratio": "" if row["ratio"] is None else f"{row['ratio']:.6f}"}
        | {"selective": "yes" if row["selective"] else "no"}
        for row in found["heads"]
    ]
    write_csv(table_path, COLUMNS, rows)
    return found


def _check_cover(prompt: Prompt, offsets: Offsets, spans: Iterable[tuple[int, int]]) -> None:
    for start, end in spans:
        if not any(place and place[0] < end and place[1] > start for place in offsets):
            raise ValueError(f"prompt {prompt.text!r}: no token stands for {prompt.text[start:end]!r}")


def token_offsets(tokeniser, text: str, length: int) -> list[tuple[int, int] | None]:
    """Returns the characters of each of the first `length` tokens of a text, by the order in which they stand in it.

    Args:
        tokeniser: SimpleTokenizer, or HFTokenizer with a fast tokenizer, of open_clip.
        text: the text; plain, so that the tokenizer's cleaning changes no more than case.
        length: of the row of tokens, with marks and padding.

    Raises:
        ValueError: a token does not stand in the text, whose cleaning changed it then.
    """
    if hasattr(tokeniser, "tokenizer"):
        encoded = tokeniser.tokenizer(tokeniser.clean_fn(text), return_offsets_mapping=True)
        places = [place if place[0] < place[1] else None for place in map(tuple, encoded["offset_mapping"])]
    else:
        places, at = [None], 0
        for token in tokeniser.encode(text):
            piece = tokeniser.decoder[token].removesuffix("</w>")
            piece = bytearray(tokeniser.byte_decoder[letter] for letter in piece).decode("utf-8", errors="replace")
            start = text.lower().find(piece, at)
            if start < 0:
                raise ValueError(f"prompt {text!r}: its token {piece!r} does not stand in it")
            at = start + len(piece)
            places.append((start, at))
    return [*places, *[None] * max(0, length - len(places))][:length]
