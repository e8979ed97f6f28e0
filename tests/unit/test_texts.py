import random
import re

import pyarrow as pa
import pytest

from crepebench.texts import (
    CLEAN_CHARACTER,
    decode_yfcc_text,
    decode_yfcc_texts,
    lower_texts,
    normalise_text,
    normalise_texts,
)

PIECES = [
    *["a", "Jar", "<PERSON>", " ", "  ", "\t", "\n", "\x00", "\x85", "\u00a0", "\u2028", "\u200b", "\u200d", "\ufeff"],
    *["e\u0301", "\u00e9", "\u0301", "\u00ad", "\u212b", "\U0001f408", "\u0130", "\u03a3", "\u2019", "\u2026", "100%"],
    *[
        "%20",
        "%FF",
        "%C3%A9",
        "+",
        "&amp;",
        "&lt;b&gt;",
        "<b>",
        "%3Cb%3E",
        "http://h/a?b=1&c",
        "\u4e2d",
        "\u1100\u1161",
    ],
]


def random_texts(seed, n=3000):
    rng = random.Random(seed)
    return ["".join(rng.choices(PIECES, k=rng.randrange(7))) for _ in range(n)]


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        (" a  red\tjar \n", "a red jar"),
        ("cafe\u0301", "caf\u00e9"),
        ("a\u2028jar\x00here\x85now", "a jar here now"),
        ("\u3000wide\u00a0space", "wide space"),
        ("a red\u200bjar", "a red jar"),
        ("\ufeffa j\u00ada\u200er", "a jar"),
        ("cafe\u00ad\u0301", "caf\u00e9"),
        (
            "a \U0001f469\u200d\U0001f680 by <PERSON>, http://h/1",
            "a \U0001f469\u200d\U0001f680 by <PERSON>, http://h/1",
        ),
        (" \t\n\ufeff", ""),
    ],
)
def test_text_is_normalised(text, normal):
    assert normalise_text(text) == normal
    assert normalise_text(normal) == normal


@pytest.mark.parametrize(
    ("text", "decoded"),
    [
        ("a%27s+dog%0Apark", "a's dog\npark"),
        ("100%25+icons", "100% icons"),
        ("100%2525", "100%25"),
        ("100% real", "100% real"),
        ("cat+%26amp%3B+dog", "cat & dog"),
        ("my+%3Ca+href%3D%22http%3A%2F%2Fh%22%3Eset%3C%2Fa%3E", "my  set "),
        ("a+%3C+b+%3C!--+c+--%3E", "a < b  "),
        ("a+%FF+jar", None),
    ],
)
def test_yfcc_text_is_decoded_once_and_stripped_of_html(text, decoded):
    assert decode_yfcc_text(text) == decoded


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(
    ("of_all", "of_one"),
    [(normalise_texts, normalise_text), (decode_yfcc_texts, decode_yfcc_text), (lower_texts, str.lower)],
)
def test_array_gives_what_single_texts_give(of_all, of_one, seed):
    texts = random_texts(seed)
    assert of_all(pa.array(texts, pa.large_string())).to_pylist() == list(map(of_one, texts))


@pytest.mark.parametrize("of_all", [normalise_texts, decode_yfcc_texts, lower_texts])
def test_null_stays_null_and_an_empty_array_empty(of_all):
    assert of_all(pa.array([None, "a", None], pa.large_string())).to_pylist() == [None, "a", None]
    assert of_all(pa.array([], pa.large_string())).type == pa.large_string()


def test_characters_that_skip_python_are_kept_beside_any_other():
    characters = [char for char in map(chr, range(0x11000)) if re.fullmatch(CLEAN_CHARACTER, char)]
    assert len(characters) > 500
    for text in ("".join(characters), "".join(reversed(characters)), " ".join(characters)):
        assert normalise_text(text) == text
