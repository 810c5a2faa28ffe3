"""Settings from flags, environment and file.

They come, in falling order, from what is passed here (the command line's flags), the environment
(`DISPUTATIO_MODEL`, ...), `disputatio.toml` in the working folder, and the defaults below.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from disputatio.errors import InputError, UnknownName
from disputatio.llm import catalogue
from disputatio.pipeline import DEFAULT_STRATEGY

FILE = "disputatio.toml"
LARGEST_SETTINGS = 262_144  # bytes
NAMED_FILE = "DISPUTATIO_CONFIG"
"""The variable that names the file of settings; one that was not named is trusted with less."""
FOUND_MAY_SET = (
    "strategy", "expect", "min_confidence", "merge_gb", "kv_cache_gb", "context_tokens", "in_flight",
    "connect_seconds", "first_byte_seconds", "between_tokens_seconds", "total_seconds",
)  # fmt: skip
"""Settings that a file may make which merely lies in the working folder; of strategies, the shipped ones."""

Say = Callable[[str], None]


class Settings(BaseSettings):
    """All that a user can set, the same by flag, by `DISPUTATIO_*` and in `disputatio.toml`."""

    model_config = SettingsConfigDict(
        env_prefix="DISPUTATIO_", toml_file=FILE, extra="forbid", frozen=True, env_ignore_empty=True
    )

    model: str = Field(
        f"local:{catalogue.DEFAULT_MODEL}", description="local:NAME, ollama:NAME, openai:NAME or none"
    )
    role: dict[str, str] = Field(default_factory=dict, description="another model for a role")
    strategy: str = Field(DEFAULT_STRATEGY, description="how questions are answered")
    expect: Literal["auto", "one", "several"] = Field(
        "auto", description="how many answers of a question are right, for strategies that ask"
    )
    min_confidence: float | None = Field(
        None,
        ge=0,
        le=1,
        description="abstain where an answer is less likely than this to be right; "
        "if not set, 0.3 for `disputation` and 0 for others",
    )
    index: Path = Field(
        Path("disputatio.index"),
        description="folder of the index; several, divided by commas, are searched as one",
    )
    embedder: str = Field(
        catalogue.DEFAULT_EMBEDDER, description="embedding model or its folder, openai:NAME, or none"
    )
    reranker: str = Field(
        "none", description="openai:NAME at a server with /rerank, folder of an ONNX cross-encoder, or none"
    )
    query_prefix: str | None = Field(None, description="before each query, for an openai: embedder")
    passage_prefix: str | None = Field(None, description="before each passage, for an openai: embedder")
    encoder: str = Field("default", description="trained encoder: default, its zip file or folder, or none")
    entailment: str = Field(
        "auto", description="who judges claims: auto, model, encoder, or folder of an ONNX cross-encoder"
    )
    journal: str = Field("default", description="file of the calls made, default, or none")
    replay: bool = Field(False, description="answer from the journal alone")
    cache: Path | None = Field(None, description="where models and the journal are kept")
    merge_gb: float = Field(1, ge=0.1, le=1024, description="memory that merging parts of an index may take")
    kv_cache_gb: int = Field(2, ge=1, le=1024, description="memory for the embedded engine's prefixes")
    thinking: bool = Field(
        False, description="let a model of Ollama, vLLM or llama.cpp think before it replies"
    )
    otel: bool = Field(False, description="send OpenTelemetry spans of each question to a collector")
    context_tokens: int = Field(32_768, ge=512, description="the embedded model's context")
    in_flight: int = Field(8, ge=1, le=1024, description="calls to an endpoint at a time")
    connect_seconds: float = Field(10, gt=0, le=86_400, description="to have a connection to an endpoint")
    first_byte_seconds: float = Field(120, gt=0, le=86_400, description="until an endpoint's reply begins")
    between_tokens_seconds: float = Field(60, gt=0, le=86_400, description="between pieces of a reply")
    total_seconds: float = Field(600, gt=0, le=86_400, description="for one call with all its attempts")

    @field_validator("index", "cache", "journal", "encoder", "entailment", "embedder", "reranker")
    @classmethod
    def _at_home(cls, value: Any) -> Any:
        """Return a path that begins with `~` is one below the user's home."""
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
        """Return flags, then the environment, then the file."""
        del dotenv_settings, file_secret_settings  # settings do not come from there
        _check_size(settings_file())
        file = TomlConfigSettingsSource(settings_cls, settings_file())
        if not os.environ.get(NAMED_FILE):
            _check_found(file(), {**env_settings(), **init_settings()})
        if "cache" in file():  # models are found by it before any file is read
            raise InputError(f"{FILE}: cache is set by the variable DISPUTATIO_CACHE alone")
        return init_settings, env_settings, file


def settings_file() -> Path:
    """Return the file of settings that the user named, else the one that may lie in the working folder."""
    return Path(os.environ.get(NAMED_FILE) or FILE)


def _check_size(file: Path) -> None:
    """Raise `InputError` for what is no file of settings: endless, or a pipe without a writer."""
    try:
        about = file.stat()
    except OSError:
        return  # there is none, or it says so itself when it is opened
    if not stat.S_ISREG(about.st_mode):
        raise InputError(f"{file}: is no regular file, so it is not read for settings")
    if about.st_size > LARGEST_SETTINGS:
        raise InputError(
            f"{file}: is larger than {LARGEST_SETTINGS >> 10} KB, the limit of a file of settings"
        )


def _check_found(found: Mapping[str, Any], chosen: Mapping[str, Any]) -> None:
    """Refuse a setting that a found file may not make, unless a flag or a variable overrules it.

    The file came with the folder, perhaps from a stranger. Raises `InputError` that says how to allow it.
    """
    for name, value in found.items():
        if name == "cache" or name not in Settings.model_fields:
            continue  # refused, or explained, wherever it stands
        allowed = name in FOUND_MAY_SET and not (name == "strategy" and ":" in str(value))
        overruled = name in chosen
        if overruled and isinstance(value, Mapping):  # its keys are overruled one by one
            overruled = set(value) <= set(chosen[name])
        if not allowed and not overruled:
            setting = "a strategy of your own" if name in FOUND_MAY_SET else name
            raise InputError(
                f"{FILE} in this folder may not set {setting}: if the file is yours, name it by "
                f"{NAMED_FILE}={FILE}, or set DISPUTATIO_{name.upper()} or the flag"
            )


def read_settings(**flags: Any) -> Settings:
    """Return the settings in force; flags that are None were not given. Raises `InputError` in one line."""
    try:
        return Settings(**{name: value for name, value in flags.items() if value is not None})
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        if first["type"] == "extra_forbidden":
            raise UnknownName("setting", where, Settings.model_fields, command="disputatio config") from error
        raise InputError(
            f"setting {where}: {first['msg']} (flag, DISPUTATIO_{where.upper()} or {FILE})"
        ) from error
    except ValueError as error:  # the file is not TOML, or a variable is not JSON
        raise InputError(f"{FILE} or the environment: {error}") from error
