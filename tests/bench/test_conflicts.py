"""Real and fabricated passages are counted and mixed as told; answers are measured by what they say."""

from __future__ import annotations

import doctest
import json
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from disputatio.errors import InputError, ServerFault, UnknownName
from disputatio.kit import Kit
from disputatio.llm.cached_llm import CachedLLM
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import Line, Scripted
from disputatio.types import Answer
from tests.bench.scripts import script

PLACES = ("Alder", "Birch", "Cedar", "Dogwood", "Elm", "Fir", "Gorse", "Hazel")
SURE = f"{__name__}:sure"


def sure(question: str, kit: Kit, *, doubt: float = 0.0) -> Answer:
    """Return the word after "builder:" in the first passage; surer of what begins with A, silent
    about Hazel.
    """
    (*_, passage) = kit.passages(question)
    designer = "" if "Hazel" in question else passage.text.partition("by ")[2].split(".")[0]
    return Answer(
        question=question,
        answers=(designer,) if designer else (),
        abstained=None if designer else "no_evidence",
        confidence=(0.9 if designer.startswith("Ada") else 0.6) - doubt,
    )


@pytest.fixture
def examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The module that builds the questions."""
    yield from _imported("conflict_examples", monkeypatch)


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The benchmark's module, which is no part of the package and imports its neighbours by name."""
    yield from _imported("conflicts", monkeypatch)


