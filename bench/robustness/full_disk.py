"""A disk that is full from the n-th write on, for every n: what each command says, and what is left.

    python -m bench.robustness.full_disk --most 150 > full_disk.json

Needs a C compiler: a small library, loaded before libc, counts the writes below one folder and answers ENOSPC from the
n-th on, as a full disk does. Each operation runs once to count its writes, then once for each n (or `--most` of them,
drawn by the seed), on a fresh copy of the same state. Counted are operations that ended in one line of ours, in a
traceback, or as if nothing was wrong; and, with room again, states that a check finds damaged, passages that had been
there and are lost, and second tries that do not end where an undisturbed one does.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bench.lib import faulty_disk


def main() -> None:
    """Build the library, start again under it, and print one object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=150, help="places of each operation")
    parser.add_argument("--only", nargs="*", choices=sorted(OPERATIONS), help="these operations")
    parser.add_argument("--seed", type=int, default=19)
    parser.add_argument("--under", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.under:
        chosen = [name for name in OPERATIONS if name in (asked.only or OPERATIONS)]
        print(json.dumps(measured(asked.under, chosen, asked.most, random.Random(asked.seed)), indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        library, work = faulty_disk.build(Path(folder)), Path(folder, "work")
        work.mkdir()
        words = [sys.executable, "-m", "bench.robustness.full_disk", "--under", str(work)]
        words += ["--most", str(asked.most), "--seed", str(asked.seed)]
        words += ["--only", *asked.only] if asked.only else []
        subprocess.run(words, env=faulty_disk.environment(library, work), check=True)


# --- under the library ----------------------------------------------------------------------------
SECONDS = 120  # that an operation may take
Act = Callable[[Path], None]
Look = Callable[[Path], Any]


def measured(work: Path, chosen: Sequence[str], most: int, draw: random.Random) -> dict[str, Any]:
    """Return what came of each operation."""

    import disputatio.eval.evaluate
    import disputatio.store.record.check
    import disputatio.store.record.replicate
    import disputatio.store.segments.segment  # noqa: F401

    begin = time.perf_counter()
    before = work / "before"
    before.mkdir()
    in_child(lambda: make(before))
    result: dict[str, Any] = {}
    for name in chosen:
        result[name] = tried(work, before, OPERATIONS[name], most, draw)
        print(f"{name}: {result[name]}", file=sys.stderr, flush=True)
    return {**result, "seconds": round(time.perf_counter() - begin)}


def tried(
    work: Path, before: Path, operation: tuple[Act, Look, bool], most: int, draw: random.Random
) -> dict[str, Any]:
    """Return one operation with a disk that is full from each place on."""
    act, look, keeps = operation
    copy = work / "now"
    shutil.copytree(before, copy)
    undisturbed = in_child(lambda: act(copy))
    undisturbed_end = in_child(lambda: look(copy))["value"]
    if undisturbed["outcome"] != "done":
        raise RuntimeError(f"with room enough: {undisturbed['said']}")
    shutil.rmtree(copy)
    places = list(range(undisturbed["writes"]))
    if len(places) > most:
        places = sorted(draw.sample(places, most))
    outcomes: Counter[str] = Counter()
    for place in places:
        shutil.copytree(before, copy)
        state_before = in_child(lambda: look(copy))["value"] if keeps and place == places[0] else None
        failed_try = in_child(lambda: act(copy), limit=place)
        outcomes[failed_try["outcome"]] += 1
        if failed_try["outcome"] == "traceback":
            print(f"write {place}: {failed_try['said']}", file=sys.stderr)
        check_afterwards = in_child(lambda: damages(copy))
        outcomes["damaged afterwards"] += (
            bool(check_afterwards["value"]) or check_afterwards["outcome"] != "done"
        )
        if state_before is not None and keeps:
            outcomes["could not be read afterwards"] += in_child(lambda: look(copy))["outcome"] != "done"
        second_try = in_child(lambda: act(copy))
        same = second_try["outcome"] == "done" and in_child(lambda: look(copy))["value"] == undisturbed_end
        outcomes["a second try ends elsewhere"] += not same
        if not same:
            print(f"write {place}: second try {second_try['outcome']}: {second_try['said']}", file=sys.stderr)
        shutil.rmtree(copy)
    return {"writes": undisturbed["writes"], "tried": len(places), **outcomes}


def in_child(do: Callable[[], Any], *, limit: int = -1) -> dict[str, Any]:
    """Return what a fork of this process did: its outcome, value, writes, and what was said."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", RuntimeWarning
        )  # lancedb's on forks: nothing of it runs in this process
        child = os.fork()
    if child == 0:
        os.close(reading)
        told: dict[str, Any] = {"outcome": "done", "value": None, "said": ""}
        signal.alarm(SECONDS)
        faulty_disk.fill(limit)
        try:
            told["value"] = do()
        except Exception as error:  # noqa: BLE001 - what nothing else catches is counted
            from disputatio.errors import DisputatioError

            ours = isinstance(error, DisputatioError) and "\n" not in str(error)
            told |= {
                "outcome": "one line" if ours else "traceback",
                "said": f"{type(error).__name__}: {error}",
            }
        told["writes"] = faulty_disk.writes()
        faulty_disk.fill(-1)
        os.write(writing, json.dumps(told, default=str).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        raw = pipe.read()
    os.waitpid(child, 0)
    empty = {"outcome": "traceback", "said": "the process died", "value": None, "writes": 0}
    return json.loads(raw) if raw else empty


# --- operations -----------------------------------------------------------------------------------
PASSAGES = 40


def make(folder: Path) -> None:
    """Make an index of some passages, documents to add to it, and questions for an evaluation."""
    from disputatio.store.folder_index import FolderIndex
    from disputatio.types import Passage

    index = FolderIndex.open(folder / "index")
    index.add(
        Passage(id=f"p{n}", text=f"the ferry number {n} crossed in {1800 + n}", source=f"s{n % 4}")
        for n in range(PASSAGES)
    )
    documents = folder / "documents"
    documents.mkdir()
    for n in range(8):
        (documents / f"d{n}.txt").write_text(
            f"Document {n}: the ferry crossed in {1900 + n}.", encoding="utf-8"
        )
    rows = [
        {
            "question": f"When did ferry {n} cross?",
            "gold": ["1887"],
            "passages": [{"text": "It crossed in 1887."}],
        }
        for n in range(6)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def ingest(folder: Path) -> None:
    """Add the documents."""
    from disputatio.store.folder_index import FolderIndex

    FolderIndex.open(folder / "index").ingest(folder / "documents")


def delete(folder: Path) -> None:
    """Delete a source."""
    from disputatio.store.folder_index import FolderIndex

    FolderIndex.open(folder / "index").delete(sources=["s1"])


def compact(folder: Path) -> None:
    """Delete a source and write everything anew."""
    from disputatio.store.folder_index import FolderIndex

    index = FolderIndex.open(folder / "index")
    index.delete(sources=["s2"])
    index.compact(keep=1.0)


def copy(folder: Path) -> None:
    """Sync the index to a second folder."""
    from disputatio.store.record.replicate import sync

    sync(folder / "index", folder / "copy")


def evaluate(folder: Path) -> None:
    """Run an evaluation with a scripted model."""
    import disputatio
    from disputatio.llm.scripted import Scripted

    model = Scripted(lambda _: '{"answer": "1887", "explanation": "", "quote": "1887"}')
    disputatio.evaluate(
        f"jsonl:{folder / 'rows.jsonl'}", strategies=["concat"], model=model, out=folder / "run"
    )


def found(folder: Path) -> Any:
    """Return all passages of the index, by id."""
    from disputatio.store.folder_index import FolderIndex

    index = FolderIndex.open(folder / "index", create=False)
    return sorted((hit.passage.id, hit.passage.text) for hit in index.search("the ferry crossed", k=500))


def found_in_copy(folder: Path) -> Any:
    """Return all passages of the second folder's index."""
    from disputatio.store.folder_index import FolderIndex

    index = FolderIndex.open(folder / "copy", create=False)
    return sorted((hit.passage.id, hit.passage.text) for hit in index.search("the ferry crossed", k=500))


def scored(folder: Path) -> Any:
    """Return the scores of the run."""
    from disputatio.eval.results import read_results

    return [[entry.record.row, entry.record.answers] for entry in read_results(folder / "run").records]


def damages(folder: Path) -> Any:
    """Return what a check of the index finds."""
    from disputatio.store.record.check import check

    return len(check(folder / "index").damaged)


OPERATIONS: dict[str, tuple[Act, Look, bool]] = {
    "ingest": (ingest, found, True),
    "delete": (delete, found, True),
    "compact": (compact, found, True),
    "sync": (copy, found_in_copy, False),
    "evaluation": (evaluate, scored, False),
}


if __name__ == "__main__":
    main()
