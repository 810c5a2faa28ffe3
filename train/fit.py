"""Training of the head *read*: one command, resumable, the same run from the same seed."""

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

from disputatio.encoder.reader import best_span, tokenizer_of
from train.base import base_folder
from train.encoder import Reader, reading_loss
from train.examples import Example, epoch_of
from train.features import Features, batches_by_length, features_of, padded, store, stored
from train.plan import Plan
from train.scores import area, exact, f1
from train.split import dev_sample, training_examples

CHECKPOINT, WEIGHTS, LOG = "checkpoint.pt", "reader.pt", "log.jsonl"


class Run:
    """A training run in a folder: its model, optimiser, place in the data, log."""

    def __init__(self, folder: Path, data: Path, plan: Plan, *, threads: int, precision: str) -> None:
        torch.set_num_threads(threads)
        torch.manual_seed(plan.seed)
        folder.mkdir(parents=True, exist_ok=True)
        self.folder, self.plan = folder, plan
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.precision = precision if precision != "auto" else _fastest(self.device)
        self.base = base_folder(folder.parent / "base")
        self.tokenizer = tokenizer_of(self.base, plan.length)
        self.train_examples, dev_examples = training_examples(data)
        self.dev = dev_sample(dev_examples, plan.seed, plan.dev_each)
        self.model = Reader()
        self.model.encoder.load_base(self.base)
        self.model.to(self.device)
        self.model.encoder.words.weight.requires_grad_(False)  # so that the embedder's table can be shared
        self.optimizer = _optimizer(self.model, plan)
        self.trained = [one for one in self.model.parameters() if one.requires_grad]
        self.workers = threads if self.device == "cpu" else 1
        self.pool = ThreadPoolExecutor(self.workers)
        self.step, self.seconds = 0, 0.0
        self._restore()

    def _restore(self) -> None:
        path = self.folder / CHECKPOINT
        if not path.exists():
            self.note(plan=asdict(self.plan), examples_to_train_on=len(self.train_examples))
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

    def epoch(self, number: int) -> list[Features]:
        """The features of an epoch; made once and kept in the run's folder, so that resuming takes seconds."""
        about = repr((self.plan.mix, self.plan.seed, self.plan.length, number, len(self.train_examples)))
        path = self.folder / f"epoch-{hashlib.sha256(about.encode()).hexdigest()[:16]}.npz"
        if not path.exists():
            examples = epoch_of(self.train_examples, seed=self.plan.seed, epoch=number, mix=self.plan.mix)
            store(path, [one for one in features_of(self.tokenizer, examples) if one is not None])
        return stored(path)

    def batches(self) -> Iterator[list[Features]]:
        """The batches from the present step on; an epoch is made anew from its number and the seed."""
        passed, epoch = 0, 0
        while True:
            features = self.epoch(epoch)
            lengths = [len(one.tokens) for one in features]
            batches = batches_by_length(lengths, self.plan.batch, seed=self.plan.seed, epoch=epoch)
            if passed + len(batches) > self.step:
                for batch in batches[max(0, self.step - passed) :]:
                    yield [features[place] for place in batch]
            passed, epoch = passed + len(batches), epoch + 1

    def fit(self, until: int | None = None) -> bool:
        """Train to the planned step; False if stopped earlier, by a signal or at `until`, with a checkpoint."""
        stop = Stop()
        saved, shown = time.monotonic(), time.monotonic()
        losses: list[tuple[float, float]] = []
        batches = self.batches()
        while self.step < min(self.plan.steps, until or self.plan.steps) and not stop.wanted:
            started = time.monotonic()
            losses.append(self._advance(next(batches)))
            self.seconds += time.monotonic() - started
            self.step += 1
            if self.step % 25 == 0:
                span, answer = np.mean(losses, axis=0).round(4).tolist()
                speed = round(25 * self.plan.batch / (time.monotonic() - shown), 2)
                rate = self.plan.rate * self.plan.share_of_rate(self.step)
                self.note(span_loss=span, answer_loss=answer, rate=round(rate, 7), examples_a_second=speed)
                losses, shown = [], time.monotonic()
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

    def _advance(self, features: Sequence[Features]) -> tuple[float, float]:
        """One step of the optimiser; the two losses before it.

        The batch is halved (more exactly, cut into as many parts as there are threads), each part runs on
        a thread of its own, and the gradients are added in order. Within an operation nothing waits for
        another thread, which on a machine shared with others is up to twice as fast, and as repeatable.
        """
        self.model.train()
        for group in self.optimizer.param_groups:
            group["lr"] = group["planned"] * self.plan.share_of_rate(self.step)
        parts = [features[first :: self.workers] for first in range(min(self.workers, len(features)))]
        shares = [len(part) / len(features) for part in parts]
        made = list(self.pool.map(self._gradients, parts, shares))
        for place, parameter in enumerate(self.trained):
            gradient = made[0][0][place]
            for gradients, *_ in made[1:]:
                gradient = gradient + gradients[place]
            parameter.grad = gradient
        torch.nn.utils.clip_grad_norm_(self.trained, self.plan.clip)
        self.optimizer.step()
        return sum(span for _, span, _ in made), sum(answer for *_, answer in made)

    def _gradients(self, features: Sequence[Features], share: float) -> tuple[Any, float, float]:
        """The gradients of a part of a batch and its two losses, each times the part's share."""
        if self.device == "cpu":
            torch.set_num_threads(1)
        batch = {name: torch.from_numpy(array).to(self.device) for name, array in padded(features).items()}
        with self._casting():
            outputs = self.model(batch["tokens"], batch["segments"], batch["attended"])
            span_loss, answer_loss = reading_loss(outputs, batch)
        loss = share * (span_loss + self.plan.answer_weight * answer_loss)
        gradients = torch.autograd.grad(loss, self.trained)
        return gradients, share * span_loss.item(), share * answer_loss.item()

    def _casting(self) -> Any:
        if self.precision == "bfloat16":
            return torch.autocast(self.device, torch.bfloat16)
        return contextlib.nullcontext()

    def dev_scores(self) -> dict[str, dict[str, float | None]]:
        """Scores by data set on the kept examples: EM and F1 of the answerable, AUC of answerability."""
        features = features_of(self.tokenizer, self.dev)
        answers: dict[str, list[tuple[Example, str, float]]] = {}
        places = [place for place, one in enumerate(features) if one is not None]
        places.sort(key=lambda place: len(features[place].tokens))  # type: ignore[union-attr]
        self.model.eval()
        for first in range(0, len(places), 32):
            part = places[first : first + 32]
            batch_features = [one for one in (features[place] for place in part) if one is not None]
            arrays = padded(batch_features)
            names = ("tokens", "segments", "attended")
            with torch.inference_mode(), self._casting():
                outputs = self.model(*(torch.from_numpy(arrays[name]).to(self.device) for name in names))
            starts, ends, answering = (one.float().cpu().numpy() for one in outputs)
            for row, (place, one) in enumerate(zip(part, batch_features, strict=True)):
                example = self.dev[place]
                text, margin = _reading(starts[row], ends[row], one, example.text)
                answers.setdefault(example.dataset, []).append(
                    (example, text, margin + float(answering[row]))
                )
        return {name: _summary(read) for name, read in sorted(answers.items())}


