"""The heads that are trained: for each its epochs, its loss, and its scores on what is kept to watch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from bench.lib.agreement import roc_auc
from disputatio.encoder.model import TOKENIZER, tokenizer_of
from disputatio.encoder.reader import best_span
from train.claims import claims_of
from train.encoder import entailment_loss, reading_loss, sameness_loss
from train.examples import Example, epoch_of, seeded, window
from train.features import Features, features_of, pair_features
from train.pages import pages_of
from train.pairs import CONTRADICTS, NOT_SUPPORTS, SUPPORTS, Head, Pair, all_pairs, side_of
from train.plan import Plan
from train.scores import exact, f1
from train.split import dev_sample, training_examples

Ask = Callable[[Sequence[Features]], list[tuple[Any, ...]]]
Scores = dict[str, dict[str, float | None]]


class Task(Protocol):
    """A head's data and loss. `name` is the head's."""

    name: str

    def epoch(self, number: int) -> list[Features]:
        """Return the features of an epoch in their order, the same for the same seed."""

    def losses(self, outputs: Any, batch: Any) -> dict[str, Any]:
        """Return the parts of the loss of a batch by name, each times its weight."""

    def dev_scores(self, ask: Ask) -> Scores:
        """Scores by data set on the kept examples; `ask` gives the model's outputs, one row each."""


class Reading:
    """The span of an answer, and whether the passage answers."""

    name = "read"

    def __init__(self, data: Path, base: Path, plan: Plan) -> None:
        self.plan, self.tokenizer = plan, tokenizer_of((base / TOKENIZER).read_bytes(), plan.length)
        self.examples, dev = training_examples(data)
        self.dev = dev_sample(dev, plan.seed, plan.dev_each)

    def epoch(self, number: int) -> list[Features]:
        """Questions on windows of passages, a third of the answerable made unanswerable."""
        examples = epoch_of(self.examples, seed=self.plan.seed, epoch=number, mix=self.plan.mix)
        return [features for features in features_of(self.tokenizer, examples) if features is not None]

    def losses(self, outputs: Any, batch: Any) -> dict[str, Any]:
        """Return the losses of the span and of answerability."""
        span, answer = reading_loss(outputs, batch)
        return {"span": span, "answer": self.plan.answer_weight * answer}

    def dev_scores(self, ask: Ask) -> Scores:
        """EM and F1 of the answerable, AUC of answerability."""
        pairs = zip(self.dev, features_of(self.tokenizer, self.dev), strict=True)
        kept = [(example, features) for example, features in pairs if features is not None]
        read: dict[str, list[tuple[Example, str, float]]] = {}
        for (example, features), outputs in zip(kept, ask([features for _, features in kept]), strict=True):
            text, margin = _reading(outputs[0], outputs[1], features, example.text)
            read.setdefault(example.dataset, []).append((example, text, margin + float(outputs[2])))
        return {name: _summary(readings) for name, readings in sorted(read.items())}


class Judging:
    """Pairs of texts: *entail* (claim and passage) or *same* (two passages)."""

    def __init__(self, head: Head, reading: Reading, data: Path, base: Path, plan: Plan) -> None:
        self.name: str = head
        self.plan, self.reading = plan, reading
        self.tokenizer = tokenizer_of((base / TOKENIZER).read_bytes(), plan.length)
        self.tokenizer.enable_truncation(plan.length, strategy="longest_first")
        sides: dict[str, list[Pair]] = {"train": [], "dev": [], "test": []}
        for pair in all_pairs(data):
            if pair.head == head:
                sides[side_of(pair)].append(pair)
        self.pairs = sides["train"]
        self.dev: list[Pair] = []
        by_set: dict[str, list[Pair]] = {}
        if head == "same":
            sides["dev"] += pages_of(
                reading.examples,
                part="dev",
                share=1.0,
                seed=0,
                epoch=0,
                least=plan.least_words,
                most=plan.most_words,
            )
        for pair in sides["dev"]:
            by_set.setdefault(pair.dataset, []).append(pair)
        for name, pairs in sorted(by_set.items()):
            self.dev += seeded(plan.seed, "dev", name).sample(pairs, min(3 * plan.dev_each, len(pairs)))

    def epoch(self, number: int) -> list[Features]:
        """Return the mix of the sets, and for *entail* claims made of the questions."""
        plan, chosen = self.plan, list[Pair]()
        common = {
            "seed": plan.seed,
            "epoch": number,
            "least": plan.least_words,
            "most": plan.most_words,
        }
        for pair in self.pairs:
            share, times = plan.mix.share_and_times(pair.dataset)
            for repeat in range(times):
                chance = seeded(plan.seed, number, repeat, pair.id)
                if chance.random() < share:
                    chosen.append(cropped(pair, chance, plan.least_words, plan.most_words))
        if self.name == "entail":
            chosen += claims_of(self.reading.examples, share=plan.claims_share, **common)
        else:
            chosen += pages_of(self.reading.examples, part="train", share=plan.pages_share, **common)
        seeded(plan.seed, number, self.name).shuffle(chosen)
        return pair_features(self.tokenizer, chosen)

    def losses(self, outputs: Any, batch: Any) -> dict[str, Any]:
        """Return the one loss of the head."""
        loss = entailment_loss if self.name == "entail" else sameness_loss
        return {self.name: loss(outputs, batch)}

    def dev_scores(self, ask: Ask) -> Scores:
        """Accuracy of *entail*, with the AUC of support; AUC of *same*."""
        judged: dict[str, list[tuple[Pair, Any]]] = {}
        output = 3 if self.name == "entail" else 4
        for pair, outputs in zip(self.dev, ask(pair_features(self.tokenizer, self.dev)), strict=True):
            judged.setdefault(pair.dataset, []).append((pair, outputs[output]))
        summary = _judged if self.name == "entail" else _told
        return {name: summary(pairs) for name, pairs in sorted(judged.items())}


