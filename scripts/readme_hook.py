"""The hook of the metadata: the README as an index of packages shows it, where relative links lead nowhere.

They lead to the files of this version's tag, and pictures to what they are.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

_LINK = re.compile(r"(!?)\[([^\]\n]*)\]\((?![a-z]+:|#)([^)\s]+)\)")


class ReadmeHook(MetadataHookInterface):
    """Gives the readme, whose links need the version and the address of the sources."""

    PLUGIN_NAME = "custom"

    def update(self, metadata: dict[str, Any]) -> None:
        """Called by hatchling."""
        text = Path(self.root, "README.md").read_text(encoding="utf-8")
        text = absolute(text, metadata["urls"]["Source"], metadata["version"])
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


def absolute(text: str, source: str, version: str) -> str:
    """Return Markdown with absolute links.

    >>> absolute("[a](docs/a.md#b) ![p](p.png) [c](https://c.example)", "https://s.example/d", "1.0")
    '[a](https://s.example/d/blob/v1.0/docs/a.md#b) ![p](https://s.example/d/raw/v1.0/p.png) [c](https://c.example)'
    """
    return _LINK.sub(
        lambda link: f"{link[1]}[{link[2]}]({source}/{'raw' if link[1] else 'blob'}/v{version}/{link[3]})",
        text,
    )
