"""How much memory this process has, as the kernel counts it."""

from __future__ import annotations

import resource
from pathlib import Path
from typing import Literal

Field = Literal["VmRSS", "RssAnon"]


def peak_mb() -> int:
    """Return the most that it has held so far, in MB, mapped files included."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def memory_mb(field: Field) -> int:
    """Return what it holds now, in MB: `VmRSS`, or without mapped files (`RssAnon`)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1]) // 1024
    return 0
