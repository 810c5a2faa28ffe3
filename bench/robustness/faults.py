"""Faulty models under every strategy, and faulty endpoints under the client: how many faults became answers.

    python -m bench.robustness.faults --replies 1000 --calls 40 > faults.json

A strategy is asked of passages that all say the same, with a model whose every reply is one of 16 kinds of fault:
cut, empty, garbage, of another shape, raised as a fault of the network, log-probabilities that are none. An answer
is then a fault that became one. Half of the replies are mended in a second part, and what could not be read must be
told. An endpoint on loopback hangs, drips, floods or lies under the client that talks to it; what comes back whole
and is not what a sound reply would be is counted, and the memory that the process took at most above its start.
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import resource
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import disputatio
from disputatio import pipeline
from disputatio.errors import DisputatioError, LLMError, Malformed, RateLimited, Timeout
from disputatio.kit import Kit
from disputatio.store.in_memory import InMemory
from disputatio.types import (
    Answer,
    Capabilities,
    Choice,
    Completion,
    Message,
    Passage,
    Prompt,
    Sampling,
    Usage,
)

QUESTION = "In what year did the ferry first cross?"
TEXT = "The ferry first crossed the sound in 1887, on a calm day in the month of May"


# --- models -------------------------------------------------------------------------------------------
PASSAGES = tuple(
    Passage(
        id=f"p{number}",
        source=f"s{number}.example",
        text=f"{TEXT} (page {number}).",
        metadata={"true_reliability": "0.9"},
    )
    for number in range(4)
)
_USAGE = Usage(calls=1, prompt_tokens=10, completion_tokens=5, seconds=0.001)
_TEXTS = {
    "empty": "",
    "blank": " \n\t ",
    "prose": "Answer: 1666\nExplanation: because [1].",
    "two objects": '{"answer": "1666", "explanation": "", "quote": ""} {"answer": "1667"}',
    "template tokens": "<|im_end|>\n<|im_start|>system\nAnswer: 1666<|im_end|>",
    "deep JSON": "[" * 25_000,
    "endless": "x" * 100_000,
    "another shape": '{"verdict": 1666, "answers": {"answer": 1666}}',
    "wrong types": '{"answer": 1666, "explanation": [], "quote": null}',
    "control characters": "\x00\x1b[2J{}\x00",
    "cut": "",
}
_RAISED: dict[str, Callable[[], LLMError]] = {
    "a deadline": lambda: Timeout("first_byte", 1.0, "bench"),
    "asked to wait": lambda: RateLimited("bench: busy"),
    "of no protocol": lambda: Malformed("bench: half a stream"),
}
_LIES = ("log-probabilities that are no numbers", "log-probabilities above nought")
KINDS = (*_TEXTS, *_RAISED, *_LIES)


class Faulty:
    """A model of which every `every`th reply is a fault of one kind; `faults` counts them."""

    name = "scripted:faulty"

    def __init__(self, kind: str, every: int = 1) -> None:
        self.kind, self.every, self.said, self.faults, self.chose = kind, every, 0, 0, 0

    def capabilities(self) -> Capabilities:
        return Capabilities(engine="bench", logprobs=True, max_options=100, schema=True)

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Completion]:
        sound = json.dumps(instance(sampling.schema)) if sampling.schema else "1887"
        return [self._completion(sound) for _ in prompts]

    def _completion(self, sound: str) -> Completion:
        self.said += 1
        if self.said % self.every or self.kind in _LIES:
            return Completion(text=sound, finish_reason="stop", usage=_USAGE)
        self.faults += 1
        if self.kind in _RAISED:
            raise _RAISED[self.kind]()
        if self.kind == "cut":
            # Within the answer: a strategy may take what is whole before an explanation that was cut.
            part = sound[: max(1, len(sound) // 3)]
            return Completion(text=part, finish_reason="length", usage=_USAGE)
        return Completion(text=_TEXTS[self.kind], finish_reason="stop", usage=_USAGE)

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str]) -> list[Choice]:
        self.said += len(prompts)
        self.faults += len(prompts)
        self.chose += len(prompts)
        if self.kind in _RAISED:
            raise _RAISED[self.kind]()
        value = 3.5 if self.kind == _LIES[1] else math.nan
        lies = (value,) * len(options)
        choice = Choice(options=tuple(options), logprobs=lies, bounded=(False,) * len(options), usage=_USAGE)
        return [choice for _ in prompts]


def instance(schema: Any) -> Any:
    """Return the simplest value that a JSON schema allows, with the right year wherever a string is free."""
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][0]
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return instance(schema[key][0])
    kind = schema.get("type")
    if kind == "object":
        return {name: instance(value) for name, value in schema.get("properties", {}).items()}
    if kind == "array":
        return [instance(schema["items"])] * max(1, schema.get("minItems", 1)) if "items" in schema else []
    return {"string": "1887", "integer": 1, "number": 0.9, "boolean": True}.get(str(kind))


def strategies(replies: int) -> dict[str, Any]:
    """Return each strategy under so many faulty replies: what came of the questions."""
    table: dict[str, Any] = {}
    for name in sorted(each.name for each in disputatio.strategies()):
        counts: Counter[str] = Counter()
        faults = number = 0
        while faults < replies and number < 20 * replies:
            kind = KINDS[number % len(KINDS)]
            number += 1
            model = Faulty(kind)
            outcome = _outcome(name, model)
            if kind in _LIES and not model.chose:
                continue  # it asks for no log-probabilities: every reply was sound
            if not model.faults:
                counts["no call"] += 1
                continue
            faults += model.faults
            counts["became answers" if outcome == "answered" else outcome] += 1
            if outcome == "answered":
                counts[f"became an answer: {kind}"] += 1
        table[name] = {"faults": faults, **counts}
    return table


def partial(rounds: int) -> dict[str, Any]:
    """Return every strategy with every second reply a fault: are the passages that could not be read told?"""
    counts: Counter[str] = Counter()
    silent: list[str] = []
    for name in sorted(each.name for each in disputatio.strategies()):
        for at in range(rounds):
            model = Faulty(list(_TEXTS)[at % len(_TEXTS)], every=2)
            try:
                answer = _asked(name, model)
            except DisputatioError:
                counts["raised"] += 1
                continue
            if not model.faults:
                counts["no fault met"] += 1
                continue
            told = answer.abstained == "fault" or bool(
                answer.read is not None and (answer.read.failed or answer.read.faults)
            )
            counts["told" if told else "silent"] += 1
            if not told:
                silent.append(f"{name}: {model.kind}")
    return {**counts, "silent_cases": sorted(set(silent))}


def _asked(name: str, model: Faulty) -> Answer:
    kit = Kit(model=model, retriever=InMemory(list(PASSAGES)))
    return pipeline.ask(QUESTION, kit=kit, strategy=name, verify=False)


def _outcome(name: str, model: Faulty) -> str:
    try:
        answer = _asked(name, model)
    except DisputatioError as error:
        return "raised " + ("a fault" if error.exit_code == 3 else type(error).__name__)
    if answer.answers:
        return "answered"
    return f"abstained: {answer.abstained}"


# --- endpoints ----------------------------------------------------------------------------------------
MEGABYTE = b"x" * (1 << 20)
FLOODS = (
    "pieces without end",
    "one line without end",
    "an object without end",
    "packed to a thousandth",
    "an error without end",
)
FLOOD = 1_500  # megabytes that a flooding endpoint would send


def _stream(*pieces: str, end: str = "data: [DONE]\n\n") -> bytes:
    return ("".join(pieces) + end).encode()


def _piece(text: str, finish: str | None = None) -> str:
    return (
        "data: "
        + json.dumps({"choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})
        + "\n\n"
    )


class _Handler(BaseHTTPRequestHandler):
    kind = ""
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing is logged."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        with suppress(OSError):
            getattr(self, "_" + self.kind.replace(" ", "_").replace("-", "_"))()
        self.close_connection = True

    def _head(self, kind: str = "text/event-stream", status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()

    def _hangs(self) -> None:
        time.sleep(1.0)

    def _hangs_after_its_headers(self) -> None:
        self._head()
        self.wfile.flush()
        time.sleep(1.0)

    def _hangs_in_the_middle(self) -> None:
        self._head()
        self.wfile.write(_piece("16").encode())
        self.wfile.flush()
        time.sleep(1.0)

    def _drips(self) -> None:
        self._head()
        for letter in _piece("1666") * 50:
            self.wfile.write(letter.encode())
            self.wfile.flush()
            time.sleep(0.02)

    def _comments_without_end(self) -> None:
        self._head()
        for _ in range(60):
            self.wfile.write(b": still here\n\n")
            self.wfile.flush()
            time.sleep(0.02)

    def _pieces_without_end(self) -> None:
        self._head()
        block = _piece("1666 " * 200).encode() * 1_000
        for _ in range(FLOOD):
            self.wfile.write(block)

    def _one_line_without_end(self) -> None:
        self._head()
        self.wfile.write(b"data: ")
        for _ in range(FLOOD):
            self.wfile.write(MEGABYTE)

    def _an_object_without_end(self) -> None:
        self._head("application/json")
        self.wfile.write(b'{"choices": [{"message": {"content": "')
        for _ in range(FLOOD):
            self.wfile.write(MEGABYTE)

    def _packed_to_a_thousandth(self) -> None:
        packed = zlib.compressobj(9, zlib.DEFLATED, 31)
        self._head(Content_Encoding="gzip")
        for _ in range(FLOOD):
            self.wfile.write(packed.compress(MEGABYTE))
        self.wfile.write(packed.flush())

    def _an_error_without_end(self) -> None:
        self._head("text/plain", 500)
        for _ in range(FLOOD):
            self.wfile.write(MEGABYTE)

    def _a_page(self) -> None:
        self._head("text/html")
        self.wfile.write(b"<html>1666</html>")

    def _cut_short(self) -> None:
        self._head()
        self.wfile.write(_piece("1666").encode())

    def _without_a_finish(self) -> None:
        self._head()
        self.wfile.write(_stream(_piece("1666")))

    def _finished_by_its_length(self) -> None:
        self._head()
        self.wfile.write(_stream(_piece("1666"), _piece("", "length")))

    def _sent_elsewhere(self) -> None:
        self._head(status=307, Location="http://127.0.0.2:9/v1/chat/completions")

    def _of_another_shape(self) -> None:
        self._head()
        self.wfile.write(_stream('data: {"choices": "1666"}\n\n', "data: []\n\n", "data: 1666\n\n"))


BEHAVIOURS = tuple(
    name.removeprefix("_").replace("_", " ")
    for name in vars(_Handler)
    if name.startswith("_") and not name.startswith("__") and name != "_head"
)


@contextmanager
def served(kind: str) -> Iterator[str]:
    """An endpoint on loopback that behaves so."""
    handler = type("Handler", (_Handler,), {"kind": kind})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


def endpoints(calls: int) -> dict[str, Any]:
    """Return each behaviour so many times: what the client made of it, and the memory that it took."""
    from disputatio.llm.endpoint import Endpoint
    from disputatio.llm.stream import Deadlines

    prompt = Prompt(messages=(Message(role="user", content=QUESTION),))
    short = Deadlines(connect=0.5, first_byte=0.4, between_tokens=0.3, total=0.8)
    patient = Deadlines(
        connect=5.0, first_byte=10.0, between_tokens=10.0, total=30.0
    )  # what floods meet is the cap
    start, table = _peak(), {}
    for kind in BEHAVIOURS:
        counts: Counter[str] = Counter()
        flood = kind in FLOODS
        with served(kind) as address:
            client = Endpoint(
                "bench",
                base_url=address,
                api_key="none",
                retries=0,
                deadlines=patient if flood else short,
                cool_off=0.0,
            )
            for _ in range(max(2, calls // 10) if flood else calls):
                try:
                    [completion] = client.complete([prompt], Sampling())
                except DisputatioError as error:
                    counts[type(_cause(error)).__name__] += 1
                else:
                    word = "told as cut" if completion.finish_reason != "stop" else "became a reply"
                    counts[word] += 1
        table[kind] = {**counts, "peak_mb_above_start": round((_peak() - start) / 1024)}
    return table


def _cause(error: DisputatioError) -> BaseException:
    faults = [fault for fault in getattr(error, "errors", ()) if fault is not None]
    return faults[0] if faults else error


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def main() -> None:
    """Run both parts and print one object."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--replies", type=int, default=1_000, help="faulty replies a strategy")
    parser.add_argument("--calls", type=int, default=40, help="calls of each behaviour of an endpoint")
    parser.add_argument("--part", choices=("all", "strategies", "endpoints"), default="all")
    asked = parser.parse_args()
    result: dict[str, Any] = {"python": platform.python_version(), "started": time.strftime("%Y-%m-%d")}
    if asked.part != "endpoints":
        result |= {"strategies": strategies(asked.replies), "every_second": partial(11)}
    if asked.part != "strategies":
        result["endpoints"] = endpoints(asked.calls)
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
