"""One document from the web, and nothing from anywhere else."""

from __future__ import annotations

import contextlib
import gzip
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from disputatio.errors import IngestError
from disputatio.store.ingesting.documents import Document, FileReading
from disputatio.store.ingesting.fetch import Limits, fetch, read_url
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.source import with_source
from tests.store.loopback import PUBLIC, Web, page, redirect, web

FAST = Limits(connect=0.4, first_byte=0.3, between_bytes=0.3, total=1.5)
SMALL = Limits(size=10_000)
HTML = b"<html><head><title>Bow</title></head><body><p>Broken Bow had 3,559 people.</p></body></html>"
TEXT = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


@pytest.fixture
def served() -> Iterator[Web]:
    with web() as one:
        yield one


def _put(served: Web, path: str, answer: object) -> None:
    served.answers[path] = answer  # type: ignore[index]


def _refusal(served: Web, url: str = "http://x.example/", **options: object) -> str:
    with pytest.raises(IngestError) as caught:
        served.get(url, **options)
    return caught.value.reason


# --- what a good page gives ---------------------------------------------------------------------------
def test_a_page_is_fetched_with_its_name_type_and_date(served: Web) -> None:
    answer = page(HTML, "text/html; charset=utf-8", Last_Modified="Tue, 05 Mar 2019 10:00:00 GMT")
    _put(served, "/a?b=%C3%A4", answer)
    got = served.get("http://X.Example./a?b=ä#part")
    assert got.data == HTML
    assert (got.url, got.asked) == ("http://x.example/a?b=%C3%A4", "http://x.example/a?b=%C3%A4")
    assert (got.suffix, got.charset, got.date) == (
        ".html",
        "utf-8",
        "2019-03-05",
    )
    assert served.connected == [(PUBLIC, 80)]
    assert "\r\nHost: x.example\r\n" in served.asked[0]


def test_redirects_are_followed_and_the_last_address_is_told(served: Web) -> None:
    _put(served, "/a", redirect("/b"))
    _put(served, "/b", redirect("//y.example/c", "308 Permanent Redirect"))
    _put(served, "y.example/c", page(HTML))
    got = served.get("http://x.example/a")
    assert (got.asked, got.url) == ("http://x.example/a", "http://y.example/c")
    assert served.resolved == ["x.example", "x.example", "y.example"]


def test_a_gzip_of_several_members_and_chunks_is_unpacked(served: Web) -> None:
    packed = gzip.compress(b"one, ") + gzip.compress(b"two" * 100_000)
    head = TEXT + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(packed[at : at + 7]), packed[at : at + 7]) for at in range(0, len(packed), 7)
    )
    _put(served, "/", head + chunks + b"0\r\n\r\n")
    assert served.get("http://x.example/").data == b"one, " + b"two" * 100_000


def test_the_next_address_is_tried_when_the_first_does_not_answer(served: Web) -> None:
    _put(served, "/", page(HTML))
    served.names["x.example"] = [["2606:4700::1111", PUBLIC]]
    tried = []

    def connect(ip: str, port: int, seconds: float) -> socket.socket:
        tried.append(ip)
        if ":" in ip:
            raise ConnectionRefusedError
        return served.connect(ip, port, seconds)

    assert fetch("http://x.example/", resolve=served.resolve, connect=connect).data == HTML
    assert tried == ["2606:4700::1111", PUBLIC]


# --- where it does not go -----------------------------------------------------------------------------
@pytest.mark.parametrize(
    "location",
    [
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "//127.1/",
        "http://[::1]/",
        "http://[::ffff:7f00:1]/",
        "http://localhost/",
        "http://169.254.169.254/latest/meta-data/",
        "http://inside.example/",
        "http://u:p@x.example/",
        "http://x.example:6379/",
        "file:///etc/passwd",
        "gopher://x.example/",
        "///127.0.0.1/",
        "http:\\\\127.0.0.1/",
    ],
)
def test_a_redirect_into_the_machine_or_its_network_is_refused(served: Web, location: str) -> None:
    _put(served, "/start", redirect(location))
    _put(served, "/", page(b"secret", "text/plain"))
    served.names["inside.example"] = [["10.0.0.1"]]
    _refusal(served, "http://x.example/start")
    assert served.connected == [(PUBLIC, 80)]


def test_one_private_address_among_public_ones_refuses_the_host(served: Web) -> None:
    served.names["x.example"] = [[PUBLIC, "::1"]]
    assert "loopback" in _refusal(served)
    assert served.connected == []


def test_a_name_that_changes_its_address_gains_nothing(served: Web) -> None:
    _put(served, "/", page(HTML))
    served.names["x.example"] = [[PUBLIC], ["127.0.0.1"]]
    assert served.get("http://x.example/").data == HTML
    assert served.resolved == ["x.example"]  # once: the checked address is the one connected to
    assert served.connected == [(PUBLIC, 80)]


