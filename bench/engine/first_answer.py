"""Time from a wheel to the first answer, in an environment, a cache and a folder that are new; downloads apart.

    make release                          # builds the wheel
    python -m bench.engine.first_answer [--busy 1]   # writes a page of bench/results/engine

The packages are downloaded first, and the models copied from this user's cache or downloaded. Then the clock runs: the
environment, the install, and `disputatio demo`, which prepares the model for the engine, answers and then estimates how
reliable the sources are. `--busy` processes that only count run beside the demo.
"""

from __future__ import annotations

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
from bench.lib.options import parser_of
from bench.lib.waiting import neighbours
from disputatio.llm.catalogue import DEFAULT_EMBEDDER, DEFAULT_MODEL, cache_folder
from disputatio.llm.cores import processor

PAGE = RESULTS / "engine" / "first_answer.md"
Steps = list[tuple[str, float]]


def measure(wheel: Path, work: Path, busy: int) -> Steps:
    """Return the seconds of each step, of which the first is the downloads."""
    clock, steps = time.monotonic(), Steps()

    def note(step: str) -> None:
        nonlocal clock
        steps.append((step, time.monotonic() - clock))
        clock = time.monotonic()
        print(f"{steps[-1][1]:7.1f} s  {step}", flush=True)

    def pip(environment: str, *words: str | Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", work / environment], check=True)
        line = [str(work / environment / "bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*line, *words, f"{wheel.resolve()}[local,store]"], check=True)

    pip("tools", "download", "--only-binary", ":all:", "--dest", work / "wheels")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("DISPUTATIO", "PYTHON"))}
    own = kept | {"DISPUTATIO_CACHE": str(work / "cache"), "HOME": str(work), "PYTHONUNBUFFERED": "1"}
    for name in (DEFAULT_MODEL, DEFAULT_EMBEDDER):
        command = [sys.executable, "-m", "disputatio", "model", "pull", name]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        shutil.copytree(cache_folder() / "models" / name, work / "cache" / "models" / name)
    note("downloads of packages, and of models that this user's cache had not (not counted)")
    pip("env", "install", "--no-index", "--find-links", work / "wheels")
    note("install into a new environment")
    demo = [str(work / "env/bin/disputatio"), "demo"]
    with (
        neighbours(busy),
        subprocess.Popen(demo, cwd=work, env=own, stdout=subprocess.PIPE, text=True) as running,
    ):
        for line in running.stdout or ():
            if line.startswith("$ disputatio ask") and len(steps) == 2:
                note("ingest of the corpus")
            elif line.startswith("Cost:"):  # the last line of an answer
                note(f"answer {len(steps) - 2}")
            elif line.startswith("The demo took"):
                note("how reliable the sources are")
    if running.returncode:
        raise SystemExit(running.returncode)
    return steps


def main() -> None:
    """Measure, and write the page."""
    options = parser_of(__doc__)
    options.add_argument("--wheel", type=Path, help="the wheel (default: that of out/release)")
    options.add_argument("--busy", type=int, default=0)
    options.add_argument("--page", type=Path, default=PAGE)
    asked = options.parse_args()
    wheel = asked.wheel or next(Path("out/release").glob("*.whl"), None)
    if wheel is None:
        options.error("run make release first, or name the wheel with --wheel")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="disputatio-first-", dir="/var/tmp") as folder:
        steps = measure(wheel, Path(folder), asked.busy)
    first, demo = sum(seconds for _, seconds in steps[1:4]), sum(seconds for _, seconds in steps[2:])
    rows = "\n".join(f"| {step} | {seconds:.0f} |" for step, seconds in steps)
    write_whole(
        asked.page,
        f"""# The first answer from the wheel

`python -m bench.engine.first_answer --busy {asked.busy}`, {time.strftime("%Y-%m-%d")}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, load before it {load:.1f}; {asked.busy} busy processes beside the demo.

**{first:.0f} s** from making an environment to the first cited answer of `disputatio demo`, with nothing but the downloaded files: no bytecode, no model in the form of the engine, no
kept calls. At most 180 s were wanted on a machine that does nothing else. The demo took **{demo:.0f} s**; at most 300 s were wanted, beside other work.

| step | s |
|---|--:|
{rows}

The first question prepares the model for the engine; later ones find it in the cache.
""",
    )


if __name__ == "__main__":
    main()
