"""A short run of the stateful test of an index and its server; the long one is a bench."""

from __future__ import annotations

import shutil

import pytest

from bench.robustness import machine


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="the faults are made by a compiled library")
def test_what_was_accepted_is_there_whatever_is_killed_or_full() -> None:
    with machine.processes():
        machine.run(number=1, examples=4, steps=20)
    assert machine.Machine.counts["comparisons"] > 40
    assert machine.Machine.counts["questions"] > 5