def test_a_name_that_changes_its_address_between_redirects_is_refused(served: Web) -> None:
    _put(served, "/", redirect("/again"))
    _put(served, "/again", page(b"secret", "text/plain"))
    served.names["x.example"] = [[PUBLIC], ["127.0.0.1"]]
    assert "loopback" in _refusal(served)
    assert served.connected == [(PUBLIC, 80)]


def test_private_networks_open_on_request_only(served: Web) -> None:
    _put(served, "/", page(HTML))
    url = f"http://127.0.0.1:{served.port}/"
    with pytest.raises(IngestError, match="loopback"):
        fetch(url, ports=[served.port])
    with pytest.raises(IngestError, match="port"):
        fetch(url, allow_private=True)
    assert fetch(url, allow_private=True, ports=[served.port]).data == HTML


def test_a_public_page_leads_into_no_private_network_even_on_request(served: Web) -> None:
    _put(served, "/", redirect("http://10.0.0.1/"))
    assert "private" in _refusal(served, allow_private=True)
    assert served.connected == [(PUBLIC, 80)]


def test_proxies_of_the_environment_are_not_used(served: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    _put(served, "/", page(HTML))
    assert served.get("http://x.example/").data == HTML


def test_redirects_end(served: Web) -> None:
    _put(served, "/", redirect("/"))
    assert _refusal(served) == "redirects more than 5 times"
    assert len(served.connected) == 6


def test_https_does_not_fall_back_to_http() -> None:
    from disputatio.store.ingesting.addresses import read_address, read_redirect

    with pytest.raises(IngestError, match="from https"):
        read_redirect(read_address("https://x.example/"), "http://x.example/")


def test_a_host_without_an_address_is_not_found(served: Web) -> None:
    served.names["x.example"] = [[]]
    assert "not found" in _refusal(served)

    def fail(host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "no name")

    with pytest.raises(IngestError, match="not found"):
        fetch("http://x.example/", resolve=fail, connect=served.connect)


# --- what it does not take ----------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (page(b"x", "image/png"), "image/png"),
        (page(b"x", "application/octet-stream"), "of a kind"),
        (page(b"x", "application/x-\x1b[2Jevil"), "of a kind"),
        (page(b"x", status="404 \x1b[31mNo"), "answered 404 Not Found"),
        (page(b"x", status="206 Partial Content"), "answered 206"),
        (page(b"x", status="304 Not Modified"), "answered 304"),
        (page(b"x", Content_Encoding="br"), "not asked for"),
        (page(b"x", Content_Encoding="gzip, gzip"), "not asked for"),
        (page(b"x", Transfer_Encoding="gzip, chunked"), "not asked for"),
        (page(b"not gzip", Content_Encoding="gzip"), "broken gzip"),
        (page(gzip.compress(b"x" * 5000)[:-9], Content_Encoding="gzip"), "broken gzip"),
        (page(gzip.compress(b"x") + b"junk", Content_Encoding="gzip"), "broken gzip"),
        (page(b"x" * 10_001), "larger than 10,000"),
        (page(gzip.compress(bytes(50_000_000)), Content_Encoding="gzip"), "larger than 10,000"),
        (page(gzip.compress(b"") * 600, Content_Encoding="gzip"), "larger than 10,000"),
        (TEXT + b"\r\n" + b"x" * 20_000, "larger than 10,000"),
        (TEXT + b"Content-Length: 9\r\n\r\nfour", "no proper answer"),
        (
            TEXT + b"Transfer-Encoding: chunked\r\n\r\n5\r\nab",
            "no proper answer",
        ),
        (
            TEXT + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nab",
            "no proper answer",
        ),
        (b"HTTP/1.1 200 OK\r\n" + b"A: b\r\n" * 500 + b"\r\n", "no proper answer"),
        (b"HTTP/1.1 200 OK\r\nA: " + b"b" * 100_000 + b"\r\n\r\n", "no proper answer"),
        (b"SSH-2.0-OpenSSH_9\r\n", "no proper answer"),
        (b"HTTP/1.1 302 Found\r\n\r\n", "redirects with 0"),
        (b"HTTP/1.1 302 Found\r\nLocation: /a\r\nLocation: /b\r\n\r\n", "redirects with 2"),
        (b"HTTP/1.1 302 Found\r\nLocation: /\xff\r\n\r\n", "not UTF-8"),
    ],
)  # fmt: skip
def test_an_answer_that_is_no_whole_document_is_refused(served: Web, answer: bytes, words: str) -> None:
    _put(served, "/", answer)
    reason = _refusal(served, limits=SMALL)
    assert words in reason
    assert reason.isprintable()


def test_an_answer_that_says_nothing_is_refused(served: Web) -> None:
    _put(served, "/", lambda client, path: None)
    assert "no proper answer" in _refusal(served)


