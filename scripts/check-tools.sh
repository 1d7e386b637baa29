#!/usr/bin/env bash
# Are the few tools there that nothing here can install? Silent when they are; otherwise names each with its remedy.
set -euo pipefail

rust_min=1.92
wrong=0
missing() {
    echo "error: $1" >&2
    wrong=1
}

python=${PYTHON:-python3}
if ! command -v "$python" >/dev/null; then
    missing "no $python; install Python 3.10 or newer, or name one: make PYTHON=python3.12 …"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))'; then
    missing "$python is $("$python" -V 2>&1); Nuthatch needs 3.10 or newer. Name another: make PYTHON=python3.12 …"
elif ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    missing "$python cannot make virtual environments; install its venv package (python3-venv on Debian and Ubuntu)"
fi

if ! command -v cargo >/dev/null; then
    missing "no cargo; install Rust with rustup, and open a new shell"
else
    rust=$(rustc --version | cut -d' ' -f2)
    if [ "$(printf '%s\n' "$rust_min" "$rust" | sort -V | head -n1)" != "$rust_min" ]; then
        missing "Rust $rust is too old, $rust_min is needed; run: rustup update stable"
    fi
fi

for compiler in "${CC:-cc}" "${CXX:-c++}"; do
    command -v "${compiler%% *}" >/dev/null || missing "no $compiler; install a C and C++ compiler (build-essential, or gcc-c++, or Xcode's tools)"
done
command -v git >/dev/null || missing "no git; install it"
exit "$wrong"
