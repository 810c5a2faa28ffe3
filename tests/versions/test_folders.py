"""Versions told by the name of a folder: the same file of sibling folders is one document, no other is."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.reliability.succession import succession
from disputatio.store.ingesting.prepare import prepare
from disputatio.store.ingesting.source import with_source
from disputatio.strategies.disputation.changes import split_off_later
from disputatio.strategies.disputation.reading import PassageReading
from disputatio.types import Passage, Reply
from disputatio.versions.asked import product_version
from disputatio.versions.families import folder_version, is_named
from disputatio.versions.stating import read_statements
from tests.store.files import read_all

OLD, NEW = "They answer within 48 hours.", "They answer within 3 working days."


def ingested(root: Path, files: dict[str, str], *roots: str) -> dict[str, Passage]:
    """Return the passages of files, by their paths, once these were written and ingested."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    documents, _ = read_all([root / name for name in roots or [""]])
    made = [prepare(with_source(document)) for document in documents]
    return {Path(each.document.path).relative_to(root).as_posix(): each.passages[0] for each in made}


def wins(newer: Passage, older: Passage) -> bool:
    claim = succession(newer, older)
    return claim is not None and claim.believed


@pytest.mark.parametrize(
    ("name", "version"),
    [
        ("django-6.0.10", "6.0.10"), ("borg_1.4", "1.4"), ("pip-v20.2", "20.2"), ("v2", "2"),
        ("docs-v2", "2"), ("version-3", "3"), ("Version 3.1", "3.1"), ("black-22.1.0", "22.1.0"),
        ("ephem-3.7.5.3", "3.7.5.3"), ("fhir-6.2.0b3", "6.2.0"), ("django-6.0rc1", "6.0"),
        ("weblate-2026.10.1", "2026.10.1"), ("tzdata-2026.6", "2026.6"), ("minutes-2026.10.12", ""),
        ("2024", ""), ("01", ""), ("1.4", ""), ("2.x", ""), ("borg-2.x", ""), ("chapter-3", ""),
        ("chapter-3.1", ""), ("django-6", ""), ("django-6.0-beta", ""),
        ("budget-2024", ""), ("minutes-2024.05", ""), ("minutes-12.05.2024", ""), ("minutes-24.05", ""),
        ("host-192.168.0.1", ""), ("ipv6", ""), ("-1.2", ""), ("", ""),
    ],
)  # fmt: skip
def test_a_version_is_what_cannot_be_a_year_a_day_or_a_number_of_parts(name: str, version: str) -> None:
    assert folder_version(name)[1] == version


@pytest.mark.parametrize("root", ["top", "top/django", "top/django/django-{}"])
def test_the_same_file_of_two_folders_is_one_document_wherever_the_ingest_begins(
    tmp_path: Path, root: str
) -> None:
    old, new = "top/django/django-4.2/faq/security.txt", "top/django/django-6.0.10/faq/Security.md"
    other = "top/django/django-6.0.10/faq/contact.txt"
    roots = dict.fromkeys(root.format(version) for version in ("4.2", "6.0.10"))
    made = ingested(tmp_path, {old: OLD, new: NEW, other: NEW}, *roots)
    assert (made[old].version, made[new].version) == ("4.2", "6.0.10")
    assert made[old].family == made[new].family == "django/faq/security"
    assert {each.source for each in made.values()} == {"django"}
    assert wins(made[new], made[old])
    assert not wins(made[old], made[new])
    assert not wins(made[other], made[old])


def test_folders_of_a_bare_version_count_to_the_folder_in_which_they_lie(tmp_path: Path) -> None:
    made = ingested(tmp_path, {"docs/v1/a.md": OLD, "docs/v2/a.md": NEW, "docs/borg-1.4/a.md": OLD}, "docs")
    assert [made[f"docs/{name}/a.md"].source for name in ("v1", "v2", "borg-1.4")] == [
        "docs",
        "docs",
        "docs/borg",
    ]
    assert wins(made["docs/v2/a.md"], made["docs/v1/a.md"])


