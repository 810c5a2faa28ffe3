"""The page on RAMDocs: faults are counted apart, odd rows from even ones, and falls on the same questions."""

from __future__ import annotations

import doctest
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from disputatio.errors import ServerFault
from disputatio.eval.data.datasets import load
from disputatio.eval.running.entrants import entrants
from disputatio.kit import Kit, chat
from disputatio.llm.scripted import Line, Scripted
from disputatio.types import Answer, Conflict
from tests.bench.scripts import script
from tests.eval.material import write_rows
from tests.eval.stations import NAMES, ramdocs_row, year_of

TELLER = f"disputation={__name__}:teller"
DOWN = "Brim"  # the station on which the model fails; its row is odd


def teller(question: str, kit: Kit, *, k: int | None = None) -> Answer:
    """Return the years that the model names, of which it is as sure as there are few."""
    passages = kit.passages(question, k=k)
    (reply,) = kit.complete("reader", [chat("Name the years.", question)])
    answers = tuple(year for year in reply.text.split() if year.isdigit())
    return Answer(
        question=question,
        answers=answers,
        abstained=None if answers else "fault" if reply.text else "no_evidence",
        conflict=Conflict(kind="ambiguity" if len(answers) > 1 else "none"),
        confidence=1 / len(answers) if answers else None,
        passages=tuple(passages),
    )


def _years(prompt: str) -> Line:
    """Both years of the first two stations, one of the third, none of the others."""
    name = next(name for name in NAMES if name in prompt)
    if name == DOWN:
        return ServerFault("down", 503)
    both = [year_of(name, "Norland"), year_of(name, "Sudmark")]
    return " ".join(both[: {"Vell": 2, "Tarn": 2, "Osk": 1}.get(name, 0)])


