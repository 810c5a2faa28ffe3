"""Which engine keeps the index that an address names."""

from __future__ import annotations

from pathlib import Path

from disputatio.store.remote.served_index import ServedIndex


def engine_of(path: str | Path) -> type[ServedIndex]:
    """Return the class of an index at an address; `is_address` says whether it is one."""
    if str(path).startswith(("qdrant:", "milvus:")):
        from disputatio.store.remote.vector_index import VectorIndex

        return VectorIndex
    from disputatio.store.remote.postgres import PostgresIndex

    return PostgresIndex
