"""Tests of an endpoint with sound replies: what is sent, what is read, and how batches run."""

from __future__ import annotations

import gc
import json
import sys
import threading
import time
from typing import Any

import pytest

from disputatio.errors import BatchFault, Cancelled, ConfigError, MissingDependency, Refused, ServerFault
from disputatio.llm.connection import Connection
from disputatio.llm.endpoint import Endpoint
from disputatio.llm.stream import Deadlines
from disputatio.protocols import LLM, Cancel
from disputatio.types import Sampling
from tests.llm.conftest import Connect, Serve
from tests.llm.fake_server import Asked, Wire, ask, capable, chunk, event, fails, logprobs, says, usage


def test_an_endpoint_is_an_llm_whose_name_says_what_users_write() -> None:
    endpoint = Endpoint(Connection("gpt-x", base_url="http://127.0.0.1:9/v1"))
    assert isinstance(endpoint, LLM)
    assert endpoint.name == "openai:gpt-x"


@pytest.mark.long
def test_a_streamed_reply_is_put_together_with_its_usage(serve: Serve, connect: Connect) -> None:
    server = serve([says("Broken ", "Bow", cached=7)])
    done = connect(server).complete([ask("Which town?", "Be brief.")], Sampling(max_tokens=9, seed=3))[0]
    assert (done.text, done.finish_reason, done.journalled) == ("Broken Bow", "stop", False)
    assert (done.usage.calls, done.usage.prompt_tokens, done.usage.completion_tokens) == (1, 11, 2)
    assert done.usage.cached_tokens == 7
    assert done.usage.seconds > 0
    sent = server.asked[0]
    assert sent.path == "/v1/chat/completions"
    assert sent.key == "Bearer sk-test"
    assert sent.body["messages"] == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Which town?"},
    ]
    assert sent.body["stream"] is True
    assert sent.body["stream_options"] == {"include_usage": True}
    assert (sent.body["max_tokens"], sent.body["seed"], sent.body["temperature"]) == (9, 3, 0.0)
    assert len(server.asked) == 1, "no probe is made where none is needed"


@pytest.mark.long
def test_cached_tokens_are_zero_if_the_server_does_not_report_them(serve: Serve, connect: Connect) -> None:
    assert connect(serve([says("yes")])).complete([ask()], Sampling())[0].usage.cached_tokens == 0


def test_without_any_usage_the_pieces_are_counted(serve: Serve, connect: Connect) -> None:
    wire = Wire(pieces=[chunk("a "), chunk("b"), chunk(finish="stop"), event("[DONE]")])
    spent = connect(serve([wire])).complete([ask()], Sampling())[0].usage
    assert (spent.prompt_tokens, spent.completion_tokens) == (0, 2)


def test_log_probabilities_of_the_tokens_are_kept(serve: Serve, connect: Connect) -> None:
    wire = Wire(
        pieces=[
            chunk("Bro", logprobs=logprobs(("Bro", -0.25), ("Kan", -2.0))),
            chunk("ken", logprobs=logprobs(("ken", -0.5))),
            chunk(finish="stop"),
            usage(),
        ]
    )
    done = connect(serve([wire])).complete([ask()], Sampling())[0]
    assert [(token.text, token.logprob) for token in done.tokens] == [("Bro", -0.25), ("ken", -0.5)]


def test_a_reply_that_was_cut_off_says_so(serve: Serve, connect: Connect) -> None:
    done = connect(serve([says("A long", finish="length")])).complete([ask()], Sampling())[0]
    assert done.finish_reason == "length"


def test_a_server_that_does_not_stream_is_understood(serve: Serve, connect: Connect) -> None:
    choice = {"message": {"role": "assistant", "content": "yes"}, "finish_reason": "stop"}
    whole = json.dumps({"choices": [choice], "usage": {"prompt_tokens": 4}})
    done = connect(serve([Wire(kind="application/json", pieces=[whole])])).complete([ask()], Sampling())[0]
    assert (done.text, done.usage.prompt_tokens) == ("yes", 4)


def test_comments_and_reasoning_are_no_part_of_the_reply(serve: Serve, connect: Connect) -> None:
    wire = Wire(
        pieces=[": processing\n\n", chunk(delta={"reasoning_content": "hm"}), chunk("yes", finish="stop")]
    )
    assert connect(serve([wire])).complete([ask()], Sampling())[0].text == "yes"


def test_a_finished_reply_stands_even_if_the_line_breaks_after_it(serve: Serve, connect: Connect) -> None:
    server = serve([Wire(pieces=[chunk("yes", finish="stop")], cut=True)])
    assert connect(server).complete([ask()], Sampling())[0].text == "yes"
    assert len(server.asked) == 1


