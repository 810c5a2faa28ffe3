"""Plots of a report as SVG text, to stand in a page: no script, no package, colours by the page's style.

A strategy keeps its number throughout a page: class `s0` to `s7` is its colour, the shape of its marks comes
with it. Text from data is escaped here.
"""

from __future__ import annotations

import html
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from disputatio.text import shorten

WIDTH = 400
SHAPES = "●■▲◆"
COLOURS = 8
NAMED = 8  # marks that can all have their names beside them
_LETTER = 6.1  # the usual width of a letter, in the units of a drawing
_LONGEST = 20  # letters of a name in a drawing; the whole name is in its title
_LOG_FROM = 6  # spread of costs from which their axis is logarithmic


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A value of one strategy with its interval; `x` and the words are what a plot needs beside."""

    name: str
    number: int
    value: float
    span: Sequence[float] | None = None
    x: float = 0.0
    caption: str = ""
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """Values from `low` to `high` on a line from `start` to `end`; `per_cent` writes ticks as per cent."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False
    per_cent: bool = False

    def at(self, value: float) -> float:
        low, high = self.low, self.high
        if self.logarithmic:
            value, low, high = math.log(max(value, self.low)), math.log(low), math.log(high)
        return self.start + (self.end - self.start) * (value - low) / (high - low)

    def ticks(self) -> list[tuple[float, str]]:
        """Return the positions and labels of about five round values."""
        if self.logarithmic:
            wide = self.high / self.low > 400
            steps = [m * 10.0**e for e in range(-2, 9) for m in ((1,) if wide else (1, 2, 5))]
            return [(self.at(step), short(step)) for step in steps if self.low <= step <= self.high]
        step = _round_step((self.high - self.low) / 5)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        shown = [number * step for number in range(first, last + 1)]
        labels = [f"{100 * value:.0f}" if self.per_cent else short(value) for value in shown]
        return [(self.at(value), label) for value, label in zip(shown, labels, strict=True)]


def short(value: float) -> str:
    """Return a number for a tick.

    >>> short(2000), short(15000), short(0.25), short(0)
    ('2k', '15k', '0.25', '0')
    """
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:.3g}"


