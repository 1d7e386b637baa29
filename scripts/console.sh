#!/usr/bin/env bash
# The console. `build` builds console/ into the files that the server has in it; `check` says whether these are what a build makes;
# `test` runs the tests in a browser against the command $NUTHATCH.
set -euo pipefail
cd "$(dirname "$0")/../console"

skip() {
    echo "skipped: $1"
    exit 0
}

command -v node >/dev/null || skip "node is not installed"
command -v npm >/dev/null || skip "npm is not installed"
node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit(a > 20 || (a === 20 && b >= 19) ? 0 : 1)' ||
    skip "node $(node --version) is older than 20.19"

# What was installed is as the lock file says, or installed again.
if ! cmp -s package-lock.json node_modules/.installed; then
    npm ci --silent >/dev/null 2>&1 || skip "npm cannot fetch the packages of console"
    cp package-lock.json node_modules/.installed
fi

case "${1:-}" in
build)
    npm run --silent build
    node bundle.mjs write
    ;;
check)
    npm run --silent build >/dev/null
    node bundle.mjs check
    ;;
test)
    browser=${CHROMIUM:-/usr/bin/chromium}
    [ -x "$browser" ] || skip "$browser is not installed (the package chromium)"
    CHROMIUM=$browser npx --no-install playwright test "${@:2}"
    ;;
*)
    echo "usage: console.sh build | check | test" >&2
    exit 2
    ;;
esac
