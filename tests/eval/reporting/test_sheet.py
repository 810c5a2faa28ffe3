"""The CSV has one figure a line with what it rests on, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import io
from pathlib import Path

from disputatio.eval.reporting.report import report
from disputatio.eval.reporting.tables import COLUMNS, sheet
from disputatio.eval.running.run_log import Entrant
from tests.eval.fakes import HALF, MANIFEST, RIGHT, ask, examples, run

FORMULA = Entrant(label='=HYPERLINK("x")', strategy="silent")


def _rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_every_figure_has_n_failed_abstained_and_interval(tmp_path: Path) -> None:
    run(examples(10), [RIGHT, HALF], ask=ask, out=tmp_path, manifest=MANIFEST)
    text = sheet(report(tmp_path, resamples=200))
    assert text.splitlines()[0] == ",".join(COLUMNS)
    rows = _rows(text)
    (em,) = (
        row for row in rows if (row["figure"], row["strategy"], row["metric"]) == ("score", "half", "em")
    )
    assert (em["n"], em["failed"], em["abstained"], em["mean"]) == ("10", "0", "0", "0.5")
    assert float(em["low"]) < 0.5 < float(em["high"])
    kept = {(row["figure"], row["metric"]) for row in rows}
    assert {("cost", "prompt_tokens"), ("stratum", "em"), ("difference", "tokens")} <= kept
    tests = [row for row in rows if row["figure"] == "difference" and row["metric"] == "em"]
    assert [(row["test"], row["p"]) for row in tests][1] == ("McNemar, exact", "0.0625")


def test_a_name_that_a_spreadsheet_would_run_is_text(tmp_path: Path) -> None:
    run(examples(4), [RIGHT, FORMULA], ask=ask, out=tmp_path, manifest=MANIFEST)
    names = {row["strategy"] for row in _rows(sheet(report(tmp_path, resamples=50)))}
    assert names == {"right", '\'=HYPERLINK("x")'}


def test_an_unfinished_evaluation_says_so_in_its_first_row(tmp_path: Path) -> None:
    run(examples(4), [RIGHT], ask=ask, out=tmp_path, manifest=MANIFEST)
    run(examples(1), [HALF], ask=ask, out=tmp_path, manifest=MANIFEST)
    first = _rows(sheet(report(tmp_path, resamples=50)))[0]
    assert (first["figure"], first["mean"], first["n"]) == ("progress", "5", "8")
