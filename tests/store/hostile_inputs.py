"""Hostile paths, archives, names and URLs, each through the real entry point: how many got through.

Paths, archives and names go through `find_files` and `open_reader`, which every ingest uses, out of a folder
beside which a secret lies; URLs go through `fetch`, with played names and connections, so that nothing leaves
the process. A path got through when the secret or a refused member was read, a file appeared anywhere, the
reader hung, an address in a file was called, or a control character of a name reached a document or a message. A URL got through when a
connection was made to an address that is not public, or to any where the URL itself is to be refused.
"""

from __future__ import annotations

import contextlib
import io
import ipaddress
import os
import signal
import socket
import stat
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from disputatio.errors import IngestError
from disputatio.store.ingesting.documents import Document, FileReading
from disputatio.store.ingesting.fetch import Limits, fetch
from disputatio.store.ingesting.files import find_files
from disputatio.store.ingesting.readers import open_reader
from disputatio.store.ingesting.source import with_source

SECRET = "CANARY-4711 lies outside of the folder"
HOSTILE = "HOSTILE-4712 lies in a member that is to be refused"
HARMLESS = "A zebra has stripes."
PUBLIC = "93.184.216.34"
_SECONDS = 60  # that one case may take, the start of the parsers' child included
Read = Callable[[Path, str], FileReading]
Make = Callable[["Place"], Path | None]  # gives the path to ingest; the folder when None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of one case; `through` says what got through and is empty where nothing did."""

    group: str
    case: str
    through: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The place of a case: a folder to ingest, and a secret in another one beside it."""

    folder: Path
    secret: Path
    web: str

    def filled(self, words: str) -> str:
        """Words with the names of the place in them; `{to}` is the secret as a URL, `{web}` a listener."""
        for name, path in (("folder", self.folder), ("secret", self.secret), ("outside", self.secret.parent)):
            words = words.replace(f"{{{name}}}", str(path))
        words = words.replace("{to}", self.secret.as_uri()).replace("{web}", self.web)
        return words.replace("{lol}", "lol" * 99)


class Hung(Exception):
    """A case took too long."""


# --- paths --------------------------------------------------------------------------------------------
def _link(to: str, name: str = "link.txt") -> Make:
    def make(at: Place) -> None:
        (at.folder / name).symlink_to(at.filled(to))

    return make


def _chain(at: Place) -> None:
    (at.folder / ".hidden").symlink_to(at.secret)
    (at.folder / "b.txt").symlink_to(".hidden")
    (at.folder / "a.txt").symlink_to("b.txt")


def _loop(at: Place) -> None:
    (at.folder / "a.txt").symlink_to("b.txt")
    (at.folder / "b.txt").symlink_to("a.txt")


def _through_folder(at: Place) -> None:
    (at.folder / "sub").mkdir()
    (at.folder / "sub" / "up").symlink_to("../../outside")


def _fifo(at: Place) -> None:
    os.mkfifo(at.folder / "pipe.txt")


def _socket(at: Place) -> None:
    listener = socket.socket(socket.AF_UNIX)
    folder = Path.cwd()
    try:
        os.chdir(at.folder)  # a socket's path is short
        listener.bind("s.txt")
    finally:
        os.chdir(folder)
        listener.close()


def _device(minor: int, kind: int = stat.S_IFCHR, major: int = 1) -> Make:
    def make(at: Place) -> None:
        try:
            os.mknod(at.folder / "device.txt", kind | 0o600, os.makedev(major, minor))
        except OSError:  # only root may
            (at.folder / "device.txt").symlink_to("/dev/zero")

    return make


def _itself(path: str) -> Make:
    return lambda at: Path(at.filled(path))


def _both(first: Make, path: str) -> Make:
    def make(at: Place) -> Path:
        first(at)
        return Path(at.filled(path))

    return make


def path_cases() -> Iterator[tuple[str, Make]]:
    """Links, devices, pipes and patterns."""
    for to in (
        "{secret}", "../outside/secret.txt", "./../outside/secret.txt", "../folder/../outside/secret.txt",
        "/proc/self/cwd/{secret}", "/proc/self/root{secret}", "{folder}/../outside/secret.txt", "//{secret}",
        "/etc/passwd", "/etc/hostname", "/proc/self/environ", "/proc/self/maps", "/proc/self/mem",
        "/proc/self/fd/0", "/proc/1/environ", "/proc/kmsg", "/sys/kernel/notes", "/dev/zero", "/dev/random",
        "/dev/urandom", "/dev/null", "/dev/full", "/dev/stdin", "/dev/tty", "/dev/fd/0", "/nowhere",
        "link.txt", "../link.txt", "..", ".", "/", "../outside", "{outside}", "/proc/self", "/dev",
    ):  # fmt: skip
        yield f"a link to {to}", _link(to)
    for name in ("link.pdf", "link.html", "link.jsonl", "link.zip", "link.csv", "link.eml", "link"):
        yield f"a link {name} to the secret", _link("{secret}", name)
    yield "links in a row", _chain
    yield "links in a circle", _loop
    yield "a folder that is a link, below a folder", _through_folder
    yield "a pattern that matches a link out", _both(_link("{secret}"), "{folder}/*.txt")
    yield "a pattern through a linked folder", _both(_link("../outside", "up"), "{folder}/*/secret.txt")
    yield "a pattern that names part of a linked folder", _both(_link("../outside", "up"), "{folder}/u?/*")
    yield "a deep pattern over a linked folder", _both(_link("../outside", "up"), "{folder}/**/*.txt")
    yield "a pattern of devices", _itself("/dev/zer[o]")
    yield "a named pipe", _fifo
    yield "a named pipe by its own path", _both(_fifo, "{folder}/pipe.txt")
    yield "a socket", _socket
    yield "a socket by its own path", _both(_socket, "{folder}/s.txt")
    yield "a device (zero)", _device(5)
    yield "a device (full)", _device(7)
    yield "a device (random)", _device(8)
    yield "a block device", _device(0, stat.S_IFBLK, 7)
    for path in ("/dev/zero", "/dev/full", "/dev/tty", "/proc/self/mem", "/nowhere", "{folder}/../nowhere"):
        yield f"the path {path}", _itself(path)
    yield "a path with a NUL", _itself("{folder}/a\0b.txt")
    yield "a path of 5,000 characters", _itself("{folder}/" + "a" * 5_000)
    yield "a path too deep", _itself("{folder}" + "/a" * 3_000)


# --- archives -----------------------------------------------------------------------------------------
def _zip(folder: Path, *members: tuple[str | zipfile.ZipInfo, str | bytes], name: str = "a.zip") -> None:
    with zipfile.ZipFile(folder / name, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members:
            archive.writestr(member, data)


def _member(name: str) -> Make:
    """Return an archive of one member; the name is written as it is, past what `zipfile` would mend."""

    def make(at: Place) -> None:
        stand_in = "n" * len(name.encode())
        _zip(at.folder, (stand_in, HOSTILE))
        file = at.folder / "a.zip"
        file.write_bytes(file.read_bytes().replace(stand_in.encode(), name.encode()))

    return make


def _special(kind: int, data: str = "{secret}") -> Make:
    def make(at: Place) -> None:
        info = zipfile.ZipInfo("link.txt")
        info.create_system = 3
        info.external_attr = (kind | 0o777) << 16
        _zip(at.folder, (info, at.filled(data)))

    return make


def _nested(make: Make, depth: int = 1) -> Make:
    def made(at: Place) -> None:
        make(at)
        for _ in range(depth):
            data = (at.folder / "a.zip").read_bytes()
            _zip(at.folder, ("inner.zip", data))

    return made


def _bomb(at: Place) -> None:
    _zip(at.folder, ("zeros.txt", HOSTILE.encode() + b" " * 200_000_000))


def _many(at: Place) -> None:
    _zip(at.folder, *((f"{number}.txt", "") for number in range(25_000)))


def _twice(at: Place) -> None:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _zip(at.folder, ("a.txt", HARMLESS), ("a.txt", HOSTILE))


def _overlapping(at: Place) -> None:
    """Two entries of the directory that point to the same bytes."""
    _zip(at.folder, ("a.txt", HARMLESS), ("b.txt", HOSTILE))
    file = at.folder / "a.zip"
    raw = bytearray(file.read_bytes())
    first = raw.index(b"PK\x01\x02")
    second = raw.index(b"PK\x01\x02", first + 4)
    raw[second + 42 : second + 46] = raw[first + 42 : first + 46]
    file.write_bytes(bytes(raw))


def _locked(at: Place) -> None:
    _zip(at.folder, ("a.txt", HOSTILE))
    file = at.folder / "a.zip"
    raw = bytearray(file.read_bytes())
    raw[6] |= 1
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    file.write_bytes(bytes(raw))


_XXE = '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY x SYSTEM "{to}">]>'
_LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a "{lol}">'
    + "".join(f'<!ENTITY {chr(98 + at)} "{("&" + chr(97 + at) + ";") * 10}">' for at in range(9))
    + "]>"
)
_CONTAINER = '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="{to}"/></rootfiles></container>'
_PACKAGE = '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="a" href="{to}" media-type="application/xhtml+xml"/></manifest><spine><itemref idref="a"/></spine></package>'


def _epub(
    *, root: str = "p.opf", chapter: str = "a.xhtml", head: str = "", where: str = "", text: str = ""
) -> Make:
    """Return a book; `head` and `text` go into the file `where`: container, package or chapter."""

    def make(at: Place) -> None:
        heads = {
            name: at.filled(head) if where == name else "" for name in ("container", "package", "chapter")
        }
        _zip(
            at.folder,
            ("mimetype", "application/epub+zip"),
            ("META-INF/container.xml", heads["container"] + _CONTAINER.replace("{to}", at.filled(root))),
            ("p.opf", heads["package"] + _PACKAGE.replace("{to}", at.filled(chapter))),
            ("a.xhtml", f"{heads['chapter']}<html><body><p>{HARMLESS} {at.filled(text)}</p></body></html>"),
            name="book.epub",
        )

    return make


_TYPES = (
    '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="rels" '
    'ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/word/document.xml" '
    'ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>'
)
_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" '
    f'Type="{_REL}/{{kind}}" Target="{{to}}"{{mode}}/></Relationships>'
)


def _docx(
    *, main: str = "word/document.xml", head: str = "", text: str = "", outside: str = "", kind: str = "image"
) -> Make:
    """Return a Word file; `outside` is the target of a relation of its text, as an external one."""

    def make(at: Place) -> None:
        first = _RELS.format(kind="officeDocument", to=at.filled(main), mode="")
        body = (
            f'{at.filled(head)}<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>'
            f"<w:p><w:r><w:t>{HARMLESS} {text}</w:t></w:r></w:p></w:body></w:document>"
        )
        members = [("[Content_Types].xml", _TYPES), ("_rels/.rels", first), ("word/document.xml", body)]
        if outside:
            second = _RELS.format(kind=kind, to=at.filled(outside), mode=' TargetMode="External"')
            members.append(("word/_rels/document.xml.rels", second))
        _zip(at.folder, *members, name="a.docx")

    return make


def _file(name: str, text: str) -> Make:
    def make(at: Place) -> None:
        (at.folder / name).write_text(at.filled(text))

    return make


def _mail(filename: str) -> Make:
    return _file(
        "a.eml",
        "From: a@x.example\nSubject: zebra\nMIME-Version: 1.0\nContent-Type: multipart/mixed; boundary=b\n\n--b\n"
        f"Content-Type: text/plain\n\n{HARMLESS}\n--b\nContent-Type: text/plain\nContent-Disposition: attachment; "
        f'filename="{filename}"\n\nan attachment\n--b--\n',
    )


TRAVERSALS = (
    "../evil.txt", "../../evil.txt", "a/../../evil.txt", "a/b/../../../evil.txt", "./../evil.txt", "..\\evil.txt",
    "a\\..\\..\\evil.txt", "..\\..\\evil.txt", "../evil.txt/", "..//evil.txt", "a/..", "a/../b.txt", "..", "../",
    "/evil.txt", "//evil.txt", "/etc/cron.d/evil.txt", "\\evil.txt", "\\\\server\\share\\evil.txt",
    "//server/share/evil.txt", "C:\\evil.txt", "C:evil.txt", "c:/evil.txt", "Z:\\..\\evil.txt",
    "../folder/evil.txt", "../outside/secret.txt", "../../../../../../../../../../outside/evil.txt",
    "/proc/self/environ.txt", "a.txt\0.pdf", "../a.txt\0", "\0.txt", "a/\0/../../b.txt", "../" * 50 + "evil.txt",
    "..\\../evil.txt", "a/..\\..\\/evil.txt", "é/../../evil.txt",
)  # fmt: skip


def archive_cases() -> Iterator[tuple[str, Make]]:
    """Zip files, books and documents whose members lead out of them, and files that point at others."""
    for name in TRAVERSALS:
        yield f"a member {name!r}", _member(name)
    for name in ("../evil.txt", "/evil.txt", "C:\\evil.txt", "..\\evil.txt"):
        yield f"an archive in an archive with {name!r}", _nested(_member(name))
    for kind, name in (
        (stat.S_IFLNK, "link"), (stat.S_IFIFO, "pipe"), (stat.S_IFCHR, "device"), (stat.S_IFBLK, "block device"),
        (stat.S_IFSOCK, "socket"),
    ):  # fmt: skip
        yield f"a member that is a {name}", _special(kind, "{secret} " + HOSTILE)
    yield "a link in an archive in an archive", _nested(_special(stat.S_IFLNK, "{secret} " + HOSTILE))
    yield "three archives in each other", _nested(_member("evil.txt"), 3)
    yield "a member that unpacks to 200 MB", _bomb
    yield "25,000 members", _many
    yield "two members of one name", _twice
    yield "two members of the same bytes", _overlapping
    yield "a locked member", _locked
    for to in ("../outside/secret.txt", "{secret}", "{to}", "../../../../etc/passwd", "{web}"):
        yield f"a book whose package is {to}", _epub(root=to)
        yield f"a book whose chapter is {to}", _epub(chapter=to)
        yield f"a Word file whose text is {to}", _docx(main=to)
        yield f"a Word file with an image at {to}", _docx(outside=to)
        yield f"a Word file with a template at {to}", _docx(outside=to, kind="attachedTemplate")
    for where in ("container", "package", "chapter"):
        yield f"a book with an entity in its {where}", _epub(head=_XXE, where=where, text="&x;")
        yield f"a book with entities of entities in its {where}", _epub(head=_LAUGHS, where=where, text="&j;")
    yield "a Word file with an entity", _docx(head=_XXE, text="&x;")
    yield "a Word file with entities of entities", _docx(head=_LAUGHS, text="&j;")
    page = "<html><head>{head}</head><body><p>" + HARMLESS + "</p>{body}</body></html>"
    for tag in (
        "iframe src",
        "img src",
        "object data",
        "embed src",
        "script src",
        "link rel=import href",
        "a href",
    ):
        for to, name in (("{to}", "the secret"), ("{web}", "a listener")):
            yield f"a page with {tag} of {name}", _file("a.html", page.replace("{body}", f'<{tag}="{to}">'))
    for where in ("container", "package", "chapter"):
        head = _XXE.replace("{to}", "{web}")
        yield f"a book with an entity of a listener in its {where}", _epub(head=head, where=where, text="&x;")
    yield "a Word file with an entity of a listener", _docx(head=_XXE.replace("{to}", "{web}"), text="&x;")
    yield "a page with an entity", _file("a.xhtml", _XXE + page.replace("{body}", "&x;"))
    yield (
        "a page with an include",
        _file(
            "a.xhtml",
            page.replace(
                "{body}",
                '<i xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="{to}" parse="text"/></i>',
            ),
        ),
    )
    yield "a page based in the secret's folder", _file("a.html", page.replace("{head}", '<base href="{to}">'))
    for url in ("javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "{to}"):
        yield (
            f"a page whose address is {url}",
            _file(
                "a.html",
                page.replace(
                    "{head}", f'<link rel="canonical" href="{url}"><meta property="og:url" content="{url}">'
                ),
            ),
        )
    for name in ("../../evil.txt", "/etc/passwd", "..\\evil.txt", "{secret}", "a\x1b[2J.txt", "con.txt"):
        yield f"mail with an attachment {name!r}", _mail(name)
    yield (
        "mail whose part is a local file",
        _file(
            "a.eml",
            'From: a@x.example\nMIME-Version: 1.0\nContent-Type: message/external-body; access-type=local-file; name="{secret}"\n\n'
            "Content-Type: text/plain\n\n",
        ),
    )


# --- names --------------------------------------------------------------------------------------------
NAMES = (
    "a\nb.txt", "a\r.txt", "a\tb.txt", "\x1b[31mred.txt", "\x1b]0;title\x07.txt", "\x1b[2J\x1b[H.txt", "a\x08\x08.txt",
    "a\x7f.txt", "a\x9b31m.txt", "invoice\u202etxt.exe.txt", "a\u2066b.txt", "a\u200bb.txt", "a\u200f.txt", "a\ufeff.txt",
    "a\u2028b.txt", "a\u2029.txt", "a\u061c.txt", "a\u00ad.txt", "a\udcff.txt", "a\udc9b31m.txt", "a\U000e0041.txt",
    "a\nerror: all is well.txt", "a\0b.txt",
)  # fmt: skip


def _named(name: str, text: str) -> Make:
    def make(at: Place) -> None:
        (at.folder / name).write_text(text)

    return make


def _foldered(name: str) -> Make:
    def make(at: Place) -> None:
        (at.folder / name.removesuffix(".txt")).mkdir()
        (at.folder / name.removesuffix(".txt") / "a.txt").write_text(HARMLESS)

    return make


def name_cases() -> Iterator[tuple[str, Make]]:
    """Names that would turn a terminal or a log around; read, but shown as what they are."""
    for name in NAMES:
        if "\0" not in name:
            yield f"a file {name!r}", _named(name, HARMLESS)
            yield f"an empty file {name!r}", _named(name, " ")
            yield f"a folder {name!r}", _foldered(name)
        if not any("\udc00" <= letter <= "\udfff" for letter in name):
            yield f"a harmless member {name!r}", _member_of(name)


def _member_of(name: str) -> Make:
    def make(at: Place) -> None:
        _zip(at.folder, (name, HARMLESS))

    return make


def run_path(read: Read, group: str, case: str, make: Make, base: Path, web: socket.socket) -> Result:
    """Return one path case in a fresh folder; `web` is a listener that nothing may call."""
    folder, outside = base / "folder", base / "outside"
    folder.mkdir(parents=True)
    outside.mkdir()
    secret = outside / "secret.txt"
    secret.write_text(SECRET)
    root = (
        make(Place(folder=folder, secret=secret, web=f"http://127.0.0.1:{web.getsockname()[1]}/")) or folder
    )
    before = _tree(base)
    documents: list[Document] = []
    refused: list[IngestError] = []
    through = ""
    try:
        with _deadline():
            try:
                for path, top in find_files(root, refused):
                    try:
                        reading = read(path, top)
                        documents += reading.documents
                        refused += reading.refused
                    except IngestError as error:
                        refused.append(error)
            except IngestError as error:
                refused.append(error)
    except Hung:
        through = "the reader hung"
    texts = " ".join(document.text for document in documents)
    names = [
        part
        for document in documents
        for part in (document.path, document.title, document.url, with_source(document).source)
    ]
    names += [str(error) for error in refused]
    if called(web):
        through = "an address in it was called"
    elif SECRET[:11] in texts or "root:" in texts:
        through = "a file outside was read"
    elif HOSTILE[:12] in texts:
        through = "a member that is to be refused was read"
    elif _tree(base) != before:
        through = "a file appeared or changed"
    elif any(not name.isprintable() for name in names):
        through = "a control character reached a document or a message"
    elif any(document.url and not document.url.startswith(("http://", "https://")) for document in documents):
        through = "a document has an address that is not of the web"
    reason = (
        "; ".join(dict.fromkeys(error.reason for error in refused))
        .replace(str(folder), "FOLDER")
        .replace(str(base), "BASE")
        .replace(str(base)[1:], "BASE")
    )
    if documents:
        reason = (
            f"read without it: {', '.join(document.path.rpartition('/')[2] for document in documents)[:80]}"
        )
    return Result(group=group, case=case, through=through, reason=reason or "passed over")


def listener() -> socket.socket:
    """Return a port of loopback that hears calls and answers none."""
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)
    return server


def called(web: socket.socket) -> bool:
    """Return whether somebody has called since the last look."""
    try:
        web.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def _tree(base: Path) -> dict[str, tuple[int, int]]:
    outcomes = {}
    for folder, names, files in os.walk(base):
        for path in (Path(folder, name) for name in (*names, *files)):
            about = path.lstat()
            outcomes[str(path)] = (about.st_ino, about.st_size)
    return outcomes


@contextlib.contextmanager
def _deadline() -> Iterator[None]:
    def late(_number: int, _frame: FrameType | None) -> None:
        raise Hung

    old = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)


# --- URLs ---------------------------------------------------------------------------------------------
INSIDE = ("127.0.0.1", "10.0.0.1", "172.16.3.4", "192.168.1.1", "169.254.169.254", "100.64.0.1", "0.0.0.0")


def spellings(address: str) -> list[str]:
    """Ways to write an IPv4 address as a host that one reader or another takes."""
    a, b, c, d = (int(part) for part in address.split("."))
    number = int(ipaddress.IPv4Address(address))
    return [
        address,
        f"{address}.",
        str(number),
        hex(number),
        f"0x{number:X}".replace("0x", "0X"),
        f"0{number:o}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}",
        f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        f"{a}.{(b << 16) + (c << 8) + d}",
        f"{a}.{b}.{(c << 8) + d}",
        f"{a:#x}.0{b:o}.{(c << 8) + d}",
        f"000{a:o}.{b}.{c}.{d}",
        address.translate({48 + at: 0xFF10 + at for at in range(10)}),
        address.replace(".", "\u3002"),
        "".join(chr(0x2460 + int(digit) - 1) if digit in "123456789" else "\u24ea" if digit == "0" else digit for digit in address),
        f"%{ord(address[0]):02x}{address[1:]}",
        f"[::ffff:{address}]",
        f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]",
        f"[::{address}]",
        f"[64:ff9b::{address}]",
        f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]",
        f"[2606:4700::5efe:{address}]",
    ]  # fmt: skip


NAMED = {
    "inside-v4.example": ["10.0.0.5"], "inside-v6.example": ["::1"], "mixed.example": [PUBLIC, "127.0.0.1"],
    "mapped.example": ["::ffff:127.0.0.1"], "metadata.example": ["169.254.169.254"], "ula.example": ["fd00::1"],
    "linklocal.example": ["fe80::1%eth0"], "teredo.example": ["2001:0:7f00:1::"], "six.example": ["2002:7f00:1::"],
    "nat64.example": ["64:ff9b::7f00:1"], "zero.example": ["0.0.0.0"], "many.example": [PUBLIC] * 3 + ["192.168.0.1"],
    "multicast.example": ["224.0.0.1"], "azure.example": ["168.63.129.16"], "nothing.example": [],
    "rubbish.example": ["127.1"], "alibaba.example": ["100.100.100.200"], "ec2.example": ["fd00:ec2::254"],
}  # fmt: skip

FORMS = (
    "http://good.example@127.0.0.1/", "http://127.0.0.1@good.example/", "http://good.example:80@127.0.0.1/",
    "http://good.example%40127.0.0.1/", "http://good.example\\@127.0.0.1/", "http://127.0.0.1\\@good.example/",
    "http://good.example#@127.0.0.1:22/", "http://127.0.0.1#@good.example/", "http://127.0.0.1?@good.example/",
    "http:\\\\127.0.0.1/", "http:/\\127.0.0.1/", "http:127.0.0.1/", "http:/127.0.0.1/", "http:///127.0.0.1/",
    "http:////127.0.0.1/", "//127.0.0.1/", "///127.0.0.1", "127.0.0.1", "http://", "http:///", "https://?x",
    "ht\ttp://127.0.0.1/", "http://127.0.\t0.1/", "http://127.0.0.1\n/", "\nhttp://127.0.0.1/", " http://127.0.0.1/",
    "http://127.0.0.1\r\nHost: good.example/", "http://good.example/\r\nX: y", "http://good.example\x00.127.0.0.1/",
    "http://localhost/", "http://LOCALHOST/", "http://localhost./", "http://a.localhost/", "http://localhost.localdomain/",
    "http://ip6-localhost/", "http://printer.local/", "http://metadata.google.internal/", "http://kubernetes.default.svc/",
    "http://intranet/", "http://router.lan/", "http://l\u00f6calhost/", "http://\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3/",
    "http://local\u00adhost/", "http://\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54/", "http://127.0.0.1:6379/",
    "http://good.example:22/", "http://good.example:0/", "http://good.example:65616/", "http://good.example:8\u0660/",
    "http://good.example:+80/", "http://good.example: 80/", "http://[::1]/", "http://[::]/", "http://[0:0:0:0:0:0:0:1]/",
    "http://[::1%25lo]/", "http://[fe80::1%25eth0]/", "http://[fc00::1]/", "http://[ff02::1]/", "http://[fec0::1]/",
    "http://[2001:db8::1]/", "http://[2001::1]/", "http://[100::1]/", "http://[::ffff:0:7f00:1]/", "http://[64:ff9b:1::7f00:1]/",
    "http://[fd00:ec2::254]/", "http://[::1/", "http://::1/", "http://[127.0.0.1]/", "http://224.0.0.1/", "http://255.255.255.255/",
    "http://198.18.0.1/", "http://100.100.100.200/latest/meta-data/", "http://168.63.129.16/", "http://192.0.0.192/",
    "http://256.256.256.256/", "http://127.0.0.1.1/", "http://0x100000000/", "http://1.2.3@127.1/", "http://08.0.0.1/",
    "file:///etc/passwd", "file://localhost/etc/passwd", "ftp://good.example/", "gopher://127.0.0.1:6379/_FLUSHALL",
    "dict://127.0.0.1:11211/", "ldap://127.0.0.1/", "jar:http://good.example!/", "data:text/html,x", "javascript:alert(1)",
    "netdoc:///etc/passwd", "unix:///var/run/docker.sock", "http+unix://%2fvar%2frun%2fdocker.sock/", "view-source:http://127.0.0.1/",
    "http://good.example/" + "a" * 20_000,
)  # fmt: skip

LOCATIONS = (
    "http://127.0.0.1/", "http://localhost/", "//127.0.0.1/", "///127.0.0.1/", "http://2130706433/", "http://0x7f.1/",
    "http://0177.0.0.1/", "http://127.1/", "http://[::1]/", "http://[::ffff:7f00:1]/", "http://[::]/", "http://0/",
    "http://169.254.169.254/latest/meta-data/iam/", "http://10.0.0.1/", "http://192.168.0.1/", "http://inside-v4.example/",
    "http://mixed.example/", "http://good.example:8080/", "http://u:p@good.example/", "http://good.example@127.0.0.1/",
    "\\\\127.0.0.1\\", "/\\127.0.0.1/", "http:\\\\127.0.0.1\\", "file:///etc/passwd", "gopher://127.0.0.1/", "data:text/plain,x",
    "ftp://good.example/", "javascript:alert(1)", "http://127.0.0.1\t/", "http:127.0.0.1", "", "http://\u2460\u2461\u2466.1/",
    "http://127\u30020\u30020\u30021/", "http://[fe80::1%25eth0]/", "http://metadata.google.internal/", "//localhost:80/",
)  # fmt: skip


class Net:
    """Names and connections that are played; every connection is written down."""

    def __init__(self, answers: Sequence[bytes], names: dict[str, list[list[str]]] | None = None) -> None:
        self._answers = list(answers)
        self._names = names or {}
        self._open: list[socket.socket] = []
        self.connected: list[str] = []

    def resolve(self, host: str, _port: int) -> list[str]:
        """As the system would: hosts of numbers are addresses to it in all their spellings."""
        if turns := self._names.get(host):
            return turns.pop(0) if len(turns) > 1 else turns[0]
        if host in NAMED:
            return NAMED[host]
        if host.endswith(("localhost", "localdomain")):
            return ["127.0.0.1"]
        try:
            return [socket.inet_ntoa(socket.inet_aton(host))]
        except OSError:
            return [PUBLIC] if host.endswith(".example") else ["10.0.0.9"]

    def connect(self, ip: str, _port: int, _seconds: float) -> socket.socket:
        """Return one end of a pair; the answer waits in it."""
        self.connected.append(ip)
        near, far = socket.socketpair()
        self._open.append(far)
        far.sendall(self._answers.pop(0) if self._answers else _OK)
        far.shutdown(socket.SHUT_WR)
        return near

    def close(self) -> None:
        """End what is open."""
        for connection in self._open:
            connection.close()


_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 6\r\n\r\nsecret"


def _redirect(location: str) -> bytes:
    return b"HTTP/1.1 302 Found\r\nLocation: " + location.encode() + b"\r\nContent-Length: 0\r\n\r\n"


def run_url(group: str, case: str, url: str, net: Net, *, hops: int) -> Result:
    """Return one URL; `hops` connections to the public address are in order, and no document is."""
    through = reason = ""
    try:
        with _deadline():
            got = fetch(url, resolve=net.resolve, connect=net.connect, limits=Limits(total=20))
        through = f"fetched {len(got.data)} bytes from {got.url}"
    except IngestError as error:
        reason = error.reason
        if not str(error).isprintable():
            through = "a control character reached the message"
    except Hung:
        through = "the fetch hung"
    finally:
        net.close()
    if net.connected[hops:] or any(ip != PUBLIC for ip in net.connected):
        through = f"connected to {', '.join(net.connected)}"
    return Result(group=group, case=case, through=through, reason=reason)


def url_results() -> Iterator[Result]:
    """Yield every URL case."""
    for address in INSIDE:
        for host in dict.fromkeys(spellings(address)):
            url = f"http://{host}/"
            yield run_url("hosts in other spellings", repr(url), url, Net([]), hops=0)
    for name, group in NAMED.items():
        yield run_url(
            "names that lead inside", f"{name} -> {', '.join(group)}", f"http://{name}/", Net([]), hops=0
        )
    for form in FORMS:
        # The part after # is the page's own; that URL is good and its host the one before it.
        hops = 1 if form.startswith("http://good.example#") else 0
        answers = [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"] if hops else []
        yield run_url("forms of URLs", ascii(form)[:90], form, Net(answers), hops=hops)
    for location in LOCATIONS:
        net = Net([_redirect(location)])
        yield run_url("redirects", ascii(location), "http://good.example/", net, hops=1)
    net = Net([_redirect("/next")] * 20)
    yield run_url("redirects", "without end", "http://good.example/", net, hops=6)
    for number, second in enumerate(("127.0.0.1", "::1", "10.0.0.1", "169.254.169.254", "::ffff:10.0.0.1")):
        names = {"good.example": [[PUBLIC], [second]]}
        net = Net([_redirect("/again")], names)
        case = f"the name is public first, then {second}"
        yield run_url("names that change", case, "http://good.example/", net, hops=1)
        if not number:  # without a redirect the second answer is never asked for; the page is public
            net = Net(
                [b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"],
                {"good.example": [[PUBLIC], [second]]},
            )
            yield run_url(
                "names that change", "between check and connection", "http://good.example/", net, hops=1
            )


def results() -> Iterator[Result]:
    """Yield every case, one after the other."""
    groups = (("paths", path_cases()), ("archives and pointers", archive_cases()), ("names", name_cases()))
    with tempfile.TemporaryDirectory() as base, open_reader(stdin=io.BytesIO(b"")) as read, listener() as web:
        number = 0
        for group, cases in groups:
            for case, make in cases:
                number += 1
                yield run_path(read, group, case, make, Path(base, str(number)), web)
    yield from url_results()
