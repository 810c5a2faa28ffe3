"""Elements that declarations alone hide with all their content: no box, no size, clipped, moved away."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from disputatio.store.ingesting.visibility.colours import CLEAR, colour_of, colours_in
from disputatio.store.ingesting.visibility.measures import WIDTH, as_share, functions, pixels

_T = TypeVar("_T")
_FAR = 900.0  # pixels to the left of, or above, the page
_FAR_RIGHT = 5_000.0
_NO_ROOM = 1.0  # pixels of height or width in which nothing is read


def hides(values: Mapping[str, str], font: float = 16.0) -> bool:
    """Return whether the computed values of an element hide all that is in it, whatever it declares.

    >>> hides({"display": "none"}), hides({"opacity": "1%"}), hides({"left": "-5px", "position": "relative"})
    (True, True, False)
    """
    get = values.get
    opacity = as_share(get("opacity", ""))
    return (
        get("display") == "none"
        or get("content-visibility") == "hidden"
        or (opacity is not None and opacity <= CLEAR)
        or _has_no_room(values, font)
        or is_away(values, font)
        or _is_clipped(values, font)
        or _is_flattened(values)
        or _is_filtered(get("filter", ""), font)
        or _is_masked(get("mask", "") or get("mask-image", ""))
    )


def _size(values: Mapping[str, str], name: str, font: float, whole: float = 1000.0) -> float:
    size = pixels(values[name], font, whole) if name in values else None
    return math.inf if size is None else size


def _has_no_room(values: Mapping[str, str], font: float) -> bool:
    """Return whether what overflows is cut, and there is no room for a letter, or none that it starts in."""
    cut_x, cut_y = (values.get(f"overflow-{axis}", "") in ("hidden", "clip") for axis in "xy")
    if not (cut_x or cut_y):
        return False
    widths = (_size(values, name, font) for name in ("width", "max-width", "inline-size"))
    heights = (_size(values, name, font) for name in ("height", "max-height", "block-size"))
    # A side that is not said to be cut is cut too: `visible` beside `hidden` comes to `auto`.
    if min(*widths, *heights) <= _NO_ROOM:
        return True
    line = values.get("line-height", "")
    thin = (pixels(line, font, font) if re.search("[a-z%]", line) else _times(line, font)) if line else None
    if (
        cut_y
        and thin is not None
        and thin <= _NO_ROOM
        and "height" not in values
        and "min-height" not in values
    ):
        return True
    return cut_x and WIDTH <= _size(values, "text-indent", font, WIDTH) < math.inf


def _times(value: str, font: float) -> float | None:
    number = as_share(value)
    return None if number is None else number * font


def is_away(values: Mapping[str, str], font: float) -> bool:
    """Return whether an element, or the text in it, is placed where no page is."""
    if values.get("position", "") in ("absolute", "fixed", "relative", "sticky"):
        sides = [_size(values, side, font) for side in ("left", "top", "right", "bottom")]
        if min(sides) <= -_FAR or (sides[0] != math.inf and sides[0] >= _FAR_RIGHT):
            return True
    moved = [_size(values, name, font) for name in ("text-indent", "margin-left", "margin-top")]
    shifts = list(_shifts(values.get("translate", "")))
    for name, arguments in functions(values.get("transform", "")):
        if name.startswith("translate"):
            shifts += [shift for argument in arguments[:2] for shift in _shifts(argument)]
        elif name == "matrix" and len(arguments) == 6:
            shifts += [shift for argument in arguments[4:] for shift in _shifts(argument)]
    return min([*moved, *shifts, 0.0]) <= -_FAR or max([*shifts, 0.0]) >= _FAR_RIGHT


def _shifts(value: str) -> list[float]:
    """Return how far a translation goes, in pixels; a share is taken of 200 pixels."""
    sizes = (pixels(part, 16.0, 200.0) for part in value.split()[:2])
    return [size for size in sizes if size is not None]


def _is_clipped(values: Mapping[str, str], font: float) -> bool:
    for name, arguments in functions(values.get("clip", "")):
        sizes = [pixels(argument, font) for argument in arguments]
        if name == "rect" and len(sizes) == 4 and None not in sizes:
            top, right, bottom, left = (size or 0.0 for size in sizes)
            if right - left <= _NO_ROOM or bottom - top <= _NO_ROOM:
                return True
    for name, arguments in functions(values.get("clip-path", "")):
        if name in ("inset", "circle", "ellipse", "polygon") and _leaves_nothing(name, arguments, font):
            return True
    return False


def _leaves_nothing(name: str, arguments: Sequence[str], font: float) -> bool:
    """Return whether a shape of `clip-path` has no area; a hundred pixels stand for a hundred per cent."""
    sizes = [pixels(argument, font, 100.0) for argument in arguments]
    numbers = [size for size in sizes if size is not None]
    if name == "inset" and numbers:
        top, right, bottom, left = four_sides(numbers)
        shares = [argument.endswith("%") for argument in arguments]
        return (top + bottom >= 100 or left + right >= 100) and all(shares)
    if name in ("circle", "ellipse"):
        return bool(sizes) and sizes[0] is not None and sizes[0] <= _NO_ROOM
    if len(numbers) != len(arguments) or len(numbers) < 2:
        return False
    points = list(zip(numbers[::2], numbers[1::2], strict=False))
    area = sum(a * d - c * b for (a, b), (c, d) in zip(points, [*points[1:], points[0]], strict=True))
    return abs(area) / 2 <= _NO_ROOM


def four_sides(values: Sequence[_T]) -> tuple[_T, _T, _T, _T]:
    """Return top, right, bottom and left, as CSS tells them from one to four values.

    >>> four_sides([1, 2])
    (1, 2, 1, 2)
    """
    top, right, bottom, left = ((0, 0, 0, 0), (0, 1, 0, 1), (0, 1, 2, 1), (0, 1, 2, 3))[
        min(len(values), 4) - 1
    ]
    return values[top], values[right], values[bottom], values[left]


def _is_flattened(values: Mapping[str, str]) -> bool:
    turns = [*functions(values.get("transform", "")), ("rotate", tuple(values.get("rotate", "").split()))]
    for name, arguments in turns:
        edge_on = name in ("rotatex", "rotatey") or (name == "rotate" and arguments[:1] in (("x",), ("y",)))
        if (
            edge_on
            and arguments
            and arguments[-1] in ("90deg", "-90deg", "270deg", "0.25turn", ".25turn", "100grad")
        ):
            return True
    return False


def scale_of(values: Mapping[str, str]) -> float:
    """Return by how much `transform` and `scale` shrink an element in the direction in which they do most."""
    smallest = 1.0
    scales = [*functions(values.get("transform", "")), ("scale", tuple(values.get("scale", "").split()))]
    for name, arguments in scales:
        numbers = [number for number in map(as_share, arguments) if number is not None]
        if name.startswith("scale") and numbers:
            smallest *= min(abs(number) for number in numbers[:2])
        elif name == "matrix" and len(numbers) >= 4:
            a, b, c, d = numbers[:4]
            smallest *= min(math.hypot(a, b), math.hypot(c, d), math.sqrt(abs(a * d - b * c)))
    return smallest


def _is_filtered(value: str, font: float) -> bool:
    for name, arguments in functions(value):
        number = as_share(arguments[0]) if arguments else None
        if name == "opacity" and number is not None and number <= CLEAR:
            return True
        blurred = pixels(arguments[0], font) if name == "blur" and arguments else None
        if blurred is not None and blurred >= font / 2:
            return True
    return False


def _is_masked(value: str) -> bool:
    """Return whether a mask lets nothing through: a gradient of nothing but clear colours."""
    if "gradient(" not in value or "url(" in value:
        return False
    colours = [colour for colour in map(colour_of, colours_in(value)) if colour is not None]
    return bool(colours) and all(colour[3] <= CLEAR for colour in colours)
