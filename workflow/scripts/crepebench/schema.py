"""Schemas of the Parquet tables. One constant per table; `write_table` is the only way in which they are written."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from crepebench.files import atomic_path

ROWS_PER_GROUP = 50_000
ROWS_PER_BATCH = 1_000


def made_by(rule: str, version: int = 1) -> dict[str, str]:
    """Returns what a table's file says of its origin.

    Args:
        rule: rule that writes the table.
        version: to be raised when the columns stay and their meaning changes (for retrieval sets: other foils), so
            that files of before and after are never mixed.
    """
    return {"rule": rule, "version": str(version)}


IMAGES = pa.schema(
    [
        ("image_id", pa.int64()),
        ("width", pa.int64()),
        ("height", pa.int64()),
        ("archive", pa.string()),  # zip or folder that holds the image; null where no file was found
        ("path", pa.string()),  # member of that zip, or file in that folder
        ("crc32", pa.int64()),  # checksum of the image's file; null where it is missing or could not be read
        ("coco_id", pa.int64()),
        ("flickr_id", pa.int64()),
    ],
    metadata=made_by("build_visual_genome"),
)
OBJECTS = pa.schema(
    [
        ("image_id", pa.int64()),
        ("object_id", pa.int64()),  # null where the file gives none
        ("merged_object_ids", pa.list_(pa.int64())),  # other ids of the same object (version 1.4)
        ("names", pa.list_(pa.string())),
        ("synsets", pa.list_(pa.string())),
        ("attributes", pa.list_(pa.string())),
        ("x", pa.int64()),
        ("y", pa.int64()),
        ("width", pa.int64()),
        ("height", pa.int64()),
    ],
    metadata=made_by("build_visual_genome"),
)
RELATIONSHIPS = pa.schema(
    [
        ("image_id", pa.int64()),
        ("relationship_id", pa.int64()),
        ("predicate", pa.string()),
        ("predicate_raw", pa.string()),  # as it was annotated
        ("synsets", pa.list_(pa.string())),
        ("subject_id", pa.int64()),  # null, or in no row of OBJECTS, in version 1.0
        ("subject_name", pa.string()),
        ("subject_x", pa.int64()),  # box of the subject in the relationship itself; null where it has none
        ("subject_y", pa.int64()),
        ("subject_width", pa.int64()),
        ("subject_height", pa.int64()),
        ("object_id", pa.int64()),
        ("object_name", pa.string()),
        ("object_x", pa.int64()),
        ("object_y", pa.int64()),
        ("object_width", pa.int64()),
        ("object_height", pa.int64()),
    ],
    metadata=made_by("build_visual_genome"),
)
REGION_DESCRIPTIONS = pa.schema(
    [
        ("region_id", pa.int64()),
        ("image_id", pa.int64()),
        ("x", pa.float64()),  # as annotated: may be negative, a fraction or null
        ("y", pa.float64()),
        ("width", pa.float64()),
        ("height", pa.float64()),
        ("phrase", pa.string()),
    ],
    metadata=made_by("build_visual_genome"),
)
REGIONS = pa.schema(
    [
        ("region_id", pa.int64()),
        ("image_id", pa.int64()),
        ("x", pa.int64()),  # of the crop: whole pixels within the image
        ("y", pa.int64()),
        ("width", pa.int64()),
        ("height", pa.int64()),
        ("x_raw", pa.float64()),  # as annotated
        ("y_raw", pa.float64()),
        ("width_raw", pa.float64()),
        ("height_raw", pa.float64()),
        ("caption", pa.string()),
        ("caption_raw", pa.string()),
    ],
    metadata=made_by("filter_regions"),
)
ATOM = pa.struct(
    [
        ("kind", pa.string()),  # object, attribute, relation
        ("text", pa.string()),  # normal form: lower case, lemmas, head noun
        ("surface", pa.string()),  # as it stands in the caption
        ("start", pa.int64()),  # character offsets of the surface in the caption
        ("end", pa.int64()),
        ("subject", pa.int64()),  # relation: index of its subject among the atoms, else -1
        ("object", pa.int64()),  # relation, attribute: index of its object among the atoms, else -1
    ]
)
COMPOUND_FIELDS = [
    ("kind", pa.string()),  # attribute_object, object_relation_object
    ("subject", pa.string()),
    ("relation", pa.string()),
    ("object", pa.string()),
    ("attribute", pa.string()),
]
COMPOUND = pa.struct(COMPOUND_FIELDS)
GRAPHS = pa.schema(
    [
        ("region_id", pa.int64()),
        ("image_id", pa.int64()),
        ("atoms", pa.list_(ATOM)),
        ("compounds", pa.list_(COMPOUND)),
        ("n_atoms", pa.int64()),
    ],
    metadata=made_by("parse_regions"),
)
VOCABULARY = pa.schema(
    [
        *COMPOUND_FIELDS,  # kind is an atom's or a compound's; fields that do not apply are ""
        ("count", pa.int64()),  # captions that hold it, repeated ones counted each time
        ("state", pa.string()),  # what `count` means: see crepebench.vocabularies
        (
            "n_candidates",
            pa.int64(),
        ),  # budget: captions of the last wave with all its words, repeated ones once; else null
        ("n_drawn", pa.int64()),  # budget: those drawn; else null
        ("max_rate", pa.float64()),  # not_found: bound (95%) of the share of its candidates that hold it; else null
        ("n_parsed", pa.int64()),  # captions of the corpus that were parsed
        ("corpus_id", pa.string()),  # of the corpus's files: see crepebench.corpus_ids; "" in the tables of shards
    ],
    metadata=made_by("parse_corpus", version=2),
)
TEST_KEYS = pa.schema(
    [
        *COMPOUND_FIELDS,  # as in VOCABULARY
        ("n_regions", pa.int64()),  # regions whose graphs hold it
    ],
    metadata=made_by("build_test_keys"),
)
CANDIDATE_COUNTS = pa.schema(
    [
        *COMPOUND_FIELDS,
        ("tier", pa.int64()),  # 1 (words close together) to 3: see crepebench.scan
        ("part", pa.int64()),  # shard of the corpus
        ("n_candidates", pa.int64()),  # distinct captions of the shard with all its words, in this tier
        ("n_drawn", pa.int64()),  # those of them to be parsed; null before the draw
    ],
    metadata=made_by("build_candidate_counts"),
)
SPLITS = pa.schema(
    [
        ("region_id", pa.int64()),
        ("split", pa.string()),  # SC, UC, UA, undecided
        ("decided_by", pa.string()),  # first unseen (else undecided) atom or compound, "" for SC
        ("corpus_id", pa.string()),  # of the corpus's files
    ],
    metadata=made_by("build_splits", version=2),
)
SUBGRAPH_ATOM = pa.struct(
    [
        ("kind", pa.string()),  # object, attribute, relation
        ("text", pa.string()),  # normal form: lower case, lemmas
        ("name", pa.string()),  # as annotated, in canonical form
        ("subject", pa.int64()),  # relation: index of its subject among the atoms, else -1
        ("object", pa.int64()),  # relation, attribute: index of its object among the atoms, else -1
        ("x", pa.int64()),  # object: its box within the image; null for other kinds
        ("y", pa.int64()),
        ("width", pa.int64()),
        ("height", pa.int64()),
    ]
)
SUBGRAPHS = pa.schema(
    [
        ("subgraph_id", pa.int64()),
        ("image_id", pa.int64()),
        ("x", pa.int64()),  # of the crop: union of the boxes of the objects
        ("y", pa.int64()),
        ("width", pa.int64()),
        ("height", pa.int64()),
        ("complexity", pa.int64()),  # number of atoms
        ("n_objects", pa.int64()),
        ("n_relations", pa.int64()),
        ("n_attributes", pa.int64()),
        ("n_components", pa.int64()),
        ("shape", pa.string()),  # "3o+1r+0A in 2": objects, relations, attributes, components
        ("n_swaps", pa.int64()),  # distinct captions that permuting atoms of one kind can give, the truth left out
        ("atoms", pa.list_(SUBGRAPH_ATOM)),
    ],
    metadata=made_by("sample_subgraphs"),
)
CAPTIONS = pa.schema(
    [
        ("subgraph_id", pa.int64()),
        ("caption", pa.string()),  # normalised; null where there is none
        ("caption_source", pa.string()),  # template, or backend and model
        (
            "mentions",  # where the words of each atom stand; an object may be mentioned several times
            pa.list_(pa.struct([("atom", pa.int64()), ("start", pa.int64()), ("end", pa.int64())])),
        ),
        ("n_attempts", pa.int64()),  # answers of a language model that were looked at
        ("failures", pa.list_(pa.string())),  # why each answer was refused
        ("reason", pa.string()),  # why there is no caption, "" where there is one
    ],
    metadata=made_by("build_captions"),
)
FOIL_FIELDS = [
    ("text", pa.string()),
    ("kind", pa.string()),  # kind of the atom or compounds that were changed
    ("original", pa.string()),
    ("replacement", pa.string()),
    ("source", pa.string()),  # where the replacement comes from
]
FOIL = pa.struct([("foil_id", pa.string()), *FOIL_FIELDS])
SOURCE_FIELDS = [
    ("family", pa.string()),  # systematicity, productivity
    ("source_id", pa.int64()),  # region_id, subgraph_id
]
SET_FIELDS = [
    ("protocol", pa.string()),
    ("foil_type", pa.string()),
    ("image_id", pa.int64()),
    ("x", pa.int64()),
    ("y", pa.int64()),
    ("width", pa.int64()),
    ("height", pa.int64()),
    ("complexity", pa.int64()),
    ("caption", pa.string()),
    ("caption_source", pa.string()),
]
FOIL_CANDIDATES = pa.schema(
    [
        *SOURCE_FIELDS,
        *SET_FIELDS,
        ("foils", pa.list_(pa.struct(FOIL_FIELDS))),
        ("reason", pa.string()),  # why there can be no set of this foil_type, "" where there may
    ],
    metadata=made_by("build_foils", version=2),
)
FOIL_SCORES = pa.schema(
    [
        ("source_id", pa.int64()),
        ("foil_type", pa.string()),
        ("scores", pa.list_(pa.float64())),  # likelihood of the truth, then of each candidate
    ],
    metadata=made_by("score_foils", version=2),
)
ENTAILMENT = pa.schema(
    [
        ("source_id", pa.int64()),
        ("foil_type", pa.string()),
        ("probabilities", pa.list_(pa.float64())),  # that the truth entails each candidate; null where it is no swap
    ],
    metadata=made_by("score_entailment"),
)
FOIL_CHOICES = pa.schema(
    [
        ("source_id", pa.int64()),
        ("foil_type", pa.string()),
        ("chosen", pa.list_(pa.int64())),  # places of the chosen foils among the candidates
        ("reason", pa.string()),  # why none are chosen, "" where they are
    ],
    metadata=made_by("filter_foils", version=2),
)
RETRIEVAL_SETS = pa.schema(
    [
        ("set_id", pa.string()),
        ("region_id", pa.int64()),  # systematicity; else null
        ("subgraph_id", pa.int64()),  # productivity; else null
        *SET_FIELDS,
        ("foils", pa.list_(FOIL)),
    ],
    metadata=made_by("build_retrieval_sets", version=3),
)
FEATURE_INDEX = pa.schema(
    [
        ("kind", pa.string()),  # text, crop
        ("id", pa.string()),  # crepebench.feature_index.text_id, crop_id
        ("shard", pa.string()),  # file of the feature store; null where there is no feature
        ("row", pa.int64()),
        ("reason", pa.string()),  # why there is no feature, "" where there is one
        ("tokens_id", pa.string()),  # digest of the tokens that the model reads of a text; null for a crop
        ("n_tokens", pa.int64()),  # tokens that the text needs, with the marks of its beginning and end
        ("is_cut", pa.bool_()),  # whether these are more than the model reads
    ],
    metadata=made_by("extract_features", version=2),
)
SCORES = pa.schema(
    [
        ("set_id", pa.string()),
        ("foil_type", pa.string()),
        ("rank", pa.float64()),  # of the truth, from 1; null where the set was not scored
        ("margin", pa.float64()),  # score of the truth less that of the best foil
        ("wins", pa.list_(pa.float64())),  # truth against each foil: 1 won, 0.5 tie, 0 lost
        ("reason", pa.string()),  # why it was not scored, "" where it was
    ],
    metadata=made_by("score_retrieval_sets"),
)
MODEL_COMPARISON = pa.schema(
    [
        ("family", pa.string()),
        ("protocol", pa.string()),
        ("set_id", pa.string()),
        ("foil_type", pa.string()),
        ("image_id", pa.int64()),
        ("complexity", pa.int64()),
        ("change", pa.string()),  # gained: the other model puts the truth first and the one does not; lost: the reverse
        ("one_rank", pa.float64()),
        ("one_margin", pa.float64()),
        ("other_rank", pa.float64()),
        ("other_margin", pa.float64()),
    ],
    metadata=made_by("tabulate_model_comparison"),
)
RELEASED_FLAGS = pa.schema(
    [
        ("set_id", pa.string()),
        ("foil_type", pa.string()),
        ("foil_id", pa.string()),  # null where the flag is of the set
        ("flag", pa.string()),  # crepebench.released_flags.FLAGS
        ("detail", pa.string()),  # words that are none; else ""
    ],
    metadata=made_by("build_released_flags"),
)
BENCHMARK_ITEMS = pa.schema(
    [
        ("item_id", pa.string()),
        ("subset", pa.string()),
        ("task", pa.string()),  # crepebench.benchmark_items.TASKS
        (
            "images",
            pa.list_(
                pa.struct(
                    [
                        ("root", pa.string()),
                        ("name", pa.string()),  # file name
                        ("image_id", pa.int64()),  # of table IMAGES; null where the image cannot be used
                        ("x", pa.int64()),  # of the crop, in pixels, within the image; null likewise
                        ("y", pa.int64()),
                        ("width", pa.int64()),
                        ("height", pa.int64()),
                    ]
                )
            ),
        ),
        ("captions", pa.list_(pa.string())),
        ("kinds", pa.list_(pa.string())),  # of captions, "right" first; empty where the reader gives none
        ("tags", pa.list_(pa.struct([("name", pa.string()), ("value", pa.string())]))),
        ("reason", pa.string()),  # why the item cannot be used, "" where it can
    ],
    metadata=made_by("build_benchmark_items"),
)
RESULT_FIELDS = [
    ("item_id", pa.string()),
    ("metric", pa.string()),
    ("strict", pa.float64()),  # 1 where what is right scores above all else, else 0; null where it was not scored
    ("ties_split", pa.float64()),  # likewise, with ties broken at random: the expected value
    ("scores", pa.list_(pa.float64())),  # image by image those of the captions; of texts alone, of the pairs of texts
    ("is_cut", pa.bool_()),  # whether the model reads a caption of the item only in part
    ("reason", pa.string()),  # why it was not scored, "" where it was
]
BENCHMARK_SCORES = pa.schema(RESULT_FIELDS, metadata=made_by("score_benchmark"))
BENCHMARK_BLIND = pa.schema(RESULT_FIELDS, metadata=made_by("audit_benchmark"))
NEGATION_PAIRS = pa.schema(
    [
        ("pair_id", pa.string()),
        ("split", pa.string()),  # train, validation: by image
        ("image_id", pa.int64()),  # of table IMAGES
        ("caption", pa.string()),  # the right one
        ("negated", pa.string()),  # the wrong one, which denies what the image shows
        ("polarity", pa.string()),  # of the right one: affirmative, negated (a true negation)
        ("form", pa.string()),  # of the negation: explicit, implicit, morphological
        ("kind", pa.string()),  # of what is denied: object, attribute
        ("concept", pa.string()),  # what the wrong caption denies, in normal form
        ("template", pa.string()),  # its name in the table of templates
        ("source", pa.string()),  # template, llm, released
    ],
    metadata=made_by("build_negation_data"),
)
NEGATION_QUESTIONS = pa.schema(
    [
        ("question_id", pa.string()),
        ("split", pa.string()),
        ("image_id", pa.int64()),
        ("captions", pa.list_(pa.string())),  # the right one first
        ("roles", pa.list_(pa.string())),  # right, negated, affirmed, other_image, reworded
        ("template", pa.string()),  # of the right one: positive, negative, hybrid
        ("form", pa.string()),
        ("kind", pa.string()),
    ],
    metadata=made_by("build_negation_data"),
)

NEGATION_CONTROLS = pa.schema(
    [*RESULT_FIELDS, ("control", pa.string())],  # what the scorer was given in place of the item's image, or lacked
    metadata=made_by("score_image_controls"),
)
NEGATION_CHANGES = pa.schema(
    [
        ("item_id", pa.string()),
        ("caption", pa.int64()),  # its place in the item
        ("has_cue", pa.bool_()),  # whether it holds a negation cue
        ("cosine", pa.float64()),  # of corrected and frozen feature
        ("offset", pa.float64()),  # of the score to the cosine of image and corrected text
    ],
    metadata=made_by("score_image_controls"),
)
CLIC_ROWS = pa.schema(
    [
        ("row_id", pa.int64()),  # 0, 1, ... in order
        ("image_id", pa.int64()),  # of table IMAGES
        ("split", pa.string()),  # train, validation: by image
        ("sentences", pa.list_(pa.string())),  # lower case, at least two; the first is what one word is swapped in
        (
            "words",  # tokens of the first sentence
            pa.list_(
                pa.struct(
                    [
                        ("text", pa.string()),
                        ("pos", pa.string()),  # spaCy's coarse tag
                        ("fine", pa.string()),  # its fine tag, of Penn
                        ("start", pa.int32()),  # characters of the sentence
                        ("end", pa.int32()),
                    ]
                )
            ),
        ),
    ],
    metadata=made_by("build_clic_data"),
)
CLIC_CANDIDATES = pa.schema(
    [
        ("word", pa.string()),
        ("fine", pa.string()),  # Penn tag, which word and candidates have
        ("candidates", pa.list_(pa.string())),  # words that fit in its place and mean something else; at most five
    ],
    metadata=made_by("build_clic_candidates"),
)


def write_table(path: str, schema: pa.Schema, rows: Iterable[dict]) -> int:
    """Writes rows to a Parquet file, group by group, whole or not at all.

    Args:
        path: file to write.
        schema: constant of this module.
        rows: dicts with the schema's fields.

    Returns:
        Number of rows.

    Raises:
        ValueError: a row does not fit the schema; names the file.
    """
    n_rows, batch, group, names = 0, [], [], set(schema.names)
    with atomic_path(path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:

        def convert() -> None:  # small batches: many dicts at once would cost the garbage collector much time
            group.append(_to_table(path, schema, batch))
            batch.clear()

        for row in rows:
            if row.keys() != names:
                raise ValueError(f"{path}: a row has the fields {sorted(row)}, the table {sorted(names)}")
            batch.append(row)
            n_rows += 1
            if len(batch) == ROWS_PER_BATCH or n_rows % ROWS_PER_GROUP == 0:
                convert()
            if n_rows % ROWS_PER_GROUP == 0:
                writer.write_table(pa.concat_tables(group))
                group.clear()
        if batch:
            convert()
        if group:
            writer.write_table(pa.concat_tables(group))
    return n_rows


def write_tables(path: str, schema: pa.Schema, tables: Iterable[pa.Table]) -> int:
    """Writes Arrow tables to one Parquet file, whole or not at all, and returns the number of rows.

    For tables that are too long for `write_table`. Each table is written as it comes, in groups of at most
    ROWS_PER_GROUP rows; so equal rows give equal files only if they come in equal tables.
    """
    n_rows = 0
    with atomic_path(path) as partial, pq.ParquetWriter(partial, schema, compression="zstd") as writer:
        for table in filter(len, tables):
            writer.write_table(table.select(schema.names).cast(schema), row_group_size=ROWS_PER_GROUP)
            n_rows += table.num_rows
    return n_rows


def _to_table(path: str, schema: pa.Schema, rows: list[dict]) -> pa.Table:
    """Returns rows as a table.

    Raises:
        ValueError: a row does not fit the schema; names the file.
    """
    try:
        for name in (field.name for field in schema if pa.types.is_integer(field.type)):
            for row in rows:  # pyarrow would cut a fraction off
                if isinstance(row[name], float) and not row[name].is_integer():
                    raise pa.ArrowInvalid(f"column {name!r} is of integers, and a row holds {row[name]}")
        return pa.Table.from_pylist(rows, schema=schema)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
        raise ValueError(f"{path}: a row does not fit the table ({error})") from error


def read_table(path: str | Path, schema: pa.Schema, columns: list[str] | None = None) -> pa.Table:
    """Reads a Parquet table of ours.

    Raises:
        ValueError: the file was written by another version of this workflow (other columns, types or `made_by`); says
            what to run.
    """
    found = pq.read_schema(path)
    if not found.equals(schema) or _origin(found) != _origin(schema):
        rule, version = _origin(schema)
        raise ValueError(
            f"{path} was written by another version of this workflow: it has the columns {found.names} and version "
            f"{_origin(found)[1]}, where {schema.names} and version {version} are expected. Give the same snakemake "
            f"command again with --forcerun {rule}"
        )
    return pq.read_table(path, columns=columns)


def _origin(schema: pa.Schema) -> tuple[str, str]:
    """Returns rule and version of a table, "" where the file does not say."""
    metadata = schema.metadata or {}
    return metadata.get(b"rule", b"").decode(), metadata.get(b"version", b"").decode()


def iterate_rows(
    path: str, schema: pa.Schema, columns: list[str] | None = None, image_ids: set[int] | None = None
) -> Iterator[dict]:
    """Yields the rows of a table as dicts, a batch at a time, so that a large table never stands in memory as dicts.

    Args:
        path: table to read.
        schema: its schema.
        columns: columns to read; all where None.
        image_ids: if given, only rows of these images.
    """
    table = read_table(path, schema, columns)
    if image_ids is not None:
        table = table.filter(pc.is_in(table["image_id"], pa.array(sorted(image_ids), pa.int64())))
    for batch in table.to_batches(max_chunksize=ROWS_PER_BATCH):
        yield from batch.to_pylist()
