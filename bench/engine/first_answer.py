"""Time from a wheel to the first answer, in an environment, a cache and a folder that are new; downloads apart.

    make release                          # builds the wheel
    python -m bench.engine.first_answer [--busy 1]   # writes a page of bench/results/engine
    python -m bench.engine.first_answer --here --avx2 --busy 2 --page FILE   # the demo of this checkout alone

The packages are downloaded first, and the models copied from this user's cache or downloaded. Then the clock runs: the
environment, the install, and `disputatio demo`, which prepares the model for the engine and answers. `--busy` processes that only count run beside the demo. `--avx2` holds the engine to kernels of
AVX2 with VNNI and to f32, as `bench.engine.folder` does; encoder and embedder have only the first of these, numpy neither.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench import RESULTS
from bench.documents.ask import core_seconds
from bench.engine.folder import AVX2, IN_F32
from bench.lib.asking import table
from bench.lib.files import write_whole
from bench.lib.options import parser_of
from bench.lib.waiting import neighbours
from disputatio.llm.catalogue import DEFAULT_EMBEDDER, DEFAULT_MODEL, cache_folder
from disputatio.llm.cores import processor

PAGE = RESULTS / "engine" / "first_answer.md"
HERE = f"{IN_F32}from disputatio.cli import run\nrun()"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A step of the demo: its seconds, and its core-seconds in all processes of the demo."""

    name: str
    seconds: float
    core_seconds: float = 0.0


def measure(wheel: Path | None, work: Path, busy: int, *, avx2: bool) -> list[Step]:
    """Return the steps, of which the first is the downloads; without a wheel those of this checkout's demo."""
    clock, cores, steps = time.monotonic(), 0.0, list[Step]()

    def note(name: str, running: int | None = None) -> None:
        nonlocal clock, cores
        now = core_seconds(running) if running else 0.0
        steps.append(Step(name=name, seconds=time.monotonic() - clock, core_seconds=now - cores))
        clock, cores = time.monotonic(), now
        print(f"{steps[-1].seconds:7.1f} s {steps[-1].core_seconds:7.1f} core-s  {name}", flush=True)

    def pip(environment: str, *words: str | Path) -> None:
        subprocess.run([sys.executable, "-m", "venv", work / environment], check=True)
        line = [str(work / environment / "bin/python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*line, *words, f"{wheel and wheel.resolve()}[local,store]"], check=True)

    if wheel:
        pip("tools", "download", "--only-binary", ":all:", "--dest", work / "wheels")
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("DISPUTATIO", "PYTHON"))}
    own = kept | {"DISPUTATIO_CACHE": str(work / "cache"), "HOME": str(work), "PYTHONUNBUFFERED": "1"}
    own |= AVX2 if avx2 else {}
    for name in (DEFAULT_MODEL, DEFAULT_EMBEDDER):
        command = [sys.executable, "-m", "disputatio", "model", "pull", name]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        shutil.copytree(cache_folder() / "models" / name, work / "cache" / "models" / name)
    note("downloads of packages, and of models that this user's cache had not (not counted)")
    if wheel:
        pip("env", "install", "--no-index", "--find-links", work / "wheels")
        note("install into a new environment")
    python = work / "env/bin/python" if wheel else sys.executable
    how = ["-c", HERE] if avx2 else ["-m", "disputatio"]
    with (
        neighbours(busy),
        subprocess.Popen(
            [python, *how, "demo"], cwd=work, env=own, stdout=subprocess.PIPE, text=True
        ) as running,
    ):
        answers = 0
        for line in running.stdout or ():
            if line.startswith("$ disputatio check"):
                note("ingest of the corpus", running.pid)
            elif line.startswith("$ disputatio ask") and not answers:
                note("what contradicts, without a model", running.pid)
            elif line.startswith("Cost:"):  # the last line of an answer
                answers += 1
                note(f"answer {answers}", running.pid)
    if running.returncode:
        raise SystemExit(running.returncode)
    return steps


def main() -> None:
    """Measure, and write the page."""
    options = parser_of(__doc__)
    options.add_argument("--wheel", type=Path, help="the wheel (default: that of out/release)")
    options.add_argument("--here", action="store_true", help="the demo of this checkout, nothing installed")
    options.add_argument("--avx2", action="store_true")
    options.add_argument("--busy", type=int, default=0)
    options.add_argument("--page", type=Path, default=PAGE)
    asked = options.parse_args()
    wheel = None if asked.here else asked.wheel or next(Path("out/release").glob("*.whl"), None)
    if wheel is None and not asked.here:
        options.error("run make release first, or name the wheel with --wheel")
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="disputatio-first-", dir="/var/tmp") as folder:
        _, *steps = measure(wheel, Path(folder), asked.busy, avx2=asked.avx2)
    ask = next(at for at, step in enumerate(steps) if step.name == "answer 1")
    first = sum(step.seconds for step in steps[: ask + 1])
    demo = sum(step.seconds for step in steps[ask - 2 :])
    rows = [[step.name, f"{step.seconds:.0f}", f"{step.core_seconds:.0f}"] for step in steps]
    how = " ".join(sys.argv[1:])
    begin = "the start of the demo" if asked.here else "making an environment"
    write_whole(
        asked.page,
        f"""# {"The demo" if asked.here else "The first answer from the wheel"}

`python -m bench.engine.first_answer {how}`, {time.strftime("%Y-%m-%d")}, {processor()}, {os.cpu_count()} cores, Python {platform.python_version()}, load before it {load:.1f}; {asked.busy} busy processes beside the demo{", the engine held to AVX2 with VNNI and f32" if asked.avx2 else ""}.

**{first:.0f} s** from {begin} to the first cited answer of `disputatio demo`, with nothing but the downloaded files: no bytecode, no model in the form of the engine, no
kept calls. At most 180 s were wanted on a machine that does nothing else. The demo took **{demo:.0f} s**; at most 300 s were wanted, beside other work.

{table(["step", "s", "core-seconds"], rows)}

The first question prepares the model for the engine; later ones find it in the cache. The core-seconds are those of the demo and the processes below it; an ended one's are not counted.
""",
    )


if __name__ == "__main__":
    main()
