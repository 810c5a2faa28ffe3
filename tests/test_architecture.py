"""The house's rules: who may import whom, what no module does, how long a file may be."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

SRC = Path(__file__).resolve().parent.parent / "src" / "disputatio"
FILES = sorted(SRC.rglob("*.py"))
LINES = 700

GROUND = (
    *(
        "calling",
        "cancel",
        "causes",
        "counts",
        "dates",
        "errors",
        "events",
        "presenting",
        "protocols",
        "text",
        "trace",
        "types",
    ),
    "values",
)
_BELOW = frozenset({"ground", "kit"})
_STRATEGY = _BELOW | {"agents", "attribution", "reliability"}  # what a strategy is made of
_ALL = (
    _STRATEGY
    | {"llm", "store", "strategies", "pipeline", "described", "calibration", "config", "parts"}
    | {"spending", "workers"}
)
# Room -> the rooms it may import, its own apart. A new top-level module needs a row here.
MAY_IMPORT: dict[str, frozenset[str]] = {
    "ground": frozenset(),
    "rendering": frozenset({"ground", "attribution"}),  # nothing that decides an answer imports it
    "kit": frozenset({"ground"}),
    "llm": frozenset({"ground"}),
    "workers": frozenset({"ground"}),
    "store": frozenset({"ground", "workers"}),
    "encoder": frozenset({"ground"}),
    "reliability": _BELOW,
    "attribution": _BELOW | {"reliability"},
    "agents": _BELOW | {"attribution", "reliability"},
    "strategies": _STRATEGY,
    "pipeline": _STRATEGY | {"strategies"},
    "what_if": _STRATEGY | {"strategies", "pipeline"},
    "calibration": _STRATEGY | {"store"},
    "described": _STRATEGY | {"strategies", "pipeline"},
    "config": _BELOW | {"llm", "pipeline"},
    "parts": _BELOW | {"attribution", "config", "encoder", "llm", "store"},
    "spending": _BELOW | {"workers"},
    "api": _ALL | {"rendering"},
    "eval": _ALL | {"api", "rendering"},  # a leaf: only doors import it, and the root as `evaluate`
    "cli": _ALL | {"api", "eval", "rendering", "server", "root"},
    "server": _ALL | {"api", "rendering", "root"},  # nothing but cli imports it
    "inspect_ai": _ALL
    | {"api", "eval", "rendering"},  # a door like these: Inspect opens it, and nothing imports it
    "adapters": _ALL | {"api"},  # doors of other frameworks, like this one
    "root": _ALL | {"api", "eval", "events"},
}
VAGUE = {"utils", "util", "helpers", "common", "base", "manager", "misc"}
HEAVY = {
    "docx", "fastapi", "httpx", "httpx2", "huggingface_hub", "inspect_ai", "lance", "lancedb",
    "langchain_core", "llama_index", "lxml", "markdown_it", "mcp", "milvus_lite", "numba", "openai",
    "openvino", "openvino_genai", "openvino_tokenizers", "pptx", "prometheus_client", "psycopg",
    "pyarrow", "pymilvus", "pypdf", "python_calamine", "qdrant_client", "ray", "scipy",
    "semantic_text_splitter", "starlette", "tld", "tokenizers", "torch", "trafilatura", "transformers",
    "uvicorn", "watchfiles",
}  # fmt: skip
# What a room is made of: whoever imports the room wants it.
OF_A_ROOM = {
    "adapters": {"langchain_core", "llama_index"},
    "server": {"fastapi", "mcp", "prometheus_client", "starlette", "uvicorn"},
}
# Compiled functions are made where they are written, so their module is what is imported at use.
MADE_AT_IMPORT = {("disputatio.store.segments.kernels", "numba")}
DANGEROUS_MODULES = {"pickle", "marshal", "shelve", "dill", "joblib"}
DANGEROUS_CALLS = {"eval", "exec", "compile", "__import__"}
DANGEROUS_OPTIONS = {"allow_pickle", "trust_remote_code", "shell"}


def module_of(path: Path) -> str:
    """Return the dotted name of a file below src."""
    parts = path.relative_to(SRC.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def room_of(module: str) -> str:
    """Return the room that a module of the package stands in."""
    parts = module.split(".")
    if len(parts) == 1:
        return "root"
    return "ground" if parts[1] in GROUND else parts[1]


@functools.cache
def nodes_of(tree: ast.AST) -> tuple[ast.AST, ...]:
    """The nodes of a tree, walked once for all rules."""
    return tuple(ast.walk(tree))


def imported(tree: ast.AST, module: str, *, package: bool = False) -> Iterator[str]:
    """Yield the dotted names that a module imports, wherever it does; `from a import b` gives `a.b`."""
    here = module.split(".") if package else module.split(".")[:-1]
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = here[: len(here) - node.level + 1] if node.level else []
            start = ".".join([*above, node.module] if node.module else above)
            yield from (f"{start}.{alias.name}" for alias in node.names)


@functools.cache
def is_module(name: str) -> bool:
    """Whether a dotted name is a module or package of ours."""
    path = SRC.parent.joinpath(*name.split("."))
    return path.is_dir() or path.with_suffix(".py").is_file()


def against_the_rooms(tree: ast.AST, module: str, *, package: bool = False) -> list[str]:
    """Return what is wrong with a module's imports, one sentence each."""
    room = room_of(module)
    if room not in MAY_IMPORT:
        return [f"{module} stands in no known room: give {room!r} a row in MAY_IMPORT."]
    wrong = []
    for name in imported(tree, module, package=package):
        if name.split(".")[0] != "disputatio":
            continue
        target = name if is_module(name) else name.rpartition(".")[0]
        other = room_of(target)
        if other == "root":
            if room not in ("root", "cli", "server"):
                wrong.append(f"{module} imports the package's root; take the name from where it is made.")
        elif other != room:
            if other not in MAY_IMPORT[room]:
                wrong.append(f"{module} imports {target}, but {room} may not import {other}.")
        elif room == "strategies" and not is_of_one_strategy(module, target):
            wrong.append(f"{module} imports its sibling {target}; a step that two need moves to agents/.")
    return wrong


