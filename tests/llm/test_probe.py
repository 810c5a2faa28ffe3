"""Tests of what an endpoint finds out about a server, and how it asks accordingly: schemas and options."""

from __future__ import annotations

import threading

import pytest

from disputatio.errors import NoLogprobs, Refused, ServerFault
from disputatio.types import Sampling
from tests.llm.conftest import Connect, Serve
from tests.llm.fake_server import Asked, Wire, ask, capable, chooses, chunk, fails, logprobs, says

SCHEMA = {"type": "object", "properties": {"answer": {"type": "string"}}, "required": ["answer"]}


# --- schemas -------------------------------------------------------------------------------------
def test_a_schema_is_put_to_a_server_that_keeps_it(serve: Serve, connect: Connect) -> None:
    server = serve(capable(says('{"answer": "x"}')))
    connect(server).complete([ask()], Sampling(schema=SCHEMA))
    sent = server.asked[-1].body
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert len(sent["messages"]) == 1


def test_a_schema_is_stated_in_the_prompt_where_the_server_ignores_it(serve: Serve, connect: Connect) -> None:
    server = serve(capable(says('{"answer": "x"}'), schema=False))
    endpoint = connect(server)
    endpoint.complete([ask("Who?", "Be brief.")], Sampling(schema=SCHEMA))
    sent = server.asked[-1].body
    assert endpoint.capabilities().schema is False
    assert "response_format" not in sent
    assert sent["messages"][0]["content"].startswith("Be brief.\n\nReply with one JSON object")
    assert '"answer"' in sent["messages"][0]["content"]
    assert sent["messages"][1]["content"] == "Who?"


def test_a_schema_that_is_refused_is_stated_in_the_prompt_instead(serve: Serve, connect: Connect) -> None:
    def picky(request: Asked) -> Wire:
        if "response_format" in request.body:
            return fails(400, "Invalid schema for response_format 'reply'", param="response_format")
        return says('{"answer": "x"}')

    server = serve(capable(picky))
    endpoint = connect(server)
    for _ in range(2):
        assert endpoint.complete([ask()], Sampling(schema=SCHEMA))[0].text == '{"answer": "x"}'
    assert "JSON schema" in server.asked[-1].body["messages"][0]["content"]
    assert len(server.asked) == 2 + 2 + 1, "the refusal is remembered"


