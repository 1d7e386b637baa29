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

work=$(mktemp -d)
server=
finish() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    [ -z "$server" ] || wait "$server" 2>/dev/null || true
    rm -rf "$work"
}
trap finish EXIT

key=$("$command" key create conformance --scope admin --data-dir "$work/memory" 2>/dev/null)
"$command" serve --data-dir "$work/memory" --listen 127.0.0.1:0 --log-format json --backup-dir "$work/backups" 2>"$work/log" &
server=$!
until grep -q '"message":"ready"' "$work/log"; do
    kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
    sleep 0.1
done
address=$(grep -om1 '"address":"[^"]*"' "$work/log" | cut -d'"' -f4)

status=0
"$environment/bin/schemathesis" --config-file scripts/conformance.toml run "http://$address/openapi.json" \
    --header "Authorization: Bearer $key" --max-examples "${EXAMPLES:-30}" --generation-deterministic || status=$?
# Whatever the suite did, the server must end in good order, and the folder must be whole.
kill "$server" && wait "$server"
server=
"$command" doctor --data-dir "$work/memory"
exit "$status"