def shape_of(number: int) -> int:
    """Return the shape of the strategy of a number; with its colour, 32 strategies differ."""
    return (number + number // COLOURS) % len(SHAPES)


def forest(marks: Sequence[Mark], *, title: str, below: str, per_cent: bool = True) -> str:
    """Return a row for each strategy: its value with the interval as a bar, and words behind it."""
    left, right, row = 132, 92, 24
    height = 18 + row * len(marks) + 40
    axis = _axis([mark.value for mark in marks], [mark.span for mark in marks], left, WIDTH - right, per_cent)
    body = _across(axis, 14, height - 38, height - 24)
    for at, mark in enumerate(marks):
        y = 18 + row * at + row / 2
        weight = ' class="strong"' if mark.strong else ""
        body.append(
            f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end"{weight}>{_name(mark.name)}</text>'
        )
        if mark.span is not None:
            low, high = axis.at(mark.span[0]), axis.at(mark.span[1])
            body.append(f'<path class="bar s{_colour(mark)}" d="M{low:.1f} {y:.1f}H{high:.1f}"/>')
        body.append(_shape(mark, axis.at(mark.value), y))
        caption = html.escape(mark.caption)
        body.append(f'<text x="{WIDTH - right + 8}" y="{y + 4:.1f}" class="soft">{caption}</text>')
    body.append(_below(below, (left + WIDTH - right) / 2, height - 6))
    return _svg(title, body, height)


def scatter(
    marks: Sequence[Mark], front: Sequence[str], *, title: str, below: str, beside: str, per_cent: bool = True
) -> str:
    """Return value against `x`, the interval as a whisker; the marks on the `front` are joined by a line.

    Of more than `NAMED` marks only those on the front have their names beside them.
    """
    height, left = 300, 44
    xs = [mark.x for mark in marks]
    low, high = min(xs), max(xs)
    logarithmic = low > 0 and high / low > _LOG_FROM
    across = (
        Axis(low=low / 1.25, high=high * 1.6, start=left, end=WIDTH - 12, logarithmic=True)
        if logarithmic
        else Axis(low=0.0, high=(high or 1.0) * 1.15, start=left, end=WIDTH - 12)
    )
    up = _axis([mark.value for mark in marks], [mark.span for mark in marks], height - 46, 24, per_cent)
    body = [*_up(up, left, WIDTH - 12), *_across(across, 24, height - 46, height - 32, lines=False)]
    joined = sorted((mark for mark in marks if mark.name in front), key=lambda mark: mark.x)
    places = " ".join(f"{across.at(mark.x):.1f},{up.at(mark.value):.1f}" for mark in joined)
    if len(joined) > 1:
        body.append(f'<polyline class="front" points="{places}"/>')
    taken = []
    for mark in marks:
        x, y = across.at(mark.x), up.at(mark.value)
        taken.append((x - 6, y - 6, x + 6, y + 6))
        if mark.span is not None:
            top, foot = up.at(mark.span[1]), up.at(mark.span[0])
            body.append(f'<path class="whisker s{_colour(mark)}" d="M{x:.1f} {top:.1f}V{foot:.1f}"/>')
    for mark in marks:
        x, y = across.at(mark.x), up.at(mark.value)
        body.append(_shape(mark, x, y))
        if len(marks) > NAMED and mark.name not in front:
            continue
        box = _room(x, y, shorten(mark.name, _LONGEST), taken, (left, 16, WIDTH, height - 46))
        taken.append(box)
        weight = ' class="strong"' if mark.name in front else ' class="soft"'
        body.append(f'<text x="{box[0]:.1f}" y="{box[3] - 3:.1f}"{weight}>{_name(mark.name)}</text>')
    body += [_below(below, (left + WIDTH) / 2, height - 10), _beside(beside)]
    return _svg(title, body, height)


def curves(
    series: Mapping[str, Sequence[tuple[float, float]]],
    numbers: Mapping[str, int],
    *,
    title: str,
    below: str,
    beside: str,
    diagonal: bool = False,
) -> str:
    """Return lines through (x, y) points, all shares; a series of one point is a mark."""
    height, left = 270, 44
    tops = [y for points in series.values() for _, y in points]
    across = Axis(low=0.0, high=1.0, start=left, end=WIDTH - 12, per_cent=True)
    up = Axis(
        low=0.0, high=1.0 if diagonal else _round_up(max(tops)), start=height - 46, end=24, per_cent=True
    )
    body = [*_up(up, left, WIDTH - 12), *_across(across, 24, height - 46, height - 32, lines=False)]
    if diagonal:
        body.append(
            f'<path class="front" d="M{across.at(0):.1f} {up.at(0):.1f}L{across.at(1):.1f} {up.at(1):.1f}"/>'
        )
    for name, points in series.items():
        number = numbers[name]
        places = [(across.at(x), up.at(y)) for x, y in points]
        title_of = f"<title>{html.escape(name)}</title>"
        if len(places) > 1:
            joined = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            colour = number % COLOURS
            body.append(f'<polyline class="line s{colour}" points="{joined}">{title_of}</polyline>')
        shown = places if diagonal or len(places) == 1 else [places[-1]]
        body += [_shape(Mark(name=name, number=number, value=0.0), x, y) for x, y in shown]
    body += [_below(below, (left + WIDTH) / 2, height - 10), _beside(beside)]
    return _svg(title, body, height)


def kinds(
    values: Sequence[str], marks: Sequence[Sequence[Mark | None]], *, title: str, below: str, beside: str,
    per_cent: bool = True,
) -> str:  # fmt: skip
    """Return places along x for the `values` of a stratum; at each the marks of all strategies side by side.

    `marks` has a sequence for each strategy with one mark, or None, for each value.
    """
    height, left = 250, 44
    flat = [mark for group in marks for mark in group if mark is not None]
    up = _axis([mark.value for mark in flat], [mark.span for mark in flat], height - 46, 24, per_cent)
    body = _up(up, left, WIDTH - 12)
    room = (WIDTH - 12 - left) / len(values)
    for at, value in enumerate(values):
        x = left + room * (at + 0.5)
        letters = max(3, int(room / _LETTER))
        label = shorten(value, letters)
        body.append(
            f'<text x="{x:.1f}" y="{height - 30}" text-anchor="middle">{html.escape(label)}'
            f"<title>{html.escape(value)}</title></text>"
        )
    gap = min(14.0, room * 0.8 / max(1, len(marks)))
    for at, group in enumerate(marks):
        for position, mark in enumerate(group):
            if mark is None:
                continue
            x = left + room * (position + 0.5) + gap * (at - (len(marks) - 1) / 2)
            if mark.span is not None:
                top, foot = up.at(mark.span[1]), up.at(mark.span[0])
                body.append(f'<path class="whisker s{_colour(mark)}" d="M{x:.1f} {top:.1f}V{foot:.1f}"/>')
            body.append(_shape(mark, x, up.at(mark.value)))
    body += [_below(below, (left + WIDTH) / 2, height - 10), _beside(beside)]
    return _svg(title, body, height)


# --- parts of a drawing -------------------------------------------------------------------------
_Box = tuple[float, float, float, float]  # left, top, right, bottom


def _svg(title: str, body: Sequence[str], height: float) -> str:
    inside = "\n".join(body)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" role="img" aria-label="{html.escape(title)}">\n'
        f"{inside}\n</svg>"
    )


