#!/usr/bin/env bash
# Key-value by YCSB's workloads against Pebble and RocksDB, unattended: builds the three programs, measures, writes docs/benchmarks/kv.md.
#
# QUICK=1 takes a few minutes, prints its report, and changes no document. Arguments go to python -m bench.kv.
set -euo pipefail
python=${BENCH_PYTHON:-.bench/bin/python}
if [ ! -x "$python" ]; then
    scripts/step.sh "kv: a Python environment for the pictures, in .bench" "${PYTHON:-python3}" -m venv .bench
    "$python" -m pip install --quiet --disable-pip-version-check --no-input -r bench/kv/requirements.txt
fi
if ! command -v go >/dev/null; then
    echo "error: no go; install Go 1.26 or newer: Pebble is written in it" >&2
    exit 1
fi
work=${NUTHATCH_BENCH_DATA:-bench/data-cache}/kv
mkdir -p "$work"
work=$(cd "$work" && pwd)
scripts/step.sh "kv: the program with Pebble" go build -C bench/kv/pebble -o "$work/pebble-ycsb" .
# Built with the whole workspace: alone it would select other features, and RocksDB would be compiled again.
scripts/step.sh "kv: the programs with RocksDB and with ours" \
    cargo build --release --workspace --locked --quiet --example kv --example kv_store --example kv_rocksdb
if [ "$(id -u)" != 0 ]; then
    echo "Not root: no memory limits, and no priority over what else runs here."
fi
scripts/step.sh "kv: everything" "$python" -m bench.kv ${QUICK:+--quick} "$@"
