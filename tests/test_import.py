"""Importing Disputatio is silent and light: nothing heavy is loaded, nothing is written or started."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {
    "fastapi", "httpx", "httpx2", "huggingface_hub", "inspect_ai", "lance", "lancedb", "numpy", "openai",
    "openvino", "openvino_genai", "openvino_telemetry", "openvino_tokenizers", "pyarrow", "pypdf", "ray",
    "scipy", "semantic_text_splitter", "tokenizers", "torch", "trafilatura", "transformers", "uvicorn",
}  # fmt: skip


def loaded_by(line: str, folder: Path) -> list[str]:
    """Return the modules that a fresh interpreter has loaded after `line`, which must say nothing."""
    probe = (
        f"import sys\nbefore = set(sys.modules)\n{line}\n"
        "new = sorted(set(sys.modules) - before)\nimport json\nprint(json.dumps(new))"
    )
    run = subprocess.run(
        [sys.executable, "-W", "error", "-c", probe], capture_output=True, text=True, cwd=folder, check=False
    )
    assert run.returncode == 0, run.stderr
    assert run.stderr == ""
    [said] = run.stdout.splitlines()
    modules: list[str] = json.loads(said)
    return modules


@pytest.mark.long
@pytest.mark.parametrize(
    "line",
    ["import disputatio", "import disputatio.cli.main", "import disputatio.eval.data.formats.catalogue"],
)
def test_the_import_is_silent_and_loads_nothing_heavy(line: str, tmp_path: Path) -> None:
    tops = {name.split(".")[0] for name in loaded_by(line, tmp_path)}
    assert sorted(tops & HEAVY) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_bare_import_loads_few_modules_and_no_settings_or_terminal_library(tmp_path: Path) -> None:
    modules = loaded_by("import disputatio", tmp_path)
    assert len(modules) <= 150
    tops = {name.split(".")[0] for name in modules}
    assert sorted(tops & {"pydantic", "pydantic_settings", "typer", "rich", "sqlite3", "asyncio"}) == []
