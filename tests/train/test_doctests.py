"""The examples in the docstrings of `train/`, of the modules that need no PyTorch."""

from __future__ import annotations

import doctest
import importlib

import pytest


@pytest.mark.long
@pytest.mark.parametrize("name", ["examples", "export", "features", "plan", "scores"])
def test_the_examples_in_docstrings_hold(name: str) -> None:
    result = doctest.testmod(importlib.import_module(f"train.{name}"))
    assert result.attempted > 0
    assert result.failed == 0
