"""Documents written for training: what a search finds for a question is read or declined."""

from __future__ import annotations

from pathlib import Path

import pytest

from disputatio.agents.trained_reader import UNKNOWN
from disputatio.store.folder_index import FolderIndex
from train.language.folders import DOCUMENTS, Folder, read_asked

FILES = {
    "terms.md": "# Terms of the boat club\n\nA boat is let for 12 euros an hour, for 50 euros a day.\n",
    "terms-old.md": "# Terms of the boat club, 2019\n\nA boat is let for 9 euros an hour.\n",
    "bikes.md": "# The bicycle shed\n\nA bicycle costs 12 euros a day. The shed is open from May.\n",
}
QUESTIONS = """\
terms.md | what is an hour in a boat? | let for [[12 euros]] an hour | boat club
terms-old.md | what is an hour in a boat? | let for [[9 euros]] an hour | boat club
bikes.md | When does the shed open? | open from [[May]] |
terms.md | Who may row? | members of the [[club of rowers]] |
- | What does a boat cost for a week? | no file says it
"""


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    (tmp_path / "documents").mkdir()
    for name, text in FILES.items():
        (tmp_path / "documents" / name).write_text(text)
    (tmp_path / "q.txt").write_text(QUESTIONS)
    index = FolderIndex.open(tmp_path / "index")
    index.ingest(tmp_path / "documents")
    return Folder("boats", index, read_asked(tmp_path / "q.txt"))


@pytest.mark.long
def test_passages_that_answer_are_read_and_others_that_are_found_declined(
    folder: Folder,
) -> None:
    wanted = {}
    for _, branch in folder.branches(seed=1):
        if branch.leaves[0].kind.startswith("folder_look"):
            continue
        for leaf in branch.leaves:
            wanted[leaf.prompt.removeprefix("Question: "), branch.text.splitlines()[1]] = leaf.target
    hour, week = "what is an hour in a boat?", "What does a boat cost for a week?"
    club, old = "Title: Terms of the boat club", "Title: Terms of the boat club, 2019"
    assert wanted[hour, club] == "12 euros\nboat club"
    assert wanted[hour, old] == "9 euros\nboat club"
    assert wanted["When does the shed open?", "Title: The bicycle shed"] == "May"
    assert {target for (question, _), target in wanted.items() if question == week} == {UNKNOWN}
    # The shed's 12 euros are of bicycles, but a passage that has them may be one that was forgotten.
    assert (hour, "Title: The bicycle shed") not in wanted


@pytest.mark.long
def test_a_question_whose_quote_is_nowhere_is_not_asked(folder: Folder) -> None:
    assert folder.lost == 1
    assert "Who may row?" not in folder.borne


@pytest.mark.long
def test_quotes_side_by_side_have_the_answer_or_none(folder: Folder) -> None:
    looks = [
        branch for _, branch in folder.branches(seed=1) if branch.leaves[0].kind.startswith("folder_look")
    ]
    assert looks
    for branch in looks:
        target = branch.leaves[0].target
        assert target == UNKNOWN or target in branch.text


def test_a_line_of_another_form_is_named(tmp_path: Path) -> None:
    path = tmp_path / "q.txt"
    path.write_text("terms.md | what is an hour? | 12 euros\n")
    with pytest.raises(ValueError, match=r"q\.txt:1: not FILE"):
        read_asked(path)


@pytest.mark.long
def test_every_question_of_the_documents_names_a_file_that_is_there() -> None:
    for questions in DOCUMENTS.glob("*.txt"):
        asked = read_asked(questions)
        assert len(asked) > 500
        if (DOCUMENTS / questions.stem).is_dir():
            missing = {
                each.file
                for each in asked
                if each.file and not (DOCUMENTS / questions.stem / each.file).is_file()
            }
            assert not missing, questions
