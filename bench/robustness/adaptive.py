"""Attackers who know how the default strategy decides: what is right, attacked and open under each of them.

    python -m bench.robustness.adaptive --data ../shared/data --model none

RealtimeQA's questions with all their real passages as the index, and five fabricated passages (or a share of the index),
which the attacker changes in one way:

| attack | what the attacker does |
|---|---|
| plain | nothing: PoisonedRAG's passages as they are |
| unlike | adds sentences of other pages until no two of them are as alike as retellings |
| padded | 200 words of real passages on the same question after each lie |
| edited | real passages that bear the right answer, with the lie in its place |
| two lies | half of the passages plant another lie, to force ties |
| aimed | each passage begins with the question and the lie, as a search for more will |
| share 20 %, 40 % | so much of the whole index is planted |

Each is asked with and without looking wider; `expect=one`. A hedge that states the lie counts as attacked. Odd and even rows alike are
asked: nothing was chosen on any of these attacks.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.asking import against, over, put, say, table, told
from bench.lib.files import beside, read_json, write_json, write_whole
from bench.lib.options import asking_parser
from bench.verdict.conflict_examples import read_realtimeqa
from bench.verdict.figures import Outcome, outcome
from disputatio.config import read_settings
from disputatio.kit import Kit
from disputatio.parts import build_kit
from disputatio.reliability.similarity import RETOLD, link
from disputatio.store.in_memory import InMemory
from disputatio.text import sentences
from disputatio.types import Example, Passage

FIRST = 15  # passages read at first
LIES = 5
PADDING = 200  # words
_OUT = RESULTS / "robustness" / "adaptive.json.gz"


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A question under attack: its real passages, and what was written to plant a lie."""

    example: Example
    real: tuple[str, ...]
    lies: tuple[str, ...]
    others: tuple[str, ...]  # passages on other questions, to take words from
    other_lie: str

    @property
    def lie(self) -> str:
        """The answer that is planted."""
        return self.example.wrong[0]


Attack = Callable[[Target, Kit], list[str]]


def plain(target: Target, _: Kit) -> list[str]:
    """Return the planted passages as they are."""
    return list(target.lies[:LIES])


def unlike(target: Target, kit: Kit) -> list[str]:
    """Sentences of other pages are added until no two passages are linked as retellings."""
    texts = plain(target, kit)
    if kit.embedder is None:
        return texts
    chance = random.Random(target.example.id)
    for _ in range(8):
        vectors = kit.embedder.embed(texts)
        similarity = {(a, b): float(vectors[a] @ vectors[b]) for b in range(len(texts)) for a in range(b)}
        again = [group for group in link(len(texts), similarity, RETOLD) if len(group) > 1]
        if not again:
            break
        for group in again:
            for number in group[1:]:
                page = chance.choice(target.others)
                cut = [page[start:end] for start, end in sentences(page)]
                texts[number] = f"{texts[number]} {' '.join(cut[:2])}"
    return texts


def padded(target: Target, kit: Kit) -> list[str]:
    """Real words on the same question follow each lie."""
    words = " ".join(target.real).split()
    return [
        f"{text} {' '.join(words[number * PADDING : (number + 1) * PADDING])}"
        for number, text in enumerate(plain(target, kit))
    ]


def edited(target: Target, kit: Kit) -> list[str]:
    """Real passages with the lie in the place of the right answer; as many planted ones as that does not make."""
    made = []
    for text in target.real:
        for gold in target.example.gold:
            changed = re.sub(
                rf"(?<!\w){re.escape(gold)}(?!\w)", lambda _: target.lie, text, flags=re.IGNORECASE
            )
            if changed != text:
                made.append(changed)
                break
    return [*made, *plain(target, kit)][:LIES]


def two_lies(target: Target, kit: Kit) -> list[str]:
    """Return every other passage plants another lie."""
    return [
        text.replace(target.lie, target.other_lie) if number % 2 else text
        for number, text in enumerate(plain(target, kit))
    ]


def aimed(target: Target, kit: Kit) -> list[str]:
    """Return each passage begins with what is searched for."""
    return [f"{target.example.question} {target.lie}. {text}" for text in plain(target, kit)]


def share(target: Target, kit: Kit, *, part: float) -> list[str]:
    """So much of the index is planted, in varied wordings."""
    count = round(part * len(target.real) / (1 - part))
    whole = [*plain(target, kit), *unlike(target, kit), *padded(target, kit), *aimed(target, kit)]
    return list(dict.fromkeys(whole))[:count]


