"""Measure the heads *entail* and *same* on pairs that nothing was trained, chosen or calibrated on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from bench.lib.agreement import roc_auc
from disputatio.encoder.model import EncoderModel
from disputatio.encoder.reader import CONTRADICTS, SUPPORTS, against_rest
from disputatio.types import Passage
from train.claims import claims_of
from train.examples import Mix, rows_of, side, squad_like
from train.pairs import NOT_SUPPORTS, Pair, all_pairs, entailment_pairs, namesake_pairs, side_of
from train.sameness import about, sameness

_Item = TypeVar("_Item")
# Sets that were never trained on, and how they call the three classes.
APART = ("snli_test", "vitaminc_test", "anli_dev", "climate_fever", "wice")


def measure_entailment(
    model: EncoderModel, data: Path, *, limit: int | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Accuracy and AUC of each set: those kept apart whole, then the kept sides of the trained ones."""
    apart = [pair for pair in entailment_pairs(data / "measure") if pair.dataset in APART]
    for name in APART:
        pairs = [pair for pair in apart if pair.dataset == name]
        yield f"entail_{name}", entailment_scores(model, evenly(pairs, limit))
    kept = [pair for pair in all_pairs(data) if pair.head == "entail" and side_of(pair) == "test"]
    for name in sorted({pair.dataset for pair in kept}):
        pairs = [pair for pair in kept if pair.dataset == name]
        yield f"entail_test_{name}", entailment_scores(model, evenly(pairs, limit))
    examples = [example for example in squad_like(data / "train") if side(example.group) == "test"]
    mix = Mix()
    claims = claims_of(examples, share=1.0, seed=0, epoch=0, least=mix.least_words, most=mix.most_words)
    yield "entail_test_claims", entailment_scores(model, evenly(claims, limit))


def measure_sameness(
    model: EncoderModel, data: Path, *, limit: int | None = None
) -> Iterator[tuple[str, dict[str, Any]]]:
    """AUC of each set: names with several bearers (a corpus left out of training), RAMDocs' kept rows, the rest."""
    pairs = disambiguation_pairs(data)
    kinds = [[pair for pair in pairs if pair.label == label] for label in (0, 1)]
    most = min(len(kinds[0]), limit or len(kinds[0]))  # of each kind: nine in ten of the set are the same
    yield "same_wikidata_disamb", sameness_scores(model, [*evenly(kinds[0], most), *evenly(kinds[1], most)])
    report = namesake_pairs(data / "ramdocs" / "dev.jsonl", ["report"])
    yield "same_ramdocs", sameness_scores(model, report)
    kept = [pair for pair in all_pairs(data) if pair.head == "same" and side_of(pair) == "test"]
    for name in sorted({pair.dataset for pair in kept}):
        pairs = [pair for pair in kept if pair.dataset == name]
        yield f"same_test_{name}", sameness_scores(model, evenly(pairs, limit))


def disambiguation_pairs(data: Path) -> list[Pair]:
    """Wikidata-Disamb (Cetoli et al. 2018): two contexts of a name, and whether it has one bearer in both."""
    return [
        Pair(
            id=f"disamb/{number}",
            dataset="wikidata_disamb",
            group="",
            head="same",
            first=about(row["name"], row["a"]),
            second=row["b"],
            label=int(row["same"]),
        )
        for number, row in enumerate(rows_of(data / "measure" / "ref_wikidata_disamb.jsonl.gz"))
    ]


def evenly(some: Sequence[_Item], limit: int | None) -> list[_Item]:
    """At most `limit` of a sequence, evenly spread over it."""
    if limit is None or len(some) <= limit:
        return list(some)
    return [some[place * len(some) // limit] for place in range(limit)]


def entailment_scores(model: EncoderModel, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Accuracy over the classes that a set has, and the AUCs of support and of contradiction.

    A set that does not tell contradiction from silence is scored on support against the rest.
    """
    logits: dict[int, Any] = {}
    for sequence, outputs in model.logits([(pair.first, pair.second) for pair in pairs]):
        logits.setdefault(sequence.pair, outputs.entail)  # the first part, as in training
    labels = sorted({pair.label for pair in pairs})
    right = []
    for number, pair in enumerate(pairs):
        if NOT_SUPPORTS in labels:
            right.append((int(np.argmax(logits[number])) == SUPPORTS) == (pair.label == SUPPORTS))
        else:
            right.append(labels[int(np.argmax(logits[number][labels]))] == pair.label)
    scores: dict[str, Any] = {"n": len(pairs), "accuracy": round(float(np.mean(right)), 4)}
    for name, label in (("auc_support", SUPPORTS), ("auc_contradiction", CONTRADICTS)):
        values = [against_rest(logits[number], label) for number in range(len(pairs))]
        auc = roc_auc(values, [pair.label == label for pair in pairs])
        scores[name] = None if auc is None else round(auc, 4)
    return scores


def sameness_scores(model: EncoderModel, pairs: Sequence[Pair]) -> dict[str, Any]:
    """Return the AUC of sameness, both orders averaged as at work."""
    values = list[float]()
    names: dict[str, list[tuple[Passage, Passage, int]]] = {}
    for pair in pairs:
        name, _, first = pair.first.removeprefix("About: ").partition("\n")
        names.setdefault(name, []).append((Passage(text=first), Passage(text=pair.second), pair.label))
    labels = []
    for name, triples in names.items():
        values += sameness(model, name, [(first, second) for first, second, _ in triples])
        labels += [label == 1 for *_, label in triples]
    auc = roc_auc(values, labels)
    right = np.mean([(value >= 0.5) == label for value, label in zip(values, labels, strict=True)])
    return {
        "n": len(pairs),
        "same": sum(labels),
        "auc": None if auc is None else round(auc, 4),
        "accuracy": round(float(right), 4),
    }
