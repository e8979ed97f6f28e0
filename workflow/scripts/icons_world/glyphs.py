"""Masks of Font Awesome Free's solid glyphs, read from the installed package `fontawesomefree`."""

import json
from functools import cache, lru_cache
from importlib.resources import files

from PIL import Image, ImageFont

FONT_FOLDER = "static/fontawesomefree"
DRAWN_HEIGHT = 256
"""Height in pixels at which a glyph is drawn once before it is scaled."""


@lru_cache(maxsize=1)
def _code_points() -> dict[str, int]:
    metadata = files("fontawesomefree") / FONT_FOLDER / "metadata" / "icons.json"
    icons = json.loads(metadata.read_text(encoding="utf-8"))
    return {name: int(icon["unicode"], 16) for name, icon in icons.items() if "solid" in icon["free"]}


@lru_cache(maxsize=1)
def _font() -> ImageFont.FreeTypeFont:
    path = files("fontawesomefree") / FONT_FOLDER / "webfonts" / "fa-solid-900.ttf"
    return ImageFont.truetype(str(path), DRAWN_HEIGHT)


@cache
def _drawn_glyph(name: str) -> Image.Image:
    """Draws a glyph once, cut to its ink."""
    if name not in _code_points():
        raise KeyError(f"Font Awesome Free has no solid glyph {name!r}")
    font, text = _font(), chr(_code_points()[name])
    left, top, right, bottom = font.getbbox(text)
    core = font.getmask(text, mode="L")
    mask = Image.frombytes("L", core.size, bytes(core))
    return mask.crop(mask.getbbox() or (0, 0, right - left, bottom - top))


@lru_cache(maxsize=4096)
def glyph_mask(name: str, width: int, height: int) -> Image.Image:
    """Returns the mask of a glyph, as large as fits into width x height pixels with its proportions kept.

    Raises:
        KeyError: the package has no solid glyph of that name.
    """
    glyph = _drawn_glyph(name)
    scale = min(width / glyph.width, height / glyph.height)
    size = max(1, round(glyph.width * scale)), max(1, round(glyph.height * scale))
    return glyph.resize(size, Image.Resampling.BILINEAR)
