"""Find out who does what in a parsed text: the objects that words stand for, and the subjects of verbs."""

from collections.abc import Iterable

from crepebench.phrases import conjuncts, first_conjunct, is_measure, is_negated, is_object, lemma
from crepebench.words import Word

CLAUSES = ("prep", "acl", "relcl", "amod")
"""Dependencies of what says something of a noun behind it."""
ALONE = ("nsubj", "nsubjpass", "aux", "auxpass", "punct", "mark", "cc", "advmod")
"""Dependencies of what may stand beside a participle that describes its subject: "the cheese is melted"."""
RELATIVES = ("that", "which", "who", "whom")


class Clauses:
    """The words of one text with its objects.

    Attributes:
        words: all words.
        nouns: words that name objects, in reading order.
        measures: nouns that only measure or group the objects behind their "of".
        index: place of each noun among the nouns, by its place in the text.
    """

    def __init__(self, words: list[Word]):
        self.words = words
        named = list(filter(is_object, words))
        self.measures = list(filter(is_measure, named))
        self._measures = {measure.i for measure in self.measures}
        self.nouns = [noun for noun in named if noun.i not in self._measures]
        self.index = {noun.i: index for index, noun in enumerate(self.nouns)}

    def is_measure(self, word: Word) -> bool:
        """Says whether a word is one of the measures."""
        return word.i in self._measures

    def objects(self, found: Iterable[Word]) -> list[Word]:
        """Returns the objects among words and the ones joined to them; what a measure measures stands for it."""
        objects = []
        for word in found:
            for joined in conjuncts(word):
                if joined.i in self.index:
                    objects.append(joined)
                elif joined.i in self._measures:
                    of = next(child for child in joined.children if child.text == "of")
                    objects += self.objects(child for child in of.children if child.dep == "pobj")
        return objects

    def neighbours(self, word: Word) -> tuple[Word, Word]:
        """Returns the words before and behind a word; at an end the word itself."""
        return self.words[max(0, word.i - 1)], self.words[min(word.i + 1, len(self.words) - 1)]

    def direct_objects(self, verb: Word) -> list[Word]:
        """Returns a verb's direct objects; in "the shirt the man wears" the noun that the clause describes."""
        complements = [child for child in verb.children if child.dep == "dobj"]
        prepositions = [child for child in verb.children if child.dep in ("prep", "prt")]
        if any(child.text not in RELATIVES for child in complements) or any(map(self.objects_of, prepositions)):
            return self.objects(complements)
        return self.described(verb)

    def objects_of(self, preposition: Word) -> list[Word]:
        """Returns the objects of a preposition; one that ends a relative clause has what the clause describes."""
        complements = [child for child in preposition.children if child.dep == "pobj"]
        if all(child.text in RELATIVES for child in complements):
            return self.described(preposition.head) if preposition.i > preposition.head.i else []
        return [noun for noun in self.objects(complements) if not _is_parallel(noun, preposition)]

    def described(self, verb: Word) -> list[Word]:
        """Returns the noun that a relative clause with a subject of its own describes."""
        subjects = [child for child in verb.children if child.dep in ("nsubj", "nsubjpass")]
        if verb.dep != "relcl" or not self.objects(subjects) or any(child.text == "where" for child in verb.children):
            return []
        return self.objects([verb.head])[:1]

    def subjects_of(self, governor: Word) -> tuple[list[Word], Word | None]:
        """Returns the nouns that a governor speaks of, and the governor itself where it is a full verb."""
        nouns = self.objects([governor])
        if governor.i in self.index or governor.i in self._measures:
            return nouns[:1], None
        if governor.pos == "ADJ" and governor.dep in ("amod", "acl", "relcl"):
            return self.objects([governor.head])[:1], None
        if governor.pos == "ADJ" and governor.dep in ("acomp", "ccomp"):
            return self.subjects_of(governor.head)[0], None
        if governor.pos not in ("VERB", "AUX"):
            return [], None
        verb = governor if lemma(governor) != "be" else None
        candidate = governor
        while True:
            found = [child for child in candidate.children if child.dep in ("nsubj", "nsubjpass")]
            nouns = self.objects(found)
            if nouns:
                return nouns, verb
            if candidate.dep in ("acl", "relcl") and self.objects([candidate.head]):
                return self.objects([candidate.head])[:1], verb
            if candidate.dep not in ("conj", "advcl", "xcomp", "ccomp"):
                return self._noun_before(governor), verb
            candidate = candidate.head

    def _noun_before(self, verb: Word) -> list[Word]:
        """Returns the object right before a participle."""
        before = self.words[verb.i - 1] if verb.i and verb.tag in ("VBG", "VBN") else verb
        return self.objects([before])[:1]

    def joined_before(self, subject: Word, relation: Word) -> list[Word]:
        """Returns a subject and the objects joined to it, as far as one relation behind them speaks of all.

        The parse hangs what follows "a man and a woman" on one of them. If anything else is said of one before the
        last of them, each has a relation of its own ("a man with a hat and a woman with a bag").
        """
        first = first_conjunct(subject)
        joined = [noun for noun in self.objects([first]) if noun.i < relation.i]
        if subject not in joined or first.dep in ("pobj", "dobj"):
            return [subject]
        last = max(noun.i for noun in joined)
        own = any(child.dep in CLAUSES and noun.i < child.i < last for noun in joined for child in noun.children)
        return [subject] if own else joined

    def predicates(self, clause: Word) -> list[Word]:
        """Returns what a clause with a form of "be" says of its subject, a lone participle included."""
        has_own_subject = clause.dep == "relcl" and any(child.i in self.index for child in clause.children)
        if is_negated(clause) or has_own_subject:
            return []
        if lemma(clause) == "be":
            return [child for child in clause.children if child.dep in ("acomp", "attr")]
        is_said = any(child.dep in ("aux", "auxpass") and lemma(child) == "be" for child in clause.children)
        is_alone = all(child.dep in ALONE for child in clause.children)
        return [clause] if clause.tag in ("VBG", "VBN") and is_said and is_alone else []


def _is_parallel(noun: Word, preposition: Word) -> bool:
    """Says whether a joined noun has the same preposition: "a man with a hat and a woman with a bag"."""
    return noun.dep == "conj" and any(child.dep == "prep" and child.text == preposition.text for child in noun.children)
