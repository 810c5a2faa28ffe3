"""One aggregator of crowd-kit on a file of claims, for an interpreter that has crowd-kit.

Run `PYTHON -m bench.lib.crowd_kit_worker NAME CLAIMS.csv`, where CLAIMS.csv has the columns task, worker and
label, whole numbers. Prints one JSON object: the label of each task, a figure of skill for each worker
(null where the method has none), the seconds. `bench/papers/truth_discovery.py` calls it.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from typing import Any


def skills(model: Any, workers: list[int]) -> dict[str, float] | None:
    """Return how good each worker is in the method's own measure, the greater the better."""
    if hasattr(model, "spamming_"):  # MACE: how probably a worker knows, rows in the order met
        return {str(worker): float(row[1]) for worker, row in zip(workers, model.spamming_, strict=True)}
    if hasattr(model, "alphas_"):
        return {str(key): float(value) for key, value in model.alphas_.items()}
    if getattr(model, "skills_", None) is not None:
        return {str(key): float(value) for key, value in model.skills_.items()}
    if hasattr(model, "errors_"):  # Dawid-Skene: how often each true label is said, by the labels' priors
        diagonal: dict[str, float] = {}
        priors = model.priors_
        for worker, table in model.errors_.groupby(level=0):
            inner = table.droplevel(0)
            both = [each for each in inner.index if each in inner.columns]
            weight = sum(float(priors.get(each, 0.0)) for each in both)
            right = sum(float(priors.get(each, 0.0)) * float(inner.loc[each, each]) for each in both)
            diagonal[str(worker)] = right / weight if weight else 0.0
        return diagonal
    return None


def main() -> None:
    """Run the aggregator named first on the claims named second."""
    name, file = sys.argv[1:3]
    pandas = importlib.import_module("pandas")
    aggregation = importlib.import_module("crowdkit.aggregation")
    claims = pandas.read_csv(file)
    model = getattr(aggregation, name)()
    begin = time.perf_counter()
    labels = model.fit_predict(claims)
    seconds = time.perf_counter() - begin
    print(
        json.dumps(
            {
                "labels": {str(task): int(label) for task, label in labels.items()},
                "skills": skills(model, claims["worker"].drop_duplicates().tolist()),
                "seconds": seconds,
                "version": importlib.import_module("crowdkit").__version__,
            }
        )
    )


if __name__ == "__main__":
    main()
