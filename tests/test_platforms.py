"""Systems: one module names the calls that Windows lacks, and all is as before where they are taken away."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from disputatio import platforms
from disputatio.server.uploads import file_name

SRC = Path(__file__).resolve().parent.parent / "src" / "disputatio"
MODULES = {"fcntl", "grp", "posix", "pty", "pwd", "resource", "syslog", "termios", "tty"}
OF_OS = {
    *("chown", "chroot", "copy_file_range", "fchmod", "fchown", "fdatasync", "fork", "forkpty", "fstatvfs"),
    *("getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpriority", "getsid"),
    *("getuid", "killpg", "lchown", "memfd_create", "mkfifo", "mknod", "nice", "openpty", "pipe2"),
    *("posix_fadvise", "posix_fallocate", "posix_spawn", "pread", "preadv", "pwrite", "pwritev", "readv"),
    *("register_at_fork", "sched_getaffinity", "sched_setaffinity", "sendfile", "setgid", "setpgid"),
    *("set_blocking", "setpriority", "setsid", "setuid", "statvfs", "sync", "sysconf", "ttyname", "uname"),
    *("wait", "wait3", "wait4", "waitid", "WNOHANG", "writev", "getxattr", "setxattr", "listxattr"),
}
FLAGS = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_CREAT", "O_EXCL", "O_TRUNC", "O_APPEND"}  # those of all systems
SIGNALS = {"SIGINT", "SIGTERM", "SIGABRT", "SIGSEGV", "SIGFPE", "SIGILL", "SIG_IGN", "SIG_DFL"}
OTHERS = {
    *("select.poll", "select.epoll", "socket.AF_UNIX", "socket.send_fds", "socket.recv_fds", "ctypes.CDLL"),
}
FOLDERS = ("/proc", "/sys/", "/dev/", "/etc/", "/tmp", "/usr", "/var/")
# What may name such a call: the module for it, and the parser's child, which is not started without them.
MAY = {
    "platforms.py": {"*"},
    "store/ingesting/confine.py": {"*"},  # the fences of Linux's kernel, behind a look at the system
    "store/ingesting/child.py": {"socket.recv_fds"},
    "store/ingesting/sandbox.py": {"socket.send_fds"},
}


def windows_lacks(tree: ast.AST) -> list[str]:
    """Return what a module names and Windows lacks."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [name.name for name in node.names if name.name in MODULES]
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found.append(node.module)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            name, of = node.attr, node.value.id
            lacking = {
                "os": name in OF_OS or (name.startswith("O_") and name not in FLAGS),
                "signal": name.startswith("SIG") and name not in SIGNALS,
                "mmap": name.startswith("MADV_"),
            }
            if lacking.get(of) or f"{of}.{name}" in OTHERS or name == "add_signal_handler":
                found.append(f"{of}.{name}")
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [node.value[:40] for folder in FOLDERS if node.value.startswith(folder)]
    return found


@pytest.mark.long
def test_nothing_but_one_module_names_what_windows_lacks() -> None:
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        may = MAY.get(name, set())
        found = [one for one in windows_lacks(ast.parse(path.read_text(encoding="utf-8"))) if one not in may]
        assert "*" in may or found == [], f"{name}: put it into disputatio.platforms"


@pytest.mark.parametrize(
    "line",
    [
        "import fcntl",
        "from resource import getrusage",
        "os.getuid()",
        "os.open(path, os.O_RDONLY | os.O_NOFOLLOW)",
        "os.fork()",
        "os.kill(1, signal.SIGKILL)",
        "open('/proc/self/statm')",
        "len(os.sched_getaffinity(0))",
        "mapped.madvise(mmap.MADV_WILLNEED)",
        "select.poll()",
    ],
)
def test_a_call_that_windows_lacks_is_found(line: str) -> None:
    assert len(windows_lacks(ast.parse(line))) == 1
    assert windows_lacks(ast.parse("os.open(path, os.O_RDWR | os.O_CREAT); signal.SIGINT")) == []


# Takes from this process what Windows lacks, and gives it Windows's locks of bytes, made of Linux's.
WITHOUT = """
import os
os.supports_dir_fd.clear()  # as there: shutil decides by it when it is loaded
import asyncio, fcntl, mmap, select, selectors, signal, socket, struct, subprocess, sys, tempfile, types
import mcp, numpy, prometheus_client, pydantic_settings, rich.progress, typer, uvicorn  # see to themselves
{names}
def locking(handle, how, count):
    at = os.lseek(handle, 0, os.SEEK_CUR)
    asked = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, at, count, 0)
    fcntl.fcntl(handle, fcntl.F_OFD_SETLK, asked)  # the lock of a handle, as there, and not of a process
msvcrt = types.ModuleType("msvcrt")
msvcrt.locking, msvcrt.LK_NBLCK = locking, 2
for name in ("fcntl", "resource", "pwd", "grp", "termios", "tty", "pty", "readline"):
    sys.modules[name] = None
sys.modules["msvcrt"] = msvcrt
for name in dir(os):
    used = name == "statvfs"  # by shutil, which goes another way there
    if not used and (name in OF_OS or (name.startswith("O_") and name not in FLAGS)):
        delattr(os, name)
for name in dir(mmap):
    if name.startswith("MADV_"):
        delattr(mmap, name)
del select.poll, select.epoll, signal.SIGKILL, signal.SIGXCPU, socket.send_fds, socket.recv_fds
"""


