"""Count the rooms of the package, the arrows of imports between them, and the circles of modules.

    python scripts/structure.py [FOLDER]

A room is a module or a folder directly below the package. An arrow is one room that imports another; it
runs upwards where the other reaches back. A circle is a set of modules each of which imports the others,
directly or through them. Every import counts: at the top of a module, in a function, for type checkers
only, and by `importlib.import_module` where the name or its beginning is written in the module.
`tests/test_architecture.py` keeps the figures from growing.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

Imports = Mapping[str, set[str]]  # the modules that each module imports


@dataclass(frozen=True, slots=True, kw_only=True)
class Structure:
    """The figures of a package; `arrows` and `upward` are pairs of rooms."""

    rooms: set[str]
    arrows: set[tuple[str, str]]
    upward: set[tuple[str, str]]
    circles: list[list[str]]
    public: list[str]


def modules(package: Path) -> dict[str, Path]:
    """Return the files of a package by dotted name."""
    names = {}
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        names[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return names


def imported(tree: ast.AST, module: str, *, package: bool = False) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever it does; `from a import b` gives `a.b`."""
    here = module.split(".") if package else module.split(".")[:-1]
    constants = {"__name__": module}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            start = ".".join([*above, node.module] if node.module else above)
            yield from (f"{start}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant):
            value = node.value.value
            constants |= {name.id: str(value) for name in node.targets if isinstance(name, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] == "import_module":
            name = beginning(node.args[0], constants) if node.args else ""
            if name:
                yield name.rstrip(".")


def beginning(text: ast.expr, constants: Mapping[str, str]) -> str:
    """Return a string that a module writes down, as far as its literals and constants give it."""
    if isinstance(text, ast.Constant):
        return str(text.value)
    if isinstance(text, ast.Name):
        return constants.get(text.id, "")
    if not isinstance(text, ast.JoinedStr):
        return ""
    known = ""
    for part in text.values:
        piece = beginning(part.value if isinstance(part, ast.FormattedValue) else part, constants)
        known += piece
        if not piece:
            break
    return known


def imports_of(package: Path) -> Imports:
    """Return the modules of a package that each of them imports."""
    known = modules(package)
    needs = {}
    for module, path in known.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = set(imported(tree, module, package=path.name == "__init__.py"))
        targets = {name if name in known else name.rpartition(".")[0] for name in names}
        needs[module] = targets & known.keys() - {module}
    return needs


def circles(needs: Imports) -> list[list[str]]:
    """Return the sets of modules (or rooms) that reach each other through imports."""
    reached = {name: reachable(name, needs) for name in needs}
    sets = {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in needs
        if name in reached[name]
    }
    return sorted(sorted(members) for members in sets)


def reachable(name: str, needs: Imports) -> set[str]:
    """Return all modules that a module imports, directly or through others."""
    seen: set[str] = set()
    waiting = [name]
    while waiting:
        for target in needs[waiting.pop()] - seen:
            seen.add(target)
            waiting.append(target)
    return seen


def public_names(root: Path) -> list[str]:
    """Return the names that a package's root offers in `__all__`."""
    for node in ast.parse(root.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            return list(ast.literal_eval(node.value))
    return []


def structure_of(package: Path) -> Structure:
    """Return the figures of a package."""
    needs = imports_of(package)
    rooms = {name: ".".join(name.split(".")[:2]) for name in needs}
    below: dict[str, set[str]] = {room: set() for room in rooms.values()}
    for name, targets in needs.items():
        below[rooms[name]] |= {rooms[target] for target in targets} - {rooms[name]}
    arrows = {(room, other) for room in below for other in below[room]}
    return Structure(
        rooms=set(below),
        arrows=arrows,
        upward={(room, other) for room, other in arrows if room in reachable(other, below)},
        circles=circles(needs),
        public=public_names(package / "__init__.py"),
    )


def main(arguments: list[str]) -> None:
    """Print the figures, the circles and the arrows that run upwards."""
    package = Path(arguments[0] if arguments else "src/disputatio").resolve()
    found = structure_of(package)
    files = modules(package).values()
    lines = sum(path.read_text(encoding="utf-8").count("\n") for path in files)
    print(f"{len(found.rooms)} rooms, {len(found.arrows)} arrows between them, {len(found.upward)} upwards")
    print(f"{len(files)} modules, {lines} lines, {len(found.public)} public names")
    print(f"{len(found.circles)} circles")
    for members in found.circles:
        print(f"  {', '.join(members)}")
    for room, other in sorted(found.upward):
        print(f"  upwards: {room} -> {other}")


if __name__ == "__main__":
    main(sys.argv[1:])
