"""`disputatio doctor`: checks packages, engine, models, disk, endpoint and index."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from disputatio.cli.opening import is_there
from disputatio.cli.options import Indexes, Json, Model, Roles, read_roles
from disputatio.cli.screen import buffer_output, plain, wrap_beside, write_json
from disputatio.errors import DisputatioError, InputError, MissingDependency
from disputatio.kit import TRAINED_READER
from disputatio.llm.model_names import ENGINES, suggest_name
from disputatio.types import Passage

if TYPE_CHECKING:
    from disputatio.config import Settings
    from disputatio.llm.endpoint import Trial

State = Literal["ok", "missing", "broken"]
_MARKS = {"ok": ("✓", "green"), "missing": ("-", "yellow"), "broken": ("✗", "red")}
_EXTRAS = ("local", "openai", "store", "serve", "arrow", "scale", "postgres", "inspect")
_LEAST_CONTEXT = 8_192  # tokens: what strategies that read all passages in one call may need
_WIDEST = 32  # characters of the names' column
_ENOUGH = 1e9  # bytes free, below which an index or a converted model may not fit
_ENDPOINT_SECONDS = 3.0
_ENGINE_SECONDS = 120.0
# The longest waits, in seconds: a server may have to load the model first.
_LONGEST = {"connect_seconds": 5.0, "first_byte_seconds": 90.0, "total_seconds": 120.0}
_THINKING = {
    "none": "no: the model answers at once",
    "switchable": "yes, unless it is told not to, as it is without thinking = true",
    "always": "yes, and it cannot be told not to: answers take long",
}
_LOAD_ENGINE = "import sys; sys.modules['openvino_telemetry'] = None; import openvino_genai"


class Check(NamedTuple):
    """The result of a check: `missing` is absent and not needed yet, `broken` prevents answers."""

    name: str
    state: State
    detail: str


def doctor(
    index: Indexes = None,
    model: Model = None,
    role: Roles = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Time the processor for five seconds; the engine goes by it.")
    ] = False,
    tried: Annotated[
        bool, typer.Option("--try", help="Call the models that are at a server, a few tiny calls each.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check the engine, models, disk, endpoint and index.

    The exit code is 1 when something that is needed is broken. Nothing is fetched, and without
    `--try` no model is called.
    """
    from disputatio.config import read_settings

    settings = read_settings(index=index, model=model, role=read_roles(role))
    checks = list(run_checks(settings, index_named=index is not None, measured=measure))
    if tried:
        checks += try_servers(settings)
    broken = sum(check.state == "broken" for check in checks)
    if as_json:
        write_json({"healthy": not broken, "checks": [check._asdict() for check in checks]}, indent=2)
    else:
        width = min(_WIDEST, max(len(check.name) for check in checks))
        with buffer_output() as out:
            for check in checks:
                mark, style = _MARKS[check.state]
                out.print(wrap_beside(plain(f"{mark} {check.name:<{width}}  ", style), check.detail))
    raise typer.Exit(1 if broken else 0)


def run_checks(settings: Settings, *, index_named: bool = False, measured: bool = False) -> Iterator[Check]:
    """Run all checks, in order; with `index_named` a missing index is an error; `measured` times the
    processor.
    """
    from disputatio.llm import catalogue
    from disputatio.parts import prefers_trained

    names = [settings.model, *settings.role.values()]
    if prefers_trained(settings) and TRAINED_READER not in settings.role:
        names.append(f"local:{catalogue.DEFAULT_READER}")
    kinds = {name.partition(":")[0] for name in names}
    if settings.embedder != "none":
        kinds.add("openai" if settings.embedder.startswith("openai:") else "local")
    if settings.reranker.startswith("openai:"):
        kinds.add("openai")
    has_index = index_named or is_there(settings)
    engines = [kind for kind in sorted(kinds) if kind in ENGINES]
    if engines:
        kinds.add("openai")  # the client that they are called with
    needed = {kind for kind in ("local", "openai") if kind in kinds} | ({"store"} if has_index else set())
    yield _program()
    yield from (_extra(extra, needed=extra in needed) for extra in _EXTRAS)
    if any(name.startswith("local:") for name in names):
        yield _engine()
        yield _cores(settings, measured=measured)
    yield from (_model(name) for name in dict.fromkeys(names))
    if settings.embedder != "none":
        yield _embedder(settings.embedder)
    if settings.reranker != "none":
        yield _reranker(settings)
    if settings.encoder != "none" or settings.model == "none":
        yield _encoder(settings.encoder, needed=settings.model == "none")
    yield _parsers()
    yield _disk(settings)
    base_url = os.environ.get("OPENAI_BASE_URL", "").strip()
    if base_url:
        yield _endpoint(base_url, os.environ.get("OPENAI_API_KEY", "").strip(), needed="openai" in kinds)
    for engine in engines:
        yield _endpoint(ENGINES[engine].base_url, "", needed=True)
    yield _index(settings.index, named=index_named)


