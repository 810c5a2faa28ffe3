"""The machine that a measurement ran on, as pages name it."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path


def machine() -> str:
    """Return processor, cores, memory and Python."""
    try:
        match = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text("utf-8"))
        memory = re.search(r"MemTotal:\s+(\d+)", Path("/proc/meminfo").read_text("utf-8"))
    except OSError:
        match = memory = None
    size = f", {int(memory[1]) / 1024 / 1024:.0f} GB" if memory else ""
    return f"{match[1] if match else platform.machine()}, {os.cpu_count()} cores{size}, Python {platform.python_version()}"
