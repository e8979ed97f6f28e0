"""Tell from spaCy's tags and dependencies which tokens are objects, and what belongs to them."""

from crepebench.lemmas import lemmatise

COLOURS = frozenset("red orange yellow green blue purple pink brown black white gray grey".split())
"""Basic colour terms: adjectives before a noun, whatever the tagger makes of "white house" or "orange key"."""


def is_object(token, in_span: set[int]) -> bool:
    """Says whether a token is the head of a noun phrase that names an object."""
    if token.pos_ not in ("NOUN", "PROPN") or not any(char.isalpha() for char in token.text):
        return False
    if any(child.lower_ == "no" for child in token.children):
        return False  # "no cars": what is said to be absent is no object
    if token.text in COLOURS and token.i + 1 < len(token.doc) and token.nbor().pos_ in ("NOUN", "PROPN", "ADJ"):
        return False
    if token.dep_ in ("compound", "nmod") and token.head.pos_ in ("NOUN", "PROPN") and token.head.i not in in_span:
        return token.head.i < token.i  # a compound's modifier stands before its head
    return True


def modifiers(token) -> list:
    """Returns the adjectives before a noun, also those that hang on its modifier nouns or on each other."""
    found = []
    for child in token.children:
        if child.dep_ == "amod" or _is_stray_adjective(child):
            found += [child, *modifiers(child)]
        elif child.dep_ in ("compound", "nmod") and child.i < token.i:
            found += modifiers(child)
    return found


def _is_stray_adjective(token) -> bool:
    """Says whether an adjective or colour stands before its noun under another label than amod."""
    is_adjective = token.pos_ == "ADJ" or token.text in COLOURS
    return is_adjective and token.dep_ in ("compound", "nmod", "advmod", "nummod") and token.i < token.head.i


def is_negated(token) -> bool:
    """Says whether "not" or "never" belongs to a verb or preposition."""
    return any(child.dep_ == "neg" for child in token.children)


def conjuncts(token) -> list:
    """Returns a token and the ones joined to it by "and" or commas."""
    found = [token]
    for child in token.children:
        if child.dep_ == "conj":
            found += conjuncts(child)
    return found


def objects_of(preposition, index: dict[int, int]) -> list:
    """Returns the object nouns of a preposition, those joined by "and" included."""
    nouns = [noun for child in preposition.children if child.dep_ == "pobj" for noun in conjuncts(child)]
    return [noun for noun in nouns if noun.i in index]


def lemma(token) -> str:
    """Returns the lemma of a noun, adjective or verb token."""
    return lemmatise(token.lower_, "NOUN" if token.pos_ == "PROPN" else token.pos_)
