"""One paper's system, one file; the file, the function and the strategy share their name.

`disputatio.strategies()` lists them. Python binds that name to this package as soon as one of its modules is
imported, and a module can be called only through its class: so the package has a class of its own, and
`import disputatio` gives it the function. The alternative is another name for this folder, which every
import of a strategy would have to follow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any


class _Package(ModuleType):
    """This package, as a function of no arguments."""

    list_strategies: Callable[[], Any]

    def __call__(self) -> Any:
        """Describe every strategy (`disputatio.pipeline.list_strategies`)."""
        return self.list_strategies()


sys.modules[__name__].__class__ = _Package
