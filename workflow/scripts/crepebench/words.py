"""Words of a parsed text as the rules of the parser read them, with the tagger's commonest errors mended.

They are plain objects: the rules ask for tags and heads many times, and spaCy makes a new string at each. The universal
part of speech is read off the Penn tag here: spaCy's own component for it takes a fifth of the time.
"""

import re
from dataclasses import dataclass, field

WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*")
"""Letters, hyphens and apostrophes: no number, address, file name or hashtag is an atom."""

UNIVERSAL = {
    **dict.fromkeys(("NN", "NNS"), "NOUN"),
    **dict.fromkeys(("NNP", "NNPS"), "PROPN"),
    **dict.fromkeys(("JJ", "JJR", "JJS", "AFX"), "ADJ"),
    **dict.fromkeys(("RB", "RBR", "RBS"), "ADV"),
    **dict.fromkeys(("VB", "VBD", "VBG", "VBN", "VBP", "VBZ"), "VERB"),
    **dict.fromkeys(("IN", "RP"), "ADP"),
    "MD": "AUX",
    "CD": "NUM",
}
"""Universal parts of speech of Penn tags, as far as the rules tell them apart."""
OTHER = "X"
BE = frozenset("be is are was were been being am 's 're 'm ’s ’re".split())
PRONOUNS = frozenset(
    "something anyone anything nothing someone everything everyone everybody nobody somebody anybody".split()
)
"""Pronouns that are tagged as nouns."""
NOUNS = ("NOUN", "PROPN")
COLOURS = frozenset(
    (
        "red orange yellow green blue purple pink brown black white gray grey tan silver beige maroon teal turquoise"
    ).split()
)
"""Colour terms: adjectives before a noun, whatever the tagger makes of "white house" or "orange key"."""
NOUN_PLACES = ("pobj", "dobj", "nsubj", "nsubjpass")
"""Dependencies of words that stand where a noun must stand."""
NO_NOUNS = frozenset(
    "left right front back top bottom side up down out here there outside inside so such more most less enough".split()
)
"""Words that stand where a noun must stand, and name no object there: "on the right"."""
ARTICLES = ("a", "an")


@dataclass(slots=True, eq=False)
class Word:
    """A token.

    Attributes:
        i: its place in the text.
        text: lower case.
        start: its first character in the text.
        pos, tag, dep: spaCy's universal and Penn part of speech and dependency, mended.
        head: the word that governs it; a root governs itself.
        children: the words that it governs, in reading order.
        in_preposition: whether it belongs to a preposition of several words.
    """

    i: int
    text: str
    start: int
    pos: str
    tag: str
    dep: str
    head: "Word" = None
    children: list["Word"] = field(default_factory=list)
    in_preposition: bool = False

    @property
    def is_word(self) -> bool:
        """Whether it is a word at all."""
        return WORD.fullmatch(self.text) is not None

    @property
    def end(self) -> int:
        """The character after its last one."""
        return self.start + len(self.text)


def read_words(doc, offset: int = 0) -> list[Word]:
    """Reads the words of a parsed text.

    Args:
        doc: spaCy's Doc, tagged and parsed.
        offset: characters before the text itself.
    """
    words = [Word(i, token.lower_, token.idx - offset, "", token.tag_, token.dep_) for i, token in enumerate(doc)]
    for word, head in zip(words, doc.to_array("HEAD").astype("int64").tolist(), strict=True):
        word.pos = universal_tag(word)
        word.head = words[word.i + head]
        if head:
            word.head.children.append(word)
    return words


def universal_tag(word: Word) -> str:
    """Returns the universal part of speech of a tagged word: "have" is a full verb unless it is an auxiliary."""
    if word.dep in ("aux", "auxpass") and word.tag != "TO":
        return "AUX"
    pos = UNIVERSAL.get(word.tag, OTHER)
    if pos == "VERB" and word.text in BE:
        return "AUX"
    return OTHER if pos == "NOUN" and word.text in PRONOUNS else pos


def mend_tags(words: list[Word]) -> None:
    """Mends tags that cannot be right where the word stands; words of prepositions must be marked before.

    - A colour before a noun or adjective is an adjective, and so is what the parse takes for one ("dark clouds").
    - A word where a noun must stand is a noun ("on surfboard", tagged as an adjective).
    - So is one that has an article ("the railing", tagged as a verb), or is joined to a noun ("a suit and tie").
    - After a preposition that ends in "to" there is no infinitive ("next to train").
    - What ends in "s" after "a" and a noun is the noun's verb ("a man surfs").
    """
    for word, following in zip(words, [*words[1:], None], strict=True):
        if word.in_preposition:
            continue
        before_noun = following is not None and following.pos in ("ADJ", *NOUNS)
        if (word.text in COLOURS and before_noun) or (word.pos == "PROPN" and word.dep == "amod"):
            word.pos = "ADJ"
        elif _stands_for_noun(word):
            word.pos = "NOUN"
        elif word.tag in ("NN", "NNS") and word.text.endswith("s"):
            before = words[max(0, word.i - 1)]
            has_article = word.tag == "NNS" and any(child.text in ARTICLES for child in word.children)
            if before.head is word and (before.dep == "nsubj" or (before.dep == "compound" and has_article)):
                word.pos, before.dep = "VERB", "nsubj"


def _stands_for_noun(word: Word) -> bool:
    """Says whether an adjective, adverb or verb stands where only a noun can."""
    if word.pos not in ("ADJ", "ADV", "VERB") or word.text in NO_NOUNS or not word.text.isalpha():
        return False
    has_article = any(child.dep == "det" for child in word.children)
    if word.pos != "VERB":
        return word.dep in NOUN_PLACES or (word.dep == "ROOT" and has_article)
    if word.tag in ("VB", "VBP"):
        is_joined = word.dep == "conj" and word.head.pos in NOUNS and not word.children
        if is_joined or any(child.text == "to" and child.in_preposition for child in word.children):
            return True
    return has_article
