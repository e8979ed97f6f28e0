"""Read the shards of a corpus in waves, and decide which atoms and compounds of the test regions it shows.

The atoms and compounds of the test regions are the test keys. A first wave of few shards decides the common ones, and
the next looks for the rest only. What is decided about a corpus goes into a store (`crepebench.known_keys`): after a
change of the filters of regions, only keys that are new are looked for. `crepebench.candidates` does the work of one
shard.
"""

import json
from collections.abc import Sequence

import polars as pl

from crepebench.accounting import KEPT, read_accounting
from crepebench.corpus_ids import read_corpus_id
from crepebench.draws import summarise_draws
from crepebench.graphs import ATTRIBUTE, OBJECT, RELATION
from crepebench.known_keys import KnownKeys
from crepebench.schema import CANDIDATE_COUNTS, GRAPHS, TEST_KEYS, VOCABULARY, read_table, write_tables
from crepebench.vocabularies import COUNTED, KEY_FIELDS, NOT_FOUND, PARSED, REACHED, UNDECIDED

FIELD_OF_KIND = {OBJECT: "object", RELATION: "relation", ATTRIBUTE: "attribute"}


def find_test_keys(graphs: pl.DataFrame) -> pl.DataFrame:
    """Returns the keys of the regions' atoms and compounds, sorted, with the number of regions that hold each.

    Args:
        graphs: rows of table GRAPHS: region_id, atoms, compounds.
    """
    atoms = graphs.select("region_id", pl.col("atoms").alias("atom")).explode("atom").drop_nulls("atom")
    kind, text = (pl.col("atom").struct.field(name) for name in ("kind", "text"))
    of_kind = [
        pl.when(kind == kind_of_field).then(text).otherwise(pl.lit("")).alias(field)
        for kind_of_field, field in FIELD_OF_KIND.items()
    ]
    of_atoms = atoms.select("region_id", kind.alias("kind"), pl.lit("").alias("subject"), *of_kind)
    compounds = graphs.select("region_id", pl.col("compounds").alias("compound")).explode("compound")
    of_compounds = compounds.drop_nulls("compound").unnest("compound")
    columns = ["region_id", *KEY_FIELDS]
    keys = pl.concat([of_atoms.select(columns), of_compounds.select(columns)]).unique()
    return keys.group_by(KEY_FIELDS).agg(n_regions=pl.len().cast(pl.Int64)).sort(KEY_FIELDS)


def build_test_keys(graphs_path: str, keys_path: str) -> None:
    """Writes table TEST_KEYS of the regions' graphs (table GRAPHS)."""
    graphs = pl.from_arrow(read_table(graphs_path, GRAPHS, ["region_id", "atoms", "compounds"]))
    write_tables(keys_path, TEST_KEYS, [find_test_keys(graphs).to_arrow()])


def wave_parts(n_shards: int, waves: Sequence[float]) -> list[range]:
    """Returns the shards of each wave.

    Args:
        n_shards: number of shards.
        waves: share of the shards that have been read after each wave; ascending, the last is 1.

    Returns:
        For each wave that has any, its shards; together all of them. The first wave has at least one.
    """
    ends = [max(1, round(share * n_shards)) for share in waves]
    parts = [range(start, end) for start, end in zip([0, *ends], ends, strict=False)]
    return [shards for shards in parts if shards]


def start_waves(keys: pl.DataFrame, known: pl.DataFrame, corpus_id: str) -> pl.DataFrame:
    """Returns the table of the first wave: what is known of the test keys, and all others undecided.

    Args:
        keys: rows of table TEST_KEYS.
        known: rows of table VOCABULARY: what earlier runs have decided about this corpus.
        corpus_id: id of the corpus.
    """
    new = keys.join(known, on=KEY_FIELDS, how="anti").select(KEY_FIELDS)
    rows = pl.from_arrow(VOCABULARY.empty_table())
    undecided = new.with_columns(
        count=pl.lit(0, pl.Int64),
        state=pl.lit(UNDECIDED),
        n_parsed=pl.lit(0, pl.Int64),
        corpus_id=pl.lit(corpus_id),
    )
    decided = known.join(keys, on=KEY_FIELDS, how="semi")
    return pl.concat([rows, decided, undecided], how="diagonal").sort(KEY_FIELDS)


def continue_waves(wave: pl.DataFrame, found: pl.DataFrame, min_count: int) -> pl.DataFrame:
    """Adds what the jobs of a wave have found to the wave's table.

    Args:
        wave: rows of table VOCABULARY.
        found: rows of table VOCABULARY of the wave's jobs; only keys that are undecided in `wave`.
        min_count: captions in which a key must occur to be seen; greater counts are cut to it, so that they do not
            depend on the number of shards.
    """
    added = found.group_by(KEY_FIELDS).agg(pl.col("count").sum().alias("added"))
    count = pl.min_horizontal(pl.col("count") + pl.col("added").fill_null(0), pl.lit(min_count, pl.Int64))
    is_open = pl.col("state") == UNDECIDED
    rows = wave.join(added, on=KEY_FIELDS, how="left").with_columns(
        count=pl.when(is_open).then(count).otherwise(pl.col("count"))
    )
    is_reached = is_open & (pl.col("count") >= min_count)
    return rows.with_columns(state=pl.when(is_reached).then(pl.lit(REACHED)).otherwise(pl.col("state"))).select(
        VOCABULARY.names
    )


