import csv
import json

import numpy as np
import pytest

from crepebench.feature_index import NO_TOKENS, crop_id, identity_path, text_id
from crepebench.feature_store import FeatureStore
from crepebench.raw_retrieval_tables import COLUMNS, tabulate_raw_retrieval
from crepebench.schema import FEATURE_INDEX, RETRIEVAL_SETS, SPLITS, write_table
from crepebench.set_ids import set_id

from .pair_rows import BOX, unit

MODELS = [
    ("mini", {"training_data": ["a"], "seen_images": []}),
    ("other", {"training_data": ["b"], "seen_images": ["vg"]}),
]
FOIL = dict.fromkeys(("foil_id", "kind", "original", "replacement", "source"), "")


def set_row(family, number, caption, complexity, foil_type="atom"):
    return {
        "set_id": set_id(family, number % 30, BOX, caption),
        "region_id": number if family == "systematicity" else None,
        "subgraph_id": number if family == "productivity" else None,
        "protocol": "refined",
        "foil_type": foil_type,
        "image_id": number % 30,
        **dict(zip(("x", "y", "width", "height"), BOX, strict=True)),
        "complexity": complexity,
        "caption": caption,
        "caption_source": "template",
        "foils": [{**FOIL, "text": f"foil {number}"}],
    }


