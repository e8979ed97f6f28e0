"""Say whether a caption holds a negation cue: a word that denies something.

# ASSUME: the cues are the English words below and every contraction with "n't"; NegBench names no list. Its negated
captions that hold none ("it is uninhabited") are counted, and recalls are also given without them.
"""

import re
from collections.abc import Sequence

import numpy as np

CUES = (
    *("no", "not", "without", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot"),
    *("absent", "absence", "lack", "lacks", "lacked", "lacking", "devoid", "missing"),
)
"""Words that are cues wherever they stand."""
PHRASES = ("free of", "free from", "empty of", "void of", "instead of", "rather than", "bereft of")
"""Cues of more than one word."""
BEHIND = ("absent", "absence", "missing")
"""Cues that may stand behind what they deny: "a dog is missing"."""
ENDS = (".", ",", ";", "but", "though", "although", "however", "while", "yet")
"""Tokens that end a clause."""
CUE = re.compile(rf"\b(?:{'|'.join((*CUES, *PHRASES))})\b|n['\u2019]t\b", re.IGNORECASE)


def denied_tokens(tokens: Sequence[str]) -> np.ndarray:
    """Says which tokens a text denies: those behind a cue in its clause, or all of its clause by a cue of BEHIND.

    # ASSUME: a clause ends at a comma, semicolon, full stop or a word of ENDS. So "no dog and a cat" denies both.

    Args:
        tokens: of one text, in lower case, as `crepebench.candidate_texts.tokenise` gives them.

    Returns:
        (n_tokens,) bool.
    """
    denied, start, found = np.zeros(len(tokens), bool), 0, False
    for place, token in enumerate(tokens):
        if token in ENDS:
            start, found = place + 1, False
            continue
        denied[place] = found
        if token in BEHIND:
            denied[start:place] = True
        # a phrase of two words counts from its second one
        is_phrase = place > 0 and f"{tokens[place - 1]} {token}" in PHRASES
        found = found or token in CUES or is_phrase or token.endswith(("n't", "n\u2019t"))
    return denied


def has_cue(text: str) -> bool:
    """Says whether a text holds a negation cue, as a whole word in any case."""
    return CUE.search(text) is not None
