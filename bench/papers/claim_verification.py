"""Measure how well judges of entailment separate claims that experts found supported from others (ExpertQA).

    python -m bench.papers.claim_verification claim_judgements.jsonl --claims 250 --journal runs/claims.sqlite \
        [--encoder] > bench/results/papers/claim_verification.md

A claim counts as supported when an expert called its support by the evidence it cites Complete, as not when
Partial or Incomplete. Claims that cite nothing, or an address without a text, are left out: there is nothing to
check them against, and the audit calls them unsupported without asking. The model reads all evidence of a claim
at once, the encoder one text at a time (the best counts), as the pipeline does. Calls of the model are kept in the
journal, so an interrupted run goes on.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from bench.lib.agreement import calibration, calibration_error, resampled, roc_auc
from bench.lib.asking import say
from bench.lib.options import parser_of
from disputatio.attribution.entailment import PARTLY, SUPPORTED, ModelJudge
from disputatio.config import read_settings
from disputatio.encoder.model import SHIPPED, EncoderModel
from disputatio.encoder.reader import EncoderJudge
from disputatio.errors import DisputatioError
from disputatio.eval.data.datasets import load
from disputatio.parts import build_kit
from disputatio.protocols import Entailment
from disputatio.trace import Trace
from disputatio.types import Example

LABELS = {"Complete": True, "Partial": False, "Incomplete": False}
AT_ONCE = 8  # claims a batch
BINS = 10
_MARKS = re.compile(r"\s*\[\d+(?:\s*,\s*\d+)*\]")

Scored = tuple[float, bool, str]  # score, whether an expert found it supported, the expert's word


def main() -> None:
    """Print the result as Markdown, and write the plot."""
    parser = parser_of(__doc__)
    parser.add_argument("file", type=Path, help="claim_judgements.jsonl")
    parser.add_argument("--claims", type=int, default=250, help="drawn at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", help="the judge: local:NAME or openai:NAME; none to try only the encoder")
    parser.add_argument("--encoder", action="store_true", help="try the trained encoder, too")
    parser.add_argument("--journal", default="runs/claims.sqlite")
    arguments = parser.parse_args()
    usable = [claim for claim in load(f"expertqa:{arguments.file}") if is_usable(claim)]
    claims = drawn(usable, arguments.claims, arguments.seed)
    print("# Claim verification on ExpertQA\n")
    print("`python -m bench.papers.claim_verification claim_judgements.jsonl`\n")
    supports = Counter(claim.metadata["support"] for claim in claims)
    words = ", ".join(f"{label} {supports[label]}" for label in LABELS)
    print(f"{len(claims)} of {len(usable)} claims with evidence in words, seed {arguments.seed}: {words}.\n")
    for name, score in judges(arguments.model, arguments.journal, encoder=arguments.encoder):
        start = time.perf_counter()
        scored = score_all(claims, score, name)
        if len({so for _, so, _ in scored}) < 2:
            raise SystemExit("every claim drawn has one and the same label: raise --claims")
        print_result(name, scored, time.perf_counter() - start)


def judges(
    model: str | None, journal: str, *, encoder: bool = False
) -> list[tuple[str, Callable[[Sequence[Example]], list[float]]]]:
    """Return the judges by name: each gives a probability of support for every claim."""
    scorers: list[tuple[str, Callable[[Sequence[Example]], list[float]]]] = []
    if model != "none":
        kit = build_kit(read_settings(model=model, journal=journal), say=say)

        def asked(claims: Sequence[Example]) -> list[float]:
            pairs = [
                ("\n\n".join(text.text for text in claim.passages), bare(claim.metadata["claim"]))
                for claim in claims
            ]
            return list(ModelJudge(kit.with_trace(Trace())).entails(pairs))

        scorers.append((f"{kit.cast('judge').name}", asked))
    if encoder:
        judge = EncoderJudge(EncoderModel(SHIPPED))
        scorers.append((judge.name, one_by_one(judge)))
    return scorers


def one_by_one(judge: Entailment) -> Callable[[Sequence[Example]], list[float]]:
    """Return a judge that reads one text at a time; of a claim's texts the best counts."""

    def asked(claims: Sequence[Example]) -> list[float]:
        pairs = [(text.text, bare(claim.metadata["claim"])) for claim in claims for text in claim.passages]
        scores = iter(judge.entails(pairs))
        return [max(next(scores) for _ in claim.passages) for claim in claims]

    return asked


