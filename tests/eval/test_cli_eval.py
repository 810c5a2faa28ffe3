"""`disputatio eval` prints results on stdout, messages on stderr, and exits by what happened."""

from __future__ import annotations

import dataclasses
import json
import sys
import types
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from disputatio import cli_eval
from disputatio.errors import InputError, ServerFault, UnknownName
from disputatio.eval.runner import Progress
from disputatio.kit import Kit
from disputatio.types import Answer, Capabilities, Usage

ROWS = [
    {
        "question": f"Where was number {i} born?",
        "documents": [
            {"text": f"Number {i} was born in Lund.", "type": "correct", "answer": "Lund"},
            {"text": f"Number {i} was born in Oslo.", "type": "misinfo", "answer": "Oslo"},
        ],
        "disambig_entity": [],
        "gold_answers": ["Lund"],
        "wrong_answers": ["Oslo"],
    }
    for i in range(6)
]


class _Model:
    """A model that is never called: the pipeline of these tests answers by itself."""

    name = "scripted:toy"

    def capabilities(self) -> Capabilities:
        return Capabilities(engine="scripted 1", logprobs=False, max_options=0, schema=False)


@dataclasses.dataclass(frozen=True, kw_only=True)
class _Settings:
    model: str = "scripted:toy"
    role: Mapping[str, str] = dataclasses.field(default_factory=dict)
    journal: Path | None = None
    replay: bool = False


class _World:
    """What the command is given instead of the real composition, and what it made of it."""

    def __init__(self) -> None:
        self.settings: list[_Settings] = []
        self.asked: list[tuple[str, str, Mapping[str, Any], list[str]]] = []
        self.down: set[str] = set()
        self.broken: set[str] = set()

    def build_kit(self, settings: _Settings) -> Kit:
        self.settings.append(settings)
        roles = {role: _Model() for role in settings.role}
        return Kit(model=_Model(), roles=roles)  # type: ignore[arg-type]  # it is never called

    def ask(
        self, question: str, *, kit: Kit, strategy: str, options: Mapping[str, Any], verify: bool
    ) -> Answer:
        texts = [passage.text for passage in kit.passages(question)]
        self.asked.append((question, strategy, options, texts))
        if question in self.down:
            raise ServerFault("the endpoint failed", 503)
        if question in self.broken:
            raise ZeroDivisionError("in the strategy")
        answers = ("Lund",) if strategy == "first" else ("Lund", "Oslo")
        usage = Usage(calls=1, prompt_tokens=50, completion_tokens=5, seconds=0.1)
        return Answer(question=question, answers=answers, usage=usage)

    def load_strategy(self, name: str) -> Callable[..., Any]:
        def first(question: str, kit: Kit, *, rounds: int = 3, shuffle_seed: int = 0) -> None: ...

        def every(question: str, kit: Kit) -> None: ...

        known: dict[str, Callable[..., Any]] = {"first": first, "every": every}
        if name not in known:
            raise UnknownName("strategy", name, known)
        return known[name]


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> _World:
    made = _World()
    config, pipeline = types.ModuleType("config"), types.ModuleType("pipeline")
    vars(config).update(Settings=_Settings, build_kit=made.build_kit)
    vars(pipeline).update(ask=made.ask, load_strategy=made.load_strategy)
    monkeypatch.setitem(sys.modules, "disputatio.config", config)
    monkeypatch.setitem(sys.modules, "disputatio.pipeline", pipeline)
    return made


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return f"ramdocs:{path}"


def _call(*words: object) -> Result:
    return CliRunner().invoke(cli_eval.app, [str(word) for word in words])


def test_a_run_prints_one_object_a_strategy_as_its_last_lines(
    world: _World, data: str, tmp_path: Path
) -> None:
    result = _call("run", data, "--strategy", "first,every", "--out", tmp_path / "out", "--json")
    assert result.exit_code == 0
    first, every = (json.loads(line) for line in result.stdout.splitlines())
    assert (first["strategy"], first["n"], first["em"], first["calls"]) == ("first", 6, 1.0, 1.0)
    assert (every["em"], every["precision"], every["dataset"]) == (0.0, 0.5, "ramdocs:rows.jsonl")
    assert result.stderr == ""


def test_a_strategy_sees_the_texts_of_its_row_and_nothing_of_the_labels(
    world: _World, data: str, tmp_path: Path
) -> None:
    _call("run", data, "--strategy", "first", "--limit", 1, "--out", tmp_path / "out")
    assert world.asked == [
        (
            "Where was number 0 born?",
            "first",
            {"rounds": 3, "shuffle_seed": 0},
            ["Number 0 was born in Lund.", "Number 0 was born in Oslo."],
        )
    ]


