"""How well truth and source accuracy are found on real claims: birthplaces (7 sources) and books (877 stores).

Run `python -m bench.papers.truth_discovery --crowd-kit PYTHON` with the interpreter of an environment that has
`crowd-kit==1.4.2 scikit-learn<1.7`; without it those rows are left out. Data: truth_discovery/ in the folder
of data (`DISPUTATIO_DATA`, default: ../shared/data beside the checkout). `--half tune` gives the figures that
choices were made on. The page is printed and kept in bench/results/papers/truth_discovery.md (the report half only).
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import subprocess
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS, ROOT
from bench.lib.book_authors import Authors, authors, names, surnames
from bench.lib.correlation import Floats, interval, spearman
from bench.lib.discovery import discover
from bench.search.search_report import machine
from disputatio.reliability.weighted_vote import estimate, majority

WORKER = ROOT / "bench" / "lib" / "crowd_kit_worker.py"
CROWD_KIT = (
    "MajorityVote",
    "Wawa",
    "ZeroBasedSkill",
    "OneCoinDawidSkene",
    "DawidSkene",
    "MMSR",
    "GLAD",
    "MACE",
)
LEAST = 5  # gold claims from which a source's accuracy is ranked
RESAMPLES = 2000
NOTES = """Every method gets the same votes: clusters of equal values, numbered in the order met. Nothing that is estimated
sees a gold answer. The gold objects are split in halves by a hash of their names; options of ours (strength of the prior,
smoothing, on which votes copies are first looked for) were chosen on the tune half, and the report half is what stands here.
(Early trials, before the split was kept to, printed both halves for majority, the plain estimate and first forms of ours.)

* **birthplaces**: a claim is right when it lies on the gold path; this measure favours who answers "USA", so the
  share of answers that are the most specific right value that any source gave stands beside it.
* **books**: a claim is right when it names exactly the gold authors, in any order and form (`bench/lib/book_authors.py`);
  "Not Available" is no answer. Ours takes the share of exact answers for a source's accuracy here.
* Rank correlation is Spearman's, of the estimated figure with the share of gold claims that are right.
* Intervals: 95 %, over 2,000 resamples of the gold objects. Resampled gold accuracies of sources with few gold claims are
  noisier than the real ones, so that intervals of rank correlations lie too low; the paired differences are what to read.
* Seconds were taken while other work ran on the machine; crowd-kit's are of `fit_predict` alone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Data:
    """One data set as arrays; `right` and `exact` (questions, clusters) tell which clusters are."""

    name: str
    objects: list[str]
    sources: list[str]
    votes: NDArray[np.int32]
    entails: NDArray[np.int64]
    values: NDArray[np.int64]  # the number of each cluster's value, the same from question to question
    recurring: bool  # whether values mean the same from question to question
    right: NDArray[np.bool_]
    exact: NDArray[np.bool_]
    gold: NDArray[np.bool_]  # questions with a gold answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a method says: a cluster for each question, a figure for each source."""

    name: str
    winners: NDArray[np.int32]
    reliability: Floats | None
    seconds: float


def of_report(name: str) -> bool:
    """Return whether an object is of the half that is reported: by a hash of its name."""
    return bool(hashlib.blake2b(name.encode(), digest_size=8).digest()[0] & 1)


def arrays(
    name: str,
    claims: Mapping[str, Mapping[str, Hashable]],
    entail: Callable[[Hashable, Hashable], bool],
    verdict: Callable[[str, Collection[Hashable]], tuple[Collection[Hashable], Collection[Hashable]] | None],
    *,
    recurring: bool,
) -> Data:
    """Return claims (object -> source -> value) as arrays; the verdict gives right and exact values, None
    without gold.
    """
    objects = sorted(claims)
    sources = sorted({source for claim in claims.values() for source in claim})
    column = {source: number for number, source in enumerate(sources)}
    width = max(len(set(claim.values())) for claim in claims.values())
    votes = np.full((len(objects), len(sources)), -1, np.int32)
    values = np.full((len(objects), width), -1, np.int64)
    right, exact = (np.zeros((len(objects), width), np.bool_) for _ in range(2))
    gold = np.zeros(len(objects), np.bool_)
    meaning: dict[Hashable, int] = {}
    rows: list[tuple[int, int, int]] = []
    for row, each in enumerate(objects):
        met: dict[Hashable, int] = {}
        for source, value in claims[each].items():
            votes[row, column[source]] = met.setdefault(value, len(met))
        judged = verdict(each, list(met))
        gold[row] = judged is not None
        for value, cluster in met.items():
            values[row, cluster] = meaning.setdefault(value if recurring else (each, value), len(meaning))
            rows += [
                (row, cluster, other)
                for less, other in met.items()
                if other != cluster and entail(value, less)
            ]
            if judged is not None:
                right[row, cluster], exact[row, cluster] = value in judged[0], value in judged[1]
    return Data(
        name=name, objects=objects, sources=sources, votes=votes, values=values, recurring=recurring,
        entails=np.array(rows, dtype=np.int64).reshape(-1, 3), right=right, exact=exact, gold=gold,
    )  # fmt: skip