def test_halves_of_characters_are_joined_or_replaced_both_ways(serve: Serve, connect: Connect) -> None:
    server = serve([says("\ud83d", "\ude00 \ud83d")])
    assert connect(server).complete([ask("What is \udce9?")], Sampling())[0].text == "\U0001f600 \ufffd"
    assert server.asked[0].user == "What is ??"


@pytest.mark.long
def test_completions_come_in_the_order_of_the_prompts(serve: Serve, connect: Connect) -> None:
    def slow_first(request: Asked) -> Wire:
        wire = says(request.user)
        return Wire(pieces=wire.pieces, delay=0.1 if request.user == "0" else 0.0)

    done = connect(serve(slow_first)).complete([ask(str(n)) for n in range(6)], Sampling())
    assert [completion.text for completion in done] == ["0", "1", "2", "3", "4", "5"]


@pytest.mark.long
def test_no_more_calls_are_out_at_a_time_than_allowed_over_all_threads(
    serve: Serve, connect: Connect
) -> None:
    server = serve(lambda request: Wire(pieces=says(request.user).pieces, delay=0.05))
    endpoint = connect(server, in_flight=3)
    words: dict[int, list[str]] = {}

    def question(number: int) -> None:
        prompts = [ask(f"{number}.{n}") for n in range(4)]
        words[number] = [completion.text for completion in endpoint.complete(prompts, Sampling())]

    threads = [threading.Thread(target=question, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.most == 3
    assert words == {number: [f"{number}.{n}" for n in range(4)] for number in range(3)}


@pytest.mark.long
def test_the_seconds_of_a_batch_add_up_to_the_time_waited(serve: Serve, connect: Connect) -> None:
    server = serve(lambda _: Wire(pieces=says("x").pieces, delay=0.1))
    endpoint = connect(server, in_flight=4)
    began = time.perf_counter()
    done = endpoint.complete([ask()] * 4, Sampling())
    waited = time.perf_counter() - began
    assert 0.09 < sum(completion.usage.seconds for completion in done) <= waited


def test_an_empty_batch_costs_nothing(serve: Serve, connect: Connect) -> None:
    server = serve([says("x")])
    endpoint = connect(server)
    assert endpoint.complete([], Sampling()) == []
    assert endpoint.choose([], ["Yes", "No"]) == []
    assert server.asked == []


# --- batches that fail in part -------------------------------------------------------------------
def test_the_good_replies_of_a_batch_are_kept(serve: Serve, connect: Connect) -> None:
    server = serve(lambda request: fails(500) if request.user == "1" else says(request.user))
    with pytest.raises(BatchFault) as caught:
        connect(server, retries=0).complete([ask(str(n)) for n in range(3)], Sampling())
    results = caught.value.results
    assert [
        completion.text if completion is not None and hasattr(completion, "text") else None
        for completion in results
    ] == [
        "0",
        None,
        "2",
    ]
    assert isinstance(caught.value.errors[0], ServerFault)


@pytest.mark.long
def test_when_all_calls_fail_the_fault_itself_is_raised(serve: Serve, connect: Connect) -> None:
    with pytest.raises(ServerFault):
        connect(serve([fails(500)]), retries=0).complete([ask()] * 3, Sampling())


def test_a_refused_key_stops_the_calls_not_yet_made(serve: Serve, connect: Connect) -> None:
    server = serve([fails(401)])
    with pytest.raises(Refused):
        connect(server, in_flight=2).complete([ask()] * 20, Sampling())
    assert len(server.asked) <= 3


# --- parameters that some models do not know -----------------------------------------------------
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("max_tokens", "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens'."),
        ("temperature", "Unsupported value: 'temperature' does not support 0 with this model."),
        ("seed", "Extra inputs are not permitted: seed"),
        ("stream_options", "Unrecognized request argument supplied: stream_options"),
        ("logprobs", "logprobs is not supported by this model"),
    ],
)
def test_a_parameter_that_is_refused_by_name_is_left_out_and_stays_out(
    serve: Serve, connect: Connect, name: str, message: str
) -> None:
    server = serve(lambda request: fails(400, message, param=name) if name in request.body else says("yes"))
    endpoint = connect(server)
    for _ in range(2):
        assert endpoint.complete([ask()], Sampling(max_tokens=5))[0].text == "yes"
    assert len(server.asked) == 3
    assert name not in server.asked[-1].body
    if name == "max_tokens":
        assert server.asked[-1].body["max_completion_tokens"] == 5


def test_a_value_that_is_out_of_range_is_not_left_out(serve: Serve, connect: Connect) -> None:
    server = serve([fails(400, "temperature must be at most 2", param="temperature")])
    with pytest.raises(Refused):
        connect(server).complete([ask()], Sampling(temperature=9.0))
    assert len(server.asked) == 1


