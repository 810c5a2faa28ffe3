"""The evaluations below a folder, by name: their figures, differences and answers, for a server to show."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from disputatio.errors import DisputatioError, InputError
from disputatio.eval.reporting.compare import choose_runs, compare
from disputatio.eval.reporting.report import report
from disputatio.eval.running.run_log import read_answer, read_journal
from disputatio.eval.running.run_log_file import FILE

_DEPTH = 3  # folders below the one that was named
_MOST = 1_000
_RESAMPLES = 1_000


class RunFolders:
    """Evaluations by name: their path below the folder of all, with `~` between parts."""

    def __init__(self, top: Path) -> None:
        self._top = top

    def rows(self) -> list[dict[str, Any]]:
        """Return one row for each evaluation; `fault` says why one cannot be read."""
        return [_row(name, folder) for name, folder in self._folders().items()]

    def report(self, name: str) -> dict[str, Any] | None:
        """Return the report of an evaluation; None if there is none of that name."""
        folder = self._folders().get(name)
        return None if folder is None else report(folder, resamples=_RESAMPLES)

    def differences(self, name: str, first: str, second: str, metric: str | None) -> dict[str, Any] | None:
        """Compare two strategies question by question; None if there is no evaluation of that name."""
        folder = self._folders().get(name)
        if folder is None:
            return None
        labels = [entrant.label for entrant in read_journal(folder).entrants]
        for label in (first, second):
            if label not in labels:
                raise InputError(f"no strategy {label!r} in this evaluation; it has {', '.join(labels)}")
        differences = compare(*choose_runs([folder], f"{first},{second}"), metric=metric)
        for side in ("one", "other"):
            differences[side]["folder"] = name  # and not where it is on this machine
        return differences

    def answer(self, name: str, strategy: str, example: str) -> dict[str, Any] | None:
        """Return one answer with its passages; None if there is no such evaluation or answer."""
        folder = self._folders().get(name)
        return None if folder is None else read_answer(folder, strategy, example)

    def _folders(self) -> dict[str, Path]:
        top = self._top
        below = (path for depth in range(1, _DEPTH + 1) for path in top.glob("/".join("*" * depth)))
        runs = [path for path in sorted({top, *below}) if (path / FILE).is_file() and not path.is_symlink()]
        return {"~".join(path.relative_to(top).parts) or top.name: path for path in runs[:_MOST]}


def _row(name: str, folder: Path) -> dict[str, Any]:
    row = {"name": name, "strategies": [], "datasets": [], "model": "", "questions": 0, "recorded": 0}
    try:
        journal = read_journal(folder)
    except DisputatioError as error:
        return {**row, "fault": str(error)}
    return {
        "name": name,
        "strategies": [entrant.label for entrant in journal.entrants],
        "datasets": list(journal.manifest.datasets),
        "model": journal.manifest.model,
        "questions": len(journal.examples),
        "recorded": len(journal.entries),
        "fault": "",
    }