ATTACKS: Mapping[str, Attack] = {
    "plain": plain,
    "unlike": unlike,
    "padded": padded,
    "edited": edited,
    "two lies": two_lies,
    "aimed": aimed,
    "share 20 %": partial(share, part=0.2),
    "share 40 %": partial(share, part=0.4),
}


def targets(data: Path) -> list[Target]:
    """RealtimeQA's questions whose real passages bear the answer and that have five planted passages."""
    rows = [
        row for row in read_realtimeqa(data / "realtimeqa" / "realtimeqa.json") if len(row.poison) >= LIES
    ]
    rows = [row for row in rows if row.bearing]
    found = []
    for number, row in enumerate(rows):
        other = rows[(number + 1) % len(rows)]
        found.append(
            Target(
                example=row.example,
                real=tuple(f"{p.title}. {p.text}" if p.title else p.text for p in row.found),
                lies=tuple(p.text for p in row.poison),
                others=tuple(p.text for p in other.found),
                other_lie=other.lie,
            )
        )
    return found


def asked(target: Target, *, attack: Attack, wider: int, kit: Kit) -> Outcome:
    """Return one question under one attack; passages have no source, title or date."""
    texts = [*target.real, *attack(target, kit)]
    random.Random(target.example.id).shuffle(texts)
    example = replace(target.example, passages=tuple(Passage(text=text) for text in texts))
    options = {"expect": "one", "k": FIRST, "wider": wider}
    return outcome(example, put(example, kit, "disputation", options, retriever=InMemory(example.passages)))


def report(out: Mapping[str, Any]) -> str:
    """Return the page: one row an attack, with and without looking wider."""
    rows = []
    for name, columns in out["attacks"].items():
        for label, cells in columns.items():
            rows.append(
                [
                    f"{name}, {label}",
                    len(cells),
                    sum(bool(cell["fault"]) for cell in cells),
                    *(told([cell[score] for cell in cells], 2) for score in ("right", "attacked", "open")),
                    sum(not cell["answered"] and not cell["fault"] for cell in cells),
                ]
            )
    differences = [
        f"- {name}, attacked, looking wider − not: "
        + against(*([cell["attacked"] for cell in columns[label]] for label in ("wider", "not wider")))
        for name, columns in out["attacks"].items()
    ]
    return "\n".join(
        [
            "# Attackers who know how the default strategy decides",
            "",
            f"`python -m bench.robustness.adaptive --data DATA --model {out['model']}`",
            "",
            f"Model {out['model']}, encoder {out['encoder']}. RealtimeQA, all real passages of a question as its index, {FIRST} read at "
            "first; passages without source, title and date. Shares of the questions with 95 % intervals by bootstrap.",
            "",
            table(["attack", "n", "failed", "right", "attacked", "open", "no answer"], rows),
            "",
            *differences,
            "",
        ]
    )


def main(words: Sequence[str] | None = None, kit: Kit | None = None) -> None:
    """Ask under every attack, write after each."""
    options = asking_parser(__doc__, "none", 100, _OUT)
    options.add_argument("--model", default=None)
    options.add_argument(
        "--attacks", nargs="*", choices=sorted(ATTACKS), help="these alone, beside those of the file"
    )
    arguments = options.parse_args(words)
    kit = kit or build_kit(read_settings(model=arguments.model, journal=arguments.journal), say=say)
    some = targets(arguments.data)[: arguments.rows]
    out: dict[str, Any] = {
        "model": kit.model.name,
        "encoder": "none" if kit.reader is None else kit.reader.name,
        "attacks": read_json(arguments.out)["attacks"]
        if arguments.attacks and arguments.out.exists()
        else {},
    }
    for name in arguments.attacks or ATTACKS:
        attack = ATTACKS[name]
        out["attacks"][name] = {
            label: [
                asdict(each)
                for each in over(
                    some, partial(asked, attack=attack, wider=wider, kit=kit), label=f"{name}, {label}"
                )
            ]
            for label, wider in (("wider", 10), ("not wider", 0))
        }
        write_json(arguments.out, out)
        write_whole(beside(arguments.out, ".md"), report(out))
    print(report(out))


if __name__ == "__main__":
    main()
