"""The probability that a model gives to each option: from its log-probabilities, or from sampled votes."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace

from disputatio.agents.replies import object_of
from disputatio.errors import BatchFault, NoLogprobs, ReplyError
from disputatio.kit import Kit
from disputatio.trace import total_usage
from disputatio.types import Choice, Completion, Prompt, Sampling, Usage

_HALF = 0.5  # added to every option's count, so that no log is infinite (Krichevsky and Trofimov 1981)
_ROOM = 24  # tokens of a vote: one word in one JSON object

VOTE_TASK = """\
Write that one word as one JSON object: "word": {words}."""


def choose(
    role: str, prompts: Sequence[Prompt], options: Sequence[str], kit: Kit, *, votes: int = 0
) -> list[Choice]:
    """Return log P of each option for each prompt: from the model, or from `votes` sampled replies.

    A vote is a complete reply, one JSON object with one of the options; any other reply is void. Raises
    `NoLogprobs`, with what to do, if the model gives none and `votes` is 0; `ReplyError` if every vote on a
    prompt is void: that is a failure, not an even chance.
    """
    if votes > 0:
        return _collect_votes(role, prompts, options, kit, votes)
    try:
        return kit.choose(role, prompts, options)
    except (NoLogprobs, BatchFault) as error:
        if isinstance(error, BatchFault) and not all(isinstance(fault, NoLogprobs) for fault in error.errors):
            raise
        raise NoLogprobs(
            f"{kit.cast(role).name} gives no log-probabilities, and the strategy decides by them: use a model "
            f"that gives them (--role {role}=MODEL), or sampled votes in their place (--set votes=10)"
        ) from error


def shares(choice: Choice) -> tuple[float, ...]:
    """Return the probabilities of the options, normalised to sum to 1.

    >>> shares(Choice(options=("Yes", "No"), logprobs=(-1.0, -1.0), bounded=(False, False), usage=Usage()))
    (0.5, 0.5)
    """
    top = max(choice.logprobs)
    weights = [math.exp(logprob - top) for logprob in choice.logprobs]
    return tuple(weight / sum(weights) for weight in weights)


def _collect_votes(
    role: str, prompts: Sequence[Prompt], options: Sequence[str], kit: Kit, votes: int
) -> list[Choice]:
    """Return one batch for each vote, each with its own seed."""
    task = VOTE_TASK.format(words=" or ".join(f'"{option}"' for option in options))
    vote_prompts = [_append_task(prompt, task) for prompt in prompts]
    schema = object_of(word={"enum": list(options)})
    counts = [[0] * len(options) for _ in prompts]
    last = [""] * len(prompts)
    costs: list[list[Usage]] = [[] for _ in prompts]
    journalled = [True] * len(prompts)
    for seed in range(votes):
        sampling = Sampling(max_tokens=_ROOM, temperature=1.0, seed=seed, schema=schema)
        for n, completion in enumerate(kit.complete(role, vote_prompts, sampling)):
            last[n] = completion.text
            costs[n].append(completion.usage)
            journalled[n] = journalled[n] and completion.journalled
            option = _vote(completion, options)
            if option is not None:
                counts[n][option] += 1
    for n, count in enumerate(counts):
        if not any(count):
            raise ReplyError(f"none of {votes} votes was one of {', '.join(options)}", last[n])
    return [
        Choice(
            options=tuple(options),
            logprobs=tuple(math.log((times + _HALF) / (sum(count) + _HALF * len(count))) for times in count),
            bounded=tuple(times == 0 for times in count),
            usage=total_usage(costs[n]),
            journalled=journalled[n],
        )
        for n, count in enumerate(counts)
    ]


def _append_task(prompt: Prompt, task: str) -> Prompt:
    *before, last = prompt.messages
    return Prompt(messages=(*before, replace(last, content=f"{last.content}\n{task}")))


def _vote(completion: Completion, options: Sequence[str]) -> int | None:
    """Return the number of the option that a complete reply names; None if the reply is void."""
    if completion.finish_reason != "stop":
        return None
    try:
        fields = json.loads(completion.text, object_pairs_hook=tuple)
    except (ValueError, RecursionError):
        return None
    return next((n for n, option in enumerate(options) if fields == (("word", option),)), None)
