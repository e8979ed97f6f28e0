"""Readers of other benchmarks: one module each, with a function `read`.

    read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]

takes the files and the options of a definition in `benchmarks.definitions` of the config, in the order in which they stand
there. `counts` takes what was read, kept and dropped, of rows of the files; see `crepebench.accounting`. A file that is
not of its published form stops the reader by its name, record and value. docs/benchmarks.md shows how to add one.
"""

READERS: dict[str, str] = {
    name: f"crepebench.benchmark_readers.{name}"
    for name in (
        "sugarcrepe",
        "sugarcrepe_pp",
        "aro",
        "aro_order",
        "winoground",
        "cola",
        "valse",
        "negbench_mcq",
        "negrefcocog",
    )
}
"""Module of each reader, by the name that the config and the manifests in resources/benchmarks/ use."""
