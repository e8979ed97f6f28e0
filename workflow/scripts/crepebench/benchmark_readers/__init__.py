"""Readers of other benchmarks: one module each, with a function `read`.

    read(paths: Sequence[str], options: Mapping) -> Iterator[Item]

takes the files and the options of a definition in `benchmarks.definitions` of the config, in the order in which they stand
there. docs/benchmarks.md shows how to add one.
"""

READERS: dict[str, str] = {}
"""Module of each reader, by the name that the config and the manifests in resources/benchmarks/ use."""
