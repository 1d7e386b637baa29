#!/usr/bin/env bash
# The five promises, each proved on this machine by the tests that would fail if it were broken. Minutes.
# NUTHATCH_LONG=1 proves them for longer. One promise alone: prove.sh 3
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

prove() { # number, promise, arguments of cargo test
    if [ -n "${only:-}" ] && [ "$only" != "$1" ]; then return; fi
    printf '\n%s. %s\n' "$1" "$2"
    shift 2
    cargo test --release --workspace --locked --quiet "$@"
}

only=${1:-}
prove 1 "What was acknowledged survives kill -9, power loss, refused writes and damaged files" \
    --test faults --test crash --test log_damage --test full_disk
prove 2 "Memory is bounded, and what is reported is what the system measures" --test memory
prove 3 "Many processes share one folder, whoever of them dies" --test processes --test takeover
prove 4 "A filter neither shortens nor worsens the answer" --test index_filters --test agreement
prove 5 "What was deleted and reclaimed is in no file any more" --test reclaim --test churn
