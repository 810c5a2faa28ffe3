"""The one check of what callers give to public functions: each value against its type annotation."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import is_dataclass
from datetime import date
from numbers import Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, SupportsIndex, TypeVar, Union, get_args, get_origin, get_type_hints

from disputatio.errors import InputError

_Checked = TypeVar("_Checked", bound="Callable[..., Any]")
_NOUNS: Mapping[Any, tuple[str, str]] = {
    str: ("a text", "texts"),
    int: ("a whole number", "whole numbers"),
    float: ("a number", "numbers"),
    bool: ("True or False", "True or False"),
    Path: ("a path", "paths"),
    NoneType: ("None", "None"),
}
_KINDS: Mapping[Any, Any] = {int: SupportsIndex, float: Real}  # also NumPy's


def check_calls(what: _Checked) -> _Checked:
    """Make a function, or every public method of a class, check its arguments before anything else."""
    if inspect.isclass(what):
        for name in dir(what):
            method = inspect.getattr_static(what, name)
            if isinstance(method, classmethod) and not name.startswith("_"):
                setattr(what, name, classmethod(check_calls(method.__func__)))
            elif inspect.isfunction(method) and not name.startswith("_"):
                setattr(what, name, check_calls(method))
        return what
    signature = inspect.signature(what)
    several = {each.name for each in signature.parameters.values() if each.kind is each.VAR_POSITIONAL}

    @functools.wraps(what)
    def call(*positional: Any, **named: Any) -> Any:
        given = signature.bind(*positional, **named).arguments
        for name in several & set(given):
            for value in given.pop(name):
                check_arguments(what, {name: value})
        check_arguments(what, given)
        return what(*positional, **named)

    return call  # type: ignore[return-value]  # a wrapper of the same signature


def check_arguments(owner: Callable[..., Any], values: Mapping[str, object]) -> None:
    """Raise `InputError` for the first value that is not of the type that a function or class states for it.

    Of a list only plain items are compared (texts, numbers, paths), and none of what can be read but once;
    a protocol is compared where it can be. What else there is, is for the function itself to say.
    """
    hints = _choices_by_name(owner)
    for name, value in values.items():
        wanted = hints.get(name, (Any,))
        if isinstance(value, str | Path):
            _check_characters(name, str(value), is_path=Path in wanted)
        if type(value) in wanted or any(_fits(value, each) for each in wanted):
            continue
        kinds = " or ".join(dict.fromkeys(map(_describe, wanted)))
        lists = [each for each in wanted if _is_list(each)]
        items = [item for each in wanted for item in _unfit_items(value, each)]
        if isinstance(value, str) and lists:  # it would be taken for a list of its letters
            raise InputError(f"{name} is {_describe(lists[0])}, not one: write [{value[:40]!r}]")
        if isinstance(value, date | Path) and str in wanted:
            raise InputError(f"{name} is {kinds}, not {type(value).__name__}: write {str(value)[:40]!r}")
        if items:
            raise InputError(f"{name} is {kinds}: {type(items[0]).__name__} is among its items")
        raise InputError(f"{name} is {kinds}, not {'None' if value is None else type(value).__name__}")


@functools.cache
def _choices_by_name(owner: Callable[..., Any]) -> dict[str, tuple[Any, ...]]:
    return {name: _choices(hint) for name, hint in get_type_hints(owner).items()}


def _check_characters(name: str, text: str, *, is_path: bool) -> None:
    try:
        text.encode(errors="surrogateescape" if is_path else "strict")
    except UnicodeEncodeError as error:
        raise InputError(f"{name} is not UTF-8 text") from error
    if is_path and "\0" in text:
        raise InputError(f"{name} is no path: {text[:40]!r} has a null character")


def _choices(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union, one by one."""
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


def _is_list(hint: Any) -> bool:
    origin = get_origin(hint)
    return inspect.isclass(origin) and issubclass(origin, Iterable) and not issubclass(origin, Mapping)


def _fits(value: object, hint: Any) -> bool:
    kind = get_origin(hint) or hint
    if kind is Literal:
        return isinstance(value, str)  # which of them it is, the function says
    if not inspect.isclass(kind) or kind is Any:
        return True
    if getattr(kind, "_is_protocol", False) and not getattr(kind, "_is_runtime_protocol", False):
        return True
    if _is_list(hint) and isinstance(value, str | bytes):
        return False
    return isinstance(value, _KINDS.get(kind, kind)) and not _unfit_items(value, hint)


def _unfit_items(value: object, hint: Any) -> list[object]:
    """Return the items, keys and values of a collection that are not of the plain type they ought to be."""
    origin = get_origin(hint)
    if not (inspect.isclass(origin) and issubclass(origin, Collection) and isinstance(value, Collection)):
        return []
    parts = [value, value.values()] if isinstance(value, Mapping) else [value]
    typed = [(part, _choices(each)) for part, each in zip(parts, get_args(hint), strict=False)]
    return [
        item
        for part, wanted in typed
        if all(each in _NOUNS or is_dataclass(each) for each in wanted)
        for item in part
        if not any(_fits(item, each) for each in wanted)
    ]


def _describe(hint: Any) -> str:
    if hint in _NOUNS:
        return _NOUNS[hint][0]
    kind = get_origin(hint) or hint
    if kind is Literal:
        return _NOUNS[str][0]
    if kind is Callable:
        return "a function"
    if _is_list(hint):
        items = _choices(get_args(hint)[0])
        plain = set(items) <= set(_NOUNS)
        return f"a list of {' or '.join(_NOUNS[each][1] for each in items)}" if plain else "a list"
    if kind is Mapping:
        return "a mapping"
    name = getattr(kind, "__name__", str(kind))
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"
