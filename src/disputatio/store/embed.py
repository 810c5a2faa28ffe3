"""An embedder from a local folder: an ONNX model and its tokenizer, run by OpenVINO.

How the model is used is read from its folder (`model_folder`). Texts are sorted by length and run in
batches of a bounded number of tokens, several at a time: OpenVINO's throughput mode, one stream of
batches a core or so, was never slower than one batch on all cores, and far faster beside other work.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from disputatio.errors import ConfigError, require_package
from disputatio.platforms import block_usage_reports
from disputatio.protocols import Embedder
from disputatio.text import content_id

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BATCH_TOKENS = 1024  # of a batch, padding included; see bench/results/engine/embed_speed.md
_AT_ONCE = 2048  # texts tokenised at a time: their tokens are held together
_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_POOLED = "sentence_embedding"  # an output that the whole model made, all its modules included


@dataclass(frozen=True, slots=True, kw_only=True)
class _Loaded:
    """The model in memory: a queue of requests for many batches, one request for a single one."""

    queue: Any
    request: Any
    tokenizer: Any
    output: int
    dimension: int
    ports: dict[str, Any]


class OnnxEmbedder:
    """An embedding model in a folder (`Embedder`), loaded at the first use; its compiled form is kept in
    `cache`. Threads may share it: long calls wait for one another, and a query does not wait for them.
    """

    def __init__(self, folder: str | Path, *, cache: str | Path | None = None, threads: int = 0) -> None:
        """Find the model's files; `threads=0`: as the engine likes. Raises `ConfigError` for none."""
        self.folder, self.cache, self._threads = Path(folder), cache, threads
        self._found: ModelFolder = read_folder(self.folder)
        self._name = self._found.identity()
        self._loading, self._many, self._single = threading.Lock(), threading.Lock(), threading.Lock()
        self._loaded: _Loaded | None = None

    @property
    def name(self) -> str:
        """The model's name, the first 8 hex digits of the SHA-256 of its weights, and a mark of its use."""
        return self._name

    @property
    def settings(self) -> EmbedderSettings:
        return self._found.settings

    @property
    def dimension(self) -> int:
        return self._load().dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; a text beyond `max_tokens` is cut there."""
        import numpy as np

        loaded = self._load()
        prefix = self.settings.query_prefix if query else self.settings.passage_prefix
        vectors = np.zeros((len(texts), loaded.dimension), dtype=np.float32)
        for at in range(0, len(texts), _AT_ONCE):
            prefixed = [prefix + text for text in texts[at : at + _AT_ONCE]]
            if self.settings.lower:
                prefixed = [text.lower() for text in prefixed]
            tokens = [encoding.ids for encoding in loaded.tokenizer.encode_batch(prefixed)]
            batches = batches_of([len(ids) for ids in tokens], _BATCH_TOKENS)
            self._run(loaded, tokens, batches, vectors[at : at + _AT_ONCE])
        if not np.isfinite(vectors).all():
            raise ConfigError(f"{self._found.model}: made a vector that is not of numbers; is it damaged?")
        return vectors

    def _run(
        self,
        loaded: _Loaded,
        tokens: Sequence[Sequence[int]],
        batches: Sequence[list[int]],
        vectors: NDArray[np.float32],
    ) -> None:
        """Fill the rows of `vectors`, one batch at a time or, of several, as many as the engine takes."""

        def keep(request: Any, batch: list[int]) -> None:
            states = request.get_output_tensor(loaded.output).data
            vectors[batch] = _unit(_pool(states, [len(tokens[row]) for row in batch], self.settings.pooling))

        if len(batches) == 1:
            with self._single:
                loaded.request.infer(_feed(loaded, [tokens[row] for row in batches[0]]))
                keep(loaded.request, batches[0])
            return
        with self._many:
            loaded.queue.set_callback(keep)
            try:
                for batch in batches:
                    loaded.queue.start_async(_feed(loaded, [tokens[row] for row in batch]), batch)
            finally:  # also when interrupted: the requests write into arrays of this call
                loaded.queue.wait_all()

    def _load(self) -> _Loaded:
        with self._loading:
            if self._loaded is None:
                self._loaded = self._open_model()
            return self._loaded

    def _open_model(self) -> _Loaded:
        block_usage_reports()
        with require_package("openvino", "local"):
            import openvino
        file = self._found.model
        core = openvino.Core()
        # In float32 a text has the same vector on every machine and beside any other text. What a
        # processor prefers (bfloat16) is at most a tenth faster for an int8 model.
        settings: dict[str, Any] = {"PERFORMANCE_HINT": "THROUGHPUT", "INFERENCE_PRECISION_HINT": "f32"}
        if self._threads:
            settings["INFERENCE_NUM_THREADS"] = self._threads
            # Else the engine binds them to the first cores, those of every other process beside them too.
            settings["ENABLE_CPU_PINNING"] = False
        if self.cache is not None:
            core.set_property({"CACHE_DIR": str(self.cache)})
        try:
            model = core.compile_model(str(file), "CPU", settings)
        except RuntimeError as error:
            raise ConfigError(f"{file}: is not a model that OpenVINO reads") from error
        strange = [port.any_name for port in model.inputs if port.any_name not in _INPUTS]
        if strange:
            raise ConfigError(f"{file}: wants an input {strange[0]!r} that is not known")
        output = _output(model)
        shape = model.outputs[output].get_partial_shape()
        if shape.rank.is_dynamic or shape[-1].is_dynamic:
            raise ConfigError(f"{file}: does not state the length of its vectors")
        if self._found.left_out and len(shape) != 2:
            raise ConfigError(
                f"{file}: lacks the module {self._found.left_out[0]} that follows it in modules.json; "
                f"export the model as a whole, with an output {_POOLED}"
            )
        return _Loaded(
            queue=openvino.AsyncInferQueue(model),
            request=model.create_infer_request(),
            tokenizer=self._tokenizer(),
            output=output,
            dimension=int(shape[-1].get_length()),
            ports={port.any_name: port.get_element_type().to_dtype() for port in model.inputs},
        )

    def _tokenizer(self) -> Any:
        with require_package("tokenizers", "local"):
            from tokenizers import Tokenizer
        file = self._found.tokenizer
        try:
            json.loads(file.read_bytes())
        except (OSError, ValueError) as error:
            raise ConfigError(f"{file}: is not a tokenizer") from error
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.enable_truncation(self.settings.max_tokens)
        return tokenizer


class LazyEmbedder:
    """An `Embedder` that is opened, and fetched if need be, at its first use; thread-safe, opened once."""

    def __init__(self, opener: Callable[[], Embedder]) -> None:
        self._open = opener
        self._lock = threading.Lock()
        self._embedder: Embedder | None = None

    @property
    def name(self) -> str:
        return self._get_embedder().name

    @property
    def dimension(self) -> int:
        return self._get_embedder().dimension

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        """Return an array (len(texts), dimension) of unit rows; raises what opening the model raises."""
        return self._get_embedder().embed(texts, query=query)

    def _get_embedder(self) -> Embedder:
        with self._lock:
            if self._embedder is None:
                self._embedder = self._open()
            return self._embedder


def batches_of(lengths: Sequence[int], tokens: int) -> list[list[int]]:
    """Return the rows in batches of like lengths, of at most `tokens` when padded; a longer one alone.

    >>> batches_of([3, 9, 1, 2], 6)
    [[2, 3], [0], [1]]
    """
    batches: list[list[int]] = []
    for row in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batches and (len(batches[-1]) + 1) * lengths[row] <= tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def _feed(loaded: _Loaded, tokens: Sequence[Sequence[int]]) -> dict[str, Any]:
    import numpy as np

    ids = np.zeros((len(tokens), max(1, *map(len, tokens))), dtype=np.int64)
    mask = np.zeros_like(ids)
    for row, row_tokens in enumerate(tokens):
        ids[row, : len(row_tokens)] = row_tokens
        mask[row, : len(row_tokens)] = 1
    places = np.broadcast_to(np.arange(ids.shape[1]), ids.shape)
    inputs = dict(zip(_INPUTS, (ids, mask, np.zeros_like(ids), places), strict=True))
    return {name: np.ascontiguousarray(inputs[name], dtype=kind) for name, kind in loaded.ports.items()}


def _pool(states: NDArray[np.float32], lengths: Sequence[int], pooling: str) -> NDArray[np.float32]:
    """Return one vector for each text from its tokens' states, leaving out the padding."""
    import numpy as np

    if states.ndim == 2:  # the model pools by itself
        return states.copy()
    if pooling == "cls":
        return states[:, 0].copy()
    size = np.maximum(np.asarray(lengths), 1)
    if pooling == "last":
        pooled: NDArray[np.float32] = states[np.arange(len(size)), size - 1]
        return pooled
    inside = (np.arange(states.shape[1]) < size[:, None])[:, :, None]
    if pooling == "max":
        return np.asarray(np.where(inside, states, -np.inf).max(axis=1), dtype=np.float32)
    return np.asarray((states * inside).sum(axis=1) / size[:, None], dtype=np.float32)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    import numpy as np

    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(norms, 1e-12), dtype=np.float32)


