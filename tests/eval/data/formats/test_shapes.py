"""A data set of another shape is refused with the name of the loader that would read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.data.datasets import datasets, load
from tests.eval.data.formats import published
from tests.eval.data.formats.rows import ABSTRACT, BENCHMARK, CLAIM, JUDGED, MORGANA, RETRIEVAL, file_of


@pytest.mark.parametrize(
    ("name", "row", "fits"),
    [
        ("ramdocs", MORGANA, "datamorgana"),
        ("datamorgana", JUDGED, "judged_answers"),
        ("judged_answers", CLAIM, "expertqa"),
        ("expertqa", ABSTRACT, "pubmedqa"),
        ("mirage", RETRIEVAL, "retrievalqa"),
        ("mirage", ABSTRACT, "pubmedqa"),
    ],
)
def test_rows_of_another_data_set_name_its_loader(
    tmp_path: Path, name: str, row: dict[str, object], fits: str
) -> None:
    path = file_of(tmp_path, [row, row])
    with pytest.raises(InputError, match=rf"rows\.jsonl.*try {fits}:"):
        load(f"{name}:{path}")


def test_a_benchmark_of_sets_given_to_another_loader_names_its_own(tmp_path: Path) -> None:
    path = file_of(tmp_path, BENCHMARK)
    for text in (path.read_text(), path.read_text().replace("\n", "")):
        path.write_text(text)
        with pytest.raises(InputError, match=r"rows\.json: not what jsonl reads.*try mirage:"):
            load(f"jsonl:{path}")


@pytest.mark.parametrize("whole", [[1], {"medqa": 3}, {"medqa": {"1": "x"}}])
def test_a_file_that_is_no_benchmark_of_sets_is_named(tmp_path: Path, whole: object) -> None:
    path = tmp_path / "other.json"
    path.write_text(str(whole).replace("'", '"'))
    with pytest.raises(InputError, match=r"other\.json"):
        load(f"mirage:{path}")


def test_a_part_of_a_data_set_without_parts_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="datamorgana has no parts"):
        load(f"datamorgana:{file_of(tmp_path, [MORGANA])}#easy")


PUBLISHED = {
    "ambigdocs": published.AMBIGDOCS,
    "ambignq": published.AMBIGNQ,
    "conflictnq": published.CONFLICTNQ,
    "conflictqa": published.CONFLICTQA,
    "conflicts": published.CONFLICTS,
    "datamorgana": MORGANA,
    "expertqa": CLAIM,
    "faitheval_counterfactual": published.COUNTERFACTUAL,
    "faitheval_inconsistent": published.INCONSISTENT,
    "faitheval_unanswerable": published.UNANSWERABLE,
    "hotpotqa": published.HOTPOT,
    "judged_answers": JUDGED,
    "medmcqa": {**published.MEDMCQA, "cop": 4},
    "medqa": published.MEDQA,
    "mmlu": published.MMLU,
    "nq_open": published.NQ_OPEN,
    "nq_with_passages": published.NQ_PASSAGES,
    "poisonedrag": published.POISONED,
    "popqa": published.POPQA,
    "pubmedqa": ABSTRACT,
    "ramdocs": published.RAMDOCS,
    "realtimeqa": published.REALTIME,
    "retrievalqa": RETRIEVAL,
    "triviaqa": published.TRIVIAQA,
}


@pytest.mark.long
@pytest.mark.parametrize("name", PUBLISHED)
def test_a_row_of_every_data_set_given_to_any_other_loader_names_its_own(tmp_path: Path, name: str) -> None:
    path = file_of(tmp_path, [PUBLISHED[name]])
    assert len(load(f"{name}:{path}")) == 1
    for form in datasets():
        try:
            load(f"{form.name}:{path}")
        except InputError as error:
            told = str(error)
            assert "\n" not in told
            assert f"{name}:{path}" in told or name in told, (form.name, told)
        else:
            assert form.name == name


def test_a_table_without_a_head_given_to_another_loader_names_its_own(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text(published.LIAR, encoding="utf-8")
    with pytest.raises(InputError, match=r"train\.tsv: a table without a head.*try liar:"):
        load(f"ramdocs:{path}")
    with pytest.raises(InputError, match=r"train\.tsv:1: 14 cells where mmlu has 6 columns.*try liar:"):
        load(f"mmlu:{path}")


def test_a_later_row_of_another_shape_is_one_that_cannot_be_read(tmp_path: Path) -> None:
    path = file_of(tmp_path, [published.RAMDOCS, published.NQ_OPEN, published.NQ_OPEN])
    with pytest.raises(InputError, match=r"rows\.jsonl:2: .*2 of 3 rows cannot be read \(rows 1, 2\)"):
        load(f"ramdocs:{path}")
