"""Make odd inputs out of good ones: trees of JSON, tables of texts, and bytes with something wrong in them."""

import copy
import csv
import io
from contextlib import contextmanager

from hypothesis import settings
from hypothesis import strategies as st

NAMED = (ValueError, KeyError, OSError)
"""Errors that may tell a user what is wrong, if their text names the file."""
ODD_TEXTS = [
    *("", " ", "\t", "\n", "\r\n", "\0", "a\0b", "\ud800", "\ufeff", "\u200b", "e\u0301", "\u202eabc", "\U0001f600"),
    *("'", '"', "''''", '"""', ",", ";", "|", "\\", "{}", "[]", "None", "nan", "NaN", "inf", "-1", "1e400", "0x10"),
    *("9" * 5_000, "x" * 140_000, "=1+1", "../../etc/passwd", "<script>alert(1)</script>", "%FF", "%00", "&#0;", "١٢"),
]
ODD_VALUES = [
    *(None, True, False, 0, 1, -1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, 1.0, -0.0, 1e300),
    *(float("nan"), float("inf"), float("-inf"), [], {}, [[]], [None], {"": None}, {"a": {"a": {}}}, [1, "a", None]),
]
odd_texts = st.one_of(st.sampled_from(ODD_TEXTS), st.text(max_size=12))
odd_values = st.one_of(st.sampled_from(ODD_VALUES), odd_texts, st.integers(), st.floats())


def inputs(share: float):
    """Gives a test that share of the inputs of its kind, which conftest.py sets."""
    return settings(max_examples=round(settings.default.max_examples * share))


def places_of(tree, path=()) -> list[tuple]:
    """Returns the path of every value below the root of a tree."""
    children = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    found = []
    for key, child in children:
        found += [(*path, key), *places_of(child, (*path, key))]
    return found


def value_at(tree, path):
    for key in path:
        tree = tree[key]
    return tree


@st.composite
def mutated(draw, good, most: int = 3, values=odd_values):
    """A copy of a tree in which up to `most` things are replaced, gone, repeated, renamed, exchanged or nested."""
    tree = copy.deepcopy(good)
    for _ in range(draw(st.integers(0, most))):
        places = places_of(tree)
        if not places:
            break
        path = draw(st.sampled_from(places))
        parent, key = value_at(tree, path[:-1]), path[-1]
        match draw(
            st.sampled_from(["replace", "replace", "replace", "delete", "repeat", "rename", "exchange", "nest"])
        ):
            case "replace":
                parent[key] = copy.deepcopy(draw(values))  # the one drawn may be mutated, too
            case "delete":
                del parent[key]
            case "repeat" if isinstance(parent, list):
                parent.insert(key, copy.deepcopy(parent[key]))
            case "rename" if isinstance(parent, dict):
                name = draw(st.one_of(st.sampled_from(list(parent)), odd_texts))
                parent[name] = parent.pop(key)
            case "exchange":
                parent[key] = copy.deepcopy(value_at(tree, draw(st.sampled_from(places))))
            case "nest":
                parent[key] = draw(st.sampled_from([[parent[key]], {"a": parent[key]}, str(parent[key])]))
    return tree


@st.composite
def damaged(draw, good: bytes, most: int = 2):
    """Bytes of which up to `most` pieces are gone, other ones, or repeated."""
    data = good
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, len(data)))
        end = min(len(data), start + draw(st.one_of(st.integers(0, 8), st.integers(0, len(data)))))
        match draw(st.sampled_from(["cut", "delete", "overwrite", "insert", "repeat"])):
            case "cut":
                data = data[:start]
            case "delete":
                data = data[:start] + data[end:]
            case "overwrite":
                new = draw(st.binary(min_size=1, max_size=4))
                data = data[:start] + new + data[start + len(new) :]
            case "insert":
                odd = [
                    b"\0",
                    b"\xff",
                    b'"',
                    b"\n",
                    b"\r",
                    b"\t",
                    b",",
                    b"[",
                    b"{",
                    b"\xef\xbb\xbf",
                    b"\\ud800",
                    b"\xc3",
                ]
                data = data[:start] + draw(st.sampled_from(odd)) + data[start:]
            case "repeat":
                data = data[:end] + data[start:end] + data[end:]
    return data


def csv_text(rows: list, columns=None) -> bytes:
    """Returns those of the rows that are dicts as CSV; where no columns are named, the first row names them."""
    rows = [row for row in rows if isinstance(row, dict)]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns or (rows[0] if rows else ()))
    writer.writerows(map(str, row.values()) for row in rows)
    return stream.getvalue().encode(errors="surrogatepass")


@contextmanager
def only_errors_that_name(*names):
    """Lets errors pass whose text holds one of the names, of a file or a table; any other fails the test."""
    try:
        yield
    except NAMED as error:
        assert any(str(name) in str(error) for name in names), f"{type(error).__name__} names no file: {error!s:.300}"
