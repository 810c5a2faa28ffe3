"""The regular expressions of the package, found in its source, and texts that each may be slow on."""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from re import _constants as kinds  # type: ignore[attr-defined]  # the parser of the standard library
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SOURCE = Path(__file__).resolve().parent.parent / "src" / "disputatio"
_METHODS = frozenset({"search", "match", "fullmatch", "findall", "finditer", "split", "sub", "subn"})
_ANYWHERE = ("search", "fullmatch")


@dataclass(frozen=True)
class Expression:
    """A regular expression of the source, where it stands, and by which methods it is used."""

    where: str
    pattern: re.Pattern[str]
    methods: tuple[str, ...]


def expressions() -> list[Expression]:
    """Return every regular expression of the package that reads text; raises `ValueError` for one not
    understood.
    """
    return [found for file in sorted(SOURCE.rglob("*.py")) for found in _of_file(file)]


def _of_file(file: Path) -> Iterator[Expression]:
    text = file.read_text(encoding="utf-8")
    if "\nimport re\n" not in text:
        return  # most files, which are then not parsed each time that tests are collected
    tree = ast.parse(text)
    names = file.relative_to(SOURCE.parent).with_suffix("").parts
    calls = [call for call in ast.walk(tree) if isinstance(call, ast.Call) and _of_re(call)]
    if not calls:
        return
    module = importlib.import_module(".".join(names).removesuffix(".__init__"))
    used = _uses(tree)
    assigned = {
        id(part): node for node in ast.walk(tree) if isinstance(node, ast.Assign) for part in ast.walk(node)
    }
    for call in calls:
        function = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        where = f"{'/'.join(names)}:{call.lineno}"
        pattern = _compiled(call, function, module, where)
        if isinstance(pattern.pattern, bytes):
            continue  # of our own files and streams; their lines are bounded where they are read
        methods: tuple[str, ...] = (function,)
        if function == "compile":
            target = assigned.get(id(call))
            name = target.targets[0].id if target and isinstance(target.targets[0], ast.Name) else ""
            methods = tuple(sorted(used.get(name, set()))) or _ANYWHERE
        yield Expression(where, pattern, methods)


def _of_re(call: ast.Call) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
        and function.attr in (*_METHODS, "compile")
    )