@pytest.mark.parametrize(
    ("kind", "path", "suffix"),
    [
        ("text/plain", "/a", ".txt"),
        ("text/plain; charset=x", "/a.csv?b=.pdf", ".csv"),
        ("text/plain", "/a.pdf", ".txt"),
        ("application/octet-stream", "/a.PDF", ".pdf"),
        ("application/pdf", "/a.html", ".pdf"),
        ("application/x-ndjson", "/", ".jsonl"),
    ],
)
def test_the_content_type_decides_and_the_ending_where_that_says_little(
    served: Web, kind: str, path: str, suffix: str
) -> None:
    _put(served, path, page(b"x", kind))
    assert served.get(f"http://x.example{path}").suffix == suffix


@pytest.mark.parametrize(
    "stated", ["", "yesterday", "Thu, 01 Jan 1970 00:00:00 GMT", "Fri, 01 Jan 2100 00:00:00 GMT"]
)
def test_a_date_that_cannot_be_is_no_date(served: Web, stated: str) -> None:
    _put(served, "/", page(b"x", "text/plain", Last_Modified=stated))
    assert served.get("http://x.example/").date == ""


# --- deadlines ----------------------------------------------------------------------------------------
def _silent(client: socket.socket, path: str) -> None:
    client.recv(1)  # until the other side has had enough


def _drip(client: socket.socket, path: str) -> None:
    client.sendall(TEXT + b"\r\n")
    while True:
        client.sendall(b"x")
        time.sleep(0.1)


def _drip_header(client: socket.socket, path: str) -> None:
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: ")
    while True:
        client.sendall(b"x")
        time.sleep(0.1)


def _stop_midway(client: socket.socket, path: str) -> None:
    client.sendall(TEXT + b"Content-Length: 9\r\n\r\nfour")
    client.recv(1)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("say", "words"),
    [
        (_silent, "0.3 s for its first byte"),
        (_stop_midway, "0.3 s between two bytes"),
        (_drip, "1.5 s in all"),
        (_drip_header, "1.5 s in all"),
    ],
)
def test_a_slow_server_meets_a_deadline(served: Web, say: object, words: str) -> None:
    _put(served, "/", say)
    assert words in _refusal(served, limits=FAST)


@pytest.mark.long
def test_a_connection_and_a_resolver_meet_their_deadline(served: Web) -> None:
    def connect(ip: str, port: int, seconds: float) -> socket.socket:
        time.sleep(seconds)
        raise TimeoutError

    def resolve(host: str, port: int) -> list[str]:
        time.sleep(1)
        return [PUBLIC]

    with pytest.raises(IngestError, match=r"0\.4 s to connect"):
        fetch("http://x.example/", resolve=served.resolve, connect=connect, limits=FAST)
    with pytest.raises(IngestError, match=r"0\.4 s to connect"):
        fetch("http://x.example/", resolve=resolve, connect=served.connect, limits=FAST)
    assert served.connected == []


# --- TLS ----------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate for x.example alone, with its key in the same file."""
    file = tmp_path_factory.mktemp("tls") / "x.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    names = [
        "-subj",
        "/CN=x.example",
        "-addext",
        "subjectAltName=DNS:x.example",
        "-keyout",
        str(file),
        "-out",
        f"{file}.crt",
    ]
    try:
        subprocess.run([*command.split(), *names], check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl is not installed")
    file.write_text(file.read_text() + Path(f"{file}.crt").read_text())
    return file


def _over_tls(served: Web, certificate: Path, url: str, trusted: bool = True) -> bytes:
    names: list[str | None] = []
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate)
    server.sni_callback = lambda sock, name, context: names.append(name)

    def connect(ip: str, port: int, seconds: float) -> socket.socket:
        assert (ip, port) == (PUBLIC, 443)
        return served.connect(ip, port, seconds)

    def accept(listener: socket.socket) -> None:
        client, _ = listener.accept()
        with client, contextlib.suppress(OSError), server.wrap_socket(client, server_side=True) as wrapped:
            wrapped.recv(65_536)
            wrapped.sendall(page(HTML))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=accept, args=(listener,), daemon=True)
        thread.start()
        served.port = listener.getsockname()[1]
        client_side = ssl.create_default_context(cafile=str(certificate) if trusted else None)
        try:
            data = fetch(url, resolve=served.resolve, connect=connect, tls=client_side).data
        finally:
            thread.join(10)
    assert names == ["x.example"]
    return data


def test_tls_verifies_the_name_and_not_the_address(served: Web, certificate: Path) -> None:
    assert _over_tls(served, certificate, "https://x.example/") == HTML
    with pytest.raises(IngestError, match="certificate"):
        _over_tls(served, certificate, "https://y.example/")


