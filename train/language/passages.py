"""Passages written for training, each with questions of its own: for yes or no, and to be read.

A line of a file is an object: `title`, `text`, what the passage is `about`, `decide` (pairs of a question and "yes",
"no" or "unknown") and `read` (pairs of a question and its answer as it stands in the text, empty if it has none).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from disputatio.agents.trained_reader import CHOICES
from train.language.tasks import decision_leaf, named_in, passage_text, question_leaf
from train.language.trees import Branch

PASSAGES = Path(__file__).resolve().parents[1] / "documents" / "passages"


def written_passages() -> Iterator[tuple[str, str, Branch]]:
    """Yield a name of each passage, a task, and the passage with its questions of that task.

    Raises `ValueError` that names a line whose replies are of another form.
    """
    for path in sorted(PASSAGES.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            name = f"{path.name}:{number}"
            yield from ((name, task, branch) for task, branch in branches_of(json.loads(line), name))


def branches_of(passage: dict[str, Any], name: str) -> Iterator[tuple[str, Branch]]:
    """Yield the branch of each task of a passage; raises `ValueError` as `written_passages` does.

    >>> asked = {"decide": [["Is it open on Mondays?", "no"]], "read": [["When is it open?", "10 to 4"]]}
    >>> mill = {"title": "The mill", "text": "Open 10 to 4, not on Mondays", "about": "mill", **asked}
    >>> [(task, branch.leaves[0].target) for task, branch in branches_of(mill, "mill.jsonl:1")]
    [('decide', 'no'), ('read', '10 to 4\\nmill')]
    """
    title, text = passage["title"], passage["text"]
    about = named_in(passage["about"], f"{title} {text}")
    if unknown := {reply for _, reply in passage["decide"]} - set(CHOICES["decide"]):
        raise ValueError(f"{name}: no reply of yes or no: {', '.join(sorted(unknown))}")
    if absent := [answer for _, answer in passage["read"] if answer not in text]:
        raise ValueError(f"{name}: the text does not have: {', '.join(absent)}")
    yield (
        "decide",
        Branch(passage_text(text, title), tuple(decision_leaf(*pair) for pair in passage["decide"])),
    )
    leaves = tuple(
        question_leaf(question, answer, "passage" if answer else "passage/unknown", about)
        for question, answer in passage["read"]
    )
    yield "read", Branch(passage_text(text, title), leaves)
