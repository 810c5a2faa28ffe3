"""Decides an answer again as if some passages were not there, without a model.

The strategy that gave the answer runs again over the passages that are left, with its searches and model
calls answered from the answer's `basis`. Where a judge of claims or of beliefs would have to be asked
something new, the strategy decides without it, and the answer's `assumed` names the role.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Unpack

from disputatio.arguments import check_calls
from disputatio.attribution.each_source import with_each_source
from disputatio.errors import InputError, MissingPart, MustAskAgain, NotRecorded, UnknownName
from disputatio.events import IndexUnsearched
from disputatio.kit import Kit
from disputatio.pipeline import Strategy, conclude, load_strategy, read_options, strategy_name, strategy_names
from disputatio.protocols import LLM, SearchOptions
from disputatio.trace import call_key, judgement_key
from disputatio.types import (
    PASSAGE,
    Answer,
    Basis,
    Capabilities,
    Choice,
    Citation,
    Claim,
    Completion,
    Extraction,
    Hit,
    Passage,
    PastSearch,
    Prompt,
    Sampling,
    Source,
)

_UNREAD = "the reader would have to read something new"


@check_calls
def without(
    answer: Answer,
    *,
    sources: str | Collection[str] = (),
    owners: str | Collection[str] = (),
    passages: str | Collection[str] = (),
    documents: str | Collection[str] = (),
    strategy: Strategy | None = None,
) -> Answer:
    """Decide an answer again without the passages of these sources, owners, ids and documents (id or title).

    `strategy` is the function that gave the answer, where it is not one of Disputatio's own: an answer names
    it, and a name from data is never imported. Raises `UnknownName` for a name that the answer does not have,
    `InputError` for another strategy than that of the answer, and `MustAskAgain` where a model would have to
    read something new.
    """
    basis, run = answer.basis, _strategy_of(answer, strategy)
    if basis is None:
        raise MustAskAgain(f"{answer.strategy or 'this answer'} keeps nothing to decide by: ask again")
    found = {passage.id: passage for passage in (*answer.passages, *basis.passages)}
    known = {source.name: source for source in basis.sources}
    removed = _find_removed(found.values(), known, sources, owners, passages, documents)
    searches = tuple(
        replace(
            search,
            hits=tuple(hit for hit in search.hits if hit.passage not in removed),
            exclude=tuple(name for name in search.exclude if name not in removed),
        )
        for search in basis.searches
    )
    missed: dict[str, None] = {}
    kit = _replay_kit(answer, replace(basis, searches=searches), found, missed)
    try:
        decided = run(answer.question, kit, **read_options(run, basis.options))
    except NotRecorded as error:
        raise MustAskAgain(str(error)) from error
    except MissingPart as error:  # nothing that a reader read was kept
        raise MustAskAgain(_UNREAD) from error

    def record(decided: Answer) -> Basis:
        read = {passage.id for passage in decided.passages}
        hits = dict.fromkeys(hit.passage for search in searches for hit in search.hits)
        unread = tuple(found[name] for name in hits if name not in read)
        return replace(basis, searches=searches, passages=unread)

    def check(claims: Sequence[Claim], *_: object) -> list[Claim]:
        checked, unjudged = _restore_verdicts(claims, answer.claims)
        if unjudged or ("judge" in answer.assumed and any(each.verdict == "unchecked" for each in checked)):
            missed["judge"] = None
        return checked

    decided = replace(decided, strategy=answer.strategy, model=answer.model)
    decided = replace(conclude(decided, kit, basis, record=record, check=check), assumed=tuple(missed))
    unread = answer.details.get("unread_sources", 0)
    return with_each_source(decided, unread=unread) if answer.each_source else decided


def _strategy_of(answer: Answer, strategy: Strategy | None) -> Strategy:
    """Return the function that gave an answer: the one at hand, or one of ours by its name."""
    if strategy is None:
        if answer.strategy not in strategy_names():
            raise MustAskAgain(
                f"{answer.strategy or 'this answer'} keeps nothing to decide by: ask again; "
                "where the strategy is one of your own, give the function as strategy="
            )
        return load_strategy(answer.strategy)
    if strategy_name(strategy) != answer.strategy:
        raise InputError(f"strategy={strategy_name(strategy)} did not give it: {answer.strategy} did")
    return strategy


def _replay_kit(answer: Answer, basis: Basis, found: Mapping[str, Passage], missed: dict[str, None]) -> Kit:
    """Return a kit that answers from what was recorded; `missed` gets the roles that are asked more."""
    search = _PastSearches(searches=basis.searches, found=found, missed=missed)
    results = {call.key: call.result for call in basis.calls}
    kit = Kit(
        model=_PastCalls(name=answer.model),
        roles=_PastRoles(name=answer.model, results=results, missed=missed),
        retriever=search,
        elsewhere=search.elsewhere if any(past.elsewhere for past in basis.searches) else None,
        # Where a language model read alone there was no encoder beside it.
        reader=_PastExtractions(basis.extractions) if basis.extractions or not basis.calls else None,
        entailment=_PastJudgements(basis.judgements, missed) if basis.judgements else None,
        recorded=basis.details,
        sources={source.name: source for source in basis.sources},
    )
    for left_out in () if answer.read is None else answer.read.unsearched:
        kit.emit(IndexUnsearched(index=left_out.index, reason=left_out.reason))
    return kit


def _find_removed(
    passages: Iterable[Passage],
    known: Mapping[str, Source],
    sources: Collection[str],
    owners: Collection[str],
    ids: Collection[str],
    documents: Collection[str],
) -> frozenset[str]:
    """Return the ids of the passages that are left out; raises `UnknownName`."""
    named: dict[str, dict[str, list[str]]] = {
        "source": {}, "owner": {}, "passage": {}, "document": {},
    }  # fmt: skip
    for passage in passages:
        owner = passage.owner or (known[passage.source].owner if passage.source in known else "")
        for kind, name in (
            ("source", passage.source), ("owner", owner),
            ("passage", passage.id), ("passage", passage.id.removeprefix(PASSAGE)),
            ("passage", passage.document),
            ("document", passage.document), ("document", passage.title),
        ):  # fmt: skip
            if name:
                named[kind].setdefault(name, []).append(passage.id)
    removed: set[str] = set()
    for kind, names in (
        ("source", sources), ("owner", owners), ("passage", ids), ("document", documents),
    ):  # fmt: skip
        for name in [names] if isinstance(names, str) else names:
            found = named[kind].get(name) or named[kind].get(name.removeprefix(PASSAGE))
            if found is None:
                raise UnknownName(kind, name, named[kind])
            removed.update(found)
    return frozenset(removed)


def _restore_verdicts(claims: Sequence[Claim], before: Sequence[Claim]) -> tuple[list[Claim], bool]:
    """Return the claims with earlier verdicts on the same quotes, and whether other quotes were judged."""
    known = {_statement(claim): claim for claim in before}
    quotes = {(claim.text, _place(quote)): quote for claim in before for quote in claim.citations}
    checked, unjudged = [], False
    for claim in claims:
        citations = tuple(quotes.get((claim.text, _place(quote)), quote) for quote in claim.citations)
        best = max(citations, key=lambda quote: quote.score or 0.0, default=None)
        if best is None:
            checked.append(replace(claim, verdict="unsupported"))
        elif _statement(claim) in known:
            checked.append(known[_statement(claim)])
        elif best.verdict == "supported":  # one quote that supports a claim is enough
            checked.append(replace(claim, citations=citations, verdict="supported", score=best.score))
            unjudged |= any(quote.verdict == "unchecked" for quote in citations)
        else:  # of weaker ones a judge reads those that are left together
            checked.append(replace(claim, citations=citations))
            unjudged = True
    return checked, unjudged


def _statement(claim: Claim) -> tuple[object, ...]:
    return (claim.text, *(_place(quote) for quote in claim.citations))


def _place(quote: Citation) -> tuple[str, int, int]:
    return quote.passage, quote.start, quote.end


@dataclass(frozen=True, slots=True, kw_only=True)
class _PastCalls:
    """A model (`LLM`) that says again what it said, and nothing else."""

    name: str
    role: str = ""
    results: Mapping[str, Completion | Choice] = field(default_factory=dict)
    missed: dict[str, None] = field(default_factory=dict)

    def capabilities(self) -> Capabilities:
        """Return those of the model that was asked, as far as strategies ask for it."""
        return Capabilities(engine="recorded", logprobs=True, max_options=26, schema=True)

    def complete(self, prompts: Sequence[Prompt], sampling: Sampling, **_: object) -> list[Completion]:
        """Return the recorded completions; raises `MustAskAgain` for a prompt that is new."""
        results = [self.results.get(call_key(self.role, prompt, sampling)) for prompt in prompts]
        completions = [result for result in results if isinstance(result, Completion)]
        if len(completions) < len(prompts):
            self.missed[self.role] = None
            raise MustAskAgain(f"{self.name} would have to read something new ({self.role})")
        return completions

    def choose(self, prompts: Sequence[Prompt], options: Sequence[str], **_: object) -> list[Choice]:
        """Return the recorded choices; raises `NotRecorded` for a prompt that is new."""
        results = [self.results.get(call_key(self.role, prompt, options)) for prompt in prompts]
        choices = [result for result in results if isinstance(result, Choice)]
        if len(choices) < len(prompts):
            self.missed[self.role] = None
            raise NotRecorded(f"{self.name} was not asked this before ({self.role})")
        return choices


class _PastRoles(Mapping[str, LLM]):
    """The recorded calls by role. Any role may have some: a call's key is a hash of its role and prompt."""

    def __init__(
        self, *, name: str, results: Mapping[str, Completion | Choice], missed: dict[str, None]
    ) -> None:
        self._name, self._results, self._missed = name, results, missed

    def __getitem__(self, role: str) -> LLM:
        return _PastCalls(name=self._name, role=role, results=self._results, missed=self._missed)

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0


