"""Events: everything that can happen while a question is answered.

The trace keeps every event with its time, writes it to a trace file under the name `logged_as`, and hands it
to listeners. Those with a `kind` are public: `disputatio.stream`, `ask --stream` and the server show them
(`docs/reference/python.md`). A subclass of a public event adds fields to the trace only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, ClassVar, Literal

from disputatio.serialisation import Serialisable
from disputatio.types import Answer, Claim, PositionVerdict, Reading, Usage


class Event(Serialisable):
    """Something that happened: `kind` is its name in the stream ("" if it is not public), `logged_as` in
    a trace file; a subclass names both in its head.
    """

    __slots__ = ()
    kind: ClassVar[str] = ""
    logged_as: ClassVar[str] = ""
    logged_fields: ClassVar[Mapping[str, str]] = {}  # names of fields in a trace file, where they differ

    def __init_subclass__(cls, *, kind: str = "", logged_as: str = "") -> None:
        super().__init_subclass__()
        if kind:  # without names this is called again, for the same class with slots
            cls.kind = kind
        if logged_as:
            cls.logged_as = logged_as

    def to_dict(self) -> dict[str, Any]:
        """Return the kind and the fields of the public event as JSON values."""
        public = next((owner for owner in type(self).__mro__ if vars(owner).get("kind")), type(self))
        shown = {each.name for each in fields(public)}
        values = super().to_dict()
        return {"kind": self.kind, **{name: value for name, value in values.items() if name in shown}}

    def record(self) -> dict[str, Any]:
        """Return the event as a trace file has it: its name as `event`, then its fields."""
        values: dict[str, Any] = asdict(self)  # type: ignore[call-overload]  # all events are dataclasses
        renamed = {self.logged_fields.get(name, name): value for name, value in values.items()}
        return {"event": self.logged_as, **renamed}


# --- public ---------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Started(Event, kind="started", logged_as="strategy"):
    """A strategy begins with a question; `options` are those that were set."""

    logged_fields: ClassVar[Mapping[str, str]] = {"strategy": "name"}
    question: str
    strategy: str
    model: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Found(Event, kind="found", logged_as="search"):
    """A search has come back with the ids and the sources of passages, the best first.

    One that finds the same passages again for the same query is not told. `elsewhere` is true for a search
    outside the index or passages of the question.
    """

    logged_fields: ClassVar[Mapping[str, str]] = {"passages": "hits"}
    query: str
    passages: tuple[str, ...]
    sources: tuple[str, ...]
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt(Serialisable):
    """The sentence of a passage (by its id) that is nearest to the question: `start:end` of its text.

    `answers` is how likely the passage answers the question, if the encoder has read it.
    """

    passage: str
    title: str
    source: str
    sentence: str
    start: int
    end: int
    answers: float | None = None

    def line(self) -> str:
        """Return one line: the passage by its title, else by its source, and its sentence as a quote.

        >>> Excerpt(passage="p1", title="Fees", source="", sentence="It is free.", start=0, end=11).line()
        'Fees: “It is free.”'
        """
        name = self.title or self.source or self.passage
        return f"{' '.join(name.split())}: “{' '.join(self.sentence.split())}”"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence(Event, kind="evidence", logged_as="evidence"):
    """The best passages found, with their best sentences: what there is to see before a model has read.

    It comes once by words, and where there is an encoder once more, `by` what that has read.
    """

    query: str
    by: Literal["words", "encoder"]
    excerpts: tuple[Excerpt, ...]

    def record(self) -> dict[str, Any]:
        """Return the event as a trace file has it: the passages by their ids, without their text."""
        ids = [excerpt.passage for excerpt in self.excerpts]
        return {"event": self.logged_as, "query": self.query, "by": self.by, "passages": ids}


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimated(Event, kind="estimate", logged_as="estimate"):
    """So many calls begin at `seconds` of the question, which may take `remaining` seconds more.

    It is estimated by the tokens of the prompts and the speed of the model, here and in earlier questions.
    """

    role: str
    calls: int
    seconds: float
    remaining: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Read(Event, kind="read"):
    """One model call has finished: the `call`-th of a batch of `calls`, in the order of the prompts.

    `done` calls of the batch have finished. `passages` are the ids of those in the prompt, if the agent reads
    single ones, and `titles` are theirs. `tokens` (read and written) and `seconds` are those of the question
    so far, `remaining` the seconds that it may still take, if that can be told. `reply` is the model's text,
    if the trace keeps text; `journalled` is true if the reply comes from the journal.
    """

    role: str
    model: str
    call: int
    calls: int
    passages: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    journalled: bool = False
    reply: str = ""
    done: int = 0
    tokens: int = 0
    seconds: float = 0.0
    remaining: float | None = None

    def so_far(self) -> str:
        """Return what the question has cost by the end of the call, and what is estimated to be left.

        >>> Read(role="reader", model="m", call=1, calls=4, tokens=1200, seconds=6.2, remaining=18.4).so_far()
        '1,200 tokens, 6 s so far, about 18 s left'
        """
        left = f", about {self.remaining:.0f} s left" if self.remaining and self.remaining >= 1 else ""
        return f"{self.tokens:,} tokens, {self.seconds:.0f} s so far{left}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SideSoFar(Serialisable):
    """An answer that some passages (by their ids) give; those of one source or copied text have one vote."""

    answer: str
    votes: int
    passages: tuple[str, ...]
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sides(Event, kind="sides", logged_as="sides_so_far"):
    """The answers after a passage has been read, the one with most votes first, before they are weighed.

    `read` passages have been read, and `silent` of them give no answer.
    """

    sides: tuple[SideSoFar, ...]
    read: int
    silent: int

    def line(self) -> str:
        """Return one line: the answers with their votes, and how many of what was read give none.

        >>> first = SideSoFar(answer="1887", votes=2, passages=("p1", "p2"), sources=("a", "b"))
        >>> second = SideSoFar(answer="1901", votes=1, passages=("p3",), sources=("c",))
        >>> Sides(sides=(first, second), read=5, silent=2).line()
        '1887 (2 votes), 1901 (1 vote), no answer in 2 of 5'
        """
        votes = [
            f"{' '.join(side.answer.split())} ({side.votes} vote{'' if side.votes == 1 else 's'})"
            for side in self.sides
        ]
        none = [f"no answer in {self.silent} of {self.read}"] if self.silent else []
        return ", ".join([*votes, *none])


@dataclass(frozen=True, slots=True, kw_only=True)
class SideFormed(Event, kind="side", logged_as="side"):
    """An answer that passages give, with its verdict so far.

    It is reported again when its verdict or weight has changed, and last as a position of the answer: then
    `final` is true. `log_odds` is the sum of the evidence for it so far, if the strategy weighs by log-odds.
    """

    answer: str
    verdict: PositionVerdict
    subject: str = ""
    passages: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    log_odds: float | None = None
    final: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Round(Event, kind="round", logged_as="round"):
    """A round is over; `converged` is true if it was the last."""

    logged_fields: ClassVar[Mapping[str, str]] = {"number": "round"}
    number: int
    converged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed(Event, kind="claim"):
    """A claim of the answer, with its citations and their verdicts."""

    claim: Claim


@dataclass(frozen=True, slots=True, kw_only=True)
class Answered(Event, kind="answer"):
    """The answer, the same as `ask` returns."""

    answer: Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost(Event, kind="cost"):
    """The total cost of the question."""

    usage: Usage


PUBLIC = (Started, Found, Evidence, Estimated, Read, Sides, SideFormed, Round, Claimed, Answered, Cost)


def events_of_answer(answer: Answer) -> Iterator[Event]:
    """Yield the last events of a question: the positions of its answer, the claims, the answer, the cost."""
    for position in answer.conflict.positions:
        yield SideFormed(
            answer=position.answer,
            verdict=position.verdict,
            subject=position.subject,
            passages=position.passages,
            sources=position.sources,
            final=True,
        )
    for claim in answer.claims:
        yield Claimed(claim=claim)
    yield Answered(answer=answer)
    yield Cost(usage=answer.usage)


# --- of the kit and the pipeline ------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall(Read):
    """A finished model call as the trace keeps it.

    `prompt` and `scores` (log-probabilities by option, of a choice) are there if the trace keeps text.
    """

    method: Literal["complete", "choose"]
    prompt_hash: str
    prompt: Sequence[Mapping[str, str]] = ()
    scores: Mapping[str, float] = field(default_factory=dict)

    def record(self) -> dict[str, Any]:
        """Return the call as a trace file has it: the method as `event`, the usage among the fields."""
        passages = {"passages": self.passages} if self.passages else {}
        text = {"prompt": self.prompt, "reply": self.scores or self.reply} if self.prompt else {}
        return {
            "event": self.method,
            "role": self.role,
            "model": self.model,
            "call": self.call,
            "calls": self.calls,
            "prompt_hash": self.prompt_hash,
            "prompt_tokens": self.usage.prompt_tokens,
            "cached_tokens": self.usage.cached_tokens,
            "completion_tokens": self.usage.completion_tokens,
            "seconds": self.usage.seconds,
            "core_seconds": self.usage.core_seconds,
            "journalled": self.journalled,
            **passages,
            **text,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracted(Event, logged_as="extract"):
    """The encoder has read passages, without a language model; `probabilities` are those of an answer in
    each.
    """

    passages: Sequence[str]
    probabilities: Sequence[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class OutOfTime(Event, logged_as="out_of_time"):
    """The deadline has passed before the language model had read these passages, by id."""

    passages: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexUnsearched(Event, logged_as="unsearched"):
    """One of several indexes could not be searched; `ask` prints it and the answer names it."""

    index: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Concluded(Event, logged_as="answer"):
    """The answer is audited; the last event of a trace."""

    answers: Sequence[str]
    abstained: str | None
    read: Reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Bug(Event, logged_as="bug"):
    """An unexpected exception ended the question; an evaluation keeps its traceback."""

    traceback: str


# --- of any strategy ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFault(Event, logged_as="fault"):
    """A reply broke its contract, so the agent abstains; the answer counts these faults."""

    role: str
    reason: str
    passages: Sequence[str] = ()

    def record(self) -> dict[str, Any]:
        """Return the fault as a trace file has it, without passages if there are none."""
        values: dict[str, Any] = asdict(self)
        return {"event": self.logged_as, **{name: value for name, value in values.items() if value != ()}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped(Event):
    """A step was left out, because a part of the kit cannot do it; each step is a subclass."""

    reason: str


class Unchecked(Skipped, logged_as="unchecked"):
    """The citations or answers are not judged by the model; `ask` prints it."""

    __slots__ = ()


class Uncertified(Skipped, logged_as="uncertified"):
    """The vote gets no certificate."""

    __slots__ = ()


class NoPrecheck(Skipped, logged_as="no_precheck"):
    """The model was not asked if it knows the answer."""

    __slots__ = ()


class NoBelief(Skipped, logged_as="no_belief"):
    """The model's belief in each side was not asked."""

    __slots__ = ()


