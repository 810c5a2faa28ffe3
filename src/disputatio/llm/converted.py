"""Converts GGUF files to the engine's own format, in the user's cache, and opens pipelines.

Reading a GGUF file takes the engine some 18 seconds, its own format 3. So the first load writes that format
to the cache and renames it into place when it is whole.
"""

from __future__ import annotations

import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from disputatio.errors import InputError, LLMError
from disputatio.llm import gguf
from disputatio.llm.cores import settings_of
from disputatio.platforms import block_usage_reports
from disputatio.text import content_id

ABANDONED = 86_400.0  # seconds: no conversion takes as long
_MAKING = ".making-"
_FILES = ("openvino_model.xml", "openvino_model.bin", "openvino_tokenizer.xml", "openvino_detokenizer.xml")


def converted_folder(path: Path, cache: Path, say: Callable[[str], None]) -> Path:
    """Return the folder to load for a model's path: itself, or its converted form, made when missing.

    Raises `InputError` when the path holds no model, `LLMError` when it cannot be converted.
    """
    if path.is_dir():
        if all((path / name).exists() for name in _FILES):
            return path
        weights = sorted(path.glob("*.gguf"))
        if len(weights) != 1:
            raise InputError(f"{path}: holds neither a converted model nor one .gguf file")
        path = weights[0]
    if not path.is_file():
        raise InputError(f"{path}: no such model file")
    stat = path.stat()
    stamp = content_id(
        "", str(path.resolve()), str(stat.st_size), str(stat.st_mtime_ns), version("openvino-genai")
    )
    folder = cache / "converted" / f"{path.stem}-{stamp}"
    if not folder.exists():
        say(f"converting {path.name} once, for faster starts ({folder})")
        _convert(path, folder)
    return folder


def open_pipeline(folder: Path, cache_gb: int, say: Callable[[str], None], threads: int) -> tuple[Any, Any]:
    """Return the pipeline over a converted folder, and its tokenizer; raises `LLMError`."""
    block_usage_reports()
    import openvino_genai

    scheduler = openvino_genai.SchedulerConfig()
    scheduler.enable_prefix_caching = True
    scheduler.cache_size = cache_gb
    scheduler.max_num_batched_tokens = 2048
    say(f"loading {folder.name.rsplit('-', 1)[0]}")
    try:
        tokenizer = openvino_genai.Tokenizer(folder)
        settings = settings_of(threads)
        pipeline = openvino_genai.ContinuousBatchingPipeline(folder, tokenizer, scheduler, "CPU", **settings)
        return pipeline, tokenizer
    except RuntimeError as fault:
        raise LLMError(
            f"{folder}: the engine could not load it; delete the folder to convert anew: {fault}"
        ) from fault


def _convert(path: Path, folder: Path) -> None:
    """Write the engine's own form of a GGUF file; it is visible only when it is whole."""
    block_usage_reports()
    import openvino_genai

    folder.parent.mkdir(parents=True, exist_ok=True)
    _clear_abandoned(folder.parent)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=_MAKING) as making:
        work = Path(making) / "model"
        work.mkdir()
        link = work / path.name
        if gguf.holds_unreadable(path):
            gguf.rewrite(path, link)
        else:
            link.symlink_to(path.resolve())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                openvino_genai.Tokenizer(link, enable_save_ov_model=True)
                scheduler = openvino_genai.SchedulerConfig()
                scheduler.cache_size = 1
                openvino_genai.ContinuousBatchingPipeline(
                    link, scheduler, "CPU", {"enable_save_ov_model": True}
                )
        except RuntimeError as fault:
            raise LLMError(
                f"{path}: the engine cannot read this file: {str(fault).splitlines()[0]}"
            ) from fault
        link.unlink()
        missing = [name for name in _FILES if not (work / name).exists()]
        if missing:
            free = shutil.disk_usage(folder.parent).free // 2**20
            raise LLMError(
                f"{path}: the conversion did not write {missing[0]} ({free} MB free in {folder.parent})"
            )
        try:
            work.rename(folder)  # one atomic step on one file system
        except OSError:
            if not folder.exists():  # another process may have finished first
                raise


def _clear_abandoned(parent: Path) -> None:
    """Remove unfinished conversions older than a day: a gigabyte each."""
    for work in parent.glob(f"{_MAKING}*"):
        if time.time() - work.stat().st_mtime > ABANDONED:
            shutil.rmtree(work, ignore_errors=True)
