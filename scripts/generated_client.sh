#!/usr/bin/env bash
# Is docs/openapi.json valid, and does a client that somebody else's generator makes of it work? generated_client.sh ADDRESS
# ADDRESS is that of a running server without keys. Packages come from PyPI into .openapi (ignored by git).
set -euo pipefail
cd "$(dirname "$0")/.."
address=${1:?usage: generated_client.sh ADDRESS}
document=$PWD/docs/openapi.json
environment=$PWD/.openapi
python=${PYTHON:-python3}

skip() {
    echo "skipped: $1"
    exit 0
}

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || skip "the generated client needs Python 3.11"

# What was installed is as the list says, or installed again.
if ! cmp -s python/requirements-openapi.txt "$environment/.installed"; then
    rm -rf -- "$environment"
    "$python" -m venv "$environment"
    "$environment/bin/pip" install --quiet --disable-pip-version-check --no-input -r python/requirements-openapi.txt \
        >/dev/null 2>&1 || skip "pip cannot fetch the packages of python/requirements-openapi.txt"
    cp python/requirements-openapi.txt "$environment/.installed"
fi
export PATH=$environment/bin:$PATH

"$environment/bin/openapi-spec-validator" "$document"

made=$(mktemp -d)
trap 'rm -rf -- "$made"' EXIT
printf 'content_type_overrides:\n  application/openmetrics-text: text/plain\n' >"$made/config.yaml"
"$environment/bin/openapi-python-client" generate --path "$document" --config "$made/config.yaml" \
    --output-path "$made/generated" --meta none >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
PYTHONPATH=$made "$environment/bin/python" scripts/generated_client.py "$document" "$address"
