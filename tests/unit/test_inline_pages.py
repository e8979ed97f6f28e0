import base64
import io
import json
import re

import numpy as np
import pytest
from PIL import Image

from crepebench.inline_pages import data_json, inline_page, picture_uri

NASTY = ["<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "<!-- <SCRIPT>", "a\u2028b", "é & \"'"]


@pytest.fixture
def files(tmp_path):
    style, script = tmp_path / "page.css", tmp_path / "page.js"
    style.write_text("body { color: red; }\n", encoding="utf-8")
    script.write_text('"use strict";\nconst word = "é";\n', encoding="utf-8")
    return str(style), str(script)


def block(page: str) -> str:
    return re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1)


def test_data_come_back_as_they_were_whatever_texts_they_hold(files):
    data = {"texts": NASTY, "number": 1.5, "none": None}
    page = inline_page("Title", "<main></main>", files[:1], files[1:], data)
    assert json.loads(block(page)) == data


def test_no_text_of_the_data_can_open_or_end_a_tag():
    assert "<" not in data_json(NASTY)


def test_equal_data_give_equal_pages_whatever_the_order_of_their_keys(files):
    pages = [inline_page("T", "", files[:1], files[1:], data) for data in ({"a": 1, "b": 2}, {"b": 2, "a": 1})]
    assert pages[0] == pages[1]


def test_a_number_that_json_does_not_know_is_an_error():
    with pytest.raises(ValueError, match="not JSON compliant"):
        data_json({"margin": float("nan")})


def test_styles_and_scripts_stand_in_the_page_which_may_load_nothing(files):
    page = inline_page("A < B", "<main></main>", files[:1], files[1:], {})
    assert "body { color: red; }" in page and 'const word = "é";' in page
    assert "<title>A &lt; B</title>" in page
    assert "default-src &#x27;none&#x27;" in page
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert '<html lang="en">' in page and 'name="viewport"' in page


@pytest.mark.parametrize("kind, text", [("css", "a::after { content: '</STYLE>' }"), ("js", 'const a = "</script>";')])
def test_a_file_that_would_end_its_block_is_named(tmp_path, files, kind, text):
    path = tmp_path / f"bad.{kind}"
    path.write_text(text, encoding="utf-8")
    styles, scripts = ([str(path)], []) if kind == "css" else ([], [str(path)])
    with pytest.raises(ValueError, match=f"bad.{kind}.*would end the block"):
        inline_page("T", "", styles, scripts, {})


def decode(uri: str) -> Image.Image:
    head, data = uri.split(",")
    assert head == "data:image/webp;base64"
    return Image.open(io.BytesIO(base64.b64decode(data)))


def test_a_large_picture_is_made_smaller_and_keeps_its_shape():
    picture = Image.new("RGB", (1024, 300), "red")
    assert decode(picture_uri(picture)).size == (512, 150)
    assert decode(picture_uri(picture, max_side=100)).size == (100, 29)
    assert picture.size == (1024, 300)


def test_a_small_picture_keeps_its_size_and_its_colours():
    picture = Image.new("RGB", (40, 30), (200, 30, 60))
    found = decode(picture_uri(picture)).convert("RGB")
    assert found.size == (40, 30)
    assert np.abs(np.asarray(found, int) - np.asarray(picture, int)).max() <= 12


PAIRS = [
    *((text, ground) for text in ("text", "quiet") for ground in ("ground", "card", "accent-wash", "good-wash")),
    *(("on-accent", "accent"), ("accent", "card"), ("good", "good-wash"), ("bad", "ground"), ("bad", "bad-wash")),
    *(("warn", "warn-wash"), ("text", "warn-wash"), ("text", "bad-wash")),
]


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_texts_stand_out_from_their_ground(repository, scheme):
    style = (repository / "resources" / "pages" / "page.css").read_text(encoding="utf-8")
    colours = dict(re.findall(r"--([a-z-]+): (#[0-9a-f]{6});", style.split(":root {")[scheme + 1]))
    for pair in PAIRS:
        dark, light = sorted(luminance(colours[name]) for name in pair)
        assert (light + 0.05) / (dark + 0.05) >= 4.5, pair  # WCAG 2.1, level AA
