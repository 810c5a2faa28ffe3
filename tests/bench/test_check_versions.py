"""The folder of versions is listed in full, and what was written down is found where `check` finds it."""

from __future__ import annotations

import fnmatch
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from unittest.mock import patch

import pytest

from bench.check import folder as folders
from bench.check import versions
from bench.documents.build import SIDECAR
from bench.documents.public import HERE, PUBLIC, places, read_archives

ROW = {
    "old_file": "tool/tool-1/README.md",
    "old_quote": "Tool requires Python 3.8 or newer.",
    "new_file": "tool/tool-2/README.md",
    "new_quote": "Tool requires Python 3.11 or newer.",
    "kind": "requirement",
}


@pytest.mark.long
@pytest.mark.parametrize(
    ("part", "documents", "count"),
    [("versions", 334, 32), ("versions2", 314, 20), ("versions3", 224, 16)],
    ids=versions.PARTS,
)
def test_each_package_has_two_versions_and_is_in_no_other_list(part: str, documents: int, count: int) -> None:
    listed = versions.archives(part)
    assert len(places(listed)) == len(set(places(listed))) == documents
    packages = Counter(archive["package"] for archive in listed)
    assert len(packages) == count
    assert set(packages.values()) == {2}
    lists = {name for names in PUBLIC.values() for name in names}
    others = {archive["package"] for name in lists for archive in read_archives(HERE / f"{name}.yaml")}
    others |= {
        archive["package"] for name in {*versions.PARTS} - {part} for archive in versions.archives(name)
    }
    assert not packages.keys() & others


@pytest.mark.parametrize("part", versions.PARTS)
def test_the_sidecar_names_every_document_and_nothing_else(part: str) -> None:
    names = places(versions.archives(part))
    patterns = [line.strip('":') for line in versions.sidecar(part).splitlines() if line.startswith('"')]
    for pattern in patterns:
        assert fnmatch.filter(names, pattern), pattern
    for name in names:
        assert sum(fnmatch.fnmatch(name, pattern) for pattern in patterns) == 2, name


@pytest.mark.parametrize(
    ("part", "count"), [("versions", 69), ("versions2", 40), ("versions3", 30)], ids=versions.PARTS
)
def test_written_contradictions_are_of_an_older_and_a_newer_document_that_are_listed(
    part: str, count: int
) -> None:
    order = [archive["members"].values() for archive in versions.archives(part)]
    rows = versions.read_rows(part)
    assert len(rows) == count
    for row in rows:
        old, new = (
            [row[f"{side}_file"] in members for members in order].index(True) for side in ("old", "new")
        )
        assert new == old + 1, row
        assert row["old_quote"] != row["new_quote"]


@pytest.mark.long
def test_a_folder_is_built_checked_and_sampled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "folder"
    laid = {ROW[f"{side}_file"]: f"# Tool\n\n{ROW[f'{side}_quote']}\n".encode() for side in ("old", "new")}

    def fetch(*_: object) -> Iterable[tuple[str, bytes]]:
        return laid.items()

    listed = [{"members": dict.fromkeys(("a", "b"), "none.md")}]
    monkeypatch.setattr(versions, "archives", {"versions2": listed}.__getitem__)
    monkeypatch.setattr(versions, "sidecar", lambda _: '"tool/*/*":\n  owner: Tool\n')
    monkeypatch.setattr(versions, "read_rows", {"versions2": [ROW]}.__getitem__)
    monkeypatch.setattr("sys.argv", ["versions", str(folder), "--part", "versions2", "--sample", "1"])
    with patch("bench.check.versions.fetch", side_effect=fetch):
        versions.main()
        assert (folder / SIDECAR).read_text("utf-8").startswith('"tool')
        printed = capsys.readouterr().out
        assert "of 1 written contradictions found 1" in printed
        assert "as judged: not judged 1" in printed
        sample = json.loads((tmp_path / "folder.sample.jsonl").read_text("utf-8"))
        monkeypatch.setattr(versions, "read_labels", lambda: {versions.sides_of(sample): "right"})
        versions.main()
    assert "as judged: right 1" in capsys.readouterr().out
    assert {"# Tool" in side["around"] for side in sample["sides"]} == {True}


def test_a_quote_that_a_document_lacks_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(versions, "archives", lambda _: [])
    monkeypatch.setattr(versions, "sidecar", str)
    for side in ("old", "new"):
        file = tmp_path / ROW[f"{side}_file"]
        file.parent.mkdir(parents=True)
        file.write_text("Tool requires Python 3.8\nor newer.", "utf-8")
    with pytest.raises(SystemExit, match=r"tool-2/README.md lacks: Tool requires Python 3.11"):
        versions.build(tmp_path, [ROW], "versions2")


def test_each_judged_finding_has_a_label_and_a_reason() -> None:
    rows = [json.loads(line) for line in (folders.HERE / "judged.jsonl").read_text("utf-8").splitlines()]
    assert {row["label"] for row in rows} == {"right", "wrong", "example"}
    assert all(row["why"] and len(row["sides"]) == 2 for row in rows)
    assert len(versions.read_labels()) == len(rows)
