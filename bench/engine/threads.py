"""Measure the embedded engine with 1, 2, ... threads, alone and beside a busy process.

    python -m bench.engine.threads MODEL_FOLDER [--prompts 4] [--busy 0,1]

MODEL_FOLDER is a converted model (`disputatio model path NAME`, or a folder of the cache). Each run is a process
of its own that reads prompts of about `--words` words without a common prefix in one batch and writes 32 tokens
to each. `default` is the engine without settings: as many threads as cores, tied to them.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bench import RESULTS
from bench.lib.waiting import neighbours
from disputatio.llm.cores import physical_cores, processor, settings_of

PAGE = RESULTS / "engine" / "threads.md"
_NEW = 32


def run(folder: Path, threads: int, prompts: int, words: int) -> dict[str, float]:
    """Seconds, and seconds of processor, that a batch takes in this process; 0 threads are the default."""
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.cache_size = 1
    scheduler.max_num_batched_tokens = 2048
    tokenizer = openvino_genai.Tokenizer(folder)
    settings = settings_of(threads) if threads else {}
    pipeline = openvino_genai.ContinuousBatchingPipeline(folder, tokenizer, scheduler, "CPU", **settings)
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens, config.ignore_eos, config.apply_chat_template = _NEW, True, False
    texts = [
        f"{n}{n * 7}: " + " ".join(f"w{(n * 31 + k * 17) % 997}" for k in range(words))
        for n in range(prompts)
    ]
    tokens = sum(tokenizer.encode(text).input_ids.shape[1] for text in texts)
    pipeline.generate(["warm"], [config])
    began, spent = time.perf_counter(), time.process_time()
    pipeline.generate(texts, [config] * prompts)
    took, used = time.perf_counter() - began, time.process_time() - spent
    return {"seconds": took, "core_seconds": used, "tokens": float(tokens)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--prompts", type=int, default=4)
    parser.add_argument("--words", type=int, default=190)
    parser.add_argument("--busy", default="0,1")
    parser.add_argument("--note", default="", help="what else the machine did, for the page")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one is not None:
        print(json.dumps(run(options.folder, options.one, options.prompts, options.words)))
        return
    cores = len(os.sched_getaffinity(0))
    load, rows = os.getloadavg()[0], list[str]()
    tokens = 0.0
    for busy in map(int, options.busy.split(",")):
        for threads in (0, *range(1, cores + 1)):
            words = [str(options.folder), "--one", str(threads)]
            words += ["--prompts", str(options.prompts), "--words", str(options.words)]
            with neighbours(busy):
                done = subprocess.run(
                    [sys.executable, "-m", "bench.engine.threads", *words],
                    capture_output=True,
                    text=True,
                    check=True,
                )
            took = json.loads(done.stdout.splitlines()[-1])
            tokens = took["tokens"]
            name = str(threads) if threads else "default"
            rows.append(f"| {busy} | {name} | {took['seconds']:.1f} | {took['core_seconds']:.1f} |")
            print(rows[-1], flush=True)
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(
        f"""# Threads of the embedded engine, alone and beside a busy process

`python -m bench.engine.threads {options.folder.name} --prompts {options.prompts} --words {options.words} --busy {options.busy}`, {processor()}, {cores} cores ({physical_cores(range(cores))} physical), {platform.machine()}, {time.strftime("%Y-%m-%d")}; load before it {load:.1f}.

{options.prompts} prompts of together {tokens:,.0f} tokens without a common prefix in one batch, {_NEW} tokens written to each.

| busy processes | threads | seconds | core-seconds |
|--:|--:|--:|--:|
"""
        + "\n".join(rows)
        + "\n"
        + (f"\n{options.note}\n" if options.note else ""),
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
