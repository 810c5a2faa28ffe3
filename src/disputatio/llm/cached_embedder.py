"""An embedder whose query vectors are kept in the journal of calls.

So a replay needs no embedding model: the vector of a question comes from the journal, to the bit,
and the index knows whether the vectors are its own by the embedder's name alone. Passages have their
vectors in the index; they are not kept here.
"""

from __future__ import annotations

import base64
import hashlib
import json
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from disputatio.errors import UNREADABLE, ConfigError, NotJournalled
from disputatio.llm.call_cache import FORMAT, CallCache, canonical, damaged_at
from disputatio.protocols import Embedder

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CachedEmbedder:
    """An `Embedder` around another one, which is None on replay.

    `open_journal` is called at the first query. `name` and `dimension` are those of the wrapped
    embedder where there is one, and else have to be given, as the index recorded them.
    """

    def __init__(
        self,
        embedder: Embedder | None,
        open_journal: Callable[[], CallCache],
        *,
        name: str = "",
        dimension: int = 0,
    ) -> None:
        if embedder is None and not name:
            raise ConfigError("without an embedder its name must be given")
        self._embedder, self._open = embedder, open_journal
        self._name, self._dimension = name, dimension
        self._lock = threading.Lock()
        self._journal: CallCache | None = None

    @property
    def name(self) -> str:
        """The name of the wrapped embedder."""
        return self._embedder.name if self._embedder is not None else self._name

    @property
    def dimension(self) -> int:
        """The length of a vector."""
        return self._embedder.dimension if self._embedder is not None else self._dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; known queries come from the journal.

        Raises `NotJournalled` where there is no embedder and the journal lacks a query, and
        `DamagedFile` when the journal is damaged.
        """
        import numpy as np

        if not query:
            return self._wrapped(texts).embed(texts)
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        journal = self._open_journal()
        keys = [_key(self.name, text) for text in texts]
        recorded = journal.get(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in recorded}
        if missing:
            vectors = self._wrapped(list(missing.values())).embed(list(missing.values()), query=True)
            made = {key: _encode(vector) for key, vector in zip(missing, vectors, strict=True)}
            journal.put("embed", self.name, made)
            recorded |= journal.get(list(missing))  # what another process kept first is what counts
        return np.stack([_decode(recorded[key], journal) for key in keys])

    def _open_journal(self) -> CallCache:
        with self._lock:
            if self._journal is None:
                self._journal = self._open()
            return self._journal

    def _wrapped(self, texts: Sequence[str]) -> Embedder:
        if self._embedder is None:
            words = " ".join(" ".join(texts).split())
            raise NotJournalled(
                f"the journal {self._open_journal().path} holds no vector of {self._name}: {words[:60]!r}"
            )
        return self._embedder


def _key(name: str, text: str) -> str:
    return hashlib.sha256(canonical([FORMAT, name, "embed", text]).encode("ascii")).hexdigest()


def _encode(vector: NDArray[np.float32]) -> str:
    raw = vector.astype("<f4").tobytes()
    return canonical({"float32": base64.b64encode(raw).decode("ascii")})


def _decode(value: str, journal: CallCache) -> NDArray[np.float32]:
    import numpy as np

    try:
        raw = base64.b64decode(json.loads(value)["float32"], validate=True)
        return np.frombuffer(raw, dtype="<f4").astype(np.float32)
    except UNREADABLE as error:
        raise damaged_at(journal.path, "a vector") from error