def _program() -> Check:
    import disputatio

    machine = f"{platform.system()} {platform.machine()}"
    detail = f"disputatio {disputatio.__version__}, Python {platform.python_version()}, {machine}"
    return Check("program", "ok", detail)


def _extra(extra: str, *, needed: bool) -> Check:
    versions, absent = [], []
    for package in _packages(extra):
        try:
            versions.append(f"{package} {metadata.version(package)}")
        except metadata.PackageNotFoundError:
            absent.append(package)
    name = f"extra {extra}"
    if not absent:
        return Check(name, "ok", ", ".join(versions))
    detail = f"{', '.join(absent)} not installed: run pip install 'disputatio[{extra}]'"
    return Check(name, "broken" if needed else "missing", detail)


def _packages(extra: str) -> list[str]:
    """Return the packages that an extra brings, by the metadata of the installed program."""
    lines = metadata.requires("disputatio") or []
    ours = re.compile(rf"""extra\s*==\s*['"]{extra}['"]""")
    return [re.split(r"[\s\[;<>=!~(]", line, maxsplit=1)[0] for line in lines if ours.search(line)]


def _parsers() -> Check:
    """Check what the kernel forbids the process that parses documents."""
    from disputatio.store.ingesting.confine import fences

    known = fences()
    landlock = f"files by Landlock {known['landlock']}" if known["landlock"] else "no Landlock"
    calls = "system calls by seccomp" if known["seccomp"] else "no filter of system calls"
    rest = "" if all(known.values()) else "; limits and a hook of Python are what is left"
    return Check("parsers", "ok", f"confined: {landlock}, {calls}{rest}")


def _engine() -> Check:
    """Check that the embedded engine loads, in a process of its own."""
    from disputatio.llm.local import engine_name

    try:
        name = engine_name()
    except MissingDependency as error:
        return Check("engine", "broken", str(error))
    try:
        command = [sys.executable, "-c", _LOAD_ENGINE]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_ENGINE_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Check("engine", "broken", f"{name} did not load within {_ENGINE_SECONDS:.0f} s")
    if done.returncode == 0:
        return Check("engine", "ok", f"{name} loads")
    reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    return Check("engine", "broken", f"{name} does not load: {reason}")


def _cores(settings: Settings, *, measured: bool) -> Check:
    """Check how many cores are free, and how fast they are, measured now or before."""
    from disputatio.llm import cores
    from disputatio.parts import cache_folder

    cache = cache_folder(settings)
    try:
        if measured:
            cores.keep(cores.measure(), cache)
    except (ImportError, OSError, RuntimeError) as error:
        return Check("cores", "broken", f"could not be measured: {error}")
    allowed = cores.list_allowed_cores()
    detail = f"{cores.threads_now(cache)} of {cores.physical_cores(allowed)} for the engine now"
    machine = cores.kept(cache)
    if machine is None or machine.processor != cores.processor():
        return Check("cores", "ok", f"{detail}; not measured: disputatio doctor --measure")
    threads = ", ".join(f"{speed:.0f} with {count}" for count, speed in machine.threads.items())
    names = ", ".join(f"{name} {speed:.0f}" for name, speed in machine.precisions.items())
    return Check("cores", "ok", f"{detail}; GFLOPS by threads: {threads}; {names}")


def _model(name: str) -> Check:
    kind, _, rest = name.partition(":")
    if kind == "local":
        return _check_catalogued(f"model {rest}", rest)
    if kind in ENGINES and rest:
        return Check(f"model {rest}", "ok", f"served by {kind}")
    if kind == "openai":
        if os.environ.get("OPENAI_API_KEY", "").strip() or os.environ.get("OPENAI_BASE_URL", "").strip():
            return Check(f"model {rest}", "ok", "served by the endpoint")
        return Check(f"model {rest}", "broken", "needs OPENAI_API_KEY, or OPENAI_BASE_URL of your own server")
    if kind == "scripted":
        return Check(f"model {name}", "ok", "replies from a script; no model is called")
    if name == "none":
        detail = "no language model: the trained encoder reads and judges, and nothing is written"
        return Check("model none", "ok", detail)
    from disputatio.llm import catalogue

    known = [entry.name for entry in catalogue.entries()]
    return Check(f"model {name}", "broken", suggest_name(name, known))


