"""One place for what all workers of a cluster share: a journal, a budget. It stands where the driver does.

A worker cannot open a file of another machine, and a bound that each worker kept by itself would be none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from disputatio.workers.outcome import Outcome, capture


class Desk:
    """Objects that workers call by name; an actor of Ray, made by `open_desk`."""

    def __init__(self, make: Mapping[str, Callable[[], Any]]) -> None:
        """Open nothing before `open`, whose error can be reported."""
        self._make = dict(make)
        self._parts: dict[str, Any] = {}

    def open(self) -> Outcome[None]:
        return capture(lambda: self._parts.update({name: make() for name, make in self._make.items()}))

    def call(self, part: str, method: str, arguments: tuple[Any, ...]) -> Outcome[Any]:
        """Call a method of one of the objects, and return its result or its error as data."""
        return capture(lambda: getattr(self._parts[part], method)(*arguments))


class Shared:
    """An object at the desk, as a worker has it: each call travels there and back."""

    def __init__(self, desk: Any, part: str) -> None:
        self._desk, self._part = desk, part

    def call(self, method: str, *arguments: Any) -> Any:
        import ray

        came: Outcome[Any] = ray.get(self._desk.call.remote(self._part, method, arguments))
        return came.get()

    def tell(self, method: str, *arguments: Any) -> None:
        self._desk.call.remote(self._part, method, arguments)


class SharedJournal(Shared):
    """A `CallCache` at the desk, for a `CachedLLM` on a worker."""

    def __init__(self, desk: Any, path: str) -> None:
        super().__init__(desk, "journal")
        self.path = path

    def get(self, keys: Any) -> dict[str, str]:
        kept: dict[str, str] = self.call("get", list(keys))
        return kept

    def put(self, kind: str, model: str, values: Mapping[str, str]) -> None:
        self.call("put", kind, model, dict(values))

    def models(self) -> Any:
        return self.call("models")

    def note_model(self, name: str, engine: str, capabilities: Any) -> None:
        self.call("note_model", name, engine, capabilities)


def open_desk(make: Mapping[str, Callable[[], Any]], calls: int) -> Any:
    """Return the actor, at this node, for so many calls at a time; raises what making its objects raised."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    options = {"num_cpus": 0, "max_concurrency": calls, "scheduling_strategy": here}
    desk = ray.remote(Desk).options(**options).remote(dict(make))
    ray.get(desk.open.remote()).get()
    return desk
