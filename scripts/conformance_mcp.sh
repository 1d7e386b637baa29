#!/usr/bin/env bash
# The Model Context Protocol's own suite against `/mcp`, in both revisions: conformance_mcp.sh COMMAND
# COMMAND is the built `nuthatch`. Packages come from npm into .conformance (ignored by git), Node.js of the version that the suite wants among them.
# What is expected to fail, and why, is in tests/conformance/mcp-*.yaml; what is listed there and passes is a failure, too.
set -euo pipefail
cd "$(dirname "$0")/.."
command=$(realpath "$1")
packages=$PWD/.conformance/mcp
suite=0.2.0-alpha.12
node=22.23.3

if [ "$(cat "$packages/versions" 2>/dev/null || true)" != "$suite $node" ]; then
    rm -rf "$packages"
    mkdir -p "$packages"
    scripts/step.sh "@modelcontextprotocol/conformance $suite into .conformance/mcp" \
        npm install --prefix "$packages" --no-audit --no-fund --loglevel=error --engine-strict=false \
        "node@$node" "@modelcontextprotocol/conformance@$suite"
    echo "$suite $node" >"$packages/versions"
fi

. scripts/serving.sh

start_server

status=0
for revision in 2025-11-25 2026-07-28; do
    "$packages/node_modules/.bin/node" "$packages/node_modules/@modelcontextprotocol/conformance/dist/index.js" server \
        --url "http://$address/mcp" --requirements "$revision" --expected-failures "tests/conformance/mcp-$revision.yaml" ||
        status=$?
done
end_server
exit "$status"
