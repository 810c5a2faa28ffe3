"""How long the first question waits for the embedded engine: first load ever, later loads, first call.

Each figure comes from a process of its own. `convert` reads the GGUF file and writes the converted model
into an empty cache; `later` finds it there; `compiled` also keeps the engine's compiled form (`CACHE_DIR`),
which is what was tried and not taken.

Run: python -m bench.engine.load_time
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from bench import RESULTS

LOAD = """
import sys, time
from pathlib import Path
start = time.perf_counter()
from disputatio.kit import chat
from disputatio.llm import catalogue
from disputatio.llm.local import Local
from disputatio.types import Sampling
model = Local("it", lambda: catalogue.path(catalogue.DEFAULT_MODEL, pull=True), cache=Path(sys.argv[1]))
word = model.complete([chat("", "Say yes.")], Sampling(max_tokens=1))
print(time.perf_counter() - start)
"""

COMPILED = """
import sys, time
from pathlib import Path
start = time.perf_counter()
sys.modules.setdefault("openvino_telemetry", None)
import openvino_genai as genai
(folder,) = Path(sys.argv[1], "converted").iterdir()
scheduler = genai.SchedulerConfig()
scheduler.cache_size = 2
tokenizer = genai.Tokenizer(folder)
pipe = genai.ContinuousBatchingPipeline(folder, tokenizer, scheduler, "CPU", CACHE_DIR=sys.argv[1] + "/compiled")
config = genai.GenerationConfig()
config.max_new_tokens = 1
pipe.generate(["Say yes."], [config])
print(time.perf_counter() - start)
"""


def seconds(program: str, cache: str) -> float:
    """Wall seconds that a fresh process measured from its start to the first token."""
    done = subprocess.run([sys.executable, "-c", program, cache], capture_output=True, text=True, check=True)
    return float(done.stdout.split()[-1])


def main() -> None:
    """Measure and write the table."""
    with tempfile.TemporaryDirectory() as cache:
        convert = seconds(LOAD, cache)
        later = [seconds(LOAD, cache) for _ in range(3)]
        seconds(COMPILED, cache)
        compiled = [seconds(COMPILED, cache) for _ in range(3)]
        size = sum(file.stat().st_size for file in Path(cache, "converted").rglob("*")) / 1e6
        more = sum(file.stat().st_size for file in Path(cache, "compiled").rglob("*")) / 1e6
    lines = [
        "# Loading the embedded engine",
        "",
        "`python -m bench.engine.load_time`: from the start of the process (imports included) to the first generated "
        "token, the default model.",
        "",
        "| case | s | disk |",
        "|---|--:|--:|",
        f"| convert: the first time ever, from the GGUF file | {convert:.1f} | {size:,.0f} MB written |",
        f"| later: the converted model in the cache, median of {len(later)} | {statistics.median(later):.1f} | |",
        f"| compiled: with the engine's own cache too, median of {len(compiled)} | {statistics.median(compiled):.1f} | {more:,.0f} MB more |",
    ]
    (RESULTS / "engine" / "load_time.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
