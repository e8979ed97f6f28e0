"""Digest the code that a rule depends on, so that an edit re-runs exactly the rules that it concerns.

Snakemake compares a script's time stamp and never looks into imported modules. `code_digest` hashes the syntax trees
of a script and of every module of ours that it imports, directly or not. Comments, docstrings and layout do not
count, nor does `job.py`, which only opens logs. Not seen: dynamic imports, data files read by a module (make them
an input of the rule) and other versions of libraries.
"""

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGES = ("crepebench", "icons_world")
IGNORED = ("crepebench.job",)


def code_digest(scripts_path: str, script: str) -> str:
    """Digests a script and the modules of ours that it imports.

    Args:
        scripts_path: the folder `workflow/scripts`.
        script: file name of the script in that folder.

    Returns:
        16 hexadecimal digits.

    Raises:
        FileNotFoundError: the script does not exist.
    """
    root = Path(scripts_path)
    digest = hashlib.sha256(_bare_code(root / script).encode())
    for name, path in sorted(imported_modules(root, root / script).items()):
        digest.update(f"\0{name}\0{_bare_code(path)}".encode())
    return digest.hexdigest()[:16]


def imported_modules(root: Path, path: Path) -> dict[str, Path]:
    """Finds the modules of `PACKAGES` that a file imports, directly or through each other.

    Returns:
        File of each module, by dotted name.
    """
    found, waiting = {}, _imports(path)
    while waiting:
        name = waiting.pop()
        file = _module_file(root, name)
        if file is None or name in found or name in IGNORED:
            continue
        found[name] = file
        waiting |= _imports(file)
    return found


def _module_file(root: Path, name: str) -> Path | None:
    """Returns the file of a module or package of ours, None for a name that is neither."""
    base = root.joinpath(*name.split("."))
    return next((file for file in (base.with_suffix(".py"), base / "__init__.py") if file.is_file()), None)


def _imports(path: Path) -> set[str]:
    """Returns dotted names that a file may import from `PACKAGES`; "from a import b" gives a and a.b."""
    names = set()
    for node in ast.walk(_tree(path, path.stat().st_mtime_ns)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                parts = alias.name.split(".")
                names.update(".".join(parts[:n]) for n in range(1, len(parts) + 1))  # parent packages run, too
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return {name for name in names if name.partition(".")[0] in PACKAGES}


def _bare_code(path: Path) -> str:
    """Returns the dump of a file's syntax tree without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [statement for statement in node.body if not _is_string(statement)] or [ast.Pass()]
    return ast.dump(tree)


def _is_string(statement: ast.stmt) -> bool:
    """Says whether a statement is a bare string: a docstring, or a comment in a docstring's place."""
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


@cache
def _tree(path: Path, _modified: int) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))