# --- settings, and what is left behind -----------------------------------------------------------
def test_address_and_key_come_from_the_environment(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve([says("yes")])
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", " sk-from-env\n")
    with Endpoint(Connection("m")) as endpoint:
        endpoint.complete([ask()], Sampling())
    assert server.asked[0].key == "Bearer sk-from-env"


def test_a_server_of_ones_own_needs_no_key(serve: Serve) -> None:
    with Endpoint(Connection("m", base_url=serve([says("yes")]).url)) as endpoint:
        assert endpoint.complete([ask()], Sampling())[0].text == "yes"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"base_url": "127.0.0.1:8000"}, "OPENAI_BASE_URL must be an address"),
        ({"base_url": "file:///etc/passwd"}, "OPENAI_BASE_URL must be an address"),
        ({"api_key": "sk-ünsound"}, "OPENAI_API_KEY holds a character"),
        ({"api_key": "sk-a\nb"}, "OPENAI_API_KEY holds a character"),
        ({"in_flight": 0}, "in_flight"),
        ({"model": " "}, "the model has no name"),
    ],
)
def test_settings_that_cannot_work_are_refused_at_once(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Connection(**{"model": "m", **settings})


def test_the_official_address_without_a_key_is_a_matter_of_settings() -> None:
    with pytest.raises(ConfigError, match="needs OPENAI_API_KEY"):
        Endpoint(Connection("gpt-x")).complete([ask()], Sampling())


def test_a_missing_client_library_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(MissingDependency, match=r"disputatio\[openai\]"):
        Endpoint(Connection("m", base_url="http://127.0.0.1:9/v1")).complete([ask()], Sampling())


@pytest.mark.long
def test_an_endpoint_can_be_used_again_after_it_was_closed(serve: Serve, connect: Connect) -> None:
    endpoint = connect(serve(lambda _: Wire(pieces=says("x").pieces, delay=0.01)), in_flight=1)
    for _ in range(2):
        assert len(endpoint.complete([ask()] * 3, Sampling())) == 3
        endpoint.close()


@pytest.mark.long
def test_no_thread_is_left_behind(serve: Serve) -> None:
    server = serve([says("x")])
    endpoint = Endpoint(Connection("left-behind", base_url=server.url))
    endpoint.complete([ask()], Sampling())
    assert any("left-behind" in thread.name for thread in threading.enumerate())
    del endpoint
    gc.collect()
    assert not any("left-behind" in thread.name for thread in threading.enumerate())


def test_deadlines_have_defaults() -> None:
    limits = Deadlines()
    assert (limits.connect, limits.first_byte, limits.between_tokens, limits.total) == (10, 120, 60, 600)


@pytest.mark.long
def test_each_call_is_reported_when_its_reply_is_there(serve: Serve, connect: Connect) -> None:
    def script(request: Asked) -> Wire:
        return Wire(pieces=says(request.user).pieces, delay=0.3 if request.user == "slow" else 0.0)

    endpoint = connect(serve(script))
    reported: list[tuple[int, str]] = []
    prompts = [ask("slow"), ask("quick")]
    done = endpoint.complete(
        prompts, Sampling(), on_done=lambda index, completion: reported.append((index, completion.text))
    )
    assert reported == [(1, "quick"), (0, "slow")]
    assert [completion.text for completion in done] == ["slow", "quick"]


def test_a_cancelled_call_closes_its_connection(serve: Serve, connect: Connect) -> None:
    more: list[str | bytes | float] = [0.02, chunk("more")]
    endless = Wire(pieces=[chunk("word"), *more * 3_000])
    server = serve(lambda request: endless if request.user == "endless" else says("whole"))
    endpoint, cancel = connect(server), Cancel()
    began = time.perf_counter()
    with pytest.raises(Cancelled):
        endpoint.complete(
            [ask("endless"), ask("short")], Sampling(), on_done=lambda *_: cancel.cancel(), cancel=cancel
        )
    assert time.perf_counter() - began < 20  # of the minute that the reply takes
    assert server.left.acquire(timeout=20)
    assert endpoint.complete([ask("short")], Sampling())[0].text == "whole"  # it can be used again


@pytest.mark.long
def test_a_choice_is_cancelled_like_a_completion(serve: Serve, connect: Connect) -> None:
    waits = Wire(pieces=[30.0], delay=0.0)
    probed = capable(lambda _: waits)
    endpoint, cancel = connect(serve(probed)), Cancel()
    endpoint.capabilities()
    threading.Timer(0.1, cancel.cancel).start()
    with pytest.raises(Cancelled):
        endpoint.choose([ask("Yes or no?")], ["Yes", "No"], cancel=cancel)
