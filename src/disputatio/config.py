"""Settings from flags, environment and file, and the parts that are made of them.

The only place that picks classes. Settings come, in falling order, from what is passed here (the
command line's flags), the environment (`DISPUTATIO_MODEL`, ...), `disputatio.toml` in the working
folder, and the defaults below. Nothing earlier in the walk opens a file or a socket.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, cast

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from disputatio.errors import ConfigError, InputError, UnknownName
from disputatio.kit import Kit
from disputatio.llm import catalogue
from disputatio.pipeline import DEFAULT_STRATEGY
from disputatio.protocols import LLM, Embedder, Entailment, Retriever

FILE = "disputatio.toml"
Say = Callable[[str], None]
KINDS = ("local", "openai", "scripted")


class Settings(BaseSettings):
    """What a user can set, the same by flag, by `DISPUTATIO_*` and in `disputatio.toml`."""

    model_config = SettingsConfigDict(
        env_prefix="DISPUTATIO_", toml_file=FILE, extra="forbid", frozen=True, env_ignore_empty=True
    )

    model: str = Field(f"local:{catalogue.DEFAULT_MODEL}", description="local:NAME or openai:NAME")
    role: dict[str, str] = Field(default_factory=dict, description="another model for a role")
    strategy: str = Field(DEFAULT_STRATEGY, description="how questions are answered")
    index: Path = Field(Path("disputatio.index"), description="folder of the index")
    embedder: str = Field(
        catalogue.DEFAULT_EMBEDDER, description="embedding model or its folder, openai:NAME, or none"
    )
    query_prefix: str | None = Field(None, description="before each query, for an openai: embedder")
    passage_prefix: str | None = Field(None, description="before each passage, for an openai: embedder")
    entailment: str = Field("model", description="model, or the folder of an ONNX cross-encoder")
    journal: str = Field("default", description="file of the calls made, default, or none")
    replay: bool = Field(False, description="answer from the journal alone")
    cache: Path | None = Field(None, description="where models and the journal are kept")
    kv_cache_gb: int = Field(2, ge=1, le=1024, description="memory for the embedded engine's prefixes")
    context_tokens: int = Field(32_768, ge=512, description="the embedded model's context")
    in_flight: int = Field(8, ge=1, le=1024, description="calls to an endpoint at a time")

    @field_validator("index", "cache", "journal", "entailment", "embedder")
    @classmethod
    def _at_home(cls, value: Any) -> Any:
        """A path that begins with `~` is one below the user's home."""
        return type(value)(Path(value).expanduser()) if str(value).startswith("~") else value

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Flags, then the environment, then the file."""
        del (
            dotenv_settings,
            file_secret_settings,
        )  # the library hands them over; settings do not come from there
        file = TomlConfigSettingsSource(settings_cls)
        if "cache" in file():  # models are found by it before any file is read
            raise InputError(f"{FILE}: cache is set by the variable DISPUTATIO_CACHE alone")
        return init_settings, env_settings, file


def read_settings(**flags: Any) -> Settings:
    """The settings in force; flags that are None were not given. Raises `InputError` in one line."""
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise UnknownName("setting", where, Settings.model_fields) from error
        raise InputError(
            f"setting {where}: {first['msg']} (flag, DISPUTATIO_{where.upper()} or {FILE})"
        ) from error
    except ValueError as error:  # the file is not TOML, or a variable is not JSON
        raise InputError(f"{FILE} or the environment: {error}") from error


def build_kit(
    settings: Settings,
    *,
    retriever: Retriever | None = None,
    say: Say = lambda _: None,
    progress: catalogue.Progress | None = None,
) -> Kit:
    """The kit that settings describe; models are opened at their first use.

    `say` hears what a user should know while waiting, `progress` how far a download is. Nothing is
    loaded. Raises `ConfigError` for a model that cannot be, `UnknownName` with the nearest one.
    """
    journal = _open_journal(settings)
    model = partial(_journalled, settings=settings, journal=journal, say=say, progress=progress)
    return Kit(
        model=model(settings.model),
        roles={role: model(name) for role, name in settings.role.items()},
        retriever=retriever,
        entailment=_entailment(settings),
        embedder=_late_embedder(settings, say, progress),
    )


def over(kit: Kit, retriever: Retriever | None) -> Kit:
    """The kit with something to search, and with what that knows of how reliable its sources are."""
    estimates = getattr(retriever, "estimates", None)
    return replace(kit, retriever=retriever, sources=estimates() if callable(estimates) else {})


def open_embedder(
    name: str,
    *,
    pull: bool = False,
    progress: catalogue.Progress | None = None,
    settings: Settings | None = None,
    dimension: int | None = None,
) -> Embedder | None:
    """The embedder of that name or folder, None for `none`; raises `InputError` when it is not here.

    `openai:NAME` is a model at OPENAI_BASE_URL, `openai:NAME@256` one asked for vectors of 256
    numbers; `dimension` is the length that its vectors are known to have, and nothing is asked here.
    """
    if name == "none":
        return None
    if name.startswith("openai:"):
        return _served_embedder(name, settings or read_settings(), dimension)
    from disputatio.store.embed import OnnxEmbedder

    folder = catalogue.path(name, pull=pull, progress=progress)
    if not folder.is_dir():
        raise InputError(f"{name}: an embedder is a folder with an .onnx file, this is a file")
    return OnnxEmbedder(folder, cache=catalogue.cache_folder() / "compiled")


def _late_embedder(settings: Settings, say: Say, progress: catalogue.Progress | None) -> Embedder | None:
    """The embedder of the settings, opened by the first strategy that compares passages by meaning."""
    if settings.embedder == "none":
        return None
    from disputatio.store.late_embedder import LateEmbedder

    def opened() -> Embedder:
        name = settings.embedder
        if not name.startswith("openai:") and not _is_here(name, "embedder") and not settings.replay:
            say(f"fetching the embedder {name}, once")
        part = open_embedder(name, pull=not settings.replay, progress=progress, settings=settings)
        return cast("Embedder", part)  # None is for "none" alone

    return LateEmbedder(opened)


def _served_embedder(name: str, settings: Settings, dimension: int | None) -> Embedder:
    """An embedder behind a server, with the prefixes of the settings, else those that its model wants."""
    from disputatio.llm.connection import Connection
    from disputatio.llm.endpoint_embedder import EndpointEmbedder, split_name
    from disputatio.store.model_folder import trained_prefixes

    model, dimensions = split_name(name.removeprefix("openai:"))
    usual = trained_prefixes(model)
    return EndpointEmbedder(
        Connection(model, in_flight=settings.in_flight),
        dimensions=dimensions,
        dimension=dimension,
        query_prefix=usual[0] if settings.query_prefix is None else settings.query_prefix,
        passage_prefix=usual[1] if settings.passage_prefix is None else settings.passage_prefix,
        usual_prefixes=usual,
    )


def embedder_for(
    settings: Settings,
    index: Path,
    *,
    named: str | None = None,
    create: bool = False,
    say: Say = lambda _: None,
    progress: catalogue.Progress | None = None,
) -> Embedder | None:
    """The embedder to open an index with: the one it was made with, else the one of the settings.

    `named` is what the user asked for by name, which is then not second-guessed. Query vectors are
    kept in the journal; on replay they come from there and no model is opened. None where the index
    is, or is to be, searched by keyword alone, or is not there and not to be made. Raises
    `StoreError` for what is no index, `ConfigError` for one of another embedder.
    """
    from disputatio.store.record.tables import read_note

    note = read_note(index)
    made_with = None if note is None else str(note.get("embedder", ""))
    name = named or settings.embedder
    if name == "none" or (named is None and made_with == "") or (note is None and not create):
        return None
    if settings.replay and note is not None and made_with:
        from disputatio.llm.journal_embedder import JournalEmbedder

        journal, size = partial(_open_journal, settings), int(note.get("dimension") or 0)
        return JournalEmbedder(None, journal, name=made_with, dimension=size)
    if named is None:
        name = _reopened(made_with or "") or name
    served = name.startswith("openai:")
    if not served and not _is_here(name, "embedder"):
        say(f"fetching the embedder {name}, once")
    known = int(note.get("dimension") or 0) if note and name == _reopened(made_with or "") else None
    part = open_embedder(name, pull=True, progress=progress, settings=settings, dimension=known)
    if part is not None and named is None and made_with and part.name != made_with:
        prefixes = ", and DISPUTATIO_QUERY_PREFIX and DISPUTATIO_PASSAGE_PREFIX to its prefixes"
        raise ConfigError(
            f"{index}: was made with the embedder {made_with}, not with {part.name}: "
            f"set DISPUTATIO_EMBEDDER to its name or folder{prefixes if served else ''}, "
            f"or give every passage a new vector with: disputatio index reembed NAME --index {index}"
        )
    if part is None or settings.journal == "none":
        return part
    from disputatio.llm.journal_embedder import JournalEmbedder

    return JournalEmbedder(part, partial(_open_journal, settings))


def _reopened(made_with: str) -> str:
    """What an index's embedder is opened by, going by the name it recorded; empty where that is not known."""
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
    """Where models, converted models and the journal are kept."""
    return settings.cache or catalogue.cache_folder()


