"""Train the adapter of a small language model to read, measure one, or merge it into a file of the model."""

from __future__ import annotations

import argparse
import json
import os
from dataclasses import fields
from itertools import islice
from pathlib import Path

from train.language.fit import ADAPTER, Settings

ROOT = Path(__file__).resolve().parents[2]
MODELS = {"0.5b": "qwen2.5-coder-0.5b", "1.5b": "qwen2.5-coder-1.5b"}


def parser() -> argparse.ArgumentParser:
    """Return the command line; every setting of a run is an option of `fit`."""
    top = argparse.ArgumentParser(prog="python -m train.language", description=__doc__)
    default = os.environ.get("DISPUTATIO_DATA", ROOT.parent / "shared" / "data")
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--data", type=Path, default=Path(default), help="folder of the data sets")
    every.add_argument("--size", choices=MODELS, default="0.5b", help="the model of the catalogue")
    every.add_argument("--out", type=Path, help="folder of the run (default: out/train/reader-SIZE)")
    every.add_argument("--threads", type=int, default=2)
    every.add_argument("--precision", choices=("auto", "float32", "bfloat16"), default="auto")
    verbs = top.add_subparsers(dest="verb", required=True)
    fit = verbs.add_parser("fit", parents=[every], help="train; stopped, the same command goes on")
    fit.add_argument("--start", type=Path, help="an adapter to begin with")
    fit.add_argument("--minutes", type=float, help="stop after so long, to be resumed")
    for field in fields(Settings):
        kind = float if isinstance(field.default, float) else int
        fit.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    packed = verbs.add_parser(
        "pack", parents=[every], help="write rows for a machine with a GPU: python -m train.language.gpu"
    )
    packed.add_argument("--rows", type=int, default=135_000, help="branches, one a row")
    packed.add_argument(
        "--watched", action="store_true", help="of what is watched, not of what is trained on"
    )
    packed.add_argument("--to", type=Path, required=True, help="the file to write")
    measure = verbs.add_parser("measure", parents=[every], help="score readings that were not trained on")
    measure.add_argument("--adapter", type=Path, help="an adapter, or `none` (default: that of the run)")
    measure.add_argument("--limit", type=int, default=200, help="questions of each set")
    measure.add_argument("--only", nargs="+", help="some of the sets, by name")
    merged = verbs.add_parser(
        "merge", parents=[every], help="write a model with the adapter in it: --model local:FILE"
    )
    merged.add_argument("--adapter", type=Path, help="an adapter (default: that of the run)")
    merged.add_argument("--to", type=Path, required=True, help="the GGUF file to write")
    return top


def main(arguments: list[str] | None = None) -> int:
    """Do as asked: 0 when done, 1 when training was stopped and the same command goes on."""
    options = parser().parse_args(arguments)
    from disputatio.llm.catalogue import path

    gguf = path(MODELS[options.size])
    out = options.out or ROOT / "out" / "train" / f"reader-{options.size}"
    if options.verb == "merge":
        from disputatio.llm.gguf import add_adapter

        add_adapter(gguf, options.adapter or out / ADAPTER, options.to)
        return 0
    if options.verb == "pack":
        from train.language.leaves import load_data
        from train.language.model import load_tokenizer
        from train.language.rows import rows_of, save
        from train.language.trees import packed_branches

        data = load_data(options.data, seed=Settings().seed)[options.watched]
        trees = data.trees(Settings().shares)
        save(rows_of(islice(packed_branches(trees, load_tokenizer(gguf)), options.rows)), options.to)
        return 0
    import torch

    from train.fit import fastest_precision

    precision = options.precision if options.precision != "auto" else fastest_precision("cpu")
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    if options.verb == "fit":
        from train.language.fit import Training

        settings = Settings(**{field.name: getattr(options, field.name) for field in fields(Settings)})
        training = Training(
            out, options.data, gguf, settings, threads=options.threads, dtype=dtype, start=options.start
        )
        return 0 if training.fit(minutes=options.minutes) else 1
    from train.language.measure import measure

    torch.set_num_threads(options.threads)
    adapter = None if str(options.adapter) == "none" else options.adapter or out / ADAPTER
    for set_name, scores in measure(
        gguf, adapter, options.data, limit=options.limit, only=options.only, dtype=dtype
    ):
        print(json.dumps({set_name: scores}), flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
