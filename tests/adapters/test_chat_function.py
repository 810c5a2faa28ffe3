"""A function of chat messages, such as `litellm.completion`, is a model of ours."""

from __future__ import annotations

import math
import threading
from types import SimpleNamespace
from typing import Any

import pytest

import disputatio as d
from disputatio.adapters.chat_function import ChatFunction, fault_of
from disputatio.errors import (
    BatchFault,
    Cancelled,
    ConfigError,
    LLMError,
    Malformed,
    NoLogprobs,
    RateLimited,
    Refused,
    ServerFault,
    Unreachable,
)
from disputatio.protocols import LLM
from disputatio.types import Message, Prompt, Sampling
from tests.adapters.material import PASSAGES, QUESTION, read

ASK = Prompt(messages=(Message(role="system", content="Be brief."), Message(role="user", content="Who?")))


def in_openais_form(text: str | None, reason: str | None = "stop", **more: Any) -> dict[str, Any]:
    return {
        "choices": [{"message": {"content": text}, "finish_reason": reason, **more}],
        "usage": {
            "prompt_tokens": 10,
            "completion_tokens": 2,
            "prompt_tokens_details": {"cached_tokens": 4},
        },
    }


def as_objects(value: Any) -> Any:
    """Return a reply as a client's objects hold it."""
    if isinstance(value, dict):
        return SimpleNamespace(**{key: as_objects(item) for key, item in value.items()})
    return [as_objects(item) for item in value] if isinstance(value, list) else value


@pytest.mark.long
@pytest.mark.parametrize("form", [lambda reply: reply, as_objects])
def test_a_question_is_answered_through_it(form: Any) -> None:
    def completion(*, model: str, messages: list[dict[str, str]], **settings: Any) -> Any:
        assert model == "someone/model-1"
        assert {"max_tokens", "temperature", "seed"} <= settings.keys()
        return form(in_openais_form(read("\n\n".join(each["content"] for each in messages))))

    model = ChatFunction(completion, model="someone/model-1", logprobs=False)
    assert isinstance(model, LLM)
    answer = d.ask(QUESTION, passages=PASSAGES, model=model)
    assert answer.answers == ("1887",)
    assert answer.model == "someone/model-1"
    assert answer.usage.prompt_tokens == 10 * answer.usage.calls
    assert answer.usage.cached_tokens == 4 * answer.usage.calls


def test_the_official_client_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    import openai

    class Completions:
        def create(self, **request: Any) -> Any:
            text = "Ada" if request["messages"][-1]["content"] == "Who?" else "?"
            return openai.types.chat.ChatCompletion.model_validate(
                {
                    "id": "c1",
                    "object": "chat.completion",
                    "created": 1,
                    "model": request["model"],
                    "choices": [
                        {
                            "index": 0,
                            "finish_reason": "stop",
                            "message": {"role": "assistant", "content": text},
                        }
                    ],
                    "usage": {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4},
                }
            )

    [completion] = ChatFunction(Completions().create, model="m").complete([ASK], Sampling())
    assert (completion.text, completion.usage.prompt_tokens) == ("Ada", 3)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (in_openais_form(""), "empty"),
        (in_openais_form(None, "length"), "cut off before its first word"),
        (in_openais_form("Ada", "content_filter"), "ended by 'content_filter'"),
        (in_openais_form("Ada", None), "ended by 'nothing'"),
        ({"choices": []}, "has no choices"),
        (None, "has no choices"),
    ],
)
def test_a_reply_that_is_no_whole_reply_is_a_fault(reply: Any, words: str) -> None:
    with pytest.raises(Malformed, match=words):
        ChatFunction(lambda **_: reply, name="m").complete([ASK], Sampling())


def test_a_reply_that_was_cut_off_says_so() -> None:
    [completion] = ChatFunction(lambda **_: in_openais_form("Ada and", "length")).complete([ASK], Sampling())
    assert completion.finish_reason == "length"


