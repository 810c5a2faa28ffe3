"""The cascade of a page: which declarations of its own style sheets and styles hold for an element.

Sheets are the page's style elements and links to `data:` addresses. Rules in `@media` hold where a screen of
`measures.WIDTH` by `measures.HEIGHT` meets them; `@layer` and `@supports` hold as if they were not there.
Sheets of other files are not known.
"""

from __future__ import annotations

import base64
import binascii
import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

from disputatio.store.ingesting.visibility import measures
from disputatio.store.ingesting.visibility.boxes import four_sides
from disputatio.store.ingesting.visibility.colours import colours_in
from disputatio.store.ingesting.visibility.selectors import Matcher, key_of, keys_of, parse_selectors

Declarations: TypeAlias = list[tuple[str, str]]
_Rule: TypeAlias = tuple[int, int, tuple[int, int, int], int, Any, Declarations]

_MOST_CSS = 1_000_000  # characters of all sheets; what comes after them is not read
_LONGEST_STYLE = 10_000
_DEEPEST = 10  # rules within rules
_SIDES = ("top", "right", "bottom", "left")
_CONDITION = re.compile(r"\(\s*+(min|max)-(width|height)\s*+:\s*+([^()]++)\)")
_MODERN = re.compile(r"\(\s*+(width|height)\s*+([<>]=?)\s*+([^()<>=]++)\)")
# What says nothing of whether text is seen, so that most rules of a page need not be matched.
_LOOKS = frozenset(
    """
    cursor float clear content white-space vertical-align text-align text-decoration text-transform
    font-family font-weight font-style box-shadow box-sizing outline transition user-select resize quotes src
    min-width appearance pointer-events word-break word-wrap overflow-wrap order gap
""".split()  # noqa: SIM905
)
_LOOKS_OF = (
    *("border", "padding", "list-style", "flex", "grid-", "align-", "justify-"),
    *("text-decoration-", "transition-", "outline-", "column-"),
)
_BRACKETS = re.compile(r"\([^()]*+\)")
_OTHER_MEDIA = frozenset(
    {"print", "speech", "tty", "tv", "projection", "handheld", "braille", "embossed", "aural"}
)
_FEATURES = {
    "prefers-color-scheme": "light",
    "prefers-reduced-motion": "no-preference",
    "orientation": "landscape",
    "hover": "hover",
    "pointer": "fine",
}
_FONT_SIZE = re.compile(
    r"(?<![\w.])[\d.]++(?=\s*+/)|(?<![\w.])[\d.]++(?:px|pt|em|rem|%|vw|vh|ex|ch|cm|mm|in)"
)
_DATA = re.compile(r"data:text/css[^,]*+,", re.IGNORECASE)


