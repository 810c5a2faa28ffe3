"""Scores of a reader on passages that it was not trained on, each alone, without titles, and on pairs of passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from disputatio.agents.trained_reader import CHOICES, INSTRUCTIONS, UNKNOWN
from train.examples import Example, natural_questions, ramdocs, seeded, side, squad_like
from train.language.fit import auc, read_adapter
from train.language.leaves import pair_branch, shortest
from train.language.model import add_adapters, load_model, load_tokenizer, set_adapter_weights
from train.language.passes import logits_of
from train.language.tasks import passage_text, question_leaf
from train.language.trees import Branch, Tree, pack, rows_of_leaf
from train.measure_pairs import disambiguation_pairs, evenly
from train.pairs import Pair, namesake_pairs

KEPT = 0.93  # of the passages that answer: the share at which refusals are counted
BRANCHES = 5  # passages in one pass


def sets_of(data: Path) -> dict[str, list[Example]]:
    """Return the passages of each set that are reported on: RAMDocs' even rows, all of NQ, kept pages of SQuAD 2.0."""
    squads = [
        each
        for each in squad_like(data / "train")
        if each.dataset == "squad2_dev" and side(each.group) == "test"
    ]
    return {
        "ramdocs": ramdocs(data / "ramdocs" / "dev.jsonl", ["report"]),
        "nq": natural_questions(data / "nq_with_passages" / "nq.jsonl", ["report", "train", "dev"]),
        "squad2": squads,
    }


def chosen(examples: Sequence[Example], limit: int) -> list[Example]:
    """Return all passages of `limit` questions, drawn by a fixed seed."""
    questions = sorted({(each.dataset, each.question) for each in examples})
    kept = set(seeded("measure", limit).sample(questions, min(limit, len(questions))))
    return [each for each in examples if (each.dataset, each.question) in kept]


def measure(
    gguf: Path,
    adapter: Path | None,
    data: Path,
    *,
    limit: int,
    only: Sequence[str] | None,
    dtype: torch.dtype,
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the scores of each set; without an adapter, those of the untrained model."""
    tokenizer, model = load_tokenizer(gguf), load_model(gguf, dtype=dtype)
    if adapter is not None:
        weights = read_adapter(adapter)
        add_adapters(model, rank=len(next(iter(weights.values()))), scale=2.0)
        set_adapter_weights(model, weights)
    for name, examples in sets_of(data).items():
        if only is None or name in only:
            yield name, _scores(model, tokenizer, chosen(examples, limit), dtype)
    for name, pairs in pairs_of(data, limit).items():
        if only is None or name in only:
            yield name, _sameness(model, tokenizer, pairs, dtype)


def pairs_of(data: Path, limit: int) -> dict[str, list[Pair]]:
    """Return pairs of passages about one thing or two, as many of each: RAMDocs' even rows, namesakes of Wikidata."""
    every = {
        "same_ramdocs": namesake_pairs(data / "ramdocs" / "dev.jsonl", ["report"]),
        "same_wikidata": disambiguation_pairs(data),
    }
    return {
        name: [
            pair for label in (0, 1) for pair in evenly([p for p in pairs if p.label == label], limit // 2)
        ]
        for name, pairs in every.items()
    }


def _sameness(model: Any, tokenizer: Any, pairs: Sequence[Pair], dtype: torch.dtype) -> dict[str, Any]:
    """Return the AUC of the log-odds of "same" against "different"."""
    same, different = (tokenizer(word, add_special_tokens=False).input_ids[0] for word in CHOICES["same"])
    odds: dict[bool, list[float]] = {True: [], False: []}
    for pair in pairs:
        packed = pack(Tree("same", (pair_branch([pair]),)), INSTRUCTIONS["same"], tokenizer)
        with torch.inference_mode():
            first = logits_of(model, packed, dtype=dtype)[0]
        odds[bool(pair.label)].append((first[same] - first[different]).item())
    return {
        "same": len(odds[True]),
        "different": len(odds[False]),
        "auc": round(auc(odds[True], odds[False]), 3),
        "told_same": [
            round(float(np.mean([each > 0 for each in odds[label]])), 3) for label in (True, False)
        ],
    }


def _scores(model: Any, tokenizer: Any, examples: Sequence[Example], dtype: torch.dtype) -> dict[str, Any]:
    """Return how passages that answer are read, and how those that do not are refused.

    `as_written` is the share whose answer greedy decoding would give to the letter.
    """
    declined = tokenizer(UNKNOWN, add_special_tokens=False).input_ids[0]
    right: list[bool] = []
    refused: list[bool] = []
    chances: dict[bool, list[float]] = {True: [], False: []}
    for first in range(0, len(examples), BRANCHES):
        branches = tuple(
            Branch(passage_text(each.text), (question_leaf(each.question, shortest(each), "read"),))
            for each in examples[first : first + BRANCHES]
        )
        packed = pack(Tree("read", branches), INSTRUCTIONS["read"], tokenizer)
        with torch.inference_mode():
            logits = logits_of(model, packed, dtype=dtype)
        wanted = torch.from_numpy(packed.tokens[packed.targets])
        for leaf, rows in zip(packed.leaves, rows_of_leaf(packed), strict=True):
            answers = leaf.target != UNKNOWN
            chances[answers].append(torch.log_softmax(logits[rows[0]], -1)[declined].item())
            if answers:
                right.append(bool((logits[rows].argmax(-1) == wanted[rows]).all()))
            refused.append(int(logits[rows[0]].argmax()) == declined)
    kept = float(np.quantile(chances[True], KEPT)) if chances[True] else 0.0
    return {
        "answering": len(chances[True]),
        "silent": len(chances[False]),
        "as_written": round(float(np.mean(right)), 3) if right else None,
        "refused_where_93_kept": round(float(np.mean([each > kept for each in chances[False]])), 3)
        if chances[False]
        else None,
        "auc": round(auc(chances[False], chances[True]), 3),
        "refused_greedily": round(float(np.mean(refused)), 3),
    }