def _entailment(settings: Settings) -> Entailment | None:
    if settings.entailment == "model":
        return None
    from disputatio.evidence.cross_encoder import CrossEncoder

    return CrossEncoder(Path(settings.entailment))


def _open_journal(settings: Settings) -> Any:
    """The journal of calls, None for none; on replay it must be there and is only read."""
    if settings.journal == "none":
        if settings.replay:
            raise ConfigError("--replay needs a journal: give --journal FILE")
        return None
    from disputatio.llm.journal import Journal

    default = settings.journal == "default"
    path = cache_folder(settings) / "calls.sqlite" if default else Path(settings.journal)
    if settings.replay and not path.is_file():
        raise InputError(f"{path}: there is no journal to replay")
    if path.is_dir():
        raise InputError(f"{path}: is a folder, not a journal")
    return Journal(path, readonly=settings.replay)


def _journalled(
    name: str, *, settings: Settings, journal: Any, say: Say, progress: catalogue.Progress | None
) -> LLM:
    from disputatio.llm.journal import Journalled

    if settings.replay:
        _split(name)
        return Journalled(None, journal, replay=True, name=name)
    model, engine = _open_model(name, settings, say, progress)
    return model if journal is None or engine is None else Journalled(model, journal, engine=engine)


def _open_model(
    name: str, settings: Settings, say: Say, progress: catalogue.Progress | None
) -> tuple[LLM, str | None]:
    """A model by its name, with the engine that stands in its journal keys; None: not journalled."""
    kind, rest = _split(name)
    if kind == "local":
        _is_here(rest, "language model")  # a wrong name is told now, not at the first call
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
    if kind == "openai":
        from disputatio.llm.endpoint import Endpoint
        from disputatio.llm.faults import Address

        base_url = os.environ.get("OPENAI_BASE_URL", "").strip()
        shown = Address(model=rest, base_url=base_url).shown if base_url else ""  # without a password
        return Endpoint(rest, in_flight=settings.in_flight), f"openai-compatible {shown}".strip()
    from disputatio.llm.scripted import Scripted

    script = _script(rest)
    # The default journal is for models: a script is kept only where a file was named for it.
    kept = settings.journal not in ("default", "none")
    digest = hashlib.sha256(repr(script).encode("utf-8", "backslashreplace")).hexdigest()[:16]
    return Scripted(script, name=name), f"scripted {digest}" if kept and rest else None


