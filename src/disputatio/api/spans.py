"""OpenTelemetry spans of a question, by the conventions for generative AI, where a setting asks for them.

The question is a span `invoke_workflow STRATEGY`; below it each search is a `retrieval` and each model call a
`chat MODEL`; `extract` is what the encoder reads. No span has the text of a question, passage, prompt or
reply. The length of a call is its share of the time of its batch; a search or an extraction begins where the
event before it ended.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any

from disputatio.errors import require_package
from disputatio.events import Event, Extracted, Found, ModelCall
from disputatio.trace import Trace
from disputatio.types import Answer

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

_NANO = 1_000_000_000


@contextmanager
def report_question(strategy: str, trace: Trace) -> Iterator[Callable[[Answer], Answer]]:
    """Report the question that is answered within this context; give it the answer.

    Raises `MissingDependency` where the packages are not installed.
    """
    from opentelemetry.trace import SpanKind, Status, StatusCode, set_span_in_context

    reporter = tracer()
    names = {"gen_ai.operation.name": "invoke_workflow", "gen_ai.workflow.name": strategy}
    root = reporter.start_span(f"invoke_workflow {strategy}", attributes=names)
    context, last = set_span_in_context(root), time.time_ns()

    def note(event: Event) -> None:
        nonlocal last
        now = time.time_ns()
        if isinstance(event, Found):
            attributes: dict[str, Any] = {
                "gen_ai.operation.name": "retrieval",
                "disputatio.passages": len(event.passages),
                "disputatio.sources": len(set(event.sources)),
            }
            reporter.start_span("retrieval", context, attributes=attributes, start_time=last).end(now)
        elif isinstance(event, Extracted):
            about = {"disputatio.passages": len(event.passages)}
            reporter.start_span("extract", context, attributes=about, start_time=last).end(now)
        elif isinstance(event, ModelCall):
            start = now - int(event.usage.seconds * _NANO)
            called = reporter.start_span(
                f"chat {event.model}", context, SpanKind.CLIENT, _of_call(event), start_time=start
            )
            called.end(now)
        last = now

    def told(answer: Answer) -> Answer:
        root.set_attributes(_of_answer(answer))
        return answer

    try:
        with trace.listening(note):
            yield told
    except BaseException as error:
        root.set_attribute("error.type", type(error).__name__)  # a message may hold text of documents
        root.set_status(Status(StatusCode.ERROR))
        raise
    finally:
        root.end()


def _of_call(event: ModelCall) -> dict[str, Any]:
    provider, colon, name = event.model.partition(":")
    usage = event.usage
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": provider if colon else "disputatio",
        "gen_ai.request.model": name if colon else event.model,
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "disputatio.role": event.role,
        "disputatio.journalled": event.journalled,
    }


def _of_answer(answer: Answer) -> dict[str, Any]:
    usage = answer.usage
    return {
        "gen_ai.usage.input_tokens": usage.prompt_tokens,
        "gen_ai.usage.output_tokens": usage.completion_tokens,
        "disputatio.calls": usage.calls,
        "disputatio.answers": len(answer.answers),
        "disputatio.positions": len(answer.conflict.positions),
        "disputatio.conflict": answer.conflict.kind,
        "disputatio.abstained": answer.abstained or "",
    }


def tracer() -> Tracer:
    """Return the tracer of the application's provider, else of one that exports by OTLP over HTTP."""
    with require_package("opentelemetry-sdk", "otel"):
        from opentelemetry import trace
        from opentelemetry.sdk.trace import TracerProvider
    provider = trace.get_tracer_provider()
    return (provider if isinstance(provider, TracerProvider) else _provider()).get_tracer("disputatio")


@cache
def _provider() -> Any:
    """Return a provider of our own, which `OTEL_EXPORTER_OTLP_ENDPOINT` and the like tell where to send."""
    with require_package("opentelemetry-exporter-otlp-proto-http", "otel"):
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    name = {} if "OTEL_SERVICE_NAME" in os.environ else {SERVICE_NAME: "disputatio"}
    provider = TracerProvider(resource=Resource.create(name))
    # A command waits so long at its end for a collector that is not there.
    timeout = None if "OTEL_EXPORTER_OTLP_TIMEOUT" in os.environ else 3
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(timeout=timeout)))
    return provider
