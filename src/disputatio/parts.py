"""The parts that settings describe: models, embedders, caches, and the kit made of them.

The only place that picks classes; nothing is opened before it is used.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from disputatio.config import Say, Settings, read_settings
from disputatio.errors import ConfigError, InputError, MissingDependency, UnknownName
from disputatio.kit import NO_MODEL, TRAINED_READER, Kit
from disputatio.llm import catalogue
from disputatio.llm.model_names import ENGINES
from disputatio.llm.models import Merged
from disputatio.protocols import (
    LLM,
    Embedder,
    Entailment,
    EstimatingRetriever,
    ModelObject,
    Reranker,
    Retriever,
)
from disputatio.text import content_id
from disputatio.trace import Speeds

if TYPE_CHECKING:
    from disputatio.encoder.model import EncoderModel
    from disputatio.llm.endpoint import Endpoint
    from disputatio.llm.stream import Deadlines

KINDS = ("local", "openai", *ENGINES, "scripted", "none")
_SHARED: dict[str, Any] = {}  # journals that another process keeps for this one, by the name in the settings


def build_kit(
    settings: Settings,
    *,
    model: ModelObject | None = None,
    roles: Mapping[str, ModelObject] | None = None,
    retriever: Retriever | None = None,
    say: Say = lambda _: None,
    progress: catalogue.Progress | None = None,
) -> Kit:
    """Return the kit that settings describe; models are opened at their first use.

    `model` and `roles` are objects that stand in place of those that the settings name. `say` is called with
    what a user should know while waiting, `progress` with how far a download is. Nothing is loaded. Raises
    `ConfigError` for a model that cannot be, `UnknownName` with the nearest one.
    """
    journal = open_journal(settings)
    named = partial(_open_journalled, settings=settings, journal=journal, say=say, progress=progress)
    objects = {role: own_model(part, settings, journal) for role, part in (roles or {}).items()}
    names = {role: named(name) for role, name in settings.role.items() if role not in objects}
    cast = {**names, **objects}
    trained = None if settings.model == NO_MODEL else _find_trained_reader(settings, named)
    if trained is not None and model is None and "reader" not in cast and prefers_trained(settings):
        cast.setdefault(TRAINED_READER, trained)  # it reads where no option says who does
    return Kit(
        model=named(settings.model) if model is None else own_model(model, settings, journal),
        roles=cast,
        retriever=retriever,
        trained=trained,
        embedder=_late_embedder(settings, say, progress),
        reranker=open_reranker(settings),
        speeds=Speeds(cache_folder(settings) / "speeds.json"),
        **_encoder_parts(settings),
    )


def prefers_trained(settings: Settings) -> bool:
    """Return whether the trained reader reads for the model of the settings: the one that it was made of."""
    return settings.model == f"local:{catalogue.DEFAULT_MODEL}" and "reader" not in settings.role


def _find_trained_reader(settings: Settings, named: Callable[[str], LLM]) -> LLM | None:
    """Return the model that was trained to read, loaded at its first call; None without the engine."""
    known = any(entry.name == catalogue.DEFAULT_READER for entry in catalogue.entries())
    runs = settings.replay or importlib.util.find_spec("openvino_genai")
    return named(f"local:{catalogue.DEFAULT_READER}") if known and runs else None


def own_model(model: ModelObject, settings: Settings, journal: Any) -> LLM:
    """Return a model object as an `LLM`; its calls are kept only in a journal that was named for them.

    Raises `ConfigError` for an object that is no model.
    """
    from disputatio.llm.own_model import as_llm

    llm = as_llm(model)
    if settings.journal in ("default", "none") and not settings.replay:
        return llm
    from disputatio.llm.cached_llm import CachedLLM

    return CachedLLM(llm, journal, engine=llm.capabilities().engine, replay=settings.replay)


def with_retriever(kit: Kit, retriever: Retriever | None) -> Kit:
    """Return the kit with something to search, and with what that knows of how reliable its sources are."""
    estimates = retriever.estimates() if isinstance(retriever, EstimatingRetriever) else {}
    return replace(kit, retriever=retriever, sources=estimates)


def open_embedder(
    name: str,
    *,
    pull: bool = False,
    progress: catalogue.Progress | None = None,
    settings: Settings | None = None,
    dimension: int | None = None,
) -> Embedder | None:
    """Return the embedder of that name or folder, None for `none`; raises `InputError` when it is not here.

    `openai:NAME` is a model at OPENAI_BASE_URL, `openai:NAME@256` one asked for vectors of 256
    numbers; `dimension` is the length that its vectors are known to have, and nothing is asked here.
    """
    if name == "none":
        return None
    if name.startswith("openai:"):
        return _make_served_embedder(name, settings or read_settings(), dimension)
    from disputatio.store.embed import OnnxEmbedder

    if not importlib.util.find_spec("openvino"):  # said before anything is fetched for it
        raise MissingDependency("openvino", "local")
    folder = catalogue.path(name, pull=pull, progress=progress)
    if not folder.is_dir():
        raise InputError(f"{name}: an embedder is a folder with an .onnx file, this is a file")
    if all(entry.name != name for entry in catalogue.entries()):
        check_model("embedder", folder, catalogue.cache_folder())
    return OnnxEmbedder(folder, cache=catalogue.cache_folder() / "compiled")


def _late_embedder(settings: Settings, say: Say, progress: catalogue.Progress | None) -> Embedder | None:
    """Return the embedder of the settings, opened by the first strategy that compares passages by meaning."""
    if settings.embedder == "none":
        return None
    from disputatio.store.embed import LazyEmbedder

    def open_now() -> Embedder:
        name = settings.embedder
        if not name.startswith("openai:") and not _is_here(name, "embedder") and not settings.replay:
            say(f"fetching the embedder {name}, once")
        part = open_embedder(name, pull=not settings.replay, progress=progress, settings=settings)
        return cast("Embedder", part)  # None is for "none" alone

    return LazyEmbedder(open_now)


def _make_served_embedder(name: str, settings: Settings, dimension: int | None) -> Embedder:
    """Return an embedder behind a server, with the prefixes of the settings, else those its model wants."""
    from disputatio.llm.connection import LARGEST_EMBEDDINGS, Connection
    from disputatio.llm.endpoint_embedder import EndpointEmbedder, split_name
    from disputatio.store.embed import find_prefixes

    model, dimensions = split_name(name.removeprefix("openai:"))
    usual = find_prefixes(model)
    return EndpointEmbedder(
        Connection(
            model,
            in_flight=settings.in_flight,
            deadlines=_deadlines(settings),
            largest=LARGEST_EMBEDDINGS,
        ),
        dimensions=dimensions,
        dimension=dimension,
        query_prefix=usual[0] if settings.query_prefix is None else settings.query_prefix,
        passage_prefix=usual[1] if settings.passage_prefix is None else settings.passage_prefix,
        usual_prefixes=usual,
    )


def open_reranker(settings: Settings) -> Reranker | None:
    """Return the reranker of the settings; raises `ConfigError` for a name of none."""
    if settings.reranker == "none":
        return None
    prefix, _, model = settings.reranker.partition(":")
    if prefix == "openai":
        from disputatio.llm.connection import Connection
        from disputatio.llm.endpoint_embedder import EndpointReranker

        line = Connection(model, in_flight=settings.in_flight, deadlines=_deadlines(settings))
        return EndpointReranker(line)
    folder = Path(settings.reranker)
    if not folder.is_dir():
        wanted = "write openai:NAME, the folder of an ONNX cross-encoder, or none"
        raise ConfigError(f"reranker = {settings.reranker!r}: {wanted}")
    from disputatio.encoder.cross_encoder import OnnxReranker

    check_model("reranker", folder, cache_folder(settings))
    return OnnxReranker(folder)


def embedder_for(
    settings: Settings,
    index: Path,
    *,
    named: str | None = None,
    create: bool = False,
    say: Say = lambda _: None,
    progress: catalogue.Progress | None = None,
) -> Embedder | None:
    """Return the embedder to open an index with: the one it was made with, else the one of the settings.

    `named` is what the user asked for by name, which is then not second-guessed. Query vectors are
    kept in the journal; on replay they come from there and no model is opened. None where the index
    is, or is to be, searched by keyword alone, or is not there and not to be made. A new index is
    trusted with its embedder on a server. Raises `StoreError` for what is no index, `ConfigError` for one
    of another embedder, or of one on a server that the user has neither chosen nor allowed.
    """
    from disputatio.store.addresses import mask_secrets
    from disputatio.store.opening import read_index_note
    from disputatio.store.trust import check_trusted, trust

    note = read_index_note(index)
    made_with = None if note is None else str(note.get("embedder", ""))
    name = named or settings.embedder
    if name == "none" or (named is None and made_with == "") or (note is None and not create):
        return None
    if settings.replay and note is not None and made_with:
        from disputatio.llm.cached_llm import CachedEmbedder

        journal, size = partial(open_journal, settings), int(note.get("dimension") or 0)
        return CachedEmbedder(None, journal, name=made_with, dimension=size)
    if named is None:
        name = _find_opening_name(made_with or "") or name
    served = name.startswith("openai:")
    if served and named is None and not settings.embedder.startswith("openai:"):
        check_trusted(index, name)
    if not served and not _is_here(name, "embedder"):
        say(f"fetching the embedder {name}, once")
    known = int(note.get("dimension") or 0) if note and name == _find_opening_name(made_with or "") else None
    part = open_embedder(name, pull=True, progress=progress, settings=settings, dimension=known)
    if part is not None and named is None and made_with and part.name != made_with:
        prefixes = ", and DISPUTATIO_QUERY_PREFIX and DISPUTATIO_PASSAGE_PREFIX to its prefixes"
        shown = mask_secrets(index)
        raise ConfigError(
            f"{shown}: was made with the embedder {made_with}, not with {part.name}: "
            f"set DISPUTATIO_EMBEDDER to its name or folder{prefixes if served else ''}, "
            f"or give every passage a new vector with: disputatio index reembed NAME --index {shown}"
        )
    if part is not None and served and note is None:
        with contextlib.suppress(OSError):  # the index is made all the same; a search says what to do
            trust(index, part.name)
    if part is None or settings.journal == "none":
        return part
    from disputatio.llm.cached_llm import CachedEmbedder

    return CachedEmbedder(part, partial(open_journal, settings))


def _find_opening_name(made_with: str) -> str:
    """Return the name that opens an index's embedder, by the name recorded in it; "" if unknown."""
    if made_with.startswith("openai:"):
        return made_with.partition("#")[0]
    bare = made_with.partition("@")[0]
    known = any(entry.name == bare and entry.kind == "embedder" for entry in catalogue.entries())
    if known or "/" not in bare:
        return bare if known else ""
    try:
        return bare if catalogue.is_present(bare) else ""  # of a hub, and fetched
    except (InputError, UnknownName):  # a name that its folder gave it
        return ""