def _axis(
    values: Sequence[float],
    spans: Sequence[Sequence[float] | None],
    start: float,
    end: float,
    per_cent: bool,
) -> Axis:
    """Return an axis that holds all values and intervals; one of shares begins at 0 and ends within 1."""
    every = [*values, *(end_of for span in spans if span for end_of in span)]
    if per_cent:
        return Axis(low=0.0, high=_round_up(max(every)), start=start, end=end, per_cent=True)
    low, high = min(every), max(every)
    spread = (high - low) or 1.0
    return Axis(low=low - spread / 8, high=high + spread / 8, start=start, end=end)


def _round_up(value: float) -> float:
    """Return the end of an axis of shares above a value.

    >>> _round_up(0.41), _round_up(0.97), _round_up(0.0)
    (0.5, 1.0, 0.1)
    """
    return min(1.0, max(0.1, math.ceil(value * 10 - 1e-9) / 10))


def _round_step(rough: float) -> float:
    """Return the round number that is next above a rough distance of ticks.

    >>> _round_step(0.09), _round_step(330)
    (0.1, 500.0)
    """
    size = 10.0 ** math.floor(math.log10(rough))
    return next(m * size for m in (1, 2, 5, 10) if m * size >= rough * (1 - 1e-9))


def _across(axis: Axis, top: float, foot: float, baseline: float, *, lines: bool = True) -> list[str]:
    body = [f'<path class="axis" d="M{axis.start:.1f} {foot:.1f}H{axis.end:.1f}"/>']
    for x, label in axis.ticks():
        if lines:
            body.append(f'<path class="grid" d="M{x:.1f} {top:.1f}V{foot:.1f}"/>')
        body.append(f'<text x="{x:.1f}" y="{baseline:.1f}" text-anchor="middle" class="soft">{label}</text>')
    return body


def _up(axis: Axis, left: float, right: float) -> list[str]:
    body = []
    for y, label in axis.ticks():
        body.append(f'<path class="grid" d="M{left:.1f} {y:.1f}H{right:.1f}"/>')
        body.append(f'<text x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end" class="soft">{label}</text>')
    return body


def _below(text: str, x: float, y: float) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" class="soft">{html.escape(text)}</text>'


def _beside(text: str) -> str:
    return f'<text x="2" y="11" class="soft">{html.escape(text)}</text>'


def _shape(mark: Mark, x: float, y: float) -> str:
    """Return the mark of a strategy, its name and words as its title."""
    title = f"<title>{html.escape(f'{mark.name} {mark.caption}'.strip())}</title>"
    d = {
        0: f"M{x - 4.5:.1f} {y:.1f}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0",
        1: f"M{x - 4:.1f} {y - 4:.1f}h8v8h-8z",
        2: f"M{x:.1f} {y - 5:.1f}l5 9h-10z",
        3: f"M{x:.1f} {y - 5.5:.1f}l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    }[shape_of(mark.number)]
    return f'<path class="mark s{_colour(mark)}" d="{d}">{title}</path>'


def _colour(mark: Mark) -> int:
    return mark.number % COLOURS


def _name(name: str) -> str:
    return f"{html.escape(shorten(name, _LONGEST))}<title>{html.escape(name)}</title>"


def _room(x: float, y: float, text: str, taken: Sequence[_Box], within: _Box) -> _Box:
    """Find a place for a word beside a point: the first that is free, else the one that is freest."""
    wide, tall = _LETTER * len(text), 14.0
    corners = [
        (x + 9, y - tall / 2),
        (x - 9 - wide, y - tall / 2),
        (x - wide / 2, y - 10 - tall),
        (x - wide / 2, y + 10),
        (x + 7, y - 8 - tall),
        (x + 7, y + 8),
        (x - 7 - wide, y - 8 - tall),
        (x - 7 - wide, y + 8),
    ]
    boxes = [(left, top, left + wide, top + tall) for left, top in corners]

    def measure_crowding(box: _Box) -> float:
        inside = min(box[0] - within[0], box[1] - within[1], within[2] - box[2], within[3] - box[3])
        return sum(_overlap(box, other) for other in taken) + max(0.0, -inside) * tall

    return min(boxes, key=measure_crowding)


def _overlap(box: _Box, other: _Box) -> float:
    wide = min(box[2], other[2]) - max(box[0], other[0])
    tall = min(box[3], other[3]) - max(box[1], other[1])
    return max(0.0, wide) * max(0.0, tall)
