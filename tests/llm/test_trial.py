"""Tests of what trying a server tells: the lists of the engines that people have, thoughts, cached tokens."""

from __future__ import annotations

from typing import Any

import pytest

from disputatio.errors import Refused
from disputatio.llm.endpoint import Endpoint
from tests.llm.conftest import Connect, Serve
from tests.llm.fake_server import Asked, Wire, capable, chunk, event, fails, says, usage

NAMED = {"data": [{"id": "other"}, {"id": "m"}]}
# What the engines give, by the path; the numbers are made up.
OLLAMA = {
    "/v1/models": {"data": [{"id": "m:latest"}]},
    "/api/ps": {"models": [{"name": "m:latest", "context_length": 4096}]},
}
LLAMA = {
    "/v1/models": {"data": [{"id": "m", "meta": {"n_ctx_train": 131072}}], "models": [{"name": "m"}]},
    "/props": {"default_generation_settings": {"n_ctx": 8192, "params": {}}},
}
STUDIO = {
    "/v1/models": NAMED,
    "/api/v0/models": {"data": [{"id": "m", "max_context_length": 32768, "loaded_context_length": 5000}]},
}
VLLM = {"/v1/models": {"data": [{"id": "m", "max_model_len": 40960, "root": "m"}]}}


@pytest.mark.parametrize(
    ("lists", "listed", "context"),
    [
        (OLLAMA, True, 4096),
        (LLAMA, True, 8192),
        (STUDIO, True, 5000),
        (VLLM, True, 40960),
        ({"/v1/models": NAMED}, True, None),
        ({"/v1/models": {"data": [{"id": "other", "context_window": 9}]}}, False, None),
        ({}, None, None),
        ({"/v1/models": [1], "/props": {"data": "no", "default_generation_settings": 3}}, None, None),
        ({"/v1/models": {"data": [{"id": "m", "context_length": "many"}, 7]}}, True, None),
    ],
)
def test_the_lists_of_a_server_tell_whether_the_model_is_there_and_its_context(
    serve: Serve, connect: Connect, lists: dict[str, Any], listed: bool | None, context: int | None
) -> None:
    server = serve(capable(says("yes")))
    server.lists = lists
    trial = connect(server).try_out()
    assert (trial.listed, trial.context_tokens) == (listed, context)


def test_a_trial_is_five_tiny_calls_whose_cost_is_told(serve: Serve, connect: Connect) -> None:
    server = serve(capable(says("yes", cached=9)))
    trial = connect(server).try_out()
    assert (trial.usage.calls, trial.usage.prompt_tokens) == (5, 55) == (len(server.asked), 55)
    assert all(request.body["max_tokens"] <= 256 for request in server.asked)
    assert (trial.cached_tokens, trial.prompt_tokens, trial.thinking) == (9, 11, "none")
    assert (trial.capabilities.schema, trial.capabilities.max_options) == (True, 20)
    repeated = [request.body["messages"] for request in server.asked if "Say yes." in request.user]
    assert repeated[0] == repeated[1]


def thinks(*, beside: bool) -> Wire:
    """Return a reply of a model that thinks, beside the reply or before it."""
    piece = chunk(delta={"reasoning_content": "Let me count."}) if beside else chunk("<think>Let me count.")
    return Wire(pieces=[piece, chunk(finish="length"), usage(), event("[DONE]")])


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize(("obeys", "found"), [(True, "switchable"), (False, "always")])
def test_a_model_that_thinks_is_told_from_one_that_cannot_stop(
    serve: Serve, connect: Connect, beside: bool, obeys: bool, found: str
) -> None:
    def think(request: Asked) -> Wire:
        told = request.body.get("chat_template_kwargs") == {"enable_thinking": False}
        return says("3") if told and obeys else thinks(beside=beside)

    server = serve(capable(think))
    quick = {"chat_template_kwargs": {"enable_thinking": False}}
    assert connect(server, kind="vllm", extra=quick).try_out().thinking == found


def test_marks_without_thoughts_between_them_and_hidden_thoughts_are_told_apart(
    serve: Serve, connect: Connect
) -> None:
    assert connect(serve(capable(says("<think>\n\n</think>\n\n3")))).try_out().thinking == "none"
    counted = {
        "prompt_tokens": 5,
        "completion_tokens": 9,
        "completion_tokens_details": {"reasoning_tokens": 8},
    }
    hidden = Wire(
        pieces=[chunk("3"), chunk(finish="stop"), event({"choices": [], "usage": counted}), event("[DONE]")]
    )
    assert connect(serve(capable(hidden))).try_out().thinking == "always"


def test_a_model_that_is_not_there_is_a_fault_that_says_what_to_do(serve: Serve, connect: Connect) -> None:
    endpoint: Endpoint = connect(serve([fails(404, "no such model")]))
    with pytest.raises(Refused, match=r"is there a model 'm', and does OPENAI_BASE_URL end"):
        endpoint.try_out()
