"""Line charts as SVG text, so that plots need no further package.

Nothing is measured here.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence

WIDTH, HEIGHT = 420, 260
LEFT, RIGHT, TOP, BOTTOM = 52, 52, 34, 44
COLOURS = ("#1f5fa8", "#c2571a", "#3a7d44", "#7a4fa3", "#8a6d1a", "#555555")

Points = Sequence[float | None]


def lines(
    title: str,
    ticks: Sequence[str],
    series: Mapping[str, Points],
    *,
    right: Mapping[str, Points] | None = None,
    below: str = "",
) -> str:
    """Return a chart of lines over named places on the x axis; `right` has lines with an axis of their own,
    dashed.

    A point that is None is left out.

    >>> "<polyline" in lines("Accuracy", ["-inf", "-3"], {"ac_rag": [0.5, None]})
    True
    """
    body = [
        f'<text x="{WIDTH / 2}" y="16" text-anchor="middle" font-weight="bold">{html.escape(title)}</text>',
        f'<text x="{WIDTH / 2}" y="{HEIGHT - 4}" text-anchor="middle">{html.escape(below)}</text>',
        f'<rect x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}" '
        'fill="none" stroke="#999"/>',
    ]
    for at, tick in enumerate(ticks):
        x = _x(at, len(ticks))
        body.append(
            f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{html.escape(tick)}</text>'
        )
    drawn = 0
    for curves, side in ((series, "left"), (right or {}, "right")):
        low, high = _range([value for points in curves.values() for value in points if value is not None])
        for step in range(5):
            value = low + (high - low) * step / 4
            x, anchor = (LEFT - 5, "end") if side == "left" else (WIDTH - RIGHT + 5, "start")
            if curves:
                y = _y(value, low, high)
                body.append(f'<text x="{x}" y="{y + 4:.1f}" text-anchor="{anchor}">{value:.2f}</text>')
        for name, points in curves.items():
            colour = COLOURS[drawn % len(COLOURS)]
            dashes = ' stroke-dasharray="5 3"' if side == "right" else ""
            places = [
                f"{_x(at, len(ticks)):.1f},{_y(value, low, high):.1f}"
                for at, value in enumerate(points)
                if value is not None
            ]
            body.append(
                f'<polyline points="{" ".join(places)}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
            )
            body += [
                f'<circle cx="{point.split(",")[0]}" cy="{point.split(",")[1]}" r="3" fill="{colour}"/>'
                for point in places
            ]
            y = TOP + 14 + 14 * drawn
            body.append(f'<text x="{LEFT + 8}" y="{y}" fill="{colour}">{html.escape(name)}</text>')
            drawn += 1
    inside = "\n".join(body)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'font-family="sans-serif" font-size="11">\n<rect width="100%" height="100%" fill="white"/>\n'
        f"{inside}\n</svg>\n"
    )


def _x(at: int, count: int) -> float:
    room = WIDTH - LEFT - RIGHT - 24
    return LEFT + 12 + room * (at / (count - 1) if count > 1 else 0.5)


def _y(value: float, low: float, high: float) -> float:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value - low) / (high - low)


def _range(values: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an axis: the values with a tenth of their spread on either side."""
    low, high = min(values, default=0.0), max(values, default=1.0)
    spread = (high - low) or 0.1
    return low - spread / 10, high + spread / 4