def test_a_schema_is_sent_or_stands_in_the_prompt() -> None:
    seen: list[dict[str, Any]] = []

    def completion(**request: Any) -> Any:
        seen.append(request)
        return in_openais_form("{}")

    sampling = Sampling(schema={"type": "object"})
    ChatFunction(completion, schema=True).complete([ASK], sampling)
    ChatFunction(completion, sends=()).complete([ASK], sampling)
    assert seen[0]["response_format"]["json_schema"]["schema"] == {"type": "object"}
    assert seen[0]["messages"][0]["content"] == "Be brief."
    assert seen[1].keys() == {"messages"}
    assert '{"type": "object"}' in seen[1]["messages"][0]["content"]


def test_log_probabilities_are_read_where_there_are_any() -> None:
    top = [{"token": "Yes", "logprob": math.log(0.75)}, {"token": " no", "logprob": math.log(0.25)}]

    def completion(**request: Any) -> Any:
        told = {"content": [{"token": "Yes", "top_logprobs": top}]} if request.get("logprobs") else None
        return in_openais_form("Yes", "length", logprobs=told)

    model = ChatFunction(completion)
    [choice] = model.choose([ASK], ["Yes", "No"])
    assert [round(math.exp(each), 2) for each in choice.logprobs] == [0.75, 0.25]
    assert model.capabilities().logprobs


def test_a_function_without_log_probabilities_is_found_out_once() -> None:
    calls: list[Any] = []

    def completion(**request: Any) -> Any:
        calls.append(request)
        return in_openais_form("Yes")

    model = ChatFunction(completion)
    assert [model.capabilities().logprobs, model.capabilities().logprobs] == [False, False]
    assert len(calls) == 1
    with pytest.raises(NoLogprobs, match="--role"):
        model.choose([ASK], ["Yes", "No"])


class Status(Exception):
    def __init__(self, status_code: int, **headers: str) -> None:
        super().__init__(f"answered\n{status_code}")
        self.status_code = status_code
        self.response = SimpleNamespace(
            headers={name.replace("_", "-"): text for name, text in headers.items()}
        )


class APIConnectionError(Exception):
    pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (Status(429, retry_after="7"), RateLimited),
        (Status(503), ServerFault),
        (Status(401), Refused),
        (APIConnectionError("reset"), Unreachable),
        (TimeoutError("late"), Unreachable),
    ],
)
def test_what_a_client_raises_is_a_fault_of_ours(error: Exception, kind: type[LLMError]) -> None:
    fault = fault_of(error, "m")
    assert type(fault) is kind
    assert str(fault).startswith("m: ")
    assert "\n" not in str(fault)
    if isinstance(fault, RateLimited):
        assert fault.retry_after == 7


def test_a_mistake_in_the_function_shows_itself() -> None:
    def completion(**_: Any) -> Any:
        raise TypeError("no such argument")

    with pytest.raises(TypeError, match="no such argument"):
        ChatFunction(completion).complete([ASK], Sampling())


def test_a_batch_that_failed_in_part_keeps_the_rest() -> None:
    def completion(*, messages: list[dict[str, str]], **_: Any) -> Any:
        if messages[-1]["content"] == "bad":
            raise Status(500)
        return in_openais_form("Ada")

    bad = Prompt(messages=(Message(role="user", content="bad"),))
    with pytest.raises(BatchFault) as caught:
        ChatFunction(completion).complete([ASK, bad], Sampling())
    good, failed = caught.value.results
    assert getattr(good, "text", "") == "Ada"
    assert failed is None


def test_a_cancelled_batch_begins_no_other_call() -> None:
    cancel, begun = d.Cancel(), []
    release = threading.Event()

    def completion(**_: Any) -> Any:
        begun.append(1)
        cancel.cancel()
        release.wait(30)
        return in_openais_form("Ada")

    with pytest.raises(Cancelled):
        ChatFunction(completion, in_flight=1).complete([ASK] * 5, Sampling(), cancel=cancel)
    release.set()
    assert begun == [1]


def test_what_cannot_be_called_or_sent_is_named() -> None:
    with pytest.raises(ConfigError, match="str cannot be called"):
        ChatFunction("gpt")  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="stop"):
        ChatFunction(lambda **_: "", sends=("stop",))
    with pytest.raises(ConfigError, match="at least 1"):
        ChatFunction(lambda **_: "", in_flight=0)
