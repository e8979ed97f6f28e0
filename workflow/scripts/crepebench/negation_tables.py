"""Turn what models and corrections of them make of benchmarks and CREPE's sets into negation.csv.

docs/tables.md explains every column. Gains are differences item by item, so their intervals are narrower than those of
the values that they compare.
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from crepebench.benchmark_blind import image_numbers
from crepebench.benchmark_choices import CHOSEN, choice_rows
from crepebench.benchmark_items import CHOOSE_CAPTION
from crepebench.benchmark_results import ACCURACY
from crepebench.benchmark_tables import STRICT, manifest_of, metrics_of, read_published, results_of
from crepebench.families import FOIL_TYPES
from crepebench.measures import write_csv
from crepebench.model_comparison import read_sets
from crepebench.negation_cells import NEAR_TIE, Bootstrap, cell_rows, mean_of, near_ties
from crepebench.schema import (
    BENCHMARK_BLIND,
    BENCHMARK_ITEMS,
    BENCHMARK_SCORES,
    NEGATION_CHANGES,
    NEGATION_CONTROLS,
    read_table,
)

COLUMNS = (
    *("model", "trained_on", "seed", "benchmark", "subset", "metric", "value", "low", "high", "control", "published"),
)
TEXT_PRIOR = "text_prior"
"""Control: the strongest blind scorer, fitted on questions about other images."""
GAIN = "_gain"
"""End of a metric's name: the value less that of the frozen model."""
CREPE = "crepe_"
COSINE, OFFSET = "cosine_to_frozen", "offset_size"
Rows = Sequence[Mapping]


def value_rows(items: Rows, scores: Rows, frozen: Rows | None, macros: Mapping, draw: Bootstrap) -> Iterator[dict]:
    """Yields what a model makes of a benchmark, cell by cell, and what it gains against the frozen model.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        scores: rows of table BENCHMARK_SCORES of the model.
        frozen: likewise of its backbone; None for the backbone itself.
        macros: of the reader's manifest.
        draw: how intervals are drawn.
    """
    scores, frozen = ([*rows, *choice_rows(items, rows)] if rows else rows for rows in (scores, frozen))
    for metric, members in metrics_of(items).items():
        values = results_of(members, scores, metric).values[STRICT]
        yield from cell_rows(members, values, metric, macros, draw)
        if frozen and not metric.startswith(CHOSEN):
            before = results_of(members, frozen, metric).values[STRICT]
            yield from cell_rows(members, values - before, metric + GAIN, macros, draw)


def near_tie_rows(items: Rows, scores: Rows, frozen: Rows, draw: Bootstrap) -> Iterator[dict]:
    """Yields the accuracy on the questions that are nearest to a tie for the frozen model."""
    questions = [item for item in items if item["task"] == CHOOSE_CAPTION]
    chosen = near_ties(questions, frozen)
    near = [item for item in questions if item["item_id"] in chosen]
    for row in cell_rows(near, results_of(near, scores, ACCURACY).values[STRICT], ACCURACY, {}, draw) if near else ():
        if row["subset"] == "all":
            yield {**row, "subset": NEAR_TIE}


def control_rows(items: Rows, controls: Rows, macros: Mapping, draw: Bootstrap) -> Iterator[dict]:
    """Yields the accuracy under each control.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        controls: rows of table NEGATION_CONTROLS.
        macros: of the reader's manifest.
        draw: how intervals are drawn.
    """
    questions = [item for item in items if item["task"] == CHOOSE_CAPTION]
    by_control = defaultdict(list)
    for row in controls:
        by_control[row["control"]].append(row)
    for control, rows in by_control.items():
        values = results_of(questions, rows, ACCURACY).values[STRICT]
        found = cell_rows(questions, values, ACCURACY, macros, draw._replace(names=(*draw.names, control)))
        yield from ({**row, "control": control} for row in found)


def change_rows(items: Rows, changes: Rows, draw: Bootstrap) -> Iterator[dict]:
    """Yields how near corrected captions stay to frozen ones, and the size of the scorer's offsets.

    By whether the caption holds a negation cue, whether it is right, and the form of its question.

    Args:
        items: rows of table BENCHMARK_ITEMS.
        changes: rows of table NEGATION_CHANGES.
        draw: how intervals are drawn.
    """
    known = {item["item_id"]: item for item in items}
    number_of = dict(zip(known, image_numbers(items).tolist(), strict=True))
    groups = defaultdict(list)
    for row in changes:
        item = known[row["item_id"]]
        tags = {tag["name"]: tag["value"] for tag in item["tags"]}
        names = ["all", f"cue={'yes' if row['has_cue'] else 'no'}", f"right={'yes' if row['caption'] == 0 else 'no'}"]
        names += [f"form={tags['form']}"] if "form" in tags and row["has_cue"] else []
        for name in names:
            groups[name].append((number_of[row["item_id"]], row["cosine"], abs(row["offset"])))
    for name in sorted(groups):
        images, cosines, offsets = map(np.array, zip(*groups[name], strict=True))
        yield mean_of(cosines, images, COSINE, name, draw)
        yield mean_of(offsets, images, OFFSET, name, draw)


