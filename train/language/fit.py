"""Training of the adapter: one command, resumable over as many runs as it takes, the same run from the same seed."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from disputatio.agents.trained_reader import CHOICES, INSTRUCTIONS, UNKNOWN
from train.fit import Stop
from train.language.leaves import Shares, load_data
from train.language.model import (
    adapter_weights,
    add_adapters,
    load_model,
    load_tokenizer,
    set_adapter_weights,
)
from train.language.passes import logits_of, loss_of
from train.language.trees import Packed, Tree, pack, rows_of_leaf

CHECKPOINT, ADAPTER, LOG = "checkpoint.pt", "adapter.safetensors", "log.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The settings of a run. The rate is level until the last share of its trees, then falls to 0.

    So a run that was stopped before that may be resumed with another number of trees.
    """

    trees: int = 4_000
    trees_a_step: int = 2
    rank: int = 8
    scale: float = 2.0
    rate: float = 3e-4
    warm_up: int = 10
    falling: float = 0.25
    clip: float = 1.0
    seed: int = 23
    watch_every: int = 400
    watched: int = 30
    save_seconds: float = 300.0
    # Trees of each task in a round.
    read: int = 12
    support: int = 3
    entail: int = 3
    same: int = 2
    look: int = 3
    decide: int = 3

    @property
    def shares(self) -> Shares:
        """The trees of each task in a round."""
        return Shares(
            read=self.read,
            support=self.support,
            entail=self.entail,
            same=self.same,
            look=self.look,
            decide=self.decide,
        )

    def share_of_rate(self, tree: int) -> float:
        """Return the factor of the rate after so many trees.

        >>> settings = Settings(trees=100, trees_a_step=1, warm_up=10, falling=0.5)
        >>> [round(settings.share_of_rate(tree), 2) for tree in (0, 4, 9, 49, 75, 99)]
        [0.1, 0.5, 1.0, 1.0, 0.5, 0.02]
        """
        step = tree // self.trees_a_step
        level = self.trees * (1 - self.falling)
        fallen = 1.0 if tree < level else (self.trees - tree) / (self.trees - level)
        return min((step + 1) / self.warm_up, 1.0) * max(fallen, 0.0)


class Training:
    """A run in a folder: adapter, optimiser, place in the data and log.

    `start` is a file of an adapter to begin with, whose optimiser is not kept.
    """

    def __init__(
        self,
        folder: Path,
        data: Path,
        gguf: Path,
        settings: Settings,
        *,
        threads: int,
        dtype: torch.dtype,
        start: Path | None = None,
    ) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(settings.seed)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.settings, self.dtype = folder, settings, dtype
        self.tokenizer = load_tokenizer(gguf)
        self.model = load_model(gguf, dtype=dtype)
        add_adapters(self.model, rank=settings.rank, scale=settings.scale)
        self.parameters = list(adapter_weights(self.model).values())
        self.optimizer = torch.optim.AdamW(
            self.parameters, lr=settings.rate, weight_decay=0.0, betas=(0.9, 0.98)
        )
        self.train, self.dev = load_data(data, seed=settings.seed)
        self.tree, self.leaves, self.seconds = 0, 0, 0.0
        self._restore(start)

    def _restore(self, start: Path | None) -> None:
        path = self.folder / CHECKPOINT
        if path.exists():
            state = torch.load(path, weights_only=True)
            set_adapter_weights(self.model, state["adapter"])
            self.optimizer.load_state_dict(state["optimizer"])
            self.tree, self.leaves, self.seconds = state["tree"], state["leaves"], state["seconds"]
            self.note(resumed=self.tree)
        else:
            if start is not None:
                set_adapter_weights(self.model, read_adapter(start))
            self.note(settings=asdict(self.settings), start=start.name if start else None)

    def save(self) -> None:
        """Write the checkpoint and the adapter, each beside its place, then put them there."""
        state = {
            "adapter": {name: value.detach() for name, value in adapter_weights(self.model).items()},
            "optimizer": self.optimizer.state_dict(),
            "tree": self.tree,
            "leaves": self.leaves,
            "seconds": self.seconds,
        }
        partial = self.folder / f"{CHECKPOINT}.partial"
        torch.save(state, partial)
        partial.replace(self.folder / CHECKPOINT)
        write_adapter(self.folder / ADAPTER, self.model, self.settings)

    def note(self, **values: object) -> None:
        """Add a line to the log, and show it."""
        line = json.dumps({"tree": self.tree, "leaves": self.leaves, **values})
        with (self.folder / LOG).open("a", encoding="utf-8") as log:
            log.write(line + "\n")
        print(line, flush=True)

    def packed(self, tree: Tree) -> Packed:
        """Return a tree as tokens."""
        return pack(tree, INSTRUCTIONS[tree.task], self.tokenizer)

    def fit(self, *, minutes: float | None = None) -> bool:
        """Train to the planned number of trees; False if stopped earlier, by a signal or the clock."""
        stop, began = Stop(), time.monotonic()
        saved = shown = began
        losses: dict[str, list[float]] = {}
        trees = itertools.islice(self.train.trees(self.settings.shares), self.tree, None)
        while self.tree < self.settings.trees and not stop.wanted:
            if minutes is not None and time.monotonic() - began > 60 * minutes:
                break
            started = time.monotonic()
            for group in self.optimizer.param_groups:
                group["lr"] = self.settings.rate * self.settings.share_of_rate(self.tree)
            for _ in range(self.settings.trees_a_step):
                tree = next(trees)
                packed = self.packed(tree)
                loss = loss_of(logits_of(self.model, packed, dtype=self.dtype), packed)
                (loss / self.settings.trees_a_step).backward()
                losses.setdefault(tree.task, []).append(loss.item())
                self.tree, self.leaves = self.tree + 1, self.leaves + len(packed.leaves)
            torch.nn.utils.clip_grad_norm_(self.parameters, self.settings.clip)
            self.optimizer.step()
            self.optimizer.zero_grad()
            self.seconds += time.monotonic() - started
            if self.tree % (20 * self.settings.trees_a_step) == 0:
                means = {task: round(float(np.mean(some)), 3) for task, some in sorted(losses.items())}
                self.note(losses=means, seconds=round(self.seconds), wall=round(time.monotonic() - shown))
                losses, shown = {}, time.monotonic()
            if self.tree % self.settings.watch_every == 0:
                self.note(watched=self.watch())
            if time.monotonic() - saved > self.settings.save_seconds:
                self.save()
                saved = time.monotonic()
        self.save()
        done = self.tree >= self.settings.trees
        self.note(done=done, seconds=round(self.seconds))
        return done

    def watch(self) -> dict[str, Any]:
        """Return the scores of the watched trees."""
        trees = list(itertools.islice(self.dev.trees(self.settings.shares), self.settings.watched))
        return scores(self.model, [self.packed(tree) for tree in trees], self.tokenizer, dtype=self.dtype)


