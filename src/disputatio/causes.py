"""The causes of verdicts as data, by which code decides; `disputatio.rendering.reasons` words them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Joined = Literal["publisher", "copies", "alike", "superseded"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Support:
    """The support of an answer: how many `passages` state it, how many `sources` give it.

    `groups` is how many of them count, where some count as one: `joined` says why (one `publisher`, `copies`,
    texts that are `alike`, or `superseded`, which has no vote beside what is in force). `weight` is what
    their votes weigh together; `date` the latest date, or where dates decided the one that did, empty where
    none is known; `probability` how likely the answer is right. What a strategy does not count or know is
    None. `authority` is the highest tier that people declared of its documents, `declared` how much of
    `weight` comes of such tiers and not of what was learnt of sources.
    """

    passages: int | None = None
    sources: int | None = None
    groups: int | None = None
    joined: tuple[Joined, ...] = ()
    weight: float | None = None
    date: str = ""
    probability: float | None = None
    authority: str = ""
    declared: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rival:
    """Another answer that a position was compared with, and its support."""

    answer: str
    support: Support = field(default_factory=Support)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """The cause of a position's verdict, as data: code decides by this, and `rendering.reasons` words it.

    `rivals` are the answers that it was compared with, the strongest first. `feature` is what tells most
    against an `off_topic` position; `strategy` is the one that kept a `kept` or left out a `not_kept` one; a
    `picked` one was one of `options` answers, on `notes` notes. `confidence` is what a model stated,
    `remembered` that its memory says so. `succession` is how a document takes the place of that of a
    `superseded` position, `quote` the words of either that say so. `remark` is a model's own sentence:
    untrusted, and only shown.
    """

    kind: str
    support: Support = field(default_factory=Support)
    rivals: tuple[Rival, ...] = ()
    feature: str | None = None
    strategy: str = ""
    options: int | None = None
    notes: int | None = None
    confidence: Literal["high", "medium", "low"] | None = None
    remembered: bool = False
    succession: str = ""
    quote: str = ""
    remark: str = ""
