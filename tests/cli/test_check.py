"""`disputatio check` from the command line: exit status, baseline, JSON, SARIF, HTML."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shell import run

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "rules.md").write_text(
        "# Rules\n\nThe jetty closes at 20:00. Fires are not allowed on the jetty.\n"
    )
    (tmp_path / "papers" / "board.txt").write_text(
        "The jetty closes at 21:00. Fires are allowed on the jetty.\n"
    )
    return tmp_path


def test_new_contradictions_are_printed_and_end_with_one(papers: Path, capsys: Capture) -> None:
    result = run(capsys, "check", "papers")
    assert result.code == 1
    assert "papers/board.txt:1" in result.out
    assert "“The jetty closes at 20:00.”" in result.out
    assert "2 contradictions in 2 documents" in result.out


def test_a_sidecar_counts_whole_once_it_is_named(papers: Path, capsys: Capture) -> None:
    sidecar = papers / "papers" / "disputatio.yaml"
    sidecar.write_text("rules.md:\n  authority: official\n")
    assert "authority not taken" in run(capsys, "check", "papers").err
    named = run(capsys, "check", "papers", "--sidecar", str(sidecar), "--json")
    assert "not taken" not in named.err
    assert '"authority": "official"' in named.out


def test_one_pair_is_a_pair(papers: Path, capsys: Capture) -> None:
    (papers / "papers" / "board.txt").write_text("The jetty closes at 21:00.\n")
    assert ", 1 pair compared;" in run(capsys, "check", "papers").out


def test_a_folder_without_contradictions_ends_with_zero(papers: Path, capsys: Capture) -> None:
    (papers / "papers" / "board.txt").unlink()
    assert run(capsys, "check", "papers").code == 0


def test_what_a_baseline_accepts_does_not_fail_and_what_is_new_does(papers: Path, capsys: Capture) -> None:
    written = run(capsys, "check", "papers", "--write-baseline", "accepted.json")
    assert written.code == 0
    assert "accepted 2 in accepted.json" in written.err
    again = run(capsys, "check", "papers", "--baseline", "accepted.json")
    assert again.code == 0
    assert "2 of them in the baseline" in again.out
    (papers / "papers" / "more.txt").write_text("The jetty is 40 m long.\n")
    (papers / "papers" / "plan.txt").write_text("The jetty is 55 m long.\n")
    grown = run(capsys, "check", "papers", "--baseline", "accepted.json", "--json")
    assert grown.code == 1
    assert [each["new"] for each in json.loads(grown.out)["contradictions"]].count(True) == 1


def test_sarif_has_both_places_and_a_fingerprint(papers: Path, capsys: Capture) -> None:
    result = run(capsys, "check", "papers", "--sarif")
    assert result.code == 1
    log = json.loads(result.out)
    assert log["version"] == "2.1.0"
    [first, _] = log["runs"][0]["results"]
    rules = [rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]]
    assert first["ruleId"] in rules
    place = first["locations"][0]["physicalLocation"]
    text = (papers / place["artifactLocation"]["uri"]).read_text()
    region = place["region"]
    assert (
        text[region["charOffset"] : region["charOffset"] + region["charLength"]] == region["snippet"]["text"]
    )
    assert len(first["relatedLocations"]) == 1
    assert first["partialFingerprints"]["contradiction/v1"]


def test_the_page_stands_alone_and_is_escaped(papers: Path, capsys: Capture) -> None:
    hostile = "<img src=x onerror=alert(1)> The jetty closes at 22:00.\n"
    (papers / "papers" / "a&b.txt").write_text(hostile)
    assert run(capsys, "check", "papers", "--html", "report.html").code == 1
    page = (papers / "report.html").read_text()
    assert "<img" not in page
    assert "<script" not in page
    assert "http://" not in page.replace("https://", "http://")
    assert "&lt;img src=x" in page
    assert "default-src &#x27;none&#x27;" in page or "default-src 'none'" in page


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("check",), "--index"),
        (("check", "nowhere"), "nowhere"),
        (("check", "papers", "--index", "x"), "not both"),
        (("check", "papers", "--baseline", "none.json"), "none.json"),
        (("check", "papers", "--baseline", "papers/rules.md"), "no baseline"),
        (("check", "papers", "--json", "--sarif"), "choose one"),
        (("check", "papers", "--severity", "grave"), "grave"),
        (("check", "papers", "--html", "no/such/folder/r.html"), "--html no/such/folder/r.html: there is no"),
        (
            ("check", "papers", "--write-baseline", "papers"),
            "--write-baseline papers: no file can be written",
        ),
        (("check", "papers", "--calls", "5"), "--calls needs --model"),
        (("check", ""), "a path is empty"),
    ],
)
def test_bad_input_is_one_line_and_exit_two(
    words: tuple[str, ...], names: str, papers: Path, capsys: Capture
) -> None:
    result = run(capsys, *words)
    assert result.code == 2
    assert names in result.err
    assert result.err.count("\n") <= 2


def test_what_cannot_be_written_is_known_before_anything_is_read(
    papers: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("disputatio.api.checking.check", lambda *_, **__: pytest.fail("was read"))
    assert run(capsys, "check", "papers", "--html", "papers").code == 2
    assert run(capsys, "check", "papers", "--write-baseline", "none/b.json").code == 2


def test_an_index_is_checked_by_its_name(papers: Path, capsys: Capture) -> None:
    assert run(capsys, "ingest", "papers", "--index", "i", "--embedder", "none").code == 0
    result = run(capsys, "check", "--index", "i", "--json")
    assert result.code == 1
    [first, _] = json.loads(result.out)["contradictions"]
    assert first["first"]["document"]
    assert first["first"]["source"]
