"""What perfect extraction would score on RAMDocs: how much of the problem is deciding, not reading.

Run `python -m bench.papers.ramdocs_ceilings [FILE]`; without a file it reads ramdocs/dev.jsonl in the folder
of data (`DISPUTATIO_DATA`, default: ../shared/data beside the checkout). It needs no model. The page is
printed and kept in bench/results/papers/ramdocs_ceilings.md.
"""

from __future__ import annotations

import os
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations
from pathlib import Path

from bench import RESULTS, ROOT
from disputatio.eval.data.datasets import check, identify, load
from disputatio.eval.metrics import ceilings, exact_match
from disputatio.text import bare_words, is_unknown, squad_contains, squad_normalise
from disputatio.types import Example

COPY = 0.25  # share of common runs of four words from which two texts are taken for copies
Told = tuple[str, str]  # a passage's labelled answer, and its text
KEPT = {"all": "every passage's answer", "oracle": "answers of passages of type `correct`"}


def everything(answers: Sequence[Told]) -> list[str]:
    """Return every answer."""
    return [answer for answer, _ in answers]


def most_votes(answers: Sequence[Told]) -> list[str]:
    """Return the answers that most passages have."""
    votes = Counter(squad_normalise(answer) for answer, _ in answers)
    most = max(votes.values(), default=0)
    return [answer for answer, _ in answers if votes[squad_normalise(answer)] == most]


def two_votes(answers: Sequence[Told]) -> list[str]:
    """Return the answers of two passages or more; all where none has two."""
    votes = Counter(squad_normalise(answer) for answer, _ in answers)
    return [answer for answer, _ in answers if votes[squad_normalise(answer)] > 1] or everything(answers)


def without_later_copies(answers: Sequence[Told]) -> list[str]:
    """Return all but those of a near copy of an earlier passage that differs from it in the answer."""
    return _without(answers, max)


def without_uncorroborated_copies(answers: Sequence[Told]) -> list[str]:
    """Of two near copies that differ in the answer, the one whose answer fewer other passages have goes; both stay in a tie."""

    def loser(one: int, other: int) -> int | None:
        rest = [text for at, (_, text) in enumerate(answers) if at not in (one, other)]
        first, second = (sum(squad_contains(text, answers[at][0]) for text in rest) for at in (one, other))
        return None if first == second else one if first < second else other

    return _without(answers, loser)


def without_worse_copies(answers: Sequence[Told]) -> list[str]:
    """Return the same, and in a tie the later one goes."""
    left = set(map(squad_normalise, without_uncorroborated_copies(answers)))
    return without_later_copies([labelled for labelled in answers if squad_normalise(labelled[0]) in left])


def _without(answers: Sequence[Told], loser: Callable[[int, int], int | None]) -> list[str]:
    runs = [_runs(text) for _, text in answers]
    gone = {
        loser(first, other)
        for first, other in combinations(range(len(answers)), 2)
        if len(runs[first] & runs[other]) >= COPY * len(runs[first] | runs[other])
        and squad_normalise(answers[first][0]) != squad_normalise(answers[other][0])
    }
    return [answer for at, (answer, _) in enumerate(answers) if at not in gone]


def _runs(text: str) -> set[tuple[str, ...]]:
    words = bare_words(text)
    return {tuple(words[at : at + 4]) for at in range(max(len(words) - 3, 1))}


RULES = (everything, most_votes, two_votes, without_uncorroborated_copies, without_later_copies, without_worse_copies)  # fmt: skip


def resolved(examples: Sequence[Example], rule: Callable[[Sequence[Told]], list[str]]) -> float:
    """Strict EM, in per cent, of a rule over the labelled answers of all passages that have one."""
    won = 0.0
    for example in examples:
        labels = zip(example.metadata["answers"], example.passages, strict=True)
        answers = [(answer, passage.text) for answer, passage in labels if not is_unknown(answer)]
        won += exact_match(rule(answers), example.gold, example.wrong) or 0.0
    return 100 * won / max(len(examples), 1)


def page(spec: str) -> str:
    """Return the Markdown page for a data set of labelled passages."""
    examples, identity = load(spec), identify(spec)
    shares = ceilings(examples)
    lines = [
        "# RAMDocs: the ceilings of perfect extraction",
        "",
        f"{identity.name}, {shares['n']} rows, SHA-256 {identity.sha256[:16]}. Written by "
        "`bench/papers/ramdocs_ceilings.py`, without a model.",
        "",
        "| what is kept of the passages' labelled answers | strict EM | EM, read literally |",
        "| --- | ---: | ---: |",
        *(
            f"| {words} | {100 * shares[name]['em']:.1f} | {100 * shares[name]['em_literal']:.1f} |"
            for name, words in KEPT.items()
        ),
        "",
        "Strict EM: every gold answer is there and none that is wrong only. Read literally, an answer",
        "that the data lists as both gold and wrong is a mistake as well: its row cannot be won.",
        "",
        f"* {shares['gold_not_borne']} rows have a gold answer that no passage of type `correct` bears: "
        "they are lost even to an oracle.",
        f"* {shares['gold_and_wrong']} rows list an answer as both gold and wrong.",
        *(f"* {note}." for note in check(examples) if "both gold and wrong" not in note),
        "",
        "So a reader that misses nothing still fails most rows until it decides which answers to leave out.",
        "",
        "## Rules of resolution over perfect extraction",
        "",
        "Strict EM of what each rule keeps; odd rows are those to tune on, even rows those to check. A near copy shares a "
        f"quarter of its runs of four words ({COPY:g}).",
        "",
        "| rule | all | odd rows | even rows |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {(rule.__doc__ or '').strip().rstrip('.')} | "
            + " | ".join(f"{resolved(some, rule):.1f}" for some in (examples, examples[1::2], examples[::2]))
            + " |"
            for rule in RULES
        ),
        "",
        "RAMDocs' planted answers were put into copies of passages, so that copies tell much here and less elsewhere.",
        "",
        "The figures above the rules come out of `disputatio.eval.metrics.ceilings`, the code that scores every run. Of all "
        "500 published rows they are told to be 41.0 and 82.8; `python -m bench.papers.ramdocs_ceilings "
        "RAMDocs_test.jsonl` puts that file to the same code.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page and print it."""
    data = Path(os.environ.get("DISPUTATIO_DATA", ROOT.parent / "shared" / "data"))
    file = Path(sys.argv[1]) if len(sys.argv) > 1 else data / "ramdocs" / "dev.jsonl"
    text = page(f"ramdocs:{file}")
    (RESULTS / "papers" / "ramdocs_ceilings.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
