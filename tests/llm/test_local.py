"""The embedded engine on the smallest real model: batches, constraints, log P, the prefix cache."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from disputatio.errors import Cancelled, ConfigError, ContextTooLong, InputError, LLMError
from disputatio.kit import chat
from disputatio.llm.catalogue import cache_folder
from disputatio.llm.local import Local
from disputatio.protocols import Cancel
from disputatio.types import Sampling

SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string"}, "sure": {"type": "boolean"}},
    "required": ["answer", "sure"],
    "additionalProperties": False,
}


@pytest.fixture(scope="module")
def model(small_model: Path) -> Local:
    return Local("small", lambda: small_model, cache=cache_folder(), cache_gb=1, context_tokens=2_048)


@pytest.mark.long
def test_a_missing_file_is_named_and_nothing_is_loaded(tmp_path: Path) -> None:
    absent = Local("absent", lambda: tmp_path / "absent.gguf", cache=tmp_path)
    assert absent.capabilities().logprobs
    with pytest.raises(InputError, match=r"absent\.gguf"):
        absent.complete([chat("", "Hello.")], Sampling())


@pytest.mark.slow
def test_a_batch_comes_back_in_order_with_usage_and_log_probabilities(model: Local) -> None:
    prompts = [chat("Reply with the number alone.", f"Write the number {n}.") for n in (3, 5, 8)]
    done = model.complete(prompts, Sampling(max_tokens=8))
    assert [completion.text.strip(" .") for completion in done] == ["3", "5", "8"]
    for one in done:
        assert one.finish_reason == "stop"
        assert one.usage.calls == 1
        assert one.usage.prompt_tokens > 10
        assert one.usage.completion_tokens == len(one.tokens)
        assert all(token.logprob <= 0 for token in one.tokens)


@pytest.mark.slow
def test_a_schema_is_kept_and_a_cut_is_reported(model: Local) -> None:
    prompt = chat("Reply in JSON.", "Is Paris in France?")
    (whole,) = model.complete([prompt], Sampling(max_tokens=80, schema=SCHEMA))
    assert set(json.loads(whole.text)) == {"answer", "sure"}
    (cut,) = model.complete([prompt], Sampling(max_tokens=3, schema=SCHEMA))
    assert cut.finish_reason == "length"


@pytest.mark.slow
def test_choose_gives_the_models_own_probability(model: Local) -> None:
    prompts = [chat("Reply with one word, Yes or No.", "Is Paris in France?")]
    (free,) = model.complete(prompts, Sampling(max_tokens=1))
    (choice,) = model.choose(prompts, ("Yes", "No"))
    odds = dict(zip(choice.options, choice.logprobs, strict=True))
    assert sum(map(math.exp, odds.values())) <= 1.01
    # A prefix from the cache is not computed to the last bit as a fresh one; after a mask it would be log 1.
    assert odds[free.tokens[0].text.strip()] == pytest.approx(free.tokens[0].logprob, abs=0.2)
    assert max(choice.logprobs) < -0.01
    with pytest.raises(ConfigError, match="first token"):
        model.choose(prompts, ("Yes", "Yes"))


@pytest.mark.slow
def test_what_is_read_again_comes_from_the_prefix_cache(model: Local) -> None:
    long = "The quay was built of granite. " * 40
    first = model.complete([chat(long, "What is it built of?")], Sampling(max_tokens=2))[0].usage
    again = model.complete([chat(long, "Who wrote this?")], Sampling(max_tokens=2))[0].usage
    assert first.cached_tokens < 64
    assert again.cached_tokens > 200


@pytest.mark.slow
def test_a_batch_reads_the_beginning_that_its_prompts_share_once(model: Local) -> None:
    long = "The jetty was built of oak. " * 40
    prompts = [chat(long, f"Write the number {n} and nothing else.") for n in range(1, 5)]
    batch = model.complete(prompts, Sampling(max_tokens=4))
    first, *others = [completion.usage.cached_tokens for completion in batch]
    assert first < 64
    assert min(others) > 200
    alone = [model.complete([prompt], Sampling(max_tokens=4))[0].text for prompt in prompts]
    assert [completion.text for completion in batch] == alone


@pytest.mark.slow
def test_threads_share_one_engine(model: Local) -> None:
    def said(n: int) -> str:
        prompt = chat("Reply with the number alone.", f"Write the number {n}.")
        return model.complete([prompt], Sampling(max_tokens=8))[0].text.strip(" .")

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(said, range(1, 7))) == [str(n) for n in range(1, 7)]


@pytest.mark.slow
def test_a_prompt_that_does_not_fit_is_refused(model: Local) -> None:
    with pytest.raises(ContextTooLong, match="fewer or shorter passages"):
        model.complete([chat("", "word " * 5_000)], Sampling())


@pytest.mark.slow
def test_a_fault_of_one_request_leaves_the_others_in_the_batch(model: Local) -> None:
    def asked(n: int) -> str:
        text = "word " * 5_000 if n == 2 else f"Write the number {n}."
        try:
            return model.complete([chat("Reply with the number alone.", text)], Sampling(max_tokens=8))[
                0
            ].text.strip(" .")
        except ContextTooLong:
            return "too long"

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(asked, range(1, 5))) == ["1", "too long", "3", "4"]


@pytest.mark.slow
def test_an_engine_that_dies_is_a_fault_and_the_next_call_starts_it_anew(model: Local) -> None:
    prompt = chat("Reply with the number alone.", "Write the number 4.")
    model.complete([prompt], Sampling(max_tokens=8))
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(model.complete, [chat("", "Tell a long story.")], Sampling(max_tokens=1_000))
        time.sleep(0.5)  # the story has begun
        (engine,) = _children()
        os.kill(engine, signal.SIGKILL)
        with pytest.raises(LLMError, match="ended by signal 9"):
            waiting.result()
    assert model.complete([prompt], Sampling(max_tokens=8))[0].text.strip(" .") == "4"


@pytest.mark.slow
def test_each_reply_is_reported_when_it_is_whole(model: Local) -> None:
    reported: list[int] = []
    prompts = [
        chat("", "Count from one to one hundred."),
        chat("Reply with the number alone.", "Write the number 4."),
    ]
    done = model.complete(prompts, Sampling(max_tokens=40), on_done=lambda index, _: reported.append(index))
    assert reported == [1, 0]
    assert done[0].finish_reason == "length"


@pytest.mark.slow
def test_a_cancelled_call_ends_within_a_second_and_leaves_the_engine_free(model: Local) -> None:
    model.complete([chat("", "Say yes.")], Sampling(max_tokens=1))  # it is loaded
    cancel = Cancel()
    cancelled = [0.0]

    def press() -> None:
        cancelled[0] = time.perf_counter()
        cancel.cancel()

    threading.Timer(1.0, press).start()
    prompts = [chat("", f"Tell a long story about the number {n}.") for n in range(4)]
    with pytest.raises(Cancelled):
        model.complete(prompts, Sampling(max_tokens=1_500), cancel=cancel)
    assert time.perf_counter() - cancelled[0] < 1.0
    began = time.perf_counter()
    [short] = model.complete([chat("Reply with the number alone.", "Write the number 4.")], Sampling())
    assert short.text.strip(" .") == "4"
    assert time.perf_counter() - began < 20  # it did not wait for four stories


WAITS = """
import signal, sys
from pathlib import Path
from disputatio.kit import chat
from disputatio.llm.local import Local
from disputatio.types import Sampling
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may ignore it
model = Local("small", lambda: Path(sys.argv[1]), cache=Path(sys.argv[2]), cache_gb=1)
model.complete([chat("", "Say yes.")], Sampling(max_tokens=1))
print("loaded", flush=True)
model.complete([chat("", "Tell a long story.")], Sampling(max_tokens=4_000))
"""


@pytest.mark.slow
def test_the_engine_ends_with_the_process_that_started_it(small_model: Path) -> None:
    command = [sys.executable, "-c", WAITS, str(small_model), str(cache_folder())]
    signals = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
    parents = [
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
        for _ in signals
    ]
    engines = []
    for parent in parents:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"loaded\n"
        engines += _children(parent.pid)
    for parent, how in zip(parents, signals, strict=True):
        os.killpg(parent.pid, how) if how is signal.SIGINT else os.kill(parent.pid, how)
    for parent, engine, how in zip(parents, engines, signals, strict=True):
        _, errors = parent.communicate(timeout=60)
        deadline = time.monotonic() + 60
        while Path(f"/proc/{engine}").exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not Path(f"/proc/{engine}").exists()
        # Ctrl-C reaches both: only the caller's own interrupt is reported.
        assert errors.count(b"KeyboardInterrupt") == (how is signal.SIGINT)


def _children(parent: int | None = None) -> list[int]:
    """Return the processes of engines that a process, this one if none is named, has started and not yet
    ended.
    """
    faults = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                command = (folder / "cmdline").read_bytes()
                above = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
            if b"disputatio.llm.embedded" in command and above == (parent or os.getpid()):
                faults.append(int(folder.name))
    return faults
