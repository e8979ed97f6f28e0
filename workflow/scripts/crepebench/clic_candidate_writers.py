"""Ask a language model for candidates: words that fit in a word's place and make its sentence say something else.

Source: the authors' answer to reviewers of CLIC (arXiv 2505.24424): a language model names at most five words for each
word. Their prompt is not published. Answers are kept in a store (`crepebench.answer_store`); what is of no use is asked
for again with another seed.

# ASSUME: the model is shown the first sentence of the data that holds the word with its fine tag.
"""

import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from crepebench.accounting import KEPT, READ
from crepebench.answer_store import AnswerStore
from crepebench.caption_attempts import answer_requests
from crepebench.captioners import Captioner, Request, attempt_seed, digest_of, make_captioner
from crepebench.clic_candidate_index import MOST, Key
from crepebench.clic_rows import flat_words

logger = logging.getLogger(__name__)

INSTRUCTION = (
    "Name up to five words that could stand in the place of a word in a sentence about a picture. Each must keep the "
    "sentence grammatical and sensible, have the same form (a plural for a plural, a past tense for a past tense), and "
    "make the sentence say something else: no synonyms. Lower case, one line, parted by commas."
)
EXAMPLES = (
    ("a man in a red hat rides a horse.", "horse", "donkey, camel, bicycle, motorcycle, elephant"),
    ("two dogs sleep on a sofa near the window.", "dogs", "cats, children, puppies, kittens, rabbits"),
    ("a wooden bench stands beside a pond.", "wooden", "metal, stone, plastic, iron, concrete"),
    ("a woman sits on a white chair.", "sits", "stands, kneels, sleeps, dances, jumps"),
)
"""Sentence, word and answer; our own."""
SENTENCE, WORD, OTHERS = "sentence:", "word:", "others:"
NO_WORDS, NOT_IN_DATA = "answer_empty", "candidates_not_in_data"
"""Reasons of answers without a word, and of answers of which no word is one of the data with that tag."""
ONE_WORD = re.compile(r"[^\W\d_]+(?:[-'][^\W\d_]+)*")


def prompts_digest() -> str:
    """Returns a digest of instruction and examples, which shape all answers."""
    return digest_of([INSTRUCTION, EXAMPLES])


def prompt_of(sentence: str, word: str) -> tuple[str, str]:
    """Returns beginning and rest of the prompt for a word of a sentence."""
    shown = "".join(f"{SENTENCE} {s}\n{WORD} {w}\n{OTHERS} {others}\n\n" for s, w, others in EXAMPLES)
    return f"{INSTRUCTION}\n\n{shown}", f"{SENTENCE} {sentence}\n{WORD} {word}\n{OTHERS}"


def words_of(text: str) -> list[str]:
    """Returns the words in what a model wrote: of its first line, or of what follows "others:" there."""
    line = next(filter(None, map(str.strip, text.splitlines())), "").lower()
    found = [part.strip(" .\"'`") for part in line[max(0, line.find(OTHERS)) :].removeprefix(OTHERS).split(",")]
    return list(dict.fromkeys(word for word in found if ONE_WORD.fullmatch(word)))


def ask_for_candidates(
    items: Sequence[Mapping],
    asked: Sequence[Key],
    pool: Mapping[Key, int],
    config: Mapping,
    counts: dict[str, Counter],
    captioner: Captioner | None = None,
) -> dict[Key, list[str]]:
    """Returns at most `MOST` candidates for each word, in the model's order; none where its answers are of no use.

    Args:
        items: of table CLIC_ROWS.
        asked: words with their fine tags.
        pool: words with their fine tags that may be candidates.
        config: config block `captioner`, with `store` (folder of answers).
        counts: takes the unit "answer": answers looked at, kept, and refused by reason.
        captioner: the backend; that of the config where None.
    """
    captioner = captioner or make_captioner(config, prompts_digest())
    store = AnswerStore(config["store"], captioner.identity)
    shown = _first_places(items, set(asked))
    found: dict[Key, list[str]] = {key: [] for key in asked}
    own = counts.setdefault("answer", Counter({READ: 0, KEPT: 0}))
    for attempt in range(config["attempts"] if config["temperature"] else 1):
        waiting = [key for key in asked if not found[key]]
        if not waiting:
            break
        seed = attempt_seed(config["seed"], attempt)
        requests = [
            Request(
                f"candidates for {word!r} ({fine})", *prompt_of(items[shown[word, fine]]["sentences"][0], word), seed
            )
            for word, fine in waiting
        ]
        answers = answer_requests(requests, captioner, store)
        for (word, fine), request in zip(waiting, requests, strict=True):
            answer = answers[request.key]
            named = [] if answer.failure else words_of(answer.text)
            fits = [other for other in named if other != word and (other, fine) in pool]
            own.update((READ, answer.failure or (KEPT if fits else NOT_IN_DATA if named else NO_WORDS)))
            found[word, fine] = fits[:MOST]
    n_found = sum(map(bool, found.values()))
    logger.info("%s names candidates for %d of %d words", captioner.source, n_found, len(asked))
    return found


def _first_places(items: Sequence[Mapping], keys: set[Key]) -> dict[Key, int]:
    """Returns the first item that holds each word with its fine tag."""
    places: dict[Key, int] = {}
    for place, text, fine in zip(*flat_words(items), strict=True):
        if (text, fine) in keys:
            places.setdefault((text, fine), int(place))
    return places
