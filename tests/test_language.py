"""Words and forms that our text does without: it is read by people who know the field, not this project.

`CONTRIBUTING.md` has the style. Results keep their wording (`bench/results`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
CODE = [
    path
    for folder in ("src", "tests", "bench", "scripts", "train", "examples")
    for path in sorted((ROOT / folder).rglob("*.py"))
]
PAGES = [
    path
    for path in (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
    if path.parent.name != "research"
]
WEB = [path for path in sorted((ROOT / "page" / "src").rglob("*")) if path.suffix in (".ts", ".tsx", ".css")]
CLAUSE = re.compile(r"(What|Whether|Which|Who|Whom|Whose|How|Where|Why)\b")
NO_VERB = re.compile(r"(The|A|An|One|All|Every|Each|Those|Both|Nobody|Nothing|Whoever|Its|Their)\b")
# Each with the word of the glossary that says it.
OURS = {
    r"witness": "a passage or a source",
    r"testimon|testif": "a reply, read_passages",
    r"\bplead": "debate_scores",
    r"\bruling": "a verdict",
    r"\b(he|she|it|nobody|who|trace) hears of": "say what is recorded, and where",
    r"has had its day": "say what is over",
    r"\bkin\b": "most_similar",
    r"\bvoices?\b": "a vote, a source",
    r"\border of merit": "say what is compared",
}
NOUNS = (ast.Module, ast.ClassDef)
VERBS = ("embed", "reembed", "feed", "string")
# The first two are of `Index`, then of `Cancel` and of `Trace`; the last are a strategy and a format.
KEPT = ("unsearched", "estimated_states", "calling", "listening", "closed_book", "judged_answers")


def docstrings(path: Path) -> Iterator[tuple[ast.AST, str]]:
    """Yield the nodes of a file that have a docstring, with its first line."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            text = ast.get_docstring(node)
            if text:
                yield node, text.splitlines()[0]


def is_attribute(node: ast.AST) -> bool:
    """Return whether a function is read as an attribute, and so described by a noun."""
    decorators = [ast.unparse(decorator) for decorator in getattr(node, "decorator_list", ())]
    return any("property" in decorator or "fixture" in decorator for decorator in decorators)


@pytest.mark.long
@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_docstring_says_what_is_done_or_what_it_is(path: Path) -> None:
    wrong = []
    for node, line in docstrings(path):
        if CLAUSE.match(line) or (
            not isinstance(node, NOUNS) and not is_attribute(node) and NO_VERB.match(line)
        ):
            wrong.append(f"{getattr(node, 'lineno', 1)}: {line}")
    assert wrong == [], "a function's docstring begins with an imperative verb, others with a noun"


@pytest.mark.long
@pytest.mark.parametrize("path", [*CODE, *PAGES, *WEB], ids=lambda path: str(path.relative_to(ROOT)))
def test_the_words_are_those_of_the_field(path: Path) -> None:
    if path == Path(__file__).resolve():
        return
    text = path.read_text(encoding="utf-8").casefold()
    assert [f"{word}: say {instead}" for word, instead in OURS.items() if re.search(word, text)] == []


def test_a_clause_in_front_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text('def f():\n    """Whether it rains."""\n')
    [(node, line)] = docstrings(tmp_path / "a.py")
    assert CLAUSE.match(line)
    assert not is_attribute(node)


def named_by_participles(text: str) -> list[str]:
    """Return the functions in the text of a module whose first word ends in "ed" or "ing" and is no verb."""
    return [
        node.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not is_attribute(node)
        and re.fullmatch(r"\w{2,}(ed|ing)", word := node.name.strip("_").partition("_")[0])
        and word not in VERBS
        and node.name not in KEPT
        and not node.name.endswith("__")
    ]


@pytest.mark.long
def test_functions_are_named_by_verbs() -> None:
    root = ROOT / "src" / "disputatio"
    wrong = []
    for path in sorted(root.rglob("*.py")):
        names = named_by_participles(path.read_text(encoding="utf-8"))
        wrong += [f"{path.relative_to(root)}: {name}" for name in names]
    assert wrong == [], "functions are verbs: `join`, not `joined`; `find_index`, not `named_index`"


def test_a_participle_is_found() -> None:
    text = "def joined(): ...\nclass A:\n    async def _reading_of(self): ...\n    def embed(self): ...\n"
    assert named_by_participles(text) == ["joined", "_reading_of"]
    assert (
        named_by_participles("@property\ndef opened(self): ...\ndef red(): ...\ndef __missing__(): ...") == []
    )
