"""The elements that a CSS selector matches. Each pair of a selector's part and an element is asked once.

`cssselect2` reads the selectors; the matching is our own, since that of the library takes time that grows
with a power of the document's depth, and compiles what strangers wrote to code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

_Element: TypeAlias = Any
_MOST_STEPS = 4_000_000  # questions about one document
# What names of parts of a selector stand for among the keys of an element, and the field that has the name.
_MARKS = {
    "IDSelector": ("#", "ident"),
    "ClassSelector": (".", "class_name"),
    "LocalNameSelector": ("", "lower_local_name"),
}
_TOUCHED = frozenset(("hover", "active", "focus", "focus-within", "focus-visible", "visited", "target"))
_ATTRIBUTED = {"checked": ("checked", "selected"), "open": ("open",)}
_FIELDS = frozenset({"button", "input", "select", "textarea", "option", "optgroup", "fieldset"})


class TooMuch(Exception):
    """The style sheets ask more of the document than any page has to."""


class Matcher:
    """Answers for one tree, which must not change its shape meanwhile."""

    def __init__(self, tree: _Element) -> None:
        self._elements = [element for element in tree.iter() if isinstance(element.tag, str)]
        self._keys = {key for element in self._elements for key in keys_of(element)}
        self._answers: dict[tuple[int, _Element], bool] = {}
        self._chains: dict[tuple[int, str, _Element], bool] = {}
        self._places: dict[_Element, tuple[int, int, int, int]] = {}
        self._holders: dict[int, frozenset[_Element]] = {}
        self._steps = 0

    def may_match(self, selector: Any) -> bool:
        """Return whether all names of a selector are on the page, and it needs no touch."""
        if type(selector).__name__ == "CombinedSelector":
            return self.may_match(selector.left) and self.may_match(selector.right)
        for part in getattr(selector, "simple_selectors", [selector]):
            kind = type(part).__name__
            if (kind == "PseudoClassSelector" and part.name in _TOUCHED) or (
                kind in _MARKS and _MARKS[kind][0] + getattr(part, _MARKS[kind][1]) not in self._keys
            ):
                return False
        return True

    def matches(self, selector: Any, element: _Element) -> bool:
        key = (id(selector), element)
        if key not in self._answers:
            self._count()
            self._answers[key] = self._matches(selector, element)
        return self._answers[key]

    def _count(self) -> None:
        self._steps += 1
        if self._steps > _MOST_STEPS:
            raise TooMuch

    def _matches(self, selector: Any, element: _Element) -> bool:
        kind = type(selector).__name__
        if kind == "CompoundSelector":
            return all(self._simple(part, element) for part in selector.simple_selectors)
        if kind != "CombinedSelector":
            return self._simple(selector, element)
        if not self.matches(selector.right, element):
            return False
        if selector.combinator in (">", "+"):
            step = _parent if selector.combinator == ">" else _before
            other = step(element)
            return other is not None and self.matches(selector.left, other)
        step = _parent if selector.combinator == " " else _before
        return self._any(selector.left, step(element), selector.combinator, step)

    def _any(self, selector: Any, element: _Element, kind: str, step: Callable[[_Element], _Element]) -> bool:
        """Return whether a selector means an element or one of those that the steps from it lead to."""
        chain: list[_Element] = []
        answer = False
        while element is not None:
            known = self._chains.get((id(selector), kind, element))
            if known is not None:
                answer = known
                break
            chain.append(element)
            element = step(element)
        for item in reversed(chain):
            answer = answer or self.matches(selector, item)
            self._chains[id(selector), kind, item] = answer
        return answer

    def _simple(self, selector: Any, element: _Element) -> bool:
        match type(selector).__name__:
            case "LocalNameSelector":
                return bool(_name(element) == selector.lower_local_name)
            case "IDSelector":
                return bool(element.get("id") == selector.ident)
            case "ClassSelector":
                return bool(selector.class_name in (element.get("class") or "").split())
            case "AttributeSelector":
                return _has_attribute(selector, element)
            case "NegationSelector":
                return not any(self.matches(item.parsed_tree, element) for item in selector.selector_list)
            case "MatchesAnySelector" | "SpecificityAdjustmentSelector":
                return any(self.matches(item.parsed_tree, element) for item in selector.selector_list)
            case "RelationalSelector":
                return any(element in self._find_holders(item) for item in selector.selector_list)
            case "PseudoClassSelector":
                return self._state(selector.name, element)
            case "FunctionalPseudoClassSelector":
                return self._nth(selector, element)
            case "NamespaceSelector":
                return True
        return False

    def _find_holders(self, relative: Any) -> frozenset[_Element]:
        """Return the elements that have such an element below or after them, for `:has()`."""
        known = self._holders.get(id(relative))
        if known is not None:
            return known
        holders: set[_Element] = set()
        step = _parent if relative.combinator in (" ", ">") else _before
        for element in self._elements:
            if not self.matches(relative.selector.parsed_tree, element):
                continue
            holder = step(element)
            while holder is not None and holder not in holders:
                self._count()
                holders.add(holder)
                holder = step(holder) if relative.combinator in (" ", "~") else None
        self._holders[id(relative)] = frozenset(holders)
        return self._holders[id(relative)]

    def _state(self, name: str, element: _Element) -> bool:
        """Return a pseudo-class of an untouched page: nothing is hovered over or visited."""
        if name in _ATTRIBUTED:
            return any(element.get(attribute) is not None for attribute in _ATTRIBUTED[name])
        if name in ("enabled", "disabled"):
            return _name(element) in _FIELDS and (element.get("disabled") is not None) == (name == "disabled")
        if name in ("link", "any-link"):
            return _name(element) in ("a", "area") and element.get("href") is not None
        if name == "empty":
            return bool(not len(element) and not element.text)
        if name in ("root", "scope"):
            return bool(element.getparent() is None)
        if name == "defined":
            return "-" not in _name(element)
        first, last, first_kind, last_kind = self._place(element)
        only, only_kind = first == last == 1, first_kind == last_kind == 1
        return {
            "first-child": first == 1,
            "last-child": last == 1,
            "only-child": only,
            "first-of-type": first_kind == 1,
            "last-of-type": last_kind == 1,
            "only-of-type": only_kind,
        }.get(name, False)

    def _nth(self, selector: Any, element: _Element) -> bool:
        from tinycss2.nth import parse_nth

        if selector.name == "lang":
            return False
        place = dict(
            zip(
                ("nth-child", "nth-last-child", "nth-of-type", "nth-last-of-type"),
                self._place(element),
                strict=True,
            )
        ).get(selector.name)
        nth = parse_nth(selector.arguments)
        if place is None or nth is None:
            return False
        step, start = nth
        if step == 0:
            return bool(place == start)
        return bool((place - start) % step == 0 and (place - start) // step >= 0)

    def _place(self, element: _Element) -> tuple[int, int, int, int]:
        """Return an element's number among its siblings and its namesakes, from either end."""
        if element in self._places:
            return self._places[element]
        parent = element.getparent()
        if parent is None:
            self._places[element] = (1, 1, 1, 1)
            return 1, 1, 1, 1
        siblings = list(_children(parent))
        names: dict[str, int] = {}
        forward = []
        for sibling in siblings:
            names[sibling.tag] = names.get(sibling.tag, 0) + 1
            forward.append(names[sibling.tag])
        for at, sibling in enumerate(siblings):
            last_kind = names[sibling.tag] - forward[at] + 1
            self._places[sibling] = (at + 1, len(siblings) - at, forward[at], last_kind)
        return self._places[element]


