"""Searching segments: compiled loops against numpy, filters, sources, near duplicates, reranking."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from disputatio.errors import InputError
from disputatio.protocols import Search
from disputatio.store.segments import candidates, minhash
from disputatio.store.segments.quantised import Quantised
from disputatio.store.segments.searcher import Searcher
from disputatio.store.segments.segment import Segment
from disputatio.types import Passage
from tests.store.made import DIMENSION, passages, word

ROWS = 900
FILTERS: list[dict[str, Any]] = [
    {},
    {"sources": ["s0", "s3"]},
    {"where": {"kind": "k1"}},
    {"after": "2012", "before": "2016-07"},
    {"exclude": [f"p{row}" for row in range(0, ROWS, 2)]},
    {"where": {"kind": "k2", "source": "s1"}, "fusion": "rrf"},
    {"k1": 0.9, "b": 0.4, "alpha": 0.7},
]


def queries() -> list[tuple[str, NDArray[np.float32]]]:
    draw = np.random.default_rng(5)
    vectors = draw.normal(size=(4, DIMENSION)).astype(np.float32)
    asked = [" ".join(word(int(one)) for one in draw.integers(0, 60, 4)) for _ in vectors]
    return list(zip(asked, vectors, strict=True))


def searcher(edges: Sequence[int] = (0, ROWS)) -> Searcher:
    made, vectors = passages(ROWS)
    dead = np.random.default_rng(1).random(ROWS) < 0.2
    spans = [slice(low, high) for low, high in itertools.pairwise(edges)]
    return Searcher(
        [Segment.build(made[span], vectors[span]) for span in spans], [dead[span] for span in spans]
    )


def test_a_passage_that_does_not_name_its_source_is_found_by_it() -> None:
    texts = [Passage(text="A berth costs 30.", id=name, source=name) for name in ("harbour", "hallin", "")]
    (hit, *_) = Searcher([Segment.build(texts, None)]).search("What is a berth at Hallin?")
    assert hit.passage.id == "hallin"


@pytest.fixture
def in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small indexes are searched as large ones are."""
    monkeypatch.setattr(candidates, "FEW", 0)
    monkeypatch.setattr(candidates, "ALL_OF_SOURCES", 0)


def told(one: Searcher, options: dict[str, Any]) -> list[list[tuple[str, float, dict[str, float]]]]:
    return [
        [(hit.passage.id, hit.score, dict(hit.scores)) for hit in one.search(text, vector, Search(**options))]
        for text, vector in queries()
    ]