def scores(model: Any, trees: Sequence[Packed], tokenizer: Any, *, dtype: torch.dtype) -> dict[str, Any]:
    """Return, by kind of leaf, how many are written to the letter; and the AUC of declining for *read*.

    A leaf is written to the letter if every token of its target is the likeliest, as greedy decoding would take it.
    """
    declined = tokenizer(UNKNOWN, add_special_tokens=False).input_ids[0]
    exact: dict[str, list[bool]] = {}
    chances: dict[bool, list[float]] = {True: [], False: []}
    for packed in trees:
        with torch.inference_mode():
            logits = logits_of(model, packed, dtype=dtype)
        wanted = torch.from_numpy(packed.tokens[packed.targets])
        for leaf, rows in zip(packed.leaves, rows_of_leaf(packed), strict=True):
            right = bool((logits[rows].argmax(-1) == wanted[rows]).all())
            exact.setdefault(leaf.kind, []).append(right)
            if leaf.kind.split("/")[0] not in CHOICES:
                chance = torch.log_softmax(logits[rows[0]], -1)[declined].item()
                chances[leaf.target == UNKNOWN].append(chance)
    found: dict[str, Any] = {
        kind: [round(float(np.mean(some)), 3), len(some)] for kind, some in sorted(exact.items())
    }
    found["declining"] = round(auc(chances[True], chances[False]), 3)
    return found


def auc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return how likely a positive scores above a negative, ties half.

    >>> auc([2, 3], [1, 2])
    0.875
    """
    above = sum((high > low) + 0.5 * (high == low) for high in positive for low in negative)
    return above / max(1, len(positive) * len(negative))


def write_adapter(path: Path, model: Any, settings: Settings) -> None:
    """Write the adapter alone, in bfloat16."""
    from safetensors.torch import save_file

    weights = {
        name: value.detach().to(torch.bfloat16).contiguous() for name, value in adapter_weights(model).items()
    }
    partial = path.with_suffix(".partial")
    save_file(weights, partial, metadata={"rank": str(settings.rank), "scale": str(settings.scale)})
    partial.replace(path)


def read_adapter(path: Path) -> dict[str, Any]:
    """Return the matrices of an adapter file as 32-bit floats."""
    from safetensors.torch import load_file

    return {name: value.float() for name, value in load_file(path).items()}
