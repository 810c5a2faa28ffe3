"""The rows of MADAM-RAG's tables are drawn alike at every length, and the commands are ones that exist."""

from __future__ import annotations

import argparse
import json
import shlex
from collections import Counter
from pathlib import Path

import pytest

from disputatio.eval.running.entrants import entrants
from disputatio.types import Example
from tests.bench.scripts import script
from tests.test_docs import wrong_with_ours

SHARES = {1: 55, 2: 83, 3: 106}

tables = script("madam_tables")


def examples() -> list[Example]:
    counts = [many for many, rows in SHARES.items() for _ in range(rows)]
    return [
        Example(id=f"x{row}", row=row, question="q", gold=tuple(f"a{i}" for i in range(many)))
        for row, many in enumerate(counts)
    ]


@pytest.mark.parametrize("length", [30, 60, 100])
def test_every_beginning_of_the_draw_has_each_stratums_share_to_within_a_row(length: int) -> None:
    answers = {example.row: len(example.gold) for example in examples()}
    counts = Counter(answers[row] for row in tables.draw(examples())[:length])
    for many, rows in SHARES.items():
        assert abs(counts[many] - length * rows / 244) <= 1


def test_the_draw_is_the_same_each_time_and_names_no_row_twice() -> None:
    assert tables.draw(examples()) == tables.draw(examples())
    assert len(set(tables.draw(examples()))) == 100
    assert tables.draw(examples(), count=60) == tables.draw(examples())[:60]
    assert tables.draw(examples(), seed=1) != tables.draw(examples())


def test_the_rows_that_are_kept_are_a_hundred_different_ones() -> None:
    rows = [int(line) for line in tables.ROWS.read_text(encoding="utf-8").split()]
    assert len(rows) == len(set(rows)) == 100


def test_the_commands_are_understood_by_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert tables.main(["--data", "dev.jsonl", "--rows", "100", "--model", "local:some"]) == 0
    lines = [shlex.split(line) for line in capsys.readouterr().out.splitlines()]
    assert [wrong_with_ours(words) for _, *words in lines] == [""] * len(lines)
    assert [words[2] for words in lines] == [
        *("run", "run", "run", "run", "build", "run", "report", "build", "run", "report", "tables"),
    ]


def test_even_rows_are_those_of_the_draw_that_are_even_in_its_order(tmp_path: Path) -> None:
    tables.even_rows(tmp_path / "new" / "rows.txt")
    drawn = [int(line) for line in tables.ROWS.read_text().split()]
    kept = [int(line) for line in (tmp_path / "new" / "rows.txt").read_text().split()]
    assert kept == [row for row in drawn if not row % 2]
    assert 40 <= len(kept) <= 60


def test_ambiguous_rows_keep_their_right_documents_alone(tmp_path: Path) -> None:
    kinds = ("correct", "correct", "noise", "misinfo")
    documents = [{"text": kind, "type": kind, "answer": "ab"[n % 2]} for n, kind in enumerate(kinds)]
    rows = [
        {
            "question": f"q{n}",
            "documents": documents,
            "gold_answers": ["a", "b", "c"][: 1 + n % 3],
            "wrong_answers": ["c"],
        }
        for n in range(500)
    ]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    tables.ambiguous(tmp_path / "dev.jsonl", tmp_path / "out.jsonl", even=True)
    made = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    drawn = [int(line) for line in tables.ROWS.read_text().split()]
    assert [row["question"] for row in made] == [f"q{n}" for n in drawn if n % 3 == 1 and not n % 2]
    assert {document["type"] for row in made for document in row["documents"]} == {"correct"}
    assert all(row["wrong_answers"] == [] for row in made)


@pytest.mark.long
def test_the_options_of_the_commands_are_options_of_the_strategies() -> None:
    options = argparse.Namespace(
        data="dev.jsonl",
        out="out",
        rows=60,
        questions=30,
        parts=tables.PARTS,
        model="",
        workers=8,
        even=False,
    )
    for step in tables.steps(options):
        if step.words[1] == "run":
            named = step.words[step.words.index("--strategy") + 1]
            settings = [step.words[at + 1] for at, word in enumerate(step.words) if word == "--set"]
            made = {entrant.label: entrant for entrant in entrants(named, settings)}
            assert len(made) == named.count(",") + 1
            if "bare_2" in made:
                assert (made["bare_2"].options["aggregator"], made["bare_2"].options["rounds"]) == (False, 2)


@pytest.mark.long
def test_running_goes_on_past_failed_questions_and_ends_where_a_run_was_stopped(tmp_path: Path) -> None:
    calls = tmp_path / "said.jsonl"
    program = [
        "python3",
        "-c",
        f"import json, sys; open({str(calls)!r}, 'a').write(json.dumps(sys.argv[1:]) + chr(10));"
        " sys.exit(int(sys.argv[-1]))",
    ]
    built = tmp_path / "set.jsonl"
    built.write_text("", encoding="utf-8")
    made = [
        tables.Step(words=("eval", "build", "imbalance", "--out", str(built), "0"), makes=built),
        tables.Step(words=("eval", "run", "--out", str(tmp_path / "a"), "3")),
        tables.Step(words=("eval", "run", "--out", str(tmp_path / "b"), "1")),
        tables.Step(words=("eval", "tables", "0")),
    ]
    assert tables.execute(made, program) == 1
    ran = [json.loads(line)[-1] for line in calls.read_text(encoding="utf-8").splitlines()]
    assert ran == ["3", "1"]


def test_shuffling_keeps_every_document_and_moves_the_first_in_most_rows(tmp_path: Path) -> None:
    rows = [{"question": f"q{n}", "documents": [{"text": f"{n}-{m}"} for m in range(5)]} for n in range(20)]
    data, out = tmp_path / "dev.jsonl", tmp_path / "out" / "shuffled.jsonl"
    data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    tables.shuffle(data, out)
    shuffled = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    for row, other in zip(rows, shuffled, strict=True):
        assert {**other, "documents": sorted(other["documents"], key=str)} == {**row}
    assert (
        sum(row["documents"][0] != other["documents"][0] for row, other in zip(rows, shuffled, strict=True))
        > 10
    )
    tables.shuffle(data, tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == out.read_bytes()
