"""Confinement of the parsers' child by the kernel: files by Landlock, system calls by seccomp.

Landlock leaves it the interpreter, its libraries and the files that those read; all else, to read or to
write, is refused. The filter of system calls leaves it no socket, no new process, no signal to another
process and no change of a file's rights or times. Both are of Linux; the filter knows the numbers of x86-64
only. Where one is missing, `fences` says so, and the limits and the audit hook of `child.py` are what is
left.
"""

from __future__ import annotations

import ctypes
import mimetypes
import os
import platform
import struct
import sys
from collections.abc import Sequence
from pathlib import Path

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _GET_SECCOMP, _FILTER = 38, 22, 21, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same numbers on every machine
_READ_FILE, _READ_FOLDER = 1 << 2, 1 << 3
# Rights over files by the version of Landlock that knows them first, and those over TCP.
_FILE_RIGHTS = ((1, (1 << 13) - 1), (2, 1 << 13), (3, 1 << 14), (5, 1 << 15))
_NETWORK_SINCE, _NETWORK_RIGHTS = 4, 0b11
_SCOPES_SINCE, _SCOPES = 6, 0b11  # abstract sockets and signals of others
_SYSTEM = """
    /usr /lib /lib64 /etc/ld.so.cache /etc/localtime /etc/mime.types /etc/ssl/openssl.cnf /proc/self
    /proc/cpuinfo /proc/meminfo /sys/devices/system/cpu /dev/null /dev/urandom
""".split()  # noqa: SIM905
_X86_64, _X32_BIT = 0xC000003E, 0x40000000
_ALLOW, _REFUSE, _UNKNOWN = 0x7FFF0000, 0x00050000 | 1, 0x00050000 | 38  # EPERM, ENOSYS
_LOAD, _EQUAL, _ANY_BIT, _AT_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_CLONE, _CLONE3, _THREAD = 56, 435, 0x00010000
_LIMITS, _SIGNAL, _SIGNAL_THREAD = 302, 62, 234
_REFUSED = (
    *(41, 42, 43, 49, 50, 53, 288),  # socket, connect, accept, bind, listen, socketpair, accept4
    *(57, 58, 59, 322),  # fork, vfork, execve, execveat
    *(101, 310, 311, 434, 438, 424),  # ptrace, other processes' memory, descriptors and signals
    *(76, 82, 83, 84, 85, 86, 87, 88, 133),  # truncate, rename, links, mknod
    *(258, 259, 263, 264, 265, 266, 316),  # the same from an open folder
    *(90, 91, 268, 452, 92, 93, 94, 260),  # rights and owners
    *(132, 235, 261, 280, 188, 189, 190, 197, 198, 199),  # times and attributes
    *(155, 161, 165, 166, 272, 308, 428, 429, 430, 431, 432, 442),  # roots, mounts, namespaces
    *(321, 425, 426, 427, 298, 323, 248, 249, 250),  # bpf, io_uring, perf, userfaultfd, keys
    *(175, 176, 313, 246, 320, 169, 170, 171, 167, 168, 103, 163),  # modules, kexec, reboot, names, swap
    *(29, 30, 31, 64, 66, 68, 71, 240, 242, 200, 129, 297),  # shared memory, queues, signals to others
)


def fences() -> dict[str, int]:
    """Look up what the kernel supports: the version of `landlock` (0: none), and `seccomp`."""
    return {"landlock": max(_landlock_version(), 0), "seccomp": int(_can_filter())}


def confine() -> tuple[str, ...]:
    """Confine this process, of one thread, for good; which of `fences` now hold."""
    if sys.platform != "linux":
        return ()
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return ()
    held = []
    version = _landlock_version()
    if version > 0 and _restrict_files(library, version, _of_interpreter()):
        held.append("landlock")
    if _can_filter() and _filter_calls(library):
        held.append("seccomp")
    return tuple(held)


def interpreter_places() -> tuple[str, ...]:
    """Return the places below which the interpreter, its libraries and the system's own data lie."""
    return tuple(str(path) for path in _of_interpreter())


def _of_interpreter() -> list[Path]:
    ours = Path(__file__).resolve().parents[3]
    places = [*_SYSTEM, *mimetypes.knownfiles, sys.prefix, sys.base_prefix, str(ours), *sys.path]
    paths = (Path(place) for place in places if place and Path(place).is_absolute() and place != "/")
    return [path for path in dict.fromkeys(paths) if path.exists()]


def _landlock_version() -> int:
    if sys.platform != "linux":
        return 0
    library = ctypes.CDLL(None, use_errno=True)
    return int(library.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1))


def _can_filter() -> bool:
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    return int(ctypes.CDLL(None).prctl(_GET_SECCOMP, 0, 0, 0, 0)) >= 0


def _restrict_files(library: ctypes.CDLL, version: int, readable: Sequence[Path]) -> bool:
    rights = 0
    for since, more in _FILE_RIGHTS:
        rights |= more if version >= since else 0
    network = _NETWORK_RIGHTS if version >= _NETWORK_SINCE else 0
    scopes = _SCOPES if version >= _SCOPES_SINCE else 0
    about = struct.pack("QQQ", rights, network, scopes)[: 24 if scopes else 16 if network else 8]
    rules = library.syscall(_CREATE_RULESET, about, ctypes.c_size_t(len(about)), 0)
    if rules < 0:
        return False
    try:
        for path in readable:
            if not _allow(library, rules, path):
                return False
        return int(library.syscall(_RESTRICT_SELF, rules, 0)) == 0
    finally:
        os.close(rules)


def _allow(library: ctypes.CDLL, rules: int, path: Path) -> bool:
    """Let files below a path be read; one that is not there needs no leave."""
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        allowed = _READ_FILE | (_READ_FOLDER if path.is_dir() else 0)
        return int(library.syscall(_ADD_RULE, rules, 1, struct.pack("=Qi", allowed, place), 0)) == 0
    finally:
        os.close(place)


def _filter_calls(library: ctypes.CDLL) -> bool:
    code = b"".join(_program(os.getpid()))
    instructions = ctypes.create_string_buffer(code, len(code))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))

    program = Program(len(code) // 8, ctypes.addressof(instructions))
    return int(library.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0)) == 0


def _program(own: int) -> list[bytes]:
    """Return the filter as instructions of the kernel's virtual machine; what it does not name is allowed."""
    number, machine, first = 0, 4, 16  # offsets in what the kernel tells of a call
    code = [
        _step(_LOAD, machine),
        _step(_EQUAL, _X86_64, 1, 0),
        _step(_RETURN, _REFUSE),
        _step(_LOAD, number),
    ]
    code += [_step(_AT_LEAST, _X32_BIT, 0, 1), _step(_RETURN, _REFUSE)]
    for call in _REFUSED:
        code += [_step(_EQUAL, call, 0, 1), _step(_RETURN, _REFUSE)]
    code += [_step(_EQUAL, _CLONE3, 0, 1), _step(_RETURN, _UNKNOWN)]  # the C library then uses clone
    for call, test, wanted in (
        (_CLONE, _ANY_BIT, _THREAD),
        (_LIMITS, _EQUAL, 0),
        (_SIGNAL, _EQUAL, own),
        (_SIGNAL_THREAD, _EQUAL, own),
    ):
        code += [_step(_EQUAL, call, 0, 4), _step(_LOAD, first), _step(test, wanted, 0, 1)]
        code += [_step(_RETURN, _ALLOW), _step(_RETURN, _REFUSE)]
    return [*code, _step(_RETURN, _ALLOW)]


def _step(operation: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, if_true, if_false, value)
