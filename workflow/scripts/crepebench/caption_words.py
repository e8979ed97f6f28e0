"""Normal form of captions, and the words in which they express relations and objects.

# ASSUME: relations stand as participles ("wears" -> "wearing"), copulas are dropped, and "has" is "with".
"""

from collections.abc import Mapping

from crepebench import inflection
from crepebench.graphs import HAVE
from crepebench.image_facts import ARTICLES, COPULAS
from crepebench.lemmas import lemmatise
from crepebench.prepositions import NORMAL_FORM_OF_WORDS

PLAIN = str.maketrans({"‘": "'", "’": "'", "“": '"', "”": '"', "–": "-", "—": "-", "…": "..."})
"""Typographic quotes and dashes, and what stands for them."""
PLURALS = frozenset("cattle people police".split())
"""Nouns that are plural without a plural's form."""
NOT_VERBS = frozenset(
    "back bottom close front can could full left may middle opposite part right round side top".split()
)
"""First words of relations ("top of") that are verbs elsewhere."""


def normalise(text: str) -> str:
    """Returns a caption in lower case, with single spaces, plain quotes and dashes, and no stop at its end."""
    return " ".join(text.translate(PLAIN).lower().split()).rstrip(" .")


def relation_words(name: str) -> str:
    """Returns a relation as it follows a noun: "wears" -> "wearing", "is parked on a" -> "parked on", "has" -> "with".

    Args:
        name: the predicate as annotated.
    """
    words = normalise(name).split()
    was_copula = False
    while len(words) > 1 and words[0] in COPULAS:
        words, was_copula = words[1:], True
    while len(words) > 1 and words[-1] in ARTICLES:
        words = words[:-1]
    if not words or words[0] in inflection.PREPOSITIONS or tuple(words) in NORMAL_FORM_OF_WORDS:
        return " ".join(words)
    if words in ([HAVE], ["has"], ["having"], ["had"]):
        return "with"
    if words[0] not in NOT_VERBS and _is_verb(words[0]):
        words[0] = _participle(words[0], is_passive=was_copula or words[1:2] == ["by"])
    return " ".join(words)


def _is_verb(word: str) -> bool:
    """Says whether a word is a form of a verb that the tables know: "adjacent" is none."""
    from lemminflect import getAllLemmas

    return bool(getAllLemmas(word, upos="VERB"))


def _participle(verb: str, is_passive: bool) -> str:
    """Returns the present participle of a finite verb, and a participle as it is.

    Args:
        verb: one form of it.
        is_passive: whether a form that may be either ("cut") is a participle.
    """
    lemma = lemmatise(verb, "VERB")
    tag = inflection.verb_tag(lemma, verb)
    if tag in ("VBZ", "VBD", "VBP") or (verb == lemma and not is_passive):
        return inflection.inflect(lemma, "VBG")
    return verb


def is_plural(atom: Mapping) -> bool:
    """Says whether an object's name is plural, by the head noun: "glasses of water" are."""
    words = head_of(normalise(atom["name"]))
    last = words.rpartition(" ")[2]
    return last in PLURALS or inflection.is_plural(atom["text"].rpartition(" ")[2], last)


def head_of(name: str) -> str:
    """Returns the part of a name that stands before a preposition: "glass" of "glass of water"."""
    words = name.split()
    end = next((i for i, word in enumerate(words) if i and word in inflection.PREPOSITIONS), len(words))
    return " ".join(words[:end])
