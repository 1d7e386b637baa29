#!/usr/bin/env bash
# Suites that nobody here wrote, against the server: conformance.sh COMMAND
# COMMAND is the built `nuthatch`. Packages come from PyPI into an environment of their own (.conformance, ignored by git).
# What is expected to fail, and why, is in scripts/conformance.toml.
set -euo pipefail
cd "$(dirname "$0")/.."
command=$(realpath "$1")
environment=$PWD/.conformance
schemathesis=4.32.5

if [ "$("$environment/bin/schemathesis" --version 2>/dev/null || true)" != "schemathesis, version $schemathesis" ]; then
    scripts/step.sh "schemathesis $schemathesis into .conformance" bash -c \
        "${PYTHON:-python3} -m venv '$environment' && '$environment/bin/pip' install --quiet --disable-pip-version-check schemathesis==$schemathesis"
fi

. scripts/serving.sh

key=$("$command" key create conformance --scope admin --data-dir "$work/memory" 2>/dev/null)
# The suite ends none of the snapshots that it takes.
start_server --backup-dir "$work/backups" --snapshot-age 1s --snapshots-max 100000

status=0
"$environment/bin/schemathesis" --config-file scripts/conformance.toml run "http://$address/openapi.json" \
    --header "Authorization: Bearer $key" --max-examples "${EXAMPLES:-30}" --generation-deterministic || status=$?
end_server
exit "$status"
