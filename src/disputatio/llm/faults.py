"""Turns the faults of an endpoint into the project's own errors and words.

No type of the client's library leaves this module, and no message holds the key: whatever the
server says passes through `Address.words`, which takes the key out, flattens and shortens it.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus, unquote, urlsplit

from disputatio.errors import (
    ContextTooLong,
    LLMError,
    Malformed,
    QuotaExceeded,
    RateLimited,
    Refused,
    ServerFault,
    Timeout,
    Unreachable,
)
from disputatio.text import neutralise, shorten

if TYPE_CHECKING:
    import openai

_LONGEST = 300  # characters of a message of the server
_CONTEXT = re.compile(
    r"context[ _]?(?:length|window|size)|context_length_exceeded|maximum context|too many tokens"
    r"|(?:prompt|input) is too long|exceeds? the (?:available )?context",
    re.IGNORECASE,
)
_QUOTA = re.compile(
    r"insufficient[_ ](?:quota|balance|funds|credits)|quota[_ ]exceeded|exceeded your current quota"
    r"|billing_(?:hard_limit|not_active)|credit balance",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The address of an endpoint, in a form that may be shown to anyone; `variable` is what sets it."""

    model: str
    base_url: str
    key: str = field(default="", repr=False)
    variable: str = "OPENAI_BASE_URL"

    @property
    def shown(self) -> str:
        """The address without user name, password, query or fragment.

        >>> Address(model="m", base_url="https://me:pw@models.example:8080/v1?token=x").shown
        'https://models.example:8080/v1'
        """
        parts = urlsplit(self.base_url)
        return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"

    @property
    def host(self) -> str:
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    def _secrets(self) -> list[str]:
        """Return the texts that no message may contain, in every form, the longest first."""
        parts = urlsplit(self.base_url)
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        plain = [self.key, password, parts.query]
        if password:
            plain.append(f"{user}:{password}")
        forms = {form for secret in plain if secret for form in _forms(secret)}
        forms |= {form for form in (parts.password,) if form}
        return sorted(forms, key=len, reverse=True)

    def words(self, text: str) -> str:
        """Shorten a server's message to one line, without the key.

        >>> Address(model="m", base_url="http://h", key="sk-1234").words("bad key\\n sk-1234")
        'bad key ***'
        """
        for secret in self._secrets():
            text = text.replace(secret, "***")
        text = " ".join(neutralise(text).split())
        if text.startswith("<"):
            return "an HTML page"
        return shorten(text, _LONGEST)


class Unfit(ValueError):
    """A reply that is too large, compressed in a way that was not asked for, or from another origin."""


def _forms(secret: str) -> set[str]:
    """Return a secret in all forms in which a server may repeat it: plain, quoted, in JSON, in base64."""
    raw = secret.encode("utf-8", "replace")
    forms = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}
    for encoded in (base64.b64encode(raw), base64.urlsafe_b64encode(raw)):
        forms |= {encoded.decode(), encoded.decode().rstrip("=")}
    return forms


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """One attempt that failed: the seconds that the server asked to `wait`, whether to try but `once` more,
    and the text of its `refusal`, in which it may name a parameter that it does not know.
    """

    fault: LLMError
    wait: float | None = None
    once: bool = False
    refusal: str = ""


