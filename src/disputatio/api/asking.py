"""`ask`: one question, with whatever parts the caller brings."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, TypeVar

from disputatio.api.request import Prepared, Request, prepare
from disputatio.arguments import check_calls
from disputatio.config import Settings, read_settings
from disputatio.errors import ConfigError, UnknownName
from disputatio.kit import Elsewhere, Kit
from disputatio.parts import build_kit
from disputatio.pipeline import Strategy
from disputatio.protocols import Cancel, Embedder, ModelObject
from disputatio.store.own_passages import PassageLike, RetrieverLike
from disputatio.trace import Trace
from disputatio.types import Answer

# One kit for the same settings: a process opens its call cache and loads its models once, however many
# questions it asks. They stay for the life of the process, as loading a model takes seconds.
_KITS: dict[tuple[str, ...], Kit] = {}
_ENDPOINT = ("OPENAI_BASE_URL", "OPENAI_API_KEY")
_NO_MODEL = "scripted:"  # the model of a kit that gets an object in its place: it needs nothing installed
_PARTS = ("model", "role", "embedder", "settings")  # arguments of `ask` that make its kit
_REQUEST = {each.name for each in fields(Request)} - {"question", "options", "k", "expect"}
_BY_ARGUMENT = ("model", "role", "strategy", "index", "embedder")  # settings that are arguments of `ask`

_Result = TypeVar("_Result")


@check_calls
def ask(
    question: str,
    *,
    index: str | Path | RetrieverLike | None = None,
    passages: Iterable[PassageLike] | None = None,
    strategy: str | Strategy | None = None,
    model: str | ModelObject | None = None,
    role: Mapping[str, str | ModelObject] | None = None,
    embedder: str | Embedder | None = None,
    sources: Collection[str] | None = None,
    mute: Collection[str] = (),
    after: str | None = None,
    before: str | None = None,
    as_of: str | None = None,
    verify: bool = True,
    strict: bool = False,
    min_confidence: float | None = None,
    each_source: bool = False,
    within: float | str | None = None,
    trace: Trace | None = None,
    elsewhere: Elsewhere | None = None,
    cancel: Cancel | None = None,
    settings: Mapping[str, Any] | None = None,
    **options: Any,
) -> Answer:
    """Answer a question over an index or over passages in hand, with cited claims and all positions.

    `index` is a path, an `Index`, or another retriever: one of your own, or one in the shape of LangChain's
    or LlamaIndex's. `passages` are texts, mappings (`{"text": ..., "source": ...}`) or `Passage`s. `strategy`
    is a name or a function (question, kit, *, options) -> Answer. `model` is a name (`local:...`,
    `openai:...`), an object with `complete` (`MinimalLLM`) or a function of a prompt's text; `role` has
    another one for each role that it names. `embedder` compares passages for strategies that do so. `options`
    are the strategy's (`rounds=2`).

    `sources`, and the ISO dates `after` and `before`, limit what is read; documents in `mute` (by id, file or
    title) are not read. `as_of` asks for the answer of a day, with what holds today beside it. `verify` has
    every citation judged; `strict` drops claims that their quotes do not support; below `min_confidence`, a
    probability, an answer becomes an abstention (`disputation` has .3 where none is given; 0 withholds
    nothing). `each_source` reads the best passages of
    every source, and says in `Answer.each_source` what each answers. After `within` seconds (or "2m") the
    answer is made of what was read by then, and `Answer.read.late` names the rest. `elsewhere` is a search of
    your own, (query, how many) -> passages, for strategies that search a second time (`crag`). `trace` logs
    every step. `cancel` ends the question from another thread. `settings` are those of `disputatio.toml`
    (`{"journal": "none"}`); what is not given comes from the environment, that file and the defaults.

    Raises `DisputatioError`: `ConfigError` and `InputError` for what you can mend, `LLMError` and
    `ReplyError` for faults of a model, `Cancelled`.
    """
    arguments = {
        "index": index,
        "passages": passages,
        "strategy": strategy,
        "model": model,
        "role": role,
        "embedder": embedder,
        "sources": sources,
        "mute": mute,
        "after": after,
        "before": before,
        "as_of": as_of,
        "verify": verify,
        "strict": strict,
        "min_confidence": min_confidence,
        "each_source": each_source,
        "within": within,
        "elsewhere": elsewhere,
        "settings": settings,
    }
    prepared = prepare_arguments(arguments | options, question)
    log = trace or Trace()
    if cancel is None:
        return prepared.answer(question, log, Cancel())
    return until_cancelled(lambda ends: prepared.answer(question, log, ends), cancel)


def prepare_arguments(arguments: Mapping[str, Any], question: str | None = None) -> Prepared:
    """Return the parts that `ask`'s arguments describe; those that it does not name are options."""
    parts = {name: arguments[name] for name in _PARTS if name in arguments}
    named = {name: arguments[name] for name in _REQUEST if name in arguments}
    options = {name: arguments[name] for name in arguments if name not in parts and name not in named}
    request = Request(question=question, options=options, **named)
    request.check()
    kit, settings = kit_with(**parts, strategy=request.strategy)
    return prepare(request, settings, lambda: kit)


