"""What can be told of speakers' truthfulness from LIAR claims alone, and from how many checked ones.

Run `python -m bench.papers.liar_sources [FILE]`; without a file it reads liar/train.tsv in the folder of data
(`DISPUTATIO_DATA`, default: ../shared/data beside the checkout). It needs no model. The page is printed
and kept in bench/results/papers/liar_sources.md.
"""

from __future__ import annotations

import csv
import os
import sys
from collections import defaultdict
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS, ROOT
from bench.lib.correlation import Floats, pearson, spearman
from bench.lib.discovery import discover
from bench.search.search_report import machine
from disputatio.reliability.posterior import posterior
from disputatio.reliability.weighted_vote import estimate

YES = frozenset({"true", "mostly-true", "half-true"})  # the rest: barely-true, false, pants-fire
HELD_OUT = 20  # claims of each speaker that are never labelled
LABELLED = (0, 1, 2, 3, 5, 10, 20)
SPLITS = 500


def load(file: Path) -> list[tuple[str, str, bool]]:
    """Speaker, statement (lower case, single spaces) and whether it holds; one claim a line."""
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return [(row[4], " ".join(row[2].lower().split()), row[1] in YES) for row in rows]


def votes_of(claims: list[tuple[str, str, bool]]) -> NDArray[np.int32]:
    """Return a question a statement, a source a speaker; whoever says it says yes (cluster 0), nobody says
    no.
    """
    speakers = {name: number for number, name in enumerate(sorted({claim[0] for claim in claims}))}
    statements = {text: number for number, text in enumerate(dict.fromkeys(claim[1] for claim in claims))}
    votes = np.full((len(statements), len(speakers)), -1, np.int32)
    for speaker, statement, _ in claims:
        votes[statements[statement], speakers[speaker]] = 0
    return votes


def learned(speakers: list[NDArray[np.bool_]], labelled: int, mean: float) -> dict[str, Floats]:
    """Over `SPLITS` splits: correlations of the posterior mean after so many labels with the held-out share.

    The prior is Beta with the mean of the labels of all other speakers (`mean`) and the weight of two.
    """
    generator = np.random.default_rng(labelled)
    figures: dict[str, list[float]] = {"pcc": [], "srcc": [], "guessed": [], "width": []}
    for _ in range(SPLITS):
        shuffled = [generator.permutation(speaker) for speaker in speakers]
        accuracy = np.array([statements[:HELD_OUT].mean() for statements in shuffled])
        right = np.array(
            [statements[HELD_OUT : HELD_OUT + labelled].sum() for statements in shuffled], dtype=np.float64
        )
        level, low, high = posterior(right, np.full(len(right), float(labelled)), mean=mean)
        figures["pcc"].append(pearson(level, accuracy))
        figures["srcc"].append(spearman(level, accuracy))
        figures["guessed"].append(float(np.where(level >= 0.5, accuracy, 1 - accuracy).mean()))
        figures["width"].append(float((high - low).mean()))
    return {name: np.array(values) for name, values in figures.items()}


def shown(values: Floats) -> str:
    """Return the mean over the splits, and where 95 % of them lie."""
    if np.isnan(values).any():
        return "none (constant)"
    low, high = np.quantile(values, [0.025, 0.975])
    return f"{values.mean():.3f} ({low:.3f} to {high:.3f})"


