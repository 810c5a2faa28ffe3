"""Our side of the search benchmark: its imports and calls are those of today."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.search import corpus
from bench.search.search_peers import Ours

pytestmark = pytest.mark.slow
SIZE = 700


def test_ours_is_built_and_asked_as_the_bench_does_it(tmp_path: Path) -> None:
    made = corpus.open_corpus(tmp_path / "corpus", SIZE)
    query = next(query for query in made.queries() if query.kind == "planted")
    ours = Ours(made, tmp_path / "ours")
    ours.build()
    ours.open()
    for leg in ours.ALPHAS:
        found = ours.search(leg, query, 20)
        assert 0 < len(found) <= 20 and made.texts(found[0][0], found[0][0] + 1) == [found[0][1]]
