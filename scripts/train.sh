#!/usr/bin/env bash
# What the training needs, into the environment in .venv, then one head: scripts/train.sh encoder [OPTION]...,
# or the reader: scripts/train.sh reader fit [OPTION]...
# The packages of the group "train" are no part of requirements.lock, and pip takes them as they are named.
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python
missing=$("$python" - <<'PYTHON'
import importlib.metadata
import tomllib

with open("pyproject.toml", "rb") as file:
    group = tomllib.load(file)["dependency-groups"]["train"]
for need in group:
    name, version = need.split("==")
    try:
        present = importlib.metadata.version(name).split("+")[0]
    except importlib.metadata.PackageNotFoundError:
        present = ""
    if present != version:
        print(need)
PYTHON
)
if [ -n "$missing" ]; then
    echo "train: installing ${missing//$'\n'/, }" >&2
    if "$python" -m pip --version >/dev/null 2>&1; then pip=("$python" -m pip); else
        pip=("${PYTHON:-python3}" -m pip --python "$python")
    fi
    # shellcheck disable=SC2086 # one argument a line is meant
    "${pip[@]}" --disable-pip-version-check install --quiet $missing
fi
# Threads that wait do not spin: the machine may be shared.
export OMP_WAIT_POLICY=${OMP_WAIT_POLICY:-PASSIVE}
if [ "${1:-}" = reader ]; then exec "$python" -m train.language "${@:2}"; fi
exec "$python" -m train "$@"
