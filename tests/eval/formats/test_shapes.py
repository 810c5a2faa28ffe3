"""A data set of another shape is refused with the name of the loader that would read it."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.errors import InputError
from disputatio.eval.datasets import load
from tests.eval.formats.rows import (
    ABSTRACT,
    BENCHMARK,
    CLAIM,
    JUDGED,
    MORGANA,
    RETRIEVAL,
    file_of,
)


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
