"""A model that waits as an engine would, an index of ferries to ask it about, and a server over both.

Nothing is measured here; the scripts of `bench/serve/` do.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Event

from disputatio.api.indexing import Index
from disputatio.protocols import Cancel
from disputatio.types import Capabilities, Choice, Completion, Passage, Prompt, Sampling, Usage

NAMES = tuple(
    first + last
    for first in ("Ard", "Bel", "Cor", "Dun", "Esk", "Fal", "Gar", "Hel")
    for last in ("mor", "wick", "holm", "ness", "dale")
)


def question(name: str) -> str:
    """Word the question about a ferry."""
    return f"In what year did the {name} ferry first cross?"


def ferries(folder: Path) -> Index:
    """Return an index in which two sources name one year for each ferry, and a third another."""
    index = Index.open(folder / "ferries.index", embedder="none")
    rows: list[Passage] = []
    for number, name in enumerate(NAMES):
        year, other = 1800 + number, 1900 + number
        rows += [
            Passage(
                text=f"The {name} ferry first crossed in {year}.",
                source="museum.example",
                title=f"{name} ferry",
            ),
            Passage(
                text=f"In {year} the {name} ferry first crossed, with a band.",
                source="almanac.example",
                title=f"{name} ferry",
            ),
            Passage(
                text=f"They say that the {name} ferry first crossed in {other}.",
                source="buzz.example",
                title=f"{name} ferry",
            ),
        ]
    index.add(rows)
    return index


class Waiting:
    """Reads what a passage says of a year; each batch takes `delay` seconds, as one of an engine does.

    With `spread` its replies come one by one within that time, and not together at its end.
    """

    name = "waiting"

    def __init__(self, delay: float, *, spread: bool = False) -> None:
        self._delay, self._spread = delay, spread

    def capabilities(self) -> Capabilities:
        """Return all that strategies ask for."""
        return Capabilities(engine="waiting", logprobs=True, max_options=26, schema=True)

    def complete(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        *,
        on_done: Callable[[int, Completion], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Completion]:
        """Return the year in each prompt's passage, all at once after the wait, or one by one."""
        del sampling
        completions = [_read(prompt) for prompt in prompts]
        if not self._spread:
            self._wait(cancel)
        for index, completion in enumerate(completions):
            if self._spread:
                self._wait(cancel, share=1 / len(prompts))
            if on_done is not None:
                on_done(index, completion)
        return completions

    def choose(
        self,
        prompts: Sequence[Prompt],
        options: Sequence[str],
        *,
        on_done: Callable[[int, Choice], None] | None = None,
        cancel: Cancel | None = None,
    ) -> list[Choice]:
        """Return the first option with high probability, after the wait."""
        del on_done
        self._wait(cancel)
        odds = (-0.1, *[-2.4] * (len(options) - 1))
        return [
            Choice(
                options=tuple(options), logprobs=odds, bounded=(False,) * len(options), usage=Usage(calls=1)
            )
            for _ in prompts
        ]

    def _wait(self, cancel: Cancel | None, *, share: float = 1.0) -> None:
        cancel, pressed = cancel or Cancel(), Event()
        with cancel.calling(pressed.set):
            pressed.wait(self._delay * share)
        cancel.check()


def _read(prompt: Prompt) -> Completion:
    text = "\n".join(turn.content for turn in prompt.messages)
    passage = text.rpartition("<passage")[2].partition("Question:")[0]
    year = re.search(r"\b1[89]\d\d\b", passage)
    reply = json.dumps({"subject": "", "answer": year[0] if year else "unknown"})
    usage = Usage(calls=1, prompt_tokens=len(text) // 4, completion_tokens=20)
    return Completion(text=reply, finish_reason="stop", usage=usage)


@contextmanager
def process(arguments: Sequence[str], **variables: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a process that serves, started by our Python with these arguments, and its address."""
    serving = subprocess.Popen(
        [sys.executable, *arguments], stderr=subprocess.PIPE, text=True, env={**os.environ, **variables}
    )
    assert serving.stderr is not None
    try:
        said = serving.stderr.readline()
        address = re.search(r"http://\S+", said)
        if address is None:
            raise RuntimeError(said + serving.stderr.read())
        yield serving, address[0]
    finally:
        serving.kill()
        serving.wait()
        serving.stderr.close()


@contextmanager
def neighbours(number: int) -> Iterator[None]:
    """Keep so many processes busy within this context."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for each in busy:
            each.kill()
            each.wait()


def spent(process_id: int) -> float:
    """Return seconds of processor that a process has used."""
    fields = Path(f"/proc/{process_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident(process_id: int) -> float:
    """Megabytes of a process that are in memory."""
    for line in Path(f"/proc/{process_id}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
