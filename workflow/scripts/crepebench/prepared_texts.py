"""Make texts ready for spaCy: its tagger was trained on newspapers, and captions are fragments.

# ASSUME: a caption that starts with a bare noun gets an article, and one without a full stop gets one, before it is
# tagged. Both change what the tagger makes of the first and last word, and neither becomes an atom.
"""

import re

SEPARATOR = re.compile(r"(?<=\s)[|–—•·-](?=\s)")
"""What web texts put between a caption and its tail; parsed as the end of a sentence, at the same length."""

ARTICLE = "the "
STOPS = (".", "!", "?")
NO_ARTICLE_BEFORE = frozenset(
    (
        "a an the this that these those there here it he she they we i you who what where when his her its their my "
        "our your some any no each every all both many several few one two three four five six seven eight nine ten "
        "another is are was were has have in on at of by under above behind near next to from with inside outside "
        "between"
    ).split()
)
"""First words of a text that no article goes before, or that need none."""


def prepare_text(text: str) -> tuple[str, int]:
    """Returns a text as the tagger reads it best, and the number of characters before its own first one.

    The tagger takes the first word of a fragment for a verb ("leaves on the ground"). So a text that starts with none
    of `NO_ARTICLE_BEFORE` gets an article, and every text a full stop; neither becomes an atom.
    """
    text = SEPARATOR.sub(".", text.lower())
    first = text.split(maxsplit=1)[:1]
    article = ARTICLE if first and first[0].isalpha() and first[0] not in NO_ARTICLE_BEFORE else ""
    stop = "" if text.rstrip().endswith(STOPS) else " ."
    return f"{article}{text}{stop}", len(article)
