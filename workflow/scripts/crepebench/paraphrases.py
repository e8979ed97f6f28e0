"""Reword captions without a change of meaning: by synonyms, by Visual Genome's aliases, between active and passive.

The words and verbs are committed in resources/negation/paraphrases.yaml. A paraphrase never holds a negation cue.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from crepebench.inflection import inflect, replace_span
from crepebench.negation_cues import has_cue

VOICE, SYNONYM, ALIAS = KINDS = ("voice", "synonym", "alias")
"""Kinds of paraphrases, in the order in which they are tried."""
TABLES = ("nouns", "words", "verbs")
STOPS = (
    "a an the and or but with of in on at to by from for near over under behind before above below is are was were "
    "being that which who while as it there into onto off up down out next beside between around through"
).split()
PHRASE = r"(?:an?|the|one|two|three|some|several|his|her|its|their)" rf"(?: (?!(?:{'|'.join(STOPS)})\b)[a-z]+){{1,4}}"
"""A noun phrase: a determiner, and words that are no verb of being, preposition or second determiner."""
SINGULAR = re.compile(r"^(?:an?|one) ")


class Rules(NamedTuple):
    """What captions are reworded by.

    Attributes:
        synonyms: replacement by word or phrase, lower case; plurals stand in it.
        aliases: likewise, of Visual Genome.
        participles: past participle by present participle.
    """

    synonyms: Mapping[str, str]
    aliases: Mapping[str, str]
    participles: Mapping[str, str]


def read_rules(path: str, aliases: Mapping[str, str] | None = None) -> Rules:
    """Reads the committed table.

    Args:
        path: paraphrases.yaml.
        aliases: canonical name by other name of an object, as `crepebench.aliases.read_aliases` gives it; names swap
            both ways.

    Raises:
        ValueError: the file lacks a table, or a replacement denies something; names it.
    """
    import yaml

    document = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    if not isinstance(document, Mapping) or set(document) != set(TABLES):
        raise ValueError(f"{path}: needs the tables {', '.join(TABLES)}, and no other")
    for word, replacement in [*document["nouns"].items(), *document["words"].items()]:
        if has_cue(f"{word} {replacement}") or word == replacement:
            raise ValueError(f"{path}: {word!r}: {replacement!r} is no paraphrase without a negation")
    both_ways: dict[str, str] = {}
    for name, canonical in sorted((aliases or {}).items()):
        if not has_cue(f"{name} {canonical}"):
            both_ways.setdefault(name, canonical)
            both_ways.setdefault(canonical, name)
    return Rules(
        {**_with_plurals(document["nouns"]), **document["words"]},
        _with_plurals(both_ways),
        {present: past for present, past in document["verbs"].values()},
    )


def _with_plurals(nouns: Mapping[str, str]) -> dict[str, str]:
    """Returns replacements of nouns and of their plurals."""
    plurals = {inflect(noun, "NNS"): inflect(other, "NNS") for noun, other in nouns.items()}
    return {**plurals, **nouns}


def paraphrase(caption: str, rules: Rules, kind: str) -> str | None:
    """Returns a caption in other words, or None where no rule of that kind fits it.

    Args:
        caption: any caption; one with a negation cue has no paraphrase.
        rules: words and verbs.
        kind: one of KINDS.
    """
    if has_cue(caption):
        return None
    if kind == VOICE:
        found = change_voice(caption, rules.participles)
    else:
        found = replace_words(caption, rules.synonyms if kind == SYNONYM else rules.aliases)
    return found if found and found != caption and not has_cue(found) else None


def replace_words(caption: str, words: Mapping[str, str]) -> str:
    """Replaces the first word or phrase that has a replacement; "a" and "an" agree, a capital stays.

    # ASSUME: a paraphrase replaces one word or phrase, since a negation changes as little; of those that begin at one
    place the longest counts.
    """
    match = _pattern(tuple(words)).search(caption) if words else None
    if not match:
        return caption
    replacement = words[match[0].lower()]
    if match[0][0].isupper():
        replacement = replacement[0].upper() + replacement[1:]
    return replace_span(caption, match.start(), match.end(), replacement)


_patterns: dict[tuple[str, ...], re.Pattern] = {}


def _pattern(words: tuple[str, ...]) -> re.Pattern:
    """Returns what finds any of some words as a whole; kept, since it is used for each caption."""
    if words not in _patterns:
        either = "|".join(map(re.escape, sorted(words, key=lambda word: (-len(word), word))))
        _patterns[words] = re.compile(rf"(?<![\w'-])(?:{either})(?![\w'-])", re.IGNORECASE)
    return _patterns[words]


def change_voice(caption: str, participles: Mapping[str, str]) -> str | None:
    """Turns a caption that is one active or passive clause into the other voice, or returns None.

    "a man holding a cup" and "a cup held by a man"; "a man is holding a cup" and "a cup is being held by a man", where
    the new subject is one. What follows the clause, or a clause in several parts, is left alone: None.
    """
    text = caption.rstrip(" .")
    end = caption[len(text) :]
    lowered = text[:1].lower() + text[1:]
    for present, past in participles.items():
        active = re.fullmatch(rf"({PHRASE}) (is |are )?{present} ({PHRASE})", lowered)
        if active:
            if active[2] and not SINGULAR.match(active[3]):
                return None
            middle = f"is being {past} by" if active[2] else f"{past} by"
            return _in_case(f"{active[3]} {middle} {active[1]}", text) + end
        passive = re.fullmatch(rf"({PHRASE}) ((?:is|are) being )?{past} by ({PHRASE})", lowered)
        if passive:
            if passive[2] and not SINGULAR.match(passive[3]):
                return None
            middle = f"is {present}" if passive[2] else present
            return _in_case(f"{passive[3]} {middle} {passive[1]}", text) + end
    return None


def _in_case(text: str, model: str) -> str:
    """Returns a text that begins with a capital where another does."""
    return text[0].upper() + text[1:] if model[0].isupper() else text


def paraphrases_of(captions: Sequence[str], rules: Rules) -> list[tuple[str, str] | None]:
    """Returns kind and paraphrase of each caption, by the first kind that fits; None where none does."""
    found = []
    for caption in captions:
        tries = ((kind, paraphrase(caption, rules, kind)) for kind in KINDS)
        found.append(next(((kind, text) for kind, text in tries if text), None))
    return found
