"""Spans of a question: sent to a collector by OTLP, by the conventions' names, and without any text."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import disputatio as d
from disputatio.api import spans
from disputatio.errors import Malformed, MissingDependency
from disputatio.llm.scripted import Scripted
from tests.server.ferry import PASSAGES, QUESTION, script


class Collector(BaseHTTPRequestHandler):
    """A collector that keeps what it is sent."""

    kept: list[tuple[str, ExportTraceServiceRequest]]

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.kept.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Collector]]:
    kind = type("Kept", (Collector,), {"kept": []})
    with HTTPServer(("127.0.0.1", 0), kind) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        spans._provider.cache_clear()
        yield kind
        spans._provider.cache_clear()
        server.shutdown()


@pytest.fixture
def memory(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    """Return what an application's own provider keeps."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)
    return exporter


def ask(model: Scripted | None = None, **settings: Any) -> d.Answer:
    return d.ask(
        QUESTION, passages=PASSAGES, model=model or script(), settings={"encoder": "none", **settings}
    )


def test_a_collector_gets_the_question_its_search_and_its_calls(collector: type[Collector]) -> None:
    answer = ask(otel=True)
    spans._provider().force_flush()
    [(path, sent)] = collector.kept
    assert path == "/v1/traces"
    [resource] = sent.resource_spans
    named = {each.key: each.value.string_value for each in resource.resource.attributes}
    assert named["service.name"] == "disputatio"
    found = list(resource.scope_spans[0].spans)
    roots = [span for span in found if not span.parent_span_id]
    assert [span.name for span in roots] == ["invoke_workflow disputation"]
    below = [span for span in found if span.parent_span_id == roots[0].span_id]
    assert len(below) == len(found) - 1
    assert [span.name for span in below].count("chat script") == answer.usage.calls > 0
    assert [span.name for span in below].count("retrieval") >= 1
    for span in found:
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    assert not any(text.encode() in sent.SerializeToString() for text in ("ferry", "1887", "museum"))


def test_an_application_with_a_provider_gets_them_by_the_conventions(memory: InMemorySpanExporter) -> None:
    answer = ask(otel=True)
    *below, root = memory.get_finished_spans()
    calls = [span for span in below if span.name.startswith("chat ")]
    for name in ("input", "output"):
        told = [dict(span.attributes or {})[f"gen_ai.usage.{name}_tokens"] for span in calls]
        assert sum(told) == dict(root.attributes or {})[f"gen_ai.usage.{name}_tokens"]  # type: ignore[arg-type]  # ints
    assert {dict(span.attributes or {})["gen_ai.operation.name"] for span in below} == {"chat", "retrieval"}
    about = dict(root.attributes or {})
    assert about["gen_ai.workflow.name"] == "disputation"
    assert (about["disputatio.answers"], about["disputatio.positions"]) == (1, 2)
    assert about["disputatio.calls"] == answer.usage.calls


@pytest.mark.long
def test_what_the_encoder_reads_is_a_span_of_its_own(memory: InMemorySpanExporter) -> None:
    d.ask(QUESTION, passages=PASSAGES, model="none", settings={"otel": True})
    read = [span for span in memory.get_finished_spans() if span.name == "extract"]
    assert read and dict(read[0].attributes or {})["disputatio.passages"] == len(PASSAGES)


def test_a_fault_is_the_kind_of_an_error_without_its_words(memory: InMemorySpanExporter) -> None:
    with pytest.raises(Malformed):
        ask(Scripted(lambda _: Malformed("the secret page")), otel=True)
    root = memory.get_finished_spans()[-1]
    assert not root.status.is_ok
    assert dict(root.attributes or {})["error.type"] == "Malformed"
    assert "secret" not in root.to_json()


def test_nothing_is_sent_unless_it_is_asked_for(memory: InMemorySpanExporter) -> None:
    ask()
    assert memory.get_finished_spans() == ()


def test_without_the_packages_the_line_that_installs_them_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    with pytest.raises(MissingDependency, match=r"disputatio\[otel\]"):
        ask(otel=True)


def test_a_file_of_settings_that_is_found_may_not_send_spans(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "disputatio.toml").write_text("otel = true\n")
    with pytest.raises(d.DisputatioError, match="otel"):
        ask()
