"""Draw plots of the figures in bench/results for the site: a row of a table is a mark with its interval.

A plot says which page, section and column it draws, and whether that page is marked stale or historic. Where
git has earlier commits of the page, the figure of the first row at each of them is listed below the plot.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
RESULTS = "bench/results"
_NUMBER = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?")
_MARK = re.compile(r"^\*\*(Stale|Historic)", re.MULTILINE)
_MOST_COMMITS = 12
_ROW, _LEFT, _WIDE, _EDGE = 26, 200, 420, 64  # pixels
_INK, _DIM = "#7a7f87", "#2f81f7"  # readable on a light and on a dark page


@dataclass(frozen=True, slots=True)
class Plot:
    """A column of the first table in a section of a page of results; `unit` is "" for shares."""

    page: str
    section: str
    column: str
    title: str
    unit: str = ""


PLOTS = (
    Plot("papers/disputation_ramdocs", "Even rows", "EM", "RAMDocs, rows not tuned on: exact match", "%"),
    Plot("verdict/figures", "ramdocs", "strict EM", "RAMDocs, shuffled: exact match"),
    Plot("verdict/figures", "ambignq", "strict EM", "AmbigNQ: exact match"),
    Plot("verdict/lies", "conflictnq-1r1f", "right", "One right, one false passage: right"),
    Plot("verdict/lies", "conflictnq-1r1f", "attacked", "One right, one false passage: the false answer"),
    Plot("documents/aside", "By condition", "right", "Questions about a folder, set aside: right"),
    Plot("documents/aside", "By condition", "tokens", "The same: tokens a question", "tokens"),
)


@dataclass(frozen=True, slots=True)
class Figure:
    """A row's name, its value, and the interval where there is one."""

    name: str
    value: float
    low: float | None = None
    high: float | None = None


def figures_of(text: str, section: str, column: str) -> list[Figure]:
    """Return a column of the first table with it in a section of a page; empty where there is none.

    >>> page = "## A\\n\\n| s | EM |\\n|---|--:|\\n| x | 49.2 [43.0, 55.3] |\\n| y | - |\\n"
    >>> figures_of(page, "A", "EM")
    [Figure(name='x', value=49.2, low=43.0, high=55.3)]
    """
    heading = re.search(rf"^#+ {re.escape(section)}\s*$", text, re.MULTILINE)
    rest = text[heading.end() :] if heading else ""
    end = re.search(r"^#+ ", rest, re.MULTILINE)
    columns: list[str] = []
    found: list[Figure] = []
    for line in rest[: end.start() if end else len(rest)].splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line[:1] == "|" else []
        if not cells:
            if found:
                break
            columns = []
        elif not columns:
            columns = cells
        elif column in columns and len(cells) == len(columns):
            numbers = [float(each.replace(",", "")) for each in _NUMBER.findall(cells[columns.index(column)])]
            if numbers:
                low, high = numbers[1:3] if len(numbers) == 3 else (None, None)
                found.append(Figure(cells[0], numbers[0], low, high))
    return found


def svg(figures: list[Figure], plot: Plot) -> str:
    """Return the plot as SVG that loads nothing."""
    top = max([figure.high or figure.value for figure in figures])
    most = top if plot.unit == "tokens" else {"%": 100.0, "": 1.0}[plot.unit]
    height = _ROW * (len(figures) + 1)

    def at(value: float) -> float:
        return round(_LEFT + _WIDE * min(max(value / (most or 1.0), 0.0), 1.0), 1)

    parts = [f"<title>{escape(plot.title)}</title>"]
    for share in (0.0, 0.5, 1.0):
        x, y = at(share * most), height - 8
        parts.append(f'<path d="M{x} 6V{height - 22}" stroke="{_INK}" stroke-opacity=".35"/>')
        parts.append(f'<text x="{x}" y="{y}" text-anchor="middle">{share * most:g}{_suffix(plot)}</text>')
    for row, figure in enumerate(figures):
        y = _ROW * row + 18
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4}" text-anchor="end">{escape(figure.name)}</text>')
        if figure.low is not None and figure.high is not None:
            ends = f"M{at(figure.low)} {y}H{at(figure.high)}"
            parts.append(f'<path d="{ends}" stroke="{_DIM}" stroke-width="3" stroke-opacity=".5"/>')
        parts.append(f'<circle cx="{at(figure.value)}" cy="{y}" r="5" fill="{_DIM}"/>')
        parts.append(f'<text x="{_LEFT + _WIDE + 14}" y="{y + 4}">{figure.value:g}</text>')
    size = f'width="{_LEFT + _WIDE + _EDGE}" height="{height}"'
    font = f'font-family="sans-serif" font-size="12" fill="{_INK}"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" role="img" {size} {font}>{"".join(parts)}</svg>\n'


def _suffix(plot: Plot) -> str:
    return " %" if plot.unit == "%" else ""


def trend(plot: Plot) -> list[tuple[str, str, Figure]]:
    """Return day, commit and figure of the first row at each commit that changed it, the newest first."""
    path = f"{RESULTS}/{plot.page}.md"
    log = _git("log", f"-{_MOST_COMMITS}", "--format=%cs %h", "--", path)
    found: list[tuple[str, str, Figure]] = []
    for line in reversed(log.splitlines()):
        day, commit = line.split()
        figures = figures_of(_git("show", f"{commit}:{path}"), plot.section, plot.column)
        if figures and (not found or found[-1][2] != figures[0]):
            found.append((day, commit, figures[0]))
    return found[::-1]


def _git(*words: str) -> str:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False, text=True)
    return done.stdout if done.returncode == 0 else ""


def write_plots(folder: Path) -> None:
    """Write the page `plots.md` and its pictures into a folder of the site."""
    lines = [
        "# Plots",
        "",
        "Drawn from the pages of results when the site was built. A line is the 95 % interval of a figure.",
    ]
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    for number, plot in enumerate(PLOTS, start=1):
        text = (ROOT / RESULTS / f"{plot.page}.md").read_text(encoding="utf-8")
        if figures := figures_of(text, plot.section, plot.column):
            (folder / "plots" / f"{number}.svg").write_text(svg(figures, plot), encoding="utf-8")
            lines += ["", *_described(number, plot, text)]
    (folder / "plots.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _described(number: int, plot: Plot, text: str) -> Iterator[str]:
    mark = _MARK.search(text)
    warning = f" **{mark[1]}**: the page says why." if mark else ""
    yield f"## {plot.title}"
    yield ""
    yield f"![{plot.title}](plots/{number}.svg)"
    yield ""
    yield f"From [{plot.page}]({plot.page}.md), *{plot.section}*, column *{plot.column}*.{warning}"
    changes = trend(plot)
    if len(changes) > 1:
        yield from ["", f"| day | commit | {changes[0][2].name} |", "|---|---|--:|"]
        yield from (f"| {day} | `{commit}` | {figure.value:g} |" for day, commit, figure in changes)
