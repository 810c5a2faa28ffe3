"""The public surface: these names, no more and no fewer."""

from __future__ import annotations

import disputatio

PUBLIC = (
    "Answer",
    "Citation",
    "Claim",
    "Completion",
    "ConfigError",
    "Conflict",
    "DisputatioError",
    "Index",
    "InputError",
    "LLMError",
    "Passage",
    "Position",
    "Source",
    "Usage",
    "__version__",
    "ask",
)


def test_the_public_names_are_these() -> None:
    assert tuple(sorted(disputatio.__all__)) == PUBLIC, (
        "The public surface changed: say so in CHANGELOG.md, then change this list."
    )


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    for name in PUBLIC:
        thing = getattr(disputatio, name)
        assert name == "__version__" or thing.__doc__, f"{name} has no docstring."


def test_public_names_are_seen_by_dir() -> None:
    assert set(PUBLIC) <= set(dir(disputatio))


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    assert not hasattr(disputatio, "Ask")
