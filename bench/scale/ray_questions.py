"""Questions an hour of `eval run --ray` with an endpoint that waits, by workers and questions in flight.

    python -m bench.scale.ray_questions --workers 1,2 --in-flight 64 --wait 6 --rounds 5
    python -m bench.scale.ray_questions --workers 1,2 --in-flight 256 --wait 6 --rounds 4

The endpoint is a process of its own on this machine: it takes every call at once, waits so many seconds and gives one and the same reply, so that what the
plumbing costs shows. Questions are made; the strategy is `closed_book`, one call each; each setting asks `--rounds` times as many questions as are in
flight, with a journal of calls and records on disk. `most` is what the endpoint allows: workers times in flight over the wait. The rate is of the
questions after the first wave (as many as are in flight), so that starting the workers and opening connections are apart (`start`: until the first record).
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import resource
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import RESULTS
from bench.lib.files import read_json, write_json
from bench.lib.machine import machine
from bench.lib.options import parser_of

FIGURES = RESULTS / "scale" / "ray_questions.json.gz"
_REPLY = json.dumps({"explanation": "It is known.", "answers": ["Paris"]})


def _body(streamed: bool) -> bytes:
    """Return a reply, whole or as events."""
    usage = {"prompt_tokens": 50, "completion_tokens": 12, "total_tokens": 62}
    about = {"id": "c", "created": 1, "model": "waiting"}
    if not streamed:
        message = {"role": "assistant", "content": _REPLY}
        choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
        return json.dumps({**about, "object": "chat.completion", "choices": choices, "usage": usage}).encode()
    events: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": _REPLY}, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": usage},
    ]
    lines = [json.dumps({**about, "object": "chat.completion.chunk", **event}) for event in events]
    return "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, wait: float) -> None:
    """Answer the calls of one connection."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            length = next(
                int(line.split(b":")[1])
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            )
            asked = json.loads(await reader.readexactly(length))
            await asyncio.sleep(wait)
            streamed = bool(asked.get("stream"))
            body, kind = _body(streamed), "text/event-stream" if streamed else "application/json"
            writer.write(
                f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


def serve(port: Any, wait: float) -> None:
    """Serve the endpoint; its port is sent once it listens."""

    async def listen() -> None:
        server = await asyncio.start_server(
            lambda reader, writer: _answer(reader, writer, wait), "127.0.0.1", 0, backlog=4096
        )
        port.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(listen())


def measured(workers: int, in_flight: int, wait: float, rounds: int) -> dict[str, Any]:
    """Return the figures of one setting; `workers` of 0 asks in this process."""
    from disputatio.eval.evaluate import evaluate
    from disputatio.types import Example

    count = rounds * max(workers, 1) * in_flight
    examples = [
        Example(id=f"x{n}", row=n, question=f"What is the capital of land {n}?", gold=("Paris",))
        for n in range(count)
    ]
    recorded: list[float] = []
    begun, spent = time.perf_counter(), time.process_time()
    with tempfile.TemporaryDirectory(prefix="ray-questions-") as work:
        results = evaluate(
            examples,
            "closed_book",
            model="openai:waiting",
            out=Path(work) / "out",
            in_flight=in_flight,
            ray="local" if workers else None,
            workers=workers or None,
            journal=Path(work) / "calls.sqlite",
            on_record=lambda _: recorded.append(time.perf_counter()),
        )
        failed = sum(entry.state != "done" for entry in results.records)
    wave = in_flight * max(workers, 1)  # the first one ends when workers and connections are there
    seconds = recorded[-1] - recorded[wave - 1]
    rate = (len(recorded) - wave) / seconds
    return {
        "workers": workers,
        "in_flight": in_flight,
        "wait": wait,
        "questions": len(recorded),
        "failed": failed,
        "start": round(recorded[0] - begun, 1),
        "seconds": round(seconds, 1),
        "an_hour": round(3600 * rate),
        "most_an_hour": round(3600 * max(workers, 1) * in_flight / wait),
        "driver_cpu_ms": round(1000 * (time.process_time() - spent) / count, 2),
    }


def main() -> None:
    """Measure each setting, and keep the figures."""
    parser = parser_of(__doc__)
    parser.add_argument("--workers", default="1,2", help="0 asks in the driver's process, without Ray")
    parser.add_argument("--in-flight", default="64,256")
    parser.add_argument("--wait", type=float, default=6.0)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 8192), hard), hard))
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    server = context.Process(target=serve, args=(theirs, arguments.wait), daemon=True)
    server.start()
    os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{ours.recv()}/v1"
    os.environ["OPENAI_API_KEY"] = "none"
    os.environ["DISPUTATIO_IN_FLIGHT"] = "1024"
    try:
        for in_flight in map(int, arguments.in_flight.split(",")):
            for workers in map(int, arguments.workers.split(",")):
                figures = measured(workers, in_flight, arguments.wait, arguments.rounds)
                print(json.dumps(figures), flush=True)
                results = read_json(FIGURES) if FIGURES.exists() else {}
                results[f"{in_flight:04d}-{workers}-{arguments.wait:g}"] = {
                    **figures,
                    "date": time.strftime("%Y-%m-%d"),
                }
                write_json(FIGURES, results)
                FIGURES.with_name("ray_questions.md").write_text(page(results), encoding="utf-8")
    finally:
        server.kill()


def page(results: dict[str, Any]) -> str:
    """Return the page in Markdown."""
    rows = [results[name] for name in sorted(results)]
    lines = [
        "# Questions an hour on Ray",
        "",
        f"Machine: {machine()}, {rows[-1]['date']}; nothing else ran. The endpoint is on the same two cores: it takes every call at once and waits; what it",
        "allows is `most`. Made questions, `closed_book`, one call each, a journal of calls. `start`: seconds until the first answer. The rate is of the questions",
        "after the first wave (as many as are in flight). `driver`: processor time of the driver's process for each question, starting included.",
        "",
        "    python -m bench.scale.ray_questions --workers 1,2 --in-flight 64 --wait 6 --rounds 5",
        "    python -m bench.scale.ray_questions --workers 1,2 --in-flight 256 --wait 6 --rounds 4",
        "",
        "| in flight, each worker | wait, s | workers | questions | failed | start | an hour | most | over one | driver, ms |",
        "|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|",
    ]
    for one in rows:
        single = next(
            (
                row
                for row in rows
                if row["workers"] == 1 and (row["in_flight"], row["wait"]) == (one["in_flight"], one["wait"])
            ),
            None,
        )
        over = f"{one['an_hour'] / single['an_hour']:.2f}" if single and one["workers"] else "-"
        lines.append(
            f"| {one['in_flight']} | {one['wait']:g} | {one['workers'] or 'none: local'} | {one['questions']:,} | {one['failed']} | {one['start']:g} | {one['an_hour']:,} | {one['most_an_hour']:,} | {over} | {one['driver_cpu_ms']:g} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    main()
