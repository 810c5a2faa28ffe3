"""The page has a text in each language for every code that Python knows; it words causes from their data."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import pytest

from disputatio import errors
from disputatio.authority import TIERS
from disputatio.causes import Cause, Joined, Rival, Support
from disputatio.contradictions.standing import REMEDIES
from disputatio.errors import DisputatioError, RefusalCode
from disputatio.llm.disk import DiskFault
from disputatio.reliability.succession import SuccessionKind
from disputatio.rendering.reasons import CAUSES, SUCCESSIONS, WEAKNESSES
from disputatio.server import faults
from disputatio.types import Position, Remedy

PAGE = Path(__file__).resolve().parents[2] / "page"
TEXTS = PAGE / "src" / "texts"
CAUSE = Cause(
    kind="older",
    support=Support(
        passages=3,
        sources=3,
        groups=2,
        joined=("copies",),
        weight=1.5,
        date="1998-06-01",
        probability=0.2,
        authority="informal",
        declared=0.5,
    ),
    rivals=(
        Rival(
            answer="4,180",
            support=Support(passages=2, weight=2.0, date="2021-11-30", authority="official"),
        ),
    ),
    feature="thing",
    strategy="madam_rag",
    options=4,
    notes=2,
    succession="replaces",
    quote="This replaces it.",
)


def keys(file: str, table: str) -> set[str]:
    """Return the keys of a table of texts, each of which begins a line."""
    text = (TEXTS / file).read_text(encoding="utf-8")
    opened = re.search(rf"^( *)(?:export const )?{table}\b[^\n]*\{{\n", text, re.MULTILINE)
    assert opened, f"{file} has no table {table}"
    body = text[opened.end() :].partition(f"\n{opened[1]}}}")[0]
    return set(re.findall(rf"^{opened[1]}  (\w+):", body, re.MULTILINE)) | set(
        re.findall(r"(?:^|, ) *(\w+): \"", body)
    )


@pytest.mark.parametrize(
    ("file", "table", "codes"),
    [
        ("reasons.de.ts", "sentences", CAUSES),
        ("reasons.de.ts", "weaknesses", WEAKNESSES),
        ("reasons.de.ts", "successions", get_args(SuccessionKind)),
        ("reasons.de.ts", "joined", get_args(Joined)),
        ("reasons.de.ts", "authorities", TIERS),
        ("reasons.de.ts", "refusals", get_args(RefusalCode)),
        ("reasons.de.ts", "settlings", get_args(Remedy)),
        ("de.ts", "remedies", get_args(RefusalCode)),
        ("en.ts", "remedies", get_args(RefusalCode)),
    ],
)
def test_every_code_of_python_has_a_text_on_the_page(file: str, table: str, codes: Iterable[str]) -> None:
    assert keys(file, table) == set(codes)


def test_every_fault_of_the_server_has_a_sentence_in_german() -> None:
    kinds = {
        name
        for module in (errors, faults)
        for name, kind in vars(module).items()
        if isinstance(kind, type) and issubclass(kind, Exception) and kind.__module__ == module.__name__
    }
    others = {DiskFault.__name__, "Internal", "Http"}
    assert keys("de.ts", "faults") == kinds - {DisputatioError.__name__} | others


def test_no_part_of_the_page_shows_a_fault_in_the_server_s_words_alone() -> None:
    shown = [
        f"{file.name}: {line.strip()}"
        for file in (PAGE / "src").rglob("*.tsx")
        if file.name != "Said.tsx"
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"""\.message\b|\["message"\]""", line) and "<Said " not in line
    ]
    assert shown == []


def test_every_remedy_has_a_sentence_in_english() -> None:
    assert set(REMEDIES) == set(get_args(Remedy))


def test_every_succession_has_a_sentence_in_english() -> None:
    assert set(SUCCESSIONS) == set(get_args(SuccessionKind))


@pytest.mark.slow
def test_what_would_settle_a_contradiction_is_said_in_german(tmp_path: Path) -> None:
    side = {"gives_orders": True}
    calls = [
        {"remedy": remedy, "settled_by": "ENGLISH", "first": side, "second": {}}
        | dict.fromkeys(("holds", "higher", "newer", "more_reliable"), "first")
        for remedy in get_args(Remedy)
    ]
    said = worded("conflictView.remedy", [[call] for call in calls], "de", tmp_path)
    assert len(set(said)) == len(calls)
    assert not [text for text in said if "ENGLISH" in text or "undefined" in text]
    about_a_side = {"find_writer", "correct_other", "correct_lower", "confirm_older", "check_record"}
    assert (
        {remedy for remedy, text in zip(get_args(Remedy), said, strict=True) if "erste" in text}
        == {remedy for remedy, words in REMEDIES.items() if "{side}" in words}
        == about_a_side
    )
    assert worded("conflictView.remedy", [[calls[0]]], "en", tmp_path) == ["ENGLISH"]


def reasons(positions: list[dict[str, Any]], language: str, folder: Path) -> list[str]:
    """Return the reasons of positions as the page words them in a language."""
    said: list[str] = worded("answer.reason", [[position] for position in positions], language, folder)
    return said


def worded(function: str, calls: list[list[Any]], language: str, folder: Path) -> list[Any]:
    """Return what a function of the page's texts makes of some arguments in a language."""
    bundler = PAGE / "node_modules" / ".bin" / "rolldown"
    if not bundler.exists() or shutil.which("node") is None:
        pytest.skip("the page's packages are not installed: make page")
    bundle = folder / f"{language}.mjs"
    subprocess.run(
        [bundler, TEXTS / f"{language}.ts", "--file", bundle, "--format", "esm"],
        check=True, capture_output=True,
    )  # fmt: skip
    script = f"import {{ {language} }} from {json.dumps(bundle.as_uri())};" + (
        "let text = ''; for await (const part of process.stdin) text += part;"
        f"console.log(JSON.stringify(JSON.parse(text).map(given => {language}.{function}(...given))));"
    )
    done = subprocess.run(
        ["node", "--input-type=module", "-e", script],
        input=json.dumps(calls), check=True, capture_output=True, text=True,
    )  # fmt: skip
    said: list[Any] = json.loads(done.stdout)
    return said


