"""The compose file: it is whole, and starts the server in a way that the command line understands."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.server.ferry import ferry_index
from tests.test_docs import wrong_with_ours

DEPLOY = Path(__file__).resolve().parent.parent.parent / "deploy"


def test_the_compose_file_starts_the_server_with_words_that_it_knows() -> None:
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    program, *words = services["disputatio"]["command"]
    assert program == "disputatio"
    assert wrong_with_ours(words) == ""


def test_the_compose_file_opens_the_server_to_its_own_machine_with_a_token_alone() -> None:
    whole = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    server = whole["services"]["disputatio"]
    assert all(port.startswith("127.0.0.1:") for port in server["ports"])
    assert any(word.startswith("--token-file") for word in server["command"])
    assert set(server["secrets"]) <= set(whole["secrets"])
    assert server["environment"]["OPENAI_BASE_URL"] == "http://vllm:8000/v1"


def test_the_image_copies_files_that_are_there() -> None:
    lines = (DEPLOY / "Dockerfile").read_text(encoding="utf-8").splitlines()
    copied = [
        word
        for line in lines
        if line.startswith("COPY") and "--from" not in line
        for word in line.split()[1:-1]
    ]
    assert copied
    assert all((DEPLOY.parent / name).exists() for name in copied)


def services() -> dict[str, Any]:
    """Return the services of the compose file."""
    found: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))["services"]
    return found


def test_every_image_is_named_by_its_whole_version() -> None:
    bases = re.findall(r"^FROM (\S+)(?: AS \w+)?$", (DEPLOY / "Dockerfile").read_text(encoding="utf-8"), re.M)
    assert len(bases) == 2
    images = [service["image"] for service in services().values() if "image" in service]
    for image in (*images, *bases):
        assert re.fullmatch(r"[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*", image), f"{image} can change by itself"


def test_every_service_has_a_health_check_and_the_server_waits_for_the_model() -> None:
    for name, service in services().items():
        check = service["healthcheck"]
        assert check["test"][0] == "CMD", name
        assert set(check) >= {"test", "interval", "timeout", "retries", "start_period"}, name
        compile(check["test"][-1], name, "exec")
        assert service["restart"] == "unless-stopped"
    assert services()["disputatio"]["depends_on"] == {"vllm": {"condition": "service_healthy"}}


def test_what_a_service_names_is_there() -> None:
    whole = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
    for service in whole["services"].values():
        for volume in service.get("volumes", ()):
            name = volume.partition(":")[0]
            assert name in whole["volumes"] or name.startswith("../")
        build = service.get("build")
        assert build is None or (DEPLOY / build["context"] / build["dockerfile"]).is_file()


@pytest.mark.slow
def test_the_deployment_of_ray_serve_answers_who_has_its_token_and_its_name(tmp_path: Path) -> None:
    ferry_index(tmp_path)
    settings = {"INDEX": str(tmp_path / "ferry.index"), "MODEL": "scripted:", "JOURNAL": "none"}
    settings |= {"ENCODER": "none", "TOKEN": "t" * 24, "HOSTS": "ask.example", "EMBEDDER": "none"}
    run = subprocess.run(
        [sys.executable, "-c", "from tests.server.ray_local import main; main()"],
        env={**os.environ, **{f"DISPUTATIO_{name}": value for name, value in settings.items()}},
        cwd=DEPLOY.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert run.returncode == 0, run.stderr[-2_000:]
    answered, without_token, with_other_name = json.loads(run.stdout.splitlines()[-1])
    assert (answered[0], answered[1]["question"]) == (200, "When did the ferry first sail?")
    assert (without_token[0], with_other_name[0]) == (401, 421)
