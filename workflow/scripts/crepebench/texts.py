"""Bring every text, of a region or of a training caption, into one canonical form; docs/corpora.md has the policy.

The functions on arrays give what the functions on single texts give, row by row; only rows that need work go through
Python.
"""

import html
import re
import unicodedata
from collections.abc import Callable
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc

SPACES = re.compile("[\x00-\x1f\x7f-\x9f\u200b\u2028\u2029]")
"""Control characters, line and paragraph separators, and the space of no width: they part words."""
INVISIBLE = re.compile("[\u00ad\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff]")
"""Soft hyphens, byte order marks and marks of the writing direction. The joiners of emoji and scripts are not here."""
CLEAN_CHARACTER = "[!-~\u00a1-\u00ac\u00ae-\u024f\u2010-\u2027\u2030-\u205e]"
"""Characters that the canonical form keeps whatever stands beside them: Latin letters, digits, punctuation."""
CLEAN = f"^{CLEAN_CHARACTER}+( {CLEAN_CHARACTER}+)*$"
TAG = re.compile(r"<(/?[a-z][^<>]*|!--.*?--)>", re.IGNORECASE | re.DOTALL)
"""An HTML tag or comment. CC-12M's masked names (<PERSON>) look like tags, so only YFCC's texts are stripped."""


def normalise_text(text: str) -> str:
    """Returns canonical text: NFC, nothing invisible, control characters and runs of white space as one space."""
    text = unicodedata.normalize("NFC", INVISIBLE.sub("", SPACES.sub(" ", text)))
    return " ".join(text.split())


def decode_yfcc_text(text: str) -> str | None:
    """Decodes a field of YFCC100M's metadata: percent and plus once, then HTML entities and tags.

    Returns:
        The text; None if its bytes are not UTF-8.
    """
    try:
        return TAG.sub(" ", html.unescape(unquote_plus(text, errors="strict")))
    except UnicodeDecodeError:
        return None


def normalise_texts(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Returns `normalise_text` of every text; null stays null."""
    return _replace_where(texts, pc.invert(pc.match_substring_regex(texts, CLEAN)), normalise_text)


def decode_yfcc_texts(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Returns `decode_yfcc_text` of every text; null stays null."""
    spaced = pc.replace_substring(texts, "+", " ")
    mask = pc.match_substring_regex(texts, "[%&<]")
    return _replace_where(texts, mask, decode_yfcc_text, spaced)


def lower_texts(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Returns `str.lower` of every text; null stays null."""
    return _replace_where(texts, pc.invert(pc.string_is_ascii(texts)), str.lower, pc.ascii_lower(texts))


def _replace_where(
    texts: pa.LargeStringArray, mask: pa.BooleanArray, function: Callable, others: pa.LargeStringArray | None = None
) -> pa.LargeStringArray:
    """Returns `function` of each text where the mask is true, and `others` (the text itself by default) elsewhere."""
    others = texts if others is None else others
    mask = mask.fill_null(False)
    chosen = texts.filter(mask)
    if len(chosen) == 0:
        return others
    return pc.replace_with_mask(others, mask, pa.array(map(function, chosen.to_pylist()), pa.large_string()))
