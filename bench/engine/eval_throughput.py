"""Questions an hour with 1 to 32 questions in flight, beside the most that the embedded engine can do.

    python -m bench.engine.eval_throughput --data DEV.jsonl --rows 16 --work some/folder

Every setting runs in a process of its own, so that it finds an empty prefix cache, through the runner of
evaluations. It answers `--rows` questions, or three for each that is in flight where that is more: while the
last ones are answered fewer are in flight, and with too few questions that would be most of the time. The
ceiling is measured on the prompts that the strategy itself made: a fresh process is given all of them at
once, first to write one token each (tokens read a second), then again, when they stand in the prefix cache,
to write their replies (tokens written a second). What a run read and wrote, at these two rates, is the time
that a busy engine needs for it; its share of the run's time is how busy the engine was kept. Settings that
are in the work folder already are not run again.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import RESULTS
from disputatio.config import read_settings
from disputatio.eval.data.datasets import identify, load
from disputatio.eval.running.entrants import entrants
from disputatio.eval.running.preparing import ask_with, load_models, run_manifest
from disputatio.eval.running.runner import run
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.protocols import LLM
from disputatio.types import Capabilities, Choice, Completion, Message, Prompt, Sampling

PAGE = RESULTS / "engine" / "eval_throughput.md"
A_SLOT = 3  # questions, at least, for each that is in flight
MOST_TOKENS = 90_000  # read at once for the ceiling: what the cache of 2 GB surely holds

Found = dict[str, Any]


class Noted:
    """A model whose calls are noted: what was asked, and when how many calls were under way."""

    def __init__(self, llm: LLM) -> None:
        self._llm = llm
        self._lock = threading.Lock()
        self.calls: list[Found] = []
        self.spans: list[tuple[float, float, int]] = []

    @property
    def name(self) -> str:
        return self._llm.name

    def capabilities(self) -> Capabilities:
        return self._llm.capabilities()

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        start = time.perf_counter()
        done = self._llm.complete(prompts, sampling)
        with self._lock:
            self.spans.append((start, time.perf_counter(), len(prompts)))
            for prompt, completion in zip(prompts, done, strict=True):
                usage = completion.usage
                self.calls.append(
                    {
                        "messages": [[message.role, message.content] for message in prompt.messages],
                        "sampling": asdict(sampling),
                        "tokens": [usage.prompt_tokens, usage.cached_tokens, usage.completion_tokens],
                    }
                )
        return done

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        raise NotImplementedError("this measurement is of strategies that write")


# --- in a process of its own ----------------------------------------------------------------------
def measure_run(arguments: argparse.Namespace) -> Found:
    """Run one strategy with so many questions in flight."""
    kit = build_kit(read_settings(journal="none", model=arguments.model))
    noted = Noted(kit.model)
    spec = f"ramdocs:{arguments.data}"
    examples = load(spec, limit=max(arguments.rows, A_SLOT * arguments.in_flight))
    watched = Kit(model=noted)
    began: list[float] = []

    def ready() -> None:
        load_models(kit)
        began.append(time.perf_counter())

    out = arguments.work / f"{arguments.child}-{arguments.in_flight}-{os.getpid()}"
    outcome = run(
        examples,
        entrants(arguments.child, []),
        ask=ask_with(watched, verify=False),
        out=out,
        manifest=run_manifest(watched, [identify(spec)], seed=0, verify=False),
        workers=arguments.in_flight,
        prepare=ready,
    )
    wall = time.perf_counter() - began[0]
    read, cached, written = (sum(call["tokens"][at] for call in noted.calls) for at in range(3))
    if arguments.in_flight == 1:
        calls = arguments.work / f"{arguments.child}.calls.jsonl"
        calls.write_text("".join(json.dumps(call) + "\n" for call in noted.calls), encoding="utf-8")
    return {
        "strategy": arguments.child,
        "in_flight": arguments.in_flight,
        "questions": outcome.done,
        "failed": outcome.faults + outcome.bugs,
        "wall": wall,
        "calls": len(noted.calls),
        "read": read - cached,
        "cached": cached,
        "written": written,
        "idle": idle(noted.spans, began[0], began[0] + wall),
        "under_way": sum((end - start) * many for start, end, many in noted.spans) / wall,
    }


def idle(spans: Sequence[tuple[float, float, int]], start: float, end: float) -> float:
    """Return the share of a time in which no call was under way.

    >>> idle([(1.0, 3.0, 1), (2.0, 4.0, 2), (6.0, 8.0, 1)], 0.0, 10.0)
    0.5
    """
    busy, upto = 0.0, start
    for begin, other, _ in sorted(spans):
        busy += max(other - max(begin, upto), 0.0)
        upto = max(upto, other)
    return 1 - busy / (end - start)


def measure_ceiling(arguments: argparse.Namespace) -> Found:
    """Give the engine all prompts of a strategy at once: to read them, and then to write the replies."""
    path = arguments.work / f"{arguments.ceiling}.calls.jsonl"
    calls, total = [], 0
    for line in path.read_text(encoding="utf-8").splitlines():
        one = json.loads(line)
        total += one["tokens"][0] + one["sampling"]["max_tokens"]
        if total > MOST_TOKENS:
            break
        calls.append(one)
    model = build_kit(read_settings(journal="none", model=arguments.model)).model
    load_models(Kit(model=model))
    prompts = [
        Prompt(messages=tuple(Message(role=role, content=text) for role, text in call["messages"]))
        for call in calls
    ]
    start = time.perf_counter()
    read = model.complete(prompts, Sampling(max_tokens=1))
    read_s = time.perf_counter() - start
    fresh = sum(completion.usage.prompt_tokens - completion.usage.cached_tokens for completion in read)
    groups: dict[str, list[int]] = defaultdict(list)
    for at, one in enumerate(calls):
        groups[json.dumps(one["sampling"])].append(at)
    with ThreadPoolExecutor(len(groups)) as pool:
        start = time.perf_counter()
        done = [
            pool.submit(model.complete, [prompts[at] for at in places], Sampling(**json.loads(sampling)))
            for sampling, places in groups.items()
        ]
        words = [completion for future in done for completion in future.result()]
        write_s = time.perf_counter() - start
    written = sum(completion.usage.completion_tokens for completion in words)
    again = sum(completion.usage.prompt_tokens - completion.usage.cached_tokens for completion in words)
    rate = fresh / read_s
    return {
        "strategy": arguments.ceiling,
        "prompts": len(prompts),
        "read": fresh,
        "read_s": read_s,
        "read_rate": rate,
        "written": written,
        "write_s": write_s,
        "read_again": again,
        # What the cache did not hold, whole blocks only, was read again while they wrote.
        "write_rate": written / (write_s - again / rate),
    }


# --- the whole ------------------------------------------------------------------------------------
def kept(arguments: argparse.Namespace, name: str, *words: str) -> Found:
    """Return what a setting came to: from the work folder, or from a process that is started for it."""
    path = arguments.work / f"{name}.json"
    if not path.exists():
        command = [
            sys.executable,
            "-m",
            "bench.engine.eval_throughput",
            "--data",
            arguments.data,
            "--rows",
            str(arguments.rows),
            *words,
        ]
        command += ["--work", str(arguments.work), *(["--model", arguments.model] if arguments.model else [])]
        print(f"{time.strftime('%H:%M:%S')} {name}", file=sys.stderr)
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
        path.write_text(output.splitlines()[-1], encoding="utf-8")
    measured: Found = json.loads(path.read_text(encoding="utf-8"))
    return measured


def page(arguments: argparse.Namespace, runs: Sequence[Found], ceilings: dict[str, Found]) -> str:
    """Return what was found, in Markdown."""
    kit = build_kit(read_settings(journal="none", model=arguments.model))
    lines = [
        "# Questions an hour",
        "",
        f"{time.strftime('%Y-%m-%d')}, {kit.model.name} ({kit.model.capabilities().engine}), {os.cpu_count()} processors; "
        f"the first {arguments.rows} rows of RAMDocs dev, or {A_SLOT} for each that is in flight where that is more; no audit by "
        "a model, each setting in a fresh process.",
        "",
        "```sh",
        f"python -m bench.engine.eval_throughput --data DEV.jsonl --rows {arguments.rows} --in-flight {arguments.settings}",
        "```",
        "",
        "| strategy | in flight | questions | failed | s | questions an hour | calls | tokens read | spared by the prefix "
        "cache | written | read and written a second | calls under way | no call under way | of the ceiling |",
        "|---|" + "--:|" * 13,
    ]
    best: dict[str, tuple[float, int]] = {}
    for one in runs:
        ceiling = ceilings[one["strategy"]]
        needed = one["read"] / ceiling["read_rate"] + one["written"] / ceiling["write_rate"]
        share = needed / one["wall"]
        best[one["strategy"]] = max(best.get(one["strategy"], (0.0, 0)), (share, one["in_flight"]))
        questions = one["questions"] + one["failed"]
        cells = [
            one["strategy"],
            str(one["in_flight"]),
            str(questions),
            str(one["failed"]),
            f"{one['wall']:.0f}",
            f"{3600 * questions / one['wall']:.0f}",
            str(one["calls"]),
            f"{one['read']:,}",
            f"{one['cached']:,}",
            f"{one['written']:,}",
            f"{(one['read'] + one['written']) / one['wall']:.1f}",
            f"{one['under_way']:.1f}",
            f"{one['idle']:.1%}",
            f"{share:.0%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "The ceiling: the prompts of the run with one in flight, given to a fresh engine all at once.",
        "",
        "| strategy | prompts | tokens read | s | read a second | tokens written | s | written a second |",
        "|---|" + "--:|" * 7,
    ]
    for one in ceilings.values():
        lines.append(
            f"| {one['strategy']} | {one['prompts']} | {one['read']:,} | {one['read_s']:.0f} | "
            f"{one['read_rate']:.1f} | {one['written']:,} | {one['write_s']:.0f} | {one['write_rate']:.1f} |"
        )
    text = "; ".join(f"{name}: {share:.0%} with {many}" for name, (share, many) in best.items())
    lines += [
        "",
        f"The best setting of each: {text}. `of the ceiling` is the time that the tokens read (without those that the prefix "
        "cache spared) and written would take at the ceiling's two rates, over the time that the run took. It can be more than "
        "all where more prompts were under way than the ceiling was measured with. Questions an hour compare settings of "
        "the same number of questions alone: later rows are not as long as the first ones.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run what is missing, and write the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--data", required=True, help="RAMDocs dev, JSONL")
    options.add_argument("--rows", type=int, default=16)
    options.add_argument("--strategies", default="concat,madam_rag")
    options.add_argument("--in-flight", dest="settings", default="1,2,4,8,16,32")
    options.add_argument("--model", default=None)
    options.add_argument("--work", type=Path, default=Path("out/eval_throughput"))
    options.add_argument("--out", type=Path, default=PAGE)
    options.add_argument("--child", help=argparse.SUPPRESS)
    options.add_argument("--ceiling", help=argparse.SUPPRESS)
    arguments = options.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    if arguments.child:
        arguments.in_flight = int(arguments.settings)
        print(json.dumps(measure_run(arguments)))
        return
    if arguments.ceiling:
        print(json.dumps(measure_ceiling(arguments)))
        return
    runs, ceilings = [], {}
    names = arguments.strategies.split(",")
    settings = sorted(
        {1, *map(int, arguments.settings.split(","))}
    )  # one in flight makes the ceiling's prompts
    for name in names:
        for many in settings:
            words = ("--child", name, "--in-flight", str(many))
            runs.append(kept(arguments, f"{name}-{many}", *words))
        ceilings[name] = kept(arguments, f"{name}-ceiling", "--ceiling", name)
    arguments.out.write_text(page(arguments, runs, ceilings), encoding="utf-8")
    print(page(arguments, runs, ceilings))


if __name__ == "__main__":
    main()
