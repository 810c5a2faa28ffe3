"""Passages that the caller holds, as a retriever: all of them, in their order, or the best by BM25."""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import InputError
from disputatio.protocols import Embedder
from disputatio.store.readers import clean, domain
from disputatio.store.split import count_words, split
from disputatio.text import content_id
from disputatio.types import Hit, Passage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

K1, B = 1.2, 0.75
LONG = 400
MOST = 24
_WORD = re.compile(
    "[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]|[^\\W_\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+"
)
_FIELDS = ("id", "source", "title", "url", "date", "owner")


class InHand:
    """Passages given by the caller (`Retriever`).

    An empty id is filled from the content; the same id with the same content is kept once. A
    passage of more than 400 words is divided, each part with its offsets and the whole one's id as
    its `document`. Raises `InputError` for one id with two contents, or a passage without text.
    """

    def __init__(self, passages: Sequence[Passage], *, embedder: Embedder | None = None) -> None:
        """Hold the passages; `embedder` adds the dense leg to ranked searches."""
        kept: dict[str, Passage] = {}
        self._divided = False
        for number, given in enumerate(passages, start=1):
            if not given.text.strip():
                raise InputError(f"passage {number}: has no text")
            passage = replace(given, id=given.id or content_id("p", given.source, given.text))
            twin = kept.setdefault(passage.id, passage)
            if (twin.source, twin.text) != (passage.source, passage.text):
                raise InputError(f"passage {number}: the id {passage.id!r} stands for another text already")
        self._passages: list[Passage] = []
        for passage in kept.values():
            parts = _parts(passage)
            self._divided = self._divided or len(parts) > 1
            self._passages += parts
        self._embedder = embedder
        self._words = _Words.count([f"{one.title} {one.text}" for one in self._passages])
        self._vectors: NDArray[np.float32] | None = None

    @property
    def passages(self) -> list[Passage]:
        """All of them, long ones divided."""
        return list(self._passages)

    def search(
        self,
        query: str,
        *,
        k: int | None = None,
        alpha: float = 0.35,
        per_source: int | None = None,
        sources: Collection[str] | None = None,
        exclude: Collection[str] = (),
    ) -> list[Hit]:
        """Every passage in the order given, scored 1 (k=None), or the best `k` of them.

        Where division made more than 24, `k=None` gives the best 24 in the order of the text. A
        ranked search scores as `Index.search` does; passages that match nothing come last, so that
        `k` passages are returned where there are as many.
        """
        import numpy as np

        from disputatio.store.search import best_per_group, fuse

        if not query.strip():
            raise InputError("the question is empty")
        if (k is not None and k < 1) or (per_source is not None and per_source < 1):
            raise InputError("k and per_source are at least 1")
        rows = np.array(
            [
                row
                for row, one in enumerate(self._passages)
                if (sources is None or one.source in sources) and one.id not in exclude
            ],
            dtype=np.int64,
        )
        crowded = self._divided and rows.size > MOST
        if k is None and per_source is None and not crowded:
            return [Hit(passage=self._passages[row], score=1.0) for row in rows.tolist()]
        ranking = fuse(self._words.scores(query), self._dense(query), rows, alpha)
        if per_source is not None:
            names = [self._passages[row].source for row in ranking.rows.tolist()]
            groups = np.unique(np.array(names, dtype=np.str_), return_inverse=True)[1]
            kept = best_per_group(ranking.scores, groups, per_source)
        else:
            kept = np.arange(min(k or MOST, rows.size))
            if k is None:
                kept = kept[np.argsort(ranking.rows[kept])]
        hits = []
        for at in kept.tolist():
            scores = {"sparse": float(ranking.sparse[at])}
            if ranking.dense is not None:
                scores["dense"] = float(ranking.dense[at])
            passage = self._passages[int(ranking.rows[at])]
            hits.append(Hit(passage=passage, score=float(ranking.scores[at]), scores=scores))
        return hits

    def _dense(self, query: str) -> NDArray[np.float32] | None:
        if self._embedder is None:
            return None
        if self._vectors is None:
            self._vectors = self._embedder.embed(
                [f"{one.title}\n{one.text}".strip() for one in self._passages]
            )
        scores: NDArray[np.float32] = self._vectors @ self._embedder.embed([query], query=True)[0]
        return scores


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """Word counts of texts, for BM25 in Lucene's form."""

    counts: tuple[Counter[str], ...]
    frequency: Mapping[str, int] = field(default_factory=dict)

    @classmethod
    def count(cls, texts: Sequence[str]) -> _Words:
        counts = tuple(Counter(tokens(text)) for text in texts)
        return cls(counts=counts, frequency=Counter(word for one in counts for word in one))

    def scores(self, query: str) -> NDArray[np.float32]:
        """BM25 of every text: sum of idf tf / (tf + k1 (1 - b + b length / mean length))."""
        import numpy as np

        n = len(self.counts)
        lengths = [one.total() for one in self.counts]
        mean = (sum(lengths) / n if n else 0.0) or 1.0
        result = np.zeros(n, dtype=np.float32)
        for word in tokens(query):
            known = self.frequency.get(word, 0)
            if known:
                idf = math.log(1 + (n - known + 0.5) / (known + 0.5))
                for row, one in enumerate(self.counts):
                    if tf := one[word]:
                        result[row] += idf * tf / (tf + K1 * (1 - B + B * lengths[row] / mean))
        return result


def tokens(text: str) -> list[str]:
    """Words of any script, lower case, without accents; characters of scripts without spaces one by one.

    >>> tokens("Café, not 3,559! 人口")
    ['cafe', 'not', '3', '559', '人', '口']
    """
    folded = unicodedata.normalize("NFKD", text.casefold())
    return _WORD.findall("".join(char for char in folded if not unicodedata.combining(char)))


def _parts(passage: Passage) -> list[Passage]:
    """A long passage divided; another one as it is."""
    if count_words(passage.text) <= LONG:
        whole = passage.document or passage.start or passage.end
        return [passage if whole else replace(passage, end=len(passage.text))]
    return [
        replace(
            passage,
            id=content_id("p", passage.id, f"{start}:{end}"),
            text=passage.text[start:end],
            document=passage.id,
            start=start,
            end=end,
        )
        for start, end in split(passage.text)
    ]


def load_passages(path: str | Path) -> list[Passage]:
    """The passages of a JSONL file, one object a line: text, source?, id?, title?, url?, date?, owner?.

    A passage without a source takes the domain of its URL. Raises `InputError` that names the file
    and the row.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    passages = []
    for number, line in enumerate(raw.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if line.strip():
            passages.append(_passage(line, f"{path}, row {number}"))
    if not passages:
        raise InputError(f"{path}: has no passages")
    return passages


def _passage(line: bytes, where: str) -> Passage:
    try:
        row = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: is not UTF-8 text") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: is not JSON ({str(error)[:80]})") from error
    if not isinstance(row, dict):
        raise InputError(f"{where}: is not a JSON object")
    text = row.get("text")
    if text is None:
        raise InputError(f"{where}: has no text")
    if not isinstance(text, str):
        raise InputError(f"{where}: 'text' is not text")
    text = clean(text)
    if not text.strip():
        raise InputError(f"{where}: has no text")
    told: dict[str, str] = {}
    for name in _FIELDS:
        value = row.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str | None):
            raise InputError(f"{where}: {name!r} is not text")
        told[name] = " ".join(clean(value or "").split())
    return Passage(
        text=text,
        id=told["id"],
        source=told["source"] or domain(told["url"]),
        owner=told["owner"],
        title=told["title"],
        url=told["url"],
        date=told["date"],
    )
