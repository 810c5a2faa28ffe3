"""An answer that is less likely right than was asked for is no answer."""

from __future__ import annotations

from dataclasses import replace

from disputatio.types import Answer, Conflict


def confidently(answer: Answer, least: float) -> Answer:
    """Return the answer where it is as likely as `least` to be right, else an abstention of kind `conflict`.

    `confidence` stays, so that one sees what it fell short of; accepted positions become unresolved.
    An answer of unknown confidence is taken for unsure: nothing shows that it is as likely.
    """
    if answer.abstained or (answer.confidence is not None and answer.confidence >= least):
        return answer
    positions = tuple(
        replace(position, verdict="unresolved", cause=replace(position.cause, kind="unsure"))
        if position.verdict == "accepted"
        else position
        for position in answer.conflict.positions
    )
    return replace(
        answer,
        answers=(),
        abstained="conflict",
        claims=(),
        text="",
        conflict=Conflict(kind="unresolved" if positions else answer.conflict.kind, positions=positions),
        certificate=None,
    )
