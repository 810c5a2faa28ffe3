"""f_align of RA-RAG: how far the passages behind an answer entail it, in [0, 1].

Question and answer become one declarative statement. The entailment judge scores it with the passages as
premise; the paper uses AlignScore (Zha et al. 2023) as the judge. An answer whose consistency is below
tau = 0.1 counts as "I don't know" (Hwang et al. 2024, 4.1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from disputatio.attribution.entailment import judge_of, scores_of
from disputatio.kit import Kit
from disputatio.text import find_asking_part, one_line
from disputatio.types import Passage
from disputatio.values import is_yes_or_no, same_answer

TAU = 0.1
_ASKING = re.compile(
    r"^\W*(?:(?:in|at|by|for|on)\s+)?"
    r"(?:when|who|whom|what|where|why|which|how(?:\s+(?:long|much|many|often|far|high|old))?)\b\s*",
    re.IGNORECASE,
)
_CLAIM = re.compile(r"is it true that (?P<claim>.*[^\s?])[\s?]*+", re.IGNORECASE | re.DOTALL)
_SUBJECT = re.compile(
    r"(?:who|what)\s++(?P<rest>(?P<verb>\w++)\s++.*[^\s?])[\s?]*+", re.IGNORECASE | re.DOTALL
)
# After "who" these verbs ask for an object ("who did she marry"); the subject stands between them.
_TURNED = frozenset(["do", "does", "did", "have", "has", "had", "can", "could", "will", "would", "should"])
_STATES = frozenset(["is", "was", "are", "were"])
_ASKS_YEAR = frozenset(["when", "in what year", "in which year"])
_DONE = frozenset(["born", "built", "made", "held", "begun", "won", "written", "sold", "found", "set", "cut"])
_TODAY = frozenset(["now", "today", "nowadays", "currently", "then"])
_EVENTS = frozenset(["changed", "changes", "happened", "happens"])
_DANGLING = frozenset(["about", "of", "for", "by", "in", "on", "at", "to", "from", "with", "called", "named"])


def statement(question: str, answer: str) -> str:
    """Return question and answer as one declarative sentence, without a model call.

    If the form of the question does not allow it, the sentence quotes the question and gives the answer.

    >>> statement("Who designed the lighthouse?", "Ingrid Vasmer")
    'Ingrid Vasmer designed the lighthouse.'
    >>> statement("Is it true that the pier is of iron?", "no")
    'It is not true that the pier is of iron.'
    >>> statement("When did the ferry first cross?", "1887")
    'The answer to the question "When did the ferry first cross?" is: 1887.'
    """
    sentence = turn_question(question, answer)
    answer_text = one_line(answer).rstrip(".")
    return sentence or f'The answer to the question "{one_line(question)}" is: {answer_text}.'


def plain_statement(question: str, answer: str) -> str:
    """Return question and answer as people read them: one sentence, or the answer after the question.

    >>> plain_statement("Who designed the lighthouse?", "Ingrid Vasmer")
    'Ingrid Vasmer designed the lighthouse.'
    >>> plain_statement("Wann ist die Schleuse offen?", "im Mai")
    'Wann ist die Schleuse offen: im Mai.'
    >>> plain_statement("I have a Mac. Which release runs?", "3.1")
    'Which release runs: 3.1.'
    """
    asked = one_line(find_asking_part(question)).rstrip(" ?？؟.")
    return turn_question(question, answer) or f"{asked}: {one_line(answer).rstrip('.')}."


def to_statement(claim: str) -> str:
    """Return a claim that is a question and its answer as one statement, to compare its words.

    The subject that is named in brackets at its end is left out: a title may have a negation of its own.

    >>> to_statement("When is the lock open: in May."), to_statement("The lock is not for sale (No sale).")
    ('is the lock open in May.', 'The lock is not for sale')
    """
    said = claim.partition(" (")[0] if claim.endswith(").") else claim
    rest, asks = _ASKING.subn("", said)
    return rest.replace(": ", " ", 1) if asks else said


def turn_question(question: str, answer: str) -> str | None:
    """Return the question with its answer filled in: a claim affirmed or denied, or a subject inserted.

    None if the words of the question would have to be reordered.

    >>> turn_question("what is the capital of Orrin", "Quillhaven")
    'Quillhaven is the capital of Orrin.'
    >>> turn_question("Who did she marry?", "Ola"), turn_question("What two rings does it want?", "o and p")
    (None, None)
    """
    question_text, answer_text = one_line(question), one_line(answer).rstrip(".")
    claim = _CLAIM.fullmatch(question_text)
    if claim and is_yes_or_no(answer_text):
        negation = "" if same_answer(answer_text, "yes") else "not "
        return f"It is {negation}true that {claim['claim'].rstrip('.')}."
    if (dated := _turn_year_question(question_text, answer_text)) is not None:
        return dated
    match = _SUBJECT.fullmatch(question_text)
    if match is None or match["verb"].casefold() in _TURNED:
        return None
    words = match["rest"].rstrip(".").split()
    verbs = [word.casefold() for word in words]
    short = verbs[0] in _STATES and len(words) <= 2
    asks_what = question_text[:4].casefold() == "what" and verbs[0] not in _STATES
    has_verb_after = any(word in _TURNED | _STATES for word in verbs[1:4])
    is_noun = asks_what and (has_verb_after or verbs[1:2] == ["of"])  # "what rings do", "what share of"
    last = verbs[-2] if verbs[-1] in _TODAY and len(verbs) > 1 else verbs[-1]
    if short or is_noun or last in _DANGLING or "going" in verbs or verbs[0] in _EVENTS:
        return None
    return f"{answer_text} {' '.join(words)}."


def _turn_year_question(question: str, year: str) -> str | None:
    """Return what was done in a year, for a question that asks for no more than the year of it.

    >>> _turn_year_question("In what year was the Severin bridge opened?", "1931")
    'The Severin bridge was opened in 1931.'
    >>> _turn_year_question("When was it seen by all?", "1931") is None
    True
    """
    words = question.rstrip(" ?").split()
    asked = next((n for n in (1, 3) if " ".join(words[:n]).casefold() in _ASKS_YEAR), 0)
    if not asked or not (year.isdecimal() and len(year) == 4) or len(words) < asked + 3:
        return None
    verb, done = words[asked], words[-1]
    if verb.casefold() not in ("was", "were") or not (done.endswith("ed") or done.casefold() in _DONE):
        return None
    what = " ".join(words[asked + 1 : -1])
    return f"{what[0].upper()}{what[1:]} {verb} {done} in {year}."


def consistency(question: str, answers: Sequence[tuple[str, Sequence[Passage]]], kit: Kit) -> list[float]:
    """Return how far each answer's passages entail it, in [0, 1]; all in one batch.

    The kit's cross-encoder reads one passage at a time, because its context is short, and the best score
    counts, as in AlignScore. Without one the model judges and reads all passages together. Raises `LLMError`
    for a fault of the model, `NoLogprobs` if it gives no log-probabilities, and `ConfigError` if the judge
    leaves out pairs.
    """
    pairs: list[tuple[str, str]] = []
    answer_numbers: list[int] = []
    for n, (answer, passages) in enumerate(answers):
        texts = [
            f"{passage.title}. {passage.text}" if passage.title else passage.text for passage in passages
        ]
        for premise in texts if kit.entailment is not None else ["\n\n".join(texts)]:
            pairs.append((premise, statement(question, answer)))
            answer_numbers.append(n)
    scores = [0.0] * len(answers)
    for n, score in zip(answer_numbers, judge_entailment(pairs, kit), strict=True):
        scores[n] = max(scores[n], score)
    return scores


def judge_entailment(pairs: Sequence[tuple[str, str]], kit: Kit) -> list[float]:
    """Return, for each (premise, hypothesis), the probability of entailment, by the kit's judge.

    Raises `LLMError`; `NoLogprobs` if the judge's model gives no log-probabilities.
    """
    return scores_of(judge_of(kit).entails, pairs)
