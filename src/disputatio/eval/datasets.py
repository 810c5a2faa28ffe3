"""Data sets by name: each loader reads one published file format, in place.

`load("ramdocs:path/to/file.jsonl")` gives examples in the order of the file; `#PART` behind the path
keeps one part of a data set that has parts, as `mirage:benchmark.json#medqa`. An example's `row` is its
number in the file, from 0; its `metadata["dataset"]` is the loader's and the file's name. What a data
set knows about a passage (its type, the answer it bears) stays in `Example.metadata`, where no strategy
sees it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, UnknownName
from disputatio.eval.formats.attributed import datamorgana, expertqa, judged_answers
from disputatio.eval.formats.conflicting import ramdocs
from disputatio.eval.formats.medical import TEST_IDS, mirage, mirage_rows, pubmedqa
from disputatio.eval.formats.own import jsonl, multisource
from disputatio.eval.formats.retrieving import retrievalqa
from disputatio.eval.metrics import answer_set
from disputatio.eval.rows import Place, read_text
from disputatio.types import Example

Loader = Callable[[Mapping[str, Any], Place], Example]
Rows = Iterable[tuple[str, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A data set's file format: who reads it, the fields of a row, the metrics it defines.

    `keys` are the fields that every row has. `parted` where its rows belong to parts. `judged` where only
    a judge can score its answers. `whole` takes the rows out of a file that is one JSON value. `beside`
    names a file in the same folder that is read too, if it is there.
    """

    name: str
    description: str
    fields: str
    metrics: tuple[str, ...]
    loader: Loader
    keys: tuple[str, ...]
    parted: bool = False
    judged: bool = False
    whole: Callable[[Any, Path], Rows] | None = None
    beside: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which file a data set is: `name` as tables call it, and SHA-256 of its bytes."""

    name: str
    sha256: str
    metrics: tuple[str, ...]
    judged: bool = False


def datasets() -> tuple[Format, ...]:
    """Every data-set format, by name."""
    return tuple(_FORMATS.values())


def load(spec: str, *, limit: int | None = None, rows: Path | None = None) -> list[Example]:
    """The examples of `NAME:PATH` or `NAME:PATH#PART`, in the order of the file.

    `rows` is a file of row numbers from 0, one a line, whose order is kept; `limit` keeps the first
    so many. Raises `UnknownName` for the name or the part, and `InputError` naming file and row for a
    file that cannot be read, a row that is not what the format promises, or a row that is not there.
    """
    form, path, part = _split(spec)
    wanted = None if rows is None else _row_numbers(rows)
    if limit is not None and limit < 1:
        raise InputError(f"a limit of {limit} leaves no rows")
    examples: dict[int, Example] = {}
    parts: set[str] = set()
    for row, name, read in _rows(form, path):
        if wanted is None and limit is not None and len(examples) == limit:
            break
        if wanted is None or row in wanted:
            place = Place(dataset=_label(form, path, part), path=path, row=row, name=name)
            example = _example(form, read, place)
            parts.add(str(example.metadata.get("part", "")))
            if not part or example.metadata.get("part") == part:
                examples[row] = example
    if part and parts and part not in parts:
        raise UnknownName(f"part of {path}", part, parts)
    for row, at in (wanted or {}).items():
        if row not in examples:
            what = f"part {part} of {path}" if part else str(path)
            raise InputError(f"{rows}:{at}: {what} has no row {row} (rows count from 0)")
    if not examples:
        raise InputError(f"{path}: no rows")
    ordered = list(examples) if wanted is None else list(wanted)
    return [examples[row] for row in ordered[:limit]]


def identify(spec: str) -> Identity:
    """Which file `NAME:PATH` is; raises as `load` does."""
    form, path, part = _split(spec)
    digest = hashlib.sha256()
    beside = path.parent / form.beside
    for one in [path, beside] if form.beside and beside.is_file() else [path]:
        try:
            with one.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise InputError(f"{one}: {error.strerror or error}") from error
    return Identity(
        name=_label(form, path, part), sha256=digest.hexdigest(), metrics=form.metrics, judged=form.judged
    )


def check(examples: Sequence[Example], *, searched: bool = False) -> list[str]:
    """What a reader of the scores should know about these rows; nothing is dropped for it.

    `searched` where an index is searched, so that a row needs no passages of its own.
    """
    notes = []
    both = [e.row for e in examples if set(answer_set(e.gold)) & set(answer_set(e.wrong))]
    if both:
        rows = ", ".join(map(str, both[:12])) + (", ..." if len(both) > 12 else "")
        notes.append(
            f"{len(both)} of {len(examples)} rows list an answer as both gold and wrong (rows {rows}): "
            "it counts as gold, and as wrong only under em_literal"
        )
    bare = sum(not e.passages for e in examples)
    if bare and not searched:
        notes.append(f"{bare} of {len(examples)} rows have no passages")
    return notes


_BY_ANSWER = ("em", "precision", "recall", "f1")
_FORMATS = {
    form.name: form
    for form in (
        Format(
            name="datamorgana",
            description="synthetic questions with their pages (DataMorgana; RAGentA, Besrour et al. 2025)",
            fields="question, answer, context[], document_ids[], question_*, user_*",
            metrics=(),
            loader=datamorgana,
            keys=("question", "answer", "context", "document_ids"),
            judged=True,
        ),
        Format(
            name="expertqa",
            description="claims with evidence and experts' judgements (ExpertQA, Malaviya et al. 2024)",
            fields="question, claim, evidence[], support, reliability, correctness, split, ...",
            metrics=(),
            loader=expertqa,
            keys=("question", "claim", "evidence", "support"),
            parted=True,
            judged=True,
        ),
        Format(
            name="jsonl",
            description="our plain format: a question, its answers and its passages on each line",
            fields="question, gold[], wrong[]?, passages[{text, source?, id?, title?, url?, date?}], "
            "categories{}?",
            metrics=(*_BY_ANSWER, "accuracy"),
            loader=jsonl,
            keys=("question", "gold", "passages"),
        ),
        Format(
            name="judged_answers",
            description="answers of two systems with a 70B judge's grades (RAGentA, Besrour et al. 2025)",
            fields="question, generated_answer, ground_truth_answer, correctness_score, faithfulness_score, "
            "system",
            metrics=(),
            loader=judged_answers,
            keys=("question", "generated_answer", "ground_truth_answer", "correctness_score"),
            parted=True,
            judged=True,
        ),
        Format(
            name="mirage",
            description="medical questions with options from five sets (MIRAGE, Xiong et al. 2024)",
            fields="{set: {id: {question, options{letter: text}, answer}}}, one file; the sets are parts",
            metrics=("choice",),
            loader=mirage,
            keys=("question", "options", "answer"),
            parted=True,
            whole=mirage_rows,
        ),
        Format(
            name="multisource",
            description="sources of known reliability on one question (RA-RAG, Hwang et al. 2024)",
            fields="id, question, gold[], wrong[], split, passages[{text, source, type, answer, metadata}]",
            metrics=("accuracy",),
            loader=multisource,
            keys=("id", "question", "gold", "passages", "split"),
        ),
        Format(
            name="pubmedqa",
            description="abstracts and questions that yes, no or maybe answers (PubMedQA, Jin et al. 2019)",
            fields="pmid, question, contexts[], labels[], final_decision, year; parts test and train by "
            f"{TEST_IDS} beside the file",
            metrics=("choice",),
            loader=pubmedqa,
            keys=("pmid", "question", "contexts", "final_decision"),
            parted=True,
            beside=TEST_IDS,
        ),
        Format(
            name="ramdocs",
            description="RAMDocs (MADAM-RAG, Wang et al. 2025): ambiguity, misinformation and noise at once",
            fields="question, documents[{text, type, answer}], disambig_entity, gold_answers, wrong_answers",
            metrics=_BY_ANSWER,
            loader=ramdocs,
            keys=("question", "documents", "gold_answers"),
        ),
        Format(
            name="retrievalqa",
            description="questions that need retrieval (RetrievalQA, Zhang et al. 2024)",
            fields="question, question_id, data_source, ground_truth[], context[{title?, text} or text]",
            metrics=("accuracy",),
            loader=retrievalqa,
            keys=("question", "data_source", "ground_truth", "context"),
            parted=True,
        ),
    )
}


# --- reading ------------------------------------------------------------------------------------
def _split(spec: str) -> tuple[Format, Path, str]:
    """The format, the file and the part that `NAME:PATH#PART` names."""
    name, colon, path = spec.partition(":")
    if name not in _FORMATS:
        raise UnknownName("data set", name, _FORMATS)
    if not colon or not path:
        raise InputError(f"{spec}: say which file, as in {name}:PATH")
    form = _FORMATS[name]
    file, sign, part = path.rpartition("#")
    if not sign or not part or Path(path).exists():
        return form, Path(path), ""
    if not form.parted:
        raise InputError(f"{spec}: {name} has no parts, so leave out #{part}")
    return form, Path(file), part


def _label(form: Format, path: Path, part: str) -> str:
    return f"{form.name}:{path.name}" + (f"#{part}" if part else "")


def _rows(form: Format, path: Path) -> Iterable[tuple[int, str, Mapping[str, Any]]]:
    """The rows of a file with their numbers, and their names where it is not a file of lines."""
    text = read_text(path)
    if form.whole is None:
        for row, line in enumerate(text.split("\n")):
            if line.strip():
                yield row, "", _parse(line, Place(dataset=form.name, path=path, row=row), form)
        return
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not one JSON value: {error}{_hint(_first(text), path, form)}") from error
    if isinstance(whole, dict) and (hint := _hint(whole, path, form)):
        raise InputError(f"{path}: not what {form.name} reads{hint}")
    for row, (name, read) in enumerate(form.whole(whole, path)):
        yield row, name, read


def _example(form: Format, row: Mapping[str, Any], place: Place) -> Example:
    """A row as the loader reads it; where it has another's fields, the error says whose."""
    lacking = [key for key in form.keys if key not in row]
    if lacking and (hint := _hint(row, place.path, form)):
        raise place.wrong(f"the field {lacking[0]} is missing{hint}")
    return form.loader(row, place)


