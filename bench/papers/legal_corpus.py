"""Write the legal text that AC-RAG's Figure 4 is measured over, and draw its questions.

    python -m bench.papers.legal_corpus --data ../shared/data corpus runs/tables/legal.jsonl
    python -m bench.papers.legal_corpus --data ../shared/data rows bench/papers/tables/legalbench_rows.txt

The paper names no legal corpus. A stand-in: the texts of LegalBench's example rows that are not asked (clauses, policies, statutes,
opinions; never an answer), the rules that tasks state, and the pages of FineWeb (datamorgana) that use several words of the law.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.lib.files import write_whole
from bench.lib.options import parser_of
from disputatio.eval.builders.material import write_lines
from disputatio.eval.data.corpora import corpus
from disputatio.eval.data.datasets import load, row_numbers
from disputatio.types import Example

ROWS = Path(__file__).with_name("tables") / "legalbench_rows.txt"
EACH, LONGEST, SEED = 22, 1500, 2509  # questions of each kind, characters of one, seed of the draw
KINDS = ("issue", "rule", "conclusion", "interpretation", "rhetorical")
PAPERS = ("maud_", "cuad_", "contract_nli_")  # the tasks of interpretation that the paper asks
WORDS = 6  # distinct words of the law that a page must use
LAW = re.compile(
    r"\b(?:plaintiff|defendant|statute|jurisdiction|liability|tort|contract|lease|court|judge|appeal|clause|"
    r"attorney|lawsuit|negligence|damages|trademark|hearsay|evidence|divorce|custody|immigration|tenant|landlord|"
    r"breach|injunction|merger|covenant|indemnity|warranty|arbitration|confidential)s?\b",
    re.IGNORECASE,
)


def examples(data: Path) -> list[Example]:
    """Return all of LegalBench's example rows."""
    return load(f"legalbench_examples:{data / 'legalbench' / 'train_rows.jsonl'}")


def draw(data: Path) -> list[int]:
    """Draw as many questions of each kind, in turns, of those with options that are not too long."""
    by_kind: dict[str, list[int]] = defaultdict(list)
    for example in examples(data):
        task, kind = str(example.metadata["task"]), str(example.metadata["part"])
        fits = example.metadata.get("options") and len(example.question) <= LONGEST
        if fits and (kind != "interpretation" or task.startswith(PAPERS)):
            by_kind[kind].append(example.row)
    drawn = [random.Random(f"{SEED}-{kind}").sample(by_kind[kind], len(by_kind[kind])) for kind in KINDS]
    turns = [[rows[turn] for rows in drawn if turn < len(rows)] for turn in range(EACH)]
    return [row for turn in turns for row in turn]


def texts(data: Path) -> Iterator[dict[str, str]]:
    """Yield the passages: what is not asked of LegalBench, then pages on the law."""
    asked = row_numbers(ROWS)
    seen = {example.question.partition("\n")[0] for example in examples(data) if example.row in asked}
    for example in examples(data):
        if example.row in asked:
            continue
        body = [line for line in example.question.split("\n") if not re.match(r"[A-J]\. ", line)]
        text = re.sub(r" \((?:\w+/)+\w+\)$", "", "\n".join(line for line in body if line not in seen))
        if text.strip():
            yield {"text": text, "source": str(example.metadata["task"]), "id": f"legalbench-{example.row}"}
    for page in corpus(f"datamorgana:{data / 'datamorgana' / 'corpus.jsonl.gz'}"):
        if len({word.casefold() for word in LAW.findall(page["text"])}) >= WORDS:
            yield page


def main(words: Sequence[str] | None = None) -> None:
    """Write the passages, or the row numbers."""
    parser = parser_of(__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("what", choices=("corpus", "rows"))
    parser.add_argument("out", type=Path)
    arguments = parser.parse_args(words)
    if arguments.what == "rows":
        write_whole(arguments.out, "".join(f"{row}\n" for row in draw(arguments.data)))
    else:
        print(f"{write_lines(arguments.out, texts(arguments.data))} passages in {arguments.out}")


if __name__ == "__main__":
    main()