@pytest.mark.slow
def test_what_a_refusal_names_is_told_in_german_in_place_of_the_english_sentence(tmp_path: Path) -> None:
    size: dict[str, str | int] = {"limit": 64 << 20, "size": 70 << 20, "unit": "bytes"}
    calls: list[tuple[str, dict[str, str | int], str]] = [
        ("too_large", size, "Sie ist zu groß. Die Grenze liegt bei 64 MB, hier sind es 70 MB."),
        ("too_large", {"limit": 9000, "unit": "files"}, "Die Grenze liegt bei 9.000 Dateien."),
        ("too_slow", {"limit": 30, "unit": "seconds"}, "Die Grenze liegt bei 30 Sekunden."),
        ("missing_package", {"package": "pypdf"}, "Das Paket heißt pypdf."),
        ("missing_column", {"column": "body"}, "Die Spalte heißt „body“."),
        ("bad_row", {"field": "text"}, "Es geht um das Feld „text“."),
        ("unknown_type", {"type": "a device"}, "Sie ist von der Art „Gerät“."),
        ("unknown_type", {"suffix": ".xyz"}, "Ihre Endung ist .xyz."),
        ("not_fetched", {"status": 403}, "Der Server antwortete mit dem Status 403."),
    ]
    said = worded("documents.refusal", [[code, data] for code, data, _ in calls], "de", tmp_path)
    for told, (_, _, ending) in zip(said, calls, strict=True):
        assert told["whole"]
        assert told["text"].endswith(ending)
    assert worded("documents.refusal", [["scan", {}]], "de", tmp_path)[0]["whole"] is False
    assert worded("documents.refusal", [["too_large", size]], "en", tmp_path)[0] == {
        "text": "",
        "whole": False,
    }


@pytest.mark.slow
def test_each_cause_is_worded_in_german_from_its_data_and_never_from_the_english(tmp_path: Path) -> None:
    bare = Cause(kind="")
    causes = [replace(cause, kind=kind) for kind in (*CAUSES, "of_a_user") for cause in (CAUSE, bare)]
    rows = [Position(answer="5,930", verdict="rejected", cause=each).to_dict() for each in causes]
    english = [str(row["reason"]) for row in rows]
    assert reasons(rows, "en", tmp_path) == english
    german = reasons([{**row, "reason": "ENGLISH"} for row in rows], "de", tmp_path)
    for sentence in german:
        assert sentence
        assert not re.search(r"ENGLISH|undefined|null|NaN|\{|  ", sentence), sentence
        assert not re.search(r"\b(passages?|against|sources?|votes?|its|the)\b", sentence), sentence
    said = dict(zip([each.kind for each in causes[::2]], german[::2], strict=True))
    assert said["older"] == (
        "steht in 3 Textstellen, die als 2 z\u00e4hlen (Abschriften), zuletzt datiert 1998-06-01, "
        "\u00e4lter als \u201e4,180\u201c (2021-11-30)"
    )
    assert said["outvoted"].endswith(
        "gegen 2 Textstellen f\u00fcr \u201e4,180\u201c; die Stimmen wiegen 1,50 gegen 2,00"
    )
    assert len(set(said.values())) > len(said) - 4  # few kinds share a sentence


@pytest.mark.slow
def test_an_answer_of_an_earlier_version_keeps_the_sentence_that_it_came_with(tmp_path: Path) -> None:
    assert reasons([{"cause": "kept", "reason": "As it was.", "details": {}}], "de", tmp_path) == [
        "As it was."
    ]
