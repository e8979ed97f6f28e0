"""Tokens of captions, and what can be seen of a caption before its atoms are looked for."""

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from crepebench.image_facts import COPULAS
from crepebench.inflection import PREPOSITIONS
from crepebench.lemmas import lemmatise

TOKEN = r"\w+?(?=n't\b)|n't\b|'s\b|\w+(?:-\w+)*|[^\w\s]"
NEGATIONS = frozenset("no not n't never without none nothing nobody neither nor cannot".split())
META = re.compile(
    r"(?<!\w)(?:sorry|captions?|describ\w+|descriptions?|here(?: is|'s)|sure|certainly|of course|as an ai|i|i'm|we|you"
    r"|cannot|can't|unable|facts?|sentences?)(?!\w)"
)
"""Words by which a model speaks of its task, or refuses it."""
MARKUP = re.compile(r"[\"“”:<>{}\[\]|*#=]|^\s*(?:[-–•]|\d+[.)])")
"""Quotes, colons, markup and marks of lists."""
DETERMINERS = frozenset("a an the some this that these those another other its".split())
BE = frozenset((*COPULAS, "being", "been"))
PRONOUNS = frozenset("it them they itself themselves".split())
CONNECTIVES = frozenset("and while as also but plus too both which who that where whom along together".split())
BOUNDARIES = frozenset((".", ";"))
JOINTS = frozenset(("and", ",", "while", "but", "plus"))
"""What stands between coordinated phrases."""
PUNCTUATION = frozenset((".", ",", ";", "'", "-"))
CANNOT_END = frozenset((*DETERMINERS, *BE, *CONNECTIVES, ",", "there", "with", "of"))
"""Tokens with which no caption ends."""
MORE_WORDS_PER_ATOM, MORE_WORDS = 4, 8
"""A caption has at most MORE_WORDS_PER_ATOM * n + MORE_WORDS words."""


class Token(NamedTuple):
    """A word or sign of a caption: its text, first character, and the character behind its last one."""

    text: str
    start: int
    end: int

    @property
    def noun(self) -> str:
        """Its lemma as a noun."""
        return lemmatise(self.text, "NOUN")

    @property
    def verb(self) -> str:
        """Its lemma as a verb."""
        return lemmatise(self.text, "VERB")

    @property
    def adjective(self) -> str:
        """Its lemma as an adjective."""
        return lemmatise(self.text, "ADJ")


def tokenise(text: str, units: Collection[str] = ()) -> list[Token]:
    """Returns the words and signs of a normalised caption; "'s" and "n't" are tokens of their own.

    Args:
        text: the caption.
        units: words that are one token together: "black and white".
    """
    whole = "".join(rf"\b{re.escape(unit)}\b|" for unit in sorted(units))
    return [Token(match[0], match.start(), match.end()) for match in re.finditer(whole + TOKEN, text)]


def form_fault(text: str, tokens: Sequence[Token], own_words: set[str], n_atoms: int) -> str:
    """Returns why a text is no caption whatever its atoms are, "" where nothing is wrong.

    Args:
        text: as a model wrote it.
        tokens: those of the normalised text.
        own_words: words of the atoms' names, which are never held against it.
        n_atoms: complexity.
    """
    if "\n" in text.strip() or "\r" in text.strip():
        return "not_one_line"
    meta = [match[0] for match in META.finditer(text.lower().replace("’", "'")) if match[0] not in own_words]
    n_words = sum(token.text[0].isalnum() for token in tokens)
    if not n_words or meta or MARKUP.search(text):
        return "no_sentence"
    if any(token.text in NEGATIONS - own_words for token in tokens):
        return "negation"
    if n_words < n_atoms:
        return "too_short"
    if n_words > MORE_WORDS_PER_ATOM * n_atoms + MORE_WORDS:
        return "too_long"
    last_clause = {token.text for token in tokens[-12:]}
    is_stranded = tokens[-1].text in PREPOSITIONS and not last_clause & {"that", "which", "whom"}
    if tokens[-1].text in CANNOT_END or is_stranded:
        return "cut_off"
    return ""
