import logging

import pytest

from crepebench.aliases import ALIAS_FILES, Aliases, read_alias_files, read_aliases


def alias_file(folder, name, text):
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_first_name_of_a_line_is_canonical(tmp_path):
    path = alias_file(tmp_path, "object_alias.txt", "t-shirt,Tee Shirt, tshirt \n\nbike,bicycle\nlamp\n")
    assert read_aliases(path) == {"tee shirt": "t-shirt", "tshirt": "t-shirt", "bicycle": "bike"}


def test_name_of_two_groups_belongs_to_the_first(tmp_path):
    path = alias_file(tmp_path, "object_alias.txt", "cup,mug\nmug,beaker\nglass,cup\n")
    assert read_aliases(path) == {"mug": "cup", "beaker": "mug"}


def test_canonical_name_comes_first_and_the_annotators_own_stays():
    aliases = Aliases(objects={"tee shirt": "t-shirt"})
    assert aliases.object_names(["tee shirt", "top"]) == ["t-shirt", "top", "tee shirt"]
    assert Aliases().object_names(["tee shirt"]) == ["tee shirt"]


def test_file_that_is_not_there_is_told_of_and_changes_nothing(tmp_path, caplog):
    path = alias_file(tmp_path, "relationship_alias.txt", "on,on a\n")
    with caplog.at_level(logging.WARNING):
        aliases = read_alias_files([path])
    assert aliases == Aliases({}, {"on a": "on"})
    assert ALIAS_FILES[0] in caplog.text and ALIAS_FILES[1] not in caplog.text


def test_alias_file_that_is_not_utf_8_is_named(tmp_path):
    (tmp_path / "object_alias.txt").write_bytes(b"caf\xe9,cafe\n")
    with pytest.raises(ValueError, match=r"object_alias\.txt: not a text in UTF-8"):
        read_aliases(str(tmp_path / "object_alias.txt"))