@pytest.mark.long
@pytest.mark.parametrize("options", FILTERS)
def test_compiled_loops_find_what_numpy_finds(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = searcher()
    plain = told(whole, {"k": 30, **options})
    monkeypatch.setattr(candidates, "FEW", 0)
    compiled = told(whole, {"k": 30, **options})
    assert any(plain)
    for one, other in zip(plain, compiled, strict=True):
        assert [hit[0] for hit in one] == [hit[0] for hit in other]
        for (_, score, legs), (_, same, others) in zip(one, other, strict=True):
            assert same == pytest.approx(score, abs=1e-5)
            assert others == pytest.approx(legs, abs=1e-4)


@pytest.mark.long
@pytest.mark.usefixtures("in_one_pass")
@pytest.mark.parametrize("per_source", [None, 2])
def test_the_division_into_segments_changes_no_hit(per_source: int | None) -> None:
    options = {"k": 25, "per_source": per_source}
    assert told(searcher(), options) == told(searcher((0, 1, 300, 340, ROWS)), options)


@pytest.mark.long
@pytest.mark.usefixtures("in_one_pass")
def test_scorers_side_by_side_find_what_they_find_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = searcher()
    in_turn = told(whole, {"k": 30})
    monkeypatch.setattr(candidates, "LARGE", 0)
    monkeypatch.setattr("disputatio.platforms.count_cores", lambda: 2)
    assert told(whole, {"k": 30}) == in_turn


@pytest.mark.long
@pytest.mark.parametrize("options", FILTERS[:5])
def test_one_pass_finds_the_best_words_of_each_source(
    options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = searcher()

    def best() -> list[dict[str, list[float]]]:
        found = []
        for text, _ in queries():
            of: dict[str, list[float]] = {}
            for hit in whole.search(text, None, Search(per_source=3, **options)):
                of.setdefault(hit.passage.source, []).append(hit.scores["bm25"])
            found.append({name: sorted(scores) for name, scores in of.items()})
        return found

    plain = best()
    monkeypatch.setattr(candidates, "FEW", 0)
    monkeypatch.setattr(candidates, "ALL_OF_SOURCES", 0)
    compiled = best()
    assert any(len(one) > 1 for one in plain)
    for one, other in zip(plain, compiled, strict=True):
        assert other == {name: pytest.approx(scores, abs=1e-5) for name, scores in one.items()}


@pytest.mark.long
@pytest.mark.usefixtures("in_one_pass")
def test_a_scan_of_signs_finds_nearly_all_that_is_near(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = searcher()
    options = {"k": 20, "alpha": 0.0}
    exact = told(whole, options)
    monkeypatch.setattr(candidates, "EXACT", 0)
    monkeypatch.setattr(candidates, "SHORTLIST", 250)
    monkeypatch.setattr(candidates, "OVER", 1)
    for one, other in zip(exact, told(whole, options), strict=True):
        assert len({hit[0] for hit in one} & {hit[0] for hit in other}) >= 18


@pytest.mark.long
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("drawn", ["any", "alike", "better and better"])
def test_the_shortlist_holds_the_least_distances_of_each_group(*, masked: bool, drawn: str) -> None:
    """Of equals, which abound where few codes are distinct, the first ones."""
    from disputatio.store.segments.kernels import _signs_of_query, shortlist

    draw = np.random.default_rng(3)
    words, columns = 4, 30_000
    codes = draw.integers(0, 2**64, (words, columns), dtype=np.uint64)
    order = draw.permutation(columns).astype(np.int32)
    query = draw.normal(size=64 * words).astype(np.float32)
    centre = np.full(64 * words, 0.1, dtype=np.float32)
    allowed = draw.random(columns) < 0.5 if masked else np.zeros(0, dtype=np.bool_)
    starts = np.array([0, 40, 40, 24_700, columns])
    wanted = np.array([7, 0, 300, 300])
    signs, planes = np.zeros(words, dtype=np.uint64), np.zeros((3, words), dtype=np.uint64)
    _signs_of_query(query, centre, signs, planes)

    def distances() -> NDArray[np.float32]:
        bits = np.unpackbits(codes.T.copy().view(np.uint8), axis=1, bitorder="little")
        levels = np.rint(np.abs(query - centre) * np.float32(7) / np.abs(query - centre).max())
        return np.asarray((bits != (query > centre)) @ levels, dtype=np.float32)

    if drawn == "alike":
        codes = np.ascontiguousarray(codes[:, np.arange(columns) % 50])
    elif drawn == "better and better":
        codes = np.ascontiguousarray(codes[:, np.argsort(-distances())])
    away = distances()
    due: set[int] = set()
    for want, begin, end in zip(wanted.tolist(), starts[:-1], starts[1:], strict=True):
        held = [at for at in range(begin, end) if not masked or allowed[order[at]]]
        due |= {int(order[at]) for at in sorted(held, key=lambda at: away[at])[:want]}

    rows = np.empty(int(wanted.sum()), dtype=np.int32)
    numbers, scales = np.zeros((0, query.size), dtype=np.int16), np.zeros(0, dtype=np.float32)
    vectors = Quantised(numbers, scales, order, codes, centre)
    size = shortlist(vectors, query, allowed, starts, wanted, rows)
    assert size == len(due)
    assert set(rows[:size].tolist()) == due


def test_near_duplicates_are_the_same_in_short_and_long_answers() -> None:
    draw = np.random.default_rng(2)
    sketches = draw.integers(1, 256, (40, minhash.BINS)).astype(np.uint8)
    sketches[30] = sketches[3]
    sketches[31, :60] = sketches[3, :60]
    sketches[32, :40] = sketches[3, :40]  # not near enough
    sketches[33:35] = 0  # too short to be anyone's duplicate
    short = minhash.repeats(sketches)
    long = minhash.repeats(np.concatenate([sketches, draw.integers(1, 256, (60, 64)).astype(np.uint8)]))
    assert {row: one for row, one in enumerate(short) if one >= 0} == {30: 3, 31: 3}
    assert long == short + [-1] * 60


def test_a_near_duplicate_names_the_better_hit() -> None:
    made, _ = passages(20)
    text = " ".join(word(one) for one in range(40))
    made += [replace(made[0], id="one", text=text), replace(made[0], id="two", text=text + " " + word(149))]
    hits = Searcher([Segment.build(made, None)]).search(text, search=Search(k=5))
    assert [hit.passage.id for hit in hits[:2]] == ["one", "two"]
    assert [hit.duplicate_of for hit in hits[:2]] == ["", "one"]


class Backwards:
    """A reranker that likes best what came last, among those it was given."""

    name = "backwards"

    def rerank(self, query: str, passages: Sequence[Passage]) -> list[float]:
        assert query
        return [float(at) for at in range(len(passages))]


def test_a_reranker_decides_the_order_and_the_fused_score_stays_told() -> None:
    whole = searcher()
    text, vector = queries()[0]
    pool = whole.search(text, vector, Search(k=50))
    hits = whole.search(text, vector, Search(k=4), reranker=Backwards())
    assert [hit.passage.id for hit in hits] == [hit.passage.id for hit in reversed(pool)][:4]
    assert hits[0].scores["fused"] == pool[-1].score
    of_sources = whole.search(text, vector, Search(per_source=1), reranker=Backwards())
    assert len({hit.passage.source for hit in of_sources}) == len(of_sources) > 1


def test_a_vector_of_another_dimension_is_refused() -> None:
    with pytest.raises(InputError, match="shape"):
        searcher().search("no", np.ones(DIMENSION + 1, dtype=np.float32))