def _uses(tree: ast.AST) -> dict[str, set[str]]:
    """Return the methods by which names of a module are used; one that is handed on is used by all."""
    used: dict[str, set[str]] = {}
    called: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr in _METHODS:
            used.setdefault(node.value.id, set()).add(node.attr)
            called.add(id(node.value))
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr in ("pattern", "flags")
        ):
            called.add(id(node.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in called:
            used.setdefault(node.id, set()).update(_ANYWHERE)
    return used


class _Standing(dict[str, Any]):
    """The names of a module; a word stands for what is only known at run time."""

    def __init__(self, module: Any) -> None:
        super().__init__(vars(module))

    def __missing__(self, name: str) -> Any:
        if hasattr(builtins, name):
            return getattr(builtins, name)
        return "word"


def _compiled(call: ast.Call, function: str, module: Any, where: str) -> re.Pattern[Any]:
    code = compile(ast.Expression(call.args[0]), where, "eval")
    try:
        pattern = eval(code, dict(vars(module)), _Standing(module))
    except (NameError, AttributeError, TypeError) as error:
        raise ValueError(f"{where}: the pattern is made from what is only known at run time") from error
    if isinstance(pattern, re.Pattern):
        return pattern
    flags = [keyword.value for keyword in call.keywords if keyword.arg == "flags"]
    if function in ("compile", "search", "match", "fullmatch", "findall", "finditer"):
        flags += call.args[1:] if function == "compile" else call.args[2:]
    value = eval(compile(ast.Expression(flags[0]), where, "eval"), dict(vars(module))) if flags else 0
    return re.compile(pattern, value)


# --- inputs -----------------------------------------------------------------------------------------
_PLAIN = (" ", "\n", "a", "1", "[", "a ", "1,", "<", "A.")
_MOST_PUMPS = 16
_BREAKS = ("\0",)


def inputs(expression: Expression) -> Iterator[Callable[[int], str]]:
    """Functions of a length that give texts on which backtracking costs most."""
    tree = parser.parse(expression.pattern.pattern, expression.pattern.flags)
    pumps = list(dict.fromkeys(_pumps(tree, "")))[:_MOST_PUMPS]
    pumped = dict.fromkeys([*pumps, *(("", piece) for piece in _PLAIN)])
    for prefix, piece in pumped:
        for end in _BREAKS:
            yield lambda size, prefix=prefix, piece=piece, end=end: (  # type: ignore[misc]  # bound here
                prefix + piece * (size // max(len(piece), 1)) + end
            )
        if prefix:  # every occurrence of the beginning may start a search of its own
            yield lambda size, prefix=prefix, piece=piece: (  # type: ignore[misc]
                (prefix + piece) * (size // max(len(prefix + piece), 1))
            )


def _pumps(tree: Any, before: str) -> Iterator[tuple[str, str]]:
    """(what must come before, what can be repeated) for every repetition in a parsed expression."""
    prefix = before
    for kind, value in tree:
        if kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            _, most, body = value
            if most > 1:
                for piece in _pieces(body):
                    yield prefix[-40:], piece
                yield from _pumps(body, prefix)
        elif kind is kinds.SUBPATTERN:
            yield from _pumps(value[-1], prefix)
        elif kind is kinds.BRANCH:
            for branch in value[1]:
                yield from _pumps(branch, prefix)
        elif kind in (kinds.ASSERT, kinds.ASSERT_NOT):
            yield from _pumps(value[1], prefix)
        elif kind is kinds.ATOMIC_GROUP:
            yield from _pumps(value, prefix)
        prefix += next(iter(_pieces([(kind, value)])), "")


def _pieces(tree: Any) -> list[str]:
    """Some texts that a parsed expression matches, as far as that is easy to say."""
    texts = [""]
    for kind, value in tree:
        options = [""]
        if kind is kinds.LITERAL:
            options = [chr(value)]
        elif kind is kinds.NOT_LITERAL:
            options = ["a" if value != ord("a") else "b"]
        elif kind is kinds.ANY:
            options = ["a", " "]
        elif kind is kinds.IN:
            options = _in(value)
        elif kind in (kinds.MAX_REPEAT, kinds.MIN_REPEAT, kinds.POSSESSIVE_REPEAT):
            least = min(max(value[0], 1 if value[1] else 0), 3)
            options = [piece * least for piece in _pieces(value[2])]
        elif kind is kinds.SUBPATTERN:
            options = _pieces(value[-1])
        elif kind is kinds.ATOMIC_GROUP:
            options = _pieces(value)
        elif kind is kinds.BRANCH:
            options = [piece for branch in value[1] for piece in _pieces(branch)[:1]][:4]
        texts = [text + option for text in texts for option in options[:3]][:6]
    return [text for text in texts if text]


_CATEGORIES = {
    kinds.CATEGORY_DIGIT: ["1"],
    kinds.CATEGORY_SPACE: [" ", "\n"],
    kinds.CATEGORY_WORD: ["a", "1"],
    kinds.CATEGORY_NOT_DIGIT: ["a", " "],
    kinds.CATEGORY_NOT_SPACE: ["a", "."],
    kinds.CATEGORY_NOT_WORD: [" ", "."],
}


def _in(items: Any) -> list[str]:
    if items and items[0][0] is kinds.NEGATE:
        body = re.compile(
            "[" + re.escape("".join(chr(v) for k, v in items[1:] if k is kinds.LITERAL) or "\0") + "]"
        )
        return [char for char in ("a", " ", "1", ".", "-", "\n") if not body.match(char)][:2] or ["~"]
    options: list[str] = []
    for kind, value in items:
        if kind is kinds.LITERAL:
            options.append(chr(value))
        elif kind is kinds.RANGE:
            options.append(chr(value[0]))
        elif kind is kinds.CATEGORY:
            options += _CATEGORIES.get(value, [])
    spaces = [option for option in options if option.isspace()][:1]
    words = [option for option in options if option.isalnum()][:1]
    return [*spaces, *words, *options][:3]


# --- growth -----------------------------------------------------------------------------------------
SIZES = (1_000, 10_000, 100_000)  # from the smallest, at which even cubic growth ends
MOST = 40.0  # times as long for ten times the text: 10 is linear, 100 quadratic
_NOISE = 0.004  # seconds below which a time says nothing


def growth(run: Callable[[str], object], text: Callable[[int], str], sizes: Sequence[int] = SIZES) -> float:
    """Return how many times as long ten times the text takes, at worst; 0 where all of it takes no time.

    A larger text is not tried where a smaller one has shown too much.
    """
    worst = 0.0
    for size in sizes:
        spent = _seconds(run, text(size))
        if spent > _NOISE:
            tenth = text(size // 10)
            before = min(_seconds(run, tenth) for _ in range(3))
            ratio = spent / max(before, _NOISE / 20)
            if ratio > MOST:  # once more, as the machine may have been busy
                ratio = min(ratio, _seconds(run, text(size)) / max(before, _NOISE / 20))
            worst = max(worst, ratio)
        if worst > MOST:
            break
    return worst


def _seconds(run: Callable[[str], object], text: str) -> float:
    begin = time.process_time()
    run(text)
    return time.process_time() - begin


def use(pattern: re.Pattern[str], method: str) -> Callable[[str], object]:
    """Return a function that applies an expression to a whole text."""
    if method in ("sub", "subn"):
        return lambda text: pattern.sub("", text)
    if method == "finditer":
        return lambda text: sum(1 for _ in pattern.finditer(text))
    if method == "match":  # callers go on from match to match
        return pattern.match
    called: Callable[[str], object] = getattr(pattern, method)
    return called
