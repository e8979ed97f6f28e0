"""Take captions apart into the sentences that CLIC trains on.

Source: paper "CLIC, arXiv 2505.24424" and its code: a beginning that says nothing is taken off the first sentence,
sentences end at a full stop before a capital, those of 4 to 34 words stay, and an image needs two of them.

# ASSUME: a full stop within a number or an abbreviation ends no sentence. The release first splits at every full stop
and joins the parts with ". ", so that "3.5" becomes "3. 5" and "U.S. Army" falls apart; `release_quirks` does the same.
# ASSUME: a sentence may also end with "!" or "?", and a single capital with a full stop is an initial ("J. Smith").
# ASSUME: a sentence that an image has twice counts once, so that further positives say something else.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from crepebench.accounting import KEPT, READ

LEAST_WORDS, MOST_WORDS = 4, 34
"""Words of a sentence that is kept. Source: CLIC's code."""
LEAST_SENTENCES = 2
"""Sentences of an image that is kept. Source: CLIC's code."""
SENTENCE_SHORT, SENTENCE_LONG, SENTENCE_REPEATED = "sentence_short", "sentence_long", "sentence_repeated"
"""Reasons why a sentence is dropped."""
WORD = re.compile(r"\w+")
BOUNDARY = re.compile(r"(?<=[.!?])\s+(?=[\"'“‘(]?(\w))")
INITIAL = re.compile(r"(?:^|\W)[^\W\d_a-z]\.$")


class SentenceRules(NamedTuple):
    """Beginnings that say nothing, in the order in which they are tried, and abbreviations with their full stops."""

    prefixes: tuple[str, ...]
    abbreviations: tuple[str, ...]


def read_sentence_rules(path: str) -> SentenceRules:
    """Reads resources/clic/sentences.yaml."""
    import yaml

    table = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    prefixes = [f"{subject} {verb}" for subject in table["subjects"] for verb in table["verbs"]]
    return SentenceRules((*prefixes, *table["phrases"]), tuple(table["abbreviations"]))


def split_sentences(caption: str, rules: SentenceRules, release_quirks: bool = False) -> list[str]:
    """Takes a caption apart into sentences, without a beginning that says nothing.

    Args:
        caption: as it was written: capitals tell where sentences begin.
        rules: what `read_sentence_rules` returns.
        release_quirks: whether every full stop parts the caption first, as in CLIC's code.
    """
    if release_quirks:
        pieces = [piece.strip() for piece in caption.split(".")]
        caption = ". ".join([strip_beginning(pieces[0], rules), *pieces[1:]])
    else:
        caption = strip_beginning(caption, rules)
    sentences, start = [], 0
    for match in BOUNDARY.finditer(caption):
        before = caption[start : match.start()]
        if not match[1].isupper() or _is_open(before, rules, release_quirks):
            continue
        sentences.append(before.strip())
        start = match.end()
    return [sentence for sentence in (*sentences, caption[start:].strip()) if WORD.search(sentence)]


def _is_open(before: str, rules: SentenceRules, release_quirks: bool) -> bool:
    """Says whether a sentence goes on behind its last full stop, which is that of an abbreviation or an initial."""
    if before.endswith(("!", "?")):
        return release_quirks
    last = before.rpartition(" ")[2].lstrip("\"'“‘(")
    return last in rules.abbreviations or (not release_quirks and INITIAL.search(before) is not None)


def strip_beginning(caption: str, rules: SentenceRules) -> str:
    """Takes beginnings that say nothing off a caption, each once, in the order of the table."""
    caption = caption.strip()
    for prefix in rules.prefixes:
        rest = caption[len(prefix) :]
        if caption.startswith(prefix) and rest[:1].isspace():
            caption = rest.strip()
    return caption


def use_sentences(sentences: Sequence[str], counts: Counter) -> list[str]:
    """Returns the sentences of an image that can be used, in lower case; counts all.

    Args:
        sentences: of one image, in order.
        counts: takes READ, KEPT and reasons, of sentences.
    """
    used: dict[str, str] = {}
    for sentence in sentences:
        lower = sentence.strip().lower()
        n_words, key = len(WORD.findall(lower)), lower.rstrip(" .")
        short, long = n_words < LEAST_WORDS, n_words > MOST_WORDS
        reason = SENTENCE_SHORT if short else SENTENCE_LONG if long else SENTENCE_REPEATED if key in used else KEPT
        counts.update((READ, reason))
        if reason == KEPT:
            used[key] = lower
    return list(used.values())


def in_one(*sentences: str) -> str:
    """Joins sentences by a space; each ends with a full stop. Source: CLIC's code."""
    stripped = [sentence.rstrip() for sentence in sentences]
    return " ".join(one if one.endswith(".") else f"{one}." for one in stripped)
