"""A calibration of an index on a server: the same as of one in a folder, and kept by the server."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import disputatio as d
from disputatio.calibration.calibrate import Report, calibrate
from disputatio.calibration.estimates import group_by_text
from disputatio.calibration.learn import remove, set_owner
from disputatio.errors import StoreError
from disputatio.llm.scripted import Scripted
from disputatio.server.routers.sources import rows_of
from disputatio.store.contract import Index
from disputatio.store.opening import open_index
from disputatio.store.remote.engine import StoredRow
from disputatio.store.remote.served_index import ServedIndex
from disputatio.store.remote.vector_rows import join_log, log_rows
from disputatio.types import Passage, Source
from tests.calibration.towns import TOWNS, YEARS, kit, passage_on
from tests.store.remote import served_milvus, served_postgres, served_qdrant

pytestmark = pytest.mark.long  # servers of their own are started
ADDRESSES: Mapping[str, Callable[[], str]] = {
    "postgres": served_postgres.address,
    "qdrant": served_qdrant.address,
    "milvus": served_milvus.address,
}
DAY = "2026-11-21"
LIES = {"archive": 0, "museum": 0, "parish": 0, "buzz": 3}


@pytest.fixture(params=ADDRESSES)
def index(request: pytest.FixtureRequest) -> Index:
    made = open_index(ADDRESSES[request.param]())
    made.add([passage_on(town, YEARS[town] + by, source) for source, by in LIES.items() for town in TOWNS])
    return made


def run(index: Index, model: Scripted | None = None, count: int = 4, **options: object) -> Report:
    return calibrate(index, kit(model), day=DAY, count=count, **options)  # type: ignore[arg-type]


def test_a_liar_is_found_and_a_second_run_asks_nothing(index: Index) -> None:
    report = run(index)
    assert report.questions == report.cross_checked == 4
    estimates = index.estimates()
    assert (estimates["buzz"].agreed, estimates["archive"].agreed) == (0, 4)
    assert not any(estimate.stale for estimate in estimates.values())
    again = open_index(index.path, create=False)
    assert run(again, Scripted([])).calls == 0
    assert again.estimates() == estimates
    index.add([Passage(text="The mill burnt down.", source="parish")])
    assert {name for name, source in again.estimates().items() if source.stale} == {"parish"}
    assert run(index).calls > 0


def test_the_figures_are_those_of_an_index_in_a_folder(index: Index, tmp_path: Path) -> None:
    folder = open_index(tmp_path / "x.index")
    folder.add([passage_on(town, YEARS[town] + by, source) for source, by in LIES.items() for town in TOWNS])
    assert _figures(index) == _figures(folder)


def _figures(index: Index) -> dict[str, Source]:
    """Return the estimates by all eight questions, which do not depend on what was drawn first."""
    run(index, count=8)
    return index.estimates()


def test_drawn_passages_are_of_the_sources_asked_for_and_the_same_for_a_salt(index: Index) -> None:
    held = index.source_passages()
    assert held is not None
    drawn = held.draw(["museum", "archive"], 3, 7)
    assert [passage.source for passage in drawn] == ["museum"] * 3 + ["archive"] * 3
    assert len({passage.id for passage in drawn}) == 6
    assert held.draw(["museum", "archive"], 3, 7) == drawn
    assert any(held.draw(["museum", "archive"], 3, salt) != drawn for salt in (8, 9, 2**64 - 1))
    assert held.draw(["nobody"], 3, 7) == []
    assert len(held.draw(["museum"], 99, 7)) == len(TOWNS)


def test_copied_texts_tie_their_sources(index: Index) -> None:
    post = (
        "You will not believe this one! The lighthouse was designed by Barnaby Croll, the famous pirate. "
        "Legend says that he sketched the whole tower on a tavern napkin to win a bet, and that the town "
        "was too frightened to refuse him. Share it with a friend who loves {what}."
    )
    index.add([Passage(text=post.format(what="the sea"), source="viral")])
    index.add([Passage(text=post.format(what="old towers"), source="wonder")])
    held = index.source_passages()
    assert held is not None
    groups = group_by_text(held, ["archive", "viral", "wonder"])
    assert groups is not None
    assert groups.tolist() == [0, 1, 1]


def test_a_source_is_taken_out_and_an_owner_named(index: Index) -> None:
    run(index)
    before = index.estimates()
    set_owner(index, "museum", "The town", day=DAY)
    shown = rows_of(d.Index.open(index.path, create=False))
    assert {row["name"]: row["owner"] for row in shown}["museum"] == "The town"
    remove(index, ["buzz"], day=DAY)
    after = index.estimates()
    assert after["buzz"].reliability is None
    assert after["archive"].answered == before["archive"].answered
    assert not any(outcome.answers.get("buzz") for outcome in index.records()[0].outcomes.values())


def test_a_long_entry_is_kept_whole_and_in_its_place(index: Index) -> None:
    owners = {f"source {number} é": "x" * 90 for number in range(1000)}
    with index.open_log() as log:
        log.note("owners", owners=owners)
        log.note("owners", owners={"source 0 é": "another"})
        log.note("forgetting", half_life=3.5)
    [record] = open_index(index.path).records()
    assert record.half_life == 3.5
    assert record.owners == {**owners, "source 0 é": "another"}


def test_an_entry_that_a_kill_cut_short_is_not_there() -> None:
    whole, long = '{"kind": "anew"}', "x" * 25_000
    kept = [
        [StoredRow(row.id, row.body, row.order) for row in log_rows(text, order)]
        for order, text in enumerate((long, whole, long))
    ]
    assert [len(rows) for rows in kept] == [3, 1, 3]
    assert join_log([*kept[2], *kept[1], *kept[0]]) == [long, whole, long]
    for missing in range(3):
        cut_short = [row for number, row in enumerate(kept[2]) if number != missing]
        assert join_log([*kept[0], *kept[1], *cut_short]) == [long, whole]


def test_a_damaged_entry_is_named(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(index, ServedIndex)
    fine = json.dumps({"kind": "forgetting", "half_life": 3.5})
    for wrong in ("{", "[]", '{"kind": "nothing known"}', '{"kind": "owners"}'):
        monkeypatch.setattr(index, "_read_log", lambda wrong=wrong: [fine, wrong])
        with pytest.raises(StoreError, match="row 2 of its calibrations is damaged"):
            index.records()


@pytest.mark.parametrize("kind", ADDRESSES)
def test_nothing_can_be_estimated_where_there_is_no_index(kind: str) -> None:
    nowhere = open_index(ADDRESSES[kind]())
    assert nowhere.source_passages() is None
    assert nowhere.records()[0].checks == {}
    with pytest.raises(StoreError, match="holds no passages"):
        run(nowhere)
    with pytest.raises(StoreError, match="there is no index here"), nowhere.open_log():
        pass


def test_one_process_calibrates_a_database_at_a_time() -> None:
    index = open_index(served_postgres.address())
    index.add([Passage(text="A bridge.", source="a")])
    other = open_index(index.path)
    with index.open_log() as log:
        log.note("forgetting", half_life=2.0)
        with pytest.raises(StoreError, match="another process is estimating"), other.open_log():
            pass
    with other.open_log() as log:
        log.note("forgetting", half_life=3.0)
    assert index.records()[0].half_life == 3.0
