"""Pages of HTML with styles, scripts, data and pictures inline: one file that needs no server and no network.

The page's policy lets it load nothing but what stands in it. Scripts read the data from the block with the id `data`.
"""

import base64
import html
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "base-uri 'none'; form-action 'none'"
)
FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>{title}</title>
{styles}
</head>
<body>
{body}
<script type="application/json" id="data">{data}</script>
{scripts}
</body>
</html>
"""
ENDS_STYLE = re.compile(r"</style", re.IGNORECASE)
ENDS_SCRIPT = re.compile(r"</script|<!--", re.IGNORECASE)
"""What would end an inline block before its end."""
WEBP_QUALITY = 80
"""0-100."""


def inline_page(title: str, body: str, styles: Sequence[str], scripts: Sequence[str], data) -> str:
    """Returns a page.

    Args:
        title: plain text.
        body: HTML; nothing that was read from a table belongs here.
        styles: paths of CSS files, in their order.
        scripts: paths of JavaScript files, in their order; they run when body and data are there.
        data: whatever JSON can hold.

    Raises:
        ValueError: a style or script holds what would end it early; names the file.
    """
    return FRAME.format(
        policy=html.escape(POLICY),
        title=html.escape(title),
        styles="\n".join(f"<style>\n{_read_inline(path, ENDS_STYLE)}</style>" for path in styles),
        body=body,
        data=data_json(data),
        scripts="\n".join(f"<script>\n{_read_inline(path, ENDS_SCRIPT)}</script>" for path in scripts),
    )


def data_json(data) -> str:
    """Returns data as JSON with sorted keys, in which no text can end the block that holds it.

    Raises:
        ValueError: a number is none of JSON's (NaN, infinite).
    """
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def picture_uri(picture, max_side: int = 512) -> str:
    """Returns a picture as a data URI (WebP).

    Args:
        picture: PIL image in RGB; it is left as it is.
        max_side: pixels of the longer side at most; smaller pictures are not enlarged.
    """
    small = picture.copy()
    small.thumbnail((max_side, max_side))
    stream = io.BytesIO()
    small.save(stream, "WEBP", quality=WEBP_QUALITY)
    return "data:image/webp;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def _read_inline(path: str, ends: re.Pattern) -> str:
    text = Path(path).read_text(encoding="utf-8")
    found = ends.search(text)
    if found:
        raise ValueError(f"{path}: holds {found.group()!r}, which would end the block that holds it in a page")
    return text
