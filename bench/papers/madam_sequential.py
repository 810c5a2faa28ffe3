"""MADAM-RAG as it is here against a plain sequential rendition of the paper's loop, row by row.

Both run on the same engine in the same process, in turn on each row. The rendition is written from
the paper: free-text replies ("Answer: ... Explanation: ..."), one call at a time, 128 new tokens a
call, greedy, three rounds with the paper's early stop, an aggregator with a worked example. It reads
replies tolerantly, so that its F1 does not suffer from a strict parser. The engine's prefix cache is
on for both. Resumable: rows that are in the results file already are not run again.

Run: python -m bench.papers.madam_sequential --data DEV.jsonl --rows 25
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.files import beside, read_json, write_json, write_whole
from disputatio.config import read_settings
from disputatio.eval.data.datasets import load
from disputatio.eval.metrics import score
from disputatio.kit import Kit, chat
from disputatio.parts import build_kit
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.text import is_unknown, squad_normalise
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Passage, Sampling

NEW_TOKENS = 128
METRICS = ("em", "precision", "recall", "f1")

READER = """\
You are an agent that reads a document to answer a question."""

READER_TASK = """\
Question: {question}
Document: {document}
{history}
Answer the question from the document{others}. Give your answer and a step-by-step explanation of your reasoning.
Use this format: 'Answer: {{}}. Explanation: {{}}.'"""

HEARD = "The aggregator's summary of what all agents said in the last round: {heard}\n"

AGGREGATOR = """\
You are an aggregator that reads the answers of several agents. If there are several correct answers, give all of them, \
with a step-by-step explanation of your reasoning. If there is no correct answer, reply 'unknown'.
Use this format: 'All Correct Answers: []. Explanation: {}.'

An example follows.
Question: When was the Elm Street Bridge opened?
Agent responses:
Agent 1: Answer: 1921. Explanation: The document says that the Elm Street Bridge in Dunmore was opened in 1921.
Agent 2: Answer: 1975. Explanation: The document says that the Elm Street Bridge in Dunmore was opened in 1975.
Agent 3: Answer: 1948. Explanation: The document says that the Elm Street Bridge in Carrow was opened in 1948. This seems to be \
another bridge of the same name, since the other agents speak of Dunmore.
Agent 4: Answer: unknown. Explanation: The document describes the fish of the river and does not mention an opening.
All Correct Answers: ["1921", "1948"]. Explanation: Agent 1 speaks of the bridge in Dunmore, opened in 1921, so 1921 is correct. \
Agent 3 speaks of another bridge of that name, in Carrow, opened in 1948, so 1948 is correct too. Agent 2 contradicts what is known \
of the bridge in Dunmore. Agent 4 gives no useful information."""

AGGREGATOR_TASK = """\
Question: {question}
Agent responses:
{responses}"""


def sequential(
    question: str, passages: Sequence[Passage], kit: Kit, *, rounds: int = 3, seed: int = 0
) -> Answer:
    """Return the paper's loop, one call at a time."""
    shuffled = random.Random(seed)
    history, replies, answers = "", [""] * len(passages), []
    turn = 0
    for turn in range(1, rounds + 1):
        before = [_answer(reply) for reply in replies]
        replies = [_read(question, passage, history, kit) for passage in passages]
        order = shuffled.sample(range(len(replies)), len(replies))
        responses = "\n".join(f"Agent {n}: {replies[at]}" for n, at in enumerate(order, 1))
        history = _one(
            kit, "aggregator", AGGREGATOR, AGGREGATOR_TASK.format(question=question, responses=responses)
        )
        answers = _answers(history)
        if turn > 1 and [squad_normalise(answer) for answer in before] == [
            squad_normalise(_answer(reply)) for reply in replies
        ]:
            break
    return Answer(question=question, answers=tuple(answers), rounds=turn)


def _read(question: str, passage: Passage, earlier: str, kit: Kit) -> str:
    history = HEARD.format(heard=earlier) if earlier else ""
    task = READER_TASK.format(
        question=question,
        document=passage.text,
        history=history,
        others=" and what the other agents said" if earlier else "",
    )
    return _one(kit, "reader", READER, task)


def _one(kit: Kit, role: str, system: str, task: str) -> str:
    (reply,) = kit.complete(role, [chat(system, task)], Sampling(max_tokens=NEW_TOKENS))
    return " ".join(reply.text.split())


def _answer(reply: str) -> str:
    """Return what stands between "Answer:" and "Explanation:", or the first sentence."""
    match = re.search(r"Answer:\s*(.*?)\s*(?:Explanation:|$)", reply)
    return (match[1] if match else reply.split(". ", maxsplit=1)[0]).strip(" .'\"{}[]")


def _answers(reply: str) -> list[str]:
    """Return the list that the aggregator gives, however it writes it."""
    match = re.search(r"(?:All Correct )?Answers?:\s*(.*?)\s*(?:Explanation:|$)", reply)
    listed = match[1] if match else reply
    quoted = re.findall(r'"([^"]+)"', listed)
    parts = quoted or re.split(r"\s*[,;]\s+", listed.strip(" .'[]{}"))
    answers: list[str] = []
    for part in (answer.strip(" .'\"[]{}") for answer in parts):
        if part and not is_unknown(part) and part not in answers:
            answers.append(part)
    return answers


