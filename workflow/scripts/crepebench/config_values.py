"""Check values of the config that the schema lets pass: numbers that are none, and secrets where they would be shown.

The config is written to run.json, to logs and to Snakemake's own records. So keys come from the environment, and no
address may hold a password.
"""

import math
import re
from collections.abc import Iterator, Mapping
from urllib.parse import urlsplit

VARIABLE = re.compile("[A-Za-z_][A-Za-z0-9_]*")
LONG_NUMBER = 1 << 63
MOST_JOBS = 99_999
"""Names of parts have five digits."""
PARTS = (("visual_genome", "image_parts"), ("graphs", "parts"), ("corpora", "shards"), ("foils", "parts"))
ADDRESS = re.compile("[a-z][a-z0-9+.-]*://", re.IGNORECASE)


def check_values(config: Mapping, schema: Mapping) -> None:
    """Checks a config that has passed the schema.

    Args:
        config: the whole config.
        schema: config.schema.yaml.

    Raises:
        ValueError: a whole number is written with a point, a number is infinite or none, there would be too many jobs,
            a name is none, an address holds a password, or captioner.api_key_variable is no name of a variable; names
            the key, and no secret.
    """
    from jsonschema import Draft202012Validator, validators

    types = Draft202012Validator.TYPE_CHECKER
    types = types.redefine("integer", lambda _, value: _is_whole(value))
    types = types.redefine("number", lambda _, value: _is_whole(value) or _is_fraction(value))
    strict = validators.extend(Draft202012Validator, type_checker=types)
    for error in strict(schema).iter_errors(config):
        key = ".".join(map(str, error.absolute_path))
        raise ValueError(
            f"config: {key}: {error.instance!r:.80} is no number of its kind: whole numbers have no point, and none is "
            "infinite or has more than 63 bits"
        )
    for block, key in PARTS:
        if config[block][key] > MOST_JOBS:
            raise ValueError(f"config: {block}.{key} is {config[block][key]:,}, and may be {MOST_JOBS:,} at most")
    for block in ("corpora", "models"):
        for name in (*config[block]["use"], *config[block]["definitions"]):
            if not name.isprintable():  # the schema's pattern lets a line end pass
                raise ValueError(f"config: {block}: {name!r} is no name: use a-z, 0-9 and _")
    for key, value in _texts(config):
        if ADDRESS.match(value) and _holds_password(value):
            raise ValueError(f"config: {key} is an address with a user or password, which logs and records would show")
    if "?" in (config["captioner"]["base_url"] or ""):
        raise ValueError("config: captioner.base_url holds a query: name the server alone")
    if not VARIABLE.fullmatch(config["captioner"]["api_key_variable"]):
        raise ValueError(
            "config: captioner.api_key_variable is no name of an environment variable (letters, digits and _); it "
            "names the variable that holds the key, and is not the key itself"
        )


def _is_whole(value) -> bool:
    return type(value) is int and abs(value) < LONG_NUMBER


def _is_fraction(value) -> bool:
    return type(value) is float and math.isfinite(value)


def _texts(value, key: str = "") -> Iterator[tuple[str, str]]:
    """Yields every text of a config with its dotted key."""
    if isinstance(value, str):
        yield key, value
    children = value.items() if isinstance(value, Mapping) else enumerate(value) if isinstance(value, list) else ()
    for name, child in children:
        yield from _texts(child, f"{key}.{name}" if key else str(name))


def _holds_password(address: str) -> bool:
    """Says whether an address names a user; one that cannot be read is refused, too."""
    try:
        return "@" in urlsplit(address).netloc
    except ValueError:
        return True
