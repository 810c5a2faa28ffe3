"""RAGentA against one prompt with all passages, MAIN-RAG, and a sequential rendition, on DataMorgana's questions.

    python -m bench.papers.ragenta_datamorgana DATA --index INDEX --limit 40 --out runs/ragenta_datamorgana.jsonl \\
        --journal runs/ragenta.sqlite [--sequential 5] [--role judge=MODEL]

DATA is the folder with questions_500.jsonl; INDEX holds the 11,013 pages with vectors, as `retrieval_quality.py
datamorgana` makes it. Every strategy reads the same 20 passages a question. All answers pass one audit: citation
precision is the share of citations that support their claim, citation recall the share of claims that their
citations support, both by the entailment judge; each citation is looked up in the index again, by the id of its
passage. Correctness and faithfulness are graded by `disputatio.eval.judge`. `--sequential N` also runs, on the
first N of the questions, the released code's shape on the same engine: one call at a time, free text, passages
read by predictor, judge and final agent each. It is written from the paper.

Seconds are those spent waiting for the model, as they were when a call was made; the verification that follows an
answer is the same for all strategies and counted apart. The first question of a process reads every agent's
instructions anew, so a run that was stopped counts that once more. What is in --out is not run again, and what was asked for it
is in the journal: a run that was stopped goes on. Prints and writes Markdown (--out with .md), which alone is kept.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.lib.asking import against, say, table, told
from disputatio.agents.passage_judge import Triplet
from disputatio.agents.passage_judge import keep as keep_triplets
from disputatio.api import Index
from disputatio.attribution.audit import audit
from disputatio.config import read_settings
from disputatio.errors import DisputatioError, StoreError
from disputatio.eval.data.datasets import load
from disputatio.eval.judge import as_record, correctness, faithfulness
from disputatio.eval.judge import case as judged_case
from disputatio.events import ModelCall
from disputatio.kit import Kit, chat
from disputatio.parts import build_kit
from disputatio.pipeline import load_strategy
from disputatio.protocols import Retriever
from disputatio.text import one_line
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Passage, Reply, Sampling

STRATEGIES = ("ragenta", "main_rag", "concat")
MEASURES = (
    ("citation precision", "precision"),
    ("citation recall", "recall"),
    ("correctness (-1 to 2)", "correctness"),
    ("faithfulness (-1 to 1)", "faithfulness"),
    ("cites a gold page", "gold"),
    ("abstained", "abstained"),
    ("claims", "claims"),
    ("citations", "citations"),
    ("calls", "calls"),
    ("batches", "batches"),
    ("tokens read", "prompt_tokens"),
    ("of these from the prefix cache", "cached_tokens"),
    ("tokens written", "completion_tokens"),
    ("seconds of the model", "seconds"),
)

PREDICTOR = "You are an accurate and reliable assistant that answers questions from a document."
PREDICTOR_TASK = "Document: {document}\n\nQuestion: {question}\n\nAnswer the question from the document:"
JUDGE = "You judge whether a document is relevant and supportive for answering a question. Answer Yes or No."
JUDGE_TASK = """\
Document: {document}

Question: {question}

LLM answer: {answer}

