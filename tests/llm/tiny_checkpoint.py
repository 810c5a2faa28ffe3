"""A tiny Self-RAG checkpoint: its chances of reflection tokens are known, and a real server gives them.

It is no trained model. Each token stands on an axis of its own, attention adds nothing, and the output layer
holds log-probabilities: so what follows a token depends on that token alone, by the table below. Its
vocabulary is bytes and the tokens of the authors' checkpoints, its chat template lays out turns as theirs
were in training. `python -m tests.llm.tiny_checkpoint FILE` serves a file.
"""

from __future__ import annotations

import math
import os
import sys
import threading
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np
from gguf import GGUFWriter, TokenType

from disputatio.strategies.self_rag import RELEVANT_TOKENS, RETRIEVE_TOKENS, SUPPORT_TOKENS, USE_TOKENS

ANSWER = "In 7."  # of which no byte stands twice
RETRIEVE, RELEVANT, SUPPORT = (0.6, 0.4), (0.8, 0.2), (0.5, 0.3, 0.2)
USE = (0.04, 0.06, 0.1, 0.2, 0.6)
WIDTH, HIDDEN, HEADS = 320, 32, 5
NEVER = -30.0  # log-probability of what the table does not have
TEMPLATE = (
    "{% for message in messages %}{% if message.role == 'user' %}### Instruction:\n{{ message.content }}\n\n"
    "### Response:\n{% else %}{{ message.content }}{% endif %}{% endfor %}"
)
MARKS = (*RETRIEVE_TOKENS, *RELEVANT_TOKENS, *SUPPORT_TOKENS, *USE_TOKENS, "<paragraph>", "</paragraph>")
END = "</s>"
TOKENS = ("<unk>", "<s>", END, *(f"<0x{byte:02X}>" for byte in range(256)), *MARKS)
TYPES = (TokenType.UNKNOWN, *[TokenType.CONTROL] * 2, *[TokenType.BYTE] * 256)


def table() -> dict[str, Mapping[str, float]]:
    """Return what may follow a token, and with which chance."""
    follows: dict[str, Mapping[str, float]] = {
        "\n": dict(zip(RETRIEVE_TOKENS, RETRIEVE, strict=True)),
        "</paragraph>": dict(zip(RELEVANT_TOKENS, RELEVANT, strict=True)),
        RELEVANT_TOKENS[0]: {ANSWER[0]: 1.0},
        RETRIEVE_TOKENS[1]: {ANSWER[0]: 1.0},
        ANSWER[-1]: dict(zip(SUPPORT_TOKENS, SUPPORT, strict=True)),
    }
    follows |= {one: {after: 1.0} for one, after in pairwise(ANSWER)}
    follows |= {mark: dict(zip(USE_TOKENS, USE, strict=True)) for mark in SUPPORT_TOKENS}
    return follows | {mark: {END: 1.0} for mark in USE_TOKENS}


def write(path: Path) -> None:
    """Write the checkpoint as a GGUF file of 2.5 MB."""
    number = {token: n for n, token in enumerate(TOKENS)}

    def at(token: str) -> int:
        return number[token] if token in number else number[f"<0x{ord(token):02X}>"]

    output = np.full((len(TOKENS), WIDTH), NEVER, dtype=np.float32)
    for token, follows in table().items():
        for after, chance in follows.items():
            output[at(after), at(token)] = math.log(chance)
    axes = np.eye(len(TOKENS), WIDTH, dtype=np.float32)
    writer = GGUFWriter(path, "llama")
    writer.add_name("selfrag-tiny")
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-9)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([*TYPES, *[TokenType.USER_DEFINED] * len(MARKS)])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_add_space_prefix(False)
    writer.add_chat_template(TEMPLATE)
    one = np.ones(WIDTH, dtype=np.float32)
    tensors = {
        "token_embd.weight": axes,
        "output.weight": output / np.float32(math.sqrt(WIDTH)),  # the norm before it makes an axis that long
        "output_norm.weight": one,
        "blk.0.attn_norm.weight": one,
        "blk.0.ffn_norm.weight": one,
        "blk.0.ffn_gate.weight": np.zeros((HIDDEN, WIDTH), dtype=np.float32),
        "blk.0.ffn_up.weight": np.zeros((HIDDEN, WIDTH), dtype=np.float32),
        "blk.0.ffn_down.weight": np.zeros((WIDTH, HIDDEN), dtype=np.float32),
    }
    for part in ("q", "k", "v", "output"):
        tensors[f"blk.0.attn_{part}.weight"] = np.zeros((WIDTH, WIDTH), dtype=np.float32)
    for name, tensor in tensors.items():
        writer.add_tensor(name, tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def serve(path: Path) -> None:
    """Run a server of llama.cpp, whose address is the first line written; it ends with its standard input."""
    import xllamacpp

    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(path)
    parameters.n_ctx, parameters.n_parallel, parameters.port = 2048, 1, 0
    parameters.warmup, parameters.use_jinja = False, True
    parameters.cpuparams.n_threads = 1
    server = xllamacpp.Server(parameters)
    print(server.listening_address, flush=True)
    sys.stdin.read()
    threading.Timer(5, os._exit, (0,)).start()  # a server that will not end is left


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
