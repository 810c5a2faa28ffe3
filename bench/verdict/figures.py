"""Measure what `disputation` answers where sources disagree: right, attacked, open, abstained, and what it costs, by corpus.

    python -m bench.verdict.figures --data ../shared/data --journal FILE

The rows are those that nothing is fitted or chosen on (`Corpus.to_report`), passages shuffled. Each is asked with the
expectation that its task declares and with `auto`, read by the model itself; with `auto` and the trained reader, as by default; and with `concat`,
one prompt over all passages.

Right: what is answered states a right answer and no planted one. Attacked: it states a planted one, also beside a right
one. Open: two answers stand and nothing settles them. In RAMDocs, where several answers are right: strict EM. Faults are
counted and are no answers. Calls are journalled, so what is interrupted goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from bench import RESULTS
from bench.lib.agreement import calibration_error
from bench.lib.asking import Asked, against, over, put, say, table, told
from bench.lib.files import beside, read_json, write_json, write_whole
from bench.lib.options import asking_parser
from bench.verdict.corpora import AMBIGNQ, CORPORA, RAMDOCS, WIDE, Corpus
from disputatio.config import read_settings
from disputatio.eval.metrics import exact_match, states
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.store.in_memory import InMemory
from disputatio.types import Example

FIRST = 15  # passages read at first where there is an index to look further in
SURE = (0.5, 0.6, 0.7)  # confidences asked for
_OUT = RESULTS / "verdict" / "figures.json.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The outcome of one question."""

    row: int
    fault: str
    answered: bool
    em: float | None
    right: float | None
    attacked: float | None
    open: float | None
    confidence: float | None
    tokens: int
    calls: int


def outcome(example: Example, asked: Asked) -> Outcome:
    """Return an answer scored; all scores are None where there is a fault."""
    lies = [lie for lie in example.wrong if lie not in example.gold]
    lied = any(states(said, lie) for said in asked.answers for lie in lies)
    right = not lied and any(
        states(said, gold, lenient=True) for said in asked.answers for gold in example.gold
    )
    there = asked.answer is not None
    return Outcome(
        row=example.row,
        fault=asked.fault,
        answered=bool(asked.answers),
        em=exact_match(list(asked.answers), example.gold, example.wrong) if there else None,
        right=float(right) if there else None,
        attacked=float(lied) if there else None,
        open=float(asked.answer.conflict.kind == "unresolved") if asked.answer else None,
        confidence=asked.answer.confidence if asked.answer else None,
        tokens=asked.tokens(),
        calls=asked.calls(),
    )


def asked_of(example: Example, *, strategy: str, options: Mapping[str, Any], kit: Kit) -> Outcome:
    """Return one question put to one strategy."""
    passages = InMemory(example.passages)
    return outcome(example, put(example, kit, strategy, options, retriever=passages))


def measured(corpus: Corpus, kit: Kit, rows: int) -> dict[str, Any]:
    """Return all columns of one corpus."""
    examples = corpus.to_report()[:rows]
    reading = {"k": FIRST} if corpus.name == WIDE else {}
    columns: dict[str, tuple[str, dict[str, Any]]] = {
        "disputation": ("disputation", {"expect": corpus.expect, "reader": "llm", **reading}),
        "auto": ("disputation", {"reader": "llm", **reading}),
        "trained": ("disputation", {"reader": "trained", **reading}),
        "concat": ("concat", reading),
    }
    if corpus.name == WIDE:
        columns["without looking wider"] = (
            "disputation",
            {"expect": corpus.expect, "reader": "llm", "wider": 0, **reading},
        )
    found: dict[str, Any] = {}
    for label, (strategy, options) in columns.items():
        ask = partial(asked_of, strategy=strategy, options=options, kit=kit)
        found[label] = [asdict(each) for each in over(examples, ask, label=f"{corpus.name}: {label}")]
    return found


