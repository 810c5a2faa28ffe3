#!/usr/bin/env bash
# The last steps of a release, with an index of this machine: uploads what scripts/rehearse_release.sh left in
# out/release/, installs it by name as a user does, and asks. Packages of others come from the usual index. What
# happened is in out/release/index.md.
#   scripts/rehearse_index.sh [--demo]     --demo runs `disputatio demo`, too, with the real model
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
port=$("$python" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
index=http://127.0.0.1:$port
log=$PWD/out/release/index.md
[ -n "$(ls out/release/*.whl 2>/dev/null)" ] || { echo "index: run make release first" >&2; exit 2; }

work=$(mktemp -d -p "${TMPDIR:-/var/tmp}")
server=
finish() { [ -z "$server" ] || kill "$server"; rm -rf "$work"; }
trap finish EXIT
mkdir "$work/packages" "$work/folder"
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check pypiserver twine uv
"$work/tools/bin/pypi-server" run --interface 127.0.0.1 --port "$port" --passwords . --authenticate . \
    "$work/packages" >"$work/server.log" 2>&1 &
server=$!
for _ in {1..50}; do
    "$python" -c "import urllib.request as u; u.urlopen('$index/')" 2>/dev/null && break
    sleep 0.2
done

printf '%s\n' '{"text": "The Elm Bridge was opened in May 1921.", "source": "a"}' \
    '{"text": "In May 1921 the mayor opened the Elm Bridge.", "source": "b"}' >"$work/folder/passages.jsonl"
shown() { sed -e "s#$work/##g" -e "s#$PWD/##g" -e "s#127.0.0.1:$port#127.0.0.1:8399#g" -e '/^hwloc/d' -e '/^WARNING: Location/d' -e 's/\x1b\[[0-9;]*m//g' -e 's/[[:space:]]*$//'; }
: >"$log"
step() { # run a command line as it is shown, in the folder of a user, and keep what it says
    local begun=$SECONDS status=0
    printf '$ %s\n' "$1" | shown | tee -a "$log"
    (cd "$work/folder" && eval "$1") >"$work/said" 2>&1 || status=$?
    shown <"$work/said" | tail -n "${2:-3}" | tee -a "$log"
    printf '# exit %s, %s s\n\n' "$status" $((SECONDS - begun)) | tee -a "$log"
    return "$status"
}
ask='disputatio ask "When was the Elm Bridge opened?" --passages passages.jsonl --model none'
export TWINE_USERNAME=none TWINE_PASSWORD=none TWINE_NON_INTERACTIVE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
export UV_TOOL_DIR=$work/uv-tools UV_TOOL_BIN_DIR=$work/uv-bin DISPUTATIO_JOURNAL=$work/calls.sqlite NO_COLOR=1 COLUMNS=100
release=$PWD/out/release
PATH=$work/tools/bin:$PATH

step "twine upload --disable-progress-bar --repository-url $index $release/*.whl $release/*.tar.gz" 4
if step "twine upload --disable-progress-bar --repository-url $index $release/*.whl" 2; then
    echo "index: a version was uploaded twice" >&2
    exit 1
fi
step "$python -m venv ../env"
PATH=$work/env/bin:$PATH
step "pip install --quiet --index-url $index/simple/ 'disputatio[local,store]'"
step "disputatio --version"
step "$ask" 40
[ -z "${1:-}" ] || step "disputatio demo --no-calibrate" 400
rm -rf "$work/env"
step "uv tool install --quiet --index-url $index/simple/ --python $python 'disputatio[local,store]'"
PATH=$work/uv-bin:$PATH
step "$ask" 40
step "uv tool uninstall disputatio"