def cropped(pair: Pair, chance: Any, least: int, most: int) -> Pair:
    """Return a pair for *same* with shorter texts half of the time, so that long and short passages occur."""
    if pair.head != "same" or chance.random() < 0.5:
        return pair
    head, _, first = pair.first.partition("\n")
    cut = []
    for text in (first, pair.second):
        example = Example(id="", dataset="", group="", question="", title="", text=text, spans=())
        cut.append(window(example, chance, least, most).text)
    return replace(pair, first=f"{head}\n{cut[0]}", second=cut[1])


def _reading(starts: Any, ends: Any, features: Features, text: str) -> tuple[str, float]:
    """Return the likeliest span of a passage and how far its logits lie above those of "no answer"."""
    places = np.flatnonzero(features.legal)
    if not len(places):
        return "", float("-inf")
    first, last, score = best_span(starts[places], ends[places])
    begin, end = features.offsets[places[first], 0], features.offsets[places[last], 1]
    return text[begin:end], score - float(starts[0] + ends[0])


def _summary(read: Sequence[tuple[Example, str, float]]) -> dict[str, float | None]:
    answerable = [(example, text) for example, text, _ in read if example.spans]
    auc = roc_auc([score for *_, score in read], [bool(example.spans) for example, *_ in read])
    return {
        "answerable": len(answerable),
        "unanswerable": len(read) - len(answerable),
        "em": _mean([exact(text, example.answers) for example, text in answerable]),
        "f1": _mean([f1(text, example.answers) for example, text in answerable]),
        "auc": None if auc is None else round(auc, 4),
    }


def _judged(judged: Sequence[tuple[Pair, Any]]) -> dict[str, float | None]:
    """Accuracy; a set that has only two of the classes is not asked to tell the third."""
    labels = {pair.label for pair, _ in judged}
    right = []
    for pair, logits in judged:
        if NOT_SUPPORTS in labels:
            right.append(float((int(np.argmax(logits)) == SUPPORTS) == (pair.label == SUPPORTS)))
            continue
        known = sorted(labels)
        right.append(float(known[int(np.argmax(logits[known]))] == pair.label))
    support = [float(logits[SUPPORTS] - np.logaddexp(logits[1], logits[2])) for _, logits in judged]
    against = [float(logits[CONTRADICTS] - np.logaddexp(logits[0], logits[2])) for _, logits in judged]
    auc = roc_auc(support, [pair.label == SUPPORTS for pair, _ in judged])
    contradiction = roc_auc(against, [pair.label == CONTRADICTS for pair, _ in judged])
    return {
        "n": len(judged),
        "accuracy": _mean(right),
        "auc": None if auc is None else round(auc, 4),
        "auc_contradiction": None if contradiction is None else round(contradiction, 4),
    }


def _told(judged: Sequence[tuple[Pair, Any]]) -> dict[str, float | None]:
    auc = roc_auc([float(logit) for _, logit in judged], [pair.label == 1 for pair, _ in judged])
    return {"n": len(judged), "auc": None if auc is None else round(auc, 4)}


def _mean(values: Sequence[float]) -> float | None:
    return round(float(np.mean(values)), 4) if values else None
