"""Measure how many passages a second an embedding model makes into vectors, by runtime and by batching.

    python -m bench.engine.embed_speed FOLDER --texts FILE.jsonl [--passages N] [--rounds N]

FOLDER holds the model as `disputatio` uses it; FILE has one object with `text` a line (a corpus in BEIR's
form). ONNX Runtime is measured where it is installed. The ways take turns, round after round, so that
what else the machine does meets them all. Prints Markdown: the best and the median of the rounds.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from disputatio.store.embed import OnnxEmbedder, batches_of
from disputatio.store.ingesting.split import split
from disputatio.store.model_folder import read_folder

Batches = Sequence[Sequence[int]]
Way = tuple[Callable[[Batches], object], Batches]
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def passages_of(path: Path, count: int) -> list[str]:
    """Return the first passages of a corpus, divided as the index divides them."""
    texts: list[str] = []
    with path.open(encoding="utf-8") as file:
        for line in file:
            text = json.loads(line)["text"]
            texts += [text[start:end] for start, end in split(text)]
            if len(texts) >= count:
                break
    return texts[:count]


def ways_of(folder: Path, passages: Sequence[str]) -> tuple[dict[str, Way], str]:
    """Return what is compared, by name, and the lengths of the passages in words."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]  # else use is reported
    import openvino
    from tokenizers import Tokenizer

    found = read_folder(folder)
    tokenizer = Tokenizer.from_file(str(found.tokenizer))
    tokenizer.no_padding()
    tokenizer.enable_truncation(found.settings.max_tokens)
    tokens = [encoded.ids for encoded in tokenizer.encode_batch(list(passages))]
    lengths = [len(token) for token in tokens]
    order = sorted(range(len(tokens)), key=lengths.__getitem__)

    def fixed(size: int) -> Batches:
        return [order[at : at + size] for at in range(0, len(order), size)]

    def fed(batch: Sequence[int], names: Sequence[str]) -> dict[str, NDArray[np.int64]]:
        ids = np.zeros((len(batch), max(lengths[row] for row in batch)), dtype=np.int64)
        mask = np.zeros_like(ids)
        for at, row in enumerate(batch):
            ids[at, : lengths[row]] = tokens[row]
            mask[at, : lengths[row]] = 1
        inputs = dict(zip(INPUTS, (ids, mask, np.zeros_like(ids)), strict=True))
        return {name: inputs[name] for name in names}

    core = openvino.Core()

    def openvino_way(hint: str, precision: str) -> Callable[[Batches], None]:
        settings = {"PERFORMANCE_HINT": hint, "INFERENCE_PRECISION_HINT": precision}
        model = core.compile_model(str(found.model), "CPU", settings)
        names = [port.any_name for port in model.inputs]
        queue = openvino.AsyncInferQueue(model)
        queue.set_callback(lambda request, _: request.get_output_tensor(0).data.sum())

        def run(batches: Batches) -> None:
            for batch in batches:
                queue.start_async(fed(batch, names))
            queue.wait_all()

        return run

    throughput = openvino_way("THROUGHPUT", "f32")
    ways: dict[str, Way] = {
        f"OpenVINO throughput, batches of {n} tokens": (throughput, batches_of(lengths, n))
        for n in (512, 1024, 2048, 4096)
    }
    ways["OpenVINO throughput, batches of 8"] = (throughput, fixed(8))
    ways["OpenVINO throughput, batches of 32"] = (throughput, fixed(32))
    latency = openvino_way("LATENCY", "f32")
    ways["OpenVINO latency, batches of 8"] = (latency, fixed(8))
    ways["OpenVINO latency, batches of 1024 tokens"] = (latency, batches_of(lengths, 1024))
    half = openvino_way("THROUGHPUT", "bf16")
    ways["OpenVINO throughput, bfloat16, batches of 1024 tokens"] = (half, batches_of(lengths, 1024))
    if importlib.util.find_spec("onnxruntime"):
        runtime: Any = importlib.import_module("onnxruntime")
        session = runtime.InferenceSession(str(found.model), providers=["CPUExecutionProvider"])
        names = [entry.name for entry in session.get_inputs()]

        def run(batches: Batches) -> None:
            for batch in batches:
                session.run(None, fed(batch, names))

        ways["ONNX Runtime, batches of 8"] = (run, fixed(8))
        ways["ONNX Runtime, batches of 32"] = (run, fixed(32))
        ways["ONNX Runtime, batches of 1024 tokens"] = (run, batches_of(lengths, 1024))
    embedder = OnnxEmbedder(folder)
    ways["OnnxEmbedder, as the index calls it (tokenising included)"] = (
        lambda _: embedder.embed(passages),
        fixed(8),
    )
    mean = statistics.fmean(lengths)
    return ways, f"{len(passages)} passages of {mean:.0f} tokens in the mean, {max(lengths)} at most"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--texts", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    passages = passages_of(arguments.texts, arguments.passages)
    ways, shape = ways_of(arguments.folder, passages)
    rates: dict[str, list[float]] = {name: [] for name in ways}
    for run, batches in ways.values():
        run(batches[:4])
    for _ in range(arguments.rounds):
        for name, (run, batches) in ways.items():
            start = time.perf_counter()
            run(batches)
            rates[name].append(len(passages) / (time.perf_counter() - start))
    print(f"{shape}; {arguments.rounds} rounds.\n")
    print("| way | best, passages a second | median |\n|---|---|---|")
    for name, rate in rates.items():
        print(f"| {name} | {max(rate):.0f} | {statistics.median(rate):.0f} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
