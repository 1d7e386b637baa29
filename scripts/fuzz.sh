#!/usr/bin/env bash
# Runs a fuzz target for a while: scripts/fuzz.sh [TARGET|all] [SECONDS]. Without a target: lists them. See fuzz/README.md.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
targets=$(basename -s .rs -a src/bin/*.rs)
target=${1:-} seconds=${2:-60}
if [ -z "$target" ]; then
    echo "make fuzz FUZZ=name SECONDS=60, with one of:" $targets "or all"
    exit
fi
if ! rustup toolchain list 2>/dev/null | grep -q ^nightly; then
    echo "fuzzing takes a nightly toolchain: rustup toolchain install nightly --profile minimal" >&2
    exit 1
fi
[ "$target" = all ] || targets=$target
place=${CARGO_TARGET_DIR:-$PWD/../target}/fuzz
# Coverage counters for libFuzzer. There is no unsafe code in what is fuzzed that an address sanitizer would have to watch.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
-Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1"
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
for name in $targets; do
    cargo +nightly build --release --locked --quiet --target "$host" --target-dir "$place/build" --bin "$name"
    mkdir -p "$place/$name/corpus" "$place/$name/found" "seeds/$name"
    echo "$name for $seconds seconds"
    nice -n 19 "$place/build/$host/release/$name" "$place/$name/corpus" "seeds/$name" -artifact_prefix="$place/$name/found/" \
        -max_total_time="$seconds" -timeout=25 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 2> "$place/$name/log" \
        || { tail -40 "$place/$name/log" >&2; exit 1; }
    grep -E "stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)" "$place/$name/log"
done
