"""`disputatio eval build`: files whole or not at all, figures on stderr, JSON on demand, exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import InputError
from disputatio.eval.builders.material import write_lines
from disputatio.eval.data.datasets import load
from tests.eval.material import conflictnq_rows, write_rows
from tests.eval.stations import NAMES, ambignq, passages, ramdocs_row
from tests.shell import Run, run


@pytest.fixture(autouse=True)
def origins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One small file of each kind, in the folder where the commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    Path("light.json").write_text(json.dumps(ambignq()))
    write_rows(Path("passages.jsonl"), passages())
    write_rows(Path("rows.jsonl"), [ramdocs_row(name) for name in NAMES])
    write_rows(Path("val.jsonl"), conflictnq_rows())


COMMANDS = {
    "ramdocs": "ramdocs ambignq:light.json --passages passages.jsonl --out out",
    "inconsistent": "inconsistent conflictnq:val.jsonl --out out",
    "imbalance": "imbalance ramdocs:rows.jsonl --out out",
    "misinformation": "misinformation ramdocs:rows.jsonl --out out",
    "multisource": "multisource conflictnq:val.jsonl --estimate 2 --test 4 --out out",
}
READ_AS = {
    "ramdocs": "ramdocs:out",
    "inconsistent": "faitheval_inconsistent:out",
    "imbalance": "jsonl:out",
    "misinformation": "jsonl:out",
    "multisource": "multisource:out/test.jsonl",
}


def _build(capsys: pytest.CaptureFixture[str], words: str) -> Run:
    return run(capsys, "eval", "build", *words.split())


@pytest.mark.long
@pytest.mark.parametrize("kind", COMMANDS)
def test_each_builder_names_its_file_and_the_harness_reads_it(
    capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    built = _build(capsys, COMMANDS[kind])
    assert built.code == 0, built.err
    assert built.out.splitlines()[0].startswith("out")
    examples = load(READ_AS[kind])
    assert all(example.gold and example.passages for example in examples)


@pytest.mark.long
@pytest.mark.parametrize("kind", COMMANDS)
def test_json_is_one_object_that_names_file_and_seed(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    built = _build(capsys, f"{COMMANDS[kind]} --seed 3 --json")
    assert (built.json["kind"], built.json["out"], built.json["seed"]) == (kind, "out", 3)


@pytest.mark.long
@pytest.mark.parametrize("kind", [kind for kind in COMMANDS if kind != "multisource"])
def test_the_same_seed_gives_the_same_bytes(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    _build(capsys, f"{COMMANDS[kind]} --seed 5")
    first = Path("out").read_bytes()
    _build(capsys, f"{COMMANDS[kind]} --seed 5")
    assert Path("out").read_bytes() == first
    _build(capsys, f"{COMMANDS[kind]} --seed 6")
    assert Path("out").read_bytes() != first


@pytest.mark.long
def test_the_statistics_stand_beside_the_papers(capsys: pytest.CaptureFixture[str]) -> None:
    built = _build(capsys, f"{COMMANDS['ramdocs']} --json")
    assert "right answers a question" in built.err
    assert "2.20" in built.err
    figures: Mapping[str, Any] = built.json["statistics"]
    assert figures["passages a question"]["target"] == 5.53
    assert sum(figures["right answers a question"]["counts"].values()) == built.json["rows"] == len(NAMES)


@pytest.mark.long
def test_shares_are_taken_from_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    _build(capsys, f"{COMMANDS['ramdocs']} --questions 4 --answers 0,1 --misinformation 1 --noise 0,1")
    rows = [json.loads(line) for line in Path("out").read_text().splitlines()]
    assert [len(row["gold_answers"]) for row in rows] == [2] * 4
    assert all([document["type"] for document in row["documents"]].count("noise") == 1 for row in rows)
    assert all(row["wrong_answers"] == [] for row in rows)


@pytest.mark.slow
def test_an_index_is_searched(capsys: pytest.CaptureFixture[str]) -> None:
    made = run(capsys, "ingest", "passages.jsonl", "--index", "town.index", "--embedder", "none")
    assert made.code == 0, made.err
    built = _build(capsys, "ramdocs ambignq:light.json --index town.index --out out --json")
    assert built.json["rows"] == len(NAMES)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ("ramdocs ambignq:light.json --out out", "--index DIR or --passages FILE"),
        ("ramdocs ambignq:light.json --passages passages.jsonl --index x --out out", "take one of the two"),
        ("ramdocs ambignq:none.json --passages passages.jsonl --out out", "none.json"),
        ("ramdocs what:light.json --passages passages.jsonl --out out", "what"),
        ("ramdocs ambignq:light.json --passages none.jsonl --out out", "none.jsonl"),
        ("ramdocs ambignq:light.json --passages passages.jsonl --answers a --out out", "--answers a"),
        ("ramdocs ambignq:light.json --passages passages.jsonl --noise 0,0 --out out", "--noise 0,0"),
        ("ramdocs ambignq:light.json --passages passages.jsonl --noise nan --out out", "--noise nan"),
        ("imbalance ramdocs:rows.jsonl --levels one --out out", "--levels one"),
        ("imbalance ramdocs:rows.jsonl --levels 3,2 --out out", "levels 3,2"),
        ("imbalance ramdocs:rows.jsonl --levels 1,8 --out out", "no right answer with 8 passages"),
        ("misinformation jsonl:passages.jsonl --out out", "passages.jsonl"),
        ("inconsistent conflictnq:val.jsonl --questions 99 --out out", "not 99"),
        ("inconsistent conflictnq:rows.jsonl --out out", "rows.jsonl:1"),
        ("imbalance ramdocs:rows.jsonl --out no/such/folder/out", "no/such/folder/out"),
    ],
)
def test_bad_input_exits_2_in_one_line_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], words: str, named: str
) -> None:
    refused = _build(capsys, words)
    assert refused.code == 2
    assert named in refused.err
    assert refused.err.count("\n") == 1
    assert refused.out == ""
    assert not Path("out").exists()


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    out = tmp_path / "rows"
    assert write_lines(out, [{"a": 1}, {"a": "ö"}]) == 2

    def breaking() -> Iterator[dict[str, int]]:
        yield {"a": 3}
        raise InputError("the rows end here")

    with pytest.raises(InputError, match="end here"):
        write_lines(out, breaking())
    assert out.read_text(encoding="utf-8") == '{"a": 1}\n{"a": "ö"}\n'
    assert not list(tmp_path.glob("*.part"))
