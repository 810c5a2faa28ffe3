"""Train our own encoder, make one int8 file of its weights, and measure that."""

from __future__ import annotations

import argparse
import json
import os
import sys
from dataclasses import fields
from pathlib import Path

from disputatio.errors import DisputatioError
from train.plan import Plan

ROOT = Path(__file__).resolve().parent.parent


def parser() -> argparse.ArgumentParser:
    """Return the command line; every value of a plan is an option of `encoder`."""
    top = argparse.ArgumentParser(prog="python -m train", description=__doc__)
    default = os.environ.get("DISPUTATIO_DATA", ROOT.parent / "shared" / "data")
    every = argparse.ArgumentParser(add_help=False)
    every.add_argument("--data", type=Path, default=Path(default), help="folder of the data sets")
    every.add_argument(
        "--out", type=Path, default=ROOT / "out" / "train" / "encoder", help="folder of the run"
    )
    every.add_argument("--threads", type=int, default=2)
    verbs = top.add_subparsers(dest="verb", required=True)
    read = verbs.add_parser("encoder", parents=[every], help="train the heads read, entail and same")
    read.add_argument("--precision", choices=("auto", "float32", "bfloat16"), default="auto")
    read.add_argument(
        "--until", type=int, help="stop after this step, to be resumed (with other options, too)"
    )
    read.add_argument("--start", type=Path, help="folder of another run, to begin with its weights")
    for field in fields(Plan):
        kind = float if isinstance(field.default, float) else int
        read.add_argument(f"--{field.name.replace('_', '-')}", type=kind, default=field.default)
    export = verbs.add_parser(
        "export", parents=[every], help="the run's weights as an int8 model, calibrated"
    )
    export.add_argument("--to", type=Path, help="folder of the model (default: model/ in the run's folder)")
    export.add_argument(
        "--precision", choices=("weights", "activations", "none"), default="weights", help="what is in 8 bits"
    )
    measure = verbs.add_parser("measure", parents=[every], help="score a model on what it was not trained on")
    measure.add_argument(
        "--model", type=Path, help="folder of the model (default: model/ in the run's folder)"
    )
    measure.add_argument("--limit", type=int, help="that many passages of each set, evenly spread")
    measure.add_argument("--only", nargs="+", help="some of the sets, by name", metavar="SET")
    measure.add_argument("--json", type=Path, help="write the scores here too")
    compare = verbs.add_parser(
        "compare",
        parents=[every],
        help="the readings of the encoder, a language model and the trained reader, on the same passages",
    )
    compare.add_argument("--encoder", default="default", help="its zip file or folder")
    compare.add_argument("--model", default="local:qwen2.5-coder-1.5b", help="the language model")
    compare.add_argument("--limit", type=int, help="that many passages of each set, evenly spread")
    compare.add_argument(
        "--journal",
        default="none",
        help="keep calls here, to go on after a stop (kept calls have no seconds)",
    )
    compare.add_argument("--only", nargs="+", default=["ramdocs", "nq", "squad2", "built"])
    return top


def main(arguments: list[str] | None = None) -> int:
    """Do as asked: 0 when done, 1 when training was stopped and can be resumed by the same command, 2 for bad input."""
    options = parser().parse_args(arguments)
    try:
        return _run(options)
    except (DisputatioError, FileNotFoundError) as error:
        print(f"train {options.verb}: {error}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    if options.verb == "encoder":
        from train.fit import Run

        plan = Plan(**{field.name: getattr(options, field.name) for field in fields(Plan)})
        run = Run(
            options.out,
            options.data,
            plan,
            threads=options.threads,
            precision=options.precision,
            start=options.start,
        )
        return 0 if run.fit(options.until) else 1
    if options.verb == "export":
        from train.export import export
        from train.split import calibration_examples, calibration_pairs

        examples, pairs = calibration_examples(options.data), calibration_pairs(options.data)
        to = options.to or options.out / "model"
        export(options.out, to, examples, pairs, length=Plan().length, precision=options.precision)
        return 0
    if options.verb == "compare":
        from train.compare import compare

        compared = compare(
            options.data,
            model=options.model,
            encoder=options.encoder,
            limit=options.limit,
            only=options.only,
            journal=options.journal,
        )
        for corpus, scores_of in compared:
            print(json.dumps({corpus: scores_of}), flush=True)
        return 0
    from train.measure import SETS, measure

    model = options.model or options.out / "model"
    scores = {}
    only = options.only or SETS
    for name, values in measure(model, options.data, threads=options.threads, limit=options.limit, only=only):
        scores[name] = values
        print(json.dumps({name: values}), flush=True)
        if options.json:
            options.json.write_text(json.dumps(scores, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
