#!/usr/bin/env bash
# Lists the packages of requirements.lock as CycloneDX in out/sbom.json, and asks pip-audit's service what is known
# to be wrong with them. Exit status: 1 when something is, 3 when the service could not be asked. The tools live in
# .venv-audit, at the versions and hashes of scripts/audit.lock.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

venv=.venv-audit
say() { printf 'audit: %s\n' "$*" >&2; }

[[ -x $venv/bin/python ]] || .venv/bin/uv venv --quiet --python .venv/bin/python "$venv"
.venv/bin/uv pip sync --quiet --python "$venv/bin/python" --require-hashes --only-binary :all: scripts/audit.lock
mkdir -p out
"$venv/bin/cyclonedx-py" requirements requirements.lock --output-reproducible --of JSON -o out/sbom.json
say "out/sbom.json lists $(grep -c '"purl"' out/sbom.json) packages"

if told=$("$venv/bin/pip-audit" --disable-pip --require-hashes --progress-spinner off \
    -r requirements.lock 2>&1); then
    grep -v "could not be audited" <<<"$told" || true
    unasked=$(grep -c "could not be audited" <<<"$told" || true)
    if ((unasked)); then
        say "nothing was said of $unasked packages: the service that could be asked does not know them"
        exit 3
    fi
elif grep -q "known vulnerabilit" <<<"$told"; then
    printf '%s\n' "$told"
    exit 1
else
    say "nobody could be asked what is known to be wrong with them: $(tail -n 1 <<<"$told" | cut -c 1-200)"
    exit 3
fi
