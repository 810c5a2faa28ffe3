"""Kill -9 at random moments of ingest, update, delete, compact and merge: what was acknowledged stays.

    python -m bench.robustness.index_kill --kills 500 > kills.json

A worker (a fork of this process) changes an index and tells through a pipe what it begins and what has
been acknowledged; it is killed at a random moment. Another fork then opens the index and compares it
with what was told. A reader searches all the while and must see whole states only. Two writers at
once and a full disk follow. Times are of forked processes, whose imports are done, but where said.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disputatio.errors import IndexBusy, StoreError
from disputatio.store.folder_index import FolderIndex
from disputatio.store.ingesting.prepare import prepare, prepare_item
from disputatio.store.ingesting.split import split
from disputatio.store.record import transaction, writer
from disputatio.store.record.check import check
from disputatio.store.record.database import reading
from disputatio.store.segments import segment
from disputatio.store.segments.searcher import Searcher
from disputatio.types import Passage

FILES, ROWS, MOST = 60, 60, 100_000
State = dict[str, int]  # file -> version of its content; a file that is not in is not there
Message = dict[str, Any]
Tell = Callable[[Message], None]


class Embedder:
    """Vectors from the length of a text: cheap."""

    name, dimension = "bench-16", 16

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:  # noqa: ARG002
        rows = [np.random.default_rng(len(text)).standard_normal(16) for text in texts]
        made = np.array(rows, dtype=np.float32).reshape(len(texts), 16)
        unit: NDArray[np.float32] = made / np.linalg.norm(made, axis=1, keepdims=True)
        return unit


def text_of(file: str, version: int) -> str:
    """Return a text of two to five passages, each of which names the file and its version."""
    sentence = f"every passage of {file} is marked {mark(file, version)} and was written by the bench. "
    return sentence * (20 + 7 * (version % 5))


def mark(file: str, version: int) -> str:
    return f"x{Path(file).stem}v{version}x"


def parts_of(file: str, version: int) -> int:
    """Return how many passages a file has."""
    if file.endswith(".jsonl"):
        return ROWS
    return len(split(text_of(file, version).strip("\n")))


def write(docs: Path, file: str, version: int) -> None:
    if file.endswith(".jsonl"):
        sentence = f"of {file} is marked {mark(file, version)}"
        rows = [{"text": f"row {n} {sentence}", "source": "rows"} for n in range(ROWS)]
        text = "".join(json.dumps(row) + "\n" for row in rows)
    else:
        text = text_of(file, version)
    (docs / file).write_text(text)


# --- the worker -----------------------------------------------------------------------------------
def work(folder: Path, state: State, seed: int, tell: Tell) -> None:
    """Change the index at random until killed."""
    rng = random.Random(seed)
    docs, now = folder / "docs", dict(state)
    index = FolderIndex.open(folder / "index", embedder=Embedder())
    while True:
        op = rng.choices(["ingest", "rows", "delete", "compact"], [4, 2, 2, 2])[0]
        if op in ("ingest", "rows"):
            names = ["rows.jsonl"]
            if op == "ingest":
                names = [f"f{rng.randrange(FILES)}.txt" for _ in range(rng.randrange(2, 14))]
            changed = {name: rng.randrange(MOST) for name in names}
            tell({"begin": op, "files": changed})
            put(index, docs, changed, tell)
            now |= changed
        elif op == "delete":
            gone = rng.sample(sorted(now), min(3, len(now)))
            tell({"begin": op, "files": dict.fromkeys(gone)})
            index.delete(paths=[docs / file for file in gone])
            tell({"ack": dict.fromkeys(gone)})
            for file in gone:
                now.pop(file)
        else:
            tell({"begin": op, "files": {}})
            index.compact(keep=1.0)
            tell({"ack": {}})
        tell({"done": op})


def put(index: FolderIndex, docs: Path, changed: State, tell: Tell) -> None:
    """Ingest files, and tell of each when it has been acknowledged: when its last passage is committed."""
    order = sorted(changed)  # as files are read
    for file in order:
        write(docs, file, changed[file])
    waiting = list(itertools.accumulate(parts_of(file, changed[file]) for file in order))

    def acknowledge(*counts_so_far: int) -> None:
        passages = counts_so_far[2]
        while waiting and waiting[0] <= passages:
            file = order[-len(waiting)]
            del waiting[0]
            tell({"ack": {file: changed[file]}})

    index.ingest(*(docs / file for file in order), progress=acknowledge)
    tell({"ack": changed})


# --- what is checked --------------------------------------------------------------------------------
def versions_in(passages: list[Passage], wrong: list[str]) -> State:
    """Return which version of each file some passages are of; half a file, or two versions of one, is wrong."""
    versions: dict[str, Counter[int]] = {}
    for passage in passages:
        word = next(word for word in passage.text.split() if word.startswith("x") and word.endswith("x"))
        stem, _, number = word.strip("x").rpartition("v")
        file = "rows.jsonl" if stem == "rows" else f"{stem}.txt"
        versions.setdefault(file, Counter())[int(number)] += 1
    state: State = {}
    for file, counts in versions.items():
        (version, count), *others = counts.most_common()
        if others:
            wrong.append(f"{file} is there in {len(counts)} versions")
        if count != parts_of(file, version) and file != "rows.jsonl":
            wrong.append(f"{file} has {count} of {parts_of(file, version)} passages")
        state[file] = version
    return state


def verify(folder: Path, allowed: dict[str, set[int | None]], *, deep: bool) -> Message:
    """Open the index as after a crash, and compare it with what may be in it; `deep`, with its checksums."""
    wrong: list[str] = []
    start, used = time.perf_counter(), time.process_time()
    index = FolderIndex.open(folder / "index", embedder=Embedder())
    index.search("passage")
    read_s = time.perf_counter() - start, time.process_time() - used
    # A commit that the kill kept from the readers is shown to them by the next writer.
    start, used = time.perf_counter(), time.process_time()
    with index.open_writer():
        write_s = time.perf_counter() - start, time.process_time() - used
    state = whole(index, wrong)
    for file in {*allowed, *state}:
        if state.get(file) not in allowed.get(file, {None}):
            wrong.append(f"lost: {file} is {state.get(file)}, not one of {allowed.get(file)}")
    if deep:
        wrong += [f"damaged: {damage.file} {damage.problem}" for damage in check(folder / "index").damaged]
    passages = index.info().passages
    return {"state": state, "wrong": wrong, "read_s": read_s, "write_s": write_s, "passages": passages}


def whole(index: FolderIndex, wrong: list[str]) -> State:
    """Return what the segments hold; the tables must say the same, and each document have all its passages."""
    view = index.view()
    if view is None:
        return {}
    live = [
        one.passage(row)
        for one, dead in zip(view.segments, view.dead, strict=True)
        for row in range(one.rows)
        if dead is None or not dead[row]
    ]
    ids = {passage.id for passage in live}
    if len(ids) != len(live):
        wrong.append("a passage is there twice")
    documents = {document.id: document for document in index.documents()}
    expected = {made.id for document in documents.values() for made in prepare(document).passages}
    with reading(index.path) as record:
        ids_in_table = [name for _, name in record.ids("passages")]
    if not (ids == expected == set(ids_in_table) and len(ids_in_table) == len(ids)):
        wrong.append(
            f"{len(ids)} passages in segments, {len(ids_in_table)} on record, {len(expected)} of documents"
        )
    return versions_in(live, wrong)


def watch(folder: Path, tell: Tell) -> None:
    """Search without end; each answer must be one whole state."""
    seen, told = 0, time.monotonic()
    wrong: list[str] = []
    index: FolderIndex | None = None
    while True:
        if index is None or seen % 20 == 0:
            index = FolderIndex.open(folder / "index")
        hits = index.search("marked", k=5_000)
        versions_in([hit.passage for hit in hits], wrong)
        seen += 1
        if wrong or time.monotonic() - told > 0.2:
            tell({"searches": seen, "wrong": wrong})
            seen, told, wrong = 0, time.monotonic(), []


# --- processes --------------------------------------------------------------------------------------
class Child:
    """A forked process that tells JSON lines through a pipe."""

    def __init__(self, run: Callable[[Tell], None]) -> None:
        reading, writing = os.pipe()
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            os.close(reading)
            code = 1
            try:
                run(lambda message: _send(writing, message))
                code = 0
            except BaseException as error:  # noqa: BLE001 - a fork must not go on as its parent would
                _send(writing, {"error": f"{error!r}", "trace": traceback.format_exc()})
            finally:
                os._exit(code)
        os.close(writing)
        self._pipe, self._raw = reading, b""

    def hear(self, seconds: float) -> bool:
        """Wait for something to be told, at most so long; False when the child has ended."""
        if not select.select([self._pipe], [], [], max(0.0, seconds))[0]:
            return True
        raw = os.read(self._pipe, 1 << 16)
        self._raw += raw
        return bool(raw)

    def told(self) -> list[Message]:
        """Return what it told since the last call."""
        *lines, self._raw = self._raw.split(b"\n")
        return [json.loads(line) for line in lines]

    def end(self, *, kill: bool = False) -> list[Message]:
        """Wait for its end, or kill it; what it told that was not fetched before."""
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        while self.hear(60.0):
            pass
        os.waitpid(self.pid, 0)
        os.close(self._pipe)
        return self.told()


def _send(pipe: int, message: Message) -> None:
    raw = json.dumps(message).encode() + b"\n"
    while raw:
        raw = raw[os.write(pipe, raw) :]


def ask(run: Callable[[], Message]) -> Message:
    """Return what a function returns in a fork of its own."""
    messages = Child(lambda tell: tell(run())).end()
    return messages[0] if messages else {"error": "the fork died"}


def run_kills(folder: Path, kills: int, seed: int, longest: float) -> Message:
    """Return the main part: so many kills, each followed by a look at what is there."""
    rng = random.Random(seed)
    state: State = {}
    counts: Counter[str] = Counter()
    wrong: list[str] = []
    read_s: list[Sequence[float]] = []
    write_s: list[Sequence[float]] = []
    fresh_s: list[float] = []
    reader: Child | None = None
    for number in range(kills):
        child = Child(partial(work, folder, state, seed * 1_000_003 + number))
        while not (first := child.told()) and child.hear(30.0):
            pass
        time.sleep(rng.uniform(0.0, longest))
        messages = [*first, *child.end(kill=True)]
        op, allowed = heard_of(messages, state, counts)
        wrong += [
            f"kill {number}: the worker failed: {message['trace']}"
            for message in messages
            if "error" in message
        ]
        counts[f"killed in {op}"] += 1
        tenth = number % 10 == 9
        if tenth:
            fresh_s.append(fresh_process(folder / "index"))
        verified = ask(partial(verify, folder, allowed, deep=tenth))
        if "error" in verified:
            wrong.append(
                f"kill {number} ({op}): cannot be opened: {verified['error']} {verified.get('trace')}"
            )
            break
        wrong += [f"kill {number} ({op}): {fault}" for fault in verified["wrong"]]
        state = verified["state"]
        read_s.append(verified["read_s"])
        write_s.append(verified["write_s"])
        if reader is None and verified["passages"]:
            reader = Child(partial(watch, folder))
        if reader is not None:
            reader.hear(0.0)
            for one in reader.told():
                counts["searches of the reader"] += one.get("searches", 0)
                seen = [*one.get("wrong", []), *([one["trace"]] if "trace" in one else [])]
                wrong += [f"reader at kill {number}: {text}" for text in seen]
        if number % 25 == 24:
            print(f"{number + 1} kills: {len(wrong)} wrong, {verified['passages']} passages", file=sys.stderr)
    if reader is not None:
        reader.end(kill=True)
    return {
        "kills": len(read_s),
        "passages acknowledged": counts.pop("acknowledged"),
        "acknowledged and lost": sum("lost:" in fault for fault in wrong),
        "half-written, or another fault": sum("lost:" not in fault for fault in wrong),
        "what was wrong": wrong[:20],
        "counts": dict(sorted(counts.items())),
        "reopen to the first search, s": spread([wall for wall, _ in read_s]),
        "the same, s of CPU": spread([cpu for _, cpu in read_s]),
        "reopen for writing, s": spread([wall for wall, _ in write_s]),
        "for writing, s of CPU": spread([cpu for _, cpu in write_s]),
        "a new Python process to its first search, s": spread(fresh_s),
    }


_FIRST_SEARCH = "import sys; from disputatio.store.folder_index import FolderIndex; FolderIndex.open(sys.argv[1]).search('passage')"


def fresh_process(index: Path) -> float:
    """Return seconds that a new process takes to open an index and search it, imports and all."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", _FIRST_SEARCH, str(index)], check=True)
    return time.perf_counter() - start


