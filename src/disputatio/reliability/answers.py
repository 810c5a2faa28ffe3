"""Answers of many sources as they arrive, kept as arrays, and the estimates from them.

For 100,000 sources and ten million answers: 20 bytes an answer are kept, in the order of the estimate, so
that answers that arrive later are merged and not sorted anew. Answers to one question are the same if their
text is, apart from case and white space.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.reliability.grouping import Dependence
from disputatio.reliability.trust import Trust, untangle
from disputatio.reliability.weighted_vote import CAP, NOBODY, SPAN, UNKNOWN, Estimate, FlatVotes, estimate

if TYPE_CHECKING:
    import pyarrow as pa

Ints: TypeAlias = NDArray[np.int64]
Texts: TypeAlias = "Sequence[str] | pa.Array[Any]"
COLUMNS = ("question", "source", "answer")
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFigures:
    """The estimate of each source, by the order of `names`; `group` is the first source that it is tied to,
    itself if it is tied to none. `converged` is false if the rounds ran out."""

    names: Sequence[str]
    reliability: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    answered: NDArray[np.float64]
    agreed: NDArray[np.float64]
    checked: NDArray[np.bool_]
    group: Ints
    rounds: int
    converged: bool


class Answers:
    """The answers of sources to questions; `add` takes more at any time, `figures` estimates.

    >>> answers = Answers()
    >>> answers.add(["q1", "q1", "q1"], ["a", "b", "c"], ["Paris", "paris ", "Rome"])
    >>> answers.votes().number.tolist()
    [0, 0, 1]
    """

    def __init__(self) -> None:
        self._questions: dict[str, int] = {}
        self._sources: dict[str, int] = {}
        self._known: dict[int, int] = {}  # the hash of the right answer, by question
        self._key: Ints = np.zeros(0, dtype=np.int64)  # question << 32 | source, rising
        self._label: Ints = np.zeros(0, dtype=np.int64)  # the hash of the answer
        self._number: NDArray[np.int32] = np.zeros(0, dtype=np.int32)  # its cluster, in the order met
        self._coming: list[tuple[Ints, Ints]] = []
        self._last: tuple[Trust, Dependence] | None = None
        self._published: Estimate | None = None

    def __len__(self) -> int:
        """Return how many answers there are, one for each question and source."""
        self._merge()
        return len(self._key)

    @property
    def sources(self) -> list[str]:
        """The names of the sources, in the order met."""
        return list(self._sources)

    @property
    def questions(self) -> list[str]:
        """The names of the questions, in the order met."""
        return list(self._questions)

    def add(self, questions: Texts, sources: Texts, answers: Texts) -> None:
        """Add answers: the question, source and text of each. A later answer replaces an earlier one.

        Sequences of strings or Arrow arrays of them. Raises `InputError` unless they are as many.
        """
        if not len(questions) == len(sources) == len(answers):
            raise InputError("answers need a question, a source and a text each")
        question = _number_names(questions, self._questions)
        source = _number_names(sources, self._sources)
        self._coming.append((question << 32 | source, _hash_texts(answers)))

    def add_batches(self, batches: Iterable[pa.RecordBatch]) -> int:
        """Add Arrow record batches with the columns question, source and answer, as a stream.

        A column `truth` has the right answer of the question where it is known. Rows without a question,
        source or answer are left out. Returns how many answers were read; raises `InputError`.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        read = 0
        for number, batch in enumerate(batches, start=1):
            missing = [name for name in COLUMNS if name not in batch.schema.names]
            if missing:
                raise InputError(f"the table of answers has no column {' or '.join(missing)}")
            columns = {}
            for name in (*COLUMNS, *(["truth"] if "truth" in batch.schema.names else [])):
                try:
                    columns[name] = batch.column(name).cast(pa.string())
                except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:  # neither names the column
                    raise InputError(f"column {name}, batch {number}: is not text or numbers") from error
            if "truth" in columns:
                rows = pa.RecordBatch.from_arrays([columns["question"], columns["truth"]], ["q", "t"])
                stated = rows.filter(columns["truth"].is_valid())
                pairs = zip(stated.column(0).to_pylist(), stated.column(1).to_pylist(), strict=True)
                self.verify({str(question): str(truth) for question, truth in pairs if question is not None})
            question, source, answer = (columns[name] for name in COLUMNS)
            if question.null_count or source.null_count or answer.null_count:
                complete = pc.and_(pc.and_(question.is_valid(), source.is_valid()), answer.is_valid())
                question, source, answer = (column.filter(complete) for column in (question, source, answer))
            self.add(question, source, answer)
            read += len(answer)
        return read

    def verify(self, truths: Mapping[str, str]) -> None:
        """State the right answers of questions, by the question's name."""
        for question, truth in truths.items():
            at = self._questions.setdefault(question, len(self._questions))
            self._known[at] = int(_hash_texts([truth])[0])

    def votes(self) -> FlatVotes:
        """Return the answers as votes: questions, sources and clusters in the order met."""
        self._merge()
        return FlatVotes.from_list(
            self._key >> 32,
            self._key & 0xFFFFFFFF,
            self._number,
            questions=len(self._questions),
            sources=len(self._sources),
        )

    def known(self) -> NDArray[np.int32]:
        """Return the cluster of each question's right answer: -1 if not given, -2 if not known."""
        self._merge()
        result = np.full(len(self._questions), UNKNOWN, dtype=np.int32)
        if not self._known:
            return result
        at = np.array(sorted(self._known), dtype=np.int64)
        truth = np.zeros(len(result), dtype=np.int64)
        truth[at] = [self._known[question] for question in at.tolist()]
        result[at] = NOBODY
        question = self._key >> 32
        right = np.flatnonzero((result[question] == NOBODY) & (self._label == truth[question]))
        result[question[right]] = self._number[right]
        return result

    def figures(self, estimator: Literal["paper", "ours"] = "ours", *, anew: bool = False) -> SourceFigures:
        """Estimate each source by all answers so far: `paper` (RA-RAG, 4.2) or `ours` (with copies).

        Another call starts from the last result, so that a few further answers take few rounds; it can then
        differ from an estimate `anew` where votes are close. Raises `InputError` for another estimator.
        """
        if estimator not in ("paper", "ours"):
            raise InputError(f"estimator {estimator!r}: choose paper or ours")
        votes = self.votes()
        if estimator == "paper":
            start = None if anew or self._published is None else self._published.weights
            if start is not None:
                start = np.concatenate([start, np.ones(votes.sources - len(start))])
            options = max(2, min(votes.sources, CAP))
            estimated: Trust | Estimate = estimate(votes, options=options, start=start)
            self._published = estimated if isinstance(estimated, Estimate) else None
            group = np.arange(votes.sources, dtype=np.int64)
        else:
            self._last = untangle(votes, known=self.known(), start=None if anew else self._last)
            estimated, ties = self._last
            _, first, back = np.unique(ties.group[estimated.owner], return_index=True, return_inverse=True)
            group = first[back].astype(np.int64)
        return SourceFigures(
            names=self.sources,
            reliability=estimated.reliability,
            low=estimated.low,
            high=estimated.high,
            answered=estimated.answered,
            agreed=estimated.agreed,
            checked=estimated.checked,
            group=group,
            rounds=estimated.rounds,
            converged=estimated.converged,
        )

    def _merge(self) -> None:
        """Put the answers that came since into the order of the others, and number their clusters."""
        if not self._coming:
            return
        key = np.concatenate([keys for keys, _ in self._coming])
        label = np.concatenate([labels for _, labels in self._coming])
        self._coming = []
        key, label = _last_of_each(key, label)
        if len(self._key):
            at = np.searchsorted(self._key, key)
            held = self._key[np.minimum(at, len(self._key) - 1)] == key
            self._label[at[held]] = label[held]
            touched = np.zeros(len(self._questions), dtype=np.bool_)
            touched[key >> 32] = True
            self._key = np.insert(self._key, at[~held], key[~held])
            self._label = np.insert(self._label, at[~held], label[~held])
            self._number = np.insert(self._number, at[~held], 0)
            rows = np.flatnonzero(touched[self._key >> 32])
            self._number[rows] = _clusters(self._key[rows], self._label[rows])
        else:
            self._key, self._label, self._number = key, label, _clusters(key, label)


