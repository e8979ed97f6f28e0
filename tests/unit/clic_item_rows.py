"""Rows of table CLIC_ROWS for tests, made without a tagger."""

from collections.abc import Sequence

TAGS = {
    **dict.fromkeys("jar box cup key bell fan horse man".split(), ("NOUN", "NN")),
    **dict.fromkeys("jars boxes cups".split(), ("NOUN", "NNS")),
    **dict.fromkeys("red blue green small large".split(), ("ADJ", "JJ")),
    **dict.fromkeys("above below".split(), ("ADP", "IN")),
    **dict.fromkeys("rides holds".split(), ("VERB", "VBZ")),
    **dict.fromkeys("a the".split(), ("DET", "DT")),
    ".": ("PUNCT", "."),
}


def words_of(sentence: str) -> list[dict]:
    """Returns the words of a sentence, whose words must be parted by spaces, but for a full stop at its end."""
    words, start = [], 0
    for text in sentence.replace(".", " .").split():
        start = sentence.index(text, start)
        pos, fine = TAGS.get(text, ("X", "FW"))
        words.append({"text": text, "pos": pos, "fine": fine, "start": start, "end": start + len(text)})
        start += len(text)
    return words


def clic_row(number: int, *sentences: str) -> dict:
    """Returns a row of CLIC_ROWS of the training split."""
    return {
        "row_id": number,
        "image_id": -number - 1,
        "split": "train",
        "sentences": list(sentences),
        "words": words_of(sentences[0]),
    }


def clic_rows(first_sentences: Sequence[str], n_others: int = 3) -> list[dict]:
    """Returns a row for each first sentence, with other sentences that name the row."""
    return [
        clic_row(i, first, *(f"other {k} of picture {i}." for k in range(n_others)))
        for i, first in enumerate(first_sentences)
    ]


def count_words(texts: Sequence[str]) -> list[int]:
    """Counts words in the place of tokens, full stops apart, and two marks."""
    return [len(text.replace(".", " .").split()) + 2 for text in texts]