def _import(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield script(name)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The benchmark's module, with the teller in the place of ours."""
    for module in _import("disputation_ramdocs", monkeypatch):
        monkeypatch.setattr(module, "OURS", TELLER)
        yield module


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The module that counts."""
    yield from _import("disputation_figures", monkeypatch)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_rows(tmp_path / "rows.jsonl", [ramdocs_row(name) for name in NAMES])


def _scored(count: Any, row: int, em: float, **more: Any) -> Any:
    scores = {"gold": 1, "precision": em, "em_lenient": em, "recall": em, "f1": em, "accuracy": em}
    costs = {
        "calls": 1,
        "prompt_tokens": 10,
        "cached_tokens": 0,
        "completion_tokens": 2,
        "model_seconds": 1.0,
    }
    return count.Row(row=row, em=em, **{**scores, **costs, **more})


# --- asking ---------------------------------------------------------------------------------------
def _main(
    bench: Any, data: Path, out: Path, model: Scripted, part: str = "main", *more: str
) -> dict[str, Any]:
    words = ["--part", part, "--data", str(data), "--out", str(out), "--others", "", *more]
    bench.main(words, kit=Kit(model=model))
    figures: dict[str, Any] = json.loads(out.read_text())
    return figures


@pytest.mark.long
def test_a_fault_is_no_zero_and_an_abstention_is(bench: Any, data: Path, tmp_path: Path) -> None:
    figures = _main(bench, data, tmp_path / "out.json", Scripted(_years))["figures"]["main"]["all rows"]
    ours = figures["scores"]["disputation"]
    assert (ours["n"], ours["failed"], ours["abstained"]) == (7, 1, 4)
    assert ours["em"]["mean"] == pytest.approx(2 / 7)
    assert ours["recall"]["mean"] == pytest.approx(2.5 / 7)
    assert ours["precision"]["mean"] == 1.0
    assert ours["calls"]["mean"] == 1.0


@pytest.mark.long
def test_an_answer_that_is_a_fault_is_no_abstention(bench: Any, data: Path, tmp_path: Path) -> None:
    model = Scripted(lambda prompt: "gibberish" if "Osk" in prompt else "")
    figures = _main(bench, data, tmp_path / "out.json", model)["figures"]["main"]["all rows"]
    ours = figures["scores"]["disputation"]
    assert (ours["n"], ours["failed"], ours["abstained"]) == (7, 1, 7)


@pytest.mark.long
def test_odd_rows_and_even_rows_are_kept_apart(bench: Any, data: Path, tmp_path: Path) -> None:
    figures = _main(bench, data, tmp_path / "out.json", Scripted(_years))["figures"]["main"]
    odd, even = (figures[half]["scores"]["disputation"] for half in ("odd rows", "even rows"))
    assert (odd["n"], odd["failed"], odd["em"]["mean"]) == (3, 1, pytest.approx(1 / 3))
    assert (even["n"], even["failed"], even["em"]["mean"]) == (4, 0, 0.25)
    assert "3 or more gold answers" in figures
    assert figures["2 gold answers"]["scores"]["disputation"]["n"] == 7
    assert figures["1 gold answer"]["scores"] == {}


@pytest.mark.long
def test_only_what_failed_is_asked_again(bench: Any, data: Path, tmp_path: Path) -> None:
    first = _main(bench, data, tmp_path / "out.json", Scripted(_years), "main", "--limit", "5")
    model = Scripted(lambda _: "1700")
    again = _main(bench, data, tmp_path / "out.json", model)
    assert [next(name for name in NAMES if name in call.text) for call in model.calls] == [DOWN, *NAMES[5:]]
    rows = {part["asked"]["main"]["disputation"]["rows"][0][0]: part for part in (first, again)}
    assert rows.keys() == {0}
    first_rows = [part["asked"]["main"]["disputation"]["rows"][:3] for part in (first, again)]
    assert first_rows[0] == first_rows[1]
    assert again["figures"]["main"]["all rows"]["scores"]["disputation"]["failed"] == 0


@pytest.mark.long
def test_another_set_of_options_is_asked_anew(bench: Any, data: Path, tmp_path: Path) -> None:
    state = bench.Bench(path=tmp_path / "out.json")
    wanted = bench.tasks(load(f"ramdocs:{data}"))
    for settings, calls in (([], 8), ([], 1), (["k=2"], 8)):
        model = Scripted(_years)
        (entrant,) = entrants(TELLER, settings)
        bench.fill(state, "main", entrant, wanted, Kit(model=model), in_flight=3)
        assert len(model.calls) == calls
    assert state.kept["main"]["disputation"]["made"]["options"] == {"k": 2}


@pytest.mark.long
def test_the_page_is_written_again_from_the_file_alone(bench: Any, data: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.json"
    for part in ("main", "shuffled"):
        _main(bench, data, out, Scripted(_years), part)
    files = [out, out.with_suffix(".md"), tmp_path / "out_risk.svg"]
    before = [file.read_bytes() for file in files]
    assert bench.opened(out).rows("main").keys() == {"disputation"}
    for part in ("calibration", "kinds", "page"):
        bench.main(["--part", part, "--out", str(out)])
        assert [file.read_bytes() for file in files] == before
    assert "Passages in an order of chance" in out.with_suffix(".md").read_text()
    assert not any(text in out.read_text() for text in ("station", "Norland", year_of("Vell", "Norland")))


@pytest.mark.long
def test_answers_of_another_model_are_not_mixed_with_these(bench: Any, data: Path, tmp_path: Path) -> None:
    _main(bench, data, tmp_path / "out.json", Scripted(_years))
    with pytest.raises(SystemExit):
        _main(bench, data, tmp_path / "out.json", Scripted(_years, name="other"))


def test_the_order_of_chance_is_the_same_each_time_and_names_tell_the_new_places(
    bench: Any, data: Path
) -> None:
    tasks = bench.tasks(load(f"ramdocs:{data}"))
    dealt, again, other = ([bench.shuffled(task, seed) for task in tasks] for seed in (1, 1, 2))
    assert dealt == again
    assert dealt != other
    moved = 0
    for old, new in zip(tasks, dealt, strict=True):
        texts = [[passage.text for passage in each.example.passages] for each in (old, new)]
        assert sorted(texts[0]) == sorted(texts[1])
        assert [passage.source for passage in new.example.passages] == [
            f"doc{n}" for n in range(1, len(texts[1]) + 1)
        ]
        moved += texts[0] != texts[1]
    assert moved > len(tasks) / 2


def test_the_sets_of_figure_4_have_each_question_at_every_level(bench: Any, data: Path) -> None:
    examples = load(f"ramdocs:{data}")
    for kind in ("imbalance", "misinformation"):
        made = bench.levelled(examples, kind, 2)
        assert [(task.row, task.level) for task in made] == [
            (row, level) for row in (0, 1) for level in (1, 2, 3)
        ]
        assert [examples[one.row].question for one in made] == [one.example.question for one in made]


@pytest.mark.long
def test_figure_4_is_told_by_level_and_by_the_row_that_a_question_comes_from(
    bench: Any, data: Path, tmp_path: Path
) -> None:
    figures = _main(bench, data, tmp_path / "out.json", Scripted(_years), "figure4", "--questions", "2")
    rows = figures["asked"]["imbalance"]["disputation"]
    places = [rows["fields"].index(name) for name in ("row", "level")]
    assert [[row[at] for at in places] for row in rows["rows"]] == [[r, n] for r in (0, 1) for n in (1, 2, 3)]
    for kind in ("imbalance", "misinformation"):
        curve = figures["figures"]["figure4"][kind]
        assert curve["all rows"]["levels"]["3"]["disputation"]["n"] == 2
        assert curve["even rows"]["levels"]["3"]["disputation"]["n"] == 1
        assert curve["all rows"]["ours less half"].keys() == {"concat"}
    assert "our fall less half of that of concat" in (tmp_path / "out.md").read_text()


@pytest.mark.long
def test_others_answer_the_listed_rows_and_are_compared_on_those_that_both_answered(
    bench: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "ROWS", tmp_path / "listed.txt")
    bench.ROWS.write_text("3\n1\n0\n5\n")
    more = ("--others", f"other={TELLER.partition('=')[2]}", "--rows", "3")
    figures = _main(bench, data, tmp_path / "out.json", Scripted(_years), "main", *more)
    assert [row[0] for row in figures["asked"]["main"]["other"]["rows"]] == [0, 1, 3]
    gap = figures["figures"]["main"]["all rows"]["ours less"]["other"]
    assert (gap["n"], gap["em"]["mean"], gap["ratios"]["tokens"]["mean"]) == (2, 0.0, 1.0)
    assert figures["figures"]["main"]["all rows"]["scores"]["other"]["failed"] == 1


@pytest.mark.long
def test_the_ablations_are_options_of_the_strategy(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "OURS", "disputation")
    made = {entrant.label: entrant for entrant in bench.entrants_of(bench.ABLATIONS)}
    whole = made["all parts"].options
    for label, ablation in bench.ABLATIONS.items():
        changed = {name: option for name, option in made[label].options.items() if option != whole[name]}
        assert changed == ablation


# --- counting -------------------------------------------------------------------------------------
def test_ablations_are_told_of_even_rows_and_paired_with_all_parts(count: Any) -> None:
    whole = [_scored(count, row, 1.0) for row in range(6)]
    less = [replace(row, em=0.0) if row.row in (1, 2) else row for row in whole]
    less[4] = count.Row(row=4, gold=1, fault="Timeout")
    figures = count.tell({"ablations": {"all parts": whole, "no copies": less}}, ["ablations"])["ablations"]
    assert figures["no copies"]["scores"]["n"] == 2
    assert figures["no copies"]["scores"]["failed"] == 1
    gap = figures["no copies"]["less all parts"]
    assert (gap["n"], gap["em"]["mean"]) == (2, -0.5)
    assert (gap["ratios"]["em"]["mean"], gap["ratios"]["tokens"]["mean"]) == (0.5, 1.0)
    assert "less all parts" not in figures["all parts"]


def test_a_ratio_has_no_interval_where_nothing_may_be_drawn(count: Any) -> None:
    assert count.ratio([1.0, 1.0], [0.0, 0.0]) is None
    assert count.ratio([1.0, None, 3.0], [2.0, 5.0, 2.0]).value == 1.0
    assert count.ratio([1.0, 1.0], [0.0, 1.0]).low is None
    sure = count.ratio([2.0, 2.0], [1.0, 1.0])
    assert (sure.value, sure.low, sure.high) == (2.0, 2.0, 2.0)


def _levels(count: Any, ends: dict[int, tuple[float, float]]) -> list[Any]:
    return [
        _scored(count, row, em, level=level)
        for row, (first, last) in ends.items()
        for level, em in ((1, first), (2, first), (3, last))
    ]


def test_the_fall_is_from_the_first_level_to_the_last_on_the_same_questions(count: Any) -> None:
    ours = _levels(count, {1: (1.0, 1.0), 2: (1.0, 1.0), 3: (1.0, 0.0), 4: (0.0, 0.0)})
    theirs = _levels(count, {1: (1.0, 0.0), 2: (1.0, 0.0), 3: (1.0, 0.0), 4: (1.0, 1.0)})
    figures = count.figure4({"disputation": ours, "concat": theirs})
    assert figures["levels"]["1"]["concat"]["em"]["mean"] == 1.0
    assert figures["levels"]["3"]["disputation"]["em"]["mean"] == 0.5
    assert figures["fall"]["disputation"]["em"]["mean"] == 0.25
    assert figures["fall"]["concat"]["em"]["mean"] == 0.75
    assert figures["ours less half"]["concat"]["em"]["mean"] == 0.25 - 0.75 / 2
    assert figures["fall"]["concat"]["em"]["low"] < 0.75 < figures["fall"]["concat"]["em"]["high"]


def test_a_question_that_failed_at_one_end_has_no_fall(count: Any) -> None:
    ours = _levels(count, {1: (1.0, 0.0), 2: (1.0, 1.0)})
    ours[-1] = count.Row(row=2, gold=1, level=3, fault="Timeout")
    fall = count.figure4({"disputation": ours})["fall"]["disputation"]["em"]
    assert (fall["n"], fall["mean"]) == (1, 1.0)


def test_confidence_is_held_against_em_and_precision_of_what_was_answered(count: Any) -> None:
    rows = [_scored(count, n, float(n < 8), confidence=0.95 if n < 8 else 0.25) for n in range(10)]
    rows += [_scored(count, 10, 0.0, precision=None, abstained="no_evidence")]
    rows += [count.Row(row=11, gold=1, fault="Timeout")]
    figures = count.calibrated(rows)
    assert (figures["asked"], figures["failed"]) == (11, 1)
    assert figures["em"]["answered"] == 10
    assert figures["em"]["ece"]["value"] == pytest.approx(0.8 * 0.05 + 0.2 * 0.25)
    assert figures["em"]["precision"] == 0.8
    assert figures["em"]["precision of the surest"] == 1.0
    assert figures["precision"]["gain"]["mean"] == pytest.approx(0.2)
    assert 0 <= figures["precision"]["gain"]["low"] < figures["precision"]["gain"]["high"] <= 0.2 + 1e-9
    assert figures["precision"]["curve"] == pytest.approx([1.0] * 8 + [8 / 9, 0.8])


def test_even_rows_have_a_calibration_of_their_own(count: Any) -> None:
    rows = [_scored(count, n, float(n % 2), confidence=1.0) for n in range(8)]
    figures = count.tell({"main": {"disputation": rows}}, ["calibration"])["calibration"]
    assert [figures[group]["em"]["ece"]["value"] for group in count.HALVES] == [0.5, 0.0, 1.0]


@pytest.mark.parametrize(
    ("gold", "wrong", "types", "kind"),
    [
        (["1901", "1887"], [], ["correct", "correct", "noise"], "ambiguity"),
        (["1901"], ["1999"], ["correct", "misinfo"], "misinformation"),
        (["1901", "1887"], ["1999"], ["correct", "correct", "misinfo"], "both"),
        (["1901"], [], ["correct", "noise"], "none"),
        (["1901"], ["1901"], ["correct", "misinfo"], ""),
    ],
)
def test_the_kind_is_that_of_the_rows_construction(
    count: Any, gold: list[str], wrong: list[str], types: list[str], kind: str
) -> None:
    assert count.built_kind(gold, wrong, types) == kind


def test_both_at_once_has_a_row_of_its_own_and_is_never_called_right(count: Any) -> None:
    built = ["ambiguity", "ambiguity", "both", "both", "misinformation", "none", "none", ""]
    called = ["ambiguity", "none", "misinformation", "ambiguity", "misinformation", "none", "", "none"]
    rows = [
        count.Row(row=n, gold=1, built=expected, kind=other, fault="" if other else "Timeout")
        for n, (expected, other) in enumerate(zip(built, called, strict=True))
    ]
    figures = count.confused(rows)
    assert figures["called"]["both"] == {"ambiguity": 1, "misinformation": 1}
    assert figures["called"]["none"] == {"failed": 1, "none": 1}
    assert figures["right"]["ambiguity"]["mean"] == 0.5
    assert "both" not in figures["right"]
    assert (figures["right of all"]["n"], figures["right of all"]["mean"]) == (4, 0.75)
    assert figures["kind not told by the row"] == 1


@pytest.mark.long
def test_the_examples_in_the_docstrings_hold(bench: Any, count: Any) -> None:
    for module in (bench, count):
        done = doctest.testmod(module)
        assert (done.failed, done.attempted > 0) == (0, True)
