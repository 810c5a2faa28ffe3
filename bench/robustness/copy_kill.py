"""Kill -9 at random moments of `index sync` and of `calibrate`: what is there is whole, and running again ends right.

    python -m bench.robustness.copy_kill --kills 500 > copy_kill.json

Part one copies the states of an index, one after the other, to one target; the copying process (a fork) is killed at a
random moment. After each kill the target gives the searches of a state that was being copied from or to, or says in one
line that there is no index yet, or is the empty folder of a copy that had not begun; copied again, it gives those of the new one, and beside it nothing was written. Part two
kills a calibration with a scripted model; after each kill the estimates can be read, what was recorded of a question is
never lost, and a calibration that ends gives the estimates of one that was never killed.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

from bench.robustness.index_kill import Child, Embedder, Message, Tell, ask
from disputatio.agents.source_reader import SOURCE_SCHEMA
from disputatio.calibration.calibrate import calibrate
from disputatio.errors import StoreError
from disputatio.kit import Kit
from disputatio.llm.scripted import Scripted
from disputatio.store.calibration_file import read_outcomes
from disputatio.store.calibration_log import Check, check_id
from disputatio.store.folder_index import FolderIndex
from disputatio.store.record.replicate import sync
from disputatio.types import Passage

STATES, PASSAGES, QUESTIONS = 4, 60, 12
QUERIES = ("zebra", "river bank", "number 17")
DAY = "2026-11-22"
SOURCES = ("archive.example", "museum.example", "parish.example", "buzz.example")


# --- sync ---------------------------------------------------------------------------------------------
def make_states(folder: Path) -> Message:
    """Return an index in so many successive states, each kept in a folder of its own, with what they answer."""
    index = FolderIndex.open(folder / "source", embedder=Embedder())
    answers = []
    for number in range(STATES):
        index.add(
            Passage(
                text=f"State {number}: zebra number {at} drinks at the river bank {at * 7 % 13} times.",
                source=f"s{at % 5}",
            )
            for at in range(PASSAGES)
        )
        shutil.copytree(folder / "source", folder / f"state{number}")
        answers.append(found(folder / f"state{number}"))
    return {"answers": answers}


def found(folder: Path) -> list[list[str]]:
    """Return the ids that the searches give."""
    index = FolderIndex.open(folder, embedder=Embedder())
    return [[hit.passage.id for hit in index.search(query, k=10)] for query in QUERIES]


def look(folder: Path) -> Message:
    """Return what the target gives as a kill left it."""
    files = sorted(
        str(path.relative_to(folder / "target")) for path in (folder / "target").rglob("*") if path.is_file()
    )
    try:
        return {"found": found(folder / "target"), "files": files}
    except StoreError as error:
        return {"said": str(error)}


def copy(folder: Path, state: int, tell: Tell | None = None) -> Message:
    """Return one copy of a state to the target."""
    if tell is not None:
        tell({"begin": state})
    sync(folder / f"state{state}", folder / "target")
    return {"found": found(folder / "target")} if tell is None else {}


def _copy_and_tell(folder: Path, state: int, tell: Tell) -> None:
    copy(folder, state, tell)


def run_syncs(folder: Path, kills: int, seed: int) -> Message:
    """So many copies, each killed."""
    rng, counts, wrong = random.Random(seed), Counter[str](), []
    answers = ask(partial(make_states, folder))["answers"]
    beside = sorted(path.name for path in folder.iterdir())
    state = -1
    for number in range(kills):
        state = (state + 1) % STATES
        if state == 0:
            shutil.rmtree(folder / "target", ignore_errors=True)
        child = Child(partial(_copy_and_tell, folder, state))
        while not child.told() and child.hear(30.0):
            pass
        time.sleep(rng.uniform(0.0, 0.06))
        child.end(kill=True)
        seen = ask(partial(look, folder))
        if "said" in seen and state == 0:
            counts[
                "no index yet, told in one line" if "\n" not in seen["said"] else "said in more lines"
            ] += 1
        elif state == 0 and set(seen.get("files", ["?"])) <= {"writer.lock"}:
            counts["an empty folder: killed before anything was copied"] += 1
        elif seen.get("found") == answers[state]:
            counts["the new state"] += 1
        elif state > 0 and seen.get("found") == answers[state - 1]:
            counts["the state before"] += 1
        else:
            wrong.append(f"kill {number}: {str(seen)[:300]}")
        again = ask(partial(copy, folder, state))
        if again.get("found") != answers[state]:
            wrong.append(f"kill {number}: copied again: {str(again)[:300]}")
        strange = {path.name for path in folder.iterdir()} - {*beside, "target"}
        if strange:
            wrong.append(f"kill {number}: beside the target: {sorted(strange)}")
    return {"kills": kills, **counts, "wrong": wrong}


# --- calibrate ----------------------------------------------------------------------------------------
def question(number: int) -> str:
    return f"In what year was mill number {number} built?"


def make_mills(folder: Path) -> Message:
    """Return an index of four sources, of which one is always seven years late."""
    index = FolderIndex.open(folder / "mills", embedder=Embedder())
    index.add(
        Passage(
            text=f"Mill number {number} was built in {1800 + number + 7 * (name == SOURCES[3])}.", source=name
        )
        for name in SOURCES
        for number in range(QUESTIONS)
    )
    return {}


def estimate(folder: Path, tell: Tell | None = None) -> Message:
    """Return one calibration; its estimates."""

    def reply(text: str) -> str:
        years = re.findall(r"was built in (\d{4})\.", text)
        asked = re.findall(r"mill number (\d+) built", text)
        facts = dict(re.findall(r"Mill number (\d+) was built in (\d{4})\.", text))
        year = facts.get(asked[-1], "") if asked and years else ""
        time.sleep(0.002)
        fields = {"answered": "yes" if year else "no", "answer": year or "I don't know", "quote": ""}
        return json.dumps({name: fields[name] for name in SOURCE_SCHEMA["properties"]})

    index = FolderIndex.open(folder, embedder=Embedder())
    checks = [Check(id=check_id(question(at)), text=question(at), kind="given") for at in range(QUESTIONS)]
    if tell is not None:
        tell({"begin": "calibrate"})
    calibrate(
        index, Kit(model=Scripted(reply, choices={"": {"Yes": 0.9, "No": 0.1}})), day=DAY, questions=checks
    )
    return {"estimates": estimates(folder)}


def _estimate_and_tell(folder: Path, tell: Tell) -> None:
    estimate(folder, tell)


def estimates(folder: Path) -> dict[str, Any]:
    """Return the estimates that are stored, by source."""
    known = FolderIndex.open(folder, embedder=Embedder()).estimates()
    return {
        name: [source.reliability, source.answered, source.agreed] for name, source in sorted(known.items())
    }


def after(folder: Path) -> Message:
    """Return what can be read after a kill: the estimates, and the questions on record."""
    return {"estimates": estimates(folder), "outcomes": sorted(read_outcomes(folder).outcomes)}


def run_calibrations(folder: Path, kills: int, seed: int) -> Message:
    """So many kills; a calibration that ends is compared with one that was never killed, and started anew."""
    rng, counts, wrong = random.Random(seed), Counter[str](), []
    ask(partial(make_mills, folder))
    shutil.copytree(folder / "mills", folder / "whole")
    start = time.perf_counter()
    expected = ask(partial(estimate, folder / "whole"))
    if "estimates" not in expected:
        raise SystemExit(f"an undisturbed calibration failed: {expected}")
    longest = min(2.0, time.perf_counter() - start)
    place, known, number = folder / "killed", list[str](), 0
    shutil.copytree(folder / "mills", place)
    for number in range(kills):
        child = Child(partial(_estimate_and_tell, place))
        while not child.told() and child.hear(30.0):
            pass
        time.sleep(rng.uniform(0.0, longest))
        child.end(kill=True)
        seen = ask(partial(after, place))
        if "error" in seen:
            wrong.append(f"kill {number}: {seen['error']}")
        elif not set(known) <= set(seen["outcomes"]):
            wrong.append(f"kill {number}: outcomes were lost")
        else:
            known = seen["outcomes"]
            counts["ended before the kill" if len(known) >= QUESTIONS else "cut"] += 1
        if len(known) >= QUESTIONS or number == kills - 1:
            again = ask(partial(estimate, place))
            if again.get("estimates") != expected.get("estimates"):
                wrong.append(f"kill {number}: other estimates: {str(again)[:300]}")
            counts["calibrations compared"] += 1
            shutil.rmtree(place)
            shutil.copytree(folder / "mills", place)
            known = []
    return {"kills": kills, **counts, "expected": expected.get("estimates"), "wrong": wrong}


def main() -> None:
    """Run both parts and print one object; exit status 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=500, help="of each part")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    shared = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shared if shared.is_dir() else None) as folder:
        for name in ("a", "b"):
            (Path(folder) / name).mkdir()
        result = {
            "sync": run_syncs(Path(folder) / "a", asked.kills, asked.seed),
            "calibrate": run_calibrations(Path(folder) / "b", asked.kills, asked.seed),
        }
    print(json.dumps(result, indent=1))
    sys.exit(any(part["wrong"] for part in result.values()))


if __name__ == "__main__":
    main()
