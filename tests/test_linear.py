"""No regular expression takes more than linear time, whatever a stranger writes.

Growth is measured as a ratio of the processor time of ten times the text, so that a slow machine passes.
"""

from __future__ import annotations

import ast

import pytest

from tests.expressions import MOST, SIZES, SOURCE, Expression, expressions, growth, inputs, use

ALL = expressions()


@pytest.mark.long
def test_every_call_of_the_regular_expressions_module_is_looked_at() -> None:

    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom):
                assert node.module != "re", f"{file}: write re.NAME, so that the expression is found"

    assert len(ALL) > 200
    assert len({expression.where for expression in ALL}) <= len(ALL)


def worst_of(expression: Expression, sizes: tuple[int, ...]) -> str:
    """Return what the expression is slow on; empty where it is linear on every text."""
    for text in inputs(expression):
        for method in expression.methods:
            if (times := growth(use(expression.pattern, method), text, sizes)) > MOST:
                return f"{method} of {text(30)!r}: ten times the text takes {times:.0f} times as long"
    return ""


@pytest.mark.slow
@pytest.mark.parametrize("expression", [pytest.param(each, id=each.where) for each in ALL])
def test_an_expression_is_linear_at_10_kb_and_at_100_kb(expression: Expression) -> None:
    assert worst_of(expression, SIZES) == ""


@pytest.mark.long
def test_the_measurement_sees_what_grows_faster() -> None:
    import re

    quadratic = Expression("here", re.compile(r"\s+x"), ("search",))
    assert "search of" in worst_of(quadratic, SIZES[:2])
