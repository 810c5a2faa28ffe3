"""Releases: archive, wheel and image hold what they should, and the wheel answers by itself."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from scripts.rehearse_image import script_of, stages

ROOT = Path(__file__).resolve().parent.parent
QUESTION = "When was the Elm Bridge opened?"


def tracked(folder: Path) -> Path:
    """Copy what git has or would have, as it is now, to a folder of its own."""
    names = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    ).stdout
    for name in filter(None, names.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def built(source: Path, target: str, folder: Path, **environment: str) -> Path:
    """Build a wheel or an archive of the sources; PATH has no Node unless the caller gives one."""
    command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(folder)]
    variables = {"PATH": str(Path(sys.executable).parent), "HOME": str(folder)} | environment
    subprocess.run(command, cwd=source, env=variables, check=True, capture_output=True)
    [made] = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return made


def names_of(archive: Path) -> set[str]:
    """Return the files of an archive, without its top folder."""
    with tarfile.open(archive) as opened:
        return {name.partition("/")[2] for name in opened.getnames()}


@pytest.mark.long
def test_the_archive_of_the_sources_holds_the_package_and_nothing_of_others(tmp_path: Path) -> None:
    source = tracked(tmp_path / "source")
    for stray in ("page/node_modules/left/src/pad.js", "page/node_modules/left/README.md", "bench/src/x.py"):
        (source / stray).parent.mkdir(parents=True, exist_ok=True)
        (source / stray).write_text("not ours")
    names = names_of(built(source, "sdist", tmp_path / "dist"))
    assert {"pyproject.toml", "README.md", "LICENSE", "NOTICE", "CHANGELOG.md", "CITATION.cff"} <= names
    assert {"scripts/page_hook.py", "scripts/build_page.py", "src/disputatio/__init__.py"} <= names
    tops = {name.partition("/")[0] for name in names}
    assert not tops & {"page", "bench", "tests", "train", "docs"}
    assert "examples/disagreement/sources/quillhaven-museum.example/lighthouse.md" in names
    assert {
        name for name in names if name.startswith("src/") and not name.startswith("src/disputatio/")
    } == set()


@pytest.mark.long
def test_the_wheel_of_the_archive_is_the_wheel_of_the_checkout_and_answers(tmp_path: Path) -> None:
    source = tracked(tmp_path / "source")
    archive = built(source, "sdist", tmp_path / "dist")
    with tarfile.open(archive) as opened:
        opened.extractall(tmp_path / "unpacked", filter="data")
    [unpacked] = (tmp_path / "unpacked").iterdir()
    wheel = built(source, "wheel", tmp_path / "wheel")
    second = built(unpacked, "wheel", tmp_path / "second")
    with zipfile.ZipFile(wheel) as ours, zipfile.ZipFile(second) as theirs:
        assert sorted(ours.namelist()) == sorted(theirs.namelist())
        [metadata] = [name for name in ours.namelist() if name.endswith("/METADATA")]
        assert ours.read(metadata) == theirs.read(metadata)
        shown = ours.read(metadata).decode()
        assert re.search(r"!\[[^\]]+\]\(https://\S+/raw/v[\d.]+/docs/screens/page-answer\.png\)", shown)
        assert re.findall(r"\]\((?!https?:|#)[^)\n]*\)", shown) == [], "an index shows no file of ours"
        assert "disputatio/encoder/MODEL_CARD.md" in ours.namelist()
        assert "disputatio/llm/reader-1.5b-3.safetensors" in ours.namelist()
        assert "disputatio/examples/questions.json" in ours.namelist()
        installed = tmp_path / "installed"
        ours.extractall(installed)
    passages = tmp_path / "passages.jsonl"
    rows = [
        {"text": f"The Elm Bridge was opened in May 1921, says {name}.", "source": name}
        for name in ("a", "b")
    ]
    passages.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    # The packages it depends on are those of this environment; its own code is that of the wheel alone.
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import disputatio; "
        "assert disputatio.__file__.startswith(sys.path[0]), disputatio.__file__; "
        "from disputatio.cli import run; run()"
    )
    command = [sys.executable, "-I", "-c", code, str(installed)]
    command += ["ask", QUESTION, "--passages", str(passages), "--model", "none", "--json"]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, check=False, env=bare(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["answers"] == ["May 1921"]


def bare(folder: Path) -> dict[str, str]:
    """Return an environment that says where the cache is, and nothing else."""
    cache = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    return {"PATH": sysconfig.get_path("scripts"), "HOME": str(folder), "XDG_CACHE_HOME": cache}


@pytest.mark.slow
def test_the_image_builds_its_wheel_of_what_it_copies_with_the_page_and_its_notices(tmp_path: Path) -> None:
    """Run the steps of the first stage on a copy of exactly the files that it copies."""
    whole = tracked(tmp_path / "whole")
    stage = tmp_path / "stage"
    lines = (whole / "deploy" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("COPY ") and "--from" not in line:
            *names, _ = line.split()[1:]
            for name in names:
                place = stage / name
                place.parent.mkdir(parents=True, exist_ok=True)
                (shutil.copytree if (whole / name).is_dir() else shutil.copy)(whole / name, place)
    [release] = [line for line in lines if "pip wheel" in line]
    assert re.search(r"DISPUTATIO_RELEASE=1 .*--no-build-isolation", release)
    if shutil.which("npm") is None:
        pytest.fail("Node with npm is not here, and a release cannot be made without")
    wheel = built(stage, "wheel", tmp_path / "dist", PATH=os.environ["PATH"], DISPUTATIO_RELEASE="1")
    with zipfile.ZipFile(wheel) as opened:
        files = set(opened.namelist())
        notices = opened.read("disputatio/server/page/THIRD_PARTY.txt").decode()
    assert "disputatio/server/page/index.html" in files
    assert "react-aria-components 1." in notices and "Apache License" in notices


def test_the_steps_of_the_image_are_run_as_its_file_says(tmp_path: Path) -> None:
    first, second = stages((ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8"))
    assert [name for name, _ in second] == ["COPY", "RUN", "USER", "EXPOSE", "CMD"]
    assert "DISPUTATIO_RELEASE=1" in "\n".join(script_of(first, "/one", str(ROOT), ""))
    (tmp_path / "context/files").mkdir(parents=True)
    (tmp_path / "context/files/a").write_text("a")
    [stage] = stages("FROM x\nWORKDIR /app\nCOPY files/a ./\nCOPY files b\n")
    lines = script_of(stage, f"{tmp_path}/root", str(tmp_path / "context"), "")
    subprocess.run(["bash", "-ec", "\n".join(lines)], check=True, capture_output=True)
    copied = [path.relative_to(tmp_path / "root").as_posix() for path in (tmp_path / "root").rglob("a")]
    assert sorted(copied) == ["app/a", "app/b/a"]
    with pytest.raises(SystemExit, match="ADD"):
        stages("FROM x\nADD a b\n")


def test_workflows_run_what_is_there_with_few_rights_and_named_versions() -> None:
    for path in sorted((ROOT / ".github" / "workflows").glob("*.yml")):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}, path.name
        for job in workflow["jobs"].values():
            assert job["timeout-minutes"] <= 90
            for step in job["steps"]:
                assert "uses" not in step or re.search(r"@(v\d+|release/v1)$", step["uses"]), step
                for script in re.findall(r"(?:scripts|\.ci)/[\w.]+", step.get("run", "")):
                    assert (ROOT / script).is_file()
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"run:.*\$\{\{", text), "an expression in a command is code of a stranger"
