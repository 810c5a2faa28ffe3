"""Tests of an endpoint with servers that fail, break off, dawdle or talk nonsense."""

from __future__ import annotations

import json
import random
import socket
import threading
import traceback
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from disputatio.errors import (
    BatchFault,
    ContextTooLong,
    LLMError,
    Malformed,
    QuotaExceeded,
    RateLimited,
    Refused,
    ServerFault,
    Timeout,
    Unreachable,
)
from disputatio.llm.endpoint import Endpoint
from disputatio.llm.stream import Deadlines
from disputatio.types import Sampling
from tests.llm.conftest import Connect, Serve
from tests.llm.fake_server import Asked, Wire, ask, capable, chunk, event, fails, says

KEY = "sk-very-secret-0123456789"


def fault_of(endpoint: Endpoint) -> LLMError:
    """Return the fault of one call."""
    with pytest.raises(LLMError) as caught:
        endpoint.complete([ask()], Sampling())
    return caught.value


class Slept:
    """A sleep that only notes how long it was to be."""

    def __init__(self) -> None:
        self.waits: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.waits.append(seconds)


# --- which faults are repeated -------------------------------------------------------------------
@pytest.mark.parametrize(
    "fault",
    [fails(429), fails(500), fails(502, "bad gateway"), fails(503), Wire(silent=True)],
    ids=["429", "500", "502", "503", "closed without a word"],
)
def test_a_passing_fault_is_overcome(serve: Serve, connect: Connect, fault: Wire) -> None:
    server = serve([fault, says("yes")])
    assert connect(server).complete([ask()], Sampling())[0].text == "yes"
    assert len(server.asked) == 2


@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 501])
def test_a_refusal_is_not_repeated(serve: Serve, connect: Connect, status: int) -> None:
    server = serve([fails(status, "cannot"), says("yes")])
    fault = fault_of(connect(server))
    assert isinstance(fault, Refused)
    assert fault.status == status
    assert "cannot" in str(fault)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "wire",
    [
        fails(429, "You exceeded your current quota, please check your plan", code="insufficient_quota"),
        fails(429, "pay", type="insufficient_quota"),
        fails(402, "Insufficient Balance"),
    ],
    ids=["code", "type", "402"],
)
def test_an_exhausted_account_is_not_asked_again(serve: Serve, connect: Connect, wire: Wire) -> None:
    server = serve([wire])
    assert isinstance(fault_of(connect(server)), QuotaExceeded)
    assert len(server.asked) == 1


def test_a_call_is_repeated_so_often_and_no_oftener(serve: Serve, connect: Connect) -> None:
    server = serve([fails(503, "overloaded")])
    fault = fault_of(connect(server, retries=2))
    assert isinstance(fault, ServerFault)
    assert (fault.status, len(server.asked)) == (503, 3)


def test_repeats_are_at_most_four_and_a_fifth_of_the_calls(serve: Serve, connect: Connect) -> None:
    server = serve([fails(500)])
    with pytest.raises(ServerFault):
        connect(server, in_flight=1).complete([ask()] * 10, Sampling())
    assert len(server.asked) == 10 + 4 + 2


def test_waits_grow_and_follow_from_the_seed(serve: Serve, connect: Connect) -> None:
    waits = []
    for _ in range(2):
        slept = Slept()
        fault_of(connect(serve([fails(500)]), sleep=slept, rng=random.Random(5)))
        waits.append(slept.waits)
    assert waits[0] == waits[1]
    for number, wait in enumerate(waits[0]):
        assert 0.25 * 2**number <= wait <= 0.5 * 2**number


def test_the_wait_that_a_server_asks_for_is_kept(serve: Serve, connect: Connect) -> None:
    slept = Slept()
    server = serve([fails(429, headers={"Retry-After": "3"}), says("yes")])
    connect(server, sleep=slept).complete([ask()], Sampling())
    assert slept.waits == [3.0]


def test_a_wait_may_be_given_as_a_date_and_is_capped(serve: Serve, connect: Connect) -> None:
    slept = Slept()
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=20), usegmt=True)
    late = format_datetime(datetime.now(UTC) + timedelta(hours=2), usegmt=True)
    script = [fails(503, headers={"Retry-After": when}) for when in (soon, late)]
    connect(serve([*script, says("yes")]), sleep=slept).complete([ask()], Sampling())
    assert 10 < slept.waits[0] <= 20
    assert slept.waits[1] == 30.0


