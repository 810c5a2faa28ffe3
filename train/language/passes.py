"""Passes of the model over packed trees: the mask, the logits of the targets, the loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from train.language.trees import Packed


def mask_of(packed: Packed, dtype: torch.dtype) -> Any:
    """Return the additive mask: a place sees those before it that belong to its own path."""
    size = len(packed.tokens)
    place = torch.arange(size)
    branch, leaf = torch.from_numpy(packed.branch), torch.from_numpy(packed.leaf)
    same_leaf = (leaf[None, :] == -1) | (leaf[None, :] == leaf[:, None])
    same_branch = (branch[None, :] == -1) | ((branch[None, :] == branch[:, None]) & same_leaf)
    allowed = (place[:, None] >= place[None, :]) & same_branch
    return torch.zeros(size, size, dtype=dtype).masked_fill_(~allowed, torch.finfo(dtype).min)[None, None]


def logits_of(model: Any, packed: Packed, *, dtype: torch.dtype) -> Any:
    """Return the logits of every target, one row each, from one pass of the model."""
    hidden = model.model(
        input_ids=torch.from_numpy(packed.tokens)[None],
        position_ids=torch.from_numpy(packed.positions)[None],
        attention_mask=mask_of(packed, dtype),
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
