"""Every noun of the project: frozen, slotted, keyword-only, and computing nothing.

A `Completion` is what a model wrote, a `Reply` what was parsed of it, an `Answer` what the system says.
What people read of them is made by upper rooms, which register it as `Presentable.presenter`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Protocol

from disputatio.causes import Cause
from disputatio.serialisation import Serialisable, fields_of
from disputatio.text import gives_orders

Abstention = Literal["no_evidence", "conflict", "fault"]
ConflictKind = Literal["none", "ambiguity", "misinformation", "outdated", "opinion", "unresolved"]
PositionVerdict = Literal["accepted", "rejected", "unresolved"]
DateOrigin = Literal["stated", "text", "name", "file", ""]
RelationKind = Literal["replaces", "amends", "corrects", "withdrawn", "draft", "effective", "expires"]
ContradictionKind = Literal["value", "date", "negation", "definition", "version"]
Severity = Literal["low", "medium", "high"]
Side = Literal["first", "second", ""]
Remedy = Literal[
    "find_writer", "state_scope", "correct_other", "correct_both", "state_version", "correct_lower",
    "renew_higher", "confirm_older", "check_record", "ask_owner", "date_both",
]  # fmt: skip
"""What would settle a contradiction; `contradictions.standing` words each."""
Standing = Literal[
    "agrees",
    "unresolved",
    "contradicts",
    "superseded",
    "older",
    "later",
    "retracted",
    "no_answer",
    "failed",
    "silent",
]
PASSAGE = "passage:"  # before the id of a passage in hand, where other documents have a path
CitationVerdict = Literal["supported", "partly", "unsupported", "contradicted", "unchecked"]


# --- how nouns are shown ------------------------------------------------------------------------
class Presenter(Protocol):
    """Functions of upper rooms that methods of nouns stand for; `import disputatio` registers them."""

    def text(self, noun: object) -> str:
        """Return plain text, for `print`."""

    def html(self, noun: object) -> str:
        """Return an element of HTML, for a notebook."""

    def reason(self, position: Position) -> str:
        """Return the cause of a position in English."""

    def without(
        self,
        answer: Answer,
        *,
        sources: str | Collection[str],
        owners: str | Collection[str],
        passages: str | Collection[str],
        documents: str | Collection[str],
        strategy: Callable[..., Answer] | None,
    ) -> Answer:
        """Decide an answer again without some of its passages."""


class Presentable(Serialisable):
    """A noun that people read: `str()` of it is plain text, a notebook shows it as HTML."""

    __slots__ = ()
    presenter: ClassVar[Presenter]

    def __str__(self) -> str:
        return self.presenter.text(self)

    def _repr_html_(self) -> str:
        return self.presenter.html(self)


# --- evidence -----------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Source(Serialisable):
    """A publisher of passages, and how reliable it has proved to be.

    `reliability` is the probability that it is right when it answers, None where nothing is known;
    `low` and `high` are its 95 % interval. It was right in `agreed` of the `answered` out of `questions`
    put to it, by the estimate of the day `updated`; older evidence may count as fractions. Sources of one
    `group` do not speak independently (copies, shared lies); `stale` when its passages have changed since.
    """

    name: str
    owner: str = ""
    reliability: float | None = None
    low: float | None = None
    high: float | None = None
    questions: int = 0
    answered: float = 0.0
    agreed: float = 0.0
    group: str = ""
    updated: str = ""
    stale: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation(Serialisable):
    """A statement of a document about another one or itself (`withdrawn`, `draft`, `effective`, `expires`).

    `target` is the other document as it is named there; for `effective` and `expires` the day, in ISO form.
    `quote` has the words that say so; it is empty where a person stated the relation (`by_person`).
    """

    kind: RelationKind
    target: str = ""
    quote: str = ""
    by_person: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage(Serialisable):
    """A stretch of text from a source.

    `id` is given by the store from the content when left empty. `date_origin` is `stated` where a record, a
    header, a column or a person gives the `date`, `text` where the document's own words do (`date_quote`),
    `name` where its file's name does, `file` where only the properties of its file do, and empty where that
    is not known. `version` and `family` (its name without version and date) place it among the versions of
    one document, `relations` are what it says of others; `authority` is the tier that people gave it.
    `by_people` has the fields that people stated of the document, whatever it states itself. `start:end` are
    character offsets into the text of `document` (a content hash), where the passage came from an index.
    """

    text: str
    id: str = ""
    source: str = ""
    owner: str = ""
    title: str = ""
    url: str = ""
    date: str = ""
    date_origin: DateOrigin = ""
    date_quote: str = ""
    version: str = ""
    family: str = ""
    authority: str = ""
    relations: tuple[Relation, ...] = ()
    by_people: Mapping[str, str] = field(default_factory=dict)
    document: str = ""
    start: int = 0
    end: int = 0
    metadata: Mapping[str, str] = field(default_factory=dict)

    @property
    def gives_orders(self) -> bool:
        """True if its text, or what its document hides from people, tells its reader what to answer."""
        return gives_orders(self.text) or "hides_orders" in self.metadata

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values, the page beside them where the metadata names one, and
        `gives_orders` where it tells its reader what to answer.
        """
        page = self.metadata.get("page")
        orders = {"gives_orders": True} if self.gives_orders else {}
        return fields_of(self) | ({"page": page} if page is not None else {}) | orders


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit(Presentable):
    """A passage found by a search; `scores` has the score of each scorer (`sparse`, `dense`), in [0, 1].

    `duplicate_of` is the id of a better hit of the same search that says nearly the same words.
    """

    passage: Passage
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)
    duplicate_of: str = ""


