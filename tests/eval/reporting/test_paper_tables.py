"""The papers' tables keep their layout and figures, and ours stand in them or are said to be missing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from disputatio.errors import UnknownName
from disputatio.eval.reporting.paper_tables import markdown, paper_tables
from disputatio.eval.running.run_log import Entrant, RunManifest
from disputatio.pipeline import strategy_names
from disputatio.trace import Trace
from disputatio.types import Answer, Passage, Usage
from tests.eval.fakes import examples, run

NUMBERS = json.loads(resources.files("disputatio.eval.reporting").joinpath("paper_numbers.json").read_text())
DEBATE = {"rounds": 3, "aggregator": True}


def told(question: str, passages: Sequence[Passage], strategy: str, options: Mapping[str, Any],
         trace: Trace) -> Answer:  # fmt: skip
    """`concat` is right on 3 of 4 questions, the others on every second."""
    number = int(question.rsplit(maxsplit=1)[-1])
    right = number % 4 < 3 if strategy == "concat" else number % 2 == 0
    return Answer(
        question=question,
        answers=(f"gold {number}" if right else "nonsense",),
        usage=Usage(calls=1, prompt_tokens=100, completion_tokens=10, seconds=0.1),
    )


def evaluated(out: Path, name: str, metrics: tuple[str, ...], *entrants: Entrant, count: int = 40) -> Path:
    rows = [replace(example, metadata={**example.metadata, "dataset": name}) for example in examples(count)]
    manifest = RunManifest(
        datasets={name: "ab12"}, metrics={name: metrics}, metrics_version=1, model="scripted:small"
    )
    run(rows, entrants, ask=told, out=out, manifest=manifest)
    return out


def plain(*strategies: str) -> list[Entrant]:
    return [
        Entrant(label=name, strategy=name, options=DEBATE if name == "madam_rag" else {})
        for name in strategies
    ]


@pytest.mark.parametrize("paper", NUMBERS)
def test_the_data_is_whole(paper: str) -> None:
    for table in NUMBERS[paper]["tables"]:
        methods = [method["name"] for method in table["methods"]]
        assert {row[1] for row in table["rows"]} <= set(methods)
        assert {len(row) for row in table["rows"]} == {2 + len(table["columns"])}
        if "groups" in table:
            assert {row[0] for row in table["rows"]} == set(table["groups"])
        for method in table["methods"]:
            assert method["strategy"] in (*strategy_names(), "")


@pytest.mark.parametrize(
    ("paper", "table", "row", "column", "value"),
    [
        ("madam", "Table 1", ["Llama3.3-70B-Inst", "MADAM-RAG"], "RAMDocs", 34.40),
        ("madam", "Table 1", ["Qwen2.5-72B-Inst", "Speculative RAG"], "AmbigDocs", 13.40),
        ("madam", "Table 1", ["GPT-4o-mini", "Astute RAG"], "FaithEval", 34.00),
        ("madam", "Table 2", ["not stated", "MADAM-RAG"], "Avg Output Tokens", 1547.18),
        ("ra-rag", "Table 7", ["NQ", "RA-RAG"], "7", 0.558),
        ("ra-rag", "Table 7", ["TQA", "MV"], "7", 0.477),
        ("ra-rag", "Table 1", ["20", "w/ κ-RRSS"], "Token Consumption", 4644),
        ("ac-rag", "Table 1", ["Llama-3-8B", "AC-RAG"], "PubMedQA", 73.2),
        ("ragenta", "Table 3", ["Falcon-3-10B", "RAGentA"], "Faithfulness", 0.7044),
    ],
)
def test_figures_stand_where_the_paper_has_them(
    paper: str, table: str, row: list[str], column: str, value: float
) -> None:
    (held,) = (one for one in NUMBERS[paper]["tables"] if one["id"] == table)
    at = [one["name"] for one in held["columns"]].index(column)
    assert [one[2 + at] for one in held["rows"] if one[:2] == row] == [value]


@pytest.mark.long
def test_ours_stand_in_the_columns_of_the_paper_and_the_rest_is_missing(tmp_path: Path) -> None:
    out = evaluated(tmp_path, "ramdocs:dev.jsonl", ("em", "f1"), *plain("concat", "madam_rag"))
    printed = paper_tables("madam", [out])
    text = markdown(printed)
    assert "| Llama3.3-70B-Inst | MADAM-RAG | 43.10 | 58.20 | 34.40 |" in text
    assert "| ours: scripted:small | No RAG | missing | missing | missing |" in text
    assert "| ours: scripted:small | Prompt-based | missing | missing | 75.00 [" in text
    assert "(n 40) |" in text
    assert "| ours: scripted:small | Prompt-based | 100.00 [100.00, 100.00] (n 40) | 10.00 [" in text
    assert "Missing here: 22 of 24 cells." in text


@pytest.mark.long
def test_another_order_than_the_papers_is_said_plainly(tmp_path: Path) -> None:
    out = evaluated(tmp_path, "ramdocs:dev.jsonl", ("em",), *plain("concat", "madam_rag"))
    (said,) = (line for line in paper_tables("madam", [out])["tables"][0]["said"] if "RAMDocs" in line)
    assert said.startswith("RAMDocs: other than in the paper, Prompt-based stands above MADAM-RAG here, 75 ")
    assert "against 50 (paired on 40 questions, p = 0.002)" in said
    assert said.endswith("the paper has MADAM-RAG above Prompt-based with 3 of 3 models.")


@pytest.mark.long
def test_the_same_order_as_the_papers_is_said_too(tmp_path: Path) -> None:
    out = evaluated(tmp_path, "ambigdocs:test.jsonl", ("em",), *plain("concat", "closed_book"))
    said = paper_tables("madam", [out])["tables"][0]["said"]
    assert said[0] == "AmbigDocs: the order is the paper's in 1 of 1 pair that it orders and we measured."


def test_an_ablation_is_not_taken_for_the_method(tmp_path: Path) -> None:
    short = Entrant(label="short", strategy="madam_rag", options={"rounds": 1, "aggregator": True})
    out = evaluated(tmp_path, "ramdocs:dev.jsonl", ("em", "precision", "f1"), short)
    first, _, third = paper_tables("madam", [out])["tables"]
    assert all(cell is None for row in first["ours"] for cell in row["cells"])
    told_in = {row["method"]: row["cells"][0] for row in third["ours"]}
    assert told_in["with aggregator, 1 round"]["strategy"] == "short"
    assert told_in["with aggregator, 3 rounds"] is None


def test_our_bound_debate_is_not_taken_for_the_papers(tmp_path: Path) -> None:
    bound = Entrant(label="madam_rag", strategy="madam_rag", options={**DEBATE, "bound": True})
    out = evaluated(tmp_path, "ramdocs:dev.jsonl", ("em", "f1"), bound)
    for table in paper_tables("madam", [out])["tables"][:2]:
        cells = {row["method"]: row["cells"][-1] for row in table["ours"]}
        assert cells["MADAM-RAG"] is None
        assert cells["madam_rag --set bound=true"]["strategy"] == "madam_rag"


def test_a_gain_that_the_paper_states_stands_beside_ours_between_the_same_rounds(tmp_path: Path) -> None:
    bare = [
        Entrant(label=f"bare_{n}", strategy="madam_rag", options={"rounds": n, "aggregator": False})
        for n in (1, 3)
    ]
    out = evaluated(tmp_path, "ramdocs:dev", ("em", "f1"), *bare)
    figure = next(table for table in paper_tables("madam", [out])["tables"] if table["id"] == "Figure 3")
    rounds = "from without aggregator, 1 round to without aggregator, 3 rounds"
    assert f"F1, {rounds}: the paper +3.62, ours +0.00 (n 40): other than in the paper." in figure["said"]
    assert f"FaithEval Acc., {rounds}: the paper +21.10, ours missing." in figure["said"]


def test_a_run_with_shuffled_passages_fills_no_column_of_the_papers_order(tmp_path: Path) -> None:
    out = evaluated(tmp_path, "ramdocs:ramdocs-shuffled.jsonl", ("em",), *plain("concat"))
    assert all(
        cell is None for row in paper_tables("madam", [out])["tables"][0]["ours"] for cell in row["cells"]
    )


def test_a_folder_says_how_many_adversaries_there_were(tmp_path: Path) -> None:
    voting = plain("majority_vote", "ra_rag")
    three = evaluated(tmp_path / "nq-a3", "multisource:test.jsonl", ("accuracy",), *voting)
    printed = paper_tables("ra-rag", [three])["tables"][0]
    cells = {(row["group"], row["method"]): row["cells"] for row in printed["ours"]}
    assert [cell is not None for cell in cells["NQ", "MV"]] == [False, False, True] + [False] * 4
    assert cells["NQ", "MV"][2]["value"] == 0.5
    assert all(cell is None for cell in cells["TQA", "MV"])


@pytest.mark.long
def test_the_mean_needs_all_its_columns(tmp_path: Path) -> None:
    folders = [
        evaluated(tmp_path / name, f"mirage:benchmark.json#{name}", ("accuracy",), *plain("ac_rag"))
        for name in ("mmlu", "pubmedqa", "medmcqa", "medqa")
    ]
    table = paper_tables("ac-rag", folders)["tables"][0]
    mean = {row["method"]: row["cells"][-1] for row in table["ours"]}
    assert (mean["AC-RAG"]["value"], mean["AC-RAG"]["n"], mean["CRAG"]) == (50.0, 160, None)
    table = paper_tables("ac-rag", folders[:3])["tables"][0]
    assert [row["cells"][-1] for row in table["ours"] if row["method"] == "AC-RAG"] == [None]


def test_without_runs_all_is_missing_and_an_unknown_paper_is_named() -> None:
    for paper in NUMBERS:
        for table in paper_tables(paper, [])["tables"]:
            assert all(cell is None for row in table["ours"] for cell in row["cells"])
    with pytest.raises(UnknownName, match="paper"):
        paper_tables("madame", [])


@pytest.mark.long
def test_costs_come_from_the_run_that_has_most_of_the_methods(tmp_path: Path) -> None:
    more = evaluated(tmp_path / "more", "figure4:a", ("em",), *plain("concat", "closed_book"), count=60)
    all_ = plain("concat", "self_reflection", "madam_rag")
    whole = evaluated(tmp_path / "whole", "ramdocs:dev.jsonl", ("em",), *all_, count=20)
    costs = next(
        paper_table
        for paper_table in paper_tables("madam", [more, whole])["tables"]
        if paper_table["id"] == "Table 2"
    )
    cells = [cell for row in costs["ours"] for cell in row["cells"] if cell is not None]
    assert len(cells) == 2 * len(all_)
    assert {Path(cell["folder"]).name for cell in cells} == {"whole"}
