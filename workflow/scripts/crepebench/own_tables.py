"""Turn the scores of a user's own captions into own_captions.csv: recalls by foil_type and size of the sets."""

import json
from collections import defaultdict

from crepebench.measures import cell_seed, measures_row, read_queries, write_csv
from crepebench.own_sets import FOIL_TYPES

KEY_COLUMNS = ("protocol", "model", "foil_type")
COLUMNS = (
    *(*KEY_COLUMNS, "n_candidates", "n_queries", "n_images", "recall_at_1", "recall_at_1_low", "recall_at_1_high"),
    *("recall_at_3", "recall_at_5", "average_recall", "mean_rank", "random_recall_at_1"),
)


def tabulate_own_captions(sets_paths: list[str], scores_paths: list[str], table_path: str, cfg: str) -> None:
    """Writes own_captions.csv.

    Args:
        sets_paths: tables RETRIEVAL_SETS of the family `own`.
        scores_paths: table SCORES of each model, in the order of `models`.
        table_path: CSV to write.
        cfg: JSON of `evaluation` (n_resamples, seed) and `models` (pairs of name and definition).
    """
    config, models = (json.loads(cfg)[block] for block in ("evaluation", "models"))
    rows = []
    for (model, _), path in zip(models, scores_paths, strict=True):
        cells = defaultdict(list)
        for query in read_queries(sets_paths, path):
            cells[query["protocol"], query["foil_type"], len(query["foils"])].append(query)
        for cell in sorted(cells, key=lambda cell: (cell[0], FOIL_TYPES.index(cell[1]), cell[2])):
            seed = cell_seed(config["seed"], model, *map(str, cell))
            key = dict(zip(KEY_COLUMNS, (cell[0], model, cell[1]), strict=True))
            rows.append(key | measures_row(cells[cell], config["n_resamples"], seed))
    write_csv(table_path, COLUMNS, rows)
