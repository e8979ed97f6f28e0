"""Candidates for the words of first sentences, and the items that hold them.

Source: paper "CLIC, arXiv 2505.24424" and the authors' answer to reviewers: at most five candidates a word, of its fine
tag; an item draws a tag, a word of it, and a second image whose sentence holds a candidate. The authors ask a language
model; ours come from WordNet unless the config has a captioner.

# ASSUME: a candidate is a word of the data with the same fine tag, since a second image must hold it. First come
contrasts of the word tables and of WordNet, then sisters, then cousins; of each group what the data hold most often.
# ASSUME: names, pronouns, digits, "one", and nouns that no picture shows get no candidates; verbs get antonyms alone.
"""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.clic_data import ClicRows
from crepebench.lemmas import lemmatise
from crepebench.lexicon import DOWN, UP, Lexicon
from crepebench.schema import CLIC_CANDIDATES, CLIC_ROWS, read_table, write_table
from crepebench.senses import SenseChooser
from crepebench.word_tables import WordTables, read_word_tables
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

WORDNET = "wordnet"
"""Generator; any other is a config block `captioner`."""
MOST = 5
"""Candidates of a word. Source: the authors' answer to reviewers."""
NO_CANDIDATE = "no_candidate"
NOUN, VERB, ADJECTIVE, ADVERB, PREPOSITION, NUMBER = "NOUN", "VERB", "ADJ", "ADV", "ADP", "NUM"
KINDS = {
    **dict.fromkeys(("NN", "NNS"), NOUN),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), VERB),
    **dict.fromkeys(("JJ", "JJR", "JJS"), ADJECTIVE),
    "RB": ADVERB,
    "IN": PREPOSITION,
    "CD": NUMBER,
}
"""Universal part of speech of the fine tags whose words get candidates."""
WORDNET_POS = {NOUN: "n", VERB: "v", ADJECTIVE: "a", ADVERB: "r"}
NUMBERS = frozenset("two three four five six seven eight nine ten eleven twelve".split())
FEW_SENSES = 3
"""Senses of a verb whose antonyms are candidates. Sisters of a verb seldom fit its place: "leading" for "reaching"."""
CLOSENESS = ((1, 1), (UP, DOWN))
"""Levels up and down in WordNet of sisters, and of cousins, which come after them."""
Key = tuple[str, str]
"""A word and its fine tag."""


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


def stands_alone(words: Sequence[Mapping], text: str, fine: str) -> bool:
    """Says whether a word may be replaced by a candidate wherever it stands in a sentence.

    # ASSUME: a noun before a noun ("bus stop") and a preposition within a longer one ("in front of", "outside of") are
    left alone, since they mean something else by themselves.

    Args:
        words: of the sentence, each with `text` and `fine`.
        text: the word.
        fine: its fine tag.
    """
    for k, word in enumerate(words):
        if (word["text"], word["fine"]) == (text, fine):
            later = words[k + 1 : k + 3]
            if KINDS.get(fine) == NOUN and later and later[0]["fine"].startswith("NN"):
                return False
            if KINDS.get(fine) == PREPOSITION and "of" in (other["text"] for other in later):
                return False
    return True


class CandidateIndex:
    """Candidates of words, and the items whose first sentences hold them.

    Args:
        candidates: of each word and fine tag.
        holders: places of the items that hold each candidate and fine tag, sorted, by whether their images are wider.
    """

    def __init__(self, candidates: Mapping[Key, Sequence[str]], holders: Mapping[tuple[str, str, bool], np.ndarray]):
        self._candidates, self._holders = candidates, holders

    def draw(
        self, words: Sequence[Mapping], i: int, wider: bool, rng: np.random.Generator
    ) -> tuple[str, str, str, str, int] | None:
        """Draws a tag of those with candidates, a word of it, a candidate, and another item that holds it.

        Args:
            words: of the first sentence of item i, each with `text`, `pos` and `fine`.
            i: place of the item.
            wider: orientation of its image; the other item has the same.
            rng: of the draws.

        Returns:
            Word, candidate, their fine tag, coarse tag of the word, place of the other item; None where there is none.
        """
        usable: dict[str, dict[Key, list[tuple[str, np.ndarray]]]] = {}
        for word in words:
            key = word["text"], word["fine"]
            if key not in self._candidates or not stands_alone(words, *key):
                continue
            found = [(one, self._others(one, key[1], i, wider)) for one in self._candidates[key]]
            if found := [pair for pair in found if len(pair[1])]:
                usable.setdefault(word["pos"], {})[key] = found
        if not usable:
            return None
        pos = sorted(usable)[rng.integers(len(usable))]
        key = sorted(usable[pos])[rng.integers(len(usable[pos]))]
        candidate, others = usable[pos][key][rng.integers(len(usable[pos][key]))]
        return key[0], candidate, key[1], pos, int(others[rng.integers(len(others))])

    def _others(self, candidate: str, fine: str, i: int, wider: bool) -> np.ndarray:
        """Returns the items of an orientation, without i, that hold a candidate."""
        holders = self._holders.get((candidate, fine, wider), np.zeros(0, np.int64))
        place = int(np.searchsorted(holders, i))
        return np.delete(holders, place) if place < len(holders) and holders[place] == i else holders


def index_candidates(rows: Iterable[Mapping], items: Sequence[Mapping], orientations: np.ndarray) -> CandidateIndex:
    """Returns candidates with the items that hold them; each item is looked at once.

    Args:
        rows: of table CLIC_CANDIDATES.
        items: of table CLIC_ROWS: a `ClicRows`, or dicts.
        orientations: (n_items,) bool, whether each item's image is wider.
    """
    candidates = {(row["word"], row["fine"]): tuple(row["candidates"]) for row in rows}
    wanted = sorted({(one, fine) for (_, fine), found in candidates.items() for one in found})
    number = {key: n for n, key in enumerate(wanted)}
    places, codes = [], []
    for place, text, fine in zip(*flat_words(items), strict=True):
        if (code := number.get((text, fine))) is not None:
            places.append(place)
            codes.append(code)
    pairs = np.unique(np.array([codes, places], np.int64).reshape(2, -1), axis=1)
    bounds = np.searchsorted(pairs[0], np.arange(len(wanted) + 1))
    orientations = np.asarray(orientations, bool)
    holders = {}
    for key, n in number.items():
        own = pairs[1, bounds[n] : bounds[n + 1]]
        for wider in (False, True):
            holders[*key, wider] = own[orientations[own] == wider]
    return CandidateIndex(candidates, holders)


def flat_words(items: Sequence[Mapping]) -> tuple[Sequence[int], Sequence[str], Sequence[str]]:
    """Returns place of the item, text and fine tag of each word of all first sentences, item by item."""
    if isinstance(items, ClicRows):
        return items.flat_words()
    words = [(place, word["text"], word["fine"]) for place, item in enumerate(items) for word in item["words"]]
    return tuple(zip(*words, strict=True)) if words else ((), (), ())


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
