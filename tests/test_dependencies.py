"""Dependencies: the page names each with its use and licence, and an install weighs no more than it says."""

from __future__ import annotations

import tomllib

import pytest
from packaging.requirements import Requirement

from scripts import dependencies

PROJECT = tomllib.loads((dependencies.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.mark.long
def test_the_page_has_a_row_for_each_package_with_extra_use_and_licence() -> None:
    page = dependencies.PAGE.read_text(encoding="utf-8")
    rows = [line.strip("| ").split(" | ") for line in page.splitlines() if line.count("|") == 7][2:]
    expected = [
        [name, ", ".join(extras), dependencies.USES[name], dependencies.licence_of(name)]
        for name, extras in dependencies.declared().items()
    ]
    assert [[*row[:3], row[5]] for row in rows] == expected, "run: python scripts/dependencies.py"
    assert set(dependencies.USES) == set(dependencies.declared())


def test_what_renames_with_each_major_version_is_capped() -> None:
    lines = [line for extra in PROJECT["optional-dependencies"].values() for line in extra]
    caps = {Requirement(line).name for line in lines if "<" in str(Requirement(line).specifier)}
    assert caps == {"openai", "mcp", "pymilvus", "lancedb"}


@pytest.mark.long
def test_an_install_weighs_no_more_than_is_promised() -> None:
    """Sum its packages, with what they bring here; bytecode and this package's 27 MB come on top."""
    promised = dependencies.megabytes(dependencies.closure(("local", "store")))
    assert 300 < promised <= 660, "[local,store] is to stay below 700 MB"
    assert dependencies.megabytes(dependencies.closure(())) <= 90