def finish_waves(wave: pl.DataFrame, draws: pl.DataFrame | None, n_parsed: int) -> pl.DataFrame:
    """Decides what is undecided after the last wave.

    Args:
        wave: rows of table VOCABULARY.
        draws: what was drawn for each key in the last wave (`crepebench.draws.summarise_draws`); None if all
            candidates were parsed.
        n_parsed: captions that were parsed in all waves.
    """
    is_open = pl.col("state") == UNDECIDED
    if draws is not None:
        wave = wave.drop("n_candidates", "n_drawn", "max_rate").join(draws, on=KEY_FIELDS, how="left")
        is_drawn = is_open & (pl.col("n_drawn") < pl.col("n_candidates"))
        wave = wave.with_columns(
            state=pl.when(is_drawn).then(pl.lit(NOT_FOUND)).otherwise(pl.col("state")),
            max_rate=pl.when(is_drawn).then(pl.col("max_rate")),
        )
    was_open = is_open | (pl.col("n_parsed") == 0)
    return wave.with_columns(
        state=pl.when(is_open).then(pl.lit(COUNTED)).otherwise(pl.col("state")),
        n_parsed=pl.when(was_open).then(pl.lit(n_parsed, pl.Int64)).otherwise(pl.col("n_parsed")),
    ).select(VOCABULARY.names)


def write_first_wave(keys_path: str, record_path: str, wave_path: str, cfg: str) -> None:
    """Writes the table of the first wave.

    Args:
        keys_path: table TEST_KEYS.
        record_path: record of the corpus.
        wave_path: table VOCABULARY to write, sorted by key.
        cfg: JSON of `store` (folder of what earlier runs have decided) and `identity` (what decisions depend on).
    """
    config, corpus_id = json.loads(cfg), read_corpus_id(record_path)
    known = KnownKeys(config["store"], {**config["identity"], "corpus_id": corpus_id}).read()
    wave = start_waves(pl.from_arrow(read_table(keys_path, TEST_KEYS)), known, corpus_id)
    write_tables(wave_path, VOCABULARY, [wave.to_arrow()])


def write_next_wave(wave_path: str, found_paths: list[str], next_wave_path: str, cfg: str) -> None:
    """Writes the table of a wave but the first.

    Args:
        wave_path: table VOCABULARY of the wave before.
        found_paths: tables VOCABULARY of that wave's shards.
        next_wave_path: table VOCABULARY to write, sorted by key.
        cfg: JSON of `min_count`.
    """
    wave = continue_waves(_read(wave_path), _read(*found_paths), json.loads(cfg)["min_count"])
    write_tables(next_wave_path, VOCABULARY, [wave.to_arrow()])


def write_candidate_vocabulary(
    wave_path: str,
    found_paths: list[str],
    draws_paths: list[str],
    accounting_paths: list[str],
    vocabulary_path: str,
    cfg: str,
) -> None:
    """Writes what is decided about all test keys, and adds it to the store.

    Args:
        wave_path: table VOCABULARY of the last wave.
        found_paths: tables VOCABULARY of its shards.
        draws_paths: table CANDIDATE_COUNTS of the draw; empty if all candidates were parsed.
        accounting_paths: counts of all shards of all waves.
        vocabulary_path: table VOCABULARY to write, sorted by key.
        cfg: JSON of `min_count`, `store` and `identity`.

    Raises:
        ValueError: keys were looked for, and the corpus holds no usable caption.
    """
    config = json.loads(cfg)
    wave = _read(wave_path)
    counts = {(row["unit"], row["reason"]): row["count"] for row in read_accounting(accounting_paths)}
    if (wave["state"] == UNDECIDED).any() and not counts["caption", KEPT]:
        raise ValueError(f"{vocabulary_path}: the corpus holds no usable caption; see its accounting.csv")
    wave = continue_waves(wave, _read(*found_paths), config["min_count"])
    draws = summarise_draws(pl.from_arrow(read_table(draws_paths[0], CANDIDATE_COUNTS)), wave) if draws_paths else None
    rows = finish_waves(wave, draws, counts[PARSED, KEPT])
    write_tables(vocabulary_path, VOCABULARY, [rows.to_arrow()])
    for corpus_id in rows["corpus_id"].unique():
        KnownKeys(config["store"], {**config["identity"], "corpus_id": corpus_id}).add(rows)


def _read(*paths: str) -> pl.DataFrame:
    """Reads tables VOCABULARY as one."""
    return pl.concat([pl.from_arrow(read_table(path, VOCABULARY)) for path in paths])