def retry_after(value: str | None, now: datetime | None = None) -> float | None:
    """Return the seconds that a Retry-After header asks for: a number or an HTTP date; None if neither.

    >>> retry_after("2.5"), retry_after("soon"), retry_after(None), retry_after("nan")
    (2.5, None, None, None)
    >>> retry_after("Wed, 21 Oct 2015 07:28:00 GMT", datetime(2015, 10, 21, 7, 27, 50, tzinfo=UTC))
    10.0
    """
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        try:
            when = parsedate_to_datetime(value)
        except ValueError:
            return None
        if when.tzinfo is None:
            when = when.replace(tzinfo=UTC)
        seconds = (when - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else None


def classify_refusal(status: int, body: object, at: Address, *, wait: float | None = None) -> Failed:
    """Return the fault for an error that a server reports; with status 200 its body has the actual one."""
    message, code = _message_of(body)
    status = _status(body) if status == 200 else status
    summary = f"{at.shown} answered {status}: {at.words(message) or 'nothing more'}"
    refusal = f"{message} {code}"
    if status in (400, 413, 422, 500) and _CONTEXT.search(refusal):
        return Failed(fault=ContextTooLong(f"the prompt does not fit {at.model}: {summary}"))
    if status == 402 or (status in (403, 429) and _QUOTA.search(refusal)):
        return Failed(fault=QuotaExceeded(f"the account behind OPENAI_API_KEY is exhausted: {summary}"))
    if status == 429:
        return Failed(fault=RateLimited(summary, wait), wait=wait)
    if status >= 500 and status != 501:  # 501: not implemented, now or in a minute
        return Failed(fault=ServerFault(summary, status), wait=wait)
    hint = ""
    if status in (401, 403):
        state = "is it the key for" if at.key else "it is not set; does it need to be, for"
        hint = f" (OPENAI_API_KEY: {state} {at.host}?)"
    elif status == 404:
        hint = f" (is there a model {at.model!r}, and does {at.variable} end as it should, often in /v1?)"
    return Failed(fault=Refused(summary + hint, status), refusal=refusal)


def translate(error: openai.OpenAIError, at: Address, connect: float, first_byte: float) -> Failed:
    """Return the fault behind an exception of the client; the deadlines are in seconds."""
    import openai

    if isinstance(error, openai.APIStatusError):
        wait = retry_after(error.response.headers.get("retry-after"))
        return classify_refusal(error.status_code, error.body, at, wait=wait)
    if isinstance(error, openai.APITimeoutError):
        late = ("connect", connect) if _cause(error) == "ConnectTimeout" else ("first_byte", first_byte)
        return Failed(fault=Timeout(*late, at.shown))
    if isinstance(error, openai.APIConnectionError):
        return Failed(fault=line_fault(_cause(error), at.words(str(error.__cause__ or error)), at))
    if isinstance(error, openai.APIError):  # an error object inside a stream that began well
        return classify_refusal(200, error.body, at)
    return Failed(fault=Malformed(f"{at.shown}: {at.words(str(error))}"))


def _cause(error: Exception) -> str:
    return type(error.__cause__).__name__


def line_fault(cause: str, why: str, at: Address) -> LLMError:
    """Return the fault for a failure of the line; `cause` is the transport's name for it."""
    why = why or cause
    if cause == "ConnectError":
        check = f"is a server running there, and is {at.variable} right?"
        return Unreachable(f"no connection to {at.shown} ({why}): {check}")
    if cause == Unfit.__name__:
        return Malformed(f"{at.shown} sent a reply that cannot be used: {why}")
    if cause in ("DecodingError", "TooManyRedirects", "LocalProtocolError", "UnsupportedProtocol"):
        return Malformed(f"{at.shown} cannot be talked to: {why}")
    return Unreachable(f"the connection to {at.shown} broke ({why})")


def _status(body: object) -> int:
    """Return the HTTP status of an error inside a stream; 500 if it names none.

    >>> _status({"code": 503}), _status({"code": "rate_limit_exceeded"}), _status({"type": "server_error"})
    (503, 429, 500)
    """
    message, code = _message_of(body)
    if isinstance(body, Mapping):
        for name in ("status", "code"):
            value = str(body.get(name))
            if value.isdigit() and 400 <= int(value) < 600:
                return int(value)
    if "rate_limit" in code or _QUOTA.search(code):
        return 429
    return 400 if _CONTEXT.search(f"{message} {code}") or "invalid_request" in code else 500


def _message_of(body: object) -> tuple[str, str]:
    """Return the message in an error's body, and its code, type and parameter in one string."""
    if isinstance(body, Mapping):
        known: Mapping[str, Any] = body
        message = known.get("message")
        if not isinstance(message, str):
            message = json.dumps(known, ensure_ascii=False, default=str)
        return message, " ".join(str(known[name]) for name in ("code", "type", "param") if known.get(name))
    return (str(body) if body else ""), ""