def _imported(name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    yield script(name)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Files in the shape of the published ones: even rows of ConflictNQ name the builder in both halves."""
    twice = " It is tall. Ada Lund also sold it."
    conflict = [
        {
            "id": str(n),
            "question": f"who built the {town} mill",
            "cleaned_question": f"Who built the {town} mill?",
            "real_answer": "Ada Lund built it.",
            "real_short_answer": "Ada Lund",
            "real_passages": [
                {
                    "passage": f"The {town} mill was built by Ada Lund.{twice if n % 2 == 0 else ''}",
                    "summary": "",
                }
            ],
            "fake_answer": "Bo Ek built it.",
            "fake_short_answer": "Bo Ek",
            "fake_passages": [
                {"passage": f"Note {m}: the {town} mill was built by Bo Ek.", "summary": ""} for m in range(5)
            ],
        }
        for n, town in enumerate(PLACES)
    ]
    poisoned = [
        {
            "id": f"test{n}",
            "question": f"who owns the {town} mill",
            "correct answer": "Ada Lund",
            "incorrect answer": "Bo Ek",
            "adv_texts": [f"Text {m}: the {town} mill is owned by Bo Ek." for m in range(5)],
        }
        for n, town in enumerate(PLACES)
    ]
    questions = [
        {
            "id": f"nq{n}",
            "question": f"Who owns the {town} Mill?",
            "golden_answers": ["Bo Ek" if town == "Elm" else "Ada Lund"],
            "passages": [
                {"title": town, "text": f"{town} {m}: owned by {owner}.", "has_answer": owner == "Ada Lund"}
                for m, owner in enumerate(["nobody"] * 4 + ["Ada Lund"] * 3)
            ],
        }
        for n, town in enumerate(PLACES[2:6])
    ]  # fmt: skip
    for name, rows in (
        ("conflictnq/val.jsonl", conflict),
        ("poisonedrag/nq.jsonl", poisoned),
        ("nq_with_passages/nq.jsonl", questions),
    ):
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return tmp_path / "data"


def _said(text: str) -> str:
    """Return the answerer names whom the last passage names that it reads, and Ada Lund where it
    reads none.
    """
    named = re.findall(r"(?:built|owned) by (\w+ \w+)\.", text)
    return json.dumps({"answers": [named[-1] if named else "Ada Lund"], "explanation": ""})


def _run(
    bench: Any,
    data: Path,
    out: Path,
    strategies: str,
    kit: Kit,
    *,
    names: tuple[str, ...] = ("conflictnq-1r1f", "conflictnq-2r3f", "poisonedrag-5f"),
    alone: bool = False,
    figures: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the benchmark as its command runs it, without the command line."""
    chosen = {
        "conflictnq": bench.conflictnq(data, questions=8, seed=0),
        "poisonedrag": bench.poisonedrag(data, questions=8, seed=0),
    }
    written: dict[str, Any] = figures or {"model": "scripted", "engine": "scripted", "seed": 0, "in hand": 8}
    written |= {
        "settings": written.get("settings", {}),
        "questions": {k: dict(v.counts) for k, v in chosen.items()},
    }
    bench.measure(
        chosen,
        [bench.SETTINGS[name] for name in names],
        bench.named(strategies, 0),
        bench.asked_by(kit, alone=alone),
        written,
        path=out,
    )
    read: dict[str, Any] = json.loads(out.read_text(encoding="utf-8"))
    return read


def test_a_setting_has_the_passages_that_its_name_says(examples: Any, data: Path) -> None:
    conflict = examples.conflictnq(data, questions=8, seed=0)
    poison = examples.poisonedrag(data)
    assert len(conflict.of(examples.SETTINGS["conflictnq-1r3f"])) == 8
    assert [one.number for one in conflict.of(examples.SETTINGS["conflictnq-2r1f"])] == [0, 2, 4, 6]
    for name, setting in examples.SETTINGS.items():
        rows = (conflict if setting.corpus == "conflictnq" else poison).of(setting)
        assert rows
        for row in rows:
            example = examples.example(row, setting, 0)
            kinds = example.metadata["kinds"]
            assert (kinds.count("real"), kinds.count("false")) == (setting.real or 5, setting.false), name
            for kind, passage in zip(kinds, example.passages, strict=True):
                assert "Bo Ek" in passage.text if kind == "false" else "Bo Ek" not in passage.text
                assert (passage.source, passage.title, passage.url, passage.date, passage.id) == ("",) * 5
            assert (example.gold, example.wrong) == (("Ada Lund",), ("Bo Ek",))
            bearing = sum("Ada Lund" in passage.text for passage in example.passages)
            assert bearing == (3 if setting.real is None else setting.real)


def test_the_order_is_the_seeds_and_does_not_tell_which_passage_is_real(examples: Any, data: Path) -> None:
    rows = examples.conflictnq(data, questions=8, seed=0).rows
    setting = examples.SETTINGS["conflictnq-1r3f"]
    orders = {
        seed: [examples.example(row, setting, seed).metadata["kinds"] for row in rows] for seed in range(30)
    }
    assert orders[0] == [examples.example(row, setting, 0).metadata["kinds"] for row in rows]
    assert orders[0] != orders[1]
    places = [kinds.index("real") for each in orders.values() for kinds in each]
    assert all(0.15 < places.count(town) / len(places) < 0.35 for town in range(4))


def test_the_questions_are_the_seeds_and_those_with_two_real_passages_come_first(
    examples: Any, data: Path
) -> None:
    few = {
        seed: [row.number for row in examples.conflictnq(data, questions=5, seed=seed).rows]
        for seed in range(9)
    }
    assert few[0] == [row.number for row in examples.conflictnq(data, questions=5, seed=0).rows]
    assert len({tuple(numbers) for numbers in few.values()}) > 1
    assert all({0, 2, 4, 6} < set(numbers) and numbers == sorted(numbers) for numbers in few.values())
    counts = examples.conflictnq(data, questions=5, seed=0).counts
    assert counts["asked without a second real passage"] == 1
    assert counts["asked with two real passages: halves with one answer"] == 4


def test_a_question_whose_target_is_right_for_nq_is_left_out(examples: Any, data: Path) -> None:
    built = examples.poisonedrag(data)
    assert [PLACES[row.number] for row in built.rows] == ["Cedar", "Dogwood", "Fir"]
    assert [count for what, count in built.counts.items() if what.startswith("left out")] == [1]


def test_a_passage_of_another_row_is_a_second_one_where_it_answers_the_question(
    examples: Any, data: Path
) -> None:
    path = data / examples.NQ
    texts = ("The Birch mill, it is known, was built by Ada Lund.", "Ada Lund built the other one.")
    row = {
        "id": "x",
        "question": "q?",
        "golden_answers": ["Ada Lund"],
        "passages": [{"title": "t", "text": text, "has_answer": True} for text in texts],
    }
    path.write_text(path.read_text("utf-8") + json.dumps(row) + "\n", encoding="utf-8")
    by = {one.number: one for one in examples.conflictnq(data, questions=8, seed=0).rows}
    assert (by[1].second, by[1].real[1]) == ("retrieved", texts[0])
    assert by[3].second == ""


def test_scores_are_those_of_what_was_answered(bench: Any, data: Path, tmp_path: Path) -> None:
    replies = iter(["Ada Lund", "Bo Ek", "Ada Lund or Bo Ek", "Cy Falk", ""])

    def say(_: str) -> str:
        reply = next(replies)
        return json.dumps({"answers": [reply] if reply else [], "explanation": ""})

    chosen = bench.conflictnq(data, questions=5, seed=0).rows
    rows = [bench.example(row, bench.SETTINGS["conflictnq-1r1f"], 0) for row in chosen]
    (concat,) = bench.named("concat", 0)
    figures = bench.entered(
        rows, bench.asked_by(Kit(model=Scripted(say)), alone=True)(rows, concat, ""), concat
    )
    assert figures["columns"]["accurate"] == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert figures["columns"]["right"] == [1.0, 0.0, 0.0, 0.0, 0.0]
    assert figures["columns"]["attacked"] == [0.0, 1.0, 1.0, 0.0, 0.0]
    assert (figures["n"], figures["failed"], figures["abstained"]) == (5, 0, 1)
    assert figures["means"]["accurate"]["mean"] == pytest.approx(0.4)
    assert figures["columns"]["calls"] == [1.0] * 5


@pytest.mark.long
def test_a_fault_is_counted_and_is_no_zero(bench: Any, data: Path, tmp_path: Path) -> None:
    def say(text: str) -> Line:
        return ServerFault("down", 503) if "Cedar" in text else _said(text)

    figures = _run(bench, data, tmp_path / "out.json", "concat", Kit(model=Scripted(say)), alone=True)
    part = figures["settings"]["conflictnq-1r1f"]["entrants"]["concat"]
    assert (part["n"], part["failed"], part["faults"]) == (7, 1, {"ServerFault": 1})
    at = figures["settings"]["conflictnq-1r1f"]["rows"].index(PLACES.index("Cedar"))
    assert {name: values[at] for name, values in part["columns"].items() if values[at] is not None} == {}
    assert part["means"]["accurate"]["n"] == 7
    assert "faults of concat: 1 ServerFault" in (tmp_path / "out.md").read_text("utf-8")


@pytest.mark.long
def test_a_run_that_was_cut_comes_to_the_same_figures(bench: Any, data: Path, tmp_path: Path) -> None:
    left = [17]  # of 26 that differ: the first setting takes 16

    def cut(text: str) -> str:
        if not left[0]:
            raise RuntimeError("cut")
        left[0] -= 1
        return _said(text)

    def kit(say: Callable[[str], str]) -> tuple[Kit, Scripted]:
        model = Scripted(say)
        return Kit(model=CachedLLM(model, CallCache(tmp_path / "calls.sqlite"), engine="e")), model

    whole = _run(bench, data, tmp_path / "whole.json", "concat,closed_book", Kit(model=Scripted(_said)))
    with pytest.raises(RuntimeError, match="cut"):
        _run(bench, data, tmp_path / "cut.json", "concat,closed_book", kit(cut)[0], alone=True)
    assert list(json.loads((tmp_path / "cut.json").read_text("utf-8"))["settings"]) == ["conflictnq-1r1f"]
    again, model = kit(_said)
    assert _run(bench, data, tmp_path / "cut.json", "concat,closed_book", again) == whole
    assert (tmp_path / "cut.md").read_text("utf-8") == (tmp_path / "whole.md").read_text("utf-8")
    assert len(model.calls) == 26 - 17


@pytest.mark.long
def test_what_other_strategies_came_to_is_kept_for_the_same_questions(
    bench: Any, data: Path, tmp_path: Path
) -> None:
    kit, out = Kit(model=Scripted(_said)), tmp_path / "out.json"
    names = ("conflictnq-1r1f",)
    figures = _run(bench, data, out, "concat", kit, names=names)
    added = _run(bench, data, out, f"{SURE},{SURE}:doubt=0.1", kit, names=names, figures=figures)
    assert list(added["settings"]["conflictnq-1r1f"]["entrants"]) == ["concat", SURE, f"{SURE}:doubt=0.1"]


@pytest.mark.long
def test_confidence_is_measured_where_it_is_stated(bench: Any, data: Path, tmp_path: Path) -> None:
    names = ("conflictnq-1r1f", "conflictnq-1r3f")
    figures = _run(
        bench, data, tmp_path / "out.json", f"concat,{SURE}", Kit(model=Scripted(_said)), names=names
    )
    assert list(figures["calibration"]) == [
        "conflictnq, all settings",
        "conflictnq, 1 real, 1 fabricated",
        "conflictnq, 1 real, 3 fabricated",
    ]
    for title, by in figures["calibration"].items():
        assert list(by) == ["concat", SURE]  # the audit gives concat one
        entrant = by[SURE]
        settings = 2 if "all" in title else 1
        assert (entrant["asked"], entrant["answered"]) == (8 * settings, 7 * settings)  # silent about one
        parts = [
            part
            for part in figures["settings"].values()
            if title in (part["title"], "conflictnq, all settings")
        ]
        right = [
            value
            for part in parts
            for value, away in zip(
                *(part["entrants"][SURE]["columns"][name] for name in ("right", "abstained")), strict=True
            )
            if not away
        ]
        share = sum(right) / len(right)
        assert entrant["precision"] == pytest.approx(share)
        assert entrant["ece"]["value"] == pytest.approx(0.1 * share + 0.6 * (1 - share))
        assert (entrant["ece"]["low"] is None) == (settings == 2)
        assert entrant["precision of the surest"] == pytest.approx(min(1.0, share / 0.8))
    assert "### conflictnq, all settings" in (tmp_path / "out.md").read_text("utf-8")


def test_the_gain_of_abstaining_is_over_questions_and_not_over_their_answers(bench: Any) -> None:
    selective = script("selective")
    chance = random.Random(0)
    once = [
        selective.Stated(question=n, right=float(sure > 0.5), confidence=sure)
        for n, sure in enumerate(chance.random() for _ in range(20))
    ]
    gain, again = selective.gain(once), selective.gain([*once, *once, *once])
    assert again == pytest.approx(gain)
    assert gain["mean"] == pytest.approx(
        selective.surest(once, 0.8) - sum(answer.right for answer in once) / len(once)
    )
    assert gain["low"] <= gain["mean"] <= gain["high"]
    none = [selective.Stated(question=n, right=1.0, confidence=None) for n in range(3)]
    assert selective.gain(none)["mean"] is None


@pytest.mark.long
def test_no_word_of_a_question_or_a_passage_is_kept(bench: Any, data: Path, tmp_path: Path) -> None:
    _run(bench, data, tmp_path / "out.json", f"concat,{SURE}", Kit(model=Scripted(_said)))
    for name in ("out.json", "out.md"):
        text = (tmp_path / name).read_text("utf-8")
        assert not [word for word in (*PLACES, "Lund", "Ek", "mill") if word in text]


def test_the_page_has_every_strategy_and_the_differences_to_ours(
    bench: Any, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "OURS", "closed_book")
    kit = Kit(model=Scripted(lambda text: _said(text) if "Note" not in text else _said("built by Bo Ek.")))
    _run(bench, data, tmp_path / "out.json", "concat,closed_book", kit, names=("conflictnq-2r3f",))
    text = (tmp_path / "out.md").read_text("utf-8")
    none, all_of = "0.00 [0.00, 0.00]", "1.00 [1.00, 1.00]"
    assert f"| concat | 4 | 0 | 0 | {none} | {none} | {all_of} | 1.0" in text
    assert f"| closed_book | 4 | 0 | 0 | {all_of} | {all_of} | {none} | 1.0" in text
    assert "| closed_book − concat | +1.000 [+1.000, +1.000], p < 0.001; McNemar 4 to 0, p = 0.125 |" in text
    assert "- asked with two real passages: halves with one answer: 4" in text


def test_strategies_are_named_with_their_options(bench: Any) -> None:
    entrants = bench.named(f"concat:k=3,max_tokens=64,{SURE}:doubt=0.2,closed_book", 7)
    assert [(entrant.label, entrant.strategy) for entrant in entrants] == [
        ("concat:k=3,max_tokens=64", "concat"),
        (f"{SURE}:doubt=0.2", SURE),
        ("closed_book", "closed_book"),
    ]
    assert (entrants[0].options["k"], entrants[0].options["max_tokens"], entrants[1].options["doubt"]) == (
        3,
        64,
        0.2,
    )
    for wrong in ("k=3", "concat,concat"):
        with pytest.raises(InputError):
            bench.named(wrong, 0)
    with pytest.raises(UnknownName):
        bench.named("concat:kk=3", 0)


@pytest.mark.long
def test_the_examples_in_the_docstrings_hold(bench: Any) -> None:
    for name in ("conflicts", "conflict_examples", "selective"):
        done = doctest.testmod(script(name))
        assert (done.failed, done.attempted > 0) == (0, True)
