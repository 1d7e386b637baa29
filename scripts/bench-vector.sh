#!/usr/bin/env bash
# The vector index against its peers: bench/README.md tells how to make the data and the environments first.
#
# Measures what is installed and built; indexes that are missing are left out (python -m bench --build makes them).
set -euo pipefail
python=${BENCH_PYTHON:-.bench/bin/python}
if [ ! -x "$python" ]; then
    echo "There is no $python: make it as bench/README.md says, or set BENCH_PYTHON." >&2
    exit 1
fi
scripts/step.sh "vector: the program that measures our index" cargo build --release --locked --quiet -p nuthatch-vector --example graph
scripts/step.sh "vector: every engine on every data set" "$python" -m bench "$@"
if [ "$(id -u)" = 0 ]; then
    for data in lsa100k lsa1m; do
        if compgen -G "bench/results/$data.*.*.jsonl" > /dev/null; then
            scripts/step.sh "vector: $data inside a memory limit" "$python" -m bench.low_memory "$data"
        fi
    done
    "$python" -m bench.report
else
    echo "Memory limits need root: left out."
fi
