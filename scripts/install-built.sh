#!/usr/bin/env bash
# Puts what cargo built where it is used from: install-built.sh RELEASE-FOLDER VENV
#
# The module is copied, not built by a packaging tool: that would select other features than the workspace has, and compile
# RocksDB a second time.
set -euo pipefail
release=$1
venv=$2
module=python/src/nuthatch/_core.abi3.so

replace() { # a new file, not new bytes in a file that a running process has mapped
    if ! cmp -s "$1" "$2"; then
        install -m 755 "$1" "$2.new"
        mv -f "$2.new" "$2"
        echo "    $2"
    fi
}

replace "$release/nuthatch" "$venv/bin/nuthatch"

built=
for name in libnuthatch_core.so libnuthatch_core.dylib; do
    if [ -f "$release/$name" ]; then built=$release/$name; fi
done
if [ -z "$built" ]; then
    echo "error: no Python module in $release; does crates/python still build a cdylib named nuthatch_core?" >&2
    exit 1
fi
replace "$built" "$module"