Is this document relevant and supportive for answering the question?"""
FINAL = """\
You answer a question from documents, and put the numbers of the documents that say so after every statement, as in: \
"The bridge was opened in 1921 [1][4]. It replaced a ferry [2]." """
FINAL_TASK = "{documents}\n\nQuestion: {question}\n\nAnswer with citations:"
REVISER = """\
You check whether an answer is complete. Divide the question into its parts and write a line for each: \
PART: ...; STATUS: fully answered, partially answered or not answered; FOLLOW-UP: a question for what is missing, or none."""
REVISER_TASK = "Question: {question}\n\nAnswer: {answer}"
MERGER = "You merge two answers to one question into one, keeping all citations as they are."
MERGER_TASK = "Question: {question}\n\nFirst answer: {answer}\n\nMore: {more}\n\nOne answer:"


def batches(trace: Trace) -> int:
    """Return how often the model was waited for: runs of calls of one kind and role that follow each other."""
    runs, last = 0, None
    for event in trace.events:
        if not isinstance(event, ModelCall):
            last = None
            continue
        call = (event.method, event.role)
        runs += call != last
        last = call
    return runs


# --- the sequential rendition ---------------------------------------------------------------------
def sequential(question: str, kit: Kit, *, k: int) -> Answer:
    """RAGentA's loop as released: a call for each document and agent, one after the other."""
    passages = kit.passages(question, k=k)
    triplets = [_triplet(question, passage, kit) for passage in passages]
    judged = keep_triplets(triplets, 0.5)
    answer = _final(question, [triplet.passage for triplet in judged], kit)
    review = _one(kit, REVISER, REVISER_TASK.format(question=question, answer=answer), 256)
    seen = {passage.id for passage in passages}
    gaps = [gap.strip() for gap in re.findall(r"FOLLOW-UP:\s*(.+)", review)]
    for gap in [gap for gap in gaps if "?" in gap][:3]:
        new = [hit.passage for hit in kit.search(gap, k=5, exclude=tuple(seen))]
        seen |= {passage.id for passage in new}
        more = _final(gap, new, kit)
        answer = _one(kit, MERGER, MERGER_TASK.format(question=question, answer=answer, more=more), 512)
    return Answer(
        question=question, answers=(answer,) if answer else (), text=answer, passages=tuple(passages)
    )


def _triplet(question: str, passage: Passage, kit: Kit) -> Triplet:
    answer = _one(kit, PREDICTOR, PREDICTOR_TASK.format(document=passage.text, question=question), 128)
    task = JUDGE_TASK.format(document=passage.text, question=question, answer=one_line(answer))
    (choice,) = kit.choose("judge", [chat(JUDGE, task)], ("Yes", "No"))
    score = choice.logprobs[0] - choice.logprobs[1]
    return Triplet(
        question=question,
        passage=passage,
        reply=Reply(passages=(passage.id,), answer=answer, raw=answer),
        score=score,
    )


def _final(question: str, passages: Sequence[Passage], kit: Kit) -> str:
    documents = "\n\n".join(f"Document {n}: {passage.text}" for n, passage in enumerate(passages, 1))
    return _one(kit, FINAL, FINAL_TASK.format(documents=documents, question=question), 512)


def _one(kit: Kit, system: str, task: str, tokens: int) -> str:
    (reply,) = kit.complete("reader", [chat(system, task)], Sampling(max_tokens=tokens))
    return reply.text.strip()


# --- one answer -----------------------------------------------------------------------------------
def measure(name: str, example: Example, kit: Kit, index: Index, k: int) -> dict[str, Any]:
    """Return one strategy on one question: its answer, what that cost, its citations and its grades."""
    record: dict[str, Any] = {"row": example.row, "strategy": name, "question": example.question}
    trace = Trace()
    traced = kit.with_trace(trace)
    try:
        if name == "sequential":
            answer = sequential(example.question, traced, k=k)
        else:
            answer = load_strategy(name)(example.question, traced, k=k)
    except DisputatioError as error:
        return {**record, "fault": f"{type(error).__name__}: {error}"[:200]}
    usage = trace.usage()
    record |= {
        "abstained": answer.abstained,
        "calls": usage.calls,
        "batches": batches(trace),
        "prompt_tokens": usage.prompt_tokens,
        "cached_tokens": usage.cached_tokens,
        "completion_tokens": usage.completion_tokens,
        "seconds": round(usage.seconds, 2),
        "roles": roles(trace),
    }
    if name == "sequential":
        return {**record, "text": answer.text}
    after = Trace()
    try:
        audited = audit(replace(answer, strategy=name), kit.with_trace(after))
        grades = graded(example, audited, kit.with_trace(Trace()))
    except DisputatioError as error:
        return {**record, "fault": f"{type(error).__name__}: {error}"[:200]}
    cited = [citation for claim in audited.claims for citation in claim.citations]
    pages = [_stored(index, citation.passage) for citation in cited]
    return {
        **record,
        "text": audited.text,
        "answers": list(audited.answers),
        "claims": len(audited.claims),
        "claims_supported": sum(claim.verdict == "supported" for claim in audited.claims),
        "citations": len(cited),
        "citations_supporting": sum(citation.verdict == "supported" for citation in cited),
        "citations_resolved": sum(
            page is not None and page.text[citation.start : citation.end] == citation.quote != ""
            for citation, page in zip(cited, pages, strict=True)
        ),
        "gold": any(page and page.metadata.get("id") in example.metadata["pages"] for page in pages),
        "verdicts": [claim.verdict for claim in audited.claims],
        "grades": grades,
        "verification_seconds": round(after.usage().seconds, 2),
        "rounds": audited.rounds,
    }


