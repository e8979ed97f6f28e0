"""Count pairs, sets, foils, images and words by family, corpus, split, foil type and complexity, beside the paper's.

A pair is a crop with a true caption, whatever its foil types; a set is a pair with the foils of one type. In the rows
of all foil types the sets of the mixed types (combined, overall) are left out, since they repeat the foils of the
others; a row of `combined` or `overall` counts them. docs/tables.md explains every column.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from crepebench.accounting import KEPT, READ, read_accounting
from crepebench.drawing import read_rows
from crepebench.families import FOIL_TYPES, PARTS_OF_TYPE, PRODUCTIVITY, SYSTEMATICITY
from crepebench.measures import write_csv
from crepebench.schema import RETRIEVAL_SETS, iterate_rows
from crepebench.splits import ALL_SPLITS, OTHER, SC, UC, read_splits

KEY = ("family", "corpus", "split", "foil_type", "complexity")
COLUMNS = (
    *(*KEY, "counts_of", "protocol", "n_pool", "n_pairs", "n_sets", "n_foils", "n_texts", "n_images"),
    *("truth_words", "foil_words", "caption_sources", "note", "source"),
)
ALL = "all"
BOTH = "SC+UC"
"""The two splits that the paper evaluates, together."""
RUN = "this run"
RELEASED = "released files"
PUBLISHED_ORDER = ("arXiv v1", "CVPR 2023", "arXiv v3", RELEASED)
GPT3 = "GPT-3"
CAPTION_SOURCES = {"4": "template", ALL: f"{GPT3}; template"}
"""What worded the paper's captions (section 4.2): by complexity, GPT-3 where there is no entry."""
CAPTIONS_STAGE, SUBGRAPH = "captions", "subgraph_n"
"""Stage and unit of the accounting that has the captions of each complexity."""

Key = tuple[str, str, str, str, str]


@dataclass
class Cell:
    """What is counted of the sets of one protocol in one cell."""

    n_sets: int = 0
    n_foils: int = 0
    truth_words: int = 0
    foil_words: int = 0
    pairs: set[str] = field(default_factory=set)
    images: set[int] = field(default_factory=set)
    sources: set[str] = field(default_factory=set)

    def add(self, row: Mapping, truth_words: int, foil_words: int) -> None:
        """Adds a row of table RETRIEVAL_SETS, its words counted."""
        self.n_sets += 1
        self.n_foils += len(row["foils"])
        self.truth_words += truth_words
        self.foil_words += foil_words
        self.pairs.add(row["set_id"])
        self.images.add(row["image_id"])
        self.sources.add(row["caption_source"])

    def counts(self) -> dict:
        """Returns the columns; a truth counts as one text of its pair."""
        return {
            "n_pairs": len(self.pairs),
            "n_sets": self.n_sets,
            "n_foils": self.n_foils,
            "n_texts": self.n_foils + len(self.pairs),
            "n_images": len(self.images),
            "truth_words": self.truth_words / self.n_sets,
            "foil_words": self.foil_words / self.n_foils if self.n_foils else "",
            "caption_sources": "; ".join(sorted(self.sources)),
        }


def n_words(text: str) -> int:
    """Returns the number of words of a text, parted by white space."""
    return len(text.split())


def corpus_splits(split_of: Mapping[str, Mapping[int, str]], region_id: int) -> Iterator[tuple[str, str]]:
    """Yields corpus and split of each cell that a region belongs to.

    Args:
        split_of: split of each region, by corpus.
        region_id: the region.
    """
    yield ALL, ALL
    for corpus, splits in split_of.items():
        yield corpus, ALL
        yield corpus, splits[region_id]
        if splits[region_id] in (SC, UC):
            yield corpus, BOTH


def count_sets(
    family: str, sets_paths: Sequence[str], split_of: Mapping[str, Mapping[int, str]]
) -> dict[tuple[str, Key], Cell]:
    """Counts the sets of a family by protocol and cell.

    Args:
        family: family of the sets.
        sets_paths: tables RETRIEVAL_SETS.
        split_of: split of each region, by corpus; not used for productivity.
    """
    cells: dict[tuple[str, Key], Cell] = defaultdict(Cell)
    for path in sets_paths:
        for row in iterate_rows(path, RETRIEVAL_SETS):
            words = n_words(row["caption"]), sum(n_words(foil["text"]) for foil in row["foils"])
            is_part = PARTS_OF_TYPE[family][row["foil_type"]] == (row["foil_type"],)
            foil_types = (row["foil_type"], ALL) if is_part else (row["foil_type"],)
            if family == SYSTEMATICITY:
                places = [(*place, "") for place in corpus_splits(split_of, row["region_id"])]
            else:
                places = [("", "", complexity) for complexity in (str(row["complexity"]), ALL)]
            for corpus, split, complexity in places:
                for foil_type in foil_types:
                    cells[row["protocol"], (family, corpus, split, foil_type, complexity)].add(row, *words)
    return cells


