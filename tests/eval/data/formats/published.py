"""A small row of each published format that the tests of the loaders share, made up for them."""

from __future__ import annotations

from typing import Any

RAMDOCS: dict[str, Any] = {
    "question": "Where was Ada Fen born?",
    "documents": [
        {"text": "Ada Fen was born in Lund.", "type": "correct", "answer": "Lund"},
        {"text": "Ada Fen was born in Oslo.", "type": "misinfo", "answer": "Oslo"},
    ],
    "disambig_entity": ["Ada Fen (chemist)"],
    "gold_answers": ["Lund"],
    "wrong_answers": ["Oslo"],
}
AMBIGDOCS: dict[str, Any] = {
    "qid": "7",
    "ambiguous_entity": "Ada Fen",
    "question": "Where was Ada Fen born?",
    "documents": [
        {"title": "Ada Fen (chemist)", "text": "She was born in Lund.", "pid": "1", "answer": "Lund"},
        {"title": "Ada Fen (diver)", "text": "She was born in Oslo.", "pid": "2", "answer": "Oslo"},
    ],
}
CONFLICTNQ: dict[str, Any] = {
    "id": "11",
    "question": "when was the vell bridge built",
    "cleaned_question": "When was the Vell bridge built?",
    "real_answer": "The Vell bridge was built in 1890.",
    "real_short_answer": "1890",
    "real_passages": [{"passage": "The Vell bridge was built in 1890 .", "summary": "Vell bridge"}],
    "fake_answer": "The Vell bridge was built in 1931.",
    "fake_short_answer": "1931",
    "fake_passages": [
        {"passage": "The Vell bridge opened in 1931.", "summary": "one"},
        {"passage": "In 1931 the bridge was built.", "summary": "two"},
    ],
}
CONFLICTQA: dict[str, Any] = {
    "question": "Is the Vell bridge older than the Tarn bridge?",
    "popularity": 12,
    "ground_truth": ["True"],
    "memory_answer": "The Vell bridge is older.",
    "parametric_memory": "It was built before the Tarn bridge.",
    "counter_answer": "The Vell bridge is younger.",
    "counter_memory": "The Tarn bridge came first.",
    "parametric_memory_aligned_evidence": "Vell 1890, Tarn 1901.",
    "counter_memory_aligned_evidence": "",
}
CONFLICTS: dict[str, Any] = {
    "source": "freshqa",
    "question": "Who leads the bridge guild?",
    "conflict_type": "Conflict due to outdated information",
    "correct_answer": "Ola Fen",
    "search_results": [
        {
            "title": "Guild",
            "url": "https://guild.example/lead",
            "snippet": "Ola leads.",
            "date": "2025-01-02",
            "response_str": "A long page. Ola leads the guild.",
            "short_text": "Ola Fen leads the guild.",
        },
        {
            "title": "Old",
            "url": "",
            "snippet": "Ada led.",
            "date": "NA",
            "response_str": "",
            "short_text": "",
        },
        {"title": "None", "url": "", "snippet": "", "date": "NA", "response_str": "", "short_text": ""},
    ],
}
POISONED: dict[str, Any] = {
    "id": "test1",
    "question": "When was the Vell bridge built?",
    "correct answer": "1890",
    "incorrect answer": "1931",
    "adv_texts": ["The Vell bridge was built in 1931.", "1931 saw the bridge built."],
}
REALTIME: dict[str, Any] = {
    "question": "What share of bridges rust?",
    "correct answer": ["15%"],
    "incorrect answer": "32%",
    "id": 0,
    "question id": "20231013_1",
    "incorrect_context": ["Rust takes 32% of bridges.", "32% rust."],
    "context": [
        {"title": "Rust", "text": "15% of bridges rust.", "link": "https://rust.example/a"},
        {"title": "Empty", "link": "https://rust.example/b"},
        {"title": "Iron", "text": "Iron rusts."},
    ],
    "choices": ["10%", "15%", "45%", "50%"],
    "choices answer": "1",
    "expanded answer": ["0.15", "fifteen percent"],
}
UNANSWERABLE: dict[str, Any] = {
    "qid": "u1",
    "question": "Who built the Vell bridge?",
    "context": "The Vell bridge is long.",
    "answers": ["unanswerable", "unknown", "no answer"],
    "subset": "SQuAD",
}
INCONSISTENT: dict[str, Any] = {
    "qid": "i1",
    "question": "When was the Vell bridge built?",
    "context": "Document: The Vell bridge is from 1890.\nDocument: The Vell bridge is from 1931.",
    "answers": ["1890", "1931"],
    "justification": "They differ.",
}
COUNTERFACTUAL: dict[str, Any] = {
    "id": "c1",
    "question": "What are bridges made of?",
    "context": "All bridges are made of cheese, as a study found.",
    "choices": {"label": ["1", "2", "3", "4"], "text": ["iron", "cheese", "stone", "wood"]},
    "answerKey": "2",
    "answer": "cheese",
    "justification": "The context says so.",
}
AMBIGNQ: dict[str, Any] = {
    "id": "-8",
    "question": "When was the bridge built?",
    "annotations": [
        {"type": "singleAnswer", "answer": ["1890", "the year 1890"]},
        {
            "type": "multipleQAs",
            "qaPairs": [
                {"question": "When was the Vell bridge built?", "answer": ["1890", "in 1890"]},
                {"question": "When was the Tarn bridge built?", "answer": ["1901"]},
            ],
        },
    ],
}
NQ_OPEN: dict[str, Any] = {"question": "who built the vell bridge", "answer": ["Ada Fen", "A. Fen"]}
NQ_PASSAGES: dict[str, Any] = {
    "id": "test_1",
    "question": "who built the vell bridge",
    "golden_answers": ["Ada Fen"],
    "passages": [
        {"title": '"Vell bridge"', "text": "Ada Fen built it.", "has_answer": True},
        {"title": "Fen", "text": "A fen is wet.", "has_answer": False},
    ],
}
TRIVIAQA: dict[str, Any] = {
    "Question": "Who built the Vell bridge?",
    "QuestionId": "qz_1",
    "Answer": {"Value": "Ada Fen", "Aliases": ["A. Fen", "Fen, Ada"], "NormalizedAliases": ["a fen"]},
    "EntityPages": [{"Title": "Vell bridge", "Filename": "Vell_bridge.txt"}],
    "SearchResults": [],
}
TRIVIAQA_COPY: dict[str, Any] = {
    "question": "Who built the Vell bridge?",
    "question_id": "qz_1",
    "entity_pages": {
        "title": ["Vell bridge"],
        "filename": ["Vell_bridge.txt"],
        "wiki_context": ["Ada Fen built the Vell bridge."],
    },
    "search_results": {"title": [], "url": [], "search_context": []},
    "answer": {"value": "Ada Fen", "aliases": ["A. Fen"], "normalized_aliases": ["a fen"]},
}
HOTPOT: dict[str, Any] = {
    "_id": "5a",
    "question": "Are both bridges in Lund?",
    "answer": "no",
    "supporting_facts": [["Vell bridge", 0], ["Tarn bridge", 0]],
    "context": [
        ["Vell bridge", ["It is in Lund.", " It is long."]],
        ["Tarn bridge", ["It is in Oslo."]],
        ["Fen", ["A fen is wet."]],
    ],
    "type": "comparison",
    "level": "hard",
}
POPQA: dict[str, Any] = {
    "id": "42",
    "subj": "Ada Fen",
    "prop": "occupation",
    "obj": "engineer",
    "s_pop": "4200",
    "o_pop": "90000",
    "question": "What is Ada Fen's occupation?",
    "possible_answers": '["engineer", "bridge builder"]',
}
MEDQA: dict[str, Any] = {
    "question": "Which bone is longest?",
    "answer": "Femur",
    "options": {"A": "Ulna", "B": "Femur", "C": "Skull", "D": "Rib"},
    "meta_info": "step1",
    "answer_idx": "B",
}
MEDMCQA: dict[str, Any] = {
    "id": "m1",
    "question": "Which bone is longest?",
    "opa": "Ulna",
    "opb": "Femur",
    "opc": "Skull",
    "opd": "Rib",
    "cop": 2,
    "choice_type": "single",
    "subject_name": "Anatomy",
    "topic_name": None,
}
MMLU: dict[str, Any] = {
    "question": "Which bone is longest?",
    "subject": "anatomy",
    "choices": ["Ulna", "Femur", "Skull", "Rib"],
    "answer": 1,
}
PQAL: dict[str, Any] = {
    "101": {
        "QUESTION": "Does salt harm bridges?",
        "CONTEXTS": ["Salt is spread.", "30 of 40 rusted."],
        "LABELS": ["BACKGROUND", "RESULTS"],
        "YEAR": "2011",
        "final_decision": "yes",
        "LONG_ANSWER": "Salt harms bridges.",
    }
}
LIAR = "\t".join(
    ("1.json", "mostly-true", 'Says "bridges" rust.', "iron", "ada-fen", "", "", "none", *"01000", "a talk")
)
