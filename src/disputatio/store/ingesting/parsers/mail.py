"""E-mail (.eml): subject, date, sender and the text that its reader sees; known attachments."""

from __future__ import annotations

import email.policy
import io
from collections.abc import Iterator
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr, parsedate_to_datetime
from typing import BinaryIO

from disputatio.store.ingesting.hidden import ink_of, orders_in
from disputatio.store.ingesting.parsers import (
    LARGEST_FILE,
    Format,
    ParsedPart,
    RefusedDocument,
    formats,
    kind_of,
    parser,
    past_limit,
    refusal_part,
)
from disputatio.store.ingesting.parsers.plain_text import plain_text
from disputatio.store.ingesting.parsers.web import visible_tree
from disputatio.store.ingesting.rows import Unreadable

FORMATS = (
    Format(
        kind="eml",
        suffixes=(".eml",),
        content_types=("message/rfc822",),
        packages={"lxml": "lxml", "tinycss2": "tinycss2", "cssselect2": "cssselect2"},
    ),
)

_HEADERS = ("from", "subject", "date", "message-id", "received")
_MOST_ATTACHMENTS = 50


def parse(file: BinaryIO) -> Iterator[ParsedPart]:
    """Yield the message, whose source is the sender's address, and each attachment of a known format."""
    message = BytesParser(policy=email.policy.default).parse(file)
    if not any(_header(message, name) for name in _HEADERS):
        raise RefusedDocument("is not an e-mail: it has no From, Subject, Date or Message-ID")
    text, hidden, is_body = _text(message)
    attached = [part for part in message.walk() if part.get_filename() and part is not is_body]
    sender = parseaddr(_header(message, "from"))[1].lower()
    fields = {
        "text": text,
        "title": _header(message, "subject")[:1000],
        "date": _date(_header(message, "date")),
        "source": sender[:500],
        "from": sender[:500],
        "message_id": _header(message, "message-id")[:500],
        **orders_in(hidden),
    }
    if attached:
        fields["attachments"] = str(len(attached))
    if text.strip():
        yield {"document": fields, "hidden": ink_of(hidden)}
    elif not attached:
        raise RefusedDocument("has no text", "no_text")
    for part in attached[:_MOST_ATTACHMENTS]:
        yield from _attachment(part, fields)


def _header(message: EmailMessage, name: str) -> str:
    try:
        return " ".join(str(message.get(name) or "").split())
    except Exception:  # noqa: BLE001  (the standard parser of headers fails on broken ones in many ways)
        return ""


def _date(header: str) -> str:
    try:
        return parsedate_to_datetime(header).date().isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _text(message: EmailMessage) -> tuple[str, str, EmailMessage | None]:
    """Return the body's text, what was removed from it, and the part that it was in."""
    try:
        part = message.get_body(preferencelist=("plain", "html"))
    except Exception:  # noqa: BLE001  (a broken structure has no body)
        part = None
    if not isinstance(part, EmailMessage):
        return "", "", None
    raw = _content(part)
    charset = str(part.get_content_charset() or "utf-8")
    if part.get_content_subtype() != "html":
        return _decode(raw, charset), "", part
    tree, hidden = visible_tree(_decode(raw, charset).encode(), "utf-8")
    return plain_text(tree), hidden, part


def _content(part: EmailMessage) -> bytes:
    content = part.get_payload(decode=True)
    if not isinstance(content, bytes):
        raise RefusedDocument("has a part that cannot be decoded")
    return content


def _decode(raw: bytes, charset: str) -> str:
    try:
        return raw.decode(charset)
    except (LookupError, UnicodeError, ValueError):
        return raw.decode("utf-8", "replace")


def _is_read(kind: str, name: str) -> bool:
    """Return True for an attachment that is opened; a message, a table or an archive is counted only."""
    return name.lower().endswith(".txt") or (kind in formats() and formats()[kind].is_attachment)


def _attachment(part: EmailMessage, about: dict[str, str]) -> Iterator[ParsedPart]:
    name = " ".join((part.get_filename() or "").replace("\\", "/").rpartition("/")[2].split())[:200]
    kind = ""
    try:
        raw = part.get_payload(decode=True)
        kind = kind_of(name, raw[:8]) if isinstance(raw, bytes) else ""
        if not isinstance(raw, bytes) or not _is_read(kind, name):
            return
        if len(raw) > LARGEST_FILE:
            raise past_limit(f"is larger than {LARGEST_FILE >> 20} MB", LARGEST_FILE)
        for found in parser(kind, name)(io.BytesIO(raw)):
            document = found.get("document")
            if document is not None:
                for field in ("source", "from"):
                    document[field] = document.get(field) or about[field]
                if about["date"] and (not document.get("date") or document.get("date_origin") == "file"):
                    document |= {"date": about["date"], "date_origin": "stated"}  # the mail says when
            yield {**found, "name": name}
    except MemoryError:
        raise
    except (RefusedDocument, Unreadable) as error:
        yield {**refusal_part(error), "name": name}
    except Exception as error:  # noqa: BLE001  (whatever a parser raises is this attachment's fault)
        yield {"refused": f"is not a readable {kind.upper()} file ({type(error).__name__})", "name": name}
