"""What the tests of published figures share: the committed files, and rows of our own tables."""

import csv

from crepebench.measures import write_csv
from crepebench.productivity_tables import PRODUCTIVITY_COLUMNS
from crepebench.systematicity_tables import SYSTEMATICITY_COLUMNS


def published_paths(repository, *names):
    """Returns the arguments that name committed files, with that of the known models."""
    paths = {f"{name}_path": str(repository / "resources" / "published" / f"{name}.csv") for name in names}
    if "models_path" in paths:
        paths["published_path"] = paths.pop("models_path")
        paths["known_path"] = str(repository / "resources" / "models" / "models.csv")
    return paths


def systematicity_row(model, corpus, foil_type="atom", split="SC", recall=50.0, **changes):
    names = {"training_corpus": corpus, "model": model, "foil_type": foil_type, "split": split}
    bounds = {"recall_at_1": recall, "recall_at_1_low": recall - 1, "recall_at_1_high": recall + 1, "n_queries": 100}
    return {**dict.fromkeys(SYSTEMATICITY_COLUMNS, ""), "protocol": "paper", **names, **bounds, **changes}


def productivity_row(model, complexity, foil_type="atom", source="template", recall=20.0, **changes):
    names = {"model": model, "foil_type": foil_type, "complexity": complexity, "caption_source": source}
    bounds = {"recall_at_1": recall, "recall_at_1_low": recall - 1, "recall_at_1_high": recall + 1, "n_queries": 100}
    return {**dict.fromkeys(PRODUCTIVITY_COLUMNS, ""), "protocol": "paper", **names, **bounds, **changes}


def write_tables(folder, systematicity=(), productivity=()):
    """Writes our two tables and returns the arguments that name them."""
    paths = {f"{name}_path": str(folder / f"{name}.csv") for name in ("systematicity", "productivity")}
    write_csv(paths["systematicity_path"], SYSTEMATICITY_COLUMNS, list(systematicity))
    write_csv(paths["productivity_path"], PRODUCTIVITY_COLUMNS, list(productivity))
    return paths


def read_csv(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))
