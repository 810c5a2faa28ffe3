"""Exams and tasks of a profession: MMLU's subjects, LegalBench's tasks."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.formats.menus import LETTERS, menu, options_of
from disputatio.eval.data.rows import Place, document, get_required, read_text, scalar_text, string
from disputatio.types import Example

_SPLIT = re.compile(r"_(?:test|dev|val|validation|train)$")
_LETTERS = ("A", "B", "C", "D")
_MOST_OPTIONS = 10
PROMPT = "base_prompt.txt"  # of a task of LegalBench: how it asks, with {{column}} where a row's text goes
_SLOT = re.compile(r"\{\{\s*+(?P<column>[^{}\s](?:[^{}]*[^{}\s])?)\s*+\}\}")
TASKS = "tasks.jsonl"  # beside example rows of all tasks: instruction, description and reasoning of each
KINDS = {
    "Issue-spotting": "issue", "Rule-recall": "rule", "Rule-application/Rule-conclusion": "conclusion",
    "Application/conclusion": "conclusion", "Interpretation": "interpretation",
    "Rhetorical-analysis": "rhetorical",
}  # fmt: skip
"""The kinds of legal reasoning as AC-RAG (Zhang et al. 2025, A.3.2) puts them together."""
_OPTION = re.compile(r"^[ \t]*Option (?P<letter>[A-J]):[ \t]*(?P<text>\S.*)$", re.MULTILINE)
_FREE = re.compile("extraction|generation", re.IGNORECASE)  # types of tasks whose answers are no options
_APART = frozenset({"index", "answer", "slice", "question", "id"})  # columns that are no text to read


def mmlu(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of MMLU (Hendrycks et al. 2021); its subjects are the parts.

    The subject is the row's, or that of the file's name (anatomy_test.csv).
    """
    choices = (
        row["choices"] if "choices" in row else [get_required(row, letter, place) for letter in _LETTERS]
    )
    options = list(options_of(choices, place, "choices").values())
    answer = get_required(row, "answer", place)
    if isinstance(answer, str) and answer.strip() in LETTERS[: len(options)] and answer.strip():
        right = LETTERS.index(answer.strip())
    elif isinstance(answer, int | str) and str(answer).isdigit() and int(answer) < len(options):
        right = int(answer)
    else:
        raise place.wrong(f"answer {answer!r} is none of its {len(options)} options")
    subject = scalar_text(row, "subject") or _SPLIT.sub("", place.path.name.partition(".")[0])
    return place.example(
        row,
        **menu(string(row, "question", place), options, right),
        part=subject,
        strata={"subject": subject},
    )


def legalbench(row: Mapping[str, Any], place: Place) -> Example:
    """Return a row of a task of LegalBench (Guha et al. 2023), in the folder of the task.

    Where it has a question, its other columns are the passages (a contract, a policy). Where it has none,
    it is asked as base_prompt.txt beside it asks, or by the task's name. The answers that occur in its
    file are the options, if they are ten or fewer. The parts are the files: test, which is meant, and train.
    """
    texts = {key: string(row, key, place) for key in row if key not in _APART and str(row[key] or "").strip()}
    prompt = str(place.facts.get("prompt", ""))
    if row.get("question"):
        question = string(row, "question", place)
    elif prompt:
        question = _SLOT.sub(lambda slot: texts.get(slot["column"], slot[0]), prompt)
        texts = {}
    else:
        task = place.path.parent.name.replace("_", " ")
        question, texts = "\n".join([f"{task}:", *texts.values()]), {}
    answer = string(row, "answer", place)
    options = [option for option in place.facts.get("options", ()) if option]
    part = place.path.name.partition(".")[0]
    return place.example(
        row,
        **_build_question(question, options, answer, answer),
        passages=tuple(document(number, text) for number, text in enumerate(texts.values(), 1)),
        part=part,
        id=f"{part} {scalar_text(row, 'index')}" if scalar_text(row, "index") else "",
        strata={"answer": answer} if answer in options else {},
    )


def _build_question(question: str, options: Sequence[str], right: str, answer: str) -> dict[str, Any]:
    """Return a question with its options, or as a free one where the right answer is none of them."""
    if right in options:
        return menu(question, options, options.index(right))
    return {"question": question, "gold": (answer,)}


