#!/usr/bin/env bash
# The TypeScript client: `generate` writes its types anew from docs/openapi.json; `check` says whether they are what that makes,
# compiles it and runs its tests against the command `nuthatch` of the path.
set -euo pipefail
cd "$(dirname "$0")/../clients/typescript"

skip() {
    echo "skipped: $1"
    exit 0
}

command -v node >/dev/null || skip "node is not installed"
command -v npm >/dev/null || skip "npm is not installed"
node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' || skip "node $(node --version) is older than 20"

# What was installed is as the lock file says, or installed again.
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --no-audit --no-fund --silent >/dev/null 2>&1 || skip "npm cannot fetch the packages of clients/typescript"
    cp package-lock.json node_modules/.installed
fi

case "${1:-}" in
generate)
    npm run --silent generate >/dev/null
    echo "clients/typescript/src/schema.ts"
    ;;
check)
    made=$(mktemp --suffix .ts)
    trap 'rm -f "$made"' EXIT
    node generate.mjs "$made"
    if ! cmp -s "$made" src/schema.ts; then
        echo "error: clients/typescript/src/schema.ts is not what docs/openapi.json makes; run \`make typescript\`" >&2
        exit 1
    fi
    npm test --silent
    ;;
*)
    echo "usage: typescript.sh generate | check" >&2
    exit 2
    ;;
esac
