"""The library's front door: what `import disputatio` offers, but for the nouns."""

from __future__ import annotations

from disputatio.api.asking import ask, kit_of
from disputatio.api.calibrating import Calibration, calibrate
from disputatio.api.checking import check
from disputatio.api.indexing import Index
from disputatio.api.many import AskResult, ask_many
from disputatio.api.streaming import Stream, aask, astream, stream

__all__ = [
    "AskResult",
    "Calibration",
    "Index",
    "Stream",
    "aask",
    "ask",
    "ask_many",
    "astream",
    "calibrate",
    "check",
    "kit_of",
    "stream",
]
