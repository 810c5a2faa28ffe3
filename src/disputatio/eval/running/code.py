"""Which code decided an answer: a hash a module, blind to comments, docstrings and layout.

An evaluation that is resumed after the code behind a strategy changed would mix two systems in one
table, so that every entrant carries these hashes and the journal compares them.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
from collections.abc import Iterator
from functools import cache

from disputatio.pipeline import Strategy

OURS = "disputatio"
WALK = f"{OURS}.pipeline"  # what every answer goes through


def code_of(strategy: Strategy, *more: str) -> dict[str, str]:
    """Return the hash of each module that a strategy's file and the pipeline import, directly or not.

    Modules of ours and of the strategy's own package count, those of others do not. `more` names
    further modules to begin from.
    """
    packages = frozenset({OURS, strategy.__module__.partition(".")[0]})
    hashes: dict[str, str] = {}
    waiting = [strategy.__module__, WALK, *more]
    while waiting:
        name = waiting.pop()
        if name not in hashes:
            hashes[name], imports = _module(name)
            waiting += [name for name in imports if name.partition(".")[0] in packages]
    return dict(sorted(hashes.items()))


def source_hash(source: str) -> str:
    """Return a hash of what a module does: of its syntax tree without docstrings.

    >>> source_hash("def f():\\n    'Says a.'\\n    return 1") == source_hash("def f(): return 1  # one")
    True
    >>> source_hash("PROMPT = 'Say a.'") == source_hash("PROMPT = 'Say b.'")
    False
    """
    return _hash(ast.parse(source))


@cache
def _module(name: str) -> tuple[str, tuple[str, ...]]:
    """Return the hash of a module, and the modules that it imports when it runs."""
    source = _source(name)
    if source is None:
        return "", ()
    tree = ast.parse(source)
    package = name if _is_package(name) else name.rpartition(".")[0]
    imports = tuple(dict.fromkeys(_imported(tree, package)))
    return _hash(tree), imports


def _hash(tree: ast.Module) -> str:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:] or [ast.Pass()]
    return hashlib.sha256(ast.unparse(tree).encode("utf-8", "backslashreplace")).hexdigest()[:12]


def _imported(tree: ast.AST, package: str) -> Iterator[str]:
    """Yield the modules that are imported anywhere in a module, but not those for type checkers alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            start = ".".join([*above, *([node.module] if node.module else [])])
            below = [f"{start}.{alias.name}" for alias in node.names]
            modules = [module for module in below if _source(module) is not None]
            yield from modules
            if len(modules) < len(below):
                yield start
        else:
            yield from _imported(node, package)


@cache
def _source(name: str) -> str | None:
    """Return the text of a module, None for what is none or has none that can be read."""
    try:
        spec = importlib.util.find_spec(name)
        read = getattr(spec.loader, "get_source", None) if spec is not None else None
        text = read(name) if read is not None else None
    except (ImportError, ValueError):
        return None
    return text if isinstance(text, str) else None


def _is_package(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    return spec is not None and spec.submodule_search_locations is not None
