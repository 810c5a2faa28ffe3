"""`disputatio strategies`: a list, or one strategy with its paper, options, needs and cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.padding import Padding
from rich.text import Text

from disputatio.cli.options import Json
from disputatio.cli.screen import buffer_output, plain, wrap_beside, write_json
from disputatio.rendering.wording import count

if TYPE_CHECKING:
    from rich.console import Console

    from disputatio.pipeline import Option, StrategyDescription

_INDENT = (0, 0, 0, 4)
_SETTING = 28  # columns of `--set key=value`


def strategies(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="One strategy, in detail.", show_default=False)
    ] = None,
    as_json: Json = False,
) -> None:
    """List the strategies, or describe one of them.

    With a name: its paper, its options and their defaults, what it needs of a model, its measured cost.
    """
    from disputatio.pipeline import describe, strategy_names

    described = [describe(known) for known in ([name] if name else strategy_names())]
    if as_json:
        rows = [strategy_fields(strategy) for strategy in described]
        write_json(rows[0] if name else rows, indent=2)
        return
    with buffer_output() as out:
        if name:
            _show_strategy(out, described[0])
        else:
            _show_list(out, described)


def strategy_fields(described: StrategyDescription) -> dict[str, Any]:
    """Convert a strategy to the fields of `--json`."""
    return {
        "name": described.name,
        "summary": described.summary,
        "paper": described.paper,
        "options": {
            option.name: {"default": option.default, "type": option.type, "meaning": option.meaning}
            for option in described.options
        },
        "needs": {"model": described.needs_model, "logprobs": described.logprobs},
        "cost": list(described.cost),
    }


def cost_line(cost: Mapping[str, Any]) -> str:
    """Describe a measurement: the cost of a question, and the machine."""
    cached = f" ({cost['cached_tokens']:,.0f} from the prefix cache)" if cost["cached_tokens"] else ""
    options = " ".join(f"{key}={value}" for key, value in cost["set"].items())
    roles = "".join(f", {role}: {model}" for role, model in cost["roles"].items())
    index = f" over the index {cost['index']}" if cost["index"] else ""
    return (
        f"{cost['calls']:,.1f} calls, {cost['prompt_tokens']:,.0f} tokens read{cached}, "
        f"{cost['completion_tokens']:,.0f} written per question"
        f"{', with citations judged' if cost['verify'] else ''}{f', with {options}' if options else ''}: "
        f"{count(cost['questions'], 'question')} of {cost['dataset']}{index}, {cost['model']}{roles}, "
        f"{cost['engine']}"
    )


def _show_list(out: Console, described: list[StrategyDescription]) -> None:
    """Print each strategy's name and summary; a long summary wraps under itself."""
    width = max(len(strategy.name) for strategy in described)
    for strategy in described:
        out.print(wrap_beside(plain(f"{strategy.name:<{width}}  ", "bold"), strategy.summary))
    out.print()
    out.print(plain("Options, paper and cost of one: disputatio strategies NAME", "dim"))


def _show_strategy(out: Console, strategy: StrategyDescription) -> None:
    def indent(label: str, text: Text) -> Padding:
        return Padding(wrap_beside(label, text), _INDENT)

    out.print(Text(strategy.name, "bold"))
    out.print(Padding(plain(strategy.summary), _INDENT))
    out.print(Padding(plain(strategy.paper, "dim"), _INDENT))
    needed = "needed" if strategy.needs_model else "not needed: --model none reads without one"
    out.print(indent("language model: ", plain(needed)))
    out.print(indent("log-probabilities: ", plain(strategy.logprobs)))
    for line in [cost_line(cost) for cost in strategy.cost] or ["not measured"]:
        out.print(indent("cost: ", plain(line)))
    if strategy.options:
        out.print()
        out.print(Text("Options", "bold"))
    for option in strategy.options:
        meaning = plain(option.meaning) + plain(f" ({option.type})", "dim")
        out.print(indent(f"{f'--set {option.name}={_format_default(option)}':<{_SETTING}} ", meaning))


def _format_default(option: Option) -> str:
    if option.default is None:
        return "none"
    return str(option.default).lower() if option.type == "bool" else str(option.default)
