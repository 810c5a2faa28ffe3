"""A strategy of ours as a solver: it answers the sample's question over the sample's passages."""

from __future__ import annotations

import concurrent.futures
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from anyio import CapacityLimiter, lowlevel, to_thread
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ModelOutput,
    ModelUsage,
    get_model,
    model_roles,
)
from inspect_ai.solver import Generate, Solver, TaskState, solver
from pydantic import TypeAdapter, ValidationError

from disputatio.api import Index, kit_of
from disputatio.config import read_settings
from disputatio.errors import InputError, ReplyError
from disputatio.eval.running.entrants import defaults
from disputatio.inspect_ai.model import InspectModel
from disputatio.kit import Kit
from disputatio.parts import with_retriever
from disputatio.pipeline import DEFAULT_STRATEGY, ask, load_strategy, prompts_hash, read_options
from disputatio.store.in_memory import InMemory
from disputatio.types import Answer, Passage

METADATA_KEY = "disputatio"  # the key of a sample's metadata under which the answer stands
_FIELDS = (
    "answers", "abstained", "text", "claims", "conflict", "confidence", "usage", "strategy", "model",
    "rounds", "retrievals",
)  # fmt: skip
_PASSAGES = TypeAdapter(list[Passage])


@solver
def disputation_solver(
    strategy: str = DEFAULT_STRATEGY,
    *,
    model: str | None = None,
    index: str | None = None,
    verify: bool = False,
    seed: int = 0,
    **options: Any,
) -> Solver:
    """Answer with a strategy, over the passages in `metadata["passages"]` or over an index.

    A passage is {"text", "source"?, "id"?, "title"?, "url"?, "date"?}. The model is Inspect's own, and its
    `--model-role`s are cast for the strategy's roles; with `model` (`local:NAME`, `openai:NAME`), or where
    Inspect is given none (`--model none`), it is ours. `options` are the strategy's own; one called `seed`
    or `..._seed` takes `seed`. `verify` puts each claim and its quotes to the judge.

    The answers, claims with citations, positions and usage stand in `metadata["disputatio"]` of the sample.
    Raises `ConfigError` for a strategy or option that is not known. A fault of a model is the sample's error.
    """
    function = load_strategy(strategy)
    chosen = defaults(function, seed) | read_options(function, options)
    prompts = prompts_hash(function)
    parts = _Parts(model, index)

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate  # strategies call models by their kit, several at once
        work = partial(
            ask,
            state.input_text,
            kit=parts.kit(state.metadata),
            strategy=strategy,
            options=chosen,
            verify=verify,
        )
        try:
            # A thread of its own for each sample: one that waited for a call of another would never end.
            answer = await to_thread.run_sync(work, limiter=CapacityLimiter(1))
        except concurrent.futures.CancelledError:
            await lowlevel.checkpoint()  # where a limit of Inspect's ended the sample, its own word goes on
            raise
        state.metadata[METADATA_KEY] = {**as_metadata(answer), "prompts": prompts}
        state.output = output(answer)
        state.messages.append(state.output.message)
        if answer.abstained == "fault":
            broken = next((reply for reply in answer.replies if reply.fault), None)
            raise ReplyError(broken.fault if broken else "no agent gave one", broken.raw if broken else "")
        return state

    return solve


class _Parts:
    """Parts that the samples of one solver share: the kit, and the index that is searched."""

    def __init__(self, model: str | None, index: str | None) -> None:
        self._settings = read_settings(model=model, journal="none")  # a call that cost nothing hides its time
        self._ours = model is not None
        self._index = None if index is None else Index.open(Path(index), create=False)

    def kit(self, metadata: Mapping[str, Any]) -> Kit:
        """Return the kit for one sample; raises `InputError` where its passages are none."""
        kit = self._cast()
        if self._index is not None:
            return with_retriever(kit, self._index)
        passages = metadata.get("passages")
        return kit if passages is None else replace(kit, retriever=InMemory(passages_of(passages)))

    def _cast(self) -> Kit:
        kit, active = kit_of(self._settings), get_model()
        if self._ours or str(active).partition("/")[0] == "none":
            return kit
        roles = {
            role: InspectModel(many[0] if isinstance(many, list) else many)
            for role, many in model_roles().items()
        }
        return replace(kit, model=InspectModel(active), roles=roles)


def passages_of(value: object) -> list[Passage]:
    """Return the passages of a sample's metadata; raises `InputError` for what are none."""
    try:
        return _PASSAGES.validate_python(value)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
        raise InputError(
            f"metadata passages{where}: {first['msg']}; a passage is an object with a text"
        ) from error


def as_metadata(answer: Answer) -> dict[str, Any]:
    """Return an answer as a sample's metadata keeps it, without its passages, which the sample holds."""
    whole = answer.to_dict()
    return {name: whole[name] for name in _FIELDS}


def output(answer: Answer) -> ModelOutput:
    """Return an answer as what a model has put out: its text with citations, and what it cost in all."""
    spent = answer.usage
    message = ChatMessageAssistant(content=answer.text or "; ".join(answer.answers), model=answer.model)
    return ModelOutput(
        model=answer.model,
        choices=[ChatCompletionChoice(message=message, stop_reason="stop")],
        usage=ModelUsage(
            input_tokens=spent.prompt_tokens - spent.cached_tokens,
            input_tokens_cache_read=spent.cached_tokens,
            output_tokens=spent.completion_tokens,
            total_tokens=spent.prompt_tokens + spent.completion_tokens,
        ),
        time=spent.seconds,
    )
