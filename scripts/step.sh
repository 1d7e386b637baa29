#!/usr/bin/env bash
# Says what a step is, runs it, says how long it took: step.sh TITLE COMMAND…
set -euo pipefail
echo "==> $1"
shift
SECONDS=0
if "$@"; then
    echo "    done in $SECONDS s"
else
    status=$?
    echo "    failed after $SECONDS s (exit status $status): $*" >&2
    exit "$status"
fi