def is_of_one_strategy(module: str, target: str) -> bool:
    """Return whether two modules of strategies/ are the same strategy's: its file, or its private parts."""
    return target == "disputatio.strategies" or module.split(".")[:3] == target.split(".")[:3]


def circles(files: Sequence[Path]) -> list[str]:
    """Return the modules that import each other when they are imported, one sentence a circle."""
    trees = {module_of(path): (tree_of(path), path.name == "__init__.py") for path in files}
    needs: dict[str, set[str]] = {}
    for module, (tree, package) in trees.items():
        names = {name for node in at_import(tree.body) for name in imported(node, module, package=package)}
        targets = {name if name in trees else name.rpartition(".")[0] for name in names}
        needs[module] = {target for target in targets if target in trees and target != module}
    wrong, done = [], set[str]()
    for start in sorted(needs):
        trail = path_back(start, needs)
        if trail and start not in done:
            done.update(trail)
            wrong.append(f"{' -> '.join([*trail, start])}: they import each other; move what both need down.")
    return wrong


def path_back(start: str, needs: Mapping[str, set[str]]) -> list[str]:
    """Return the shortest way from a module through its imports back to itself; empty where there is none."""
    trails, seen = [[start]], {start}
    while trails:
        trail = trails.pop(0)
        for target in sorted(needs[trail[-1]]):
            if target == start:
                return trail
            if target not in seen:
                seen.add(target)
                trails.append([*trail, target])
    return []