def birthplaces(folder: Path) -> Data:
    """Right is a value on the gold path, exact the most specific of those that any source gave.

    A place entails those above it in the data's own hierarchy (a name that stands at several nodes, those
    above any of them), unless they also stand below it.
    """
    nodes = {row["ID"]: (row["name"], row["parentID"]) for row in read(folder / "hierarchy.csv")}
    above: dict[str, set[str]] = defaultdict(set)
    for name, at in nodes.values():
        parent = at
        while parent in nodes and nodes[parent][1] != "-1":
            above[name].add(nodes[parent][0])
            parent = nodes[parent][1]
    path = {
        row["obj"]: [each.strip() for each in row["value"].split(",")]
        for row in read(folder / "groundtruths.csv")
    }
    claims: dict[str, dict[str, Hashable]] = defaultdict(dict)
    for row in read(folder / "claims.csv"):
        claims[row["obj"]][row["src"]] = row["value"]

    def entail(value: Hashable, less: Hashable) -> bool:
        return less in above[str(value)] and value not in above[str(less)]

    def verdict(
        each: str, values: Collection[Hashable]
    ) -> tuple[Collection[Hashable], Collection[Hashable]] | None:
        if each not in path:
            return None
        right = [value for value in path[each] if value in values]  # the most specific first
        return right, right[:1]

    return arrays("birthplaces", claims, entail, verdict, recurring=True)


def books(folder: Path) -> Data:
    """Right is the list that names exactly the gold authors; a list entails those that name some of its people.

    Of several lists by one shop for one book the most frequent is taken, of equals the longest.
    """
    said: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for row in read(folder / "claims.csv"):
        said[row["object"]][row["source"]].append(row["value"])
    gold: dict[str, Authors] = {}
    for row in read(folder / "gold.csv"):
        gold[row["object"]] = authors(row["value"], frozenset(name.surname for name in names(row["value"])))
    claims: dict[str, dict[str, Hashable]] = {}
    for book, shops in said.items():
        known = surnames(text for texts in shops.values() for text in texts)
        latest: dict[str, Hashable] = {}
        for shop, texts in shops.items():
            lists = Counter(people for text in texts if (people := authors(text, known)))
            if lists:
                latest[shop] = max(lists, key=lambda people: (lists[people], len(people), sorted(people)))
        if latest:
            claims[book] = latest

    def entail(value: Hashable, less: Hashable) -> bool:
        return isinstance(value, frozenset) and isinstance(less, frozenset) and less < value

    def verdict(
        book: str, _: Collection[Hashable]
    ) -> tuple[Collection[Hashable], Collection[Hashable]] | None:
        return ([gold[book]], [gold[book]]) if book in gold else None

    return arrays("books", claims, entail, verdict, recurring=False)


