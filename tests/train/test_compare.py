"""Three readers on the same passages: what each reads, what it refuses, and what it costs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.encoder.model import EncoderModel
from disputatio.encoder.reader import EncoderReader
from disputatio.kit import Kit
from disputatio.llm.cached_llm import CachedLLM
from disputatio.llm.call_cache import CallCache
from disputatio.llm.scripted import Scripted
from tests.train.material import write_data, write_model
from train import compare as comparing
from train.__main__ import main


def passage_of(prompt: str) -> str:
    return prompt.rpartition("<passage")[2].partition("</passage")[0]


@pytest.mark.long
def test_readers_are_scored_on_the_same_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = EncoderReader(EncoderModel(write_model(tmp_path / "model"), threads=1))

    def says(prompt: str) -> str:
        answer = "anna" if "anna" in passage_of(prompt) else "unknown"
        return json.dumps({"subject": "", "answer": answer})

    def copies(prompt: str) -> str:
        names = [name for name in ("anna", "bruno") if name in passage_of(prompt)]
        return f"{names[0]}\nParis" if names else "unknown"

    def doubts(prompt: str) -> dict[str, float]:
        text = passage_of(prompt)
        return {"unknown": 0.1 if "anna" in text else 0.5 if "bruno" in text else 0.9}

    trained = Scripted(copies, choices=doubts)
    kit = Kit(model=Scripted(says), reader=reader, trained=trained)
    monkeypatch.setattr(comparing, "build_kit", lambda _: kit)
    data = write_data(tmp_path / "data")
    assert main(["compare", "--data", str(data), "--only", "ramdocs"]) == 0
    scores = json.loads(capsys.readouterr().out)["ramdocs"]
    assert (scores["passages"], scores["failed"]) == (32, 0)
    right, noise = scores["llm"]["right"], scores["llm"]["noise"]
    assert right["n"] == 16 and [right[name][0] for name in ("declined", "equal", "as_written")] == [0.5] * 3
    assert noise["n"] == 8 and noise["declined"][0] == 1.0 and "auc" not in noise  # it tells no chance
    assert scores["encoder"]["right"]["as_written"][0] == 0.0  # the toy takes "gold" for the answer
    assert scores["trained"]["right"]["declined"][0] == 0.5
    assert scores["trained"]["noise"]["refused_keeping_93"][0] is not None
    assert all(scores[name]["seconds_a_passage"] >= 0 for name in ("encoder", "llm", "trained"))


def test_readings_that_a_journal_keeps_have_no_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = EncoderReader(EncoderModel(write_model(tmp_path / "model"), threads=1))
    data = write_data(tmp_path / "data")

    def run() -> dict[str, dict[str, object]]:
        with CallCache(tmp_path / "calls.sqlite") as journal:
            models = [
                CachedLLM(Scripted(lambda _: '{"subject": "", "answer": "anna"}'), journal, name="plain"),
                CachedLLM(
                    Scripted(lambda _: "anna\nParis", choices=lambda _: {"unknown": 0.1}),
                    journal,
                    name="trained",
                ),
            ]
            kit = Kit(model=models[0], reader=reader, trained=models[1])
            monkeypatch.setattr(comparing, "build_kit", lambda _: kit)
            assert main(["compare", "--data", str(data), "--only", "ramdocs", "--limit", "4"]) == 0
        scores: dict[str, dict[str, object]] = json.loads(capsys.readouterr().out)["ramdocs"]
        return scores

    first, again = run(), run()
    for name in ("llm", "trained"):
        assert "seconds_a_passage" in first[name] and "seconds_a_passage" not in again[name]
    assert "seconds_a_passage" in again["encoder"]  # it makes no calls
    assert {name: first[name].get("right") for name in first if name in comparing.READERS} == {
        name: again[name].get("right") for name in again if name in comparing.READERS
    }


def test_a_journal_or_data_that_cannot_be_read_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for options, name in (
        (["--journal", str(tmp_path / "file" / "calls.sqlite")], "calls.sqlite"),
        (["--data", str(tmp_path / "nowhere")], "nowhere"),
    ):
        assert main(["compare", "--encoder", "none", "--model", "none", *options]) == 2
        error = capsys.readouterr().err
        assert name in error and error.count("\n") == 1
