"""`disputatio strategies`: each with its paper, its options, what it needs and its measured cost."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Mapping
from importlib import resources
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from disputatio.pipeline import Strategy

COSTS = "costs.json"  # beside the strategies; made by bench/strategy_costs.py
_INDENT = (0, 0, 0, 4)
_GIVEN = 28  # columns of `--set key=value`


def strategies(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Every strategy: its paper, its options and their defaults, what it needs, its measured cost."""
    from disputatio.cli_screen import write_json
    from disputatio.pipeline import load_strategy, strategy_names

    costs = measured()
    rows = [described(name, load_strategy(name), costs.get(name, [])) for name in strategy_names()]
    if as_json:
        write_json(rows, indent=2)
    else:
        _show(rows)


def described(name: str, strategy: Strategy, costs: list[dict[str, Any]]) -> dict[str, Any]:
    """A strategy as `--json` prints it: its words from its own file, its options from its signature."""
    from disputatio.cli_meanings import LOGPROBS, NO_LOGPROBS, SCHEMAS, meaning
    from disputatio.cli_wording import type_words
    from disputatio.pipeline import strategy_options

    doc = (inspect.getdoc(inspect.getmodule(strategy)) or "").strip()
    summary, _, rest = doc.partition("\n\n")
    hints = typing.get_type_hints(strategy)
    return {
        "name": name,
        "summary": " ".join(summary.split()),
        "paper": " ".join(rest.split("\n\n")[0].split()).split(" Differences")[0],
        "options": {
            one.name: {
                "default": one.default,
                "type": type_words(hints[one.name]),
                "meaning": meaning(name, one.name),
            }
            for one in strategy_options(strategy).values()
        },
        "needs": {"logprobs": LOGPROBS.get(name, NO_LOGPROBS), "schemas": SCHEMAS},
        "cost": costs,
    }


def measured() -> dict[str, list[dict[str, Any]]]:
    """What questions were measured to cost, by strategy: means over `questions` of a data set."""
    file = resources.files("disputatio.strategies").joinpath(COSTS)
    found: dict[str, list[dict[str, Any]]] = {}
    for one in json.loads(file.read_text(encoding="utf-8"))["measured"]:
        found.setdefault(one["strategy"], []).append({key: one[key] for key in one if key != "strategy"})
    return found


def cost_line(one: Mapping[str, Any]) -> str:
    """One measurement in words: what a question costs, and where that was measured."""
    from disputatio.cli_wording import count

    cached = f" ({one['cached_tokens']:,.0f} from the prefix cache)" if one["cached_tokens"] else ""
    given = " ".join(f"{key}={value}" for key, value in one["set"].items())
    cast = "".join(f", {role}: {model}" for role, model in one["roles"].items())
    searched = f" over the index {one['index']}" if one["index"] else ""
    return (
        f"{one['calls']:,.1f} calls, {one['prompt_tokens']:,.0f} tokens read{cached}, "
        f"{one['completion_tokens']:,.0f} written a question"
        f"{' and its judged citations' if one['verify'] else ''}{f' with {given}' if given else ''}: "
        f"{count(one['questions'], 'question')} of {one['dataset']}{searched}, {one['model']}{cast}, "
        f"{one['engine']}"
    )


def _show(rows: list[dict[str, Any]]) -> None:
    """The strategies as a person reads them."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    from disputatio.cli_screen import plain, printing

    def told(label: Text, text: Text) -> Padding:
        """A label, and text beside it that never runs under it."""
        grid = Table.grid(padding=0)
        grid.add_column(no_wrap=True, width=label.cell_len)
        grid.add_column(overflow="fold")
        grid.add_row(label, text)
        return Padding(grid, _INDENT)

    with printing() as out:
        for row in rows:
            out.print(Text(row["name"], "bold"))
            out.print(Padding(plain(row["summary"]), _INDENT))
            out.print(Padding(plain(row["paper"], "dim"), _INDENT))
            out.print(told(Text("model: "), plain(f"log-probabilities {row['needs']['logprobs']}")))
            for line in [cost_line(one) for one in row["cost"]] or ["not measured"]:
                out.print(told(Text("cost: "), plain(line)))
            for option, about in row["options"].items():
                default = str(about["default"]) if about["default"] is not None else "none"
                given = f"--set {option}={default.lower() if about['type'] == 'bool' else default}"
                means = plain(about["meaning"]) + plain(f" ({about['type']})", "dim")
                out.print(told(plain(f"{given:<{_GIVEN}} "), means))
        out.print()
        out.print(plain(f"JSON schemas of replies: {rows[0]['needs']['schemas']}.", "dim"))
