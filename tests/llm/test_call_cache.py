"""The journal keeps what was acknowledged, repeats it for nothing and replays it with no engine."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path

import pytest

from disputatio.errors import (
    BatchFault,
    Cancelled,
    ConfigError,
    DamagedFile,
    NoLogprobs,
    NotJournalled,
    ServerFault,
    StoreError,
)
from disputatio.llm.cached_llm import CachedLLM
from disputatio.llm.call_cache import CallCache, completion_key, decode_completion, encode
from disputatio.llm.scripted import Scripted
from disputatio.protocols import LLM, Cancel
from disputatio.types import Capabilities, Choice, Completion, Message, Prompt, Sampling, Token, Usage

PLAIN = Sampling()


class Counting:
    """A model that remembers what it was asked; prompts that say FAIL fail."""

    name = "local:counting"

    def __init__(self, engine: str = "counting 1") -> None:
        self.asked: list[str] = []
        self.looks = 0
        self.engine = engine

    def capabilities(self) -> Capabilities:
        self.looks += 1
        return Capabilities(engine=self.engine, logprobs=True, max_options=5, schema=True)

    def _one(self, prompt: Prompt) -> Completion | None:
        text = prompt.messages[-1].content
        self.asked.append(text)
        if "FAIL" in text:
            return None
        usage = Usage(
            calls=1,
            prompt_tokens=3,
            cached_tokens=1,
            completion_tokens=2,
            seconds=0.1 + 0.2 * len(self.asked),
        )
        tokens = (Token(text="é\ud800", logprob=-1 / 3), Token(text="\n", logprob=-0.0))
        return Completion(text=f"reply to {text}", finish_reason="stop", usage=usage, tokens=tokens)

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        done = [self._one(prompt) for prompt in prompts]
        good = [result for result in done if result is not None]
        if len(good) < len(done):
            raise BatchFault(done, [ServerFault("down", 503)])
        return good

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
        self.asked += [prompt.messages[-1].content for prompt in prompts]
        return [
            Choice(
                options=tuple(options),
                logprobs=tuple(-1 / (n + 3) for n in range(len(options))),
                bounded=tuple(n > 0 for n in range(len(options))),
                usage=Usage(calls=1, seconds=0.7),
            )
            for _ in prompts
        ]


def ask(text: str) -> Prompt:
    return Prompt(messages=(Message(role="system", content="Be brief."), Message(role="user", content=text)))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "calls.sqlite"


@pytest.fixture
def journal(file: Path) -> Iterator[CallCache]:
    with CallCache(file) as opened:
        yield opened


def test_the_wrapper_is_an_llm(journal: CallCache) -> None:
    assert isinstance(CachedLLM(Counting(), journal), LLM)


def test_a_repeated_call_is_not_made_and_returns_what_was_recorded(journal: CallCache) -> None:
    model = Counting()
    journalled = CachedLLM(model, journal)
    first = journalled.complete([ask("a"), ask("b")], PLAIN)
    again = journalled.complete([ask("b"), ask("a")], PLAIN)
    assert model.asked == ["a", "b"]
    assert not any(completion.journalled for completion in first)
    assert again == [replace(completion, journalled=True) for completion in (first[1], first[0])]
    assert again[1].tokens[0].logprob == -1 / 3
    assert again[1].usage.seconds == first[0].usage.seconds
    assert journal.count() == 2


def test_a_prompt_twice_in_one_batch_is_asked_once(journal: CallCache) -> None:
    model = Counting()
    done = CachedLLM(model, journal).complete([ask("a"), ask("b"), ask("a")], PLAIN)
    assert model.asked == ["a", "b"]
    assert [completion.text for completion in done] == ["reply to a", "reply to b", "reply to a"]
    assert [completion.journalled for completion in done] == [False, False, True]
    assert done[2].usage == done[0].usage


def test_an_empty_batch_asks_nothing(journal: CallCache) -> None:
    assert CachedLLM(Counting(), journal).complete([], PLAIN) == []


@pytest.mark.parametrize(
    "other",
    [
        Sampling(max_tokens=255),
        Sampling(temperature=0.1),
        Sampling(top_p=0.9),
        Sampling(seed=1),
        Sampling(schema={"type": "object"}),
    ],
)
def test_another_way_of_sampling_is_another_call(journal: CallCache, other: Sampling) -> None:
    model = Counting()
    journalled = CachedLLM(model, journal)
    journalled.complete([ask("a")], PLAIN)
    assert not journalled.complete([ask("a")], other)[0].journalled


def test_the_order_of_the_fields_of_a_schema_is_part_of_the_call() -> None:
    first, two = {"a": 1, "b": 2}, {"b": 2, "a": 1}
    assert completion_key("m", "e", ask("a"), Sampling(schema=first)) != completion_key(
        "m", "e", ask("a"), Sampling(schema=two)
    )


def test_another_engine_or_model_does_not_share_calls(journal: CallCache) -> None:
    CachedLLM(Counting("one"), journal).complete([ask("a")], PLAIN)
    assert not CachedLLM(Counting("two"), journal).complete([ask("a")], PLAIN)[0].journalled
    other = Counting("one")
    other.name = "local:other"
    assert not CachedLLM(other, journal).complete([ask("a")], PLAIN)[0].journalled
    assert CachedLLM(Counting("one"), journal).complete([ask("a")], PLAIN)[0].journalled


def test_a_completion_and_a_choice_on_one_prompt_are_kept_apart(journal: CallCache) -> None:
    journalled = CachedLLM(Counting(), journal)
    journalled.complete([ask("a")], PLAIN)
    first = journalled.choose([ask("a")], ["Yes", "No"])
    again = journalled.choose([ask("a")], ["Yes", "No"])
    assert not first[0].journalled
    assert again == [replace(first[0], journalled=True)]
    assert not journalled.choose([ask("a")], ["No", "Yes"])[0].journalled


def test_a_fault_is_never_kept_and_the_good_calls_of_its_batch_are(journal: CallCache) -> None:
    model = Counting()
    journalled = CachedLLM(model, journal)
    journalled.complete([ask("old")], PLAIN)
    with pytest.raises(BatchFault) as caught:
        journalled.complete([ask("old"), ask("FAIL"), ask("new"), ask("FAIL"), ask("new")], PLAIN)
    texts = [
        None if result is None else (result.journalled, getattr(result, "text", ""))
        for result in caught.value.results
    ]
    assert texts == [(True, "reply to old"), None, (False, "reply to new"), None, (True, "reply to new")]
    assert isinstance(caught.value.errors[0], ServerFault)
    assert journal.count() == 2
    model.asked.clear()
    with pytest.raises(BatchFault):
        journalled.complete([ask("old"), ask("FAIL"), ask("new")], PLAIN)
    assert model.asked == ["FAIL"]


def test_a_replay_needs_no_model_and_gives_the_same_bytes(file: Path) -> None:
    with CallCache(file) as journal:
        live = CachedLLM(Counting(), journal)
        completions, chosen = live.complete([ask("a")], PLAIN), live.choose([ask("b")], ["Yes", "No"])
        capabilities = live.capabilities()
    with CallCache(file, readonly=True) as journal:
        replayed = CachedLLM(None, journal, replay=True)
        assert replayed.name == "local:counting"
        assert replayed.capabilities() == capabilities
        again = replayed.complete([ask("a")], PLAIN)
        assert [encode(one) for one in again] == [encode(one) for one in completions]
        assert again == [replace(completion, journalled=True) for completion in completions]
        assert replayed.choose([ask("b")], ["Yes", "No"]) == [replace(chosen[0], journalled=True)]


def test_a_replay_never_touches_a_model_that_it_is_given(file: Path) -> None:
    with CallCache(file) as journal:
        CachedLLM(Counting(), journal).complete([ask("a")], PLAIN)
        model = Counting()
        replayed = CachedLLM(model, journal, replay=True)
        replayed.complete([ask("a")], PLAIN)
        replayed.capabilities()
        assert model.asked == []
        assert model.looks == 0


def test_a_call_that_a_replay_lacks_is_named_by_its_question(journal: CallCache) -> None:
    CachedLLM(Counting(), journal).complete([ask("a")], PLAIN)
    replayed = CachedLLM(None, journal, replay=True)
    with pytest.raises(NotJournalled, match="local:counting.*'Who was it, " + "x" * 48 + "'"):
        replayed.complete([ask("a"), ask("Who was it,\n" + "x" * 200)], PLAIN)


def test_a_replay_of_an_empty_journal_says_so(journal: CallCache) -> None:
    with pytest.raises(ConfigError, match="holds no calls"):
        CachedLLM(None, journal, replay=True)
    with pytest.raises(NotJournalled, match="no calls of local:counting"):
        CachedLLM(Counting(), journal, replay=True).complete([ask("a")], PLAIN)


def test_a_replay_of_several_models_must_name_one(journal: CallCache) -> None:
    CachedLLM(Counting(), journal).complete([ask("a")], PLAIN)
    other = Counting()
    other.name = "openai:other"
    CachedLLM(other, journal).complete([ask("a")], PLAIN)
    with pytest.raises(ConfigError, match="local:counting, openai:other"):
        CachedLLM(None, journal, replay=True)
    named = CachedLLM(None, journal, replay=True, name="openai:other")
    assert named.complete([ask("a")], PLAIN)[0].journalled


def test_a_given_engine_string_spares_loading_the_engine_for_what_is_kept(file: Path) -> None:
    with CallCache(file) as journal:
        CachedLLM(Counting(), journal, engine="given 1").complete([ask("a")], PLAIN)
        idle = Counting()
        journalled = CachedLLM(idle, journal, engine="given 1")
        assert journalled.complete([ask("a")], PLAIN)[0].journalled
        assert journalled.capabilities().engine == "given 1"
        assert idle.looks == 0
        assert CachedLLM(None, journal, replay=True).capabilities().engine == "given 1"


def test_without_a_model_only_a_replay_is_possible(journal: CallCache) -> None:
    with pytest.raises(ConfigError):
        CachedLLM(None, journal)


def test_the_time_of_a_call_never_enters_its_value(file: Path, journal: CallCache) -> None:
    CachedLLM(Counting(), journal).complete([ask("a")], PLAIN)
    with sqlite3.connect(file) as db:
        value, created = db.execute("SELECT value, created FROM calls").fetchone()
    db.close()
    assert set(json.loads(value)) == {"text", "finish_reason", "tokens", "usage"}
    assert created > 1.7e9


def test_the_first_result_stays_when_two_processes_make_the_same_call(file: Path) -> None:
    with CallCache(file) as left, CallCache(file) as two:

        class Meanwhile(Counting):
            def complete(
                self, prompts: Sequence[Prompt], sampling: Sampling, **_: object
            ) -> list[Completion]:
                CachedLLM(Counting(), left).complete(prompts, sampling)
                return [replace(done, text="later") for done in super().complete(prompts, sampling)]

        assert CachedLLM(Meanwhile(), two).complete([ask("a")], PLAIN)[0].text == "reply to a"


def test_threads_share_one_journal(journal: CallCache) -> None:
    journalled = CachedLLM(Counting(), journal)
    texts: list[list[str]] = []

    def work(start: int) -> None:
        prompts = [ask(str((start + n) % 20)) for n in range(20)]
        texts.append(
            [completion.text for prompt in prompts for completion in journalled.complete([prompt], PLAIN)]
        )

    threads = [threading.Thread(target=work, args=(n * 5,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(texts) == 4
    assert all(len(text) == 20 for text in texts)
    assert journal.count() == 20


def test_numbers_of_numpy_are_kept_as_plain_ones() -> None:
    np = pytest.importorskip("numpy")
    completion = Completion(
        text="", finish_reason="stop", usage=Usage(), tokens=(Token(text="a", logprob=np.float32(0.1)),)
    )
    assert decode_completion(encode(completion)).tokens[0].logprob == float(np.float32(0.1))


# --- a file that is not as it should be ---------------------------------------------------------
def _foreign(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE notes (a)")
    db.commit()
    db.close()


def _newer(file: Path) -> None:
    CallCache(file).close()
    db = sqlite3.connect(file)
    db.execute("PRAGMA user_version = 99")
    db.close()


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda file: file.write_text("not a database, but long enough to be read as one" * 40),
            "not a database",
        ),
        (lambda file: file.mkdir(), "no regular file"),
        (lambda file: file.touch(), "is empty"),
        (lambda file: file.symlink_to(file.parent / "elsewhere"), "is a link"),
        (_foreign, "another program"),
        (_newer, "newer version"),
    ],
    ids=["text", "folder", "empty", "link", "foreign", "newer"],
)
def test_a_file_that_is_no_journal_is_refused_by_name_and_left_as_it_is(
    tmp_path: Path, spoil: Callable[[Path], object], words: str
) -> None:
    file = tmp_path / "calls.sqlite"
    spoil(file)
    before, rights = file.read_bytes() if file.is_file() else b"", file.lstat().st_mode
    with pytest.raises(StoreError, match=words) as caught:
        CallCache(file)
    assert "calls.sqlite" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert (file.read_bytes() if file.is_file() else b"") == before
    assert file.lstat().st_mode == rights
    assert not (tmp_path / "elsewhere").exists()


def test_a_journal_behind_a_link_is_not_opened(tmp_path: Path) -> None:
    CallCache(tmp_path / "own.sqlite").close()
    (tmp_path / "own.sqlite").chmod(0o640)
    (tmp_path / "calls.sqlite").symlink_to(tmp_path / "own.sqlite")
    for readonly in (False, True):
        with pytest.raises(StoreError, match="is a link"):
            CallCache(tmp_path / "calls.sqlite", readonly=readonly)
    assert (tmp_path / "own.sqlite").stat().st_mode & 0o777 == 0o640


def test_a_journal_whose_name_is_in_the_log_alone_is_opened(tmp_path: Path) -> None:
    file = tmp_path / "calls.sqlite"
    writer = sqlite3.connect(file)  # as an earlier version made it, still open
    writer.execute("PRAGMA journal_mode = WAL")
    writer.execute(f"PRAGMA application_id = {0x44535054}")
    assert file.read_bytes()[68:72] == bytes(4)
    CallCache(file).close()
    writer.close()


def test_a_folder_that_cannot_be_made_is_a_store_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="file"):
        CallCache(tmp_path / "file" / "calls.sqlite")


def test_a_journal_that_is_not_there_cannot_be_opened_for_reading(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="none"):
        CallCache(tmp_path / "none.sqlite", readonly=True)
    assert not (tmp_path / "none.sqlite").exists()


def test_a_read_only_journal_refuses_to_be_written(file: Path) -> None:
    CallCache(file).close()
    with CallCache(file, readonly=True) as journal, pytest.raises(StoreError, match="readonly"):
        CachedLLM(Counting(), journal).complete([ask("a")], PLAIN)


@pytest.mark.parametrize("damage", ["replace(value, 'reply', 'reqly')", "x'00ff'", "CAST(x'00ff' AS TEXT)"])
def test_a_call_that_was_altered_is_asked_again_and_a_replay_refuses_it(
    file: Path, journal: CallCache, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    model = Counting()
    journalled = CachedLLM(model, journal)
    whole = journalled.complete([ask("a"), ask("b")], PLAIN)
    with sqlite3.connect(file) as db:
        db.execute(f"UPDATE calls SET value = {damage} WHERE rowid = 1")
    db.close()
    with CallCache(file, readonly=True) as kept, pytest.raises(DamagedFile, match="damaged"):
        CachedLLM(None, kept, replay=True).complete([ask("a")], PLAIN)
    again = journalled.complete([ask("a"), ask("b")], PLAIN)
    assert [reply.journalled for reply in again] == [False, True]
    assert [reply.text for reply in again][1] == whole[1].text
    assert "damaged at 1 calls: they are asked again" in caplog.text
    assert all(reply.journalled for reply in journalled.complete([ask("a"), ask("b")], PLAIN))


def test_a_full_disk_keeps_the_journal_whole_and_writes_no_half_batch(file: Path, journal: CallCache) -> None:
    journalled = CachedLLM(Counting(), journal)
    journalled.complete([ask("a")], PLAIN)
    pages = journal._db.execute("PRAGMA page_count").fetchone()[0]
    journal._db.execute(f"PRAGMA max_page_count = {pages}")
    big = [ask(letter * 20000) for letter in "bcd"]
    with pytest.raises(StoreError, match="full"):
        journalled.complete(big, PLAIN)
    assert journal.count() == 1
    assert journalled.complete([ask("a")], PLAIN)[0].journalled
    journal._db.execute("PRAGMA max_page_count = 100000")
    assert len(journalled.complete(big, PLAIN)) == 3
    assert journal.count() == 4


WRITER = """
import sys
from disputatio.llm.call_cache import CallCache
journal = CallCache(sys.argv[1])
for n in range(100000):
    keys = {f"{sys.argv[2]}-{n}-{m}": '"' + "v" * 300 + '"' for m in range(3)}
    journal.put("complete", "m", keys)
    print(" ".join(keys), flush=True)
