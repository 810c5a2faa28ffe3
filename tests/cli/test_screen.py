"""Tests of how a vote of sources is shown: its positions, what it survives, and what is not known."""

from __future__ import annotations

import json
import time
from dataclasses import replace

import pytest

from disputatio.causes import Cause, Rival, Support
from disputatio.cli import screen
from disputatio.cli.screen import Waiting, show_answer
from disputatio.events import Evidence, Excerpt, Found, Read, Sides, SideSoFar, Stale, Started, Unestimated
from disputatio.types import Answer, Certificate, Citation, CitationVerdict, Claim, Conflict, Position
from tests.rendering.answers import FERRY

VOTE = Answer(
    question="Who designed it?",
    answers=("Ingrid Vasmer",),
    conflict=Conflict(
        kind="misinformation",
        positions=(
            Position(
                answer="Ingrid Vasmer",
                verdict="accepted",
                cause=Cause(
                    kind="most_votes",
                    support=Support(sources=44, groups=3, weight=3.4),
                    rivals=(Rival(answer="Croll", support=Support(sources=2, groups=2, weight=1.2)),),
                ),
                sources=("a.example",),
                weight=3.4,
            ),
        ),
    ),
    certificate=Certificate(owners=2, voters=4, names=("a.example", "b.example")),
    strategy="ra_rag",
    model="scripted",
)


def test_the_certificate_stands_below_the_positions(capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(VOTE, as_json=False)
    shown = capsys.readouterr().out
    assert "3 independent, 41 copies" in shown
    assert "Robustness: 2 of 4 sources would have to lie to change this answer" in shown
    assert shown.index("Positions:") < shown.index("Robustness:") < shown.index("Cost:")


def test_an_answer_of_memory_alone_is_not_called_agreed(capsys: pytest.CaptureFixture[str]) -> None:
    alone = Position(answer="Ingrid Vasmer", verdict="accepted", cause=Cause(kind="kept", remembered=True))
    remembered = Answer(question="Who?", answers=("Ingrid Vasmer",), conflict=Conflict(positions=(alone,)))
    show_answer(remembered, as_json=False)
    shown = capsys.readouterr().out
    assert "no passage that was read says so" in shown
    assert "agree" not in shown


def test_an_answer_without_one_shows_none(capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(Answer(question="Who?", abstained="no_evidence"), as_json=False)
    assert "Robustness" not in capsys.readouterr().out


def test_the_certificate_is_in_the_json_and_null_where_there_is_none() -> None:
    fields = json.loads(VOTE.to_json())
    assert fields["certificate"] == {
        "owners": 2,
        "voters": 4,
        "names": ["a.example", "b.example"],
        "corrupted": None,
        "unread": 0,
    }
    assert Answer(question="Who?", abstained="no_evidence").to_dict()["certificate"] is None


@pytest.mark.parametrize(
    ("prior", "reason", "message"),
    [
        (None, "every vote counts the same", "no source has an estimate of reliability"),
        (0.5, "those have the prior", "2 sources without an estimate of reliability: those have the prior"),
    ],
)
def test_a_user_is_told_of_sources_without_an_estimate(
    prior: float | None, reason: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Waiting().follow(Unestimated(sources=["a", "b"], prior=prior, reason=reason))
    shown = " ".join(capsys.readouterr().err.split())
    assert message in shown
    assert "disputatio calibrate" in shown


def test_a_user_is_told_which_estimates_are_stale(capsys: pytest.CaptureFixture[str]) -> None:
    Waiting().follow(Stale(sources=["a.example", "b.example"]))
    assert "of a.example, b.example: disputatio calibrate" in " ".join(capsys.readouterr().err.split())


def test_a_question_of_many_lines_is_shown_by_its_beginning(capsys: pytest.CaptureFixture[str]) -> None:
    show_answer(Answer(question="why is the sky blue " * 500, abstained="no_evidence"), as_json=False)
    assert len(capsys.readouterr().out.splitlines()) < 15


def test_a_claim_that_its_quotes_do_not_bear_out_is_marked_where_it_stands(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def claim(text: str, verdict: CitationVerdict, *, cited: bool = True) -> Claim:
        citation = Citation(n=1, passage="p", source="a.example", quote="so it is", start=0, end=8)
        return Claim(text=text, verdict=verdict, citations=(citation,) * cited)

    claims = (
        claim("It is high.", "supported"),
        claim("It is blue [7].", "unsupported"),
        claim("It is low.", "contradicted"),
        claim("It is wide.", "partly"),
        claim("It is old.", "unsupported", cited=False),
        claim("It is new.", "unchecked"),
    )
    show_answer(Answer(question="What?", answers=("high",), claims=claims, text="..."), as_json=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert (
        "It is high [1]. It is blue (7) [1]. (unsupported) It is low [1]. (contradicted by what it cites) "
        "It is wide [1]. (partly supported) It is old. (unsupported: nothing is cited) It is new [1]."
    ) in shown


def test_a_quote_is_shown_with_its_page_and_the_address_of_its_passage(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    address = "https://museum.example/" + "a-long-path/" * 9
    passages = (replace(FERRY.passages[0], url=address, metadata={"page": "3-4"}), FERRY.passages[1])
    show_answer(replace(FERRY, passages=passages), as_json=False)
    lines = capsys.readouterr().out.splitlines()
    at = lines.index("  [1] museum.example, page 3-4: “ferry first crossed in 1887”")
    assert "".join(line.strip() for line in lines[at + 1 : at + 3]) == address
    assert max(map(len, lines)) <= 80
    show_answer(replace(FERRY, passages=passages), as_json=True)
    shown = json.loads(capsys.readouterr().out)["passages"]
    assert (shown[0]["url"], shown[0]["page"]) == (address, "3-4")
    assert "page" not in shown[1]


@pytest.mark.parametrize(
    ("answer", "headline"),
    [
        (Answer(question="Who?", abstained="no_evidence"), "nothing was found for the question"),
        (
            Answer(question="Who?", abstained="no_evidence", passages=FERRY.passages),
            "nothing that was read answers the question",
        ),
    ],
)
def test_nothing_found_is_another_thing_than_nothing_that_answers(
    answer: Answer, headline: str, capsys: pytest.CaptureFixture[str]
) -> None:
    show_answer(answer, as_json=False)
    assert f"No answer: {headline}" in capsys.readouterr().out


@pytest.mark.long
def test_progress_is_a_line_from_time_to_time_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(screen, "_EVERY", 0.02)
    excerpt = Excerpt(passage="p", title="Quays", source="", sentence="It is old.", start=0, end=10)
    for quiet in (False, True):
        with Waiting(quiet=quiet) as waiting:
            waiting.follow(Started(question="Who?", strategy="disputation", model="m"))
            waiting.follow(Found(query="Who?", passages=("p", "q"), sources=("", "")))
            waiting.follow(Evidence(query="Who?", by="words", excerpts=(excerpt,)))
            read = Read(role="reader", model="m", call=2, calls=4, done=1, titles=("Quays",), tokens=900)
            waiting.follow(read)
            side = SideSoFar(answer="1887", votes=1, passages=("p",), sources=())
            waiting.follow(Sides(sides=(side,), read=1, silent=0))
            time.sleep(0.2)
        said = capsys.readouterr().err
        line = "reader Quays: 1 of 4, 900 tokens, 0 s so far; so far: 1887 (1 vote)\n"
        assert (line in said) is not quiet