def crepe_rows(sets: Rows, family: str, is_frozen: bool, draw: Bootstrap) -> Iterator[dict]:
    """Yields recall at 1 on CREPE's sets by type of foil, and the share of foils of each kind that the truth beats.

    Args:
        sets: as `crepebench.model_comparison.read_sets` gives them, `one` being the frozen model.
        family: family of the sets.
        is_frozen: whether the model is the frozen one, so that nothing is gained.
        draw: how intervals are drawn.
    """
    both = [row for row in sets if row["one"] and row["other"]]
    for foil_type in FOIL_TYPES[family]:
        found = [row for row in both if row["foil_type"] == foil_type]
        hits, wins = [], defaultdict(list)
        for row in found:
            hits.append((row["image_id"], row["other"]["rank"] <= 1, row["one"]["rank"] <= 1))
            for kind, now, before in zip(row["kinds"], row["other"]["wins"], row["one"]["wins"], strict=True):
                wins[kind].append((row["image_id"], now, before))
        groups = {(foil_type, "recall_at_1"): hits} if hits else {}
        groups |= {(f"{foil_type}/{kind}", "pairwise_accuracy"): wins[kind] for kind in sorted(wins)}
        for (subset, metric), values in groups.items():
            images, now, before = (np.array(column) for column in zip(*values, strict=True))
            yield mean_of(now.astype(np.float64), images, metric, subset, draw)
            if not is_frozen:
                yield mean_of(now.astype(np.float64) - before, images, metric + GAIN, subset, draw)


def tabulate_negation(
    items_paths: Sequence[str],
    scores_paths: Sequence[str],
    blind_paths: Sequence[str],
    controls_paths: Sequence[str],
    changes_paths: Sequence[str],
    sets_paths: Mapping[str, Sequence[str]],
    sets_scores_paths: Mapping[str, Sequence[str]],
    manifests_paths: Sequence[str],
    published_paths: Sequence[str],
    table_path: str,
    cfg: str,
) -> None:
    """Writes negation.csv.

    Args:
        items_paths: table BENCHMARK_ITEMS of each benchmark, in the order of `benchmarks`.
        scores_paths: table BENCHMARK_SCORES of each model on each benchmark, benchmark by benchmark.
        blind_paths: table BENCHMARK_BLIND of each benchmark.
        controls_paths: table NEGATION_CONTROLS of each trained model on each benchmark, benchmark by benchmark.
        changes_paths: table NEGATION_CHANGES, likewise.
        sets_paths: tables RETRIEVAL_SETS by family.
        sets_scores_paths: table SCORES of each model, by family.
        manifests_paths: manifests of the readers.
        published_paths: CSV files of published figures.
        table_path: CSV to write.
        cfg: JSON of `evaluation` (n_resamples, seed), `benchmarks` (pairs of name and reader) and `models`: name,
            `backbone` (its own name for a frozen one), `trained_on`, `seed` ("" both where nothing is trained).
    """
    config = json.loads(cfg)
    models, evaluation = config["models"], config["evaluation"]
    published, rows = read_published(published_paths), []

    def add(model: Mapping, benchmark: str, found: Iterator[dict]) -> None:
        names = {key: model[key] for key in ("model", "trained_on", "seed")}
        for row in found:
            key = model["model"], benchmark, row["subset"], row["metric"]
            figure = published.get(key, "") if "control" not in row else ""
            rows.append({**names, "benchmark": benchmark, "control": "", "published": figure, **row})

    def draw_of(model: Mapping, benchmark: str) -> Bootstrap:
        return Bootstrap(evaluation["n_resamples"], evaluation["seed"], (model["model"], benchmark))

    trained = [model for model in models if model["trained_on"]]
    scores_left, controls_left, changes_left = map(iter, (scores_paths, controls_paths, changes_paths))
    for (benchmark, reader), items_path, blind_path in zip(config["benchmarks"], items_paths, blind_paths, strict=True):
        items = read_table(items_path, BENCHMARK_ITEMS).to_pylist()
        macros = manifest_of(manifests_paths, reader).get("macro", {})
        scores = {model["model"]: read_table(next(scores_left), BENCHMARK_SCORES).to_pylist() for model in models}
        for model in models:
            own, frozen, draw = scores[model["model"]], scores[model["backbone"]], draw_of(model, benchmark)
            is_frozen = model["model"] == model["backbone"]
            add(model, benchmark, value_rows(items, own, None if is_frozen else frozen, macros, draw))
            add(model, benchmark, near_tie_rows(items, own, frozen, draw))
        for model in trained:
            controls = read_table(next(controls_left), NEGATION_CONTROLS).to_pylist()
            add(model, benchmark, control_rows(items, controls, macros, draw_of(model, benchmark)))
            changes = read_table(next(changes_left), NEGATION_CHANGES).to_pylist()
            add(model, benchmark, change_rows(items, changes, draw_of(model, benchmark)))
        blind = [{**row, "control": TEXT_PRIOR} for row in read_table(blind_path, BENCHMARK_BLIND).to_pylist()]
        nobody = {"model": "", "trained_on": "", "seed": ""}
        add(nobody, benchmark, control_rows(items, blind, macros, draw_of(nobody, benchmark)))
    for family, paths in sets_paths.items():
        by_model = dict(zip((model["model"] for model in models), sets_scores_paths[family], strict=True))
        for model in models:
            sets = read_sets(paths, by_model[model["backbone"]], by_model[model["model"]])
            is_frozen = model["model"] == model["backbone"]
            add(model, CREPE + family, crepe_rows(sets, family, is_frozen, draw_of(model, family)))
    write_csv(table_path, COLUMNS, rows)