def legalbench_examples(row: Mapping[str, Any], place: Place) -> Example:
    """Return one of LegalBench's published example rows, with what its task says.

    The options are those that the instruction letters, else the answers that occur in the file for a task of
    classes, if they are ten or fewer. The parts are the five kinds of legal reasoning.
    """
    name, fields = string(row, "task", place), get_required(row, "fields", place)
    if not isinstance(fields, Mapping):
        raise place.wrong("fields must be an object")
    task = place.facts.get("tasks", {}).get(name, {})
    texts = {
        key: scalar_text(fields, key) for key in fields if key not in {"index", "slice", "document_name"}
    }
    instruction, description = scalar_text(task, "instruction"), scalar_text(task, "description")
    lettered = {match["letter"]: match["text"].strip() for match in _OPTION.finditer(instruction)}
    head = _SLOT.sub(lambda slot: texts.pop(slot["column"], ""), _OPTION.sub("", instruction)).strip()
    heads = [head] if description in head else [head, description]
    question = "\n".join(part for part in (*heads, *texts.values()) if part)
    answer = string(row, "answer", place)
    options = list(lettered.values()) or place.facts.get("answers", {}).get(name, ())
    right = lettered.get(answer.strip(), answer.strip())
    kind = KINDS.get(scalar_text(task, "reasoning"), "other")
    asked = _build_question(question, options, right, answer)
    return place.example(row, **asked, part=kind, strata={"reasoning": kind}, task=name)


def tasks_of(rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, Any]:
    """Return the tasks by name from the file beside, and the answers that occur for each task of classes."""
    answers: dict[str, set[str]] = {}
    for row in rows:
        answers.setdefault(scalar_text(row, "task"), set()).add(scalar_text(row, "answer"))
    beside, tasks = path.parent / TASKS, {}
    for number, line in enumerate(read_text(beside).split("\n") if beside.is_file() else (), 1):
        try:
            task = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError) as error:
            raise InputError(f"{beside}:{number}: not JSON: {error}") from error
        if isinstance(task, dict) and task:
            tasks[scalar_text(task, "task")] = task
    return {
        "tasks": tasks,
        "answers": {
            name: tuple(sorted(some - {""}))
            for name, some in answers.items()
            if 2 <= len(some - {""}) <= _MOST_OPTIONS
            and not _FREE.search(scalar_text(tasks.get(name, {}), "type"))
        },
    }


def task_of(rows: Sequence[Mapping[str, Any]], path: Path) -> dict[str, Any]:
    """Return the possible answers of a LegalBench task by its file, in alphabetical order, and its prompt."""
    answers = sorted({str(row.get("answer") or "").strip() for row in rows} - {""})
    prompt = path.parent / PROMPT
    return {
        "options": tuple(answers) if 2 <= len(answers) <= _MOST_OPTIONS else (),
        "prompt": read_text(prompt) if prompt.is_file() else "",
    }


FORMATS = (
    DatasetFormat(
        name="legalbench",
        description="a task of legal reasoning (LegalBench)",
        origin="Guha et al. 2023, arXiv:2308.11462; github.com/HazyResearch/legalbench, "
        "huggingface.co/datasets/nguha/legalbench",
        licence="by task, as its README says (most CC BY 4.0)",
        shape=f"the folder of a task: test.tsv, train.tsv, {PROMPT}; or one such table",
        fields="index, answer, and text, question, contract, ... by task; the files are parts",
        measure="accuracy: the option picked; of a free task: the answer's words stand in the answer",
        metrics=("accuracy",),
        loader=legalbench,
        shapes=(("index", "answer", "text"), ("index", "answer", "question"), ("index", "answer")),
        parted=True,
        gather=task_of,
        files=("test.tsv", "train.tsv"),
        beside=(PROMPT,),
    ),
    DatasetFormat(
        name="legalbench_examples",
        description="example rows of all tasks of legal reasoning (LegalBench)",
        origin="Guha et al. 2023, arXiv:2308.11462; github.com/HazyResearch/legalbench",
        licence="by task, as its README says (most CC BY 4.0)",
        shape=f"JSON lines, and {TASKS} beside them",
        fields=f"task, fields{{}}, answer; in {TASKS}: task, instruction, description, type, reasoning; "
        "parts are issue, rule, conclusion, interpretation, rhetorical",
        measure="accuracy: the option picked, by its letter or its words",
        metrics=("choice",),
        loader=legalbench_examples,
        shapes=(("task", "fields", "answer"),),
        passages=False,
        parted=True,
        gather=tasks_of,
        files=("train_rows.jsonl",),
        beside=(TASKS,),
    ),
    DatasetFormat(
        name="mmlu",
        description="questions of exams with four options, by subject (MMLU)",
        origin="Hendrycks et al. 2021, arXiv:2009.03300; github.com/hendrycks/test, "
        "huggingface.co/datasets/cais/mmlu",
        licence="MIT",
        shape="tables without a head (test/SUBJECT_test.csv, one or a folder), JSON lines or parquet",
        fields="question, A, B, C, D, answer; or question, subject, choices[], answer (a number from 0); "
        "the subjects are parts",
        measure="accuracy: the option picked, by its letter or its words",
        metrics=("choice",),
        loader=mmlu,
        shapes=(("question", "choices", "answer"), ("question", *_LETTERS, "answer")),
        passages=False,
        parted=True,
        columns=("question", *_LETTERS, "answer"),
        files=("test/*_test.csv", "*_test.csv", "*/test-*.parquet", "test-*.parquet"),
    ),
)
