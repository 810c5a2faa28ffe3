"""Details of an answer that only this strategy has, and their form in JSON.

`WiderSearch` stands in `Answer.details["looked"]`, for readers; `Record` in `Basis.details`, so that the answer can be
decided again without some of its passages and without a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from disputatio.kit import LATE, Kit
from disputatio.reliability.similarity import rescale_cosine
from disputatio.strategies.disputation.reading import Reader
from disputatio.trace import judgement_key
from disputatio.types import Passage


@dataclass(frozen=True, slots=True, kw_only=True)
class WiderSearch:
    """A search for more passages because answers contradict each other and the lead of the best is short.

    `searches` were made; `read` of the passages found were read, and `answered` of these bear on the
    contradiction. `changed` is true if other answers were accepted then.
    """

    searches: int
    read: int
    answered: int
    changed: bool = False

    def to_details(self) -> dict[str, Any]:
        """Return the JSON value of `Answer.details`."""
        return {"looked": asdict(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Evidence beside calls and searches: the model's beliefs, the similarities of passages, and which are of one thing.

    `beliefs` has the nats of each answer by question, `looks` the reply to its last joint look; `similarities` that of each pair of passages, by
    `judgement_key`, `sameness` the log-odds that they speak of one thing, by question and pair; `today` the day of the question, where documents say from when or until when they are in force;
    `reader` who read, empty for an answer that does not say; `late` the passages that the language model had not read by
    the deadline, None if that did not pass; `sections` the passages of each section, its version that was read first
    ahead, where one is in several versions among the first `searched` passages found.
    """

    beliefs: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    looks: Mapping[str, str] = field(default_factory=dict)
    similarities: Mapping[str, float] = field(default_factory=dict)
    sameness: Mapping[str, float] = field(default_factory=dict)
    today: str = ""
    reader: Reader | Literal[""] = ""
    late: Sequence[str] | None = None
    sections: Sequence[Sequence[str]] = ()
    searched: int = 0

    def to_details(self) -> dict[str, Any]:
        """Return the JSON value of `Basis.details`."""
        details: dict[str, Any] = {
            "beliefs": dict(self.beliefs),
            "looks": dict(self.looks),
            "similarities": dict(sorted(self.similarities.items())),
        }
        late = {} if self.late is None else {LATE: list(self.late)}
        sections = [list(section) for section in self.sections]
        said = {
            "sameness": dict(sorted(self.sameness.items())),
            "today": self.today,
            "reader": self.reader,
            "sections": sections,
            "searched": self.searched,
        }
        return details | {name: value for name, value in said.items() if value} | late

    @classmethod
    def from_details(cls, details: Mapping[str, Any]) -> Record:
        """Return the record of `Basis.details`; an empty one for a new question."""
        return cls(
            beliefs=details.get("beliefs", {}),
            looks=details.get("looks", {}),
            similarities=details.get("similarities", {}),
            sameness=details.get("sameness", {}),
            reader=details.get("reader", ""),
            sections=details.get("sections", ()),
            searched=details.get("searched", 0),
        )


class Similarity:
    """The similarity of passages in meaning: recorded, or computed from their embeddings once a pair."""

    def __init__(self, kit: Kit) -> None:
        self._embedder = kit.embedder
        self.known: dict[str, float] = dict(Record.from_details(kit.recorded).similarities)

    def __call__(self, pairs: Sequence[tuple[Passage, Passage]]) -> list[float | None]:
        """Return the similarity of each pair; None where none is recorded and there is no embedder."""
        keys = [judgement_key("alike", first.id, second.id) for first, second in pairs]
        new = [pair for pair, key in zip(pairs, keys, strict=True) if key not in self.known]
        if new and self._embedder is not None:
            passages = {passage.id: passage for pair in new for passage in pair}
            vectors = self._embedder.embed([passage.text for passage in passages.values()])
            rows = dict(zip(passages, vectors, strict=True))
            for first, second in new:
                key = judgement_key("alike", first.id, second.id)
                cosine = float(rows[first.id] @ rows[second.id])
                self.known[key] = rescale_cosine(cosine, self._embedder.name)
        return [self.known.get(key) for key in keys]
