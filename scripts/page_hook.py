"""The hook of the wheel: the built page travels in it.

A release (`DISPUTATIO_RELEASE=1`) fails without the page. Any other wheel is made without it where Node is
not there. An editable install builds nothing.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from scripts.build_page import CannotBuild, build

RELEASE = "DISPUTATIO_RELEASE"


class PageHook(BuildHookInterface[Any]):
    """Builds the page before a wheel or an archive of the sources is packed."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (its interface)
        """Called by hatchling; raises `CannotBuild` in a release without a page."""
        root = Path(self.root)
        if version == "editable" or not (root / "page" / "package.json").is_file():
            return self._check(root)
        try:
            build(root)
        except CannotBuild as error:
            if os.environ.get(RELEASE):
                raise
            self.app.display_warning(f"the wheel is made without the page: {error}")
        return None

    def _check(self, root: Path) -> None:
        """Build the page; an archive of the sources has it already; without it, no release is made."""
        built = root / "src" / "disputatio" / "server" / "page" / "index.html"
        if os.environ.get(RELEASE) and not built.is_file():
            raise CannotBuild("the sources hold neither the built page nor what it is built from")
