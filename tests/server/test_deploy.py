"""The compose file: it is whole, and starts the server in a way that the command line understands."""

from __future__ import annotations

from pathlib import Path

import yaml

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
    copied = [word for line in lines if line.startswith("COPY") for word in line.split()[1:-1]]
    assert copied
    assert all((DEPLOY.parent / name).exists() for name in copied)
