"""Digest the code that a rule depends on, so that an edit re-runs exactly the rules that it concerns.

Snakemake compares a script's time stamp and never looks into imported modules. `code_digest` hashes the syntax trees
of a script and of the top-level statements of our modules that it reaches: a name leads to the statements that bind
it, these to all names in them, and `from a import b` to b of a. Of an imported module `a`, `a.b` leads to b of a, and
a bare `a` to everything. What runs when a module is loaded counts in each module that is imported on the way: calls,
`X["a"] = 1`, `X += 1`, loops, `if` and `try` with all in them, definitions with a decorator that is not in
`PURE_DECORATORS`, imports that nothing in their module uses, and the whole `__init__`. In doubt more counts: a local
variable may be taken for a definition of the same name, and all of a module counts after `from a import *`, beside
`globals()`, or for a name that is not in it.

Comments, docstrings and layout do not count, nor does `job.py`, which only opens logs; the order of what is reached
does. Not seen: dynamic imports, names in strings, an assignment or a subclass that changes another object on the way
(`Y = X.pop()`), data files that a module reads (make them an input of the rule) and other versions of libraries.
"""

import ast
import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from pkgutil import iter_modules

IGNORED = ("crepebench.job",)
PURE_DECORATORS = {
    *("cache", "cached_property", "classmethod", "contextmanager", "dataclass", "lru_cache", "property", "staticmethod")
}
REFLECTION = {"dir", "eval", "exec", "globals", "locals", "vars"}
SCRIPT = "<script>"
LOADED, WHOLE = "", "*"
"""What may be needed of a module beside a name in it: what runs when it is loaded, and everything."""
DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
IMPORTS = ast.Import | ast.ImportFrom


@dataclass(frozen=True)
class Statement:
    """A top-level statement, or one name of a top-level import.

    Attributes:
        code: its syntax tree without docstrings.
        binds: names that it gives to its module.
        uses: names in it, with attributes ("a", "a.b.c").
        runs: whether it counts as soon as the module is loaded.
    """

    code: str
    binds: set[str]
    uses: set[str]
    runs: bool


@dataclass(frozen=True)
class Module:
    """A module as far as digests need it.

    Attributes:
        statements: in the order of the file.
        binders: indexes of the statements that bind a name.
        origins: what an imported name stands for: a module, and a name in it or "".
        loads: what the imports need at once: a module, and LOADED or WHOLE.
    """

    statements: list[Statement]
    binders: dict[str, set[int]]
    origins: dict[str, set[tuple[str, str]]]
    loads: set[tuple[str, str]]


def code_digest(scripts_path: str, script: str) -> str:
    """Digests a script and the definitions of ours that it reaches.

    Args:
        scripts_path: the folder `workflow/scripts`.
        script: file name of the script in that folder.

    Returns:
        16 hexadecimal digits.

    Raises:
        FileNotFoundError: the script does not exist.
    """
    digest = hashlib.sha256()
    for name, statements in sorted(reached_statements(Path(scripts_path), script).items()):
        digest.update("\0".join([name, *(statement.code for statement in statements), "\0"]).encode())
    return digest.hexdigest()[:16]


def reached_statements(root: Path, script: str) -> dict[str, list[Statement]]:
    """Finds the statements that a script reaches: whatever can make its rule run again.

    Returns:
        Statements by dotted name of their module (SCRIPT for the script itself), in the order of the file.
    """

    @cache
    def find(name: str) -> Module | None:
        path = name.replace(".", "/")
        files = [root / script] if name == SCRIPT else [root / path / "__init__.py", root / f"{path}.py"]
        file = next((file for file in files if name == SCRIPT or file.is_file()), None)
        if file is None or name in IGNORED:
            return None
        return _parse(file.read_text(encoding="utf-8"), name, file.name == "__init__.py")

    reached, done, waiting = defaultdict(set), set(), [(SCRIPT, LOADED)]
    while waiting:
        name, needed = need = waiting.pop()
        module = find(name)
        if module is None or need in done:
            continue
        done.add(need)
        waiting += [(name, LOADED), *module.loads]
        first, _, rest = needed.partition(".")
        if needed == LOADED:
            found = {index for index, statement in enumerate(module.statements) if statement.runs}
        elif needed == WHOLE:
            found = set(range(len(module.statements)))
            waiting += [(name, imported) for imported in module.origins]
            folder = root / name.replace(".", "/")  # of a package: its modules are its attributes, too
            waiting += [(f"{name}.{part.name}", WHOLE) for part in iter_modules([str(folder)])]
        else:
            found = module.binders.get(first, set())
            origins = module.origins.get(first, set())
            waiting += [(source, _join(part, rest) or WHOLE) for source, part in origins]
            submodule = f"{name}.{first}"
            if find(submodule):
                waiting.append((submodule, rest or WHOLE))
            elif not found and not origins and submodule not in IGNORED:
                waiting.append((name, WHOLE))
        for use in set().union(*(module.statements[index].uses for index in found - reached[name])):
            first = use.partition(".")[0]
            if first in REFLECTION:
                waiting.append((name, WHOLE))
            if first in module.binders or first in module.origins:
                waiting.append((name, use))
        reached[name] |= found
    return {name: [find(name).statements[index] for index in sorted(found)] for name, found in reached.items() if found}