def graded(example: Example, answer: Answer, kit: Kit) -> dict[str, Any]:
    """Return the judge's grades of an answer."""
    case = judged_case(example, answer)
    grades = {"correctness": correctness([case], kit)[0], "faithfulness": faithfulness([case], kit)[0]}
    return as_record(grades)


def roles(trace: Trace) -> dict[str, dict[str, int]]:
    """Calls, tokens read, and tokens read that no prefix cache spared, by role."""
    found: dict[str, dict[str, int]] = {}
    for event in trace.events:
        if isinstance(event, ModelCall):
            sums = found.setdefault(event.role, {"calls": 0, "prompt": 0, "new": 0})
            sums["calls"] += 1
            sums["prompt"] += event.usage.prompt_tokens
            sums["new"] += event.usage.prompt_tokens - event.usage.cached_tokens
    return found


def _stored(index: Index, passage: str) -> Passage | None:
    try:
        return index.passage(passage)
    except (StoreError, DisputatioError):
        return None


# --- the report -----------------------------------------------------------------------------------
def value(record: dict[str, Any] | None, measure_: str) -> float | None:
    """Return a measure of one answer; None where it cannot be computed, as for an answer that cites nothing."""
    if record is None or record.get("fault"):
        return None
    if measure_ == "precision":
        return record["citations_supporting"] / record["citations"] if record["citations"] else None
    if measure_ == "recall":
        return record["claims_supported"] / record["claims"] if record["claims"] else None
    if measure_ in ("correctness", "faithfulness"):
        grade = record["grades"][measure_]["grade"]
        return None if grade is None else float(grade)
    if measure_ == "abstained":
        return float(record["abstained"] is not None)
    if measure_ == "gold":
        return float(record["gold"]) if not record["abstained"] else None
    return float(record[measure_])


