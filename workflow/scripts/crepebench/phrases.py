"""Tell from tags and dependencies which words are objects and attributes, and what belongs to them.

# ASSUME: nouns that only measure or group ("a pair of shoes") stand aside for what they measure; vessels ("a cup of
# coffee") are objects.
# ASSUME: words that only say how many or which ("many", "left") are no attributes, nor are shades before a colour, nor
# adjectives that make another kind of thing ("hot dog").
"""

from crepebench.lemmas import lemmatise
from crepebench.words import COLOURS, NOUNS, Word

PAPER_RULE, ALL = "adjectives", "all"
"""Which words are attributes: spaCy's adjectives (paper, section A.2), or participles, materials and numbers, too."""

MODIFIERS = ("amod", "compound", "nmod", "npadvmod", "nummod")

SHADES = frozenset("dark light bright pale deep".split())
"""Words that describe a colour and not the object, where they stand right before one."""

PLACES = frozenset("left right middle front bottom".split())
"""Words that name a place and no object where they stand alone: "on the left"."""

FIXED = frozenset({("hot", "dog"), ("polar", "bear"), ("remote", "control"), ("wet", "suit"), ("high", "chair")})
"""Adjectives that make another kind of thing with their noun: a hot dog need not be hot."""

MEASURES = frozenset(
    (
        "alot array assortment bale batch bit bunch bundle chunk clump cluster collection couple crowd flock gang "
        "group half herd kind lot number pair part patch piece pile portion roll row series set slice sort stack tuft "
        "type variety"
    ).split()
)
"""Nouns that only measure or group what stands behind their "of"."""
PORTIONS = frozenset("group part patch piece slice".split())
"""Measures that say what the objects are like: attributes under the rule `ALL`."""

QUANTITIES = frozenset(
    ("one many several few fewer much more most other various such same own enough next left right front").split()
)
"""Words that say how many, or which, and nothing of what the object is like."""

MATERIALS = frozenset(
    (
        "adult aluminum baby bamboo brass brick bronze cardboard cement ceramic chocolate chrome clay cloth concrete "
        "copper cotton denim dirt fabric fur glass gold granite gravel iron lace leather linen marble metal mesh pine "
        "plaid plastic porcelain rock rubber satin silk steel stone straw suede tin toy velvet vinyl wicker wood wool"
    ).split()
)
"""Nouns that say what the noun after them is made of, or its pattern or age; attributes under the rule `ALL`."""


def is_object(word: Word) -> bool:
    """Says whether a word is the head of a noun phrase that names an object."""
    if word.pos not in NOUNS or word.in_preposition or not word.is_word:
        return False
    if any(child.text == "no" for child in word.children) or (word.dep == "pobj" and word.head.text == "without"):
        return False  # "no cars", "without a shirt": what is said to be absent is no object
    if word.dep in ("compound", "nmod") and word.head.pos in NOUNS and not word.head.in_preposition:
        return word.head.i < word.i  # a compound's modifier stands before its head
    if word.dep == "npadvmod" and word.head.pos == "ADJ" and word.head.dep == "amod":
        return False  # "brick paved sidewalk"
    if word.dep == "pobj" and not any(child.dep != "det" for child in word.children):
        return word.text not in PLACES and (word.text not in COLOURS or word.text == "orange")
    return True


def is_measure(word: Word) -> bool:
    """Says whether an object's noun only measures or groups the nouns behind its "of"."""
    return lemma(word) in MEASURES and any(child.text == "of" for child in word.children)


def modifiers(word: Word) -> list[Word]:
    """Returns the words before a noun that may describe it, also those that hang on its modifiers or on each other."""
    found = []
    for child in word.children:
        if child.i < word.i and (child.dep in MODIFIERS or (child.dep == "advmod" and child.pos == "ADJ")):
            found += [child, *modifiers(child)]
    return found


def is_attribute(word: Word, before: Word, following: Word, rule: str) -> bool:
    """Says whether a word that may describe a noun is an attribute.

    Args:
        word: a modifier, or what a copula says of the noun.
        before: the word before it.
        following: the word behind it.
        rule: `PAPER_RULE` or `ALL`.
    """
    if word.text in QUANTITIES or word.in_preposition or not word.is_word:
        return False
    if word.text in SHADES and (following.text in COLOURS or following.text.startswith("colo")):
        return False
    if (word.text, lemma(following)) in FIXED:
        return False
    if word.text in COLOURS or word.pos == "ADJ":
        return True
    if rule == PAPER_RULE:
        return False
    if word.tag == "VBG":
        return before.pos not in NOUNS  # "man eating pizza" may be parsed like "sliding door"
    return word.tag == "VBN" or word.pos == "NUM" or (word.pos in NOUNS and word.text in MATERIALS)


def attribute_lemma(word: Word) -> str:
    """Returns the normal form of an attribute: adjectives as lemmas, all others as they stand."""
    return lemmatise(word.text, "ADJ") if word.pos == "ADJ" else word.text


def is_negated(word: Word) -> bool:
    """Says whether "not" or "never" belongs to a verb or preposition."""
    return any(child.dep == "neg" for child in word.children)


def conjuncts(word: Word) -> list[Word]:
    """Returns a word and the ones joined to it by "and" or commas."""
    found = [word]
    for child in word.children:
        if child.dep == "conj":
            found += conjuncts(child)
    return found


def first_conjunct(word: Word) -> Word:
    """Returns the first of the words that "and" or commas join to a word."""
    while word.dep == "conj":
        word = word.head
    return word


def lemma(word: Word) -> str:
    """Returns the lemma of a noun, adjective or verb."""
    return lemmatise(word.text, "NOUN" if word.pos == "PROPN" else word.pos)
