"""The use of an embedding model as its folder states it: the file to run, and how vectors are made.

A folder is read as it comes from a hub. Where it has the files of sentence-transformers they are
followed: `modules.json`, the pooling's `config.json`, `sentence_bert_config.json` (longest text) and
`config_sentence_transformers.json` (prompts). The folder's own `disputatio.json` has the last word, with any
of the fields of `EmbedderSettings`.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal

from disputatio.errors import ConfigError
from disputatio.text import content_id

OWN = "disputatio.json"
# As the catalogue chooses among the files of a repository: its main file, else the quantised one,
# since embedding is the cost of ingest.
_USUAL = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
# Prefixes that models were trained with, by name, where their folder lacks them: (query, passage).
_TRAINED_WITH = (
    (re.compile(r"(?:^|[^a-z0-9])e5-(?:small|base|large)(?!.*instruct)"), ("query: ", "passage: ")),
    (re.compile(r"nomic-embed-text"), ("search_query: ", "search_document: ")),
)
_POOLINGS = {
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean",  # a mean times a number: the same unit vector
    "cls_token": "cls",
    "max_tokens": "max",
    "lasttoken": "last",
}
_USE = ("pooling", "max_tokens", "query_prefix", "passage_prefix", "lower")  # what makes other vectors
_RUN = ("Transformer", "Pooling", "Normalize")
_UNBOUNDED = 100_000  # tokenizers without a bound name an absurdly large one


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedderSettings:
    """The prefixes, pooling and length that a model was trained with.

    `file` is the ONNX file to run, relative to the folder. `lower` turns texts into lower case first.
    `normalize` can only be true: a model made for dot products is to be used by cosine.
    """

    name: str = ""
    file: str = ""
    pooling: Literal["mean", "cls", "max", "last"] = "mean"
    max_tokens: int = 256
    query_prefix: str = ""
    passage_prefix: str = ""
    lower: bool = False
    normalize: Literal[True] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFolder:
    """The file to run and its settings; `left_out` names modules that run only inside a model that pools."""

    model: Path
    tokenizer: Path
    settings: EmbedderSettings
    left_out: tuple[str, ...] = ()

    def identity(self) -> str:
        """Return the name, 8 hex digits of the weights' SHA-256, and 4 of settings that are not plain.

        Reads the weights. Raises `ConfigError` when they cannot be read.
        """
        digest = hashlib.sha256()
        try:
            for path in (self.model, *sorted(self.model.parent.glob(f"{self.model.name}[._]data*"))):
                with path.open("rb") as file:
                    while piece := file.read(1 << 20):
                        digest.update(piece)
        except OSError as error:
            raise ConfigError(f"{self.model}: {(error.strerror or str(error)).lower()}") from error
        used = {name: value for name, value in asdict(self.settings).items() if name in _USE}
        plain = {name: value for name, value in asdict(EmbedderSettings()).items() if name in _USE}
        mark = "" if used == plain else "." + content_id("", json.dumps(used, sort_keys=True))[:4]
        return f"{self.settings.name}@{digest.hexdigest()[:8]}{mark}"


def trained_prefixes(name: str) -> tuple[str, str]:
    """Return the prefixes (query, passage) that a model of this name was trained with, if known.

    >>> trained_prefixes("intfloat/multilingual-e5-small"), trained_prefixes("all-MiniLM-L6-v2")
    (('query: ', 'passage: '), ('', ''))
    """
    return next((both for known, both in _TRAINED_WITH if known.search(name.lower())), ("", ""))


def read_folder(folder: Path) -> ModelFolder:
    """Find the model in a folder and how it is to be used.

    Raises `ConfigError` when the folder holds no model, several without saying which, or settings
    that cannot be followed.
    """
    stated, left_out = _stated(folder)
    overrides = _object(folder / OWN)
    known = {field.name for field in fields(EmbedderSettings)}
    settings = _validated({**stated, **{name: overrides[name] for name in known & overrides.keys()}}, folder)
    if not settings.normalize and stated.get("similarity") == "dot":
        raise ConfigError(
            f"{folder}: the model is made for dot products of vectors of any length, an index keeps unit "
            f'vectors; put {{"normalize": true}} into its {OWN} to use it by cosine'
        )
    model, tokenizer = _model_file(folder, settings.file), folder / "tokenizer.json"
    if not tokenizer.is_file():
        raise ConfigError(f"{folder}: an embedder's folder holds tokenizer.json")
    return ModelFolder(model=model, tokenizer=tokenizer, settings=settings, left_out=left_out)


def _model_file(folder: Path, named: str) -> Path:
    """Return the ONNX file that is named, else the usual one, else the only one."""
    if named:
        path = folder / named
        if Path(named).is_absolute() or ".." in Path(named).parts or not path.is_file():
            raise ConfigError(f"{folder / OWN}: names the file {named!r}, which is not in the folder")
        return path
    files = sorted([*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")])
    usual = [path for path in (folder / name for name in _USUAL) if path in files]
    chosen = usual or files
    if not usual and len(files) != 1:
        names = ", ".join(path.relative_to(folder).as_posix() for path in files[:6])
        which = f'this has {len(files)} ({names}): name one as "file" in {OWN}' if files else "this has 0"
        raise ConfigError(f"{folder}: an embedder's folder holds one .onnx file, {which}")
    return chosen[0]


def _stated(folder: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings that follow from the files of sentence-transformers, and the modules left out."""
    name = _name(folder)
    query, passage = trained_prefixes(name)
    stated: dict[str, Any] = {"name": name, "query_prefix": query, "passage_prefix": passage}
    modules = _modules(folder)
    kinds = [kind for kind, _ in modules]
    pooling = next((path for kind, path in modules if kind == "Pooling"), folder / "1_Pooling")
    config = _object(pooling / "config.json")
    if config:
        stated["pooling"] = _pooling(config, pooling / "config.json")
    transformer = next((path for kind, path in modules if kind == "Transformer"), folder)
    bert = _object(transformer / "sentence_bert_config.json")
    if bert.get("do_lower_case"):
        stated["lower"] = True
    if longest := bert.get("max_seq_length") or (_longest(folder) if modules else None):
        stated["max_tokens"] = longest
    card = _object(folder / "config_sentence_transformers.json")
    prompts = card.get("prompts")
    if isinstance(prompts, dict) and any(prompts.values()):
        usual = prompts.get(card.get("default_prompt_name") or "", "")
        stated["query_prefix"] = prompts.get("query", usual)
        stated["passage_prefix"] = next(
            (prompts[key] for key in ("document", "passage", "corpus") if key in prompts), usual
        )
        if config.get("include_prompt") is False:
            raise ConfigError(f"{pooling / 'config.json'}: pooling without the prompt is not supported")
    if str(card.get("similarity_fn_name")).startswith("dot") and "Normalize" not in kinds:
        stated["similarity"] = "dot"
    return stated, tuple(kind for kind in kinds if kind not in _RUN)