# --- models -------------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One turn of a chat: `role` is system, user or assistant."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Prompt:
    """The messages to a model. What is read again comes first, so that prefixes are shared."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """The settings of a generation; `schema` is a JSON schema that the whole reply must satisfy."""

    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int = 0
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage(Serialisable):
    """The cost of calls. `cached_tokens` are the prompt tokens that a prefix cache spared;
    `seconds` is time spent waiting for models: the seconds of a batch's calls add up to its wall time.
    `core_seconds` is processor time of the embedded engine, None for models that do not tell theirs.
    """

    calls: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    seconds: float = 0.0
    core_seconds: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Token:
    """One generated token with its natural-log probability."""

    text: str
    logprob: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion(Serialisable):
    """The raw word of a model. `finish_reason` is `stop`, or `length` when it was cut off.

    `tokens` is empty where the engine gives no log-probabilities. `journalled` is true when the
    call was answered from the journal; its usage is then what the call cost when it was made.
    """

    text: str
    finish_reason: Literal["stop", "length"]
    usage: Usage
    tokens: tuple[Token, ...] = ()
    journalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Log-probabilities of the options, from one generated token.

    `logprobs[i]` is the natural log of P(option i); where `bounded[i]` the option was missing from
    the model's top list and the figure is an upper bound, never minus infinity.
    """

    options: tuple[str, ...]
    logprobs: tuple[float, ...]
    bounded: tuple[bool, ...]
    usage: Usage
    journalled: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The abilities of a model's engine as they were found, recorded with results."""

    engine: str
    logprobs: bool
    max_options: int
    schema: bool
    context_tokens: int | None = None


