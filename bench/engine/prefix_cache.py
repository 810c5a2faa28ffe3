"""How many prompt tokens the prefix cache spares in a three-round debate, round by round.

The debate is the paper's to the letter (`bound=False`), so that all agents speak in all rounds. The
count follows the engine's rule (whole blocks of 32 tokens); the last lines check it by time: the same
long prompt is asked twice, and the second must cost about what its last block costs.

Run: python -m bench.engine.prefix_cache --data DEV.jsonl --rows 5
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from pathlib import Path

from bench import RESULTS
from disputatio.config import read_settings
from disputatio.eval.data.datasets import load
from disputatio.events import Read
from disputatio.kit import Kit, chat
from disputatio.parts import build_kit
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.trace import Trace
from disputatio.types import Sampling


def main() -> None:
    """Debate, add up, and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", required=True)
    options.add_argument("--rows", type=int, default=5)
    options.add_argument("--first", type=int, default=110)
    options.add_argument("--out", type=Path, default=RESULTS / "engine" / "prefix_cache.md")
    arguments = options.parse_args()
    kit = build_kit(read_settings(journal="none"))
    examples = load(f"ramdocs:{arguments.data}")[arguments.first : arguments.first + arguments.rows]
    sums: dict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for example in examples:
        trace = Trace()
        reader = Kit(model=kit.model, retriever=InMemory(example.passages))
        ask(
            example.question,
            kit=reader,
            strategy="madam_rag",
            options={"bound": False},
            verify=True,
            trace=trace,
        )
        turn = 1
        for event in trace.events:
            if isinstance(event, Read):
                key = (f"round {turn}" if event.role != "judge" else "audit", event.role)
                sums[key][0] += 1
                sums[key][1] += event.usage.prompt_tokens
                sums[key][2] += event.usage.cached_tokens
                if event.role == "aggregator":
                    turn += 1
    lines = [
        "# Prompt tokens from the prefix cache",
        "",
        f"`python -m bench.engine.prefix_cache --data DEV.jsonl --first {arguments.first} --rows {arguments.rows}`",
        "",
        f"Three-round debates (`bound=False`) on rows {arguments.first} to {arguments.first + arguments.rows - 1} of RAMDocs dev, "
        f"{kit.model.name}, {kit.model.capabilities().engine}.",
        "",
        "| where | role | calls | prompt tokens | from the prefix cache | share |",
        "|---|---|--:|--:|--:|--:|",
    ]
    for (where, role), (calls, prompt, cached) in sorted(sums.items()):
        lines.append(f"| {where} | {role} | {calls} | {prompt:,} | {cached:,} | {cached / prompt:.0%} |")
    prompt, cached = (sum(count[at] for count in sums.values()) for at in (1, 2))
    lines += [f"| all | | | {prompt:,} | {cached:,} | {cached / prompt:.0%} |", ""]
    long = chat("You count words.", "Count them: " + "quay harbour ferry " * 300)
    times = []
    for _ in range(2):
        start = time.perf_counter()
        (reply,) = kit.complete("reader", [long], Sampling(max_tokens=1))
        times.append((time.perf_counter() - start, reply.usage.prompt_tokens, reply.usage.cached_tokens))
    lines.append(
        f"Check by time: a prompt of {times[0][1]} tokens took {times[0][0]:.2f} s when new (counted as {times[0][2]} spared) and "
        f"{times[1][0]:.2f} s when asked again (counted as {times[1][2]} spared)."
    )
    arguments.out.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
