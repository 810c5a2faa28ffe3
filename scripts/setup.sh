#!/usr/bin/env bash
# Makes or refreshes the environment in .venv from requirements.lock. Does nothing when it is up to date.
#
# Needs Python 3.11 to 3.14 only: uv is taken from the PATH or brought by pip, at the version and
# hashes that the lock states. PYTHON=... picks the interpreter. Nothing outside .venv is changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.venv
lock=requirements.lock
say() { printf 'setup: %s\n' "$*" >&2; }
give_up() { say "$*"; exit 2; }

suits() { # whether "$1" is an interpreter of a version that the lock is made for
    "$1" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 14))' 2>/dev/null
}

stamp="$venv/.made-from-$(cat "$lock" pyproject.toml scripts/setup.sh | cksum | tr ' ' -)"
if [[ -f $stamp ]] && suits "$venv/bin/python"; then
    exit 0
fi

pick_python() {
    local asked=${PYTHON:-python3} name
    for name in "$asked" python3.13 python3.14 python3.12 python3.11; do
        if suits "$name"; then
            command -v "$name"
            return
        fi
        # An interpreter that was asked for by name is not silently exchanged.
        [[ $asked == python3 ]] || break
    done
    give_up "Python 3.11 to 3.14 is needed and $asked is $("$asked" -V 2>/dev/null || echo 'not there');" \
        "point to one with: make PYTHON=/path/to/python3.12 ..."
}

if ! suits "$venv/bin/python"; then
    python=$(pick_python)
    rm -rf "$venv"
    say "making $venv with $("$python" -V)"
    if uv --version >/dev/null 2>&1; then
        uv venv --quiet --no-config --python "$python" "$venv"
    elif "$python" -c 'import ensurepip' 2>/dev/null; then
        "$python" -m venv "$venv"
    elif "$python" -m pip --version >/dev/null 2>&1; then
        "$python" -m venv --without-pip "$venv"
    else
        give_up "$python has neither pip nor the means to make one (on Debian and Ubuntu:" \
            "apt install python3-venv), and there is no uv on the PATH"
    fi
fi

with_pip() { # pip of the environment, or another interpreter's pip working on it
    if "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
        "$venv/bin/python" -m pip --disable-pip-version-check "$@"
    else
        "$(pick_python)" -m pip --disable-pip-version-check --python "$venv/bin/python" "$@"
    fi
}

uv=uv
if ! uv --version >/dev/null 2>&1; then
    uv=$venv/bin/uv
    if ! "$uv" --version >/dev/null 2>&1; then
        say "fetching uv with pip"
        awk '/^[^ ]/ { wanted = /^uv==/ } wanted' "$lock" >"$venv/uv.lock.txt"
        with_pip install --quiet --require-hashes --no-deps -r "$venv/uv.lock.txt" ||
            give_up "uv could not be installed with pip: see the lines above"
    fi
fi

say "installing the packages of $lock (about 540 MB the first time)"
if ! "$uv" pip sync --quiet --python "$venv/bin/python" --require-hashes --only-binary :all: "$lock"; then
    say "uv could not; trying pip, which may be set up for another index or certificate"
    with_pip install --quiet --require-hashes --only-binary :all: -r "$lock" ||
        give_up "the packages could not be installed: see the lines above"
fi
"$uv" pip install --quiet --offline --python "$venv/bin/python" --no-deps --no-build-isolation --editable .
rm -f "$venv"/.made-from-*
touch "$stamp"
say "done: $venv/bin/disputatio"
