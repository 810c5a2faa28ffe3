"""The threads of the engine follow the cores that are free: files of the system as Linux writes them."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import pytest

from disputatio.llm import cores


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def stat_of(*busy: int) -> str:
    return "".join(f"cpu{core} {ticks} 5000 0 90000 10 0 0 0 0 0\n" for core, ticks in enumerate(busy))


def test_two_hyper_threads_are_one_core(tmp_path: Path) -> None:
    siblings = {0: "0,4", 4: "0,4", 1: "1,5", 5: "1,5"}
    topology = "sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
    root = write(tmp_path, {topology.format(core): text for core, text in siblings.items()})
    assert cores.physical_cores([0, 1, 4, 5], root) == 2
    assert cores.physical_cores([0, 4], root) == 1
    assert cores.physical_cores([0, 7, 8], root) == 3  # of some the system tells nothing


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({"proc/self/cgroup": "0::/app/task", "sys/fs/cgroup/app/cpu.max": "150000 100000"}, 1.5),
        ({"proc/self/cgroup": "0::/app", "sys/fs/cgroup/app/cpu.max": "max 100000"}, math.inf),
        (
            {
                "proc/self/cgroup": "4:memory:/x\n1:cpu,cpuacct:/box",
                "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "200000",
                "sys/fs/cgroup/cpu/box/cpu.cfs_period_us": "100000",
            },
            2.0,
        ),
        ({"proc/self/cgroup": "1:cpu:/box", "sys/fs/cgroup/cpu/box/cpu.cfs_quota_us": "-1"}, math.inf),
        ({}, math.inf),
    ],
)
def test_the_quota_of_a_container_is_the_lowest_of_its_groups(
    tmp_path: Path, files: dict[str, str], limit: float
) -> None:
    assert cores.quota(write(tmp_path, files)) == limit


def look(monkeypatch: pytest.MonkeyPatch, root: Path, *after: int) -> None:
    """Let the given ticks have passed on each core when the load is looked at a second time."""
    monkeypatch.setattr("time.sleep", lambda _: write(root, {"proc/stat": stat_of(*after)}))


def test_a_core_that_others_keep_busy_is_left_to_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "list_allowed_cores", lambda: [0, 1])
    second = os.sysconf("SC_CLK_TCK")
    quarter = second // 4  # as long as the look
    root = write(tmp_path / "root", {"proc/stat": stat_of(0, 0), "proc/cpuinfo": "model name : Zen"})
    look(monkeypatch, root, quarter, 0)
    assert cores.threads_now(tmp_path, root) == 1
    write(root, {"proc/stat": stat_of(0, 0)})
    look(monkeypatch, root, 0, 1)
    assert cores.threads_now(tmp_path, root) == 2
    write(root, {"proc/stat": stat_of(0, 0)})
    look(monkeypatch, root, quarter, quarter)
    assert cores.threads_now(tmp_path, root) == 1  # never none


def test_what_was_measured_decides_among_the_free_cores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cores, "list_allowed_cores", lambda: [0, 1])
    root = write(tmp_path / "root", {"proc/stat": stat_of(0, 0), "proc/cpuinfo": "model name : Zen"})
    look(monkeypatch, root, 0, 0)
    machine = cores.Machine(processor="Zen", cores=2, threads={"1": 76.0, "2": 53.0})
    cores.keep(machine, tmp_path)
    assert cores.kept(tmp_path) == machine
    assert cores.threads_now(tmp_path, root) == 1
    cores.keep(cores.Machine(processor="another", cores=2, threads={"1": 76.0, "2": 53.0}), tmp_path)
    assert cores.threads_now(tmp_path, root) == 2  # it was moved to another machine


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"processor": 1, "cores": 2, "threads": {"x": 1}}', "9" * 99]
)
def test_a_broken_file_of_measurements_is_as_none(tmp_path: Path, content: str) -> None:
    (tmp_path / "machine.json").write_text(content)
    assert cores.kept(tmp_path) is None


@pytest.mark.long
def test_a_measurement_has_a_speed_for_each_number_of_threads() -> None:
    pytest.importorskip("openvino")
    machine = cores.measure(0.05)
    assert machine.threads["1"] > 0
    assert set(machine.precisions) == {"f32", "bf16"}
    assert json.loads(json.dumps(dict(machine.threads)))
