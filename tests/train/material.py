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
    """Return an example whose answers stand where they first occur."""
    spans = tuple((text.index(one), text.index(one) + len(one)) for one in answers)
    values = {"id": "x/1", "dataset": "squad11_dev", "group": "g", "title": ""} | more
    return Example(question=question, text=text, spans=spans, **values)


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """JSON lines, compressed where the name says so."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())


def write_data(data: Path, contexts: int = 80) -> Path:
    """Return a folder of data sets in their published shapes, a few rows each."""
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
    write_pairs(data)
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


def write_pairs(data: Path) -> None:
    """Write pairs of entailment and sameness in their published shapes, a few rows each."""
    labels = ("entailment", "contradiction", "neutral")
    claims = [
        {
            "claim": "anna sang",
            "evidence": f"anna sang {number} .",
            "label": labels[number % 3],
            "page": f"p{number}",
        }
        for number in range(60)
    ]
    write_rows(data / "train" / "nli_fm2.jsonl.gz", claims)
    told = [
        {
            "premise": f"bruno won {number} .",
            "hypothesis": "bruno won",
            "label": ("entailment", "not_entailment")[number % 2],
        }
        for number in range(60)
    ]
    write_rows(data / "train" / "nli_fever_rte_dev.jsonl.gz", told)
    for name in ("snli_test", "vitaminc_test", "anli_dev", "climate_fever"):
        write_rows(data / "measure" / f"nli_{name}.jsonl.gz", claims[:6])
    supported = [claim | {"label": "supported"} for claim in claims[:2]]
    partly = [claim | {"label": "partially_supported"} for claim in claims[:2]]
    write_rows(data / "measure" / "nli_wice.jsonl.gz", supported + partly)
    write_rows(
        data / "train" / "ref_ecbplus_pairs.jsonl.gz",
        [
            {
                "a": "anna sang",
                "b": "bruno sang",
                "mention_a": "sang",
                "mention_b": "sang",
                "same": number % 2,
                "topic": str(number),
            }
            for number in range(60)
        ],
    )  # fmt: skip
    patent = {"name": "Anna Gold", "org": "Silver", "place": "Paris", "title": "Title", "abstract": "gold"}
    write_rows(
        data / "train" / "ref_patent_namesakes_texts.jsonl.gz",
        [{"id": "p1", **patent}, {"id": "p2", **patent}],
    )
    write_rows(
        data / "train" / "ref_patent_namesakes_pairs.jsonl.gz",
        [
            {"a": "p1", "b": "p2", "name_a": f"Anna {number}", "name_b": "Anna Gold", "same": number % 2}
            for number in range(60)
        ],
    )
    write_rows(
        data / "measure" / "ref_wikidata_disamb.jsonl.gz",
        [
            {"name": "paris", "a": "anna sang in paris", "b": "rome", "same": number % 2}
            for number in range(4)
        ],
    )


def write_tokenizer(folder: Path) -> Path:
    """Return a tokenizer of BERT's kind that knows few words, with special tokens in their usual places."""
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
    """Return an encoder that takes the token of the highest number for the answer, and is surer the higher it
    is.

    What supports a claim holds "gold", what contradicts it "silver"; two texts with "rome" are the same.
    """
    import openvino
    from openvino import opset13 as ops

    write_tokenizer(folder)
    shape = openvino.PartialShape([-1, -1])
    tokens, segments = (ops.parameter(shape, np.int64, name=name) for name in ("tokens", "segments"))
    attended = ops.parameter(shape, bool, name="attended")
    values = ops.multiply(ops.convert(tokens, "f32"), ops.convert(segments, "f32"))
    values = ops.multiply(values, ops.convert(attended, "f32"))
    highest = ops.reduce_max(values, np.array([1]), keep_dims=False)

    def holds(word: str) -> Any:
        """9 for a row whose second text has the word, else 0."""
        there = ops.equal(values, np.float32(200 + WORDS.index(word)))
        return ops.multiply(
            ops.reduce_max(ops.convert(there, "f32"), np.array([1]), keep_dims=True), np.float32(9)
        )

    silent = ops.multiply(holds("gold"), np.float32(0))
    entail = ops.concat([holds("gold"), holds("silver"), ops.add(silent, np.float32(3))], 1)
    same = ops.squeeze(holds("rome"), np.array([1]))
    model = openvino.Model([values, values, highest, entail, same], [tokens, segments, attended], "toy")
    openvino.save_model(model, str(folder / "encoder.xml"), compress_to_fp16=False)
    about = {
        "length": length,
        "read": [0.05, -21.0],
        "supports": [1.0, 0.0],
        "contradicts": [1.0, 0.0],
        "same": [1.0, -4.5],
    }
    (folder / "encoder.json").write_text(json.dumps(about), encoding="utf-8")
    return folder
