#!/usr/bin/env bash
# Runs fuzz targets one after the other, each for a while, and says how it went: scripts/fuzz.sh TARGET|all SECONDS CARGO-ARGUMENTS…
# What libFuzzer keeps for the next time, what it found and its logs lie in target/fuzz/TARGET/. See fuzz/README.md.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$1 seconds=$2
shift 2
# Our crates are compiled once more, with coverage; everything else is what the product is built of.
RUSTC_WORKSPACE_WRAPPER=$PWD/fuzz/instrument.sh cargo build "$@" --features nuthatch-fuzz/libfuzzer --bin nuthatch-fuzz
program=${CARGO_TARGET_DIR:-target}/release/nuthatch-fuzz
place=${CARGO_TARGET_DIR:-target}/fuzz
targets=$target
[ "$target" != all ] || targets=$(ls fuzz/seeds)
# Databases and files of the targets: in memory, where there is such a place.
scratch=$(mktemp -d "$( [ -d /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")/nuthatch-fuzz.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
found=0
for name in $targets; do
    mkdir -p "$place/$name/corpus" "$place/$name/found" "$scratch/$name"
    status=0
    NUTHATCH_FUZZ=$name TMPDIR=$scratch/$name nice -n 19 "$program" "$(realpath "$place/$name/corpus")" "$PWD/fuzz/seeds/$name" \
        -artifact_prefix="$(realpath "$place/$name/found")/" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=512 -malloc_limit_mb=256 \
        -max_len=16384 -print_final_stats=1 > "$place/$name/log" 2>&1 || status=$?
    rm -rf "${scratch:?}/$name"
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$place/$name/log" | tail -1)
    coverage=$(grep -o 'cov: [0-9]*' "$place/$name/log" | tail -1 || true)
    echo "$name: ${executions:-0} executions, ${coverage:-cov: 0}, $(find "$place/$name/found" -type f | wc -l) found"
    if [ "$status" != 0 ]; then
        tail -30 "$place/$name/log" >&2
        found=1
    fi
done
exit "$found"