def _is_here(name: str, kind: Literal["language model", "embedder"]) -> bool:
    """Whether a model can be used without fetching it; nothing is loaded.

    Raises `UnknownName` with the nearest model of that kind, `ConfigError` for one of another kind,
    `InputError` for a path that leads nowhere.
    """
    prefix = "local:" if kind == "language model" else ""
    known = {entry.name: entry.kind for entry in catalogue.entries()}
    if known.get(name, kind) != kind:
        fits = ", ".join(prefix + one for one, its in known.items() if its == kind)
        raise ConfigError(f"{name} is no {kind}: choose one that is ({fits})")
    try:
        return catalogue.is_present(name)
    except UnknownName as error:
        models = [prefix + one for one, its in known.items() if its == kind]
        raise UnknownName(kind, prefix + name, models) from error


def _engine_of(name: str, engine: str) -> str:
    """The engine as it stands in journal keys: a local file that changed is another model."""
    path = Path(name)
    if not path.is_file():
        return engine
    stat = path.stat()
    return f"{engine} {stat.st_size}:{stat.st_mtime_ns}"


def _split(name: str) -> tuple[str, str]:
    kind, _, rest = name.partition(":")
    if kind not in KINDS or (not rest and kind != "scripted"):
        near = "local:NAME or openai:NAME"
        if any(entry.name == name for entry in catalogue.entries()):
            near = f"local:{name}"
        raise ConfigError(f"model {name!r}: write {near}")
    return kind, rest


def _find_model(name: str, say: Say, progress: catalogue.Progress | None) -> Path:
    """The model's file, fetched when it is not here yet."""
    if not catalogue.is_present(name):
        say(f"fetching the model {name}, once")
    return catalogue.path(name, pull=True, progress=progress)


def _script(path: str) -> Mapping[str, str] | Callable[[str], str]:
    """A scripted model's replies: a JSON file of {words of the prompt: reply}, or always "nothing found"."""
    if not path:
        return _abstain
    try:
        found = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from error
    except ValueError as error:
        raise InputError(f"{path}: is not a JSON object of replies: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise InputError(f"{path}: is not a JSON object whose values are replies")
    return found


def _abstain(prompt: str) -> str:
    if '"answers"' in prompt:
        return '{"answers": [], "explanation": "A script was asked, not a model."}'
    if '"subject"' in prompt:
        return '{"subject": "", "answer": "unknown"}'
    if '"answered"' in prompt:
        return '{"answered": "no", "answer": "", "quote": ""}'
    if not any(field in prompt for field in ('"explanation"', '"quote"')):
        return '{"answer": "unknown"}'
    return '{"answer": "unknown", "explanation": "A script was asked, not a model.", "quote": ""}'
