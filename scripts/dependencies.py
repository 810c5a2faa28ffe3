"""Write docs/reference/dependencies.md: each package that pyproject.toml names, its use, size and licence.

    .venv/bin/python scripts/dependencies.py

Sizes are those of the files installed in this environment; a set of extras is summed with all it brings.
`tests/test_dependencies.py` holds the page to pyproject.toml.
"""

from __future__ import annotations

import ast
import functools
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reference" / "dependencies.md"
SETS = (
    ("core",),
    ("local", "store"),
    ("openai", "store", "serve"),
    ("local", "openai", "store", "serve"),
    ("all",),
)
USES = {
    "numpy": "votes, estimates, vectors of search",
    "pydantic": "checks of replies, settings and requests",
    "pydantic-settings": "settings of file and environment",
    "rich": "answers and progress in a terminal",
    "typer": "the command line",
    "huggingface-hub": "models of a hub",
    "openvino": "embedder, encoder, cross-encoder",
    "openvino-genai": "the language model in process",
    "openvino-tokenizers": "tokenizers of openvino-genai, which loads them",
    "tokenizers": "tokens of embedder and encoder",
    "openai": "any OpenAI-compatible endpoint",
    "cssselect2": "text that style sheets hide",
    "tinycss2": "text that style sheets hide",
    "lxml-html-clean": "loaded by trafilatura",
    "markdown-it-py": "Markdown",
    "numba": "kernels of keyword and vector search",
    "py3langid": "the language of passages, so that a question is searched in it",
    "pypdf": "PDF",
    "pystemmer": "stems of keyword search",
    "python-calamine": "Excel and OpenDocument tables",
    "python-docx": "Word",
    "python-pptx": "PowerPoint",
    "tld": "who owns a web address: its registrable domain",
    "trafilatura": "the text of web pages",
    "watchfiles": "ingest --watch",
    "pyarrow": "Parquet, copies in buckets, tables of answers",
    "lancedb": "indexes of format 3, for index convert",
    "fastapi": "the HTTP API",
    "mcp": "the server for agents",
    "prometheus-client": "/metrics",
    "python-multipart": "uploads",
    "uvicorn": "the HTTP server",
    "grpcio": "checks if an address is a cluster",
    "qdrant-client": "an index in Qdrant",
    "ray": "ingest and questions on many machines",
    "psycopg": "an index in PostgreSQL",
    "milvus-lite": "an index in a file of Milvus Lite",
    "opentelemetry-sdk": "spans of a question",
    "opentelemetry-exporter-otlp-proto-http": "sends them to a collector",
    "pymilvus": "an index in Milvus",
    "inspect-ai": "strategies and data sets in Inspect",
    "langchain-core": "a part of LangChain",
    "llama-index-core": "a part of LlamaIndex",
}
_LICENCES = {  # as their files say, where the metadata has a whole text or an older name
    "Apache License 2.0": "Apache-2.0", "Apache 2.0": "Apache-2.0", "Apache Software License": "Apache-2.0",
    "OSI Approved :: Apache Software License": "Apache-2.0", "Apache License, Version 2.0": "Apache-2.0",
    "MIT License": "MIT", "The MIT License (MIT)": "MIT",
    "BSD License": "BSD-3-Clause", "BSD": "BSD-3-Clause",
}  # fmt: skip


def declared() -> dict[str, list[str]]:
    """Return the extras that name each package, `core` for none, in the order of pyproject.toml."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras: dict[str, list[str]] = defaultdict(list)
    for extra, lines in [("core", project["dependencies"]), *project["optional-dependencies"].items()]:
        for line in lines:
            name = canonicalize_name(Requirement(line).name)
            if name != "disputatio":
                extras[name].append(extra)
    return dict(extras)


def size_of(name: str) -> int:
    """Return the bytes of an installed package's files."""
    distribution = metadata.distribution(name)
    paths = (Path(str(distribution.locate_file(file))) for file in distribution.files or ())
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file())


def closure(extras: Iterable[str]) -> set[str]:
    """Return all packages that the core and these extras bring on this machine."""
    found: set[tuple[str, str]] = set()
    waiting = [("disputatio", extra) for extra in ("", *(extra for extra in extras if extra != "core"))]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        for line in metadata.requires(name) or ():
            wanted = Requirement(line)
            if wanted.marker is None or wanted.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(wanted.name), more) for more in ("", *wanted.extras)]
    return {name for name, _ in found} - {"disputatio"}


def megabytes(names: Iterable[str]) -> int:
    """Return the size of installed packages in megabytes of a million bytes."""
    return round(sum(map(size_of, names)) / 1e6)


def licence_of(name: str) -> str:
    """Return a package's licence as its metadata has it, shortened."""
    about = metadata.metadata(name).json
    given = str(about.get("license_expression") or about.get("license") or "")
    if not given or "\n" in given or len(given) > 60:
        classes = [line for line in about.get("classifier", ()) if line.startswith("License ::")]
        given = classes[0].rpartition(" :: ")[2] if classes else "see its files"
    return _LICENCES.get(given, given)


@functools.cache
def imports() -> list[set[str]]:
    """Return the top names that each file of the package imports."""
    files = sorted((ROOT / "src").rglob("*.py"))
    return [set(imported(ast.parse(path.read_text(encoding="utf-8")))) for path in files]


def importers(name: str) -> int:
    """Count the files of the package that import a distribution."""
    files = metadata.distribution(name).files or ()
    tops = {file.parts[0].partition(".")[0] for file in files if file.suffix in (".py", ".so")}
    return sum(bool(tops & names) for names in imports())


def imported(tree: ast.AST) -> Iterator[str]:
    """Yield the top names that a module imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0]


def table() -> list[str]:
    """Return the rows of the page, one for each package."""
    rows = []
    for name, extras in declared().items():
        cells = (
            name,
            ", ".join(extras),
            USES[name],
            str(importers(name)),
            str(megabytes([name])),
            licence_of(name),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def page() -> str:
    """Return the page as it should be."""
    sums = []
    for extras in SETS:
        names = closure(extras)
        shown = "core" if extras == ("core",) else f"`[{','.join(extras)}]`"
        sums.append(f"| {shown} | {len(names)} | {megabytes(names)} |")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition("<!-- generated -->\n")
    _, _, after = rest.partition("<!-- end -->\n")
    head = ["| package | extra | use | files of ours | MB | licence |", "|---|---|---|---|---|---|"]
    weight = ["", "| set of extras | packages | MB |", "|---|---|---|"]
    lines = [*head, *table(), *weight, *sums]
    return f"{before}<!-- generated -->\n" + "\n".join(lines) + f"\n<!-- end -->\n{after}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
    sys.exit(0)
