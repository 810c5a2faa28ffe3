"""Time, memory and accuracy of the reliability estimate on 1,000 sources x 10,000 questions, beside crowd-kit.

    python -m bench.engine.weighing_speed > ours.json
    VENV/bin/python -m bench.engine.weighing_speed --peers --limit 600 > peers.json      # crowd-kit in VENV

Each method runs in a process of its own, on one core, over the same votes: 10 % of the sources answer a
question. `cpu_seconds` is the time that a core gave, which others may be using too. Two worlds: sources of
p ~ Beta(3, 2) and nine wrong answers, where a hundred answers a question leave nothing to gain; and a harder
one in which seven of ten sources are adversaries (p 0.1, others 0.9) and there are two wrong answers: the
right one and each wrong one have a third of the votes. Accuracy is the share of questions won by the right
answer; the error is the mean distance of the estimated from the true p.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import resource
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import Any

from bench import ROOT

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

import numpy as np  # noqa: E402

SOURCE = ROOT / "src"
WORLDS = ("beta", "hard")


def world(kind: str, questions: int, sources: int, seed: int) -> tuple[Any, Any]:
    """Votes as labels (0 right, -1 none), and the true p."""
    generator = np.random.default_rng(seed)
    wrong = 9 if kind == "beta" else 2
    p = generator.beta(3, 2, sources)
    if kind == "hard":
        p = np.where(np.arange(sources) < sources * 7 // 10, 0.1, 0.9)
        generator.shuffle(p)
    votes = np.where(
        generator.random((questions, sources)) < p, 0, generator.integers(1, wrong + 1, (questions, sources))
    )
    return np.where(generator.random(votes.shape) < 0.1, votes, -1).astype(np.int32), p


def judged(winners: Any, skills: Any, p: Any) -> dict[str, float]:
    """Accuracy and the error of the reliabilities."""
    figures = {"accuracy": float((np.asarray(winners) == 0).mean())}
    if skills is not None:
        figures["error"] = float(np.abs(np.asarray(skills) - p).mean())
        figures["correlation"] = float(np.corrcoef(skills, p)[0, 1])
    return figures


def ours(name: str, votes: Any, p: Any) -> dict[str, float]:
    """Return one of ours: seconds include everything from the array of votes on."""
    from disputatio.reliability.trust import trust
    from disputatio.reliability.weighted_vote import as_met, estimate, majority

    met, first = as_met(votes)
    begin, spent = time.perf_counter(), time.process_time()
    if name == "majority":
        winners, skills = majority(met), None
    elif name == "trust":
        trusted = trust(met)
        winners, skills = trusted.winners, trusted.reliability
    else:
        estimated = estimate(met)
        winners, skills = estimated.winners, estimated.reliability
    seconds, spent = time.perf_counter() - begin, time.process_time() - spent
    right = np.where(winners == first, 0, 1)
    return {"seconds": seconds, "cpu_seconds": spent, **judged(right, skills, p)}


def theirs(name: str, votes: Any, p: Any) -> dict[str, float]:
    """Return one of crowd-kit's, at its defaults; seconds do not include making its table."""
    crowd, pandas = import_module("crowdkit.aggregation"), import_module("pandas")
    question, source = np.nonzero(votes >= 0)
    table = pandas.DataFrame({"task": question, "worker": source, "label": votes[question, source]})
    method = getattr(crowd, name)() if name != "DawidSkene" else crowd.DawidSkene(n_iter=100)
    begin, spent = time.perf_counter(), time.process_time()
    labels = method.fit_predict(table)
    seconds, spent = time.perf_counter() - begin, time.process_time() - spent
    skills = None
    if name == "ZeroBasedSkill":
        skills = method.skills_.reindex(range(len(p))).to_numpy()
    if name == "GLAD":
        skills = 1 / (1 + np.exp(-method.alphas_.reindex(range(len(p))).to_numpy()))
    if name == "DawidSkene":
        errors = method.errors_.reset_index()
        same = errors[errors["label"] == errors["label"]]
        prior = method.priors_
        skills = np.zeros(len(p))
        for label, weight in prior.items():
            if label in errors.columns:
                diagonal = same[same["label"] == label].set_index("worker")[label]
                skills += weight * diagonal.reindex(range(len(p))).fillna(0).to_numpy()
    right = labels.reindex(range(len(votes))).to_numpy()
    return {"seconds": seconds, "cpu_seconds": spent, **judged(right, skills, p)}


def measure(
    send: Any, run: Callable[..., dict[str, float]], name: str, arguments: argparse.Namespace
) -> None:
    """In a process of its own: what it took."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    results = []
    for seed in range(arguments.runs):
        votes, p = world(arguments.world, arguments.questions, arguments.sources, seed)
        results.append(run(name, votes, p))
        del votes
    last = dict(results[-1])
    for clock in ("seconds", "cpu_seconds"):
        last[clock] = min(result[clock] for result in results)
    last["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    send.send({**last, "runs": len(results)})


def main() -> None:
    """Print one JSON line a method and world."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--questions", type=int, default=10_000)
    parser.add_argument("--sources", type=int, default=1_000)
    parser.add_argument("--runs", type=int, default=3, help="worlds a method; the least times are told")
    parser.add_argument("--peers", action="store_true", help="crowd-kit's methods instead of ours")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds a method may take")
    arguments = parser.parse_args()
    sys.path.insert(0, str(SOURCE))
    methods = (
        ("MajorityVote", "DawidSkene", "ZeroBasedSkill", "GLAD")
        if arguments.peers
        else ("majority", "estimate", "trust")
    )
    context = multiprocessing.get_context("spawn")
    for kind in WORLDS:
        arguments.world = kind
        for name in methods:
            receive, send = context.Pipe(duplex=False)
            process = context.Process(
                target=measure, args=(send, theirs if arguments.peers else ours, name, arguments)
            )
            process.start()
            send.close()
            told: dict[str, Any] = {"fault": f"more than {arguments.limit:.0f} s"}
            try:
                if receive.poll(arguments.limit):
                    told = receive.recv()
            except EOFError:
                told = {"fault": "it ended without a result"}
            if process.is_alive() and "fault" in told:
                process.kill()
            process.join()
            print(json.dumps({"world": kind, "method": name, **told}), flush=True)


if __name__ == "__main__":
    main()
