"""Small rows of each published format, made up for these tests, and a file of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

MORGANA: dict[str, Any] = {
    "question": "how old is the vell bridge compared to the tarn bridge",
    "answer": "The Vell bridge is from 1890, eleven years older than the Tarn bridge.",
    "context": ["The Vell bridge was built in 1890.", "The Tarn bridge was built in 1901."],
    "document_ids": ["<urn:uuid:aa-1>", "<urn:uuid:bb-2>"],
    "question_multi-doc": "comparison",
    "question_premise": "direct",
    "user_expertise-categorization": "novice",
}
JUDGED: dict[str, Any] = {
    "question": "Why is the bridge shut?",
    "generated_answer": "Its piers are cracked.",
    "ground_truth_answer": "Two of its piers are cracked.",
    "correctness_score": 1.8,
    "faithfulness_score": 1,
    "system": "RAGentA",
}
CLAIM: dict[str, Any] = {
    "question": "How safe are bridges?",
    "field": "Engineering",
    "system": "rr_gs_gpt4",
    "claim": "Most bridges are inspected every second year [1].",
    "evidence": [
        "[1] https://bridges.example/rules\n\nBridges are inspected every two years.",
        "[2] https://b.example/x",
    ],
    "support": "Complete",
    "correctness": "Probably correct",
    "reliability": None,
    "informativeness": "Very relevant",
    "split": "rand_test",
}
ABSTRACT: dict[str, Any] = {
    "pmid": "101",
    "question": "Does salt harm bridges?",
    "contexts": ["Salt is spread on roads.", "Of 40 bridges 30 rusted."],
    "labels": ["BACKGROUND", "RESULTS"],
    "year": "2011",
    "final_decision": "yes",
    "long_answer": "Salt harms bridges.",
}
RETRIEVAL: dict[str, Any] = {
    "data_source": "toolqa",
    "question_id": "toolqa_1",
    "question": "Who met Ada on 3 May?",
    "ground_truth": ["Ola Fen", "ola fen", "Ola"],
    "context": ["Ada met Ola Fen on 3 May.", {"title": "Ada"}, {"title": "Ola", "text": "Ola is a fen."}],
}
BENCHMARK: dict[str, Any] = {
    "medqa": {
        "0000": {
            "question": "Which bone is longest?",
            "options": {"A": "Ulna", "B": "Femur", "C": "None of the above"},
            "answer": "B",
        }
    },
    "bioasq": {"b1": {"question": "Is bone hard?", "options": {"A": "yes", "B": "no"}, "answer": "A"}},
}


def file_of(folder: Path, rows: Sequence[Mapping[str, Any]] | Mapping[str, Any], name: str = "rows") -> Path:
    """Return a file of lines, or of one JSON value where it is given a mapping."""
    if isinstance(rows, Mapping):
        path = folder / f"{name}.json"
        path.write_text(json.dumps(rows, indent=1), encoding="utf-8")
    else:
        path = folder / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path
