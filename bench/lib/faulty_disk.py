"""A library, loaded before libc, under which the disk is full or the process dies from the n-th change on.

It counts what changes files below the folder FULL_DISK_ROOT: writes, and for kills also renames, removals and
flushes. Needs a C compiler.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

_SOURCE = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

static atomic_long seen = 0, limit = -1, changes = 0, death = -1;
void disk_reset(long n) { seen = 0; limit = n; }
void disk_death(long n) { changes = 0; death = n; }

static void change(void) {
    long now = atomic_fetch_add(&changes, 1), at = death;
    if (at >= 0 && now >= at) kill(getpid(), SIGKILL);
}
static int below(int fd) {
    char link[64], path[4096];
    const char *root = getenv("FULL_DISK_ROOT");
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (!root || length <= 0) return 0;
    path[length] = 0;
    return !strncmp(path, root, strlen(root));
}
static int named(const char *path) {
    const char *root = getenv("FULL_DISK_ROOT");
    return root && path && !strncmp(path, root, strlen(root));
}
static int full(int fd) {
    if (!below(fd)) return 0;
    change();
    long now = atomic_fetch_add(&seen, 1);
    long at = limit;
    if (at >= 0 && now >= at) { errno = ENOSPC; return 1; }
    return 0;
}
#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) real = dlsym(RTLD_NEXT, #name)
ssize_t write(int fd, const void *data, size_t size) {
    REAL(ssize_t, write, int, const void *, size_t); return full(fd) ? -1 : real(fd, data, size); }
ssize_t pwrite(int fd, const void *data, size_t size, off_t at) {
    REAL(ssize_t, pwrite, int, const void *, size_t, off_t); return full(fd) ? -1 : real(fd, data, size, at); }
ssize_t pwrite64(int fd, const void *data, size_t size, off_t at) {
    REAL(ssize_t, pwrite64, int, const void *, size_t, off_t); return full(fd) ? -1 : real(fd, data, size, at); }
ssize_t writev(int fd, const struct iovec *parts, int count) {
    REAL(ssize_t, writev, int, const struct iovec *, int); return full(fd) ? -1 : real(fd, parts, count); }
ssize_t sendfile(int fd, int from, off_t *at, size_t size) {
    REAL(ssize_t, sendfile, int, int, off_t *, size_t); return full(fd) ? -1 : real(fd, from, at, size); }
ssize_t copy_file_range(int from, off_t *a, int fd, off_t *b, size_t size, unsigned flags) {
    REAL(ssize_t, copy_file_range, int, off_t *, int, off_t *, size_t, unsigned);
    return full(fd) ? -1 : real(from, a, fd, b, size, flags); }
int rename(const char *from, const char *to) {
    REAL(int, rename, const char *, const char *); if (named(to)) change(); return real(from, to); }
int unlink(const char *path) {
    REAL(int, unlink, const char *); if (named(path)) change(); return real(path); }
int unlinkat(int fd, const char *path, int flags) {
    REAL(int, unlinkat, int, const char *, int); if (named(path) || below(fd)) change(); return real(fd, path, flags); }
int fsync(int fd) { REAL(int, fsync, int); if (below(fd)) change(); return real(fd); }
int fdatasync(int fd) { REAL(int, fdatasync, int); if (below(fd)) change(); return real(fd); }
"""


def build(folder: Path) -> Path:
    """Compile the library; raises `OSError` or `CalledProcessError` without a compiler."""
    source, library = folder / "faulty.c", folder / "faulty.so"
    source.write_text(_SOURCE, encoding="utf-8")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
    return library


def environment(library: Path, root: Path) -> dict[str, str]:
    """Return the environment of a process under the library, which counts below `root`."""
    return os.environ | {"LD_PRELOAD": str(library), "FULL_DISK_ROOT": str(root)}


def fill(limit: int) -> None:
    """Let the disk be full from this many writes on, counted from now; never, if it is -1."""
    _loaded().disk_reset(ctypes.c_long(limit))


def die(limit: int) -> None:
    """End this process as `kill -9` does at its n-th change from now; never, if it is -1."""
    _loaded().disk_death(ctypes.c_long(limit))


def _loaded() -> ctypes.CDLL:
    return ctypes.CDLL(os.environ["LD_PRELOAD"])
