"""RA-RAG's multi-source benchmark with a real model: accuracy, cost of asking, and kinds of answers.

Sources are built from ConflictNQ (test questions; the rest to estimate on is filled up from PoisonedRAG's
NQ) with texts substituted in code, or with `--texts model` written by the model (paraphrases of the truth, three
texts a lie, as in the paper), each checked and kept in code's wording where it fails. Every source is asked and the
judge alone is f_align, as in the paper. `--draw N` draws other sources: a table is of several draws. Parts:
  accuracy  9 sources, adversary-hammer with 5 adversaries: estimates, then the votes on the test questions
  plain     the strategies that know no sources, on the same test questions
  cost      20 sources, Beta(3, 2): tokens and calls of 5, 10 and 20 of them with and without kappa-RRSS (Table 1)
  cost9     the same of the 9 sources of `accuracy`, 5 and all of them, from its calls
  answers   kinds of answers by kind of passage, with and without f_align (Table 4), from the calls of `accuracy`
  texts     how many texts a model writes that pass the checks, on a few questions
Calls are journalled: what is interrupted goes on, and what parts share is asked once.

Run: python -m bench.papers.ra_rag_multisource all --data ../shared/data --journal runs/ra_rag.sqlite
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from bench import RESULTS
from bench.lib.asking import (
    Among,
    Asked,
    Panel,
    against,
    over,
    panel,
    put,
    say,
    sources_of,
    table,
    told,
    votes_of,
    weighed,
)
from bench.lib.files import beside, read_json, write_json, write_whole
from disputatio.agents.per_source import PAPER as PAPER_CHECKS
from disputatio.agents.per_source import SourceReply, retrieve_per_source
from disputatio.attribution.clusters import cluster
from disputatio.config import read_settings
from disputatio.errors import NotJournalled
from disputatio.eval.builders.fabrication import fabricated
from disputatio.eval.builders.material import Material, bears_any, stands
from disputatio.eval.builders.multisource import ESTIMATE, TEST, MultiSource, build, pick
from disputatio.eval.builders.origins import read_material
from disputatio.eval.builders.substitution import substituted
from disputatio.eval.metrics import accuracy
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.reliability.weighted_vote import Estimate, estimate
from disputatio.store.in_memory import InMemory
from disputatio.strategies.ra_rag import _ask
from disputatio.trace import Trace
from disputatio.types import Example, Source

SEED, KAPPA = 1, 4
LAST = "ra_rag, estimated, all sources"
PLAIN: Sequence[tuple[str, str, Mapping[str, Any]]] = (
    ("concat (vanilla RAG, top 10)", "concat", {"k": 10}),
    ("robust_rag (top 10)", "robust_rag", {"k": 10}),
)
PAPER = {
    5: ("3138", "3055 (-2.6 %)", "5 → 4.87", ".597 → .597"),
    10: ("6272", "4251 (-32.2 %)", "10 → 6.79", ".744 → .727"),
    20: ("12578", "4644 (-63.1 %)", "20 → 7.42", ".769 → .748"),
}
PAPER4 = {
    "factual": ("80.4 / 76.7", "– / –", "2.3 / 6.2", "17.3 / 17.1"),
    "misinformation": ("2.0 / 0.8", "87.6 / 86.9", "1.0 / 4.6", "9.3 / 7.8"),
    "irrelevant": ("4.5 / 1.8", "– / –", "80.3 / 91.3", "15.2 / 6.9"),
}  # Table 8: Llama3-8B on NQ, without f_align / with tau = 0.1
TAUS = (0.0, 0.1, 0.5, 0.8)


def worded(chosen: Sequence[Material], kit: Kit, texts: str) -> list[Material]:
    """Return the questions with their texts by code, or by the model."""
    if texts == "code":
        return list(chosen)
    return fabricated(chosen, kit, say=say)


def questions(data: Path) -> list[list[Material]]:
    """Return the material of both origins, made whole in code."""
    return [
        substituted(read_material(f"{name}:{data / path}"), seed=SEED)
        for name, path in (("conflictnq", "conflictnq/val.jsonl"), ("poisonedrag", "poisonedrag/nq.jsonl"))
    ]


def asked_all(built: MultiSource, split: str, kit: Kit) -> tuple[list[Example], list[Panel]]:
    """Return the questions of a split and what all sources say to them; on replay those that were asked
    alone.
    """

    def heard(example: Example) -> Panel | None:
        try:
            return panel(example.question, InMemory(example.passages), kit, checks=PAPER_CHECKS)
        except NotJournalled:
            return None

    chosen = [example for example in built.examples if example.metadata["split"] == split]
    both = list(zip(chosen, over(chosen, heard, label=f"panel, {split}"), strict=True))
    answered = [(example, poll) for example, poll in both if poll is not None]
    return [example for example, _ in answered], [poll for _, poll in answered]


def plain_part(built: MultiSource, kit: Kit, out: dict[str, Any]) -> None:
    """The strategies that know no sources, on the test questions."""
    tests = [example for example in built.examples if example.metadata["split"] == TEST]
    if "asked" in out:
        tests = [test for test in tests if test.row in out["asked"]["rows"]]
    for label, strategy, options in PLAIN:
        answers = over(tests, lambda example, s=strategy, o=options: put(example, kit, s, o), label=label)  # type: ignore[misc]
        enter(out, tests, label, answers)


def main_part(built: MultiSource, kit: Kit, out: dict[str, Any]) -> None:
    """Every way to weigh sources, by the estimates of the other questions, from one hearing of all of them.

    With tau = 0.1, the paper's, and with the tau that drops most of what irrelevant passages made the
    model say on the questions to estimate on (`stricter`).
    """
    names = [source.name for source in built.sources]
    truth = {source.name: source for source in built.sources}
    _, panels = asked_all(built, ESTIMATE, kit)
    tests, tested = asked_all(built, TEST, kit)
    out["asked"] = {"estimate": len(panels), "test": len(tests), "rows": [test.row for test in tests]}
    out["kinds"] = kinds(built, panels + tested)
    out["estimates"] = {}
    for tau in (0.1, stricter(built, panels)):
        mark = "" if tau == 0.1 else f", tau {tau:g}"
        estimating, spoken = (
            [again(poll, tau, kit) if mark else poll for poll in part] for part in (panels, tested)
        )
        estimated = estimate(votes_of(estimating, names))
        known = sources_of(estimated, names)
        out["estimates"][f"{tau:g}"] = estimates(built, estimating, estimated, known)
        plain = weighed(known, estimated.options)
        for label, weights in (
            ("majority vote over sources", None),
            (LAST, plain),
            ("ours: lower bounds, never negative", weighed(known, estimated.options, low=True)),
            ("Oracle WMV, all sources", {name: source.reliability or 0.0 for name, source in truth.items()}),
        ):
            enter(out, tests, label + mark, [poll.voted(weights, plain) for poll in spoken])
        few = [first(poll, plain, KAPPA).voted(plain) for poll in spoken]
        enter(out, tests, f"ra_rag, estimated, kappa-RRSS{mark}", few, cost=False)


def first(poll: Panel, weights: Mapping[str, float], kappa: int) -> Panel:
    """Return the panel of the `kappa` heaviest sources that have an answer: kappa-RRSS (algorithm 1)."""
    order = sorted((each.source for each in poll.after if each.answer), key=lambda name: -weights[name])
    return replace(poll, votes={name: poll.votes[name] for name in order[:kappa]})


def stricter(built: MultiSource, panels: Sequence[Panel]) -> float:
    """Return the tau, in tenths, that best tells answers of factual passages from those of irrelevant ones.

    By the sum of the shares kept and dropped (Youden's J); chosen on the questions to estimate on. It looks
    at which passages are on the question, never at which are true.
    """
    by_question = {test.question: test for test in built.examples}
    on: list[float] = []
    off: list[float] = []
    for poll in panels:
        example = by_question[poll.question]
        types = dict(zip((p.id for p in example.passages), example.metadata["types"], strict=True))
        for each in poll.after:
            if each.consistency is not None:
                about = any(types[p.id] != "irrelevant" for p in each.holding.passages)
                (on if about else off).append(each.consistency)
    if not on or not off:
        return 0.5
    taus = [n / 10 for n in range(2, 10)]
    return max(taus, key=lambda tau: np.mean([c >= tau for c in on]) - np.mean([c >= tau for c in off]))


def again(poll: Panel, tau: float, kit: Kit) -> Panel:
    """Return the panel under another tau, clustered anew: nobody is asked again."""
    after = tuple(
        each
        if each.consistency is None or each.consistency >= tau
        else replace(each, reply=replace(each.reply, answer=""))
        for each in poll.after
    )
    clusters = cluster(poll.question, [each.answer for each in after], kit.with_trace(Trace()))
    votes = {each.source: vote for each, vote in zip(after, clusters.votes, strict=True)}
    return replace(poll, after=after, votes=votes, answers=clusters.answers, entailments=clusters.calls)


def estimates(
    built: MultiSource, panels: Sequence[Panel], estimated: Estimate, known: Mapping[str, Source]
) -> dict[str, Any]:
    """Return what the estimate says of each source beside its truth."""
    true = [source.reliability or 0.0 for source in built.sources]
    guess = [known[source.name].reliability for source in built.sources]
    both = [(a, b) for a, b in zip(guess, true, strict=True) if a is not None]
    return {
        "sources": [
            {
                "name": source.name,
                "true": source.reliability,
                "estimated": known[source.name].reliability,
                "low": known[source.name].low,
                "high": known[source.name].high,
                "answered": known[source.name].answered,
                "agreed": known[source.name].agreed,
                "told right": _right(built, panels, source.name),
            }
            for source in built.sources
        ],
        "pearson": float(np.corrcoef(np.array(both).T)[0, 1]) if len(both) > 2 else float("nan"),
        "rounds": estimated.rounds,
        "converged": estimated.converged,
        "options": estimated.options,
        "questions": len(panels),
    }


def _right(built: MultiSource, panels: Sequence[Panel], name: str) -> str:
    """Return how many of a source's answers in the panels are right: what a perfect estimate would find."""
    by_question = {example.question: example for example in built.examples}
    replies = [(poll, each) for poll in panels for each in poll.after if each.source == name and each.answer]
    right = sum(bears_any(each.answer, by_question[poll.question].gold) for poll, each in replies)
    return f"{right}/{len(replies)}"


def enter(
    out: dict[str, Any], tests: Sequence[Example], label: str, answers: Sequence[Asked], *, cost: bool = True
) -> None:
    """Score what was answered, and keep the scores of each question."""
    both = list(zip(tests, answers, strict=True))
    scores = {
        name: score for name, score in out.get("scores", {}).items() if len(score["accuracy"]) == len(both)
    }
    out["scores"] = scores  # scores of a run over other questions cannot be paired with these
    out["scores"][label] = {
        "accuracy": [None if a.fault else accuracy(a.answers, e.gold) for e, a in both],
        "misled": [
            None if a.fault else float(any(stands(answer, lie) for answer in a.answers for lie in e.wrong))
            for e, a in both
        ],
        "failed": sum(bool(a.fault) for a in answers),
        "faults": sorted({a.fault for a in answers if a.fault}),
        "abstained": sum(not a.answers and not a.fault for a in answers),
        "tokens": float(np.mean([a.tokens() for a in answers])) if cost else None,
        "reader calls": (
            float(np.mean([a.calls("reader", "answerer", "aggregator") for a in answers])) if cost else None
        ),
        "judge calls": float(np.mean([a.calls("judge") for a in answers])) if cost else None,
    }
    write(out)


def kinds(built: MultiSource, panels: Sequence[Panel]) -> dict[str, Any]:
    """Kinds of answers by kind of passage, at several tau: shares of the cells (question, source)."""
    by_question = {test.question: test for test in built.examples}
    tally: dict[str, Counter[str]] = {}
    for poll in panels:
        example = by_question[poll.question]
        types = dict(zip((p.id for p in example.passages), example.metadata["types"], strict=True))
        answers = dict(zip((p.id for p in example.passages), example.metadata["answers"], strict=True))
        for before, after in zip(poll.before, poll.after, strict=True):
            if not before.asked:  # a cell that was never asked is no "I don't know"
                continue
            read = [passage.id for passage in before.holding.passages]
            relevant = next((name for name in read if types[name] != "irrelevant"), "")
            kind = types[relevant] if relevant else "irrelevant"
            for tau in TAUS:
                answer = before.answer
                if tau and after.consistency is not None and after.consistency < tau:
                    answer = ""
                tally.setdefault(f"{kind} {tau}", Counter())[
                    _kind_of(answer, example, answers[relevant] if kind == "misinformation" else "")
                ] += 1
    return {
        "cells": {
            key: {"n": sum(count.values()), **{name: count[name] / sum(count.values()) for name in _KINDS}}
            for key, count in tally.items()
        },
        "questions": len(panels),
        "entailments": sum(one.entailments for one in panels) / len(panels),
    }


_KINDS = ("correct", "incorrect", "IDK", "hallucination")


def _kind_of(answer: str, example: Example, lie: str) -> str:
    if not answer:
        return "IDK"
    if bears_any(answer, example.gold):
        return "correct"
    return "incorrect" if lie and (stands(answer, lie) or stands(lie, answer)) else "hallucination"


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """How some sources were asked a question: what was said, in how many rounds, and what that took."""

    heard: Sequence[SourceReply]
    rounds: int
    asked: Asked


def _walk(
    poll: Panel,
    retriever: InMemory,
    known: Mapping[str, Source],
    weights: Mapping[str, float],
    selection: str,
    kit: Kit,
) -> Walk:
    """Ask the sources that are known, as `ra_rag` asks them, and take the vote of who was heard.

    The clusters are those of the panel, so that the tokens are of reading and of f_align alone.
    """
    reader = replace(kit, retriever=Among(retriever, frozenset(known))).with_trace(Trace())
    rate = {name: 0.5 if each.reliability is None else each.reliability for name, each in known.items()}
    order = sorted(retrieve_per_source(poll.question, reader), key=lambda each: -rate[each.source])
    replies, rounds = _ask(poll.question, order, reader, KAPPA, 0.1, selection, 96)
    votes = {each.source: poll.votes[each.source] if each.answer else -1 for each in replies}
    won = replace(poll, votes=votes, trace=reader.trace).voted(weights)
    return Walk(heard=replies, rounds=rounds, asked=won)


def cost_part(
    built: MultiSource, kit: Kit, out: dict[str, Any], *, counts: Sequence[int], key: str = "cost"
) -> None:
    """Tokens and calls with and without kappa-RRSS; estimates from the other half of the questions.

    On replay the questions that were asked alone, of sources that were asked.
    """
    pairs = [asked_all(built, split, kit) for split in (ESTIMATE, TEST)]
    tests = [example for some, _ in pairs for example in some]
    panels = [poll for _, some in pairs for poll in some]
    whole = {test.question: InMemory(test.passages) for test in tests}
    halves = [[n for n in range(len(tests)) if n % 2 == part] for part in (0, 1)]
    rows: dict[str, Any] = {}
    for count in counts:
        names = [source.name for source in built.sources][:count]
        estimated = [estimate(votes_of([panels[n] for n in half], names)) for half in halves]
        walks: dict[str, list[Walk]] = {"all": [], "rrss": [], "rss": []}
        walked: list[Example] = []
        for n, one in enumerate(panels):
            other = estimated[1 - n % 2]  # of the half that this question is not in
            known = sources_of(other, names)
            weights = weighed(known, other.options)
            try:
                lists = {
                    selection: _walk(one, whole[one.question], known, weights, selection, kit)
                    for selection in walks
                }
            except NotJournalled:
                continue
            walked.append(tests[n])
            for selection, walk in lists.items():
                walks[selection].append(walk)
        for selection, some in walks.items():
            sources = [one.asked for one in some]
            rows[f"{count} {selection}"] = {
                "questions": len(walked),
                "accuracy": told([accuracy(a.answers, e.gold) for a, e in zip(sources, walked, strict=True)]),
                "reader tokens": float(np.mean([a.tokens("reader") for a in sources])),
                "all tokens": float(np.mean([a.tokens() for a in sources])),
                "reader calls": float(np.mean([a.calls("reader") for a in sources])),
                "judge calls": float(np.mean([a.calls("judge") for a in sources])),
                "rounds": float(np.mean([one.rounds for one in some])),
            }
        least = float(np.mean([_least(one.heard) for one in walks["all"]]))
        rows[f"{count} rrss"]["sequential minimum"] = least
        say(f"{count} sources: {len(walked)} questions")
        out[key] = {
            "rows": rows,
            "counts": [*counts],
            "questions": len(tests),
            "reliabilities": [source.reliability for source in built.sources],
        }
        write(out)


def _least(replies: Sequence[SourceReply]) -> int:
    """Return the calls of the paper's algorithm 1, one source after another by falling reliability, up to
    kappa answers.
    """
    calls = answered = 0
    for each in replies:
        if answered == KAPPA:
            break
        calls += each.asked
        answered += bool(each.answer)
    return calls


def texts_part(materials: Sequence[Material], kit: Kit, out: dict[str, Any]) -> None:
    """How many of a model's texts pass the checks."""
    start = time.perf_counter()
    made = fabricated(materials, kit, say=say)
    out["texts"] = {
        "questions": len(made),
        "wanted": 36 * len(made),
        "passed": sum(material.made.get("generated", 0) for material in made),
        "lies": sum(
            sum(a != b for a, b in zip(material.lies, old.lies, strict=True))
            for material, old in zip(made, materials, strict=True)
        ),
        "seconds": round(time.perf_counter() - start),
        "example": [made[0].factual[0], made[0].lies[0].answer, made[0].lies[0].texts[0]],
    }


# --- the report ---------------------------------------------------------------------------------
_OUT = RESULTS / "papers" / "ra_rag_multisource.json.gz"


def write(out: dict[str, Any]) -> None:
    """Keep what is known so far, as JSON and as Markdown."""
    path = Path(out["path"])
    written = {key: value for key, value in out.items() if key != "path"}
    write_json(path, written)
    write_whole(beside(path, ".md"), report(out))


def report(out: Mapping[str, Any]) -> str:
    """Return all parts that have run, as Markdown."""
    lines = ["# RA-RAG's multi-source benchmark with a real model", "", str(out.get("about", "")), ""]
    if "estimates" in out:
        for tau, part in out["estimates"].items():
            lines += [
            f"## Estimated reliability, tau = {tau} ({part['questions']} questions, L = {part['options']}, {part['rounds']} rounds, "
            f"converged: {part['converged']}; Pearson r with the truth {part['pearson']:.3f})",
            "",
            table(
                ["source", "true p", "estimated", "95 % interval", "agreed/answered", "right/answered"],
                [
                    [s["name"], s["true"], _figure(s["estimated"]), f"{_figure(s['low'])}–{_figure(s['high'])}",
                     f"{s['agreed']:.0f}/{s['answered']:.0f}", s["told right"]]
                    for s in part["sources"]
                ],
            ),
            "",
        ]  # fmt: skip
    if "scores" in out:
        part = out["scores"]
        count = len(next(iter(part.values()))["accuracy"])
        lines += [
            f"## Accuracy on {count} test questions (a gold answer is contained in the answer)",
            "",
            table(
                ["strategy", "n", "failed", "accuracy [95 %]", "states a planted lie", "abstained", "tokens", "reader calls", "judge calls"],
                [
                    [label, sum(v is not None for v in r["accuracy"]), r["failed"], told(r["accuracy"]), told(r["misled"]), r["abstained"],
                     *("–" if r[key] is None else f"{r[key]:.1f}" for key in ("tokens", "reader calls", "judge calls"))]
                    for label, r in part.items()
                ],
            ),
            "",
            "Paired differences of accuracy (bootstrap over questions, p two-sided, not adjusted):",
            "",
            *[
                f"- {label} − {other}: {against(part[label]['accuracy'], part[other]['accuracy'])}"
                for label in part if label.startswith(LAST)
                for other in part if other != label and (", tau" in other) <= (", tau" in label)
            ],
            *[f"- faults of {label}: {'; '.join(r['faults'])}" for label, r in part.items() if r["faults"]],
            "",
        ]  # fmt: skip
    if "kinds" in out:
        part = out["kinds"]
        lines += [
            f"## Kinds of answers by kind of passage, % ({part['questions']} questions; without f_align / with tau 0.1 / 0.5 / 0.8)",
            "",
            table(
                ["passages", "cells", *_KINDS],
                [
                    [kind, part["cells"][f"{kind} 0.1"]["n"],
                     *(" / ".join(f"{100 * part['cells'][f'{kind} {tau}'][name]:.1f}" for tau in TAUS) for name in _KINDS)]
                    for kind in ("factual", "misinformation", "irrelevant")
                ]
                + [[f"{kind}, paper", "–", *PAPER4[kind]] for kind in PAPER4],
            ),
            "",
            "The paper's rows: Llama3-8B on NQ (its Table 8), without f_align / with tau 0.1. Every cell was asked. "
            f"Entailments for the clusters: {part['entailments']:.1f} a question.",
            "",
        ]  # fmt: skip
    for key, title in (("cost", "20 sources, Beta(3, 2)"), ("cost9", "the 9 sources of the accuracy part")):
        if key in out:
            lines += [*_cost_lines(out[key], title), ""]
    if "texts" in out:
        part = out["texts"]
        lines += [
            f"## Texts written by the model ({part['questions']} questions)",
            "",
            f"{part['passed']} of {part['wanted']} texts passed the checks and took the place of those made in code; {part['lies']} of "
            f"{9 * part['questions']} lies are whole by the model (all three texts). {part['seconds']} s.",
            "",
            *(f"> {text}" for text in part["example"]),
            "",
        ]
    return "\n".join(lines).rstrip() + "\n"


def _cost_lines(part: Mapping[str, Any], title: str) -> list[str]:
    rows = []
    for count in part["counts"]:
        if f"{count} rss" not in part["rows"]:
            continue
        without, rrss, rss = (part["rows"][f"{count} {label}"] for label in ("all", "rrss", "rss"))
        paper = PAPER.get(count, ("–", "–", "–", "–"))
        saved = {key: 1 - rrss[key] / without[key] for key in ("reader tokens", "all tokens")}
        everyone = count * without["reader tokens"] / max(without["reader calls"], 1e-9)
        extra = rrss["reader calls"] / rrss["sequential minimum"] - 1
        rows.append(
            [
                count,
                without["questions"],
                f"{everyone:.0f} → {rrss['reader tokens']:.0f} (-{100 * (1 - rrss['reader tokens'] / everyone):.1f} %)",
                f"{without['reader tokens']:.0f} → {rrss['reader tokens']:.0f} (-{100 * saved['reader tokens']:.1f} %)",
                f"{without['all tokens']:.0f} → {rrss['all tokens']:.0f} (-{100 * saved['all tokens']:.1f} %)",
                f"{without['reader calls']:.2f} → {rrss['reader calls']:.2f}",
                f"{rrss['sequential minimum']:.2f} ({100 * extra:+.1f} %)",
                f"{rrss['rounds']:.2f}",
                f"{without['accuracy']} → {rrss['accuracy']}",
                rss["accuracy"],
                f"{paper[0]} → {paper[1]}; {paper[2]}; {paper[3]}",
            ]
        )
    return [
        f"## kappa-RRSS (kappa = 4), {title}",
        "",
        table(
            ["sources", "questions", "reader tokens, every source asked (a)", "reader tokens", "all tokens (with f_align)", "reader calls", "sequential minimum of calls", "rounds",
             "accuracy without → with", "accuracy of kappa-RSS", "paper: tokens; calls; accuracy"],
            rows,
        ),
        "",
        "(a) The paper's baseline asks all sources; ours passes over those in which retrieval finds nothing on the question, so the "
        "left figure is the mean reader call times the number of sources. In the other columns 'without' is ra_rag with "
        "selection=all. The sequential minimum is what asking one source after another, and none without anything on the question, takes.",
    ]  # fmt: skip


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"


def main() -> None:
    """Run the parts asked for, and write what they found after each."""
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("part", choices=["all", "plain", "accuracy", "cost", "cost9", "texts", "report"])
    options.add_argument("--data", type=Path, required=True)
    options.add_argument("--journal", default="runs/ra_rag.sqlite")
    options.add_argument("--model", default=None)
    options.add_argument("--estimate", type=int, default=40)
    options.add_argument("--test", type=int, default=60)
    options.add_argument("--texts", choices=["code", "model"], default="code", help="who words the passages")
    options.add_argument("--draw", type=int, default=0, help="which draw of sources")
    options.add_argument("--adversaries", type=int, default=5, help="of the 9 sources")
    options.add_argument("--cost-questions", type=int, default=30)
    options.add_argument("--replay", action="store_true", help="only what the journal holds, without a model")
    options.add_argument("--texts-questions", type=int, default=2)
    options.add_argument(
        "--out", type=Path, default=_OUT, help="a .json or .json.gz file; the .md stands beside it"
    )
    options.add_argument("--about", default="", help="the first paragraph of the report")
    arguments = options.parse_args()
    out: dict[str, Any] = read_json(arguments.out) if arguments.out.exists() else {}
    out["path"] = str(arguments.out)
    if arguments.about:
        out["about"] = arguments.about
    settings = read_settings(
        model=arguments.model, journal=arguments.journal, replay=arguments.replay or None
    )
    kit = build_kit(settings, say=say)
    if arguments.part == "report":
        write(out)
        return
    origins = questions(arguments.data)
    out["model"], out["engine"] = kit.model.name, kit.model.capabilities().engine
    if arguments.part in ("all", "plain", "accuracy"):
        chosen = pick(origins, estimate=arguments.estimate, test=arguments.test, seed=SEED)
        chosen = worded(chosen, kit, arguments.texts)
        built = build(
            chosen,
            sources=9,
            adversaries=arguments.adversaries,
            estimate=arguments.estimate,
            seed=SEED + arguments.draw,
        )
        if arguments.part != "plain":
            main_part(built, kit, out)
        if arguments.part != "accuracy":
            plain_part(built, kit, out)
        write(out)
    if arguments.part in ("all", "cost9"):
        chosen = pick(origins, estimate=arguments.estimate, test=arguments.test, seed=SEED)
        chosen = worded(chosen, kit, arguments.texts)
        built = build(
            chosen,
            sources=9,
            adversaries=arguments.adversaries,
            estimate=arguments.estimate,
            seed=SEED + arguments.draw,
        )
        cost_part(built, kit, out, counts=(5, 9), key="cost9")
    if arguments.part in ("all", "cost"):
        chosen = pick(origins, estimate=0, test=arguments.cost_questions, seed=SEED)
        cost_part(build(chosen, sources=20, prior="beta", seed=SEED), kit, out, counts=(5, 10, 20))
        write(out)
    if arguments.part in ("all", "texts"):
        texts_part(pick(origins, estimate=0, test=arguments.texts_questions, seed=SEED + 1), kit, out)
        write(out)


if __name__ == "__main__":
    main()
