"""Count the rooms of the package, the arrows of imports between them, and the circles of modules.

    python scripts/structure.py [FOLDER]

A room is a module or a folder directly below the package. An arrow is one room that imports another. A
circle is a set of modules each of which imports the others, directly or through them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path


def modules(package: Path) -> dict[str, Path]:
    """Return the files of a package by dotted name."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imports(tree: ast.AST, known: Mapping[str, Path]) -> Iterator[str]:
    """Yield the modules of the package that a module imports by absolute name."""
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            target = name if name in known else name.rpartition(".")[0]
            if target in known:
                yield target


def circles(needs: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of modules that reach each other through imports."""
    reached = {name: reachable(name, needs) for name in needs}
    sets = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in needs
        if name in reached[name]
    }
    return sorted(sorted(members) for members in sets)


def reachable(name: str, needs: Mapping[str, set[str]]) -> set[str]:
    """Return all modules that a module imports, directly or through others."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for target in needs[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def main(arguments: list[str]) -> None:
    """Print the counts and the circles."""
    package = Path(arguments[0] if arguments else "src/disputatio")
    known = modules(package)
    needs = {
        name: set(imports(ast.parse(path.read_text(encoding="utf-8")), known)) - {name}
        for name, path in known.items()
    }
    rooms = {name: ".".join(name.split(".")[:2]) for name in known}
    arrows = {(rooms[name], rooms[target]) for name in needs for target in needs[name]}
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in known.values())
    between = sum(start != end for start, end in arrows)
    print(f"{len(set(rooms.values()))} rooms, {between} arrows between them")
    print(f"{len(known)} modules, {lines} lines")
    print(f"{len(circles(needs))} circles")
    for members in circles(needs):
        print(f"  {', '.join(members)}")


if __name__ == "__main__":
    main(sys.argv[1:])
