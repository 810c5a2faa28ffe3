"""Small sets of data, a tokenizer and a model for the tests of `train/`."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np

from train.examples import Example

WORDS = ("who", "what", "where", "sang", "won", "paris", "rome", "title", "anna", "bruno", "gold", "silver")


def example(text: str, *answers: str, question: str = "Who sang?", **more: str) -> Example:
    """An example whose answers stand where they first occur."""
    spans = tuple((text.index(one), text.index(one) + len(one)) for one in answers)
    values = {"id": "x/1", "dataset": "squad11_dev", "group": "g", "title": ""} | more
    return Example(question=question, text=text, spans=spans, **values)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """JSON lines, compressed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_data(data: Path, contexts: int = 80) -> Path:
    """A folder of data sets in their published shapes, a few rows each."""
    names = ["anna", "bruno"]
    texts = {
        f"c{number}": f"In paris {names[number % 2]} sang {number} times and the silver was won in rome ."
        for number in range(contexts)
    }
    write_rows(
        data / "train" / "qa_contexts.jsonl.gz",
        [{"context_id": key, "context": text} for key, text in texts.items()],
    )
    for name in ("squad2_dev", "squad11_dev"):
        write_rows(
            data / "train" / f"qa_{name}.jsonl.gz",
            [
                {
                    "id": key,
                    "question": f"Who sang in {name}?",
                    "context_id": key,
                    "answers": [] if number % 5 == 4 else [{"text": names[number % 2], "start": 9}],
                    "title": "Paris",
                }
                for number, key in enumerate(texts)
            ],
        )
    documents = [
        {"text": "In paris anna sang gold .", "type": "correct", "answer": "Anna"},
        {"text": "In paris bruno sang .", "type": "misinfo", "answer": "Bruno"},
        {"text": "The silver was won in rome .", "type": "noise", "answer": "unknown"},
        {"text": "In rome nobody sang .", "type": "correct", "answer": "Anna"},
    ]
    write_rows(
        data / "ramdocs" / "dev.jsonl",
        [{"question": f"Who sang {number}?", "documents": documents} for number in range(16)],
    )
    write_rows(
        data / "nq_with_passages" / "nq.jsonl",
        [
            {
                "question": f"who won {number}",
                "golden_answers": ["Bruno"],
                "passages": [
                    {"title": '"Rome"', "text": "bruno won gold in rome", "has_answer": True},
                    {"title": '"Paris"', "text": "anna sang in paris", "has_answer": False},
                ],
            }
            for number in range(16)
        ],
    )
    for name in ("nq", "hotpotqa", "msmarco"):
        write_rows(data / "poisonedrag" / f"{name}.jsonl", [{"question": "Who won 1?"}])
    write_rows(
        data / "conflictnq" / "val.jsonl",
        [
            {
                "question": "who won 3",
                "cleaned_question": "Who won 3?",
                "real_short_answer": "anna",
                "real_passages": [{"passage": "anna won"}, {"passage": "rome is old"}],
                "fake_short_answer": "bruno",
                "fake_passages": [{"passage": "bruno won"}],
            }
        ],
    )
    (data / "realtimeqa").mkdir(parents=True)
    row = {
        "question": "Who won?",
        "correct answer": ["Anna"],
        "incorrect answer": "Bruno",
        "context": [
            {"title": "News", "text": "anna won gold", "link": ""},
            {"title": "", "text": "silver", "link": ""},
            {"title": "A result without a text", "link": ""},
        ],
        "incorrect_context": ["bruno won gold", "nobody won"],
    }
    (data / "realtimeqa" / "realtimeqa.json").write_text(json.dumps([row]), encoding="utf-8")
    return data


def write_tokenizer(folder: Path) -> Path:
    """A tokenizer of BERT's kind that knows few words, with its special tokens in their usual places."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    known = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102}
    known |= {word: 200 + place for place, word in enumerate(WORDS)}
    known |= {letter: 150 + place for place, letter in enumerate(".:?,")}
    tokenizer = Tokenizer(models.WordPiece(known, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 101), ("[SEP]", 102)],
    )
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_model(folder: Path, *, length: int = 32) -> Path:
    """A reader that takes the token of the highest number for the answer, and is surer the higher it is."""
    import openvino
    from openvino import opset13 as ops

    write_tokenizer(folder)
    shape = openvino.PartialShape([-1, -1])
    tokens, segments = (ops.parameter(shape, np.int64, name=name) for name in ("tokens", "segments"))
    attended = ops.parameter(shape, bool, name="attended")
    values = ops.multiply(ops.convert(tokens, "f32"), ops.convert(segments, "f32"))
    values = ops.multiply(values, ops.convert(attended, "f32"))
    highest = ops.reduce_max(values, np.array([1]), keep_dims=False)
    model = openvino.Model([values, values, highest], [tokens, segments, attended], "toy")
    openvino.save_model(model, str(folder / "reader.xml"), compress_to_fp16=False)
    about = {"length": length, "calibration": [0.0, 0.1, -21.0]}
    (folder / "reader.json").write_text(json.dumps(about), encoding="utf-8")
    return folder
