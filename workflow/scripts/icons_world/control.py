"""Compare a mini CLIP with a twin that was trained on the same corpus with nothing held out.

If the gap between seen and unseen compounds came from the sets (longer captions, harder kinds) and not from what the
model was shown, the twin would show it as well. Both gaps are taken on the same sets, splits and resampled images.
"""

import json

import numpy as np

from crepebench.measures import bootstrap_means, cell_seed, interval, query_hits, write_csv
from crepebench.splits import SC, UC
from crepebench.systematicity_tables import Queries, read_splits

COLUMNS = (
    "protocol",
    "training_corpus",
    "foil_type",
    "model",
    "twin",
    "n_seen",
    "n_unseen",
    "gap",
    "gap_low",
    "gap_high",
    "twin_gap",
    "twin_gap_low",
    "twin_gap_high",
    "difference",
    "difference_low",
    "difference_high",
)


def control_row(groups: list[tuple[np.ndarray, np.ndarray]], n_resamples: int, seed: list[int]) -> dict:
    """Returns both gaps and their difference (gap less twin's gap), in points, with intervals.

    Args:
        groups: image ids and hits (0 or 1) of seen and unseen sets of the model, then of its twin.
        n_resamples: number of bootstrap resamples.
        seed: seed of the bootstrap.
    """
    observed = [100.0 * float(hits.mean()) for _, hits in groups]
    means = 100.0 * bootstrap_means(groups, n_resamples, seed)
    row = {}
    for name, value, resampled in (
        ("gap", observed[1] - observed[0], means[1] - means[0]),
        ("twin_gap", observed[3] - observed[2], means[3] - means[2]),
        (
            "difference",
            observed[1] - observed[0] - observed[3] + observed[2],
            means[1] - means[0] - means[3] + means[2],
        ),
    ):
        low, high = interval(resampled)
        row |= {name: value, f"{name}_low": low, f"{name}_high": high}
    return row


def tabulate_icons_control(
    sets_paths: list[str], splits_path: str, scores_path: str, twin_scores_path: str, table_path: str, cfg: str
) -> None:
    """Writes icons_control.csv.

    Args:
        sets_paths: tables RETRIEVAL_SETS.
        splits_path: table SPLITS of the model's corpus.
        scores_path: table SCORES of the model.
        twin_scores_path: table SCORES of its twin.
        table_path: table to write.
        cfg: JSON of `evaluation`, `corpus`, `model` and `twin`.
    """
    config = json.loads(cfg)
    split_of = read_splits(splits_path)
    cells = [
        {
            (protocol, foil_type, split): rows
            for protocol, foil_type, split, rows in Queries(sets_paths, path).cells(split_of)
        }
        for path in (scores_path, twin_scores_path)
    ]
    rows = []
    for protocol, foil_type, split in cells[0]:
        if split != SC or (protocol, foil_type, UC) not in cells[0]:
            continue
        groups = [query_hits(found[protocol, foil_type, half]) for found in cells for half in (SC, UC)]
        key = {"protocol": protocol, "training_corpus": config["corpus"], "foil_type": foil_type}
        names = {"model": config["model"], "twin": config["twin"]}
        sizes = {"n_seen": len(groups[0][0]), "n_unseen": len(groups[1][0])}
        seed = cell_seed(config["evaluation"]["seed"], *key.values(), *names.values())
        rows.append({**key, **names, **sizes, **control_row(groups, config["evaluation"]["n_resamples"], seed)})
    write_csv(table_path, COLUMNS, rows)
