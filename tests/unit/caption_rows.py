"""Files of captions for tests, and what is read from them."""

from collections import Counter


def every(block):
    """Takes every block of a file."""
    return True


def write(path, *lines):
    """Writes lines, texts or bytes, and returns the path."""
    path.write_bytes(b"".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return str(path)


def gathered(rows):
    """Returns the values of each column as bytes, and the dropped rows by reason."""
    rows = list(rows)
    by_field = zip(*(r.columns for r in rows), strict=True)
    columns = [[value for part in parts for value in part.to_pylist()] for parts in by_field]
    return columns, dict(+sum((r.dropped for r in rows), Counter()))
