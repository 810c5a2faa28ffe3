"""Medical questions: PubMedQA, MedQA, MedMCQA and MIRAGE, the data of AC-RAG's table 1."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from disputatio.errors import InputError
from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.formats.menus import DECISIONS, menu, options_of, with_options
from disputatio.eval.data.rows import Place, get_required, list_field, read_text, scalar_text, string
from disputatio.text import content_id
from disputatio.types import Example, Passage

TEST_IDS = "test_ground_truth.json"  # the 500 test ids of PubMedQA, as published beside its rows
_OPTIONS = ("opa", "opb", "opc", "opd")  # of MedMCQA


def mirage(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of MIRAGE (Xiong et al. 2024); `set` and `id` are the keys that it stands under.

    The sets of the file (medqa, medmcqa, pubmedqa, bioasq, mmlu) are the parts of the data set.
    """
    answer = string(row, "answer", place)
    return _chosen(
        row, place, options=get_required(row, "options", place), answer=answer, part=scalar_text(row, "set")
    )


def mirage_rows(whole: Any, path: Path) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the questions of a benchmark file with their names in messages, sets in the order of the file.

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


def medqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of MedQA (Jin et al. 2020); the letter is `answer_idx`, and `answer` its words."""
    example = _chosen(
        row,
        place,
        options=get_required(row, "options", place),
        answer=string(row, "answer_idx", place),
        part=scalar_text(row, "meta_info") or "all",
    )
    answer = string(row, "answer", place)
    if example.metadata["options"][example.metadata["right"]] != answer:
        raise place.wrong(f"answer_idx {row['answer_idx']!r} is not the option that answer says")
    return example


def medmcqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of MedMCQA (Pal et al. 2022); `cop` is the number of the right option.

    The published JSON counts it from 1, its copies in parquet from 0: `cop_base` tells. The labels of the
    test rows are not published (no `cop`, or -1): they are asked and unscored.
    """
    options = {
        letter: str(get_required(row, key, place)) for letter, key in zip("ABCD", _OPTIONS, strict=True)
    }
    choice = row.get("cop")
    if isinstance(choice, bool) or not isinstance(choice, int | None):
        raise place.wrong("cop must be a number")
    answer = ""
    if choice is not None and choice >= 0:
        base = place.facts.get("base")
        if base is None:
            raise place.wrong("no row of the file tells whether cop counts from 0 or from 1 (none is 0 or 4)")
        if not base <= choice < base + 4:
            raise place.wrong(f"cop {choice} is none of its four options")
        answer = "ABCD"[choice - base]
    return _chosen(row, place, options=options, answer=answer, part=scalar_text(row, "subject_name") or "all")


def cop_base(rows: Sequence[Mapping[str, Any]], _path: Path) -> dict[str, Any]:
    """Return 0 or 1, from which the rows of a MedMCQA file count options; empty if no row tells.

    >>> cop_base([{"cop": 1}, {"cop": 4}], Path()), cop_base([{"cop": 2}, {"cop": 0}], Path())
    ({'base': 1}, {'base': 0})
    """
    seen = {cop for row in rows if isinstance(cop := row.get("cop"), int) and not isinstance(cop, bool)}
    return {"base": 0} if 0 in seen else {"base": 1} if 4 in seen else {}


def _chosen(row: Mapping[str, Any], place: Place, *, options: Any, answer: str, part: str) -> Example:
    """Return a question with lettered options, of which `answer` is the letter of the right one."""
    named = options_of(options, place, "options")
    if answer and answer not in named:
        raise place.wrong(f"answer {answer!r} is none of its options {', '.join(named)}")
    right = list(named).index(answer) if answer else None
    return place.example(
        row,
        **menu(string(row, "question", place), list(named.values()), right),
        part=part,
        id=scalar_text(row, "id"),
        answer=answer,
        right=right,
        strata={"set": part},
    )


def pubmedqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of PubMedQA's labelled part (Jin et al. 2019), answered by yes, no or maybe.

    Its passage is the abstract without its conclusion, which would give the answer away. The parts are
    `test` (the ids in test_ground_truth.json beside the file) and `train` (the others).
    """
    fields = _normalise(row)
    decision = string(fields, "final_decision", place)
    if decision not in DECISIONS:
        raise place.wrong(f"final_decision {decision!r} is none of {', '.join(DECISIONS)}")
    pmid = string(fields, "pmid", place)
    contexts = list_field(fields, "contexts", str, place)
    labels = list_field(fields, "labels", str, place) if "labels" in fields else []
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
    return place.example(
        row,
        with_options(string(fields, "question", place), DECISIONS),
        gold=(decision,),
        wrong=tuple(other for other in DECISIONS if other != decision),
        passages=(
            Passage(
                text=abstract,
                source=source,
                id=content_id("p", source, abstract),
                url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
                date=scalar_text(fields, "year"),
            ),
        )
        if abstract.strip()
        else (),
        part=part,
        id=pmid,
        document=pmid,
        options=DECISIONS,
        strata={"decision": decision},
    )


def _normalise(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with lower-case keys and a `pmid`, whichever form of the data it is from."""
    fields = {key.lower(): value for key, value in row.items()}
    context = fields.get("context")
    if isinstance(context, Mapping):
        fields |= {key: context[key] for key in ("contexts", "labels") if key in context}
    for key in ("pubid", "id"):
        if "pmid" not in fields and fields.get(key):
            fields["pmid"] = str(fields[key])
    return fields


def _test_ids(path: Path) -> Mapping[str, str] | None:
    """Return the decisions of the test ids, None without the file; raises `InputError`."""
    if not path.is_file():
        return None
    status = path.stat()
    return _read_ids(path, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=4)
def _read_ids(path: Path, _changed: int, _size: int) -> Mapping[str, str]:
    try:
        decisions = json.loads(read_text(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    if not isinstance(decisions, dict) or not all(decision in DECISIONS for decision in decisions.values()):
        raise InputError(f"{path}: not an object of ids with yes, no or maybe")
    return decisions


_BY_CHOICE = "accuracy: the option picked, by its letter or its words"
FORMATS = (
    DatasetFormat(
        name="medmcqa",
        description="Indian medical entrance exams, four options (MedMCQA)",
        origin="Pal et al. 2022, arXiv:2203.14371; github.com/medmcqa/medmcqa",
        licence="MIT (LICENSE.md; its README says Apache-2.0)",
        shape="JSON lines (dev.json) or parquet",
        fields="question, opa, opb, opc, opd, cop, subject_name, topic_name, id, exp",
        measure=_BY_CHOICE,
        metrics=("choice",),
        loader=medmcqa,
        shapes=(("question", *_OPTIONS),),
        passages=False,
        parted=True,
        gather=cop_base,
        files=("dev.json", "data/validation-*.parquet"),
    ),
    DatasetFormat(
        name="medqa",
        description="medical licensing exams, four or five options (MedQA)",
        origin="Jin et al. 2020, arXiv:2009.13081; github.com/jind11/MedQA",
        licence="MIT",
        shape="JSON lines (US/test.jsonl, 4_options/*.jsonl) or parquet",
        fields="question, options{letter: text}, answer_idx, answer, meta_info",
        measure=_BY_CHOICE,
        metrics=("choice",),
        loader=medqa,
        shapes=(("question", "options", "answer_idx", "answer"),),
        passages=False,
        parted=True,
        files=("test.jsonl", "phrases_no_exclude_test.jsonl"),
    ),
    DatasetFormat(
        name="mirage",
        description="medical questions with options from five sets (MIRAGE)",
        origin="Xiong et al. 2024, arXiv:2402.13178; github.com/Teddy-XiongGZ/MIRAGE",
        licence="MIT parts; BioASQ has its own terms",
        shape="one JSON object (benchmark.json)",
        fields="{set: {id: {question, options{letter: text}, answer}}}, one file; the sets are parts",
        measure=_BY_CHOICE,
        metrics=("choice",),
        loader=mirage,
        shapes=(("question", "options", "answer", "set"),),
        passages=False,
        parted=True,
        whole=mirage_rows,
        files=("benchmark.json",),
    ),
    DatasetFormat(
        name="pubmedqa",
        description="abstracts and questions that yes, no or maybe answers (PubMedQA)",
        origin="Jin et al. 2019, arXiv:1909.06146; github.com/pubmedqa/pubmedqa",
        licence="MIT",
        shape="one JSON object by ids (ori_pqal.json), JSON lines or parquet",
        fields="pmid, question, contexts[], labels[], final_decision, year (or QUESTION, CONTEXTS, ... under "
        f"their pmids); parts test and train by {TEST_IDS} beside the file",
        measure="accuracy: yes, no or maybe",
        metrics=("choice",),
        loader=pubmedqa,
        shapes=(
            ("pmid", "question", "contexts", "final_decision"),
            ("QUESTION", "CONTEXTS", "final_decision"),
            ("pubid", "question", "context", "final_decision"),
        ),
        parted=True,
        files=("ori_pqal.json*", "data/ori_pqal.json", "pqa_labeled/*.parquet"),
        beside=(TEST_IDS,),
    ),
)
