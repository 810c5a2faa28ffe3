"""The settings of a training run."""

from __future__ import annotations

from dataclasses import dataclass, fields

from train.examples import Mix, seeded

ROUND = 20  # steps after which every head has had its share
HEADS = ("read", "entail", "same")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan(Mix):
    """The settings of a run. The rate rises over `warm_up` steps, stays, and falls to 0 over the last share.

    As the rate is level until `(1 - falling) * steps`, a run stopped before that may be resumed with
    another number of steps: it is then the same run as one planned so from its start.
    """

    steps: int = 2_500
    entail_steps: int = 0  # of every 20, and those of *same*; the rest are for *read*
    same_steps: int = 0
    batch: int = 16
    entail_batch: int = 32
    same_batch: int = 12
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

    def size_of(self, head: str) -> int:
        """Examples in a batch for a head."""
        return {"read": self.batch, "entail": self.entail_batch, "same": self.same_batch}[head]

    def head_of_step(self, step: int) -> str:
        """Return which head a step trains: in every round each has its share, in an order of that round.

        >>> plan = Plan(entail_steps=6, same_steps=3)
        >>> heads = [plan.head_of_step(step) for step in range(40)]
        >>> [heads[:20].count(head) for head in HEADS], heads[:20] == heads[20:]
        ([11, 6, 3], False)
        """
        if not self.entail_steps + self.same_steps:
            return "read"
        heads = ["entail"] * self.entail_steps + ["same"] * self.same_steps
        heads += ["read"] * (ROUND - len(heads))
        seeded(self.seed, "heads", step // ROUND).shuffle(heads)
        return heads[step % ROUND]

    def share_of_rate(self, step: int) -> float:
        """Return the factor of the rate at a step, counted from 0.

        >>> plan = Plan(steps=100, warm_up=10, falling=0.5)
        >>> [plan.share_of_rate(step) for step in (0, 9, 49, 75, 99)]
        [0.1, 1.0, 1.0, 0.5, 0.02]
        """
        left = (self.steps - step) / max(1.0, self.falling * self.steps)
        return max(0.0, min(1.0, (step + 1) / self.warm_up, left))