def parse_selectors(prelude: Any) -> list[Any]:
    """Return the selectors of a rule; none where one of them is wrong, as a browser drops the rule then."""
    from cssselect2 import parser

    try:
        selectors = list(parser.parse(prelude))
    except (parser.SelectorError, AttributeError, StopIteration):
        return []
    return [selector for selector in selectors if selector.pseudo_element is None]


def key_of(tree: Any) -> str:
    """Return what an element must have for a selector to mean it: `#id`, `.class`, its name, or nothing."""
    while type(tree).__name__ == "CombinedSelector":
        tree = tree.right
    parts = getattr(tree, "simple_selectors", [tree])
    for wanted, (mark, field) in _MARKS.items():
        for part in parts:
            if type(part).__name__ == wanted:
                return mark + str(getattr(part, field))
    return ""


def keys_of(element: _Element) -> list[str]:
    names = [f".{name}" for name in (element.get("class") or "").split()]
    return ["", _name(element), f"#{element.get('id')}", *dict.fromkeys(names)]


def _has_attribute(selector: Any, element: _Element) -> bool:
    value = element.get(selector.lower_name)
    if value is None:
        return False
    wanted = selector.value
    if selector.operator is None:
        return True
    if selector.case_sensitive is False or (
        selector.case_sensitive is None and selector.lower_name in ("type", "dir", "align", "lang", "rel")
    ):
        value, wanted = value.lower(), wanted.lower()
    match selector.operator:
        case "=":
            return bool(value == wanted)
        case "~=":
            return bool(wanted in value.split())
        case "|=":
            return bool(value == wanted or value.startswith(f"{wanted}-"))
        case "^=":
            return bool(wanted) and value.startswith(wanted)
        case "$=":
            return bool(wanted) and value.endswith(wanted)
        case "*=":
            return bool(wanted) and wanted in value
    return False


def _name(element: _Element) -> str:
    return element.tag.lower() if isinstance(element.tag, str) else ""


def _parent(element: _Element) -> _Element:
    return element.getparent()


def _before(element: _Element) -> _Element:
    sibling = element.getprevious()
    while sibling is not None and not isinstance(sibling.tag, str):
        sibling = sibling.getprevious()
    return sibling


def _children(element: _Element) -> Iterator[_Element]:
    return (child for child in element if isinstance(child.tag, str))