def test_a_rate_limit_that_lasts_says_how_long_to_wait(serve: Serve, connect: Connect) -> None:
    fault = fault_of(connect(serve([fails(429, headers={"Retry-After": "7"})]), retries=0))
    assert isinstance(fault, RateLimited)
    assert fault.retry_after == 7.0


def test_a_wait_that_outlasts_the_total_deadline_is_not_begun(serve: Serve, connect: Connect) -> None:
    slept = Slept()
    server = serve([fails(429, headers={"Retry-After": "9"})])
    fault = fault_of(connect(server, sleep=slept, deadlines=Deadlines(total=5)))
    assert isinstance(fault, RateLimited)
    assert slept.waits == []


# --- nothing there -------------------------------------------------------------------------------
def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_an_address_without_a_server_is_reported_with_what_to_check(connect: Connect) -> None:
    slept = Slept()
    url = f"http://127.0.0.1:{free_port()}/v1"
    fault = fault_of(connect(url, sleep=slept))
    assert isinstance(fault, Unreachable)
    assert url in str(fault)
    assert "OPENAI_BASE_URL" in str(fault)
    assert len(slept.waits) == 1, "an address that never answered is tried twice, not five times"


def test_after_eight_failures_to_connect_the_address_is_left_alone(connect: Connect) -> None:
    endpoint = connect(f"http://127.0.0.1:{free_port()}/v1", in_flight=1, retries=0)
    with pytest.raises(Unreachable):
        endpoint.complete([ask()] * 8, Sampling())
    assert "8 times in a row; not tried again" in str(fault_of(endpoint))
    assert "OPENAI_BASE_URL" in str(fault_of(endpoint))


@pytest.mark.long
def test_the_address_is_tried_again_after_the_cool_off(serve: Serve, connect: Connect) -> None:
    up = threading.Event()
    server = serve(lambda _: says("yes") if up.is_set() else Wire(silent=True))
    endpoint = connect(server, in_flight=1, retries=0, cool_off=0.5)
    with pytest.raises(Unreachable):
        endpoint.complete([ask()] * 12, Sampling())
    assert len(server.asked) == 8
    up.set()
    assert "not tried again" in str(fault_of(endpoint))
    threading.Event().wait(0.55)
    assert endpoint.complete([ask()], Sampling())[0].text == "yes"


# --- deadlines -----------------------------------------------------------------------------------
def deadline_of(endpoint: Endpoint) -> str:
    fault = fault_of(endpoint)
    assert isinstance(fault, Timeout)
    assert "127.0.0.1" in str(fault)
    return fault.deadline


@pytest.mark.long
def test_the_first_byte_has_a_deadline(serve: Serve, connect: Connect) -> None:
    server = serve([Wire(pieces=says("yes").pieces, delay=5.0)])
    assert deadline_of(connect(server, retries=0, deadlines=Deadlines(first_byte=0.1))) == "first_byte"


@pytest.mark.long
def test_comments_do_not_count_as_a_first_byte(serve: Serve, connect: Connect) -> None:
    pieces: list[str | float] = [": still busy\n\n", 0.05] * 20
    server = serve([Wire(pieces=pieces)])
    assert deadline_of(connect(server, retries=0, deadlines=Deadlines(first_byte=0.15))) == "first_byte"


@pytest.mark.long
def test_silence_between_tokens_has_a_deadline(serve: Serve, connect: Connect) -> None:
    server = serve([Wire(pieces=[chunk("a"), 5.0, chunk("b", finish="stop")])])
    limits = Deadlines(between_tokens=0.1)
    assert deadline_of(connect(server, retries=0, deadlines=limits)) == "between_tokens"


@pytest.mark.long
def test_a_reply_that_never_ends_is_given_up(serve: Serve, connect: Connect) -> None:
    pieces: list[str | float] = [chunk("a"), 0.05] * 40
    server = serve([Wire(pieces=pieces)])
    limits = Deadlines(between_tokens=1.0, total=0.5)
    assert deadline_of(connect(server, deadlines=limits)) == "total"
    assert len(server.asked) == 1


@pytest.mark.long
def test_a_connection_has_a_deadline(connect: Connect) -> None:
    with socket.socket() as full:  # a listener whose queue is full does not answer a connection
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        address = full.getsockname()
        waiting = []
        for _ in range(3):
            connection = socket.socket()
            connection.setblocking(False)
            connection.connect_ex(address)
            waiting.append(connection)
        endpoint = connect(
            f"http://127.0.0.1:{address[1]}/v1", retries=0, deadlines=Deadlines(connect=0.1, first_byte=3)
        )
        assert deadline_of(endpoint) == "connect"
        for connection in waiting:
            connection.close()


