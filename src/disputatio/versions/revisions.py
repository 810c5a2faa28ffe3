"""Tables of revisions within a document, row by row: "Version: 2.0; Date: 2024-09-01; Change: Oil."."""

from __future__ import annotations

import re
from dataclasses import dataclass

from disputatio.versions.days import days_in
from disputatio.versions.families import version_in, version_parts
from disputatio.versions.phrases import whole_words

FEWEST = 2  # rows of a table; one alone may be any list
_VERSION = re.compile(
    r"(?:document )?(?:version|ver\.?|rev\.?|revision|révision|issue|edition|édition|indice|fassung|ausgabe)"
    r"(?: ?(?:no\.?|nr\.?|n°|number))?",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?:(?:revision|issue) )?dat(?:e|um)(?: of (?:issue|revision|change))?", re.IGNORECASE)
# What tells a table of revisions from a list of releases.
_CHANGE = re.compile(
    whole_words(
        *(
            "changes?",
            "descriptions?",
            "reasons?",
            "remarks?",
            "comments?",
            "amendments?",
            "summary",
            "author",
        ),
        *(
            "änderung(?:en)?",
            "beschreibung",
            "grund",
            "bemerkung(?:en)?",
            "bearbeiter(?:in)?",
            "autor(?:in)?",
        ),
        *("modifications?", "objet", "motif", "auteure?", "commentaires?"),
    ),
    re.IGNORECASE,
)
# A heading that says so of a table without such a column.
_HISTORY = re.compile(
    r"(?:table|tabelle|tableau)?[\W\d_]{0,12}(?:document )?"
    r"(?:(?:revision|version|change|amendment)s?(?: history| record|[ -]?log)"
    r"|record of (?:revisions|changes|amendments)"
    r"|(?:änderungs|versions|revisions)-?(?:verlauf|historie|nachweis|verzeichnis|übersicht)"
    r"|(?:historique|suivi|registre) des (?:révisions|versions|modifications))"
    r"[\W_]{0,3}",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Revision:
    """A row of a table of revisions: its version, its day in ISO form if it has one, and its words."""

    version: str
    day: str
    row: str


def newest_revision(text: str) -> tuple[Revision | None, str]:
    """Return the newest row of a table of revisions, None without one, and the text without these rows.

    >>> rows = ["Rev.: A; Date: 1 May 2020; Author: CD.", "Rev.: B; Date: 3 May 2022; Author: AB."]
    >>> newest_revision("\\n".join(["The winch", *rows]))
    (Revision(version='B', day='2022-05-03', row='Rev.: B; Date: 3 May 2022; Author: AB.'), 'The winch')
    >>> releases = ["Version: 3.1; Released: 2020; End: 2024.", "Version: 3.2; Released: 2022; End: 2026."]
    >>> newest_revision("\\n".join(releases))[0]
    >>> newest_revision("\\n".join(["Version history", *releases]).replace("Released", "Date"))[0].version
    '3.2'
    """
    found: list[Revision] = []
    rest: list[str] = []
    is_headed = False
    for line in text.split("\n"):
        revision = _revision(line.strip(), is_headed=is_headed)
        if revision is None:
            rest.append(line)
            is_headed = bool(_HISTORY.fullmatch(line.strip())) if line.strip() else is_headed
        else:
            found.append(revision)
    if len(found) < FEWEST:
        return None, text
    numbered = len({each.version.isalpha() for each in found}) == 1
    newest = max(found, key=lambda each: (version_parts(each.version) if numbered else (), each.day))
    return newest, "\n".join(rest)


def _revision(line: str, *, is_headed: bool) -> Revision | None:
    if "; " not in line or len(line) > 2_000:
        return None
    cells = [cell.partition(": ")[::2] for cell in line.removesuffix(".").split("; ")]
    version = next((value for name, value in cells if _VERSION.fullmatch(name)), "")
    days = next((list(days_in(value)) for name, value in cells if _DATE.fullmatch(name)), None)
    number = version_in(f"revision {version}")[0] or version_in(version)[0]
    if not number or days is None or not (is_headed or any(_CHANGE.search(name) for name, _ in cells)):
        return None
    return Revision(number, days[0].iso if len(days) == 1 else "", line)