def test_an_unknown_certificate_is_refused(served: Web, certificate: Path) -> None:
    with pytest.raises(IngestError, match="certificate"):
        _over_tls(served, certificate, "https://x.example/", trusted=False)


# --- as documents -------------------------------------------------------------------------------------
def _read(served: Web, url: str = "http://www.x.example/p") -> FileReading:
    with open_reader() as read:
        return read_url(url, read, get=served.get)


def _documents(served: Web) -> list[Document]:
    return list(_read(served).documents)


def _page(url: str) -> bytes:
    return (
        f'<html><head><title>Bow</title><link rel="canonical" href="{url}">'
        f'<meta property="og:url" content="{url}">'
        "</head><body><article><p>Broken Bow, a town in Nebraska, had 3,559 people at the last census.</p>"
        "</article></body></html>"
    ).encode()


@pytest.mark.long
def test_a_page_becomes_a_document_of_its_site(served: Web) -> None:
    _put(
        served,
        "/p",
        page(_page("http://www.x.example/canonical"), Last_Modified="Tue, 05 Mar 2019 10:00:00 GMT"),
    )
    (document,) = _read(served).documents
    assert "3,559" in document.text
    assert document.path == "http://www.x.example/p"
    assert document.url == "http://www.x.example/canonical"
    assert document.date == ""  # the page states none, and Last-Modified is when it was put together
    assert len(document.metadata["fetched"]) == 10
    assert with_source(document).source == "x.example"


@pytest.mark.long
@pytest.mark.parametrize(
    "url", ["https://census.gov/bow", "http://x.example@census.gov/", "https://www.x.example.evil.com/"]
)
def test_a_page_may_not_speak_for_another_site(served: Web, url: str) -> None:
    _put(served, "/p", page(_page(url)))
    (document,) = _read(served).documents
    assert document.url == "http://www.x.example/p"
    assert with_source(document).source == "x.example"


@pytest.mark.long
def test_a_file_of_the_web_states_no_source_or_owner(served: Web) -> None:
    text = (
        b"---\nsource: census.gov\nowner: The Bureau\nurl: https://census.gov/\n---\nBroken Bow had 9 people."
    )
    _put(served, "/p.md", page(text, "text/plain", Last_Modified="Tue, 05 Mar 2019 10:00:00 GMT"))
    (document,) = _read(served, "http://x.example/p.md").documents
    assert (document.source, document.owner, document.url) == ("", "", "http://x.example/p.md")
    assert document.metadata["stated_source"] == "census.gov"
    assert document.metadata["stated_owner"] == "The Bureau"
    assert document.metadata["stated_url"] == "https://census.gov/"
    assert (document.date, document.date_origin) == ("2019-03-05", "file")


def test_rows_of_the_web_are_told_by_url_and_row(served: Web) -> None:
    _put(served, "/a.jsonl", page(b'{"text": "One."}\n{"text": 3}\n', "application/x-ndjson"))
    reading = _read(served, "http://x.example/a.jsonl")
    assert [(one.path, one.row) for one in reading.documents] == [("http://x.example/a.jsonl", 1)]
    assert [error.path for error in reading.refused] == ["http://x.example/a.jsonl:2"]


def test_the_encoding_that_the_server_states_is_believed(served: Web) -> None:
    _put(served, "/p", page("Кривой Рог".encode("windows-1251"), "text/plain; charset=windows-1251"))
    assert _documents(served)[0].text == "Кривой Рог"
    _put(served, "/p", page("Кривой Рог".encode(), "text/plain; charset=windows-1251"))
    assert _documents(served)[0].text == "Кривой Рог"
    _put(served, "/p", page("Bow".encode("utf-16-le"), "text/plain; charset=utf-16le"))
    assert _documents(served)[0].text == "Bow"


@pytest.mark.long
def test_a_file_that_cannot_be_read_is_named_by_its_url(served: Web) -> None:
    _put(served, "/p", page(b"%PDF-1.4 broken", "application/pdf"))
    with pytest.raises(IngestError) as caught:
        _read(served)
    assert caught.value.path == "http://www.x.example/p"
    assert "/tmp" not in str(caught.value)
    _put(served, "/p", page(b" ", "text/plain"))
    with pytest.raises(IngestError, match="is empty"):
        _read(served)


def test_what_was_fetched_does_not_stay_on_disk(
    served: Web, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    _put(served, "/p", page(b"text", "text/plain"))
    files: list[Path] = []

    def read(path: Path, folder: str) -> FileReading:
        files.append(path)
        assert path.is_relative_to(tmp_path)
        return FileReading(path=str(path), documents=(Document(text="text", path=str(path)),))

    reading = read_url("http://x.example/p", read, get=served.get)
    assert [one.path for one in reading.documents] == ["http://x.example/p"]
    assert files[0].suffix == ".txt"
    assert list(tmp_path.iterdir()) == []
