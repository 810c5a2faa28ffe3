"""The public surface: these names, no more and no fewer."""

from __future__ import annotations

import importlib
import inspect
import subprocess
import sys
import typing

import pytest

import disputatio

PUBLIC = (
    "Answer", "Answered", "AskResult", "Budget", "Calibration", "Cancel", "Cancelled", "Capabilities",
    "Check",
    "Choice",
    "Citation", "Claim", "Claimed", "Completion", "ConfigError", "Conflict",
    "Contradiction", "Cost", "DisputatioError",
    "Embedder", "Entailment", "Estimated", "Event", "Evidence", "Example", "Extraction", "Found",
    "FunctionModel", "Hit", "Index", "InputError",
    "Kit", "LLM", "LLMError", "Message", "MinimalLLM", "MustAskAgain", "NoLogprobs", "NotAsked",
    "Passage",
    "PassageReader", "Position",
    "Prompt", "Read", "Reranker", "Results", "Retriever", "Round", "Sampling", "Search",
    "SideFormed", "Sides", "Source", "Started", "Statement", "Stream", "Trace", "Usage", "__version__",
    "aask", "ask", "ask_many", "astream", "calibrate", "check", "evaluate", "strategies", "stream", "without",
)  # fmt: skip
FUNCTIONS = ("aask", "ask", "ask_many", "astream", "calibrate", "check", "evaluate", "stream", "without")
ASK = (
    "question", "index", "passages", "strategy", "model", "role", "embedder", "sources", "mute", "after",
    "before", "as_of", "verify", "strict", "min_confidence", "each_source", "within", "trace", "elsewhere",
    "cancel", "settings", "options",
)  # fmt: skip


def test_the_public_names_are_these() -> None:
    assert tuple(sorted(disputatio.__all__)) == PUBLIC, (
        "The public surface changed: say so in CHANGELOG.md, then change this list."
    )


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in PUBLIC:
        thing = getattr(disputatio, name)
        assert name in ("__version__", "Event") or thing.__doc__, f"{name} has no docstring."


def test_public_functions_are_typed_and_say_what_they_raise() -> None:
    for name in FUNCTIONS:
        function = getattr(disputatio, name)
        for parameter in inspect.signature(function).parameters.values():
            assert parameter.annotation is not inspect.Parameter.empty, f"{name}: {parameter.name}"
        assert inspect.signature(function).return_annotation is not inspect.Signature.empty
        assert "`" in function.__doc__
        assert name in ("aask", "astream") or "Raises" in function.__doc__, f"{name} tells no error."


def test_ask_takes_these_arguments() -> None:
    assert tuple(inspect.signature(disputatio.ask).parameters) == ASK, (
        "The arguments of ask changed: say so in CHANGELOG.md, then change this list."
    )


def test_public_names_are_seen_by_dir_and_by_type_checkers() -> None:
    assert set(PUBLIC) <= set(dir(disputatio))
    source = inspect.getsource(disputatio)
    declared = source.partition("if TYPE_CHECKING:")[2].partition("__version__")[0]
    late = set(disputatio._LATE) | {"strategies"}
    assert {name for name in late if name not in declared.replace(",", " ").split()} == set()


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(disputatio, "Ask")


# Each way runs in a process that has imported the packages of others and nothing of ours.
EACH_WAY = """
import os, numpy, pydantic_settings
for before in ("pass", "import disputatio.strategies.concat", "d.ask", "from disputatio import strategies"):
    if not (child := os.fork()):
        import disputatio as d
        exec(before)
        assert d.strategies()[-1].name == "speculative_rag"
        raise SystemExit
    assert os.waitpid(child, 0)[1] == 0, before
"""


@pytest.mark.long
def test_strategies_is_a_function_whether_or_not_its_package_was_imported() -> None:
    subprocess.run([sys.executable, "-c", EACH_WAY], check=True)


def test_the_strategies_are_described_with_their_options() -> None:
    described = {one.name: one for one in disputatio.strategies()}
    madam = described["madam_rag"]
    assert "arXiv 2504.13079" in madam.paper
    rounds = next(option for option in madam.options if option.name == "rounds")
    assert (rounds.default, rounds.type) == (3, "int")
    assert rounds.meaning
    assert all(option.meaning for one in described.values() for option in one.options)


def test_the_protocols_can_be_kept_without_inheriting() -> None:
    class Mine:
        name = "mine"

        def complete(self, prompts: object, sampling: object) -> list[str]:
            return []

    minimal: disputatio.MinimalLLM = typing.cast("typing.Any", Mine())
    assert minimal.complete([], disputatio.Sampling()) == []
    module = importlib.import_module("disputatio.protocols")
    for name in ("LLM", "Embedder", "Entailment", "MinimalLLM", "Reranker", "Retriever"):
        assert getattr(disputatio, name) is getattr(module, name)
