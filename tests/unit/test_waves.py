import json

import polars as pl
import pytest

from crepebench.accounting import KEPT, READ, write_accounting
from crepebench.known_keys import KnownKeys
from crepebench.schema import CANDIDATE_COUNTS, GRAPHS, TEST_KEYS, VOCABULARY, read_table, write_table
from crepebench.vocabularies import COUNTED, KEY_FIELDS, NOT_FOUND, PARSED, REACHED, UNDECIDED, atom_key
from crepebench.waves import (
    build_test_keys,
    continue_waves,
    finish_waves,
    start_waves,
    wave_parts,
    write_candidate_vocabulary,
    write_first_wave,
    write_next_wave,
)

JAR, BOX, RED = (atom_key(*atom) for atom in (("object", "jar"), ("object", "box"), ("attribute", "red")))
RED_JAR = ("attribute_object", "", "", "jar", "red")


def rows(counts, state=UNDECIDED, n_parsed=0, **others):
    """Rows of table VOCABULARY, sorted by key."""
    empty = dict.fromkeys(VOCABULARY.names) | {"corpus_id": "c:1"} | others
    found = [
        {**empty, **dict(zip(KEY_FIELDS, key, strict=True)), "count": count, "state": state, "n_parsed": n_parsed}
        for key, count in sorted(counts.items())
    ]
    return pl.DataFrame(found, schema=pl.from_arrow(VOCABULARY.empty_table()).schema)


def states(table):
    return {tuple(row[field] for field in KEY_FIELDS): (row["count"], row["state"]) for row in table.to_dicts()}


@pytest.mark.parametrize(
    ("n_shards", "waves", "parts"),
    [
        (2, [0.05, 1], [range(0, 1), range(1, 2)]),
        (128, [0.05, 1], [range(0, 6), range(6, 128)]),
        (1, [0.05, 1], [range(0, 1)]),
        (10, [0.2, 0.5, 1], [range(0, 2), range(2, 5), range(5, 10)]),
        (3, [1], [range(0, 3)]),
    ],
)
def test_waves_share_out_all_shards(n_shards, waves, parts):
    assert wave_parts(n_shards, waves) == parts


def test_test_keys_are_the_atoms_and_compounds_of_the_regions(tmp_path):
    def atom(kind, text):
        return {"kind": kind, "text": text, "surface": text, "start": 0, "end": 1, "subject": -1, "object": -1}

    red_jar = dict(zip(KEY_FIELDS, RED_JAR, strict=True))
    graphs = [
        ([atom("object", "jar"), atom("attribute", "red"), atom("object", "jar")], [red_jar]),
        ([atom("object", "jar")], []),
        ([], []),
    ]
    table = [
        {"region_id": i, "image_id": 1, "atoms": atoms, "compounds": compounds, "n_atoms": len(atoms)}
        for i, (atoms, compounds) in enumerate(graphs)
    ]
    write_table(str(tmp_path / "graphs.parquet"), GRAPHS, table)
    build_test_keys(str(tmp_path / "graphs.parquet"), str(tmp_path / "keys.parquet"))
    keys = read_table(str(tmp_path / "keys.parquet"), TEST_KEYS).to_pylist()
    found = {tuple(row[field] for field in KEY_FIELDS): row["n_regions"] for row in keys}
    assert found == {RED: 1, RED_JAR: 1, JAR: 2}
    assert list(found) == sorted(found)


def test_what_is_known_is_not_looked_for_again():
    keys = rows({JAR: 0, BOX: 0}).select(KEY_FIELDS)
    known = rows({JAR: 1, RED: 1}, REACHED, 7)
    assert states(start_waves(keys, known, "c:1")) == {BOX: (0, UNDECIDED), JAR: (1, REACHED)}


def test_counts_grow_from_wave_to_wave_up_to_the_minimum():
    wave = rows({JAR: 1, BOX: 0, RED: 0})
    found = pl.concat([rows({JAR: 1, BOX: 4}), rows({BOX: 1})])
    after = continue_waves(wave, found, min_count=2)
    assert states(after) == {JAR: (2, REACHED), BOX: (2, REACHED), RED: (0, UNDECIDED)}


def test_what_is_left_after_all_candidates_is_counted_exactly():
    table = finish_waves(pl.concat([rows({JAR: 1}), rows({BOX: 2}, REACHED)]), None, 9)
    assert states(table) == {JAR: (1, COUNTED), BOX: (2, REACHED)}
    assert table["n_parsed"].to_list() == [9, 9]


def test_what_a_sample_did_not_find_is_a_third_state():
    keys = rows({JAR: 0, BOX: 0}).select(KEY_FIELDS)
    draws = keys.with_columns(
        n_candidates=pl.Series([500, 7]), n_drawn=pl.Series([90, 7]), max_rate=pl.Series([0.1, 0.0])
    )  # box, jar
    table = finish_waves(pl.concat([rows({JAR: 0, BOX: 0}), rows({RED: 1}, REACHED, 4)]), draws, 9).sort(KEY_FIELDS)
    assert states(table) == {RED: (1, REACHED), BOX: (0, NOT_FOUND), JAR: (0, COUNTED)}
    assert table.select("n_drawn", "max_rate", "n_parsed").rows() == [(None, None, 4), (90, 0.1, 9), (7, None, 9)]


def cfg(tmp_path, **others):
    return json.dumps({"min_count": 1, "store": str(tmp_path / "store"), "identity": {"code": "a"}, **others})


