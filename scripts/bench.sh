#!/usr/bin/env bash
# The measurements that the documents quote. Each program begins with its question, its data and its seed.
#
# Packages are named one by one, so that nothing large is compiled for those that do not need it.
set -euo pipefail
data=${NUTHATCH_TEST_DATA:-../shared/data}
if [ ! -d "$data" ]; then
    echo "Benchmark data is not at $data (set NUTHATCH_TEST_DATA): measurements that need it say so and are left out."
fi
scripts/step.sh "distance: what each instruction set buys" cargo run --release --locked --quiet -p nuthatch-distance --example kernels
scripts/step.sh "vector: one flat segment" cargo run --release --locked --quiet -p nuthatch-vector --example scan
scripts/step.sh "filter: columns of one segment" cargo run --release --locked --quiet -p nuthatch-filter --example measure_filter
scripts/step.sh "text: the text index" cargo run --release --locked --quiet -p nuthatch-text --example measure_text
if [ -d "$data" ]; then
    scripts/step.sh "embed: the default model" cargo run --release --locked --quiet -p nuthatch-embed --example measure_embed
fi
if [ -d "$data" ]; then
    # Built with the whole workspace: alone it would select other features, and RocksDB would be compiled again.
    cargo build --release --workspace --locked --quiet --example scale
    folder=$(mktemp -d)
    trap 'rm -rf "$folder"' EXIT
    for step in load ask recall; do
        scripts/step.sh "engine: one folder at scale, $step" "${CARGO_TARGET_DIR:-target}/release/examples/scale" "$step" "$folder"
    done
fi