def at_import(body: list[ast.stmt]) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield the import statements that run when the module is imported."""
    for node in body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from at_import(node.orelse)
        elif isinstance(node, ast.If | ast.Try | ast.With | ast.ClassDef):
            for part in ("body", "orelse", "finalbody"):
                yield from at_import(getattr(node, part, []))
            for handler in getattr(node, "handlers", []):
                yield from at_import(handler.body)


def heavy_at_import(tree: ast.Module, module: str) -> list[str]:
    """Heavy packages that the module loads when it is imported, one sentence each."""
    wrong = []
    for node in at_import(tree.body):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
        for top in {name.split(".")[0] for name in names} & HEAVY:
            if (module, top) in MADE_AT_IMPORT or room_of(module) == top:
                continue  # the room of a package's own name is only loaded by that package
            if top in OF_A_ROOM.get(room_of(module), ()):
                continue
            wrong.append(f"{module}:{node.lineno} loads {top} at import; import it in the function at use.")
    return wrong


def dangers(tree: ast.AST, module: str) -> list[str]:
    """Return what no module of ours does, one sentence each."""
    wrong = []
    for name in imported(tree, module):
        if name.split(".")[0] in DANGEROUS_MODULES:
            wrong.append(f"{module} imports {name}; own no format that runs code when it is read.")
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.id if isinstance(node.func, ast.Name) else ""
        if called in DANGEROUS_CALLS:
            wrong.append(f"{module}:{node.lineno} calls {called}(); text is never run as code.")
        if called == "print" and room_of(module) != "cli":
            wrong.append(
                f"{module}:{node.lineno} prints; only the command line speaks, others return or trace."
            )
        for option in node.keywords:
            switched_on = isinstance(option.value, ast.Constant) and option.value.value is True
            if option.arg in DANGEROUS_OPTIONS and switched_on:
                wrong.append(f"{module}:{node.lineno} sets {option.arg}=True, which runs what it is given.")
    return wrong


def reports_its_use(tree: ast.AST, module: str) -> list[str]:
    """Return whether a module imports OpenVINO and leaves its usage statistics on, in one sentence.

    Importing it starts a process that reports the import to the vendor, unless the package that does
    so cannot be imported: `sys.modules.setdefault("openvino_telemetry", None)` before the import.
    """
    engine = [name for name in imported(tree, module) if name.split(".")[0].startswith("openvino")]
    blocked = any(isinstance(n, ast.Constant) and n.value == "openvino_telemetry" for n in nodes_of(tree))
    if blocked or not engine:
        return []
    return [f"{module} imports {engine[0]} without blocking openvino_telemetry."]


@functools.cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def ill_named(path: Path, tree: ast.Module) -> list[str]:
    """Return whether a module is too long, says not what it is for, or is named for nothing, one sentence
    each.
    """
    wrong = []
    lines = path.read_text(encoding="utf-8").count("\n")
    if lines > LINES:
        wrong.append(f"{module_of(path)} has {lines} lines; {LINES} at most: split it by meaning.")
    if not ast.get_docstring(tree):
        wrong.append(f"{module_of(path)} has no docstring that says what it is for.")
    if path.stem in VAGUE:
        wrong.append(f"{module_of(path)} is named for nothing; name it by the field's noun.")
    return wrong


@pytest.mark.long
@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_a_module_keeps_the_rules_of_the_house(path: Path) -> None:
    tree, module = tree_of(path), module_of(path)
    assert [
        *against_the_rooms(tree, module, package=path.name == "__init__.py"),
        *heavy_at_import(tree, module),
        *reports_its_use(tree, module),
        *dangers(tree, module),
        *ill_named(path, tree),
    ] == []


@pytest.mark.long
def test_no_modules_import_each_other() -> None:
    assert circles(FILES) == []


def test_a_circle_of_imports_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"{__name__}.SRC", tmp_path / "disputatio")
    (tmp_path / "disputatio").mkdir()
    for name, line in {
        "a": "from disputatio.b import x",
        "b": "from disputatio import a",
        "c": "import json",
    }.items():
        (tmp_path / "disputatio" / f"{name}.py").write_text(line)
    [sentence] = circles(sorted((tmp_path / "disputatio").glob("*.py")))
    assert sentence.startswith("disputatio.a -> disputatio.b -> disputatio.a:")


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("disputatio.text", "from disputatio.kit import Kit", "ground may not import kit"),
        ("disputatio.llm.local", "from disputatio.store import folder_index", "llm may not import store"),
        ("disputatio.llm.local", "import disputatio.kit", "llm may not import kit"),
        ("disputatio.strategies.a", "from disputatio.llm.call_cache import CallCache", "may not import llm"),
        ("disputatio.strategies.a", "from . import b", "imports its sibling disputatio.strategies.b"),
        ("disputatio.strategies.a", "def f():\n    from disputatio.strategies.b import b", "its sibling"),
        ("disputatio.attribution.cite", "from ..pipeline import ask", "attribution may not import pipeline"),
        ("disputatio.config", "from disputatio.eval import runner", "config may not import eval"),
        ("disputatio.kit", "from disputatio import ask", "imports the package's root"),
        ("disputatio.gadgets", "import json", "stands in no known room"),
    ],
)
def test_a_breach_of_the_rooms_is_named(
    module: str, line: str, complaint: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    modules = ("kit", "pipeline", "eval", "store", "llm.call_cache", "strategies", "strategies.b")
    known = {"disputatio", *(f"disputatio.{name}" for name in modules)}
    monkeypatch.setattr(f"{__name__}.is_module", known.__contains__)
    [sentence] = against_the_rooms(ast.parse(line), module)
    assert complaint in sentence


@pytest.mark.parametrize(
    "line",
    [
        "eval('1')",
        "exec(text)",
        "import pickle",
        "from pickle import loads",
        "print('x')",
        "numpy.load(path, allow_pickle=True)",
        "subprocess.run(line, shell=True)",
    ],
)
def test_a_dangerous_line_is_named(line: str) -> None:
    assert len(dangers(ast.parse(line), "disputatio.store.folder_index")) == 1


def test_a_heavy_import_is_named_unless_it_waits_for_its_use() -> None:
    assert heavy_at_import(ast.parse("import lancedb"), "m")
    assert heavy_at_import(ast.parse("try:\n    import pyarrow as pa\nexcept ImportError:\n    pass"), "m")
    assert not heavy_at_import(ast.parse("def f():\n    import lancedb"), "m")
    assert not heavy_at_import(ast.parse("if TYPE_CHECKING:\n    import lancedb"), "m")


def test_loading_the_engine_with_its_statistics_is_named() -> None:
    load = "def f():\n    import openvino_genai"
    block = "import sys\nsys.modules.setdefault('openvino_telemetry', None)\n"
    assert len(reports_its_use(ast.parse(load), "m")) == 1
    assert reports_its_use(ast.parse(block + load), "m") == []
