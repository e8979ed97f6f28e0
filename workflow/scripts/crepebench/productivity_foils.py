"""Make the productivity foils of a subgraph's caption: HN-Atom, HN-Swap, HN-Neg, and all of them in one set.

Source: paper sections 3.3 and 4.2, A.3, A.4 and B.3. HN-Atom replaces one atom, HN-Swap lets atoms of a kind change
places (`crepebench.swaps`), HN-Neg negates an atom or the whole (`crepebench.negations`). `overall` has the foils of
all three types where a caption has them. `crepebench.refined_productivity` is protocol `refined`.

# ASSUME: "without" replaces no relation: a negation is a foil of the type HN-Neg.
# ASSUME: each form of a negation takes its turn, so that a set holds most of them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from crepebench.caption_edits import countability, first_mention, is_replaceable, reword, with_surfaces
from crepebench.caption_words import normalise
from crepebench.captions import TEMPLATE, Caption
from crepebench.fact_checks import FactChecker, is_placed, with_graph
from crepebench.families import ATOM, CONTRADICTION, NEGATE, OVERALL, SWAP
from crepebench.foils import MADE_OF, Draft, Foil, in_turns, inflected, take_foils
from crepebench.graphs import OBJECT, RELATION
from crepebench.image_facts import ImageFacts
from crepebench.negations import KIND_NEGATED, NEGATION, Slot, contradict, negate, slots
from crepebench.replacements import Candidate, CandidateFinder
from crepebench.swaps import KIND_SWAPPED, draw_swaps, graph_content, move_atoms, swap_groups
from crepebench.word_pool import Pool
from crepebench.word_tables import WordTables


@dataclass(frozen=True)
class Source:
    """What foils of a subgraph are made from.

    Attributes:
        caption: the true caption.
        atoms: of the subgraph, with `surface`.
        candidates: false replacements of each atom, in random order.
        facts: what is true in the image.
        crop: `x`, `y`, `width` and `height` of what a model sees, in pixels.
    """

    caption: Caption
    atoms: list[dict]
    candidates: Mapping[int, list[Candidate]]
    facts: ImageFacts
    crop: Mapping


@dataclass(frozen=True)
class Frame:
    """What stays the same in the foils of a text, beside what each changes.

    Attributes:
        changed: atoms by place that stand for those of the subgraph.
        slot: what is negated in all of them, or None.
        fixed: places of atoms that foils leave alone.
    """

    changed: Mapping[int, Mapping] = field(default_factory=dict)
    slot: Slot | None = None
    fixed: frozenset[int] = frozenset()


PLAIN = Frame()
"""Of a caption as it stands."""


class ProductivityFoilBuilder:
    """Builds the foils of subgraphs in protocol `paper`.

    Args:
        finder: finds replacements.
        tables: tables of words.
        pool: words that replacements come from.
        seed: seed of all choices; each subgraph's choices depend on it and the subgraph's id alone.
        n_foils: foils of each type that a set needs.
        n_candidates: most foils to make of each type; in protocol `paper` the first become a set's, others are spare.
    """

    def __init__(
        self, finder: CandidateFinder, tables: WordTables, pool: Pool, seed: int, n_foils: int, n_candidates: int
    ):
        self._finder, self._tables, self._pool = finder, tables, pool
        self._checker = FactChecker(finder, tables)
        self._seed, self._n_foils, self._n_candidates = seed, n_foils, n_candidates

    def drafts(self, subgraph: Mapping, caption: Caption, facts: ImageFacts) -> dict[str, Draft]:
        """Returns truth and foils of one subgraph by foil_type (atom, swap, negate, overall).

        Args:
            subgraph: row of table SUBGRAPHS; `subgraph_id`, `atoms` and its box are used.
            caption: of the subgraph.
            facts: what is true in the image.
        """
        rng = np.random.default_rng([self._seed, subgraph["subgraph_id"]])
        atoms, facts = with_surfaces(caption, subgraph["atoms"]), with_graph(facts, subgraph["atoms"])
        source = Source(caption, atoms, self._shuffled_candidates(caption, atoms, facts, rng), facts, subgraph)
        drafts = {
            ATOM: self._draft(source, caption.text, {ATOM: self._atom_foils(source, PLAIN, rng)}),
            SWAP: self._draft(source, caption.text, {SWAP: self._swap_foils(source, PLAIN, rng)}),
        }
        return drafts | self._negated_drafts(source, drafts, rng)

    def _negated_drafts(self, source: Source, drafts: Mapping[str, Draft], rng) -> dict[str, Draft]:
        """Returns the drafts of `negate` and `overall`."""
        truth = source.caption.text
        negated = self._draft(source, truth, {NEGATE: self._paper_negations(source, rng)})
        parts = {**{part: drafts[part].foils for part in (ATOM, SWAP)}, NEGATE: negated.foils}
        return {NEGATE: negated, OVERALL: self._draft(source, truth, parts)}

    def _draft(self, source: Source, truth: str, foils: Mapping[str, Iterable[Foil]]) -> Draft:
        """Returns the draft of a truth with the foils of one or more parts; a lacking part is the reason for none."""
        taken: list[Foil] = []
        for part, found in foils.items():
            part_foils = take_foils(found, self._n_candidates, truth)
            if len(part_foils) < self._n_foils:
                return Draft(reason=f"{part}_foils")
            taken += part_foils
        return Draft(truth, source.caption.source, len(source.atoms), tuple(taken))

    def _shuffled_candidates(self, caption: Caption, atoms: list[dict], facts: ImageFacts, rng) -> dict:
        """Returns the replacements of every atom in random order; none where no other words can stand."""
        candidates = {}
        for index, atom in enumerate(atoms):
            found = self._finder.candidates(atoms, index, facts)
            if atom["kind"] == RELATION:
                ends = atoms[atom["subject"]], atoms[atom["object"]]
                found = [candidate for candidate in found if not is_placed(candidate.text, *ends)]
            order = [found[i] for i in rng.permutation(len(found)) if not NEGATION.search(found[i].text)]
            is_material = atom["kind"] == OBJECT and MADE_OF.search(caption.text[: first_mention(caption, index).start])
            candidates[index] = order if is_replaceable(caption, atoms, index) and not is_material else []
        return candidates

    def _text(self, source: Source, frame: Frame, changed: Mapping[int, Mapping] | None = None) -> str | None:
        """Returns the text of a frame with other atoms; None where the frame's slot can then not be negated."""
        changed = {**frame.changed, **(changed or {})}
        caption = reword(source.caption, source.atoms, changed, self._tables.mass_nouns)
        if frame.slot is None:
            return normalise(caption.text)
        return negate(caption, [{**atom, **changed.get(i, {})} for i, atom in enumerate(source.atoms)], frame.slot)

    def _replaced(self, atom: Mapping, candidate: Candidate) -> dict:
        """Returns the atom that a replacement makes: its normal form, and its name in the form of the old one."""
        return {"text": candidate.text, "name": inflected(atom, candidate.text, self._pool.relation_forms)}

    def _atom_foils(self, source: Source, frame: Frame, rng) -> Iterator[Foil]:
        """Yields texts with one atom replaced; the atoms take turns."""
        usable = [i for i in range(len(source.atoms)) if i not in frame.fixed]
        turns = [usable[i] for i in rng.permutation(len(usable))]
        for index, candidate in in_turns({i: source.candidates[i] for i in turns}):
            atom = source.atoms[index]
            if text := self._text(source, frame, {index: self._replaced(atom, candidate)}):
                yield Foil(text, atom["kind"], atom["text"], candidate.text, candidate.source)

    def _swap_foils(self, source: Source, frame: Frame, rng) -> Iterator[Foil]:
        """Yields texts in which atoms of one kind have changed places and something false is said."""
        atoms = source.atoms
        affirmed = [i for i, atom in enumerate(atoms) if atom["kind"] != OBJECT]
        left = (i for i in range(len(atoms)) if not is_replaceable(source.caption, atoms, i))
        colours = (i for i in range(len(atoms)) if self._finder.is_complexion(atoms, i))
        fixed = frame.fixed.union(left, colours)
        said = set()
        for move in draw_swaps(swap_groups(atoms, self._tables, fixed), rng):
            moved = move_atoms(atoms, move)
            if not self._fits(source, move) or not self._checker.has_false_fact(atoms, moved, source.facts, affirmed):
                continue
            if (content := graph_content(moved)) in said:  # the same in another order
                continue
            said.add(content)
            if text := self._text(
                source, frame, {i: {name: moved[i][name] for name in ("text", "name")} for i in move}
            ):
                places = sorted(move)
                kind = atoms[places[0]]["kind"]
                before, after = (", ".join(each[i]["text"] for i in places) for each in (atoms, moved))
                yield Foil(text, KIND_SWAPPED[kind], before, after, f"{kind}s of the caption")

    def _fits(self, source: Source, move: Mapping[int, int]) -> bool:
        """Says whether words can stand where a move puts them; in a model's caption "a" would stand before "water"."""
        if source.caption.source == TEMPLATE:
            return True
        mass_nouns, atoms = self._tables.mass_nouns, source.atoms
        pairs = ((atoms[place], atoms[from_]) for place, from_ in move.items() if atoms[place]["kind"] == OBJECT)
        return all(countability(one, mass_nouns) == countability(other, mass_nouns) for one, other in pairs)

    def _negatable(self, source: Source) -> list[tuple[Slot, str]]:
        """Returns what of the caption can be negated, with the text that does it.

        An object is not denied where the caption affirms another of its name, or of a name that may mean the same.
        """
        found = []
        for slot in slots(source.atoms):
            text = negate(source.caption, source.atoms, slot)
            if text is not None and (slot.kind != OBJECT or self._is_unique(source, slot.atom)):
                found.append((slot, text))
        return found

    def _is_unique(self, source: Source, index: int) -> bool:
        """Says whether no other object of the caption may go by the name of one."""
        names = self._finder.names(source.atoms[index]["text"], source.facts)
        others = (atom for i, atom in enumerate(source.atoms) if i != index and atom["kind"] == OBJECT)
        return not any(other["text"] in names for other in others)

    def _paper_negations(self, source: Source, rng) -> Iterator[Foil]:
        """Yields the caption with an atom negated, with the whole negated, or with an object denied behind it."""
        foils: dict[str, list[Foil]] = {}
        for slot, text in self._negatable(source):
            foils.setdefault(slot.kind, []).append(negated_foil(source.atoms, slot, text))
        for i, atom in enumerate(source.atoms):
            if atom["kind"] == OBJECT:
                text = contradict(source.caption, source.atoms, i)
                foil = Foil(text, CONTRADICTION, atom["text"], f"no {atom['text']}", CONTRADICTION)
                foils.setdefault(CONTRADICTION, []).append(foil)
        turns = [sorted(foils)[i] for i in rng.permutation(len(foils))]
        yield from (foil for _, foil in in_turns({kind: shuffled(foils[kind], rng) for kind in turns}))


def shuffled(items: Sequence, rng: np.random.Generator) -> list:
    """Returns items in random order."""
    return [items[i] for i in rng.permutation(len(items))]


def negated_foil(atoms: Sequence[Mapping], slot: Slot, text: str, source: str = "negation") -> Foil:
    """Returns the foil in which a slot is negated."""
    word = slot.kind if slot.atom < 0 else atoms[slot.atom]["text"]
    return Foil(text, KIND_NEGATED[slot.kind], word, f"not {word}", source)