def _embedder(name: str) -> Check:
    if name.startswith("openai:"):
        return Check(f"embedder {name}", "ok", "served by the endpoint")
    return _check_catalogued(f"embedder {name}", name)


def _reranker(settings: Settings) -> Check:
    from disputatio.parts import open_reranker

    name = f"reranker {settings.reranker}"
    try:
        open_reranker(settings)
    except DisputatioError as error:
        return Check(name, "broken", str(error))
    served = settings.reranker.startswith("openai:")
    return Check(name, "ok", "served by the endpoint" if served else "loads")


def _encoder(name: str, *, needed: bool) -> Check:
    from disputatio.parts import open_encoder

    try:
        encoder = open_encoder(name)
        if encoder is not None:
            return Check("encoder", "ok", f"{encoder.name} in {encoder.path}")
        detail = "not installed, and --model none needs it: leave encoder at default"
        return Check("encoder", "broken" if needed else "missing", detail)
    except (InputError, OSError) as error:
        return Check("encoder", "broken", str(error))


def _check_catalogued(label: str, name: str) -> Check:
    from disputatio.llm import catalogue

    try:
        if catalogue.is_present(name):
            path = catalogue.path(name)
            return Check(label, "ok", f"{_megabytes(_size(path))} in {path}")
    except DisputatioError as error:
        return Check(label, "broken", str(error))
    known = [entry for entry in catalogue.entries() if entry.name == name]
    size = f", {_megabytes(sum(file.size or 0 for file in known[0].files))}" if known else ""
    detail = f"not here yet; fetched at first use{size}, or now with: disputatio model pull {name}"
    return Check(label, "missing", detail)


def _disk(settings: Settings) -> Check:
    from disputatio.parts import cache_folder

    folder = cache_folder(settings)
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    free = shutil.disk_usage(nearest).free
    detail = f"{_megabytes(free)} free for models and the journal in {folder}"
    if not os.access(nearest, os.W_OK):
        return Check("disk", "broken", f"{nearest} cannot be written to")
    if free < _ENOUGH:
        return Check("disk", "broken", f"only {detail}; name another with DISPUTATIO_CACHE")
    return Check("disk", "ok", detail)


def _endpoint(base_url: str, key: str, *, needed: bool) -> Check:
    """Check that a server lists its models; the key is never shown."""
    import urllib.error
    import urllib.request

    from disputatio.llm.faults import Address

    at = Address(model="", base_url=base_url, key=key)
    bad: State = "broken" if needed else "missing"
    if not base_url.startswith(("http://", "https://")):
        return Check("endpoint", bad, "OPENAI_BASE_URL must be an address such as http://127.0.0.1:8000/v1")
    try:
        request = urllib.request.Request(
            f"{at.shown}/models", headers={"Authorization": f"Bearer {key}"} if key else {}
        )
        with urllib.request.urlopen(request, timeout=_ENDPOINT_SECONDS):
            return Check("endpoint", "ok", f"{at.shown} answers")
    except urllib.error.HTTPError as error:
        with error:
            if error.code in (401, 403):
                refused = "refuses OPENAI_API_KEY" if key else "needs OPENAI_API_KEY"
                return Check("endpoint", bad, f"{at.shown} {refused} ({error.code})")
            state: State = "ok" if error.code in (404, 405) else bad  # no list of models, yet a server
            return Check("endpoint", state, f"{at.shown} answers with {error.code}")
    except (OSError, ValueError) as error:
        reason = at.words(str(getattr(error, "reason", error)))
        return Check("endpoint", bad, f"{at.shown} cannot be reached: {reason}")


def _index(folder: Path, *, named: bool) -> Check:
    try:
        from disputatio.store.addresses import is_served, mask_secrets, split_paths
        from disputatio.store.opening import open_index

        if not is_served(folder) and not any(part.exists() for part in split_paths(folder)):
            detail = f"{folder}: there is no index here; make one with: disputatio ingest PATH"
            return Check("index", "broken" if named else "missing", detail)
        info = open_index(folder, create=False).info()
    except DisputatioError as error:
        return Check("index", "broken", str(error))
    except ImportError as error:
        return Check("index", "broken", f"{folder}: {error}")
    detail = (
        f"{mask_secrets(folder)}: format {info.format}, {info.documents:,} documents, "
        f"{info.passages:,} passages, "
        f"embedder {info.embedder or 'none'}"
    )
    for failed in info.unsearched:
        detail += f"; not read: {failed.index}: {failed.reason}"
    return Check("index", "broken" if info.unsearched else "ok", detail)