def _reading(starts: Any, ends: Any, features: Features, text: str) -> tuple[str, float]:
    """The likeliest span of a passage and how far its logits lie above those of "no answer"."""
    places = np.flatnonzero(features.legal)
    if not len(places):
        return "", float("-inf")
    first, last, score = best_span(starts[places], ends[places])
    begin, end = features.offsets[places[first], 0], features.offsets[places[last], 1]
    return text[begin:end], score - float(starts[0] + ends[0])


def _summary(read: Sequence[tuple[Example, str, float]]) -> dict[str, float | None]:
    answerable = [(example, text) for example, text, _ in read if example.spans]
    auc = area([score for *_, score in read], [bool(example.spans) for example, *_ in read])
    return {
        "answerable": len(answerable),
        "unanswerable": len(read) - len(answerable),
        "em": _mean([exact(text, example.answers) for example, text in answerable]),
        "f1": _mean([f1(text, example.answers) for example, text in answerable]),
        "auc": None if auc is None else round(auc, 4),
    }


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None


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


def _fastest(device: str) -> str:
    """bfloat16 where the processor multiplies in it, else float32 (emulation is many times slower)."""
    if device == "cuda":
        return "bfloat16"
    cpu = Path("/proc/cpuinfo")
    flags = cpu.read_text(encoding="utf-8") if cpu.exists() else ""
    return "bfloat16" if "avx512_bf16" in flags or "amx_bf16" in flags else "float32"


class Stop:
    """Whether the process was asked to end; the step under way is finished first."""

    def __init__(self) -> None:
        self.wanted = False
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.wanted = True
