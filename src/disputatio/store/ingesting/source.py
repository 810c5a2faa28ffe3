"""The source of a document: its publisher, as far as the document states one."""

from __future__ import annotations

import functools
import ipaddress
import re
from dataclasses import replace
from pathlib import PurePath
from urllib.parse import urlsplit

from disputatio.errors import IngestError, InputError
from disputatio.store.ingesting.documents import FIELDS, Document, place
from disputatio.versions.families import UNVERIFIED

STDIN = "-"
# A sheet is no publisher.
_BELOW_WORKBOOK = re.compile(r"(?<=\.xlsx|\.xlsm)/[^/]*$|(?<=\.ods)/[^/]*$", re.IGNORECASE)
UPLOADS = UNVERIFIED  # the owner of all that came from strangers: together they have one vote


def domain(url: str) -> str:
    """Return the registrable domain of a URL's host: what one publisher rents; empty when there is no host.

    Hosts of a service that rents names out (github.io, blogspot.com) are apart, as the list of
    public suffixes says. An address of numbers, or a host under an unknown suffix, stands for itself,
    without `www.`. The list is the one that the package `tld` bears; nothing is fetched.

    >>> domain("https://www.census.example/a?b"), domain("nonsense"), domain("http://[bad")
    ('census.example', '', '')
    >>> domain("https://news.bbc.co.uk/1"), domain("http://10.0.0.7:80/"), domain("//ada.github.io")
    ('bbc.co.uk', '10.0.0.7', 'ada.github.io')
    """
    try:
        host = urlsplit(url.strip()).hostname or ""
    except ValueError:
        return ""
    return _registrable(host.rstrip("."))


@functools.lru_cache(maxsize=4096)
def _registrable(host: str) -> str:
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        pass
    named = None
    if re.fullmatch(r"[\w-]+(?:\.[\w-]+)+", host):
        try:
            from tld import get_fld
        except ImportError:  # passages in hand need none of the index's packages
            return host.removeprefix("www.")
        named = get_fld(f"http://{host}", fail_silently=True, search_private=True)
    return named or host.removeprefix("www.")


def with_source(document: Document, source_by: str | None = None) -> Document:
    """Return the document with its source settled.

    By default: the source it states (for mail its sender), else the domain of its URL, else its top
    folder, else the name of its file. `source_by` puts `domain`, `folder`, `file` or `field:NAME`
    first; the domain of mail is that of its sender.

    Raises `InputError` for another `source_by`, `IngestError` where the field is missing.

    >>> with_source(Document(text="x", path="a/b.md", url="http://x.example/p")).source
    'x.example'
    >>> with_source(Document(text="x", path="a/b.md", url="http://x.example/p"), "file").source
    'b'
    >>> with_source(Document(text="x", path="prices.xlsx/Spare parts")).source
    'prices'
    """
    check_source_by(source_by)
    path = PurePath(_BELOW_WORKBOOK.sub("", document.path))
    stem = "stdin" if document.path == STDIN else path.stem
    if source_by is None:
        chosen = document.source
    elif source_by == "domain":
        chosen = domain(document.url) or _registrable(document.metadata.get("from", "").rpartition("@")[2])
    elif source_by == "folder":
        chosen = document.folder or path.parent.name
    elif source_by == "file":
        chosen = stem
    else:
        name = source_by.removeprefix("field:")
        own = getattr(document, name) if name in FIELDS[1:] else ""
        chosen = own or document.metadata.get(name, "")
        if not chosen:
            raise IngestError(
                place(document),
                f"has no field {name!r} to take its source from",
                "missing_column",
                column=name[:200],
            )
    chosen = chosen or document.source or domain(document.url) or document.folder or stem
    return replace(document, source=chosen)


def mark_unverified(document: Document, source_by: str | None = None) -> Document:
    """Return a document of a stranger: what it says of its origin is kept apart, and its owner is `UPLOADS`.

    The source, owner and address that it states go into its metadata (`stated_source` and so on). Its source
    is where it lies, below `uploads/`, so that a file called `reuters.com` does not count as that
    source. Raises as `with_source` does.

    >>> kept = mark_unverified(Document(text="x", path="reuters.com.md", source="reuters.com", url="//r.com"))
    >>> kept.source, kept.owner, kept.url, kept.metadata["stated_source"]
    ('uploads/reuters.com', 'uploads', '', 'reuters.com')
    """
    stated = {name: getattr(document, name) for name in ("source", "owner", "url") if getattr(document, name)}
    if source_by is None or source_by == "domain":
        document = replace(document, source="", url="")
    placed = with_source(document, None if source_by == "domain" else source_by)
    metadata = {**document.metadata, **{f"stated_{name}": value for name, value in stated.items()}}
    return replace(placed, source=f"{UPLOADS}/{placed.source}", owner=UPLOADS, url="", metadata=metadata)


def check_source_by(source_by: str | None) -> None:
    """Raise `InputError` unless it is None, `domain`, `folder`, `file` or `field:NAME`."""
    if source_by not in (None, "domain", "folder", "file") and not re.fullmatch(r"field:.+", source_by or ""):
        raise InputError(f"sources are told by domain, folder, file or field:NAME, not {source_by!r}")
