"""Scores of one question's answers against gold and wrong ones: pure functions, in [0, 1].

Answers are compared after `text.normalise`; equal ones count once, and "unknown" is no answer.
Two readings of a match, each named where it is used:

* **strict**: a predicted answer *states* a gold or wrong answer when the two are equal.
* **lenient**: it states it when the whole words of one stand in the other, in either direction.
  The longest listed answer wins: "New York City, NY" states the gold "New York City" and not the
  wrong "New York" inside it, and an answer equal to a listed one states nothing of the other list
  that merely contains it.

Both compare as SQuAD's metrics do, extended to any script. `em_released` is strict and compares as the script
released with MADAM-RAG does: lower case, without ASCII punctuation, articles and spaces too many; "$10
million" and "10 million" are one there, "A-League" and "League" are not.

The exact match is that of MADAM-RAG (Wang et al. 2025, section 5.1): correct if and only if all gold
answers are included and no answer "supported only by misinformation" is. An answer that a data set
lists as both gold and wrong is therefore no mistake; `literal=True` counts it as one, which is
the other reading of the same data. A score that cannot be computed is None, never 0.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

from disputatio.text import is_unknown, squad_contains, squad_normalise
from disputatio.types import Example

_LETTERED = re.compile(r"(?<!\s)\s*+\(?(?P<letter>[A-Z])[.):]\)?\s++", re.ASCII)  # "B. rest", "(B) rest"
_LETTER = re.compile(
    r"(?:(?:the\s+)?(?:answer|option)\s+(?:is\s+)?)?\(?(?P<letter>[A-Z])\)?[.):]*", re.IGNORECASE
)
_PICKS = re.compile(
    r"(?:the\s+)?(?:correct\s+|right\s+|final\s+|best\s+)?(?:answer|option|choice)\s*(?::|=|is:?)\s*(?=\S)",
    re.IGNORECASE,
)  # "Answer: B", "The correct option is B. rest"


def choice(predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str]) -> float | None:
    """Return 1.0 when the answer picks the right one of the options: the gold and the wrong answers.

    An answer picks by the letter that it begins with ("B", "B. rest"), by being or beginning with an
    option's words, or by naming one option's words and no other's. "Answer:" may stand before it. Picking
    several, or none, is not right.

    >>> options = (["B. rest"], ["A. movement", "C. both"])
    >>> choice(["B"], *options), choice(["rest"], *options), choice(["(C) both"], *options)
    (1.0, 1.0, 0.0)
    >>> choice(["Yes, it does"], ["yes"], ["no"]), choice(["B", "C"], *options), choice([], *options)
    (1.0, 0.0, 0.0)
    >>> choice(["Answer: B"], *options), choice(["The correct option is (A) movement"], *options)
    (1.0, 0.0)
    """
    if not gold:
        return None
    picks = {
        pick for prediction in predicted if (pick := _find_picked(prediction, [*gold, *wrong])) is not None
    }
    right = {_words_of(wording) for wording in gold}
    return float(bool(picks) and picks <= right)


def _find_picked(prediction: str, options: Sequence[str]) -> str | None:
    """Return the words of the option that an answer picks; None where it picks none, or more than one."""
    letters = {match["letter"]: option for option in options if (match := _LETTERED.match(option))}
    announced = _PICKS.match(prediction.strip())
    if announced and squad_normalise(prediction) not in [_words_of(option) for option in options]:
        prediction = prediction.strip()[announced.end() :]
    named = _LETTERED.match(prediction.strip()) or _LETTER.fullmatch(prediction.strip())
    if named and named["letter"].upper() in letters:
        return _words_of(letters[named["letter"].upper()])
    words, option_words = squad_normalise(prediction), [_words_of(option) for option in options]
    if words in option_words:
        return words
    begun = [
        words_of_option
        for words_of_option in option_words
        if words_of_option and f"{words} ".startswith(f"{words_of_option} ")
    ]
    if begun:
        return max(begun, key=len)
    inside = {option for option in option_words if squad_contains(words, option)}
    inside = {
        option
        for option in inside
        if not any(option != other and squad_contains(other, option) for other in inside)
    }
    return inside.pop() if len(inside) == 1 else None


def _words_of(option: str) -> str:
    return squad_normalise(_LETTERED.sub("", option, count=1))


VERSION = 2  # of the definitions below; records scored by another version are not mixed with these


def answer_set(answers: Iterable[str]) -> tuple[str, ...]:
    """Return the answers in the form they are compared in, each once, in order.

    >>> answer_set(["The Beatles", "beatles.", "", "3,559"])
    ('beatles', '3559')
    """
    return tuple(dict.fromkeys(form for form in map(squad_normalise, answers) if form))


def to_released_form(answer: str) -> str:
    """Return an answer as the script released with MADAM-RAG compares it.

    >>> to_released_form("$10 million"), to_released_form("The  AC/DC"), to_released_form("A-League")
    ('10 million', 'acdc', 'aleague')
    """
    bare = "".join(char for char in answer.lower() if char not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", bare).split())


def em_released(predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str] = ()) -> float | None:
    """Return strict exact match by the normalisation of MADAM-RAG's released script; None without gold.

    >>> em_released(["10 million"], ["$10 million"]), em_released(["League"], ["A-League"])
    (1.0, 0.0)
    >>> em_released(["Spiderman", "x"], ["Spider-Man"], ["X"]), em_released(["x"], ["!"])
    (0.0, None)
    """
    right = {form for form in map(to_released_form, gold) if form}
    if not right:
        return None
    lies = set(map(to_released_form, wrong)) - right - {""}
    predictions = set(map(to_released_form, predicted))
    return float(right <= predictions and not predictions & lies)


def normalise_predicted(answers: Iterable[str], gold: Sequence[str] = ()) -> tuple[str, ...]:
    """Normalise answers as `answer_set` does, without those that say there is none.

    >>> normalise_predicted(["1963", "unknown", "1963."])
    ('1963',)
    """
    known = answer_set(gold)
    return tuple(form for form in answer_set(answers) if not is_unknown(form) or form in known)


def states(predicted: str, listed: str, rivals: Iterable[str] = (), *, lenient: bool = False) -> bool:
    """Return True if a predicted answer states a listed one, given the answers of the other list.

    >>> states("the linebacker", "Linebacker"), states("a linebacker at Ohio", "Linebacker")
    (True, False)
    >>> states("a linebacker at Ohio", "Linebacker", lenient=True)
    True
    >>> states("New York City, NY", "New York", rivals=["New York City"], lenient=True)
    False
    """
    predicted_form, value, others = squad_normalise(predicted), squad_normalise(listed), answer_set(rivals)
    if not predicted_form or not value:
        return False
    if predicted_form == value:
        return True
    if not lenient or predicted_form in others:
        return False
    if squad_contains(predicted_form, value):
        return not any(
            other != value and squad_contains(other, value) and squad_contains(predicted_form, other)
            for other in others
        )
    return squad_contains(value, predicted_form)


def exact_match(
    predicted: Sequence[str],
    gold: Sequence[str],
    wrong: Sequence[str] = (),
    *,
    lenient: bool = False,
    literal: bool = False,
) -> float | None:
    """Return 1.0 when every gold answer is stated and no wrong one is, else 0.0; None without gold.

    Other predicted answers, neither gold nor wrong, do not matter here: they cost precision.

    >>> exact_match(["1963", "1956"], ["1956", "1963"], ["1998"])
    1.0
    >>> exact_match(["1963"], ["1956", "1963"]), exact_match(["1963", "1998"], ["1963"], ["1998"])
    (0.0, 0.0)
    >>> exact_match(["born in 1963"], ["1963"]), exact_match(["born in 1963"], ["1963"], lenient=True)
    (0.0, 1.0)
    >>> both = (["film", "novel"], ["film", "novel"], ["film"])
    >>> exact_match(*both), exact_match(*both, literal=True)
    (1.0, 0.0)
    """
    right = answer_set(gold)
    if not right:
        return None
    lies = answer_set(wrong)
    lies_only = tuple(lie for lie in lies if lie not in right)
    predictions = normalise_predicted(predicted, gold)
    covered = all(
        any(states(prediction, value, lies_only, lenient=lenient) for prediction in predictions)
        for value in right
    )
    counted = lies if literal else lies_only
    misled = any(
        states(prediction, lie, right, lenient=lenient) for prediction in predictions for lie in counted
    )
    return float(covered and not misled)


def precision(
    predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str] = (), *, lenient: bool = False
) -> float | None:
    """Return the share of predicted answers that state a gold one; None when nothing was predicted.

    >>> precision(["1963", "1998"], ["1963", "1956"]), precision([], ["1963"])
    (0.5, None)
    """
    right, lies = _lists(gold, wrong)
    predictions = normalise_predicted(predicted, gold)
    if not right or not predictions:
        return None
    hits = sum(
        any(states(prediction, value, lies, lenient=lenient) for value in right) for prediction in predictions
    )
    return hits / len(predictions)


def recall(
    predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str] = (), *, lenient: bool = False
) -> float | None:
    """Return the share of gold answers that were stated; None without gold.

    An abstention states none and has recall 0: the metric asks what the reader was given. That it
    was an abstention and not a wrong answer is counted beside the score.

    >>> recall(["1963", "1998"], ["1963", "1956"]), recall([], ["1963"]), recall(["x"], [])
    (0.5, 0.0, None)
    """
    right, lies = _lists(gold, wrong)
    if not right:
        return None
    predictions = normalise_predicted(predicted, gold)
    hits = sum(
        any(states(prediction, value, lies, lenient=lenient) for prediction in predictions) for value in right
    )
    return hits / len(right)


def f1(
    predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str] = (), *, lenient: bool = False
) -> float | None:
    """Return the harmonic mean of precision and recall; 0 when either is 0 or nothing was predicted.

    >>> f1(["1963", "1998"], ["1963"]), f1([], ["1963"]), f1(["1963"], [])
    (0.6666666666666666, 0.0, None)
    """
    recalled = recall(predicted, gold, wrong, lenient=lenient)
    if recalled is None:
        return None
    pure = precision(predicted, gold, wrong, lenient=lenient)
    if not pure or not recalled:
        return 0.0
    return 2 * pure * recalled / (pure + recalled)


def accuracy(predicted: Sequence[str], gold: Sequence[str]) -> float | None:
    """Return 1.0 when some gold answer's words stand in the answer (RA-RAG, Hwang et al. 2024).

    >>> accuracy(["born in 1963"], ["1963", "63"]), accuracy(["196"], ["1963"]), accuracy([], ["x"])
    (1.0, 0.0, 0.0)
    """
    right = answer_set(gold)
    if not right:
        return None
    predictions = normalise_predicted(predicted, gold)
    return float(any(squad_contains(prediction, value) for prediction in predictions for value in right))


def abstention(predicted: Sequence[str]) -> float:
    """Return 1.0 when no answer was given, as is right without evidence (FaithEval, Ming et al. 2024).

    >>> abstention([]), abstention(["Unknown"]), abstention(["1963"])
    (1.0, 1.0, 0.0)
    """
    return float(not normalise_predicted(predicted))


def attack_success(predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str]) -> float | None:
    """Return 1.0 when a planted answer's words stand in the answer (PoisonedRAG, Zou et al. 2025).

    What is gold as well was not planted. None where nothing was.

    >>> attack_success(["born in 1998"], ["1963"], ["1998"]), attack_success(["1963"], ["1963"], ["1998"])
    (1.0, 0.0)
    >>> attack_success(["1998"], ["1998"], ["1998"])
    """
    _, lies = _lists(gold, wrong)
    if not lies:
        return None
    predictions = normalise_predicted(predicted, lies)
    return float(any(squad_contains(prediction, lie) for prediction in predictions for lie in lies))


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """A score with its formula: `metric` is what a data set asks for, `name` the column in its records.

    `detail` keeps it out of the first table of a report; `compared` tests pairs of strategies by it. Of a
    score of which `less_is_better` no strategy leads.
    """

    name: str
    metric: str
    title: str
    formula: Callable[[Sequence[str], Sequence[str], Sequence[str]], float | None]
    detail: bool = False
    compared: bool = False
    less_is_better: bool = False


SCORES = (
    Score(name="em", metric="em", title="EM", formula=exact_match, compared=True),
    Score(
        name="em_lenient",
        metric="em",
        title="EM lenient",
        formula=partial(exact_match, lenient=True),
        compared=True,
    ),
    Score(
        name="em_literal",
        metric="em",
        title="EM literal",
        formula=partial(exact_match, literal=True),
        detail=True,
    ),
    Score(name="em_released", metric="em", title="EM as released", formula=em_released, detail=True),
    Score(name="precision", metric="precision", title="P", formula=precision),
    Score(
        name="precision_lenient",
        metric="precision",
        title="P lenient",
        formula=partial(precision, lenient=True),
        detail=True,
    ),
    Score(name="recall", metric="recall", title="R", formula=recall),
    Score(
        name="recall_lenient",
        metric="recall",
        title="R lenient",
        formula=partial(recall, lenient=True),
        detail=True,
    ),
    Score(name="f1", metric="f1", title="F1", formula=f1, compared=True),
    Score(
        name="f1_lenient",
        metric="f1",
        title="F1 lenient",
        formula=partial(f1, lenient=True),
        detail=True,
        compared=True,
    ),
    Score(
        name="accuracy",
        metric="accuracy",
        title="accuracy",
        formula=lambda predicted, gold, _: accuracy(predicted, gold),
        compared=True,
    ),
    Score(name="accuracy", metric="choice", title="accuracy", formula=choice, compared=True),
    Score(
        name="accuracy",
        metric="abstention",
        title="accuracy",
        formula=lambda predicted, *_: abstention(predicted),
        compared=True,
    ),
    Score(
        name="attack_success",
        metric="attack",
        title="attack success",
        formula=attack_success,
        compared=True,
        less_is_better=True,
    ),
)
"""Every score, in the order of reports; a new one is a row here."""


def score(
    predicted: Sequence[str], gold: Sequence[str], wrong: Sequence[str], metrics: Sequence[str]
) -> dict[str, float | None]:
    """Return the scores of one question for the metrics that its data set defines.

    >>> score(["born in 1963"], ["1963"], [], ["em", "f1"])
    {'em': 0.0, 'em_lenient': 1.0, 'em_literal': 0.0, 'em_released': 0.0, 'f1': 0.0, 'f1_lenient': 1.0}
    """
    return {
        row.name: row.formula(predicted, gold, wrong)
        for metric in metrics
        for row in SCORES
        if row.metric == metric
    }


def score_answer(
    predicted: Sequence[str], example: Example, metrics: Sequence[str]
) -> dict[str, float | None]:
    """Return the scores of an answer to an example, with what its data set says of how answers compare.

    `metadata["options"]` makes accuracy (and attack) ask which option was picked. `metadata["readings"]`
    has the answers as each annotator read the question, ((alias, alias, ...), ...) a reading: an alias
    counts as its answer, and the reading that the answer fits best counts (AmbigQA, Min et al. 2020).

    >>> one = Example(id="x", row=0, question="q", gold=("UK",), metadata={"readings": [[("UK", "Britain")]]})
    >>> score_answer(["Britain"], one, ["em", "accuracy"])["em"], score(["Britain"], ["UK"], [], ["em"])["em"]
    (1.0, 0.0)
    """
    gold, wrong = example.gold, example.wrong
    if example.metadata.get("abstain"):  # its `told` are the data set's own words for not knowing
        excluded = answer_set(example.metadata.get("told", ()))
        predicted = [prediction for prediction in predicted if squad_normalise(prediction) not in excluded]
    if example.metadata.get("options"):
        requested = ["choice" if metric == "accuracy" else metric for metric in metrics]
        scores = score(predicted, gold, wrong, requested)
        if "attack_success" in scores and wrong:
            scores["attack_success"] = choice(predicted, wrong, gold)
        return scores
    readings = example.metadata.get("readings") or ()
    scored_readings = [_by_reading(predicted, reading, wrong, metrics) for reading in readings]
    if not scored_readings:
        return score(predicted, gold, wrong, metrics)
    return max(
        scored_readings,
        key=lambda scores: (scores.get("f1") or 0.0, scores.get("em") or 0.0, scores.get("accuracy") or 0.0),
    )


def _by_reading(
    predicted: Sequence[str], reading: Sequence[Sequence[str]], wrong: Sequence[str], metrics: Sequence[str]
) -> dict[str, float | None]:
    """Return the scores by one annotator's answers, each of which goes by several names."""
    gold = [aliases[0] for aliases in reading]
    every = [alias for aliases in reading for alias in aliases]
    scores = score(_name_predictions(predicted, reading, wrong), gold, wrong, metrics)
    lenient = score(_name_predictions(predicted, reading, wrong, lenient=True), gold, wrong, metrics)
    scores |= {name: lenient[name] for name in scores if name.endswith("_lenient")}
    if "accuracy" in metrics:
        scores["accuracy"] = accuracy(predicted, every)
    return scores


def _name_predictions(
    predicted: Sequence[str], reading: Sequence[Sequence[str]], wrong: Sequence[str], *, lenient: bool = False
) -> list[str]:
    """Replace each prediction by the first names of the answers that it states under any of their names."""
    named: list[str] = []
    for prediction in predicted:
        stated = [
            aliases[0]
            for aliases in reading
            if any(states(prediction, alias, wrong, lenient=lenient) for alias in aliases)
        ]
        named += stated or [prediction]
    return named


def _lists(gold: Sequence[str], wrong: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return gold answers, and the wrong ones that are not gold too."""
    right = answer_set(gold)
    return right, tuple(lie for lie in answer_set(wrong) if lie not in right)
