"""Say whether a caption holds a negation cue: a word that denies something.

# ASSUME: the cues are the English words below and every contraction with "n't"; NegBench names no list. Its negated
captions that hold none ("it is uninhabited") are counted, and recalls are also given without them.
"""

import re

CUES = (
    *("no", "not", "without", "never", "none", "nobody", "nothing", "nowhere", "neither", "nor", "cannot"),
    *("absent", "absence", "lack", "lacks", "lacked", "lacking", "devoid", "missing"),
)
"""Words that are cues wherever they stand."""
PHRASES = ("free of", "free from", "empty of", "void of", "instead of", "rather than", "bereft of")
"""Cues of more than one word."""
CUE = re.compile(rf"\b(?:{'|'.join((*CUES, *PHRASES))})\b|n['\u2019]t\b", re.IGNORECASE)


def has_cue(text: str) -> bool:
    """Says whether a text holds a negation cue, as a whole word in any case."""
    return CUE.search(text) is not None