def measure(name: str, example: Example, kit: Kit) -> dict[str, Any]:
    """Return one system on one row: answers, scores, cost and wall seconds."""
    trace = Trace()
    start = time.perf_counter()
    if name == "sequential":
        answer = sequential(example.question, example.passages, kit.with_trace(trace))
    else:
        reader = Kit(model=kit.model, retriever=InMemory(example.passages))
        answer = ask(example.question, kit=reader, strategy="madam_rag", verify=False, trace=trace)
    seconds = time.perf_counter() - start
    usage = trace.usage()
    seconds = max(seconds, usage.seconds)  # a call from the journal took what it took
    return {
        "row": example.row,
        "system": name,
        "passages": len(example.passages),
        "answers": list(answer.answers),
        "rounds": answer.rounds,
        "seconds": round(seconds, 2),
        "model_seconds": round(usage.seconds, 2),
        "calls": usage.calls,
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "scores": score(answer.answers, example.gold, example.wrong, METRICS),
    }


def summary(records: Sequence[dict[str, Any]]) -> str:
    """Return the pairs, then the totals and their ratios, as Markdown."""
    pairs: dict[int, dict[str, dict[str, Any]]] = {}
    for record in records:
        pairs.setdefault(record["row"], {})[record["system"]] = record
    whole = [pairs[row] for row in sorted(pairs) if len(pairs[row]) == 2]
    lines = [
        "# MADAM-RAG beside a sequential rendition of the paper's loop",
        "",
        "`python -m bench.papers.madam_sequential --data DEV.jsonl --rows 25`",
        "",
        "| row | passages | s ours | s sequential | ratio | tokens ours | tokens sequential | ratio | F1 ours | F1 sequential |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for pair in whole:
        a, b = pair["madam_rag"], pair["sequential"]
        lines.append(
            f"| {a['row']} | {a['passages']} | {a['seconds']:.1f} | {b['seconds']:.1f} | {a['seconds'] / b['seconds']:.2f}"
            f" | {_tokens(a)} | {_tokens(b)} | {_tokens(a) / _tokens(b):.2f} | {_f1(a):.2f} | {_f1(b):.2f} |"
        )
    ours, theirs = [one["madam_rag"] for one in whole], [one["sequential"] for one in whole]
    lines += [
        "",
        f"Over {len(whole)} rows: wall time {_sum(ours, 'seconds'):.0f} s against {_sum(theirs, 'seconds'):.0f} s, ratio "
        f"{_sum(ours, 'seconds') / _sum(theirs, 'seconds'):.3f} (median of pairs "
        f"{statistics.median(a['seconds'] / b['seconds'] for a, b in zip(ours, theirs, strict=True)):.3f}); tokens read and written "
        f"{sum(map(_tokens, ours)):,} against {sum(map(_tokens, theirs)):,}, ratio "
        f"{sum(map(_tokens, ours)) / sum(map(_tokens, theirs)):.3f}; calls {_sum(ours, 'calls'):.0f} against {_sum(theirs, 'calls'):.0f}.",
        "",
    ]
    for key in sorted(ours[0]["scores"]):
        means = [_mean([scored["scores"][key] for scored in side]) for side in (ours, theirs)]
        lines.append(f"- {key}: {means[0]} against {means[1]}")
    return "\n".join(lines) + "\n"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    counted = "" if len(known) == len(values) else f" (of {len(known)})"
    return f"{statistics.fmean(known):.3f}{counted}" if known else "none"


def _tokens(record: dict[str, Any]) -> int:
    return int(record["prompt_tokens"] + record["completion_tokens"])


def _f1(record: dict[str, Any]) -> float:
    return float(record["scores"]["f1_lenient"])


def _sum(records: Sequence[dict[str, Any]], key: str) -> float:
    return float(sum(record[key] for record in records))


def main() -> None:
    """Run the rows that are missing, in turn, and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--data", required=True)
    options.add_argument("--rows", type=int, default=25)
    options.add_argument("--out", type=Path, default=RESULTS / "papers" / "madam_sequential.json.gz")
    options.add_argument("--model", default=None)
    options.add_argument("--journal", default="none", help="file of calls, to go on after a stop")
    arguments = options.parse_args()
    kit = build_kit(
        read_settings(model=arguments.model, journal=arguments.journal),
        say=lambda text: print(text, file=sys.stderr),
    )
    examples = load(f"ramdocs:{arguments.data}", limit=arguments.rows)
    done = read_json(arguments.out) if arguments.out.exists() else []
    measure("madam_rag", examples[-1], kit)  # loads and warms the engine; not counted
    for example in examples:
        for name in ("madam_rag", "sequential") if example.row % 2 else ("sequential", "madam_rag"):
            if any(old["row"] == example.row and old["system"] == name for old in done):
                continue
            record = measure(name, example, kit)
            done.append(record)
            write_json(arguments.out, done)
            print(
                f"row {example.row} {name}: {record['seconds']} s, {record['answers']}",
                file=sys.stderr,
                flush=True,
            )
    write_whole(beside(arguments.out, ".md"), summary(done))
    print(summary(done))


if __name__ == "__main__":
    main()
