"""A stock Firefox that is driven by WebDriver BiDi, which it speaks itself: no driver beside it."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection, connect

SECONDS = 60.0  # a busy machine makes no test wrong
_CENTRE = """(selector, text) => {
  const found = [...document.querySelectorAll(selector)].filter(each => each.textContent.includes(text)
    && each.getClientRects().length)[0];
  if (!found) return null;
  found.scrollIntoView({ block: "center" });
  const box = found.getClientRects()[0];
  return JSON.stringify({ x: Math.round(box.x + box.width / 2), y: Math.round(box.y + box.height / 2) });
}"""


@dataclass(slots=True)
class Firefox:
    """One tab of a Firefox without a window."""

    socket: ClientConnection
    tab: str = ""
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def call(self, method: str, **parameters: Any) -> Any:
        """Return the result of a command of the protocol."""
        number = next(self._numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": parameters}))
        while (reply := json.loads(self.socket.recv(timeout=SECONDS))).get("id") != number:
            pass  # an event
        assert reply["type"] == "success", reply
        return reply["result"]

    def go(self, url: str) -> None:
        """Open an address."""
        self.call("browsingContext.navigate", context=self.tab, url=url, wait="complete")

    def run(self, function: str, *arguments: str) -> Any:
        """Return the value of a function of the page."""
        found = self.call(
            "script.callFunction",
            functionDeclaration=function,
            arguments=[{"type": "string", "value": each} for each in arguments],
            target={"context": self.tab},
            awaitPromise=True,
        )
        assert found["type"] == "success", found
        return found["result"].get("value")

    def until(self, function: str, *arguments: str) -> Any:
        """Wait until a function of the page gives a true value, and return it."""
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            if value := self.run(function, *arguments):
                return value
            time.sleep(0.05)
        shown = self.run("() => document.body.innerText")
        raise AssertionError(f"Firefox waits for {arguments or function}, and shows: {shown}")

    def wait(self, selector: str, text: str = "") -> dict[str, int]:
        """Wait for an element that is shown and has a text; return where its middle is."""
        middle: dict[str, int] = json.loads(self.until(_CENTRE, selector, text))
        return middle

    def click(self, selector: str, text: str = "") -> None:
        """Click on an element."""
        pointer = [
            {"type": "pointerMove", **self.wait(selector, text)},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        self._act({"type": "pointer", "id": "mouse", "actions": pointer})

    def type(self, keys: str) -> None:
        """Press keys, one after another."""
        pressed = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._act({"type": "key", "id": "keys", "actions": pressed})

    def _act(self, source: dict[str, Any]) -> None:
        self.call("input.performActions", context=self.tab, actions=[source])


@contextmanager
def firefox(path: str, profile: Path) -> Iterator[Firefox]:
    """Start Firefox with a profile of its own."""
    profile.mkdir()
    words = [path, "--headless", "--no-remote", "--profile", str(profile), "--remote-debugging-port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr is not None
            places = (re.search(r"BiDi listening on (ws://\S+)", line) for line in process.stderr)
            address = next(filter(None, places))[1]
            with connect(f"{address}/session", max_size=None, proxy=None) as socket:
                driven = Firefox(socket)
                driven.call("session.new", capabilities={})
                driven.tab = driven.call("browsingContext.getTree")["contexts"][0]["context"]
                yield driven
        finally:
            process.terminate()
