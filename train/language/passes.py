"""Passes of the model over packed trees: the mask, the logits of the targets, the loss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from transformers import AttentionInterface

if TYPE_CHECKING:  # a GPU's machine has what PyTorch needs alone
    from train.language.trees import Packed

ATTENTION = "packed_tree"


def masks_of(packed: Packed, dtype: torch.dtype) -> list[tuple[slice, Any]]:
    """Return the places of the trunk and of each branch, each with its additive mask.

    A place sees those before it that belong to its own path: the trunk, then its own branch, so no mask spans two branches.
    """
    branch, leaf = torch.from_numpy(packed.branch), torch.from_numpy(packed.leaf)
    trunk = int((branch == -1).sum())
    found = []
    for number in range(-1, int(branch.max()) + 1):
        own = (branch == number).nonzero()[:, 0]
        rows = slice(int(own[0]), int(own[-1]) + 1)
        seen = own if number == -1 else torch.cat([torch.arange(trunk), own])
        allowed = (own[:, None] >= seen[None, :]) & (
            (leaf[seen][None, :] == -1) | (leaf[seen][None, :] == leaf[own][:, None])
        )
        mask = torch.zeros(len(own), len(seen), dtype=dtype).masked_fill_(~allowed, torch.finfo(dtype).min)
        found.append((rows, mask[None, None]))
    return found


def attention(
    module: Any,
    query: Any,
    key: Any,
    value: Any,
    _: Any,
    *,
    scaling: float,
    masks: Any,
    **__: Any,
) -> tuple[Any, None]:
    """Attend branch by branch: a mask over the whole tree would cost the square of all branches together."""
    key, value = (each.repeat_interleave(module.num_key_value_groups, dim=1) for each in (key, value))
    trunk = masks[0][0].stop
    outputs = []
    for rows, mask in masks:
        keys, values = key[:, :, rows], value[:, :, rows]
        if rows.start:
            keys = torch.cat([key[:, :, :trunk], keys], dim=2)
            values = torch.cat([value[:, :, :trunk], values], dim=2)
        weights = torch.matmul(query[:, :, rows], keys.transpose(2, 3)) * scaling + mask
        weights = torch.softmax(weights, dim=-1, dtype=torch.float32).to(query.dtype)
        outputs.append(torch.matmul(weights, values))
    return torch.cat(outputs, dim=2).transpose(1, 2).contiguous(), None


AttentionInterface.register(ATTENTION, attention)


def logits_of(model: Any, packed: Packed, *, dtype: torch.dtype) -> Any:
    """Return the logits of every target, one row each, from one pass of the model.

    Raises `ValueError` if the model attends in another way, which would take the tree for one text.
    """
    if model.config._attn_implementation != ATTENTION:
        raise ValueError(f"the model attends by {model.config._attn_implementation}, not by {ATTENTION}")
    hidden = model.model(
        input_ids=torch.from_numpy(packed.tokens)[None],
        position_ids=torch.from_numpy(packed.positions)[None],
        masks=masks_of(packed, dtype),
        use_cache=False,
    ).last_hidden_state
    return model.lm_head(hidden[0, torch.from_numpy(packed.targets) - 1]).float()


def loss_of(logits: Any, packed: Packed) -> Any:
    """Return the mean loss over leaves; of a leaf, the mean over its tokens, so that long answers do not lead."""
    wanted = torch.from_numpy(packed.tokens[packed.targets])
    each = torch.nn.functional.cross_entropy(logits, wanted, reduction="none")
    leaf_of = packed.leaf[packed.targets]
    counts = np.bincount(leaf_of, minlength=len(packed.leaves))
    weights = torch.from_numpy(1.0 / counts[leaf_of]).float()
    return (each * weights).sum() / len(packed.leaves)