class Cascade:
    """The declarations that hold for each element of a tree."""

    def __init__(self, tree: Any) -> None:
        self.matcher = Matcher(tree)
        self.frames: dict[str, Declarations] = {}  # the last frame of each animation
        self.linked = False  # whether a sheet that is not read may say otherwise
        self._rules: dict[str, list[_Rule]] = {}
        self._number = 0
        left = _MOST_CSS
        for sheet in self._sheets(tree):
            self._add_sheet(sheet[:left])
            left -= len(sheet)
            if left <= 0:
                break

    def find_declarations(self, element: Any) -> Declarations:
        """Return names and values in the order in which later ones win: hints, rules, own style."""
        rules = [rule for key in keys_of(element) for rule in self._rules.get(key, ())]
        held = [(*rule[:4], rule[5]) for rule in rules if self.matcher.matches(rule[4], element)]
        hints = [(0, -1, (0, 0, 0), 0, hints_of(element))]
        own = [
            (important, 1, (0, 0, 0), 0, declarations)
            for important, declarations in self._split(element.get("style"))
        ]
        ordered = sorted(hints + held + own, key=lambda entry: entry[:4])
        return [declaration for entry in ordered for declaration in entry[4]]

    def _sheets(self, tree: Any) -> Iterator[str]:
        for element in tree.iter("style", "link"):
            if not _holds(element.get("media") or ""):
                continue
            if element.tag == "style":
                if (element.get("type") or "text/css").strip().lower() == "text/css":
                    yield element.text or ""
            elif "stylesheet" in (element.get("rel") or "").lower().split():
                sheet = _data(element.get("href") or "")
                self.linked = self.linked or sheet is None
                yield sheet or ""

    def _add_sheet(self, css: str) -> None:
        import tinycss2

        self._add(tinycss2.parse_stylesheet(css, skip_comments=True, skip_whitespace=True), "", 0)

    def _add(self, rules: Iterable[Any], above: str, depth: int) -> None:
        """Take up rules; `above` is the selector of the rule that they stand in."""
        import tinycss2

        for rule in rules:
            if depth > _DEEPEST or getattr(rule, "content", None) is None:
                continue
            inner = tinycss2.parse_blocks_contents(rule.content, skip_comments=True, skip_whitespace=True)
            if rule.type == "qualified-rule":
                self._add_rule(tinycss2.serialize(rule.prelude), inner, above, depth)
            elif rule.type == "at-rule":
                self._add_at_rule(rule, inner, above, depth)

    def _add_rule(self, prelude: str, inner: Iterable[Any], above: str, depth: int) -> None:
        inner = list(inner)
        if above:
            prelude = (
                prelude.replace("&", f":is({above})") if "&" in prelude else f":is({above}) :is({prelude})"
            )
        if len(prelude) > _LONGEST_STYLE:
            return
        for important, declarations in _by_importance(inner):
            for selector in parse_selectors(prelude) if _matter(declarations) else ():
                if not self.matcher.may_match(selector.parsed_tree):
                    continue
                self._number += 1
                self._rules.setdefault(key_of(selector.parsed_tree), []).append(
                    (
                        important,
                        0,
                        selector.specificity,
                        self._number,
                        selector.parsed_tree,
                        declarations,
                    )
                )
        self._add([item for item in inner if item.type in ("qualified-rule", "at-rule")], prelude, depth + 1)

    def _add_at_rule(self, rule: Any, inner: list[Any], above: str, depth: int) -> None:
        import tinycss2

        name, condition = rule.lower_at_keyword, tinycss2.serialize(rule.prelude).lower()
        if name.endswith("keyframes"):
            for frame in inner:
                if frame.type == "qualified-rule" and frame.content is not None:
                    last = tinycss2.serialize(frame.prelude).lower().split(",")
                    if {"to", "100%"} & {part.strip() for part in last}:
                        content = tinycss2.parse_blocks_contents(frame.content)
                        self.frames[condition.strip()] = [
                            pair for _, pairs in _by_importance(content) for pair in pairs
                        ]
        elif (
            name in ("layer", "container", "scope", "starting-style")
            or (name == "supports" and not condition.strip().startswith("not"))
            or (name == "media" and _holds(condition))
        ):
            if name == "starting-style":
                return
            if above:
                declared = [item for item in inner if item.type == "declaration"]
                if declared:
                    self._add_rule("&", declared, above, depth + 1)
            self._add([item for item in inner if item.type != "declaration"], above, depth + 1)

    @staticmethod
    def _split(style: str | None) -> Iterator[tuple[int, Declarations]]:
        import tinycss2

        if style:
            yield from _by_importance(tinycss2.parse_blocks_contents(style[:_LONGEST_STYLE]))


def _by_importance(items: Iterable[Any]) -> Iterator[tuple[int, Declarations]]:
    import tinycss2

    kinds: tuple[Declarations, Declarations] = ([], [])
    for item in items:
        if item.type == "declaration":
            value = tinycss2.serialize([part for part in item.value if part.type != "comment"])
            name = item.name if item.name.startswith("--") else item.lower_name
            kinds[bool(item.important)].append((name, value.strip().lower()))
    yield from ((important, kind) for important, kind in enumerate(kinds) if kind)


def _matter(declarations: Declarations) -> bool:
    """Return whether declarations say anything that decides what is seen."""
    return any(name not in _LOOKS and not name.startswith(_LOOKS_OF) for name, _ in declarations)


