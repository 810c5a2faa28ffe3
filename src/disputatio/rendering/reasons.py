"""Words the cause of a verdict in English: the one place where causes become sentences.

Code decides by `Position.cause`, which is data. These sentences are for people, contain text of documents and
models, and are never read back.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from disputatio.attribution.citations import escape_marks
from disputatio.causes import Cause, Joined, Rival, Support
from disputatio.rendering.wording import count
from disputatio.text import one_line
from disputatio.types import Position


@dataclass(frozen=True, slots=True)
class Wording:
    """A kind of cause in English: its meaning, and the sentence for a position (fields: `_word_cause`)."""

    meaning: str
    sentence: str


CAUSES: Mapping[str, Wording] = MappingProxyType(
    {
        "unanimous": Wording("No other answer was given.", "{supported}; no {reader} says otherwise"),
        "unopposed": Wording(
            "No other answer about the same thing is left.",
            "{supported}; no other answer about the same thing stands",
        ),
        "most_votes": Wording(
            "It has more independent votes than the answers that contradict it.",
            "{supported}{against}{votes}",
        ),
        "more_reliable": Wording(
            "Its sources are more reliable than those of the answers that contradict it.",
            "{supported}{against}; its sources are more reliable ({weights})",
        ),
        "higher_authority": Wording(
            "People declared a higher authority for its documents than for those that contradict it.",
            "{supported}{against}; its authority is {tier} ({weights}, {declared} of it declared)",
        ),
        "newest": Wording(
            "Votes are equal, and its passages are newer.",
            "{supported}{against}; it is newer ({date} after {rival_date})",
        ),
        "likeliest": Wording(
            "All evidence together, with the model's own belief, makes it the most likely answer.",
            "{supported}{against}; it is more likely right ({chances})",
        ),
        "fits_best": Wording(
            "The model was shown the best quotes of all answers, and chose this one.",
            "{supported}{against}; of all quotes side by side it answers the question best",
        ),
        "met_first": Wording(
            "It has the same weight as another answer, and came first in the passages.",
            "{supported}, as well supported as {rivals}, and met first",
        ),
        "kept": Wording("The strategy gives it as an answer.", "{supported}"),
        "cited": Wording("The claims that state it cite passages.", "{cited} cited for it"),
        "picked": Wording(
            "The question offers several answers, and the model picked this one.",
            "picked among {options} (notes: {notes})",
        ),
        "off_topic": Wording(
            "Its passages do not answer the question, or not well enough to count.",
            "{supported}; it does not answer the question: {weakness}",
        ),
        "altered_copy": Wording(
            "Its passage looks like an altered copy of one that says something else.",
            "{supported}; it looks like an altered copy of a passage that says {rivals}",
        ),
        "outvoted": Wording(
            "An answer that contradicts it has more independent votes.", "{supported}{against}{votes}"
        ),
        "owner_or_copy": Wording(
            "It has as many passages or sources, but copies, and sources of one owner, count once.",
            "{supported}{against}{votes}",
        ),
        "less_reliable": Wording(
            "An answer that contradicts it has more reliable sources.",
            "{supported}{against}, whose sources are more reliable ({weights})",
        ),
        "lower_authority": Wording(
            "People declared a higher authority for documents that contradict it.",
            "{supported}{against}, whose authority is {rival_tier} ({weights})",
        ),
        "retracted": Wording(
            "People stated that all of its documents are retracted.", "{supported}; it is retracted"
        ),
        "in_force": Wording(
            "It is in force; what contradicts it is superseded.",
            "{supported}; it is in force, which {rivals} {are} not",
        ),
        "superseded": Wording(
            "Another document of the same publisher, with another answer, has replaced its document.",
            "{supported}; {succession}",
        ),
        "compared": Wording(
            "It is a difference between two versions of the document in question, or an amendment states it.",
            "quoted from what states the change",
        ),
        "later": Wording(
            "Its documents are later than the day or version that was asked for.",
            "{supported}{dated}; later than what was asked for",
        ),
        "older": Wording(
            "Votes are equal, and its passages are older.",
            "{supported}; {rival} is newer ({rival_date} after {date})",
        ),
        "less_likely": Wording(
            "All evidence together, with the model's own belief, makes it less likely.",
            "{supported}, as well supported as {rivals} but less likely right ({chances})",
        ),
        "fits_less": Wording(
            "The model was shown the best quotes of all answers, and chose another one.",
            "{supported}; of all quotes side by side others answer the question better",
        ),
        "disbelieved": Wording(
            "The model itself believes it less than the others.",
            "{supported}; the model itself holds it less likely than the others",
        ),
        "yielded": Wording(
            "Its own agent gave it up in the debate.", "{supported}; its own agent gave it up"
        ),
        "not_kept": Wording(
            "Agents gave it, but the strategy left it out of its answers.",
            "{supported}{against}; not among the answers that {strategy} kept",
        ),
        "unresolved": Wording(
            "It is as well supported as another answer, and nothing that was read decides.",
            "{supported}, as well supported as {rivals}: nothing that was read settles it",
        ),
        "unsupported": Wording(
            "It would have been accepted, but its citations do not support it.",
            "{supported}; what was cited for it does not support it",
        ),
        "unsure": Wording(
            "It would have been accepted, but its probability is too low.",
            "{supported}; not likely enough to be right",
        ),
    }
)
"""Every kind of cause; a test compares `docs/reference/causes.md`."""

WEAKNESSES: Mapping[str, str] = MappingProxyType(
    {
        "votes": "no other source supports it",
        "lead": "its passage is about another subject",
        "certainty": "the model was unsure when it read it",
        "answered": "its passage hardly answers the question",
        "kind": "it is not of the kind that the question asks for",
        "language": "no language model read it, and the encoder does not know the language of the question",
        "thing": "its passage speaks of another thing than the one asked about",
        "ground": "its passage names too little of what is asked about",
        "orders": "its passage, or what its document hides, gives orders to its reader",
        "hearsay": "its passage has it from somebody's word alone",
        "talk": "it is only said in a conversation",
        "prose": "it stands among links or figures, not in a text",
        "kinship": "nothing else supports it",
        "resemblance": "nothing else supports it",
    }
)

SUCCESSIONS: Mapping[str, str] = MappingProxyType(
    {
        "replaces": "superseded: what says {rival} replaces it",
        "amends": "superseded: what says {rival} amends it",
        "corrects": "superseded: what says {rival} corrects it",
        "withdrawn": "it is withdrawn, and {rival} is in force",
        "draft": "it is a draft, and {rival} is in force",
        "version": "superseded: a higher version says {rival}",
        "date": "superseded: a later version says {rival}",
        "expired": "it is no longer in force, and {rival} is",
        "not_in_force": "it is not yet in force, and {rival} is",
    }
)
_JOINED: Mapping[Joined, str] = MappingProxyType(
    {"publisher": "one publisher", "copies": "copies", "alike": "much alike", "superseded": "superseded"}
)
_LONGEST_QUOTE = 200  # characters of the words that say what replaces what
_OTHER = Wording("", "{supported}{against}")  # a kind of a user's own strategy
_NOWHERE = "no passage read says so in these words"


def reason(position: Position) -> str:
    """Return why a position has its verdict, in one line of English.

    >>> cause = Cause(
    ...     kind="older",
    ...     support=Support(passages=1, date="1998-06-01"),
    ...     rivals=(Rival(answer="4,180", support=Support(passages=1, date="2021-11-30")),),
    ... )
    >>> reason(Position(answer="5,930", verdict="rejected", cause=cause))
    'stated in 1 passage; 4,180 is newer (2021-11-30 after 1998-06-01)'
    """
    cause = position.cause
    facts = [f"{cause.confidence} confidence"] if cause.confidence else []
    facts += ["remembered by the model"] if cause.remembered else []
    remark = f" ({cause.remark})" if cause.remark else ""
    return escape_marks("; ".join([*facts, _word_cause(cause)]) + remark)


def support_text(support: Support) -> str:
    """Return how many passages state an answer, or how many sources give it, and how many of them count.

    >>> support_text(Support(passages=3, sources=3, groups=1, joined=("alike",)))
    '3 passages that count as 1 (much alike)'
    >>> support_text(Support(passages=2, sources=1)), support_text(Support(sources=44, groups=3))
    ('2 passages from 1 source', '44 sources (3 independent, 41 copies)')
    """
    if support.passages is None:
        sources, groups = support.sources or 0, support.groups
        if groups is None or groups >= sources:
            return count(sources, "source")
        copies = "1 copy" if sources - groups == 1 else f"{sources - groups} copies"
        return f"{count(sources, 'source')} ({groups} independent, {copies})"
    passages = count(support.passages, "passage")
    if support.groups is not None:
        if support.groups >= support.passages:
            return passages
        why = ", ".join(_JOINED[name] for name in support.joined)
        return f"{passages} that count as {support.groups}" + (f" ({why})" if why else "")
    return f"{passages} from {count(support.sources, 'source')}" if support.sources else passages


def _word_cause(cause: Cause) -> str:
    """Return the cause itself in English: what supports the position, and what that was compared with."""
    rival = cause.rivals[0] if cause.rivals else Rival(answer="another answer")
    text = CAUSES.get(cause.kind, _OTHER).sentence
    if cause.feature == "talk" and "{weakness}" not in text:
        text += "; {weakness}"
    return text.format(
        supported=_word_support(cause.support),
        reader="source" if cause.support.passages is None else "passage",
        against=_against(cause.rivals),
        rivals=_list_answers([each.answer for each in cause.rivals]) or rival.answer,
        are="are" if len(cause.rivals) > 1 else "is",
        rival=rival.answer,
        date=cause.support.date,
        dated=f", dated {cause.support.date}" if cause.support.date else "",
        rival_date=rival.support.date,
        weights=_weights(cause),
        votes=_votes(cause),
        chances=_chances(cause),
        succession=_succession(cause),
        tier=cause.support.authority or "not declared",
        rival_tier=rival.support.authority or "not declared",
        declared=f"{cause.support.declared or 0:.2f}",
        weakness=WEAKNESSES.get(cause.feature or "", "too little supports it"),
        strategy=cause.strategy or "the strategy",
        cited=count(cause.support.passages or 0, "passage"),
        options=count(cause.options or 0, "answer"),
        notes=cause.notes or 0,
    )


def _list_answers(answers: Sequence[str]) -> str:
    """Return answers as a list in a sentence.

    >>> _list_answers(["12", "14", "15"]), _list_answers(["12"]), _list_answers([])
    ('12, 14 and 15', '12', '')
    """
    return " and ".join(filter(None, [", ".join(answers[:-1]), *answers[-1:]]))


def _word_support(support: Support) -> str:
    if support.passages is None:
        return f"given by {support_text(support)}"
    return f"stated in {support_text(support)}" if support.passages else _NOWHERE


def _succession(cause: Cause) -> str:
    """Return how a document takes the place of another: the relation, the dates, the words that say so."""
    words = SUCCESSIONS.get(cause.succession, "superseded by {rival}")
    rival = cause.rivals[0] if cause.rivals else Rival(answer="another answer")
    text = words.format(rival=rival.answer)
    if cause.support.date and rival.support.date > cause.support.date:
        text += f" ({rival.support.date} after {cause.support.date})"
    return f"{text}: “{one_line(cause.quote)[:_LONGEST_QUOTE]}”" if cause.quote else text


def _against(rivals: Sequence[Rival]) -> str:
    texts = [f"{support_text(rival.support)} for {rival.answer}" for rival in rivals]
    return f", against {', '.join(texts)}" if texts else ""


def _votes(cause: Cause) -> str:
    """Return what the votes weigh, where that is not just their number."""
    supports = [cause.support, *(rival.support for rival in cause.rivals[:1])]
    is_number = all(each.weight in (None, _votes_of(each)) for each in supports)
    return "" if is_number else f"; the votes weigh {_weights(cause)}"


def _votes_of(support: Support) -> int | None:
    """Return how many votes there are, where each counts the same."""
    return next((n for n in (support.groups, support.passages, support.sources) if n is not None), None)


def _weights(cause: Cause) -> str:
    """Return the weight of the position's votes, against that of its strongest rival's."""
    weights = [cause.support.weight, *(rival.support.weight for rival in cause.rivals[:1])]
    return " against ".join(f"{weight:.2f}" for weight in weights if weight is not None) or "unknown"


def _chances(cause: Cause) -> str:
    """Return how likely the position is right, against its strongest rival."""
    chances = [cause.support.probability, *(rival.support.probability for rival in cause.rivals[:1])]
    return " against ".join(f"{chance:.0%}" for chance in chances if chance is not None) or "unknown"
