"""A clock that jumps: what an index, a sync and an evaluation hold after it, against the same work by a sound clock.

    python -m bench.robustness.clock --rounds 40 > clock.json

Needs a C compiler: a small library, loaded before libc, moves the wall clock by a fresh draw at every reading, up to ten years
either way (the clock that only counts on is left alone, as a real jump leaves it). The operations are those of
`bench.robustness.full_disk`; then a document is changed and everything is ingested again, and the evaluation is resumed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.robustness.full_disk import damages, found, found_in_copy, make, scored

_SHIM = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static atomic_uint state = 1;
static long jump(void) {
    const char *on = getenv("JUMPING_CLOCK");
    if (!on) return 0;
    unsigned seen = atomic_fetch_add(&state, 2654435761u) + (unsigned) atoi(on) * 40503u;
    seen ^= seen >> 13; seen *= 2246822519u; seen ^= seen >> 16;
    return (long) (seen % 630720000u) - 315360000L;
}
int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(clock, at);
    if (!done && clock == CLOCK_REALTIME) at->tv_sec += jump();
    return done;
}
time_t time(time_t *at) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
int gettimeofday(struct timeval *restrict at, void *restrict zone) {
    struct timespec now;
    (void) zone;
    clock_gettime(CLOCK_REALTIME, &now);
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}
"""


def main() -> None:
    """Build the library, do the work without it and under it, compare, and print one object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--under", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.under:
        print(json.dumps(worked(asked.under)))
        return
    begin, outcomes = time.perf_counter(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "clock.c"), Path(folder, "clock.so")
        source.write_text(_SHIM, encoding="utf-8")
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        want = apart(Path(folder, "sound"), {})
        for number in range(asked.rounds):
            got = apart(Path(folder, "work"), {"LD_PRELOAD": str(library), "JUMPING_CLOCK": str(number + 1)})
            outcomes["the same" if got == want else "other"] += 1
            if got != want:
                print(f"round {number}: {got}", file=sys.stderr)
    print(
        json.dumps(
            {**outcomes, "rounds": asked.rounds, "seconds": round(time.perf_counter() - begin)}, indent=1
        )
    )


def apart(work: Path, more: dict[str, str]) -> Any:
    """Return what a process of its own makes in a folder, which is then removed."""
    work.mkdir()
    try:
        words = [sys.executable, "-m", "bench.robustness.clock", "--under", str(work)]
        done = subprocess.run(words, env=os.environ | more, capture_output=True, text=True, check=False)
        last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
        return json.loads(done.stdout) if done.returncode == 0 else f"{done.returncode}: {last}"
    finally:
        shutil.rmtree(work)


def worked(folder: Path) -> dict[str, Any]:
    """Everything done once in this folder, and what is there afterwards."""
    from bench.robustness.full_disk import compact, copy, evaluate, ingest
    from disputatio.store.folder_index import FolderIndex

    make(folder)
    ingest(folder)
    before = found(folder)
    changed = folder / "documents" / "d3.txt"
    changed.write_text("Document 3, changed: the ferry crossed in 2001.", encoding="utf-8")
    ingest(folder)
    after = found(folder)
    copy(folder)
    copied = found_in_copy(folder)
    compact(folder)
    copy(folder)
    evaluate(folder)
    evaluate(folder)
    return {
        "before": [text for _, text in before],
        "after": sorted(text for _, text in after),
        "copied": copied == after,
        "compacted": found(folder) == found_in_copy(folder),
        "passages": FolderIndex.open(folder / "index").info().passages,
        "damaged": damages(folder),
        "scored": scored(folder),
    }


if __name__ == "__main__":
    main()
