#!/usr/bin/env bash
# Everything of a release but publishing: builds archive and wheel from what git has, installs the wheel with each set of
# extras into an environment of its own, and asks one question in another folder. Leaves them in out/release/.
#   scripts/rehearse_release.sh [VERSION]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
python=${PYTHON:-python3}
version=$("$python" -c 'import tomllib; print(tomllib.load(open("pyproject.toml", "rb"))["project"]["version"])')
say() { printf 'release: %s\n' "$*" >&2; }
if [ -n "${1:-}" ] && [ "$1" != "$version" ]; then
    say "the tag is $1 and pyproject.toml says $version"
    exit 2
fi
grep -q "^## $version" CHANGELOG.md || { say "CHANGELOG.md has no section \"## $version\""; exit 2; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/source"
git archive HEAD | tar -x -C "$work/source"
"$python" -m venv "$work/tools"
"$work/tools/bin/pip" install --quiet --disable-pip-version-check uv hatchling twine
uv=$work/tools/bin/uv
export DISPUTATIO_RELEASE=1
rm -rf out/release
mkdir -p out/release
(cd "$work/source" && "$work/tools/bin/python" -m hatchling build --directory "$OLDPWD/out/release") >&2
"$work/tools/bin/twine" check --strict out/release/*.whl out/release/*.tar.gz >&2

wheel=$(ls out/release/*.whl)
mkdir "$work/elsewhere"
printf '%s\n' '{"text": "The Elm Bridge was opened in May 1921.", "source": "a"}' \
    '{"text": "In May 1921 the mayor opened the Elm Bridge.", "source": "b"}' >"$work/elsewhere/passages.jsonl"
for extras in local,store openai,local,store,serve all; do
    "$uv" venv --quiet --python "$python" "$work/$extras"
    "$uv" pip install --quiet --python "$work/$extras" "$PWD/$wheel[$extras]"
    answer=$(cd "$work/elsewhere" && "$work/$extras/bin/disputatio" ask "When was the Elm Bridge opened?" \
        --passages passages.jsonl --model none --json | "$python" -c 'import json, sys; print(json.load(sys.stdin)["answers"])')
    size=$(du -sm "$work/$extras" | cut -f 1)
    say "[$extras] $size MB: $answer"
    [ "$answer" = "['May 1921']" ] || exit 1
    rm -rf "${work:?}/$extras"
done
say "$(cd out/release && sha256sum ./*)"