def report(records: Sequence[dict[str, Any]], model: str, about: str = "") -> str:
    """Means with intervals, paired differences, what resolves, and the sequential rendition, as Markdown."""
    by = {(record["row"], record["strategy"]): record for record in records}
    rows = sorted({row for row, name in by if all((row, each) in by for each in STRATEGIES)})
    columns = {name: [by[row, name] for row in rows] for name in STRATEGIES}
    lines = ["# RAGentA, MAIN-RAG and one prompt on DataMorgana's questions", ""]
    lines += [about, ""] if about else []
    lines += [f"{len(rows)} questions answered by all of {', '.join(STRATEGIES)}; model {model}.", ""]
    lines.append(
        table(
            ["mean of the questions [95 %]", *STRATEGIES],
            [
                [label, *(told([value(record, name) for record in columns[each]], 2) for each in STRATEGIES)]
                for label, name in MEASURES
            ],
        )
    )
    faults = {name: sum(bool(record.get("fault")) for record in columns[name]) for name in STRATEGIES}
    lines += ["", f"Faults, not counted above: {faults}."]
    for name in STRATEGIES:
        whole = [record for record in columns[name] if not record.get("fault")]
        cited, resolved = (
            sum(record[key] for record in whole) for key in ("citations", "citations_resolved")
        )
        unscored = sum(record["grades"]["correctness"]["grade"] is None for record in whole)
        lines.append(
            f"- {name}: {resolved} of {cited} citations stand in the index where they say; "
            f"{unscored} answers unscored for correctness"
        )
    lines += ["", "Paired differences, ragenta less the other:", ""]
    compared = [(label, name) for label, name in MEASURES if name not in ("cached_tokens",)]
    lines.append(
        table(
            ["", *STRATEGIES[1:]],
            [
                [
                    label,
                    *(
                        against(
                            [value(record, name) for record in columns["ragenta"]],
                            [value(record, name) for record in columns[each]],
                        )
                        for each in STRATEGIES[1:]
                    ),
                ]
                for label, name in compared
            ],
        )
    )
    pairs = [(by[row, "ragenta"], by[row, "sequential"]) for row in rows if (row, "sequential") in by]
    pairs = [pair for pair in pairs if not any(record.get("fault") for record in pair)]
    if pairs:
        ours, theirs = (sum(pair[n]["seconds"] for pair in pairs) for n in (0, 1))
        calls = [sum(pair[n]["calls"] for pair in pairs) / len(pairs) for n in (0, 1)]
        waits = [sum(pair[n]["batches"] for pair in pairs) / len(pairs) for n in (0, 1)]
        lines += [
            "",
            f"Sequential rendition on {len(pairs)} of the questions: {theirs:.0f} s of the model against {ours:.0f} s, a ratio "
            f"of {ours / theirs:.2f}; {calls[1]:.1f} calls a question, one at a time, against {calls[0]:.1f} calls in {waits[0]:.1f} batches.",
        ]
    whole = [record for record in columns["ragenta"] if not record.get("fault")]
    if whole:
        new, all_calls = (
            sum(record["roles"].get("judge", {}).get(key, 0) for record in whole) for key in ("new", "calls")
        )
        lines += [
            "",
            f"The judge read {new / max(all_calls, 1):.0f} new tokens a passage: its predictor had read the rest.",
        ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run what is missing, question by question, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("data", type=Path, help="folder with questions_500.jsonl")
    parser.add_argument("--index", type=Path, required=True)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0, help="of the choice of questions")
    parser.add_argument("-k", type=int, default=20)
    parser.add_argument("--sequential", type=int, default=0, metavar="N")
    parser.add_argument("--model")
    parser.add_argument("--role", action="append", default=[], metavar="ROLE=MODEL")
    parser.add_argument("--journal", default="none")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--about", default="", help="the first paragraph of the report")
    arguments = parser.parse_args()
    cast = dict(setting.split("=", 1) for setting in arguments.role)
    settings = read_settings(model=arguments.model, role=cast or None, journal=arguments.journal)
    index = Index.open(arguments.index, create=False)
    searched: Retriever = index
    kit = replace(build_kit(settings, say=say), retriever=searched)
    examples = load(f"datamorgana:{arguments.data / 'questions_500.jsonl'}")
    # One order for a seed: a longer run goes on with the questions of a shorter one.
    chosen = random.Random(arguments.seed).sample(examples, len(examples))[: arguments.limit]
    lines = arguments.out.read_text("utf-8").splitlines() if arguments.out.exists() else []
    records: list[dict[str, Any]] = [json.loads(line) for line in lines]
    done = {(old["row"], old["strategy"]) for old in records if not old.get("fault")}
    records = [old for old in records if not old.get("fault")]
    for n, example in enumerate(chosen, 1):
        turn = [*STRATEGIES, *(["sequential"] if n <= arguments.sequential else [])]
        for name in turn if n % 2 else turn[::-1]:
            if (example.row, name) in done:
                continue
            record = measure(name, example, kit, index, arguments.k)
            records.append(record)
            with arguments.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record, ensure_ascii=False) + "\n")
            say(f"{n}/{len(chosen)} {name}: {record.get('fault') or record['seconds']}")
    text = report(records, kit.model.name, arguments.about)
    arguments.out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
