"""Scored queries that the tests of measures and tables share."""

import numpy as np


def query(image_id, rank, n_foils=4, kind="attribute", wins=None, region_id=None, foil_type="atom"):
    return {
        "image_id": image_id,
        "region_id": region_id or image_id,
        "foil_type": foil_type,
        "rank": rank,
        "foils": [{"kind": kind, "text": str(i)} for i in range(n_foils)],
        "wins": wins if wins is not None else [1.0] * n_foils,
    }


def random_queries(n, n_images, seed, n_foils=4):
    rng = np.random.default_rng(seed)
    rows = [query(int(rng.integers(n_images)), float(rng.integers(1, n_foils + 2)), n_foils) for _ in range(n)]
    return [{**row, "wins": [float(i >= row["rank"] - 1) for i in range(n_foils)]} for row in rows]
