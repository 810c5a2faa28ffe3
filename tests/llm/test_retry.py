"""The retry policy by itself, on a clock of its own."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

import pytest

from disputatio.errors import LLMError, Malformed, Refused, ServerFault, Timeout, Unreachable
from disputatio.llm.connection import Breaker, Retry
from disputatio.llm.faults import Failed, retry_after


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


async def no_sleep(_: float) -> None:
    return None


def attempts(*outcomes: str | Failed) -> tuple[Callable[[], Awaitable[str | Failed]], list[int]]:
    """Return an attempt that comes to each outcome in turn, the last for ever, and a count of its calls."""
    made = [0]

    async def attempt() -> str | Failed:
        made[0] += 1
        return outcomes[min(made[0], len(outcomes)) - 1]

    return attempt, made


def run(
    retry: Retry, attempt: Callable[[], Awaitable[str | Failed]], remaining: float = 600
) -> str | LLMError:
    return asyncio.run(_run(retry, attempt, remaining))


async def _run(
    retry: Retry, attempt: Callable[[], Awaitable[str | Failed]], remaining: float
) -> str | LLMError:
    return await retry.run(attempt, remaining=lambda: remaining)


def policy(**options: object) -> Retry:
    settings = {"retries": 4, "sleep": no_sleep, "rng": random.Random(0), "answered": True, **options}
    return Retry(**settings)  # type: ignore[arg-type]  # the tests name real fields


DOWN = Failed(fault=Unreachable("no connection"))


def test_the_breaker_opens_at_the_limit_and_closes_after_the_cool_off() -> None:
    clock = Clock()
    breaker = Breaker(limit=3, cool_off=5.0, clock=clock)
    for _ in range(2):
        breaker.note(DOWN.fault)
    assert breaker.get_blocked_seconds() == 0
    breaker.note(Timeout("connect", 1.0, "there"))
    assert breaker.get_blocked_seconds() == 5.0
    clock.now += 5.0
    assert breaker.get_blocked_seconds() == 0
    breaker.note(DOWN.fault)
    assert breaker.get_blocked_seconds() == 5.0, "one more failure is enough after the cool-off"
    clock.now += 5.0
    breaker.note(None)
    breaker.note(DOWN.fault)
    assert breaker.get_blocked_seconds() == 0, "an answer starts the count anew"


def test_an_endpoint_that_answers_with_faults_is_not_taken_for_unreachable() -> None:
    breaker = Breaker(limit=1)
    for fault in (ServerFault("no", 500), Refused("no", 400), Timeout("first_byte", 1.0, "there")):
        breaker.note(fault)
        assert breaker.get_blocked_seconds() == 0


def test_connection_faults_are_repeated_like_others_once_the_endpoint_has_answered() -> None:
    attempt, made = attempts(DOWN, DOWN, DOWN, "yes")
    assert run(policy(), attempt) == "yes"
    assert made == [4]
    attempt, made = attempts(DOWN, DOWN, "yes")
    assert isinstance(run(policy(answered=False), attempt), Unreachable)
    assert made == [2]


def test_an_open_breaker_ends_a_call_with_what_it_met_itself() -> None:
    attempt, made = attempts(DOWN)
    outcome = run(policy(breaker=Breaker(limit=2)), attempt)
    assert str(outcome) == "no connection"
    assert made == [2]


def test_with_no_retries_nothing_is_repeated() -> None:
    for outcome in (DOWN, Failed(fault=Malformed("half"), once=True), Failed(fault=ServerFault("no", 500))):
        attempt, made = attempts(outcome, "yes")
        assert isinstance(run(policy(retries=0), attempt), LLMError)
        assert made == [1]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("0", 0.0),
        ("-5", 0.0),
        ("1.5", 1.5),
        ("inf", None),
        ("", None),
        ("tomorrow", None),
        ("Fri, 20 Nov 2026 10:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 09:00:00 GMT", 0.0),
        ("Fri, 20 Nov 2026 10:00:30 -0000", 30.0),
        ("Fri, 99 Nov 2026 10:00:30 GMT", None),
    ],
)
def test_retry_after_is_read_in_both_forms(header: str, seconds: float | None) -> None:
    assert retry_after(header, datetime(2026, 11, 20, 10, 0, 0, tzinfo=UTC)) == seconds
