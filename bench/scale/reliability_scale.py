"""Reliability of 100,000 sources from ten million answers, and copy detection beside the comparison of all pairs.

    python -m bench.scale.reliability_scale [--sources 100000] [--answers 10000000] [--work DIR]

Each measurement runs in a process of its own. Answers come from a Parquet file as a stream of record batches, names
and answers as text. Sources are right with p ~ Beta(6, 3), some are asked far more often than others, nine false
answers of which some are common; two in a hundred copy 0.8 of the answers of another source. `cpu` is the processor
time of the process. Recall and precision of copy detection are those of the tied pairs, and of pairs in one group,
beside the comparison of all pairs on the same votes, winners and reliabilities. Writes
bench/results/scale/reliability_scale.md and .json.gz.
"""

from __future__ import annotations

import multiprocessing
import resource
import tempfile
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.files import write_json
from bench.lib.machine import machine
from bench.lib.options import parser_of

BATCH = 262_144
LATER = 10_000  # answers that arrive after the first estimate
SMALL = (500, 1_000, 2_000)
GROWTH = (1_000, 10_000, 100_000)


def world(sources: int, answers: int, each: int, seed: int) -> tuple[Any, Any, Any, Any, Any]:
    """Question, source and label (0 is right) of each answer, the true p, and which source each copies (-1: none)."""
    dice = np.random.default_rng(seed)
    questions = max(answers // each, 1)
    p = dice.beta(6, 3, sources)
    question = np.repeat(np.arange(questions), each)
    source = (sources * dice.random(len(question)) ** 1.5).astype(np.int64)
    wrong = 1 + (9 * dice.random(len(question)) ** 1.5).astype(np.int64)
    label = np.where(dice.random(len(question)) < p[source], 0, wrong)
    copies = np.full(sources, -1)
    copiers = dice.choice(sources, max(sources // 50, 1), replace=False)
    originals = dice.choice(np.setdiff1d(np.arange(sources), copiers), len(copiers))
    copies[copiers] = originals
    # A copier is asked what its original is asked, and says the same four times in five.
    order = np.argsort(source, kind="stable")
    bounds = np.searchsorted(source[order], np.arange(sources + 1))
    rows = [order[bounds[original] : bounds[original + 1]] for original in originals]
    kept = copies[source] < 0
    taken = [row[dice.random(len(row)) < 0.8] for row in rows]
    who = np.repeat(copiers, [len(row) for row in taken])
    flat = np.concatenate(taken)
    return (
        np.concatenate([question[kept], question[flat]]),
        np.concatenate([source[kept], who]),
        np.concatenate([label[kept], label[flat]]),
        p,
        copies,
    )


def write_table(path: Path, sources: int, answers: int, each: int, seed: int) -> None:
    """Write the world as a Parquet file with the columns question, source and answer."""
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    question, source, label, p, _ = world(sources, answers, each, seed)
    np.save(path.with_suffix(".p.npy"), p)
    order = np.random.default_rng(seed).permutation(len(question))
    schema = pa.schema([(name, pa.string()) for name in ("question", "source", "answer")])
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, len(order), BATCH):
            rows = order[begin : begin + BATCH]
            columns: list[Any] = [
                pc.binary_join_element_wise(prefix, pa.array(values[rows]).cast(pa.string()), "")
                for prefix, values in (("q", question), ("s", source), ("a", label))
            ]
            writer.write_table(pa.table(columns, schema=schema))


class Clock:
    """Seconds on the clock, of the processor, and the peak memory so far."""

    def __init__(self) -> None:
        self.begun, self.cpu = time.perf_counter(), time.process_time()

    def told(self) -> dict[str, float]:
        """Return the figures since the last call."""
        now, cpu = time.perf_counter(), time.process_time()
        told = {
            "seconds": round(now - self.begun, 2),
            "cpu": round(cpu - self.cpu, 2),
            "peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        }
        self.begun, self.cpu = time.perf_counter(), time.process_time()
        return told


def estimated(path: Path) -> dict[str, Any]:
    """Stream the table, then by each estimator: estimate, add answers, estimate again from there and anew."""
    import pyarrow.parquet as pq

    from disputatio.reliability.answers import Answers

    p = np.load(path.with_suffix(".p.npy"))
    clock, answers = Clock(), Answers()
    answers.add_batches(pq.ParquetFile(path).iter_batches(BATCH))
    result: dict[str, Any] = {"answers": len(answers), "questions": len(answers.questions)}
    result |= {"sources": len(answers.sources), "read": clock.told()}
    dice = np.random.default_rng(7)
    for estimator in ("paper", "ours"):
        clock = Clock()
        figures = answers.figures(estimator)
        found: dict[str, Any] = {
            "estimate": {**clock.told(), "rounds": figures.rounds, "converged": figures.converged}
        }
        truth = p[[int(name[1:]) for name in figures.names]]
        found["error"] = float(np.abs(figures.reliability - truth)[figures.answered >= 20].mean())
        found["tied"] = int((figures.group != np.arange(len(figures.names))).sum())
        names, questions = answers.sources, answers.questions
        labels = np.where(dice.random(LATER) < 0.7, 0, dice.integers(1, 10, LATER)).tolist()
        chosen = dice.integers(0, len(questions), LATER)
        clock = Clock()
        answers.add(
            [questions[at] for at in chosen],
            [names[at] for at in dice.integers(0, len(names), LATER)],
            [f"a{label}" for label in labels],
        )
        warm = answers.figures(estimator)
        found["incremental"] = {**clock.told(), "rounds": warm.rounds}
        anew = answers.figures(estimator, anew=True)
        found["anew"] = {**clock.told(), "rounds": anew.rounds}
        found["apart"] = float(np.abs(warm.reliability - anew.reliability).max())
        result[estimator] = found
    return result


def pairs_of(group: NDArray[Any]) -> set[tuple[int, int]]:
    """Return the pairs of sources in one group."""
    order = np.argsort(group, kind="stable")
    pairs = set()
    for members in np.split(order, np.flatnonzero(np.diff(group[order])) + 1):
        pairs |= {(int(a), int(b)) for at, a in enumerate(members) for b in members[at + 1 :]}
    return pairs


def compared(sources: int, answers: int, each: int, both: bool, spread: int | None) -> dict[str, Any]:
    """Copy detection by candidates, and by all pairs; `spread` bounds the listed pairs instead of the default."""
    from disputatio.reliability import copy_detection
    from disputatio.reliability.copy_detection import tie_by_votes
    from disputatio.reliability.weighted_vote import FlatVotes

    question, source, label, _, copies = world(sources, answers, each, 3)
    votes = FlatVotes.from_list(question, source, label, questions=int(question.max()) + 1, sources=sources)
    winners = np.zeros(votes.questions, dtype=np.int32)
    right = np.bincount(votes.source, votes.number == 0, minlength=sources)
    reliability = (right + 1) / (np.bincount(votes.source, minlength=sources) + 2)
    if spread is not None:
        copy_detection.PAIRS = spread
    clock = Clock()
    found = tie_by_votes(votes, winners, reliability, options=10, exact=False)
    result: dict[str, Any] = {"sources": sources, "answers": len(question), "candidates": clock.told()}
    true = {(min(a, int(b)), max(a, int(b))) for a, b in enumerate(copies) if b >= 0}
    tied = {(int(a), int(b)) for a, b in found.pairs}
    result["planted"] = len(true)
    result["planted_found"] = len(true & pairs_of(found.group))
    if both:
        exact = tie_by_votes(votes, winners, reliability, options=10, exact=True)
        result["exact"] = clock.told()
        all_tied = {(int(a), int(b)) for a, b in exact.pairs}
        ours, theirs = pairs_of(found.group), pairs_of(exact.group)
        result |= {
            "tied": len(all_tied),
            "recall": len(tied & all_tied) / max(len(all_tied), 1),
            "precision": len(tied & all_tied) / max(len(tied), 1),
            "recall_of_groups": len(ours & theirs) / max(len(theirs), 1),
            "precision_of_groups": len(ours & theirs) / max(len(ours), 1),
        }
    return result


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of a function in a process of its own."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def page(results: dict[str, Any], command: str) -> str:
    """Return the page in Markdown."""
    table = results["table"]
    ours, paper = table["ours"], table["paper"]
    lines = [
        "# Reliability of many sources",
        "",
        f"Machine: {machine()}, {results['date']}; other programs ran at the same time, so the processor's time (cpu) says more",
        "than the clock. The table is streamed from Parquet; peak memory is that of the process.",
        "",
        f"    {command}",
        "",
        f"{table['answers']:,} answers of {table['sources']:,} sources to {table['questions']:,} questions.",
        "",
        "| estimator | step | seconds | cpu | peak MB | rounds |",
        "|---|---|--:|--:|--:|--:|",
    ]
    steps = [("both", "read", table["read"])]
    for name, result in (("paper", paper), ("ours", ours)):
        steps += [(name, step, result[step]) for step in ("estimate", "incremental", "anew")]
    for name, step, told in steps:
        rounds = told.get("rounds", "")
        lines.append(
            f"| {name} | {step} | {told['seconds']} | {told['cpu']} | {told['peak_mb']} | {rounds} |"
        )
    lines += [
        "",
        f"`incremental`: {LATER:,} answers more, merged, estimated from the last weights and ties; `anew`: the same answers estimated",
        f"from the start. The two differ by {ours['apart']:.1e} at most for ours, {paper['apart']:.1e} for the paper's. Mean error of the",
        f"reliability of sources with 20 answers or more: {ours['error']:.3f} ours, {paper['error']:.3f} the paper's. Sources tied to an earlier one by ours:",
        f"{ours['tied']:,}.",
        "",
        "## Copy detection by candidates, beside all pairs",
        "",
        "Two in a hundred sources copy another. `few`: 10 answers a question, all shared false values are listed. `crowded`: 200",
        "answers a question. `crowded, hashed`: the same with at most one listed pair a wrong answer (32 by default), so that MinHash",
        "has to find what is left. Recall and precision are those of tied pairs beside the comparison of all pairs; of groups in brackets.",
        "",
        "| votes | sources | answers | candidates, cpu s | all pairs, cpu s | tied by all pairs | recall | precision | planted, found |",
        "|---|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for kind, rows in results["copies"].items():
        for row in rows:
            exact = row.get("exact", {}).get("cpu", "-")
            figures = "- | - | -"
            if "recall" in row:
                figures = (
                    f"{row['tied']} | {row['recall']:.3f} ({row['recall_of_groups']:.3f}) | "
                    f"{row['precision']:.3f} ({row['precision_of_groups']:.3f})"
                )
            lines.append(
                f"| {kind} | {row['sources']:,} | {row['answers']:,} | {row['candidates']['cpu']} | {exact} | {figures} "
                f"| {row['planted_found']} of {row['planted']} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--sources", type=int, default=100_000)
    parser.add_argument("--answers", type=int, default=10_000_000)
    parser.add_argument("--work", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS / "scale" / "reliability_scale.md")
    arguments = parser.parse_args()
    results: dict[str, Any] = {"date": datetime.now().astimezone().date().isoformat()}
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        path = Path(folder) / "answers.parquet"
        apart(write_table, path, arguments.sources, arguments.answers, 10, 1)
        results["table"] = apart(estimated, path)
        print(results["table"], flush=True)
    growth = [size for size in GROWTH if size <= arguments.sources]
    results["copies"] = {
        "few": [apart(compared, size, size * 100, 10, True, None) for size in SMALL],
        "crowded": [apart(compared, size, size * 100, 200, True, None) for size in SMALL],
        "crowded, hashed": [apart(compared, size, size * 100, 200, True, 1) for size in SMALL],
        "few, growth": [apart(compared, size, size * 100, 10, False, None) for size in growth],
        "crowded, growth": [apart(compared, size, size * 100, 200, False, None) for size in growth],
    }
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(arguments.out.with_suffix(".json.gz"), results)
    command = (
        f"python -m bench.scale.reliability_scale --sources {arguments.sources} --answers {arguments.answers}"
    )
    arguments.out.write_text(page(results, command), encoding="utf-8")
    print(page(results, command))


if __name__ == "__main__":
    main()
