"""Fuzzed requests: schemathesis over the API's description, and raw ones; no untyped fault, no hang, no secret.

    python -m bench.serve.fuzz

The server is the command line's own, with a script for a model. Its environment, its token and the paths of its
files hold canaries: words that no response, metric, message or file of answers may contain. Raw requests have
odd methods, addresses, headers and bodies, on connections of their own. After all of them a question is asked.
"""

from __future__ import annotations

import json
import os
import platform
import random
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

import httpx

from bench import RESULTS
from bench.lib.files import write_page
from bench.lib.options import parser_of
from bench.lib.waiting import NAMES, ferries, process, question

PAGE = RESULTS / "serve" / "fuzz.md"
SERVE = "import sys; from disputatio.cli.main import main; sys.argv[0] = 'disputatio'; main()"
VARIABLES = (
    *(
        "OPENAI_API_KEY",
        "HF_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "GITHUB_TOKEN",
        "ANTHROPIC_API_KEY",
        "PGPASSWORD",
    ),
    *("DATABASE_URL", "SECRET_KEY", "SSH_AUTH_SOCK", "NPM_TOKEN", "UV_INDEX_PASSWORD", "PIP_INDEX_URL"),
    *("DOCKER_AUTH_CONFIG", "KUBECONFIG", "VAULT_TOKEN", "SLACK_TOKEN"),
)
METHODS = ("GET", "POST", "DELETE", "PATCH", "PUT", "HEAD", "OPTIONS", "TRACE", "get", "\x00", "A" * 300)
ODD = (
    *(
        "",
        "0",
        "-1",
        "1e309",
        "NaN",
        "null",
        "true",
        "[]",
        "{}",
        '"',
        "'",
        "\\",
        "%",
        "%00",
        "%ff",
        "..",
        "~",
    ),
    *("\u202e", "\U0001f600", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "a" * 5_000),
    *(
        "<script>alert(1)</script>",
        "${7*7}",
        "{{7*7}}",
        "' OR 1=1 --",
        "; ls",
        "$(id)",
        "\r\nX: y",
        "\x1b[31m",
    ),
    *("99999999999999999999", "2021-13-45", "os:system", "../../etc/passwd", "file:///etc/passwd"),
)


def raw(draw: random.Random, paths: Mapping[str, Sequence[str]], token: str, host: str) -> bytes:
    """Return a request that no client of good will sends, with the right name and token mostly."""
    template = draw.choice(list(paths))
    quoted = quote if draw.random() < 0.8 else str
    path = re.sub(r"\{[^}]*\}", lambda _: quoted(draw.choice(ODD)), template)
    if draw.random() < 0.4:
        path += "?" + "&".join(
            f"{draw.choice(('q', 'k', 'around', 'first', 'metric', 'x'))}={quoted(draw.choice(ODD))}"
            for _ in range(3)
        )
    value: object = draw.choice(ODD)
    for _ in range(draw.choice((0, 0, 1, 3, 400))):
        value = [value] if draw.random() < 0.5 else {draw.choice(ODD)[:20]: value}
    names = (
        "question",
        "strategy",
        "options",
        "passages",
        "sources",
        "calls",
        "seconds",
        "confirm",
        "owner",
        "x",
    )
    if draw.random() < 0.7:
        value = {"question": "When?", **{draw.choice(names): value for _ in range(2)}}
    body = json.dumps(value).encode() if draw.random() < 0.8 else draw.randbytes(draw.randrange(400))
    headers = [
        f"Host: {host if draw.random() < 0.95 else draw.choice(ODD)[:50]}",
        f"Authorization: Bearer {token if draw.random() < 0.95 else draw.choice(ODD)[:50]}",
        f"Content-Type: {draw.choice(('application/json', 'application/json', 'text/plain', 'multipart/form-data; boundary=x'))}",
        f"Content-Length: {len(body) if draw.random() < 0.97 else draw.choice(('-1', 'x', '10000000000', '0'))}",
        "Connection: close",
    ]
    if draw.random() < 0.1:
        headers.append(
            f"{draw.choice(('Accept', 'Last-Event-ID', 'Origin', 'Expect', 'Transfer-Encoding'))}: {draw.choice(ODD)[:60]}"
        )
    method = draw.choice(paths[template]) if draw.random() < 0.9 else draw.choice(METHODS)
    head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers, "", ""])
    return head.encode("utf-8", "surrogatepass") + body


def send(address: tuple[str, int], request: bytes, seconds: float) -> bytes:
    """Return what comes back to the end; raises `TimeoutError` for a hang."""
    with socket.create_connection(address, timeout=seconds) as line:
        parts = []
        try:
            line.sendall(request)
            while part := line.recv(65_536):
                parts.append(part)
        except (BrokenPipeError, ConnectionResetError):
            pass
        return b"".join(parts)


def untyped(response: bytes) -> bool:
    """Return whether a response is a fault of the server (5xx) that is not of the API's form, or an
    `Internal` one.
    """
    match = re.match(rb"HTTP/1\.1 5\d\d", response)
    if match is None:
        return False
    _, _, body = response.partition(b"\r\n\r\n")
    try:
        return (
            bool(json.loads(body)["error"]["kind"] == "Internal")
            if b'"error"' in body
            else b'"ready"' not in body
        )
    except (ValueError, KeyError, TypeError):
        return True


