"""Compare our engine (OpenVINO) with llama.cpp's server: the same model file, prompts, schema and threads.

    make peers                                                          # llama.cpp's server in .venv-peers
    python -m bench.engine.llama --out cells.jsonl [--data ../shared/data] [--minutes 5]

Each cell is an engine with a number of threads beside a number of processes that only count. It reads two questions of
RAMDocs and the demo's third question as the default strategy has them read, one after the other; then a question of
RAMDocs with one new token (prompt tokens a second), and the same again (new tokens a second, its prompts being cached). The
cells that `--out` has not are measured until the minutes are over; the page has all. `auto` is the number of threads that
the engine chooses itself. Core-seconds are those of the engine's process.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any
from unittest import mock

import disputatio as d
from bench import RESULTS
from bench.lib.asking import say, table
from bench.lib.files import add_lines, read_lines, write_page
from bench.lib.options import parser_of
from bench.lib.waiting import neighbours, spent
from bench.verdict.corpora import ramdocs
from disputatio.cli.demo import examples
from disputatio.config import read_settings
from disputatio.llm import catalogue, cores, local
from disputatio.llm.connection import Connection
from disputatio.llm.endpoint import Endpoint
from disputatio.llm.scripted import Call, Scripted
from disputatio.parts import build_kit
from disputatio.pipeline import ask
from disputatio.protocols import LLM, Retriever
from disputatio.store.in_memory import InMemory
from disputatio.trace import total_usage
from disputatio.types import Message, Prompt, Sampling

PAGE = RESULTS / "engine" / "llama.md"
PEERS = Path(".venv-peers/bin/python")
OURS, LLAMA, AVX2 = "OpenVINO", "llama.cpp", "OpenVINO, AVX2 with VNNI"
# The engine, its threads (0: as it chooses), and its busy neighbours; what matters most comes first.
CELLS = [
    *((engine, 1, busy) for busy in (0, 1) for engine in (OURS, LLAMA)),
    *((OURS, 0, busy) for busy in (0, 1)),
    *((engine, 2, busy) for busy in (0, 1) for engine in (OURS, LLAMA)),
    *((AVX2, 1, busy) for busy in (0, 1)),
    *((engine, threads, 2) for threads in (1, 2) for engine in (OURS, LLAMA)),
    (OURS, 0, 2),
]
DEMO, ALONE = "demo 3", "alone"
NAMES = ("ramdocs 1", "ramdocs 2", ALONE)
WARM = Prompt(messages=(Message(role="user", content="Say yes."),))


def readings(question: str, retriever: Retriever) -> list[Call]:
    """Return the calls by which the default strategy has the passages of a question read."""
    model = Scripted(lambda _: '{"answer": ""}')
    kit = build_kit(read_settings(model="none", journal="none"), model=model, retriever=retriever)
    ask(question, kit=replace(kit, trained=model))
    return [call for call in model.calls if call.sampling is not None]


def questions(data: Path) -> dict[str, list[Call]]:
    """Return the readings of the questions by their names."""
    third = json.loads((examples() / "questions.json").read_text(encoding="utf-8"))[2]["question"]
    rows = ramdocs(data).to_report()
    calls = {
        name: readings(row.question, InMemory(row.passages)) for name, row in zip(NAMES, rows, strict=False)
    }
    with tempfile.TemporaryDirectory() as folder:
        index = d.Index.open(Path(folder) / "demo.index", embedder="none")
        index.ingest(examples() / "disagreement" / "sources")
        return calls | {DEMO: readings(third, index)}


def model_file() -> Path:
    """Return the GGUF file of the default model."""
    path = catalogue.path(catalogue.DEFAULT_MODEL)
    return path if path.is_file() else next(path.glob("*.gguf"))


@contextmanager
def ours(threads: int) -> Iterator[tuple[LLM, int]]:
    """Start our engine with so many threads (0: as it chooses); the model, and the number of its process."""
    f32 = "ONEDNN_MAX_CPU_ISA" in os.environ  # in bf16 it fails where its kernels are held to less
    start = (
        "import sys; from disputatio.llm import embedded as e; before = e.settings_of; "
        f"e.threads_now = lambda *_: {threads}; more = {{'INFERENCE_PRECISION_HINT': 'f32'}} if {f32} else {{}}; "
        "e.settings_of = lambda threads: {**before(threads), **more}; e.main(*sys.argv[1:])"
    )
    command = ("-P", "-c", start) if threads else local._COMMAND
    model = local.Local(catalogue.DEFAULT_MODEL, model_file, cache=catalogue.cache_folder())
    engines: dict[Any, local._Process] = {}
    with mock.patch.object(local, "_COMMAND", command), mock.patch.object(local, "_ENGINES", engines):
        model.complete([WARM], Sampling(max_tokens=1))
        [engine] = engines.values()
        try:
            yield model, engine._process.pid
        finally:
            engine.end()


@contextmanager
def llama(threads: int) -> Iterator[tuple[LLM, int]]:
    """Start llama.cpp's server with so many threads; the model, and the number of its process."""
    worker = Path(__file__).with_name("llama_worker.py")
    words = [str(PEERS), str(worker), str(model_file()), str(threads)]
    with subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as server:
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            line = Connection("m", base_url=f"{address}/v1", api_key="none")
            with Endpoint(line, kind="llama.cpp") as endpoint:
                endpoint.capabilities()
                yield endpoint, server.pid
        finally:
            server.kill()


def busy_seconds() -> float:
    """Return the seconds that the processor has worked, for whomever."""
    words = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()
    return sum(int(words[at]) for at in (1, 2, 3, 6, 7, 8)) / os.sysconf("SC_CLK_TCK")