def try_servers(settings: Settings) -> Iterator[Check]:
    """Call the language models, the embedder and the reranker that are at a server, with tiny texts."""
    longest = {name: min(seconds, getattr(settings, name)) for name, seconds in _LONGEST.items()}
    settings = settings.model_copy(update=longest)
    names = dict.fromkeys((settings.model, *settings.role.values()))
    trials: list[tuple[str, Callable[[str, Settings], Iterator[Check]]]] = [
        (name, _try_model) for name in names if name.partition(":")[0] in ("openai", *ENGINES)
    ]
    others = ((settings.embedder, _try_embedder), (settings.reranker, _try_reranker))
    trials += [(name, trial) for name, trial in others if name.startswith("openai:")]
    if not trials:
        yield Check("try", "missing", "no model, embedder or reranker of the settings is at a server")
    for name, trial in trials:
        try:
            yield from trial(name, settings)
        except DisputatioError as error:
            yield Check(f"try {name}", "broken", str(error))


def _try_model(name: str, settings: Settings) -> Iterator[Check]:
    from disputatio.parts import open_endpoint

    with open_endpoint(name, settings) as endpoint:
        trial = endpoint.try_out()
    spent = trial.usage
    tokens = spent.prompt_tokens + spent.completion_tokens
    detail = f"answers: {spent.calls} calls, {tokens:,} tokens, {spent.seconds:.1f} s"
    yield Check(f"try {name}", "ok", detail)
    for ability, had, detail in _abilities(trial, name.partition(":")[0]):
        yield Check(f"  {name} {ability}", "ok" if had else "missing", detail)


def _abilities(trial: Trial, kind: str) -> Iterator[tuple[str, bool, str]]:
    """Yield what a model can do: the ability, whether it has it, and the detail."""
    can = trial.capabilities
    if trial.listed is None:
        yield "listed", False, "the server lists no models"
    else:
        yield (
            "listed",
            trial.listed,
            "yes" if trial.listed else "no, although it answers: is the name an alias?",
        )
    instead = "ignored or refused: it is stated in the prompt instead"
    yield "schema", can.schema, "replies are held to it" if can.schema else instead
    none = "none: a strategy that needs them says so; give its role another model (--role ROLE=MODEL)"
    yield "log-probabilities", can.logprobs, f"of {can.max_options} alternatives" if can.logprobs else none
    cached = f"{trial.cached_tokens} of {trial.prompt_tokens} tokens of a repeated prompt"
    unknown = f"none reported for a repeated prompt of {trial.prompt_tokens} tokens"
    yield "prefix cache", trial.cached_tokens > 0, cached if trial.cached_tokens else unknown
    yield "thinking", trial.thinking != "always", _THINKING[trial.thinking]
    context = trial.context_tokens
    detail = f"{context:,} tokens" if context else "the server does not tell"
    if context and context < _LEAST_CONTEXT:
        how = ENGINES[kind].widened if kind in ENGINES else ""
        detail += f": longer prompts are cut or refused{f'; start it with {how}' if how else ''}"
    yield "context", context is not None and context >= _LEAST_CONTEXT, detail


def _try_embedder(name: str, settings: Settings) -> Iterator[Check]:
    from disputatio.parts import open_embedder

    embedder = open_embedder(name, settings=settings)
    assert embedder is not None, "only `none` is none"
    vectors = embedder.embed(["A ferry crosses the river.", "The mill burned down."])
    yield Check(f"try {name}", "ok", f"embeds: vectors of {vectors.shape[1]} numbers")


def _try_reranker(name: str, settings: Settings) -> Iterator[Check]:
    from disputatio.parts import open_reranker

    reranker = open_reranker(settings)
    assert reranker is not None, "only `none` is none"
    texts = ("The mill burned down.", "The ferry crosses the river twice a day.")
    passages = [Passage(id=text, text=text, source="doctor") for text in texts]
    mill, ferry = reranker.rerank("How often does the ferry cross the river?", passages)
    if ferry > mill:
        yield Check(f"try {name}", "ok", "reranks: the passage that answers comes first")
    else:
        yield Check(f"try {name}", "broken", "puts a passage that does not answer first: is it a reranker?")


def _size(path: Path) -> int:
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def _megabytes(size: float) -> str:
    """
    >>> _megabytes(1_234_000_000), _megabytes(45_600_000_000)
    ('1,234 MB', '46 GB')
    """
    return f"{size / 1e9:,.0f} GB" if size >= 1e10 else f"{size / 1e6:,.0f} MB"
