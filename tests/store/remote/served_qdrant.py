"""A stand-in for a Qdrant server: its REST paths on a port, answered by the client's local mode.

No package holds the server itself. So what the client sends and reads is real, and what a server approximates
(its vector index, rarity of words by shard, groups in rounds) is not: the local mode compares every point.
"""

from __future__ import annotations

import functools
import itertools
import json
import re
import threading
import warnings
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from qdrant_client import QdrantClient, models
from qdrant_client.http.models import models as rest

KEY = "s3cret"
_NUMBERS = itertools.count()
_LOCK = threading.Lock()  # the local mode is for one thread


class StandIn:
    """The collections, and what is to be told of the version and of keys."""

    def __init__(self) -> None:
        self.client = QdrantClient(":memory:")
        self.version, self.key = "1.16.0", ""


def _upsert(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    return local.upsert(name, [models.PointStruct(**point) for point in body["points"]])


def _delete(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    if "points" in body:
        return local.delete(name, models.PointIdsList(**body))
    return local.delete(name, models.FilterSelector(**body))


def _create(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    asked = rest.CreateCollection(**body)
    return local.create_collection(
        name,
        vectors_config=asked.vectors or {},
        sparse_vectors_config=asked.sparse_vectors,
        metadata=asked.metadata,
    )


def _query(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    asked = rest.QueryRequest(**body)
    return local.query_points(
        name,
        query=asked.query,
        using=asked.using,
        query_filter=asked.filter,
        limit=asked.limit or 10,
        with_payload=asked.with_payload,
    )


def _groups(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    asked = rest.QueryGroupsRequest(**body)
    return local.query_points_groups(
        name,
        asked.group_by,
        query=asked.query,
        using=asked.using,
        query_filter=asked.filter,
        limit=asked.limit or 10,
        group_size=asked.group_size or 3,
        with_payload=asked.with_payload,
    )


def _retrieve(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    return local.retrieve(name, body["ids"], with_payload=True, with_vectors=body.get("with_vector") or False)


def _scroll(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    asked = rest.ScrollRequest(**body)
    points, following = local.scroll(
        name, scroll_filter=asked.filter, limit=asked.limit or 10, offset=asked.offset, with_payload=True
    )
    return {"points": points, "next_page_offset": following}


def _facet(local: QdrantClient, name: str, body: dict[str, Any]) -> Any:
    asked = rest.FacetRequest(**body)
    return local.facet(name, asked.key, facet_filter=asked.filter, limit=asked.limit or 10)


Handle = Callable[[QdrantClient, str, dict[str, Any]], Any]
_PATHS: dict[tuple[str, str], Handle] = {
    ("GET", "/exists"): lambda local, name, _: {"exists": local.collection_exists(name)},
    ("GET", ""): lambda local, name, _: local.get_collection(name),
    ("PUT", ""): _create,
    ("PUT", "/index"): lambda local, name, body: local.create_payload_index(name, **body),
    ("PUT", "/points"): _upsert,
    ("POST", "/points"): _retrieve,
    ("POST", "/points/delete"): _delete,
    ("POST", "/points/count"): lambda local, name, _: local.count(name),
    ("POST", "/points/scroll"): _scroll,
    ("POST", "/points/query"): _query,
    ("POST", "/points/query/groups"): _groups,
    ("POST", "/facet"): _facet,
}


def _as_json(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {name: _as_json(each) for name, each in value.items()}
    return [_as_json(each) for each in value] if isinstance(value, list) else value


class _Answer(BaseHTTPRequestHandler):
    stand_in: StandIn

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length) or b"{}")
        state, told = 200, {}
        try:
            told = self._told(body)
        except PermissionError:
            state, told = 401, {"status": {"error": "Must provide an API key or an Authorization bearer"}}
        except ValueError as error:
            state, told = 404, {"status": {"error": str(error)}}
        raw = json.dumps(told).encode()
        self.send_response(state)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def _told(self, body: dict[str, Any]) -> dict[str, Any]:
        server = self.stand_in
        if server.key and self.headers.get("api-key") != server.key:
            raise PermissionError
        path = self.path.partition("?")[0]
        if path == "/":
            return {"title": "qdrant", "version": server.version}
        found = re.match(r"/collections/([^/]+)(.*)", path)
        assert found is not None
        with _LOCK, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of what the local mode leaves out
            answer = _PATHS[self.command, found[2]](server.client, found[1], body)
        return {"result": _as_json(answer), "status": "ok", "time": 0.0}

    do_GET = do_PUT = do_POST = _answer  # noqa: N815 - as the base class has it

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def start() -> tuple[StandIn, str]:
    """Return a new stand-in, and where it listens; it stops with this process."""
    stand_in = StandIn()
    handler = type("Answer", (_Answer,), {"stand_in": stand_in})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return stand_in, f"127.0.0.1:{server.server_address[1]}"


@functools.cache
def server() -> tuple[StandIn, str]:
    """Give the stand-in that tests share."""
    return start()


def address() -> str:
    """Return the address of an index that is not there yet."""
    return f"qdrant://{server()[1]}/c{next(_NUMBERS)}"
