"""The encoder (BERT: Devlin et al. 2019, in the size of MiniLM-L6: Wang et al. 2020) and its heads, in PyTorch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from train.base import read_safetensors

WIDTH, LAYERS, ATTENTION_HEADS, INNER = 384, 6, 12, 1536
VOCABULARY, POSITIONS = 30_522, 512
_EPSILON = 1e-12
_IMPOSSIBLE = -1e4


class Layer(nn.Module):  # type: ignore[misc]
    """Self-attention and two dense layers, each with a residual sum and a normalisation after it."""

    def __init__(self) -> None:
        super().__init__()
        self.query_key_value = nn.Linear(WIDTH, 3 * WIDTH)
        self.attended = nn.Linear(WIDTH, WIDTH)
        self.attended_norm = nn.LayerNorm(WIDTH, eps=_EPSILON)
        self.inner = nn.Linear(WIDTH, INNER)
        self.outer = nn.Linear(INNER, WIDTH)
        self.outer_norm = nn.LayerNorm(WIDTH, eps=_EPSILON)

    def forward(self, states: Any, mask: Any) -> Any:
        """States (rows, length, width) after this layer; `mask` is added to the attention's logits."""
        rows, length, _ = states.shape
        parts = self.query_key_value(states).view(rows, length, 3, ATTENTION_HEADS, WIDTH // ATTENTION_HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4).unbind(0)
        mixed = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        mixed = mixed.transpose(1, 2).reshape(rows, length, WIDTH)
        states = self.attended_norm(states + self.attended(mixed))
        return self.outer_norm(states + self.outer(functional.gelu(self.inner(states))))


class Encoder(nn.Module):  # type: ignore[misc]
    """Token numbers in, one vector a token out."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.segments = nn.Embedding(2, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=_EPSILON)
        self.layers = nn.ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, tokens: Any, segments: Any, attended: Any) -> Any:
        """States (rows, length, width) of integer tokens and segments; `attended` is false for padding."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        states = self.norm(self.words(tokens) + self.positions(places)[None] + self.segments(segments))
        mask = torch.where(attended[:, None, None, :], 0.0, _IMPOSSIBLE).to(states.dtype)
        for layer in self.layers:
            states = layer(states, mask)
        return states

    def load_base(self, folder: Path) -> None:
        """Take the weights of a folder's `model.safetensors` (the names of Hugging Face's BertModel)."""
        arrays = {
            name: torch.tensor(array)
            for name, array in read_safetensors(folder / "model.safetensors").items()
        }
        state = {}
        for ours, theirs in (
            ("words", "word_embeddings"), ("positions", "position_embeddings"), ("segments", "token_type_embeddings"),
        ):  # fmt: skip
            state[f"{ours}.weight"] = arrays[f"embeddings.{theirs}.weight"]
        for kind in ("weight", "bias"):
            state[f"norm.{kind}"] = arrays[f"embeddings.LayerNorm.{kind}"]
            for number in range(LAYERS):
                theirs, ours = f"encoder.layer.{number}", f"layers.{number}"
                joined = [
                    arrays[f"{theirs}.attention.self.{part}.{kind}"] for part in ("query", "key", "value")
                ]
                state[f"{ours}.query_key_value.{kind}"] = torch.cat(joined)
                state[f"{ours}.attended.{kind}"] = arrays[f"{theirs}.attention.output.dense.{kind}"]
                state[f"{ours}.attended_norm.{kind}"] = arrays[f"{theirs}.attention.output.LayerNorm.{kind}"]
                state[f"{ours}.inner.{kind}"] = arrays[f"{theirs}.intermediate.dense.{kind}"]
                state[f"{ours}.outer.{kind}"] = arrays[f"{theirs}.output.dense.{kind}"]
                state[f"{ours}.outer_norm.{kind}"] = arrays[f"{theirs}.output.LayerNorm.{kind}"]
        self.load_state_dict(state)


class HeadedEncoder(nn.Module):  # type: ignore[misc]
    """The encoder with its heads: *read* (span, and whether the passage answers), *entail* and *same*."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder()
        self.span = nn.Linear(WIDTH, 2)
        self.answers = nn.Linear(WIDTH, 1)
        self.entail = _hidden(3)
        self.same = _hidden(1)
        for name, parameter in self.named_parameters():
            if not name.startswith("encoder."):
                (nn.init.normal_(parameter, std=0.02) if parameter.ndim > 1 else nn.init.zeros_(parameter))

    def forward(self, tokens: Any, segments: Any, attended: Any) -> Any:
        """Logits: starts and ends (rows, length), answering (rows,), entailment (rows, 3), sameness (rows,).

        Place 0 of starts and ends is "no answer"; the classes of entailment are supports, contradicts, silent.
        """
        states = self.encoder(tokens, segments, attended)
        starts, ends = self.span(states).unbind(-1)
        first = states[:, 0]
        return (
            starts,
            ends,
            self.answers(first).squeeze(-1),
            self.entail(first),
            self.same(first).squeeze(-1),
        )


def _hidden(classes: int) -> Any:
    return nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Linear(WIDTH, classes))


def reading_loss(outputs: Any, batch: Any) -> tuple[Any, Any]:
    """Return the loss of spans and of answerability, each a mean over the batch in nats.

    A span's probability is that of its start times that of its end; where several spans are right it is
    their sum that counts (Clark and Gardner 2018, section 3).
    """
    starts, ends, answers, *_ = outputs
    allowed = batch["legal"].clone()
    allowed[:, 0] = True
    picked: Any = 0.0
    for logits, column in ((starts, 0), (ends, 1)):
        probabilities = functional.log_softmax(logits.float().masked_fill(~allowed, _IMPOSSIBLE), dim=-1)
        picked = picked + probabilities.gather(1, batch["spans"][:, :, column])
    right = torch.logsumexp(picked.masked_fill(~batch["span_mask"], _IMPOSSIBLE), dim=1)
    span_loss = -right.mean() / 2
    answer_loss = functional.binary_cross_entropy_with_logits(answers.float(), batch["answerable"])
    return span_loss, answer_loss


def entailment_loss(outputs: Any, batch: Any) -> Any:
    """Cross-entropy of the three classes in nats; label 3 is "one of the two that do not support"."""
    logs = functional.log_softmax(outputs[3].float(), dim=-1)
    others = torch.logsumexp(logs[:, 1:], dim=-1, keepdim=True)
    return -torch.cat([logs, others], dim=-1).gather(1, batch["labels"][:, None]).mean()


def sameness_loss(outputs: Any, batch: Any) -> Any:
    """Cross-entropy of "both are about the same", in nats."""
    return functional.binary_cross_entropy_with_logits(outputs[4].float(), batch["labels"].float())
