"""An entrant carries the hashes of the modules behind its strategy: comments are no change, prompts are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from disputatio.eval.running import entrants as code
from disputatio.eval.running.entrants import code_of, source_hash
from disputatio.pipeline import load_strategy, strategy_names

STRATEGY = '''"""A strategy."""
from out_of_tree_package.steps import step
from out_of_tree_package import words

def guess(question, kit):
    """Guess."""
    return step(question)
'''
STEPS = "def step(question):\n    return question\n"
WORDS = 'PROMPT = "Guess."\n'


def of_ours(cached: Any, name: str) -> Any:
    """Return the result of a cached function for a module, cached for modules of ours only."""
    return (cached if name.startswith("disputatio") else cached.__wrapped__)(name)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., dict[str, str]]:
    """The hashes of a strategy of a package of one's own, as its files are now."""
    folder = tmp_path / "out_of_tree_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    for cached in (code._module, code._source):  # the files of this package change, ours do not
        monkeypatch.setattr(code, cached.__name__, partial(of_ours, cached))

    def hashes(**files: str) -> dict[str, str]:
        for name, text in {"guess": STRATEGY, "steps": STEPS, "words": WORDS, **files}.items():
            (folder / f"{name}.py").write_text(text)
        for name in [module for module in sys.modules if module.startswith("out_of_tree_package")]:
            monkeypatch.delitem(sys.modules, name)
        return code_of(load_strategy("out_of_tree_package.guess:guess"))

    return hashes


@pytest.mark.long
def test_every_strategy_rests_on_its_own_file_on_the_walk_and_on_what_they_import() -> None:
    for name in strategy_names():
        hashes = code_of(load_strategy(name))
        assert {f"disputatio.strategies.{name}", "disputatio.pipeline", "disputatio.agents.replies"} <= set(
            hashes
        )
        strategies = {
            ".".join(module.split(".")[:3])
            for module in hashes
            if module.startswith("disputatio.strategies.")
        }
        own = f"disputatio.strategies.{name}"
        presets = {"oracle": "ra_rag", "madam_rag_bound": "madam_rag", "ragenta_letter": "ragenta"}
        base = presets.get(name)
        assert strategies == {own} | ({f"disputatio.strategies.{base}"} if base else set())
        assert not any(
            one.startswith(("disputatio.cli", "disputatio.eval", "disputatio.store")) for one in hashes
        )
        assert all(hashes.values())


def test_modules_may_be_added() -> None:
    concat = load_strategy("concat")
    more = set(code_of(concat, "disputatio.llm.request")) - set(code_of(concat))
    assert "disputatio.llm.request" in more


def test_a_package_of_ones_own_is_followed_and_others_are_not(package: Any) -> None:
    found = set(package())
    assert {f"out_of_tree_package.{name}" for name in ("guess", "steps", "words")} <= found
    assert not any(one.startswith(("json", "typing", "numpy")) for one in found)


@pytest.mark.parametrize(
    ("files", "changed"),
    [
        ({"words": 'PROMPT = "Guess well."\n'}, ["words"]),
        ({"steps": STEPS.replace("return question", "return question.lower()")}, ["steps"]),
        ({"steps": '"""Steps."""\n' + STEPS + "\n\n# the end\n"}, []),
        ({"guess": STRATEGY.replace("Guess.", "Guess, but not twice.")}, []),
    ],
)
def test_what_changes_an_answer_changes_the_hash_and_words_about_it_do_not(
    package: Any, files: dict[str, str], changed: list[str]
) -> None:
    before, after = package(), package(**files)
    assert [one for one in before if before[one] != after[one]] == [
        f"out_of_tree_package.{name}" for name in changed
    ]


def test_a_body_that_is_a_docstring_alone_can_be_hashed() -> None:
    assert source_hash('class A:\n    """Nothing."""') == source_hash("class A: pass")