def score_all(
    claims: Sequence[Example], score: Callable[[Sequence[Example]], list[float]], name: str
) -> list[Scored]:
    """Return every claim with its score; one that the judge could not score ends the run, which can go on."""
    scored: list[Scored] = []
    for at in range(0, len(claims), AT_ONCE):
        some = claims[at : at + AT_ONCE]
        try:
            scores = score(some)
        except DisputatioError as error:
            raise SystemExit(f"{name}, claim {at + 1} and on: {error}") from error
        scored += [
            (value, LABELS[claim.metadata["support"]], claim.metadata["support"])
            for value, claim in zip(scores, some, strict=True)
        ]
        say(f"{len(scored)}/{len(claims)} {name}")
    return scored


def print_result(name: str, scored: Sequence[Scored], seconds: float) -> None:
    """Print the area under the curve, how good the audit's verdicts are, and the calibration."""
    auc = resampled(scored, lambda some: roc_auc([score for score, *_ in some], [so for _, so, _ in some]))
    values, so = [score for score, *_ in scored], [so for _, so, _ in scored]
    error = calibration_error(values, so, BINS)
    print(f"## {name}\n")
    print(f"* ROC AUC {auc.mean:.3f} [{auc.low:.3f}, {auc.high:.3f}], n {auc.n}; {seconds:.0f} s this run")
    print(f"* supported by the experts {sum(so) / len(so):.3f}, mean score {sum(values) / len(values):.3f}, "
          f"calibration error (ECE, {BINS} bins) {error:.3f}")  # fmt: skip
    for label in LABELS:
        labelled = [score for score, _, support in scored if support == label]
        if labelled:
            print(f"* {label}: mean score {sum(labelled) / len(labelled):.3f} (n {len(labelled)})")
    print("\n| verdict | score | claims | experts: supported |\n| --- | ---: | ---: | ---: |")
    ends = {"supported": (SUPPORTED, 1.01), "partly": (PARTLY, SUPPORTED), "unsupported": (-0.01, PARTLY)}
    for verdict, (low, high) in ends.items():
        inside = [truth for value, truth in zip(values, so, strict=True) if low <= value < high]
        share = f"{sum(inside) / len(inside):.3f}" if inside else "–"
        print(f"| {verdict} | {max(low, 0)} to {min(high, 1)} | {len(inside)} | {share} |")
    print("\n| score | claims | mean score | experts: supported |\n| --- | ---: | ---: | ---: |")
    for bar in calibration(values, so, BINS):
        print(f"| {bar.low:.1f} to {bar.high:.1f} | {bar.n} | {bar.score:.3f} | {bar.share:.3f} |")
    print()


def is_usable(claim: Example) -> bool:
    """Return whether a claim has evidence in words, and an expert's word on it."""
    return bool(claim.passages and claim.metadata["support"] in LABELS and bare(claim.metadata["claim"]))


def bare(claim: str) -> str:
    """Return a claim without its citation marks.

    >>> bare("Bridges rust [2] [3].")
    'Bridges rust.'
    """
    return _MARKS.sub("", claim).strip()


def drawn(examples: Sequence[Example], count: int, seed: int) -> list[Example]:
    """So many of the examples at random, in the order of the file."""
    order = list(range(len(examples)))
    random.Random(seed).shuffle(order)
    return [examples[at] for at in sorted(order[:count])]


if __name__ == "__main__":
    main()
