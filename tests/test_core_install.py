"""A core installation, without any extra: what works does, and all else names its install line."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from disputatio.store.folder_index import FolderIndex
from disputatio.types import Passage

pytestmark = pytest.mark.slow  # each starts an interpreter that imports everything anew

# Makes the packages of all extras as absent as they are where only the core is installed.
BARE = '''
import sys
from importlib import metadata
from importlib.machinery import PathFinder
EXTRAS = set("""docx httpx httpx2 huggingface_hub inspect_ai lance lancedb lxml lxml_html_clean markdown_it
numba openai openvino openvino_genai openvino_tokenizers pyarrow pymilvus pypdf qdrant_client ray scipy
Stemmer tld tokenizers trafilatura watchfiles""".split())
class Bare:
    @staticmethod
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in EXTRAS else PathFinder.find_spec(name, path, target)
    @staticmethod
    def find_distributions(context):
        return PathFinder.find_distributions(context)
sys.meta_path = [Bare if finder is PathFinder else finder for finder in sys.meta_path]
version = metadata.version
def installed(name):
    if name.replace("-", "_") in EXTRAS:
        raise metadata.PackageNotFoundError(name)
    return version(name)
metadata.version = installed
'''
SETTING = """
import json
import disputatio as d
PASSAGES = ["The ferry first crossed in 1887.", {"text": "The ferry is red.", "source": "b.example"}]
class Model:
    def complete(self, prompts, sampling):
        texts = [prompt.messages[-1].content for prompt in prompts]
        answers = ["1887" if "1887" in text else "unknown" for text in texts]
        return [json.dumps({"subject": "", "answer": answer}) for answer in answers]
def told(work):
    try:
        work()
    except d.ConfigError as error:
        print(error)
    else:
        print("done")
"""


def run(lines: str, folder: Path) -> list[str]:
    """Return what some lines print in a core installation."""
    code = f"{BARE}\n{SETTING}\n{lines}"
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, cwd=folder, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISPUTATIO_CACHE", str(tmp_path / "cache"))
    return tmp_path


def test_passages_are_asked_of_a_model_of_ones_own(folder: Path) -> None:
    lines = """
answer = d.ask("When did the ferry first cross?", passages=PASSAGES, model=Model())
print(answer.answers[0])
print([event.kind for event in d.stream("When did it cross?", passages=PASSAGES, model=Model(), k=1)][-1])
print(d.Answer.from_dict(answer.to_dict()) == answer, "<mark>" in answer._repr_html_())
"""
    assert run(lines, folder) == ["1887", "cost", "True True"]


INSTALL_LINES = {
    "d.ask('Who?', passages=PASSAGES)": ("openvino-genai", "local"),
    "d.ask('Who?', passages=PASSAGES, model='openai:gpt-x')": ("openai", "openai"),
    "d.Index.open('x', embedder='none').ingest('.')": ("PyStemmer", "store"),
    "d.Index.open('x', embedder='none').add([d.Passage(text='a')])": ("PyStemmer", "store"),
    "d.Index.open('x').add([d.Passage(text='a')])": ("openvino", "local"),
    "d.Index.open('x', embedder='openai:e').add([d.Passage(text='a')])": ("openai", "openai"),
}


def test_what_needs_an_extra_names_its_install_line(folder: Path) -> None:
    (folder / "a.txt").write_text("The ferry first crossed in 1887.")
    messages = run("\n".join(f"told(lambda: {line})" for line in INSTALL_LINES), folder)
    assert dict(zip(INSTALL_LINES, messages, strict=True)) == {
        line: f"{package} is not installed: run pip install 'disputatio[{extra}]'"
        for line, (package, extra) in INSTALL_LINES.items()
    }


def test_an_index_that_is_there_names_what_reading_it_needs(folder: Path) -> None:
    FolderIndex.open(folder / "made").add([Passage(text="The ferry first crossed in 1887.", source="a")])
    lines = """
index = d.Index.open("made", embedder="none", create=False)
told(lambda: index.search("ferry"))
told(lambda: d.ask("When did it cross?", index="made", model=Model()))
told(lambda: index.ingest("."))
"""
    needs = "is not installed: run pip install 'disputatio[store]'"
    assert all(line.endswith(needs) for line in run(lines, folder))


COMMANDS = (
    (["ingest", "a.txt", "--index", "x", "--embedder", "none"], "PyStemmer is not installed"),
    (["ask", "Who?", "--passages", "p.jsonl"], "openvino-genai is not installed"),
    (["ask", "Who?", "--passages", "p.jsonl", "--model", "openai:m"], "openai is not installed"),
)
# Each command runs in a process that has imported the command line and run no other command.
EACH_COMMAND = """
import os
from disputatio.cli.main import main
for words in {commands!r}:
    if not (child := os.fork()):
        sys.argv = ["disputatio", *words]
        main()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    print(f"exit {{status}}", file=sys.stderr, flush=True)
"""


def test_the_command_line_says_it_in_one_line(folder: Path) -> None:
    (folder / "a.txt").write_text("The ferry first crossed in 1887.")
    (folder / "p.jsonl").write_text('{"text": "The ferry first crossed in 1887."}\n')
    code = BARE + EACH_COMMAND.format(commands=[words for words, _ in COMMANDS])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=folder, check=True
    )
    *outputs, after = done.stderr.split("exit 2\n")
    assert after == ""
    for (_, message), output in zip(COMMANDS, outputs, strict=True):
        assert message in output
        assert "pip install 'disputatio[" in output
        assert "Traceback" not in output
