#!/usr/bin/env bash
# Called by cargo in the place of rustc, for the crates of this workspace alone (RUSTC_WORKSPACE_WRAPPER): adds libFuzzer's coverage counters,
# and the checks of debug builds. What others wrote is linked as the product has it, so none of it is compiled again.
set -euo pipefail
rustc=$1
shift
exec "$rustc" "$@" -Cdebug-assertions=on -Coverflow-checks=on -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares
