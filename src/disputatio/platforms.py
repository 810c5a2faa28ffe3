"""Differences between systems, behind the same promises: locks, rights, links, limits, files on disk.

Linux and macOS keep all of them. Where Windows keeps less, the function says so; nothing else of the package
names a call that Windows lacks (`tests/test_platforms.py`), but for the kernel's fences of parsers.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import hashlib
import importlib
import mmap
import os
import re
import secrets
import select
import signal
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


def _module(name: str) -> Any:
    """Return a module of the standard library, None on a system that lacks it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def block_usage_reports() -> None:
    """Keep OpenVINO from reporting to its vendor that it was imported; call this before the import."""
    modules: Any = sys.modules  # None in it says that a module cannot be imported, which its type leaves out
    modules.setdefault("openvino_telemetry", None)


_fcntl, _msvcrt, _resource = _module("fcntl"), _module("msvcrt"), _module("resource")
_LOCKED_BYTE = 1 << 30  # Windows locks bytes; none of our locked files is as long
_WAITING = 0.05  # seconds between two tries, where the system cannot wait
_RENAMING = 5.0  # seconds for which readers may keep a file that is to be replaced
_TOKEN = 4  # random bytes in the name of a file that is being written
_LEFT = 86_400.0  # seconds without a byte, after which nobody writes it any more
_EXCEEDED = getattr(signal, "SIGXCPU", None)


