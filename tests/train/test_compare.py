"""Two readers on the same passages: what each reads, and how often one of them is right."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from disputatio.encoder.model import EncoderModel
from disputatio.encoder.reader import EncoderReader
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from tests.train.material import write_data, write_model
from train import compare as comparing
from train.__main__ import main


@pytest.mark.long
def test_readers_are_scored_on_the_same_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reader = EncoderReader(EncoderModel(write_model(tmp_path / "model"), threads=1))

    def says(prompt: str) -> str:
        answer = "anna" if "anna" in prompt.rpartition("<passage")[2] else "unknown"
        return json.dumps({"subject": "", "answer": answer})

    kit = Kit(model=Scripted(says), reader=reader)
    monkeypatch.setattr(comparing, "build_kit", lambda _: kit)
    data = write_data(tmp_path / "data")
    assert main(["compare", "--data", str(data), "--only", "ramdocs", "--journal", "none"]) == 0
    scores = json.loads(capsys.readouterr().out)["ramdocs"]
    assert (scores["passages"], scores["failed"]) == (32, 0)
    assert scores["llm"]["right"] == {"n": 16, "equal": 0.5, "as_written": 0.5, "declined": 0.5}
    assert scores["llm"]["noise"] == {"n": 8, "refused": 1.0}
    assert scores["encoder"]["right"]["as_written"] == 0.0  # the toy takes "gold" for the answer
    assert scores["either"]["one_is_right"] == 0.5
    assert scores["both"]["seconds_a_passage"] >= 0
