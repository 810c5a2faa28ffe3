"""A short run of the stateful test of an index and its server."""

from __future__ import annotations

import shutil

import pytest

from tests.store import stateful


@pytest.mark.long
@pytest.mark.skipif(shutil.which("cc") is None, reason="the faults are made by a compiled library")
def test_what_was_accepted_is_there_whatever_is_killed_or_full() -> None:
    with stateful.processes():
        stateful.run(number=1, examples=4, steps=20)
    assert stateful.Machine.counts["comparisons"] > 40
    assert stateful.Machine.counts["questions"] > 5
