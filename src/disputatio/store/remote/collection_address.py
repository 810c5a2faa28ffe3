"""Where the collections of a vector engine are, as `--index` names them."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from disputatio.errors import InputError

COLLECTION = "disputatio"
_ADDRESS = re.compile(r"(qdrant|milvus):(.*)\Z", re.DOTALL)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}\Z")
_PORTS = {"qdrant": 6333, "milvus": 19530}
_KEYS = {"qdrant": "QDRANT_API_KEY", "milvus": "MILVUS_TOKEN"}
_SECRETS = ("api_key", "token", "password")
_OPTIONS = {"qdrant": ("tls",), "milvus": ("tls", "database", "collection")}
_WRITTEN = {
    "qdrant": "qdrant://:KEY@host:6333/collection",
    "milvus": "milvus://user:password@host:19530/collection, or milvus:FILE.db",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectionAddress:
    """Where an index is: `server` is a URL or a file, `shown` is all that may be told of it."""

    engine: str
    server: str
    collection: str
    shown: str
    user: str = ""
    secret: str = ""
    database: str = ""

    @property
    def is_file(self) -> bool:
        """Whether it is a file of Milvus Lite."""
        return self.server.endswith(".db")

    def without_secret(self, reason: object) -> str:
        """Words of the server in one line, without the key, the token or the password."""
        line = " ".join(str(reason).split())
        for secret in {self.secret, quote(self.secret, safe="")}:
            line = line.replace(secret, "***") if secret else line
        return line[:300]


def collection_address(path: str | Path) -> CollectionAddress:
    """Return the address that `--index` names; a path that lost a slash is taken as well.

    Without a key in it, that of `QDRANT_API_KEY` or `MILVUS_TOKEN` is taken. Raises `InputError`, without
    what may be secret, for an address without a host or with another option, or a name that is none.

    >>> collection_address("qdrant://:secret@db.example/town").shown
    'qdrant://db.example:6333/town'
    >>> collection_address(Path("milvus://ada:secret@db.example/town?tls=yes")).shown
    'milvus://ada@db.example:19530/town?tls=yes'
    >>> collection_address("milvus:town.db").server
    'town.db'
    """
    parsed = _ADDRESS.match(str(path))
    engine, rest = parsed.groups() if parsed else ("qdrant", "")
    given, _, options_given = rest.partition("?")
    options = dict(parse_qsl(options_given, keep_blank_values=True))
    secret = next((options.pop(name) for name in _SECRETS if name in options), "")
    unknown = [name for name in options if name not in _OPTIONS[engine]]
    if parsed is None or unknown:
        what = f"{unknown[0]} is no part of its address" if unknown else "is no address"
        raise InputError(f"--index: {what}; an index in {engine.title()} is {_WRITTEN[engine]}")
    shown_options = "&".join(f"{name}={value}" for name, value in options.items())
    if engine == "milvus" and given.endswith(".db"):
        file = str(Path(re.sub(r"\A/+", "/", given)).expanduser())
        collection = options.get("collection", COLLECTION)
        _check_name(collection, f"milvus:{file}")
        shown = f"milvus:{file}" + (f"?{shown_options}" if shown_options else "")
        return CollectionAddress(engine=engine, server=file, collection=collection, shown=shown)
    try:
        parts = urlsplit(f"//{given.lstrip('/')}")
        host, port = parts.hostname or "", parts.port or _PORTS[engine]
    except ValueError:
        parts, host, port = urlsplit(""), "", 0
    if not host:
        raise InputError(
            f"--index: names no host or port; an index in {engine.title()} is {_WRITTEN[engine]}"
        )
    user, password = unquote(parts.username or ""), unquote(parts.password or "")
    if not password and not secret:  # a key or a token alone
        user, password = "", user
    where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    collection = parts.path.strip("/") or options.get("collection", COLLECTION)
    named = f"{user}@" if user and engine == "milvus" else ""
    shown = f"{engine}://{named}{where}/{collection}" + (f"?{shown_options}" if shown_options else "")
    _check_name(collection, shown)
    return CollectionAddress(
        engine=engine,
        server=f"{'https' if options.get('tls') in ('yes', 'true', '1') else 'http'}://{where}",
        collection=collection,
        shown=shown,
        user=user,
        secret=secret or password or os.environ.get(_KEYS[engine], ""),
        database=options.get("database", ""),
    )


def _check_name(collection: str, shown: str) -> None:
    if not _NAME.match(collection):
        raise InputError(f"{shown}: a collection is named by letters, digits and _")
