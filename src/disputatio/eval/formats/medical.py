"""Medical questions with options: MIRAGE and PubMedQA, the data of AC-RAG's table 1.

Options stand below the question, one a line, or behind it where they are yes, no and maybe. The gold
answer is an option with its letter, the wrong answers are the others: the metric `choice` reads either.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.rows import Place, example_id, items, read_text, string, value
from disputatio.text import content_id, one_line
from disputatio.types import Example, Passage

TEST_IDS = "test_ground_truth.json"  # the 500 test ids of PubMedQA, as published beside its rows
DECISIONS = ("yes", "no", "maybe")


def mirage(row: Mapping[str, Any], place: Place) -> Example:
    """A question of MIRAGE (Xiong et al. 2024); `set` and `id` are the keys that it stands under.

    The sets of the file (medqa, medmcqa, pubmedqa, bioasq, mmlu) are the parts of the data set.
    """
    options = value(row, "options", place)
    if not isinstance(options, dict) or len(options) < 2:
        raise place.wrong("options must be an object of two or more letters")
    for letter in options:
        string(options, letter, place, "options.")
    answer = string(row, "answer", place)
    if answer not in options:
        raise place.wrong(f"answer {answer!r} is none of its options {', '.join(options)}")
    question = string(row, "question", place)
    texts = [str(one) for one in options.values()]
    if {one.casefold() for one in texts} <= set(DECISIONS):
        asked = in_words(question, [one.casefold() for one in texts])
        named = {letter: str(one).casefold() for letter, one in options.items()}
    else:
        named = {letter: f"{letter}. {one_line(str(one))}" for letter, one in options.items()}
        asked = "\n".join([question.rstrip(), *named.values()])
    return Example(
        id=example_id(row, place),
        row=place.row,
        question=asked,
        gold=(named[answer],),
        wrong=tuple(one for letter, one in named.items() if letter != answer),
        metadata={
            "dataset": place.dataset,
            "part": row["set"],
            "id": row["id"],
            "answer": answer,
            "options": tuple(texts),
            "strata": {"set": row["set"]},
        },
    )


def mirage_rows(whole: Any, path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """The questions of a benchmark file with their names in messages, sets in the order of the file.

    Raises `InputError` where the file is not an object of sets of questions.
    """
    if not isinstance(whole, dict) or not all(isinstance(part, dict) for part in whole.values()):
        raise InputError(f"{path}: not an object that holds a set of questions under each name")
    rows: list[tuple[str, Mapping[str, Any]]] = []
    for part, questions in whole.items():
        for name, row in questions.items():
            if not isinstance(row, dict):
                raise InputError(f"{path}: {part} {name}: not a JSON object")
            rows.append((f"{part} {name}", {**row, "set": part, "id": name}))
    return rows


def pubmedqa(row: Mapping[str, Any], place: Place) -> Example:
    """A question of PubMedQA's labelled part (Jin et al. 2019), answered by yes, no or maybe.

    Its passage is the abstract without its conclusion, which would give the answer away. The parts are
    `test` (the ids in test_ground_truth.json beside the file) and `train` (the others).
    """
    decision = string(row, "final_decision", place)
    if decision not in DECISIONS:
        raise place.wrong(f"final_decision {decision!r} is none of {', '.join(DECISIONS)}")
    pmid = string(row, "pmid", place)
    contexts = items(row, "contexts", str, place)
    labels = items(row, "labels", str, place) if "labels" in row else []
    if len(labels) != len(contexts):
        labels = [""] * len(contexts)
    abstract = "\n".join(
        f"{label}: {text}" if label else text for label, text in zip(labels, contexts, strict=True)
    )
    source = f"pmid{pmid}"
    tests = _test_ids(place.path.parent / TEST_IDS)
    part = "unsplit" if tests is None else "test" if pmid in tests else "train"
    if tests and tests.get(pmid, decision) != decision:
        raise place.wrong(f"final_decision is {decision!r} here and {tests[pmid]!r} in {TEST_IDS}")
    return Example(
        id=example_id(row, place),
        row=place.row,
        question=in_words(string(row, "question", place), DECISIONS),
        gold=(decision,),
        wrong=tuple(one for one in DECISIONS if one != decision),
        passages=(
            Passage(
                text=abstract,
                source=source,
                id=content_id("p", source, abstract),
                url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
                date=str(row.get("year") or ""),
            ),
        )
        if abstract.strip()
        else (),
        metadata={
            "dataset": place.dataset,
            "part": part,
            "id": pmid,
            "options": DECISIONS,
            "strata": {"decision": decision},
        },
    )


def in_words(question: str, words: tuple[str, ...] | list[str]) -> str:
    """A question with the words that answer it behind it.

    >>> in_words("Does it help?", ("yes", "no"))
    'Does it help? (yes/no)'
    """
    return f"{one_line(question)} ({'/'.join(words)})"


def _test_ids(path: Path) -> Mapping[str, str] | None:
    """The decisions of the test ids, None without the file; raises `InputError` where it is another."""
    if not path.is_file():
        return None
    found = path.stat()
    return _read_ids(path, found.st_mtime_ns, found.st_size)


@lru_cache(maxsize=4)
def _read_ids(path: Path, _changed: int, _size: int) -> Mapping[str, str]:
    try:
        found = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(found, dict) or not all(one in DECISIONS for one in found.values()):
        raise InputError(f"{path}: not an object of ids with yes, no or maybe")
    return found
