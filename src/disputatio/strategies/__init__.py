"""One paper's system, one file; the file, the function and the strategy share their name.

`disputatio.strategies` is also a public function. As Python binds the name to this package once one of its
modules is imported, the package itself can be called, and describes its strategies.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """The package, as a function of no arguments."""

    def __call__(self) -> Any:
        """Return every strategy, described; see `disputatio.api.describing`."""
        return importlib.import_module("disputatio.api.describing").strategies()


sys.modules[__name__].__class__ = _Package