@dataclass(frozen=True, slots=True)
class _PastExtractions:
    """A reader that reads again what it read."""

    extractions: Mapping[str, Sequence[Extraction]]
    name: str = "recorded"

    def read(self, question: str, passages: Sequence[Passage]) -> list[Extraction]:
        """Return the recorded extractions; raises `MustAskAgain` for a passage that is new."""
        known = {extraction.passage: extraction for extraction in self.extractions.get(question, ())}
        if any(passage.id not in known for passage in passages):
            raise MustAskAgain(_UNREAD)
        return [known[passage.id] for passage in passages]


@dataclass(frozen=True, slots=True)
class _PastJudgements:
    """A judge (`Entailment`, `Contradiction`) that gives its recorded judgements on pairs of texts."""

    judgements: Mapping[str, float]
    missed: dict[str, None]

    def entails(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the recorded probabilities; raises `NotRecorded` for a pair that is new."""
        return self._find_judgements("entails", pairs)

    def contradicts(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the same for contradiction."""
        return self._find_judgements("contradicts", pairs)

    def _find_judgements(self, relation: str, pairs: Sequence[tuple[str, str]]) -> list[float]:
        scores = [self.judgements.get(judgement_key(relation, *pair)) for pair in pairs]
        known = [score for score in scores if score is not None]
        if len(known) < len(pairs):
            self.missed["judge"] = None
            raise NotRecorded("the judge was not asked this before (judge)")
        return known


@dataclass(frozen=True, slots=True, kw_only=True)
class _PastSearches:
    """A retriever that finds again what was found, but for what was removed."""

    searches: Sequence[PastSearch]
    found: Mapping[str, Passage]
    missed: dict[str, None]

    def search(self, query: str, **options: Unpack[SearchOptions]) -> list[Hit]:
        """Return the recorded hits; none for a search that is new, which `missed` then names."""
        sources = options.get("sources")
        names = None if sources is None else tuple(sorted(sources))
        wanted = (query, options.get("k"), options.get("per_source"), names)
        exclude = set(options.get("exclude") or ())
        for search in self.searches:
            recorded = (search.query, search.k, search.per_source, search.sources)
            if not search.elsewhere and recorded == wanted and not set(search.exclude) - exclude:
                return self._hits(search, exclude)
        self.missed["search"] = None
        return []

    def elsewhere(self, query: str, k: int) -> list[Passage]:
        """Return the passages that the search elsewhere gave."""
        for search in self.searches:
            if search.elsewhere and (search.query, search.k or k) == (query, k):
                return [hit.passage for hit in self._hits(search, set())]
        self.missed["search"] = None
        return []

    def _hits(self, search: PastSearch, exclude: Collection[str]) -> list[Hit]:
        return [
            Hit(passage=self.found[hit.passage], score=hit.score, scores=hit.scores)
            for hit in search.hits
            if hit.passage not in exclude
        ]