def _last_of_each(key: Ints, label: Ints) -> tuple[Ints, Ints]:
    """Return the keys in rising order, each once, with its last label."""
    order = np.argsort(key)  # in any order of equal keys, which is much faster
    key = key[order]
    new = np.ones(len(key), dtype=np.bool_)
    new[1:] = key[1:] != key[:-1]
    if not new.all():
        begins = np.flatnonzero(new)
        key, order = key[begins], np.maximum.reduceat(order, begins)
    return key, label[order]


def _clusters(key: Ints, label: Ints) -> NDArray[np.int32]:
    """Return the cluster of each answer: the number of its label within its question; keys rise."""
    numbers = np.zeros(len(key), dtype=np.int32)
    begin = 0
    while begin < len(key):  # a run of whole questions at a time
        last = key[min(begin + SPAN, len(key)) - 1] >> 32
        end = int(np.searchsorted(key, (last + 1) << 32))
        numbers[begin:end] = _as_met(key[begin:end] >> 32, label[begin:end])
        begin = end
    return numbers


def _as_met(question: Ints, label: Ints) -> NDArray[np.int32]:
    """Return the number of each label within its question, in the order met; rows are sorted by question."""
    mixed = label.view(np.uint64) ^ (question.astype(np.uint64) * _MIX)
    _, first, back = np.unique(mixed, return_index=True, return_inverse=True)
    met = np.sort(first)  # rows that bring a new label
    of = question[met]
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    number = np.arange(len(met)) - np.repeat(begins, np.diff(np.append(begins, len(met))))
    return number[np.searchsorted(met, first)][back].astype(np.int32)


def _number_names(names: Any, known: dict[str, int]) -> Ints:
    """Return the number of each name, new ones after those known; of strings or an Arrow array."""
    values, codes = _encode(names)
    numbers = np.fromiter(map(known.get, values, repeat(-1)), dtype=np.int64, count=len(values))
    for at in np.flatnonzero(numbers < 0).tolist():
        numbers[at] = known.setdefault(values[at], len(known))
    return numbers[codes] if len(codes) else np.zeros(0, dtype=np.int64)


def _hash_texts(texts: Any) -> Ints:
    """Return a number of 64 bits for each text, the same but for case and white space."""
    values, codes = _encode(texts)
    hashes = np.array([hash(" ".join(str(value).casefold().split())) for value in values], dtype=np.int64)
    return hashes[codes] if len(codes) else np.zeros(0, dtype=np.int64)


def _encode(texts: Any) -> tuple[list[str], Ints]:
    """Return the distinct texts and, for each text, which it is."""
    if hasattr(texts, "dictionary_encode"):
        encoded = texts.dictionary_encode()
        values = encoded.dictionary.to_numpy(zero_copy_only=False).tolist()  # to_pylist is much slower
        return values, encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    numbers: dict[str, int] = {}
    codes = [numbers.setdefault(text, len(numbers)) for text in texts]
    return list(numbers), np.array(codes, dtype=np.int64)
