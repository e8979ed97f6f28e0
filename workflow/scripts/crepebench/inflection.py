"""Put replacements into captions: inflection, articles, whole tokens."""

import re
from functools import lru_cache

from crepebench.lemmas import PLURALIA_TANTUM
from crepebench.prepositions import MULTIWORD_PREPOSITIONS

VERB_TAGS = ("VBG", "VBZ", "VBN", "VBD")
"""Tags in the order in which a form is tried: after a noun, "tied" is a participle before it is a past tense."""
COPULA = {"VBZ": "is", "VBD": "was", "VBP": "are"}

PREPOSITIONS = frozenset(
    (
        "aboard alongside amid amidst among amongst besides despite like throughout unlike via "
        "about above across after against along among around as at atop before behind below beneath beside between "
        "beyond by down during for from in inside into near of off on onto opposite out outside over past through to "
        "toward towards under underneath until up upon with within without"
    ).split()
)
ARTICLE_BEFORE = re.compile(r"(?<![\w'])(an?)(\s+)$", re.IGNORECASE)


@lru_cache(maxsize=100_000)
def inflect(lemma: str, tag: str) -> str:
    """Returns the form of a lemma for a Penn tag (NNS, JJR, JJS, VBG, ...); of several words the last is inflected.

    For verbs the first word is inflected, since a particle or preposition follows it.
    """
    from lemminflect import getInflection

    first, _, rest = lemma.partition(" ") if tag.startswith("VB") else ("", "", "")
    if tag.startswith("VB"):
        forms = getInflection(first, tag=tag)
        return " ".join(filter(None, [forms[0] if forms else first, rest]))
    rest, _, last = lemma.rpartition(" ")
    forms = () if last in PLURALIA_TANTUM else getInflection(last, tag=tag)
    return " ".join(filter(None, [rest, forms[0] if forms else last]))


@lru_cache(maxsize=100_000)
def _forms(lemma: str, tag: str) -> tuple[str, ...]:
    from lemminflect import getInflection

    return getInflection(lemma, tag=tag)


def is_plural(lemma: str, surface: str) -> bool:
    """Says whether the surface of a noun is its plural; of the nouns that do not change, only pluralia tantum are."""
    last = surface.rpartition(" ")[2]
    return last in PLURALIA_TANTUM or (last != lemma and last in _forms(lemma, "NNS"))


def match_noun(lemma: str, surface: str, replacement: str) -> str:
    """Returns a replacement in the number of the noun that it replaces."""
    return inflect(replacement, "NNS") if is_plural(lemma, surface) else replacement


def match_adjective(lemma: str, surface: str, replacement: str) -> str:
    """Returns a replacement in the degree of the adjective that it replaces."""
    tag = next((tag for tag in ("JJR", "JJS") if surface != lemma and surface in _forms(lemma, tag)), None)
    return inflect(replacement, tag) if tag else replacement


def verb_tag(relation: str, surface: str) -> str:
    """Returns the Penn tag of a relation's verb as it stands in a caption, "" where the relation has no verb.

    Args:
        relation: normal form, "hang from".
        surface: as it stands, "hanging from".
    """
    lemma, form = relation.partition(" ")[0], surface.partition(" ")[0]
    if relation in MULTIWORD_PREPOSITIONS or lemma in PREPOSITIONS:
        return ""
    return next((tag for tag in VERB_TAGS if form in _forms(lemma, tag)), "VBP" if form == lemma else "")


def match_relation(relation: str, surface: str, participial_form: str) -> str:
    """Returns a replacement that stands where a relation stood: after a finite verb it gets a copula.

    Args:
        relation: normal form of the relation that is replaced.
        surface: that relation as it stands.
        participial_form: the replacement as it follows a noun: "above", "hanging from", "tied to".
    """
    tag = verb_tag(relation, surface)
    return f"{COPULA[tag]} {participial_form}" if tag in COPULA else participial_form


def replace_span(caption: str, start: int, end: int, replacement: str) -> str:
    """Replaces characters start to end; makes an "a" or "an" right before them agree; all else stays as it is."""
    before = ARTICLE_BEFORE.sub(lambda match: match_article(match[1], replacement) + match[2], caption[:start])
    return before + replacement + caption[end:]


def match_article(article: str, following: str) -> str:
    """Returns "a" or "an" as the following words ask for, with the capital of `article`."""
    right = article_for(following)
    return right.capitalize() if article[0].isupper() else right


@lru_cache(maxsize=100_000)
def article_for(words: str) -> str:
    """Returns the indefinite article of words: "a" or "an"."""
    return _engine().a(words).partition(" ")[0]


@lru_cache(maxsize=1)
def _engine():
    import inflect as inflect_library

    return inflect_library.engine()