def _join(*parts: str) -> str:
    return ".".join(filter(None, parts))


@cache
def _parse(text: str, name: str, is_package: bool) -> Module:
    """Parses the module of a dotted name."""
    tree = ast.parse(text, name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | DEFINITIONS):
            node.body = [statement for statement in node.body if not _is_string(statement)]
            node.body = node.body or ([] if node is tree else [ast.Pass()])
    trees = [part for statement in tree.body for part in _split_import(statement)]
    nodes = [list(ast.walk(part)) for part in trees]
    names = [_names(each) for each in nodes]
    used = {use.partition(".")[0] for uses in names for use in uses}
    parent = name.rpartition(".")[0]
    module = Module([], defaultdict(set), defaultdict(set), {(parent, LOADED)} if parent else set())
    for index, (tree, each, uses) in enumerate(zip(trees, nodes, names, strict=True)):
        binds, runs = _bound_names(each), is_package or name == SCRIPT or not _only_binds(tree)
        for use, source, part in _imports(each, name if is_package else parent):
            first = use.partition(".")[0]
            module.origins[first].add((source.partition(".")[0] if "." in use else source, part))
            module.loads.update({(source, WHOLE if part == WHOLE else LOADED), (_join(source, part), LOADED)})
            if first not in used:  # nothing but the import itself is wanted
                uses |= {use} - {WHOLE}
                runs = runs or isinstance(tree, IMPORTS)
        for bound in binds:
            module.binders[bound].add(index)
        module.statements.append(Statement(ast.dump(tree), binds, uses, runs))
    return module


def _is_string(statement: ast.stmt) -> bool:
    """Says whether a statement is a bare string: a docstring, or a comment in a docstring's place."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def _split_import(node: ast.stmt) -> list[ast.stmt]:
    """Returns an import of several names as one import for each, any other statement as it is."""
    if isinstance(node, ast.Import):
        return [ast.Import([alias]) for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [ast.ImportFrom(node.module, [alias], node.level) for alias in node.names]
    return [node]


def _names(nodes: list[ast.AST]) -> set[str]:
    """Returns the names in a statement's nodes, with the attributes that are taken of them."""
    inner = {node.value for node in nodes if isinstance(node, ast.Attribute)}
    return {_dotted(node) for node in nodes if isinstance(node, ast.Attribute | ast.Name) and node not in inner} - {""}


def _dotted(node: ast.AST) -> str:
    """Returns a name with its attributes, "" for any other node."""
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value)
        return base and f"{base}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _imports(nodes: list[ast.AST], package: str) -> Iterator[tuple[str, str, str]]:
    """Yields of every import among a statement's nodes: how it is used ("b", "a.b"), its module, the name or ""."""
    for node in nodes:
        for alias in node.names if isinstance(node, IMPORTS) else ():
            if isinstance(node, ast.ImportFrom):
                source = resolve_name("." * node.level + (node.module or ""), package)
                yield alias.asname or alias.name, source, alias.name
            else:
                yield alias.asname or alias.name, alias.name, ""


def _bound_names(nodes: list[ast.AST]) -> set[str]:
    """Returns the names that a statement, the first of its nodes, binds in its module; of a block, all it may bind."""
    names = {name for node in nodes if isinstance(node, ast.Global) for name in node.names}
    if isinstance(nodes[0], DEFINITIONS):
        return names | {nodes[0].name}
    inner = {node for each in nodes if isinstance(each, ast.comprehension) for node in ast.walk(each.target)}
    for node in nodes:
        if isinstance(node, ast.alias):
            names.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in inner:
            names.add(node.id)
        elif isinstance(getattr(node, "name", None), str):  # in a block: a definition, a caught error
            names.add(node.name)
    return names


def _only_binds(node: ast.stmt) -> bool:
    """Says whether a statement does no more than bind names: it need not count before one of them is needed."""
    if isinstance(node, DEFINITIONS):
        decorators = {_dotted(getattr(each, "func", each)).rpartition(".")[2] for each in node.decorator_list}
        body = node.body if isinstance(node, ast.ClassDef) else []
        return decorators <= PURE_DECORATORS and all(map(_only_binds, body))
    if isinstance(node, ast.Assign | ast.AnnAssign):
        stored = (child for child in ast.walk(node) if isinstance(child, ast.Attribute | ast.Subscript))
        return not any(isinstance(child.ctx, ast.Store) for child in stored)
    return isinstance(node, IMPORTS | ast.Pass)
