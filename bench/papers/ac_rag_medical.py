"""AC-RAG with a real model on medical questions: accuracy, direct-answer rate, RA rate, Iters, thresholds.

    python -m bench.papers.ac_rag_medical --data ../shared/data --journal runs/ac_rag.sqlite --index runs/pubmedqa.index

The protocol is the paper's as far as data are at hand. PubMedQA is asked with its abstract as context and one solved
example, the other sets with three; solved examples, and the rows on which thresholds are chosen (`--tune`), are rows
that no figure is of. The corpus is PubMedQA's 1,000 abstracts and NFCorpus' 3,633 (the paper's is PubMed, StatPearls, textbooks
and Wikipedia, 230 million chunks, which are not at hand; neither are LegalBench's tasks). RetrievalQA is
asked over the passages that come with each question. At the paper's thresholds a small model always retrieves once
and stops, so figures at thresholds chosen on other rows stand beside them.

Each question is asked once for its whole *path*: the pre-check, the direct answer, three rounds, the post-check after
each, and the answer after each. What thresholds decide is then looked up, not asked again; that the look-up equals
asking is shown by tests/bench/test_ac_rag_medical.py. Calls are journalled: what is interrupted goes on.
`--role detector=NAME --role resolver=NAME` casts two models. `--short` walks no further than the paper's thresholds go: a
third of the calls, and Figure 3's second threshold is left out. `--baselines` asks CRAG and Self-RAG over the same index; they have
the question alone, as their strategies take neither context nor solved examples (PubMedQA's abstract is in the index).
"""

from __future__ import annotations

import argparse
import json
import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import Asked, against, over, put, say, table, told
from bench.lib.charts import lines
from bench.lib.files import beside, write_json, write_whole
from disputatio.api import Index
from disputatio.config import read_settings
from disputatio.eval.data.corpora import corpus
from disputatio.eval.data.datasets import load
from disputatio.eval.metrics import accuracy
from disputatio.eval.multiple_choice import choice
from disputatio.events import PreCheck
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.protocols import Retriever
from disputatio.store.in_memory import InMemory
from disputatio.types import Example, Passage

