"""Questions with a planted answer and passages written to plant it: PoisonedRAG, RobustRAG's RealtimeQA."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from disputatio.eval.data.formats.format import DatasetFormat
from disputatio.eval.data.formats.menus import boolean, menu, options_of
from disputatio.eval.data.rows import (
    Place,
    distinct,
    document,
    get_required,
    list_field,
    literal,
    scalar_text,
    string,
)
from disputatio.text import content_id
from disputatio.types import Example, Passage

READ = 10  # search results that are read beside the poisoned ones (RobustRAG, Xiang et al. 2024, section 6)
CLEAN, POISONED, CHOICE = "clean", "poisoned", "choice"
_RIGHT, _PLANTED = "correct answer", "incorrect answer"


def poisonedrag(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of PoisonedRAG (Zou et al. 2025) with its five poisoned passages.

    The passages are the poisoned ones alone: the clean ones are those of the corpus (NQ, HotpotQA, MS
    MARCO), over which an index is searched. Where the answers are yes and no, one of them is picked.
    """
    gold, wrong = _answers(row, _RIGHT, place), _answers(row, _PLANTED, place)
    truths = [boolean(answer) for answer in (*gold, *wrong)]
    texts = list_field(row, "adv_texts", str, place)
    return place.example(
        row,
        string(row, "question", place),
        gold=gold,
        wrong=wrong,
        passages=tuple(document(number, text) for number, text in enumerate(texts, 1) if text.strip()),
        **{
            "id": scalar_text(row, "id"),
            "types": tuple("misinfo" for text in texts if text.strip()),
            "answers": tuple(wrong[0] if wrong else "" for text in texts if text.strip()),
            "readings": ((gold,),) if gold else (),
            **({"options": ("yes", "no")} if all(truths) else {}),
            **({"strata": {"corpus": scalar_text(row, "dataset")}} if row.get("dataset") else {}),
        },
    )


def realtimeqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of RealtimeQA as RobustRAG (Xiang et al. 2024) publishes it, with its search results.

    `clean` reads all results, in their order; `poisoned` the first ten and the passages that argue for
    the planted answer, from sources of their own, in front of them; `choice` is `clean` with the four
    options of the quiz. Sources are the domains.
    """
    passages: dict[str, Passage] = {}
    for number, item in enumerate(list_field(row, "context", dict, place), 1):
        title, text, url = (scalar_text(item, key) for key in ("title", "text", "link"))
        if not text:
            continue
        name = content_id("p", url or title, text)
        source = urlsplit(url).hostname or f"doc{number}"
        passages.setdefault(name, Passage(text=text, source=source, id=name, title=title, url=url))
    gold, wrong = _answers(row, _RIGHT, place), _answers(row, _PLANTED, place)
    gold = distinct([*gold, *(_answers(row, "expanded answer", place) if row.get("expanded answer") else ())])
    asked: dict[str, Any] = {"question": string(row, "question", place), "gold": gold, "wrong": wrong}
    part = place.part or CLEAN
    types = ["real"] * len(passages)
    if part == POISONED:
        first = list(passages.values())[:READ]
        texts = [text for text in list_field(row, "incorrect_context", str, place) if text.strip()]
        planted = [_plant(place.row, number, text) for number, text in enumerate(texts, 1)]
        passages = {passage.id: passage for passage in (*planted, *first)}
        types = ["misinfo"] * len(planted) + ["real"] * len(first)
    if part == CHOICE:
        options = list(options_of(get_required(row, "choices", place), place, "choices").values())
        right = scalar_text(row, "choices answer")
        if not (right.isascii() and right.isdigit() and int(right) < len(options)):
            raise place.wrong(f"choices answer {right!r} is the number of none of its {len(options)} choices")
        asked = menu(asked["question"], options, int(right))
    return place.example(
        row,
        **asked,
        passages=tuple(passages.values()),
        part=part,
        id=scalar_text(row, "question id") or scalar_text(row, "id"),
        types=tuple(types),
    )


def _plant(row: int, number: int, text: str) -> Passage:
    """Return a poisoned passage; it comes from a domain that is new."""
    source = f"fresh-{row}-{number}.example"
    return Passage(text=text, source=source, id=content_id("p", source, text))


def _answers(row: Mapping[str, Any], key: str, place: Place) -> tuple[str, ...]:
    """Return the answers of a field that holds one, or a list."""
    content = literal(get_required(row, key, place))
    listed = content if isinstance(content, list) else [content]
    return distinct([str(answer) for answer in listed if isinstance(answer, str | int | float)])


_BOTH = (
    "accuracy: a right answer's words stand in the answer; attack_success (less is better): the planted one's"
)
FORMATS = (
    DatasetFormat(
        name="poisonedrag",
        expects="one",
        description="a right answer, and passages that plant another (PoisonedRAG)",
        origin="Zou et al. 2025, arXiv:2402.07867; github.com/sleeepeer/PoisonedRAG",
        licence="MIT",
        shape="one JSON object by ids (results/adv_targeted_results/nq.json), or JSON lines",
        fields="id, question, correct answer, incorrect answer, adv_texts[]",
        measure=_BOTH,
        metrics=("accuracy", "attack"),
        loader=poisonedrag,
        shapes=(("question", _RIGHT, _PLANTED, "adv_texts"),),
    ),
    DatasetFormat(
        name="realtimeqa",
        expects="one",
        description="news questions with search results and poisoned ones (RealtimeQA in RobustRAG)",
        origin="Kasai et al. 2023, Xiang et al. 2024, arXiv:2405.15556; github.com/inspire-group/RobustRAG",
        licence="origin states none",
        shape="a JSON list (realtimeqa.json)",
        fields="question, correct answer[], incorrect answer, context[{title, text, link}], "
        "incorrect_context[], choices[], choices answer; views clean, poisoned, choice",
        measure=_BOTH,
        metrics=("accuracy", "attack"),
        loader=realtimeqa,
        shapes=(("question", _RIGHT, _PLANTED, "context", "incorrect_context"),),
        views=(CLEAN, POISONED, CHOICE),
        files=("realtimeqa.json",),
    ),
)
