"""The report is a pure function of the journal and says what each figure rests on."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError, ServerFault
from disputatio.eval.reporting.report import report, summaries
from disputatio.eval.reporting.tables import markdown
from disputatio.eval.running.run_log import Entrant
from disputatio.eval.running.run_log_file import FILE
from disputatio.types import Answer, Passage
from tests.eval.fakes import HALF, MANIFEST, RIGHT, ask, examples, run

SILENT = Entrant(label="silent", strategy="silent")


def _evaluate(out: Path, count: int = 10, entrants: Sequence[Entrant] = (RIGHT, HALF), **more: Any) -> None:
    run(examples(count), entrants, **{"ask": ask, **more}, out=out, manifest=MANIFEST)


def _failing(rows: set[int], strategy: str) -> Any:
    def failing(q: str, p: Sequence[Passage], name: str, options: Mapping[str, Any], trace: Any) -> Answer:
        if name == strategy and int(q.rsplit(maxsplit=1)[-1]) in rows:
            raise ServerFault("the endpoint | failed\nbadly", 503)
        return ask(q, p, name, options, trace)

    return failing


def test_scores_and_costs_agree_with_sums_by_hand(tmp_path: Path) -> None:
    _evaluate(tmp_path)
    (part,) = report(tmp_path)["datasets"]
    right, half = part["strategies"]
    assert (right["n"], right["failed"], right["abstained"], right["em"]) == (10, 0, 0, 1.0)
    assert (half["em"], half["precision"], half["recall"], half["f1"]) == (0.5, 0.5, 0.5, 0.5)
    assert (half["calls"], half["prompt_tokens"], half["completion_tokens"]) == (2.0, 104.5, 20.0)
    assert half["ci"]["em"][0] < 0.5 < half["ci"]["em"][1]
    assert right["ci"]["em"] == [1.0, 1.0]
    assert half["accuracy"] is None
    assert (part["rows"], part["same_rows"], part["row_numbers"]) == (10, 10, "0-9")


def test_tables_and_options_say_which_strategies_are_told_how_many_answers_are_right(tmp_path: Path) -> None:
    hinted = Entrant(label="hinted", strategy="right", options={"expect": "declared"})
    auto = Entrant(label="auto", strategy="right", options={"expect": "auto"})
    rows = [replace(row, metadata={**row.metadata, "expects": "several"}) for row in examples(10)]
    run(rows, (RIGHT, hinted, auto), ask=ask, out=tmp_path, manifest=MANIFEST)
    evaluation = report(tmp_path)
    assert [line["expect"] for line in summaries(evaluation)] == [None, "several", "auto"]
    page = markdown(evaluation)
    assert (
        "Told how many answers are right (auto: not told): hinted expect=several, auto expect=auto." in page
    )
    assert (
        "hinted = right: expect=several (from the data set)" in page and "auto = right: expect=auto" in page
    )


def test_the_summary_has_one_object_a_strategy_with_the_promised_fields(tmp_path: Path) -> None:
    _evaluate(tmp_path)
    lines = summaries(report(tmp_path))
    promised = {
        "n", "failed", "abstained", "em", "precision", "recall", "f1", "accuracy", "calls",
        "prompt_tokens", "completion_tokens", "seconds", "ci",
    }  # fmt: skip
    assert [line["strategy"] for line in lines] == ["right", "half"]
    assert all(promised <= set(line) for line in lines)


@pytest.mark.long
def test_the_same_journal_gives_the_same_bytes(tmp_path: Path) -> None:
    _evaluate(tmp_path)
    one, two = report(tmp_path), report(tmp_path)
    assert json.dumps(one) == json.dumps(two)
    assert markdown(one) == markdown(two)
    assert json.loads(json.dumps(one, allow_nan=False)) == one


def test_the_report_can_be_read_from_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    _evaluate(tmp_path / "out")
    before = report(tmp_path / "out")
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / FILE).write_bytes((tmp_path / "out" / FILE).read_bytes())
    copy.chmod(0o500)
    assert report(copy) == before
    copy.chmod(0o700)


def test_strategies_are_compared_on_the_rows_that_all_have_answered(tmp_path: Path) -> None:
    _evaluate(tmp_path, 4, [RIGHT])
    _evaluate(tmp_path, 2, [HALF])
    (part,) = report(tmp_path)["datasets"]
    assert part["same_rows"] == 2
    assert [line["n"] for line in part["strategies"]] == [2, 2]
    assert [line["asked"] for line in part["strategies"]] == [4, 2]


def test_abstentions_are_counted_and_have_no_precision(tmp_path: Path) -> None:
    _evaluate(tmp_path, 4, [RIGHT, SILENT])
    silent = report(tmp_path)["datasets"][0]["strategies"][1]
    assert (silent["n"], silent["failed"], silent["abstained"]) == (4, 0, 4)
    assert (silent["em"], silent["recall"], silent["precision"]) == (0.0, 0.0, None)
    assert (silent["precision_n"], silent["f1"]) == (0, 0.0)
    assert "precision" not in silent["ci"]


@pytest.mark.long
def test_up_to_one_per_cent_of_faults_is_excluded_and_counted(tmp_path: Path) -> None:
    _evaluate(tmp_path, 100, ask=_failing({3}, "half"))
    (part,) = report(tmp_path, resamples=50)["datasets"]
    right, half = part["strategies"]
    assert (right["n"], right["failed"], half["n"], half["failed"]) == (99, 0, 99, 1)
    assert half["em"] == pytest.approx(50 / 99, abs=1e-6)
    assert part["row_numbers"] == "0-2, 4-99"


def test_more_faults_withhold_the_scores_and_leave_the_other_strategies_alone(tmp_path: Path) -> None:
    _evaluate(tmp_path, 10, ask=_failing({3}, "half"))
    evaluation = report(tmp_path)
    right, half = evaluation["datasets"][0]["strategies"]
    assert (right["n"], right["em"]) == (10, 1.0)
    assert (half["n"], half["failed"], half["em"], half["seconds"], half["ci"]) == (0, 1, None, None, {})
    assert half["withheld"].startswith("1 of 10 questions failed, more than 1%; the first: ServerFault")
    assert evaluation["datasets"][0]["differences"] == []
    assert "Withheld, half: 1 of 10" in markdown(evaluation)
    assert "\nbadly" not in markdown(evaluation)


def test_a_fault_that_was_tried_again_with_success_is_no_fault(tmp_path: Path) -> None:
    _evaluate(tmp_path, 10, ask=_failing({3}, "half"))
    _evaluate(tmp_path, 10)
    half = report(tmp_path)["datasets"][0]["strategies"][1]
    assert (half["n"], half["failed"], half["em"]) == (10, 0, 0.5)


@pytest.mark.long
def test_pairs_are_compared_row_by_row_with_cost_ratios(tmp_path: Path) -> None:
    _evaluate(tmp_path)
    (part,) = report(tmp_path)["datasets"]
    by_metric = {difference["metric"]: difference for difference in part["differences"]}
    assert (by_metric["em"]["one"], by_metric["em"]["other"]) == ("right", "half")
    assert (by_metric["em"]["n"], by_metric["em"]["difference"]) == (10, 0.5)
    assert by_metric["em"]["ci"][0] > 0
    assert by_metric["em"]["p"] < 0.05
    assert by_metric["tokens"]["difference"] == 0.0
    assert (by_metric["tokens"]["ratio"], by_metric["tokens"]["p"]) == (1.0, 1.0)
    assert by_metric["em"]["ratio"] is None


def test_kinds_of_questions_are_told_apart(tmp_path: Path) -> None:
    _evaluate(tmp_path)
    (part,) = report(tmp_path)["datasets"]
    found = {
        (stratum["value"], stratum["strategy"]): (stratum["n"], stratum["em"]) for stratum in part["strata"]
    }
    assert found == {
        ("even", "right"): (5, 1.0),
        ("even", "half"): (5, 1.0),
        ("odd", "right"): (5, 1.0),
        ("odd", "half"): (5, 0.0),
    }


def test_the_page_states_what_the_figures_rest_on(tmp_path: Path) -> None:
    notes = {"toy:rows.jsonl": ["1 of 10 rows is odd"]}
    _evaluate(tmp_path, about={"versions": {"disputatio": "0.1"}, "notes": notes})
    page = markdown(report(tmp_path))
    for words in (
        "model: scripted:toy",
        "engine: scripted 1",
        "seed: 5",
        "versions: disputatio 0.1",
        "right: rounds=1; prompts h1",
        "## toy:rows.jsonl",
        "File ab12; 10 rows asked for",
        "same 10 rows",
        "Note: 1 of 10 rows is odd.",
        "| right | 10 | 0 | 0 | 100.0 [100.0, 100.0] |",
        "| right − half | EM | 10 | 50.0 |",
        "| parity: odd | half | 5 | 0 | 0 | 0.0 [0.0, 0.0] |",
    ):
        assert words in page


def test_a_journal_without_records_still_gives_a_report(tmp_path: Path) -> None:
    run([], [RIGHT], ask=ask, out=tmp_path, manifest=MANIFEST)
    evaluation = report(tmp_path)
    assert evaluation["datasets"][0]["strategies"] == []
    assert "No records yet." in markdown(evaluation)


def test_where_nothing_was_evaluated_there_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no evaluation here"):
        report(tmp_path)
    with pytest.raises(InputError, match="no evaluation here"):
        report(tmp_path / "nowhere")


def test_a_damaged_journal_is_an_input_error(tmp_path: Path) -> None:
    _evaluate(tmp_path, 1)
    database = sqlite3.connect(tmp_path / FILE)
    database.execute("DROP TABLE manifest")
    database.commit()
    database.close()
    with pytest.raises(InputError, match="not a journal that can be read"):
        report(tmp_path)
