"""Cut captions that are longer than a model reads at the last punctuation mark that still fits, and count them.

Source: CLIC's retrieval of long captions (the authors' answer to reviewers): captions are cut at the last punctuation
within 77 tokens. A caption that fits stays as it is.

# ASSUME: the marks are `. , ; : ! ?` before a space or the end, so that "3.5" and "U.S.A" stay whole; a mark stays in
the text. A caption whose first sentence does not fit is cut by the model's own tokenizer, and counted apart.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from crepebench.accounting import KEPT, READ

MARK = re.compile(r"[.,;:!?][\"')\]]*(?=\s|$)")
CUT_AT_MARK, NO_MARK_FITS = "cut_at_mark", "no_mark_fits"
"""What became of a caption that does not fit; one that fits is KEPT."""
Fits = Callable[[Sequence[str]], list[bool]]
"""Says which of some texts a model reads to their end."""


class CutCaption(NamedTuple):
    """A caption as a model is given it: the text, and KEPT, CUT_AT_MARK or NO_MARK_FITS."""

    text: str
    outcome: str


def cut_places(text: str) -> list[int]:
    """Returns where a text may be cut, behind each mark but one at its end, in their order."""
    end = len(text.rstrip())
    return [found.end() for found in MARK.finditer(text) if found.end() < end]


def fits_clip() -> Fits:
    """Returns what says which texts CLIP reads to their end: at most 77 tokens of its own, with both marks."""
    from open_clip.tokenizer import SimpleTokenizer

    from crepebench.open_clip_models import tokenise

    tokeniser = SimpleTokenizer()
    return lambda texts: (tokenise(tokeniser, list(texts))[1] <= tokeniser.context_length).tolist()


def cut_captions(captions: Sequence[str], fits: Fits) -> list[CutCaption]:
    """Cuts captions to what a model reads; a longer beginning has no fewer tokens, so marks are searched by halves.

    Args:
        captions: captions of any length.
        fits: says which of some texts the model reads to their end.

    Returns:
        One for each caption, in their order.
    """
    bounds: dict[int, tuple[list[int], int, int]] = {}
    results = [CutCaption(caption, KEPT) for caption in captions]
    for number, is_fit in enumerate(fits(captions)):
        if not is_fit:
            places = cut_places(captions[number])
            results[number] = CutCaption(captions[number], NO_MARK_FITS)
            bounds[number] = places, 0, len(places)  # marks known to fit; the first mark known not to
    while open_ones := {number: found for number, found in bounds.items() if found[1] < found[2]}:
        tried = {number: (low + high) // 2 for number, (_, low, high) in open_ones.items()}
        texts = [captions[number][: bounds[number][0][middle]] for number, middle in tried.items()]
        for (number, middle), text, is_fit in zip(tried.items(), texts, fits(texts), strict=True):
            places, low, high = bounds[number]
            if is_fit:
                results[number] = CutCaption(text, CUT_AT_MARK)
            bounds[number] = (places, middle + 1, high) if is_fit else (places, low, middle)
    return results


def count_captions(cut: Sequence[CutCaption]) -> Mapping[str, int]:
    """Returns accounting counts: captions read, and what became of them."""
    counts = Counter({READ: len(cut), KEPT: 0})
    counts.update(caption.outcome for caption in cut)
    return counts