# --- words of agents and of the system ----------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Reply(Serialisable):
    """One agent's parsed word about the passages it read (their ids).

    `answer` is empty when the agent abstained; `fault` then says why when the reply broke its
    contract rather than declined, and `raw` keeps what the model wrote. `subject` is what the passages are
    about, `certainty` the mean log-probability of the answer's tokens, where it is known.
    """

    passages: tuple[str, ...]
    answer: str = ""
    subject: str = ""
    certainty: float | None = None
    explanation: str = ""
    quote: str = ""
    round: int = 1
    fault: str = ""
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extraction:
    """The answer that an encoder reads in a `passage` (its id): `answer` is `text[start:end]` of it.

    `probability`, that the passage answers at all, is calibrated; `certainty` is the mean log-probability of
    the answer's first and last token."""

    answer: str
    start: int
    end: int
    probability: float
    passage: str = ""
    certainty: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation(Serialisable):
    """A verbatim quote, `text[start:end]` of the stored passage it names."""

    n: int
    passage: str
    source: str
    quote: str
    start: int
    end: int
    verdict: CitationVerdict = "unchecked"
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim(Serialisable):
    """One statement of the answer with what it rests on.

    `verdict` is what its quotes come to, together; `score` the probability that they support it, None where
    that was not judged or nothing is cited.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    verdict: CitationVerdict = "unchecked"
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Position(Serialisable):
    """One answer that some passages gave, what became of it, and why; `aliases` are its other forms.

    `weight` is what its votes count for; `probability` how likely it is right, None where a strategy
    does not know; `moved` by how much each later step (belief, debate) moved its log-odds.
    """

    answer: str
    verdict: PositionVerdict
    cause: Cause
    subject: str = ""
    aliases: tuple[str, ...] = ()
    probability: float | None = None
    passages: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    weight: float = 0.0
    moved: Mapping[str, float] = field(default_factory=dict)

    @property
    def reason(self) -> str:
        """The cause in English, for people: nothing decides by it."""
        return Presentable.presenter.reason(self)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields as JSON values: the kind of the cause, the English, its parameters last."""
        values = fields_of(self)
        details = values.pop("cause")
        first = {name: values.pop(name) for name in ("answer", "subject", "verdict")}
        return first | {"cause": details.pop("kind"), "reason": self.reason} | values | {"details": details}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict(Serialisable):
    """The kind of disagreement among passages, and the positions they take."""

    kind: ConflictKind = "none"
    positions: tuple[Position, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceAnswer(Serialisable):
    """The answer of one source, and its `relation` to what was accepted.

    `quote` is `text[start:end]` of the `passage` that says so, and empty where the source says nothing. A
    passage without a source is one, named by its id. `no_answer`: it says something that does not answer the
    question; `failed`: no reply on its passages could be used.
    """

    source: str
    relation: Standing
    answer: str = ""
    passage: str = ""
    quote: str = ""
    start: int = 0
    end: int = 0
    title: str = ""
    date: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate(Serialisable):
    """The number of liars that an answer survives: `owners` is the fewest whose lie would change it.

    Counted exactly over the `voters` owners that were read; `names` is one such set. `corrupted` is how
    many passages may be corrupted without changing the answer, where that is provable. The `unread` owners,
    whose passages no reply could be used on, are counted as if they opposed the answer: with 0 `owners` they
    alone could change it.
    """

    owners: int
    voters: int
    names: tuple[str, ...] = ()
    corrupted: int | None = None
    unread: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsearched(Serialisable):
    """One of several indexes that a search had to leave out, and why, in one line."""

    index: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A count of what became of the passages that a question's searches found.

    Of `found` passages the answer's agents `read` some, every reply on others `failed`, and the rest were
    `set_aside`: not put to an agent, or judged to be of no use. `faults` counts the replies of agents of any
    role that could not be used. `unsearched` are those of several indexes that could not be searched.
    `late` are the passages, by id, that the language model had not read by the deadline; the encoder read
    them, if there is one, else they count as `failed`.
    """

    found: int
    read: int
    failed: int
    set_aside: int
    faults: int = 0
    unsearched: tuple[Unsearched, ...] = ()
    late: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PastHit:
    """A passage, by its id, that a search found, with its scores."""

    passage: str
    score: float
    scores: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PastSearch:
    """A search that was made for an answer, with its options."""

    query: str
    hits: tuple[PastHit, ...]
    k: int | None = None
    per_source: int | None = None
    sources: tuple[str, ...] | None = None
    exclude: tuple[str, ...] = ()
    elsewhere: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PastCall:
    """A model call that was made for an answer: `key` names its role, prompt and settings."""

    key: str
    result: Completion | Choice


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """The evidence that an answer was made from, so that it can be decided again without asking a model.

    `options` are the strategy's, `sources` those of the passages found and one other where any is known;
    `passages` were found and not read. `extractions` are by question. `details` is what the strategy itself
    needs beside these to decide again: JSON values, which it finds in `Kit.recorded`.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    verify: bool = True
    strict: bool = False
    min_confidence: float = 0.0
    sources: tuple[Source, ...] = ()
    passages: tuple[Passage, ...] = ()
    searches: tuple[PastSearch, ...] = ()
    calls: tuple[PastCall, ...] = ()
    extractions: Mapping[str, tuple[Extraction, ...]] = field(default_factory=dict)
    judgements: Mapping[str, float] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Presentable):
    """The word of the system. `answers` is empty exactly when `abstained` says why.

    A strategy fills `answers`, `replies`, `explanation`, `passages` and, where it can, `confidence` and
    `claims`, whose citations need no numbers; the audit checks these, and fills the rest the same way for
    all. `expect` is how many answers were taken to be right: a strategy sets it where the user or the
    question says so, else the audit counts what was accepted. `retrievals` is how often a strategy searched,
    None for one that always does. `details` are JSON values of the strategy's own: `disputation` describes
    its search beyond the first passages there. `each_source` has what every source answers, where that was
    asked for. `basis` is what `without` decides by; `assumed` names what a model would be asked anew for an
    answer decided so.
    """

    question: str
    answers: tuple[str, ...] = ()
    abstained: Abstention | None = None
    text: str = ""
    claims: tuple[Claim, ...] = ()
    conflict: Conflict = field(default_factory=Conflict)
    confidence: float | None = None
    expect: Literal["one", "several"] | None = None
    certificate: Certificate | None = None
    read: Reading | None = None
    usage: Usage = field(default_factory=Usage)
    strategy: str = ""
    model: str = ""
    passages: tuple[Passage, ...] = ()
    explanation: str = ""
    replies: tuple[Reply, ...] = ()
    rounds: int = 0
    retrievals: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    each_source: tuple[SourceAnswer, ...] = ()
    assumed: tuple[str, ...] = ()
    basis: Basis | None = field(default=None, repr=False)

    def without(
        self,
        *,
        sources: str | Collection[str] = (),
        owners: str | Collection[str] = (),
        passages: str | Collection[str] = (),
        documents: str | Collection[str] = (),
        strategy: Callable[..., Answer] | None = None,
    ) -> Answer:
        """Return the answer that the same strategy gives without some of the passages that were found.

        They are named by source, owner, id or document (its id or title). No model is called and nothing is
        searched again: the calls and searches of `basis` decide. `strategy` is the function, where it is one
        of your own. Raises `UnknownName` for a name that the answer does not have, and `MustAskAgain` where a
        model would have to read something new.
        """
        return self.presenter.without(
            self,
            sources=sources,
            owners=owners,
            passages=passages,
            documents=documents,
            strategy=strategy,
        )

    @classmethod
    def of_earlier(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Move what answers had in fields of their own before `details` to where it stands now."""
        basis = values.get("basis")
        if isinstance(values.get("looked"), Mapping):
            values = {**values, "details": {"looked": values["looked"]}}
        if isinstance(basis, Mapping) and "beliefs" in basis:
            recorded = {"beliefs": basis["beliefs"], "similarities": basis.get("judgements", {})}
            values = {**values, "basis": {**basis, "details": recorded}}
        return values


# --- contradictions without a question ----------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Statement(Serialisable):
    """A statement of a document, quoted as `text[start:end]`; `value` is what others contradict.

    `document` is its id in an index, `path` and `row` the place that it was read from, `section` the headings
    above it. `also` names some other documents that state the same in the same words, `copies` has the ids
    of up to a thousand. `gives_orders` is true where the document tells its reader what to answer.
    """

    quote: str
    value: str
    start: int
    end: int
    path: str = ""
    row: int = 0
    document: str = ""
    source: str = ""
    owner: str = ""
    title: str = ""
    url: str = ""
    date: str = ""
    date_origin: DateOrigin = ""
    authority: str = ""
    page: str = ""
    line: int = 0
    section: str = ""
    also: tuple[str, ...] = ()
    copies: tuple[str, ...] = ()
    gives_orders: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction(Serialisable):
    """Two statements of two documents that cannot both hold of one thing.

    `kind` is `version` where the documents are versions of one. `scope` has what only one of them says and
    what may reconcile them; the severity is then `low`. `newer`, `higher` (in declared authority) and
    `more_reliable` (as learnt) name a side where that is known, `holds` the one that is in force.
    `settled_by` says what would settle it, `remedy` is its kind. `probability` is a model's, where one
    has judged. `new` is false for one that a baseline has; `id` stays the same as long as both quotes do.
    """

    id: str
    kind: ContradictionKind
    severity: Severity
    first: Statement
    second: Statement
    about: str = ""
    scope: tuple[str, ...] = ()
    newer: Side = ""
    higher: Side = ""
    more_reliable: Side = ""
    holds: Side = ""
    settled_by: str = ""
    remedy: Remedy | None = None
    likeness: float = 0.0
    probability: float | None = None
    new: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Check(Presentable):
    """The result of a check: contradictions, the gravest first, and what was read for them.

    `compared` counts the pairs of statements that were compared, `left_out` those that were not because there
    were too many. `hidden` counts contradictions of a lower severity than was asked for, `judged` the calls
    of a model. `refused` names files and rows that could not be read, `notices` what was not taken of a
    `disputatio.yaml`.
    """

    contradictions: tuple[Contradiction, ...] = ()
    documents: int = 0
    statements: int = 0
    compared: int = 0
    left_out: int = 0
    hidden: int = 0
    judged: int = 0
    seconds: float = 0.0
    refused: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()

    @property
    def new(self) -> tuple[Contradiction, ...]:
        """The contradictions that no baseline has."""
        return tuple(each for each in self.contradictions if each.new)


# --- evaluation ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, kw_only=True)
class Example:
    """One row of a data set; `row` is its number in the file, from 0."""

    id: str
    row: int
    question: str
    gold: tuple[str, ...]
    wrong: tuple[str, ...] = ()
    passages: tuple[Passage, ...] = ()
    metadata: Mapping[str, Any] = field(default_factory=dict)
