import pytest

from crepebench.caption_checks import check_caption
from crepebench.captions import normalise
from crepebench.prompts import (
    Example,
    answer_of,
    format_facts,
    parse_facts,
    prompt_prefix,
    prompt_suffix,
    read_examples,
)

from .test_captions import att, generated_subgraphs, obj, rel


@pytest.fixture(scope="module")
def examples(repository):
    """The committed examples."""
    return read_examples(str(repository / "resources" / "prompts"))


def test_examples_are_five_for_each_complexity(examples):
    assert {n: len(shown) for n, shown in examples.items()} == dict.fromkeys(range(5, 13), 5)
    assert all(len(example.atoms) == n for n, shown in examples.items() for example in shown)


def test_examples_pass_the_check(examples, lexicon, tables):
    for shown in examples.values():
        for example in shown:
            checked = check_caption(example.caption, example.atoms, lexicon, tables)
            assert checked.reason == "", example
            assert checked.text == example.caption


def test_examples_are_all_different(examples):
    everything = [example for shown in examples.values() for example in shown]
    assert len({example.caption for example in everything}) == len(everything) == 40
    scenes = {frozenset(a["text"] for a in example.atoms if a["kind"] == "object") for example in everything}
    assert len(scenes) == 40


def test_examples_have_one_style(examples):
    for example in (example for shown in examples.values() for example in shown):
        assert example.caption == normalise(example.caption)
        assert ". " not in example.caption
        assert format_facts(example.atoms) == example.facts


def test_facts_of_a_subgraph():
    atoms = [obj("bench"), obj("man"), att("tall", 1), obj("man"), obj("shoes"), rel(1, "wears", 4), rel(3, "has", 4)]
    atoms.append(att("old", 4))
    assert format_facts(atoms) == "man 1 - wearing - shoes; man 2 - with - shoes; man 1 is tall; shoes are old; bench"


def test_facts_are_read_as_they_are_written():
    for atoms in generated_subgraphs(300, seed=4):
        read = parse_facts(format_facts(atoms))
        assert len(read) == len(atoms)
        assert format_facts(read).count(";") == format_facts(atoms).count(";")
        assert {a["kind"] for a in read} == {a["kind"] for a in atoms}


@pytest.mark.parametrize("facts", ["man - hat", "man; ; hat", "a - b - c - d"])
def test_what_is_no_fact_is_an_error(facts):
    with pytest.raises(ValueError, match="is no fact"):
        parse_facts(facts)


def test_prefix_holds_the_examples_and_suffix_the_facts(examples):
    one = [obj("man"), obj("bench"), obj("cup"), rel(0, "on", 1), att("red", 2)]
    prefix = prompt_prefix(examples[5])
    assert prompt_suffix(one) == "facts: man - on - bench; cup is red\ncaption:"
    assert prefix.count("caption:") == 5
    assert prefix.endswith("\n\n")


def test_example_of_another_complexity_is_an_error(tmp_path):
    rows = ['- facts: "man; hat"\n  caption: "a man and a hat"\n'] * 5
    (tmp_path / "n03.yaml").write_text("".join(rows))
    with pytest.raises(ValueError, match=r"n03\.yaml: 'man; hat' has 2 atoms, not 3"):
        read_examples(str(tmp_path))
    (tmp_path / "n03.yaml").unlink()
    (tmp_path / "n02.yaml").write_text("".join(rows[:4]))
    with pytest.raises(ValueError, match="4 examples, not 5"):
        read_examples(str(tmp_path))


def test_folder_without_examples_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="has no examples"):
        read_examples(str(tmp_path))


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (" a man on a bench", "a man on a bench"),
        (" a man on a bench\n\nfacts: dog; cat\ncaption: a dog", "a man on a bench"),
        ("Caption: a man on a bench\nIt is nice.", "a man on a bench"),
        ("Here is the caption: a man on a bench", "a man on a bench"),
        ("caption:\n\n a man on a bench", "a man on a bench"),
        ('"a man on a bench"', "a man on a bench"),
        ("“a man’s hat”", "a man’s hat"),
        ("a dogs' bowl", "a dogs' bowl"),
        ("", ""),
    ],
)
def test_answer_is_the_first_line_behind_the_marker(text, answer):
    assert answer_of(text) == answer


def test_example_knows_its_atoms():
    assert [atom["text"] for atom in Example("dogs - chasing - cat; cat is black", "").atoms] == [
        *("dog", "cat", "chase", "black")
    ]
