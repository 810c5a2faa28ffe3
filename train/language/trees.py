"""Packed sequences: one instruction, passages as branches, questions as leaves, loss on the leaves' targets.

A leaf sees the instruction and its own branch alone, as if each question were a prompt of its own, and what leaves share
is computed once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from disputatio.agents.trained_reader import GAP, INSTRUCTIONS

END = "<|im_end|>"
LONGEST_ROW = 1_600  # tokens of a branch that is a row of its own


@dataclass(frozen=True, slots=True)
class Leaf:
    """The rest of a prompt and what is to be written after it; `kind` is for the scores."""

    prompt: str
    target: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Branch:
    """The first part of a prompt, and the leaves that go on from it after an empty line.

    The empty line is the branch's, so that a text has the same tokens in one piece and in parts.
    """

    text: str
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """Branches of one task, whose instruction they share."""

    task: str
    branches: tuple[Branch, ...]


@dataclass(frozen=True, slots=True)
class Packed:
    """A tree as numbers, each array of one length: `branch` and `leaf` are -1 for what comes before them.

    `targets` are the places whose token is to be predicted, from the place before; `leaf_of` their leaves.
    """

    tokens: Any
    positions: Any
    branch: Any
    leaf: Any
    targets: Any
    leaves: tuple[Leaf, ...]


def pack(tree: Tree, instruction: str, tokenizer: Any) -> Packed:
    """Return a tree as one sequence of tokens in the form of a chat."""

    def numbers(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False).input_ids)

    tokens = numbers(f"<|im_start|>system\n{instruction}{END}\n<|im_start|>user\n")
    positions = list(range(len(tokens)))
    trunk = len(tokens)
    branch, leaf = [-1] * trunk, [-1] * trunk
    targets: list[int] = []
    leaves: list[Leaf] = []
    for number, part in enumerate(tree.branches):
        own = numbers(part.text + GAP)
        tokens += own
        positions += range(trunk, trunk + len(own))
        branch += [number] * len(own)
        leaf += [-1] * len(own)
        for each in part.leaves:
            head = numbers(f"{each.prompt}{END}\n<|im_start|>assistant\n")
            written = numbers(each.target + END)
            start = trunk + len(own)
            targets += range(len(tokens) + len(head), len(tokens) + len(head) + len(written))
            tokens += head + written
            positions += range(start, start + len(head) + len(written))
            branch += [number] * (len(head) + len(written))
            leaf += [len(leaves)] * (len(head) + len(written))
            leaves.append(each)
    return Packed(
        tokens=np.array(tokens),
        positions=np.array(positions),
        branch=np.array(branch),
        leaf=np.array(leaf),
        targets=np.array(targets),
        leaves=tuple(leaves),
    )


def packed_branches(trees: Iterable[Tree], tokenizer: Any) -> Iterator[Packed]:
    """Yield every branch of trees as a tree of its own, but those that are too long for a batch."""
    for tree in trees:
        for branch in tree.branches:
            packed = pack(Tree(tree.task, (branch,)), INSTRUCTIONS[tree.task], tokenizer)
            if len(packed.tokens) <= LONGEST_ROW:
                yield packed


def rows_of_leaf(packed: Packed) -> Sequence[Any]:
    """Return, for each leaf, the numbers of its rows among the targets."""
    leaf_of = packed.leaf[packed.targets]
    return [np.flatnonzero(leaf_of == number) for number in range(len(packed.leaves))]
