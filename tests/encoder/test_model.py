"""An encoder's file: named by what it holds, a folder or a zip file, damaged ones told in one line."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from disputatio.encoder.model import FILES, EncoderModel
from disputatio.encoder.reader import EncoderReader
from disputatio.errors import InputError
from disputatio.types import Passage
from tests.train.material import write_model
from train.export import zipped


def test_an_encoder_is_named_by_what_it_holds(tmp_path: Path) -> None:
    folder = write_model(tmp_path)
    name = EncoderModel(folder).name
    assert name == EncoderModel(folder).name
    about = folder / "encoder.json"
    about.write_text(about.read_text().replace("[", "[ ", 1))
    assert EncoderModel(folder).name != name
    assert name.startswith("encoder:")


@pytest.mark.long
def test_a_zip_file_is_the_folder_and_always_the_same_bytes(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "model")
    digest = zipped(folder, tmp_path / "encoder.zip")
    assert digest == zipped(folder, tmp_path / "again.zip")
    assert (tmp_path / "encoder.sha256").read_text() == f"{digest}  encoder.zip\n"
    packed, loose = EncoderModel(tmp_path / "encoder.zip", threads=1), EncoderModel(folder, threads=1)
    assert packed.name == loose.name
    passages = [Passage(text="anna sang in rome")]
    assert EncoderReader(packed).read("who", passages) == EncoderReader(loose).read("who", passages)


@pytest.mark.parametrize("name", ["encoder.xml", "tokenizer.json", "encoder.json"])
@pytest.mark.parametrize("packed", [False, True])
def test_an_encoder_that_lacks_a_file_is_named(tmp_path: Path, name: str, packed: bool) -> None:
    path = write_model(tmp_path / "model")
    if packed:
        zipped(path, tmp_path / "whole.zip")
        path = tmp_path / "part.zip"
        with zipfile.ZipFile(tmp_path / "whole.zip") as whole, zipfile.ZipFile(path, "w") as part:
            for kept in set(FILES) - {name}:
                part.writestr(kept, whole.read(kept))
    else:
        (path / name).unlink()
    with pytest.raises(InputError, match=f"an encoder needs {name} there"):
        EncoderModel(path)


@pytest.mark.parametrize("about", ["{}", "[", '{"length": 8, "read": [1], "supports": [1, 0]}'])
def test_a_description_that_is_none_is_one_line(tmp_path: Path, about: str) -> None:
    folder = write_model(tmp_path)
    (folder / "encoder.json").write_text(about)
    with pytest.raises(InputError, match="describes no encoder"):
        EncoderModel(folder)


def test_a_file_that_is_no_encoder_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "encoder.zip"
    path.write_bytes(b"no zip file")
    with pytest.raises(InputError, match=r"is no encoder \("):
        EncoderModel(path)


@pytest.mark.long
def test_a_long_first_text_is_cut_and_leaves_room_for_the_second(tmp_path: Path) -> None:
    reader = EncoderReader(EncoderModel(write_model(tmp_path), threads=1))
    [reading] = reader.read("won " * 400, [Passage(text="silver")])
    assert reading.answer == "silver"