def cache_folder(settings: Settings) -> Path:
    """Return where models, converted models and the journal are kept."""
    return settings.cache or catalogue.cache_folder()


def open_encoder(name: str) -> EncoderModel | None:
    """Return the trained encoder of a name: `default`, a zip file or a folder; None for `none`.

    Raises `InputError` where a file is missing.
    """
    from disputatio.encoder import model

    if name == "none":
        return None
    if name != "default":
        check_model("encoder", Path(name), catalogue.cache_folder())
    return model.EncoderModel(model.SHIPPED if name == "default" else Path(name))


def _encoder_parts(settings: Settings) -> dict[str, Any]:
    """Return the parts of a kit that the trained encoder plays: its reader, and if set the judge of claims.

    `entailment = auto` leaves claims to the language model where there is one.
    """
    wanted = settings.encoder != "default" or settings.entailment == "encoder" or settings.model == NO_MODEL
    # An installation without the extra `local` does without the encoder, unless it is asked for.
    runs = all(importlib.util.find_spec(package) for package in ("openvino", "tokenizers"))
    encoder = open_encoder(settings.encoder) if wanted or runs else None
    own = settings.entailment == "encoder" or (settings.entailment == "auto" and settings.model == NO_MODEL)
    if settings.entailment not in ("auto", "model", "encoder"):
        from disputatio.encoder.cross_encoder import CrossEncoder

        check_model("judge", Path(settings.entailment), cache_folder(settings))
        judge: Entailment | None = CrossEncoder(Path(settings.entailment))
    elif encoder is None:
        if settings.entailment == "encoder":
            raise ConfigError("entailment = encoder needs an encoder: set encoder to default, or to its file")
        return {}
    else:
        judge = None
    if encoder is None:
        return {"entailment": judge}
    from disputatio.encoder.reader import EncoderJudge, EncoderReader

    return {
        "reader": EncoderReader(encoder),
        "entailment": EncoderJudge(encoder) if own else judge,
    }


