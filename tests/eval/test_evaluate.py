"""Strategies are measured from Python: by name or as functions, with models by name or as objects."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError, UnknownName
from disputatio.eval.data.datasets import load
from disputatio.eval.evaluate import evaluate
from disputatio.eval.results import read_results
from disputatio.eval.running.run_log import Entry
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.spending import Budget
from disputatio.store.in_memory import InMemory
from disputatio.types import Answer, Example, Passage
from tests.eval import toy

GOLD, BOTH = "gold=tests.eval.toy:debate", "both=tests.eval.toy:vote"


def always_oslo(question: str, kit: Kit, *, k: int = 2) -> Answer:
    return Answer(question=question, answers=("Oslo",), passages=tuple(kit.passages(question, k=k)))


def examples(count: int = 4) -> list[Example]:
    return [
        Example(
            id=f"e{number}",
            row=number,
            question=f"Where was number {number} born?",
            gold=("Lund",),
            wrong=("Oslo",),
            passages=(Passage(text=f"Number {number} was born in Lund.", source="a.example"),),
        )
        for number in range(count)
    ]


def rows_file(folder: Path, count: int = 4) -> Path:
    path = folder / "rows.jsonl"
    rows = [
        {
            "question": example.question,
            "gold": ["Lund"],
            "wrong": ["Oslo"],
            "passages": [{"text": "In Lund."}],
        }
        for example in examples(count)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv("DISPUTATIO_MODEL", "scripted:")
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    yield
    for record in (toy.asked, toy.down, toy.broken):
        record.clear()


@pytest.mark.long
def test_examples_in_memory_are_answered_and_scored_without_a_folder(tmp_path: Path) -> None:
    results = evaluate(examples(), [GOLD, BOTH])
    gold, both = results.scores
    assert (gold.strategy, gold.dataset, gold.n, gold.failed) == ("gold", "examples", 4, 0)
    assert (gold.scores["em"].mean, both.scores["em"].mean) == (1.0, 0.0)
    assert (both.scores["precision"].low, both.scores["precision"].high) == (0.5, 0.5)
    assert gold.costs["calls"].mean == 1.0
    assert results.folder is None
    assert [path.name for path in tmp_path.iterdir() if path.name != "cache"] == []


@pytest.mark.long
def test_a_function_is_a_strategy_as_good_as_a_name() -> None:
    results = evaluate(examples(), [always_oslo, GOLD], options={"always_oslo.k": 1})
    assert results.of("always_oslo").scores["em"].mean == 0.0
    record = results.records[0].record
    assert (record.strategy, dict(record.options)) == ("tests.eval.test_evaluate:always_oslo", {"k": 1})


@pytest.mark.long
def test_functions_that_cannot_be_imported_take_part_under_the_labels_they_are_given() -> None:
    def answering(text: str) -> Any:
        return lambda question, kit: Answer(question=question, answers=(text,))

    results = evaluate(examples(), {"lund": answering("Lund"), "oslo": answering("Oslo")})
    assert [line.scores["em"].mean for line in results.scores] == [1.0, 0.0]
    assert {entry.record.strategy for entry in results.records} == {
        "tests.eval.test_evaluate:lund",
        "tests.eval.test_evaluate:oslo",
    }


@pytest.mark.long
def test_a_model_may_be_an_object_and_is_named_in_the_report() -> None:
    reply = '{"answers": ["Lund"], "explanation": "It says so."}'
    model = Scripted(lambda prompt: reply, name="mine:1")
    judge = Scripted(lambda prompt: "yes", name="mine:judge")
    results = evaluate(examples(2), "concat", model=model, role={"judge": judge})
    assert results.report["model"] == "mine:1"
    roles = dict(results.report["roles"])
    assert roles.pop("encoder").startswith("encoder:")
    assert roles == {"judge": "mine:judge"}
    assert len(model.calls) == 2
    assert results.of("concat").scores["em"].mean == 1.0


@pytest.mark.long
def test_a_path_is_a_file_of_the_plain_format_and_rows_and_limit_keep_some(tmp_path: Path) -> None:
    path = rows_file(tmp_path)
    results = evaluate(path, GOLD, rows=[3, 1], limit=1)
    assert [entry.record.row for entry in results.records] == [3]
    assert results.scores[0].dataset == "jsonl:rows.jsonl"
    numbers = tmp_path / "numbers.txt"
    numbers.write_text("2\n0\n")
    chosen = evaluate(examples(), GOLD, rows=numbers)
    assert [entry.record.row for entry in chosen.records] == [0, 2]
    with pytest.raises(InputError, match="have no row 9"):
        evaluate(examples(), GOLD, rows=[9])
    with pytest.raises(InputError, match=r"rows.jsonl has no row 9"):
        evaluate(path, GOLD, rows=[9])


@pytest.mark.long
def test_examples_of_a_loader_keep_their_data_set_and_its_metrics(tmp_path: Path) -> None:
    loaded = load(f"jsonl:{rows_file(tmp_path)}")
    results = evaluate(loaded[:2], GOLD)
    assert (results.scores[0].dataset, results.scores[0].n) == ("jsonl:rows.jsonl", 2)


@pytest.mark.long
def test_what_was_recorded_in_a_folder_is_not_asked_again_and_is_read_from_there(tmp_path: Path) -> None:
    out = tmp_path / "run"
    first = evaluate(examples(), GOLD, out=out)
    toy.asked.clear()
    again = evaluate(examples(), GOLD, out=out)
    assert toy.asked == []
    assert again.outcome is not None
    assert (again.outcome.done, again.outcome.kept) == (0, 4)
    assert again.scores == first.scores == read_results(out).scores
    assert read_results(out).folder == out
    with pytest.raises(InputError, match="begun with"):
        evaluate(examples(), GOLD, out=out, seeds=3)


@pytest.mark.long
def test_a_failure_is_counted_and_is_no_score() -> None:
    toy.down.add("Where was number 2 born?")
    seen: list[Entry] = []
    results = evaluate(examples(), GOLD, on_record=seen.append)
    line = results.of("gold")
    assert (line.asked, line.failed, line.scores) == (4, 1, {})
    assert line.withheld.startswith("1 of 4 questions failed")
    assert [entry.record.row for entry in results.failures] == [2]
    assert [entry.state for entry in seen] == ["done", "done", "fault", "done", "fault"]  # tried once more


@pytest.mark.long
def test_progress_is_told_after_every_record() -> None:
    done: list[tuple[int, int]] = []
    evaluate(examples(3), GOLD, progress=lambda state: done.append((state.done, state.total)))
    assert done == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.long
def test_paired_differences_name_the_test_and_correct_for_the_pairs() -> None:
    results = evaluate(examples(6), [GOLD, BOTH])
    (pair,) = [pair for pair in results.differences if pair.metric == "em"]
    assert (pair.first, pair.second, pair.n, pair.difference.mean) == ("gold", "both", 6, 1.0)
    assert (pair.test, pair.p) == ("McNemar, exact", 0.03125)


@pytest.mark.long
def test_a_budget_stops_the_run_and_says_what_is_left() -> None:
    results = evaluate(examples(), "closed_book,concat", budget=Budget(calls=5))
    assert results.outcome is not None
    assert results.spent is not None
    assert results.ahead is not None
    assert (results.outcome.stopped, results.outcome.left) == ("the budget of 5 calls is spent", 3)
    assert (results.spent.calls, round(results.ahead.calls)) == (5, 3)


@pytest.mark.long
def test_a_retriever_takes_the_place_of_the_rows_own_passages() -> None:
    shelf = InMemory([Passage(text="Number 7 is a prime.", source="s")])
    results = evaluate(examples(1), GOLD, index=shelf)
    assert toy.asked[0][2] == ["Number 7 is a prime."]
    assert "InMemory" in results.report["index"]


@pytest.mark.long
def test_answers_are_graded_by_the_judge_that_is_given() -> None:
    results = evaluate(examples(1), GOLD, judge=Scripted(lambda prompt: "yes", name="mine:judge"))
    assert results.report["judge"].startswith("mine:judge, prompts ")
    assert results.report["datasets"][0]["strategies"][0]["judged"]["correctness"]["unscored"] == 1


@pytest.mark.long
def test_rows_are_flat_and_a_frame_has_their_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    results = evaluate(examples(), [GOLD, BOTH])
    first = results.rows()[0]
    assert (first["strategy"], first["em"], first["em_low"], first["em_high"]) == ("gold", 1.0, 1.0, 1.0)
    record = results.rows("records")[-1]
    assert (record["strategy"], record["answers"], record["em"]) == ("both", "Lund; Oslo", 0.0)
    assert {row["metric"] for row in results.rows("differences")} >= {"em", "f1", "tokens"}
    with pytest.raises(UnknownName, match="score"):
        results.rows("score")  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "pandas", None)  # as where it is not installed
    assert results.frame()["strategy"] == ["gold", "both"]


@pytest.mark.long
def test_a_frame_is_a_pandas_one_where_pandas_is_installed() -> None:
    pandas = pytest.importorskip("pandas")
    frame = evaluate(examples(), [GOLD, BOTH]).frame()
    assert isinstance(frame, pandas.DataFrame)
    assert list(frame["em"]) == [1.0, 0.0]


@pytest.mark.long
def test_results_are_read_in_a_terminal_and_kept_as_json() -> None:
    results = evaluate(examples(), [GOLD, BOTH])
    lines = str(results).splitlines()
    assert lines[0] == "examples: No winner beyond chance."
    head = next(line for line in lines if line.startswith("strategy"))
    assert head.split()[:5] == ["strategy", "n", "failed", "abstained", "EM"]
    assert any(line.startswith("gold") and "100.0 [100.0, 100.0]" in line for line in lines)
    whole = json.loads(json.dumps(results.to_dict()))
    assert whole["datasets"][0]["same_rows"] == 4
    assert whole["outcome"]["done"] == 8
    assert whole["records"][0]["record"]["answers"] == ["Lund"]
    assert results.markdown().startswith("# Evaluation\n")


@pytest.mark.long
def test_a_notebook_shows_tables_and_no_markup_of_a_label() -> None:
    label = "<script>alert(1)</script>"
    shown = evaluate(examples(), {label: always_oslo, "gold": "tests.eval.toy:debate"})._repr_html_()
    assert "<script>" not in shown
    assert "&lt;script&gt;" in shown
    assert shown.count("<table>") >= 3


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"dataset": []}, "no examples"),
        ({"dataset": [*examples(1), *examples(1)]}, "must be there, and stand once"),
        ({"dataset": [*examples(1), "jsonl:rows.jsonl"]}, "not both"),
        ({"limit": 0}, "leaves no rows"),
        ({"seeds": [1, 1]}, "each once"),
        ({"strategies": []}, "at least one strategy"),
        ({"strategies": [always_oslo, always_oslo]}, "named twice"),
    ],
)
def test_what_cannot_be_evaluated_is_refused_with_a_reason(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        evaluate(**{"dataset": examples(), "strategies": GOLD, **arguments})
