"""Colours as numbers, and whether writing of one can be told from the ground behind it."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

Colour: TypeAlias = tuple[float, float, float, float]  # red, green, blue, opacity; each from 0 to 1
WHITE: Colour = (1.0, 1.0, 1.0, 1.0)
BLACK: Colour = (0.0, 0.0, 0.0, 1.0)
CLEAR = 0.05  # opacity up to which nothing is seen
LEAST_CONTRAST = 1.2  # of WCAG's ratio; #eeeeee on white has 1.16, and its least for large text is 3
_LONGEST, _LONGEST_VALUE = 200, 2_000
_ADDRESS = re.compile(r"url\([^()]*+\)")
_WORD = re.compile(r"(?<![a-z-])[a-z-]++\([^()]*+\)|#[0-9a-f]++|(?<![a-z-])[a-z]++")


@functools.lru_cache(maxsize=4096)
def colour_of(value: str) -> Colour | None:
    """Return the colour that CSS writes so; None if it is not plain (a mix, the system's, `currentcolor`).

    >>> colour_of("#fff"), colour_of("rgb(0 0 0 / 50%)"), colour_of("inherit")
    ((1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.0, 0.5), None)
    """
    from tinycss2.color5 import parse_color

    if len(value) > _LONGEST:
        return None
    try:
        colour: Any = parse_color(value)
        if colour is None or isinstance(colour, str):
            return None
        parts = _srgb(colour)
    except (ValueError, ArithmeticError, NotImplementedError, AssertionError, TypeError, AttributeError):
        return None  # a colour that the library knows and cannot convert
    red, green, blue = (min(1.0, max(0.0, part or 0.0)) for part in parts)
    return red, green, blue, float(colour.alpha)


def colours_in(value: str) -> list[str]:
    """Return the colours that a value names, as CSS writes them.

    >>> colours_in("linear-gradient(to right, transparent, rgb(0 0 0 / 0)) red")
    ['transparent', 'rgb(0 0 0 / 0)', 'red']
    """
    plain = _ADDRESS.sub("", value[:_LONGEST_VALUE]).replace("gradient(", " ")
    return [part for part in _WORD.findall(plain) if colour_of(part) is not None]


def _srgb(colour: Any) -> Sequence[float]:
    try:
        return tuple(colour.to("srgb").coordinates)
    except NotImplementedError:
        x, y, z = colour.to("xyz-d65").coordinates
    linear = (
        3.2404542 * x - 1.5371385 * y - 0.4985314 * z,
        -0.9692660 * x + 1.8760108 * y + 0.0415560 * z,
        0.0556434 * x - 0.2040259 * y + 1.0572252 * z,
    )
    return tuple(
        12.92 * part if part <= 0.0031308 else 1.055 * float(part) ** (1 / 2.4) - 0.055 for part in linear
    )


def blend(ink: Colour, ground: Colour) -> Colour:
    """Return what is seen of a colour that lies over another."""
    share = ink[3]
    red, green, blue = (share * a + (1 - share) * b for a, b in zip(ink[:3], ground[:3], strict=True))
    return red, green, blue, share + (1 - share) * ground[3]


def is_lost(ink: Colour, ground: Colour | None, opacity: float = 1.0) -> bool:
    """Return whether text cannot be seen: clear, or in the colour of its ground.

    >>> is_lost((0.99, 0.99, 0.99, 1.0), WHITE), is_lost((0.6, 0.6, 0.6, 1.0), WHITE), is_lost(WHITE, None)
    (True, False, False)
    """
    if ink[3] * opacity <= CLEAR:
        return True
    if ground is None:
        return False
    mixed = blend((*ink[:3], ink[3] * opacity), ground)
    bright, dark = sorted((_luminance(mixed), _luminance(ground)), reverse=True)
    return (bright + 0.05) / (dark + 0.05) < LEAST_CONTRAST


def _luminance(colour: Colour) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour[:3]
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