def share_journal(name: str, journal: Any) -> None:
    """Let an object, which has the methods of a `CallCache`, stand for the journal that settings so name."""
    _SHARED[name] = journal


def open_journal(settings: Settings) -> Any:
    """Return the journal of calls, None for none; on replay it must be there and is only read."""
    if settings.journal in _SHARED:
        return _SHARED[settings.journal]
    if settings.journal == "none":
        if settings.replay:
            raise ConfigError("--replay needs a journal: give --journal FILE")
        return None
    from disputatio.llm.call_cache import CallCache

    default = settings.journal == "default"
    path = cache_folder(settings) / "calls.sqlite" if default else Path(settings.journal)
    if settings.replay and not path.is_file():
        raise InputError(f"{path}: there is no journal to replay")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a journal")
    return CallCache(path, readonly=settings.replay)


def _open_journalled(
    name: str, *, settings: Settings, journal: Any, say: Say, progress: catalogue.Progress | None
) -> LLM:
    from disputatio.llm.cached_llm import CachedLLM

    if settings.replay:
        _split(name)
        return CachedLLM(None, journal, replay=True, name=name)
    model, engine = _open_model(name, settings, say, progress)
    return model if journal is None or engine is None else CachedLLM(model, journal, engine=engine)


def _open_model(
    name: str, settings: Settings, say: Say, progress: catalogue.Progress | None
) -> tuple[LLM, str | None]:
    """Return a model by its name, with the engine that stands in its journal keys; None: not journalled."""
    kind, rest = _split(name)
    if kind == "none":
        from disputatio.llm.scripted import NoModel

        return NoModel(), None
    if kind == "local":
        _is_here(rest, "language model")  # a wrong name is a fault now, not at the first call
        from disputatio.llm.local import Local

        local = Local(
            rest,
            partial(_find_model, rest, say, progress),
            cache=cache_folder(settings),
            cache_gb=settings.kv_cache_gb,
            context_tokens=settings.context_tokens,
            say=say,
        )
        return local, _engine_of(rest, local.engine)
    if kind == "openai" or kind in ENGINES:
        from disputatio.llm.faults import Address

        served = kind in ENGINES
        base_url = ENGINES[kind].base_url if served else os.environ.get("OPENAI_BASE_URL", "").strip()
        shown = Address(model=rest, base_url=base_url).shown if base_url else ""  # without a password
        engine = (
            f"{kind} {shown} {sorted(_extra(kind, settings))}" if served else f"openai-compatible {shown}"
        )
        return open_endpoint(name, settings, say), engine.strip()
    from disputatio.llm.scripted import Scripted, script_of

    script = script_of(rest)
    # The default journal is for models: a script is kept only where a file was named for it.
    kept = settings.journal not in ("default", "none")
    digest = hashlib.sha256(repr(script).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return Scripted(script, name=name), f"scripted {digest}" if kept and rest else None


def open_endpoint(name: str, settings: Settings, say: Say = lambda _: None) -> Endpoint:
    from disputatio.llm.connection import Connection
    from disputatio.llm.endpoint import Endpoint

    kind, rest = _split(name)
    opened = partial(Connection, rest, in_flight=settings.in_flight, deadlines=_deadlines(settings), say=say)
    if kind not in ENGINES:
        return Endpoint(opened())
    engine = ENGINES[kind]
    # A key of the environment is for another server.
    own = opened(base_url=engine.base_url, api_key="none", variable=engine.variable)
    return Endpoint(own, kind=kind, extra=_extra(kind, settings))


def _extra(kind: str, settings: Settings) -> dict[str, Any]:
    """Return the fields that are sent to a kind of server beside those of the protocol."""
    return {} if settings.thinking else dict(ENGINES[kind].quick)


def _deadlines(settings: Settings) -> Deadlines:
    from disputatio.llm.stream import Deadlines

    return Deadlines(
        connect=settings.connect_seconds,
        first_byte=settings.first_byte_seconds,
        between_tokens=settings.between_tokens_seconds,
        total=settings.total_seconds,
    )


def _is_here(name: str, kind: Literal["language model", "embedder"]) -> bool:
    """Return whether a model can be used without fetching it; nothing is loaded.

    Raises `UnknownName` with the nearest model of that kind, `ConfigError` for one of another kind,
    `InputError` for a path that leads nowhere.
    """
    prefix = "local:" if kind == "language model" else ""
    known = {entry.name: entry.kind for entry in catalogue.entries()}
    if known.get(name, kind) != kind:
        fits = ", ".join(prefix + model for model, its in known.items() if its == kind)
        raise ConfigError(f"{name} is no {kind}: choose one that is ({fits})")
    try:
        return catalogue.is_present(name)
    except UnknownName as error:
        models = [prefix + model for model, its in known.items() if its == kind]
        raise UnknownName(kind, prefix + name, models, command="disputatio model list") from error


def _engine_of(name: str, engine: str) -> str:
    """Return the engine as it stands in journal keys: a changed local file or adapter is another model."""
    path = Path(name)
    if path.is_file():
        stat = path.stat()
        return f"{engine} {stat.st_size}:{stat.st_mtime_ns}"
    known = [file for entry in catalogue.entries() if entry.name == name for file in entry.files]
    adapters = [each.sha256[:8] for file in known for each in file.origins if isinstance(each, Merged)]
    return " ".join([engine, *adapters])


def _split(name: str) -> tuple[str, str]:
    kind, _, rest = name.partition(":")
    if kind not in KINDS or (not rest and kind not in ("scripted", "none")):
        from disputatio.llm.model_names import suggest_name

        local = [entry.name for entry in catalogue.entries() if entry.kind == "language model"]
        raise ConfigError(f"model {name!r}: {suggest_name(name, local)}")
    return kind, rest


def _find_model(name: str, say: Say, progress: catalogue.Progress | None) -> Path:
    """Return the model's file, fetched when it is not here yet."""
    if not catalogue.is_present(name):
        say(f"fetching the model {name}, once")
    return catalogue.path(name, pull=True, progress=progress)


_TRIALS = {
    "embedder": "store.embed import OnnxEmbedder as M; M(path).embed(['A ferry.', 'It crossed.'])",
    "judge": "encoder.cross_encoder import CrossEncoder as M; M(path).contradicts([('A ferry.', 'A')])",
    "reranker": "encoder.cross_encoder import OnnxReranker as M; from disputatio.types import Passage as P; "
    "M(path).rerank('Which?', [P(id='a', text='A ferry.', source='a')])",
    "encoder": "encoder.model import EncoderModel as M; list(M(path).logits([('A ferry.', 'A')]))",
}


def check_model(kind: str, path: Path, cache: Path) -> None:
    """Load a model of the user's own in a child process, once; raises `ConfigError` where it does not load.

    Loaders are native code on the bytes of strangers: what crashes them crashes that child.
    """
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    stamps = (f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files if file.is_file())
    note = cache / "tried" / content_id(kind, *stamps)
    if note.exists() or not path.exists() or not importlib.util.find_spec("openvino"):
        return  # what is missing is reported where it is used
    code = f"import sys, pathlib; path = pathlib.Path(sys.argv[1]); from disputatio.{_TRIALS[kind]}"
    words = [sys.executable, "-Pc", code, str(path)]
    try:
        run = subprocess.run(words, capture_output=True, timeout=300, check=False)
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{path}: is no model that loads within five minutes") from error
    if run.returncode:
        errors = run.stderr.decode("utf-8", "replace").strip().splitlines() if run.returncode == 1 else []
        ended = errors[-1][:300] if errors else f"the engine crashed on it, with status {run.returncode}"
        raise ConfigError(f"{path}: is no model that can be loaded: {ended}")
    note.parent.mkdir(parents=True, exist_ok=True)
    note.touch()
