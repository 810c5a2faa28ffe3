"""Check that `choose` gives the model's own log P: with and without the constraint, and against the sum of all.

The embedded engine gives the log-probability of the token it generated. If it were taken after the
constraint mask, an option forced by the mask would have log P = 0. Free generation, each option alone,
and a choice of both must agree; `Yes` and `No` together must not exceed 1.

Run: python -m bench.engine.choose_check
"""

from __future__ import annotations

import math

from bench import RESULTS
from disputatio.config import read_settings
from disputatio.kit import chat
from disputatio.parts import build_kit
from disputatio.types import Sampling

QUESTIONS = (
    "Is Paris in France?",
    "Is Paris in Spain?",
    "Is a whale a fish?",
    "Is seven an even number?",
    "Did it rain in Lisbon on the third of May 1911?",
    "Is 'harbour' a word of English?",
)


def main() -> None:
    """Compare, and write the table."""
    kit = build_kit(read_settings(journal="none"))
    prompts = [chat("Reply with one word: Yes or No.", question) for question in QUESTIONS]
    free = kit.complete("judge", prompts, Sampling(max_tokens=1))
    chosen = kit.choose("judge", prompts, ("Yes", "No"))
    lines = [
        "# Log-probabilities with the constraint and without",
        "",
        f"`python -m bench.engine.choose_check`, {kit.model.name}, {kit.model.capabilities().engine}",
        "",
        "| question | free token | its log P | log P(Yes) | log P(No) | P(Yes) + P(No) | difference |",
        "|---|---|--:|--:|--:|--:|--:|",
    ]
    worst = 0.0
    for question, reply, choice in zip(QUESTIONS, free, chosen, strict=True):
        token = reply.tokens[0]
        odds = dict(zip(choice.options, choice.logprobs, strict=True))
        gap = abs(token.logprob - odds[token.text.strip()]) if token.text.strip() in odds else math.nan
        worst = max(worst, gap)
        lines.append(
            f"| {question} | {token.text} | {token.logprob:.4f} | {odds['Yes']:.4f} | {odds['No']:.4f}"
            f" | {sum(map(math.exp, odds.values())):.4f} | {gap:.4f} |"
        )
    lines += ["", f"Largest difference: {worst:.4f} (the engine computes in reduced precision)."]
    (RESULTS / "engine" / "choose_check.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