def heard_of(
    messages: Sequence[Message], state: State, counts: Counter[str]
) -> tuple[str, dict[str, set[int | None]]]:
    """Return what a killed worker was at, and which versions of each file may be there now.

    A file that was begun may be there as before or as after; one that was acknowledged as told only.
    """
    allowed: dict[str, set[int | None]] = {file: {version} for file, version in state.items()}
    op = "opening"
    for message in messages:
        if "begin" in message:
            op = message["begin"]
            for file, version in message["files"].items():
                allowed.setdefault(file, {None}).add(version)
        for file, version in message.get("ack", {}).items():
            counts["acknowledged"] += (
                parts_of(file, version) if allowed[file] != {version} and version is not None else 0
            )
            allowed[file] = {version}
        counts["operations done"] += "done" in message
    return op, allowed


def spread(values: Sequence[float]) -> dict[str, float]:
    """Print their median, 99th percentile and largest, and how many are above 2 s."""
    ordered = sorted(values) or [0.0]
    at = {"p50": len(ordered) // 2, "p99": int(0.99 * (len(ordered) - 1)), "worst": -1}
    return {name: round(ordered[rank], 3) for name, rank in at.items()} | {
        "above 2 s": sum(seconds > 2.0 for seconds in ordered)
    }


# --- two writers, a full disk -----------------------------------------------------------------------
def run_two_writers(folder: Path, rounds: int) -> Message:
    """Two processes that add at the same moment: one gets in, the other is told why not."""
    path = folder / "two"

    def add(name: str, at: float, tell: Tell) -> None:
        index = FolderIndex.open(path)
        time.sleep(max(0.0, at - time.time()))
        try:
            index.add(Passage(text=f"{name} number {n}", id=f"{name}-{n}", source="s") for n in range(50))
        except IndexBusy as error:
            tell({"refused": str(error)})
        else:
            tell({"added": name})

    messages: list[Message] = []
    for number in range(rounds):
        at = time.time() + 0.1
        both = [Child(partial(add, f"{side}{number}", at)) for side in "ab"]
        messages += [message for child in both for message in child.end()]
    added = [message["added"] for message in messages if "added" in message]
    refused = [message["refused"] for message in messages if "refused" in message]

    def look() -> Message:
        hits = FolderIndex.open(path).search("number", k=100_000)
        return {"ids": [hit.passage.id for hit in hits], "damaged": len(check(path).damaged)}

    state = ask(look)
    return {
        "rounds": rounds,
        "let in": len(added),
        "refused": len(refused),
        "as": refused[0].replace(str(folder), "") if refused else "",
        "other faults": len(messages) - len(added) - len(refused),
        "lost or extra": len({f"{name}-{n}" for name in added for n in range(50)} ^ set(state["ids"])),
        "damaged": state["damaged"],
    }


def run_full_disk(folder: Path) -> Message:
    """Add until the disk is full: a clear error, and nothing acknowledged is lost."""
    small = folder / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", str(small)]
    mounted = subprocess.run(mount, capture_output=True, check=False).returncode == 0

    def fill(tell: Tell) -> None:
        if not mounted:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        writer._LARGEST = 500
        try:
            with FolderIndex.open(small / "index").open_writer(
                lambda passages: tell({"ack": passages})
            ) as put:
                for n in range(200_000):
                    text = f"number {n} " + random.Random(n).randbytes(200).hex()
                    prepared = prepare_item(Passage(text=text, id=f"n{n}", source="s"))
                    put.put(prepared.file, [prepared])
        except StoreError as error:
            tell({"refused": str(error)})

    messages = Child(fill).end()
    acknowledged = max((message["ack"] for message in messages if "ack" in message), default=0)

    def look() -> Message:
        index = FolderIndex.open(small / "index")
        ids = {hit.passage.id for hit in index.search("number", k=300_000)}
        lost = sum(f"n{n}" not in ids for n in range(acknowledged))
        return {"lost": lost, "passages": index.info().passages}

    def again() -> Message:
        index = FolderIndex.open(small / "index")
        added = index.add([Passage(text="one more", id="more", source="s")]).added
        damaged = len(check(small / "index").damaged)
        return {"added": added, "passages": index.info().passages, "damaged": damaged}

    after = ask(look)
    if mounted:
        subprocess.run(["mount", "-o", "remount,size=200m", str(small)], check=True)
    later = ask(again)
    if mounted:
        subprocess.run(["umount", str(small)], check=True)
    faults = [
        message.get("refused") or message.get("trace", "") for message in messages if "ack" not in message
    ]
    return {
        "how": "a tmpfs of 24 MB" if mounted else "files of at most 400 kB (RLIMIT_FSIZE)",
        "passages acknowledged": acknowledged,
        "error": [fault.replace(str(folder), "") for fault in faults],
        "after it": after,
        "with space again": later,
    }


@contextlib.contextmanager
def place(given: Path | None) -> Iterator[Path]:
    """Give the folder to work in: one that is given, or one in memory."""
    if given is not None:
        given.mkdir(parents=True, exist_ok=True)
        yield given
    else:
        # What a killed process has written stays, on a disk or not: memory spares the time of flushing.
        memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        with tempfile.TemporaryDirectory(dir=memory) as name:
            yield Path(name)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--longest", type=float, default=0.8, help="seconds until the kill, at most")
    parser.add_argument("--writers", type=int, default=20, help="rounds of two writers")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", RuntimeWarning)  # lancedb says that forks are new to it
    # Small batches and a small fan make many commits and merges of few passages.
    writer._BATCH, writer._LARGEST, transaction.FAN, transaction.SMALLEST_TIER = 16, 32, 3, 8
    warm = segment.Segment.build([Passage(text="warm", id="w", source="s")], np.ones((1, 16), np.float32))
    Searcher([warm]).search("warm", np.ones(16, np.float32))
    start = time.perf_counter()
    with place(arguments.folder) as folder:
        (folder / "docs").mkdir()
        figures = {"kills": run_kills(folder, arguments.kills, arguments.seed, arguments.longest)}
        if arguments.writers:
            figures["two writers"] = run_two_writers(folder, arguments.writers)
            figures["full disk"] = run_full_disk(folder)
    print(json.dumps({**figures, "seconds": round(time.perf_counter() - start, 1)}, indent=1))
    two, full = figures.get("two writers", {}), figures.get("full disk", {})
    bad = (
        figures["kills"]["what was wrong"] or two.get("lost or extra") or full.get("after it", {}).get("lost")
    )
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
