"""The model that is trained: a GGUF of the catalogue, dequantised, with low-rank adapters on its linear layers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from transformers import AutoTokenizer, Qwen2Config, Qwen2ForCausalLM

from train.language.passes import ATTENTION

# The names of a layer's tensors in a GGUF -> in the model.
LAYER = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
TOP = {
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
    "output.weight": "lm_head.weight",
}
ADAPTED = tuple(name for name in LAYER if not name.endswith("norm"))


class Adapter(torch.nn.Module):  # type: ignore[misc]  # torch has no types here
    """A frozen linear layer plus a product of two low-rank matrices (LoRA; Hu et al. 2022, arXiv 2106.09685)."""

    def __init__(self, layer: Any, rank: int, scale: float) -> None:
        super().__init__()
        self.layer, self.scale = layer, scale
        down = torch.empty(rank, layer.in_features)
        torch.nn.init.kaiming_uniform_(down, a=5**0.5)
        self.down = torch.nn.Parameter(down)
        self.up = torch.nn.Parameter(torch.zeros(layer.out_features, rank))

    def forward(self, values: Any) -> Any:
        """Return the layer's output with the adapter's added."""
        low = torch.nn.functional.linear(values, self.down.to(values.dtype))
        return self.layer(values) + self.scale * torch.nn.functional.linear(low, self.up.to(values.dtype))


def load_model(gguf: Path, *, dtype: torch.dtype) -> Any:
    """Return a Qwen2 model with the weights of a GGUF file, dequantised and frozen.

    Raises `ValueError` if the file is of another architecture.
    """
    reader = GGUFReader(gguf)

    def value(name: str) -> Any:
        return reader.fields[name].contents()

    architecture = value("general.architecture")
    if architecture != "qwen2":
        raise ValueError(f"{gguf}: an architecture of {architecture}; only qwen2 can be trained")
    weights = dict(_weights(reader, dtype))
    config = Qwen2Config(
        vocab_size=weights["model.embed_tokens.weight"].shape[0],
        hidden_size=value("qwen2.embedding_length"),
        intermediate_size=value("qwen2.feed_forward_length"),
        num_hidden_layers=value("qwen2.block_count"),
        num_attention_heads=value("qwen2.attention.head_count"),
        num_key_value_heads=value("qwen2.attention.head_count_kv"),
        rms_norm_eps=value("qwen2.attention.layer_norm_rms_epsilon"),
        rope_parameters={"rope_theta": value("qwen2.rope.freq_base"), "rope_type": "default"},
        max_position_embeddings=value("qwen2.context_length"),
        tie_word_embeddings="lm_head.weight" not in weights,
        attn_implementation=ATTENTION,
    )
    with torch.device("meta"):
        model = Qwen2ForCausalLM(config)
    missing, unexpected = model.load_state_dict(weights, strict=False, assign=True)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise ValueError(f"{gguf}: tensors missing {missing[:3]} or unknown {unexpected[:3]}")
    model.tie_weights()
    # Built without memory, the table of positions has to be computed.
    model.model.rotary_emb = type(model.model.rotary_emb)(config=config)
    return model.requires_grad_(False)


def load_tokenizer(gguf: Path) -> Any:
    """Return the tokenizer of a GGUF file."""
    return AutoTokenizer.from_pretrained(str(gguf.parent), gguf_file=gguf.name)


def add_adapters(model: Any, *, rank: int, scale: float) -> None:
    """Put an adapter on every linear layer of every block."""
    for block in model.model.layers:
        for name in ADAPTED:
            parent, child = LAYER[name].split(".")
            module = getattr(block, parent)
            setattr(module, child, Adapter(getattr(module, child), rank, scale))


def adapter_weights(model: Any) -> dict[str, Any]:
    """Return the trained matrices by the name of the tensor that they change and `down` or `up`."""
    named = {}
    for number, block in enumerate(model.model.layers):
        for name in ADAPTED:
            parent, child = LAYER[name].split(".")
            adapter = getattr(getattr(block, parent), child)
            named[f"blk.{number}.{name}.down"] = adapter.down
            named[f"blk.{number}.{name}.up"] = adapter.up
    return named


def set_adapter_weights(model: Any, weights: Mapping[str, Any]) -> None:
    """Set the matrices of every adapter; raises `KeyError` if one is missing."""
    with torch.no_grad():
        for name, parameter in adapter_weights(model).items():
            parameter.copy_(weights[name])


def _weights(reader: GGUFReader, dtype: torch.dtype) -> Iterator[tuple[str, Any]]:
    for tensor in reader.tensors:
        name = TOP.get(tensor.name)
        if name is None:
            _, number, part, kind = tensor.name.split(".")
            name = f"model.layers.{number}.{LAYER[part]}.{kind}"
        values = np.array(dequantize(tensor.data, tensor.tensor_type), dtype=np.float32)
        yield name, torch.from_numpy(values).to(dtype)