def test_titles_make_no_versions_of_different_files(tmp_path: Path) -> None:
    files = {f"kit/v{n}/{name}.md": f"# Overview\n\n{name} {n}" for n in (1, 2) for name in ("wood", "nails")}
    made = ingested(tmp_path, files)
    assert made["kit/v2/wood.md"].title == made["kit/v1/nails.md"].title == "Overview"
    assert wins(made["kit/v2/wood.md"], made["kit/v1/wood.md"])
    assert not wins(made["kit/v2/wood.md"], made["kit/v1/nails.md"])


@pytest.mark.parametrize(
    "planted",
    [
        "evil/django-99.0/security.txt",  # of another publisher
        "django/evil/django-99.0/security.txt",  # of another parent
        "django/other-99.0/security.txt",  # of another name
        "django/django-4.2/django-99.0/security.txt",  # further down
        "django/2099/security.txt",
        "django/chapter-99/security.txt",
    ],
)
def test_a_planted_folder_takes_the_place_of_nothing(tmp_path: Path, planted: str) -> None:
    honest = "django/django-4.2/security.txt"
    made = ingested(tmp_path, {honest: OLD, planted: NEW})
    assert not wins(made[planted], made[honest])


def test_a_folder_of_another_ingest_takes_the_place_of_nothing(tmp_path: Path) -> None:
    honest, planted = "docs/django-4.2/security.txt", "evil/django-99.0/security.txt"
    made = ingested(tmp_path, {honest: OLD, planted: NEW}, "docs", "evil")
    assert not wins(made[planted], made[honest])


def test_what_a_document_states_itself_comes_before_its_folder() -> None:
    folder = ("4.2", "django/fees")
    stated = read_statements("Fees, version 7\n\nNone.", stem="fees", by_folder=folder)
    assert (stated.version, stated.family) == ("7", "fees")
    stated = read_statements("None.", stem="fees-v4", by_folder=folder)
    assert (stated.version, stated.family) == ("4", "fees")
    for text in (
        "None.",
        "Fees, version 4\n\nNone.",
        "Since version 1.0, it is numbered as follows:\n\nNone.",
    ):
        stated = read_statements(text, stem="fees", by_folder=folder)
        assert (stated.version, stated.family) == folder


def test_rows_of_tables_are_no_versions_of_each_other(tmp_path: Path) -> None:
    made = ingested(tmp_path, {"fees/v1/a.csv": "town,fee\nCorle,3\n", "fees/v2/a.csv": "town,fee\nTarn,5\n"})
    assert {each.version for each in made.values()} == {""}


def test_a_document_in_such_a_folder_is_still_named_by_its_title_and_its_file() -> None:
    policy = Passage(text="x", family="docs/travel-policy", title="Rules of travel", version="1")
    assert is_named("the travel policy", policy)
    assert is_named("the rules of travel", policy)
    assert not is_named("the leave policy", policy)


def test_a_question_chooses_by_the_name_of_a_folder_and_a_number_that_was_read() -> None:
    old = Passage(text=OLD, family="django/security", version="4.2")
    assert product_version("How fast do they answer in Django 4.2?", [old]) == "4.2"
    assert product_version("And in django-4?", [old]) == "4"
    for question in (
        "And in Django 5?",
        "And in Rails 4.2?",
        "In dja 4.2?",
        "On security 4.2?",
        "Django 4.2.1?",
    ):
        assert product_version(question, [old]) == ""


def test_the_version_that_is_asked_for_answers_beside_later_ones_that_tell_of_it() -> None:
    def read(name: str, version: str, text: str = OLD) -> PassageReading:
        passage = Passage(
            id=f"{name} {version}", document=f"{name} {version}", text=text, version=version,
            family=name, source=name.partition("/")[0],
        )  # fmt: skip
        return PassageReading(passage=passage, reply=Reply(passages=(passage.id,), answer="48 hours"))

    readings = [
        *(read("django/security", "4.2"), read("django/security", "6.0", f"By 14.2 and 4.21. {OLD}")),
        read("django/security", "5.0", f"Of 4.2: {OLD}"),
        *(read("ssl/security", "3.4"), read("ssl/security", "50.0")),
    ]
    _, later = split_off_later("How fast do they answer in Django 4.2?", readings, "")
    assert [reading.passage.id for reading in later] == ["django/security 6.0"]
    assert split_off_later("How fast do they answer in Django?", readings, "")[1] == []
