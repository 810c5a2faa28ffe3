"""Kill -9 at random moments of a scripted evaluation: no record is lost or counted twice, and the report is the same.

    python -m bench.robustness.eval_kill --kills 1000 --work some/folder

An evaluation (three strategies, one with two seeds, through the pipeline, over a scripted model that fails now
and then) runs in a process of its own, which tells through a pipe what was acknowledged. It is killed at a random
moment and started again on its folder until it is whole; then its reports must be, byte for byte, those of one that
was left alone, and the next evaluation begins. After each kill the journal is opened and compared with what was
told. Most processes are forks, whose imports are done; every twentieth is a new Python process, which is killed
anywhere in its start as well. The script states how long its calls took, since wall times are never the same
twice. Killed itself or stopped, it goes on where it was (`--work`).
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import itertools
import json
import os
import random
import select
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from bench import RESULTS
from disputatio.errors import ServerFault
from disputatio.eval.reporting.page import page
from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.sheet import sheet
from disputatio.eval.reporting.tables import markdown
from disputatio.eval.running.entrants import entrants
from disputatio.eval.running.run_log import Entrant, RunManifest
from disputatio.eval.running.run_log_file import FILE
from disputatio.eval.running.runner import Progress, run
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.pipeline import ask
from disputatio.spending import Meter
from disputatio.store.in_memory import InMemory
from disputatio.trace import Trace
from disputatio.types import Answer, Completion, Example, Passage, Usage

PAGE = RESULTS / "robustness" / "eval_kill.md"
QUESTIONS = 60
STRATEGIES = "concat,madam_rag,closed_book"
SEEDS = (0, 1)
IN_FLIGHT = (1, 4)  # by turns
RESAMPLES = 200  # of the bootstrap: the bytes of a report are what counts here
NEW = 20  # each so many-th process is a new one, not a fork
CALL_SECONDS = (
    100.0  # what the script says a call took: longer than any does, so that the report has no wall time
)
TOWNS = ("Lund", "Oslo", "Turku", "Vejle", "Bergen")
MANIFEST = RunManifest(
    datasets={"scripted:rows": "0" * 64},
    metrics={"scripted:rows": ("em", "precision", "recall", "f1")},
    metrics_version=1,
    model="scripted:towns",
    engine="scripted",
)

Tell = Callable[[str], None]


# --- the evaluation that is killed ----------------------------------------------------------------
def examples() -> list[Example]:
    """Questions over three passages each, of which one misleads."""
    made = []
    for row in range(QUESTIONS):
        right, wrong = TOWNS[row % 5], TOWNS[(row + 2) % 5]
        texts = (right, wrong, right)
        made.append(
            Example(
                id=f"x{row:03}",
                row=row,
                question=f"Where was the founder of guild {row} born?",
                gold=(right,),
                wrong=(wrong,),
                passages=tuple(
                    Passage(
                        id=f"p{row}-{n}", source=f"s{n}", text=f"Guild {row}: its founder was born in {town}."
                    )
                    for n, town in enumerate(texts)
                ),
                metadata={"dataset": "scripted:rows", "strata": {"misleads": str(row % 2)}},
            )
        )
    return made


def scripted() -> Scripted:
    """Return a model that answers by a hash of what it is asked, and at times fails at the first attempt."""
    met: Counter[str] = Counter()

    def reply(text: str) -> Completion | Exception:
        digest = hashlib.sha256(text.encode()).digest()
        met[text] += 1
        if digest[0] < 3 and met[text] == 1:
            return ServerFault("the script fails here once", 503)
        town = next((name for name in TOWNS if name in text), TOWNS[digest[1] % 5])
        said = {"answers": [town], "explanation": "It is said."}
        if '"quote"' in text:
            said = {"answer": town, "explanation": "It is said.", "quote": f"born in {town}"}
        usage = Usage(
            calls=1, prompt_tokens=len(text) // 4, completion_tokens=9, seconds=CALL_SECONDS + digest[2] / 16
        )
        return Completion(text=json.dumps(said), finish_reason="stop", usage=usage)

    return Scripted(reply, name=MANIFEST.model)


def evaluate(out: Path, chosen: Sequence[Entrant], in_flight: int, tell: Tell) -> None:
    """Run the evaluation, telling of each record when it is on disk."""
    meter = Meter()
    kit = meter.wrap(Kit(model=scripted()))

    def asked(
        question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any], trace: Trace
    ) -> Answer:
        reader = replace(kit, retriever=InMemory(passages))
        return ask(question, kit=reader, strategy=strategy, options=options, verify=False, trace=trace)

    def heard(progress: Progress) -> None:
        tell(json.dumps([progress.entrant, f"x{progress.row:03}", bool(progress.fault)]))

    outcome = run(
        examples(),
        chosen,
        ask=asked,
        out=out,
        manifest=MANIFEST,
        workers=in_flight,
        meter=meter,
        progress=heard,
        about={"workers": in_flight},
    )
    if outcome.faults or outcome.bugs or outcome.stopped:
        raise RuntimeError(f"the evaluation did not end well: {outcome}")


def reports(out: Path) -> dict[str, bytes]:
    """Return every form of the report."""
    figures = report(out, resamples=RESAMPLES)
    return {
        "JSON": json.dumps(figures, indent=2).encode(),
        "Markdown": markdown(figures).encode(),
        "CSV": sheet(figures).encode(),
        "HTML": page(figures).encode(),
    }


# --- processes ------------------------------------------------------------------------------------
class Child:
    """A process that runs the evaluation and tells lines through a pipe: a fork, or a new Python."""

    def __init__(self, out: Path, chosen: Sequence[Entrant], in_flight: int, *, new: bool) -> None:
        self._reading, writing = os.pipe()
        self._raw = b""
        sys.stdout.flush()
        if new:
            command = [
                sys.executable,
                "-m",
                "bench.robustness.eval_kill",
                "--child",
                str(out),
                "--pipe",
                str(writing),
            ]
            command += ["--in-flight", str(in_flight)]
            self.pid = subprocess.Popen(command, pass_fds=[writing]).pid
        else:
            self.pid = os.fork()
            if not self.pid:
                _be_child(self._reading, writing, out, chosen, in_flight)
        os.close(writing)

    def run_for(self, seconds: float) -> bool:
        """Listen so long, or to its end; whether it has ended."""
        end = time.monotonic() + seconds
        while (rest := end - time.monotonic()) > 0:
            if select.select([self._reading], [], [], rest)[0]:
                raw = os.read(self._reading, 1 << 16)
                self._raw += raw
                if not raw:
                    return True
        return False

    def end(self, *, kill: bool) -> list[Any]:
        """Kill it if wanted, wait for it, and give all that it told; a line that was cut off was not told."""
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        while raw := os.read(self._reading, 1 << 16):
            self._raw += raw
        os.close(self._reading)
        _, status = os.waitpid(self.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        lines = [json.loads(line) for line in self._raw.split(b"\n")[:-1]]
        if code not in (0, -signal.SIGKILL):
            raise RuntimeError(f"the evaluation failed ({code}): {lines[-1:]}")
        return lines


def _be_child(reading: int, writing: int, out: Path, chosen: Sequence[Entrant], in_flight: int) -> None:
    """What a fork does; it never returns."""
    os.close(reading)
    code = 1
    try:
        evaluate(out, chosen, in_flight, lambda line: _send(writing, line))
        code = 0
    finally:  # a fork must not go on as its parent would, whatever was raised
        if code:
            _send(writing, json.dumps(traceback.format_exc()))
        os._exit(code)


def _send(pipe: int, line: str) -> None:
    raw = line.encode() + b"\n"
    while raw:
        raw = raw[os.write(pipe, raw) :]


# --- what is checked ------------------------------------------------------------------------------
@dataclass(kw_only=True)
class Life:
    """One evaluation from its first start to its end, and what is known of it."""

    number: int
    told: set[tuple[str, str]] = field(default_factory=set)
    seen: int = 0
    digest: str = ""

    @property
    def in_flight(self) -> int:
        return IN_FLIGHT[self.number % len(IN_FLIGHT)]


def look(out: Path, life: Life) -> tuple[int, list[str]]:
    """Return how many records are done, and what is wrong with the journal as a killed process left it."""
    if not (out / FILE).exists():
        return 0, [f"{len(life.told)} records lost with the journal"] if life.told else []
    wrong = []
    database = sqlite3.connect(out / FILE)
    try:
        sound = database.execute("PRAGMA integrity_check").fetchone()[0]
        if sound != "ok":
            wrong.append(f"the file is damaged: {sound}")
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone():
            return 0, [*wrong, f"{len(life.told)} records lost"] if life.told else wrong
        rows = database.execute("SELECT n, entrant, example, state, body FROM records ORDER BY n").fetchall()
        orphans = database.execute(
            "SELECT count(*) FROM traces WHERE record NOT IN (SELECT n FROM records)"
        ).fetchone()[0]
    finally:
        database.close()
    if _digest(rows[: life.seen]) != (life.digest or _digest([])):
        wrong.append("records that were there before have changed")
    life.seen, life.digest = len(rows), _digest(rows)
    done = [(entrant, example) for _, entrant, example, state, _ in rows if state == "done"]
    if len(set(done)) < len(done):
        wrong.append(f"counted twice: {len(done) - len(set(done))}")
    if lost := life.told - set(done):
        wrong.append(f"acknowledged and lost: {sorted(lost)[:3]}")
    if orphans:
        wrong.append(f"{orphans} traces without a record")
    return len(done), wrong


def _digest(rows: Sequence[tuple[Any, ...]]) -> str:
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


# --- the whole ------------------------------------------------------------------------------------
class Bench:
    """The kills so far, kept in `work`, so that it goes on after an end of its own."""

    def __init__(self, work: Path, seed: int) -> None:
        self.work, self.seed = work, seed
        work.mkdir(parents=True, exist_ok=True)
        self.kept = work / "state.json"
        self.counts: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.tenths = [0] * 10
        self.seconds = 0.0
        self.life = Life(number=0)
        if self.kept.exists():
            was = json.loads(self.kept.read_text())
            self.counts, self.wrong = Counter(was["counts"]), was["wrong"]
            self.tenths, self.seconds = was["tenths"], was["seconds"]
            reported = {(entrant, example) for entrant, example in was["told"]}
            self.life = Life(number=was["number"], told=reported, seen=was["seen"], digest=was["digest"])
        self.chosen = entrants(STRATEGIES, [], seeds=SEEDS)
        self.pairs = len(self.chosen) * QUESTIONS
        self.alone: dict[int, dict[str, bytes]] = {}
        self.whole_s: dict[int, float] = {}
        for in_flight in IN_FLIGHT:
            out = self._fresh(f"alone-{in_flight}")
            start = time.monotonic()
            child = Child(out, self.chosen, in_flight, new=False)
            if len({tuple(line[:2]) for line in child.end(kill=False)}) != self.pairs:
                raise RuntimeError("the evaluation that was left alone is not whole")
            self.whole_s[in_flight] = time.monotonic() - start
            self.alone[in_flight] = reports(out)

    def _fresh(self, name: str) -> Path:
        out = self.work / name
        shutil.rmtree(out, ignore_errors=True)
        return out

    def start_once(self, rng: random.Random, *, kill: bool) -> None:
        """Start or go on with an evaluation, and kill it at some moment, unless it ends before."""
        life = self.life
        out = self.work / f"life-{life.number}"
        before = life.seen
        started = self.counts["processes"]
        new = started % NEW == NEW - 1
        self.counts["processes"] += 1
        child = Child(out, self.chosen, life.in_flight, new=new)
        longest = self.whole_s[life.in_flight] / 5 + (3.0 if new else 0.0)
        ended = child.run_for(rng.uniform(0.0, longest) if kill else 600.0)
        lines = child.end(kill=not ended)
        life.told |= {(entrant, example) for entrant, example, fault in lines if not fault}
        done, wrong = look(out, life)
        self.wrong += [f"evaluation {life.number}, process {started}: {fault}" for fault in wrong]
        if ended:
            self._compare(out, life, done)
            shutil.rmtree(out, ignore_errors=True)
            self.life = Life(number=life.number + 1)
        else:
            self.counts["kills"] += 1
            self.counts["kills of a new Python process"] += new
            self.counts["kills before anything of the process was recorded"] += life.seen == before
            self.tenths[min(9, 10 * done // self.pairs)] += 1
        self._keep()

    def _compare(self, out: Path, life: Life, done: int) -> None:
        self.counts["evaluations brought to their end"] += 1
        self.counts["records in them"] += done
        if done != self.pairs:
            self.wrong.append(f"evaluation {life.number}: {done} of {self.pairs} records at its end")
        for form, text in reports(out).items():
            same = text == self.alone[life.in_flight][form]
            self.counts[f"{form} reports that are the same bytes"] += same
            if not same:
                self.wrong.append(f"evaluation {life.number}: its {form} report differs")

    def _keep(self) -> None:
        life = self.life
        state = {
            "counts": self.counts,
            "wrong": self.wrong,
            "tenths": self.tenths,
            "seconds": self.seconds,
            "number": life.number,
            "told": sorted(life.told),
            "seen": life.seen,
            "digest": life.digest,
        }
        part = self.kept.with_suffix(".part")
        part.write_text(json.dumps(state))
        part.replace(self.kept)

    def page(self) -> str:
        """Return what was found, in Markdown."""
        counts, ends = self.counts, self.counts["evaluations brought to their end"]
        lost = sum("lost" in fault for fault in self.wrong)
        twice = sum("twice" in fault for fault in self.wrong)
        rows = [
            ("kills (`SIGKILL`)", counts["kills"]),
            ("of these, of a new Python process", counts["kills of a new Python process"]),
            (
                "of these, before the process had recorded anything",
                counts["kills before anything of the process was recorded"],
            ),
            ("evaluations brought to their end", ends),
            ("records in them", f"{counts['records in them']:,}"),
            ("kills after which an acknowledged record was lost", lost),
            ("kills after which a record was there twice", twice),
            ("anything else that was wrong", len(self.wrong) - lost - twice),
        ]
        for form in ("JSON", "Markdown", "CSV", "HTML"):
            same = counts[f"{form} reports that are the same bytes"]
            rows.append((f"{form} reports that are the same bytes as undisturbed", f"{same} of {ends}"))
        spread = " / ".join(map(str, self.tenths))
        alone = ", ".join(f"{seconds:.1f} s with {many} in flight" for many, seconds in self.whole_s.items())
        lines = [
            "# Kills of an evaluation",
            "",
            f"{time.strftime('%Y-%m-%d')}, {os.cpu_count()} processors, Linux; {self.seconds:.0f} s in all.",
            "",
            "```sh",
            f"python -m bench.robustness.eval_kill --kills {counts['kills']} --seed {self.seed}",
            "```",
            "",
            f"A scripted evaluation of {QUESTIONS} questions by {STRATEGIES.replace(',', ', ')} (madam_rag with "
            f"{len(SEEDS)} seeds): {self.pairs} records, through the pipeline, with one or four questions in flight by "
            f"turns and a model that fails now and then. Undisturbed it takes {alone}. Each process is killed after a "
            "random time and the evaluation started again on its folder, until it is whole. After each kill the journal "
            "is checked by SQLite and compared with what the process had been told is on disk.",
            "",
            "| | |",
            "|---|--:|",
            *(f"| {what} | {count} |" for what, count in rows),
            "",
            f"Kills by the share of records that were there, in tenths: {spread}.",
            "",
            "The calls' times are those that the script states, since wall times are never the same twice. A kill of a "
            "process does not show what is lost when the power fails: every record is synced before it is acknowledged, "
            "which is not tested here.",
        ]
        if self.wrong:
            lines += ["", "Wrong:", "", *(f"* {fault}" for fault in self.wrong[:20])]
        return "\n".join(lines) + "\n"


def main() -> int:
    """Kill until there are enough kills and the last evaluation is whole, and write the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    options.add_argument("--kills", type=int, default=1000)
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--work", type=Path, default=Path("out/eval_kill"))
    options.add_argument("--out", type=Path, default=PAGE)
    options.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options.add_argument("--pipe", type=int, help=argparse.SUPPRESS)
    options.add_argument("--in-flight", type=int, help=argparse.SUPPRESS)
    arguments = options.parse_args()
    if arguments.child:
        chosen = entrants(STRATEGIES, [], seeds=SEEDS)
        evaluate(arguments.child, chosen, arguments.in_flight, lambda line: _send(arguments.pipe, line))
        return 0
    bench = Bench(arguments.work, arguments.seed)
    start, before = time.monotonic(), bench.seconds
    for number in itertools.count(bench.counts["processes"]):
        enough = bench.counts["kills"] >= arguments.kills
        if enough and not bench.life.seen:
            break
        # Once there are enough, the last evaluation is brought to its end.
        bench.start_once(random.Random(f"{arguments.seed} {number}"), kill=not enough)
        bench.seconds = before + time.monotonic() - start
        if number % 25 == 24:
            kills = bench.counts["kills"]
            print(f"{kills} kills, {len(bench.wrong)} wrong, {bench.seconds:.0f} s", file=sys.stderr)
    for in_flight in IN_FLIGHT:
        with contextlib.suppress(OSError):
            shutil.rmtree(arguments.work / f"alone-{in_flight}")
    arguments.out.write_text(bench.page(), encoding="utf-8")
    print(bench.page())
    return int(bool(bench.wrong))


if __name__ == "__main__":
    sys.exit(main())
