"""Training of the heads: one command, resumable, the same run from the same seed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from train.base import base_folder
from train.encoder import HeadedEncoder
from train.features import Features, batches_by_length, padded, store, stored
from train.plan import HEADS, Plan
from train.tasks import Judging, Reading, Task

CHECKPOINT, WEIGHTS, LOG = "checkpoint.pt", "encoder.pt", "log.jsonl"
INPUTS = ("tokens", "segments", "attended")


class Run:
    """A training run in a folder: its model, optimiser, place in the data, log.

    `start` is the folder of another run, whose weights this one begins with.
    """

    def __init__(
        self, folder: Path, data: Path, plan: Plan, *, threads: int, precision: str, start: Path | None = None
    ) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(plan.seed)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.plan = folder, plan
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.precision = precision if precision != "auto" else fastest_precision(self.device)
        base = base_folder(folder.parent / "base")
        reading = Reading(data, base, plan)
        self.tasks: dict[str, Task] = {"read": reading}
        if plan.entail_steps:
            self.tasks["entail"] = Judging("entail", reading, data, base, plan)
        if plan.same_steps:
            self.tasks["same"] = Judging("same", reading, data, base, plan)
        self.model = HeadedEncoder()
        self.model.encoder.load_base(base)
        self.model.to(self.device)
        self.model.encoder.words.weight.requires_grad_(False)  # so that the embedder's table can be shared
        self.optimizer = _optimizer(self.model, plan)
        self.trained = [parameter for parameter in self.model.parameters() if parameter.requires_grad]
        self.workers = threads if self.device == "cpu" else 1
        self.pool = ThreadPoolExecutor(self.workers)
        self.step, self.seconds = 0, 0.0
        self._restore(start)

    def _restore(self, start: Path | None) -> None:
        path = self.folder / CHECKPOINT
        if not path.exists():
            if start is not None:
                self.model.load_state_dict(weights_of(start), strict=False)
            self.note(plan=asdict(self.plan), start=None if start is None else start.name)
            return
        state = torch.load(path, map_location=self.device, weights_only=True)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.step, self.seconds = state["step"], state["seconds"]
        self.note(resumed=self.step, plan=asdict(self.plan))

    def save(self) -> None:
        """Write the checkpoint beside its place, then put it there."""
        state = {
            "model": self.model.state_dict(),
            "optimizer": self.optimizer.state_dict(),
            "step": self.step,
            "seconds": self.seconds,
        }
        partial = self.folder / f"{CHECKPOINT}.partial"
        torch.save(state, partial)
        partial.replace(self.folder / CHECKPOINT)

    def note(self, **values: object) -> None:
        """Add a line to the log, and show it."""
        line = json.dumps({"step": self.step, **values})
        with (self.folder / LOG).open("a", encoding="utf-8") as log:
            log.write(line + "\n")
        print(line, flush=True)

    def epoch(self, head: str, number: int) -> list[Features]:
        """Return the features of an epoch; made once and kept in the run's folder, so that resuming takes
        seconds.
        """
        plan = self.plan
        about = repr((plan.mix, plan.seed, plan.length, head, number))
        path = self.folder / f"{head}-{hashlib.sha256(about.encode()).hexdigest()[:16]}.npz"
        if not path.exists():
            store(path, self.tasks[head].epoch(number))
        return stored(path)

    def batches(self, head: str) -> Iterator[list[Features]]:
        """Yield a head's batches from the present step on; an epoch is made anew from its number and the
        seed.
        """
        done = sum(self.plan.head_of_step(step) == head for step in range(self.step))
        passed, epoch = 0, 0
        while True:
            features = self.epoch(head, epoch)
            lengths = [len(one.tokens) for one in features]
            size = self.plan.size_of(head)
            batches = batches_by_length(lengths, size, seed=self.plan.seed, epoch=epoch)
            if passed + len(batches) > done:
                for batch in batches[max(0, done - passed) :]:
                    yield [features[place] for place in batch]
            passed, epoch = passed + len(batches), epoch + 1

    def fit(self, until: int | None = None) -> bool:
        """Train to the planned step; False if stopped earlier, by a signal or at `until`, with a checkpoint."""
        stop = Stop()
        saved, shown = time.monotonic(), time.monotonic()
        losses: dict[str, list[float]] = {}
        examples = 0
        batches = {head: self.batches(head) for head in HEADS if head in self.tasks}
        while self.step < min(self.plan.steps, until or self.plan.steps) and not stop.wanted:
            started = time.monotonic()
            head = self.plan.head_of_step(self.step)
            features = next(batches[head])
            for name, loss in self._advance(features, self.tasks[head]).items():
                losses.setdefault(name, []).append(loss)
            self.seconds += time.monotonic() - started
            self.step, examples = self.step + 1, examples + len(features)
            if self.step % 40 == 0:
                means = {name: round(float(np.mean(some)), 4) for name, some in sorted(losses.items())}
                speed = round(examples / (time.monotonic() - shown), 2)
                rate = self.plan.rate * self.plan.share_of_rate(self.step)
                self.note(losses=means, rate=round(rate, 7), examples_a_second=speed)
                losses, shown, examples = {}, time.monotonic(), 0
            if self.step % self.plan.dev_every == 0:
                self.note(dev=self.dev_scores())
                shown = time.monotonic()
            if time.monotonic() - saved > self.plan.save_seconds:
                self.save()
                saved = time.monotonic()
        self.save()
        if self.step < self.plan.steps:
            return False
        torch.save(self.model.state_dict(), self.folder / WEIGHTS)
        self.note(done=True, seconds=round(self.seconds), dev=self.dev_scores())
        return True

    def _advance(self, features: Sequence[Features], task: Task) -> dict[str, float]:
        """Return one step of the optimiser; the parts of the loss before it.

        The batch is halved (more exactly, cut into as many parts as there are threads), each part runs on
        a thread of its own, and the gradients are added in order. Within an operation nothing waits for
        another thread, which on a machine shared with others is up to twice as fast, and as repeatable.
        """
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = group["planned"] * self.plan.share_of_rate(self.step)
        parts = [features[first :: self.workers] for first in range(min(self.workers, len(features)))]
        shares = [len(part) / len(features) for part in parts]
        made = list(self.pool.map(self._gradients, parts, shares, [task] * len(parts)))
        for place, parameter in enumerate(self.trained):
            gradient = made[0][0][place]
            for gradients, _ in made[1:]:
                gradient = gradient if gradient is None else gradient + gradients[place]
            parameter.grad = gradient  # None for the heads that this batch is not for
        torch.nn.utils.clip_grad_norm_(self.trained, self.plan.clip)
        self.optimizer.step()
        return {name: sum(losses[name] for _, losses in made) for name in made[0][1]}

    def _gradients(
        self, features: Sequence[Features], share: float, task: Task
    ) -> tuple[Any, dict[str, float]]:
        """Return the gradients of a part of a batch and the parts of its loss, each times the part's share."""
        if self.device == "cpu":
            torch.set_num_threads(1)
        batch = {name: torch.from_numpy(array).to(self.device) for name, array in padded(features).items()}
        with self._casting():
            losses = task.losses(self.model(*(batch[name] for name in INPUTS)), batch)
        gradients = torch.autograd.grad(share * sum(losses.values()), self.trained, allow_unused=True)
        return gradients, {name: share * loss.item() for name, loss in losses.items()}

    def _casting(self) -> Any:
        if self.precision == "bfloat16":
            return torch.autocast(self.device, torch.bfloat16)
        return contextlib.nullcontext()

    def dev_scores(self) -> dict[str, Any]:
        """Return the scores of every head on its kept examples."""
        return {name: task.dev_scores(self.outputs) for name, task in self.tasks.items()}

    def outputs(self, features: Sequence[Features]) -> list[tuple[Any, ...]]:
        """Return the model's outputs for each of the features, as numpy arrays."""
        order = sorted(range(len(features)), key=lambda place: len(features[place].tokens))
        rows: dict[int, tuple[Any, ...]] = {}
        self.model.eval()
        for first in range(0, len(order), 32):
            part = order[first : first + 32]
            arrays = padded([features[place] for place in part])
            with torch.inference_mode(), self._casting():
                outputs = self.model(*(torch.from_numpy(arrays[name]).to(self.device) for name in INPUTS))
            columns = [output.float().cpu().numpy() for output in outputs]
            rows.update((place, tuple(column[row] for column in columns)) for row, place in enumerate(part))
        return [rows[place] for place in range(len(features))]


