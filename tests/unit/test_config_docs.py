"""config/README.md, the schema, the default config and the tiny overlay agree."""

import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path

import pytest
import yaml
from snakemake.utils import update_config, validate

from crepebench.settings import check_names
from icons_world.settings import check_icons

REPOSITORY = Path(__file__).parents[2]
SCHEMA = REPOSITORY / "workflow" / "schemas" / "config.schema.yaml"
MANUAL = REPOSITORY / "config" / "README.md"
ROW = re.compile(r"^\| `([^`]+)` \|(.*)\|$", re.MULTILINE)
ANY_NAME = "<name>"


def read_yaml(path: Path) -> dict:
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def walk_schema(schema: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], dict]]:
    """Yields path and schema of every key; entries of a map with free names stand under `ANY_NAME`."""
    children = dict(schema.get("properties", {}))
    if isinstance(schema.get("additionalProperties"), dict):
        children[ANY_NAME] = schema["additionalProperties"]
    for name, child in children.items():
        yield (*path, name), child
        yield from walk_schema(child, (*path, name))


def walk_config(config: dict, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yields the path of every key; names of definitions as `ANY_NAME`."""
    for name, value in config.items():
        here = (*path, ANY_NAME if path[1:] == ("definitions",) else name)
        yield here
        if isinstance(value, dict):
            yield from walk_config(value, here)


def read_manual() -> dict[tuple[str, ...], str]:
    """Returns the rest of the row of each key that a section of the manual explains."""
    sections = re.split(r"^## ", MANUAL.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    rows = {}
    for section in sections:
        block, _, text = section.partition("\n")
        text = text.partition("\n| format |")[0]
        rows |= {(block.strip(), *key.split(".")): rest for key, rest in ROW.findall(text)}
    return rows


def leaves() -> list[tuple[str, ...]]:
    """Returns the paths of all keys of the schema that hold a value, not a map."""
    return [path for path, schema in walk_schema(read_yaml(SCHEMA)) if not list(walk_schema(schema))]


def test_every_key_of_the_schema_is_described():
    lacking = [path for path, schema in walk_schema(read_yaml(SCHEMA)) if not {"description", "$ref"} & schema.keys()]
    assert lacking == []


def test_manual_explains_every_key_of_the_schema_and_no_other():
    assert sorted(read_manual()) == sorted(leaves())


@pytest.mark.parametrize("path", [path for path in leaves() if ANY_NAME not in path], ids=".".join)
def test_manual_gives_the_true_default(path):
    value = read_yaml(REPOSITORY / "config" / "config.yaml")
    for name in path:
        value = value[name]
    default = read_manual()[path].split(" | ")[2].strip(" `")
    assert yaml.safe_load(default) == value


def test_every_row_has_meaning_and_values_and_every_key_of_the_default_its_default_and_source():
    for path, row in read_manual().items():
        meaning, values, default, source = (cell.strip() for cell in f"{row} ".split(" |"))
        assert meaning and values, path
        assert ANY_NAME in path or (default and source), path


def choices(schema: dict) -> list:
    """Returns the values that a schema lists, of a key or of the items of a list."""
    parts = [*schema.get("oneOf", []), *([schema["items"]] if "items" in schema else [])]
    return [*schema.get("enum", []), *(value for part in parts for value in choices(part))]


def test_manual_names_every_value_that_the_schema_allows():
    schemas = dict(walk_schema(read_yaml(SCHEMA)))
    listed = {path: choices(schemas[path]) for path in leaves() if choices(schemas[path])}
    assert ("foils", "protocol") in listed
    for path, values in listed.items():
        said = re.findall(r"`\"?([^`\"]+)\"?`", read_manual()[path])
        assert set(values) <= set(said), path


def test_default_config_validates():
    config = read_yaml(REPOSITORY / "config" / "config.yaml")
    validate(config, str(SCHEMA), set_default=False)
    check_names(config)
    check_icons(config)


def test_every_key_of_the_default_config_is_in_the_schema():
    known = {path for path, _ in walk_schema(read_yaml(SCHEMA))}
    used = walk_config(read_yaml(REPOSITORY / "config" / "config.yaml"))
    assert [path for path in used if path not in known and path[-2] != "options"] == []  # a reader knows its options


def test_tiny_overlay_validates_and_adds_no_key():
    default = read_yaml(REPOSITORY / "config" / "config.yaml")
    tiny = deepcopy(default)
    update_config(tiny, read_yaml(REPOSITORY / "tests" / "data" / "tiny.yaml"))
    validate(tiny, str(SCHEMA), set_default=False)
    check_names(tiny)
    check_icons(tiny)
    assert list(walk_config(tiny)) == list(walk_config(default))


def read_worked_examples() -> dict[str, str]:
    """Returns the overlay of each worked example, by its heading."""
    text = MANUAL.read_text(encoding="utf-8").partition("## Worked examples")[2]
    return dict(re.findall(r"^### ([^\n]+)\n.*?```yaml\n(.*?)```", text, re.DOTALL | re.MULTILINE))


def merged_with_default(*overlays: str) -> dict:
    config = read_yaml(REPOSITORY / "config" / "config.yaml")
    for overlay in overlays:
        update_config(config, yaml.safe_load(overlay))
    return config


def test_manual_has_its_worked_examples():
    assert len(read_worked_examples()) == MANUAL.read_text(encoding="utf-8").count("```yaml\n") == 7


@pytest.mark.parametrize("title", read_worked_examples())
def test_worked_example_of_the_manual_validates(tmp_path, title):
    examples = read_worked_examples()
    (tmp_path / "my_clip").mkdir()
    (tmp_path / "my_clip" / "open_clip_config.json").write_text("{}")
    overlay = examples[title].replace("/models", str(tmp_path))
    needed = [examples["A corpus of your own"]] if title.startswith("A model ") else []
    config = merged_with_default(*needed, overlay)
    validate(config, str(SCHEMA), set_default=False)
    check_names(config)
    check_icons(config)


def test_corpus_without_a_model_that_was_trained_on_it_is_refused():
    overlay = yaml.safe_load(read_worked_examples()["A corpus of your own"])
    del overlay["models"]
    with pytest.raises(ValueError, match="no model would enter a table of systematicity"):
        check_names(merged_with_default(yaml.safe_dump(overlay)))


def test_typo_in_an_overlay_is_refused():
    config = read_yaml(REPOSITORY / "config" / "config.yaml")
    update_config(config, {"regions": {"min_aera": 1}})
    with pytest.raises(Exception, match="min_aera"):
        validate(config, str(SCHEMA), set_default=False)


@pytest.mark.parametrize("name", ["config/config.yaml", "config/crepe.yaml", "tests/data/tiny.yaml"])
def test_no_key_stands_twice_in_a_block(name):
    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node, deep=False):
            keys = [self.construct_object(key, deep) for key, _ in node.value]
            assert len(set(keys)) == len(keys), (name, keys)
            return super().construct_mapping(node, deep)

    assert yaml.load((REPOSITORY / name).read_text(encoding="utf-8"), Loader)
