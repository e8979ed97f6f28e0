"""Readers of other benchmarks: one module each, with a function `read`.

    read(paths: Sequence[str], options: Mapping, counts: Counter | None = None) -> Iterator[Item]

takes the files and the options of a definition in `benchmarks.definitions` of the config, in the order in which they
stand there. `counts` takes how many records of the files were read, kept, and dropped for which reason. A file that is
not of its published form stops a reader by its name, record and value. An option may say which of the files is a list
beside the records. Modules whose names begin with an underscore are no readers. docs/benchmarks.md shows how to add
one.
"""

from pkgutil import iter_modules

READERS = {found.name: f"{__name__}.{found.name}" for found in iter_modules(__path__) if found.name[0] != "_"}
"""Module of each reader, by the name that the config uses; a manifest in resources/benchmarks/ has the same name."""