def page(file: Path) -> str:
    """Return the Markdown page."""
    claims = load(file)
    votes = votes_of(claims)
    truth: dict[str, list[bool]] = defaultdict(list)
    for speaker, _, holds in claims:
        truth[speaker].append(holds)
    together = (votes >= 0).sum(axis=1) > 1
    plain, alone = estimate(votes), estimate(votes, lone=False)
    whole = discover(votes)
    share = np.array([np.mean(truth[name]) for name in sorted(truth)])
    often = np.array([len(truth[name]) for name in sorted(truth)])
    panel = [
        np.array(statements) for statements in truth.values() if len(statements) >= HELD_OUT + max(LABELLED)
    ]
    others = [statements for statements in truth.values() if len(statements) < HELD_OUT + max(LABELLED)]
    mean = float(np.mean([statement for statements in others for statement in statements]))
    seen = plain.checked & (often >= 5)
    split = [np.array_split(np.random.default_rng(0).permutation(statements), 2) for statements in panel]
    halves = spearman(np.array([a.mean() for a, _ in split]), np.array([b.mean() for _, b in split]))
    reliability = plain.reliability
    spread = np.quantile([statements.mean() for statements in panel], [0.1, 0.9])
    lines = [
        "# LIAR: speakers as sources, claims as yes or no",
        "",
        f"{machine()}; {datetime.now().astimezone().date()}; `python -m bench.papers.liar_sources`. No model was used and no evidence was read.",
        "",
        f"{len(claims):,} claims (lines of train.tsv), {votes.shape[0]:,} distinct statements, {votes.shape[1]:,} speakers. A claim holds when its "
        f"verdict is true, mostly-true or half-true: {100 * np.mean([c[2] for c in claims]):.1f} % do.",
        "",
        "## Without labels and without evidence: nothing",
        "",
        f"* Each statement is made by one speaker: {int(together.sum())} of {votes.shape[0]:,} are made by two or more, and what those say "
        "is the same statement, so that they agree by construction. A speaker says yes to his own claims; nobody says no to them.",
        f"* `estimate`, which cross-checks answers, can compare {int(plain.checked.sum())} of {votes.shape[1]:,} speakers (`checked`); the others get the prior "
        f"({reliability[~plain.checked].min():.2f} to {reliability[~plain.checked].max():.2f}). The {int(plain.checked.sum())} come out at "
        f"{reliability[plain.checked].min():.2f} to {reliability[plain.checked].max():.2f}: perfect, because they agree with themselves. {int(seen.sum())} of them "
        f"have 5 claims or more; those are true in {100 * share[seen].min():.0f} to {100 * share[seen].max():.0f} % of them.",
        f"* With lone answers left out (`lone=False`) the estimates of these rest on {alone.answered[alone.checked].min():.0f} to {alone.answered[alone.checked].max():.0f} answers each. "
        f"`discover` counts {int((whole.answered > 0).sum())} speakers with an answer that tells anything.",
        f"* It finds no ties ({whole.dependence.wording}): without a false value in sight nothing shows copying.",
        f"* So the prior is all there is. Taken from the claims of all speakers it is right for {100 * max(np.mean([c[2] for c in claims]), 1 - np.mean([c[2] for c in claims])):.1f} % of claims "
        "when the more frequent verdict is said to each; it ranks nobody: its correlation with truthfulness is not defined.",
        "",
        "The credit counts that the file has for each speaker are no way round this: they count verdicts, the claim's own among them.",
        "What is needed is evidence: passages of other sources on the same statement, which turn each claim into a question "
        '("Is it true that ...?") that several sources answer, as RA-RAG does. That is not in this file.',
        "",
        "## With some verdicts known: as many labels as they are",
        "",
        f"The {len(panel)} speakers with {HELD_OUT + max(LABELLED)} claims or more; {HELD_OUT} claims of each are held out and n others labelled, at random, "
        f"{SPLITS} times. The estimate is the mean of the Beta posterior from the n labels, its prior the mean of all "
        f"other speakers' claims ({mean:.3f}, weight 2). Brackets: where 95 % of the splits lie.",
        "",
        "| labelled claims a speaker | correlation with held-out truthfulness (Pearson) | rank correlation | held-out claims guessed right | width of the 95 % interval |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    for labelled in LABELLED:
        figures = learned(panel, labelled, mean)
        cells = [
            shown(figures["pcc"]), shown(figures["srcc"]), f"{figures['guessed'].mean():.3f}", f"{figures['width'].mean():.2f}"
        ]  # fmt: skip
        lines.append(f"| {labelled} | " + " | ".join(cells) + " |")
    lines += [
        "",
        f"The held-out share is itself a sample of {HELD_OUT}: all claims of these speakers split in halves (of 20 to {max(map(len, panel)) // 2 + 1} claims each) "
        f"have a rank correlation of {halves:.3f} with each other in one split, so that 1 is out of reach.",
        "",
        f"Four of five of these speakers are true in {100 * spread[0]:.0f} to {100 * spread[1]:.0f} % of their claims. Compare the last column with "
        "that distance: until it is the smaller, the labels hardly tell one speaker from another.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the page and print it."""
    data = Path(os.environ.get("DISPUTATIO_DATA", ROOT.parent / "shared" / "data"))
    text = page(Path(sys.argv[1]) if len(sys.argv) > 1 else data / "liar" / "train.tsv")
    (RESULTS / "papers" / "liar_sources.md").write_text(text, encoding="utf-8")
    print(text, end="")


if __name__ == "__main__":
    main()
