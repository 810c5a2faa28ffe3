"""The head *same*, as training measures it."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.encoder.model import EncoderModel
from disputatio.types import Passage
from tests.train.material import write_model
from train.sameness import sameness


@pytest.mark.long
def test_both_orders_of_a_pair_are_averaged(tmp_path: Path) -> None:
    model = EncoderModel(write_model(tmp_path), threads=1)
    rome, paris = Passage(text="rome"), Passage(text="paris")
    pairs = [(rome, rome), (rome, paris), (paris, rome), (paris, paris)]
    both, mixed, turned, neither = sameness(model, "where", pairs)
    assert both > 0.9
    assert neither < 0.1
    assert mixed == turned == pytest.approx(0.5)