# --- locks ------------------------------------------------------------------------------------------
def lock(file: int | IO[Any], *, wait: bool = False) -> bool:
    """Lock an open file until it is closed, which the end of the process does too; False if another has it.

    Where there is neither `flock` nor Windows's locks, nothing is locked, and one process at a time is for
    the user to see to.
    """
    handle = file if isinstance(file, int) else file.fileno()
    while True:
        try:
            if _fcntl is not None:
                _fcntl.flock(handle, _fcntl.LOCK_EX | (0 if wait else _fcntl.LOCK_NB))
            elif _msvcrt is not None:
                os.lseek(handle, _LOCKED_BYTE, os.SEEK_SET)
                _msvcrt.locking(handle, _msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if not isinstance(error, BlockingIOError | PermissionError) and error.errno != errno.EDEADLK:
                raise
            if not wait:
                return False
            time.sleep(_WAITING)
        else:
            return True


def open_lock(folder: Path) -> int:
    """Open what stands for a folder in `lock`.

    Windows opens no folders: there it is a file among the user's temporary ones, named after the folder.
    """
    if hasattr(os, "O_DIRECTORY"):
        return os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    if not folder.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    name = hashlib.sha256(os.path.normcase(folder.resolve()).encode()).hexdigest()[:32]
    return os.open(Path(tempfile.gettempdir()) / f"disputatio-{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)


# --- opening and rights -----------------------------------------------------------------------------
def open_handle(path: Path, how: int, *, follow: bool = False) -> int:
    """Open a file as `os.open` does, its bytes as they are, without waiting for the writer of a pipe.

    Children do not get it. Unless `follow` is set, a link is refused with `ELOOP`; Windows looks at the name
    before it opens it, so that one who may write in the folder can be quicker.
    """
    for name in ("O_NONBLOCK", "O_CLOEXEC", "O_NOINHERIT", "O_NOCTTY", "O_BINARY"):
        how |= getattr(os, name, 0)
    if not follow:
        if not hasattr(os, "O_NOFOLLOW") and path.is_symlink():
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        how |= getattr(os, "O_NOFOLLOW", 0)
    return os.open(path, how, 0o600)


def restrict(handle: int) -> None:
    """Give an open file to its user alone; Windows leaves it the rights of its folder."""
    if hasattr(os, "getuid") and stat.S_IMODE(os.fstat(handle).st_mode) != 0o600:
        os.fchmod(handle, 0o600)


def restrict_path(path: Path, about: os.stat_result) -> None:
    """Give a file that was looked at to its user alone; not what has taken its place since.

    No descriptor of it is closed that would drop a lock. Only Linux can rule out a change in between.
    """
    if not hasattr(os, "O_PATH"):
        if hasattr(os, "getuid") and os.path.samestat(path.lstat(), about):
            path.chmod(0o600, follow_symlinks=False)
        return
    handle = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if os.path.samestat(os.fstat(handle), about):
            Path(f"/proc/self/fd/{handle}").chmod(0o600)
    finally:
        os.close(handle)


def await_writer(file: IO[bytes], seconds: float) -> bool:
    """Wait for the first bytes of a named pipe that was opened without waiting; False if none came.

    Windows has no such pipes among its files.
    """
    if hasattr(select, "poll"):
        waiting = select.poll()
        waiting.register(file, select.POLLIN)
        if not waiting.poll(seconds * 1000):
            return False
        os.set_blocking(file.fileno(), True)
    return True


# --- what is on disk --------------------------------------------------------------------------------
def sync_file(path: Path) -> None:
    """Put what was written to a file on the disk."""
    handle = open_handle(path, os.O_RDONLY if hasattr(os, "getuid") else os.O_RDWR)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_folder(folder: Path) -> None:
    """Put the names in a folder on the disk; Windows does so in its own time."""
    if hasattr(os, "O_DIRECTORY"):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Yield a name beside a file; what is written there takes its place in one step, once it is on the disk.

    Every writer has a name of its own, so that two leave the file of one of them. An error leaves the file
    that was there; what processes left that ended meanwhile goes after a day. Raises `OSError`.
    """
    part = path.with_name(f"{path.name}.{secrets.token_hex(_TOKEN)}.part")
    _remove_left(path)
    try:
        yield part
        sync_file(part)
        replace(part, path)
        sync_folder(path.parent)
    finally:
        with contextlib.suppress(OSError):
            part.unlink(missing_ok=True)


def _remove_left(path: Path) -> None:
    """Remove what writers of a file left that ended before they were done."""
    with contextlib.suppress(OSError):
        for left in path.parent.glob(f"{glob.escape(path.name)}.{'[0-9a-f]' * 2 * _TOKEN}.part"):
            if time.time() - left.lstat().st_mtime > _LEFT:
                left.unlink()


def replace(part: Path, file: Path) -> None:
    """Put a file in another's place in one step, also while others read the old one.

    On Windows it waits up to five seconds for those who have it open, and raises `PermissionError` then.
    """
    until = time.monotonic() + _RENAMING
    while True:
        try:
            part.replace(file)
        except PermissionError:
            if hasattr(os, "getuid") or time.monotonic() > until:
                raise
            time.sleep(_WAITING)
        else:
            return


def read_at(handle: int, size: int, offset: int) -> bytes:
    """Read bytes at a place of an open file; without `pread` this moves the file's own place."""
    if hasattr(os, "pread"):
        return os.pread(handle, size, offset)
    os.lseek(handle, offset, os.SEEK_SET)
    return os.read(handle, size)


def write_at(handle: int, data: bytes | memoryview, offset: int) -> int:
    """Write bytes at a place of an open file, as many as it takes; may move the file's own place."""
    if hasattr(os, "pwrite"):
        return os.pwrite(handle, data, offset)
    os.lseek(handle, offset, os.SEEK_SET)
    return os.write(handle, data)


# --- processor and memory ---------------------------------------------------------------------------
def count_cores() -> int:
    """Count the cores that this process may use; of the machine, where the system does not tell."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def ticks_a_second() -> int:
    """Return the unit of processor times in `/proc`, which Linux alone has."""
    return os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def release_pages(mapped: mmap.mmap) -> None:
    """Let go of the pages of a mapped file that were read; Windows does so when it needs them."""
    if hasattr(mmap, "MADV_DONTNEED"):
        mapped.madvise(mmap.MADV_DONTNEED)


def give_way() -> None:
    """Leave no core, write no file and let other processes go first, for good; nothing of it on Windows."""
    if _resource is not None:
        _resource.setrlimit(_resource.RLIMIT_CORE, (0, 0))
        _resource.setrlimit(_resource.RLIMIT_FSIZE, (0, 0))
    with contextlib.suppress(OSError, AttributeError):
        os.nice(5)


def limit_processor(seconds: int) -> None:
    """End this process with `is_out_of_time` after so much processor time; not on Windows."""
    if _resource is not None:
        _, most = _resource.getrlimit(_resource.RLIMIT_CPU)
        _resource.setrlimit(_resource.RLIMIT_CPU, (seconds, most))


def limit_memory(size: int | None) -> None:
    """Bound the address space of this process, None for no bound; macOS and Windows keep none."""
    if _resource is None:
        return
    size = _resource.RLIM_INFINITY if size is None else size
    _, most = _resource.getrlimit(_resource.RLIMIT_AS)
    if most != _resource.RLIM_INFINITY and (size == _resource.RLIM_INFINITY or size > most):
        size = most
    with contextlib.suppress(ValueError, OSError):  # a system that knows no such limit
        _resource.setrlimit(_resource.RLIMIT_AS, (size, most))


def is_out_of_time(code: int) -> bool:
    """Return True if the status of a child says that it met `limit_processor`."""
    return _EXCEEDED is not None and code == -_EXCEEDED


def address_space() -> int:
    """Return the bytes of address space in use; 0 where the system does not tell, as all but Linux."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[0]) * mmap.PAGESIZE
    except OSError:
        return 0


def most_address_space() -> int:
    """Return the most bytes of address space that were in use at a time; 0 where the system does not tell."""
    try:
        match = re.search(rb"VmPeak:\s+(\d+) kB", Path("/proc/self/status").read_bytes())
    except OSError:
        return 0
    return int(match[1]) << 10 if match else 0


# --- processes --------------------------------------------------------------------------------------
def can_pass_files() -> bool:
    """Return True if an open file can be handed to another process, which Windows cannot as we need it."""
    return hasattr(socket, "send_fds")


def end_with_parent() -> None:
    """Kill this process when its parent ends, however that happens, also in the midst of a step.

    A step holds Python's lock for up to half a minute, so no thread of this process could do it: a fork of it
    waits for the parent's end of standard input to be closed, as the system closes those of what is killed.
    Windows has no forks: there the process ends after the step, when it reads the end of its input.
    """
    engine = os.getpid()
    if not hasattr(os, "fork") or os.fork():
        return
    try:
        os.close(1)  # whose end tells the parent of the end of this process
        ended = select.poll()
        ended.register(0, 0)  # a hang-up is always told
        ended.poll()
        if os.getppid() == engine:
            os.kill(engine, signal.SIGKILL)
    finally:
        os._exit(0)