def _output(model: Any) -> int:
    """Return the number of the output with the vectors: that of the whole model, else the first."""
    names = [port.get_names() for port in model.outputs]
    return next((number for number, name in enumerate(names) if _POOLED in name), 0)


# --- the folder of a model ----------------------------------------------------------------------------
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
        """Return the name, 8 hex digits of the weights' SHA-256, and 4 of unusual settings, read now."""
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


def find_prefixes(name: str) -> tuple[str, str]:
    """Return the prefixes (query, passage) that a model of this name was trained with, if known.

    >>> find_prefixes("intfloat/multilingual-e5-small"), find_prefixes("all-MiniLM-L6-v2")
    (('query: ', 'passage: '), ('', ''))
    """
    return next((both for known, both in _TRAINED_WITH if known.search(name.lower())), ("", ""))


def read_folder(folder: Path) -> ModelFolder:
    """Find the model in a folder and how it is to be used; raises `ConfigError` for none, or several."""
    stated, left_out = _read_stated(folder)
    overrides = _object(folder / OWN)
    known = {field.name for field in fields(EmbedderSettings)}
    settings = _validate({**stated, **{name: overrides[name] for name in known & overrides.keys()}}, folder)
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


def _read_stated(folder: Path) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return the settings that follow from the files of sentence-transformers, and the modules left out."""
    name = _name(folder)
    query, passage = find_prefixes(name)
    stated: dict[str, Any] = {"name": name, "query_prefix": query, "passage_prefix": passage}
    modules = _modules(folder)
    kinds = [kind for kind, _ in modules]
    pooling = next((path for kind, path in modules if kind == "Pooling"), folder / "1_Pooling")
    config = _object(pooling / "config.json")
    if config:
        stated["pooling"] = _find_pooling(config, pooling / "config.json")
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


def _find_pooling(config: Mapping[str, Any], path: Path) -> str:
    """Return the one pooling that the module's configuration names, in either of its forms.

    >>> modes = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}
    >>> _find_pooling(modes, Path("config.json"))
    'cls'
    >>> _find_pooling({"pooling_mode": "lasttoken"}, Path("config.json"))
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


def _validate(values: Mapping[str, Any], folder: Path) -> EmbedderSettings:
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
