"""Write the prompts by which a language model puts subgraphs into words, and read its answers.

Source: paper section 4.2: five written examples for each complexity. The paper's are not published; ours are in
resources/prompts. All prompts of one complexity share their beginning, so that a model has to read it only once.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from crepebench.caption_words import is_plural, normalise, relation_words
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.image_facts import head_noun, normal_relation

INSTRUCTION = (
    "Write one caption of a picture from its facts. Say every fact exactly once and add nothing. "
    "Each object, relation and attribute has words of its own. Lower case, one line, no full stop at the end."
)
FACTS, CAPTION = "facts:", "caption:"
N_EXAMPLES = 5
"""Examples of a complexity. Source: paper section 4.2."""
BETWEEN_FACTS, BETWEEN_ENDS = "; ", " - "
SAYS = re.compile(r"^(.+?) (?:is|are) (.+)$")
EXAMPLES_FILE = re.compile(r"^n(\d\d)\.yaml$")
QUOTES = "\"'`“”‘’ "


@dataclass(frozen=True)
class Example:
    """A caption with the facts that it says, as `format_facts` writes them."""

    facts: str
    caption: str

    @property
    def atoms(self) -> list[dict]:
        """The atoms that the facts state."""
        return parse_facts(self.facts)


def read_examples(folder: str) -> dict[int, list[Example]]:
    """Reads the examples.

    Args:
        folder: has a file n05.yaml, n06.yaml, ... for each complexity.

    Returns:
        Examples by complexity.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: a file has another number of examples than `N_EXAMPLES`, or one of another complexity; names it.
    """
    import yaml

    examples = {}
    for path in sorted(Path(folder).iterdir()):
        match = EXAMPLES_FILE.match(path.name)
        if not match:
            continue
        complexity = int(match[1])
        rows = yaml.safe_load(path.read_text(encoding="utf-8"))
        examples[complexity] = [Example(row["facts"], row["caption"]) for row in rows]
        if len(rows) != N_EXAMPLES:
            raise ValueError(f"{path}: {len(rows)} examples, not {N_EXAMPLES}")
        for example in examples[complexity]:
            if len(example.atoms) != complexity:
                raise ValueError(f"{path}: {example.facts!r} has {len(example.atoms)} atoms, not {complexity}")
    if not examples:
        raise FileNotFoundError(f"{folder} has no examples (n05.yaml, ...)")
    return examples


def format_facts(atoms: Sequence[Mapping]) -> str:
    """Returns a subgraph as it is put to the model: "man - wearing - hat; hat is red; bench".

    Relations come first, then attributes, then objects of which nothing is said; each kind in the order of the atoms.
    Objects of one name are numbered: "man 1", "man 2".
    """
    names = _numbered_names(atoms)
    facts, said = [], set()
    for atom in atoms:
        if atom["kind"] == RELATION:
            words = relation_words(atom["name"])
            facts.append(BETWEEN_ENDS.join((names[atom["subject"]], words, names[atom["object"]])))
            said.update((atom["subject"], atom["object"]))
    for atom in atoms:
        if atom["kind"] == ATTRIBUTE:
            copula = "are" if is_plural(atoms[atom["object"]]) else "is"
            facts.append(f"{names[atom['object']]} {copula} {normalise(atom['name'])}")
            said.add(atom["object"])
    facts += [name for index, name in names.items() if index not in said]
    return BETWEEN_FACTS.join(facts)


def _numbered_names(atoms: Sequence[Mapping]) -> dict[int, str]:
    """Returns the names of the objects by their places; those of one name are numbered."""
    objects = {i: normalise(atom["name"]) for i, atom in enumerate(atoms) if atom["kind"] == OBJECT}
    total, seen, names = Counter(objects.values()), Counter(), {}
    for index, name in objects.items():
        seen[name] += 1
        names[index] = f"{name} {seen[name]}" if total[name] > 1 else name
    return names


def parse_facts(facts: str) -> list[dict]:
    """Returns the atoms of what `format_facts` writes: objects by first mention, then relations and attributes.

    Raises:
        ValueError: an object's name is empty, or a fact is neither a triple, an attribute nor a name; names it.
    """
    places: dict[str, int] = {}
    joins = []

    def place(name: str) -> int:
        return places.setdefault(name, len(places))

    for fact in facts.split(BETWEEN_FACTS):
        ends, says = fact.split(BETWEEN_ENDS), SAYS.match(fact)
        if len(ends) == 3:
            joins.append(_atom(RELATION, ends[1], normal_relation(ends[1]), place(ends[0]), place(ends[2])))
        elif len(ends) == 1 and says:
            joins.append(_atom(ATTRIBUTE, says[2], says[2], -1, place(says[1])))
        elif len(ends) == 1 and fact.strip():
            place(fact)
        else:
            raise ValueError(f"{fact!r} of {facts!r} is no fact")
    names = [re.sub(r" \d+$", "", name) for name in places]
    return [_atom(OBJECT, name, head_noun(name), -1, -1) for name in names] + joins


def _atom(kind: str, name: str, text: str, subject: int, object_: int) -> dict:
    return {"kind": kind, "text": text, "name": name, "subject": subject, "object": object_}


def prompt_prefix(examples: Sequence[Example]) -> str:
    """Returns the beginning of all prompts of one complexity: the instruction and its examples."""
    shown = (f"{FACTS} {example.facts}\n{CAPTION} {example.caption}\n\n" for example in examples)
    return f"{INSTRUCTION}\n\n{''.join(shown)}"


def prompt_suffix(atoms: Sequence[Mapping]) -> str:
    """Returns the end of a subgraph's prompt, behind which the model writes its caption."""
    return f"{FACTS} {format_facts(atoms)}\n{CAPTION}"


def answer_of(text: str) -> str:
    """Returns the caption in what a model wrote: the first line, or what follows "caption:" there, without quotes."""
    lines = list(filter(None, map(str.strip, text.splitlines())))
    if not lines:
        return ""
    first, marker = lines[0], re.search(CAPTION, lines[0], re.IGNORECASE)
    if marker:
        first = lines[0][marker.end() :].strip() or "".join(lines[1:2])
    is_quoted = len(first) > 1 and first[0] in QUOTES and first[-1] in QUOTES
    return first.strip(QUOTES) if is_quoted else first
