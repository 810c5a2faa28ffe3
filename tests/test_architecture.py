"""The house's rules: who may import whom, what no module does, how long a file may be."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.structure import Imports, circles, imported, imports_of, structure_of

SRC = Path(__file__).resolve().parent.parent / "src" / "disputatio"
FILES = sorted(SRC.rglob("*.py"))
LINES = 700
ROOMS, ARROWS, PUBLIC_NAMES = 40, 280, 69
MODULES, LINES_OF_SRC, LINES_OF_BENCH = 422, 92_060, 10_530

GROUND = (
    *("arguments", "authority", "calling", "causes", "databases", "errors", "events", "platforms"),
    *("protocols", "serialisation", "text", "trace", "types", "values", "versions"),
)
_BELOW = frozenset({"ground", "kit"})
_STRATEGY = _BELOW | {"agents", "attribution", "reliability"}  # what a strategy is made of
_ALL = (
    _STRATEGY
    | {"llm", "store", "strategies", "pipeline", "calibration", "config", "parts"}
    | {"contradictions", "spending", "workers"}
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
    "attribution": _BELOW | {"contradictions", "reliability"},
    "agents": _BELOW | {"attribution", "reliability"},
    "strategies": _STRATEGY,
    "pipeline": _STRATEGY | {"strategies"},
    "what_if": _STRATEGY | {"strategies", "pipeline"},
    "calibration": _STRATEGY | {"store"},
    "contradictions": _BELOW,
    "config": _BELOW | {"llm", "pipeline"},
    "parts": _BELOW | {"attribution", "config", "encoder", "llm", "store"},
    "spending": _BELOW | {"workers"},
    "api": _ALL | {"rendering"},
    "eval": _ALL | {"api", "rendering"},  # a leaf: only doors import it, and the root as `evaluate`
    "cli": _ALL | {"api", "eval", "rendering", "server", "root"},
    "__main__": frozenset({"cli"}),
    "server": _ALL | {"api", "rendering", "root"},  # nothing but cli imports it
    "inspect_ai": _ALL
    | {"api", "eval", "rendering"},  # a door like these: Inspect opens it, and nothing imports it
    "adapters": _ALL | {"api"},  # doors of other frameworks, like this one
    "root": _ALL | {"api", "eval", "events", "rendering", "what_if"},
}
VAGUE = {"utils", "util", "helpers", "common", "base", "manager", "misc"}
HEAVY = {
    "docx", "fastapi", "httpx", "httpx2", "huggingface_hub", "inspect_ai", "lance", "lancedb",
    "langchain_core", "llama_index", "lxml", "markdown_it", "mcp", "milvus_lite", "numba", "openai",
    "opentelemetry", "openvino", "openvino_genai", "openvino_tokenizers", "pptx", "prometheus_client",
    "psycopg", "pyarrow", "pymilvus", "pypdf", "python_calamine", "qdrant_client", "ray", "scipy",
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
    """Return the nodes of a tree, walked once for all rules."""
    return tuple(ast.walk(tree))


@functools.cache
def is_module(name: str) -> bool:
    """Return whether a dotted name is a module or package of ours."""
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
        elif room == "strategies" and not (is_of_one_strategy(module, target) or is_preset(tree)):
            wrong.append(f"{module} imports its sibling {target}; a step that two need moves to agents/.")
    return wrong


def is_of_one_strategy(module: str, target: str) -> bool:
    """Return whether two modules of strategies/ are the same strategy's: its file, or its private parts."""
    return target == "disputatio.strategies" or module.split(".")[:3] == target.split(".")[:3]


def is_preset(tree: ast.AST) -> bool:
    """Return whether a module only fixes options of another strategy (`agents.options.preset`)."""
    defines = any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in ast.walk(tree))
    return not defines and any(isinstance(node, ast.Name) and node.id == "preset" for node in ast.walk(tree))


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
    so cannot be imported: `platforms.block_usage_reports()` before the import.
    """
    engine = [name for name in imported(tree, module) if name.split(".")[0].startswith("openvino")]
    blocked = any(isinstance(n, ast.Name) and n.id == "block_usage_reports" for n in nodes_of(tree))
    if blocked or not engine:
        return []
    return [f"{module} imports {engine[0]} without block_usage_reports()."]


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


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_a_module_that_is_run_is_whole_before_it_starts(path: Path) -> None:
    if "__main__" not in path.read_text(encoding="utf-8"):
        return
    body = tree_of(path).body
    starts = [number for number, each in enumerate(body) if "__main__" in ast.unparse(each)[:40]]
    assert all(isinstance(body[n], ast.If) and n == len(body) - 1 for n in starts), "Put it at the end."


@pytest.mark.long
def test_no_modules_import_each_other() -> None:
    found = structure_of(SRC)
    assert found.circles == [], "They import each other; move what both need down."
    assert found.upward == set(), "The second room reaches the first; move what both need down."


@pytest.mark.long
def test_there_are_no_more_rooms_arrows_and_public_names_than_agreed() -> None:
    found = structure_of(SRC)
    assert len(found.rooms) <= ROOMS, "Put the module into a room that is there, or say why it needs one."
    assert len(found.arrows) <= ARROWS, "A room imports one more room: take the name from a room it knows."
    assert len(found.public) <= PUBLIC_NAMES, "`import disputatio` offers one more name."


def lines_of(paths: list[Path]) -> int:
    """Return how many lines files have together."""
    return sum(path.read_text(encoding="utf-8").count("\n") for path in paths)


def test_the_house_has_no_more_modules_and_lines_than_agreed() -> None:
    """Decision 013 has the figures: what is added should replace something."""
    assert len(FILES) <= MODULES
    assert lines_of(FILES) <= LINES_OF_SRC
    assert lines_of(sorted((SRC.parents[1] / "bench").rglob("*.py"))) <= LINES_OF_BENCH


def needs_of(tmp_path: Path, **lines: str) -> Imports:
    """Return what modules of a package made of these lines import."""
    package = tmp_path / "disputatio"
    package.mkdir()
    for name, text in lines.items():
        (package / f"{name}.py").write_text(text)
    return imports_of(package)


@pytest.mark.parametrize(
    "line",
    [
        "from disputatio import a",
        "from . import a",
        "if TYPE_CHECKING:\n    from disputatio.a import x",
        "def f():\n    import disputatio.a",
        "importlib.import_module('disputatio.a')",
        "ROOM = 'disputatio.a'\nimport_module(ROOM)",
        "HOUSE = 'disputatio'\ndef f(name): return import_module(f'{HOUSE}.a.{name}')",
    ],
)
def test_a_circle_of_imports_is_found_however_they_are_written(line: str, tmp_path: Path) -> None:
    needs = needs_of(tmp_path, a="from disputatio.b import x", b=line, c="import json")
    assert circles(needs) == [["disputatio.a", "disputatio.b"]]


def test_a_name_that_is_made_as_it_runs_is_no_import(tmp_path: Path) -> None:
    needs = needs_of(tmp_path, a="from disputatio.b import x", b="def f(name): import_module(name)")
    assert circles(needs) == []


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
    block = "block_usage_reports()\n"
    assert len(reports_its_use(ast.parse(load), "m")) == 1
    assert reports_its_use(ast.parse(block + load), "m") == []


def test_a_preset_may_import_the_strategy_that_it_fixes() -> None:
    line = "from disputatio.strategies.concat import concat\n"
    module = "disputatio.strategies.a"
    assert (
        against_the_rooms(ast.parse(line + "a = preset(concat, __name__, 'As concat.', k=1)"), module) == []
    )
    assert against_the_rooms(ast.parse(line + "def a(): ..."), module)
