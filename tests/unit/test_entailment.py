import json

import numpy as np
import pytest

from crepebench import entailment
from crepebench.entailment import EntailmentModel, StoredEntailment, entailment_label, most_tokens, score_entailment
from crepebench.schema import ENTAILMENT, FOIL_CANDIDATES, read_table, write_table
from crepebench.stored_values import model_identity, read_shards_file

from .foil_rows import candidate

WORDS = "a an red blue green jar cup box and above below".split()
PAIRS = [
    ("a red jar above a cup", "a cup above a red jar"),
    ("a jar", "a cup"),
    ("a cup", "a jar"),
    ("a red jar and a blue cup and a green box", "a blue jar and a green cup and a red box"),
]
LABELS = ["contradiction", "Entailment", "neutral"]


@pytest.fixture(scope="module", params=["right", "left"])
def tiny_nli(tmp_path_factory, request):
    """Folder of a model of inference with two small layers of random weights, whose tokenizer pads on one side."""
    return make_model(tmp_path_factory.mktemp("nli"), LABELS, padding_side=request.param)


def make_model(folder, labels, padding_side="right", positions=40):
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizer

    (folder / "vocab.txt").write_text("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *WORDS]) + "\n")
    BertTokenizer(str(folder / "vocab.txt"), padding_side=padding_side).save_pretrained(folder)
    torch.manual_seed(1)
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = BertConfig(
        vocab_size=5 + len(WORDS),
        initializer_range=1.0,
        max_position_embeddings=positions,
        id2label=dict(enumerate(labels)),
        label2id={label: i for i, label in enumerate(labels)},
        **sizes,
    )
    BertForSequenceClassification(config).save_pretrained(folder)
    return str(folder)


def naive(folder, pair):
    """The probability of one pair, alone."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    encoded = AutoTokenizer.from_pretrained(folder)(*pair, return_tensors="pt")
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    with torch.inference_mode():
        return float(model(**encoded).logits[0].softmax(0)[LABELS.index("Entailment")])


def test_probability_is_that_of_the_label_that_is_called_entailment(tiny_nli):
    found = EntailmentModel(tiny_nli).probabilities(PAIRS)
    assert found == pytest.approx([naive(tiny_nli, pair) for pair in PAIRS], abs=1e-4)
    assert len(set(found.tolist())) == len(PAIRS)


def test_probability_depends_on_the_direction(tiny_nli):
    found = EntailmentModel(tiny_nli).probabilities([PAIRS[0], PAIRS[0][::-1]])
    assert abs(found[0] - found[1]) > 1e-3


@pytest.mark.parametrize("size", [1, 20, 1000])
def test_probability_does_not_depend_on_the_pairs_beside_it(tiny_nli, monkeypatch, size):
    model = EntailmentModel(tiny_nli)
    alone = [model.probabilities([pair])[0] for pair in PAIRS]
    monkeypatch.setattr("crepebench.language_models.MOST_TOKENS", size)
    assert model.probabilities(PAIRS) == pytest.approx(alone, abs=1e-4)
    assert model.probabilities(PAIRS[::-1]) == pytest.approx(alone[::-1], abs=1e-4)


@pytest.mark.parametrize(
    ("labels", "place"),
    [
        ({0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"}, 2),
        ({0: "entailment", 1: "not_entailment"}, 0),
        ({0: "contradiction", 1: "entailment", 2: "neutral"}, 1),
    ],
)
def test_label_is_found_by_its_name(labels, place):
    assert entailment_label("model", labels) == place


@pytest.mark.parametrize("labels", [["LABEL_0", "LABEL_1", "LABEL_2"], ["entailment", "Entailment"], ["no", "yes"]])
def test_labels_that_do_not_say_what_entailment_is_are_refused(tmp_path, labels):
    with pytest.raises(ValueError, match=rf"must be called 'entailment', and they are \['{labels[0]}', "):
        EntailmentModel(make_model(tmp_path, labels))


def test_pair_that_is_longer_than_the_model_reads_is_refused(tmp_path):
    model = EntailmentModel(make_model(tmp_path, LABELS, positions=12))
    fits, long = ("a red jar above", "a cup above a jar"), ("a red jar above a", "a cup above a jar")
    assert model.probabilities([fits]).shape == (1,)
    with pytest.raises(ValueError, match=r"reads 12 tokens, and 1 pairs of captions are longer \(13 tokens: a red jar"):
        model.probabilities([fits, long])


def test_roberta_reads_fewer_tokens_than_it_has_positions(tmp_path):
    from transformers import RobertaConfig, RobertaForSequenceClassification

    sizes = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    model = RobertaForSequenceClassification(RobertaConfig(vocab_size=9, max_position_embeddings=34, **sizes))

    class Tokenizer:
        model_max_length = 10**30

    assert most_tokens(Tokenizer, model) == 32


class FixedModel:
    """Says that a foil follows if it holds a word, and notes what it was asked."""

    label = 0
    asked: list

    def __init__(self, name):
        FixedModel.asked = []

    def probabilities(self, pairs):
        FixedModel.asked += pairs
        return np.array([0.75 if "follows" in foil else 0.125 for _, foil in pairs])


@pytest.fixture
def score(tmp_path, monkeypatch):
    """Scores rows with a fixed model and returns the table's rows."""
    monkeypatch.setattr(entailment, "EntailmentModel", FixedModel)
    monkeypatch.setattr(entailment, "model_identity", lambda kind, model: "c" * 32)
    paths = [str(tmp_path / f"{name}.parquet") for name in ("candidates", "entailment")]

    def score(rows):
        write_table(paths[0], FOIL_CANDIDATES, rows)
        score_entailment(*paths, json.dumps({"model": "any", "store": str(tmp_path / "store")}))
        return read_table(paths[1], ENTAILMENT).to_pylist()

    score.path = paths[1]
    return score


def row_of(source_id, foil_type, foils, reason=""):
    """Returns a candidates row with foils of given kinds and texts."""
    row = candidate(source_id, foil_type, texts=[text for _, text in foils], reason=reason, family="productivity")
    for foil, (kind, _) in zip(row["foils"], foils, strict=True):
        foil["kind"] = kind
    return row


def test_only_swaps_have_a_probability(score):
    swaps = [("swapped_object", "it follows"), ("swapped_relation", "it does not")]
    others = [("object", "it follows"), ("negated_object", "it follows not"), ("contradiction", "it follows")]
    rows = [
        row_of(1, "swap", swaps),
        row_of(1, "overall", [others[0], *swaps, *others[1:]]),
        row_of(1, "atom", others[:1]),
        row_of(2, "swap", [], reason="swap_foils"),
    ]
    assert score(rows) == [
        {"source_id": 1, "foil_type": "swap", "probabilities": [0.75, 0.125]},
        {"source_id": 1, "foil_type": "overall", "probabilities": [None, 0.75, 0.125, None, None]},
    ]


def test_a_pair_is_asked_once_from_truth_to_foil(score):
    rows = [row_of(i, "swap", [("swapped_object", "it follows"), ("swapped_object", f"foil {i}")]) for i in (1, 2)]
    found = score(rows)
    assert FixedModel.asked == [("a red jar", "it follows"), ("a red jar", "foil 1"), ("a red jar", "foil 2")]
    assert score([*rows, row_of(3, "swap", [("swapped_object", "new")])])[:2] == found
    assert FixedModel.asked == [("a red jar", "new")]


def test_shards_that_probabilities_came_from_are_noted(score):
    score([row_of(1, "swap", [("swapped_object", "it follows")])])
    assert {identity for identity, _ in read_shards_file(score.path)} == {"c" * 32}


def test_part_without_swaps_makes_an_empty_table(score):
    assert score([row_of(1, "atom", [("object", "a cup")])]) == []


def test_another_label_or_model_has_another_place_in_the_store(tmp_path):
    folders = [tmp_path / name for name in ("one", "two", "three")]
    for folder in folders:
        folder.mkdir()
    labels = [LABELS, LABELS, ["Entailment", "neutral", "contradiction"]]
    made = [make_model(folder, names) for folder, names in zip(folders, labels, strict=True)]
    identities = [StoredEntailment(name, str(tmp_path / "store")).identity for name in made]
    assert identities[0] == identities[1] != identities[2]
    model = EntailmentModel(made[0])
    assert model_identity("masked", model) != identities[0]
