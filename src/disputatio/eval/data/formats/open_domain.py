"""Questions asked of an encyclopaedia: NQ-open, AmbigNQ, TriviaQA, HotpotQA, PopQA, and NQ with passages.

An answer goes by several names, of which any is right (`readings` in the metadata). Most of these carry no
passages: they are asked over an index.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from disputatio.eval.data.formats.format import BY_ANSWER, DatasetFormat
from disputatio.eval.data.formats.menus import boolean
from disputatio.eval.data.rows import (
    Place,
    answers,
    distinct,
    document,
    get_required,
    list_field,
    literal,
    objects_of_columns,
    optional,
    scalar_text,
    string,
)
from disputatio.eval.metrics import answer_set
from disputatio.types import Example, Passage

_TEXTS = ("context", "contexts", "passages", "documents", "ctxs")


def nq_open(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of NQ-open (Lee et al. 2019); any of its answers is right.

    A row with texts to read is another data set's: they would be lost here.
    """
    if present := [field for field in _TEXTS if row.get(field)]:
        raise place.wrong(f"holds {present[0]}, which a row of nq_open has not")
    key = next((field for field in ("golden_answers", "answers") if field in row), "answer")
    return _any_name(row, place, names=answers(row, key, place))


def ambignq(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of AmbigNQ (Min et al. 2020): several answers, each with several names.

    Its annotators read it each in their own way: the answer is compared with the reading that it fits best.
    The gold answers are those of the reading that tells the most apart.
    """
    readings = []
    for number, item in enumerate(list_field(row, "annotations", dict, place)):
        reading = _parse_annotation(item, place, f"annotations[{number}].")
        if reading and reading not in readings:
            readings.append(reading)
    richest = max(readings, key=len, default=())
    return place.example(
        row,
        string(row, "question", place),
        gold=distinct([names[0] for names in richest]),
        id=scalar_text(row, "id"),
        readings=tuple(readings),
        strata={"gold answers": str(len(richest))},
    )


def _parse_annotation(annotation: Mapping[str, Any], place: Place, at: str) -> tuple[tuple[str, ...], ...]:
    """Return an annotator's answers with their names: one, or one to each question that was told apart."""
    kind = string(annotation, "type", place, at)
    if kind == "singleAnswer":
        groups = [answers(annotation, "answer", place)]
    elif kind == "multipleQAs":
        pairs = literal(get_required(annotation, "qaPairs", place, at))
        # In parquet the pairs of a single annotation are told by their columns, in a list of one.
        if isinstance(pairs, Mapping):
            pairs = objects_of_columns(pairs)
        if not isinstance(pairs, list) or not all(isinstance(pair, Mapping) for pair in pairs):
            raise place.wrong(f"{at}qaPairs must be a list of objects")
        flat: list[Mapping[str, Any]] = []
        for pair in pairs:  # a pair, or columns of several
            flat += (objects_of_columns(pair) or []) if isinstance(pair.get("question"), list) else [pair]
        groups = [answers(pair, "answer", place) for pair in flat]
    else:
        raise place.wrong(f"{at}type {kind!r} is neither singleAnswer nor multipleQAs")
    return tuple(group for group in groups if group)


def triviaqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of TriviaQA (Joshi et al. 2017), with its pages and search results.

    The published JSON names files of evidence beside it (not read); its copies in parquet hold the texts.
    """
    fields = {key.lower().replace("_", ""): value for key, value in row.items()}
    answer = fields.get("answer")
    if not isinstance(answer, Mapping):
        raise place.wrong("Answer must be an object with Value and Aliases")
    answer_fields = {key.lower().replace("_", ""): value for key, value in answer.items()}
    others = [
        list_field(answer_fields, key, str, place)
        for key in ("aliases", "humananswers")
        if answer_fields.get(key)
    ]
    names = distinct([answer_fields.get("value"), *(name for some in others for name in some)])
    passages: list[Passage] = []
    for key, text in (("entitypages", "wiki_context"), ("searchresults", "search_context")):
        for page in list_field(fields, key, dict, place) if fields.get(key) else []:
            if scalar_text(page, text):
                known = {name.lower(): scalar_text(page, name) for name in page}
                passages.append(
                    document(
                        len(passages) + 1, known[text], title=known.get("title", ""), url=known.get("url", "")
                    )
                )
    return _any_name(
        row,
        place,
        names=names,
        question=string(fields, "question", place),
        id=scalar_text(fields, "questionid"),
        passages=tuple(passages),
    )


def hotpotqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of HotpotQA (Yang et al. 2018) with its paragraphs, of which two bear the answer.

    The test rows have no answer: they are asked and unscored.
    """
    context = literal(get_required(row, "context", place))
    if isinstance(context, Mapping):
        context = [
            [paragraph.get("title"), paragraph.get("sentences")]
            for paragraph in objects_of_columns(context) or []
        ]
    if not isinstance(context, list):
        raise place.wrong("context must be a list of titles with sentences")
    named = _find_supporting(row)
    passages, types = [], []
    for number, paragraph in enumerate(context, 1):
        if not (isinstance(paragraph, list) and [type(part) for part in paragraph] == [str, list]):
            raise place.wrong(f"context[{number - 1}] must be a title and a list of sentences")
        text = "".join(str(sentence) for sentence in paragraph[1]).strip()
        if text:
            passages.append(document(number, text, title=paragraph[0]))
            types.append("supporting" if paragraph[0] in named else "distractor")
    names = distinct([row.get("answer")])
    yes_no: dict[str, Any] = {"options": ("yes", "no")} if names and boolean(names[0]) else {}
    wrong = tuple(choice for choice in ("yes", "no") if yes_no and choice != boolean(names[0]))
    return _any_name(
        row,
        place,
        names=names,
        wrong=wrong,
        passages=tuple(passages),
        types=tuple(types),
        strata={"kind": scalar_text(row, "type") or "none", "level": scalar_text(row, "level") or "none"},
        **yes_no,
    )


def _find_supporting(row: Mapping[str, Any]) -> set[str]:
    """Return the titles of the paragraphs that answer a question together; none where they are not told."""
    facts = row.get("supporting_facts")
    if isinstance(facts, Mapping):
        facts = [[title] for title in facts.get("title") or []]
    pairs = facts if isinstance(facts, list) else []
    return {pair[0] for pair in pairs if isinstance(pair, list) and pair and isinstance(pair[0], str)}


def popqa(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of PopQA (Mallen et al. 2023); any of its answers is right.

    Its strata are the relation, and how many views a month the entity's page has (`s_pop`).
    """
    views = scalar_text(row, "s_pop")
    if not views.isdigit():
        raise place.wrong("s_pop must be a number of views")
    powers = len(views.lstrip("0")) - 1
    views = "below 100" if powers < 2 else f"10^{powers} to 10^{powers + 1}"
    return _any_name(
        row,
        place,
        names=answers(row, "possible_answers", place),
        strata={"relation": string(row, "prop", place), "views": views},
    )


def nq_with_passages(row: Mapping[str, Any], place: Place) -> Example:
    """Return a question of NQ with the passages that were retrieved for it, some of which hold an answer."""
    listed = list_field(row, "passages", dict, place)
    passages = [
        document(
            number,
            string(entry, "text", place, f"passages[{number - 1}]."),
            title=optional(entry, "title", place).strip('"'),
        )
        for number, entry in enumerate(listed, 1)
    ]
    return _any_name(
        row,
        place,
        names=answers(row, "golden_answers", place),
        passages=tuple(passages),
        types=tuple("bearing" if entry.get("has_answer") else "other" for entry in listed),
    )


def _any_name(
    row: Mapping[str, Any],
    place: Place,
    *,
    names: tuple[str, ...],
    question: str = "",
    wrong: tuple[str, ...] = (),
    passages: tuple[Passage, ...] = (),
    **metadata: Any,
) -> Example:
    """Return an example of one answer that goes by several names."""
    return place.example(
        row,
        question or string(row, "question", place),
        gold=names,
        wrong=wrong,
        passages=passages,
        **{
            "id": scalar_text(row, "id") or scalar_text(row, "_id"),
            "readings": ((names,),) if answer_set(names) else (),
            **metadata,
        },
    )


_ANY = "accuracy: some name of the answer stands in the answer; EM: the answer is one of the names"
FORMATS = (
    DatasetFormat(
        name="ambignq",
        expects="several",
        description="NQ questions that may have several answers (AmbigNQ)",
        origin="Min et al. 2020, arXiv:2004.10645; github.com/shmsw25/AmbigQA",
        licence="CC BY-SA 3.0",
        shape="a JSON list (dev_light.json) or parquet",
        fields="id, question, annotations[{type: singleAnswer, answer[]} or {type: multipleQAs, "
        "qaPairs[{question, answer[]}]}]",
        measure="F1 and strict EM of the answers by the annotator who fits best; any name of one is right",
        metrics=(*BY_ANSWER, "accuracy"),
        loader=ambignq,
        shapes=(("question", "annotations"),),
        passages=False,
        files=("dev_light.json", "dev.json", "light/validation-*.parquet"),
    ),
    DatasetFormat(
        name="hotpotqa",
        expects="one",
        description="questions that two paragraphs answer together (HotpotQA)",
        origin="Yang et al. 2018, arXiv:1809.09600; hotpotqa.github.io",
        licence="CC BY-SA 4.0",
        shape="a JSON list (hotpot_dev_distractor_v1.json) or parquet",
        fields="_id, question, answer, context[[title, [sentence]]], supporting_facts[[title, n]], type, "
        "level",
        measure=_ANY + "; yes or no, which was said",
        metrics=("accuracy", "em"),
        loader=hotpotqa,
        shapes=(("question", "context", "type", "level"), ("_id", "question", "context")),
        files=("hotpot_dev_distractor_v1.json", "distractor/validation-*.parquet"),
    ),
    DatasetFormat(
        name="nq_open",
        expects="one",
        description="questions asked of a search engine, with short answers (NQ-open)",
        origin="Kwiatkowski et al. 2019, Lee et al. 2019, arXiv:1906.00300; "
        "github.com/google-research-datasets/natural-questions/tree/master/nq_open",
        licence="CC BY-SA 3.0",
        shape="JSON lines (NQ-open.dev.jsonl) or parquet",
        fields="question, answer[]",
        measure=_ANY,
        metrics=("accuracy", "em"),
        loader=nq_open,
        shapes=(("question", "answer"), ("question", "golden_answers"), ("question", "answers")),
        passages=False,
        files=("NQ-open.dev.jsonl", "nq_open/validation-*.parquet"),
    ),
    DatasetFormat(
        name="nq_with_passages",
        expects="one",
        description="NQ questions with three to nine passages of Wikipedia",
        origin="Kwiatkowski et al. 2019, with passages as retrieved",
        licence="origin states none",
        shape="JSON lines",
        fields="id, question, golden_answers[], passages[{title, text, has_answer}]",
        measure=_ANY,
        metrics=("accuracy", "em"),
        loader=nq_with_passages,
        shapes=(("question", "golden_answers", "passages"),),
    ),
    DatasetFormat(
        name="popqa",
        expects="one",
        description="one relation of entities known well and little (PopQA)",
        origin="Mallen et al. 2023, arXiv:2212.10511; huggingface.co/datasets/akariasai/PopQA",
        licence="MIT (its repository)",
        shape="a table with tabs (test.tsv), or JSON lines",
        fields="id, subj, prop, obj, s_pop, o_pop, question, possible_answers, ...",
        measure=_ANY,
        metrics=("accuracy", "em"),
        loader=popqa,
        shapes=(("question", "possible_answers", "prop", "s_pop"),),
        passages=False,
        files=("test.tsv", "popQA.tsv"),
    ),
    DatasetFormat(
        name="triviaqa",
        expects="one",
        description="questions of trivia with many names of the answer (TriviaQA)",
        origin="Joshi et al. 2017, arXiv:1705.03551; nlp.cs.washington.edu/triviaqa",
        licence="origin states none for questions and documents (its card: unknown)",
        shape='one JSON object (wikipedia-dev.json, rows under "Data") or parquet',
        fields="Question, QuestionId, Answer{Value, Aliases[]}, EntityPages[], SearchResults[]",
        measure=_ANY,
        metrics=("accuracy", "em"),
        loader=triviaqa,
        shapes=(("Question", "QuestionId", "Answer"), ("question", "question_id", "answer", "entity_pages")),
        files=("qa/wikipedia-dev.json", "rc.wikipedia/validation-*.parquet"),
        passages=False,
    ),
)
