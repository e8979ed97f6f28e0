"""List the words of a caption from which the parser can make a normal form, so that none of its captions is missed.

`crepebench.lemmas.lemmatise` is inverted: its tables exactly, the rest by the regular forms of a lemma. Forms are then
cut into runs of ASCII letters or digits and single marks, which is finer than the tokens of spaCy: a token begins and
ends where a run does, except in its exceptions ("cannot"), whose parts therefore also stand for the whole. So a folded
caption with the form holds its runs. One run is enough to find a candidate, and the longest is the rarest.
"""

import re
from collections import defaultdict
from functools import cache

from crepebench.lemmas import NOUN_LEMMAS, REGULAR_ENDINGS, lemmatise, regular_forms

RUN = re.compile(r"[a-z]+|[0-9]+|[!-/:-@\[-`{-~\u2000-\u2fff]")
"""A run of letters or digits of a folded text, or a mark of punctuation; non-ASCII letters are neither."""
MARK = "’"
"""Stands for all characters between U+2000 and U+2FFF, which have the same first byte in UTF-8: curly apostrophes,
and with them other quotation marks and dashes."""


def surface_forms(lemma: str) -> set[str]:
    """Returns every lower-case token that the parser may turn into a normal form of one word, and perhaps some more.

    Args:
        lemma: normal form of an object or attribute, or one word of a relation.
    """
    forms = {lemma} | _forms_in_tables().get(lemma, set())
    for part_of_speech in REGULAR_ENDINGS:
        forms |= {
            form
            for form in regular_forms(lemma, part_of_speech) - forms
            if form not in _tables() or lemmatise(form, part_of_speech) == lemma
        }
    return forms


def split_runs(text: str) -> list[str]:
    """Returns the runs of a folded text, in its order."""
    return [run if run.isascii() else MARK for run in RUN.findall(text)]


def find_runs(words: frozenset[str]) -> frozenset[str]:
    """Returns runs of which each caption with one of the words holds at least one, "" if some captions may hold none.

    Args:
        words: normal forms of one word each, any of which will do.
    """
    runs = set()
    for form in set().union(*map(surface_forms, words)):
        run = _longest_run(form)
        runs.add(run)
        runs.update(_longest_run(whole) for whole in _wholes_of_parts().get(form, ()) if run not in split_runs(whole))
    return frozenset(runs)


def _longest_run(form: str) -> str:
    return max(split_runs(form), key=lambda run: (run.isalnum(), len(run)), default="")


@cache
def _tables() -> dict[str, dict[str, tuple[str, ...]]]:
    """Returns lemminflect's table: word to part of speech to lemmas; overrides change entries of it."""
    from lemminflect import Lemmatizer

    lemmatizer = Lemmatizer()
    tables = {word: dict(entry) for word, entry in lemmatizer._getLemmaDict().items()}
    for word, entry in lemmatizer._getOverridesDict().items():
        tables.setdefault(word, {}).update(entry)
    return tables


@cache
def _forms_in_tables() -> dict[str, set[str]]:
    """Returns for each lemma the words for which the tables have it, as any part of speech."""
    forms = defaultdict(set)
    for word, entry in _tables().items():
        if word != word.lower():
            continue  # the parser asks for lower-case words only
        for lemmas in entry.values():
            forms[lemmas[0].lower()].add(word)
    for word, lemma in NOUN_LEMMAS.items():
        forms[lemma].add(word)
    return dict(forms)


@cache
def _wholes_of_parts() -> dict[str, set[str]]:
    """Returns for each token that spaCy cuts out of an exception ("not") these exceptions ("cannot")."""
    from spacy.lang.en import English
    from spacy.symbols import ORTH

    wholes = defaultdict(set)
    for whole, parts in English.Defaults.tokenizer_exceptions.items():
        for part in parts:
            wholes[part[ORTH].lower()].add(whole.lower())
    return dict(wholes)