def count_pool(
    split_of: Mapping[str, Mapping[int, str]], accounting_paths: Sequence[str]
) -> dict[tuple[str, ...], int]:
    """Counts what sets may be made of, by family, corpus, split and complexity: regions, and captions of subgraphs.

    Args:
        split_of: split of each region, by corpus.
        accounting_paths: counts of the retrieval sets, and of the captions where they were built here.
    """
    pool: dict[tuple[str, ...], int] = {}
    for corpus, splits in split_of.items():
        sizes = Counter(splits.values())
        for split, size in [*sizes.items(), (BOTH, sizes[SC] + sizes[UC]), (ALL, len(splits))]:
            pool[SYSTEMATICITY, corpus, split, ""] = size
    for row in read_accounting(list(accounting_paths)):
        stage, unit, reason, count = row["stage"], str(row["unit"]), row["reason"], int(row["count"])
        if stage == f"retrieval_sets/{SYSTEMATICITY}" and reason == READ:
            pool[SYSTEMATICITY, ALL, ALL, ""] = count  # each foil type counts the same regions
        elif stage == CAPTIONS_STAGE and reason == KEPT and unit.startswith(SUBGRAPH):
            for complexity in (unit.removeprefix(SUBGRAPH), ALL):
                key = (PRODUCTIVITY, "", "", complexity)
                pool[key] = pool.get(key, 0) + count
    return pool


def run_rows(cells: Mapping[tuple[str, Key], Cell], pool: Mapping[tuple[str, ...], int]) -> Iterator[dict]:
    """Yields the rows of this run."""
    for (protocol, key), cell in cells.items():
        family, corpus, split, _, complexity = key
        head = {**dict.fromkeys(COLUMNS, ""), **dict(zip(KEY, key, strict=True)), "counts_of": RUN}
        head |= {"protocol": protocol, "n_pool": pool.get((family, corpus, split, complexity), "")}
        yield {**head, **cell.counts()}


def published_rows(counts: Sequence[Mapping], released: Sequence[Mapping]) -> Iterator[dict]:
    """Yields the paper's rows, by version, and those of the released files.

    Args:
        counts: rows of resources/published/counts.csv, one a quantity.
        released: rows of resources/published/released.csv.
    """
    by_key: dict[tuple, dict] = {}
    for count in counts:
        key = (*(count[name] for name in ("family", "training_corpus", "split", "foil_type", "complexity")),)
        empty = {**dict.fromkeys(COLUMNS, ""), **dict(zip(KEY, key, strict=True)), "protocol": "paper"}
        row = by_key.setdefault((count["counts_of"], key), {**empty, "counts_of": count["counts_of"]})
        row[count["quantity"]] = int(count["value"])
        for name in ("note", "source"):
            said = "; ".join(filter(None, (row[name], count[name])))
            row[name] = "; ".join(dict.fromkeys(said.split("; ")))
    yield from by_key.values()
    for found in released:
        copied = {name: found[name] for name in COLUMNS if name in found}
        texts = int(found["n_foils"]) + int(found["n_pairs"])
        sources = CAPTION_SOURCES.get(found["complexity"], GPT3)
        head = {"family": PRODUCTIVITY, "counts_of": RELEASED, "protocol": "paper", "caption_sources": sources}
        yield {**dict.fromkeys(COLUMNS, ""), **copied, **head, "n_texts": texts}


def row_order(row: Mapping, corpora: Sequence[str]) -> tuple:
    """Returns the place of a row: equal cells stand together, the run's before the paper's."""
    splits = (ALL, BOTH, *ALL_SPLITS, *OTHER, "")
    types = (ALL, *FOIL_TYPES[row["family"]])
    names = (RUN, *PUBLISHED_ORDER)
    corpus = corpora.index(row["corpus"]) if row["corpus"] in corpora else len(corpora)
    complexity = 0 if row["complexity"] in ("", ALL) else int(row["complexity"])
    return (
        list(FOIL_TYPES).index(row["family"]),
        *(corpus, row["corpus"], splits.index(row["split"]), types.index(row["foil_type"]), complexity),
        *(names.index(row["counts_of"]), row["protocol"]),
    )


def tabulate_dataset_statistics(
    systematicity_paths: list[str],
    productivity_paths: list[str],
    splits_paths: list[str],
    accounting_paths: list[str],
    counts_path: str,
    released_path: str,
    table_path: str,
    cfg: str,
) -> None:
    """Writes dataset_statistics.csv.

    Args:
        systematicity_paths: tables RETRIEVAL_SETS of the family.
        productivity_paths: and of the other.
        splits_paths: table SPLITS of each corpus, in the order of `use`.
        accounting_paths: counts of the retrieval sets, and of the captions where they were built here.
        counts_path: resources/published/counts.csv.
        released_path: resources/published/released.csv.
        table_path: table to write.
        cfg: JSON of `use`: names of the corpora.
    """
    corpora = json.loads(cfg)["use"]
    split_of = {corpus: read_splits(path) for corpus, path in zip(corpora, splits_paths, strict=True)}
    cells = count_sets(SYSTEMATICITY, systematicity_paths, split_of)
    cells |= count_sets(PRODUCTIVITY, productivity_paths, {})
    rows = list(run_rows(cells, count_pool(split_of, accounting_paths)))
    rows += published_rows(read_rows(counts_path), read_rows(released_path))
    rows.sort(key=lambda row: row_order(row, [ALL, *corpora]))
    write_csv(table_path, COLUMNS, rows)
