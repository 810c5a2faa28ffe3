"""Training, with an encoder of a few hundred weights: resumed runs are the run, and it learns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.train.material import write_data, write_tokenizer
from train.plan import Plan

torch = pytest.importorskip("torch", reason="PyTorch is not installed (make train brings it)")

PLAN = Plan(
    steps=12,
    batch=8,
    warm_up=2,
    rate=3e-3,
    head_rate=1e-2,
    dev_every=5,
    dev_each=4,
    length=48,
    falling=0.5,
)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A small encoder with weights of its own, and a folder of data."""
    from train import encoder, fit

    for name, value in (
        ("WIDTH", 16),
        ("LAYERS", 1),
        ("ATTENTION_HEADS", 2),
        ("INNER", 32),
        ("VOCABULARY", 400),
    ):
        monkeypatch.setattr(encoder, name, value)
    monkeypatch.setattr(encoder.Encoder, "load_base", lambda self, folder: None)
    monkeypatch.setattr(fit, "base_folder", write_tokenizer)
    return write_data(tmp_path / "data")


def _weights(folder: Path) -> dict[str, Any]:
    return dict(torch.load(folder / "encoder.pt", weights_only=True))


def _run(data: Path, folder: Path, plan: Plan = PLAN, *, threads: int = 2) -> Any:
    from train.fit import Run

    return Run(folder, data, plan, threads=threads, precision="float32")


def test_a_run_stopped_and_resumed_ends_in_the_same_weights(small: Path, tmp_path: Path) -> None:
    assert _run(small, tmp_path / "whole" / "read").fit()
    assert not _run(small, tmp_path / "parts" / "read").fit(until=5)
    assert not (tmp_path / "parts" / "read" / "encoder.pt").exists()
    assert _run(small, tmp_path / "parts" / "read").fit()
    whole, parts = _weights(tmp_path / "whole" / "read"), _weights(tmp_path / "parts" / "read")
    assert whole.keys() == parts.keys()
    assert all(torch.equal(whole[name], parts[name]) for name in whole)


def test_a_run_stopped_while_its_rate_is_level_may_be_planned_longer(small: Path, tmp_path: Path) -> None:
    short = Plan(**{name: getattr(PLAN, name) for name in _fields()} | {"steps": 10})
    assert not _run(small, tmp_path / "grown" / "read", short).fit(until=4)
    assert _run(small, tmp_path / "grown" / "read").fit()
    assert _run(small, tmp_path / "whole" / "read").fit()
    grown, whole = _weights(tmp_path / "grown" / "read"), _weights(tmp_path / "whole" / "read")
    assert all(torch.equal(grown[name], whole[name]) for name in grown)


def _fields() -> list[str]:
    from dataclasses import fields

    return [field.name for field in fields(Plan)]


def test_training_lowers_the_loss_and_logs_scores_of_kept_examples(small: Path, tmp_path: Path) -> None:
    plan = Plan(**{name: getattr(PLAN, name) for name in _fields()} | {"steps": 100, "dev_every": 50})
    folder = tmp_path / "run" / "read"
    assert _run(small, folder, plan).fit()
    lines = [json.loads(line) for line in (folder / "log.jsonl").read_text(encoding="utf-8").splitlines()]
    losses = [line["losses"]["span"] for line in lines if "losses" in line]
    assert losses[-1] < losses[0] - 0.3
    assert lines[0]["plan"]["seed"] == 17
    assert lines[-1]["done"]
    assert set(lines[-1]["dev"]["read"]) >= {"ramdocs", "nq", "squad2_dev"}


def test_the_words_of_the_base_are_left_as_they_are(small: Path, tmp_path: Path) -> None:
    run = _run(small, tmp_path / "run" / "read")
    before = run.model.encoder.words.weight.clone()
    run.fit(until=3)
    assert torch.equal(before, run.model.encoder.words.weight)


def test_the_loss_is_that_of_any_right_span(small: Path) -> None:
    from train.encoder import reading_loss

    length = 6
    starts, ends = torch.zeros(1, length), torch.zeros(1, length)
    batch = {
        "legal": torch.tensor([[False, False, True, True, True, False]]),
        "spans": torch.tensor([[[2, 3], [3, 3], [0, 0]]]),
        "span_mask": torch.tensor([[True, True, False]]),
        "answerable": torch.tensor([1.0]),
    }
    span_loss, answer_loss = reading_loss((starts, ends, torch.zeros(1), None, None), batch)
    # Four places are allowed (three of the passage and "no answer"): two spans of probability 1/16.
    assert span_loss.item() == pytest.approx(-torch.tensor(2 / 16).log().item() / 2, abs=1e-5)
    assert answer_loss.item() == pytest.approx(torch.tensor(2.0).log().item(), abs=1e-5)