def run(model: LLM, process: int, calls: Sequence[Call], most: int = 0) -> dict[str, Any]:
    """Have the calls answered in one batch, and return what that took; `most` new tokens a call, if given."""
    sampling = calls[0].sampling or Sampling()
    sampling = replace(sampling, max_tokens=most) if most else sampling
    began, used = time.perf_counter(), spent(process)
    done = model.complete([call.prompt for call in calls], sampling)
    seconds, used = time.perf_counter() - began, spent(process) - used
    usage = asdict(total_usage([each.usage for each in done]))
    return {**usage, "seconds": seconds, "core_seconds": used, "replies": [each.text for each in done]}


def measure(engine: str, threads: int, busy: int, asked: dict[str, list[Call]]) -> dict[str, Any]:
    """Return the figures of a cell."""
    isa = {"ONEDNN_MAX_CPU_ISA": "AVX2_VNNI"} if engine == AVX2 else {}
    with neighbours(busy), mock.patch.dict(os.environ, isa):
        time.sleep(0.5)
        chosen = threads or cores.threads_now(catalogue.cache_folder())
        with (llama if engine == LLAMA else ours)(threads) as (model, process):
            began, all_busy, own = time.perf_counter(), busy_seconds(), spent(process)
            cell = {name: run(model, process, calls) for name, calls in asked.items() if name != ALONE}
            cell["prompt"] = run(model, process, asked[ALONE], 1)
            cell["new"] = run(model, process, asked[ALONE])
            wall = time.perf_counter() - began
            others = (busy_seconds() - all_busy - (spent(process) - own)) / wall
    about = {"engine": engine, "threads": threads, "chosen": chosen, "busy": busy, "others": others}
    return about | {"date": time.strftime("%Y-%m-%d"), "runs": cell}


def row_of(cell: dict[str, Any]) -> list[object]:
    """Return a row of the table."""
    runs = cell["runs"]
    rest = [runs[name] for name in ("ramdocs 1", "ramdocs 2")]
    prompt, new = runs["prompt"], runs["new"]
    fresh = prompt["prompt_tokens"] - prompt["cached_tokens"]
    threads = str(cell["threads"] or f"auto: {cell['chosen']}")
    return [
        cell["engine"], threads, cell["busy"], f"{cell['others']:.1f}",
        f"{fresh / prompt['seconds']:.0f}", f"{fresh / prompt['core_seconds']:.0f}", f"{new['completion_tokens'] / new['seconds']:.1f}",
        f"{sum(each['seconds'] for each in rest) / 2:.1f}", f"{sum(each['core_seconds'] for each in rest) / 2:.1f}",
        f"{runs[DEMO]['seconds']:.1f}", f"{runs[DEMO]['core_seconds']:.1f}",
    ]  # fmt: skip


HEAD = (
    *(
        "engine",
        "threads",
        "counting beside",
        "cores that others took",
        "prompt tokens/s",
        "a core-second",
        "new tokens/s",
    ),
    *("RAMDocs question, s", "core-s", "demo's third, s", "core-s"),
)


def main(words: Sequence[str] | None = None) -> None:
    """Measure what is missing, and write the page."""
    options = parser_of(__doc__)
    options.add_argument("--out", type=Path, required=True)
    options.add_argument("--data", type=Path, default=Path("../shared/data"))
    options.add_argument("--minutes", type=float, default=5.0)
    options.add_argument("--page", type=Path, default=PAGE)
    chosen = options.parse_args(words)
    cells = {(cell["engine"], cell["threads"], cell["busy"]): cell for cell in read_lines(chosen.out)}
    began, asked = time.monotonic(), questions(chosen.data)
    for key in CELLS:
        if key in cells or time.monotonic() - began > 60 * chosen.minutes:
            continue
        cells[key] = measure(*key, asked)
        add_lines(chosen.out, [cells[key]])
        say(" ".join(map(str, row_of(cells[key]))))
    write_page(chosen.page, page([cells[key] for key in CELLS if key in cells], asked))


def page(cells: Sequence[dict[str, Any]], asked: dict[str, list[Call]]) -> str:
    """Return the page."""
    by_key = {(cell["engine"], cell["threads"], cell["busy"]): cell for cell in cells}
    sizes = ", ".join(f"{name}: {len(calls)} readings" for name, calls in asked.items())
    return f"""# Our engine and llama.cpp's, on the same prompts

`python -m bench.engine.llama --out cells.jsonl`, {cores.processor()}, {os.cpu_count()} cores with AVX-512, Python {platform.python_version()}, {", ".join(sorted({cell["date"] for cell in cells}))}.

{local.engine_name()} and xllamacpp (llama.cpp's server, {version_of_peer()}), both with {model_file().name}, greedy, held to the schema of the default strategy's readings ({sizes}).

{table(HEAD, [row_of(cell) for cell in cells])}

{slower(by_key)}
"""


def slower(cells: dict[tuple[str, int, int], dict[str, Any]]) -> str:
    """Return how many times slower an engine is beside neighbours, over all questions of a cell."""

    def seconds(cell: dict[str, Any]) -> float:
        return sum(float(each["seconds"]) for each in cell["runs"].values())

    rows = [
        [engine, threads or "auto", busy, f"{seconds(cell) / seconds(cells[engine, threads, 0]):.2f}"]
        for (engine, threads, busy), cell in cells.items()
        if busy and (engine, threads, 0) in cells
    ]
    head = ("engine", "threads", "counting beside", "times slower than with none")
    return table(head, rows)


def version_of_peer() -> str:
    """Return the version of the package with llama.cpp's server."""
    code = "from importlib.metadata import version; print(version('xllamacpp'))"
    return subprocess.run([PEERS, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