"""


@pytest.mark.long
def test_what_was_acknowledged_survives_a_kill_at_any_moment(file: Path) -> None:
    chance = random.Random(7)
    acknowledged: list[str] = []
    for run in range(4):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(file), str(run)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        with process:
            acknowledged += process.stdout.readline().split()
            time.sleep(chance.random() * 0.15)
            process.send_signal(signal.SIGKILL)
            acknowledged += process.stdout.read().rpartition("\n")[0].split()
    assert len(acknowledged) >= 12
    with CallCache(file) as journal:
        assert set(acknowledged) <= set(journal.get(acknowledged))
        assert journal.count() % 3 == 0


@pytest.mark.long
def test_processes_may_make_and_fill_one_journal_at_once(file: Path) -> None:
    code = WRITER.replace("100000", "20")
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(file), str(n)], stdout=subprocess.DEVNULL)
        for n in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    with CallCache(file) as journal:
        assert journal.count() == 3 * 20 * 3


def test_calls_are_reported_from_the_journal_first_and_kept_one_by_one(tmp_path: Path) -> None:
    with CallCache(tmp_path / "calls.sqlite") as journal:
        model = CachedLLM(Scripted(str.upper), journal)
        model.complete([ask("b")], PLAIN)
        reported: list[tuple[int, bool]] = []
        journalled: list[int] = []

        def done(index: int, completion: Completion) -> None:
            reported.append((index, completion.journalled))
            journalled.append(journal.count())

        model.complete([ask("a"), ask("b"), ask("c"), ask("a")], PLAIN, on_done=done)
        assert reported == [(1, True), (0, False), (3, True), (2, False)]
        assert journalled == [1, 2, 2, 3]


def test_a_model_without_log_probabilities_has_none_on_replay_either(tmp_path: Path) -> None:
    class Silent(Counting):
        def capabilities(self) -> Capabilities:
            return replace(super().capabilities(), logprobs=False)

    with CallCache(tmp_path / "calls.sqlite") as journal:
        CachedLLM(Silent(), journal).complete([ask("a")], PLAIN)
        replayed = CachedLLM(None, journal, replay=True)
        with pytest.raises(NoLogprobs, match="gave no log-probabilities"):
            replayed.choose([ask("a")], ["Yes", "No"])
        with pytest.raises(NotJournalled):
            replayed.complete([ask("b")], PLAIN)


def test_what_was_finished_before_a_cancel_is_kept(tmp_path: Path) -> None:
    with CallCache(tmp_path / "calls.sqlite") as journal:
        cancel, script = Cancel(), Scripted(str.upper)
        model = CachedLLM(script, journal)
        with pytest.raises(Cancelled):
            model.complete([ask("a"), ask("b")], PLAIN, on_done=lambda *_: cancel.cancel(), cancel=cancel)
        assert len(script.calls) == 1
        assert model.complete([ask("a")], PLAIN)[0].journalled


def put_while_another_process_writes(file: Path, threads: int, change: str = "") -> list[StoreError]:
    """Let threads put one call each while another connection holds the file; return the faults they met."""
    errors: list[StoreError] = []
    other = sqlite3.connect(file, isolation_level=None)
    with CallCache(file) as cache, closing(other):

        def put(number: int) -> None:
            try:
                cache.put("completion", "m", {f"k{number}": f"v{number}"})
            except StoreError as error:
                errors.append(error)

        other.execute("BEGIN IMMEDIATE")
        started = [threading.Thread(target=put, args=(number,)) for number in range(threads)]
        for thread in started:
            thread.start()
        time.sleep(0.5)  # by then all wait
        if change:
            other.execute(change)
        other.execute("COMMIT")
        for thread in started:
            thread.join()
    return errors


@pytest.mark.long
def test_calls_that_threads_put_while_another_process_writes_are_all_kept(tmp_path: Path) -> None:
    file = tmp_path / "calls.sqlite"
    CallCache(file).close()
    assert put_while_another_process_writes(file, 8) == []
    with CallCache(file) as cache:
        assert cache.get([f"k{n}" for n in range(8)]) == {f"k{n}": f"v{n}" for n in range(8)}


@pytest.mark.long
def test_a_failed_write_is_raised_in_every_thread_that_waited_for_it(tmp_path: Path) -> None:
    file = tmp_path / "calls.sqlite"
    CallCache(file).close()
    errors = put_while_another_process_writes(file, 4, "DROP TABLE calls")
    assert len(errors) == 4
    assert all("calls.sqlite" in str(error) for error in errors)


def test_an_interrupted_write_is_raised_in_every_thread_that_waited_for_it(tmp_path: Path) -> None:
    cache = CallCache(tmp_path / "calls.sqlite")
    raised: list[type[BaseException]] = []

    def put(number: int) -> None:
        try:
            cache.put("completion", "m", {f"k{number}": "v"})
        except (StoreError, KeyboardInterrupt) as error:
            raised.append(type(error))

    @contextmanager
    def interrupted(begin: str = "") -> Iterator[None]:
        if not begin:
            raise KeyboardInterrupt
        yield

    threads = [threading.Thread(target=put, args=(number,)) for number in range(3)]
    transaction = cache._transaction
    with cache._lock:
        for thread in threads:
            thread.start()
        while len(cache._waiting) < len(threads):
            time.sleep(0.001)
        cache._transaction = interrupted  # type: ignore[method-assign]  # one thread writes for all three
    for thread in threads:
        thread.join()
    cache._transaction = transaction  # type: ignore[method-assign]
    assert sorted(kind.__name__ for kind in raised) == ["KeyboardInterrupt", "StoreError", "StoreError"]
    assert cache.get(["k0", "k1", "k2"]) == {}
    cache.put("completion", "m", {"k0": "v"})
    assert cache.get(["k0"]) == {"k0": "v"}
    cache.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE calls SET value = 'é'",
        "UPDATE calls SET value = x'00ff'",
        "UPDATE calls SET value = CAST(x'00ff' AS TEXT)",
        "UPDATE calls SET value = '{}', digest = DIGEST",
        "UPDATE calls SET value = '[[]]', digest = DIGEST",
        "UPDATE models SET capabilities = '[1'",
        "UPDATE models SET capabilities = '[]'",
        "UPDATE models SET capabilities = '{\"engine\": []}'",
        "UPDATE models SET capabilities = x'00ff'",
    ],
)
def test_a_damaged_row_is_one_line_and_a_fault_outside(file: Path, damage: str) -> None:
    with CallCache(file) as journal:
        CachedLLM(Counting(), journal).complete([ask("a")], PLAIN)
    value = damage.split("'")[1]
    with closing(sqlite3.connect(file)) as db:
        digest = blake2b(value.encode(), digest_size=8).hexdigest()
        db.execute(damage.replace("DIGEST", f"'{digest}'"))
        db.commit()
    with (
        CallCache(file, readonly=True) as journal,
        pytest.raises(DamagedFile, match=r"calls\.sqlite is damaged at") as caught,
    ):
        CachedLLM(None, journal, replay=True).complete([ask("a")], PLAIN)
    assert (caught.value.exit_code, "\n" in str(caught.value)) == (3, False)


# --- a file that SQLite takes for damaged -------------------------------------------------------
def test_a_journal_that_was_damaged_for_a_moment_is_opened_again(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CallCache(file) as journal:
        model = CachedLLM(Counting(), journal)
        model.complete([ask("a")], PLAIN)
        journal._db.close()  # this connection alone sees what is not there
        copy = file.with_name("copy.sqlite")
        whole = file.read_bytes()
        copy.write_bytes(whole[:100] + b"\xff" * (len(whole) - 100))
        journal._db = sqlite3.connect(copy, isolation_level=None, check_same_thread=False)
        [kept] = model.complete([ask("a")], PLAIN)
        assert kept.journalled
        assert journal.count() == 1
    assert not caplog.records


def test_no_question_ends_for_a_journal_that_stays_damaged(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with CallCache(file) as journal:
        CachedLLM(Counting(), journal).complete([ask(letter * 3000) for letter in "abcdef"], PLAIN)
    whole = file.read_bytes()
    with CallCache(file) as journal:
        model = CachedLLM(Counting(), journal)
        file.write_bytes(whole[:4096] + b"\xff" * (len(whole) - 4096))
        damaged = file.read_bytes()
        replies = [model.complete([ask(letter)], PLAIN)[0] for letter in "xyx"]
        assert [reply.journalled for reply in replies] == [False, False, True]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert f"the journal {file} is damaged" in caplog.text
    assert file.read_bytes() == damaged, "what may be restored from is left as it is"
    with CallCache(file, readonly=True) as journal, pytest.raises(DamagedFile):  # a replay has nothing else
        journal.get(["x"])


def test_what_is_kept_in_memory_is_bounded(
    file: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("disputatio.llm.call_cache._MOST_IN_MEMORY", 10)
    with CallCache(file) as journal:
        journal._use_memory(sqlite3.DatabaseError("malformed"))
        for number in range(30):
            journal.put("complete", "m", {f"k{number}": "v"})
        assert journal.get(["k0", "k29"]) == {"k29": "v"}
        assert journal.count() == 10
    assert len(caplog.records) == 1
