"""Refuse texts of negation that are copies, too long, without a cue, or that do not deny what they should.

Source: PeakPatch (arXiv 2607.23271), section 3.2: no exact copies, at most 77 tokens of CLIP, and a round trip by which
texts must differ by a negation. Here the round trip asks more: our parser must not find the denied thing as shown.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from crepebench.graphs import ATTRIBUTE, OBJECT, Graph
from crepebench.long_captions import Fits
from crepebench.negation_forms import NegationForms

COPY, TOO_LONG, NO_CUE, CUE_IN_AFFIRMED, STILL_SHOWN = (
    *("copy", "over_77_tokens", "cue_missing", "cue_in_affirmed", "round_trip"),
)
SHORT = 75
"""Bytes of a text that has at most 77 tokens whatever it says: a token is a byte at least, and two are marks."""


class Denial(NamedTuple):
    """A text that denies something.

    Attributes:
        text: the text.
        affirmed: a text that says the same of what is there.
        kind: OBJECT or ATTRIBUTE.
        concept: what is denied, in normal form.
        noun: of an attribute, the noun that has it, in normal form.
        has_base: whether it also says what is there.
    """

    text: str
    affirmed: str
    kind: str
    concept: str
    noun: str = ""
    has_base: bool = True


def normal(text: str) -> str:
    """Returns a text as two are compared."""
    return " ".join(text.lower().split()).rstrip(" .")


def fits_context(texts: Sequence[str], fits: Fits) -> list[bool]:
    """Says which texts CLIP reads to their end; short ones without their tokens."""
    long = [text for text in texts if len(text.encode()) > SHORT]
    known = dict(zip(long, fits(long), strict=True)) if long else {}
    return [known.get(text, True) for text in texts]


def refuse(denial: Denial, graph: Graph, forms: NegationForms) -> str:
    """Returns why a denial is of no use; "" where it is.

    Args:
        denial: the text.
        graph: of the text.
        forms: cues and words.
    """
    if normal(denial.text) == normal(denial.affirmed):
        return COPY
    if not forms.has_cue(denial.text):
        return NO_CUE
    if forms.has_cue(denial.affirmed):
        return CUE_IN_AFFIRMED
    return "" if is_denied(denial, graph, forms) else STILL_SHOWN


def is_denied(denial: Denial, graph: Graph, forms: NegationForms) -> bool:
    """Says whether a text denies what it should, and says nowhere that it is there.

    The cue must reach the concept, and the parser may find it as shown nowhere but in the reach of a cue: it takes
    implicit denials ("free of jars") for a jar. What else the text says must be there, too.
    """
    if denial.concept.split()[-1] not in forms.denied_words(denial.text):
        return False
    spans = forms.denied_spans(denial.text)
    shown = [atom for atom in graph.atoms if not any(start <= atom.start and atom.end <= end for start, end in spans)]
    objects = [atom.text for atom in shown if atom.kind == OBJECT]
    if denial.kind == OBJECT:
        others = [text for text in objects if text not in forms.no_concepts]
        return denial.concept not in objects and (bool(others) or not denial.has_base)
    attributes = [(atom.text, graph.atoms[atom.object].text) for atom in shown if atom.kind == ATTRIBUTE]
    return (denial.concept, denial.noun) not in attributes and denial.noun in objects


def check_denials(
    denials: Iterable[Denial],
    parse: Callable[[Iterable[str]], Iterable[Graph]],
    forms: NegationForms,
    fits: Fits,
) -> list[str]:
    """Returns for each denial why it is of no use, "" where it is; texts are parsed once."""
    denials = list(denials)
    places: dict[str, list[int]] = {}
    for place, denial in enumerate(denials):
        places.setdefault(denial.text, []).append(place)
    is_short = fits_context([denial.text for denial in denials], fits)
    is_short_too = fits_context([denial.affirmed for denial in denials], fits)
    reasons = [""] * len(denials)
    for own, graph in zip(places.values(), parse(places), strict=True):
        for place in own:
            too_long = not (is_short[place] and is_short_too[place])
            reasons[place] = TOO_LONG if too_long else refuse(denials[place], graph, forms)
    return reasons
