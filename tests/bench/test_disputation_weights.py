"""The weights of standing: fitted on odd rows, checked on rows not fitted on, and equal to those in use."""

from __future__ import annotations

import doctest
import json
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bench.lib.agreement import resampled
from bench.lib.files import read_json
from disputatio.errors import InputError, NotJournalled, ServerFault
from disputatio.eval.data.datasets import load
from disputatio.kit import Kit
from disputatio.llm.cached_llm import CachedLLM
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import Line, Scripted
from disputatio.strategies.disputation.standing import BIAS, WEIGHTS
from tests.bench.scripts import script
from tests.eval.material import write_rows
from tests.eval.stations import NAMES, ramdocs_row

BENCH = Path(__file__).resolve().parents[2] / "bench"
RESULTS = BENCH / "results" / "papers" / "disputation_weights.json.gz"
ENCODER = BENCH / "results" / "papers" / "encoder_weights.json.gz"
ODD = NAMES[1::2]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark's module, which imports its neighbours by name; fewer deals and resamples for speed."""
    for module in _imported("disputation_weights", monkeypatch):
        monkeypatch.setattr(module, "DEALS", 2)
        monkeypatch.setattr(module, "resampled", partial(resampled, resamples=50))
        yield module


@pytest.fixture
def logistic(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module that fits."""
    yield from _imported("logistic", monkeypatch)


def _imported(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield script(name)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A row a station: two right years, the second borne by three passages, and one that is a lie."""
    return write_rows(tmp_path / "rows.jsonl", [ramdocs_row(name) for name in NAMES])


def _heard(prompt: str) -> Line:
    """Return the year of the passage, which is the last one in the prompt; unknown where there is none."""
    years = re.findall(r"\b1\d{3}\b", prompt.rpartition("Passage:")[2].rpartition('"unknown"}')[2])
    return json.dumps({"subject": "", "answer": years[0] if years else "unknown"})


def _run(bench: Any, data: Path, out: Path, model: Any, *more: str) -> dict[str, Any]:
    bench.main(["--data", str(data), "--out", str(out), *more], kit=Kit(model=model))
    figures: dict[str, Any] = json.loads(out.read_text())
    return figures


def _sides(bench: Any, data: Path) -> list[Any]:
    kit = Kit(model=Scripted(_heard))
    return [
        bench.sides(bench.hear(example, kit), ranked=True)
        for example in load(f"ramdocs:{data}")
        if example.row % 2
    ]


# --- the fit --------------------------------------------------------------------------------------
def test_the_fit_is_where_the_penalised_likelihood_is_steepest_nowhere(logistic: Any) -> None:
    chance = np.random.default_rng(0)
    features = chance.normal(size=(80, 2)) * [1.0, 7.0] + [3.0, -2.0]
    right = features[:, 0] - 3 + chance.normal(size=80) > 0
    weights = logistic.fit(features, right)
    spread = features.std(axis=0)
    off = logistic.chance(weights.log_odds(features)) - right
    slope = ((features - features.mean(axis=0)) / spread).T @ off + logistic.RIDGE * weights.weights * spread
    assert np.abs(slope).max() < 1e-6
    assert abs(off.sum()) < 1e-6
    assert weights.weights[0] > 1 > abs(weights.weights[1])


def test_an_unknown_feature_counts_as_usual(logistic: Any) -> None:
    features = np.array([[0.0, np.nan], [1.0, 4.0], [0.2, 2.0], [0.9, np.nan]])
    weights = logistic.fit(features, np.array([False, True, False, True]))
    assert weights.means.tolist() == pytest.approx([0.525, 3.0])
    odds = weights.log_odds(np.array([[0.5, np.nan], [0.5, 3.0], [0.5, 4.0]]))
    assert odds[0] == odds[1] != odds[2]


def test_a_feature_that_no_row_has_gets_no_weight(logistic: Any) -> None:
    features = np.array([[0.0, np.nan], [1.0, np.nan]])
    assert logistic.fit(features, np.array([False, True])).weights[1] == 0


# --- cross-validation -----------------------------------------------------------------------------
def test_a_row_is_judged_by_a_fit_that_has_not_seen_it(bench: Any, data: Path) -> None:
    rows = _sides(bench, data)
    before = bench.crossed(rows, [0, 1], 0)
    other = bench.replace(rows[0], right=~rows[0].right)
    after = bench.crossed([other, *rows[1:]], [0, 1], 0)
    assert np.array_equal(before[0], after[0])
    assert not any(np.allclose(left, two) for left, two in zip(before[1:], after[1:], strict=True))


def test_a_feature_that_is_left_out_does_not_move_the_sides(bench: Any, data: Path) -> None:
    rows = _sides(bench, data)
    for one in rows:
        one.features[:, 0] = 0.0
        one.features[one.right, 0] = 1.0
    assert np.mean(bench.scored(rows, [0, 1])["strict"]["+0.0"]) == 1.0
    noise = np.random.default_rng(0)
    others = [bench.replace(row, features=noise.normal(size=row.features.shape)) for row in rows]
    for one, same in zip(others, rows, strict=True):
        one.features[:, 1] = same.features[:, 1]
    scores = [bench.crossed(some, [1], 0) for some in (rows, others)]
    assert all(np.array_equal(left, two) for left, two in zip(*scores, strict=True))


# --- the run --------------------------------------------------------------------------------------
@pytest.mark.long
def test_only_the_odd_rows_are_heard(bench: Any, data: Path, tmp_path: Path) -> None:
    model = Scripted(_heard)
    figures = _run(bench, data, tmp_path / "out.json", model)
    assert {name for call in model.calls for name in NAMES if name in call.text} == set(ODD)
    assert figures["rows"] == [1, 3, 5, 7]
    ranked, unranked = figures["fits"]["ranked"], figures["fits"]["unranked"]
    assert (ranked["sides"], ranked["right sides"]) == (12, 8)
    assert "kinship" in ranked["features"].keys() ^ unranked["features"].keys()
    assert {*ranked["features"], *unranked["features"]} == set(bench.FITTED)
    page = (tmp_path / "out.md").read_text()
    assert "Only odd rows were read (numbered from 0): 4 of them, 0 more failed" in page
    assert "profits from the order of the data" in page
    assert "a right one comes first in 4 of 4 rows" in page


@pytest.mark.long
def test_faults_are_counted_and_score_nothing(bench: Any, data: Path, tmp_path: Path) -> None:
    def script(prompt: str) -> Line:
        if ODD[0] in prompt:
            return ServerFault("down", 503)
        return "gibberish" if ODD[1] in prompt and "1999" in prompt else _heard(prompt)

    figures = _run(bench, data, tmp_path / "out.json", Scripted(script))
    assert figures["rows"] == [3, 5, 7]
    assert figures["failed rows"].keys() == {"1"}
    assert figures["faulty witnesses"] == 1
    assert figures["fits"]["ranked"]["sides"] == 8
    em = figures["fits"]["ranked"]["em of rows at threshold 0"]["all features"]
    assert len(em["strict"]) == len(em["lenient"]) == 3


def test_rows_where_nobody_answers_are_no_material(bench: Any, data: Path, tmp_path: Path) -> None:
    silent = Scripted(lambda _: '{"subject": "", "answer": "unknown"}')
    with pytest.raises(InputError, match="answers anything"):
        _run(bench, data, tmp_path / "out.json", silent)


@pytest.mark.long
def test_a_replay_that_lacks_a_call_ends_and_is_no_fault_of_the_model(
    bench: Any, data: Path, tmp_path: Path
) -> None:
    journal = CallCache(tmp_path / "calls.sqlite")
    model = CachedLLM(Scripted(_heard), journal, engine="scripted")
    first = _run(bench, data, tmp_path / "first.json", model)
    replayed = CachedLLM(None, journal, replay=True, name="scripted")
    assert _run(bench, data, tmp_path / "again.json", replayed) == first
    more = write_rows(tmp_path / "more.jsonl", [ramdocs_row(name, lies=2) for name in NAMES])
    with pytest.raises(NotJournalled):
        _run(bench, more, tmp_path / "more.json", replayed)


# --- what is in use -------------------------------------------------------------------------------
@pytest.mark.long
def test_the_constants_in_use_are_the_fitted_ones_rounded(bench: Any) -> None:
    fits = read_json(RESULTS)["fits"]
    assert fits["ranked"]["bias"] == pytest.approx(BIAS, abs=0.005)
    fitted = {**fits["unranked"]["features"], **fits["ranked"]["features"]}
    # What only the encoder tells was fitted where it read alone.
    fitted["answered"] = read_json(ENCODER)["fits"]["unranked"]["features"]["answered"]
    assert list(fitted) and fitted.keys() == set(bench.FITTED)
    for name in bench.FITTED:
        weight, usually = WEIGHTS[name]
        assert fitted[name]["weight"] == pytest.approx(weight, rel=0, abs=0.05), name
        assert fitted[name]["mean"] == pytest.approx(usually, rel=0, abs=0.005), name


@pytest.mark.long
def test_the_examples_in_the_docstrings_hold(bench: Any, logistic: Any) -> None:
    for module in (bench, logistic):
        done = doctest.testmod(module)
        assert (done.failed, done.attempted > 0) == (0, True)
