"""Data sets by name: each loader reads one published file format, in place.

`load("ramdocs:path/to/file.jsonl")` gives examples in the order of the file. An example's `row` is
the number of its line, from 0; its `metadata["dataset"]` is the loader's and the file's name. What
a data set knows about a passage (its type, the answer it bears) stays in `Example.metadata`, where
no strategy sees it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, UnknownName
from disputatio.eval.metrics import answer_set
from disputatio.text import content_id, normalise
from disputatio.types import Example, Passage

Loader = Callable[[Mapping[str, Any], "Place"], Example]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a row stands: the file and its line number from 0. Errors count lines from 1.

    `dataset` is what tables call the data set: `ramdocs:dev.jsonl`.
    """

    dataset: str
    path: Path
    row: int

    def wrong(self, reason: str) -> InputError:
        """The error that names this place."""
        return InputError(f"{self.path}:{self.row + 1}: {reason}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A data set's file format: who reads it, the fields of a row, the metrics it defines."""

    name: str
    description: str
    fields: str
    metrics: tuple[str, ...]
    loader: Loader


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Which file a data set is: `name` as tables call it, and SHA-256 of its bytes."""

    name: str
    sha256: str
    metrics: tuple[str, ...]


def datasets() -> tuple[Format, ...]:
    """Every data-set format, by name."""
    return tuple(_FORMATS.values())


def load(spec: str, *, limit: int | None = None, rows: Path | None = None) -> list[Example]:
    """The examples of `NAME:PATH`, in the order of the file.

    `rows` is a file of row numbers from 0, one a line, whose order is kept; `limit` keeps the first
    so many. Raises `UnknownName` for the name, and `InputError` naming file and line for a file
    that cannot be read, a row that is not what the format promises, or a row that is not there.
    """
    form, path = _split(spec)
    wanted = None if rows is None else _row_numbers(rows)
    if limit is not None and limit < 1:
        raise InputError(f"a limit of {limit} leaves no rows")
    examples: dict[int, Example] = {}
    for row, line in enumerate(_read(path).split("\n")):
        if not line.strip():
            continue
        if wanted is None and limit is not None and len(examples) == limit:
            break
        if wanted is None or row in wanted:
            place = Place(dataset=_label(form, path), path=path, row=row)
            examples[row] = form.loader(_parse(line, place), place)
    for row, at in (wanted or {}).items():
        if row not in examples:
            raise InputError(f"{rows}:{at}: {path} has no row {row} (rows count from 0)")
    if not examples:
        raise InputError(f"{path}: no rows")
    ordered = list(examples) if wanted is None else list(wanted)
    return [examples[row] for row in ordered[:limit]]


def identify(spec: str) -> Identity:
    """Which file `NAME:PATH` is; raises as `load` does."""
    form, path = _split(spec)
    digest = hashlib.sha256()
    try:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    return Identity(name=_label(form, path), sha256=digest.hexdigest(), metrics=form.metrics)


def check(examples: Sequence[Example]) -> list[str]:
    """What a reader of the scores should know about these rows; nothing is dropped for it."""
    notes = []
    both = [e.row for e in examples if set(answer_set(e.gold)) & set(answer_set(e.wrong))]
    if both:
        rows = ", ".join(map(str, both[:12])) + (", ..." if len(both) > 12 else "")
        notes.append(
            f"{len(both)} of {len(examples)} rows list an answer as both gold and wrong (rows {rows}): "
            "it counts as gold, and as wrong only under em_literal"
        )
    bare = sum(not e.passages for e in examples)
    if bare:
        notes.append(f"{bare} of {len(examples)} rows have no passages")
    return notes


# --- the loaders --------------------------------------------------------------------------------
def ramdocs(row: Mapping[str, Any], place: Place) -> Example:
    """A row of RAMDocs (Wang et al. 2025): question, documents, gold and wrong answers.

    The data names no sources, so the documents of a row are doc1, doc2, ... A document's `type`
    (correct, misinfo, noise) and `answer` go to the example's metadata alone.
    """
    documents = _items(row, "documents", dict, place)
    passages = []
    for number, document in enumerate(documents, 1):
        at = f"documents[{number - 1}]."
        for key in ("type", "answer"):
            _string(document, key, place, at)
        text = _string(document, "text", place, at)
        source = f"doc{number}"
        passages.append(Passage(text=text, source=source, id=content_id("p", source, text)))
    types = tuple(document["type"] for document in documents)
    gold = _answers(row, "gold_answers", place)
    return Example(
        id=_example_id(row, place),
        row=place.row,
        question=_string(row, "question", place),
        gold=gold,
        wrong=_answers(row, "wrong_answers", place, needed=False),
        passages=tuple(passages),
        metadata={
            "dataset": place.dataset,
            "types": types,
            "answers": tuple(document["answer"] for document in documents),
            "entities": tuple(_items(row, "disambig_entity", str, place)) if "disambig_entity" in row else (),
            "strata": {
                "gold answers": str(len(answer_set(gold))),
                "misinformation": "with" if "misinfo" in types else "without",
            },
        },
    )


def jsonl(row: Mapping[str, Any], place: Place) -> Example:
    """A row of our own plain format: {"question", "gold": [...], "wrong"?: [...], "passages": [...]}.

    A passage is {"text", "source"?, "id"?, "title"?, "url"?, "date"?}; without a source it is its own.
    """
    passages: list[Passage] = []
    texts: dict[str, str] = {}
    for number, passage in enumerate(_items(row, "passages", dict, place), 1):
        at = f"passages[{number - 1}]."
        text = _string(passage, "text", place, at)
        known = {
            key: _string(passage, key, place, at)
            for key in ("source", "id", "title", "url", "date")
            if passage.get(key) not in (None, "")
        }
        source = known.get("source", f"doc{number}")
        name = known.get("id", content_id("p", source, text))
        if texts.setdefault(name, text) != text:
            raise place.wrong(f"{at}id {name!r} stands for another text already")
        passages.append(
            Passage(
                text=text,
                source=source,
                id=name,
                title=known.get("title", ""),
                url=known.get("url", ""),
                date=known.get("date", ""),
            )
        )
    gold = _answers(row, "gold", place)
    return Example(
        id=_example_id(row, place),
        row=place.row,
        question=_string(row, "question", place),
        gold=gold,
        wrong=_answers(row, "wrong", place, needed=False) if "wrong" in row else (),
        passages=tuple(passages),
        metadata={"dataset": place.dataset, "strata": {"gold answers": str(len(answer_set(gold)))}},
    )


def multisource(row: Mapping[str, Any], place: Place) -> Example:
    """A row of the multi-source benchmark, as `disputatio eval build multisource` writes it.

    As `jsonl`, and each passage has a source, a `type` and the `answer` it bears, which go to the
    example's metadata, and metadata of its own (the true reliability that weights=oracle reads).
    """
    plain = jsonl(row, place)
    documents = _items(row, "passages", dict, place)
    for number, document in enumerate(documents):
        _string(document, "type", place, f"passages[{number}].")
        _string(document, "source", place, f"passages[{number}].")
    split = _string(row, "split", place)
    return replace(
        plain,
        id=_string(row, "id", place),
        passages=tuple(
            replace(
                passage,
                owner=str(document.get("owner") or ""),
                metadata={str(key): str(value) for key, value in (document.get("metadata") or {}).items()},
            )
            for passage, document in zip(plain.passages, documents, strict=True)
        ),
        metadata={
            "dataset": place.dataset,
            "types": tuple(document["type"] for document in documents),
            "answers": tuple(str(document.get("answer") or "") for document in documents),
            "split": split,
            "strata": {"split": split},
        },
    )


_BY_ANSWER = ("em", "precision", "recall", "f1")
_FORMATS = {
    form.name: form
    for form in (
        Format(
            name="jsonl",
            description="our plain format: a question, its answers and its passages on each line",
            fields="question, gold[], wrong[]?, passages[{text, source?, id?, title?, url?, date?}]",
            metrics=(*_BY_ANSWER, "accuracy"),
            loader=jsonl,
        ),
        Format(
            name="multisource",
            description="sources of known reliability on one question (RA-RAG, Hwang et al. 2024)",
            fields="id, question, gold[], wrong[], split, passages[{text, source, type, answer, metadata}]",
            metrics=("accuracy",),
            loader=multisource,
        ),
        Format(
            name="ramdocs",
            description="RAMDocs (MADAM-RAG, Wang et al. 2025): ambiguity, misinformation and noise at once",
            fields="question, documents[{text, type, answer}], disambig_entity, gold_answers, wrong_answers",
            metrics=_BY_ANSWER,
            loader=ramdocs,
        ),
    )
}


# --- reading ------------------------------------------------------------------------------------
def _split(spec: str) -> tuple[Format, Path]:
    name, colon, path = spec.partition(":")
    if name not in _FORMATS:
        raise UnknownName("data set", name, _FORMATS)
    if not colon or not path:
        raise InputError(f"{spec}: say which file, as in {name}:PATH")
    return _FORMATS[name], Path(path)


def _label(form: Format, path: Path) -> str:
    return f"{form.name}:{path.name}"


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 text (byte {error.start})") from error


def _parse(line: str, place: Place) -> Mapping[str, Any]:
    try:
        row = json.loads(line)
    except (json.JSONDecodeError, RecursionError) as error:
        raise place.wrong(f"not JSON: {error}") from error
    if not isinstance(row, dict):
        raise place.wrong("not a JSON object")
    return row


def _row_numbers(path: Path) -> dict[int, int]:
    """Row numbers in the order of the file, each with the line (from 1) that names it."""
    numbers: dict[int, int] = {}
    for at, line in enumerate(_read(path).split("\n"), 1):
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


def _string(row: Mapping[str, Any], key: str, place: Place, at: str = "") -> str:
    value = _value(row, key, place, at)
    if not isinstance(value, str) or not value.strip():
        raise place.wrong(f"{at}{key} must be text, and not empty")
    return value


def _items(row: Mapping[str, Any], key: str, kind: type, place: Place) -> list[Any]:
    value = _value(row, key, place)
    if not isinstance(value, list) or not all(isinstance(item, kind) for item in value):
        raise place.wrong(f"{key} must be a list of {'objects' if kind is dict else 'texts'}")
    return value


def _value(row: Mapping[str, Any], key: str, place: Place, at: str = "") -> Any:
    if key not in row:
        raise place.wrong(f"the field {at}{key} is missing")
    return row[key]


def _answers(row: Mapping[str, Any], key: str, place: Place, *, needed: bool = True) -> tuple[str, ...]:
    """The answers of a list, each once (as they compare), in order."""
    unique: dict[str, str] = {}
    for value in _items(row, key, str, place):
        unique.setdefault(normalise(value), value)
    unique.pop("", None)
    if needed and not unique:
        raise place.wrong(f"{key} holds no answer")
    return tuple(unique.values())


def _example_id(row: Mapping[str, Any], place: Place) -> str:
    return content_id("x", place.dataset, str(place.row), json.dumps(row, sort_keys=True))
