"""Models in Hugging Face repositories: which files of a repository make a model, and their addresses.

`HF_ENDPOINT` names another hub, as it does for that hub's own tools.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from disputatio.errors import DownloadError, InputError
from disputatio.llm.download import fetch_json
from disputatio.llm.models import Hub, ModelEntry, ModelFile

_NAME = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)(?::(?P<file>[^:]+))?", re.ASCII)
_ONNX = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
# Where a repository says how its embedding model is used (sentence-transformers).
_USE = re.compile(
    r"(?:modules|config|tokenizer_config|sentence_bert_config|config_sentence_transformers)\.json"
    r"|\d+_\w+/config\.json",
    re.ASCII,
)
_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$")


def parse(name: str) -> tuple[str, str] | None:
    """Return the repository and the file (empty if none is named) of `owner/repo[:file]`, else None.

    >>> parse("Qwen/Qwen2.5-GGUF:a.gguf"), parse("qwen2.5-coder-1.5b"), parse("../repo")
    (('Qwen/Qwen2.5-GGUF', 'a.gguf'), None, None)
    """
    match = _NAME.fullmatch(name)
    return (match["repo"], match["file"] or "") if match else None


def folder_name(name: str) -> str:
    """Return the name of the folder in the cache for a repository or a file of one.

    >>> folder_name("Qwen/Some-GGUF:q4/a.gguf")
    'Qwen--Some-GGUF--q4--a.gguf'
    """
    return name.replace("/", "--").replace(":", "--")


def url(origin: Hub) -> str:
    """Return where a file of a repository is fetched from."""
    return f"{_endpoint()}/{origin.repo}/resolve/{quote(origin.revision, safe='')}/{quote(origin.file)}"


def entry(name: str) -> ModelEntry:
    """Ask the hub what `owner/repo[:file]` consists of, at its present commit.

    Raises `DownloadError` when the hub does not say, `InputError` when the repository holds nothing
    that can be run.
    """
    parsed = parse(name)
    if parsed is None:
        raise InputError(f"{name!r} is not of the form owner/repo or owner/repo:file")
    repo, file = parsed
    description = fetch_json(f"{_endpoint()}/api/models/{repo}/revision/main?blobs=true")
    commit = description.get("sha") if isinstance(description, dict) else None
    listed = description.get("siblings") if isinstance(description, dict) else None
    if not isinstance(listed, list) or not isinstance(commit, str):
        raise DownloadError(f"the hub's account of {repo} is not as expected")
    blobs = {
        blob["rfilename"]: blob for blob in listed if isinstance(blob, dict) and _safe(blob.get("rfilename"))
    }
    if file and file not in blobs:
        raise InputError(f"{repo} has no file {file!r}: {_some(blobs)}")
    wanted = choose_files(repo, sorted(blobs), file)
    return ModelEntry(
        name=name,
        kind="unknown",
        about=f"from the hub, commit {commit[:12]}",
        licence="see its page",
        files=tuple(_model_file(repo, commit, one, blobs[one]) for one in wanted),
    )


def choose_files(repo: str, files: Sequence[str], named: str = "") -> list[str]:
    """Return which files make the model: a converted folder, a Q4_K_M or only GGUF file, or an ONNX model.

    `named` is the one of several models that is wanted.

    >>> choose_files("o/r", ["README.md", "m-q4_k_m.gguf", "m-q8_0.gguf"])
    ['m-q4_k_m.gguf']
    >>> choose_files("o/r", ["onnx/model.onnx", "tokenizer.json", "vocab.txt"])
    ['onnx/model.onnx', 'tokenizer.json']
    >>> choose_files("o/r", ["1_Pooling/config.json", "a.onnx", "b.onnx", "tokenizer.json"], "b.onnx")
    ['b.onnx', 'tokenizer.json', '1_Pooling/config.json']
    """
    if named:
        return _onnx(named, files) if named.endswith(".onnx") else [named]
    if "openvino_model.xml" in files:
        return [
            name
            for name in files
            if "/" not in name
            and (
                name.startswith("openvino_") or name.endswith((".json", ".jinja", "merges.txt", "vocab.txt"))
            )
        ]
    ggufs = [name for name in files if name.endswith(".gguf") and not _SPLIT.search(name)]
    preferred = [name for name in ggufs if "q4_k_m" in name.lower()]
    if len(preferred) == 1 or len(ggufs) == 1:
        return preferred if len(preferred) == 1 else ggufs
    if ggufs:
        raise InputError(f"{repo} has several models, name one as {repo}:FILE: {_some(ggufs)}")
    models = [name for name in _ONNX if name in files]
    if models and "tokenizer.json" in files:
        return _onnx(models[0], files)
    raise InputError(f"{repo} holds no GGUF, OpenVINO or ONNX model with a tokenizer.json: {_some(files)}")


def _onnx(model: str, files: Sequence[str]) -> list[str]:
    """Return an ONNX model with what it needs: weights beside it, its tokenizer, and how it is used."""
    weights = [name for name in files if re.fullmatch(re.escape(model) + r"[._]data\w*", name)]
    tokenizer = [name for name in files if name == "tokenizer.json"]
    return [model, *weights, *tokenizer, *(name for name in files if _USE.fullmatch(name))]


def _model_file(repo: str, commit: str, name: str, blob: Mapping[str, Any]) -> ModelFile:
    lfs = blob.get("lfs")
    digest = lfs.get("sha256") if isinstance(lfs, dict) else None
    size, git_blob = blob.get("size"), blob.get("blobId")
    held = digest is None and isinstance(git_blob, str) and re.fullmatch(r"[0-9a-f]{40}", git_blob)
    local = name if _USE.fullmatch(name) else PurePosixPath(name).name
    return ModelFile(
        name="model.onnx" if name.endswith(".onnx") else local,
        size=size if isinstance(size, int) else None,
        sha256=digest if isinstance(digest, str) else None,
        git_blob=git_blob if held else None,
        origins=(Hub(repo=repo, file=name, revision=commit),),
    )


def _endpoint() -> str:
    return (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")


def _safe(name: object) -> bool:
    return isinstance(name, str) and not name.startswith("/") and ".." not in name.split("/")


def _some(names: Sequence[str] | Mapping[str, Any]) -> str:
    shown = sorted(names)
    return ", ".join(shown[:8]) + (", ..." if len(shown) > 8 else "")
