"""The parts of a run: the way to ask, the manifest, and models that are loaded."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from disputatio.config import Say, Settings
from disputatio.errors import DisputatioError, InputError, LLMError, ReplyError
from disputatio.eval.data.datasets import Identity
from disputatio.eval.judge import Grade, Judge
from disputatio.eval.metrics import VERSION
from disputatio.eval.running.entrants import options_for
from disputatio.eval.running.run_log import Entrant, RunManifest
from disputatio.kit import Kit
from disputatio.parts import build_kit, embedder_for, with_retriever
from disputatio.pipeline import Strategy, ask
from disputatio.protocols import ModelObject, Retriever
from disputatio.spending import charge_to_thread
from disputatio.store.contract import Index
from disputatio.store.in_memory import InMemory
from disputatio.store.opening import open_index
from disputatio.store.own_passages import RetrieverLike, as_retriever
from disputatio.trace import Trace
from disputatio.types import Answer, Example, Message, Passage, Prompt, Sampling, Source

Ask = Callable[[str, Sequence[Passage], str, Mapping[str, Any], Trace], Answer]
"""(question, passages, strategy, options, trace) -> answer; raises `LLMError` or `ReplyError` for a fault."""


class WorkResult(NamedTuple):
    """An answer, the seconds that it took, and the judge's grades."""

    answer: Answer
    seconds: float
    grades: Mapping[str, Grade]


Work = Callable[[Example, Entrant, Trace], WorkResult]
"""Answers a question as an entrant does; the trace records it. Raises as `Ask` does."""


def work_here(ask: Ask, judge: Judge | None = None) -> Work:
    """Return work that asks in the thread of the question, and grades its answer off its bill."""

    def work(example: Example, entrant: Entrant, trace: Trace) -> WorkResult:
        start = time.perf_counter()
        strategy, options = entrant.strategy, options_for(entrant, example)
        answer = ask(example.question, example.passages, strategy, options, trace)
        seconds = time.perf_counter() - start
        graded = judge is not None and answer.abstained != "fault"
        return WorkResult(answer, seconds, judge(example, answer) if judge is not None and graded else {})

    return work


def is_of_the_question(error: BaseException) -> bool:
    """Return True if an error is recorded with its question: a fault, or a bug of the strategy."""
    if isinstance(error, DisputatioError):
        return isinstance(error, LLMError | ReplyError)
    return isinstance(error, Exception | SystemExit)


# What stands between a prompt and a model's answer: a change there is a change of the system.
_ENGINES = {"local": "disputatio.llm.local", "openai": "disputatio.llm.request"}


def ask_with(
    kit: Kit,
    *,
    verify: bool,
    retriever: Retriever | None = None,
    functions: Mapping[str, Strategy] | None = None,
    known: Callable[[str, Mapping[str, Any]], Mapping[str, Source]] | None = None,
) -> Ask:
    """Return the runner's way to ask: over the question's passages alone, or over a retriever.

    `functions` are strategies that records know by a name under which they cannot be imported; `known` is
    what a strategy with its options may know of the sources of these passages.
    """
    strategies = functions or {}

    def ask_one(
        question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any], trace: Trace
    ) -> Answer:
        metered = charge_to_thread(kit)
        searching = (
            replace(
                metered,
                retriever=InMemory(passages),
                sources=metered.sources if known is None else known(strategy, options),
            )
            if retriever is None
            else with_retriever(metered, retriever)
        )
        answer = ask(
            question,
            kit=searching,
            strategy=strategies.get(strategy, strategy),
            options=options,
            verify=verify,
            trace=trace,
        )
        return replace(answer, strategy=strategy)

    return ask_one


def load_models(kit: Kit) -> None:
    """Have every embedded model write a word, so that no question waits for it; raises `LLMError`."""
    prompt = Prompt(messages=(Message(role="user", content="Say yes."),))
    for model in {model.name: model for model in (kit.model, *kit.roles.values())}.values():
        if model.name.startswith("local:"):
            model.complete([prompt], Sampling(max_tokens=1))


def run_manifest(
    kit: Kit, identities: Sequence[Identity], *, seed: int, verify: bool, judge: str = "", index: str = ""
) -> RunManifest:
    """Build the manifest that all records of a run share; raises `InputError` for one name of two files."""
    names = [identity.name for identity in identities]
    for name in names:
        if names.count(name) > 1:
            raise InputError(f"{name} stands twice: data sets of one run need files of different names")
    encoder = {} if kit.reader is None else {"encoder": kit.reader.name}
    return RunManifest(
        datasets={identity.name: identity.sha256 for identity in identities},
        metrics={identity.name: identity.metrics for identity in identities},
        metrics_version=VERSION,
        model=kit.model.name,
        engine=kit.model.capabilities().engine,
        roles={role: model.name for role, model in sorted(kit.roles.items())} | encoder,
        seed=seed,
        verify=verify,
        judge=judge,
        index=index,
    )


def describe_retriever(retriever: Retriever) -> str:
    """Return a retriever as a manifest names it: an index by its folder's name and what it holds."""
    if not isinstance(retriever, Index):
        return f"{type(retriever).__module__}.{type(retriever).__qualname__}"
    facts = retriever.info()
    names = ",".join(path.absolute().name for path in retriever.paths)
    return (
        f"{names}, {facts.documents} documents, {facts.passages} passages, "
        f"embedder {facts.embedder or 'none'}, commit {facts.commit}"
    )


def engine_modules(models: Iterable[str]) -> list[str]:
    """Return the modules that stand between prompts and the models of these names."""
    kinds = {name.partition(":")[0] for name in models}
    return [module for kind, module in _ENGINES.items() if kind in kinds]


def find_versions() -> dict[str, str]:
    """Return the versions that results depend on, of what is installed."""
    versions = {"python": platform.python_version()}
    for package in ("disputatio", "openvino-genai", "openai"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return versions


def kit_for(
    settings: Settings,
    model: str | ModelObject | None,
    roles: Mapping[str, str | ModelObject],
    *,
    say: Say = lambda _: None,
) -> Kit:
    """Return the kit of the settings, with the models that were given as objects in their places."""
    objects = {name: part for name, part in roles.items() if not isinstance(part, str)}
    return build_kit(settings, model=None if isinstance(model, str) else model, roles=objects, say=say)


def retriever_for(
    index: str | Path | RetrieverLike | None, settings: Settings, say: Say = lambda _: None
) -> Retriever | None:
    """Open the index to search in place of the rows' own passages; raises as `open_index` does."""
    if not isinstance(index, str | Path):
        return None if index is None else as_retriever(index)
    embedder = embedder_for(settings, Path(index), say=say)
    return open_index(Path(index), embedder=embedder, create=False)
