"""Values of CSS as numbers: lengths, shares, sums of them, the arguments of functions, variables put in."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping

WIDTH, HEIGHT = 1280.0, 800.0  # pixels of the window that a page is judged in
_UNITS = {
    "": 1.0, "px": 1.0, "pt": 4 / 3, "pc": 16.0, "in": 96.0, "cm": 96 / 2.54, "mm": 9.6 / 2.54,
    "q": 2.4 / 2.54, "rem": 16.0, "vmin": HEIGHT / 100, "vmax": WIDTH / 100,
    **dict.fromkeys(("vw", "vi", "svw", "dvw", "lvw"), WIDTH / 100),
    **dict.fromkeys(("vh", "vb", "svh", "dvh", "lvh"), HEIGHT / 100),
}  # fmt: skip
_RELATIVE = {"em": 1.0, "ex": 0.5, "ch": 0.5, "lh": 1.2, "ic": 1.0, "cap": 0.7}
_TOKEN = re.compile(
    r"\s*+([+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:e[+-]?\d++)?)([a-z%]*+)|\s*+(calc(?=\()|[()+*/-])"
)
_VARIABLE = re.compile(r"var\(\s*+(--[^\s,()]++)\s*+(?:,([^()]*+))?\)")
_FUNCTION = re.compile(r"(?<![a-z0-9-])([a-z][a-z0-9-]*+)\(([^()]*+)\)")
_LONGEST = 2_000
_DEEPEST = 20


@functools.lru_cache(maxsize=8192)
def pixels(value: str, font: float = 16.0, whole: float = 1000.0) -> float | None:
    """Return a length in pixels, by the size of its text and what per cent are of; None for no length.

    >>> pixels("-200em"), pixels("50%", whole=10.0), pixels("calc(0px - 2 * 3px)"), pixels("auto")
    (-3200.0, 5.0, -6.0, None)
    """
    tokens: list[tuple[float, bool] | str] = []
    at = 0
    value = value.strip()
    if not value or len(value) > _LONGEST:
        return None
    while at < len(value):
        match = _TOKEN.match(value, at)
        if match is None:
            return None
        at = match.end()
        if match[3] is None:
            unit = match[2]
            size = whole / 100 if unit == "%" else _UNITS.get(unit, _RELATIVE.get(unit, 0.0) * font)
            if not size and unit not in _RELATIVE:
                return None
            tokens.append((float(match[1]) * size, bool(unit)))
        elif match[3] != "calc":
            tokens.append(match[3])
    try:
        total, rest = _sum(tokens, 0, 0)
    except (ArithmeticError, IndexError, ValueError):
        return None
    return total if rest == len(tokens) else None


def _sum(tokens: list[tuple[float, bool] | str], at: int, depth: int) -> tuple[float, int]:
    total, at = _product(tokens, at, depth)
    while at < len(tokens):
        token = tokens[at]
        if token in ("+", "-"):
            part, at = _product(tokens, at + 1, depth)
            total += part if token == "+" else -part
        elif isinstance(token, tuple) and depth:  # the sign stands with the number: 1px -2px
            part, at = _product(tokens, at, depth)
            total += part
        else:
            break
    return total, at


def _product(tokens: list[tuple[float, bool] | str], at: int, depth: int) -> tuple[float, int]:
    total, at = _factor(tokens, at, depth)
    while at < len(tokens) and tokens[at] in ("*", "/"):
        part, after = _factor(tokens, at + 1, depth)
        total = total * part if tokens[at] == "*" else total / part
        at = after
    return total, at


def _factor(tokens: list[tuple[float, bool] | str], at: int, depth: int) -> tuple[float, int]:
    token = tokens[at]
    if isinstance(token, tuple):
        return token[0], at + 1
    if token == "-":
        part, at = _factor(tokens, at + 1, depth + 1) if depth < _DEEPEST else (0.0, len(tokens))
        return -part, at
    if token != "(" or depth >= _DEEPEST:
        raise ValueError(token)
    total, at = _sum(tokens, at + 1, depth + 1)
    if tokens[at] != ")":
        raise ValueError(token)
    return total, at + 1


def as_share(value: str) -> float | None:
    """Return a number or per cent as a share: `50%` and `.5` are the same.

    >>> as_share("5%"), as_share("0.2"), as_share("auto")
    (0.05, 0.2, None)
    """
    return pixels(value, whole=1.0)


def functions(value: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the functions in a value with their arguments; of those within each other, the innermost.

    >>> list(functions("translate(-9999px, 0) scale(1)"))
    [('translate', ('-9999px', '0')), ('scale', ('1',))]
    """
    for match in _FUNCTION.finditer(value[:_LONGEST]):
        yield match[1], tuple(part for part in re.split(r"[\s,]+", match[2].strip()) if part)


def with_variables(value: str, variables: Mapping[str, str]) -> str:
    """Return a value with its variables put in; empty where one is not known and has no stand-in.

    >>> with_variables("var(--a, red)", {}), with_variables("var(--a)", {"--a": "var(--b)", "--b": "none"})
    ('red', 'none')
    """
    for _ in range(_DEEPEST):
        if "var(" not in value or len(value) > _LONGEST:
            break
        missing = False

        def put(match: re.Match[str]) -> str:
            nonlocal missing
            known = variables.get(match[1], match[2])
            missing = missing or known is None
            return (known or "").strip()

        value = _VARIABLE.sub(put, value)
        if missing:
            return ""
    return "" if "var(" in value or len(value) > _LONGEST else value
