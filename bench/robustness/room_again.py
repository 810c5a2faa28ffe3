"""A server whose disk is full again and again: what clients are told, and does the first request with room succeed?

    python -m bench.robustness.room_again --times 200

The server logs its questions, keeps its answers and calls in files, and takes uploads. Each time the disk is full from
some write on, questions are asked, a document is uploaded and an owner set; then there is room again, and the first
request of each kind has to succeed, its answer to be there, and every line of the log to be whole. Needs a C compiler
(see `bench.lib.faulty_disk`).
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from bench.lib import faulty_disk
from bench.lib.options import parser_of


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--times", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--below", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.below:
        json.dump(
            _soak(Path(options.below), options.times, random.Random(options.seed)), sys.stdout, indent=1
        )
        print()
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        root = folder / "disk"
        root.mkdir()
        library = faulty_disk.build(folder)
        command = [sys.executable, "-m", "bench.robustness.room_again", "--below", str(root)]
        command += ["--times", str(options.times), "--seed", str(options.seed)]
        environment = faulty_disk.environment(library, root) | {"TMPDIR": str(root)}
        raise SystemExit(subprocess.run(command, env=environment, check=False).returncode)


def _soak(root: Path, times: int, draw: random.Random) -> dict[str, Any]:
    import httpx

    from bench.lib.waiting import NAMES, Waiting, ferries, question
    from disputatio.config import read_settings
    from disputatio.kit import Kit
    from disputatio.llm.cached_llm import CachedLLM
    from disputatio.llm.call_cache import CallCache
    from disputatio.server.app import create_app
    from disputatio.server.connections import open_listener, port_of, server_of
    from disputatio.server.options import Access, StorageOptions
    from disputatio.server.service import Service

    model = CachedLLM(Waiting(0.0), CallCache(root / "calls.sqlite"), engine="waiting")
    service = Service(
        kit=Kit(model=model),
        index=ferries(root),
        settings=read_settings(model="scripted:", journal="none", encoder="none", embedder="none"),
        access=Access(writing=True),
        keeping=StorageOptions(
            answers=root / "answers.sqlite", uploads=root / "uploads", audit=root / "audit.log"
        ),
    )
    listener = open_listener("127.0.0.1", 0)
    server = server_of(create_app(service), service.limits)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    full: Counter[str] = Counter()
    again: Counter[str] = Counter()
    with httpx.Client(base_url=f"http://127.0.0.1:{port_of(listener)}", timeout=60) as client:

        def ask(number: int) -> str:
            reply = client.post("/api/ask", json={"question": question(draw.choice(NAMES)) + " " * number})
            kept = reply.headers.get("content-location")
            if reply.status_code != 200:
                return str(reply.status_code)
            if kept is None:
                return "200, not kept and said so"
            return "200" if client.get(kept).status_code == 200 else "200, and its address leads nowhere"

        def upload(number: int) -> str:
            files = [("files", (f"{number % 7}.txt", os.urandom(40_000).hex().encode()))]
            reply = client.post("/api/ingest", files=files)
            if reply.status_code != 202:
                return str(reply.status_code)
            while (job := client.get(f"/api/jobs/{reply.json()['id']}").json())["state"] == "running":
                time.sleep(0.01)
            return f"202, job {job['state']}" + (f" ({job['error']['kind']})" if job["error"] else "")

        def own(number: int) -> str:
            path = f"/api/sources/{draw.choice(('museum', 'almanac', 'buzz'))}.example"
            return str(client.patch(path, json={"owner": f"owner {number}"}).status_code)

        acts = {"ask": ask, "upload": upload, "owner": own}
        for act in (*acts.values(), ask):
            act(0)
        for number in range(1, times + 1):
            faulty_disk.fill(draw.randrange(25))
            for name in draw.choices(list(acts), k=4):
                full[f"{name}: {acts[name](number)}"] += 1
            faulty_disk.fill(-1)
            for name in draw.sample(list(acts), 3):
                again[f"{name}: {acts[name](number + times)}"] += 1
    server.should_exit = True
    thread.join(30)
    lines = (root / "audit.log").read_bytes().split(b"\n")
    whole = lines[-1] == b"" and all(isinstance(json.loads(line), dict) for line in lines[:-1])
    return {
        "times": times,
        "full disk": dict(sorted(full.items())),
        "first with room": dict(sorted(again.items())),
        "lines of the log": len(lines) - 1,
        "all whole": whole,
    }


if __name__ == "__main__":
    main()