def test_options_roles_and_the_seed_reach_kit_and_strategy(world: _World, data: str, tmp_path: Path) -> None:
    rows = tmp_path / "rows.txt"
    rows.write_text("3\n")
    result = _call(
        "run", data, "--strategy", "first,every", "--set", "first.rounds=1", "--seed", 7, "--rows", rows,
        "--model", "local:x", "--role", "judge=openai:y", "--journal", tmp_path / "calls.sqlite", "--replay",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert result.exit_code == 0
    assert [asked[:3] for asked in world.asked] == [
        ("Where was number 3 born?", "first", {"rounds": 1, "shuffle_seed": 7}),
        ("Where was number 3 born?", "every", {}),
    ]
    (settings,) = world.settings
    assert settings == _Settings(
        model="local:x", role={"judge": "openai:y"}, journal=tmp_path / "calls.sqlite", replay=True
    )
    assert "# Evaluation" in result.stdout
    assert "judge: scripted:toy" in result.stdout


def test_running_again_asks_only_what_is_missing_and_reports_the_same(
    world: _World, data: str, tmp_path: Path
) -> None:
    words = ("run", data, "--strategy", "first", "--out", tmp_path / "out", "--json")
    once = _call(*words)
    world.asked.clear()
    twice = _call(*words)
    assert world.asked == []
    assert once.stdout == twice.stdout


def test_failed_questions_exit_3_and_are_tried_again(world: _World, data: str, tmp_path: Path) -> None:
    words = ("run", data, "--strategy", "first", "--out", tmp_path / "out", "--json")
    world.down, world.broken = {"Where was number 2 born?"}, {"Where was number 4 born?"}
    result = _call(*words)
    assert result.exit_code == 3
    assert "2 questions failed, 1 by an unforeseen error" in result.stderr
    line = json.loads(result.stdout)
    assert (line["n"], line["failed"], line["em"]) == (0, 2, None)
    world.down, world.broken = set(), set()
    world.asked.clear()
    result = _call(*words)
    assert (result.exit_code, len(world.asked)) == (0, 2)
    assert (json.loads(result.stdout)["n"], json.loads(result.stdout)["failed"]) == (6, 0)


def test_a_run_on_other_data_or_options_is_refused(world: _World, data: str, tmp_path: Path) -> None:
    words = ("run", data, "--strategy", "first", "--out", tmp_path / "out")
    assert _call(*words).exit_code == 0
    assert isinstance(_call(*words, "--set", "rounds=2").exception, InputError)
    assert isinstance(_call(*words, "--seed", 1).exception, InputError)
    with Path(data.partition(":")[2]).open("a") as file:
        file.write(json.dumps(ROWS[0]) + "\n")
    refused = _call(*words).exception
    assert isinstance(refused, InputError)
    assert "begun with datasets" in str(refused)


@pytest.mark.parametrize(
    ("words", "error", "message"),
    [
        (("--strategy", "frist"), UnknownName, "did you mean 'first'"),
        (("--strategy", "first", "--set", "rounds=many"), InputError, "option rounds=many"),
        (("--strategy", "first", "--role", "judge"), InputError, "write ROLE=MODEL"),
        (("--strategy", "first", "--rows", "nowhere.txt"), InputError, "nowhere.txt"),
    ],
)
def test_wrong_use_is_an_error_of_ours_and_leaves_nothing(
    world: _World, data: str, tmp_path: Path, words: tuple[str, ...], error: type[Exception], message: str
) -> None:
    result = _call("run", data, "--out", tmp_path / "out", *words)
    assert isinstance(result.exception, error)
    assert message in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_two_data_sets_are_reported_side_by_side_and_need_different_names(
    world: _World, data: str, tmp_path: Path
) -> None:
    other = tmp_path / "plain.jsonl"
    other.write_text(json.dumps({"question": "q", "gold": ["Lund"], "passages": [{"text": "t"}]}))
    words = ("--strategy", "first", "--out", tmp_path / "out", "--json")
    result = _call("run", data, f"jsonl:{other}", *words)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["dataset"], line["n"]) for line in lines] == [
        ("jsonl:plain.jsonl", 1),
        ("ramdocs:rows.jsonl", 6),
    ]
    assert (lines[0]["accuracy"], lines[1]["accuracy"]) == (1.0, None)
    again = _call("run", data, data, "--strategy", "first", "--out", tmp_path / "two")
    assert isinstance(again.exception, InputError)


def test_notes_on_the_rows_are_said_on_stderr_and_kept_in_the_report(world: _World, tmp_path: Path) -> None:
    path = tmp_path / "both.jsonl"
    path.write_text(json.dumps({**ROWS[0], "wrong_answers": ["Lund"]}))
    result = _call("run", f"ramdocs:{path}", "--strategy", "first", "--out", tmp_path / "out", "--json")
    assert "1 of 1 rows list an answer as both gold and wrong" in result.stderr
    assert "both gold and wrong" in _call("report", tmp_path / "out").stdout


def test_a_report_is_printed_for_people_or_as_json(world: _World, data: str, tmp_path: Path) -> None:
    _call("run", data, "--strategy", "first,every", "--out", tmp_path / "out")
    page = _call("report", tmp_path / "out")
    assert page.stdout.startswith("# Evaluation\n")
    found = json.loads(_call("report", tmp_path / "out", "--json").stdout)
    assert found["model"] == "scripted:toy"
    assert [one["strategy"] for one in found["datasets"][0]["strategies"]] == ["first", "every"]
    assert isinstance(_call("report", tmp_path / "none").exception, InputError)


def test_the_data_sets_are_listed_for_people_and_as_json() -> None:
    assert "ramdocs:PATH" in _call("datasets").stdout
    known = json.loads(_call("datasets", "--json").stdout)
    assert [one["name"] for one in known] == ["jsonl", "ramdocs"]
    assert "gold_answers" in known[1]["fields"]


def test_a_disk_that_cannot_be_written_exits_3(
    world: _World, data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("disputatio.eval.runner.run", full)
    result = _call("run", data, "--strategy", "first", "--out", tmp_path / "out")
    assert result.exit_code == 3
    assert "No space left on device" in result.stderr


def test_the_line_of_progress_says_what_remains(capsys: pytest.CaptureFixture[str]) -> None:
    line = cli_eval._Line()
    line(Progress(done=1, total=2, faults=1, seconds_left=3725.2, entrant="a", row=0, fault="Timeout: x"))
    line(Progress(done=2, total=2, faults=1, seconds_left=0, entrant="a", row=1))
    said = capsys.readouterr().err
    assert "row 0, a: Timeout: x\n" in said
    assert "1/2 a, row 0, 1 failed, 1:02:05 left" in said
    assert said.endswith("0:00:00 left\n")