def hints_of(element: Any) -> Declarations:
    """Return what attributes say of an element's looks, and browsers of names and attributes."""
    hints: Declarations = []
    get = element.get
    if get("hidden") is not None and get("hidden").strip().lower() != "until-found":
        hints.append(("display", "none"))
    if get("popover") is not None or (element.tag == "dialog" and get("open") is None):
        hints.append(("display", "none"))
    if get("bgcolor"):
        hints.append(("background-color", get("bgcolor").strip().lower()))
    if get("background"):
        hints.append(("background-image", "url(x)"))
    if element.tag == "font" and get("color"):
        hints.append(("color", get("color").strip().lower()))
    if element.tag == "body" and get("text"):
        hints.append(("color", get("text").strip().lower()))
    return hints


def compute_values(declarations: Declarations, variables: Mapping[str, str]) -> dict[str, str]:
    """Return the long forms that hold, with their variables put in."""
    values: dict[str, str] = {}
    for name, raw in declarations:
        if not name.startswith("--"):
            value = measures.with_variables(raw, variables) if "var(" in raw else raw
            if value:
                values.update(_long_forms(name, value))
    return values


def _long_forms(name: str, value: str) -> Iterator[tuple[str, str]]:
    """Yield what a short form such as `margin` stands for; any other declaration stands for itself."""
    name = name.removeprefix("-webkit-").removeprefix("-moz-")
    if name in ("margin", "inset"):
        parts = value.split()[:4]
        if parts:
            for side, part in zip(_SIDES, four_sides(parts), strict=True):
                yield (f"margin-{side}" if name == "margin" else side), part
    elif name in ("margin-inline", "margin-inline-start"):
        yield "margin-left", value.split(maxsplit=1)[0]
    elif name in ("inset-inline-start", "inset-block-start"):
        yield ("left" if "inline" in name else "top"), value
    elif name == "background":
        yield "background-image", value if "(" in value and _is_picture(value) else "none"
        yield "background-color", next(iter(colours_in(value)), "transparent")
        if re.search(r"\btext\b", value):
            yield "background-clip", "text"
    elif name == "font":
        size = _FONT_SIZE.search(value)
        if size:
            yield "font-size", size[0]
    elif name == "overflow":
        parts = value.split()
        yield "overflow-x", parts[0]
        yield "overflow-y", parts[-1]
    else:
        yield name, value


def _is_picture(value: str) -> bool:
    return "url(" in value or "gradient(" in value or "image" in value


def _holds(media: str) -> bool:
    """Return whether a screen of the window's size meets a condition of `@media`; an empty one holds."""
    queries = media.lower().split(",")
    return any(map(_query_holds, queries))


def _query_holds(query: str) -> bool:
    words = _BRACKETS.sub(" ", query).split()
    size = {"width": measures.WIDTH, "height": measures.HEIGHT}
    holds = not _OTHER_MEDIA & set(words)
    bounds = [
        (side, ">=" if bound == "min" else "<=", value) for bound, side, value in _CONDITION.findall(query)
    ]
    for side, mark, value in [*bounds, *_MODERN.findall(query)]:
        limit = measures.pixels(value)
        holds = holds and limit is not None and _fits(size[side], mark, limit)
    for feature, wanted in _FEATURES.items():
        stated = re.search(rf"\(\s*+{feature}\s*+:\s*+([a-z-]++)", query)
        holds = holds and (stated is None or stated[1] == wanted)
    return not holds if words[:1] == ["not"] else holds


def _fits(size: float, mark: str, limit: float) -> bool:
    return {">": size > limit, ">=": size >= limit, "<": size < limit, "<=": size <= limit}[mark]


def _data(href: str) -> str | None:
    """Return the sheet that a `data:` address holds; None for any other address."""
    start = _DATA.match(href)
    if start is None:
        return None
    body = urllib.parse.unquote_to_bytes(href[start.end() :])
    if ";base64" in start[0].lower():
        try:
            body = base64.b64decode(body)
        except (binascii.Error, ValueError):
            return ""
    return body.decode("utf-8", "replace")