class Run:
    """Writes the inputs of the stage: 60 regions (the last image has no file) and 40 subgraphs on 30 images."""

    def __init__(self, folder):
        self.folder = folder
        self.evaluation = {
            **{"n_resamples": 100, "seed": 1, "cross_corpus": False, "matched": False},
            "raw_pool": {"systematicity": 10, "productivity": 30},
        }
        regions = [set_row("systematicity", i, f"region {i}", 3) for i in range(60)]
        regions += [set_row("systematicity", i, f"region {i} and", 3, "comp") for i in range(60)]
        subgraphs = [set_row("productivity", i, f"subgraph {i}", 4 if i < 25 else 8) for i in range(40)]
        self.sets = {"systematicity": regions, "productivity": subgraphs}
        for family, rows in self.sets.items():
            write_table(self.path(f"{family}-sets.parquet"), RETRIEVAL_SETS, rows)
            for number, (model, _) in enumerate(MODELS):
                self.write_features(family, model, seed=number)
        for corpus, names in (("a", ["SC", "UC", "UA"]), ("b", ["UC", "SC", "undecided"])):
            others = {"decided_by": "", "corpus_id": f"{corpus}:1"}
            rows = [{"region_id": i, "split": names[i // 25], **others} for i in range(60)]
            write_table(self.path(f"{corpus}.parquet"), SPLITS, rows)

    def path(self, name):
        return str(self.folder / name)

    def write_features(self, family, model, seed, own_score=False):
        texts = sorted({row["caption"] for row in self.sets[family]})
        crops = [crop_id(image_id, BOX) for image_id in range(30)]
        keys = [*map(text_id, texts), *crops[:-1]]
        vectors = unit(np.random.default_rng(seed).normal(size=(len(keys), 8)))
        identity = f"{model}-{family}-{seed}"
        store = FeatureStore(self.path("store"), identity)
        store.add(keys, vectors)
        places = store.find(keys)
        rows = []
        for key in [*keys, crops[-1]]:
            shard, row = places.get(key, (None, None))
            tokens = {**NO_TOKENS._asdict(), **({} if key in crops else {"tokens_id": key, "is_cut": False})}
            reason = "" if shard else "image_missing"
            kind = "crop" if key in crops else "text"
            rows.append({"kind": kind, "id": key, "shard": shard, "row": row, "reason": reason, **tokens})
        index = self.path(f"{model}-{family}.parquet")
        write_table(index, FEATURE_INDEX, rows)
        origin = {"model": model, "identity": identity, "store": self.path("store"), "own_score": own_score}
        with open(identity_path(index), "w") as file:
            json.dump(origin, file)

    def tabulate(self, **evaluation):
        models = dict.fromkeys(self.sets, MODELS)
        indexes = [[self.path(f"{model}-{family}.parquet") for model, _ in MODELS] for family in self.sets]
        tabulate_raw_retrieval(
            *([self.path(f"{family}-sets.parquet")] for family in self.sets),
            *indexes,
            [self.path("a.parquet"), self.path("b.parquet")],
            self.path("table.csv"),
            json.dumps({"evaluation": self.evaluation | evaluation, "corpora": ["a", "b"], "models": models}),
        )
        with open(self.path("table.csv"), newline="") as file:
            return list(csv.DictReader(file))


@pytest.fixture
def run(tmp_path):
    return Run(tmp_path)


def test_table_has_a_row_for_each_cell_and_direction_in_order(run):
    rows = run.tabulate()
    assert list(rows[0]) == list(COLUMNS)
    keys = [(row["training_corpus"], row["model"], row["split"], row["complexity"]) for row in rows[::2]]
    assert keys == [
        *(("a", "mini", split, "") for split in ("SC", "UC", "UA")),
        *(("b", "other", split, "") for split in ("SC", "UC")),
        *(("", model, "", n) for model in ("mini", "other") for n in ("4", "8")),
    ]
    assert [row["direction"] for row in rows] == ["image_to_text", "text_to_image"] * 9
    assert [row["corpus_id"] for row in rows[:10:2]] == ["a:1"] * 3 + ["b:1"] * 2


def test_rows_of_a_corpus_stand_together(run):
    rows = run.tabulate(cross_corpus=True)
    pairs = [(row["training_corpus"], row["model"]) for row in rows if row["split"] == "SC"][::2]
    assert pairs == [("a", "mini"), ("a", "other"), ("b", "mini"), ("b", "other")]


def test_pools_are_as_large_as_asked_for_or_marked(run):
    rows = {(row["training_corpus"], row["split"], row["complexity"]): row for row in run.tabulate()[::2]}
    sizes = {key: (row["pool_size"], row["n_folds"]) for key, row in rows.items()}
    # 25 regions of SC, one of which (29) has no file in UC; 10 of UA, one without
    assert (sizes["a", "SC", ""], sizes["a", "UC", ""], sizes["a", "UA", ""]) == (("10", "2"), ("10", "2"), ("9", "1"))
    assert [rows["a", split, ""]["marks"].split()[:1] for split in ("SC", "UC", "UA")] == [
        ["simple_captions"],
        ["simple_captions"],
        ["small_pool"],
    ]
    assert (sizes["", "", "4"], sizes["", "", "8"]) == (("25", "1"), ("14", "1"))
    assert "small_pool" in rows["", "", "8"]["marks"]


def test_marks_say_what_to_beware_of(run):
    rows = run.tabulate(cross_corpus=True)
    marks = {(row["training_corpus"], row["model"], row["split"], row["complexity"]): row["marks"] for row in rows}
    assert marks["a", "other", "SC", ""].startswith("cross_corpus seen_images_vg simple_captions")
    assert marks["b", "other", "SC", ""].startswith("seen_images_vg undecided_left_out simple_captions")
    assert "simple_captions" in marks["", "mini", "", "4"]
    assert "simple_captions" not in marks["", "mini", "", "8"]


def test_random_features_are_not_above_random(run):
    rows = run.tabulate()
    assert all("not_above_random" in row["marks"] for row in rows if float(row["recall_at_1"]) == 0)
    assert all(float(row["random_recall_at_1"]) > 100 / int(row["pool_size"]) - 0.01 for row in rows)


def test_matched_cells_have_equally_many_pairs(run):
    rows = {row["split"]: row for row in run.tabulate(matched=True) if row["training_corpus"] == "a"}
    assert all("matched" in rows[split]["marks"].split() for split in ("SC", "UC"))


def test_model_with_a_score_of_its_own_has_empty_rows(run):
    run.write_features("productivity", "mini", seed=0, own_score=True)
    rows = run.tabulate()
    own = [row for row in rows if row["family"] == "productivity" and row["model"] == "mini"]
    assert {(row["marks"], row["recall_at_1"], row["n_queries"]) for row in own} == {("own_score", "", "")}
    assert all(row["recall_at_1"] for row in rows if row not in own)


def test_table_is_the_same_whatever_the_order_of_sets(run):
    rows = run.tabulate()
    for family, sets in run.sets.items():
        write_table(run.path(f"{family}-sets.parquet"), RETRIEVAL_SETS, sets[::-1])
    assert run.tabulate() == rows


def test_pools_do_not_depend_on_the_model(run):
    first = run.tabulate(cross_corpus=True)
    for family in run.sets:
        run.write_features(family, "other", seed=0)  # the features of the first model
    rows = run.tabulate(cross_corpus=True)
    assert first != rows
    drop = {"model", "marks", "recall_at_1_low", "recall_at_1_high"}
    of_model = [[{k: v for k, v in r.items() if k not in drop} for r in rows if r["model"] == m] for m, _ in MODELS]
    assert of_model[0] == of_model[1]
