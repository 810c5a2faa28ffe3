"""What decides a training run."""

from __future__ import annotations

from dataclasses import dataclass, fields

from train.examples import Mix


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Mix):
    """What decides a run. The rate rises over `warm_up` steps, stays, and falls to 0 over the last share.

    As the rate is level until `(1 - falling) * examples`, a run stopped before that may be resumed with
    another number of examples: it is then the same run as one planned so from its start.
    """

    examples: int = 40_000
    batch: int = 16
    rate: float = 1.5e-4
    head_rate: float = 6e-4
    warm_up: int = 80
    falling: float = 0.35
    decay: float = 0.01
    clip: float = 1.0
    answer_weight: float = 0.5
    length: int = 224
    seed: int = 17
    dev_every: int = 400
    dev_each: int = 40
    save_seconds: float = 150.0

    @property
    def mix(self) -> Mix:
        """The part of the plan that makes the epochs."""
        return Mix(**{field.name: getattr(self, field.name) for field in fields(Mix)})

    @property
    def steps(self) -> int:
        """Batches of the whole run."""
        return max(1, self.examples // self.batch)

    def share_of_rate(self, step: int) -> float:
        """The factor of the rate at a step, counted from 0.

        >>> plan = Plan(examples=1600, warm_up=10, falling=0.5)
        >>> [plan.share_of_rate(step) for step in (0, 9, 49, 75, 99)]
        [0.1, 1.0, 1.0, 0.5, 0.02]
        """
        left = (self.steps - step) / max(1.0, self.falling * self.steps)
        return max(0.0, min(1.0, (step + 1) / self.warm_up, left))
