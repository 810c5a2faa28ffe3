"""Training on a GPU from a file of rows: the same adapter and loss as `fit`, in batches of many rows.

It needs PyTorch, transformers, gguf and safetensors, and of this project these files alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AttentionInterface

from train.language import rows as table
from train.language.model import adapter_weights, add_adapters, load_model, set_adapter_weights

ATTENTION = "rows"
RANK, SCALE, SEED = 8, 2.0, 23
WARM_UP, FALLING, WATCH_EVERY = 30, 0.5, 800  # steps, the share of the time, steps
LINE_END = 198  # the token of a line's end in Qwen's vocabulary


def attention(
    module: Any, query: Any, key: Any, value: Any, _: Any, *, scaling: float, allowed: Any, **__: Any
) -> tuple[Any, None]:
    """Attend where `allowed` (rows, 1, places, places) says so."""
    key, value = (each.repeat_interleave(module.num_key_value_groups, dim=1) for each in (key, value))
    output = torch.nn.functional.scaled_dot_product_attention(
        query, key, value, attn_mask=allowed, scale=scaling
    )
    return output.transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, attention)


def load(gguf: Path, *, device: str, dtype: torch.dtype, start: Path | None) -> Any:
    """Return the model with adapters on a device, those of a file to begin with if there is one."""
    model = load_model(gguf, dtype=dtype)
    model.config._attn_implementation = ATTENTION
    add_adapters(model, rank=RANK, scale=SCALE)
    if start is not None:
        from safetensors.torch import load_file

        set_adapter_weights(model, {name: value.float() for name, value in load_file(start).items()})
    # cuDNN's attention gives gradients that are not numbers for some lengths (448; PyTorch 2.11, H100).
    torch.backends.cuda.enable_cudnn_sdp(False)
    return model.to(device)


def logits_of(model: Any, batch: table.Batch) -> Any:
    """Return the logits of every target of a batch, one row each."""
    device = model.model.embed_tokens.weight.device
    leaf = torch.from_numpy(batch.leaf).to(device)
    place = torch.arange(leaf.shape[1], device=device)
    allowed = (place[:, None] >= place[None, :])[None] & (
        (leaf[:, None, :] == -1) | (leaf[:, None, :] == leaf[:, :, None])
    )
    hidden = model.model(
        input_ids=torch.from_numpy(batch.tokens).to(device),
        position_ids=torch.from_numpy(batch.positions).to(device),
        allowed=allowed[:, None],
        use_cache=False,
    ).last_hidden_state
    targets = torch.from_numpy(batch.targets).to(device)
    return model.lm_head(hidden[targets[:, 0], targets[:, 1] - 1]).float()


def wanted_of(batch: table.Batch, device: Any) -> Any:
    """Return the tokens that the targets of a batch are to be."""
    return torch.from_numpy(batch.tokens[batch.targets[:, 0], batch.targets[:, 1]]).to(device)


class Run:
    """A run in a folder: a model with adapters, optimiser and log. `seconds` are those since it was begun."""

    def __init__(self, model: Any, out: Path, *, rate: float) -> None:
        out.mkdir(parents=True, exist_ok=True)
        self.model, self.out, self.rate = model, out, rate
        self.parameters = list(adapter_weights(model).values())
        self.optimizer = torch.optim.AdamW(self.parameters, lr=rate, weight_decay=0.0, betas=(0.9, 0.98))
        self.began = time.monotonic()
        self.steps = self.rows = self.leaves = self.tokens = self.skipped = 0

    @property
    def seconds(self) -> float:
        """Seconds since the run was begun."""
        return time.monotonic() - self.began

    def note(self, **values: object) -> None:
        """Add a line to the log, and show it."""
        counts = {name: getattr(self, name) for name in ("steps", "rows", "leaves", "tokens", "skipped")}
        line = json.dumps({"seconds": round(self.seconds), **counts, **values})
        with (self.out / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(line + "\n")
        print(line, flush=True)

    def step(self, batch: table.Batch, share_of_rate: float) -> Any:
        """Take a step on a batch; return the loss of each leaf, whose tokens count as one."""
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate * share_of_rate
        logits = logits_of(self.model, batch)
        each = torch.nn.functional.cross_entropy(logits, wanted_of(batch, logits.device), reduction="none")
        leaf_of = torch.from_numpy(batch.leaf_of).to(logits.device)
        counts = torch.bincount(leaf_of).float()
        losses = torch.zeros_like(counts).index_add_(0, leaf_of, each) / counts
        losses.mean().backward()
        if torch.isfinite(torch.nn.utils.clip_grad_norm_(self.parameters, 1.0)):
            self.optimizer.step()
        else:
            self.skipped += 1
        self.optimizer.zero_grad()
        self.steps, self.rows = self.steps + 1, self.rows + len(batch.tokens)
        self.leaves += len(batch.kind_of)
        self.tokens += int((batch.tokens > 0).sum())
        return losses.detach()


def fit(
    gguf: Path,
    rows: Path,
    watched: Path,
    out: Path,
    *,
    minutes: float,
    rate: float,
    places: int,
    start: Path | None,
    compiled: bool,
) -> Any:
    """Train for so many minutes, the rate falling to 0 over the last half of them; write adapter and log.

    Returns the trained model.
    """
    data, kept = table.load(rows), table.load(watched)
    torch.manual_seed(SEED)
    model = load(gguf, device="cuda", dtype=torch.bfloat16, start=start)
    if compiled:  # in a minute, to go on at 1.6 times the pace
        for layer in model.model.layers:
            layer.compile(dynamic=True)
    run = Run(model, out, rate=rate)
    run.note(loaded=len(data), watching=len(kept), rate=rate, places=places, minutes=minutes)
    losses: dict[str, list[float]] = {}
    for numbers in table.endless(data, places, SEED):
        done = run.seconds / (60 * minutes)
        if done >= 1:
            break
        batch = table.batch_of(data, numbers)
        own = run.step(batch, min((run.steps + 1) / WARM_UP, 1.0) * min(1.0, (1 - done) / FALLING))
        if run.steps % 5 == 0:
            for kind, loss in zip(batch.kind_of, own.cpu().tolist(), strict=True):
                losses.setdefault(data.kinds[kind].split("/")[0], []).append(loss)
        if run.steps % 100 == 0:
            run.note(losses={kind: round(float(np.mean(some)), 3) for kind, some in sorted(losses.items())})
            losses = {}
        if run.steps % WATCH_EVERY == 0:
            run.note(watched=scores(run.model, kept))
            write(out, run.model)
    write(out, run.model)
    run.note(watched=scores(run.model, kept), done=True)
    return run.model


def write(out: Path, model: Any) -> None:
    """Write the adapter alone, in bfloat16."""
    from safetensors.torch import save_file

    weights = {
        name: value.detach().to(torch.bfloat16).cpu().contiguous()
        for name, value in adapter_weights(model).items()
    }
    partial = out / "adapter.partial"
    save_file(weights, partial, metadata={"rank": str(RANK), "scale": str(SCALE)})
    partial.replace(out / "adapter.safetensors")


def scores(model: Any, kept: table.Rows, places: int = 24_576) -> Mapping[str, Any]:
    """Return by kind of leaf how many are written to the letter, their first lines too, and how declining tells apart.

    The AUC of declining is of the first token of "unknown", by the part of the kind before its stroke.
    """
    exact: dict[str, list[tuple[bool, bool]]] = {}
    chances: dict[tuple[str, bool], list[float]] = {}
    declined = _unknown(kept)
    for numbers in table.batches(kept, places, None):
        batch = table.batch_of(kept, numbers)
        with torch.inference_mode():
            logits = logits_of(model, batch)
            chosen = logits.argmax(-1)
            wanted = wanted_of(batch, chosen.device)
            right = (chosen == wanted).cpu().numpy()
            odds = torch.log_softmax(logits, -1)[:, declined].cpu().numpy()
        written = wanted.cpu().numpy()
        for number, kind in enumerate(batch.kind_of):
            own = np.flatnonzero(batch.leaf_of == number)
            name = kept.kinds[kind]
            breaks = np.flatnonzero(written[own] == LINE_END)
            first = own[: breaks[0]] if len(breaks) else own[:-1]
            exact.setdefault(name, []).append((bool(right[own].all()), bool(right[first].all())))
            chances.setdefault((name.split("/")[0], name.endswith("unknown")), []).append(float(odds[own[0]]))
    found: dict[str, Any] = {}
    for kind, some in sorted(exact.items()):
        whole, first_line = (round(float(np.mean(each)), 3) for each in zip(*some, strict=True))
        found[kind] = [whole, first_line, len(some)]
    for kind in sorted({kind for kind, is_unknown in chances if is_unknown}):
        answers, none = chances.get((kind, False), []), chances[kind, True]
        if answers:
            kept_at = float(np.quantile(answers, 0.93))
            found[f"{kind} refused where 93 % are kept"] = round(float(np.mean(np.array(none) > kept_at)), 3)
            found[f"{kind} AUC"] = round(
                float(np.mean(np.array(none)[:, None] > np.array(answers)[None, :])), 3
            )
    return found


def _unknown(kept: table.Rows) -> int:
    """Return the first token of "unknown"; raises `ValueError` where no row has it."""
    for _row, _, target, _, kind in kept.leaves:
        if kept.kinds[kind].endswith("unknown"):
            return int(kept.tokens[target])
    raise ValueError("no row is declined")


def main() -> None:
    """Train as the command line says."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m train.language.gpu", description=__doc__)
    parser.add_argument("--gguf", type=Path, required=True, help="the model's file")
    parser.add_argument("--rows", type=Path, required=True, help="what is trained on (`pack`)")
    parser.add_argument("--watched", type=Path, required=True, help="what is watched (`pack --watched`)")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--start", type=Path, help="an adapter to begin with")
    parser.add_argument("--minutes", type=float, default=3.0)
    parser.add_argument("--rate", type=float, default=4e-4)
    parser.add_argument("--places", type=int, default=16_384, help="tokens of a batch, with what fills it up")
    parser.add_argument("--compiled", action="store_true", help="compile the layers: pays from 4 minutes on")
    fit(**vars(parser.parse_args()))


if __name__ == "__main__":
    main()
