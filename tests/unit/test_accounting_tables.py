import pytest

from crepebench.accounting import write_accounting
from crepebench.accounting_tables import tabulate_accounting


def test_accounting_of_all_stages_is_joined(tmp_path):
    paths = [str(tmp_path / f"{i}.csv") for i in range(3)]
    write_accounting(paths[0], "regions", {"region": {"read": 3, "kept": 2, "area": 1}})
    write_accounting(paths[1], "sets", {"region": {"read": 2, "kept": 1, "atom_foils": 1}})
    write_accounting(paths[2], "sets", {"region": {"read": 4, "kept": 3, "comp_foils": 1}})
    tabulate_accounting(paths, str(tmp_path / "all.csv"))
    assert (tmp_path / "all.csv").read_text().splitlines() == [
        "stage,unit,reason,count",
        "regions,region,read,3",
        "regions,region,area,1",
        "regions,region,kept,2",
        "sets,region,read,6",
        "sets,region,atom_foils,1",
        "sets,region,comp_foils,1",
        "sets,region,kept,4",
    ]


def test_accounting_that_loses_a_record_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("stage,unit,reason,count\nregions,region,read,3\nregions,region,kept,2\n")
    with pytest.raises(ValueError, match="regions: 3 regions read, but 2 kept or dropped"):
        tabulate_accounting([str(tmp_path / "a.csv")], str(tmp_path / "all.csv"))
    assert not (tmp_path / "all.csv").exists()
