"""Workers open an index by a name that is right wherever they are."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import ConfigError
from disputatio.store.in_memory import InMemory
from disputatio.store.opening import name_for_workers, open_index
from disputatio.store.remote.qdrant import QdrantIndex
from disputatio.types import Passage


def test_an_opened_index_is_named_by_all_of_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "ab":
        open_index(name).add([Passage(text=f"The ferry of {name}.", source=name)])
    both = name_for_workers(open_index("a,b", create=False))
    assert both == Path(f"{tmp_path}/a,{tmp_path}/b")
    monkeypatch.chdir("/")
    assert len(open_index(both, create=False).search("ferry")) == 2


def test_a_name_is_kept_and_no_index_is_none() -> None:
    assert name_for_workers(None) is None
    assert name_for_workers("town.index") == name_for_workers(Path("town.index")) == Path("town.index")


def test_what_cannot_be_sent_says_what_to_give() -> None:
    served = QdrantIndex.at("qdrant://:secret@vectors.example/town")
    with pytest.raises(ConfigError, match="give workers the address itself") as caught:
        name_for_workers(served)
    assert "secret" not in str(caught.value)
    with pytest.raises(ConfigError, match="workers open an index by its folder"):
        name_for_workers(InMemory([]))
