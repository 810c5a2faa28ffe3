"""A stateful property test of an index and its server: what was accepted is there, what was deleted is not.

Hypothesis draws operations: ingest, replace, delete, upload, remove an upload, sync, compact, check,
calibrate, ask, restart of the server. Each runs in a process of its own, which may be killed at its n-th
change of a file, find the disk full from the n-th write on, or have another that writes beside it. After
each, the index, its copy and the folder of uploads are compared with what was accepted. Needs a C compiler.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import httpx
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from disputatio.api.asking import ask
from disputatio.api.indexing import Index
from disputatio.errors import InputError
from disputatio.llm.scripted import Scripted
from disputatio.store.record.check import check
from disputatio.types import Answer
from tests.store.stateful_processes import (
    COPY,
    DOCS,
    INDEX,
    MARK,
    UPLOADS,
    Embedder,
    Message,
    Process,
    Starter,
    reply,
)

TOPICS = ("red", "green", "blue")
FILES, ROWS, NAMES = 7, 12, ("a.txt", "b.txt", "ä.txt")
State = dict[str, str]  # a file, or a row of one, and the mark of its content
_files = st.lists(st.integers(0, FILES - 1), min_size=1, max_size=4, unique=True)
_names = st.lists(st.sampled_from(NAMES), min_size=1, max_size=2, unique=True)
_repeats = st.sampled_from((1, 3, 60))
_faults = st.one_of(
    st.just(("", 0)),
    st.tuples(st.sampled_from(("death", "full")), st.integers(0, 120)),
)
_topics = st.sampled_from(TOPICS)


def question(topic: str) -> str:
    return f"What is the mark of the {topic} ferry?"


def text_of(topic: str, mark: str, repeats: int) -> str:
    """Return a text of which every passage has the mark."""
    return f"The mark of the {topic} ferry is {mark}. " * repeats


class Wrong(AssertionError):
    """An invariant does not hold."""


class Machine(RuleBasedStateMachine):
    """An index with documents, a copy, a server with uploads; `starter` makes its processes."""

    starter: ClassVar[Starter]
    work: ClassVar[Path]
    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.root = Path(tempfile.mkdtemp(dir=self.work)).resolve()
        (self.root / DOCS).mkdir()
        self.there: State = {}
        self.copied: State | None = None
        self.gone: set[str] = set()  # ids of passages that were deleted
        self.seen: dict[str, str] = {}  # ids of passages, and the mark of each
        self.number = 0
        self.server: tuple[Process, httpx.Client] | None = None
        self.faulty = False  # the server may die, or find the disk full
        self.left = False  # an upload that was refused may still be in the folder
        self.changed = True
        self.vectors = False

    @initialize(vectors=st.booleans(), fault=_faults)
    def begin(self, vectors: bool, fault: tuple[str, int]) -> None:
        """Make the index: with vectors, or by keyword alone."""
        self.counts["runs"] += 1
        self.vectors = vectors
        self.ingest_files([0, 1, 2], 1, fault)

    def teardown(self) -> None:
        self.stop()
        shutil.rmtree(self.root, ignore_errors=True)

    # --- operations ---------------------------------------------------------------------------------
    @rule(files=_files, repeats=_repeats, fault=_faults)
    def ingest_files(self, files: list[int], repeats: int, fault: tuple[str, int]) -> None:
        """Add files, or replace them."""
        wanted = self.write(files, repeats)
        self.run("ingest", {**self.there, **wanted}, fault, names=sorted(wanted))

    @rule(rows=st.integers(1, ROWS), changed=st.integers(1, ROWS), fault=_faults)
    def ingest_rows(self, rows: int, changed: int, fault: tuple[str, int]) -> None:
        """Add a file of rows, or replace it by one with some rows changed, more, or fewer."""
        path = self.root / DOCS / "rows.jsonl"
        lines = path.read_text().splitlines()[:rows] if path.exists() else []
        for n in range(rows):
            if n >= len(lines) or n % ROWS < changed:
                text = text_of(TOPICS[n % 3], self.mark(), 1)
                lines[n : n + 1] = [json.dumps({"text": text, "source": f"row{n}"})]
        path.write_text("".join(line + "\n" for line in lines))
        wanted = {f"{DOCS}/rows.jsonl#{n + 1}": MARK.findall(line)[0] for n, line in enumerate(lines)}
        rest = {key: mark for key, mark in self.there.items() if "#" not in key}
        self.run("ingest", {**rest, **wanted}, fault, names=[f"{DOCS}/rows.jsonl"])

    @rule(fault=_faults)
    def ingest_folder(self, fault: tuple[str, int]) -> None:
        """Ingest the whole folder again: what was deleted or cut off comes back."""
        wanted = self.on_disk(DOCS)
        rest = {key: mark for key, mark in self.there.items() if "#" not in key}
        self.run("ingest", {**rest, **wanted}, fault, names=[DOCS])

    @rule(files=_files, by=st.sampled_from(("paths", "sources", "documents")), fault=_faults)
    def delete(self, files: list[int], by: str, fault: tuple[str, int]) -> None:
        """Delete files, by path, source or id; they stay in the folder."""
        names = [f"{DOCS}/d{n}.txt" for n in files]
        given = names
        if by == "sources":
            given = [f"d{n}" for n in files]
        elif by == "documents":
            given = [row.id for row in self.index().documents(text=False) if self.key(row) in names]
        left = {key: mark for key, mark in self.there.items() if key not in names}
        self.run("delete", left, fault, by=by, names=given)

    @rule(fault=_faults)
    def compact(self, fault: tuple[str, int]) -> None:
        self.run("compact", self.there, fault)

    @rule(fault=_faults)
    def repair(self, fault: tuple[str, int]) -> None:
        """Check and repair the index, in which nothing is damaged."""
        if (self.root / INDEX / "manifest.json").exists():
            told = self.run("check", self.there, fault)
            self.hold(not told["value"], f"damaged: {told['value']}")

    @rule(topic=_topics, fault=_faults)
    def calibrate(self, topic: str, fault: tuple[str, int]) -> None:
        if self.there:
            self.run("calibrate", self.there, fault, question=question(topic))

    @rule(fault=_faults)
    def sync(self, fault: tuple[str, int]) -> None:
        """Bring the copy to the state of the index."""
        if not (self.root / INDEX / "manifest.json").exists():
            return
        told = self.finish(self.start("sync", fault), "sync", fault)
        if told["outcome"] == "done":
            self.copied = dict(self.there)
        else:
            self.counts["sync cut short"] += 1
            if self.copied is None:
                return
            state = self.read(self.root / COPY)
            self.hold(state in (self.copied, self.there), "the copy is at no state of its index")
            self.copied = state

    @rule(first=_files, second=_files, uploads=st.booleans())
    def write_at_once(self, first: list[int], second: list[int], uploads: bool) -> None:
        """Two processes add different files at once, beside the server; a reader sees whole states only."""
        second = [n for n in second if n not in first] or [FILES]
        before = dict(self.there)
        changes = [self.write(first, 3), self.write(second, 3)]
        running = [self.start("ingest", ("", 0), names=sorted(wanted)) for wanted in changes]
        kind, wanted = "", State()
        if uploads:
            if self.server is None or self.faulty:
                self.serve(("", 0))
            kind, wanted = self.send(["c.txt"])
        allowed: dict[str, set[str | None]] = {key: {mark} for key, mark in before.items()}
        for change in (*changes, wanted):
            for key, mark in change.items():
                allowed.setdefault(key, {None}).add(mark)
        self.whole(self.read_now(), allowed)
        for process, change in zip(running, changes, strict=True):
            told = self.finish(process, "ingest beside another", ("", 0))
            self.hold(told["outcome"] in ("done", "busy"), told["said"])
            if told["outcome"] == "done":
                self.became({**self.there, **change})
        if kind == "done":
            self.became({**self.there, **wanted})
        self.hold(kind in ("", "done", "IndexBusy"), f"an upload beside others was {kind}")
        self.left = self.left or kind == "IndexBusy"

    # --- the server ---------------------------------------------------------------------------------
    @rule(fault=_faults)
    def serve(self, fault: tuple[str, int]) -> None:
        """Start the server, or end it as `kill -9` does and start it again."""
        self.stop()
        process = self.start("serve", fault, vectors=self.vectors)
        told = process.told()
        self.hold(told["outcome"] == "done", f"the server did not start: {told}")
        url = f"http://127.0.0.1:{told['port']}"
        self.server = process, httpx.Client(base_url=url, timeout=60, trust_env=False)
        self.faulty, self.left = bool(fault[0]), False
        self.counts["server starts"] += 1

    def stop(self) -> None:
        if self.server is not None:
            process, client = self.server
            client.close()
            process.kill()
            self.server = None

    @rule(names=_names, fault=_faults)
    def upload(self, names: list[str], fault: tuple[str, int]) -> None:
        """Upload files to the server, which may die or find the disk full meanwhile."""
        if self.server is None or fault[0]:
            self.serve(fault)
        kind, wanted = self.send(names)
        after = {**self.there, **wanted}
        if kind == "done":
            self.left = False
            self.became(after)
            return
        self.hold(self.faulty, f"an upload was {kind}")
        self.serve(("", 0))  # which ends what was cut off
        self.resolve(self.there, after)

    def send(self, names: Sequence[str]) -> tuple[str, State]:
        """Send an upload, and wait for its job; return "done" or the kind of its fault, and its marks."""
        assert self.server is not None
        wanted = {f"{UPLOADS}/{name}": self.mark() for name in names}
        contents = (text_of("green", mark, 1).encode() for mark in wanted.values())
        files = [("files", file) for file in zip(names, contents, strict=True)]
        try:
            response = self.server[1].post("/api/ingest", files=files)
            job = response.json()
            while response.status_code == 202 and job["state"] == "running":
                time.sleep(0.02)
                job = self.server[1].get(f"/api/jobs/{job['id']}").json()
            kind = str(job["error"]["kind"] if job.get("error") else job["state"])
            if kind == "done" and job["result"]["refused"]:
                kind = f"refused: {job['result']['refused']}"
        except httpx.TransportError:
            kind = "died"
        self.counts[f"upload: {kind}"] += 1
        return kind, wanted

    @rule(name=st.sampled_from(NAMES))
    def remove_upload(self, name: str) -> None:
        """Remove an uploaded file, and its documents."""
        path = self.root / UPLOADS / name
        if f"{UPLOADS}/{name}" in self.there:
            left = {key: mark for key, mark in self.there.items() if key != f"{UPLOADS}/{name}"}
            self.run("delete", left, ("", 0), by="paths", names=[f"{UPLOADS}/{name}"])
            path.unlink()

    # --- questions ----------------------------------------------------------------------------------
    @rule(topic=_topics)
    def ask_here(self, topic: str) -> None:
        """Ask over the index that has been open all along."""
        if self.there:
            model = Scripted(reply, choices=lambda _: {"Yes": 0.9, "No": 0.1}, name="script")
            options = {"journal": "none", "encoder": "none"}
            answer = ask(question(topic), index=self.index(), model=model, settings=options)
            self.cited(answer.to_dict())

    @rule(topic=_topics)
    def ask_the_server(self, topic: str) -> None:
        if self.server is not None and self.there and not self.faulty:
            response = self.server[1].post("/api/ask", json={"question": question(topic)})
            self.hold(response.status_code == 200, response.text[:300])
            self.cited(response.json())

    def cited(self, answer: Mapping[str, Any]) -> None:
        """Check that an answer rests on what is there."""
        self.counts["questions"] += 1
        live = set(self.there.values())
        said = json.dumps([answer[part] for part in ("answers", "text", "claims", "passages", "conflict")])
        old = set(MARK.findall(said)) - live
        self.hold(not old, f"an answer cites what is gone: {old}")
        cited = {citation["passage"] for claim in answer["claims"] for citation in claim["citations"]}
        self.counts["citations"] += len(cited)
        self.hold(not cited & self.gone, "an answer cites a passage that is gone")
        self.hold(Answer.from_dict(dict(answer)) is not None, "an answer that cannot be read")

    # --- invariants ---------------------------------------------------------------------------------
    @invariant()
    def what_was_accepted_is_there_and_nothing_else(self) -> None:
        if not self.changed:
            return
        self.changed = False
        self.counts["comparisons"] += 1
        state = self.read_now()
        self.hold(state == self.there, f"there is {differences(state, self.there)}")
        uploads = {key: mark for key, mark in self.there.items() if key.startswith(UPLOADS)}
        if not self.faulty:
            on_disk = self.on_disk(UPLOADS)
            if self.left:  # the index was busy, so that it could not be undone: the next job or start does
                on_disk = {key: mark for key, mark in on_disk.items() if key in uploads}
            self.hold(on_disk == uploads, f"in the folder is {differences(on_disk, uploads)}")
        if (self.root / INDEX / "manifest.json").exists():
            damaged = check(self.root / INDEX, repair=False).damaged
            self.hold(not damaged, f"damaged: {damaged}")
        if self.copied is not None:
            self.hold(self.read(self.root / COPY) == self.copied, "the copy is not what was synced")
            damaged = check(self.root / COPY, repair=False).damaged
            self.hold(not damaged, f"the copy is damaged: {damaged}")
        index = self.index()
        index.estimates()
        for passage in sorted(self.gone)[:20]:
            try:
                index.passage(passage)
            except InputError:
                continue
            self.hold(False, f"the passage {passage} is still to be had")

    # --- steps --------------------------------------------------------------------------------------
    def mark(self) -> str:
        self.number += 1
        return f"m{self.number:05d}"

    def write(self, files: Sequence[int], repeats: int) -> State:
        """Write files anew, and return their marks."""
        wanted = {f"{DOCS}/d{n}.txt": self.mark() for n in files}
        for n, (name, mark) in zip(files, wanted.items(), strict=True):
            (self.root / name).write_text(text_of(TOPICS[n % 3], mark, repeats))
        return wanted

    def on_disk(self, folder: str) -> State:
        """Return the marks of the files of a folder."""
        marks: State = {}
        for path in sorted((self.root / folder).glob("*")):
            if path.is_file() and not path.name.startswith("."):
                found = [MARK.findall(line)[0] for line in path.read_text().splitlines()]
                if path.suffix == ".jsonl":
                    marks |= {f"{folder}/{path.name}#{n + 1}": mark for n, mark in enumerate(found)}
                else:
                    marks[f"{folder}/{path.name}"] = found[0]
        return marks

    def start(self, operation: str, fault: tuple[str, int], **given: Any) -> Process:
        kind, place = fault
        if operation not in ("sync", "check"):
            given["vectors"] = self.vectors
        faults = {kind: place} if kind else {}
        return self.starter.start(operation, self.root, **faults, **given)

    def finish(self, process: Process, operation: str, fault: tuple[str, int]) -> Message:
        """Return what became of an operation."""
        told = process.told()
        process.close()
        self.counts[f"{operation}: {told['outcome']}"] += 1
        self.hold(told["outcome"] != "traceback", told["said"])
        self.hold(told["outcome"] != "died" or fault[0] == "death", f"{operation} died by itself")
        self.changed = True
        return told

    def run(self, operation: str, after: State, fault: tuple[str, int], **given: Any) -> Message:
        """Run an operation that leads to a state, or is cut off on its way."""
        told = self.finish(self.start(operation, fault, **given), operation, fault)
        if told["outcome"] == "done":
            self.hold(not (told["value"] or {}).get("refused") if operation == "ingest" else True, str(told))
            self.became(after)
        else:
            self.hold(bool(fault[0]), f"{operation} failed: {told['said']}")
            self.resolve(self.there, after)
        return told

    def became(self, state: State) -> None:
        self.changed = True
        marks = set(state.values())
        self.gone = {passage for passage, mark in self.seen.items() if mark not in marks}
        self.counts["documents accepted"] += len(set(state.values()) - set(self.there.values()))
        self.there = state

    def resolve(self, before: State, *after: State) -> None:
        """After an operation that was cut off: each document is as before it, or as it would be after it."""
        with self.index().open_writer():
            pass  # a commit that the kill kept from the readers is shown by the next writer
        state = self.read_now()
        allowed = {key: {one.get(key) for one in (before, *after)} for key in {*before, *state}.union(*after)}
        self.whole(state, allowed)
        self.counts[
            "cut off, nothing of it there" if state == before else "cut off, some or all of it there"
        ] += 1
        self.became(state)

    def whole(self, state: State, allowed: Mapping[str, set[str | None]]) -> None:
        for key, marks in allowed.items():
            self.hold(state.get(key) in marks, f"{key} is {state.get(key)}, not one of {marks}")

    def index(self) -> Index:
        """Return the index, open since the beginning as in a long-lived process."""
        if not hasattr(self, "_index"):
            self._index = Index.open(self.root / INDEX, embedder=Embedder() if self.vectors else "none")
        return self._index

    def key(self, document: Any) -> str:
        path = Path(document.path).relative_to(self.root)
        return f"{path}#{document.row}" if path.suffix == ".jsonl" else str(path)

    def read_now(self) -> State:
        return self.read(self.root / INDEX, self.index())

    def read(self, path: Path, index: Index | None = None) -> State:
        """Return what an index holds: documents and passages must say the same."""
        index = index or Index.open(path, create=False, embedder=Embedder() if self.vectors else "none")
        commit, rows, hits = -1, list[Any](), list[Any]()
        while commit != index.info().commit:  # else another process has committed between the two
            commit = index.info().commit
            rows = index.documents()
            hits = index.search("the mark of the ferry", k=1_000) if rows else []
        state = {self.key(row): MARK.findall(row.text)[0] for row in rows}
        self.hold(len(state) == len(rows), "a document is there twice")
        self.hold(
            all(set(MARK.findall(row.text)) == {state[self.key(row)]} for row in rows), "a mixed document"
        )
        searched = {hit.passage.id: MARK.findall(hit.passage.text)[0] for hit in hits}
        beside = set(searched.values()) ^ set(state.values())
        self.hold(not beside, f"a search gives {beside} beside the documents")
        if path.name == INDEX:
            self.seen |= searched
        return state

    def hold(self, condition: bool, words: str) -> None:
        if not condition:
            raise Wrong(words)


def differences(state: State, wanted: State) -> str:
    """Return where two states differ.

    >>> differences({"a": "m1"}, {"a": "m2"})
    "{'a': ('m1', 'm2')}"
    """
    keys = sorted({*state, *wanted})
    return str({key: (state.get(key), wanted.get(key)) for key in keys if state.get(key) != wanted.get(key)})


@contextmanager
def processes() -> Iterator[None]:
    """Start what the machine's processes are forked from."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        Machine.starter, Machine.work = Starter(Path(folder)), Path(folder, "work")
        try:
            yield
        finally:
            Machine.starter.close()


def run(number: int, examples: int, steps: int, *, shrink: bool = True) -> None:
    """Run the machine some times; raises what it finds, with the fewest steps that lead to it."""
    phases = [Phase.generate, *([Phase.shrink] if shrink else [])]
    chosen = settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=phases,
        print_blob=False,
        report_multiple_bugs=False,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(seed(number)(Machine), settings=chosen)
