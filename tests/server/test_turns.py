"""Turns: bounded, fair, and given back whatever happens."""

from __future__ import annotations

import asyncio

import pytest

from disputatio.server.faults import Full
from disputatio.server.turns import Turns


async def hold(turns: Turns, client: str, order: list[str], release: asyncio.Event) -> None:
    async with turns.turn(client):
        order.append(client)
        await release.wait()


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_a_client_with_many_questions_does_not_keep_another_waiting() -> None:
    async def run() -> list[str]:
        turns, order = Turns(at_once=1, waiting=20, waiting_each=10), list[str]()
        releases = [asyncio.Event() for _ in range(8)]
        clients = [*["greedy"] * 6, "modest", "shy"]
        tasks = []
        for client, release in zip(clients, releases, strict=True):
            tasks.append(asyncio.create_task(hold(turns, client, order, release)))
            await settle()
        for release in releases:
            release.set()
        await asyncio.gather(*tasks)
        return order

    order = asyncio.run(run())
    assert order[:4] == ["greedy", "greedy", "modest", "shy"]
    assert order.count("greedy") == 6


def test_a_full_queue_gives_the_seconds_until_a_retry() -> None:
    async def run() -> None:
        turns, release = Turns(at_once=1, waiting=2, waiting_each=1), asyncio.Event()
        tasks = [asyncio.create_task(hold(turns, client, [], release)) for client in ("a", "a", "b")]
        await settle()
        assert (turns.running, turns.waiting) == (1, 2)
        for client in ("a", "c"):
            with pytest.raises(Full) as full:
                turns.check(client)
            assert full.value.retry_after >= 1
        release.set()
        await asyncio.gather(*tasks)
        assert (turns.running, turns.waiting) == (0, 0)

    asyncio.run(run())


def test_one_client_may_not_fill_the_queue() -> None:
    async def run() -> None:
        turns, release = Turns(at_once=1, waiting=10, waiting_each=1), asyncio.Event()
        tasks = [asyncio.create_task(hold(turns, "a", [], release)) for _ in range(2)]
        await settle()
        with pytest.raises(Full, match="of your questions"):
            turns.check("a")
        turns.check("b")
        release.set()
        await asyncio.gather(*tasks)

    asyncio.run(run())


def test_those_that_wait_are_told_their_places_as_these_change() -> None:
    async def run() -> dict[str, list[int]]:
        turns, releases = Turns(at_once=1, guess=10.0, waiting=9, waiting_each=9), list[asyncio.Event]()
        told: dict[str, list[int]] = {}
        estimates: list[float] = []

        async def wait(name: str, client: str) -> None:
            releases.append(asyncio.Event())
            release = releases[-1]

            def tell(place: int, seconds: float) -> None:
                told.setdefault(name, []).append(place)
                estimates.append(seconds)

            async with turns.turn(client, tell):
                await release.wait()

        tasks = []
        for name, client in (("held", "a"), ("a1", "a"), ("a2", "a"), ("b1", "b")):
            tasks.append(asyncio.create_task(wait(name, client)))
            await settle()
        assert estimates[:2] == [10.0, 20.0]
        for release in releases:
            release.set()
        await asyncio.gather(*tasks)
        return told

    assert asyncio.run(run()) == {"a1": [1, 2], "a2": [2, 3, 2, 1], "b1": [1]}


def test_who_leaves_while_waiting_or_at_their_turn_gives_it_back() -> None:
    async def run() -> None:
        turns, release = Turns(at_once=1, waiting=5, waiting_each=5), asyncio.Event()
        first = asyncio.create_task(hold(turns, "a", [], release))
        await settle()
        waiting = [asyncio.create_task(hold(turns, name, [], release)) for name in ("b", "c")]
        await settle()
        waiting[0].cancel()
        await settle()
        assert turns.waiting == 1
        release.set()
        waiting[1].cancel()
        await asyncio.gather(first, *waiting, return_exceptions=True)
        assert (turns.running, turns.waiting) == (0, 0)

    asyncio.run(run())
