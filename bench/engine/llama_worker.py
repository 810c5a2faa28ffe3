"""llama.cpp's server, for bench/engine/llama.py; run by an interpreter that has xllamacpp, and not ours.

.venv-peers/bin/python bench/engine/llama_worker.py MODEL THREADS
"""

from __future__ import annotations

import sys

import xllamacpp


def main(model: str, threads: int) -> None:
    """Load the model, print the address, and serve until standard input ends."""
    asked = xllamacpp.CommonParams()
    asked.model.path = model
    asked.n_ctx, asked.n_parallel, asked.port = 16_384, 4, 0
    asked.kv_unified = True  # a prefix that slots share is computed once
    asked.cpuparams.n_threads = asked.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(asked)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
