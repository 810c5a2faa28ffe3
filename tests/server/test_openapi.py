"""The description of the API: it is whole, and says what answers really are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from disputatio.server.app import create_app
from disputatio.server.openapi import schema
from disputatio.server.shapes import event_schemas
from tests.server.ferry import ferry, served

DOCUMENT = schema()


def shape(name: str) -> Draft202012Validator:
    """Return what a component of the document allows."""
    return Draft202012Validator({"$ref": f"#/components/schemas/{name}", **DOCUMENT})


def test_every_operation_has_a_unique_name_and_describes_its_errors() -> None:
    operations = [each for path in DOCUMENT["paths"].values() for each in path.values()]
    names = [each["operationId"] for each in operations]
    assert len(set(names)) == len(names) >= 18
    assert all("default" in each["responses"] for each in operations)
    assert not any("422" in each["responses"] for each in operations)


@pytest.mark.long
@pytest.mark.parametrize(
    ("path", "name"),
    [("/api/search?q=ferry", "HitRow"), ("/api/sources", "SourceRow"), ("/api/strategies", "Strategy")],
)
def test_a_list_is_of_the_described_shape(tmp_path: Path, path: str, name: str) -> None:
    with served(ferry(tmp_path)) as server:
        rows = server.client.get(path).json()
    assert rows
    for row in rows:
        assert shape(name).is_valid(row)


@pytest.mark.long
def test_an_answer_and_a_passage_are_of_the_described_shape(tmp_path: Path) -> None:
    with served(ferry(tmp_path)) as server:
        answer: dict[str, Any] = server.ask().json()
        assert shape("Answer").is_valid(answer)
        events = server.events()
        assert len(events) > 6
        for _, data in events:
            assert shape("Event").is_valid(data)
        assert not shape("Answer").is_valid({**answer, "answers": None})
        assert shape("Around").is_valid(server.client.get("/api/passages/p1").json())


def test_the_schemas_of_events_are_built_once() -> None:
    assert event_schemas() is event_schemas()


def test_the_description_is_built_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = create_app(ferry(tmp_path))
    first = app.openapi()
    monkeypatch.setattr("disputatio.server.app.event_schemas", lambda: pytest.fail("it is built again"))
    assert app.openapi() is first