def _modules(folder: Path) -> list[tuple[str, Path]]:
    """Return the kinds of the modules of `modules.json`, in order, with their folders."""
    path = folder / "modules.json"
    listed = _json(path)
    if listed is None:
        return []
    modules = []
    for module in listed if isinstance(listed, list) else [None]:
        kind, place = (
            (module.get("type"), module.get("path", "")) if isinstance(module, dict) else (None, None)
        )
        if not isinstance(kind, str) or not isinstance(place, str) or ".." in Path(place).parts:
            raise ConfigError(f"{path}: is not a list of modules with their type and path")
        modules.append((kind.rpartition(".")[2], folder / place.lstrip("/")))
    return modules


def _pooling(config: Mapping[str, Any], path: Path) -> str:
    """Return the one pooling that the module's configuration names, in either of its forms.

    >>> _pooling({"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, Path("config.json"))
    'cls'
    >>> _pooling({"pooling_mode": "lasttoken"}, Path("config.json"))
    'last'
    """
    mode = config.get("pooling_mode")
    names = [mode] if isinstance(mode, str) else mode if isinstance(mode, list) else None
    if names is None:
        start = "pooling_mode_"
        names = [name.removeprefix(start) for name, on in config.items() if name.startswith(start) and on]
    short = {name.removesuffix("_token").removesuffix("_tokens"): ours for name, ours in _POOLINGS.items()}
    chosen = {_POOLINGS.get(str(name)) or short.get(str(name), "") for name in names}
    if len(names) != 1 or "" in chosen:
        raise ConfigError(
            f"{path}: pools by {', '.join(map(str, names)) or 'nothing'}, which is not supported"
        )
    return chosen.pop()


def _longest(folder: Path) -> int | None:
    """Return the longest text in tokens, by the tokenizer and by the model's table of positions."""
    config = _object(folder / "config.json")
    positions = config.get("max_position_embeddings")
    if isinstance(positions, int) and "roberta" in str(config.get("model_type")):
        positions -= 2  # its positions begin after the padding's
    bounds = [_object(folder / "tokenizer_config.json").get("model_max_length"), positions]
    return min(
        (int(bound) for bound in bounds if isinstance(bound, int) and 0 < bound < _UNBOUNDED), default=None
    )


def _name(folder: Path) -> str:
    """Return the model's name: that of the folder, or of the repository for a folder of a hub's own cache."""
    resolved = folder.resolve()
    if resolved.parent.name == "snapshots" and resolved.parent.parent.name.startswith("models--"):
        return resolved.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.name or resolved.name


def _validated(values: Mapping[str, Any], folder: Path) -> EmbedderSettings:
    from pydantic import TypeAdapter, ValidationError

    known = {field.name for field in fields(EmbedderSettings)}
    settings_fields = {name: value for name, value in values.items() if name in known}
    try:
        settings = TypeAdapter(EmbedderSettings).validate_python(settings_fields)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        raise ConfigError(f"{folder / OWN}: {where}: {first['msg']}") from error
    if settings.max_tokens < 1:
        raise ConfigError(f"{folder / OWN}: max_tokens must be at least 1")
    return settings


def _object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; empty where there is no file."""
    content = _json(path)
    if content is not None and not isinstance(content, dict):
        raise ConfigError(f"{path}: is not a JSON object")
    return content or {}


def _json(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise ConfigError(f"{path}: is not a JSON file that can be read") from error
