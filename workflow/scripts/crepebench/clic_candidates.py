"""Find candidates for the words of first sentences: words that may stand in their place and say something else.

Source: the authors' answer to reviewers of CLIC (arXiv 2505.24424): at most five candidates a word, of its fine tag.
They ask a language model; ours come from WordNet and the tables of words, unless the config has a captioner.

# ASSUME: a candidate is a word of the data with the same fine tag, since a second image must hold it. First come
contrasts of the word tables and of WordNet, then sisters, then cousins; of each group what the data hold most often.
# ASSUME: names, pronouns, digits, "one", and nouns that no picture shows get no candidates; verbs get antonyms alone.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.clic_candidate_index import ADJECTIVE, ADVERB, KINDS, MOST, NOUN, NUMBER, PREPOSITION, VERB, Key
from crepebench.clic_rows import ClicRows, flat_words
from crepebench.lemmas import lemmatise
from crepebench.lexicon import DOWN, UP, Lexicon
from crepebench.schema import CLIC_CANDIDATES, CLIC_ROWS, read_table, write_table
from crepebench.senses import SenseChooser
from crepebench.word_tables import WordTables, read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

WORDNET = "wordnet"
"""Generator; any other is a config block `captioner`."""
NO_CANDIDATE = "no_candidate"
WORDNET_POS = {NOUN: "n", VERB: "v", ADJECTIVE: "a", ADVERB: "r"}
NUMBERS = frozenset("two three four five six seven eight nine ten eleven twelve".split())
FEW_SENSES = 3
"""Senses of a verb whose antonyms are candidates. Sisters of a verb seldom fit its place: "leading" for "reaching"."""
CLOSENESS = ((1, 1), (UP, DOWN))
"""Levels up and down in WordNet of sisters, and of cousins, which come after them."""


class CandidateFinder:
    """Finds candidates in WordNet and the tables of words.

    Args:
        pool: how many first sentences hold each word and fine tag that may be a candidate.
        lexicon: WordNet.
        tables: tables of words.
    """

    def __init__(self, pool: Mapping[Key, int], lexicon: Lexicon, tables: WordTables):
        self._lexicon, self._tables, self._pool = lexicon, tables, pool
        self._forms: dict[str, dict[str, str]] = {}
        for (word, fine), _ in sorted(pool.items(), key=lambda entry: (-entry[1], entry[0])):
            if fine in KINDS:  # of two forms of a lemma the more frequent one
                self._forms.setdefault(fine, {}).setdefault(lemmatise(word, KINDS[fine]), word)
        lemmas = {kind: set() for kind in WORDNET_POS}
        for fine, forms in self._forms.items():
            lemmas.get(KINDS[fine], set()).update(forms)
        self._senses = SenseChooser(lexicon, {}, {WORDNET_POS[k]: frozenset(found) for k, found in lemmas.items()})

    def find(self, word: str, fine: str) -> list[str]:
        """Returns at most `MOST` candidates for a word, the best first."""
        if fine not in KINDS:
            return []
        kind, forms = KINDS[fine], self._forms.get(fine, {})
        lemma = lemmatise(word, kind)
        ranks: dict[str, int] = {}
        for rank, found in enumerate(self._contrasts(lemma, kind, forms)):
            for other in found:
                ranks.setdefault(other, rank)
        usable = {forms[other]: rank for other, rank in ranks.items() if other in forms and other != lemma}
        usable = {form: rank for form, rank in usable.items() if not self._tables.blocked & {form} and form != word}
        return sorted(usable, key=lambda form: (usable[form], -self._pool[form, fine], form))[:MOST]

    def _contrasts(self, lemma: str, kind: str, forms: Mapping[str, str]) -> list[Iterable[str]]:
        """Returns lemmas that stand for something else, in groups of falling rank; cousins only of `forms`."""
        if kind == NUMBER:
            return [sorted(NUMBERS - {lemma})] if lemma in NUMBERS else []
        if kind == PREPOSITION:
            return [self._tables.relations.get(lemma, ())]
        if kind == ADJECTIVE and lemma in self._tables.attributes:
            synonyms = self._lexicon.synonyms(lemma, "a")
            return [[other for other in self._tables.attributes[lemma][1] if other not in synonyms]]
        pos = WORDNET_POS[kind]
        if kind in (ADJECTIVE, ADVERB):
            return [self._lexicon.antonyms(lemma, synset) for synset in self._lexicon.synsets(lemma, pos)[:1]]
        if kind == VERB:
            return [self._lexicon.antonyms(lemma, synset) for synset in self._lexicon.synsets(lemma, pos)[:FEW_SENSES]]
        sense = self._sense(lemma)
        if sense is None:
            return []
        near, is_mass = self._lexicon.relatives(lemma, pos), lemma in self._tables.mass_nouns
        groups: list[Iterable[str]] = [self._lexicon.antonyms(lemma, sense)]
        for levels in CLOSENESS:
            cousins = self._lexicon.cousin_senses(sense, *levels)
            groups.append(
                other
                for other in sorted(cousins.keys() & forms.keys() - near)
                if self._senses.means(other, pos, cousins[other]) and (other in self._tables.mass_nouns) == is_mass
            )
        return groups

    def _sense(self, noun: str):
        """Returns the synset in which a noun is commonly understood; None where no picture shows it.

        # ASSUME: a noun means people only if the first of its senses that a picture shows does: a head is a part of
        the body, though WordNet knows it as a person, too, and has more cousins for that.
        """
        visible = [synset for synset in self._lexicon.synsets(noun, "n") if self._lexicon.is_visible(synset)]
        if not visible:
            return None
        usual = self._senses.usual_sense(noun, "n").synset
        return visible[0] if self._lexicon.is_person(usual) and not self._lexicon.is_person(visible[0]) else usual


def count_words(items: Sequence[Mapping]) -> Counter:
    """Returns how many first sentences hold each word and fine tag."""
    held = {(place, text, fine) for place, text, fine in zip(*flat_words(items), strict=True) if fine in KINDS}
    return Counter((text, fine) for _, text, fine in held)


def build_clic_candidates(
    rows_path: str,
    tables_paths: Sequence[str],
    wordnet_path: str,
    candidates_path: str,
    accounting_path: str,
    cfg: str,
) -> None:
    """Writes candidates for the words of all first sentences.

    Args:
        rows_path: table CLIC_ROWS.
        tables_paths: tables of resources/foils.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        candidates_path: table CLIC_CANDIDATES to write.
        accounting_path: counts to write.
        cfg: JSON of `generator` (`wordnet`, or a config block `captioner` with `store`) and `min_count`, first
            sentences that must hold a word for it to be a candidate.
    """
    config = json.loads(cfg)
    items = ClicRows(read_table(rows_path, CLIC_ROWS))
    words = count_words(items)
    pool = {key: n for key, n in words.items() if n >= config["min_count"]}
    asked = sorted(words)
    counts: dict[str, Counter] = {"word": Counter({READ: 0, KEPT: 0})}
    logger.info("%d words, %d of which may be candidates", len(asked), len(pool))
    if config["generator"] == WORDNET:
        finder = CandidateFinder(pool, Lexicon(read_wordnet(wordnet_path)), read_word_tables(tables_paths))
        found = {key: finder.find(*key) for key in asked}
    else:
        from crepebench.clic_candidate_writers import ask_for_candidates

        found = ask_for_candidates(items, asked, pool, config["generator"], counts)
    rows = [{"word": word, "fine": fine, "candidates": found[word, fine]} for word, fine in asked if found[word, fine]]
    counts["word"].update({READ: len(asked), KEPT: len(rows), NO_CANDIDATE: len(asked) - len(rows)})
    write_table(candidates_path, CLIC_CANDIDATES, rows)
    write_accounting(accounting_path, "clic_candidates", counts)
    logger.info("%d of %d words have candidates", len(rows), len(asked))