def test_a_second_run_with_other_regions_looks_only_for_what_is_new(tmp_path):
    record, keys, wave, found, accounting, vocabulary = (
        str(tmp_path / name)
        for name in ("c.json", "keys.parquet", "1.parquet", "found.parquet", "a.csv", "vocabulary.parquet")
    )
    (tmp_path / "c.json").write_text('{"corpus_id": "c:1"}')

    def run(wanted, expected_open, counts):
        write_table(keys, TEST_KEYS, [dict(zip(KEY_FIELDS, key, strict=True)) | {"n_regions": 1} for key in wanted])
        write_first_wave(keys, record, wave, cfg(tmp_path))
        table = pl.from_arrow(read_table(wave, VOCABULARY))
        assert {key for key, (_, state) in states(table).items() if state == UNDECIDED} == expected_open
        write_table(found, VOCABULARY, rows(counts).to_dicts())
        n_read = 5 if expected_open else 0
        write_accounting(accounting, "c", {"caption": {READ: n_read, KEPT: n_read}, PARSED: {READ: 3, KEPT: 3}})
        write_candidate_vocabulary(wave, [found], [], [accounting], vocabulary, cfg(tmp_path))
        return states(pl.from_arrow(read_table(vocabulary, VOCABULARY)))

    assert run([BOX, JAR], {BOX, JAR}, {JAR: 3}) == {BOX: (0, COUNTED), JAR: (1, REACHED)}
    assert run([RED, BOX], {RED}, {RED: 1}) == {RED: (1, REACHED), BOX: (0, COUNTED)}
    assert run([JAR, RED], set(), {}) == {JAR: (1, REACHED), RED: (1, REACHED)}


def test_next_wave_goes_on_where_the_last_one_stopped(tmp_path):
    paths = [str(tmp_path / f"{name}.parquet") for name in ("wave", "a", "b", "next")]
    for path, counts in zip(paths, ({JAR: 0, BOX: 0}, {JAR: 1}, {JAR: 1}), strict=False):
        write_table(path, VOCABULARY, rows(counts).to_dicts())
    write_next_wave(paths[0], paths[1:3], paths[3], '{"min_count": 3}')
    assert states(pl.from_arrow(read_table(paths[3], VOCABULARY))) == {BOX: (0, UNDECIDED), JAR: (2, UNDECIDED)}


def test_a_corpus_without_a_usable_caption_is_refused(tmp_path):
    paths = [str(tmp_path / f"{name}.parquet") for name in ("wave", "found")]
    write_table(paths[0], VOCABULARY, rows({JAR: 0}).to_dicts())
    write_table(paths[1], VOCABULARY, [])
    write_accounting(str(tmp_path / "a.csv"), "c", {"caption": {READ: 1, KEPT: 0, "text_empty": 1}})
    with pytest.raises(ValueError, match=r"v\.parquet: the corpus holds no usable caption"):
        write_candidate_vocabulary(
            *(paths[0], [paths[1]], [], [str(tmp_path / "a.csv")], str(tmp_path / "v.parquet"), cfg(tmp_path))
        )


def test_what_is_known_depends_on_corpus_code_and_settings(tmp_path):
    store = str(tmp_path)
    KnownKeys(store, {"corpus_id": "c:1", "code": "a"}).add(rows({JAR: 1}, REACHED))
    assert len(KnownKeys(store, {"code": "a", "corpus_id": "c:1"}).read()) == 1
    assert len(KnownKeys(store, {"corpus_id": "c:2", "code": "a"}).read()) == 0
    assert len(KnownKeys(store, {"corpus_id": "c:1", "code": "b"}).read()) == 0


def test_known_keys_are_added_once(tmp_path):
    known = KnownKeys(str(tmp_path), {"corpus_id": "c:1"})
    known.add(rows({JAR: 1}, REACHED))
    known.add(rows({JAR: 1, BOX: 0}, COUNTED))
    known.add(rows({JAR: 1, BOX: 0}, COUNTED))
    assert states(known.read()) == {JAR: (1, REACHED), BOX: (0, COUNTED)}
    assert len(list(known.folder.iterdir())) == 2


def test_what_a_killed_job_left_among_known_keys_is_removed_by_the_next(tmp_path):
    known = KnownKeys(str(tmp_path), {"corpus_id": "c:1"})
    known.folder.mkdir()
    (known.folder / ".0123.9.partial.parquet").write_bytes(b"PAR1")
    known.add(rows({JAR: 1}, REACHED))
    (path,) = known.folder.iterdir()
    assert not path.name.startswith(".")


def test_draws_of_the_last_wave_decide_what_is_left(tmp_path):
    paths = [str(tmp_path / f"{name}.parquet") for name in ("wave", "found", "draws", "vocabulary")]
    write_table(paths[0], VOCABULARY, rows({JAR: 0, BOX: 0, RED: 0}).to_dicts())
    write_table(paths[1], VOCABULARY, rows({RED: 1}).to_dicts())
    drawn = [
        dict(zip(KEY_FIELDS, key, strict=True)) | {"tier": 1, "part": 0, "n_candidates": n, "n_drawn": min(n, 30)}
        for key, n in ((RED, 90), (BOX, 90), (JAR, 20))
    ]
    write_table(paths[2], CANDIDATE_COUNTS, drawn)
    write_accounting(str(tmp_path / "a.csv"), "c", {"caption": {READ: 9, KEPT: 9}, PARSED: {READ: 9, KEPT: 9}})
    write_candidate_vocabulary(*(paths[0], [paths[1]], [paths[2]], [str(tmp_path / "a.csv")], paths[3], cfg(tmp_path)))
    table = pl.from_arrow(read_table(paths[3], VOCABULARY))
    assert states(table) == {RED: (1, REACHED), BOX: (0, NOT_FOUND), JAR: (0, COUNTED)}
    assert [rate is None for rate in table["max_rate"]] == [True, False, True]
