"""Ingest a folder of 100,000 small files without an embedder: time and memory, again unchanged, and a search.

python -m bench.robustness.many_files --files 100000 > many_files.json
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def run(*words: str) -> dict[str, Any]:
    """Run a command of the program; return its seconds, its peak of memory, and what it printed."""
    begun = time.perf_counter()
    program = Path(sys.executable).with_name("disputatio")
    with subprocess.Popen([program, *words, "--json"], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        printed = json.loads(process.stdout.read())
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"exit {process.returncode}: {words}")
    seconds = round(time.perf_counter() - begun, 1)
    cpu = round(used.ru_utime + used.ru_stime, 1)
    return {"seconds": seconds, "cpu": cpu, "peak MB": used.ru_maxrss // 1024, "printed": printed}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    asked = parser.parse_args()
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        docs, index = Path(name, "docs"), str(Path(name, "x.index"))
        docs.mkdir()
        for n in range(asked.files):
            text = f"Ferry number {n} first crossed the river in {1800 + n % 200}.\n"
            (docs / f"ferry{n}.txt").write_text(text, encoding="utf-8")
        first = run("ingest", str(docs), "--index", index, "--embedder", "none")
        again = run("ingest", str(docs), "--index", index, "--embedder", "none")
        search = run("search", f"ferry number {asked.files // 2}", "--index", index)
        search["printed"] = len(search["printed"])
        print(json.dumps({"first": first, "again": again, "search": search}, indent=1))


if __name__ == "__main__":
    main()
