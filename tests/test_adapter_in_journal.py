"""The journal of a model with an adapter: another adapter is another model."""

from __future__ import annotations

from dataclasses import replace

import pytest

from disputatio import parts
from disputatio.llm import catalogue
from disputatio.llm.models import Merged


def test_calls_kept_with_another_adapter_are_not_this_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    (entry,) = (each for each in catalogue.entries() if each.name == catalogue.DEFAULT_READER)
    now = parts._engine_of(entry.name, "engine 1")
    (file,) = entry.files
    (origin,) = file.origins
    assert isinstance(origin, Merged)
    other = replace(entry, files=(replace(file, origins=(replace(origin, sha256="0" * 64),)),))
    monkeypatch.setattr(catalogue, "entries", lambda: (other,))
    assert parts._engine_of(entry.name, "engine 1") == "engine 1 00000000" != now
    assert parts._engine_of("qwen2.5-coder-1.5b", "engine 1") == "engine 1"
