import csv
import json

from crepebench.layer_sweep import set_layers, tabulate_sweep


def test_each_pair_of_layers_has_a_row_and_the_chosen_one_is_marked(tmp_path):
    chosen = tmp_path / "layers.json"
    set_layers(str(chosen), 3, 1)
    configs = []
    for number, (peak, anchor) in enumerate([(2, 1), (3, 1), (3, 2)]):
        configs.append(str(tmp_path / f"{number}.json"))
        said = {"peak": peak, "anchor": anchor, "accuracy": 0.5 + number / 10, "frozen_accuracy": 0.25}
        (tmp_path / f"{number}.json").write_text(json.dumps(said), encoding="utf-8")
    table = tmp_path / "sweep.csv"
    tabulate_sweep([str(chosen)], configs, str(table), ["m"])
    with open(table, newline="", encoding="utf-8") as file:
        rows = [tuple(row.values()) for row in csv.DictReader(file)]
    assert rows == [
        ("m", "2", "1", "50.00", "25.00", ""),
        ("m", "3", "1", "60.00", "25.00", "yes"),
        ("m", "3", "2", "70.00", "25.00", ""),
    ]


def test_models_have_as_many_trainings_each(tmp_path):
    paths = [str(tmp_path / f"{name}.json") for name in ("one", "other")]
    for path, peak in zip(paths, (2, 3), strict=True):
        set_layers(path, peak, 1)
    configs = []
    for number in range(4):
        configs.append(str(tmp_path / f"{number}.json"))
        said = {"peak": 2 + number % 2, "anchor": 1, "accuracy": number / 10, "frozen_accuracy": 0.0}
        (tmp_path / f"{number}.json").write_text(json.dumps(said), encoding="utf-8")
    tabulate_sweep(paths, configs, str(tmp_path / "sweep.csv"), ["one", "other"])
    with open(tmp_path / "sweep.csv", newline="", encoding="utf-8") as file:
        rows = [(row["model"], row["accuracy"], row["chosen"]) for row in csv.DictReader(file)]
    assert rows == [("one", "0.00", "yes"), ("one", "10.00", ""), ("other", "20.00", ""), ("other", "30.00", "yes")]
