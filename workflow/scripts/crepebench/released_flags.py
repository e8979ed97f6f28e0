"""Flag the artefacts of released retrieval sets: what no model can solve, or what text alone tells.

A foil may be the truth itself, or be it but for its case, which the text encoders of CLIP and BERT do not see; it may
repeat another foil; or it may hold a word that is none ("persinside", from a replacement of "on" within "person").
"""

import logging
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet

from crepebench.schema import RELEASED_FLAGS, RETRIEVAL_SETS, read_table, write_table
from crepebench.wordnet import read_wordnet

logger = logging.getLogger(__name__)

TRUTH, TRUTH_BUT_FOR_CASE = "truth_among_foils", "truth_but_for_case"
REPEATED_FOIL, NON_WORD, REPEATED_TRUTH = "repeated_foil", "non_word", "repeated_truth"
FLAGS = (TRUTH, TRUTH_BUT_FOR_CASE, REPEATED_FOIL, NON_WORD, REPEATED_TRUTH)
UNSOLVABLE = (TRUTH, TRUTH_BUT_FOR_CASE)
"""Flags of sets whose truth and a foil are one text to a model that reads lower case."""
ARTEFACTS = (*UNSOLVABLE, REPEATED_FOIL, NON_WORD)
"""Flags of sets that are left out of the scores without artefacts; a repeated truth is only stated."""
WORD = re.compile("[a-z]+")
FUNCTION_WORDS = frozenset(
    "a an and another are at by for from has have in into is it its nor not of off on onto or that the their them "
    "there these they this those to under upon was were which who with without".split()
)
"""Words that dictionaries of nouns, verbs and adjectives lack, and that captions may lack, too."""
COLUMNS = ["set_id", "foil_type", "image_id", "x", "y", "width", "height", "caption", "foils"]


def words_of(text: str) -> set[str]:
    """Returns the words of a text, in lower case."""
    return set(WORD.findall(text.lower()))


def find_non_words(sets: Sequence[dict], is_word) -> set[str]:
    """Returns the words of foils that are known neither to a dictionary nor to any caption of the sets.

    Args:
        sets: rows of table RETRIEVAL_SETS.
        is_word: says whether a dictionary knows a word, inflected or not.
    """
    known, texts = set(FUNCTION_WORDS), set()
    for row in sets:
        known |= words_of(row["caption"])
        texts.update(foil["text"] for foil in row["foils"])
    found = set().union(*map(words_of, texts)) - known
    return {word for word in found if not is_word(word)}


def flags_of_set(row: dict, non_words: AbstractSet[str]) -> Iterator[tuple[str, str, str]]:
    """Yields flag, foil_id and detail of each artefact of a set.

    Args:
        row: row of table RETRIEVAL_SETS.
        non_words: what `find_non_words` returns.
    """
    seen: set[str] = set()
    caption = row["caption"]
    for foil in row["foils"]:
        text = foil["text"]
        if text == caption:
            yield TRUTH, foil["foil_id"], ""
        elif text.lower() == caption.lower():
            yield TRUTH_BUT_FOR_CASE, foil["foil_id"], ""
        if text.lower() in seen:
            yield REPEATED_FOIL, foil["foil_id"], ""
        seen.add(text.lower())
        if odd := words_of(text) & non_words:
            yield NON_WORD, foil["foil_id"], " ".join(sorted(odd))


def flag_rows(sets: Sequence[dict], is_word) -> Iterator[dict]:
    """Yields the rows of table RELEASED_FLAGS.

    Args:
        sets: rows of table RETRIEVAL_SETS of a family.
        is_word: as in `find_non_words`.
    """
    non_words = find_non_words(sets, is_word)
    place = ("foil_type", "image_id", "x", "y", "width", "height", "caption")
    places = Counter(tuple(row[name] for name in place) for row in sets)
    for row in sets:
        found = list(flags_of_set(row, non_words))
        if places[tuple(row[name] for name in place)] > 1:
            found.append((REPEATED_TRUTH, None, ""))
        for flag, foil_id, detail in found:
            key = {"set_id": row["set_id"], "foil_type": row["foil_type"], "foil_id": foil_id}
            yield {**key, "flag": flag, "detail": detail}


def build_released_flags(sets_paths: Sequence[Sequence[str]], wordnet_path: str, flags_path: str) -> None:
    """Writes the flags of all sets.

    Args:
        sets_paths: tables RETRIEVAL_SETS of each family.
        wordnet_path: folder written by `crepebench.wordnet.write_wordnet`.
        flags_path: table RELEASED_FLAGS to write.
    """
    reader, counts = read_wordnet(wordnet_path), Counter()

    def rows() -> Iterator[dict]:
        for paths in sets_paths:
            sets = [row for path in paths for row in read_table(path, RETRIEVAL_SETS, COLUMNS).to_pylist()]
            for row in flag_rows(sets, lambda word: bool(reader.synsets(word))):
                counts[row["foil_type"], row["flag"]] += 1
                yield row

    write_table(flags_path, RELEASED_FLAGS, rows())
    for (foil_type, flag), count in sorted(counts.items()):
        logger.info("%s, %s: %d", foil_type, flag, count)
