"""Sources of known reliability are built by the recipe of the paper, and read back by the harness."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

from disputatio.cli import eval_run as cli_eval
from disputatio.errors import InputError
from disputatio.eval.builders.material import Material
from disputatio.eval.builders.multisource import (
    MultiSource,
    build,
    example_row,
    pick,
    true_reliabilities,
    write,
)
from disputatio.eval.data.datasets import load
from disputatio.eval.simulate import Prior
from disputatio.store.passage_files import load_passages
from disputatio.types import Example
from tests.eval.material import conflictnq_rows, material, write_rows

MANY = [material(n) for n in range(60)]


@pytest.fixture(scope="module")
def built() -> MultiSource:
    return build(MANY, sources=9, prior="adversary-hammer", adversaries=5, estimate=20)


def _shelves(example: Example) -> dict[str, list[tuple[str, str]]]:
    """Return what each source has on the question: the type and answer of each passage."""
    kept: dict[str, list[tuple[str, str]]] = {}
    kinds: Sequence[str] = example.metadata["types"]
    answers: Sequence[str] = example.metadata["answers"]
    for passage, kind, answer in zip(example.passages, kinds, answers, strict=True):
        kept.setdefault(passage.source, []).append((kind, answer))
    return kept


@pytest.mark.long
def test_adversaries_and_hammers_have_the_reliabilities_of_the_paper(built: MultiSource) -> None:
    assert sorted(source.reliability or 0 for source in built.sources) == [0.1] * 5 + [0.9] * 4


@pytest.mark.long
def test_a_source_tells_one_answer_a_question_by_three_texts_or_nothing(built: MultiSource) -> None:
    for example in built.examples:
        for shelf in _shelves(example).values():
            own = [one for one in shelf if one[0] != "irrelevant"]
            assert len(own) in (0, 3)
            assert len(set(own)) <= 1


def test_sources_cover_and_tell_the_truth_as_often_as_they_should(built: MultiSource) -> None:
    for source in built.sources:
        told = [_shelves(example)[source.name][0][0] for example in built.examples]
        covered = [kind for kind in told if kind != "irrelevant"]
        assert len(covered) / len(told) == pytest.approx(0.6, abs=0.2)
        assert covered.count("factual") / len(covered) == pytest.approx(source.reliability, abs=0.2)


def test_who_does_not_cover_a_question_still_has_passages_about_others(built: MultiSource) -> None:
    example = next(one for one in built.examples if any(len(s) == 3 for s in _shelves(one).values()))
    for passage, kind in zip(example.passages, example.metadata["types"], strict=True):
        if kind == "irrelevant":
            assert example.gold[0] not in passage.text
    assert {len(shelf) for shelf in _shelves(example).values()} == {3, 6}


def test_no_strategy_sees_the_kind_of_a_passage_but_the_oracle_its_truth(built: MultiSource) -> None:
    for passage in built.examples[0].passages:
        assert set(passage.metadata) == {"true_reliability"}
        assert "factual" not in passage.id + passage.source + passage.title


@pytest.mark.long
def test_the_same_seed_builds_the_same_and_another_one_something_else() -> None:
    few = MANY[:6]
    assert build(few, seed=3, adversaries=2) == build(few, seed=3, adversaries=2)
    assert build(few, seed=3, adversaries=2) != build(few, seed=4, adversaries=2)


def test_more_sources_under_beta_leave_the_first_ones_as_they_were() -> None:
    few, more = (true_reliabilities(n, "beta", seed=7) for n in (5, 20))
    assert more[:5] == few
    small, large = (build(MANY[:4], sources=n, prior="beta", seed=7, nearest=0) for n in (5, 20))
    names = {source.name for source in small.sources}
    for example, other in zip(small.examples, large.examples, strict=True):
        assert example.passages == tuple(p for p in other.passages if p.source in names)


def test_beta_has_the_mean_of_the_paper() -> None:
    drawn = true_reliabilities(2000, "beta")
    assert sum(drawn) / len(drawn) == pytest.approx(0.6, abs=0.02)


@pytest.mark.parametrize(
    ("sources", "prior", "adversaries"), [(3, "adversary-hammer", 4), (0, "beta", 0), (3, "beta", 1)]
)
def test_reliabilities_that_cannot_be_are_refused(sources: int, prior: Prior, adversaries: int) -> None:
    with pytest.raises(InputError):
        true_reliabilities(sources, prior, adversaries=adversaries)


def test_material_that_fails_its_checks_is_refused_by_name() -> None:
    bad = Material(id="q", question="Where?", gold=("Lund",), factual=("In Oslo.",), lies=material().lies)
    with pytest.raises(InputError, match=r"Where\?: factual text 0: bears no right answer"):
        build([bad])
    with pytest.raises(InputError, match="coverage"):
        build(MANY[:1], coverage=0)


def test_test_questions_come_from_the_first_origin() -> None:
    chosen = pick([MANY[:10], MANY[10:20]], estimate=6, test=8)
    assert {one.id for one in chosen[6:]} <= {one.id for one in MANY[:10]}
    assert len({one.id for one in chosen}) == 14
    with pytest.raises(InputError, match="20 questions will do"):
        pick([MANY[:10], MANY[10:20]], estimate=20, test=8)


@pytest.mark.long
def test_what_is_written_is_what_the_harness_reads(built: MultiSource, tmp_path: Path) -> None:
    write(built, tmp_path, about={"seed": 0})
    rows = load(f"multisource:{tmp_path / 'test.jsonl'}")
    assert len(rows) == 40
    assert rows[0].passages == built.examples[20].passages
    assert [example_row(row) for row in rows] == [example_row(example) for example in built.examples[20:]]
    assert len(load_passages(tmp_path / "passages.jsonl")) == len(built.passages)
    assert json.loads((tmp_path / "about.json").read_text())["reliabilities"]["source01"] in (0.1, 0.9)


@pytest.mark.long
def test_the_command_builds_a_folder_that_eval_run_takes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_MODEL", "scripted:")
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    origin = write_rows(tmp_path / "val.jsonl", conflictnq_rows())
    words = (
        f"--adversaries 2 --prior adversary-hammer --sources 4 --estimate 5 --test 6 --out {tmp_path / 'b'}"
    )
    made = CliRunner().invoke(cli_eval.app, ["build", "multisource", f"conflictnq:{origin}", *words.split()])
    assert made.exit_code == 0, made.output
    assert made.stdout.split()[2] == str(tmp_path / "b" / "test.jsonl")
    about = json.loads((tmp_path / "b" / "about.json").read_text())
    assert about["texts"] == {"given": 33, "substituted": 363}
    data = f"multisource:{tmp_path / 'b' / 'test.jsonl'}"
    ran = CliRunner().invoke(
        cli_eval.app, ["run", data, "--strategy", "concat", "--out", str(tmp_path / "run"), "--json"]
    )
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["n"] == 6


@pytest.mark.long
def test_another_draw_has_other_sources_and_the_same_questions(tmp_path: Path) -> None:
    origin = write_rows(tmp_path / "val.jsonl", conflictnq_rows())
    words = "--adversaries 4 --prior adversary-hammer --estimate 2 --test 6 --json"
    told, asked = [], []
    for name, draw in (("seed", ""), ("one", "--draw 1"), ("again", "--draw 1"), ("two", "--draw 2")):
        line = ["build", "multisource", f"conflictnq:{origin}", *words.split(), *draw.split()]
        made = CliRunner().invoke(cli_eval.app, [*line, "--out", str(tmp_path / name)])
        assert made.exit_code == 0, made.output
        told.append((tmp_path / name / "passages.jsonl").read_text())
        asked.append([row.question for row in load(f"multisource:{tmp_path / name / 'test.jsonl'}")])
    assert asked[0] == asked[1] == asked[2] == asked[3]
    assert told[1] == told[2]
    assert len({told[0], told[1], told[3]}) == 3
    assert json.loads((tmp_path / "two" / "about.json").read_text())["draw"] == 2
