"""The cores that are free for the engine: those that this process may use, less those that others keep busy.

Two threads of the engine beside a busy process can be slower than one: each step waits for the slower. So
their number is chosen when the engine starts. `measure` times products of matrices, for `doctor --measure`;
what it finds is kept in the cache, and a number of threads that is slower than a smaller one is not chosen.
"""

from __future__ import annotations

import json
import math
import os
import platform
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from disputatio import platforms
from disputatio.platforms import block_usage_reports

_LOOK = 0.25  # seconds that the load is looked at
_ROOT = Path("/")
_FILE = "machine.json"
_ROWS, _SIDE = 256, 2048  # of the matrices that are multiplied
_WORTH = 1.05  # how much faster more threads must be


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A processor's speed: GFLOPS by threads in single precision, and by precision at the best of these."""

    processor: str
    cores: int
    threads: Mapping[str, float] = field(default_factory=dict)
    precisions: Mapping[str, float] = field(default_factory=dict)


def threads_now(cache: Path, root: Path = _ROOT) -> int:
    """Return how many threads the engine starts with, by what is free now and by what was measured."""
    allowed = list_allowed_cores()
    most = max(1, math.floor(min(physical_cores(allowed, root), quota(root))))
    free = max(1, most - round(busy_cores(allowed, root)))
    machine = kept(cache)
    if machine is None or machine.processor != processor(root):
        return free
    measured = {int(count): speed for count, speed in machine.threads.items() if int(count) <= free}
    return _best(measured) or free


def _best(speeds: Mapping[int, float]) -> int:
    """Return the number of threads that is fastest, a smaller one where more gain little; 0 of none."""
    best = 0
    for count in sorted(speeds):
        if not best or speeds[count] > speeds[best] * _WORTH:
            best = count
    return best


def list_allowed_cores() -> list[int]:
    affinity: Any = getattr(os, "sched_getaffinity", None)  # some systems have none
    return sorted(affinity(0)) if affinity else list(range(os.cpu_count() or 1))


def physical_cores(allowed: Sequence[int], root: Path = _ROOT) -> int:
    """Count the cores behind those allowed; two hyper-threads are one."""
    topology = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    return len({_text(root / topology.format(core)) or f"alone {core}" for core in allowed})


def quota(root: Path = _ROOT) -> float:
    """Return how many cores' time the control groups of this process allow; infinite without a limit."""
    limits = [math.inf]
    for line in _text(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        top = root / "sys/fs/cgroup" / ("cpu" if controllers else "")
        group = top / path.lstrip("/")
        for folder in (group, *(each for each in group.parents if each.is_relative_to(top))):
            words = _text(folder / "cpu.max").split() or [
                _text(folder / "cpu.cfs_quota_us"),
                _text(folder / "cpu.cfs_period_us"),
            ]
            with suppress(ValueError, ZeroDivisionError):  # "max", or no such file
                share = int(words[0]) / int(words[1])
                limits.append(share if share > 0 else math.inf)
    return min(limits)


def busy_cores(allowed: Sequence[int], root: Path) -> float:
    """Return how many cores others keep busy, but for `nice` ones, this process and its parent."""
    before, own = _ticks(allowed, root), _own_ticks(root)
    time.sleep(_LOOK)
    busy = _ticks(allowed, root) - before - (_own_ticks(root) - own)
    return max(0.0, busy / platforms.ticks_a_second() / _LOOK)


def _ticks(allowed: Sequence[int], root: Path) -> int:
    total = 0
    for line in _text(root / "proc/stat").splitlines():
        name, *numbers = line.split()
        if name[:3] == "cpu" and name[3:].isdigit() and int(name[3:]) in allowed and len(numbers) >= 8:
            user, _, system, _, _, hard, soft, stolen = map(int, numbers[:8])
            total += user + system + hard + soft + stolen
    return total


def _own_ticks(root: Path) -> int:
    total = 0
    for process in (os.getpid(), os.getppid()):
        words = _text(root / f"proc/{process}/stat").rpartition(")")[2].split()
        total += sum(map(int, words[11:13]))
    return total


def processor(root: Path = _ROOT) -> str:
    for line in _text(root / "proc/cpuinfo").splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


# --- measuring ------------------------------------------------------------------------------------
def kept(cache: Path) -> Machine | None:
    """Return what was measured and kept; None where there is none that can be read."""
    try:
        fields = json.loads((cache / _FILE).read_bytes())
        machine = Machine(**fields)
        speeds = [*machine.threads.values(), *machine.precisions.values()]
        counts = [int(count) for count in machine.threads]
        usable = all(0 < speed < math.inf for speed in speeds) and all(count > 0 for count in counts)
    except (OSError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    return machine if usable else None


def keep(machine: Machine, cache: Path) -> Path:
    """Write what was measured to the cache, and return the file."""
    cache.mkdir(parents=True, exist_ok=True)
    with platforms.whole_file(cache / _FILE) as part:
        part.write_text(json.dumps(asdict(machine)), encoding="utf-8")
    return cache / _FILE


def measure(seconds: float = 5.0) -> Machine:
    """Time products of matrices with 1, 2, 4, ... threads and in each precision, in about so many seconds."""
    block_usage_reports()
    allowed = list_allowed_cores()
    most = physical_cores(allowed)
    counts = sorted({*(2**power for power in range(most.bit_length()) if 2**power <= most), most})
    share = seconds / (len(counts) + 2)
    threads = {count: _gflops(count, "f32", share) for count in counts}
    best = _best(threads)
    precisions = {name: _gflops(best, name, share) for name in ("f32", "bf16")}
    return Machine(
        processor=processor(),
        cores=most,
        threads={str(count): round(speed, 1) for count, speed in threads.items()},
        precisions={name: round(speed, 1) for name, speed in precisions.items()},
    )


def _gflops(threads: int, precision: str, seconds: float) -> float:
    import numpy as np
    import openvino

    ops = openvino.opset13
    left = ops.parameter([_ROWS, _SIDE], np.float32)
    right = ops.constant(np.full((_SIDE, _SIDE), 0.5, dtype=np.float32))
    graph = openvino.Model([ops.matmul(left, right, False, False)], [left])
    wanted = {**settings_of(threads), "INFERENCE_PRECISION_HINT": precision}
    request = openvino.Core().compile_model(graph, "CPU", wanted).create_infer_request()
    values = [np.full((_ROWS, _SIDE), 0.5, dtype=np.float32)]
    request.infer(values)  # the first lays out the weights
    began, done = time.perf_counter(), 0
    while not done or time.perf_counter() - began < seconds:
        request.infer(values)
        done += 1
    return 2e-9 * _ROWS * _SIDE * _SIDE * done / (time.perf_counter() - began)


def settings_of(threads: int) -> dict[str, Any]:
    """Return the engine's settings for a number of threads that share the machine with others."""
    return {
        "INFERENCE_NUM_THREADS": threads,
        "ENABLE_CPU_PINNING": False,  # a thread that is tied to a busy core holds up all others
        "ENABLE_HYPER_THREADING": False,
    }