@pytest.mark.long
def test_a_deadline_that_passed_once_is_overcome(serve: Serve, connect: Connect) -> None:
    server = serve([Wire(pieces=says("no").pieces, delay=5.0), says("yes")])
    done = connect(server, deadlines=Deadlines(first_byte=0.5)).complete([ask()], Sampling())
    assert done[0].text == "yes"


# --- replies that are none -----------------------------------------------------------------------
NONSENSE = {
    "html": Wire(kind="text/html; charset=utf-8", pieces=["<html><body>Welcome</body></html>"]),
    "json of another kind": Wire(kind="application/json", pieces=['{"status": "ok"}']),
    "no json": Wire(kind="application/json", pieces=["certainly!"]),
    "no choices": Wire(pieces=[event({"choices": []}), event("[DONE]")]),
    "no finish reason": Wire(pieces=[chunk("half a "), event("[DONE]")]),
    "a stream that says nothing": Wire(pieces=[]),
    "an empty reply": says(),
    "white space": says(" ", "\n"),
    "cut off before the first word": says(finish="length"),
    "a filtered reply": says("half", finish="content_filter"),
    "a call of a tool": says("x", finish="tool_calls"),
    "an unknown ending": says("x", finish="tired"),
    "a chunk that is no json": Wire(pieces=[chunk("a"), "data: {half\n\n", chunk(finish="stop")]),
    "a chunk that is no object": Wire(pieces=[event(7), chunk("a", finish="stop")]),
    "choices that are no list": Wire(pieces=[event({"choices": {"a": 1}}), chunk("a", finish="stop")]),
    "content that is no text": Wire(pieces=[chunk(delta={"content": 7}), chunk(finish="stop")]),
    "a probability that is none": Wire(
        pieces=[chunk("a", logprobs={"content": [{"token": "a", "logprob": float("nan")}]}, finish="stop")]
    ),
    "a probability beyond numbers": Wire(
        pieces=[chunk("a", logprobs={"content": [{"token": "a", "logprob": 10**400}]}, finish="stop")]
    ),
    "nested beyond sense": Wire(pieces=["data: " + "[" * 100_000 + "\n\n"]),
    "bytes that are no text": Wire(pieces=[b"data: \xff\xfe\n\n"]),
}


@pytest.mark.long
@pytest.mark.parametrize("wire", NONSENSE.values(), ids=NONSENSE.keys())
def test_a_reply_that_is_none_is_a_fault_and_no_answer(serve: Serve, connect: Connect, wire: Wire) -> None:
    fault = fault_of(connect(serve([wire])))
    assert isinstance(fault, Malformed)
    assert "127.0.0.1" in str(fault)


def test_half_a_stream_is_asked_for_once_more(serve: Serve, connect: Connect) -> None:
    half = Wire(pieces=[chunk("Broken ")], cut=True)
    server = serve([half, says("Broken Bow")])
    assert connect(server).complete([ask()], Sampling())[0].text == "Broken Bow"
    again = serve([half])
    fault = fault_of(connect(again))
    assert isinstance(fault, Malformed)
    assert "half a reply" in str(fault)
    assert len(again.asked) == 2


def test_html_is_not_asked_for_again(serve: Serve, connect: Connect) -> None:
    server = serve([NONSENSE["html"]])
    fault_of(connect(server))
    assert len(server.asked) == 1


def test_an_html_error_page_is_not_quoted(serve: Serve, connect: Connect) -> None:
    page = Wire(status=502, kind="text/html", pieces=["<html><h1>Bad gateway</h1></html>"])
    assert str(fault_of(connect(serve([page]), retries=0))).endswith("answered 502: an HTML page")


