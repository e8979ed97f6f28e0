"""Scores, splits and pages of the small retrieval sets of `review_page_files`, that the tests of the gallery share."""

import json

import numpy as np

from crepebench.families import FOIL_TYPES, PRODUCTIVITY, SYSTEMATICITY
from crepebench.gallery import build_gallery
from crepebench.schema import RETRIEVAL_SETS, SCORES, SPLITS, read_table, write_table

from .review_page_files import PAGES, write_images, write_sets

MODELS = {SYSTEMATICITY: ["clip_a", "clip_b"], PRODUCTIVITY: ["clip_a", "clip_b", "clip_c_with_a_long_name_of_its_own"]}
PAIRS = [["clip_a", "clip_b"], ["clip_b", "clip_c_with_a_long_name_of_its_own"], ["clip_a", "no_model_of_the_gallery"]]
"""Models, and models that were made from them."""
CORPORA = ["corpus_a", "corpus_b"]
SCRIPTS = ("gallery_filters.js", "gallery_cards.js", "gallery.js")


def score_row(row, wins, margin):
    names = {"set_id": row["set_id"], "foil_type": row["foil_type"]}
    if wins is None:
        return {**names, "rank": None, "margin": None, "wins": None, "reason": "equal_tokens"}
    return {**names, "rank": 1 + sum(1 - win for win in wins), "margin": margin, "wins": wins, "reason": ""}


def random_scores(rows, seed):
    """Returns scores of sets; some are ties, some sets have none, and the first set has none by any model."""
    rng = np.random.default_rng(seed)
    scores = []
    for place, row in enumerate(rows):
        wins = [float(win) for win in rng.choice([0, 0.5] + [1] * 14, size=len(row["foils"]))]
        margin = float(rng.uniform(0.01, 0.2)) * {0: -1, 0.5: 0, 1: 1}[min(wins)]
        is_scored = place and rng.integers(12)
        scores.append(score_row(row, wins if is_scored else None, margin))
    return scores


def write_inputs(folder, n=12, n_parts=1, backwards=False):
    """Writes sets, scores and splits of n images; returns their paths, and rows of sets and scores by family."""
    folder.mkdir(parents=True, exist_ok=True)
    sets_paths = write_sets(folder, n, n_parts)
    sets, scores, scores_paths = {}, {}, {}
    for family, paths in sets_paths.items():
        found = [row for path in paths for row in read_table(path, RETRIEVAL_SETS).to_pylist()]
        sets[family] = sorted(found, key=lambda row: (row["image_id"], FOIL_TYPES[family].index(row["foil_type"])))
        scores[family] = {model: random_scores(sets[family], seed) for seed, model in enumerate(MODELS[family])}
        scores_paths[family] = [str(folder / f"{family}-{model}.parquet") for model in MODELS[family]]
        for path, rows in zip(scores_paths[family], scores[family].values(), strict=True):
            write_table(path, SCORES, rows[::-1] if backwards else rows)
    splits_paths = [str(folder / f"{corpus}.parquet") for corpus in CORPORA]
    for shift, path in enumerate(splits_paths):
        splits = [{"region_id": 2**60 + i, "split": ("SC", "UC", "UA")[(i + shift) % 3]} for i in range(1, n + 1)]
        write_table(path, SPLITS, [{**row, "decided_by": "", "corpus_id": ""} for row in splits])
    return {"sets": sets_paths, "scores": scores_paths, "splits": splits_paths}, sets, scores


def build(folder, paths, images_path=None, n=12, name="gallery", **config):
    """Builds a page from such tables, and returns its path and that of the report's page."""
    page, report_page = folder / name / "index.html", folder / name / "report.html"
    build_gallery(
        sets_paths=paths["sets"],
        scores_paths=paths["scores"],
        splits_paths=paths["splits"],
        images_path=images_path or write_images(folder, n),
        body_path=str(PAGES / "gallery.html"),
        styles_paths=[str(PAGES / "page.css"), str(PAGES / "gallery.css")],
        scripts_paths=[str(PAGES / script) for script in SCRIPTS],
        page_path=str(page),
        report_path=str(report_page),
        cfg=json.dumps(
            {
                "gallery": {"seed": 0, "max_sets": 40, "largest_margins": 3, **config},
                "corpora": CORPORA,
                "models": MODELS,
                "pairs": PAIRS,
            }
        ),
    )
    return page, report_page


def data_of(page):
    """Reads the data of a page."""
    text = page.read_text(encoding="utf-8")
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])
