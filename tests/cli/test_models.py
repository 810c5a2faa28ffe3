"""`disputatio model verify`: every byte of a model compared with its checksums."""

from __future__ import annotations

import pytest

from disputatio.llm import catalogue
from tests.shell import run

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("damaged", "code", "words"),
    [((), 0, "every file matches its checksum"), (("model.bin",), 1, "damaged: model.bin")],
)
def test_a_damaged_file_of_a_model_is_named_and_the_exit_code_is_1(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, damaged: tuple[str, ...], code: int, words: str
) -> None:
    monkeypatch.setattr(catalogue, "verify", lambda _: damaged)
    done = run(capsys, "model", "verify", "minilm-l6-v2")
    assert (done.code, words in done.out) == (code, True)
    assert run(capsys, "model", "verify", "minilm-l6-v2", "--json").json == {
        "name": "minilm-l6-v2",
        "damaged": list(damaged),
    }


def test_a_model_that_is_not_here_is_told_with_what_to_do(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path))
    done = run(capsys, "model", "verify", "minilm-l6-v2")
    assert done.code == 2
    assert "disputatio model pull minilm-l6-v2" in done.err