# --- the probe -----------------------------------------------------------------------------------
def test_capabilities_are_probed_once_and_by_one_thread_only(serve: Serve, connect: Connect) -> None:
    server = serve(capable(says("x")))
    endpoint = connect(server)
    threads = [threading.Thread(target=endpoint.capabilities) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    capabilities = endpoint.capabilities()
    assert (capabilities.logprobs, capabilities.max_options, capabilities.schema) == (True, 20, True)
    assert capabilities.engine.startswith("openai-compatible at 127.0.0.1:")
    assert len(server.asked) == 2


@pytest.mark.parametrize(("allowed", "found"), [(20, 20), (5, 5), (0, 0)])
def test_the_probe_finds_how_many_alternatives_are_given(
    serve: Serve, connect: Connect, allowed: int, found: int
) -> None:
    capabilities = connect(serve(capable(says("x"), top=allowed))).capabilities()
    assert (capabilities.logprobs, capabilities.max_options) == (found > 0, found)


def test_log_probabilities_that_are_silently_left_out_are_none(serve: Serve, connect: Connect) -> None:
    capabilities = connect(serve([says("Yes")])).capabilities()
    assert (capabilities.logprobs, capabilities.schema) == (False, False)


def test_a_model_that_is_forbidden_log_probabilities_is_not_taken_for_a_bad_key(
    serve: Serve, connect: Connect
) -> None:
    def reasoning(request: Asked) -> Wire:
        if "logprobs" in request.body:
            return fails(403, "You are not allowed to request logprobs from this model")
        return says("Yes")

    endpoint = connect(serve(reasoning))
    assert endpoint.capabilities().logprobs is False
    assert endpoint.complete([ask()], Sampling())[0].text == "Yes"


def test_a_server_that_refuses_schemas_is_asked_plainly_before_it_is_believed(
    serve: Serve, connect: Connect
) -> None:
    text = '{"greeting": "disputatio"}'  # as if the schema had been stated in the prompt
    for refusal in (fails(400, "response_format is not supported"), fails(501, "not implemented")):

        def picky(request: Asked, no: Wire = refusal) -> Wire:
            return no if "response_format" in request.body else says(text)

        assert connect(serve(picky)).capabilities().schema is False
    with pytest.raises(Refused):
        connect(serve([fails(400, "the model is asleep")])).capabilities()


def test_a_probe_that_fails_is_made_again(serve: Serve, connect: Connect) -> None:
    healthy = capable(says("x"))
    broken = [True]
    endpoint = connect(serve(lambda request: fails(500) if broken[0] else healthy(request)), retries=0)
    with pytest.raises(ServerFault):
        endpoint.capabilities()
    broken[0] = False
    assert endpoint.capabilities().logprobs


def test_the_probe_is_paid_for_apart(serve: Serve, connect: Connect) -> None:
    endpoint = connect(serve(capable(says("{}"))))
    assert endpoint.probe_usage.calls == 0
    done = endpoint.complete([ask()], Sampling(schema=SCHEMA))[0]
    assert (done.usage.calls, done.usage.prompt_tokens) == (1, 11)
    assert (endpoint.probe_usage.calls, endpoint.probe_usage.prompt_tokens) == (2, 22)


# --- choices -------------------------------------------------------------------------------------
def test_options_are_scored_from_one_token(serve: Serve, connect: Connect) -> None:
    server = serve(capable(chooses((" Yes", -0.5), ("yes", -2.0), ("No", -3.0))))
    chosen = connect(server).choose([ask()], ["Yes", "No"])[0]
    assert chosen.options == ("Yes", "No")
    assert chosen.logprobs == pytest.approx((-0.298587, -3.0), abs=1e-6)
    assert chosen.bounded == (False, False)
    assert chosen.usage.calls == 1
    sent = server.asked[-1].body
    assert (sent["max_tokens"], sent["temperature"], sent["logprobs"]) == (1, 0.0, True)
    assert sent["top_logprobs"] == 20


def test_no_more_alternatives_are_asked_for_than_the_probe_found(serve: Serve, connect: Connect) -> None:
    server = serve(capable(chooses(("Yes", -0.5)), top=5))
    connect(server).choose([ask()], ["Yes", "No"])
    assert server.asked[-1].body["top_logprobs"] == 5


def test_an_option_that_is_not_listed_is_bounded_and_never_impossible(serve: Serve, connect: Connect) -> None:
    chosen = connect(serve(capable(chooses(("Yes", -0.01), ("Maybe", -6.0))))).choose([ask()], ["Yes", "No"])[
        0
    ]
    assert chosen.bounded == (False, True)
    assert chosen.logprobs[1] == -6.0


def test_infinite_log_probabilities_are_left_out_of_the_list(serve: Serve, connect: Connect) -> None:
    wire = Wire(
        pieces=[
            chunk("Yes", logprobs=logprobs(("Yes", -0.01), ("No", float("-inf")))),
            chunk(finish="length"),
        ]
    )
    chosen = connect(serve(capable(wire))).choose([ask()], ["Yes", "No"])[0]
    assert chosen.bounded == (False, True)
    assert -100 < chosen.logprobs[1] < -1


def test_no_log_probabilities_where_they_are_needed_is_said(serve: Serve, connect: Connect) -> None:
    with pytest.raises(NoLogprobs, match=r"no log-probabilities for m: .*--role"):
        connect(serve([says("Yes")])).choose([ask()], ["Yes", "No"])


def test_log_probabilities_missing_from_a_single_reply_are_a_fault(serve: Serve, connect: Connect) -> None:
    with pytest.raises(NoLogprobs):
        connect(serve(capable(says("Yes", finish="length")))).choose([ask()], ["Yes", "No"])