def test_terminal_codes_in_an_error_are_not_passed_on(serve: Serve, connect: Connect) -> None:
    message = str(fault_of(connect(serve([fails(400, "bad\x1b[2J\r\nrequest " + "x" * 5000)]))))
    assert "\x1b" not in message
    assert "\n" not in message
    assert len(message) < 500


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"message": "overloaded", "type": "server_error"}, ServerFault),
        ({"message": "slow down", "code": "rate_limit_exceeded"}, RateLimited),
        ({"message": "gone", "code": 503}, ServerFault),
        ({"message": "maximum context length is 4096", "code": "context_length_exceeded"}, ContextTooLong),
        ({"message": "pay", "code": "insufficient_quota"}, QuotaExceeded),
    ],
)
@pytest.mark.parametrize("begun", [False, True], ids=["at once", "in mid-stream"])
def test_an_error_inside_a_stream_is_what_it_says(
    serve: Serve, connect: Connect, error: dict[str, object], kind: type[LLMError], begun: bool
) -> None:
    wire = Wire(pieces=[*([chunk("a")] if begun else []), event({"error": error})])
    assert isinstance(fault_of(connect(serve([wire]), retries=0)), kind)


@pytest.mark.parametrize(
    "wire",
    [
        fails(400, "too long", code="context_length_exceeded"),
        fails(400, "This model's maximum context length is 4096 tokens, you requested 5000 (max_tokens)."),
        fails(400, "the request exceeds the available context size", type="exceed_context_size_error"),
        fails(413, "prompt is too long"),
    ],
    ids=["code", "openai's words", "llama.cpp's words", "413"],
)
def test_a_prompt_that_does_not_fit_is_reported(serve: Serve, connect: Connect, wire: Wire) -> None:
    server = serve([wire])
    assert isinstance(fault_of(connect(server)), ContextTooLong)
    assert len(server.asked) == 1


# --- the key -------------------------------------------------------------------------------------
@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_is_reported_with_variable_and_host(
    serve: Serve, connect: Connect, status: int
) -> None:
    server = serve([fails(status, "Incorrect API key")])
    message = str(fault_of(connect(server)))
    assert "OPENAI_API_KEY" in message
    assert server.url.removeprefix("http://").removesuffix("/v1") in message


def test_a_missing_model_is_reported_by_name(serve: Serve, connect: Connect) -> None:
    assert "'m'" in str(fault_of(connect(serve([fails(404)]))))


LEAKS = {
    "401": fails(401, f"Incorrect API key provided: {KEY}"),
    "400": fails(400, f"your header Bearer {KEY} is odd"),
    "429": fails(429, KEY, code="insufficient_quota"),
    "500": Wire(status=500, kind="text/plain", pieces=[f"stack trace: {KEY}"]),
    "detail": Wire(status=422, kind="application/json", pieces=[json.dumps({"detail": [KEY]})]),
    "in a stream": Wire(pieces=[event({"error": {"message": KEY}})]),
    "finish reason": says("x", finish=KEY),
    "html": NONSENSE["html"],
    "closed": Wire(silent=True),
    "slow": Wire(delay=5.0),
}


@pytest.mark.long
@pytest.mark.parametrize("wire", LEAKS.values(), ids=LEAKS.keys())
def test_the_key_is_in_no_message_and_no_traceback(serve: Serve, connect: Connect, wire: Wire) -> None:
    endpoint = connect(serve([wire]), api_key=KEY, retries=1, deadlines=Deadlines(first_byte=0.1))
    fault = fault_of(endpoint)
    text = "".join(traceback.format_exception(fault))
    for words in (str(fault), repr(fault), repr(vars(fault)), text, repr(endpoint), str(endpoint)):
        assert KEY not in words
    assert fault.__cause__ is None
    assert fault.__context__ is None, "no exception of the client, which holds the request, comes along"


def test_a_password_in_the_address_is_not_shown(connect: Connect) -> None:
    endpoint = connect(f"http://me:hunter2@127.0.0.1:{free_port()}/v1?token=hunter2", retries=0)
    assert "hunter2" not in str(fault_of(endpoint))
    assert "hunter2" not in repr(endpoint)


def test_a_fault_in_one_call_leaves_the_others_alone(serve: Serve, connect: Connect) -> None:
    def script(request: Asked) -> Wire:
        return fails(400, "odd") if request.user == "0" else says(request.user)

    with pytest.raises(BatchFault) as caught:
        connect(serve(script), in_flight=2).complete([ask(str(n)) for n in range(5)], Sampling())
    assert [result is None for result in caught.value.results] == [True, False, False, False, False]
    assert len(caught.value.errors) == 1


def test_a_refused_choice_is_not_asked_again_without_log_probabilities(
    serve: Serve, connect: Connect
) -> None:
    server = serve(capable(fails(400, "logprobs is not supported")))
    with pytest.raises(Refused):
        connect(server).choose([ask()], ["Yes", "No"])
    assert len(server.asked) == 3
