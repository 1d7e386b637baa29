#!/usr/bin/env bash
# The five promises, each proved on this machine by the tests that would fail if it were broken, with what they counted. Minutes.
# NUTHATCH_LONG=1 proves them for longer (over an hour: 1,000 times kill -9, five minutes of takeovers). One promise alone: prove.sh 3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

said=$(mktemp)
trap 'rm -f "$said"' EXIT
proved=0

prove() { # number, promise, arguments of cargo test
    if [ -n "${only:-}" ] && [ "$only" != "$1" ]; then return; fi
    printf '\n%s. %s\n' "$1" "$2"
    local number=$1
    shift 2
    SECONDS=0
    if ! cargo test --release --workspace --locked --quiet "$@" -- --nocapture >"$said" 2>&1; then
        cat "$said"
        echo "   promise $number is broken, or a test of it could not run: see above" >&2
        exit 1
    fi
    # What the tests counted, and what could not be tried here.
    { grep -oE '(proof: |skipped: ).*' "$said" || true; } | sed -e 's/^proof: /   /' -e 's/^skipped: /   not tried here: /'
    awk '/^test result: ok/ { tests += $4 } END { printf "   %d tests", tests }' "$said"
    echo " passed in $SECONDS s"
    proved=$((proved + 1))
}

only=${1:-}
case "$only" in
    '' | [1-5]) ;;
    *) echo "error: there are promises 1 to 5, not ${only@Q}" >&2; exit 2 ;;
esac
prove 1 "What was acknowledged survives kill -9, power loss, refused writes and damaged files" \
    --test faults --test crash --test log_damage --test full_disk
prove 2 "Memory is bounded, and what is reported is what the system measures" --test memory --test answers
prove 3 "Many processes share one folder, whoever of them dies" --test processes --test takeover
prove 4 "A filter neither shortens nor worsens the answer" --test index_filters --test agreement
prove 5 "What was deleted and reclaimed is in no file any more" --test reclaim --test churn
printf '\n%s\n' "$proved of 5 promises were tried; all of these hold here"
