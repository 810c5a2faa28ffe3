"""An evaluation of the multi-source benchmark estimates on its own questions and asks only the others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.builders.multisource import build, write
from disputatio.eval.estimating import FILE
from disputatio.eval.evaluate import evaluate
from disputatio.eval.reporting.paper_tables import REFUSED, markdown, paper_tables
from disputatio.eval.running.run_log import read_journal
from disputatio.llm.scripted import Scripted
from tests.eval.material import material


class Reading(Scripted):
    """Answers with the word that its passages give; judges every answer to be supported."""

    def __init__(self, words: Sequence[str]) -> None:
        super().__init__(self._answer, choices=lambda _: {"Yes": 0.95, "No": 0.05}, name="reading")
        self.words = words
        self.questions: list[str] = []

    def _answer(self, text: str) -> str:
        self.questions.append(text)
        word = next((word for word in self.words if word in text), "")
        told: dict[str, Any] = {"answered": "yes", "answer": word, "quote": word}
        return json.dumps(told if word else {"answered": "no", "answer": "I don't know", "quote": ""})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = build(
        [material(n) for n in range(16)],
        sources=5,
        prior="adversary-hammer",
        adversaries=1,
        estimate=10,
        nearest=0,
    )
    path = tmp_path_factory.mktemp("multisource")
    write(built, path, about={})
    return path


def words() -> list[str]:
    return [
        word
        for n in range(16)
        for one in [material(n)]
        for word in (*one.gold, *(lie.answer for lie in one.lies))
    ]


def evaluated(folder: Path, out: Path, model: Reading, **options: Any) -> Any:
    return evaluate(
        f"multisource:{folder / 'test.jsonl'}",
        "ra_rag,majority_vote",
        options={"ra_rag.selection": "all", "majority_vote.voters": "sources"},
        model=model,
        out=out,
        **options,
    )


@pytest.mark.long
def test_sources_are_estimated_on_the_sets_own_questions_and_only_the_others_are_evaluated(
    folder: Path, tmp_path: Path
) -> None:
    model = Reading(words())
    results = evaluated(folder, tmp_path / "out", model)
    contents = read_journal(tmp_path / "out")
    tests = {json.loads(line)["id"] for line in (folder / "test.jsonl").read_text().splitlines()}
    assert {entry.record.example for entry in contents.entries} == tests
    about = contents.runs[-1]["estimates"]
    assert (about["estimator"], about["questions"]) == ("paper", 10)
    truths = json.loads((folder / "about.json").read_text())["reliabilities"]
    [sources] = about["sources"].values()
    liar = min(truths, key=truths.get)
    assert min(sources, key=sources.get) == liar
    assert results.outcome.faults == 0


@pytest.mark.long
def test_going_on_asks_nothing_to_estimate_again(folder: Path, tmp_path: Path) -> None:
    evaluated(folder, tmp_path / "out", Reading(words()), limit=2)
    kept = (tmp_path / "out" / FILE).read_bytes()
    model = Reading(words())
    evaluated(folder, tmp_path / "out", model, limit=2)
    assert model.questions == []
    assert (tmp_path / "out" / FILE).read_bytes() == kept


@pytest.mark.long
def test_both_estimators_can_be_had_and_a_damaged_file_is_named(folder: Path, tmp_path: Path) -> None:
    evaluated(folder, tmp_path / "ours", Reading(words()), limit=1, estimator="ours")
    assert read_journal(tmp_path / "ours").runs[-1]["estimates"]["estimator"] == "ours"
    (tmp_path / "ours" / FILE).write_text("{")
    with pytest.raises(InputError, match=r"estimates\.json: is damaged"):
        evaluated(folder, tmp_path / "ours", Reading(words()), limit=1, estimator="ours")


@pytest.mark.long
def test_two_multisource_sets_in_one_run_are_refused(folder: Path) -> None:
    spec = f"multisource:{folder / 'test.jsonl'}"
    with pytest.raises(InputError, match="one multisource data set a run"):
        evaluate([spec, f"multisource:{folder / 'estimate.jsonl'}"], "ra_rag", model=Reading(words()))


@pytest.mark.long
def test_the_papers_tables_take_ra_rag_with_estimates_and_refuse_it_without(
    folder: Path, tmp_path: Path
) -> None:
    out = tmp_path / "nq-a1"
    evaluated(folder, out, Reading(words()))
    [row] = [row for row in paper_tables("ra-rag", [out])["tables"][0]["ours"]
             if (row["group"], row["method"]) == ("NQ", "RA-RAG")]  # fmt: skip
    assert row["cells"][0]["value"] is not None
    rows = tmp_path / "rows.jsonl"
    passages = [{"text": "In Lund.", "source": "a.example"}]
    rows.write_text(json.dumps({"question": "Where?", "gold": ["Lund"], "passages": passages}) + "\n")
    plain = tmp_path / "plain" / "nq-a1"
    evaluate(f"jsonl:{rows}", "ra_rag,majority_vote", model=Reading(["Lund"]), out=plain)
    tables = paper_tables("ra-rag", [plain])
    [row] = [row for row in tables["tables"][0]["ours"] if (row["group"], row["method"]) == ("NQ", "RA-RAG")]
    assert (row["cells"][0]["value"], row["cells"][0]["why"]) == (None, REFUSED)
    assert REFUSED in markdown(tables)
