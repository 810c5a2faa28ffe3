"""Names of indexes, as `--index` has them: a folder, several divided by commas, or an address on a server."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from disputatio.errors import InputError

if TYPE_CHECKING:
    from disputatio.store.remote.served_index import ServedIndex

# Scheme of an address -> module and class of the index behind it, imported when one is opened.
SERVERS = {
    "postgresql": "disputatio.store.remote.postgres:PostgresIndex",
    "postgres": "disputatio.store.remote.postgres:PostgresIndex",
    "qdrant": "disputatio.store.remote.qdrant:QdrantIndex",
    "milvus": "disputatio.store.remote.milvus:MilvusIndex",
}
_BUCKETS = ("s3:/", "gs:/", "gcs:/", "abfs:/", "hdfs:/", "file:/")  # what `index sync` opens
_SCHEME = re.compile(r"[A-Za-z][\w+.-]{0,31}:/+")  # bounded, so that a search takes linear time
_CUT = re.compile(r"(?<![\w+.-])([A-Za-z][\w+.-]{1,31}):/(?!/)")  # an address that went through a path
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]+:/")


def is_served(path: str | Path) -> bool:
    """Return whether the index is on a server, not in a folder; a path may have lost one of the two slashes.

    >>> is_served("postgresql://db.example/town"), is_served(Path("town.index"))
    (True, False)
    """
    scheme, colon, _ = str(path).partition(":")
    return bool(colon) and scheme in SERVERS


def server_class(path: str | Path) -> type[ServedIndex]:
    """Import the class of the index at an address; call it only where `is_served`."""
    module, _, name = SERVERS[str(path).partition(":")[0]].partition(":")
    served: type[ServedIndex] = getattr(import_module(module), name)
    return served


def mask_secrets(path: str | Path) -> str:
    """Return an index as messages name it: an address without its password or key.

    >>> mask_secrets("postgresql://ada:secret@db.example/town")
    'postgresql://ada@db.example/town'
    >>> mask_secrets(Path("a.index,postgresql://ada:secret@db.example/town"))
    'a.index,postgresql://…'
    """
    if is_served(path):
        return server_class(path).at(path).shown
    text = _CUT.sub(r"\1://", str(path))
    address = _SCHEME.search(text)
    if address is None or max(text.rfind("@"), text.rfind("?")) < address.end():
        return text
    return f"{text[: address.end()]}…"  # from the first address on that may hold a secret


def split_paths(path: str | Path) -> tuple[Path, ...]:
    """Return the folders that `--index` names, divided at commas; a folder of the whole name is one.

    Raises `InputError` for a name that is empty or given twice.

    >>> [str(folder) for folder in split_paths("news.index, laws.index")]
    ['news.index', 'laws.index']
    """
    whole = Path(path)
    if is_served(path):
        return (whole,)
    if "," not in str(path) or whole.exists():
        return (_folder(whole),)
    names = [name.strip() for name in str(path).split(",")]
    if not all(names):
        raise InputError(f"{mask_secrets(path)}: names no index between two commas; write a.index,b.index")
    if any(map(is_served, names)):
        raise InputError(
            f"{mask_secrets(path)}: what is on a server is searched alone; several indexes are folders"
        )
    folders = [_folder(Path(name).expanduser()) for name in names]
    for folder in folders:
        if folders.count(folder) > 1:
            raise InputError(f"{path}: names {folder} twice")
    return tuple(folders)


def require_one(path: str | Path) -> Path:
    """Return the one index that is worked on; raises `InputError` where several are named."""
    folders = split_paths(path)
    if len(folders) > 1:
        raise InputError(
            f"{path}: names {len(folders)} indexes; several can be searched and asked together, "
            "and this takes one of them"
        )
    return folders[0]


def _folder(path: Path) -> Path:
    """Return a folder as it is named; raises `InputError` for a bucket or another address."""
    if not str(path).startswith(_BUCKETS) and _ADDRESS.match(str(path)) and not path.exists():
        raise InputError(
            f"{mask_secrets(path)}: no index is read from there; an index is a folder, or on a server "
            "(postgresql://, qdrant://, milvus://), and comes from a bucket (s3://, gs://) by: "
            "disputatio index sync"
        )
    if str(path).startswith(_BUCKETS):
        slashes = ":///" if str(path).startswith("file:") else "://"
        url = mask_secrets(str(path).replace(":/", slashes, 1))
        raise InputError(
            f"{url}: an index is read and written in a folder; bring a copy from a bucket into one with: "
            f"disputatio index sync {url} FOLDER"
        )
    return path