def _hint(row: object, path: Path, form: Format) -> str:
    """Which other loader would read a row, in words to stand behind an error; empty where none would."""
    if not isinstance(row, Mapping):
        return ""
    fits = [
        one
        for one in _FORMATS.values()
        if one is not form and all(key in row for key in one.keys) and one.whole is None
    ]
    inner = next(iter(row.values()), None)
    if isinstance(inner, Mapping) and (nested := next(iter(inner.values()), None)):
        fits += [
            one
            for one in _FORMATS.values()
            if one is not form
            and one.whole is not None
            and isinstance(nested, Mapping)
            and all(key in nested for key in one.keys)
        ]
    if not fits:
        return ""
    best = max(fits, key=lambda one: len(one.keys))
    return f"; its fields are those of {best.name}: try {best.name}:{path}"


def _first(text: str) -> object:
    """The first line as JSON, None where it is none."""
    try:
        return json.loads(text.lstrip().partition("\n")[0])
    except (ValueError, RecursionError):
        return None


def _parse(line: str, place: Place, form: Format) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        hint = ""
        if line.lstrip() in ("{", "["):
            hint = f"; {form.name} has one JSON object on each line, and mirage one JSON file"
        raise place.wrong(f"not JSON: {error}{hint}") from error
    if not isinstance(row, dict):
        raise place.wrong("not a JSON object")
    return row


def _row_numbers(path: Path) -> dict[int, int]:
    """Row numbers in the order of the file, each with the line (from 1) that names it."""
    numbers: dict[int, int] = {}
    for at, line in enumerate(read_text(path).split("\n"), 1):
        word = line.strip()
        if not word:
            continue
        if not (word.isascii() and word.isdigit()):
            raise InputError(f"{path}:{at}: {word[:40]!r} is not a row number")
        if int(word) in numbers:
            raise InputError(f"{path}:{at}: row {word} stands twice, first on line {numbers[int(word)]}")
        numbers[int(word)] = at
    if not numbers:
        raise InputError(f"{path}: no row numbers")
    return numbers