def weights_of(folder: Path) -> dict[str, Any]:
    """Return the weights of a run: those it ended with, or of its checkpoint as it stands."""
    if (folder / WEIGHTS).exists():
        return dict(torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True))
    return dict(torch.load(folder / CHECKPOINT, map_location="cpu", weights_only=True)["model"])


def _optimizer(model: Any, plan: Plan) -> Any:
    """AdamW (Loshchilov and Hutter 2019); no decay of biases and normalisations, the heads at their own rate."""
    groups: dict[tuple[bool, bool], list[Any]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            key = (not name.startswith("encoder."), parameter.ndim > 1)
            groups.setdefault(key, []).append(parameter)
    return torch.optim.AdamW(
        [
            {
                "params": parameters,
                "planned": plan.head_rate if is_head else plan.rate,
                "weight_decay": plan.decay if decays else 0.0,
            }
            for (is_head, decays), parameters in groups.items()
        ],
        lr=plan.rate,
    )


def fastest_precision(device: str) -> str:
    """bfloat16 where the processor multiplies in it, else float32 (emulation is many times slower)."""
    if device == "cuda":
        return "bfloat16"
    cpu = Path("/proc/cpuinfo")
    flags = cpu.read_text(encoding="utf-8") if cpu.exists() else ""
    return "bfloat16" if "avx512_bf16" in flags or "amx_bf16" in flags else "float32"


class Stop:
    """A flag that is set when the process is asked to end; the step under way is finished first."""

    def __init__(self) -> None:
        self.wanted = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.wanted = True