def read(file: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with file.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def ours(data: Data) -> list[Found]:
    """Majority, the plain estimate, and ours whole and with each part taken away."""
    methods = []
    begin = time.perf_counter()
    winners = majority(data.votes)
    agreed = ((data.votes == winners[:, None]) & (data.votes >= 0)).sum(axis=0)
    share = agreed / np.maximum((data.votes >= 0).sum(axis=0), 1)
    methods.append(
        Found(name="majority", winners=winners, reliability=share, seconds=time.perf_counter() - begin)
    )
    for lone in (True, False):
        begin = time.perf_counter()
        plain = estimate(data.votes, lone=lone)
        label = "RA-RAG estimate" + ("" if lone else ", lone answers left out")
        taken = time.perf_counter() - begin
        methods.append(Found(name=label, winners=plain.winners, reliability=plain.reliability, seconds=taken))
    values = data.values if data.recurring else None
    variants: dict[str, dict[str, bool]] = {"**ours**": {}, "ours without entailment": {"entails": False}}
    variants["ours without dependence"] = {"copies": False}
    if data.recurring:
        variants["ours without recurring values"] = {"values": False}
    for label, off in variants.items():
        begin = time.perf_counter()
        solution = discover(
            data.votes,
            entails=data.entails if off.get("entails", True) else None,
            values=values if off.get("values", True) else None,
            copies=off.get("copies", True),
        )
        # The measure counts general values as right for birthplaces, and not for books.
        share = solution.right if data.name == "birthplaces" else solution.exact
        taken = time.perf_counter() - begin
        methods.append(Found(name=label, winners=solution.winners, reliability=share, seconds=taken))
        if not off:
            print(
                f"{data.name}: {solution.dependence.wording}; {solution.rounds} rounds, converged: {solution.converged}",
                flush=True,
            )
    return methods


def theirs(data: Data, python: str, limit: float) -> tuple[list[Found], list[str]]:
    """crowd-kit's aggregators on the same clusters, by number and, where values recur, by value."""
    methods, failed = [], []
    question, source = np.nonzero(data.votes >= 0)
    cluster = data.votes[question, source]
    labellings = {"": cluster.astype(np.int64)}
    if data.recurring:
        labellings[", labels are values"] = data.values[question, cluster]
    with tempfile.TemporaryDirectory() as scratch:
        for suffix, label in labellings.items():
            file = Path(scratch) / "claims.csv"
            table = np.stack([question, source, label], axis=1)
            np.savetxt(file, table, fmt="%d", delimiter=",", header="task,worker,label", comments="")
            for name in CROWD_KIT:
                shown = f"crowd-kit {name}{suffix}"
                try:
                    done = subprocess.run(
                        [python, "-W", "ignore", str(WORKER), name, str(file)],
                        capture_output=True, text=True, timeout=limit, check=True,
                    )  # fmt: skip
                except subprocess.TimeoutExpired:
                    failed.append(f"{shown}: not done within {limit:.0f} s")
                    continue
                except subprocess.CalledProcessError as error:
                    failed.append(f"{shown}: {(error.stderr.strip().splitlines() or ['failed'])[-1][:160]}")
                    continue
                reply = json.loads(done.stdout.splitlines()[-1])
                winners = np.full(len(data.objects), -1, np.int32)
                for task, chosen in reply["labels"].items():
                    numbers = data.values[int(task)] if suffix else np.arange(data.values.shape[1])
                    match = np.flatnonzero(numbers == chosen)
                    winners[int(task)] = match[0] if match.size else -1
                skills = reply["skills"]
                share = None
                if skills is not None:
                    share = np.array([skills.get(str(number), 0.0) for number in range(len(data.sources))])
                methods.append(
                    Found(name=shown, winners=winners, reliability=share, seconds=reply["seconds"])
                )
                print(f"{data.name}: {shown} in {reply['seconds']:.0f} s", flush=True)
    return methods, failed


class Scores:
    """The measures on some gold questions, with bootstrap resamples of the questions."""

    def __init__(self, data: Data, rows: NDArray[np.int64], least: int = LEAST) -> None:
        self.data, self.rows = data, rows
        votes = data.votes[rows]
        self.said = (votes >= 0).astype(np.float64)
        self.correct = self.said * np.take_along_axis(data.right[rows], np.maximum(votes, 0), axis=1)
        self.ranked = np.flatnonzero(self.said.sum(axis=0) >= least)
        generator = np.random.default_rng(0)
        size = len(rows)
        self.draws = generator.multinomial(size, np.full(size, 1 / size), RESAMPLES).astype(np.float64)
        self.answered = self.draws @ self.said[:, self.ranked]
        self.share = self.draws @ self.correct[:, self.ranked] / np.maximum(self.answered, 1)

    def truth(self, method: Found, *, exact: bool = False) -> Floats:
        """Return whether each question's winner is right, 0 or 1."""
        won = method.winners[self.rows]
        table = (self.data.exact if exact else self.data.right)[self.rows]
        return (np.take_along_axis(table, np.maximum(won, 0)[:, None], axis=1)[:, 0] & (won >= 0)).astype(
            np.float64
        )

    def rank(self, method: Found) -> float:
        """Spearman's correlation of estimated with gold accuracy over the ranked sources."""
        if method.reliability is None:
            return float("nan")
        counts, correct = self.said[:, self.ranked].sum(axis=0), self.correct[:, self.ranked].sum(axis=0)
        return spearman(correct / counts, method.reliability[self.ranked])

    def ranks_resampled(self, method: Found) -> Floats:
        """Return the same over resamples of the questions; sources without a gold claim in a resample are
        left out of it.
        """
        if method.reliability is None:
            return np.full(RESAMPLES, np.nan)
        figure = method.reliability[self.ranked]
        return np.array(
            [spearman(s[a > 0], figure[a > 0]) for s, a in zip(self.share, self.answered, strict=True)]
        )


def table(scores: Scores, methods: list[Found]) -> list[str]:
    """Return one line a method, and the paired differences of ours to the best of the others."""
    birth = scores.data.recurring
    head = "on the gold path | exact" if birth else "exact list of authors"
    lines = [f"| method | {head} | rank correlation | seconds |", "| --- |" + " ---: |" * (4 if birth else 3)]
    mean: dict[str, Floats] = {}
    rank: dict[str, Floats] = {}
    for method in methods:
        truth = scores.truth(method)
        mean[method.name] = scores.draws @ truth / len(truth)
        rank[method.name] = scores.ranks_resampled(method)
        cells = [method.name, f"{truth.mean():.3f}{interval(mean[method.name])}"]
        cells += [f"{scores.truth(method, exact=True).mean():.3f}"] if birth else []
        plain = scores.rank(method)
        cells.append("none given" if np.isnan(plain) else f"{plain:.3f}{interval(rank[method.name])}")
        lines.append("| " + " | ".join([*cells, f"{method.seconds:.2f}"]) + " |")
    us = next(found for found in methods if found.name == "**ours**")
    others = [found for found in methods if "ours" not in found.name]
    best = max(others, key=lambda found: float(scores.truth(found).mean()))
    near = max(others, key=lambda found: -1.0 if np.isnan(scores.rank(found)) else scores.rank(found))
    gap = float(scores.truth(us).mean() - scores.truth(best).mean())
    lines += [
        "",
        f"Ours less the best of the others, on the same resamples: truth {gap:+.3f}{interval(mean[us.name] - mean[best.name])}"
        f" against {best.name}; rank correlation {scores.rank(us) - scores.rank(near):+.3f}"
        f"{interval(rank[us.name] - rank[near.name])} against {near.name}.",
    ]
    return lines


def main() -> None:
    """Measure, print, and keep the page of the report half."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--crowd-kit", metavar="PYTHON", help="an interpreter that has crowd-kit")
    parser.add_argument("--limit", type=float, default=200, help="seconds for one aggregator of crowd-kit")
    parser.add_argument("--half", choices=("report", "tune"), default="report")
    options = parser.parse_args()
    folder = Path(os.environ.get("DISPUTATIO_DATA", ROOT.parent / "shared" / "data")) / "truth_discovery"
    lines = []
    for load in (birthplaces, books):
        data = load(folder / load.__name__)
        methods = ours(data)
        failed: list[str] = []
        if options.crowd_kit:
            more, failed = theirs(data, options.crowd_kit, options.limit)
            methods = methods[:3] + more + methods[3:]
        wanted = np.array([of_report(each) == (options.half == "report") for each in data.objects])
        scores = Scores(data, np.flatnonzero(data.gold & wanted))
        lines += ["", f"## {data.name}", ""]
        lines += [
            f"{int((data.votes >= 0).sum()):,} claims on {len(data.objects):,} objects by {len(data.sources)} sources, "
            f"{len(data.entails):,} pairs of values where one entails the other. Scored: {len(scores.rows):,} gold objects of the "
            f"{options.half} half; {len(scores.ranked)} sources have {LEAST} gold claims or more there and are ranked.",
            "",
            *table(scores, methods),
        ]
        lines += ["", *(f"* {each}" for each in failed)] if failed else []
    text = "\n".join(lines) + "\n"
    print(text)
    if options.half == "report":
        flags = f" --crowd-kit PYTHON --limit {options.limit:.0f}" if options.crowd_kit else ""
        top = f"# Truth and source accuracy on real claims\n\n{machine()}; {datetime.now().astimezone().date()}; `python -m bench.papers.truth_discovery{flags}`.\n"
        page = RESULTS / "papers" / "truth_discovery.md"
        page.write_text(f"{top}\n{NOTES}{text}", encoding="utf-8")


if __name__ == "__main__":
    main()
