"""Write the page of the questions about the folder: grades by condition and by kind, differences, costs, and what was not right.

    python -m bench.documents.page --part aside LABEL=DIR[:STRATEGY]... [--against LABEL]... [--out PAGE]

Each condition is a folder of answers of `python -m bench.documents.ask` and one of its strategies (`disputation` unless
one is named). Paired differences are those of the first condition to each of `--against`, on the questions that both
answered. The answers go beside the page as `.json.gz`.
"""

from __future__ import annotations

import argparse
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import get_args

from bench import RESULTS
from bench.documents.ask import GRADES, Run, cost, difference, grades, read_run, shares
from bench.documents.build import count_files
from bench.documents.questions import SHA256, Part, Question, read_questions
from bench.documents.score import grade
from bench.lib.asking import table
from bench.lib.files import beside, write_json, write_whole


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A row of the page: a run and the strategy that answered."""

    label: str
    run: Run
    strategy: str

    def grades(self, questions: Sequence[Question]) -> Mapping[str, str]:
        """Return the grade of each question that was answered."""
        return grades(self.run, self.strategy, questions)


def read_condition(words: str) -> Condition:
    """Read `LABEL=DIR[:STRATEGY]`."""
    label, _, place = words.partition("=")
    folder, _, strategy = place.partition(":")
    return Condition(label=label, run=read_run(Path(folder)), strategy=strategy or "disputation")


def of_conditions(conditions: Sequence[Condition], questions: Sequence[Question]) -> str:
    """Return the table of grades with their intervals, and of costs, a row a condition."""
    rows = []
    for each in conditions:
        held = shares(each.run, each.strategy, questions)
        failed = sum(bool(given.fault) for given in each.run.of(each.strategy).values())
        marks = each.grades(questions)
        rows.append(
            [each.label, len(marks), *(held[word] for word in GRADES), failed, *cost(each.run, each.strategy)]
        )
    head = ["condition", "n", *GRADES, "failed", "calls", "tokens", "seconds", "core-seconds"]
    return table(head, rows)


def of_kinds(conditions: Sequence[Condition], questions: Sequence[Question]) -> str:
    """Return the table of kinds: right, half, wrong and abstained of each condition."""
    rows = []
    for kind in sorted({each.kind for each in questions}):
        row: list[object] = [kind]
        for condition in conditions:
            graded = condition.grades(questions)
            marks = [graded[each.id] for each in questions if each.kind == kind and each.id in graded]
            row.append(" / ".join(str(marks.count(word)) for word in GRADES) if marks else "–")
        rows.append(row)
    return table(["kind", *(condition.label for condition in conditions)], rows)


def not_right(condition: Condition, questions: Sequence[Question]) -> Iterator[str]:
    """Yield a line for each question that a condition did not get right."""
    graded, given = condition.grades(questions), condition.run.of(condition.strategy)
    for each in questions:
        if each.id in graded and graded[each.id] != "right":
            wanted = " and ".join(names[0] for names in each.accept) or "no answer"
            got = " | ".join(given[each.id].answers) or f"abstained ({given[each.id].abstained})"
            yield f"- {each.id}, {each.kind}, {graded[each.id]}: {each.question} Wanted {wanted}; got {got[:160]}."


def page(conditions: Sequence[Condition], against: Sequence[str], part: Part, command: str) -> str:
    """Return the page."""
    questions = read_questions(part)
    by_label = {each.label: each for each in conditions}
    first = conditions[0]
    files = count_files(part)
    commits = dict.fromkeys(f"{each.label} `{each.run.about['commit']}`" for each in conditions)
    differences = [
        [
            f"{first.label} - {label}",
            *(
                difference((first.run, first.strategy), (other.run, other.strategy), questions, word)
                for word in ("right", "wrong")
            ),
        ]
        for label in against
        if (other := by_label[label])
    ]
    digests = dict.fromkeys(
        f"{each.run.about['metadata']} `{each.run.about['documents']}`" for each in conditions
    )
    return "\n".join(
        [
            f"# Questions about a folder of documents: the part {'development' if part == 'development' else f'set aside ({part})'}",
            "",
            f"`{command}`, {datetime.now(UTC):%d %B %Y}, {platform.machine()}, {first.run.about['cores']} cores.",
            "",
            f"{files} files and {len(questions)} questions written for it before any was asked ([what they are]"
            "(../../documents/questions.py)). SHA-256 of the questions: "
            f"`{SHA256[part]}`; of the folder: {'; '.join(digests)}.",
            f"Commits: {'; '.join(commits)}.",
            "",
            "## By condition",
            "",
            "Shares with 95 % bootstrap intervals over questions; costs are means a question. Half: the right answer "
            "beside another as its equal. Where the documents have no answer, to abstain is right.",
            "",
            of_conditions(conditions, questions),
            "",
            "## By kind: right / half / wrong / abstained",
            "",
            of_kinds(conditions, questions),
            "",
            *(
                ["## Paired differences", "", table(["pair", "right", "wrong"], differences), ""]
                if against
                else []
            ),
            f"## Not right: {first.label}",
            "",
            *not_right(first, questions),
            "",
        ]
    )


def main() -> None:
    """Write the page and its figures."""
    summary = (__doc__ or "").splitlines()[0]
    parser = argparse.ArgumentParser(prog="python -m bench.documents.page", description=summary)
    parser.add_argument("--part", choices=get_args(Part), required=True)
    parser.add_argument("conditions", nargs="+", type=read_condition, metavar="LABEL=DIR[:STRATEGY]")
    parser.add_argument("--against", action="append", default=[], metavar="LABEL")
    parser.add_argument(
        "--command", default="python -m bench.documents.ask", help="the command, as the page shows it"
    )
    parser.add_argument("--out", type=Path, default=None)
    asked = parser.parse_args()
    out = asked.out or RESULTS / "documents" / f"{asked.part}.md"
    questions = {each.id: each for each in read_questions(asked.part)}
    write_whole(out, page(asked.conditions, asked.against, asked.part, asked.command))
    write_json(
        beside(out, ".json.gz"),
        [
            {
                "label": condition.label,
                "about": condition.run.about,
                "answers": [
                    {
                        **asdict(given),
                        "grade": "" if given.fault else grade(given.answers, questions[given.question]),
                    }
                    for given in condition.run.of(condition.strategy).values()
                ],
            }
            for condition in asked.conditions
        ],
    )


if __name__ == "__main__":
    main()
