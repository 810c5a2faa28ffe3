"""What of one question's wall time is not the model's, over an index and over passages in hand.

The engine is loaded and warm, the index is open; then each question is asked once with no journal. The
time outside is the wall time less the time spent waiting for the language model. The parts are profiled.

Run: python -m bench.engine.overhead
"""

from __future__ import annotations

import argparse
import cProfile
import io
import json
import pstats
import tempfile
import time

from bench import RESULTS, ROOT
from disputatio.api import Index
from disputatio.config import read_settings
from disputatio.kit import Kit, chat
from disputatio.parts import build_kit
from disputatio.pipeline import ask
from disputatio.store.in_memory import InMemory
from disputatio.types import Sampling

EXAMPLES = ROOT / "examples"


def main() -> None:
    """Ask the demo's questions both ways and write the table."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--questions", type=int, default=3)
    arguments = options.parse_args()
    kit = build_kit(read_settings(journal="none"))
    kit.complete("reader", [chat("", "Say yes.")], Sampling(max_tokens=1))  # loads the engine
    questions = [row["question"] for row in json.loads((EXAMPLES / "questions.json").read_text())][
        : arguments.questions
    ]
    lines = [
        "# Time outside the model",
        "",
        f"`python -m bench.engine.overhead`, {kit.model.name}, {kit.model.capabilities().engine}, disputation",
        "",
        "| passages | question | wall s | model s | outside s | share |",
        "|---|---|--:|--:|--:|--:|",
    ]
    walls = outsides = 0.0
    with tempfile.TemporaryDirectory() as folder:
        index = Index.open(folder)
        index.ingest(EXAMPLES / "disagreement" / "sources")
        index.search("warm", k=1)
        in_hand = InMemory([hit.passage for hit in index.search("Quillhaven lighthouse", k=6)])
        profile = cProfile.Profile()
        for where, retriever in (("index", index), ("in hand", in_hand)):
            for question in questions:
                reader = Kit(model=kit.model, retriever=retriever)
                start = time.perf_counter()
                profile.enable()
                answer = ask(question, kit=reader, strategy="disputation")
                profile.disable()
                wall = time.perf_counter() - start
                outside = wall - answer.usage.seconds
                walls, outsides = walls + wall, outsides + outside
                lines.append(
                    f"| {where} | {question} | {wall:.2f} | {answer.usage.seconds:.2f} | {outside:.3f} | {outside / wall:.2%} |"
                )
    lines += [
        f"| all | | {walls:.2f} | {walls - outsides:.2f} | {outsides:.3f} | {outsides / walls:.2%} |",
        "",
    ]
    text = io.StringIO()
    pstats.Stats(profile, stream=text).sort_stats("tottime").print_stats(12)
    rows = [line for line in text.getvalue().splitlines() if line.strip()][4:]
    kept = [line.split("/")[-1] if "/" in line.split()[-1] else line for line in rows]
    lines += [
        "Where Python's own time went (the first line is waiting for the engine):",
        "",
        "```text",
        *kept,
        "```",
    ]
    (RESULTS / "engine" / "overhead.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
