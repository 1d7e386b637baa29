#!/usr/bin/env bash
# cargo test, all of it even when something fails, and at the end one line with the sums: cargo-test.sh CARGO-ARGUMENTS…
set -euo pipefail
log=$(mktemp)
trap 'rm -f "$log"' EXIT
status=0
cargo test --no-fail-fast "$@" -- --show-output 2>&1 | tee "$log" || status=$?
awk '/^test result:/ { suites++; passed += $4; failed += $6; ignored += $8 }
     END { printf "Rust: %d passed, %d failed, %d ignored, in %d suites\n", passed, failed, ignored, suites }' "$log"
# What did not run must not look like what passed.
if grep -q '^skipped:' "$log"; then
    echo "Some tests had nothing to work on here, and say so:"
    grep '^skipped:' "$log" | sort | uniq -c
fi
exit "$status"
