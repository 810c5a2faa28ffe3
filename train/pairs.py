"""Pairs of texts with what one says of the other: claims and passages, passages about the same or another thing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from train.examples import row_side, rows_of, seeded, side
from train.sameness import about

Head = Literal["entail", "same"]
# The classes of *entail*; the last is for sets that only tell entailment from the rest.
SUPPORTS, CONTRADICTS, SILENT, NOT_SUPPORTS = range(4)
_LABELS = {
    "entailment": SUPPORTS,
    "contradiction": CONTRADICTS,
    "neutral": SILENT,
    "not_entailment": NOT_SUPPORTS,
    "supported": SUPPORTS,
    "partially_supported": NOT_SUPPORTS,
    "not_supported": NOT_SUPPORTS,
}
_BRACKETS = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]"}
_SPACED = re.compile(r"\s+([.,;:!?)\]'’])|([(\[])\s+")
_WORD = re.compile(r"\w+")
TWIN = 0.5  # of the words of two accounts, from which one is taken for an altered copy of the other


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two texts and their label: a class of *entail* (claim, passage), or 1 where both are about the same."""

    id: str
    dataset: str
    group: str  # all pairs of a group are on one side of the split
    head: Head
    first: str
    second: str
    label: int


def plain(text: str) -> str:
    """Return a text of a tokenised set as people write it.

    >>> plain("The ferry ( 1887 ) -LRB- see below -RRB- sank .")
    'The ferry (1887) (see below) sank.'
    """
    for name, mark in _BRACKETS.items():
        text = text.replace(name, mark)
    text = text.replace("``", '"').replace("''", '"')
    return " ".join(_SPACED.sub(lambda match: match[1] or match[2], text).split())


def entailment_pairs(folder: Path) -> list[Pair]:
    """Return the claims of all `nli_*` files of a folder, each with what its passage says of it."""
    pairs = []
    for path in sorted(folder.glob("nli_*.jsonl.gz")):
        dataset = path.name.removeprefix("nli_").removesuffix(".jsonl.gz")
        for number, row in enumerate(rows_of(path)):
            claim = row.get("claim", row.get("hypothesis", ""))
            passage = row.get("evidence", row.get("premise", ""))
            pairs.append(
                Pair(
                    id=f"{dataset}/{number}",
                    dataset=dataset,
                    group=f"{dataset}/{row.get('page') or passage}",
                    head="entail",
                    first=plain(claim),
                    second=plain(passage),
                    label=_LABELS[row["label"]],
                )
            )
    return pairs


def coreference_pairs(path: Path) -> list[Pair]:
    """ECB+: two passages and whether the things that they mention by the same or another word are one."""
    return [
        Pair(
            id=f"ecbplus/{number}",
            dataset="ecbplus",
            group=f"ecbplus/{row['topic']}",
            head="same",
            first=about(plain(row["mention_a"]), plain(row["a"])),
            second=plain(row["b"]),
            label=int(row["same"]),
        )
        for number, row in enumerate(rows_of(path))
    ]


def patent_pairs(folder: Path) -> list[Pair]:
    """Patents by inventors of the same name, and whether it is the same person; some without place and firm."""
    texts = {row["id"]: row for row in rows_of(folder / "ref_patent_namesakes_texts.jsonl.gz")}
    pairs = []
    for number, row in enumerate(rows_of(folder / "ref_patent_namesakes_pairs.jsonl.gz")):
        shown = []
        for side_number, end in enumerate("ab"):
            patent = texts[row[end]]
            bare = seeded("patent", number, side_number).random() < 0.5
            by = "" if bare else f" of {patent['org']}, {patent['place']}"
            shown.append(f"{row[f'name_{end}']}{by}. {patent['title']}. {patent['abstract']}")
        pairs.append(
            Pair(
                id=f"patents/{number}",
                dataset="patents",
                group=f"patents/{row['name_a'].split()[-1]}",
                head="same",
                first=about(row["name_a"], shown[0]),
                second=shown[1],
                label=int(row["same"]),
            )
        )
    return pairs


def namesake_pairs(path: Path, sides: Iterable[str]) -> list[Pair]:
    """RAMDocs: pairs of a row's passages, about the same thing or about namesakes.

    Right passages with different answers are about namesakes; those with the same answer, and an altered
    copy with the passage that it was made from, are about the same. Whether two answers are equal must not
    tell the label: half of the time the answers are made equal, or different, in the text.
    """
    wanted = set(sides)
    pairs = []
    for number, row in enumerate(rows_of(path)):
        if row_side(number) not in wanted:
            continue
        documents = [document for document in row["documents"] if document["type"] != "noise"]
        answers = [document["answer"] for document in documents]
        for i, first in enumerate(documents):
            for j, second in enumerate(documents[i + 1 :], i + 1):
                label = _sameness(first, second)
                if label is None:
                    continue
                chance = seeded("namesakes", number, i, j)
                texts = [first["text"], second["text"]]
                if chance.random() < 0.5:
                    texts[1] = _exchanged(texts[1], second["answer"], first["answer"], answers)
                if chance.random() < 0.5:
                    texts.reverse()
                pairs.append(
                    Pair(
                        id=f"namesakes/{number}/{i}/{j}",
                        dataset="namesakes",
                        group=f"namesakes/{number}",
                        head="same",
                        first=about(row["question"], texts[0]),
                        second=texts[1],
                        label=label,
                    )
                )
    return pairs


def _sameness(first: dict[str, str], second: dict[str, str]) -> int | None:
    """1 or 0 where the types and answers of two documents tell it, else None."""
    if first["type"] == second["type"] == "correct":
        return int(first["answer"] == second["answer"])
    if "correct" in (first["type"], second["type"]) and _likeness(first["text"], second["text"]) > TWIN:
        return 1
    return None


def _likeness(first: str, second: str) -> float:
    """Return the Jaccard index of the words of two texts."""
    ours, theirs = (set(_WORD.findall(text.lower())) for text in (first, second))
    return len(ours & theirs) / max(1, len(ours | theirs))


def _exchanged(text: str, answer: str, other: str, answers: Sequence[str]) -> str:
    """Return the text with its answer replaced: by the other's where they differ, else by a third."""
    choices = sorted({listed for listed in answers if listed != answer})
    instead = other if other != answer else (choices[0] if choices else "")
    return re.sub(re.escape(answer), lambda _: instead, text, flags=re.IGNORECASE) if instead else text


def side_of(pair: Pair) -> str:
    """Return the side of a pair by its group; RAMDocs goes by its rows."""
    return row_side(int(pair.group.split("/")[1])) if pair.dataset == "namesakes" else side(pair.group)


def all_pairs(data: Path) -> list[Pair]:
    """Return every pair that may be trained on or watched; those kept for the report are left out by their
    side.
    """
    folder = data / "train"
    found = entailment_pairs(folder)
    found += coreference_pairs(folder / "ref_ecbplus_pairs.jsonl.gz")
    found += patent_pairs(folder)
    return found + namesake_pairs(data / "ramdocs" / "dev.jsonl", ["train", "dev"])
