"""Check that memory, descriptors and threads of the server stay flat over thousands of mixed requests, and no answer is lost.

    python -m bench.serve.soak

People ask (at once, as events, some leave half-way, some stop), search, read passages, ask what if, list sources, and
upload a document now and then. The model waits no time, so that the server is what is measured. After each tenth of
the requests the process is looked at; at the end every answer that was given is fetched by its permalink.
"""

from __future__ import annotations

import platform
import random
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import httpx

from bench import RESULTS
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import NAMES, ferries, process, question, resident

PAGE = RESULTS / "serve" / "soak.md"
STREAM = {"Accept": "text/event-stream"}


def one(client: httpx.Client, draw: random.Random, kept: list[str]) -> str:
    """Return one thing that a person does, and what came of it."""
    text = question(draw.choice(NAMES))
    kind = draw.choices(
        ("ask", "stream", "leave", "stop", "search", "passage", "if", "sources", "upload"),
        (30, 20, 3, 3, 20, 10, 8, 5, 1),
    )[0]
    if kind == "ask":
        response = client.post("/api/ask", json={"question": text})
        if response.status_code == 200:
            kept.append(response.headers["content-location"])
        return f"ask {response.status_code}"
    if kind in ("stream", "leave", "stop"):
        with client.stream("POST", "/api/ask", json={"question": text}, headers=STREAM) as response:
            for line in response.iter_lines():
                if kind == "leave":
                    break
                if kind == "stop" and '"id"' in line:
                    client.delete("/api/ask/" + line.partition('"id": "')[2][:25])
            return f"{kind} {response.status_code}"
    if kind == "if" and kept:
        body = {"sources": ["buzz.example"]}
        return f"what if {client.post(draw.choice(kept) + '/without', json=body).status_code}"
    if kind == "upload":
        files = [("files", (f"{draw.randrange(20)}.txt", text.encode()))]
        return f"upload {client.post('/api/ingest', files=files).status_code}"
    if kind == "passage":
        hits = client.get("/api/search", params={"q": text, "k": 1}).json()
        return f"passage {client.get('/api/passages/' + hits[0]['passage']['id']).status_code}"
    path = "/api/sources" if kind == "sources" else "/api/search"
    return f"{kind} {client.get(path, params={'q': text}).status_code}"


def look(process_id: int) -> tuple[float, int, int]:
    """Resident megabytes, open descriptors, threads."""
    folder = Path(f"/proc/{process_id}")
    return resident(process_id), len(list((folder / "fd").iterdir())), len(list((folder / "task").iterdir()))


def main(arguments: Sequence[str] | None = None) -> None:
    """Soak and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--requests", type=int, default=4_000)
    parser.add_argument("--people", type=int, default=8)
    options = parser.parse_args(arguments)
    ends: Counter[str] = Counter()
    kept: list[str] = []
    rows = []
    with tempfile.TemporaryDirectory() as name:
        ferries(Path(name))
        with process(["-m", "bench.serve.serving_worker", name, "0"]) as (serving, url):
            began = time.monotonic()
            tenth = options.requests // 10
            rows.append((0, *look(serving.pid)))
            for part in range(10):

                def person(number: int, part: int = part) -> None:
                    draw = random.Random(100 * part + number)
                    with httpx.Client(base_url=url, timeout=120) as client:
                        for _ in range(tenth // options.people):
                            ends[one(client, draw, kept)] += 1

                people = [threading.Thread(target=person, args=(number,)) for number in range(options.people)]
                for each in people:
                    each.start()
                for each in people:
                    each.join()
                rows.append((sum(ends.values()), *look(serving.pid)))
                print(rows[-1], flush=True)
            seconds = time.monotonic() - began
            with httpx.Client(base_url=url, timeout=60) as client:
                lost = sum(client.get(address).status_code != 200 for address in kept)
    questions = sum(
        count for end, count in ends.items() if end.split()[0] in ("ask", "stream", "leave", "stop")
    )
    table = "\n".join(
        f"| {done:,} | {memory:,.0f} | {files} | {threads} |" for done, memory, files, threads in rows
    )
    write_page(
        PAGE,
        f"""# Thousands of mixed requests

`python -m bench.serve.soak --requests {options.requests} --people {options.people}`, {platform.machine()}, {time.strftime("%Y-%m-%d")}: {sum(ends.values()):,} requests, {questions:,} of them questions, in {seconds:.0f} s.

| requests | resident MB | descriptors | threads |
|--:|--:|--:|--:|
{table}

{len(kept):,} answers were given with a permalink; {lost} of them could not be fetched at the end. What came of the requests: {", ".join(f"{end}: {count:,}" for end, count in sorted(ends.items()))}
(an upload is 409 while another one is under way; what if is 400 where the source that is left out was not found for that answer, which uploads change).
A finished question stays for 60 s, so that clients can return to it: memory rises over the first minute, by what is asked in one.
""",
    )


if __name__ == "__main__":
    main()
