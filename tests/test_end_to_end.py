"""One question from the shell to the answer, on a real small model: what the contract promises holds."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODEL = "local:qwen2.5-coder-0.5b"
QUESTION = "Who designed the Quillhaven lighthouse?"

pytestmark = pytest.mark.slow


def disputatio(*words: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run our command in a folder of its own."""
    command = [Path(sys.executable).parent / "disputatio", *words]
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, check=False, timeout=600)


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an index of the example corpus, searched by keyword alone."""
    folder = tmp_path_factory.mktemp("town")
    corpus = ROOT / "examples" / "disagreement" / "sources"
    run = disputatio("ingest", corpus, "--index", "town.index", "--embedder", "none", "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["added"] == 14
    return folder


@pytest.mark.parametrize("strategy", ["closed_book", "disputation"])
def test_an_answer_keeps_the_contract_and_replays_to_the_byte(
    strategy: str, town: Path, small_model: Path
) -> None:
    words = ["ask", QUESTION, "--index", "town.index", "--strategy", strategy, "--model", MODEL, "--json"]
    words += ["--journal", f"{strategy}.sqlite"]
    if strategy != "closed_book":
        words += ["--set", "k=3"]
    first = disputatio(*words, cwd=town)
    assert first.returncode == 0, first.stderr
    answer = json.loads(first.stdout)

    assert answer["question"] == QUESTION
    assert bool(answer["answers"]) == (answer["abstained"] is None)
    assert (answer["strategy"], answer["model"]) == (strategy, MODEL)
    assert answer["usage"]["calls"] >= 1
    assert answer["usage"]["prompt_tokens"] > 0
    texts = {passage["id"]: passage["text"] for passage in answer["passages"]}
    # disputation searches further where answers differ
    looked = answer.get("details", {}).get("looked") or {"read": 0}
    assert len(texts) == (0 if strategy == "closed_book" else 3) + looked["read"]
    for claim in answer["claims"]:
        for citation in claim["citations"]:
            quoted = texts[citation["passage"]][citation["start"] : citation["end"]]
            assert quoted == citation["quote"]
    for position in answer["conflict"]["positions"]:
        assert position["verdict"] in ("accepted", "rejected", "unresolved")
        assert position["reason"]
        assert set(position["passages"]) <= set(texts)

    again = disputatio(*words, "--replay", cwd=town)
    assert again.returncode == 0, again.stderr
    assert again.stdout == first.stdout
