"""A check for people: as text, as a page of HTML that loads nothing, and as SARIF for code hosts.

Quotes are of strangers: they are escaped, stay on their line, and become neither a link nor a path.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from disputatio.rendering.markup import to_html
from disputatio.rendering.wording import ORDERS, count
from disputatio.text import one_line, shorten
from disputatio.types import Check, Contradiction, Severity, Statement

KINDS = {
    "value": "Two documents give different values, names or places for one thing.",
    "date": "Two documents give different dates for one thing.",
    "negation": "One document denies what another one states.",
    "definition": "Two documents define one term in different ways.",
    "version": "Two versions of one document differ, and both are there to be read.",
}
_LEVELS: dict[Severity, str] = {"high": "error", "medium": "warning", "low": "note"}
_LONGEST = 300  # characters of a quote that are shown
_TITLE = "Contradictions between documents"
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#1f2328}"
    "body{background:#fff}"
    "h1{font-size:1.5rem}article{border:1px solid #8886;border-radius:8px;padding:.8rem 1rem;margin:1rem 0}"
    "h2{font-size:1rem;margin:0 0 .5rem}.sides{display:flex;flex-wrap:wrap;gap:1rem}"
    ".side{flex:1 1 20rem;min-width:0}"
    "blockquote{margin:.3rem 0;padding-left:.7rem;border-left:3px solid #8886;overflow-wrap:anywhere}"
    "mark{background:#ffe58a;color:inherit}"
    ".small{font-size:.85rem;opacity:.85;overflow-wrap:anywhere}.high{color:#b42318}.medium{color:#9a6700}.low{color:#57606a}"
    "@media(prefers-color-scheme:dark){body{color:#e6edf3;background:#0d1117}mark{background:#6b5300}.high{color:#ff7b72}"
    ".medium{color:#d29922}.low{color:#9198a1}}"
)


# --- text ----------------------------------------------------------------------------------------
def check_text(check: Check) -> str:
    lines: list[str] = []
    for number, each in enumerate(check.contradictions, start=1):
        lines += [*_entry(number, each), ""]
    return "\n".join([*lines, summary(check)])


def summary(check: Check) -> str:
    found, new = len(check.contradictions), len(check.new)
    known = f", {found - new} of them in the baseline" if found > new else ""
    read = (
        f"{count(check.documents, 'document')}, {count(check.statements, 'statement')}, "
        f"{count(check.compared, 'pair')} compared"
    )
    lines = [f"{count(found, 'contradiction')}{known} in {read}; {check.seconds:.1f} s"]
    if check.hidden:
        lines.append(
            f"{check.hidden} more may only differ in scope or subject: show them with --severity low"
        )
    if check.left_out:
        lines.append(f"{check.left_out:,} pairs were left out: there were too many")
    return "\n".join(lines)


def _entry(number: int, each: Contradiction) -> Iterator[str]:
    head = f"{number}. {each.severity} {each.kind}"
    about = one_line(each.about)
    yield f"{head}: {about}" + ("" if each.new else " (in the baseline)")
    for name, side in (("first", each.first), ("second", each.second)):
        yield f"   {one_line(where(side))}{_marks(each, name)}"
        yield f"     “{_shorten_quote(side)}”"
        if side.also:
            yield f"     also in {one_line(', '.join(side.also[:3]))}" + (
                f" and {len(side.also) - 3} more" if len(side.also) > 3 else ""
            )
    if each.scope:
        yield f"   only one of them says: {one_line(', '.join(each.scope))}"
    if each.probability is not None:
        yield f"   the model finds a contradiction with probability {each.probability:.2f}"
    yield f"   To settle it: {each.settled_by}."


def where(side: Statement) -> str:
    """Return the place of a statement: file and line or row, else title and source."""
    if side.path:
        place = f"{side.path}:{side.row or side.line}"
    else:
        place = side.title or side.source or side.url or "passage"
    page = f", page {side.page}" if side.page else ""
    dated = f", {side.date}" if side.date and side.date_origin != "file" else ""
    source = f" ({side.source})" if side.source and side.source not in place else ""
    return f"{place}{page}{source}{dated}"


def _marks(each: Contradiction, name: str) -> str:
    marks = [
        word
        for word, side in (
            ("in force", each.holds),
            ("newer", each.newer),
            ("higher authority", each.higher),
            ("more reliable", each.more_reliable),
        )
        if side == name
    ]
    marks += [ORDERS] if (each.first if name == "first" else each.second).gives_orders else []
    return f"  [{', '.join(marks)}]" if marks else ""


def _shorten_quote(side: Statement) -> str:
    return shorten(one_line(side.quote), _LONGEST)


# --- HTML ----------------------------------------------------------------------------------------
def check_page(check: Check) -> str:
    """Return a page of HTML that stands alone: no script, no link, nothing loaded, everything escaped."""
    style = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{style}'; base-uri 'none'; form-action 'none'"
    lines = "".join(f"<p>{to_html(line)}</p>" for line in summary(check).splitlines())
    articles = "\n".join(_article(number, each) for number, each in enumerate(check.contradictions, start=1))
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_TITLE}</title><style>{_STYLE}</style></head>\n"
        f"<body><main><h1>{_TITLE}</h1>{lines}\n{articles}\n</main></body></html>\n"
    )


def check_html(check: Check) -> str:
    rows = "".join(_article(number, each) for number, each in enumerate(check.contradictions[:50], start=1))
    return f"<p>{to_html(summary(check))}</p>{rows}"


def _article(number: int, each: Contradiction) -> str:
    known = "" if each.new else " (in the baseline)"
    head = f"{number}. {to_html(each.kind)}: {to_html(one_line(each.about))}{known}"
    sides = _side(each, "first", each.first) + _side(each, "second", each.second)
    scope = (
        f"<p class=small>Only one of them says: {to_html(', '.join(each.scope))}</p>" if each.scope else ""
    )
    return (
        f"<article><h2><span class={each.severity}>{each.severity}</span> {head}</h2>"
        f"<div class=sides>{sides}</div>{scope}<p class=small>To settle it: {to_html(each.settled_by)}"
        f".</p></article>"
    )


def _side(each: Contradiction, name: str, side: Statement) -> str:
    quoted = to_html(side.quote[:_LONGEST])
    value = to_html(side.value)
    if value and quoted.count(value) == 1:
        before, _, after = quoted.partition(value)
        quoted = f"{before}<mark>{value}</mark>{after}"
    also = f"<p class=small>also in {to_html(', '.join(side.also))}</p>" if side.also else ""
    marks = _marks(each, name).strip()
    return (
        f"<div class=side><p class=small><bdi>{to_html(one_line(where(side)))}</bdi> {marks}</p>"
        f"<blockquote><bdi>{quoted}</bdi></blockquote>{also}</div>"
    )


# --- SARIF ---------------------------------------------------------------------------------------
def check_sarif(check: Check, *, version: str) -> dict[str, Any]:
    """Return a check as SARIF 2.1.0: one result each, the second statement as its related location."""
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "disputatio",
                        "version": version,
                        "rules": [
                            {
                                "id": f"contradiction/{kind}",
                                "shortDescription": {"text": text},
                                "defaultConfiguration": {"level": "warning"},
                            }
                            for kind, text in KINDS.items()
                        ],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "results": [_result(each) for each in check.contradictions],
            }
        ],
    }


def _result(each: Contradiction) -> dict[str, Any]:
    text = (
        f"{one_line(each.about)}: “{_shorten_quote(each.first)}” ({one_line(where(each.first))}) against "
        f"“{_shorten_quote(each.second)}” ({one_line(where(each.second))}). To settle it: {each.settled_by}."
    )
    return {
        "ruleId": f"contradiction/{each.kind}",
        "level": _LEVELS[each.severity],
        "message": {"text": text},
        "locations": [_location(each.first)],
        "relatedLocations": [
            {**_location(each.second), "id": 1, "message": {"text": f"“{_shorten_quote(each.second)}”"}}
        ],
        "partialFingerprints": {"contradiction/v1": each.id},
        "baselineState": "new" if each.new else "unchanged",
        "properties": {
            "severity": each.severity,
            "newer": each.newer,
            "higher": each.higher,
            "moreReliable": each.more_reliable,
            "holds": each.holds,
        },
    }


def _location(side: Statement) -> dict[str, Any]:
    """Return a location; its address is a relative path or nothing that a viewer could open elsewhere."""
    name = side.path or side.document or side.title or "passage"
    lines = side.quote.count("\n")
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": quote(re.sub(r"[\\/]+", "/", name).removeprefix("./"), safe="/-._~")},
            "region": {
                "startLine": side.row or side.line or 1,
                "endLine": (side.row or side.line or 1) + (0 if side.row else lines),
                "charOffset": side.start,
                "charLength": side.end - side.start,
                "snippet": {"text": one_line(side.quote)},
            },
        }
    }
