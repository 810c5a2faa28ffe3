"""Hostile manifests of an index: names and values that no writer of ours produces."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any


def hostile(
    fields: Mapping[str, Any], draw: random.Random, values: Sequence[Any]
) -> Iterator[dict[str, Any]]:
    """Manifests with one to three of their names or values replaced by some of `values`, without end."""
    while True:
        changed = json.loads(json.dumps(fields))
        for _ in range(draw.randint(1, 3)):
            here: Any = changed
            while keys := list(here) if isinstance(here, dict) else list(range(len(here))):
                key = draw.choice(keys)
                if isinstance(here[key], dict | list) and here[key] and draw.random() < 0.8:
                    here = here[key]
                    continue
                if isinstance(here, dict) and draw.random() < 0.3:
                    here[str(draw.choice(values))] = here.pop(key)
                else:
                    here[key] = copy.deepcopy(draw.choice(values))
                break
        yield changed