def report(out: Mapping[str, Any]) -> str:
    """Return the page: one table a corpus, and what may be said of all."""
    lines = [
        "# The verdict: right, attacked, open, by corpus",
        "",
        "**Made with:** `expect` as each task declares it and `auto`, both with `reader=llm`; `auto` with `reader=trained`; `concat`. Order of passages: shuffled by row, but for ramdocs-published. Tuned on: nothing "
        "of these rows; odd rows of the same corpora, or none of them.",
        "",
        "`python -m bench.verdict.figures --data DATA --journal FILE`",
        "",
        f"Model {out['model']}, engine {out['engine']}, encoder {out['encoder']}. Rows on which nothing was fitted or chosen; passages "
        "shuffled, without source, title and date. Intervals are 95 % by bootstrap over questions, differences paired, McNemar exact.",
    ]
    for name, columns in out["corpora"].items():
        lines += ["", f"## {name}", "", *_tables(name, columns)]
    return "\n".join(lines) + "\n"


def _tables(name: str, columns: Mapping[str, Sequence[Mapping[str, Any]]]) -> list[str]:
    several = name.startswith((RAMDOCS, AMBIGNQ))
    head = ["", "n", "failed", "no answer", *(["strict EM"] if several else ["right", "attacked", "open"])]
    rows = []
    for label, cells in columns.items():
        scores = ["em"] if several else ["right", "attacked", "open"]
        rows.append(
            [
                label,
                len(cells),
                sum(bool(cell["fault"]) for cell in cells),
                sum(not cell["answered"] and not cell["fault"] for cell in cells),
                *(told([cell[score] for cell in cells]) for score in scores),
                told([cell["tokens"] for cell in cells], 0),
                _calibration(cells, "em" if several else "right"),
            ]
        )
    lines = [table([*head, "tokens", "calibration error"], rows)]
    first = columns["disputation"]
    for label, cells in columns.items():
        if label == "disputation":
            continue
        for score in ["em"] if several else ["right", "attacked"]:
            ours, theirs = ([cell[score] for cell in some] for some in (first, cells))
            lines += ["", f"- disputation − {label}, {score}: {against(ours, theirs)}"]
    if not several:
        lines += ["", _sure(first)]
    return lines


def _calibration(cells: Sequence[Mapping[str, Any]], score: str) -> str:
    known = [cell for cell in cells if cell["confidence"] is not None and cell[score] is not None]
    value = calibration_error([cell["confidence"] for cell in known], [cell[score] == 1 for cell in known])
    return "–" if value is None else f"{value:.3f}"


def _sure(cells: Sequence[Mapping[str, Any]]) -> str:
    """Return the shares right and attacked if less likely answers are withheld."""
    parts = []
    for least in SURE:
        kept = [cell["confidence"] is not None and cell["confidence"] >= least for cell in cells]
        right = [float(bool(keep and cell["right"])) for keep, cell in zip(kept, cells, strict=True)]
        attacked = [float(bool(keep and cell["attacked"])) for keep, cell in zip(kept, cells, strict=True)]
        parts.append(
            f"{least:g}: right {told(right, 2)}, attacked {told(attacked, 2)}, answered {sum(kept)} of {len(kept)}"
        )
    return "`--min-confidence` " + "; ".join(parts) + "."


def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Ask, score, write after each corpus."""
    options = asking_parser(__doc__, "runs/verdict.sqlite", 60, _OUT)
    options.add_argument("--corpora", nargs="*", choices=sorted(CORPORA), help="these alone")
    arguments = options.parse_args(words)
    kit = kit or build_kit(read_settings(journal=arguments.journal), say=say)
    out: dict[str, Any] = read_json(arguments.out) if arguments.out.exists() else {"corpora": {}}
    out |= {
        "model": kit.model.name,
        "engine": kit.model.capabilities().engine,
        "encoder": "none" if kit.reader is None else kit.reader.name,
    }
    for name in arguments.corpora or CORPORA:
        corpus = CORPORA[name](arguments.data)
        out["corpora"][name] = measured(corpus, kit, arguments.rows)
        write_json(arguments.out, out)
        write_whole(beside(arguments.out, ".md"), report(out))
    print(report(out))


if __name__ == "__main__":
    main()