ROUNDS = 3
DELTA1, DELTA4 = -2.0, -3.0
ALWAYS = (
    1e9  # a threshold that decides nothing and is asked all the same, so that its log-probability is known
)
DIRECT: Mapping[str, Any] = {"delta1": math.inf}
PLAIN: Mapping[str, Any] = {
    "delta1": -math.inf,
    "delta4": -math.inf,
    "rounds": 1,
    "query": "question",
    "summary": False,
}
BASELINES: Mapping[str, Mapping[str, Any]] = {
    "CRAG": {"strategy": "crag", "k": 3},
    "Self-RAG": {"strategy": "self_rag", "k": 3},
}
ABLATIONS: Mapping[str, Mapping[str, Any]] = {
    "no summary": {"summary": False},
    "summaries not bound": {"bound": False},
    "the term as query": {"query": "term"},
    "the question as query": {"query": "question"},
}
# Figure 3 has -inf, -3, -2, -1, 0; this model's log-probabilities lie between -1.5 and 0.
SWEEP = (-math.inf, -3.0, -2.0, -1.5, -1.0, -0.75, -0.5, -0.25, -0.1, 0.0)
SETS = ("medqa", "medmcqa", "mmlu", "bioasq", "pubmedqa")
SEED = 1
TUNED = "ac_rag, thresholds chosen on other rows"
SHOTS = {"pubmedqa-test": 1, "pubmedqa": 1}  # of the others: 3, as in the paper
_OUT = RESULTS / "papers" / "ac_rag_medical.json.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One question's path: log P(yes) of the checks, and how right each answer was on the way.

    `pre` is that of the pre-check, `post[r]` that after round r + 1, `right[r]` the score of the answer from the memory
    of r rounds (0: the direct answer). The path is shorter where the detector had no further term.
    `arms` are the scores of other ways to answer; None where one failed.
    """

    question: str
    pre: float
    post: tuple[float, ...]
    right: tuple[float, ...]
    arms: Mapping[str, float | None]
    calls: int = 0
    tokens: int = 0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """What two thresholds make of a path."""

    right: float
    rounds: int


def decided(path: Walk, delta1: float, delta4: float, rounds: int = ROUNDS) -> Decided:
    """Return the answer and the rounds of `ac_rag` with these thresholds, looked up.

    >>> path = Walk(question="q", pre=-1.0, post=(-4.0, -1.0), right=(0.0, 0.0, 1.0, 0.0), arms={})
    >>> [decided(path, -2.0, delta4).rounds for delta4 in (-math.inf, -3.0, 0.0)], decided(path, 0.0, 0.0).rounds
    ([1, 2, 3], 0)
    """
    if not path.pre > delta1:
        return Decided(right=path.right[0], rounds=0)
    last = min(rounds, len(path.right) - 1)
    done = next((at for at, score in enumerate(path.post, 1) if score >= delta4), last)
    done = max(min(done, last), min(last, 1))
    return Decided(right=path.right[done], rounds=done)


def chosen(paths: Sequence[Walk], rounds: int = ROUNDS) -> tuple[float, float]:
    """Return the thresholds of the sweep that are most often right on these paths, among those under which
    the loop acts.

    It acts where some questions are answered directly and others not, and some of these take several rounds. Among
    equals the pair with fewest rounds; the paper's where none acts.

    >>> easy = Walk(question="q", pre=-2.5, post=(0.0,), right=(1.0, 0.0), arms={})
    >>> hard = Walk(question="r", pre=-0.2, post=(-0.9, -0.2, 0.0), right=(0.0, 0.0, 1.0, 1.0), arms={})
    >>> chosen([easy, hard])
    (-2.0, -0.75)
    """
    best, found = (-1.0, 0.0), (DELTA1, DELTA4)
    for delta1 in SWEEP:
        for delta4 in SWEEP:
            decisions = [decided(path, delta1, delta4, rounds) for path in paths]
            taken = [decision.rounds for decision in decisions]
            if not taken or not (0 in taken and any(taken) and max(taken) > 1):
                continue
            value = (sum(decision.right for decision in decisions), -float(sum(taken)))
            if value > best:
                best, found = value, (delta1, delta4)
    return found


def solved(examples: Sequence[Example]) -> str:
    """Solved examples as the resolver reads them."""
    return "\n\n".join(f"Question: {example.question}\nAnswer: {_key(example)}" for example in examples)


def _key(example: Example) -> str:
    """Return the letter of the right option, or yes, no or maybe."""
    right = example.metadata.get("answer")
    return str(right) if right else example.gold[0]


def auc(scores: Sequence[float], labels: Sequence[bool]) -> float | None:
    """Return the chance that a positive scores above a negative, ties counting half; None without both.

    >>> auc([0.1, 0.4, 0.35, 0.8], [False, False, True, True]), auc([1.0], [True])
    (0.75, None)
    """
    ups = [score for score, label in zip(scores, labels, strict=True) if label]
    downs = [score for score, label in zip(scores, labels, strict=True) if not label]
    if not ups or not downs:
        return None
    won = sum((up > down) + (up == down) / 2 for up in ups for down in downs)
    return won / (len(ups) * len(downs))


def scored(example: Example, asked: Asked) -> float | None:
    """Return how right an answer is: the option picked, or the words of a gold answer; None for a fault."""
    if asked.answer is None:
        return None
    if "options" in example.metadata:
        return choice(asked.answers, example.gold, example.wrong)
    return accuracy(asked.answers, example.gold)


def walked(
    example: Example,
    kit: Kit,
    retriever: Retriever,
    arms: Mapping[str, Mapping[str, Any]],
    given: Mapping[str, Any] | None = None,
    until: float = ALWAYS,
) -> Walk | str:
    """Return a question's path, or why there is none; `given` are options of every call of `ac_rag` (context,
    shots).

    The path ends where the post-check is above `until`.
    """

    def ask(options: Mapping[str, Any]) -> Asked:
        if "strategy" in options:
            others = {name: value for name, value in options.items() if name != "strategy"}
            return put(example, kit, options["strategy"], others, retriever=retriever)
        return put(example, kit, "ac_rag", {**(given or {}), **options}, retriever=retriever)

    direct = ask(DIRECT)
    whole = ask({"delta1": -ALWAYS, "delta4": until, "rounds": ROUNDS})
    if fault := direct.fault or whole.fault:
        return fault
    assert whole.answer is not None
    right: list[float | None] = [scored(example, direct)]
    for rounds in range(1, whole.answer.rounds):
        part = ask({"delta1": -math.inf, "delta4": ALWAYS, "rounds": rounds})
        if part.fault:
            return part.fault
        right.append(scored(example, part))
    right.append(scored(example, whole))
    default = ask({"delta1": DELTA1, "delta4": DELTA4})
    usage = default.trace.usage()
    pre, *post = (event for event in whole.trace.events if isinstance(event, PreCheck))
    return Walk(
        question=example.id,
        pre=pre.logprobs[0],
        post=tuple(check.logprobs[0] for check in post),
        right=tuple(score or 0.0 for score in right),
        arms={label: scored(example, ask(options)) for label, options in arms.items()},
        calls=usage.calls,
        tokens=usage.prompt_tokens + usage.completion_tokens,
        seconds=usage.seconds,
    )


def swept(paths: Sequence[Walk], until: float = ALWAYS) -> dict[str, Any]:
    """Figure 3: accuracy and direct answers by delta1, and of what retrieves accuracy and rounds by delta4.

    Of paths that end at `until` the second is left out: they do not tell what a higher threshold would do.
    """
    first, second = [], []
    for delta in SWEEP:
        decisions = [decided(path, delta, DELTA4) for path in paths]
        first.append({"delta": str(delta), **rates(decisions)})
    retrieved = [path for path in paths if path.pre > DELTA1]
    for delta in (*SWEEP[:-1], math.inf) if until >= ALWAYS else ():
        decisions = [decided(path, -math.inf, delta) for path in retrieved]
        second.append({"delta": str(delta), **rates(decisions)})
    return {"delta1": first, "delta4": second}


def rates(decisions: Sequence[Decided]) -> dict[str, float | None]:
    """Accuracy, direct-answer rate, RA rate and Iters."""
    if not decisions:
        return {"accuracy": None, "direct": None, "ra": None, "iters": None}
    rounds = [decision.rounds for decision in decisions if decision.rounds]
    return {
        "accuracy": sum(decision.right for decision in decisions) / len(decisions),
        "direct": 1 - len(rounds) / len(decisions),
        "ra": len(rounds) / len(decisions),
        "iters": sum(rounds) / len(rounds) if rounds else None,
    }


def entered(
    name: str,
    paths: Sequence[Walk],
    faults: Sequence[str],
    arms: Sequence[str],
    tuned: Sequence[Walk] = (),
    until: float = ALWAYS,
) -> dict[str, Any]:
    """Return all that one data set comes to; `tuned` are the paths of other rows, on which thresholds are
    chosen.
    """
    ours = [decided(path, DELTA1, DELTA4) for path in paths]
    deltas = chosen(tuned)
    acting = [decided(path, *deltas) for path in paths]
    columns: dict[str, list[float | None]] = {
        "no retrieval": [path.right[0] for path in paths],
        "ac_rag": [decision.right for decision in ours],
        **({TUNED: [decision.right for decision in acting]} if tuned else {}),
        **{label: [path.arms[label] for path in paths] for label in arms},
    }
    wrong = [not path.right[0] for path in paths]
    helped = [
        (path.pre, path.right[0] < best) for path in paths if (best := max(path.right[1:])) != path.right[0]
    ]
    return {
        "name": name,
        "n": len(paths),
        "failed": len(faults),
        "faults": sorted(set(faults))[:5],
        "scores": columns,
        **rates(ours),
        "tuned": {"rows": len(tuned), "delta1": str(deltas[0]), "delta4": str(deltas[1]), **rates(acting)},
        "sweep": swept(paths, until),
        "auc": {
            "direct answer wrong": auc([path.pre for path in paths], wrong),
            "retrieval changes it for the better": auc(
                [pre for pre, _ in helped], [good for _, good in helped]
            ),
            "n changed": len(helped),
        },
        "retrieves": {
            str(delta): sum(path.pre > delta for path in paths) / max(len(paths), 1) for delta in SWEEP
        },
        "calls": sum(path.calls for path in paths) / max(len(paths), 1),
        "tokens": sum(path.tokens for path in paths) / max(len(paths), 1),
        "seconds": sum(path.seconds for path in paths) / max(len(paths), 1),
        "paths": [asdict(path) for path in paths],
    }


def measure(
    name: str,
    examples: Sequence[Example],
    kit: Kit,
    index: Retriever | None,
    arms: Mapping[str, Mapping[str, Any]],
    *,
    others: Sequence[Example] = (),
    shots: str = "",
    context: bool = False,
    until: float = ALWAYS,
) -> dict[str, Any]:
    """Walk all questions of a data set; without an index each over its own passages.

    `others` are rows to choose thresholds on; with `context` each question comes with its own passages.
    """

    def one(example: Example, some: Mapping[str, Mapping[str, Any]]) -> Walk | str:
        given = {"shots": shots}
        if context:
            given["context"] = "\n".join(passage.text for passage in example.passages)
        return walked(example, kit, index or InMemory(example.passages), some, given, until)

    walks = over(examples, lambda example: one(example, arms), label=name)
    before = over(others, lambda example: one(example, {}), label=f"{name}, to choose thresholds")
    tuned = [each for each in before if isinstance(each, Walk)]
    paths = [each for each in walks if isinstance(each, Walk)]
    return entered(name, paths, [each for each in walks if isinstance(each, str)], tuple(arms), tuned, until)


# --- what is asked ------------------------------------------------------------------------------
def sampled(examples: Sequence[Example], count: int) -> list[Example]:
    """Some of the examples, the same every time, in their order."""
    if count >= len(examples):
        return list(examples)
    return [examples[n] for n in sorted(random.Random(SEED).sample(range(len(examples)), count))]


def nfcorpus(data: Path) -> list[dict[str, str]]:
    """Return the abstracts of NFCorpus, each a source of its own."""
    lines = (data / "nfcorpus/corpus.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    return [
        {"text": f"{row['title']}\n{row['text']}".strip(), "source": f"nfcorpus{row['_id']}"}
        for row in rows
        if row["text"].strip()
    ]


def opened(path: Path, data: Path) -> Index:
    """Return the index of the abstracts of PubMedQA and NFCorpus, made where it is not."""
    index = Index.open(path)
    if not index.info().passages:
        say("ingesting the abstracts of PubMedQA and NFCorpus")
        rows = [*corpus(f"pubmedqa:{data / 'pubmedqa/ori_pqal.jsonl'}"), *nfcorpus(data)]
        index.add(
            Passage(text=row["text"], source=row["source"], url=row.get("url", ""), date=row.get("date", ""))
            for row in rows
        )
    return index


# --- the report ---------------------------------------------------------------------------------
def write(out: Mapping[str, Any], path: Path) -> None:
    """Keep what is known so far: JSON, Markdown, and the sweeps as SVG."""
    write_json(path, out)
    charts = beside(path, "")
    write_whole(beside(path, ".md"), report(out, charts.name))
    for part in out["sets"]:
        for which, right in (("delta1", "direct"), ("delta4", "iters")):
            rows = part["sweep"][which]
            if not rows:
                continue
            ticks = [row["delta"].replace("inf", "∞") for row in rows]
            shown = {"delta1": "δ1, pre-check", "delta4": "δ4, post-check"}[which]
            chart = lines(
                f"{part['name']}, n = {part['n']}",
                ticks,
                {"accuracy": [row["accuracy"] for row in rows]},
                right={right if right == "iters" else "direct-answer rate": [row[right] for row in rows]},
                below=shown,
            )
            write_whole(charts / f"{part['name']}_{which}.svg", chart)


def report(out: Mapping[str, Any], folder: str) -> str:
    """Return the tables as Markdown; `folder` has the charts."""
    about = [str(out.get("about", "")), "", f"Models: {out['model']}.", ""]
    text = ["# AC-RAG on medical questions, and on questions that need retrieval", "", *about]
    labels = list(out["sets"][0]["scores"]) if out["sets"] else []
    text += ["## Accuracy [95 %]", ""]
    text += [
        table(
            ["set", "n", "failed", *labels],
            [[part["name"], part["n"], part["failed"], *(told(part["scores"][label]) for label in labels)] for part in out["sets"]],
        ),
        "",
        f"## ac_rag at δ1 = {DELTA1:g}, δ4 = {DELTA4:g}, N = {ROUNDS}",
        "",
        table(
            ["set", "direct-answer rate", "RA rate", "Iters", "calls", "tokens", "model seconds"],
            [
                [part["name"], _figure(part["direct"]), _figure(part["ra"]), _figure(part["iters"]),
                 f"{part['calls']:.1f}", f"{part['tokens']:.0f}", f"{part['seconds']:.1f}"]
                for part in out["sets"]
            ],
        ),
        "",
        "## ac_rag at thresholds chosen on other rows",
        "",
        "The pair that is most often right on the other rows, among those of the sweep under which the loop acts there.",
        "",
        table(
            ["set", "other rows", "δ1", "δ4", "accuracy", "direct-answer rate", "RA rate", "Iters"],
            [
                [part["name"], part["tuned"]["rows"], part["tuned"]["delta1"], part["tuned"]["delta4"],
                 *(_figure(part["tuned"][key]) for key in ("accuracy", "direct", "ra", "iters"))]
                for part in out["sets"]
                if part["tuned"]["rows"]
            ],
        ),
        "",
        "## Does the pre-check know when to retrieve?",
        "",
        "ROC AUC of log P(yes, there is something unknown). Changed: questions on which some round's answer is right and the "
        "direct one wrong, or the other way round.",
        "",
        table(
            ["set", "direct answer wrong", "retrieval changes it for the better", "n changed", *(f"retrieves at δ1 = {delta:g}" for delta in SWEEP[1:-1])],
            [
                [part["name"], _figure(part["auc"]["direct answer wrong"]), _figure(part["auc"]["retrieval changes it for the better"]),
                 part["auc"]["n changed"], *(_figure(part["retrieves"][str(delta)]) for delta in SWEEP[1:-1])]
                for part in out["sets"]
            ],
        ),
        "",
        "## Paired differences of accuracy",
        "",
    ]  # fmt: skip
    for section in out["sets"]:
        ours = section["scores"]["ac_rag"]
        text += [
            f"- {section['name']}, ac_rag − {label}: {against(ours, other)}"
            for label, other in section["scores"].items()
            if label != "ac_rag"
        ]
    for section in out["sets"]:
        text += ["", f"## Thresholds: {section['name']}", ""]
        for which, last in (("delta1", "direct"), ("delta4", "iters")):
            rows = section["sweep"][which]
            if not rows:
                continue
            text += [
                table(
                    [
                        "δ1 (pre-check)" if which == "delta1" else "δ4 (post-check, of those that retrieve)",
                        *(row["delta"] for row in rows),
                    ],
                    [[label, *(_figure(row[label]) for row in rows)] for label in ("accuracy", last)],
                ),
                "",
            ]
        text += [f"![accuracy and direct answers by δ1]({folder}/{section['name']}_delta1.svg)"]
        if section["sweep"]["delta4"]:
            text += [f"![accuracy and rounds by δ4]({folder}/{section['name']}_delta4.svg)"]
        text += [f"- fault: {fault}" for fault in section["faults"]]
    return "\n".join(text).rstrip() + "\n"


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"


def main() -> None:
    """Ask, and write after every set."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--index", type=Path, required=True)
    options.add_argument("--journal", default="runs/ac_rag.sqlite")
    options.add_argument("--model", default=None)
    options.add_argument("--role", action="append", default=[], metavar="ROLE=NAME")
    options.add_argument("--questions", type=int, default=100, help="of PubMedQA's test ids")
    options.add_argument("--each", type=int, default=60, help="of each set of MIRAGE")
    options.add_argument("--retrieval", type=int, default=250, help="of RetrievalQA")
    options.add_argument("--limit", type=int, default=None, help="at most so many of every set")
    options.add_argument(
        "--tune", type=int, default=40, help="other rows of each set, to choose thresholds on"
    )
    options.add_argument("--sets", nargs="+", default=["pubmedqa-test", *SETS, "retrievalqa"])
    options.add_argument(
        "--ablations", action="store_true", help="also without summary, and with other queries"
    )
    options.add_argument("--baselines", action="store_true", help="also CRAG and Self-RAG")
    options.add_argument("--short", action="store_true", help="no further than the paper's thresholds go")
    options.add_argument("--k", type=int, default=3, help="passages of standard RAG")
    options.add_argument(
        "--out", type=Path, default=_OUT, help="a .json or .json.gz file; the others stand beside it"
    )
    options.add_argument("--about", default="", help="the first paragraph of the report")
    arguments = options.parse_args()
    if arguments.short and arguments.tune:
        options.error("--short stops before the thresholds that --tune chooses among: add --tune 0")
    roles = dict(setting.split("=", 1) for setting in arguments.role)
    settings = read_settings(model=arguments.model, journal=arguments.journal, role=roles or None)
    kit = build_kit(settings, say=say)
    index = opened(arguments.index, arguments.data)
    arms = {
        "standard RAG, 1 passage": {**PLAIN, "k": 1},
        f"standard RAG, {arguments.k} passages": {**PLAIN, "k": arguments.k},
    }
    arms |= {label: dict(ablation) for label, ablation in ABLATIONS.items()} if arguments.ablations else {}
    arms |= {label: dict(baseline) for label, baseline in BASELINES.items()} if arguments.baselines else {}
    played = f"{kit.cast('detector').name} as detector, {kit.cast('resolver').name} as resolver"
    out: dict[str, Any] = {"about": arguments.about, "model": played, "sets": []}
    for name in arguments.sets:
        if name == "pubmedqa-test":
            examples, most = (
                load(f"pubmedqa:{arguments.data / 'pubmedqa/ori_pqal.jsonl'}#test"),
                arguments.questions,
            )
        elif name == "retrievalqa":
            examples, most = (
                load(f"retrievalqa:{arguments.data / 'retrievalqa/retrievalqa.jsonl'}"),
                arguments.retrieval,
            )
        else:
            examples, most = load(f"mirage:{arguments.data / 'mirage/benchmark.json'}#{name}"), arguments.each
        asked = sampled(examples, most if arguments.limit is None else min(most, arguments.limit))
        taken = {example.id for example in asked}
        spare = [example for example in examples if example.id not in taken]
        others = sampled(spare, arguments.tune + SHOTS.get(name, 3))
        count = 0 if name == "retrievalqa" else SHOTS.get(name, 3)
        part = measure(
            name,
            asked,
            kit,
            None if name == "retrievalqa" else index,
            arms,
            others=others[count : count + arguments.tune],
            shots=solved(others[:count]),
            context=name == "pubmedqa-test",
            until=DELTA4 if arguments.short else ALWAYS,
        )
        out["sets"].append(part)
        write(out, arguments.out)
        say(f"{name}: {len(asked)} questions written to {arguments.out}")


if __name__ == "__main__":
    main()
