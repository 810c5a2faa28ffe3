"""Metrics for Prometheus: numbers, durations and costs of questions, without texts or clients."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from disputatio.server.running import Running
from disputatio.server.turns import Turns

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.05, 0.1, 0.3, 1, 3, 10, 30, 100, 300, 1000)


class Metrics:
    """The metrics of one server."""

    def __init__(self, turns: Turns) -> None:
        self._registry = registry = CollectorRegistry()
        self.requests = Counter(
            "disputatio_requests_total",
            "Requests by route and status",
            ["route", "status"],
            registry=registry,
        )
        self.refused = Counter(
            "disputatio_refused_total", "Requests that the guard refused", ["reason"], registry=registry
        )
        self._asked = Counter(
            "disputatio_questions_total",
            "Questions by strategy and end",
            ["strategy", "end"],
            registry=registry,
        )
        self._calls = Counter("disputatio_model_calls_total", "Model calls", registry=registry)
        self._tokens = Counter("disputatio_tokens_total", "Tokens by kind", ["kind"], registry=registry)
        self._seconds = Histogram(
            "disputatio_question_seconds", "From asking to the end", registry=registry, buckets=_SECONDS
        )
        self._queued = Histogram(
            "disputatio_queue_seconds", "Waiting for a turn", registry=registry, buckets=_SECONDS
        )
        running = Gauge("disputatio_questions_running", "Questions under way", registry=registry)
        running.set_function(lambda: turns.running)
        waiting = Gauge("disputatio_questions_waiting", "Questions that wait", registry=registry)
        waiting.set_function(lambda: turns.waiting)

    def count_ended(self, running: Running, seconds: float) -> None:
        self._asked.labels(running.strategy, running.state).inc()
        self._seconds.observe(seconds)
        self._queued.observe(running.waited)
        if running.answer is not None:
            usage = running.answer.usage
            self._calls.inc(usage.calls)
            for kind in ("prompt", "cached", "completion"):
                self._tokens.labels(kind).inc(getattr(usage, f"{kind}_tokens"))

    def text(self) -> bytes:
        """Return all metrics in the format of Prometheus."""
        return generate_latest(self._registry)