def kit_with(
    *,
    model: str | ModelObject | None = None,
    role: Mapping[str, str | ModelObject] | None = None,
    embedder: str | Embedder | None = None,
    settings: Mapping[str, Any] | None = None,
    strategy: str | Strategy | None = None,
) -> tuple[Kit, Settings]:
    """Return the kit of names and objects, and the settings in force."""
    roles = {name: part for name, part in (role or {}).items() if not isinstance(part, str)}
    names = {name: part for name, part in (role or {}).items() if isinstance(part, str)}
    flags = dict(settings or {})
    for name in _BY_ARGUMENT:
        if name in flags:
            raise ConfigError(f"settings: {name} is an argument of its own: write {name}=...")
    for name in flags:
        if name not in Settings.model_fields:
            raise UnknownName("setting", name, set(Settings.model_fields) - set(_BY_ARGUMENT))
    chosen = read_settings(
        **flags,
        model=model if isinstance(model, str) else None if model is None else _NO_MODEL,
        role=names or None,
        strategy=strategy if isinstance(strategy, str) else None,
        embedder=embedder if isinstance(embedder, str) else None,
    )
    model_object = None if isinstance(model, str) else model
    journal = _journal_of_objects(chosen)
    without = chosen.model_copy(update={"model": _NO_MODEL, "role": {}, "journal": journal})
    kit = kit_of(chosen if model_object is None or chosen.role else without)
    if model_object is not None or roles:
        objects = build_kit(without, model=model_object, roles=roles)
        kit = replace(
            kit,
            model=kit.model if model_object is None else objects.model,
            roles={**kit.roles, **objects.roles},
        )
    if embedder is not None and not isinstance(embedder, str):
        kit = replace(kit, embedder=embedder)
    return kit, chosen


def _journal_of_objects(settings: Settings) -> str:
    """Return the journal for calls of model objects, which is never the default one."""
    return "none" if settings.journal == "default" and not settings.replay else settings.journal


def kit_of(settings: Settings) -> Kit:
    """Return one kit for the same settings, so that a process opens its journal and models once."""
    key = (settings.model_dump_json(), *(os.environ.get(name, "") for name in _ENDPOINT))
    if key not in _KITS:
        _KITS[key] = build_kit(settings)
    return _KITS[key]


# --- in a thread of its own ---------------------------------------------------------------------
def in_thread(work: Callable[[], _Result], name: str) -> Future[_Result]:
    """Return the result of some work, which is done in a thread of its own that no exit waits for."""
    future: Future[_Result] = Future()
    future.set_running_or_notify_cancel()  # so that it cannot be cancelled
    context = copy_context()

    def run() -> None:
        try:
            result = context.run(work)
        except BaseException as error:  # noqa: BLE001 (raised again by whoever waits for the result)
            future.set_exception(error)
        else:
            future.set_result(result)

    threading.Thread(target=run, name=name, daemon=True).start()
    return future


def until_cancelled(work: Callable[[Cancel], _Result], cancel: Cancel) -> _Result:
    """Return the result of some work; raises `Cancelled` at once when it is cancelled, wherever the work is.

    The work gets a `Cancel` of its own, which is pressed also when the wait is interrupted.
    """
    ends, woken = Cancel(), threading.Event()
    with cancel.calling(ends.cancel), ends.calling(woken.set):
        future = in_thread(lambda: work(ends), "disputatio ask")
        future.add_done_callback(lambda _: woken.set())
        try:
            woken.wait()
        except BaseException:
            ends.cancel()
            raise
    if not future.done():
        ends.check()
    return future.result()