def run_without(
    code: str, *arguments: str, folder: Path, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    """Run code in a process without what Windows lacks."""
    names = f"OF_OS, FLAGS = {OF_OS!r}, {FLAGS!r}"
    command = [sys.executable, "-c", WITHOUT.replace("{names}", names) + code, *arguments]
    environment = os.environ | {"DISPUTATIO_JOURNAL": str(folder / "calls.sqlite")}
    return subprocess.run(
        command, cwd=folder, env=environment, input=stdin, capture_output=True, text=True, check=False
    )


COMMAND = "from disputatio.cli import run; run()"
ROWS = "".join(
    json.dumps({"text": f"The Elm Bridge was opened in May 1921, says {name}.", "source": name}) + "\n"
    for name in ("a", "b")
)


@pytest.mark.long
def test_every_module_of_the_core_is_imported_without_what_windows_lacks(tmp_path: Path) -> None:
    code = """
import importlib, pathlib
import disputatio
top = pathlib.Path(disputatio.__file__).parent
leaves = ("adapters", "inspect_ai", "workers", "store/ingesting/child.py", "store/segments/kernels.py")
for path in sorted(top.rglob("*.py")):
    name = path.relative_to(top).as_posix()
    if not name.startswith(leaves) and path.name != "__main__.py":
        dotted = "disputatio." + name.removesuffix(".py").replace("/", ".")
        importlib.import_module(dotted.removesuffix(".__init__"))
print("imported")
"""
    done = run_without(code, folder=tmp_path)
    assert done.stdout == "imported\n", done.stderr[-2000:]


@pytest.mark.slow
def test_a_question_is_answered_without_what_windows_lacks(tmp_path: Path) -> None:
    line = ["ask", "When was the Elm Bridge opened?", "--passages", "-", "--model", "none", "--json"]
    done = run_without(COMMAND, *line, folder=tmp_path, stdin=ROWS)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answers"] == ["May 1921"]


@pytest.mark.long
def test_an_index_is_read_written_and_locked_without_what_windows_lacks(tmp_path: Path) -> None:
    for year in (1921, 1922, 1923):
        (tmp_path / f"{year}.md").write_text(f"The Elm Bridge was opened in {year}.")
    line = [
        "ingest",
        *(f"{year}.md" for year in (1921, 1922, 1923)),
        "--index",
        "town.index",
        "--embedder",
        "none",
    ]
    subprocess.run([sys.executable, "-c", COMMAND, *line], cwd=tmp_path, check=True, capture_output=True)
    code = """
import disputatio as d
index = d.Index.open("town.index", embedder="none")
with index.open_writer():
    try:
        d.Index.open("town.index", embedder="none").delete(paths=["1921.md"])
    except d.DisputatioError as error:
        print(error)
print(index.delete(paths=["1921.md"]))
index.compact(keep=0)
hits = d.Index.open("town.index", embedder="none").search("Elm Bridge", k=5)
print([hit.passage.text for hit in hits])
"""
    done = run_without(code, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    busy, deleted, texts = done.stdout.splitlines()
    assert "another process is writing to this index" in busy
    assert (int(deleted), texts.count("Elm Bridge")) == (1, 2)
    names = [path.name for path in (tmp_path / "town.index").rglob("*")]
    assert len({name.casefold() for name in names}) == len(set(names))
    assert not any(set(name) & set('<>:"/\\|?*') or name.endswith((" ", ".")) for name in names)


@pytest.mark.long
def test_documents_are_refused_in_a_line_where_their_parser_cannot_be_confined(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("The Elm Bridge was opened in 1921.")
    done = run_without(COMMAND, *["ingest", "a.md", "--index", "i", "--embedder", "none"], folder=tmp_path)
    assert done.returncode != 0
    assert "a.md: is not read on Windows" in done.stderr
    assert "Traceback" not in done.stderr


HOLDER = """
from disputatio import platforms
file = open(sys.argv[1], "ab")
print(platforms.lock(file), flush=True)
sys.stdin.readline()
"""


@pytest.mark.long
@pytest.mark.parametrize("windows", [False, True])
def test_a_lock_is_one_process_s_until_it_ends(tmp_path: Path, *, windows: bool) -> None:
    file = tmp_path / "lock"
    names = f"OF_OS, FLAGS = {OF_OS!r}, {FLAGS!r}"
    before = WITHOUT.replace("{names}", names) if windows else "import sys"
    command = [sys.executable, "-c", before + HOLDER, str(file)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "True\n"
        second = subprocess.run(command, input="", capture_output=True, text=True, check=True)
        assert second.stdout == "False\n"
        first.kill()
    third = subprocess.run(command, input="", capture_output=True, text=True, check=True)
    assert third.stdout == "True\n"


def test_a_link_is_not_followed_where_the_system_cannot_refuse_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to(tmp_path / "file")
    with pytest.raises(OSError, match="symbolic links"):
        platforms.open_handle(tmp_path / "link", os.O_RDONLY)
    monkeypatch.delattr(os, "O_NOFOLLOW")
    with pytest.raises(OSError, match="symbolic links"):
        platforms.open_handle(tmp_path / "link", os.O_RDONLY)
    os.close(platforms.open_handle(tmp_path / "link", os.O_RDONLY, follow=True))


def test_a_rename_waits_for_readers_where_the_system_needs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    part, file = tmp_path / "new", tmp_path / "old"
    part.write_text("new")
    file.write_text("old")
    tries = []
    real = Path.replace

    def busy(self: Path, target: Path) -> Path:
        tries.append(target)
        if len(tries) < 3:
            raise PermissionError(13, "it is open elsewhere")
        return real(self, target)

    monkeypatch.setattr(Path, "replace", busy)
    with pytest.raises(PermissionError):
        platforms.replace(part, file)
    monkeypatch.delattr(os, "getuid")
    platforms.replace(part, file)
    assert (len(tries), file.read_text()) == (3, "new")


def test_of_two_writers_of_a_file_one_is_kept_whole(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    with platforms.whole_file(file) as first:
        first.write_text("the first")
        with platforms.whole_file(file) as second:
            second.write_text("the second, which is longer")
    assert file.read_text() == "the first"
    assert [path.name for path in tmp_path.iterdir()] == ["kept.json"]


def test_what_an_ended_writer_left_goes_after_a_day_and_nothing_else(tmp_path: Path) -> None:
    names = ["kept.json.0123abcd.part", "kept.json.89abcdef.part", "kept.json.bak", "kept.json.model.part"]
    for name in names:
        (tmp_path / name).touch()
    for name in [names[0], *names[2:]]:
        os.utime(tmp_path / name, (0, 0))
    with platforms.whole_file(tmp_path / "kept.json") as part:
        part.write_text("{}")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.json", *names[1:]]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("..\\..\\notes.md", "notes.md"),
        ("\\\\server\\share\\a.txt", "a.txt"),
        ("D:notes.txt", "notes.txt"),
        ("a.txt:hidden", "a.txt_hidden"),
        ("notes.md ", "notes.md"),
    ],
)
def test_a_path_of_windows_is_no_path_of_an_upload(given: str, kept: str) -> None:
    assert file_name(given)[0] == kept
