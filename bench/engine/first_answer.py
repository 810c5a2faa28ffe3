"""Time from a wheel to the first answer, in an environment, a cache and a folder that are new; downloads apart.

    make release                                     # builds the wheel
    python -m bench.engine.first_answer --page       # and writes bench/results/engine/first_answer.md

The packages are downloaded first. The models are copied from this user's cache where they are there, or else downloaded. Then the
clock runs: the environment, the install, and `disputatio demo`, which prepares the model for the engine.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import RESULTS
from bench.lib.files import write_whole
from disputatio.llm.catalogue import DEFAULT_EMBEDDER, DEFAULT_MODEL, cache_folder

INSTALL = "install into a new environment"


class Clock:
    """Times of steps, in the order in which they were taken."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, float]] = []
        self.go_on()

    def go_on(self) -> None:
        """Leave out what was done since the last step."""
        self._last = time.monotonic()

    def note(self, step: str) -> None:
        """Give a step the time since the last one."""
        now = time.monotonic()
        self.rows.append((step, now - self._last))
        print(f"{now - self._last:7.1f} s  {step}", flush=True)
        self.go_on()


def measure(wheel: Path, work: Path) -> tuple[Clock, Clock]:
    """Return the times of the downloads, and those of a user who has them."""
    downloads, times = Clock(), work / "times"
    wanted = [f"{wheel.resolve()}[local,store]"]
    subprocess.run([sys.executable, "-m", "venv", work / "tools"], check=True)
    pip = [str(work / "tools/bin/pip"), "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "download", "--quiet", "--only-binary", ":all:", "--dest", work / "wheels", *wanted],
        check=True,
    )
    downloads.note("packages")
    times.mkdir()
    variables = {
        name: text
        for name, text in os.environ.items()
        if not name.startswith(("DISPUTATIO_", "PYTHON", "VIRTUAL"))
    }
    variables |= {"DISPUTATIO_CACHE": str(work / "cache"), "HOME": str(times), "PYTHONUNBUFFERED": "1"}
    present = [
        name for name in (DEFAULT_MODEL, DEFAULT_EMBEDDER) if (cache_folder() / "models" / name).is_dir()
    ]
    for name in present:
        shutil.copytree(cache_folder() / "models" / name, work / "cache" / "models" / name)

    clock = Clock()
    subprocess.run([sys.executable, "-m", "venv", work / "env"], check=True)
    own = [str(work / "env/bin/pip"), "--disable-pip-version-check"]
    subprocess.run(
        [*own, "install", "--quiet", "--no-index", "--find-links", work / "wheels", *wanted], check=True
    )
    clock.note(INSTALL)
    command = str(work / "env/bin/disputatio")
    for name in {DEFAULT_MODEL, DEFAULT_EMBEDDER} - set(present):
        downloads.go_on()
        subprocess.run([command, "model", "pull", name], env=variables, check=True)
        downloads.note(name)
        clock.go_on()
    demo = [command, "demo", "--no-calibrate"]
    with subprocess.Popen(demo, cwd=times, env=variables, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if line.startswith("$ disputatio ask") and clock.rows[-1][0] == INSTALL:
                clock.note("ingest of the corpus")
            elif line.startswith("Cost:"):  # the last line of an answer
                clock.note(f"answer {len(clock.rows) - 1}")
    if running.returncode:
        raise SystemExit(running.returncode)
    return downloads, clock


def main() -> None:
    """Measure, and write the page where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, help="the wheel (default: that of out/release)")
    parser.add_argument("--page", action="store_true", help="write the page of results")
    asked = parser.parse_args()
    [wheel] = [asked.wheel] if asked.wheel else Path("out/release").glob("*.whl")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="disputatio-first-", dir="/var/tmp") as folder:
        downloads, clock = measure(wheel, Path(folder))
    names = [step for step, _ in clock.rows]
    first = sum(seconds for _, seconds in clock.rows[: names.index("answer 1") + 1])
    print(f"first answer: {first:.0f} s, load before: {load:.2f}")
    if asked.page:
        write_page(clock, first, downloads, load)


def write_page(clock: Clock, first: float, downloads: Clock, load: float) -> None:
    """Write what was measured, on what, by which command."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=True
    ).stdout
    with Path("/proc/cpuinfo").open() as file:
        model = next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "?")
    rows = "".join(f"| {step} | {seconds:.0f} |\n" for step, seconds in clock.rows)
    apart = ", ".join(f"{step} {seconds:.0f} s" for step, seconds in downloads.rows)
    write_whole(
        RESULTS / "engine" / "first_answer.md",
        f"""# The first answer from the wheel

`python -m bench.engine.first_answer --page`, {datetime.datetime.now(datetime.UTC):%Y-%m-%d}, commit `{commit.strip()}`, {model}, {os.cpu_count()} cores,
Python {platform.python_version()}, load of the machine before it began {load:.2f}.

**{first:.0f} s** from `python -m venv` to the first cited answer of `disputatio demo`, with nothing but the downloaded files: no environment, no bytecode, no
model in the form of the engine, no kept calls. The target is 180 s on a machine that does nothing else.

| step | s |
|---|---|
{rows}
Apart from it: {apart}. Models that were in this user's cache were copied from there. The first question prepares the model for the engine, which later ones
find in the cache.
""",
    )


if __name__ == "__main__":
    main()
