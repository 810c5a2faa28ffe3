"""Strategies and data sets run under Inspect: answers, scores, faults and limits end in its log."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval_retry
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, get_model
from inspect_ai.solver import generate

from disputatio import Index, Passage
from disputatio.api import asking
from disputatio.inspect_ai import disputatio_scorer, disputatio_task, disputation_solver
from disputatio.inspect_ai.tasks import TASKS
from tests.inspect_ai.conftest import Evaluate, Mock, reads, reply

pytestmark = pytest.mark.slow  # Inspect takes its time to start, to log and to close


def means(log: EvalLog) -> dict[str, float]:
    """Return the mean of each score."""
    assert log.results is not None
    return {one.name: one.metrics["mean"].value for one in log.results.scores}


def samples(log: EvalLog) -> list[Any]:
    """Return the samples in the order of the data set."""
    return sorted(log.samples or [], key=lambda one: one.metadata["row"])


def test_a_data_set_is_answered_and_scored_by_our_metrics(rows: Path, mock: Mock, evaluate: Evaluate) -> None:
    log = evaluate(disputatio_task(f"jsonl:{rows}", "majority_vote"), mock(reads))
    assert log.status == "success"
    found = means(log)
    assert (found["em"], found["f1"], found["accuracy"], found["abstained"]) == (0.5, 0.5, 0.5, 0.0)
    first, second = samples(log)
    assert first.metadata["disputatio"]["answers"] == ["1901"]
    assert second.scores["disputatio_scorer"].value["em"] == 0.0
    assert second.scores["disputatio_scorer"].answer == "Bo Falk"


def test_the_log_read_anew_has_citations_positions_and_usage(
    rows: Path, mock: Mock, evaluate: Evaluate
) -> None:
    log = read_eval_log(evaluate(disputatio_task(f"jsonl:{rows}", "majority_vote"), mock(reads)).location)
    first, _ = samples(log)
    told = first.metadata["disputatio"]
    [position] = told["conflict"]["positions"]
    assert (position["answer"], position["verdict"]) == ("1901", "accepted")
    assert {one["passage"] for claim in told["claims"] for one in claim["citations"]} == {"p1", "p2"}
    assert told["usage"]["calls"] == 2
    assert told["usage"]["prompt_tokens"] == 20
    assert told["model"] == "inspect:mockllm/model"
    assert "[1]" in first.output.completion
    assert first.model_usage["mockllm/model"].total_tokens == 30
    assert len([one for one in first.events if one.event == "model"]) == 2
    assert log.eval.task_args["strategy"] == "majority_vote"


def test_no_model_is_shown_what_the_data_set_knows(rows: Path, mock: Mock, evaluate: Evaluate) -> None:
    seen: list[str] = []

    def say(messages: list[ChatMessage], config: GenerateConfig) -> str:
        seen.extend(one.text for one in messages)
        return reply("unknown")

    evaluate(disputatio_task(f"jsonl:{rows}", "majority_vote"), mock(say))
    assert seen
    assert not [text for text in seen if "Ada Lund" in text or "1950" in text]


def test_an_abstention_is_scored_and_counted_apart(rows: Path, mock: Mock, evaluate: Evaluate) -> None:
    log = evaluate(
        disputatio_task(f"jsonl:{rows}", "majority_vote"), mock(lambda messages, config: reply("unknown"))
    )
    found = means(log)
    assert (found["abstained"], found["recall"]) == (1.0, 0.0)
    assert math.isnan(found["precision"])
    assert samples(log)[0].metadata["disputatio"]["abstained"] == "no_evidence"


def test_a_fault_of_the_model_is_the_samples_error_and_no_zero(
    rows: Path, mock: Mock, evaluate: Evaluate
) -> None:
    def say(messages: list[ChatMessage], config: GenerateConfig) -> str | Exception:
        return ValueError("the key has expired") if "Orrin" in messages[-1].text else reads(messages, config)

    log = evaluate(disputatio_task(f"jsonl:{rows}", "majority_vote"), mock(say))
    first, second = samples(log)
    assert first.error is None
    assert first.scores["disputatio_scorer"].value["em"] == 1.0
    assert "the key has expired" in second.error.message
    assert not second.scores
    assert log.status == "error"  # half of the samples is more than one in a hundred


def test_replies_that_keep_no_contract_are_the_samples_error(
    rows: Path, mock: Mock, evaluate: Evaluate
) -> None:
    log = evaluate(
        disputatio_task(f"jsonl:{rows}", "majority_vote"),
        mock(lambda messages, config: "The answer is 1901."),
    )
    assert all("reply was not usable" in one.error.message for one in samples(log))
    assert all(one.metadata["disputatio"]["abstained"] == "fault" for one in samples(log))
    assert not any(one.scores for one in samples(log))


def test_a_limit_of_tokens_ends_a_sample_as_inspect_ends_it(
    rows: Path, mock: Mock, evaluate: Evaluate
) -> None:
    log = evaluate(disputatio_task(f"jsonl:{rows}", "majority_vote"), mock(reads), token_limit=5)
    assert [one.limit.type for one in samples(log)] == ["token", "token"]
    assert [one.error for one in samples(log)] == [None, None]
    assert math.isnan(samples(log)[0].scores["disputatio_scorer"].value)
    assert log.results is not None
    assert log.results.scores[0].unscored_samples == 2


def test_a_limit_of_time_ends_the_calls_in_hand(rows: Path, evaluate: Evaluate) -> None:
    begun, ended = [], []

    async def asleep(*_: object) -> ModelOutput:
        begun.append(1)
        try:
            await asyncio.sleep(60)
        finally:
            ended.append(1)
        return ModelOutput.from_content("mockllm", "never")

    slow = get_model("mockllm/model", custom_outputs=asleep, memoize=False)
    log = evaluate(disputatio_task(f"jsonl:{rows}", "majority_vote"), slow, time_limit=1)
    assert [one.limit.type for one in samples(log)] == ["time", "time"]
    assert len(begun) == len(ended) == 3


def test_roles_of_inspect_are_cast_for_those_of_the_strategy(
    rows: Path, mock: Mock, evaluate: Evaluate
) -> None:
    asked: list[str] = []

    def aggregate(messages: list[ChatMessage], config: GenerateConfig) -> str:
        asked.append(messages[0].text)
        return json.dumps({"answers": ["1901"], "explanation": "Both say 1901."})

    log = evaluate(
        disputatio_task(f"jsonl:{rows}", "madam_rag", rounds=1, bound=True),
        mock(reads),
        model_roles={"aggregator": mock(aggregate)},
    )
    assert log.status == "success", samples(log)[0].error
    assert len(asked) == 2
    assert samples(log)[0].metadata["disputatio"]["answers"] == ["1901"]
    assert log.eval.task_args["rounds"] == 1


def test_our_own_model_answers_where_it_is_named_or_inspect_has_none(
    rows: Path, evaluate: Evaluate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"": reply("1901")}), encoding="utf-8")
    named = evaluate(
        disputatio_task(f"jsonl:{rows}", "majority_vote", model=f"scripted:{script}"), "mockllm/model"
    )
    monkeypatch.setenv("DISPUTATIO_MODEL", f"scripted:{script}")
    none = evaluate(disputatio_task(f"jsonl:{rows}", "majority_vote"), "none")
    for log in (named, none):
        assert log.status == "success"
        assert samples(log)[0].metadata["disputatio"]["model"] == f"scripted:{script}"
        assert means(log)["em"] == 0.5


def test_the_solver_answers_over_passages_or_an_index_of_any_task(
    mock: Mock, evaluate: Evaluate, tmp_path: Path
) -> None:
    text = "The pier of Tarnwick was built in 1901."
    held = Sample(
        input="When was the pier built?", target="1901", metadata={"row": 0, "passages": [{"text": text}]}
    )
    Index.open(tmp_path / "index", embedder="none").add([Passage(text=text, source="a.example")])
    bare = Sample(input="When was the pier built?", target="1901", metadata={"row": 0})
    index = str(tmp_path / "index")
    for sample, place in ((held, None), (bare, index)):
        task = Task(
            dataset=[sample],
            solver=disputation_solver("majority_vote", index=place),
            scorer=disputatio_scorer(["em"]),
        )
        log = evaluate(task, mock(reads))
        assert log.status == "success", log.error
        assert means(log)["em"] == 1.0


def test_another_solvers_completion_is_scored_as_one_answer(
    rows: Path, mock: Mock, evaluate: Evaluate
) -> None:
    task = disputatio_task(f"jsonl:{rows}")
    task.solver = generate()
    said = mock(lambda messages, config: "1901" if "pier" in messages[-1].text else "")
    log = evaluate(task, said)
    first, second = samples(log)
    assert first.scores["disputatio_scorer"].value["em"] == 1.0
    assert second.scores["disputatio_scorer"].reason == "no_response"
    assert means(log)["em"] == 1.0


def test_a_failed_run_is_repeated_from_its_log(rows: Path, evaluate: Evaluate, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"": "no JSON"}), encoding="utf-8")
    failed = evaluate(TASKS["jsonl"](str(rows), "majority_vote", model=f"scripted:{script}"), "none")
    assert failed.status == "error"
    script.write_text(json.dumps({"": reply("1901")}), encoding="utf-8")
    asking._KITS.clear()  # else the script is that of the first run: a process makes a kit once
    [mended] = eval_retry(failed, log_dir=str(tmp_path / "logs"), display="none")
    assert mended.status == "success"
    assert mended.eval.task == "disputatio/jsonl"
    assert means(mended)["em"] == 0.5