class NoDebate(Skipped, logged_as="no_debate"):
    """No round of debate was held."""

    __slots__ = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Unestimated(Event, logged_as="unestimated"):
    """Sources without an estimate of reliability; `prior` is None if no source has one. `ask` prints it."""

    sources: Sequence[str]
    prior: float | None
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stale(Event, logged_as="stale"):
    """Sources whose passages have changed since their reliability was estimated; `ask` prints it."""

    sources: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationDropped(Event, logged_as="unresolved"):
    """The span of a citation is not in its passage, so the citation was dropped."""

    passage: str
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersClustered(Event, logged_as="clusters"):
    """Answers were grouped by mutual entailment."""

    answers: int
    clusters: int
    entailments: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswersAligned(Event, logged_as="align"):
    """The judge has compared the answers of sources with their passages and dropped those that do not fit."""

    judged: int
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PreCheck(Event, logged_as="pre_check"):
    """The model was asked if it knows the answer, before any search."""

    logprobs: Sequence[float]
    threshold: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagesJudged(Event, logged_as="judged"):
    """`main_rag`, `ragenta`: the judge has scored passages by id; `kept` are those above the threshold."""

    question: str
    scores: Mapping[str, float | None]
    kept: Sequence[str]


# --- of one strategy ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class PostCheck(PreCheck, logged_as="post_check"):
    """`ac_rag`: the model was asked if its notes suffice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTerm(Event, logged_as="no_term"):
    """`ac_rag`: the detector named no new term to look up."""

    said: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class TermLookedUp(Round):
    """`ac_rag`: a term was searched, and its summary `remembered` if it is of use."""

    term: str
    query: str
    passages: Sequence[str]
    remembered: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionPicked(Event, logged_as="picked"):
    """`ac_rag`: one option of a multiple-choice question was picked."""

    words: Sequence[str]
    logprobs: Sequence[float]
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered(Event, logged_as="remembered"):
    """`astute_rag`: the model wrote passages from memory."""

    passages: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Consolidated(Event, logged_as="consolidated"):
    """`astute_rag`: documents were grouped by agreement; the sizes of the groups."""

    groups: Sequence[int]


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidatesProposed(Event, logged_as="candidates"):
    """`astute_rag`: each group has proposed an answer, with its confidence."""

    candidates: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Graded(Event, logged_as="graded"):
    """`crag`: the evaluator has scored passages; `action` is what follows, "again" for the second search."""

    action: str
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Refined(Event, logged_as="refined"):
    """`crag`: passages were cut into strips, and the relevant ones kept."""

    strips: int
    kept: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Belief(Event, logged_as="belief"):
    """`disputation`: the model's belief in each side of a question, in nats by answer."""

    question: str
    nats: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedJointly(Event, logged_as="joint look"):
    """`disputation`: the reply to the quotes of all sides at once, and the answer that it gives."""

    question: str
    reply: str
    answer: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Debated(Round, logged_as="debate"):
    """`disputation`: a round of debate; the score of each side in nats, by answer."""

    kept: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class FollowedUp(Event, logged_as="follow_up"):
    """`disputation`: a second search for passages that were not read yet."""

    question: str
    query: str
    passages: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedWider(Event, logged_as="looked"):
    """`disputation`: more passages were read, because answers contradict each other."""

    question: str
    passages: Sequence[str]
    searches: int
    read: int
    answered: int
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class SidesWeighed(Event, logged_as="sides"):
    """`disputation`: the sides of a question at the end, each with its votes and features."""

    question: str
    sides: Sequence[Mapping[str, Any]]
    verdicts: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourcesAsked(Round):
    """`ra_rag`: a round of questions to sources is over."""

    asked: int
    answered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Revised(Event, logged_as="revision"):
    """`ragenta`: the reviser has divided the question into components and named what is missing."""

    components: Mapping[str, str]
    dropped: Sequence[str]
    follow_ups: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeywordsKept(Event, logged_as="keywords"):
    """`robust_rag`: the keywords that enough replies share."""

    answered: int
    kept: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Critiqued(Event, logged_as="critique"):
    """`self_rag`: the score of each candidate by its passage; `fluency` is true if it counts."""

    scores: Mapping[str, float]
    fluency: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Reflected(Event, logged_as="reflection"):
    """`self_reflection`: a review of the answer, its number of problems, and if the answer changed."""

    round: int
    problems: int
    changed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PassagesClustered(Event, logged_as="clustered"):
    """`speculative_rag`: passages were clustered, and subsets drawn for the drafts."""

    by: str
    clusters: Sequence[Sequence[str]]
    subsets: Sequence[Sequence[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftsVerified(Event, logged_as="verified"):
    """`speculative_rag`: the score of each draft, and its factors."""

    scores: Sequence[float]
    drafts: Sequence[Mapping[str, float | None]]
