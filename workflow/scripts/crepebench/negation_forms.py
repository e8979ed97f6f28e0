"""Forms of negation: templates and words, and the cues by which a text is known to deny something.

Source: PeakPatch (arXiv 2607.23271), sections 3.2 and A, names explicit, implicit and morphological negation, but no
templates; these are ours (resources/negation/templates.yaml).

# ASSUME: each negated template has an affirmed twin of the same frame, so that the frame alone says nothing of which
text is right.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np

from crepebench import inflection
from crepebench.caption_words import PLURALS
from crepebench.file_faults import named_faults
from crepebench.graphs import ATTRIBUTE, OBJECT
from crepebench.lemmas import PLURALIA_TANTUM, lemmatise
from crepebench.negation_cues import CUE

EXPLICIT, IMPLICIT, MORPHOLOGICAL = FORMS = ("explicit", "implicit", "morphological")
BEHIND, BARE, NOUN, PREDICATE = PLACES = ("behind", "bare", "noun", "predicate")
TRAIN, TEST = USES = ("train", "test")
KEYS = ("templates", "cues", "less", "un", "non", "no_concepts")
WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")
FORWARD = re.compile(
    r"\b(?:no|not|without|never|lacks?|lacking|devoid of|free (?:of|from)|absence of|void of|anything but|far from|"
    r"other than|neither|nor)\b|n't\b"
)
"""Cues before what they deny."""
BACKWARD = re.compile(r"\b(?:absent|missing|nowhere)\b")
"""Cues behind what they deny."""
CLAUSE_END = re.compile(r"[.;,]|\b(?:and|but|while|though)\b")


@dataclass(frozen=True)
class Template:
    """A way to deny something.

    Attributes:
        name: of the template.
        form: one of FORMS.
        place: one of PLACES.
        use: which of USES it is for.
        negated: text with names in braces.
        affirmed: the same frame, without the denial.
    """

    name: str
    form: str
    place: str
    use: tuple[str, ...]
    negated: str
    affirmed: str

    @property
    def kind(self) -> str:
        """Says what it denies: OBJECT or ATTRIBUTE."""
        return OBJECT if self.place in (BEHIND, BARE) else ATTRIBUTE


@dataclass(frozen=True)
class NegationForms:
    """The table of templates and words.

    Attributes:
        templates: by name.
        cues: cues beyond those of `crepebench.negation_cues`.
        less: words in -less by noun.
        un: words in un- by attribute.
        non: attributes that may follow non-.
        no_concepts: nouns that are no object of a picture.
    """

    templates: Mapping[str, Template]
    cues: tuple[str, ...]
    less: Mapping[str, str]
    un: Mapping[str, str]
    non: frozenset[str]
    no_concepts: frozenset[str]

    @cached_property
    def _words(self) -> frozenset[str]:
        return frozenset((*self.less.values(), *self.un.values(), *(f"non-{one}" for one in self.non)))

    @cached_property
    def _cue(self) -> re.Pattern:
        return re.compile(rf"\b(?:{'|'.join(map(re.escape, self.cues))})\b", re.IGNORECASE) if self.cues else CUE

    def has_cue(self, text: str) -> bool:
        """Says whether a text denies something: by a cue, or by a word of the lists in -less, un- and non-."""
        return bool(CUE.search(text) or self._cue.search(text) or self.morphological_words(text))

    def morphological_words(self, text: str) -> list[str]:
        """Returns the words of the lists in -less, un- and non- that a text holds."""
        return [word for word in WORD.findall(text.lower()) if word in self._words]

    def fits(self, template: Template, concept: str) -> bool:
        """Says whether a template can deny a concept: a morphological one needs the word."""
        needed = [
            words
            for name, words in (("{less}", self.less), ("{a_less}", self.less), ("{un}", self.un))
            if name in template.negated
        ]
        if "non-" in template.negated:
            needed.append(self.non)
        return all(concept in words for words in needed)

    def fitting(self, kind: str, place: Collection[str], use: str, concepts: Collection[str]) -> list[Template]:
        """Returns the templates that can deny each of some concepts, in the order of the table."""
        return [
            template
            for template in self.templates.values()
            if template.kind == kind
            and template.place in place
            and use in template.use
            and all(self.fits(template, concept) for concept in concepts)
        ]

    @staticmethod
    def draw(fitting: Sequence[Template], weight_of: Mapping[str, float], rng: np.random.Generator) -> Template | None:
        """Draws a form by its weight, then one of its templates; None where no form that fits has a weight."""
        weights = {form: weight_of.get(form, 0) for form in dict.fromkeys(one.form for one in fitting)}
        total = sum(weights.values())
        if not total:
            return None
        form = list(weights)[rng.choice(len(weights), p=[weight / total for weight in weights.values()])]
        of_form = [one for one in fitting if one.form == form]
        return of_form[rng.integers(len(of_form))]

    def denied_spans(self, text: str) -> list[tuple[int, int]]:
        """Returns where a text denies something: first character, and character behind the last, of each reach.

        A cue denies what stands behind it ("without a jar"), or before it ("a jar is missing"), up to the end of its
        clause; a word in -less, un- or non- denies its stem.
        """
        text, spans = text.lower(), []
        for cue in re.finditer(f"{FORWARD.pattern}|{self._cue.pattern}", text):
            end = CLAUSE_END.search(text, cue.end())
            spans.append((cue.end(), end.start() if end else len(text)))
        for cue in BACKWARD.finditer(text):
            start = max((end.end() for end in CLAUSE_END.finditer(text, 0, cue.start())), default=0)
            spans.append((start, cue.start()))
        return spans + [word.span() for word in WORD.finditer(text) if word[0] in self._words]

    def denied_words(self, text: str) -> set[str]:
        """Returns the words of a text that it denies, as they stand and as lemmas of nouns and adjectives."""
        found = {word for start, end in self.denied_spans(text) for word in WORD.findall(text.lower()[start:end])}
        lemmas = {lemmatise(word, pos) for word in found for pos in ("NOUN", "ADJ")}
        stems = {stem for table in (self.less, self.un) for stem, word in table.items() if word in found}
        return found | lemmas | stems | {word.removeprefix("non-") for word in found}


def read_forms(path: str) -> NegationForms:
    """Reads the table of templates and words.

    Raises:
        ValueError: it is no YAML, lacks a key, or a template is none; names file and template.
    """
    import yaml

    try:
        with named_faults(path):
            found = yaml.safe_load(Path(path).read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: no YAML ({error})") from error
    if not isinstance(found, dict) or set(found) != set(KEYS):
        raise ValueError(f"{path}: needs the keys {', '.join(KEYS)}")
    templates = {name: _template(path, name, row) for name, row in found["templates"].items()}
    cues, non, no_concepts = tuple(found["cues"]), frozenset(found["non"]), frozenset(found["no_concepts"])
    return NegationForms(templates, cues, found["less"], found["un"], non, no_concepts)


def _template(path: str, name: str, row: Mapping) -> Template:
    where = f"{path}, template {name}"
    try:
        found = Template(name, row["form"], row["place"], tuple(row["use"]), row["negated"], row["affirmed"])
    except (TypeError, KeyError) as error:
        raise ValueError(f"{where}: lacks {error}") from error
    if found.form not in FORMS or found.place not in PLACES or not found.use or not set(found.use) <= set(USES):
        raise ValueError(f"{where}: form, place or use is unknown: {row!r:.200}")
    return found


@lru_cache(maxsize=100_000)
def noun_words(noun: str, is_mass: bool = False) -> dict[str, str]:
    """Returns what templates call noun, a_noun, nouns and is."""
    if is_mass:
        return {"noun": noun, "a_noun": noun, "nouns": noun, "is": "is"}
    if noun in PLURALS or noun in PLURALIA_TANTUM:
        return {"noun": noun, "a_noun": noun, "nouns": noun, "is": "are"}
    plural = inflection.inflect(noun, "NNS")
    return {"noun": noun, "a_noun": f"{inflection.article_for(noun)} {noun}", "nouns": plural, "is": "is"}


def deny_object(
    template: Template, denies: bool, base: str, noun: str, forms: NegationForms, mass_nouns: Collection[str]
) -> str:
    """Returns the text that denies, or affirms, an object beside a base; `base` is "" for a bare template."""
    words = noun_words(noun, noun in mass_nouns)
    if less := forms.less.get(noun):
        words = {**words, "less": less, "a_less": f"{inflection.article_for(less)} {less}"}
    return (template.negated if denies else template.affirmed).format(base=base, **words)


def deny_attribute(
    template: Template, denies: bool, rest: str, attribute: str, is_plural: bool, forms: NegationForms
) -> str:
    """Returns the words that deny, or affirm, an attribute, in the place of a noun with its attributes.

    Args:
        template: of place NOUN or PREDICATE.
        denies: whether it denies.
        rest: the noun with its other attributes, without an article; "" for PREDICATE.
        attribute: what is denied.
        is_plural: whether the noun is.
        forms: the table, for words in un-.
    """
    be, un = "are" if is_plural else "is", forms.un.get(attribute, "")
    return (template.negated if denies else template.affirmed).format(rest=rest, attribute=attribute, be=be, un=un)