def main(arguments: Sequence[str] | None = None) -> None:  # noqa: PLR0915 (one walk)
    """Fuzz and write the page."""
    parser = parser_of(__doc__)
    parser.add_argument("--raw", type=int, default=5_000)
    parser.add_argument("--examples", type=int, default=250, help="of schemathesis, for each operation")
    parser.add_argument("--seconds", type=float, default=30.0, help="after which a request counts as a hang")
    options = parser.parse_args(arguments)
    canaries = {
        name: f"canary{secrets.token_hex(8)}" for name in (*VARIABLES, "TOKEN", "FOLDER", "UPLOAD", "URL")
    }
    seen: Counter[str] = Counter()
    statuses: Counter[str] = Counter()
    bad: list[bytes] = []
    hangs = 0
    with tempfile.TemporaryDirectory(prefix=canaries["FOLDER"]) as name:
        folder = Path(name)
        ferries(folder)
        (folder / "ferries.index.uploads").mkdir()
        (folder / "ferries.index.uploads" / canaries["UPLOAD"]).touch()
        words = ["--index", str(folder / "ferries.index"), "--port", "0", "--model", "scripted:"]
        words += [
            "--answers",
            str(folder / "answers.sqlite"),
            "--allow-writing",
            "--audit",
            str(folder / "audit.log"),
        ]
        variables = {each: canaries[each] for each in VARIABLES} | {
            "DISPUTATIO_TOKEN": canaries["TOKEN"],
            "OPENAI_BASE_URL": f"http://user:{canaries['URL']}@127.0.0.1:1/v1",
            "DISPUTATIO_ENCODER": "none",
            "DISPUTATIO_JOURNAL": "none",
        }
        said: list[str] = []
        with process(["-c", SERVE, "serve", *words], **variables) as (serving, url):
            assert serving.stderr is not None
            threading.Thread(target=lambda: said.extend(serving.stderr or ()), daemon=True).start()
            token = canaries["TOKEN"]
            client = httpx.Client(base_url=url, headers={"Authorization": f"Bearer {token}"}, timeout=60)
            document = client.get("/api/openapi.json").json()
            paths = {
                path: [each.upper() for each in operations] for path, operations in document["paths"].items()
            }
            paths |= {"/metrics": ["GET"], "/": ["GET"], "/nothing": ["GET"], "/mcp": ["POST"]}
            host, _, port = url.removeprefix("http://").partition(":")
            draw = random.Random(7)
            began = time.monotonic()
            for _ in range(options.raw):
                request = raw(draw, paths, token, f"{host}:{port}")
                try:
                    response = send((host, int(port)), request, options.seconds)
                except TimeoutError:
                    hangs += 1
                    bad.append(b"hung: " + request[:600])
                    continue
                statuses[response[9:12].decode("latin-1") or "cut"] += 1
                for each, canary in canaries.items():
                    seen[each] += canary.encode() in response
                if untyped(response) and len(bad) < 20:
                    bad.append(response[:600])
            raw_seconds = time.monotonic() - began
            found = "not run"
            if options.examples:
                schema = folder / "openapi.json"
                schema.write_text(json.dumps(document), encoding="utf-8")
                run = subprocess.run(
                    [
                        *(
                            str(Path(sys.executable).with_name("schemathesis")),
                            "run",
                            str(schema),
                            "--url",
                            url,
                        ),
                        *(
                            "-H",
                            f"Authorization: Bearer {token}",
                            "--phases",
                            "fuzzing",
                            "--checks",
                            "not_a_server_error",
                        ),
                        *(
                            "--mode",
                            "all",
                            "--max-examples",
                            str(options.examples),
                            "--request-timeout",
                            str(options.seconds),
                        ),
                        *("--no-color", "--suppress-health-check", "all", "--continue-on-failure"),
                    ],
                    capture_output=True,
                    text=True,
                    check=False,
                    env={**os.environ, "NO_COLOR": "1"},
                    cwd=folder,
                )
                found = run.stdout[-3_000:]
            metrics = client.get("/metrics").text
            answered = client.post("/api/ask", json={"question": question(NAMES[0])}).status_code
            for each, canary in canaries.items():
                kept = (folder / "answers.sqlite").read_bytes() + (folder / "audit.log").read_bytes()
                places = (metrics, "".join(said), kept.decode("latin-1"))
                seen[each] += sum(canary in place for place in places)
        requests = sum(
            float(count)
            for count in re.findall(r"^disputatio_requests_total\{.*\} (\S+)", metrics, re.MULTILINE)
        )
    server_faults = re.findall(
        r'^disputatio_requests_total\{(.*status="5..".*)\} (\S+)', metrics, re.MULTILINE
    )
    leaks = {each: count for each, count in seen.items() if count}
    write_page(
        PAGE,
        f"""# Fuzzed requests

`python -m bench.serve.fuzz --raw {options.raw} --examples {options.examples}`, {platform.machine()}, {time.strftime("%Y-%m-%d")}.

{options.raw:,} raw requests in {raw_seconds:.0f} s, then schemathesis with up to {options.examples} examples an operation; the server answered {requests:,.0f} requests in all.
Raw: {hangs} hangs; statuses {", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()))} ("cut": refused without a response).
Faults of the server (5xx) by route, all requests: {"; ".join(f"{label} {float(count):.0f}" for label, count in server_faults) or "none"}.
Not typed, or of an unexpected kind: {len(bad)}. A question asked at the end: status {answered}.

{len(canaries)} canaries in the environment, the token, an address with a password and the names of files: {"none seen" if not leaks else f"SEEN: {leaks}"} in the raw responses, `/metrics`, standard error,
the file of answers and the audit log.

What schemathesis said last:

```text
{found[-1200:].strip()}
```
""",
    )
    print("".join(said)[-3000:])
    for response in bad:
        print(response)


if __name__ == "__main__":
    main()
